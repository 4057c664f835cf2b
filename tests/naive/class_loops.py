"""Twins of the sequential dual method: a level found by halving, and conditions one by one."""

import numpy as np


def solve_row(values, alpha, own, bound, curvature):
    """The best coefficients of a sample for all classes."""
    bounds = np.where(np.arange(len(values)) == own, bound, 0.0)

    def taken(level):
        return np.minimum(bounds, alpha + (level - values) / curvature)

    low = values.min() - curvature * (np.abs(alpha).max() + bound) - 1.0
    high = values.max() + curvature * (np.abs(alpha).max() + bound) + 1.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if taken(middle).sum() < 0.0 else (low, middle)
    return taken(high)


def find_gap(X, codes, c, A, b):
    """The largest gap of a sample."""
    W, gap = A.T @ X, 0.0
    for i, own in enumerate(codes):
        G = W @ X[i] + b + 1.0
        G[own] -= 1.0
        rising = [G[m] for m in range(len(b)) if A[i, m] < (c[i] if m == own else 0.0)]
        gap = max(gap, G.max() - min(rising))
    return gap
