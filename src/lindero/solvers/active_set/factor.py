"""The Cholesky factor of a matrix that gains and loses single rows.

    A = RᵀR,   append   R' = [R ρ; 0 √d],   Rᵀρ = a,   d = a_jj − ρᵀρ
               remove   column k of R is left out; rotations of neighbouring rows make what is right
                        of it triangular again

Both cost m² multiplications, and both are stable. d is the squared distance of the new row's vector
from the span of the others: nothing is appended where it is rounding. R is kept by rows, since
rotations and both substitutions then run along them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindero.runtime.arrays import Array
from lindero.runtime.compilation import FAST, compiled

#: Rows that there is room for beyond those held, for compiled code that appends some itself.
SPARE = 64

_NO_VECTORS = np.empty((0, 0))


class GrowingFactor:
    """R of a positive definite matrix of `size` rows. Columns up to `touched` were written to, also
    those right of R that rows which were removed have left behind."""

    def __init__(self) -> None:
        self.size = self.touched = 0
        self.R = np.zeros((SPARE, SPARE))

    def make_room(self, size: int) -> None:
        """Room for a factor of that many rows, and some to spare."""
        if size + SPARE > len(self.R):
            larger = np.zeros((max(2 * len(self.R), size + SPARE),) * 2)
            larger[: self.size, : self.size] = self.R[: self.size, : self.size]
            self.R, self.touched = larger, self.size

    def append(self, column: Array, diagonal: float, least: float) -> float:
        """One more row and column, unless d ≤ `least`; returns d."""
        self.make_room(self.size + 1)
        self.touched = max(self.touched, self.size + 1)
        distance = float(append_column(self.R, self.size, column, diagonal))
        if distance > least:
            self.R[self.size, self.size] = np.sqrt(distance)
            self.size += 1
        return distance

    def remove(self, k: int) -> None:
        """The factor without row and column k."""
        remove_column(self.R, self.size, k, _NO_VECTORS)
        self.size -= 1

    def solve(self, right: Array) -> Array:
        """A⁻¹ right, in a new array."""
        x: Array = right.copy()
        solve_in_place(self.R, self.size, x)
        return x

    def wipe(self) -> None:
        """Overwrite what rows that were removed have left behind."""
        m, touched = self.size, self.touched
        self.R[:touched, m:touched] = 0.0
        self.touched = m

    def __getstate__(self) -> dict[str, Any]:
        return {"R": self.known}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        self.adopt(state["R"])

    @property
    def known(self) -> Array:
        """R without the room for more."""
        return self.R[: self.size, : self.size]

    def adopt(self, R: Array) -> None:
        """Become the factor that R is."""
        m = len(R)
        self.size = 0
        self.make_room(m)
        self.R[:m, :m] = R
        self.size, self.touched = m, max(m, self.touched)


# Loops below run from 0 over slices: indices that may be negative are not turned into vector code.


@compiled(FAST)
def append_column(R, m, column, diagonal):  # type: ignore[no-untyped-def]
    """R[:m, m] = R⁻ᵀ column; returns diagonal − its squared norm."""
    left = column[:m].copy()
    forward(R, m, left)
    squares = 0.0
    for i in range(m):
        R[i, m] = left[i]
        squares += left[i] * left[i]
    return diagonal - squares


@compiled(FAST)
def remove_column(R, m, k, solved):  # type: ignore[no-untyped-def]
    """Shift columns right of k to the left, and rotate away what then lies below the diagonal.

    Rows of `solved` are vectors R⁻ᵀx, which are turned along, so that they are those of x without
    its entry k.
    """
    turned = np.empty(m)
    for i in range(k):
        right, shifted = R[i, k + 1 : m], R[i, k : m - 1]
        for j in range(right.size):
            turned[j] = right[j]
        for j in range(right.size):
            shifted[j] = turned[j]
    for i in range(k, m - 1):
        upper, lower, shifted = R[i, i + 1 : m], R[i + 1, i + 1 : m], R[i, i : m - 1]
        c, s = upper[0], lower[0]
        length = np.sqrt(c * c + s * s)
        c, s = c / length, s / length
        for j in range(upper.size):
            above, below = upper[j], lower[j]
            turned[j] = c * above + s * below
            lower[j] = c * below - s * above
        for j in range(upper.size):
            shifted[j] = turned[j]
        for q in range(solved.shape[0]):
            above, below = solved[q, i], solved[q, i + 1]
            solved[q, i] = c * above + s * below
            solved[q, i + 1] = c * below - s * above


@compiled(FAST)
def forward(R, m, x):  # type: ignore[no-untyped-def]
    """x ← R⁻ᵀ x."""
    for i in range(m):
        value = x[i] / R[i, i]
        x[i] = value
        rest, row = x[i + 1 : m], R[i, i + 1 : m]
        for j in range(rest.size):
            rest[j] -= value * row[j]


@compiled(FAST)
def solve_in_place(R, m, x):  # type: ignore[no-untyped-def]
    """x ← R⁻¹ R⁻ᵀ x."""
    forward(R, m, x)
    backward(R, m, x)


@compiled(FAST)
def backward(R, m, x):  # type: ignore[no-untyped-def]
    """x ← R⁻¹ x."""
    for i in range(m - 1, -1, -1):
        rest, row = x[i + 1 : m], R[i, i + 1 : m]
        total = 0.0
        for j in range(rest.size):
            total += row[j] * rest[j]
        x[i] = (x[i] - total) / R[i, i]
