"""Twins of the loops over columns, as plain searches for the least of convex functions."""

import numpy as np
from scipy.optimize import minimize_scalar


def best_step(v, slope, curvature, penalty):
    """The least of a function that is quadratic on both sides of its kink."""

    def value(t):
        return slope * t + 0.5 * curvature * t**2 + penalty * abs(v + t)

    ends = (-(slope + penalty) / curvature, -(slope - penalty) / curvature)
    sides = [t for t, side in zip(ends, (1, -1), strict=True) if side * (v + t) > 0]
    return min([*sides, -v], key=value)


def losses(X, s, c, v, b):
    return float((c * np.maximum(0.0, 1.0 - s * (X @ v + b)) ** 2).sum())


def best_intercept(X, s, c, v):
    """The intercept of least losses."""
    found = minimize_scalar(lambda b: losses(X, s, c, v, b), bracket=(-2.0, 2.0), tol=1e-12)
    return float(found.x)


def descend_matrix(matrix, slope, penalties, v, n_epochs):
    """Coordinate by coordinate, each slope computed anew; the new v."""
    begun, v = v.copy(), v.copy()
    for _ in range(n_epochs):
        for j in range(len(v)):
            if matrix[j, j] > 0.0:
                at = slope[j] + matrix[j] @ (v - begun)
                v[j] += best_step(v[j], at, matrix[j, j], penalties[j])
    return v
