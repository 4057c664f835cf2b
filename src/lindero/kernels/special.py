"""Kernels over things derived from samples: matrices at hand, pairs of samples, other units.

A search over kernels and folds asks for the kernel matrix of the same rows again and again. With
G_ij = ⟨x_i, x_j⟩ of all rows kept (`RowMatrix`), that of a fold is a gather and one pass
(`KernelFunction.apply`), whatever the number of features. Kernels that are no function of inner
products (a matrix given by the user, or a callable) are kept themselves.

A pair (i, j) of samples (`PairKernel`) stands for the difference φ(x_i) − φ(x_j), so that

    k((i, j), (k, l)) = k_ik − k_il − k_jk + k_jl

Samples are far fewer than pairs. Rows over all samples, K_i − K_j, are computed once for a probe,
and each entry over pairs is then a difference of two of them.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from lindero.kernels.blocks import kernel_tile, tile_bounds
from lindero.kernels.operator import (
    KernelFunction,
    KernelOperator,
    ProductKernel,
    kernel_operator,
    origin,
    pad_columns,
    take_among,
)
from lindero.kernels.products import Probe
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, compiled
from lindero.runtime.threads import TileThreads

# -- matrices at hand ------------------------------------------------------------------------------

_NUMBER_BYTES = 8

#: Rows of products computed at once by a thread.
_TILE_ROWS = 256


class RowMatrix:
    """Kernel matrices among rows of X, for kernels that differ from `function` in gamma only.
    `shift` is the origin that the products are taken from (see `kernels.operator.origin`)."""

    def __init__(self, X: Any, function: KernelFunction) -> None:
        self.shift = origin(X, function)
        kernel = kernel_operator(X, function, shift=self.shift)
        n = kernel.n_samples
        if isinstance(kernel, ProductKernel):
            products = kernel.products
            self._values = np.empty((n, n))

            def fill(start: int) -> None:
                rows = np.arange(start, min(start + _TILE_ROWS, n))
                products.block(products.probe(rows), 0, n, self._values[rows[0] : rows[-1] + 1])

            with TileThreads() as threads:
                threads.map(fill, range(0, n, _TILE_ROWS))
        else:
            everything = kernel.probe(np.arange(n))
            self._values = kernel.cross(everything, everything)
        # Taken from the products, so that the distance of a row from itself is exactly nothing.
        self._squares = self._values.diagonal().copy()

    def among(self, rows: Array, function: KernelFunction) -> Array:
        """K(rows, rows)."""
        matrix: Array = take_among(self._values, rows, len(rows))
        return self._apply(matrix, rows, rows, function)

    def between(self, rows: Array, others: Array, function: KernelFunction) -> Array:
        """K(rows, others)."""
        values = np.empty((len(rows), len(others)))
        gather(self._values, rows, others, values)
        return self._apply(values, rows, others, function)

    def _apply(self, values: Array, rows: Array, others: Array, function: KernelFunction) -> Array:
        if function.name not in ("precomputed", "callable"):
            function.apply(values, self._squares[rows], self._squares[others])
        return values


class MatrixKernel(KernelOperator):
    """A kernel operator over a contiguous matrix at hand, asked for blocks by the thousand."""

    def __init__(self, matrix: Array) -> None:
        self._matrix = matrix
        self.n_samples = len(matrix)
        self.dtype = matrix.dtype
        self._in_other_precision: MatrixKernel | None = None
        self._padded: Array | None = None

    def diagonal(self) -> Array:
        return self._matrix.diagonal().astype(np.float64)

    def probe(self, rows: Array) -> Probe:
        return Probe(rows, np.zeros(len(rows), self.dtype))

    def probe_of(self, Z: Any) -> Probe:
        raise NotImplementedError("only rows of the matrix are known here")

    def block(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        gather_tile(self._matrix, probe.rows, start, out)

    def cross(self, probe: Probe, other: Probe) -> Array:
        values = np.empty((len(probe.rows), len(other.rows)), dtype=self.dtype)
        gather(self._matrix, probe.rows, other.rows, values)
        return values

    def matrix(self, rows: Array, width: int) -> Array:
        """The whole matrix is the same array for all who ask: nobody may write into it."""
        if len(rows) != self.n_samples or (rows != np.arange(len(rows))).any():
            return np.asarray(take_among(self._matrix, rows, width))
        known = self._matrix if self._padded is None else self._padded
        if known.shape[1] != width:
            known = self._padded = take_among(self._matrix, rows, width)
        return known

    def times(self, z: Array) -> Array:
        """K z."""
        return np.asarray(self._matrix @ z)

    def subset(self, rows: Array) -> MatrixKernel:
        return MatrixKernel(take_among(self._matrix, rows, len(rows)))

    def astype(self, dtype: Any) -> MatrixKernel:
        """The same in another precision, converted once: problems of all C share it."""
        if self.dtype == dtype:
            return self
        if self._in_other_precision is None:
            self._in_other_precision = MatrixKernel(self._matrix.astype(dtype))
        return self._in_other_precision


@compiled(EXACT)
def gather_tile(matrix, rows, start, out):  # type: ignore[no-untyped-def]
    """out = matrix[rows, start : start + width of out]."""
    for i in range(rows.size):
        source = matrix[rows[i]]
        for j in range(out.shape[1]):
            out[i, j] = source[start + j]


@compiled(EXACT)
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


# -- other units -----------------------------------------------------------------------------------


class ScaledKernel(KernelOperator):
    """`base` divided by `unit`. Always in float64, which holds what `base` has."""

    dtype = np.dtype(np.float64)

    def __init__(self, base: KernelOperator, unit: float) -> None:
        self.base = base.astype(np.float64)
        self.unit = unit
        self.n_samples = base.n_samples

    def diagonal(self) -> Array:
        return self.base.diagonal() / self.unit

    def _find_largest(self) -> float:
        return self.base.largest() / self.unit

    def rounding(self) -> float:
        return np.inf  # in float32: there it is not to be had

    def error(self) -> float:
        return self.base.error() / self.unit

    def extended_sums(self, z: Array) -> tuple[Array, float] | None:
        known = self.base.extended_sums(z)
        return None if known is None else (known[0] / self.unit, known[1] / self.unit)

    def probe(self, rows: Array) -> Probe:
        return self.base.probe(rows)

    def probe_of(self, Z: Any) -> Probe:
        return self.base.probe_of(Z)

    def block(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        self.base.block(probe, start, stop, out)
        out /= self.unit

    def cross(self, probe: Probe, other: Probe) -> Array:
        return self.base.cross(probe, other) / self.unit

    def matrix(self, rows: Array, width: int) -> Array:
        return self.base.matrix(rows, width) / self.unit

    def subset(self, rows: Array) -> ScaledKernel:
        return ScaledKernel(self.base.subset(rows), self.unit)

    def astype(self, dtype: Any) -> ScaledKernel:
        return self


def scale_kernel(kernel: KernelOperator, unit: float) -> KernelOperator:
    """The kernel divided by `unit`, a power of 4. Linear ones stay linear."""
    if isinstance(kernel, RidgedKernel):
        return RidgedKernel(scale_kernel(kernel.base, unit), kernel.ridge / unit)
    if isinstance(kernel, ProductKernel) and kernel.function.name == "linear":
        return ProductKernel(kernel.products.scale(1.0 / np.sqrt(unit)), kernel.function)
    return kernel.scaled(1.0 / unit) or ScaledKernel(kernel, unit)


# -- squared losses --------------------------------------------------------------------------------


class RidgedKernel(KernelOperator):
    """`base` with `ridge` added to its diagonal: what squared losses make of a kernel. The samples
    are those of `base`; new rows get no ridge."""

    def __init__(self, base: KernelOperator, ridge: Array) -> None:
        self.base = base
        self.ridge = ridge
        self.n_samples = base.n_samples
        self.dtype = base.dtype

    def diagonal(self) -> Array:
        return self.base.diagonal() + self.ridge

    def rounding(self) -> float:
        return self.base.rounding() + float(self.ridge.max(initial=0.0))

    def error(self) -> float:
        return self.base.error() + 2.0**-53 * float(self.ridge.max(initial=0.0))

    def extended_sums(self, z: Array) -> tuple[Array, float] | None:
        known = self.base.extended_sums(z)
        return None if known is None else (known[0] + self.ridge * z, known[1])

    def times(self, z: Array) -> Array | None:
        known = self.base.times(z)
        return None if known is None else known + self.ridge * z

    def probe(self, rows: Array) -> Probe:
        known = self.base.probe(rows)
        return Probe((known, np.asarray(rows)), known.squares)

    def probe_of(self, Z: Any) -> Probe:
        known = self.base.probe_of(Z)
        return Probe((known, np.full(len(known), -1)), known.squares)

    def block(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        known, rows = probe.rows
        self.base.block(known, start, stop, out)
        within = np.flatnonzero((rows >= start) & (rows < stop))
        out[within, rows[within] - start] += self.ridge[rows[within]]

    def cross(self, probe: Probe, other: Probe) -> Array:
        values = self.base.cross(probe.rows[0], other.rows[0])
        same = (probe.rows[1][:, None] == other.rows[1]) & (probe.rows[1][:, None] >= 0)
        left, right = np.nonzero(same)
        values[left, right] += self.ridge[probe.rows[1][left]]
        return values

    def subset(self, rows: Array) -> RidgedKernel:
        return RidgedKernel(self.base.subset(rows), self.ridge[rows])

    def astype(self, dtype: Any) -> RidgedKernel:
        base = self.base.astype(dtype)
        return self if base is self.base else RidgedKernel(base, self.ridge)


# -- a sample of no values ------------------------------------------------------------------------


class BorderedKernel(KernelOperator):
    """`base` over some of its samples, `places`, and over one, where that is −1, whose values with
    all samples are zero: the origin of the space of features."""

    def __init__(self, base: KernelOperator, places: Array) -> None:
        self.base = base
        self.places = places
        self.n_samples = len(places)
        self.dtype = base.dtype

    def diagonal(self) -> Array:
        return np.asarray(np.where(self.places < 0, 0.0, self.base.diagonal()[self.places]))

    def rounding(self) -> float:
        return self.base.rounding()

    def error(self) -> float:
        return self.base.error()

    def probe(self, rows: Array) -> Probe:
        places = self.places[rows]
        known = self.base.probe(np.maximum(places, 0))
        return Probe((known, places < 0), np.where(places < 0, 0.0, known.squares))

    def probe_of(self, Z: Any) -> Probe:
        known = self.base.probe_of(Z)
        return Probe((known, np.zeros(len(known), dtype=bool)), known.squares)

    def block(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        known, zero = probe.rows
        places = self.places[start:stop]
        first = int(places[0]) if len(places) else 0
        if np.array_equal(places, np.arange(first, first + len(places))) and first >= 0:
            self.base.block(known, first, first + len(places), out)
        else:
            out[:] = self.base.cross(known, self.base.probe(np.maximum(places, 0)))
            out[:, places < 0] = 0.0
        out[zero] = 0.0

    def cross(self, probe: Probe, other: Probe) -> Array:
        values = self.base.cross(probe.rows[0], other.rows[0])
        values[probe.rows[1]] = 0.0
        values[:, other.rows[1]] = 0.0
        return values

    def subset(self, rows: Array) -> BorderedKernel:
        return BorderedKernel(self.base, self.places[rows])

    def astype(self, dtype: Any) -> BorderedKernel:
        base = self.base.astype(dtype)
        return self if base is self.base else BorderedKernel(base, self.places)


# -- pairs of samples ------------------------------------------------------------------------------

#: Pairs whose diagonal is computed at once.
_CHUNK = 1024


class _PairProbe:
    """Probes of the left and the right samples, and their differences over all samples."""

    def __init__(self, base: KernelOperator, left: Probe, right: Probe) -> None:
        self.base = base
        self.left = left
        self.right = right
        self._over_samples: Array | None = None
        self._lock = threading.Lock()

    def over_samples(self) -> Array:
        """K(left, ·) − K(right, ·), computed when first asked for, by whichever thread."""
        with self._lock:
            if self._over_samples is None:
                values = np.empty((len(self.left), self.base.n_samples), dtype=self.base.dtype)
                for bounds in tile_bounds(self.base.n_samples, len(self.left), values.itemsize):
                    tile = kernel_tile(self.base, self.left, *bounds)
                    tile -= kernel_tile(self.base, self.right, *bounds)
                    values[:, slice(*bounds)] = tile
                self._over_samples = values
            return self._over_samples


class PairKernel(KernelOperator):
    """Pairs (left_r, right_r) of samples of `base`, in any order; a sample may be paired with
    itself, which gives a row of zeros."""

    def __init__(self, base: KernelOperator, left: Array, right: Array) -> None:
        self.base = base
        self.left = left
        self.right = right
        self.n_samples = len(left)
        self.dtype = base.dtype

    def diagonal(self) -> Array:
        own = self.base.diagonal()
        diagonal: Array = own[self.left] + own[self.right]
        for start in range(0, self.n_samples, _CHUNK):
            rows = slice(start, start + _CHUNK)
            lefts, at_left = np.unique(self.left[rows], return_inverse=True)
            rights, at_right = np.unique(self.right[rows], return_inverse=True)
            between = self.base.cross(self.base.probe(lefts), self.base.probe(rights))
            diagonal[rows] -= 2.0 * between[at_left, at_right]
        diagonal[self.left == self.right] = 0.0
        return np.maximum(diagonal, 0.0)

    def rounding(self) -> float:
        return 4.0 * self.base.rounding()

    def probe(self, rows: Array) -> Probe:
        left, right = self.base.probe(self.left[rows]), self.base.probe(self.right[rows])
        return Probe(_PairProbe(self.base, left, right), np.zeros(len(rows), self.dtype))

    def probe_of(self, Z: Any) -> Probe:
        """Pairs of new rows: Z is a table of left ones and a table of right ones."""
        left, right = self.base.probe_of(Z[0]), self.base.probe_of(Z[1])
        return Probe(_PairProbe(self.base, left, right), np.zeros(len(left), self.dtype))

    def block(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        over = probe.rows.over_samples()
        column_differences(over, self.left[start:stop], self.right[start:stop], out)

    def cross(self, probe: Probe, other: Probe) -> Array:
        pairs, others = probe.rows, other.rows
        values = self.base.cross(pairs.left, others.left)
        values -= self.base.cross(pairs.left, others.right)
        values -= self.base.cross(pairs.right, others.left)
        values += self.base.cross(pairs.right, others.right)
        return values

    def matrix(self, rows: Array, width: int) -> Array:
        left, right = self.left[rows], self.right[rows]
        samples, where = np.unique(np.concatenate([left, right]), return_inverse=True)
        among = self.base.matrix(samples, len(samples))
        at_left, at_right = where[: len(rows)], where[len(rows) :]
        over = among[at_left] - among[at_right]
        return pad_columns(over[:, at_left] - over[:, at_right], width)

    def subset(self, rows: Array) -> PairKernel:
        return PairKernel(self.base, self.left[rows], self.right[rows])

    def astype(self, dtype: Any) -> PairKernel:
        base = self.base.astype(dtype)
        return self if base is self.base else PairKernel(base, self.left, self.right)


@compiled(EXACT)
def column_differences(over, left, right, out):  # type: ignore[no-untyped-def]
    """out[r, c] = over[r, left_c] − over[r, right_c]."""
    for r in range(over.shape[0]):
        row, target = over[r], out[r]
        for c in range(left.size):
            target[c] = row[left[c]] - row[right[c]]
