"""KKT gaps in extended precision, from the data and a model's coefficients alone."""

import numpy as np

REAL = np.longdouble


def kernel_matrix(X, name, gamma=1.0, degree=3, coef0=0.0):
    """K among the rows of X. The linear one is that of centred rows: where coefficients sum to
    zero, it is the same problem, and the sum need not be zero to the last digit."""
    X = np.asarray(X).astype(REAL)
    if name == "rbf":
        apart = X[:, None, :] - X[None, :, :]
        return np.exp(-REAL(gamma) * (apart**2).sum(axis=2))
    if name == "linear":
        X = X - X.mean(axis=0)
        return X @ X.T
    return (REAL(gamma) * (X @ X.T) + REAL(coef0)) ** degree


def gap(v, z, lower, upper):
    """max{v_i : z_i can fall} − min{v_i : z_i can rise}, no less than zero."""
    falls, rises = v[z > lower], v[z < upper]
    if len(falls) == 0 or len(rises) == 0:
        return 0.0
    return float(max(REAL(0), falls.max() - rises.min()))


def classification_gap(K, y, C, z):
    """Of an SVC with labels y = ±1 and signed coefficients z."""
    v = K @ z.astype(REAL) - y
    return gap(v, z, np.minimum(0.0, C * y), np.maximum(0.0, C * y))


def regression_gap(K, y, C, epsilon, z):
    """Of an SVR: each row has a variable for either side of the tube."""
    f = K @ z.astype(REAL) - y
    v = np.concatenate([f + REAL(epsilon), f - REAL(epsilon)])
    both = np.concatenate([np.maximum(z, 0.0), np.minimum(z, 0.0)])
    n = len(z)
    lower = np.concatenate([np.zeros(n), np.full(n, -C)])
    upper = np.concatenate([np.full(n, C), np.zeros(n)])
    return gap(v, both, lower, upper)
