"""The optimality conditions of the dual problem, evaluated in one pass over its variables.

The formulas are at the top of `lindero.problems.dual_qp`. Compiled, since small problems are judged
by the thousand.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lindero.runtime.compilation import EXACT

#: Share of its upper bound by which a coefficient may miss it, and share of the largest
#: coefficient below which one is nothing.
ROUNDING = 1e-12
NOTHING = 1e-15


@njit(cache=True, nogil=True, fastmath=EXACT)
def gap_between(least, most):  # type: ignore[no-untyped-def]
    """The KKT gap; infinite where values are not numbers, so that no comparison takes it for 0."""
    gap = most - least
    if np.isnan(gap):
        return np.inf
    return max(0.0, gap)


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def centred_gap(v, z, lower, upper, group_of, middles):  # type: ignore[no-untyped-def]
    """The largest KKT gap of a group; `middles` receives the middle between the extremes of each,
    which is what its v is to be compared with."""
    n_groups = middles.size
    least = np.full(n_groups, np.inf)
    most = np.full(n_groups, -np.inf)
    for i in range(z.size):
        if np.isnan(v[i]):
            return np.inf
        g = group_of[i]
        if z[i] < upper[i] and v[i] < least[g]:
            least[g] = v[i]
        if z[i] > lower[i] and v[i] > most[g]:
            most[g] = v[i]
    gap = 0.0
    for g in range(n_groups):
        if least[g] < np.inf and most[g] > -np.inf:
            middles[g] = 0.5 * (least[g] + most[g])
            gap = max(gap, most[g] - least[g])
        elif least[g] < np.inf:
            middles[g] = least[g]
        elif most[g] > -np.inf:
            middles[g] = most[g]
        else:
            middles[g] = 0.0
    return gap


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def snapped(a, u):  # type: ignore[no-untyped-def]
    """`a` with coefficients within rounding of a bound put exactly on it."""
    most = 0.0
    for i in range(a.size):
        most = max(most, a[i])
    result = a.copy()
    for i in range(a.size):
        if a[i] <= NOTHING * most:
            result[i] = 0.0
        if result[i] >= (1.0 - ROUNDING) * u[i]:
            result[i] = u[i]
    return result


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def bias_at(v, a, s, u):  # type: ignore[no-untyped-def]
    """−mean of v over the free variables; without any, the middle of what KKT leaves open."""
    total, n_free = 0.0, 0
    least, most = np.inf, -np.inf
    for i in range(a.size):
        if 0.0 < a[i] < u[i]:
            total += v[i]
            n_free += 1
        elif u[i] > 0.0 and (a[i] > 0.0) == (s[i] > 0.0):
            most = max(most, v[i])
        elif u[i] > 0.0:
            least = min(least, v[i])
    if n_free > 0:
        return -total / n_free
    if np.isinf(least):
        return 0.0 if np.isinf(most) else -most
    return -least if np.isinf(most) else -0.5 * (least + most)


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def primal_value(quadratic, v, s, p, u, delta, bias):  # type: ignore[no-untyped-def]
    """½ zᵀKz + bδ + losses, of the model scaled up until it meets all constraints of infinite u."""
    scale = 1.0
    for i in range(s.size):
        if np.isinf(u[i]):
            reach = s[i] * (v[i] + bias) - p[i]
            if reach < -p[i]:
                if reach <= 0.0:
                    return np.inf
                scale = max(scale, -p[i] / reach)
    losses = 0.0
    for i in range(s.size):
        if not np.isinf(u[i]):
            reach = s[i] * (v[i] + bias) - p[i]
            losses += u[i] * max(0.0, -(scale * reach + p[i]))
    return 0.5 * scale**2 * quadratic + scale * bias * delta + losses


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def judged(quadratic, v, a, s, p, u, delta, bias):  # type: ignore[no-untyped-def]
    """KKT gap, primal and dual objective, and infeasibility."""
    least, most = np.inf, -np.inf
    outside, balance, linear = 0.0, 0.0, 0.0
    for i in range(a.size):
        outside = max(outside, -a[i], a[i] - u[i])
        balance += s[i] * a[i]
        linear += p[i] * a[i]
        if np.isnan(v[i]):
            least = np.nan
        if (a[i] < u[i] if s[i] > 0.0 else a[i] > 0.0) and v[i] < least:
            least = v[i]
        if (a[i] > 0.0 if s[i] > 0.0 else a[i] < u[i]) and v[i] > most:
            most = v[i]
    return (
        gap_between(least, most),
        primal_value(quadratic, v, s, p, u, delta, bias),
        -0.5 * quadratic - linear,
        max(outside, abs(balance - delta)),
    )
