"""Kernel functions, and the kernel over a set of samples: its diagonal, and blocks of its rows.

With G_ij = ⟨x_i, z_j⟩ every named kernel is a function of G (and, for the Gaussian one, of the
squared norms), so a block of kernel values costs one matrix product and one pass over the tile:

    linear     G
    poly       (γ G + τ)^degree
    rbf        exp(−γ (‖x_i‖² + ‖z_j‖² − 2 G_ij))
    sigmoid    tanh(γ G + τ)

This is the one place that knows whether a kernel is dense, sparse, precomputed or a callable, and
so one file.
Solvers and models see only these verbs:

    diagonal()                   k(x_i, x_i)
    largest()                    the largest |k(x, z)|
    rounding()                   the largest value that is rounded on the way to k(x, z)
    error()                      what rounding does to k(x, z) in float64, at the most
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
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from lindero.errors import KernelError
from lindero.kernels.products import DenseProducts, Probe, SparseProducts
from lindero.runtime.arrays import Array, dense
from lindero.runtime.cached import cached_property
from lindero.runtime.compilation import EXACT, FINITE, compiled

NAMED_KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")

#: Kernel values beyond this are refused: products of two of them must be finite.
LARGEST_VALUE = 1e150

#: The matrix over at most this many samples is computed once for all their subsets.
SHARED_SAMPLES = 400

#: What rounding in float64 may do to a kernel value, as a share of what is rounded on the way.
ROUNDING_UNITS = 16 * 2.0**-53

#: The same in extended precision, where the machine has one.
EXTENDED_UNITS = 16 * float(np.finfo(np.longdouble).eps)

#: Gaussian kernels whose exponents γ‖x‖² reach this take distances of near rows from differences.
FINE_FROM = 1e5

#: Work (rows × support vectors × features) up to which sums in extended precision are affordable.
EXTENDED_WORK = 3e7

#: Numbers of rows that are converted at once where only sums of them are wanted.
_TILE_NUMBERS = 2**20

#: Squares and factors between these are computed with in float32 without over- or underflow.
_LEAST_SINGLE, _MOST_SINGLE = 1e-30, 1e30

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


@compiled(FINITE, error_model="numpy")
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


@compiled(FINITE, error_model="numpy")
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


@compiled(EXACT, error_model="numpy")
def put_distances(G, X, Z, left, right, gamma):  # type: ignore[no-untyped-def]
    """G ← −½‖x_i − z_j‖², in which products of rows with squares of zero have all digits. Only
    distances that make exp(−γ‖x_i − z_j‖²) more than nothing are computed from differences."""
    for i in range(G.shape[0]):
        for j in range(G.shape[1]):
            both = left[i] + right[j]
            distance = both - 2.0 * G[i, j]
            # exp(−800) is nothing, also with what rounding may hide.
            if gamma * (distance - 1e-14 * both) < 800.0:
                distance = 0.0
                for k in range(X.shape[1]):
                    apart = X[i, k] - Z[j, k]
                    distance += apart * apart
            G[i, j] = -0.5 * distance


# -- operators -------------------------------------------------------------------------------------


class KernelOperator(Protocol):
    """What solvers and models may ask of a kernel over `n_samples` samples."""

    n_samples: int
    dtype: np.dtype[Any]
    _known_largest: float | None = None

    def diagonal(self) -> Array: ...
    def probe(self, rows: Array) -> Probe: ...
    def probe_of(self, Z: Any) -> Probe: ...
    def block(self, probe: Probe, start: int, stop: int, out: Array) -> None: ...
    def cross(self, probe: Probe, other: Probe) -> Array: ...
    def subset(self, rows: Array) -> KernelOperator: ...
    def astype(self, dtype: Any) -> KernelOperator: ...

    def largest(self) -> float:
        # Kept: every solver that hands a problem on asks for it.
        if self._known_largest is None:
            self._known_largest = self._find_largest()
        return self._known_largest

    def _find_largest(self) -> float:
        # Of positive semi-definite kernels, which most are, it is on the diagonal.
        return float(np.max(np.abs(self.diagonal()), initial=0.0))

    def rounding(self) -> float:
        return self.largest()

    def error(self) -> float:
        return ROUNDING_UNITS * self.largest()

    def converted_bytes(self) -> int:
        """Bytes into which each sample of a tile is converted first."""
        return 0

    def extended_sums(self, z: Array) -> tuple[Array, float] | None:
        """K z in extended precision, from the data as they were given, and the error of one kernel
        value in it; None where that is not to be had."""
        return None

    def times(self, z: Array) -> Array | None:
        """K z, where the matrix is at hand; else None."""
        return None

    def scaled(self, factor: float) -> KernelOperator | None:
        """The same kernel so many times as large, where that is one of its own kind; else None."""
        return None

    def columns(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        self.block(probe, start, stop, out.T)

    def matrix(self, rows: Array, width: int) -> Array:
        probe = self.probe(rows)
        return pad_columns(self.cross(probe, probe), width)


def kernel_operator(
    X: Any, function: KernelFunction, dtype: Any = np.float64, shift: Array | None = None
) -> KernelOperator:
    """The operator of `function` over the rows of X (the matrix itself when precomputed). `shift`
    moves the origin of dense data; see `origin`, which the Gaussian kernel uses unasked. Rows on a
    device make their own."""
    make_own = getattr(X, "make_kernel", None)
    if make_own is not None:
        own: KernelOperator = make_own(function)
        return own
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
    if hasattr(X, "make_kernel"):
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

    def _find_largest(self) -> float:
        return 1.0 if self.function.name in ("rbf", "sigmoid") else super()._find_largest()

    @cached_property
    def _exponent(self) -> float:
        """γ‖x‖² of the longest row; of a subset, that of the whole, which is known."""
        if self.whole is not None:
            return self.whole._exponent
        return self.function.gamma * float(self.products.squares.max(initial=0.0))

    @cached_property
    def _fine(self) -> bool:
        """Whether ‖x‖² + ‖z‖² − 2⟨x,z⟩ would lose digits that matter to exp(−γ‖x − z‖²)."""
        dense = isinstance(self.products, DenseProducts) and self.dtype == np.float64
        return self.function.name == "rbf" and dense and not self._exponent < FINE_FROM

    def rounding(self) -> float:
        function = self.function
        if self.dtype == np.float32:
            longest = float(self.products.squares.max(initial=0.0))
            sizes = [longest] if function.name == "linear" else [longest, function.gamma]
            if abs(function.coef0) > _MOST_SINGLE or not all(
                _LEAST_SINGLE <= size <= _MOST_SINGLE for size in sizes
            ):
                return np.inf
        if function.name == "sigmoid":
            return max(1.0, (self._exponent + abs(function.coef0)) / 8)
        if function.name != "rbf":
            return super().rounding()
        # The exponent is a difference of squares: what is lost there is lost in the value. Up to
        # eight, this is within the errors that the solvers reckon with anyway.
        return max(1.0, self._exponent / 8)

    def error(self) -> float:
        return self._error

    @cached_property
    def _error(self) -> float:
        if self.whole is not None:
            return self.whole._error
        function, shift = self.function, getattr(self.products, "shift", None)
        # Rows relative to the origin have lost the digits that the origin has before theirs.
        moved = 0.0 if shift is None else float(np.sqrt(shift @ shift))
        longest = float(np.sqrt(self.products.squares.max(initial=0.0)))
        if function.name == "linear":
            return ROUNDING_UNITS * longest * (longest + moved)
        if function.name == "rbf":
            lost = np.sqrt(self._exponent) if self._fine else self._exponent
            return ROUNDING_UNITS * float(1.0 + lost + np.sqrt(function.gamma) * moved)
        inner = abs(function.gamma) * longest**2 + abs(function.coef0)
        if function.name == "sigmoid":
            return ROUNDING_UNITS * (1.0 + inner)
        return float(ROUNDING_UNITS * max(1, function.degree) * inner**function.degree)

    def extended_sums(self, z: Array) -> tuple[Array, float] | None:
        function, support = self.function, np.flatnonzero(z)
        work = float(self.n_samples) * max(1, len(support)) * self.products.n_features
        if work > EXTENDED_WORK or function.name == "sigmoid" or EXTENDED_UNITS >= ROUNDING_UNITS:
            return None
        X = dense(self.products.given()).astype(np.longdouble)
        shift = getattr(self.products, "shift", None)
        if shift is not None:
            X -= shift
        Z, c = X[support], z[support].astype(np.longdouble)
        gamma, coef0 = np.longdouble(function.gamma), np.longdouble(function.coef0)
        if function.name == "rbf":
            total = np.zeros(self.n_samples, dtype=np.longdouble)
            for x, weight in zip(Z, c, strict=True):
                apart = X - x
                total += weight * np.exp(-gamma * np.einsum("ij,ij->i", apart, apart))
            return total, EXTENDED_UNITS
        longest = np.einsum("ij,ij->i", X, X).max(initial=0.0)
        if function.name == "linear":
            return X @ (c @ Z), EXTENDED_UNITS * float(longest)
        largest = float((abs(gamma) * longest + abs(coef0)) ** function.degree)
        error = EXTENDED_UNITS * max(1, function.degree) * largest
        return (gamma * (X @ Z.T) + coef0) ** function.degree @ c, error

    def converted_bytes(self) -> int:
        return self.products.converted_bytes()

    def times(self, z: Array) -> Array | None:
        """By way of w = Σ z_i x_i, for the linear kernel."""
        if self.function.name != "linear" or self.dtype != np.float64:
            return None
        n, width = self.n_samples, self.products.n_features
        height = n
        if isinstance(self.products, DenseProducts):
            height = max(64, _TILE_NUMBERS // max(1, width))
        w, part, out = np.zeros(width), np.empty(width), np.empty(n)
        for start in range(0, n, height):
            stop = min(start + height, n)
            self.products.transposed_times(z[start:stop], start, stop, out=part)
            w += part
        for start in range(0, n, height):
            stop = min(start + height, n)
            self.products.times(w, start, stop, out=out[start:stop])
        return out

    def probe(self, rows: Array) -> Probe:
        return self.products.probe(rows)

    def probe_of(self, Z: Any) -> Probe:
        return self.products.probe_of(Z)

    def block(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        self.products.block(probe, start, stop, out)
        self._apply(out, probe, self._tile_probe(start, stop))

    def columns(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        self.products.columns(probe, start, stop, out)
        self._apply(out, self._tile_probe(start, stop), probe)

    def cross(self, probe: Probe, other: Probe) -> Array:
        values = self.products.cross(probe, other)
        self._apply(values, probe, other)
        return values

    def _tile_probe(self, start: int, stop: int) -> Probe:
        rows = None
        if self._fine:
            assert isinstance(self.products, DenseProducts)
            rows = self.products.tile(start, stop)
        return Probe(rows, self.products.squares[start:stop])

    def _apply(self, products: Array, left: Probe, right: Probe) -> None:
        """Turn inner products into kernel values, in place."""
        if not self._fine:
            self.function.apply(products, left.squares, right.squares)
            return
        gamma = self.function.gamma
        put_distances(products, left.rows, right.rows, left.squares, right.squares, gamma)
        nothing = np.zeros_like(left.squares), np.zeros_like(right.squares)
        self.function.apply(products, *nothing)

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

    def pack(self) -> ProductKernel:
        """The same for many passes over its rows: with a copy of sparse ones that is sooner read,
        for the linear kernel."""
        if self.function.name != "linear" or not isinstance(self.products, SparseProducts):
            return self
        return ProductKernel(self.products.pack(), self.function)

    def astype(self, dtype: Any) -> ProductKernel:
        products = self.products.astype(dtype)
        return self if products is self.products else ProductKernel(products, self.function)


class PrecomputedKernel(KernelOperator):
    """A kernel given as its matrix; `samples` are the rows and columns in use (None: all)."""

    def __init__(
        self,
        matrix: Array,
        dtype: Any,
        samples: Array | None = None,
        whole: PrecomputedKernel | None = None,
    ) -> None:
        self.given = matrix
        self.samples = samples
        self.whole = whole
        self.n_samples = matrix.shape[1] if samples is None else len(samples)
        self.dtype = np.dtype(dtype)

    def _original(self, rows: Any) -> Any:
        return rows if self.samples is None else self.samples[rows]

    def diagonal(self) -> Array:
        diagonal: Array = self.given.diagonal()[self._original(slice(None))]
        return diagonal.astype(np.float64)

    def _find_largest(self) -> float:
        # It need not be positive semi-definite. Subsets ask the whole, which looks once.
        if self.whole is not None:
            return self.whole.largest()
        return max(float(self.given.max(initial=0.0)), -float(self.given.min(initial=0.0)))

    def error(self) -> float:
        return 2.0**-53 * self.largest()  # of products with z alone

    def extended_sums(self, z: Array) -> tuple[Array, float] | None:
        if self.n_samples**2 > EXTENDED_WORK:
            return None
        all_rows = np.arange(self.n_samples)
        matrix: Array = self.given[self._original(all_rows)[:, None], self._original(all_rows)]
        return matrix.astype(np.longdouble) @ z.astype(np.longdouble), 0.0

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
        return PrecomputedKernel(self.given, self.dtype, self._original(rows), self.whole or self)

    def astype(self, dtype: Any) -> PrecomputedKernel:
        return PrecomputedKernel(self.given, dtype, self.samples, self.whole or self)


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
            values = self.function.call(left, right)
        values = np.asarray(values.toarray() if sp.issparse(values) else values)
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
        if not np.abs(values).max(initial=0.0) <= LARGEST_VALUE:
            raise KernelError(
                "The callable given as kernel returned NaN, infinite values or values beyond "
                f"{LARGEST_VALUE:.0e}."
            )
        return values

    def diagonal(self) -> Array:
        chunks = [
            np.diagonal(self._call(self.X[i : i + 64], self.X[i : i + 64]))
            for i in range(0, self.n_samples, 64)
        ]
        return np.concatenate(chunks).astype(np.float64)

    def _find_largest(self) -> float:
        # It need not be positive semi-definite: some of its rows are looked at.
        some = self.X[:: max(1, self.n_samples // 64)]
        among = np.abs(self._call(some, some)).max(initial=0.0)
        return max(super()._find_largest(), float(among))

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


@compiled(EXACT)
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
