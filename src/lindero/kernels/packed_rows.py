"""A copy of sparse rows that is soon read: for the many passes of a path of problems.

With the linear kernel a column in which one row alone has entries adds to that row's product with
itself, and to no other:

    K = X Xᵀ = S Sᵀ + diag(o),      o_i = Σ of the squares of row i in its own columns,

S being X without these columns. Of the pairs of words in text most columns are such ones. Those
that rows share are numbered in the order in which they first appear. Frequent ones come first, so
that the entries of a vector of weights that are asked for most lie side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, compiled

#: What is known of a column: no entry, entries in several rows, or (from zero on) its only row.
_NOBODY, _SEVERAL = -2, -1


@dataclass(frozen=True)
class PackedRows:
    """S in CSR, the squares of its rows, o, and the columns of S among the `n_features` of X;
    and the entries that S is without, by row, column and value."""

    data: Array
    indices: Array
    pointers: Array
    squares: Array
    own: Array
    columns: Array
    own_rows: Array
    own_columns: Array
    own_values: Array
    n_features: int

    @classmethod
    def of(cls, data: Array, indices: Array, pointers: Array, n_features: int) -> Self:
        """Pack the rows of a table in CSR, whose entries of a row are in different columns."""
        owners = np.full(n_features, _NOBODY, dtype=np.int32)
        n_kept, n_shared = find_owners(indices, pointers, owners)
        n_own = int(pointers[-1] - pointers[0]) - n_kept
        squares, own = np.empty((2, len(pointers) - 1))
        shared = (
            np.empty(n_kept, data.dtype),
            np.empty(n_kept, np.int32),
            np.zeros_like(pointers),
            np.empty(n_shared, np.int32),
        )
        apart = np.empty(n_own, np.int32), np.empty(n_own, np.int32), np.empty(n_own, data.dtype)
        numbers = np.full(n_features, -1, dtype=np.int32)
        pack_rows(data, indices, pointers, owners, numbers, shared, apart, squares, own)
        packed, places, ends, columns = shared
        return cls(packed, places, ends, squares, own, columns, *apart, n_features)

    def spread(self, w: Array, z: Array) -> Array:
        """Xᵀ z, where w is Sᵀ z."""
        weights = np.zeros(self.n_features)
        apart = self.own_rows, self.own_columns, self.own_values
        spread_weights(w, self.columns, z, *apart, weights)
        return weights


@compiled(EXACT)
def find_owners(indices, pointers, owners):  # type: ignore[no-untyped-def]
    """Which row each column belongs to; how many entries, and columns, belong to several."""
    for i in range(pointers.size - 1):
        for k in range(pointers[i], pointers[i + 1]):
            owner = owners[indices[k]]
            if owner == _NOBODY:
                owners[indices[k]] = i
            elif owner != i:
                owners[indices[k]] = _SEVERAL
    n_kept, n_shared = 0, 0
    for k in range(pointers[0], pointers[-1]):
        n_kept += owners[indices[k]] == _SEVERAL
    for j in range(owners.size):
        n_shared += owners[j] == _SEVERAL
    return n_kept, n_shared


@compiled(EXACT)
def pack_rows(data, indices, pointers, owners, numbers, shared, apart, squares, own):  # type: ignore[no-untyped-def]
    """Fill the arrays of `PackedRows`; `numbers` comes filled with −1."""
    kept_data, kept_indices, ends, columns = shared
    own_rows, own_columns, own_values = apart
    n_kept, n_own, n_columns = 0, 0, 0
    for i in range(pointers.size - 1):
        ends[i] = n_kept
        together, alone = 0.0, 0.0
        for k in range(pointers[i], pointers[i + 1]):
            column = indices[k]
            value = np.float64(data[k])
            if owners[column] >= 0:
                alone += value * value
                own_rows[n_own], own_columns[n_own], own_values[n_own] = i, column, data[k]
                n_own += 1
                continue
            if numbers[column] < 0:
                numbers[column] = n_columns
                columns[n_columns] = column
                n_columns += 1
            kept_data[n_kept], kept_indices[n_kept] = data[k], numbers[column]
            n_kept += 1
            together += value * value
        squares[i], own[i] = together, alone
    ends[pointers.size - 1] = n_kept


@compiled(EXACT)
def spread_weights(w, columns, z, own_rows, own_columns, own_values, out):  # type: ignore[no-untyped-def]
    """Put w into its columns, and what single rows add into theirs."""
    for k in range(columns.size):
        out[columns[k]] = w[k]
    for k in range(own_rows.size):
        out[own_columns[k]] = z[own_rows[k]] * own_values[k]
