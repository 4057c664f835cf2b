"""Twin of the look at the arrays of a CSR table, over lists."""

import itertools


def examine_rows(indices, starts, n_columns):
    bad = starts[0] != 0 or starts[-1] > len(indices)
    if bad or any(a > b for a, b in itertools.pairwise(starts)):
        return 3
    rows = [list(indices[a:b]) for a, b in itertools.pairwise(starts)]
    if any(not 0 <= column < n_columns for row in rows for column in row):
        return 3
    if any(len(set(row)) < len(row) for row in rows):
        return 2
    return 0 if all(row == sorted(row) for row in rows) else 1
