"""Compiled inner steps of sequential minimal optimisation.

In signed variables z = s∗a the dual problem of `lindero.problems.dual_qp` reads

    min ½ zᵀK z + qᵀz    s.t.  Σ z = δ,  lower ≤ z ≤ upper,        v = K z + q

Raising z_i by λ and lowering z_j by λ keeps the sum, and changes the objective by
−λ(v_j − v_i) + ½λ²η with η = K_ii + K_jj − 2K_ij. So the pair that violates optimality has i among
those that can rise, j among those that can fall, and v_i < v_j. Here i has the least v, and j the
largest guaranteed gain (v_j − v_i)²/η (second-order choice of Fan, Chen and Lin, 2005).

Where variables lie in groups with a sum each, both are of one group, and the groups take turns.

Each step is two passes over the block: one updates v and finds i, one finds j. Blocked variables
carry a penalty of ±∞ instead of a branch. Arrays are padded to whole lanes and seen as
(blocks) × LANES, and the best value so far is kept per lane: LLVM turns that into vector code where
it leaves a plain search for a minimum scalar. The position is looked up in the best lane only.

Every position found is a block times LANES plus a lane, so it lies in the padded arrays whatever
the numbers are; whether it is one of the n variables is checked before it is used. Numbers stay
finite, too: kernel values of at most 2^60 (`Solver.solve` scales others), scores of at most
`LARGEST_SCORE`, and no step that could add more than that to a score.
"""

from __future__ import annotations

import numpy as np

from lindero.runtime.compilation import EXACT, FAST, FINITE, compiled

#: Scores v beyond this are not believed; float32 holds the sum of many of them.
LARGEST_SCORE = 1e30

#: Columns of the kernel block are padded to a multiple of this.
LANES = 64


@compiled(EXACT, error_model="numpy")
def longest_step(largest):  # type: ignore[no-untyped-def]
    """The longest step that is taken where `largest` is the largest |K_ij|: ten thousand such add
    no more than LARGEST_SCORE to a score."""
    return 5e-5 * LARGEST_SCORE / max(largest, 1e-300)


@compiled(FINITE, error_model="numpy")
def smo_block(  # type: ignore[no-untyped-def]
    K,
    diagonal,
    z,
    lower,
    upper,
    group_of,
    n_groups,
    scores,
    tol,
    shrink_to,
    floor,
    longest,
    max_iter,
):
    """Optimise the block in place until its own gaps are max(tol, shrink_to · first gap).

    Returns the number of steps taken. `floor` is the least curvature η that is believed, `longest`
    the longest step: where a longer one is due, the block is left as it is. K (with padded
    columns), `diagonal` and `scores` share one precision; z and its bounds are always float64, so
    that Σ z does not drift.
    """
    real = scores.dtype.type
    barrier, zero, two = real(np.inf), real(0.0), real(2.0)
    n = z.size
    blocks = K.shape[1] // LANES
    K = K.reshape(K.shape[0], blocks, LANES)
    v = np.zeros((blocks, LANES), scores.dtype)
    d = np.ones((blocks, LANES), scores.dtype)
    rises = np.full((n_groups, blocks, LANES), barrier, scores.dtype)
    falls = np.full((n_groups, blocks, LANES), -barrier, scores.dtype)
    for t in range(n):
        b, k = divmod(t, LANES)
        v[b, k] = scores[t]
        d[b, k] = diagonal[t]
        rises[group_of[t], b, k] = zero if z[t] < upper[t] else barrier
        falls[group_of[t], b, k] = zero if z[t] > lower[t] else -barrier

    lane_best = np.empty(LANES, scores.dtype)
    lane_most = np.empty(LANES, scores.dtype)

    target = tol
    step = zero
    i = 0
    j = 0
    steps = max_iter
    group = 0
    satisfied = 0
    for iteration in range(max_iter):
        rise, fall = rises[group], falls[group]
        # v += λ(K_i − K_j), and the least v among those that can rise
        Ki, Kj = K[i], K[j]
        for k in range(LANES):
            lane_best[k] = barrier
        for b in range(blocks):
            for k in range(LANES):
                moved = v[b, k] + step * (Ki[b, k] - Kj[b, k])
                v[b, k] = moved
                height = moved + rise[b, k]
                lane_best[k] = height if height < lane_best[k] else lane_best[k]
        lane = 0
        for k in range(LANES):
            if lane_best[k] < lane_best[lane]:
                lane = k
        least = lane_best[lane]
        at = 0
        for b in range(blocks):
            if v[b, lane] + rise[b, lane] == least:
                at = b
        i = at * LANES + lane
        if i >= n:  # nobody can rise, and the place found is one of the padding
            i, at, lane = 0, 0, 0

        # the largest gain among those that can fall, and the gap
        Ki = K[i]
        Kii = d[at, lane]
        for k in range(LANES):
            lane_best[k] = -barrier
            lane_most[k] = -barrier
        for b in range(blocks):
            for k in range(LANES):
                height = v[b, k] + fall[b, k]
                lane_most[k] = height if height > lane_most[k] else lane_most[k]
                excess = height - least
                excess = excess if excess > zero else zero
                curvature = Kii + d[b, k] - two * Ki[b, k]
                curvature = curvature if curvature > floor else floor
                gain = excess * excess / curvature
                lane_best[k] = gain if gain > lane_best[k] else lane_best[k]
        lane = 0
        most = -barrier
        for k in range(LANES):
            if lane_best[k] > lane_best[lane]:
                lane = k
            most = max(most, lane_most[k])
        gap = most - least
        if iteration < n_groups and gap > zero:
            target = max(target, shrink_to * gap)
        if gap <= target:
            step = zero
            satisfied += 1
            if satisfied == n_groups:
                steps = iteration
                break
            group = (group + 1) % n_groups
            continue
        satisfied = 0
        at = 0
        best = zero
        for b in range(blocks):
            excess = max(v[b, lane] + fall[b, lane] - least, zero)
            gain = excess * excess / max(Kii + d[b, lane] - two * Ki[b, lane], floor)
            if gain > best:
                best = gain
                at = b
        j = at * LANES + lane

        if j >= n:  # no gain anywhere: numbers beyond what floats hold
            j, step, steps = i, zero, iteration
            break
        # the step, cut at the box; a variable that reaches its bound is put exactly on it
        curvature = max(Kii + d[at, lane] - two * Ki[at, lane], floor)
        room_i = upper[i] - z[i]
        room_j = z[j] - lower[j]
        length = min(np.float64((v[at, lane] - least) / curvature), min(room_i, room_j))
        if not length <= longest:
            step, steps = zero, iteration
            break
        z[i] = upper[i] if length >= room_i else z[i] + length
        z[j] = lower[j] if length >= room_j else z[j] - length
        step = real(length)
        for t in (i, j):
            b, k = divmod(t, LANES)
            rise[b, k] = zero if z[t] < upper[t] else barrier
            fall[b, k] = zero if z[t] > lower[t] else -barrier
        group = (group + 1) % n_groups

    # when out of steps, the last one is still owed to v
    for t in range(n):
        b, k = divmod(t, LANES)
        scores[t] = v[b, k] + step * (K[i, b, k] - K[j, b, k])
    return steps


@compiled(EXACT)
def heights(v, z, lower, upper, group_of, middles, rising, falling):  # type: ignore[no-untyped-def]
    """Fill v − middle where z can rise (else +∞) and middle − v where it can fall (else +∞), with
    the middle of its group for each: the least of either violate optimality most."""
    for t in range(z.size):
        value = v[t] - middles[group_of[t]]
        rising[t] = value if z[t] < upper[t] else np.inf
        falling[t] = -value if z[t] > lower[t] else np.inf


@compiled(FAST)
def add_rows(values, rows, coefficients, start, stop, total):  # type: ignore[no-untyped-def]
    """total += Σ_r coefficients_r · values[rows_r, start:stop], summed in float64: errors of rows
    in float32 average out, those of long sums in float32 would not."""
    for r in range(rows.size):
        row = values[rows[r], start:stop]
        c = coefficients[r]
        for t in range(row.size):
            total[t] += c * np.float64(row[t])
