"""The inner products of all rows of a table, kept: the kernel of any of them is one pass away.

A search over kernels and folds asks for the kernel matrix of the same rows again and again. With
G_ij = ⟨x_i, x_j⟩ of all rows at hand, that of a fold is a gather and one pass (`functions.apply`),
whatever the number of features. Kernels that are no function of inner products (a matrix given by
the user, or a callable) are kept themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lindero.kernels.functions import KernelFunction
from lindero.kernels.operator import ProductKernel, chosen, kernel_operator, origin
from lindero.kernels.products import Probe
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT
from lindero.runtime.threads import TileThreads

_NUMBER_BYTES = 8

#: Rows of products computed at once by a thread.
_TILE_ROWS = 256


class RowMatrix:
    """Kernel matrices among rows of X, for kernels that differ from `function` in gamma only.

    `shift` is the origin that the products are taken from (see `kernels.operator.origin`).
    """

    def __init__(self, X: Any, function: KernelFunction) -> None:
        self.shift = origin(X, function)
        kernel = kernel_operator(X, function, shift=self.shift)
        n = kernel.n_samples
        everything = kernel.probe(np.arange(n))
        if isinstance(kernel, ProductKernel):
            products = kernel.products
            self._values = np.empty((n, n))

            def fill(start: int) -> None:
                rows = np.arange(start, min(start + _TILE_ROWS, n))
                products.block(products.probe(rows), 0, n, self._values[rows[0] : rows[-1] + 1])

            with TileThreads() as threads:
                threads.map(fill, range(0, n, _TILE_ROWS))
        else:
            self._values = kernel.cross(everything, everything)
        # Taken from the products, so that the distance of a row from itself is exactly nothing.
        self._squares = self._values.diagonal().copy()

    def among(self, rows: Array, function: KernelFunction) -> Array:
        """K(rows, rows)."""
        matrix: Array = chosen(self._values, rows, len(rows))
        return self._applied(matrix, rows, rows, function)

    def between(self, rows: Array, others: Array, function: KernelFunction) -> Array:
        """K(rows, others)."""
        values = np.empty((len(rows), len(others)))
        gather(self._values, rows, others, values)
        return self._applied(values, rows, others, function)

    def _applied(
        self, values: Array, rows: Array, others: Array, function: KernelFunction
    ) -> Array:
        if function.name not in ("precomputed", "callable"):
            function.apply(values, self._squares[rows], self._squares[others])
        return values


class MatrixKernel:
    """A kernel operator over a matrix at hand, which gathers by compiled code in any thread.

    (`kernels.operator.PrecomputedKernel` serves matrices of any type and strides; here they are
    ours, and asked for blocks by the thousand.)
    """

    def __init__(self, matrix: Array) -> None:
        self._matrix = matrix
        self.n_samples = len(matrix)
        self.dtype = matrix.dtype
        self._in_other_precision: MatrixKernel | None = None

    def diagonal(self) -> Array:
        return self._matrix.diagonal().astype(np.float64)

    def rounding(self) -> float:
        return float(np.max(np.abs(self.diagonal()), initial=0.0))

    def probe(self, rows: Array) -> Probe:
        return Probe(rows, np.zeros(len(rows), self.dtype))

    def probe_of(self, Z: Any) -> Probe:
        raise NotImplementedError("only rows of the matrix are known here")

    def block(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        gather_tile(self._matrix, probe.rows, start, out)

    def columns(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        self.block(probe, start, stop, out.T)

    def cross(self, probe: Probe, other: Probe) -> Array:
        values = np.empty((len(probe.rows), len(other.rows)), dtype=self.dtype)
        gather(self._matrix, probe.rows, other.rows, values)
        return values

    def matrix(self, rows: Array, width: int) -> Array:
        among: Array = chosen(self._matrix, rows, width)
        return among

    def times(self, z: Array) -> Array:
        """K z."""
        product: Array = self._matrix @ z
        return product

    def subset(self, rows: Array) -> MatrixKernel:
        return MatrixKernel(chosen(self._matrix, rows, len(rows)))

    def astype(self, dtype: Any) -> MatrixKernel:
        """The same in another precision, converted once: problems of all C share it."""
        if self.dtype == dtype:
            return self
        if self._in_other_precision is None:
            self._in_other_precision = MatrixKernel(self._matrix.astype(dtype))
        return self._in_other_precision


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def gather_tile(matrix, rows, start, out):  # type: ignore[no-untyped-def]
    """out = matrix[rows, start : start + width of out]."""
    for i in range(rows.size):
        source = matrix[rows[i]]
        for j in range(out.shape[1]):
            out[i, j] = source[start + j]


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def gather(matrix, rows, columns, out):  # type: ignore[no-untyped-def]
    """out = matrix[rows][:, columns]."""
    for i in range(rows.size):
        source = matrix[rows[i]]
        for j in range(columns.size):
            out[i, j] = source[columns[j]]


def side_by_side(n_rows: int, n_training_rows: int, megabytes: float, at_most: int) -> int:
    """How many folds can be solved at once, with what each needs beside the matrix of all rows;
    0 if none."""
    left = megabytes * 2**20 - _NUMBER_BYTES * n_rows**2
    # Its matrix, that in single precision, and a system of (nearly) all its variables.
    each = 3 * _NUMBER_BYTES * n_training_rows**2
    return max(0, min(at_most, int(left // each)))
