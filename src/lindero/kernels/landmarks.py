"""Which rows to see a kernel through: at random, by k-means++, or by ridge leverage scores.

What landmarks l_1 … l_m miss of a row is its distance, in the space of the kernel, from their span.
Two ways to keep it small for all rows look at candidates, a random part of them:

**k-means++** (Arthur and Vassilvitskii 2007) draws one landmark after the other with probability
proportional to the squared distance from those drawn, d²(x) = min_j k(x, x) − 2 k(x, l_j) + k(l_j,
l_j). Over dense columns a few of Lloyd's steps follow, for kernels that fall with the distance:
they move each landmark to the mean of the rows nearest to it, and no kernel asks that landmarks be
rows (Zhang, Tsang and Kwok 2008).

**Ridge leverage scores** ℓ_i(λ) = (K (K + λI)^{−1})_ii say how much of row i the others leave
unexplained (Musco and Musco 2017). With features b_i of the candidates from landmarks at random, and
K ≈ BBᵀ + diag(k_ii − ‖b_i‖²),

    ℓ_i(λ) ≈ (k_ii − ‖b_i‖²)/λ + b_iᵀ (BᵀB + λI)^{−1} b_i,  at most 1

and λ is such that they sum to m. Rows are drawn by their scores, none twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.kernels.nystrom import NystromMap
from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.runtime.arrays import Array

LANDMARKS = ("kmeans++", "leverage", "random")

#: Candidates for each landmark, and the fewest in all.
_PER_LANDMARK, _LEAST_CANDIDATES = 10, 2_000

_LLOYD_STEPS = 5

#: Halvings of the interval in which λ lies.
_HALVINGS = 60


def choose_landmarks(
    X: Any, rows: Array, function: KernelFunction, n: int, method: str, random: np.random.Generator
) -> Any:
    """`n` landmarks, or all rows where there are no more: of these rows of X, or near them."""
    if n >= len(rows):
        return X[rows]
    if method == "random":
        return X[np.sort(random.choice(rows, n, replace=False))]
    n_candidates = min(len(rows), max(_LEAST_CANDIDATES, _PER_LANDMARK * n))
    candidates = X[np.sort(random.choice(rows, n_candidates, replace=False))]
    if method == "leverage":
        scores = leverage_scores(candidates, function, n, random)
        return candidates[_draw_by(scores, n, random)]
    chosen = draw_apart(candidates, function, n, random)
    if function.name != "rbf" or sp.issparse(X):
        return candidates[chosen]
    return move_to_means(np.asarray(candidates, dtype=np.float64), chosen)


def draw_apart(X: Any, function: KernelFunction, n: int, random: np.random.Generator) -> Array:
    """Numbers of `n` rows, each drawn by its squared distance from those before."""
    kernel = kernel_operator(X, function)
    own, everything = kernel.diagonal(), kernel.probe(np.arange(kernel.n_samples))
    chosen = np.empty(n, dtype=np.intp)
    distances = np.full(len(own), np.inf)
    free = np.ones(len(own), dtype=bool)
    for k in range(n):
        weights = np.where(free, distances if k else 1.0, 0.0)
        total = weights.sum()
        if not total > 0.0:  # those left are copies of others
            weights, total = free.astype(np.float64), float(free.sum())
        chosen[k] = random.choice(len(own), p=weights / total)
        free[chosen[k]] = False
        values = kernel.cross(kernel.probe(chosen[k : k + 1]), everything)[0]
        apart = np.maximum(0.0, own - 2.0 * values + own[chosen[k]])
        np.minimum(distances, apart, out=distances)
    return chosen


def move_to_means(X: Array, chosen: Array) -> Array:
    """Lloyd's steps from these rows. A landmark that no row is nearest to stays."""
    centres = X[chosen]
    for _ in range(_LLOYD_STEPS):
        products = X @ centres.T
        nearest = np.argmin(np.einsum("ij,ij->i", centres, centres) - 2.0 * products, axis=1)
        counts = np.bincount(nearest, minlength=len(centres))
        members = sp.csr_array(
            (np.ones(len(X)), nearest, np.arange(len(X) + 1)), shape=(len(X), len(centres))
        )
        sums = members.T @ X
        held = counts > 0
        centres[held] = sums[held] / counts[held, None]
    return centres


def leverage_scores(X: Any, function: KernelFunction, n: int, random: np.random.Generator) -> Array:
    """Ridge leverage scores that sum to `n`, from features of as many landmarks at random."""
    some = X[np.sort(random.choice(X.shape[0], n, replace=False))]
    features = NystromMap(some, function)
    B = features.compute(X)
    own = kernel_operator(X, function).diagonal()
    rest = np.maximum(0.0, own - np.einsum("ij,ij->i", B, B))
    values, vectors = np.linalg.eigh(B.T @ B)
    turned = (B @ vectors) ** 2
    values = np.maximum(values, 0.0)

    def scores_at(ridge: float) -> Array:
        return np.asarray(np.minimum(1.0, rest / ridge + turned @ (1.0 / (values + ridge))))

    low, high = 1e-14, 1.0
    size = max(float(own.max(initial=0.0)) * len(own), 1e-300)
    for _ in range(_HALVINGS):  # of the logarithm
        middle = np.sqrt(low * high)
        low, high = (middle, high) if scores_at(size * middle).sum() > n else (low, middle)
    return scores_at(size * high)


def _draw_by(scores: Array, n: int, random: np.random.Generator) -> Array:
    """Numbers of `n` rows, drawn by score, none twice."""
    keys = random.exponential(size=len(scores)) / np.maximum(scores, 1e-300)
    return np.sort(np.argpartition(keys, n - 1)[:n])
