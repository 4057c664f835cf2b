"""Twin of `lindero.solvers.kept_rows` and of its matrices, written out."""

import numpy as np


def dual_variables(theta, rows, s, p, u, mu):
    """a_i = u_i clip(½ − r_i/2μ, 0, 1), and r."""
    r = s * (rows @ theta) + p
    return u * np.clip(0.5 - r / (2 * mu), 0.0, 1.0), r


def slope(theta, rows, s, p, u, pull, penalty, mu):
    """Of ½ θᵀHθ − W̃ᵀθ + Σ rounded losses."""
    a, _ = dual_variables(theta, rows, s, p, u, mu)
    total = penalty * theta - pull
    for side in range(len(s)):
        for i in range(len(rows)):
            total = total - s[side, i] * a[side, i] * rows[i]
    return total


def gram(rows, weights):
    """Σ σ_i x̃_i x̃_iᵀ."""
    total = np.zeros((rows.shape[1] + 1,) * 2)
    for row, weight in zip(rows, weights, strict=True):
        longer = np.append(row, 1.0)
        total += weight * np.outer(longer, longer)
    return total
