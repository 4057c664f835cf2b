"""Twin of `lindero.solvers.active_set.factor`: the whole matrix, factored when asked."""

import numpy as np


class GrowingFactor:
    """A positive definite matrix that gains and loses rows."""

    def __init__(self):
        self.A = np.empty((0, 0))

    @property
    def size(self):
        return len(self.A)

    def append(self, column, diagonal, least):
        distance = diagonal - column @ np.linalg.solve(self.A, column) if self.size else diagonal
        if distance > least:
            self.A = np.block([[self.A, column[:, None]], [column, diagonal]])
        return distance

    def remove(self, k):
        self.A = np.delete(np.delete(self.A, k, axis=0), k, axis=1)

    def solve(self, right):
        return np.linalg.solve(self.A, right)
