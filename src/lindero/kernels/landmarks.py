"""Which rows to see a kernel through: at random, by k-means++, or by ridge leverage scores.

What landmarks l_1 … l_m miss of a row is its distance, in the space of the kernel, from their span.
Two ways to keep it small for all rows look at candidates, a random part of them:

**k-means++** (Arthur and Vassilvitskii 2007) draws one landmark after the other with probability
proportional to the squared distance from those drawn, d²(x) = min_j k(x, x) − 2 k(x, l_j) + k(l_j,
l_j). Several are drawn by the same distances at a time, and each is kept with the probability d²(x)
over what d²(x) was before those kept of them: as if it had been drawn after these. Over dense
columns a few of Lloyd's steps follow, for kernels that fall with the distance: they move each
landmark to the mean of the rows nearest to it, and no kernel asks that landmarks be rows (Zhang,
Tsang and Kwok 2008).

**Ridge leverage scores** ℓ_i(λ) = (K (K + λI)^{−1})_ii say how much of row i the others leave
unexplained (Musco and Musco 2017). With features b_i of the candidates from landmarks at random,
and K ≈ BBᵀ + diag(k_ii − ‖b_i‖²),

    ℓ_i(λ) ≈ (k_ii − ‖b_i‖²)/λ + b_iᵀ (BᵀB + λI)^{−1} b_i,  at most 1

and λ is such that they sum to m. Rows are drawn by their scores, none twice.

On what data k-means++ and the scores miss less than rows at random, and what that is worth, is
measured in ``docs/scaling.md``. Weights count rows here as everywhere.
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

LLOYD_STEPS = 5

#: Rows drawn by the same distances, at the most.
DRAWN_AT_ONCE = 32

#: Numbers whose squares can be summed in single precision.
_LEAST_SINGLE, _MOST_SINGLE = 1e-12, 1e12

#: Halvings of the interval in which λ lies.
HALVINGS = 60


def choose_landmarks(
    X: Any,
    weights: Array,
    function: KernelFunction,
    n: int,
    method: str,
    random: np.random.Generator,
) -> Any:
    """`n` landmarks of the rows of positive weight, or near them; all that differ where there are
    no more. A row of weight two is drawn as two rows are. Rows on a device choose their own."""
    choose_own = getattr(X, "choose_landmarks", None)
    if choose_own is not None:
        return choose_own(weights, function, n, method, random)
    candidates, weights = _take_candidates(X, weights, n, random)
    n_candidates = candidates.shape[0]
    if n >= n_candidates:
        return candidates
    if method == "random":
        return candidates[draw_by(weights, n, random)]
    if method == "leverage":
        scores = leverage_scores(candidates, weights, function, n, random)
        return candidates[draw_by(scores, n, random)]
    chosen = draw_apart(candidates, weights, function, n, random)
    if function.name != "rbf" or sp.issparse(X):
        return candidates[chosen]
    return move_to_means(np.asarray(candidates, dtype=np.float64), weights, chosen)


def count_candidates(n: int) -> int:
    """Rows among which `n` landmarks are looked for."""
    return max(_LEAST_CANDIDATES, _PER_LANDMARK * n)


def _take_candidates(
    X: Any, weights: Array, n: int, random: np.random.Generator
) -> tuple[Any, Array]:
    """A random part of many rows, drawn by weight; of few rows all that differ, in an order that
    does not depend on theirs, with the weights of their copies summed."""
    rows = np.flatnonzero(weights > 0)
    most = count_candidates(n)
    if len(rows) > most:
        kept = rows[draw_by(weights[rows], most, random)]
        return X[kept], np.ones(most)
    if X.ndim != 2:  # objects, of which nobody knows whether they are the same
        return X[rows], weights[rows]
    keys: dict[bytes, int] = {}
    group = np.empty(len(rows), dtype=np.intp)
    for place, row in enumerate(rows.tolist()):
        group[place] = keys.setdefault(_make_key(X, row), len(keys))
    first = rows[np.unique(group, return_index=True)[1]]
    order = np.array([number for _, number in sorted(keys.items())], dtype=np.intp)
    return X[first[order]], np.bincount(group, weights=weights[rows])[order]


def _make_key(X: Any, row: int) -> bytes:
    """What rows of the same numbers have in common."""
    if not sp.issparse(X):
        return (np.asarray(X[row], dtype=np.float64) + 0.0).tobytes()  # −0 is 0
    entries = slice(X.indptr[row], X.indptr[row + 1])
    held = X.data[entries] != 0
    columns = X.indices[entries][held].astype(np.int64)
    return bytes(columns.tobytes() + X.data[entries][held].astype(np.float64).tobytes())


def draw_apart(
    X: Any, weights: Array, function: KernelFunction, n: int, random: np.random.Generator
) -> Array:
    """Numbers of `n` rows, each drawn by its squared distance from those before, and its weight."""
    kernel = kernel_operator(X, function)
    own, everything = kernel.diagonal(), kernel.probe(np.arange(kernel.n_samples))
    chosen: list[int] = []
    distances = np.ones(len(own))
    left, most = weights / weights.max(), 1
    while len(chosen) < n:
        chances, size = left * distances, min(most, n - len(chosen))
        if not chances.sum() > 0.0:  # those left are the same to the kernel
            chances, size = left, 1
        shares = np.cumsum(chances)
        drawn = np.searchsorted(shares, random.random(size) * shares[-1], side="right")
        drawn = np.minimum(drawn, np.flatnonzero(chances)[-1])  # rounding may be beyond the last
        drawn = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
        among = kernel.probe(drawn)
        apart = own[drawn][:, None] - 2.0 * kernel.cross(among, among) + own[drawn]
        kept = keep_apart(apart, distances[drawn] * random.random(len(drawn)))
        drawn = drawn[kept]
        values = kernel.cross(kernel.probe(drawn), everything)
        values *= -2.0
        values += own[drawn][:, None]
        nearest = np.maximum(0.0, values.min(axis=0) + own)
        distances = np.minimum(distances, nearest) if chosen else nearest
        left[drawn] = 0.0
        chosen += drawn.tolist()
        most = min(2 * most, DRAWN_AT_ONCE) if 2 * len(kept) > size else max(1, most // 2)
    return np.array(chosen, dtype=np.intp)


def keep_apart(apart: Array, least: Array) -> list[int]:
    """The first, and those after it whose squared distance from all that are kept is above these
    numbers."""
    kept = [0]
    for k in range(1, len(least)):
        if apart[k, kept].min() > least[k]:
            kept.append(k)
    return kept


def move_to_means(X: Array, weights: Array, chosen: Array) -> Array:
    """Lloyd's steps from these rows. A landmark that no row is nearest to stays."""
    X = X - (origin := X.mean(axis=0))
    centres = X[chosen]
    # Which one is nearest can be seen in few digits.
    largest = float(np.abs(X).max(initial=0.0))
    dtype = np.float32 if _LEAST_SINGLE <= largest <= _MOST_SINGLE else np.float64
    doubled = np.asarray(2.0 * X, dtype=dtype)
    distances = np.empty((len(X), len(centres)), dtype=dtype)  # less ‖x‖², the same for all
    for _ in range(LLOYD_STEPS):
        np.matmul(doubled, centres.T.astype(dtype), out=distances)
        squares = np.einsum("ij,ij->i", centres, centres).astype(dtype)
        np.subtract(squares, distances, out=distances)
        nearest = np.argmin(distances, axis=1)
        sizes = np.bincount(nearest, weights=weights, minlength=len(centres))
        members = sp.csr_array(
            (weights, nearest, np.arange(len(X) + 1)), shape=(len(X), len(centres))
        )
        held = sizes > 0
        centres[held] = (members.T @ X)[held] / sizes[held, None]
    return np.asarray(centres + origin)


def leverage_scores(
    X: Any, weights: Array, function: KernelFunction, n: int, random: np.random.Generator
) -> Array:
    """Ridge leverage scores that sum to `n`, from features of as many landmarks at random."""
    features = NystromMap(X[draw_by(weights, n, random)], function)
    roots = np.sqrt(weights / weights.max())
    B = features.compute(X) * roots[:, None]
    own = kernel_operator(X, function).diagonal() * roots**2
    rest = np.maximum(0.0, own - np.einsum("ij,ij->i", B, B))
    values, vectors = np.linalg.eigh(B.T @ B)
    turned = (B @ vectors) ** 2
    values = np.maximum(values, 0.0)

    def scores_at(ridge: float) -> Array:
        return np.asarray(np.minimum(1.0, rest / ridge + turned @ (1.0 / (values + ridge))))

    low, high = 1e-14, 1.0
    size = max(float(own.max(initial=0.0)) * len(own), 1e-300)
    for _ in range(HALVINGS):  # of the logarithm
        middle = np.sqrt(low * high)
        low, high = (middle, high) if scores_at(size * middle).sum() > n else (low, middle)
    return scores_at(size * high)


def draw_by(scores: Array, n: int, random: np.random.Generator) -> Array:
    """Numbers of `n` rows, drawn by score, none twice."""
    keys = random.exponential(size=len(scores)) / np.maximum(scores, 1e-300)
    return np.sort(np.argpartition(keys, n - 1)[:n])
