"""Passes over the rows of a coupled problem, one hyperplane θ_i for each node, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from lindero.runtime.compilation import EXACT, FAST


@njit(cache=True, nogil=True, fastmath=FAST, boundscheck=False)
def outputs(X, theta):  # type: ignore[no-untyped-def]
    """x̃_i·θ_i of each node."""
    n, d = X.shape
    result = np.empty(n)
    for i in range(n):
        total = theta[i, d]
        for k in range(d):
            total += X[i, k] * theta[i, k]
        result[i] = total
    return result


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def pulls(X, z):  # type: ignore[no-untyped-def]
    """z_i x̃_i of each node."""
    n, d = X.shape
    result = np.empty((n, d + 1))
    for i in range(n):
        for k in range(d):
            result[i, k] = z[i] * X[i, k]
        result[i, d] = z[i]
    return result


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def component_biases(v, a, s, u, of, floating, biases):  # type: ignore[no-untyped-def]
    """The bias of each component, from v = x̃·θ + s p, which it should bring to 0 at rows between
    their bounds: each counts by its distance from them. Without any, the middle of what rows at
    their bounds leave open (see `problems.dual_qp`)."""
    count = biases.size
    total, rooms = np.zeros(count), np.zeros(count)
    least, most = np.full(count, np.inf), np.full(count, -np.inf)  # of those that may rise, fall
    for side in range(v.shape[0]):
        for i in range(v.shape[1]):
            if u[side, i] == 0.0:
                continue
            g, value = of[i], v[side, i]
            room = min(a[side, i], u[side, i] - a[side, i])
            if room > 0.0:
                total[g] += room * value
                rooms[g] += room
            elif (a[side, i] > 0.0) == (s[side, i] > 0.0):
                most[g] = max(most[g], value)
            else:
                least[g] = min(least[g], value)
    for g in range(count):
        if not floating[g]:
            continue
        if rooms[g] > 0.0:
            biases[g] = -total[g] / rooms[g]
        elif least[g] < np.inf and most[g] > -np.inf:
            biases[g] = -0.5 * (least[g] + most[g])
        elif least[g] < np.inf:
            biases[g] = -least[g]
        elif most[g] > -np.inf:
            biases[g] = -most[g]
