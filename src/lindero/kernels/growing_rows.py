"""Rows of data that can be appended in constant time each, seen as a kernel operator.

Arrays have more room than rows, twice as much when it runs out; an operator is a view of what is
filled. Dense rows are kept in float64, sparse ones as CSR arrays, those of a user's own kernel
function as they came.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.kernels.operator import CallableKernel, KernelFunction, KernelOperator, ProductKernel
from lindero.kernels.products import DenseProducts, SparseProducts
from lindero.runtime.arrays import Array

_FIRST_ROOM = 64


def growing_rows(X: Any, n_features: int, shift: Array | None) -> Any:
    """An empty store for rows like those of X."""
    if sp.issparse(X):
        return SparseRows(n_features)
    return DenseRows(n_features, shift)


def with_room(array: Array, used: int, needed: int) -> Array:
    """`array`, or a longer one with its first `used` entries, if `needed` is beyond its end."""
    if needed <= len(array):
        return array
    longer = np.empty((max(_FIRST_ROOM, 2 * needed), *array.shape[1:]), dtype=array.dtype)
    longer[:used] = array[:used]
    return longer


class DenseRows:
    """Rows of a dense table; where there is a `shift`, also relative to it."""

    def __init__(self, n_features: int, shift: Array | None) -> None:
        self.n_rows = 0
        self._shift = shift
        self._given = np.empty((0, n_features))
        self._X = self._given
        self._squares = np.empty(0)

    def append(self, X: Any) -> None:
        rows = X.toarray() if sp.issparse(X) else X
        start, stop = self.n_rows, self.n_rows + rows.shape[0]
        self._given = with_room(self._given, start, stop)
        self._given[start:stop] = rows
        if self._shift is None:
            self._X = self._given
        else:
            self._X = with_room(self._X, start, stop)
            self._X[start:stop] = self._given[start:stop] - self._shift
        self._squares = with_room(self._squares, start, stop)
        added = self._X[start:stop]
        np.einsum("ij,ij->i", added, added, out=self._squares[start:stop])
        self.n_rows = stop

    def truncate(self, n_rows: int) -> None:
        self.n_rows = n_rows

    def keep(self, kept: Array) -> None:
        n_kept = int(kept.sum())
        arrays = [self._given, self._squares] + ([] if self._shift is None else [self._X])
        for array in arrays:
            array[:n_kept] = array[: self.n_rows][kept]
        self.n_rows = n_kept

    def taken(self, rows: Array) -> Array:
        """Rows as they were given."""
        chosen: Array = self._given[: self.n_rows][rows]
        return chosen

    def shifted(self, rows: Array) -> Array:
        """Rows relative to the shift, of which they have all digits."""
        chosen: Array = self._X[: self.n_rows][rows]
        return chosen

    def operator(self, function: KernelFunction) -> KernelOperator:
        if function.call is not None:
            return CallableKernel(self._X[: self.n_rows], function, np.float64)
        products = DenseProducts(self._X[: self.n_rows], np.float64)
        products.squares = self._squares[: self.n_rows]  # known: not to be computed again
        return ProductKernel(products, function)


class SparseRows:
    """Rows of a CSR array."""

    def __init__(self, n_features: int) -> None:
        self.n_rows = 0
        self._n_features = n_features
        self._data = np.empty(0)
        self._indices = np.empty(0, dtype=np.int32)
        self._ends = np.zeros(1, dtype=np.int64)

    def append(self, X: Any) -> None:
        rows = X if sp.issparse(X) else sp.csr_array(X)
        n_new, used = rows.shape[0], int(self._ends[self.n_rows])
        needed = used + rows.nnz
        self._data = with_room(self._data, used, needed)
        self._indices = with_room(self._indices, used, needed)
        self._ends = with_room(self._ends, self.n_rows + 1, self.n_rows + 1 + n_new)
        self._data[used:needed] = rows.data
        self._indices[used:needed] = rows.indices
        self._ends[self.n_rows + 1 : self.n_rows + 1 + n_new] = used + rows.indptr[1:]
        self.n_rows += n_new

    def truncate(self, n_rows: int) -> None:
        self.n_rows = n_rows

    def keep(self, kept: Array) -> None:
        rest = self._matrix()[np.flatnonzero(kept)]
        self._data, self._indices = rest.data, rest.indices.astype(np.int32, copy=False)
        self._ends = rest.indptr.astype(np.int64)
        self.n_rows = rest.shape[0]

    def taken(self, rows: Array) -> Any:
        """Rows as they were given."""
        return self._matrix()[rows]

    def shifted(self, rows: Array) -> Any:
        """The same: sparse rows are never shifted."""
        return self.taken(rows)

    def _matrix(self) -> sp.csr_array:
        ends = self._ends[: self.n_rows + 1]
        filled = slice(0, int(ends[-1]))
        arrays = (self._data[filled], self._indices[filled], ends)
        return sp.csr_array(arrays, shape=(self.n_rows, self._n_features))

    def operator(self, function: KernelFunction) -> KernelOperator:
        if function.call is not None:
            return CallableKernel(self._matrix(), function, np.float64)
        return ProductKernel(SparseProducts(self._matrix(), np.float64), function)
