"""Nyström features: a kernel seen through a few landmarks, as a linear kernel over columns.

With landmarks l_1 … l_m, K_mm = k(l_i, l_j) = V Λ Vᵀ and

    φ(x) = Λ₊^{−1/2} V₊ᵀ (k(x, l_1), …, k(x, l_m))                    V₊, Λ₊: eigenvalues that count

the kernel K̃(x, z) = φ(x)·φ(z) is the projection of k on the span of the landmarks: it is exact
wherever x or z is a landmark, and k − K̃ is positive semi-definite if k is. A machine that is linear
in φ is an expansion in the landmarks,

    w·φ(x) = Σ_j β_j k(x, l_j)        β = V₊ Λ₊^{−1/2} w

so that predictions know nothing of features. Any turn of φ is as good: with an orthogonal Q, V₊
Λ₊^{−1/2} = T Q, and φ = Tᵀ k has a triangular T, which is half the work. Where no eigenvalue is
anywhere near the limit below which none counts, K_mm = L Lᵀ gives T = L^{−T} without them.

Eigenvalues below a share of the largest are left out: their directions are those in which landmarks
repeat each other, and dividing by them would only magnify rounding. A kernel that is not positive
semi-definite (the sigmoid) has negative ones. They are left out, too, which makes K̃ a projection on
the positive part, and `negative` says how much that was.

Rows of Φ are many. What is small is kept in float64, what fits into the memory allowed in float32,
and then taken as it is. Anything larger never exists as a whole: each pass computes a block of rows
at a time. A linear machine on any of the three is exact for the features it was given
(`FeatureRows` looks like an array to `DenseProducts`). Features of float32 are computed in float64
and rounded once, which moves one by its last digit, 6·10⁻⁸ of its size. But an error ε of each
kernel value moves φ by ‖T‖ ε (Frobenius), each of its m numbers by (tr K_mm^{−1} / m)^½ ε. Where
that magnifies little, kernel values and features are computed in float32, which takes half as long.

**What the approximation costs.** Let E = k − K̃, z the signed dual variables of the machine on K̃, P
and D its primal and dual objective. The machine lies in the space of k, where it has the same norm
and the same losses. So P bounds the optimum of the exact problem from above. Its dual variables are
feasible for the exact problem, whose dual objective at them is D − ½ zᵀEz. Hence

    D − ½ zᵀEz  ≤  optimum with the exact kernel  ≤  P

and P − D is what optimisation has left, ½ zᵀEz what the landmarks have. (Ez)_i is what the exact
kernel, with the same coefficients, would add to the decision value of row i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack, qr

from lindero.kernels.operator import (
    KernelFunction,
    KernelOperator,
    ProductKernel,
    kernel_operator,
    origin,
)
from lindero.kernels.products import COPY_LIMIT_BYTES, DenseProducts
from lindero.runtime.arrays import Array
from lindero.runtime.cached import cached_property
from lindero.runtime.threads import TileThreads

#: Eigenvalues of K_mm below this share of the largest are left out.
LEAST_EIGENVALUE = 1e-12

#: Where the eigenvalues are within this factor for certain, all count.
SOUND = 1e10

#: Single precision computes features where they magnify its rounding by no more than this.
_MOST_MAGNIFIED = 8.0

#: Features that may be computed in single precision are, from this many bytes in double on.
_SOON_SINGLE = 16 * 2**20

#: Rows with larger squares are computed in double precision.
_LARGEST_SQUARE = 1e30

#: Values computed at once: a block of some megabytes.
_BLOCK_VALUES = 2**19

#: Rows on which errors of the kernel are measured.
_CHECKED_ROWS = 256

_LINEAR = KernelFunction("linear")


class NystromMap:
    """φ for these landmarks. `negative` is the share of the eigenvalues of K_mm, by size, that are
    negative beyond rounding."""

    def __init__(self, landmarks: Any, function: KernelFunction) -> None:
        self.function = function
        self.landmarks = landmarks
        self.kernel = landmark_kernel(landmarks, function)
        everything = self.kernel.probe(np.arange(self.kernel.n_samples))
        matrix = self.kernel.cross(everything, everything)
        self.root, self.negative = _take_root(0.5 * (matrix + matrix.T))

    @property
    def n_features(self) -> int:
        return int(self.root.shape[1])

    @property
    def bears_single(self) -> bool:
        """Whether features may be computed in float32."""
        return self._single is not None

    @cached_property
    def _single(self) -> tuple[KernelOperator, Array] | None:
        """The kernel and T in float32, where that magnifies no rounding."""
        kernel = self.kernel
        if not isinstance(kernel, ProductKernel) or self.n_features < kernel.n_samples:
            return None
        largest = kernel.largest()
        magnified = np.sqrt(largest * float(np.vdot(self.root, self.root)) / self.n_features)
        single = kernel.astype(np.float32)
        if not magnified <= _MOST_MAGNIFIED or not single.rounding() <= max(1.0, largest):
            return None
        return single, self.root.astype(np.float32)

    def compute(self, X: Any, out: Array | None = None) -> Array:
        """φ of each row, in float64, or as exactly as `out` keeps it."""
        if out is None:
            out = np.empty((X.shape[0], self.n_features))
        if out.dtype == np.float32 and self._single is not None:
            kernel, root = self._single
            rows = kernel.probe_of(X)
            if rows.squares.max(initial=0.0) <= _LARGEST_SQUARE:
                kernel.block(rows, 0, kernel.n_samples, out)
                blas.strmm(1.0, root.T, out.T, lower=1, overwrite_b=1)
                return out
        square = self.n_features == self.kernel.n_samples
        in_place = square and out.dtype == np.float64
        values = out if in_place else np.empty((X.shape[0], self.kernel.n_samples))
        self.kernel.block(self.kernel.probe_of(X), 0, self.kernel.n_samples, values)
        if square:
            blas.dtrmm(1.0, self.root.T, values.T, lower=1, overwrite_b=1)
        else:
            values = values @ self.root
        if not in_place:
            out[...] = values
        return out

    def expand(self, weights: Array) -> Array:
        """Coefficients of the landmarks for weights of the features."""
        return np.asarray(weights @ self.root.T)

    def sum_kernel(self, drawn: Any, X: Any, support: Array, z: Array) -> Array:
        """Σ_j z_j k(x, x_j), of the exact kernel, for each row drawn, over rows `support` of X."""
        kernel = landmark_kernel(drawn, self.function)
        height = max(64, _BLOCK_VALUES // drawn.shape[0])
        starts = range(0, len(support), height)
        sums = np.zeros((len(starts), drawn.shape[0]))

        def add(number: int) -> None:
            part = slice(starts[number], starts[number] + height)
            values = np.empty((len(support[part]), drawn.shape[0]))
            kernel.block(kernel.probe_of(X[support[part]]), 0, drawn.shape[0], values)
            sums[number] = z[part] @ values

        with TileThreads(1 if len(starts) == 1 else None) as threads:
            threads.map(add, range(len(starts)))
        return np.asarray(sums.sum(axis=0))


def make_map(X: Any, landmarks: Any, function: KernelFunction) -> Any:
    """Features for rows; those on a device make their own."""
    make_own = getattr(X, "make_features", None)
    return NystromMap(landmarks, function) if make_own is None else make_own(landmarks, function)


def _take_root(matrix: Array) -> tuple[Array, float]:
    """T for this K_mm, zero below its diagonal where it is square, and the share of eigenvalues
    that are negative."""
    lower, failed = lapack.dpotrf(matrix, lower=1)
    if not failed:
        inverse, failed = lapack.dtrtri(lower, lower=1)
        # tr K is no less than the largest eigenvalue, tr K⁻¹ no less than 1 / the smallest.
        if not failed and np.trace(matrix) * float(np.vdot(inverse, inverse)) <= SOUND:
            return np.ascontiguousarray(inverse.T), 0.0
    values, vectors = np.linalg.eigh(matrix)
    largest = float(np.abs(values).max(initial=0.0))
    counted = values > LEAST_EIGENVALUE * largest
    # Turned so that what is below its diagonal is zero.
    turned = vectors[::-1, counted].T / np.sqrt(values[counted])[:, None]
    root = np.ascontiguousarray(qr(turned, mode="r")[0][:, ::-1][::-1].T)
    if not counted.any():  # a kernel that is zero among them: one feature that says nothing
        root = np.zeros((len(values), 1))
    below = values[values < -LEAST_EIGENVALUE * len(values) * largest]
    total = float(np.abs(values).sum())
    return root, -float(below.sum()) / total if total else 0.0


def landmark_kernel(landmarks: Any, function: KernelFunction) -> KernelOperator:
    """The kernel over landmarks, which are what other rows are compared with."""
    return kernel_operator(landmarks, function, shift=origin(landmarks, function))


class FeatureRows:
    """Rows of features as an array that is computed where it is looked at."""

    dtype = np.dtype(np.float64)

    def __init__(self, X: Any, features: NystromMap) -> None:
        self.shape = (X.shape[0], features.n_features)
        self._X = X
        self._features = features

    def __getitem__(self, rows: Any) -> Array:
        """These rows, a block at a time: kernel values take room beside them."""
        chosen = self._X[rows]
        height = block_height(self._features)
        if chosen.shape[0] <= height:
            return self._features.compute(chosen)
        starts = range(0, chosen.shape[0], height)
        return np.concatenate([self._features.compute(chosen[k : k + height]) for k in starts])


def block_height(features: NystromMap) -> int:
    """Rows whose kernel values are computed at once."""
    return max(64, _BLOCK_VALUES // max(1, features.kernel.n_samples))


def feature_kernel(X: Any, features: Any, megabytes: float) -> Any:
    """K̃ over the rows of X, whose features are kept if they take no more than this (on a device,
    where there is room)."""
    make_own = getattr(features, "make_kernel", None)
    if make_own is not None:
        return make_own(X)
    n_rows, n_features = X.shape[0], features.n_features
    size = n_rows * n_features * 4
    source: Any = FeatureRows(X, features)
    if size <= megabytes * 2**20:
        kept = np.empty((n_rows, n_features), dtype=_choose_type(2 * size, features))

        def fill(start: int) -> None:
            stop = min(start + height, n_rows)
            features.compute(X[start:stop], out=kept[start:stop])

        height = block_height(features)
        with TileThreads(1 if n_rows <= height else None) as threads:
            threads.map(fill, range(0, n_rows, height))
        source = kept
    return ProductKernel(DenseProducts(source, np.float64), _LINEAR)


def _choose_type(size: int, features: NystromMap) -> Any:
    """What these features, which take `size` bytes in float64, are kept in."""
    most = _SOON_SINGLE if features.bears_single else COPY_LIMIT_BYTES
    return np.float64 if size <= most else np.float32


def weigh_features(kernel: KernelOperator, c: Array) -> Array:
    """Σ c_i φ(x_i) over the rows of a `feature_kernel`, or of a part of it."""
    weigh_own = getattr(kernel, "weigh_rows", None)
    if weigh_own is not None:
        return np.asarray(weigh_own(c))
    assert isinstance(kernel, ProductKernel)
    products, n_rows = kernel.products, kernel.n_samples
    height = max(256, _BLOCK_VALUES // products.n_features)
    starts = range(0, n_rows, height)
    sums = np.zeros((max(1, len(starts)), products.n_features))

    def add(number: int) -> None:
        start, stop = starts[number], min(starts[number] + height, n_rows)
        products.transposed_times(c[start:stop], start, stop, sums[number])

    with TileThreads(1 if n_rows <= height else None) as threads:
        threads.map(add, range(len(starts)))
    return np.asarray(sums.sum(axis=0))


# -- what is lost ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class KernelGap:
    """How far a kernel seen through landmarks is from the kernel itself, and what that does to a
    machine. Measured on a sample of rows.

    Attributes
    ----------
    n_landmarks, rank : int
        Landmarks, and independent directions among them.
    missing : float
        The share of the trace of the kernel matrix that the features miss, ``1 − Σ‖φ(x)‖² / Σk(x,
        x)``: 0 where the kernel is exact, 1 where landmarks say nothing of the rows.
    negative : float
        The share of negative eigenvalues of the landmarks' kernel matrix, which are left out: 0 for
        a positive semi-definite kernel.
    shift : float
        What the exact kernel, with the same coefficients, would change in decision values: the
        root of the mean square. The largest of several machines.
    objective : float
        What the landmarks may have cost: the optimum of the exact problem is above the dual
        objective less this. The sum of several machines, as objectives are.
    objective_error : float
        Standard error of `objective`, of which a sample tells.
    """

    n_landmarks: int
    rank: int
    missing: float
    negative: float
    shift: float
    objective: float
    objective_error: float

    def describe(self, duality_gap: float) -> list[str]:
        """Lines for people, who want to know which of the two gaps limits."""
        within = self.objective <= 2.0 * self.objective_error
        about = "within" if within else "about"
        size = 2.0 * self.objective_error if within else self.objective
        limits = "landmarks" if size > max(0.0, duality_gap) else "optimisation"
        return [
            f"landmarks    {self.n_landmarks} of rank {self.rank}, "
            f"{100 * self.missing:.2g} % of the kernel's trace missing",
            f"kernel gap   {about} {size:.3g}; the exact kernel would move decision values by "
            f"{self.shift:.2g}",
            f"what limits  {limits}",
        ]


class ErrorSample:
    """Rows drawn to measure the error of a kernel on, for one machine after the other."""

    def __init__(
        self, X: Any, features: Any, random: np.random.Generator, known: Any = None
    ) -> None:
        """`known` are the features of all rows, where they are at hand."""
        self._X = X
        self._features = features
        self._random = random
        self._known = known

    def _see(self, rows: Array) -> Array:
        """φ of these rows."""
        if self._known is None:
            return np.asarray(self._features.compute(self._X[rows]))
        return np.asarray(self._known[rows], dtype=np.float64)

    @cached_property
    def missing(self) -> float:
        """The share of the trace that is missing."""
        n_rows = self._X.shape[0]
        rows = self._random.choice(n_rows, min(n_rows, 4 * _CHECKED_ROWS), replace=False)
        own = kernel_operator(self._X[rows], self._features.function).diagonal()
        found = self._see(rows)
        whole = float(own.sum())
        lost = whole - float(np.einsum("ij,ij->", found, found))
        return max(0.0, lost / whole) if whole > 0 else 0.0

    def measure(self, rows: Array, z: Array, weights: Array) -> tuple[float, float, float]:
        """Of the machine with dual variables z of these rows and weights w of the features: the
        root of the mean square of Ez, an estimate of ½ zᵀEz, and its standard error. Rows of the
        second are drawn by |z_i|, since it is ½ Σ|z| times the mean of sign(z_i) (Ez)_i over them.
        """
        support, size = np.flatnonzero(z), np.abs(z)
        if len(support) == 0:
            return 0.0, 0.0, 0.0
        any_row = self._random.choice(rows, _CHECKED_ROWS)
        total = float(size.sum())
        places = self._random.choice(len(z), _CHECKED_ROWS, p=size / total)
        drawn = np.concatenate([any_row, rows[places]])
        shifts = self._features.sum_kernel(self._X[drawn], self._X, rows[support], z[support])
        shifts -= self._see(drawn) @ weights
        of_any, of_support = np.split(shifts, 2)
        signed = 0.5 * total * np.sign(z[places]) * of_support
        spread = float(signed.std(ddof=1)) / np.sqrt(len(signed))
        return float(np.sqrt((of_any**2).mean())), max(0.0, float(signed.mean())), spread


def join_gaps(features: Any, missing: float, parts: list[tuple[float, float, float]]) -> KernelGap:
    """One report of several machines."""
    shifts, objectives, errors = zip(*parts, strict=True)
    return KernelGap(
        n_landmarks=features.kernel.n_samples,
        rank=features.n_features,
        missing=missing,
        negative=features.negative,
        shift=max(shifts),
        objective=sum(objectives),
        objective_error=float(np.sqrt(sum(error**2 for error in errors))),
    )
