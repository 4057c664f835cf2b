"""The loops of the active set: what ends a step, and how far the conditions are from holding.

For variable i of sample i // per, the derivative of the Lagrangian is r_i = s_i (f_i + b) + p_i. A
variable at zero needs r ≥ 0, one at its bound r ≤ 0, a free one r = 0. Variables of bound zero that
does not move play no part.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lindero.runtime.compilation import EXACT

AT_ZERO, FREE, AT_BOUND = -1, 0, 1


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def first_to_leave_bound(  # type: ignore[no-untyped-def]
    n, per, state, s, p, u, u_rate, p_rate, f, f_rate, b, b_rate, root, least, least_share, banned
):
    """Step and index of the first variable at zero or bound whose r reaches 0; −1 if none does.

    Rates below least + least_share √K_ii are rounding; `banned` is left out. Of several at once,
    the one of the largest rate.
    """
    nearest, found, steepest = np.inf, -1, 0.0
    for i in range(n):
        at = state[i]
        if at == FREE or i == banned or (u[i] == 0.0 and u_rate[i] == 0.0):
            continue
        j = i // per
        # Outwards: how fast the distance |r| to a violation shrinks.
        rate = at * (s[i] * (f_rate[j] + b_rate) + p_rate[i])
        if rate <= least + least_share * root[j]:
            continue
        room = -at * (s[i] * (f[j] + b) + p[i])
        step = max(room, 0.0) / rate
        if step < nearest or (step == nearest and rate > steepest):
            nearest, found, steepest = step, i, rate
    return nearest, found


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def first_to_meet_bound(free, a, u, a_rate, u_rate, least_rate):  # type: ignore[no-untyped-def]
    """Step, place and side of the first free variable that meets 0 or its bound; −1 if none."""
    nearest, found, side, steepest = np.inf, -1, AT_ZERO, 0.0
    for k in range(free.size):
        i = free[k]
        rate = a_rate[k]
        if -rate > least_rate:
            step = max(a[i], 0.0) / -rate
            if step < nearest or (step == nearest and -rate > steepest):
                nearest, found, side, steepest = step, k, AT_ZERO, -rate
        closing = rate - u_rate[i]
        if closing > least_rate and u[i] < np.inf:
            step = max(u[i] - a[i], 0.0) / closing
            if step < nearest or (step == nearest and closing > steepest):
                nearest, found, side, steepest = step, k, AT_BOUND, closing
    return nearest, found, side


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def violations(  # type: ignore[no-untyped-def]
    n, per, state, s, p, u, f, b, root, length, least_size, out
):
    """out_i = what must be taken from r_i for the conditions to hold; returns the largest, beside
    the size of the terms that r_i is a sum of: `least_size`, p_i, and √K_ii times the `length` of
    w."""
    largest = 0.0
    for i in range(n):
        out[i] = 0.0
        if state[i] != FREE and u[i] == 0.0:
            continue
        r = s[i] * (f[i // per] + b) + p[i]
        if state[i] == FREE or state[i] * r > 0.0:
            out[i] = r
            size = max(least_size, abs(p[i]), root[i // per] * length)
            largest = max(largest, abs(r) / size)
    return largest
