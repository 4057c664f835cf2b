"""One look at the arrays of a CSR table: whether loops may follow its indices, and in which order
its entries are; and such arrays of a dense table that is mostly zeros.

Row i has the entries starts_i ≤ k < starts_{i+1}, their columns being indices[k]. Tables put
together by hand, or read from files, may break any of that. Entries in ascending order of their
columns are all different. Where the order is another one, each column remembers the last row that
had it, so that an entry given twice is found without sorting.
"""

from __future__ import annotations

import numpy as np

from lindero.runtime.compilation import EXACT, compiled

#: Above this many columns, and eight times the entries, nothing is remembered for each column.
_MOST_COLUMNS = 2**21

#: What is found: rows in ascending order, in another order, with entries given twice (or perhaps,
#: where there are too many columns to tell), or broken.
ASCENDING, IN_ANY_ORDER, TWICE, BROKEN = range(4)


@compiled(EXACT)
def count_outside(indices, n_columns):  # type: ignore[no-untyped-def]
    """How many columns there are not. A loop over all entries without a branch for each takes a
    twentieth of the time of one with branches."""
    outside = 0
    for k in range(indices.size):
        outside += (indices[k] < 0) | (indices[k] >= n_columns)
    return outside


@compiled(EXACT)
def count_falls(indices):  # type: ignore[no-untyped-def]
    """How many entries are no larger than the one before."""
    falls = 0
    for k in range(1, indices.size):
        falls += indices[k] <= indices[k - 1]
    return falls


@compiled(EXACT)
def examine_rows(indices, starts, n_columns):  # type: ignore[no-untyped-def]
    """Which of the above a table is; `starts` has at least one value."""
    last = starts.size - 1
    if starts[0] != 0 or starts[last] > indices.size:
        return BROKEN
    used = indices[: starts[last]]
    # All of them: one that is beyond the end is followed by one that is smaller.
    for i in range(last):
        if starts[i + 1] < starts[i]:
            return BROKEN
    if count_outside(used, n_columns) > 0:
        return BROKEN
    falls = count_falls(used)  # also from one row to the next
    for i in range(1, last):
        k = starts[i]
        if starts[i - 1] < k < used.size:
            falls -= used[k] <= used[k - 1]
    if falls == 0:
        return ASCENDING
    if n_columns > max(_MOST_COLUMNS, 8 * indices.size):
        return TWICE
    owner = np.full(n_columns, -1, dtype=np.int32)
    twice = 0
    for i in range(last):
        row = np.int32(i)
        for k in range(starts[i], starts[i + 1]):
            column = np.uint32(used[k])
            twice += owner[column] == row
            owner[column] = row
    return TWICE if twice > 0 else IN_ANY_ORDER


@compiled(EXACT)
def count_entries(X, starts):  # type: ignore[no-untyped-def]
    """Where the entries other than zero of each row of a dense table begin and end, in the order
    of rows."""
    starts[0] = 0
    for i in range(X.shape[0]):
        count = 0
        for j in range(X.shape[1]):
            if X[i, j] != 0:
                count += 1
        starts[i + 1] = starts[i] + count


@compiled(EXACT)
def list_entries(X, indices, data):  # type: ignore[no-untyped-def]
    """Their columns and values, into arrays as long as `count_entries` says."""
    k = 0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            if X[i, j] != 0:
                indices[k], data[k] = j, X[i, j]
                k += 1
