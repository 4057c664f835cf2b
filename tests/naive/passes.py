"""Slow twins of `lindero.solvers.passes` and `squared_passes`: the problems by their formulas, row
after row."""

import numpy as np


def rounded_sums(X, s, p, u, theta, mu):
    """Gradient and curvature without the penalty, and Σσ."""
    size = len(theta)
    gradient, matrix, weight = np.zeros(size), np.zeros((size, size)), 0.0
    for i in range(len(X)):
        x = np.append(X[i], 1.0)
        r = s[i] * (x @ theta) + p[i]
        a = u[i] * min(1.0, max(0.0, 0.5 - r / (2 * mu)))
        sigma = u[i] / (2 * mu) if abs(r) < mu else 0.0
        gradient += a * s[i] * x
        matrix += sigma * np.outer(x, x)
        weight += sigma
    return gradient, matrix, weight


def squared_sums(X, s, p, ridge, theta):
    """Losses, and gradient and curvature without the penalty, of squared errors."""
    size = len(theta)
    losses, gradient, matrix = 0.0, np.zeros(size), np.zeros((size, size))
    for i in range(len(X)):
        x = np.append(X[i], 1.0)
        error = max(0.0, -(s[i] * (x @ theta) + p[i]))
        losses += error**2 / (2 * ridge[i])
        gradient += error / ridge[i] * s[i] * x
        if error > 0:
            matrix += np.outer(x, x) / ridge[i]
    return losses, gradient, matrix
