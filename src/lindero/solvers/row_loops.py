"""The loops of coordinate descent over rows that keep w = Σ z_i x_i (see `linear_descent`).

One code for dense and sparse rows: entry k of row i is data[k], starts_i ≤ k < stops_i, its column
indices[k], or k − starts_i where there are no indices at all. Columns are unsigned for the loops:
that no index is negative, or too large, has been checked where the table was read. What is done
with the entries of a sparse row stands in the loops themselves: calling a function for each row
costs as much as the row. Two sums are taken side by side, each in order: one would wait for every
addition before, and loads of w from all over memory are faster one by one than gathered.
"""

from __future__ import annotations

import numpy as np

from lindero.runtime.compilation import EXACT, FAST, compiled
from lindero.runtime.prefetch import prefetch

#: What epochs have come to: rows are beyond the goal; those that are not left out are within; all.
UNDONE, SOME, ALL = range(3)

#: What is asked for in advance: of which row, counted from the one being worked on, and all of it
#: where rows have more entries than the second number (loops that end unforeseen cost more than
#: the lines that they save).
AHEAD, LONG_ROW = 2, 40

#: From this epoch on, steps go beyond the best point by this share of their length.
PLAIN_EPOCHS, BEYOND = 3, 0.3

#: Rows whose violation is within this share of the goal stay where they are, and are not looked at
#: in the next epoch; from that epoch on, neither are those that have moved, but whose violation was
#: within this share of the worst one of the epoch before.
QUIET = 0.02
SMALL, SMALL_FROM = 0.05, 2


@compiled(FAST, error_model="numpy")
def multiply_dense(data, start, w):  # type: ignore[no-untyped-def]
    """x·w of a dense row, whose sums may be taken side by side."""
    total = 0.0
    for k in range(w.size):
        total += data[start + k] * w[k]
    return total


@compiled(EXACT, error_model="numpy")
def add_dense(data, start, c, w):  # type: ignore[no-untyped-def]
    """w += c x of a dense row."""
    for k in range(w.size):
        w[k] += c * data[start + k]


@compiled(EXACT)
def put_squares(data, starts, stops, out):  # type: ignore[no-untyped-def]
    """out_i = ‖x_i‖²."""
    for i in range(out.size):
        total = 0.0
        for k in range(starts[i], stops[i]):
            value = np.float64(data[k])
            total += value * value
        out[i] = total


@compiled(EXACT)
def put_products(data, indices, starts, stops, rows, w, out):  # type: ignore[no-untyped-def]
    """out_r = x_{rows_r}·w."""
    for r in range(rows.size):
        start, stop = starts[rows[r]], stops[rows[r]]
        total = 0.0
        if indices.size == 0:
            total = multiply_dense(data, start, w)
        else:
            k, other = start, 0.0
            while k + 1 < stop:
                total += data[k] * w[np.uint32(indices[k])]
                other += data[k + 1] * w[np.uint32(indices[k + 1])]
                k += 2
            if k < stop:
                total += data[k] * w[np.uint32(indices[k])]
            total += other
        out[r] = total


@compiled(EXACT)
def add_rows(data, indices, starts, stops, rows, c, w):  # type: ignore[no-untyped-def]
    """w += Σ c_r x_{rows_r}."""
    for r in range(rows.size):
        start, stop, factor = starts[rows[r]], stops[rows[r]], c[r]
        if factor == 0.0:
            continue
        if indices.size == 0:
            add_dense(data, start, factor, w)
        else:
            for k in range(start, stop):
                w[np.uint32(indices[k])] += factor * data[k]


@compiled(EXACT)
def shuffle_rows(order, n_active, random):  # type: ignore[no-untyped-def]
    """Put the first rows into random order; the state of the generator after it."""
    for k in range(n_active):
        random = (random * 1103515245 + 12345) & 0x7FFFFFFF
        other = k + ((random * (n_active - k)) >> 31)
        order[k], order[other] = order[other], order[k]
    return random


@compiled(EXACT, error_model="numpy")
def best_coordinate(z, g, curvature, lower, upper, below, above):  # type: ignore[no-untyped-def]
    """Where g (z' − z) + ½ curvature (z' − z)² + the slopes of z' is least within the bounds."""
    target = z - (g + above) / curvature
    if target > 0.0:
        return min(target, upper)
    target = z - (g + below) / curvature
    if target < 0.0:
        return max(target, lower)
    return 0.0


@compiled(EXACT, error_model="numpy")
def descend(  # type: ignore[no-untyped-def]
    data, indices, starts, stops, P, w, order, numbers, counts, goal, most_proximal, n_epochs
):
    """Epochs over the rows that are not left out, until these are within the goal: which of the
    above. All rows come next then."""
    bias, total, proximal = numbers[0], numbers[1], numbers[2]
    worst, left_out, last_sum, usual = numbers[3], numbers[4], numbers[5], numbers[6]
    n_active = counts[0]
    done, dense = UNDONE, indices.size == 0
    long_rows = dense or data.size > LONG_ROW * starts.size
    data_line, index_line = 64 // data.itemsize, 64 // indices.itemsize  # of 64 bytes
    for _ in range(n_epochs):
        counts[1] = shuffle_rows(order, n_active, counts[1])
        small = SMALL * worst if counts[2] >= SMALL_FROM else 0.0
        worst, n_kept, n_resting, anew = 0.0, 0, 0, left_out == np.inf
        for at in range(n_active):
            i = order[at]
            if at + AHEAD < n_active:
                following = order[at + AHEAD]
                first, last = starts[following], stops[following]
                prefetch(P, following * 8)
                if long_rows:
                    for k in range(first, last, data_line):
                        prefetch(data, k)
                    if not dense:
                        for k in range(first, last, index_line):
                            prefetch(indices, k)
                else:
                    prefetch(data, first)
                    prefetch(data, first + data_line)
                    prefetch(indices, first)
            row, start, stop = P[i], starts[i], stops[i]
            if row[7] == counts[2] and not anew:
                order[at] = order[n_kept]
                order[n_kept] = i
                n_kept += 1
                n_resting += 1
                continue
            lower, upper, below, above = row[0], row[1], row[2], row[3]
            z = row[6]
            g = bias + row[4] * z
            if dense:
                g += multiply_dense(data, start, w)
            else:
                k, other = start, 0.0
                while k + 1 < stop:
                    g += data[k] * w[np.uint32(indices[k])]
                    other += data[k + 1] * w[np.uint32(indices[k + 1])]
                    k += 2
                if k < stop:
                    g += data[k] * w[np.uint32(indices[k])]
                g += other
            up = g + (above if z >= 0.0 else below)
            down = g + (above if z > 0.0 else below)
            can_rise, can_fall = z < upper, z > lower
            if (up > left_out or not can_rise) and (down < -left_out or not can_fall):
                continue
            order[at] = order[n_kept]
            order[n_kept] = i
            n_kept += 1
            violation = 0.0
            if can_rise and -up > violation:
                violation = -up
            if can_fall and down > violation:
                violation = down
            worst = max(worst, violation)
            if violation <= QUIET * goal:
                row[7] = counts[2] + 1
            else:
                if violation <= small:
                    row[7] = counts[2] + 1
                curvature = row[5] + proximal + row[4]
                target = best_coordinate(z, g, curvature, lower, upper, below, above)
                if counts[2] >= PLAIN_EPOCHS and target != 0.0 and lower < target < upper:
                    further = target + BEYOND * (target - z)
                    if target > 0.0:
                        target = min(max(0.0, further), upper)
                    else:
                        target = max(min(0.0, further), lower)
                if target != z:
                    move = target - z
                    row[6] = target
                    total += move
                    bias += proximal * move
                    if dense:
                        add_dense(data, start, move, w)
                    else:
                        for k in range(start, stop):
                            w[np.uint32(indices[k])] += move * data[k]
        n_active = n_kept
        counts[2] += 1
        off = proximal * abs(total)
        left_out = worst if worst > 0.0 else np.inf
        if worst <= goal and off <= goal:
            done = ALL if n_active == order.size and n_resting == 0 else SOME
            n_active, left_out = order.size, np.inf
            break
        if worst <= 2.0 * off:
            bias += off if total > 0.0 else -off
            left_out = max(worst, 2.0 * off)
            if abs(total) > 0.7 * last_sum:
                # β is far from its end: the next steps are twice as long.
                most = most_proximal if worst <= 0.1 * off else usual
                larger = max(proximal, min(2.0 * proximal, most))
                bias += (larger - proximal) * total
                proximal = larger
            last_sum = abs(total)
            if worst <= 0.1 * off:
                # With β so far away, those left out may be wanted again.
                n_active, left_out = order.size, np.inf
    numbers[0], numbers[1], numbers[2] = bias, total, proximal
    numbers[3], numbers[4], numbers[5] = worst, left_out, last_sum
    counts[0] = n_active
    return done
