"""The Cholesky factor of a matrix that gains and loses single rows.

    A = L Lᵀ,   append   L' = [L 0; ℓᵀ √d],   L ℓ = a,   d = a_jj − ℓᵀℓ
                remove   row k of L is left out; rotations of neighbouring columns make the rows
                         below it triangular again

Both cost m² multiplications, and both are stable. d is the squared distance of the new row's vector
from the span of the others: nothing is appended where it is rounding.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lindero.kernels.compilation import EXACT, FAST
from lindero.kernels.functions import Array

_FIRST_ROOM = 32


class GrowingFactor:
    """L of a positive definite matrix of `size` rows."""

    def __init__(self) -> None:
        self.size = 0
        self._L = np.zeros((_FIRST_ROOM, _FIRST_ROOM))

    def append(self, column: Array, diagonal: float, least: float) -> float:
        """One more row and column, unless d ≤ `least`; returns d."""
        m = self.size
        if m == len(self._L):
            larger = np.zeros((2 * m, 2 * m))
            larger[:m, :m] = self._L
            self._L = larger
        distance = float(append_row(self._L, m, column, diagonal))
        if distance > least:
            self._L[m, m] = np.sqrt(distance)
            self.size = m + 1
        return distance

    def remove(self, k: int) -> None:
        """The factor without row and column k."""
        remove_row(self._L, self.size, k)
        self.size -= 1

    def solve(self, right: Array) -> Array:
        """A⁻¹ right, in a new array."""
        x: Array = right.copy()
        solve_in_place(self._L, self.size, x)
        return x

    def copy(self) -> GrowingFactor:
        other = GrowingFactor.__new__(GrowingFactor)
        other.size = self.size
        other._L = np.zeros((max(_FIRST_ROOM, self.size + 8),) * 2)
        other._L[: self.size, : self.size] = self._L[: self.size, : self.size]
        return other


@njit(cache=True, nogil=True, fastmath=FAST, boundscheck=False)
def append_row(L, m, column, diagonal):  # type: ignore[no-untyped-def]
    """L[m, :m] = L⁻¹ column; returns diagonal − its squared norm."""
    row = L[m]
    squares = 0.0
    for i in range(m):
        total = 0.0
        above = L[i]
        for j in range(i):
            total += above[j] * row[j]
        row[i] = (column[i] - total) / above[i]
        squares += row[i] * row[i]
    return diagonal - squares


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def remove_row(L, m, k):  # type: ignore[no-untyped-def]
    """Shift rows below k up by one and rotate away what then lies right of the diagonal."""
    cosines, sines = np.empty(m), np.empty(m)
    for i in range(k, m - 1):
        row, below = L[i], L[i + 1]
        for j in range(i + 2):
            row[j] = below[j]
        for j in range(k, i):
            c, s = cosines[j], sines[j]
            left, right = row[j], row[j + 1]
            row[j] = c * left + s * right
            row[j + 1] = c * right - s * left
        length = np.hypot(row[i], row[i + 1])
        cosines[i], sines[i] = row[i] / length, row[i + 1] / length
        row[i] = length
        row[i + 1] = 0.0


@njit(cache=True, nogil=True, fastmath=FAST, boundscheck=False)
def solve_in_place(L, m, x):  # type: ignore[no-untyped-def]
    """x ← L⁻ᵀ L⁻¹ x, along rows both ways."""
    for i in range(m):
        total = 0.0
        row = L[i]
        for j in range(i):
            total += row[j] * x[j]
        x[i] = (x[i] - total) / row[i]
    for i in range(m - 1, -1, -1):
        row = L[i]
        x[i] = x[i] / row[i]
        value = x[i]
        for j in range(i):
            x[j] -= value * row[j]
