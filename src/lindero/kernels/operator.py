"""Kernel functions, and the kernel over a set of samples: its diagonal, and blocks of its rows.

With G_ij = ⟨x_i, z_j⟩ every named kernel is a function of G (and, for the Gaussian one, of the
squared norms), so a block of kernel values costs one matrix product and one pass over the tile:

    linear     G
    poly       (γ G + τ)^degree
    rbf        exp(−γ (‖x_i‖² + ‖z_j‖² − 2 G_ij))
    sigmoid    tanh(γ G + τ)

This is the one place that knows whether a kernel is dense, sparse, precomputed or a callable.
Solvers and models see only these verbs:

    diagonal()                   k(x_i, x_i)
    rounding()                   the largest value that is rounded on the way to k(x, z)
    probe(rows)                  remember chosen training rows
    probe_of(Z)                  remember rows of new data
    block(probe, start, stop)    K(probe, samples start..stop), into a caller's buffer
    columns(probe, start, stop)  the same transposed, which sparse data can do faster
    cross(probe, other)          K(probe, other) of two probes of training rows
    matrix(rows, width)          K among a few rows, its columns padded with zeros
    subset(rows), astype(dtype)  the same over fewer samples, in another precision

The exponential is the only function that needs compiled code. exp(x) = 2^k · 2^f with k the nearest
integer to x·log₂e and |f| ≤ ½; 2^f is a polynomial, and 2^k is added to the exponent bits. Two
plain loops (polynomial, then bits) let LLVM vectorise both on any machine, without a vector maths
library. The absolute error of a kernel value is a few units in the last place of 1.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numba import njit

from lindero.errors import KernelError
from lindero.kernels.products import DenseProducts, Probe, SparseProducts
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, FINITE

NAMED_KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")

#: The matrix over at most this many samples is computed once for all their subsets.
SHARED_SAMPLES = 400

_LOG2_E = 1.4426950408889634
_LN_2 = 0.6931471805599453


# -- functions -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KernelFunction:
    """A named kernel with its parameters, or a callable ``k(X, Z) -> (len(X), len(Z))``."""

    name: str
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    call: Callable[[Any, Any], Any] | None = None

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
        values = squares.copy()
        self.apply(values[None, :], squares, squares)
        return values


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


# -- operators -------------------------------------------------------------------------------------


class KernelOperator(Protocol):
    """What solvers and models may ask of a kernel over `n_samples` samples."""

    n_samples: int
    dtype: np.dtype[Any]

    def diagonal(self) -> Array: ...
    def probe(self, rows: Array) -> Probe: ...
    def probe_of(self, Z: Any) -> Probe: ...
    def block(self, probe: Probe, start: int, stop: int, out: Array) -> None: ...
    def cross(self, probe: Probe, other: Probe) -> Array: ...
    def subset(self, rows: Array) -> KernelOperator: ...
    def astype(self, dtype: Any) -> KernelOperator: ...

    def rounding(self) -> float:
        return float(np.max(np.abs(self.diagonal()), initial=0.0))

    def columns(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        self.block(probe, start, stop, out.T)

    def matrix(self, rows: Array, width: int) -> Array:
        probe = self.probe(rows)
        return pad_columns(self.cross(probe, probe), width)


def kernel_operator(
    X: Any, function: KernelFunction, dtype: Any = np.float64, shift: Array | None = None
) -> KernelOperator:
    """The operator of `function` over the rows of X (the matrix itself when precomputed). `shift`
    moves the origin of dense data; see `origin`, which the Gaussian kernel uses unasked."""
    if function.name == "precomputed":
        return PrecomputedKernel(X, dtype)
    if function.call is not None:
        return CallableKernel(X, function, dtype)
    if sp.issparse(X):
        return ProductKernel(SparseProducts(X, dtype), function)
    if shift is None and function.name == "rbf":
        shift = origin(X, function)
    return ProductKernel(DenseProducts(X, dtype, shift), function)


def origin(X: Any, function: KernelFunction) -> Array | None:
    """Where to move the origin of dense data, if that is worth while. The Gaussian kernel depends
    on differences only: with the origin in the data, the cancellation in ‖x‖² + ‖z‖² − 2⟨x,z⟩ is
    harmless. The linear one may be moved wherever Σz = 0, with a constant w·origin to add to the
    bias; it is, where the data are farther from their origin than from each other."""
    if sp.issparse(X) or X.shape[0] == 0 or function.name not in ("rbf", "linear"):
        return None
    mean: Array = X.mean(axis=0, dtype=np.float64)
    if function.name == "linear":
        sample = X[:: max(1, X.shape[0] // 256)] - mean
        if float(mean @ mean) <= float(np.einsum("ij,ij->i", sample, sample).mean()):
            return None
    return mean


class ProductKernel(KernelOperator):
    """A kernel that is a function of inner products. `whole` and `rows` make a subset of few
    samples, which takes its matrix from that of the whole."""

    def __init__(
        self,
        products: DenseProducts | SparseProducts,
        function: KernelFunction,
        whole: ProductKernel | None = None,
        rows: Array | None = None,
    ) -> None:
        self.products = products
        self.function = function
        self.whole = whole
        self.rows = rows
        self.n_samples = products.n_samples
        self.dtype = products.dtype

    def diagonal(self) -> Array:
        if self.function.name == "rbf":
            return np.ones(self.n_samples)
        return self.function.diagonal(self.products.squares.astype(np.float64))

    def rounding(self) -> float:
        if self.function.name != "rbf":
            return super().rounding()
        # The exponent is a difference of squares: what is lost there is lost in the value. Up to
        # eight, this is within the errors that the solvers reckon with anyway.
        largest = float(self.products.squares.max(initial=0.0))
        return max(1.0, self.function.gamma * largest / 8)

    def probe(self, rows: Array) -> Probe:
        return self.products.probe(rows)

    def probe_of(self, Z: Any) -> Probe:
        return self.products.probe_of(Z)

    def block(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        self.products.block(probe, start, stop, out)
        self.function.apply(out, probe.squares, self.products.squares[start:stop])

    def columns(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        self.products.columns(probe, start, stop, out)
        self.function.apply(out, self.products.squares[start:stop], probe.squares)

    def cross(self, probe: Probe, other: Probe) -> Array:
        values = self.products.cross(probe, other)
        self.function.apply(values, probe.squares, other.squares)
        return values

    def matrix(self, rows: Array, width: int) -> Array:
        if self.whole is not None:
            assert self.rows is not None
            return self.whole.matrix(self.rows[rows], width)
        return np.asarray(take_among(self._matrix, rows, width))

    @cached_property
    def _matrix(self) -> Array:
        probe = self.probe(np.arange(self.n_samples))
        return self.cross(probe, probe)

    def subset(self, rows: Array) -> ProductKernel:
        products = self.products.subset(rows)
        if self.n_samples > SHARED_SAMPLES:
            return ProductKernel(products, self.function)
        return ProductKernel(products, self.function, self, rows)

    def astype(self, dtype: Any) -> ProductKernel:
        products = self.products.astype(dtype)
        return self if products is self.products else ProductKernel(products, self.function)


class PrecomputedKernel(KernelOperator):
    """A kernel given as its matrix; `samples` are the rows and columns in use (None: all)."""

    def __init__(self, matrix: Array, dtype: Any, samples: Array | None = None) -> None:
        self.given = matrix
        self.samples = samples
        self.n_samples = matrix.shape[1] if samples is None else len(samples)
        self.dtype = np.dtype(dtype)

    def _original(self, rows: Any) -> Any:
        return rows if self.samples is None else self.samples[rows]

    def diagonal(self) -> Array:
        diagonal: Array = self.given.diagonal()[self._original(slice(None))]
        return diagonal.astype(np.float64)

    def probe(self, rows: Array) -> Probe:
        return Probe((self.given, self._original(rows)), np.zeros(len(rows), self.dtype))

    def probe_of(self, Z: Array) -> Probe:
        return Probe((Z, np.arange(len(Z))), np.zeros(len(Z), self.dtype))

    def block(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        source, rows = probe.rows
        columns = self._original(slice(start, stop))
        out[...] = source[rows, columns] if self.samples is None else source[rows[:, None], columns]

    def cross(self, probe: Probe, other: Probe) -> Array:
        matrix, rows = probe.rows
        _, columns = other.rows
        return np.ascontiguousarray(matrix[rows[:, None], columns], dtype=self.dtype)

    def subset(self, rows: Array) -> PrecomputedKernel:
        return PrecomputedKernel(self.given, self.dtype, self._original(rows))

    def astype(self, dtype: Any) -> PrecomputedKernel:
        return PrecomputedKernel(self.given, dtype, self.samples)


class CallableKernel(KernelOperator):
    """A kernel computed by the user's function ``k(X, Z) -> (len(X), len(Z))``."""

    def __init__(self, X: Any, function: KernelFunction, dtype: Any) -> None:
        self.X = X
        self.function = function
        self.n_samples = X.shape[0]
        self.dtype = np.dtype(dtype)
        self._one_at_a_time = threading.Lock()  # a user's function need not be thread-safe

    def _call(self, left: Any, right: Any) -> Array:
        assert self.function.call is not None
        with self._one_at_a_time:
            values = np.asarray(self.function.call(left, right))
        expected = (left.shape[0], right.shape[0])
        if values.shape != expected:
            raise KernelError(
                f"The callable given as kernel returned an array of shape {values.shape} for "
                f"inputs of {expected[0]} and {expected[1]} rows; it must return {expected}: one "
                "row per row of its first argument, one column per row of its second."
            )
        if values.dtype.kind not in "fiub":
            raise KernelError(
                f"The callable given as kernel returned values of type {values.dtype}; it must "
                "return real numbers."
            )
        if not np.isfinite(values).all():
            raise KernelError("The callable given as kernel returned NaN or infinite values.")
        return values

    def diagonal(self) -> Array:
        chunks = [
            np.diagonal(self._call(self.X[i : i + 64], self.X[i : i + 64]))
            for i in range(0, self.n_samples, 64)
        ]
        return np.concatenate(chunks).astype(np.float64)

    def probe(self, rows: Array) -> Probe:
        return self.probe_of(self.X[rows])

    def probe_of(self, Z: Any) -> Probe:
        return Probe(Z, np.zeros(Z.shape[0], self.dtype))

    def block(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        out[...] = self._call(probe.rows, self.X[start:stop])

    def cross(self, probe: Probe, other: Probe) -> Array:
        return np.ascontiguousarray(self._call(probe.rows, other.rows), dtype=self.dtype)

    def subset(self, rows: Array) -> CallableKernel:
        return CallableKernel(self.X[rows], self.function, self.dtype)

    def astype(self, dtype: Any) -> CallableKernel:
        return CallableKernel(self.X, self.function, dtype)


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def take_among(matrix, rows, width):  # type: ignore[no-untyped-def]
    """matrix[rows][:, rows], its columns padded with zeros to `width`."""
    block = np.zeros((rows.size, width), dtype=matrix.dtype)
    for i in range(rows.size):
        source, target = matrix[rows[i]], block[i]
        for j in range(rows.size):
            target[j] = source[rows[j]]
    return block


def pad_columns(block: Array, width: int) -> Array:
    """The block with columns of zeros added up to `width`."""
    return np.pad(block, ((0, 0), (0, width - block.shape[1])))
