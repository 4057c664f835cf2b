"""Twin of `lindero.solvers.smo`: sequential minimal optimisation in plain loops."""

import numpy as np


def smo_block(K, z, lower, upper, v, tol, floor, max_iter):
    """Minimise ½ zᵀKz + qᵀz in place, v = Kz + q; the number of steps taken."""
    variables = range(len(z))
    for step in range(max_iter):
        can_rise = [t for t in variables if z[t] < upper[t]]
        can_fall = [t for t in variables if z[t] > lower[t]]
        i = min(can_rise, key=lambda t: v[t])
        if max(v[t] for t in can_fall) - v[i] <= tol:
            return step
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
