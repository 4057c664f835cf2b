"""Twin of `lindero.solvers.smo`: sequential minimal optimisation in plain loops."""

import numpy as np


def smo_block(K, z, lower, upper, v, tol, floor, max_iter, groups=None):
    """Minimise ½ zᵀKz + qᵀz in place, v = Kz + q; the number of steps taken.

    Sums are kept within each group, and the groups take turns.
    """
    groups = [range(len(z))] if groups is None else groups
    satisfied = 0
    for step in range(max_iter):
        group = groups[step % len(groups)]
        can_rise = [t for t in group if z[t] < upper[t]]
        can_fall = [t for t in group if z[t] > lower[t]]
        least = min((v[t] for t in can_rise), default=np.inf)
        if max((v[t] for t in can_fall), default=-np.inf) - least <= tol:
            satisfied += 1
            if satisfied == len(groups):
                return step
            continue
        satisfied = 0
        i = min(can_rise, key=lambda t: v[t])
        curvature = {t: max(K[i, i] + K[t, t] - 2 * K[i, t], floor) for t in can_fall}
        j = max(can_fall, key=lambda t: max(v[t] - v[i], 0.0) ** 2 / curvature[t])
        length = min((v[j] - v[i]) / curvature[j], upper[i] - z[i], z[j] - lower[j])
        z[i] += length
        z[j] -= length
        v += length * (K[i] - K[j])
    return max_iter


def heights(v, z, lower, upper):
    """The least v that can rise and the largest that can fall."""
    return min(v[z < upper], default=np.inf), max(v[z > lower], default=-np.inf)
