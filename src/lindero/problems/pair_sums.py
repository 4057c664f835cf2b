"""Sums over all pairs of documents of a query, without listing the pairs.

Documents of a query are sorted by their scores t, and have levels 0, 1, 2 … of relevance. Every sum
that ranking needs is, for each document i, over documents j of lower level with

    low < t_j − t_i < high                                                        (the band of i)

As i runs upwards in t both ends of its band run upwards too, so documents enter and leave it once.
Those inside are kept in a Fenwick tree over levels, which adds one, removes one and sums all of
lower level in log(levels) steps: n log n for a query of n documents, however many levels it has.

The sums over documents of *higher* level are the same after t → −t and level → −level, since
t_j − t_i is the difference of the negatives the other way round.

The multiplier of a pair (i, j) with i the more relevant one is, with a band of `width` around the
margin m = 1 − (t_i − t_j) = 0,

    a(m) = 0 for m ≤ −width/2,   ½ + m/width inside,   1 for m ≥ width/2

Scores are taken as integers, multiples of a power of two so small that sums over the query just fit
64 bits: finer than float64 rounds them unless the query is very large. Sums are then exact, what
leaves a band leaves no trace, and both sides of a pair see the same multiplier. Otherwise a narrow
band would blow rounding up by 1/width, and a dual objective could come out better than the optimum.

All functions take a range of queries, first ≤ q < last, and so can share the work between threads.
"""

from __future__ import annotations

import numpy as np

from lindero.runtime.compilation import EXACT, FAST, compiled

#: Farther than any two scores of a query, as integers.
_FAR = 2**62

#: Runs of this many documents are sorted by insertion before they are merged.
_RUN = 16


@compiled(EXACT)
def sort_queries(t, starts, first, last, order):  # type: ignore[no-untyped-def]
    """order[starts_q : starts_q+1] = documents of query q by ascending score, from any order of
    them: one that is nearly right already takes less time.

    (NumPy's argsort would take seconds to compile.)
    """
    for q in range(first, last):
        begin, end = starts[q], starts[q + 1]
        for low in range(begin, end, _RUN):
            for k in range(low + 1, min(low + _RUN, end)):
                moving = order[k]
                at = k
                while at > low and t[order[at - 1]] > t[moving]:
                    order[at] = order[at - 1]
                    at -= 1
                order[at] = moving
        size = _RUN
        while size < end - begin:
            for low in range(begin, end - size, 2 * size):
                merge_runs(t, order, low, low + size, min(low + 2 * size, end))
            size *= 2


@compiled(EXACT)
def merge_runs(t, order, low, middle, high):  # type: ignore[no-untyped-def]
    """Merge order[low:middle] and order[middle:high], each ascending."""
    if t[order[middle - 1]] <= t[order[middle]]:
        return
    left = order[low:middle].copy()
    i, j, k = 0, middle, low
    while i < left.size:
        if j < high and t[order[j]] < t[left[i]]:
            order[k] = order[j]
            j += 1
        else:
            order[k] = left[i]
            i += 1
        k += 1


@compiled(EXACT, error_model="numpy")
def pair_multipliers(t, order, starts, level, n_levels, width, first, last, net):  # type: ignore[no-untyped-def]
    """net_i = Σ_j a_ij − Σ_j a_ji over the pairs that i is in; returns the sum of all a."""
    total = 0.0
    for q in range(first, last):
        begin, m = starts[q], starts[q + 1] - starts[q]
        one, half = units(t, order, begin, m, width)
        scores, levels = np.empty(m, np.int64), np.empty(m, np.int64)
        inside, below, sums = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m, np.int64)
        lower = np.empty(n_levels[q] + 1, np.int64)
        for side in (1, -1):
            one_side(t, order, level, n_levels[q], begin, side, one, scores, levels)
            count_lower(levels, lower)
            low, high = -int(one) - half, -int(one) + half
            band_sums(scores, levels, n_levels[q], scores, low, high, inside, below, sums)
            for k in range(m):
                ramp = (sums[k] + inside[k] * (int(one) - scores[k])) / (2.0 * half)
                share = lower[levels[k]] - below[k] - 0.5 * inside[k] + ramp
                if side > 0:
                    net[order[begin + k]] = share
                    total += share
                else:
                    net[order[begin + m - 1 - k]] -= share
    return total


@compiled(EXACT, error_model="numpy")
def pair_hinge(t, order, starts, level, n_levels, first, last):  # type: ignore[no-untyped-def]
    """Σ max(0, 1 − (t_i − t_j)) over all pairs."""
    total = 0.0
    for q in range(first, last):
        begin, m = starts[q], starts[q + 1] - starts[q]
        one, _ = units(t, order, begin, m, 0.0)
        scores, levels = np.empty(m, np.int64), np.empty(m, np.int64)
        inside, below, sums = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m, np.int64)
        one_side(t, order, level, n_levels[q], begin, 1, one, scores, levels)
        band_sums(scores, levels, n_levels[q], scores, -int(one), _FAR, inside, below, sums)
        for k in range(m):
            total += (sums[k] + inside[k] * (int(one) - scores[k])) / one
    return total


@compiled(EXACT, error_model="numpy")
def laplacian_times(t, order, starts, level, n_levels, width, first, last, v, degree, out):  # type: ignore[no-untyped-def]
    """out = A v and degree = diag A, with A = Σ (e_i − e_j)(e_i − e_j)ᵀ over pairs in the band."""
    for q in range(first, last):
        begin, m = starts[q], starts[q + 1] - starts[q]
        one, half = units(t, order, begin, m, width)
        scores, levels, values = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m)
        inside, below, sums = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m)
        for side in (1, -1):
            one_side(t, order, level, n_levels[q], begin, side, one, scores, levels)
            for k in range(m):
                values[k] = v[order[begin + k] if side > 0 else order[begin + m - 1 - k]]
            low, high = -int(one) - half, -int(one) + half
            band_sums(scores, levels, n_levels[q], values, low, high, inside, below, sums)
            for k in range(m):
                i = order[begin + k] if side > 0 else order[begin + m - 1 - k]
                if side > 0:
                    degree[i] = 0.0
                    out[i] = 0.0
                degree[i] += inside[k]
                out[i] += inside[k] * values[k] - sums[k]


@compiled(EXACT, error_model="numpy")
def half_laplacian_rows(t, order, starts, level, n_levels, width, first, last, X, origin, out):  # type: ignore[no-untyped-def]
    """out_i = degree_i x_i − 2 Σ_j x_j over the band of i (documents of lower level only).

    Xᵀ out is XᵀAX up to an antisymmetric part: half the sums, since each pair is met once. X and
    out hold the rows of documents from `origin` on. Documents in no band take no time.
    """
    d = X.shape[1]
    for q in range(first, last):
        begin, m = starts[q], starts[q + 1] - starts[q]
        one, half = units(t, order, begin, m, width)
        low, high = -int(one) - half, -int(one) + half
        scores, levels = np.empty(m, np.int64), np.empty(m, np.int64)
        below, sums = np.empty(m, np.int64), np.empty(m, np.int64)
        of_lower, of_higher = np.empty(m, np.int64), np.empty(m, np.int64)
        one_side(t, order, level, n_levels[q], begin, -1, one, scores, levels)
        band_sums(scores, levels, n_levels[q], scores, low, high, of_higher, below, sums)
        one_side(t, order, level, n_levels[q], begin, 1, one, scores, levels)
        band_sums(scores, levels, n_levels[q], scores, low, high, of_lower, below, sums)
        tree = np.zeros((n_levels[q] + 1, d))
        entered, left = 0, 0
        for k in range(m):
            while entered < m and scores[entered] - scores[k] < high:
                if of_higher[m - 1 - entered] > 0:
                    add_row(tree, levels[entered], X[order[begin + entered] - origin], 1.0)
                entered += 1
            while left < entered and scores[left] - scores[k] <= low:
                if of_higher[m - 1 - left] > 0:
                    add_row(tree, levels[left], X[order[begin + left] - origin], -1.0)
                left += 1
            i = order[begin + k] - origin
            row, target = X[i], out[i]
            degree = np.float64(of_lower[k] + of_higher[m - 1 - k])
            for c in range(d):
                target[c] = degree * row[c]
            if of_lower[k] > 0:
                at = levels[k]
                while at > 0:
                    node = tree[at]
                    for c in range(d):
                        target[c] -= 2.0 * node[c]
                    at -= at & -at


@compiled(EXACT, error_model="numpy")
def units(t, order, begin, m, width):  # type: ignore[no-untyped-def]
    """A score of 1 as an integer (a power of two, as a float), and half the width of the band."""
    reach = 0.0
    if m > 0:
        reach = t[order[begin + m - 1]] - t[order[begin]]
    one = 2.0 ** np.floor(np.log2(_FAR / (4.0 * m * (1.0 + reach + width))))
    return one, max(1, int(0.5 * width * one))


@compiled(EXACT)
def one_side(t, order, level, n_levels, begin, side, one, scores, levels):  # type: ignore[no-untyped-def]
    """Ascending scores (counted from the middle one) and levels of a query's documents; for `side`
    −1 of their negatives."""
    m = scores.size
    middle = t[order[begin + m // 2]] if m > 0 else 0.0
    for k in range(m):
        i = order[begin + k] if side > 0 else order[begin + m - 1 - k]
        scores[k] = side * int(one * (t[i] - middle))
        levels[k] = level[i] if side > 0 else n_levels - 1 - level[i]


@compiled(EXACT)
def count_lower(levels, lower):  # type: ignore[no-untyped-def]
    """lower_l = number of documents of a level below l."""
    lower[:] = 0
    for k in range(levels.size):
        lower[levels[k] + 1] += 1
    for k in range(1, lower.size):
        lower[k] += lower[k - 1]


@compiled(EXACT)
def band_sums(scores, levels, n_levels, values, low, high, inside, below, sums):  # type: ignore[no-untyped-def]
    """For each document i, over those j of lower level: how many are in its band, how many have
    t_j − t_i ≤ low, and Σ values_j over the band. Scores ascend."""
    m = scores.size
    counts = np.zeros((n_levels + 1, 2), np.int64)
    totals = np.zeros(n_levels + 1, values.dtype)
    entered, left = 0, 0
    for k in range(m):
        while entered < m and scores[entered] - scores[k] < high:
            at = levels[entered] + 1
            while at <= n_levels:
                counts[at, 0] += 1
                totals[at] += values[entered]
                at += at & -at
            entered += 1
        while left < entered and scores[left] - scores[k] <= low:
            at = levels[left] + 1
            while at <= n_levels:
                counts[at, 0] -= 1
                counts[at, 1] += 1
                totals[at] -= values[left]
                at += at & -at
            left += 1
        within, under, total = 0, 0, totals[0]
        at = levels[k]
        while at > 0:
            within += counts[at, 0]
            under += counts[at, 1]
            total += totals[at]
            at -= at & -at
        inside[k] = within
        below[k] = under
        sums[k] = total


@compiled(FAST)
def add_row(tree, level, row, sign):  # type: ignore[no-untyped-def]
    """Add a row to the nodes of a Fenwick tree that hold its level."""
    at = level + 1
    while at < tree.shape[0]:
        node = tree[at]
        for c in range(row.size):
            node[c] += sign * row[c]
        at += at & -at
