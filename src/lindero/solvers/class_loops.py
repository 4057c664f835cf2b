"""The loops of the sequential dual method for one margin between all classes (see `class_descent`).

Rows are read as in `row_loops`. The weights of all classes to one feature stand together, so that a
pass over a row computes the values of all classes side by side.
"""

from __future__ import annotations

import numpy as np

from lindero.runtime.compilation import EXACT, FAST, compiled
from lindero.solvers.row_loops import shuffle_rows


@compiled(FAST, error_model="numpy")
def put_dense_values(data, start, W, b, values):  # type: ignore[no-untyped-def]
    """values = x W + b of all classes for a dense row, two features at a time."""
    n_features, n_classes = W.shape
    for m in range(n_classes):
        values[m] = b[m]
    for k in range(0, n_features - 1, 2):
        x, z = np.float64(data[start + k]), np.float64(data[start + k + 1])
        if x != 0.0 or z != 0.0:
            for m in range(n_classes):
                values[m] += x * W[k, m] + z * W[k + 1, m]
    if n_features % 2 == 1:
        x = np.float64(data[start + n_features - 1])
        for m in range(n_classes):
            values[m] += x * W[n_features - 1, m]


@compiled(FAST, error_model="numpy")
def put_sparse_values(data, indices, start, stop, W, b, values):  # type: ignore[no-untyped-def]
    """The same for a sparse row, four entries at a time: values are loaded and stored less."""
    n_classes = values.size
    for m in range(n_classes):
        values[m] = b[m]
    k = start
    while k + 3 < stop:
        x, j = np.float64(data[k]), np.uint32(indices[k])
        x1, j1 = np.float64(data[k + 1]), np.uint32(indices[k + 1])
        x2, j2 = np.float64(data[k + 2]), np.uint32(indices[k + 2])
        x3, j3 = np.float64(data[k + 3]), np.uint32(indices[k + 3])
        for m in range(n_classes):
            values[m] += x * W[j, m] + x1 * W[j1, m] + x2 * W[j2, m] + x3 * W[j3, m]
        k += 4
    while k < stop:
        x, j = np.float64(data[k]), np.uint32(indices[k])
        for m in range(n_classes):
            values[m] += x * W[j, m]
        k += 1


@compiled(EXACT, error_model="numpy")
def solve_row(  # type: ignore[no-untyped-def]
    values, alpha, chosen, n_chosen, own, bound, curvature, work
):
    """Put the best coefficients of a sample for some classes into `work`, in their order: those
    that minimise ½ curvature ‖α' − α‖² + G·α' with the sum zero. They are min(bound, (β − B) /
    curvature) with B = G − curvature α, and β lies below as many of the D = B + curvature · bound
    as it takes for the sum to vanish."""
    for r in range(n_chosen):
        m = chosen[r]
        work[r] = values[m] - curvature * alpha[m]
        if m == own:
            work[r] += curvature * bound
    # β = (sum of the k largest D − curvature · bound) / k, at the first k that no further D
    # exceeds.
    total, last, n_taken = -curvature * bound, np.inf, 0
    while n_taken < n_chosen:
        largest, n_equal = -np.inf, 0
        for r in range(n_chosen):
            if work[r] < last:
                if work[r] > largest:
                    largest, n_equal = work[r], 1
                elif work[r] == largest:
                    n_equal += 1
        if n_equal == 0 or (n_taken > 0 and total >= n_taken * largest):
            break
        total += n_equal * largest
        n_taken += n_equal
        last = largest
    level, taken, place = total / n_taken, 0.0, 0
    for r in range(n_chosen):
        if chosen[r] == own:
            place = r
        else:
            value = (level - work[r]) / curvature
            work[r] = value if value < 0.0 else 0.0
            taken -= work[r]
    if taken >= (1.0 - 1e-12) * bound:  # else rounding would set a settled sample free
        for r in range(n_chosen):
            work[r] *= bound / taken
        taken = bound
    work[place] = taken


@compiled(EXACT, error_model="numpy")
def descend_classes(  # type: ignore[no-untyped-def]
    data, indices, starts, stops, codes, c, curvatures, A, W, b, sums, order, numbers, counts,
    goal, n_epochs,
):  # fmt: skip
    """Epochs over the rows that are not left out; whether all rows are within the goal. `W` has a
    row for each feature, `b` are the intercepts with what the sums add to them. `numbers` are the
    proximal term, the worst gap, and that at which rows left out are looked at again, `counts` the
    rows in use, the state of the random numbers and the epochs so far."""
    proximal, worst, level, last_off = numbers[0], numbers[1], numbers[2], numbers[3]
    n_active, n_classes, dense = counts[0], b.size, indices.size == 0
    values, best = np.empty(n_classes), np.empty(n_classes)
    moved = np.empty(n_classes, dtype=np.int64)
    done = False
    for _ in range(n_epochs):
        counts[1] = shuffle_rows(order, n_active, counts[1])
        worst, n_kept, whole = 0.0, 0, n_active == order.size
        for at in range(n_active):
            i = order[at]
            start, stop, own = starts[i], stops[i], codes[i]
            if dense:
                put_dense_values(data, start, W, b, values)
            else:
                put_sparse_values(data, indices, start, stop, W, b, values)
            values[own] -= 1.0  # the others cost one more
            alpha, bound = A[i], c[i]
            most, least, n_free, second = -np.inf, np.inf, 0, -np.inf
            for m in range(n_classes):
                most = max(most, values[m])
                limit = bound if m == own else 0.0
                if alpha[m] < limit:
                    least = min(least, values[m])
                    n_free += 1
                else:
                    second = max(second, values[m])
            gap = most - least
            if n_free == 1 and second < least:
                continue
            order[at] = order[n_kept]
            order[n_kept] = i
            n_kept += 1
            worst = max(worst, gap)
            if gap <= 0.1 * goal:
                continue
            # Rivals below the level of those in use stay there.
            n_chosen = 0
            for m in range(n_classes):
                if m == own or alpha[m] < 0.0 or values[m] > least:
                    moved[n_chosen] = m
                    n_chosen += 1
            curvature = curvatures[i] + proximal
            solve_row(values, alpha, moved, n_chosen, own, bound, curvature, best)
            n_moved = 0
            for r in range(n_chosen):
                m = moved[r]
                move = best[r] - alpha[m]
                if move != 0.0:
                    alpha[m] = best[r]
                    sums[m] += move
                    b[m] += proximal * move
                    best[n_moved], moved[n_moved] = move, m
                    n_moved += 1
            if dense:
                for k in range(W.shape[0]):
                    x = np.float64(data[start + k])
                    if x != 0.0:
                        for r in range(n_moved):
                            W[k, moved[r]] += x * best[r]
            else:
                # Two classes in one pass: mostly one more moves than the sample's own.
                for r in range(0, n_moved - 1, 2):
                    m, other, move, opposite = moved[r], moved[r + 1], best[r], best[r + 1]
                    for k in range(start, stop):
                        j, x = np.uint32(indices[k]), np.float64(data[k])
                        W[j, m] += x * move
                        W[j, other] += x * opposite
                if n_moved % 2 == 1:
                    m, move = moved[n_moved - 1], best[n_moved - 1]
                    for k in range(start, stop):
                        W[np.uint32(indices[k]), m] += np.float64(data[k]) * move
        n_active = n_kept
        counts[2] += 1
        off = 0.0
        for m in range(n_classes):
            off = max(off, proximal * abs(sums[m]))
        if worst <= goal and off <= goal and whole:
            done = True
            break
        if worst <= max(level, goal):
            n_active, level = order.size, max(0.5 * level, goal)
        if worst <= 2.0 * off:
            for m in range(n_classes):
                b[m] += proximal * sums[m]
            if worst <= 0.1 * off and off > 0.7 * last_off and proximal < numbers[4]:
                for m in range(n_classes):
                    b[m] += proximal * sums[m]
                proximal *= 2.0
            last_off = off
    numbers[0], numbers[1], numbers[2], numbers[3] = proximal, worst, level, last_off
    counts[0] = n_active
    return done
