"""Twin of `lindero.solvers.interior_point`: the same matrices, written out."""

import numpy as np


class DenseNewtonSystem:
    def __init__(self, X):
        self.X = np.column_stack([X, np.ones(len(X))])
        self.H = np.diag([1.0] * X.shape[1] + [0.0])

    def forward(self, theta):
        return self.X @ theta

    def adjoint(self, c):
        return self.X.T @ c

    def solve(self, weights, r):
        return np.linalg.solve(self.H + self.X.T @ np.diag(weights) @ self.X, r)
