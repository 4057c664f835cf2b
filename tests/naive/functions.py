"""Twins of `lindero.kernels.operator`: kernel values from their definitions."""

import numpy as np


def gaussian_double(G, left, right, gamma):
    """exp(−γ(left_i + right_j − 2 G_ij)) in the longest float there is."""
    squares = np.longdouble(left)[:, None] + np.longdouble(right) - 2 * np.longdouble(G)
    return np.exp(-np.longdouble(gamma) * squares)


gaussian_single = gaussian_double


def integer_power(values, degree):
    return np.prod([values] * degree, axis=0) if degree else np.ones_like(values)


def kernel_matrix(name, X, Z, gamma=1.0, degree=3, coef0=0.0, dtype=np.float64):
    """K(X, Z), entry by entry; rbf from differences, which lose no digits."""
    X, Z = np.asarray(X, dtype=dtype), np.asarray(Z, dtype=dtype)
    formula = {
        "linear": lambda x, z: x @ z,
        "poly": lambda x, z: (gamma * (x @ z) + coef0) ** degree,
        "rbf": lambda x, z: np.exp(-gamma * ((x - z) @ (x - z))),
        "sigmoid": lambda x, z: np.tanh(gamma * (x @ z) + coef0),
    }[name]
    return np.array([[formula(x, z) for z in Z] for x in X]).reshape(len(X), len(Z))
