"""Rows of a kernel over all samples: a tile of columns at a time, and some of them kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindero.kernels.operator import KernelOperator
from lindero.kernels.products import Probe
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads

#: A tile of kernel values should stay in a core's own cache between its product and its use.
TILE_BYTES = 2 * 2**20

#: Rows summed at once when a whole product K z is asked for.
_PROBE_ROWS = 512


def tile_bounds(
    n_columns: int, n_rows: int, itemsize: int, converted: int = 0
) -> list[tuple[int, int]]:
    """Column ranges of tiles of `n_rows` rows: some TILE_BYTES each, with the `converted` bytes of
    each column, and not fewer than 128 columns."""
    width = max(128, min(4096, TILE_BYTES // (max(1, n_rows) * itemsize + converted) // 64 * 64))
    return [(start, min(start + width, n_columns)) for start in range(0, n_columns, width)]


def kernel_tile(kernel: KernelOperator, probe: Probe, start: int, stop: int) -> Array:
    """K(probe, samples start..stop) in a fresh contiguous array."""
    tile = np.empty((len(probe), stop - start), dtype=kernel.dtype)
    kernel.block(probe, start, stop, tile)
    return tile


def kernel_among(
    kernel: KernelOperator,
    rows: Array,
    corner: Array | None,
    threads: TileThreads,
    multiple: int = 1,
) -> Array:
    """The block K(rows, rows), of which `corner` already holds the first len(corner) rows. Columns
    are padded with zeros to a multiple of `multiple`."""
    size, known = len(rows), 0 if corner is None else len(corner)
    probe = kernel.probe(rows)
    block = np.empty((size, -(-size // multiple) * multiple), dtype=kernel.dtype)
    block[:, size:] = 0.0
    block[:known, :known] = corner

    if known == 0 and size * size * kernel.dtype.itemsize <= TILE_BYTES:
        block[:, :size] = kernel.cross(probe, probe)
        return block

    def fill(bounds: tuple[int, int]) -> None:
        start, stop = known + bounds[0], known + bounds[1]
        block[start:stop, :size] = kernel.cross(kernel.probe(rows[start:stop]), probe)
        block[:known, start:stop] = block[start:stop, :known].T

    threads.map(fill, tile_bounds(size - known, size, kernel.dtype.itemsize))
    return block


def kernel_product(kernel: KernelOperator, z: Array, threads: TileThreads) -> Array:
    """K z over all samples, touching only the rows where z is not zero."""
    known = kernel.times(z)
    if known is not None:
        return known
    total = np.zeros(kernel.n_samples)
    support = np.flatnonzero(z)
    itemsize, converted = kernel.dtype.itemsize, kernel.converted_bytes()
    height = max(64, min(_PROBE_ROWS, TILE_BYTES // max(1, converted)))
    for first in range(0, len(support), height):
        rows = support[first : first + height]
        probe = kernel.probe(rows)
        coefficients = z[rows].astype(kernel.dtype)

        def add(bounds: tuple[int, int], probe: Probe = probe, c: Array = coefficients) -> None:
            start, stop = bounds
            total[start:stop] += c @ kernel_tile(kernel, probe, start, stop)

        threads.map(add, tile_bounds(kernel.n_samples, len(rows), itemsize, converted))
    return total


def exact_sums(kernel: KernelOperator, z: Array, rows: Array) -> Array:
    """K z at some rows."""
    support = np.flatnonzero(z)
    probe, total = kernel.probe(rows), np.zeros(len(rows))
    height = max(64, min(_PROBE_ROWS, TILE_BYTES // max(1, kernel.converted_bytes())))
    for first in range(0, len(support), height):
        others = support[first : first + height]
        total += kernel.cross(probe, kernel.probe(others)) @ z[others]
    return total


class RowCache:
    """Slots for at most `megabytes` of rows of a kernel; the least recently used go first. Memory
    is reserved, not touched: the operating system hands pages out as rows are written."""

    def __init__(self, n_samples: int, dtype: Any, megabytes: float) -> None:
        row_bytes = max(1, n_samples * np.dtype(dtype).itemsize)
        capacity = min(n_samples, int(megabytes * 2**20 // row_bytes))
        self.values = np.empty((capacity, n_samples), dtype=dtype)
        self._slot_of = np.full(n_samples, -1, dtype=np.int64)
        self._owner = np.full(capacity, -1, dtype=np.int64)
        self._last_used = np.zeros(capacity, dtype=np.int64)
        self._n_touched = 0  # slots that have ever been claimed, which are the first
        self._clock = 0

    @property
    def capacity(self) -> int:
        return len(self._owner)

    def find(self, rows: Array) -> Array:
        """The slot of each row, −1 where it is not kept; those found become the newest."""
        self._clock += 1
        slots = self._slot_of[rows]
        self._last_used[slots[slots >= 0]] = self._clock
        return slots

    def claim(self, rows: Array) -> Array:
        """Slots for rows about to be written: the oldest not found or claimed since the last
        `find`. Rows beyond what can be kept get −1."""
        slots = np.full(len(rows), -1, dtype=np.int64)
        wanted = min(len(rows), self.capacity)
        if wanted == 0:
            return slots
        if self._n_touched + wanted <= self.capacity:
            oldest = np.arange(self._n_touched, self._n_touched + wanted)
            self._n_touched += wanted
        else:
            oldest = self._evict(wanted)
        count = len(oldest)
        slots[:count] = oldest
        self._slot_of[rows[:count]] = oldest
        self._owner[oldest] = rows[:count]
        self._last_used[oldest] = self._clock
        return slots

    def _evict(self, wanted: int) -> Array:
        """At most so many slots, the oldest ones, whose rows are forgotten."""
        self._n_touched = self.capacity
        if wanted < self.capacity:
            oldest = np.argpartition(self._last_used, wanted - 1)[:wanted]
        else:
            oldest = np.arange(self.capacity)
        oldest = oldest[self._last_used[oldest] < self._clock]
        previous = self._owner[oldest]
        self._slot_of[previous[previous >= 0]] = -1
        return oldest

    def release(self, rows: Array) -> None:
        """Forget rows whose values were not written after all."""
        slots = self._slot_of[rows]
        slots = slots[slots >= 0]
        self._slot_of[rows] = -1
        self._owner[slots] = -1
        self._last_used[slots] = 0
