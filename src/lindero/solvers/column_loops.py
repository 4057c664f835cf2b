"""The loops of coordinate descent over columns, which keep what is missing to each margin (see
`sparse_weights`).

One code for dense and sparse columns: entry k of column j is data[k], starts_j ≤ k < starts_{j+1},
its row indices[k], or k − starts_j where there are no indices at all. Entries have the signs of
their rows: m_i = 1 − Σ_j x_ij v_j − s_i b is what is missing.
"""

from __future__ import annotations

import numpy as np

from lindero.runtime.compilation import EXACT, FAST, compiled
from lindero.solvers.row_loops import shuffle_rows

#: Share of what a slope promises that a step must gain, and halvings until it is nothing.
_LEAST_GAIN, _MOST_HALVINGS = 0.01, 30

#: Least share of its largest value that the curvature of a column may have.
_LEAST_CURVATURE = 1e-12

#: Newton steps of the intercept.
_MOST_STEPS = 60


@compiled(FAST, error_model="numpy")
def slope_dense(data, start, c, missing):  # type: ignore[no-untyped-def]
    """Σ c x m and Σ c x² over the rows of a dense column with errors."""
    slope, curvature = 0.0, 0.0
    for i in range(missing.size):
        x = data[start + i]
        weighted = c[i] * x if missing[i] > 0.0 else 0.0
        slope += weighted * missing[i]
        curvature += weighted * x
    return slope, curvature


@compiled(FAST, error_model="numpy")
def move_dense(data, start, c, missing, move):  # type: ignore[no-untyped-def]
    """m −= move x over a dense column; the losses after it."""
    losses = 0.0
    for i in range(missing.size):
        value = missing[i] - move * data[start + i]
        missing[i] = value
        error = max(value, 0.0)
        losses += c[i] * error * error
    return losses


@compiled(EXACT, error_model="numpy")
def move_column(data, indices, start, stop, c, missing, move):  # type: ignore[no-untyped-def]
    """m −= move x over a column; the losses of its rows after it."""
    if indices.size == 0:
        return move_dense(data, start, c, missing, move)
    losses = 0.0
    for k in range(start, stop):
        i = indices[k]
        value = missing[i] - move * data[k]
        missing[i] = value
        if value > 0.0:
            losses += c[i] * value * value
    return losses


@compiled(EXACT, error_model="numpy")
def best_step(v, slope, curvature, penalty):  # type: ignore[no-untyped-def]
    """Where slope t + ½ curvature t² + penalty |v + t| is least."""
    if slope + penalty <= curvature * v:
        return -(slope + penalty) / curvature
    if slope - penalty >= curvature * v:
        return -(slope - penalty) / curvature
    return -v


@compiled(EXACT, error_model="numpy")
def find_violation(v, slope, penalty):  # type: ignore[no-untyped-def]
    """How far the slope of a weight is from what it may be, in units of the penalty."""
    if v > 0.0:
        return abs(slope + penalty) / penalty
    if v < 0.0:
        return abs(slope - penalty) / penalty
    return max(0.0, abs(slope) - penalty) / penalty


@compiled(EXACT, error_model="numpy")
def best_intercept(s, c, missing):  # type: ignore[no-untyped-def]
    """How far to move the intercept so that Σ c s m over errors vanishes. The sum falls with it,
    piecewise linearly: Newton's steps within the bracket that is known, or its middle."""
    low, high, move = -np.inf, np.inf, 0.0
    for _ in range(_MOST_STEPS):
        slope, curvature, largest = 0.0, 0.0, 0.0
        for i in range(s.size):
            value = missing[i] - s[i] * move
            if value > 0.0:
                slope += c[i] * s[i] * value
                curvature += c[i]
                largest = max(largest, value)
        if curvature == 0.0 or abs(slope) <= 1e-15 * curvature * largest:
            break
        if slope > 0.0:
            low = move
        else:
            high = move
        following = move + slope / curvature
        if not low < following < high:
            following = 0.5 * (low + high)
        if following == move or not np.isfinite(following):
            break
        move = following
    return move


@compiled(EXACT, error_model="numpy")
def descend_columns(  # type: ignore[no-untyped-def]
    data, indices, starts, s, c, missing, v, penalties, curvatures, order, numbers, counts,
    has_intercept, goal, n_epochs,
):  # fmt: skip
    """Epochs over the columns that are not left out; whether all of them are within the goal.
    `numbers` are the intercept, the worst violation and that from which columns are left out,
    `counts` the columns in use, the state of the random numbers and the epochs so far."""
    left_out, worst = numbers[2], numbers[1]
    n_active, done, dense = counts[0], False, indices.size == 0
    for _ in range(n_epochs):
        counts[1] = shuffle_rows(order, n_active, counts[1])
        worst, n_kept = 0.0, 0
        for at in range(n_active):
            j = order[at]
            start, stop, penalty, full = starts[j], starts[j + 1], penalties[j], curvatures[j]
            slope, curvature = 0.0, 0.0
            if dense:
                slope, curvature = slope_dense(data, start, c, missing)
            else:
                for k in range(start, stop):
                    i = indices[k]
                    value = missing[i]
                    if value > 0.0:
                        weighted = c[i] * data[k]
                        slope += weighted * value
                        curvature += weighted * data[k]
            slope *= -2.0
            if v[j] == 0.0 and abs(slope) < penalty * (1.0 - left_out):
                continue
            order[at] = order[n_kept]
            order[n_kept] = j
            n_kept += 1
            worst = max(worst, find_violation(v[j], slope, penalty))
            curvature = max(2.0 * curvature, _LEAST_CURVATURE * full)
            step = best_step(v[j], slope, curvature, penalty)
            if step == 0.0 or not np.isfinite(step):
                continue
            promised = slope * step + penalty * (abs(v[j] + step) - abs(v[j]))
            moved, losses = 0.0, -1.0
            for _ in range(_MOST_HALVINGS):
                rise = penalty * (abs(v[j] + step) - abs(v[j])) - _LEAST_GAIN * promised
                if 0.5 * full * step * step + slope * step + rise <= 0.0:
                    move_column(data, indices, start, stop, c, missing, step - moved)
                    moved = step
                    break
                if losses < 0.0:
                    losses = move_column(data, indices, start, stop, c, missing, 0.0)
                after = move_column(data, indices, start, stop, c, missing, step - moved)
                moved = step
                if after - losses + rise <= 0.0:
                    break
                step, promised = 0.5 * step, 0.5 * promised
            else:
                move_column(data, indices, start, stop, c, missing, -moved)
                moved = 0.0
            v[j] += moved
        if has_intercept:
            move = best_intercept(s, c, missing)
            if move != 0.0:
                numbers[0] += move
                for i in range(s.size):
                    missing[i] -= s[i] * move
        n_active = n_kept
        counts[2] += 1
        left_out = min(0.1 * worst, 1.0)
        if worst <= goal:
            if n_active == order.size:
                done = True
                break
            n_active, left_out = order.size, 1.0
    numbers[1], numbers[2] = worst, left_out
    counts[0] = n_active
    return done


@compiled(EXACT, error_model="numpy")
def descend_matrix(matrix, slope, penalties, v, share, n_epochs):  # type: ignore[no-untyped-def]
    """Epochs on slope·(v' − v) + ½ (v' − v)ᵀ matrix (v' − v) + Σ penalties |v'|: v becomes v', the
    slope that there. They end when steps promise no more than a share of what the first did."""
    first = 0.0
    for epoch in range(n_epochs):
        largest = 0.0
        for j in range(v.size):
            curvature = matrix[j, j]
            if not curvature > 0.0:
                continue
            step = best_step(v[j], slope[j], curvature, penalties[j])
            if step == 0.0:
                continue
            largest = max(largest, curvature * step * step)
            v[j] += step
            for i in range(v.size):
                slope[i] += step * matrix[j, i]
        if epoch == 0:
            first = largest
        if largest <= share * share * first:
            break
