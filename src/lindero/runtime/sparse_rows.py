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
def examine_rows(indices, starts, n_columns):  # type: ignore[no-untyped-def]
    """Which of the above a table is; `starts` has at least one value."""
    last = starts.size - 1
    if starts[0] != 0 or starts[last] > indices.size:
        return BROKEN
    ascending = True
    for i in range(last):
        start, stop = starts[i], starts[i + 1]
        # All of them: one that is beyond the end is followed by one that is smaller.
        if stop < start or stop > indices.size:
            return BROKEN
        before = np.int64(-1)
        for k in range(start, stop):
            column = np.int64(indices[k])
            if column < 0 or column >= n_columns:
                return BROKEN
            if column <= before:
                ascending = False
            before = column
    if ascending:
        return ASCENDING
    if n_columns > max(_MOST_COLUMNS, 8 * indices.size):
        return TWICE
    owner = np.full(n_columns, -1, dtype=np.int32)
    for i in range(last):
        for k in range(starts[i], starts[i + 1]):
            column = indices[k]
            if owner[column] == i:
                return TWICE
            owner[column] = i
    return IN_ANY_ORDER


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
