"""Kernel functions, applied in place to a tile of inner products.

With G_ij = ⟨x_i, z_j⟩ every kernel here is a function of G (and, for the Gaussian one, of the
squared norms), so a block of kernel values costs one matrix product and one pass over the tile:

    linear     G
    poly       (γ G + τ)^degree
    rbf        exp(−γ (‖x_i‖² + ‖z_j‖² − 2 G_ij))
    sigmoid    tanh(γ G + τ)

The exponential is the only one that needs compiled code. exp(x) = 2^k · 2^f with k the nearest
integer to x·log₂e and |f| ≤ ½; 2^f is a polynomial, and 2^k is added to the exponent bits. Two
plain loops (polynomial, then bits) let LLVM vectorise both on any machine, without a vector maths
library. The absolute error of a kernel value is a few units in the last place of 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from lindero.runtime.arrays import Array
from lindero.runtime.compilation import FINITE

NAMED_KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")

_LOG2_E = 1.4426950408889634
_LN_2 = 0.6931471805599453


@dataclass(frozen=True)
class KernelFunction:
    """A named kernel with its parameters, or a callable ``k(X, Z) -> (len(X), len(Z))``."""

    name: str
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    call: Callable[[Any, Any], Any] | None = None

    @property
    def needs_norms(self) -> bool:
        return self.name == "rbf"

    def apply(self, products: Array, left_squares: Array, right_squares: Array) -> None:
        """Turn inner products into kernel values, in place."""
        if self.name == "rbf":
            single = products.dtype == np.float32
            gaussian = gaussian_single if single else gaussian_double
            gamma = products.dtype.type(self.gamma)
            gaussian(products, left_squares, right_squares, gamma, np.empty_like(products[0]))
        elif self.name in ("poly", "sigmoid"):
            products *= products.dtype.type(self.gamma)
            products += products.dtype.type(self.coef0)
            if self.name == "sigmoid":
                np.tanh(products, out=products)
            else:
                integer_power(products, self.degree)

    def diagonal(self, squares: Array) -> Array:
        """k(x_i, x_i) for each sample, from the squared norms ⟨x_i, x_i⟩."""
        if self.name == "rbf":
            return np.ones_like(squares)
        values = squares.copy().reshape(1, -1)
        self.apply(values, squares, squares)
        diagonal: Array = values[0]
        return diagonal


def integer_power(values: Array, degree: int) -> None:
    """values ** degree in place, by repeated squaring."""
    base = values.copy()
    values.fill(1.0)
    while degree:
        if degree & 1:
            values *= base
        degree >>= 1
        if degree:
            base *= base


@njit(cache=True, nogil=True, fastmath=FINITE, error_model="numpy")
def gaussian_single(G, left, right, gamma, exponent):  # type: ignore[no-untyped-def]
    """G ← exp(−γ(left_i + right_j − 2 G_ij)) in float32; `exponent` is scratch, a row long."""
    one = np.float32(1.0)
    scale = gamma * np.float32(_LOG2_E)
    # Taylor coefficients of 2^f = exp(f ln 2), enough for |f| <= 1/2 in single precision.
    c1 = np.float32(_LN_2)
    c2 = np.float32(_LN_2**2 / 2)
    c3 = np.float32(_LN_2**3 / 6)
    c4 = np.float32(_LN_2**4 / 24)
    c5 = np.float32(_LN_2**5 / 120)
    c6 = np.float32(_LN_2**6 / 720)
    lowest = np.float32(-126.0)
    for i in range(G.shape[0]):
        row = G[i]
        bits = row.view(np.int32)
        offset = left[i]
        for j in range(row.size):
            x = -scale * (offset + right[j] - np.float32(2.0) * row[j])
            x = min(max(x, lowest), np.float32(0.0))
            k = np.floor(x + np.float32(0.5))
            f = x - k
            row[j] = one + f * (c1 + f * (c2 + f * (c3 + f * (c4 + f * (c5 + f * c6)))))
            exponent[j] = k
        for j in range(row.size):
            bits[j] += np.int32(exponent[j]) << np.int32(23)


@njit(cache=True, nogil=True, fastmath=FINITE, error_model="numpy")
def gaussian_double(G, left, right, gamma, exponent):  # type: ignore[no-untyped-def]
    """The same in float64."""
    scale = gamma * _LOG2_E
    c1 = _LN_2
    c2 = _LN_2**2 / 2
    c3 = _LN_2**3 / 6
    c4 = _LN_2**4 / 24
    c5 = _LN_2**5 / 120
    c6 = _LN_2**6 / 720
    c7 = _LN_2**7 / 5040
    c8 = _LN_2**8 / 40320
    c9 = _LN_2**9 / 362880
    c10 = _LN_2**10 / 3628800
    c11 = _LN_2**11 / 39916800
    c12 = _LN_2**12 / 479001600
    for i in range(G.shape[0]):
        row = G[i]
        bits = row.view(np.int64)
        offset = left[i]
        for j in range(row.size):
            x = -scale * (offset + right[j] - 2.0 * row[j])
            x = min(max(x, -1022.0), 0.0)
            k = np.floor(x + 0.5)
            f = x - k
            tail = c7 + f * (c8 + f * (c9 + f * (c10 + f * (c11 + f * c12))))
            head = c3 + f * (c4 + f * (c5 + f * (c6 + f * tail)))
            row[j] = 1.0 + f * (c1 + f * (c2 + f * head))
            exponent[j] = k
        for j in range(row.size):
            bits[j] += np.int64(exponent[j]) << 52
