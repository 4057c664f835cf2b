"""Explicit features of a kernel for streams: a curved boundary as a hyperplane among more columns.

**Random Fourier features** (Rahimi and Recht 2007) of the Gaussian kernel exp(−γ‖x − z‖²) are, with
frequencies drawn once from N(0, 2γ I),

    φ(x) = √(2/R) (cos f_1·x, …, cos f_{R/2}·x, sin f_1·x, …, sin f_{R/2}·x),

whose products φ(x)·φ(z) are the kernel but for an error of order 1/√R. Without a γ that somebody
chose, a third of the frequencies each is for ¼/d, 1/d and 4/d, on columns of scale 1: one width too
coarse or too fine is then not the only one. They need no data and never have to be refreshed, since
the columns they are computed from are kept on one scale.

**Nyström features** (Williams and Seeger 2001) of any other kernel, from R rows of the stream as
landmarks l_j:

    φ(x) = K^{−1/2} (k(x, l_1), …, k(x, l_R)),   K the kernel matrix of the landmarks,

are exact at the landmarks, and say by the share of k(x, x) that they miss, 1 − ‖φ(x)‖²/k(x, x),
how far a row is from them. When rows of the stream have moved away, landmarks are drawn anew.

Both are scaled to ‖φ(x)‖² ≈ d, the size of the columns themselves, beside which they stand.
"""

from __future__ import annotations

from math import cos, sin, sqrt, tanh
from typing import NamedTuple

import numpy as np

from lindero.runtime.arrays import Array
from lindero.runtime.compilation import FAST, compiled

#: Kinds of features, as compiled loops know them.
NONE, FOURIER, POLYNOMIAL, SIGMOID = range(4)

#: Widths that random frequencies are drawn for, as factors of γ, where no γ is given.
_WIDTHS = (0.25, 1.0, 4.0)

#: Features are cut off here, and values of kernels: a row far from all landmarks is no more.
_MOST_FEATURE, _MOST_VALUE = 1e6, 1e100

#: Least eigenvalue of the landmarks' kernel matrix that counts, relative to the largest.
_LEAST = 1e-8


class KernelFeatures(NamedTuple):
    """Features as compiled loops take them.

    `kind` is an array of one number. `points` (columns, R/2) are frequencies, or (R, columns)
    landmarks, whose kernel matrix has the inverse root `root` (R, R). `numbers` are the scale of
    the features, γ, the constant and the degree of the kernel.
    """

    kind: Array
    points: Array
    root: Array
    numbers: Array

    @property
    def n_features(self) -> int:
        if self.kind[0] == FOURIER:
            return 2 * int(self.points.shape[1])
        return int(self.root.shape[0])

    @property
    def landmarks(self) -> Array:
        """The landmarks; none of random frequencies."""
        if self.kind[0] <= FOURIER:
            return np.empty((0, len(self.points)))
        return self.points

    def compute(self, row: Array) -> Array:
        """The features of a row."""
        found, products = np.empty(self.n_features), np.empty(self.n_features)
        compute_features(row, self, found, products)
        return found

    def copy(self) -> KernelFeatures:
        return KernelFeatures(*(array.copy() for array in self))


def leave_out_features(n_columns: int) -> KernelFeatures:
    """No features."""
    return KernelFeatures(np.array([NONE]), np.empty((n_columns, 0)), np.empty((0, 0)), np.zeros(4))


def draw_frequencies(
    n_columns: int, n_features: int, gamma: float | None, random: np.random.Generator
) -> KernelFeatures:
    """Random Fourier features, an even number of them."""
    n_points = max(1, n_features // 2)
    gammas = np.full(n_points, 1.0 / n_columns if gamma is None else gamma)
    if gamma is None:
        gammas *= np.resize(_WIDTHS, n_points)
    points = random.standard_normal((n_columns, n_points)) * np.sqrt(2.0 * gammas)
    scale = sqrt(n_columns / n_points)
    numbers = np.array([scale, 0.0 if gamma is None else gamma, 0.0, 0.0])
    return KernelFeatures(np.array([FOURIER]), points, np.empty((0, 0)), numbers)


def take_landmarks(
    kind: int, landmarks: Array, gamma: float, coef0: float, degree: float
) -> KernelFeatures:
    """Nyström features from these rows."""
    inner = gamma * (landmarks @ landmarks.T) + coef0
    with np.errstate(over="ignore", invalid="ignore"):
        K = inner**degree if kind == POLYNOMIAL else np.tanh(inner)
    if not np.abs(K).max() < _MOST_VALUE:
        raise ValueError(
            f"The kernel with gamma={gamma:g}, coef0={coef0:g} and degree={degree:g} has values "
            f"beyond {_MOST_VALUE:g}: choose smaller ones."
        )
    values, vectors = np.linalg.eigh(K)
    use = values > _LEAST * max(values[-1], 1e-300)
    scaled = np.where(use, 1.0 / np.sqrt(np.where(use, values, 1.0)), 0.0)
    root = (vectors * scaled) @ vectors.T
    typical = float(np.mean(np.maximum(np.diag(K), 1e-300)))
    scale = sqrt(landmarks.shape[1] / typical)
    numbers = np.array([scale, gamma, coef0, float(degree)])
    return KernelFeatures(np.array([kind]), landmarks.copy(), root, numbers)


@compiled(FAST)
def compute_features(row, features, found, products):  # type: ignore[no-untyped-def]
    """The features of a row, into `found`; `products` has room for as many numbers."""
    kind, scale, points = features.kind[0], features.numbers[0], features.points
    if kind == FOURIER:
        n_points = points.shape[1]
        for k in range(n_points):
            angle = 0.0
            for j in range(row.size):
                angle += row[j] * points[j, k]
            found[k] = scale * cos(angle)
            found[n_points + k] = scale * sin(angle)
        return
    root, numbers = features.root, features.numbers
    gamma, coef0, degree = numbers[1], numbers[2], numbers[3]
    n_points = points.shape[0]
    for k in range(n_points):
        inner = 0.0
        for j in range(row.size):
            inner += row[j] * points[k, j]
        inner = gamma * inner + coef0
        value = inner**degree if kind == POLYNOMIAL else tanh(inner)
        products[k] = min(max(value, -_MOST_VALUE), _MOST_VALUE)
    for i in range(n_points):
        total = 0.0
        for k in range(n_points):
            total += root[i, k] * products[k]
        found[i] = min(max(scale * total, -_MOST_FEATURE), _MOST_FEATURE)


@compiled(FAST)
def measure_missing(row, features, found):  # type: ignore[no-untyped-def]
    """The share of k(x, x) that Nyström features miss of a row whose features are `found`."""
    if features.kind[0] <= FOURIER:
        return 0.0
    inner = 0.0
    for j in range(row.size):
        inner += row[j] * row[j]
    inner = features.numbers[1] * inner + features.numbers[2]
    own = inner ** features.numbers[3] if features.kind[0] == POLYNOMIAL else tanh(inner)
    held = 0.0
    for i in range(found.size):
        held += found[i] * found[i]
    scale = features.numbers[0]
    if own <= 0.0:
        return 0.0
    return min(max(1.0 - held / (scale * scale * own), 0.0), 1.0)
