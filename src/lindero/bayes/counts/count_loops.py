"""The compiled loops of counting (see `counting` for what they are put together to).

Every loop adds `increments`, one for each row: ones of uint32 where rows count once, else their
weights. Where the same cell is hit again and again, as in columns that are nearly constant, an
addition would wait for the one before it; so even and odd rows are added to tables of their own.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lindero.runtime.compilation import EXACT


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def mix_codes(codes, start, stop, members, lowest, places, out):  # type: ignore[no-untyped-def]
    """out_r = Σ_m (codes[m, start + r] − lowest_m) · place_m: one number for a group's values."""
    for r in range(out.size):
        out[r] = 0
    for k in range(members.size):
        column = codes[members[k], start:stop]
        low, place = np.uint16(lowest[k]), np.uint16(places[k])
        for r in range(column.size):
            out[r] += np.uint16(column[r] - low) * place


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def count_group(mixed, group, labels, n_classes, slots, increments, alone, starts, joint):  # type: ignore[no-untyped-def]
    """Count a group's values by class into `alone`, and with those of every later group into
    `joint`, at the starts of each."""
    own = mixed[group, : labels.size]
    left = np.empty(labels.size, np.uint16)
    for r in range(labels.size):
        left[r] = own[r] * n_classes + labels[r]
    add_rows(left, np.zeros(labels.size, np.uint16), 1, increments, alone)
    for k in range(starts.size):
        other = group + 1 + k
        cells = slots[group] * n_classes * slots[other]
        tables = joint[:, starts[k] : starts[k] + cells]
        add_rows(left, mixed[other, : labels.size], slots[other], increments, tables)


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def add_rows(left, right, width, increments, tables):  # type: ignore[no-untyped-def]
    """tables[r mod 2, left_r · width + right_r] += increment_r."""
    even, odd = tables[0], tables[1]
    n_even = left.size // 2 * 2
    for r in range(0, n_even, 2):
        even[np.intp(left[r]) * width + right[r]] += increments[r]
        odd[np.intp(left[r + 1]) * width + right[r + 1]] += increments[r + 1]
    if n_even < left.size:
        even[np.intp(left[n_even]) * width + right[n_even]] += increments[n_even]


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def spread_joint(tables, left, right, left_codes, right_codes, n_classes, starts, strides, pairs):  # type: ignore[no-untyped-def]
    """Add a table of two groups up into those of all pairs of an attribute of each.

    left_codes[k, v] is the code that attribute left_k has where its group has the value v: all the
    lowest codes at the first value, all the highest at the last. Sums over values of the right
    group are made once for all attributes of the left one.
    """
    width, most = right_codes.shape[1], 0
    for m in range(right.size):
        most = max(most, right_codes[m, width - 1])
    line = np.empty(width, tables.dtype)
    sums = np.zeros(most + 1, tables.dtype)
    for v in range(left_codes.shape[1]):
        for c in range(n_classes):
            begin = (v * n_classes + c) * width
            for w in range(width):
                line[w] = tables[0, begin + w] + tables[1, begin + w]
            for m in range(right.size):
                j, codes = right[m], right_codes[m]
                for w in range(width):
                    sums[codes[w]] += line[w]
                for x in range(codes[0], codes[width - 1] + 1):
                    for k in range(left.size):
                        i = left[k]
                        at = starts[i, j] + left_codes[k, v] * strides[i, j] + x * strides[j, i]
                        pairs[at + c] += sums[x]
                    sums[x] = 0


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def spread_alone(tables, members, codes, n_classes, single_starts, singles):  # type: ignore[no-untyped-def]
    """Add a group's own table up into those of its attributes."""
    for v in range(codes.shape[1]):
        for c in range(n_classes):
            count = tables[0, v * n_classes + c] + tables[1, v * n_classes + c]
            for k in range(members.size):
                singles[single_starts[members[k]] + codes[k, v] * n_classes + c] += count


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def spread_within(tables, members, codes, n_classes, starts, strides, pairs):  # type: ignore[no-untyped-def]
    """Add a group's own table up into those of all pairs of its attributes."""
    for v in range(codes.shape[1]):
        for c in range(n_classes):
            count = tables[0, v * n_classes + c] + tables[1, v * n_classes + c]
            for k in range(members.size):
                for m in range(k + 1, members.size):
                    i, j = members[k], members[m]
                    at = starts[i, j] + codes[k, v] * strides[i, j] + codes[m, v] * strides[j, i]
                    pairs[at + c] += count


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def add_single(codes, start, i, labels, n_classes, increments, table):  # type: ignore[no-untyped-def]
    """Count one attribute by class, straight into its table."""
    column = codes[i, start : start + labels.size]
    for r in range(labels.size):
        table[np.intp(column[r]) * n_classes + labels[r]] += increments[r]


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def add_pairs(codes, start, i, partners, labels, increments, starts, strides, pairs):  # type: ignore[no-untyped-def]
    """Count one attribute with each of its partners by class, straight into their tables."""
    column = codes[i, start : start + labels.size]
    for k in range(partners.size):
        j = partners[k]
        partner = codes[j, start : start + labels.size]
        table, by_own, by_partner = pairs[starts[i, j] :], strides[i, j], strides[j, i]
        for r in range(labels.size):
            at = np.intp(column[r]) * by_own + np.intp(partner[r]) * by_partner + labels[r]
            table[at] += increments[r]


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def add_family(codes, start, family, strides, labels, increments, table):  # type: ignore[no-untyped-def]
    """Count the values of a whole family by class: table[Σ_k code_k · stride_k + class] += 1."""
    at = np.empty(labels.size, np.int64)
    for r in range(labels.size):
        at[r] = labels[r]
    for k in range(family.size):
        column, stride = codes[family[k], start : start + labels.size], strides[k]
        for r in range(labels.size):
            at[r] += column[r] * stride
    for r in range(labels.size):
        table[at[r]] += increments[r]
