"""A look at the arrays of a CSR table, before loops follow its indices."""

import numpy as np
import pytest

from lindero.runtime.sparse_rows import ASCENDING, BROKEN, IN_ANY_ORDER, TWICE, examine_rows
from tests.naive import sparse_rows as naive


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_what_is_found_is_what_the_twin_finds(dtype):
    rng, found = np.random.default_rng(0), set()
    for _ in range(400):
        n_rows, n_columns = int(rng.integers(0, 5)), int(rng.integers(1, 9))
        counts = rng.integers(0, 4, n_rows)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(dtype)
        rows = [rng.choice(n_columns, min(c, n_columns), replace=False) for c in counts]
        if rng.random() < 0.7:
            rows = [np.sort(row) for row in rows]
        rows = [np.resize(row, c) for row, c in zip(rows, counts, strict=True)]
        indices = np.concatenate([np.empty(0), *rows]).astype(dtype)
        if len(indices) and rng.random() < 0.1:
            indices[rng.integers(len(indices))] = rng.choice([-1, n_columns, -(2**31), 2**31 - 1])
        if rng.random() < 0.1:
            starts[rng.integers(len(starts))] = rng.integers(-2, len(indices) + 2)
        code = examine_rows(indices, starts, n_columns)
        assert code == naive.examine_rows(indices.tolist(), starts.tolist(), n_columns)
        found.add(code)
    assert found == {ASCENDING, IN_ANY_ORDER, TWICE, BROKEN}


def test_nothing_is_kept_for_each_of_very_many_columns():
    indices, starts = np.array([5, 2], dtype=np.int32), np.array([0, 2], dtype=np.int32)
    assert examine_rows(indices, starts, 2**31 - 1) == TWICE
    assert examine_rows(indices[::-1].copy(), starts, 2**31 - 1) == ASCENDING
