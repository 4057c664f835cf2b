"""Twin of `lindero.problems.ranking` and `pair_sums`, with every pair written out."""

from itertools import pairwise

import numpy as np


def pairs(y, starts):
    """(i, j) of one query with y_i > y_j."""
    return [
        (i, j)
        for begin, end in pairwise(starts)
        for i in range(begin, end)
        for j in range(begin, end)
        if y[i] > y[j]
    ]


def ramp(margin, width):
    """The multiplier of a pair, as a share of C."""
    return min(max(0.5 + margin / width, 0.0), 1.0)


def multipliers(t, y, starts, width):
    """Net sum of each document, and the sum over all pairs."""
    net, total = np.zeros(len(t)), 0.0
    for i, j in pairs(y, starts):
        a = ramp(1 - t[i] + t[j], width)
        net[i] += a
        net[j] -= a
        total += a
    return net, total


def hinge(t, y, starts):
    """Σ max(0, 1 − t_i + t_j)."""
    return sum(max(0.0, 1 - t[i] + t[j]) for i, j in pairs(y, starts))


def laplacian(t, y, starts, width):
    """A = Σ (e_i − e_j)(e_i − e_j)ᵀ over pairs inside the band."""
    A = np.zeros((len(t), len(t)))
    for i, j in pairs(y, starts):
        if abs(1 - t[i] + t[j]) < width / 2:
            e = np.zeros(len(t))
            e[i], e[j] = 1.0, -1.0
            A += np.outer(e, e)
    return A


def primal(w, X, y, starts, C):
    """The objective that ranking minimises."""
    return 0.5 * w @ w + C * hinge(X @ w, y, starts)


def differences(X, y, starts):
    """One row x_i − x_j for each pair."""
    return np.array([X[i] - X[j] for i, j in pairs(y, starts)]).reshape(-1, X.shape[1])


def pair_kernel(K, left, right):
    """k_ik − k_il − k_jk + k_jl, one by one."""
    n = len(left)
    return np.array(
        [
            [
                K[left[r], left[c]] - K[left[r], right[c]] - K[right[r], left[c]]
                + K[right[r], right[c]]
                for c in range(n)
            ]
            for r in range(n)
        ]
    )  # fmt: skip
