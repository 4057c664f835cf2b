"""Compiled inner steps of sequential minimal optimisation.

In signed variables z = s∗a the dual problem of `lindero.problems.dual_qp` reads

    min ½ zᵀK z + qᵀz    s.t.  Σ z = δ,  lower ≤ z ≤ upper,        v = K z + q

Raising z_i by λ and lowering z_j by λ keeps the sum, and changes the objective by
−λ(v_j − v_i) + ½λ²η with η = K_ii + K_jj − 2K_ij. So the pair that violates optimality has i among
those that can rise, j among those that can fall, and v_i < v_j. Here i has the least v, and j the
largest guaranteed gain (v_j − v_i)²/η (second-order choice of Fan, Chen and Lin, 2005).

Each step is two passes over the block: one updates v and finds i, one finds j. Blocked variables
carry a penalty of ±BARRIER instead of a branch, and minima are found a lane block at a time before
the position is looked up, so that both passes run at vector speed.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: Added to v of a variable that cannot move: larger than any v, small enough for float32.
BARRIER = 1e30

_LANES = 64


@njit(cache=True, nogil=True, fastmath=True, boundscheck=False, error_model="numpy")
def smo_block(K, diagonal, z, lower, upper, v, tol, shrink_to, floor, max_iter):  # type: ignore[no-untyped-def]
    """Optimise the block in place until its own gap is max(tol, shrink_to · first gap).

    Returns the number of steps taken. `floor` is the least curvature η that is believed. K,
    `diagonal` and v share one precision; z and its bounds are always float64, so that Σ z does not
    drift.
    """
    n = z.size
    barrier = v.dtype.type(BARRIER)
    zero = v.dtype.type(0.0)
    two = v.dtype.type(2.0)
    rise = np.empty_like(v)
    fall = np.empty_like(v)
    for t in range(n):
        rise[t] = zero if z[t] < upper[t] else barrier
        fall[t] = zero if z[t] > lower[t] else -barrier
    n_blocks = (n + _LANES - 1) // _LANES
    block_best = np.empty(n_blocks, v.dtype)

    target = tol
    step = zero
    i = 0
    j = 0
    for iteration in range(max_iter):
        # v += λ(K_i − K_j), and the least v among those that can rise
        Ki = K[i]
        Kj = K[j]
        least = barrier
        at = 0
        for b in range(n_blocks):
            best = barrier
            for t in range(b * _LANES, min(n, (b + 1) * _LANES)):
                moved = v[t] + step * (Ki[t] - Kj[t])
                v[t] = moved
                best = min(best, moved + rise[t])
            if best < least:
                least = best
                at = b
        i = at * _LANES
        for t in range(at * _LANES, min(n, (at + 1) * _LANES)):
            if v[t] + rise[t] == least:
                i = t
                break

        # the largest gain among those that can fall, and the gap
        Ki = K[i]
        Kii = diagonal[i]
        most = -barrier
        best_gain = -barrier
        at = 0
        for b in range(n_blocks):
            best = zero
            for t in range(b * _LANES, min(n, (b + 1) * _LANES)):
                height = v[t] + fall[t]
                most = max(most, height)
                excess = max(height - least, zero)
                curvature = max(Kii + diagonal[t] - two * Ki[t], floor)
                best = max(best, excess * excess / curvature)
            if best > best_gain:
                best_gain = best
                at = b
        gap = most - least
        if iteration == 0:
            target = max(tol, shrink_to * gap)
        if gap <= target:
            return iteration
        j = at * _LANES
        gain = -barrier
        for t in range(at * _LANES, min(n, (at + 1) * _LANES)):
            excess = max(v[t] + fall[t] - least, zero)
            curvature = max(Kii + diagonal[t] - two * Ki[t], floor)
            if excess * excess / curvature > gain:
                gain = excess * excess / curvature
                j = t

        # the step, cut at the box; a variable that reaches its bound is put exactly on it
        curvature = max(Kii + diagonal[j] - two * Ki[j], floor)
        room_i = upper[i] - z[i]
        room_j = z[j] - lower[j]
        length = min(np.float64((v[j] - v[i]) / curvature), min(room_i, room_j))
        z[i] = upper[i] if length >= room_i else z[i] + length
        z[j] = lower[j] if length >= room_j else z[j] - length
        step = v.dtype.type(length)
        rise[i] = zero if z[i] < upper[i] else barrier
        fall[i] = zero if z[i] > lower[i] else -barrier
        rise[j] = zero if z[j] < upper[j] else barrier
        fall[j] = zero if z[j] > lower[j] else -barrier
    # out of steps: the last one is still owed to v
    v += step * (K[i] - K[j])
    return max_iter


@njit(cache=True, nogil=True, boundscheck=False)
def heights(v, z, lower, upper, rising, falling):  # type: ignore[no-untyped-def]
    """Fill v where z can rise (else +∞) and −v where it can fall (else +∞); returns the least v
    that can rise and the largest that can fall: their difference is the KKT gap."""
    least = np.inf
    most = -np.inf
    for t in range(z.size):
        value = v[t]
        up = value if z[t] < upper[t] else np.inf
        down = value if z[t] > lower[t] else -np.inf
        rising[t] = up
        falling[t] = -down
        if up < least:
            least = up
        if down > most:
            most = down
    return least, most


@njit(cache=True, nogil=True, fastmath=True, boundscheck=False)
def add_kept_rows(values, slots, coefficients, start, stop, f):  # type: ignore[no-untyped-def]
    """f[start:stop] += Σ_r coefficients_r · values[slots_r, start:stop]."""
    total = np.zeros(stop - start, values.dtype)
    for r in range(slots.size):
        row = values[slots[r], start:stop]
        c = coefficients[r]
        for t in range(row.size):
            total[t] += c * row[t]
    for t in range(total.size):
        f[start + t] += total[t]
