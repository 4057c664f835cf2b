"""The motion of an active set in compiled code, over the variables that are likely to take part.

Most variables are so far from the margin that no single update moves them there. They are left out:
their f is brought up to date once, at the end, by the changes of z. What is left are the free
variables, whose r is 0 throughout, and some near ones, for which a block K(free, near) is kept.

Nothing is lost by that. The conditions at the end decide, not the way there: where one that was
left out is found to be violated, its r is corrected as rounding is (`ActiveSet.settle`), by one
more motion.

Everything else is as in `solvers.active_set_motion`, which does what needs more than arrays at
hand: columns that are not kept, directions of zero curvature, an empty set of free variables.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lindero.runtime.compilation import EXACT, FAST
from lindero.solvers.active_set_steps import AT_BOUND, FREE, first_to_meet_bound
from lindero.solvers.growing_factor import append_column, backward, forward, remove_column

#: Why a run ended.
ARRIVED, NO_ROOM, TO_JOIN, NO_FREE, CIRCLES = 0, 1, 2, 3, 4


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def distances(n, per, state, s, p, u, u_rate, f, b, least, out):  # type: ignore[no-untyped-def]
    """out_i = |r_i| of variables at zero or bound that take part and are not violated already,
    +∞ of all others."""
    for i in range(n):
        out[i] = np.inf
        if state[i] != FREE and (u[i] > 0.0 or u_rate[i] != 0.0):
            r = s[i] * (f[i // per] + b) + p[i]
            if state[i] * r <= least:
                out[i] = abs(r)


@njit(cache=True, nogil=True, fastmath=FAST, boundscheck=False)
def gather_block(values, slots, m, samples, block):  # type: ignore[no-untyped-def]
    """block[k, j] = values[slots_k, samples_j]."""
    for k in range(m):
        column, row = values[slots[k]], block[k]
        for j in range(samples.size):
            row[j] = column[samples[j]]


@njit(cache=True, nogil=True, fastmath=FAST, boundscheck=False)
def add_rows(block, rows, weights, m, n_near, out):  # type: ignore[no-untyped-def]
    """out += Σ_k weights_k block[rows_k], four rows at a time."""
    k = 0
    while k + 4 <= m:
        a, b, c, d = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        p, q = block[rows[k]], block[rows[k + 1]]
        s, t = block[rows[k + 2]], block[rows[k + 3]]
        for j in range(n_near):
            out[j] += a * p[j] + b * q[j] + c * s[j] + d * t[j]
        k += 4
    while k < m:
        a, p = weights[k], block[rows[k]]
        for j in range(n_near):
            out[j] += a * p[j]
        k += 1


@njit(cache=True, nogil=True, fastmath=FAST, boundscheck=False)
def rates(R, m, solved, total, constant, z_rate, free, per, root):  # type: ignore[no-untyped-def]
    """ż of the free variables in `z_rate`, from R⁻ᵀ of the right side and of ones in the rows of
    `solved`; returns ḃ and Σ|ż| (K + constant)^½."""
    right, ones = solved[0], solved[1]
    summed, of_ones = 0.0, 0.0
    for k in range(m):
        summed += right[k] * ones[k]
        of_ones += ones[k] * ones[k]
    shift = (summed - total) / of_ones
    for k in range(m):
        z_rate[k] = right[k] - shift * ones[k]
    backward(R, m, z_rate)
    sizes = 0.0
    for k in range(m):
        sizes += abs(z_rate[k]) * np.hypot(root[free[k] // per], np.sqrt(constant))
    return shift + constant * total, sizes


@njit(cache=True, nogil=True, fastmath=FAST, boundscheck=False)
def push(drive, column, rate):  # type: ignore[no-untyped-def]
    """drive += rate · column."""
    for i in range(drive.size):
        drive[i] += rate * column[i]


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def first_near_to_leave(  # type: ignore[no-untyped-def]
    near, n_near, per, state, s, p, f_near, rate_near, b, b_rate, root, least, share, banned
):
    """Step and place of the first near variable whose r reaches 0; −1 if none does."""
    nearest, found, steepest = np.inf, -1, 0.0
    for j in range(n_near):
        i = near[j]
        at = state[i]
        rate = at * s[i] * (rate_near[j] + b_rate)
        if rate <= least + share * root[i // per] or i == banned:
            continue
        step = max(-at * (s[i] * (f_near[j] + b) + p[i]), 0.0) / rate
        if step < nearest or (step == nearest and rate > steepest):
            nearest, found, steepest = step, j, rate
    return nearest, found


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def run(  # type: ignore[no-untyped-def]
    per, state, s, p, u, u_rate, a, moving, free, m, R, constant, root, values, slot_of,
    near, n_near, f_near, block, rows, places, next_row, drive, drive_total, n_drivers,
    delta_rate, pace, sums, b, t_end,
    most_steps, most_standstills, rounding, dependent, last_bit,
):  # fmt: skip
    """Move until t = t_end, or until something is needed that is not at hand.

    `block` is written to beyond the free and near variables it came with only, so that it can serve
    again for the same point; `rows` and `places` say where in it and in `near` the free ones are.
    Returns why the run ended, a variable to join, and all that has changed and is not an array.
    """
    room = free.size
    slots = np.empty(room, dtype=np.int64)
    for k in range(m):
        slots[k] = slot_of[free[k] // per]
    z_rate, a_rate, among = np.empty(room), np.empty(room), np.empty(room)
    rate_near = np.empty(near.size)
    # R⁻ᵀ of the right side and of ones: what follows from both needs one substitution a step.
    solved = np.ones((2, room))
    forward(R, m, solved[1])
    fresh = False
    t, blur = 0.0, 0.0
    steps, changes, standstills, joined, banned = 0, 0, 0, -1, -1
    why, variable = CIRCLES, -1
    while steps <= most_steps and standstills <= most_standstills:
        total = delta_rate - drive_total
        if abs(total) <= rounding * sums:
            total = 0.0
        if m == 0 and total != 0.0:
            why = NO_FREE
            break
        step, leaving, size, b_rate = np.inf, -1, 0.0, 0.0
        for k in range(m):
            z_rate[k] = 0.0
        if n_drivers > 0 or total != 0.0:
            steps += 1
            if m > 0:
                if not fresh:
                    for k in range(m):
                        solved[0, k] = -drive[free[k] // per]
                    forward(R, m, solved[0])
                    fresh = True
                b_rate, size = rates(R, m, solved, total, constant, z_rate, free, per, root)
            for j in range(n_near):
                rate_near[j] = drive[near[j] // per]
            add_rows(block, rows, z_rate, m, n_near, rate_near)
            # Rounding of the linear system, the constant in it included, is felt everywhere.
            largest = 0.0
            for k in range(m):
                largest = max(largest, root[free[k] // per])
            for i in moving:
                if state[i] == AT_BOUND:
                    size += abs(u_rate[i]) * np.hypot(root[i // per], np.sqrt(constant))
                    largest = max(largest, root[i // per])
            largest = np.hypot(largest, np.sqrt(constant))
            least = (10 + m) * rounding
            step, leaving = first_near_to_leave(
                near, n_near, per, state, s, p, f_near, rate_near, b, b_rate, root,
                least * (abs(b_rate) + largest * size), least * size, banned,
            )  # fmt: skip
        fastest = 0.0
        for k in range(m):
            a_rate[k] = s[free[k]] * z_rate[k]
            fastest = max(fastest, abs(a_rate[k]))
        least = rounding * max(pace, fastest)
        short, meeting, side = first_to_meet_bound(free[:m], a, u, a_rate, u_rate, least)
        length = min(step, short, t_end - t)
        arrived = length >= t_end - t

        for k in range(m):
            a[free[k]] += length * a_rate[k]
        if size > 0.0:
            for j in range(n_near):
                f_near[j] += length * rate_near[j]
        b += length * b_rate
        for i in moving:
            u[i] += length * u_rate[i]
            if state[i] == AT_BOUND:
                a[i] = u[i]
        blur += length * size
        t += length
        if arrived:
            t = t_end
            why = ARRIVED
            break
        if length > 0.0:
            standstills, banned = 0, -1
        else:
            standstills += 1
        if standstills > 2 and t_end - t <= last_bit:
            why = ARRIVED
            break

        if short <= step:
            variable = free[meeting]
            if length == 0.0 and meeting == m - 1 and joined == variable:
                banned = joined
            changes += 1
            state[variable] = side
            a[variable] = u[variable] if side == AT_BOUND else 0.0
            if side == AT_BOUND and u_rate[variable] != 0.0:
                rate = s[variable] * u_rate[variable]
                push(drive, values[slots[meeting]], rate)
                drive_total += rate
                n_drivers += 1
                fresh = False
            remove_column(R, m, meeting, solved)
            place = places[meeting]
            m -= 1
            for k in range(meeting, m):
                free[k], slots[k] = free[k + 1], slots[k + 1]
                rows[k], places[k] = rows[k + 1], places[k + 1]
            if place < 0:
                if n_near == near.size:
                    why = NO_ROOM
                    break
                place = n_near
                n_near += 1
                near[place] = variable
                for k in range(m):
                    block[rows[k], place] = values[slots[k], variable // per]
            f_near[place] = -s[variable] * p[variable] - b
            continue

        variable = near[leaving]
        slot = slot_of[variable // per]
        if slot < 0 or m == room or next_row == block.shape[0] or m == 0:
            why = TO_JOIN
            break
        column = values[slot]
        for k in range(m):
            among[k] = column[free[k] // per] + constant
        diagonal = column[variable // per] + constant
        distance = append_column(R, m, among, diagonal)
        if distance <= dependent * diagonal:
            why = TO_JOIN
            break
        joined = variable
        changes += 1
        R[m, m] = np.sqrt(distance)
        if state[variable] == AT_BOUND and u_rate[variable] != 0.0:
            rate = s[variable] * u_rate[variable]
            push(drive, column, -rate)
            drive_total -= rate
            n_drivers -= 1
            fresh = False
            if n_drivers == 0:
                drive[:] = 0.0
                drive_total = 0.0
        right, one = -drive[variable // per], 1.0
        for k in range(m):
            right -= R[k, m] * solved[0, k]
            one -= R[k, m] * solved[1, k]
        solved[0, m], solved[1, m] = right / R[m, m], one / R[m, m]
        state[variable] = FREE
        free[m], slots[m], rows[m], places[m] = variable, slot, next_row, leaving
        for j in range(n_near):
            block[next_row, j] = column[near[j] // per]
        next_row += 1
        m += 1
    return why, variable, m, n_near, next_row, b, t, drive_total, n_drivers, steps, changes, blur
