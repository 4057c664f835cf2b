"""Kernel rows kept under a memory cap, least recently used out first."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindero.runtime.arrays import Array


class RowCache:
    """Slots for rows of an n × n kernel, at most `megabytes` of them.

    Memory is reserved, not touched: the operating system hands pages out as rows are written.
    """

    def __init__(self, n_samples: int, dtype: Any, megabytes: float) -> None:
        row_bytes = max(1, n_samples * np.dtype(dtype).itemsize)
        capacity = min(n_samples, int(megabytes * 2**20 // row_bytes))
        self.values = np.empty((capacity, n_samples), dtype=dtype)
        self._slot_of = np.full(n_samples, -1, dtype=np.int64)
        self._owner = np.full(capacity, -1, dtype=np.int64)
        self._last_used = np.zeros(capacity, dtype=np.int64)
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
        if wanted < self.capacity:
            oldest = np.argpartition(self._last_used, wanted - 1)[:wanted]
        else:
            oldest = np.arange(self.capacity)
        oldest = oldest[self._last_used[oldest] < self._clock]
        previous = self._owner[oldest]
        self._slot_of[previous[previous >= 0]] = -1
        count = len(oldest)
        slots[:count] = oldest
        self._slot_of[rows[:count]] = oldest
        self._owner[oldest] = rows[:count]
        self._last_used[oldest] = self._clock
        return slots

    def release(self, rows: Array) -> None:
        """Forget rows whose values were not written after all."""
        slots = self._slot_of[rows]
        slots = slots[slots >= 0]
        self._slot_of[rows] = -1
        self._owner[slots] = -1
        self._last_used[slots] = 0
