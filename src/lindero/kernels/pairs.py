"""The kernel over pairs of samples: what ranking one above the other is a matter of.

A pair (i, j) stands for the difference φ(x_i) − φ(x_j), so that

    k((i, j), (k, l)) = k_ik − k_il − k_jk + k_jl

Samples are far fewer than pairs. Rows over all samples, K_i − K_j, are computed once for a probe,
and each entry over pairs is then a difference of two of them.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numba import njit

from lindero.kernels.blocks import kernel_tile, tile_bounds
from lindero.kernels.operator import KernelOperator, padded
from lindero.kernels.products import Probe
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT

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


class PairKernel:
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

    def columns(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        self.block(probe, start, stop, out.T)

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
        return padded(over[:, at_left] - over[:, at_right], width)

    def subset(self, rows: Array) -> PairKernel:
        return PairKernel(self.base, self.left[rows], self.right[rows])

    def astype(self, dtype: Any) -> PairKernel:
        base = self.base.astype(dtype)
        return self if base is self.base else PairKernel(base, self.left, self.right)


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def column_differences(over, left, right, out):  # type: ignore[no-untyped-def]
    """out[r, c] = over[r, left_c] − over[r, right_c]."""
    for r in range(over.shape[0]):
        row, target = over[r], out[r]
        for c in range(left.size):
            target[c] = row[left[c]] - row[right[c]]
