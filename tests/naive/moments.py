"""Twins of the moments: one class, one column and one row at a time."""

import numpy as np
from scipy.stats import norm


def moments(numbers, y, n_classes, weights):
    """Count, mean and sum of squares about the mean, each (columns, classes)."""
    sums = np.zeros((3, len(numbers), n_classes))
    for j, column in enumerate(numbers):
        for c in range(n_classes):
            own = (y == c) & ~np.isnan(column) & (weights > 0)
            if own.any():
                mean = np.average(column[own], weights=weights[own])
                squares = weights[own] @ (column[own] - mean) ** 2
                sums[:, j, c] = weights[own].sum(), mean, squares
    return sums


def log_densities(numbers, mean, sd):
    """Σ_j log N(x_j; mean_jc, sd_jc) over what is not missing, shape (rows, classes)."""
    out = np.zeros((numbers.shape[1], mean.shape[1]))
    for i, row in enumerate(numbers.T):
        seen = ~np.isnan(row)
        for c in range(mean.shape[1]):
            out[i, c] = norm.logpdf(row[seen], mean[seen, c], sd[seen, c]).sum()
    return out
