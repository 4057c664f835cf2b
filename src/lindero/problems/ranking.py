"""Ranking: documents of one query in the order of their relevance.

    min ½‖w‖² + C Σ max(0, 1 − (f(x_i) − f(x_j)))     over pairs i, j of one query with y_i > y_j

with f(x) = ⟨w, φ(x)⟩; a constant would cancel. One multiplier 0 ≤ a_ij ≤ C a pair gives the dual

    max Σ a_ij − ½‖w‖²,    w = Σ a_ij (φ(x_i) − φ(x_j)) = Σ c_i φ(x_i),   c_i = Σ_j a_ij − Σ_j a_ji

Over any kernel (`pair_problem`) this is a `DualQP` with p = −1, s = +1 and u = C over the kernel of
pairs, but for the equality sᵀa = 0, which is not asked for here. Two more variables of u = ∞ and
p = 0, with signs +1 and −1 and a kernel row of zeros, meet it whatever the others do. As they are
never at their upper bounds, the conditions of an optimum hold the bias at 0, where it must be.

Over sparse rows of very many columns the differences of pairs are rows themselves, and the problem
is that of a linear machine of one class without a bias (`difference_problem`).

Over a linear kernel otherwise (`LinearRanking`) nothing is done pair by pair. The multipliers are
a function of the scores t = Xw, C times the ramp of `pair_sums`, so that c, Σ a and Σ max(0, …) all
take n log n; with v = Xᵀc the two sides of the duality gap are

    primal  ½‖w‖² + C Σ max(0, 1 − t_i + t_j)         dual  Σ a_ij − ½‖v‖²
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.kernels.blocks import kernel_product
from lindero.kernels.operator import KernelFunction, KernelOperator, kernel_operator
from lindero.kernels.products import DenseProducts, SparseProducts
from lindero.kernels.special import PairKernel
from lindero.problems.dual_qp import DualQP, Judgement
from lindero.problems.pair_sums import pair_hinge, pair_multipliers, sort_queries
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads

#: Rounding of one operation, with room for a few; and errors, in proportion to the costs of all
#: pairs, that are not worth extended precision.
_UNIT, _GOOD_SHARE = 4.0 * 2.0**-53, 1e-9

#: Queries are shared between threads in at most this many parts, each of at least so many rows.
_MOST_PARTS = 16
_LEAST_ROWS = 2_000


@dataclass(frozen=True)
class Queries:
    """Who is to be ranked above whom. Documents starts[q] ≤ i < starts[q + 1] belong to query q,
    and level[i] counts the different relevances below that of i in its query, of which there are
    n_levels[q]."""

    starts: Array
    level: Array
    n_levels: Array

    @classmethod
    def of(cls, y: Array, starts: Array) -> Queries:
        """Queries of documents of relevance y; the order of y is all that counts."""
        starts = np.asarray(starts, dtype=np.int64)
        query = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        order = np.lexsort((y, query))
        step = np.zeros(len(y), dtype=np.int64)
        step[1:] = (y[order][1:] != y[order][:-1]) & (query[1:] == query[:-1])
        climbed = np.cumsum(step)
        level = np.empty(len(y), dtype=np.int64)
        level[order] = climbed - climbed[starts[:-1]][query]
        n_levels = 1 + np.maximum.reduceat(level, starts[:-1])
        return cls(starts, level, n_levels)

    @property
    def n_documents(self) -> int:
        return len(self.level)

    @property
    def n_pairs(self) -> int:
        """Number of pairs of different relevance in one query."""
        sizes = np.diff(self.starts)
        group = np.repeat(np.cumsum(self.n_levels) - self.n_levels, sizes) + self.level
        alike = np.bincount(group)
        return int((sizes @ sizes - alike @ alike) // 2)

    def pairs(self) -> tuple[Array, Array]:
        """The more and the less relevant document of each pair, query by query."""
        left, right = [], []
        for begin, end in zip(self.starts[:-1], self.starts[1:], strict=True):
            level = self.level[begin:end]
            more, less = np.nonzero(level[:, None] > level)
            left.append(begin + more)
            right.append(begin + less)
        return np.concatenate(left), np.concatenate(right)

    def parts(self) -> list[tuple[int, int]]:
        """First and last query of parts of about as many documents each."""
        rows = max(_LEAST_ROWS, -(-self.n_documents // _MOST_PARTS))
        ends = np.unique(
            np.searchsorted(self.starts, np.arange(rows, self.n_documents + rows, rows))
        )
        ends = np.minimum(ends, len(self.starts) - 1)
        return [(int(a), int(b)) for a, b in zip([0, *ends[:-1]], ends, strict=True) if a < b]


def pair_problem(kernel: KernelOperator, queries: Queries, C: float) -> DualQP:
    """State the problem over any kernel; its last two variables are the ones that balance."""
    left, right = queries.pairs()
    balance = np.zeros(2, dtype=left.dtype)
    over = PairKernel(kernel, np.append(left, balance), np.append(right, balance))
    n = len(left)
    return DualQP(
        kernel=over,
        p=np.append(-np.ones(n), [0.0, 0.0]),
        s=np.append(np.ones(n), [1.0, -1.0]),
        u=np.append(np.full(n, float(C)), [np.inf, np.inf]),
    )


def difference_problem(X: Any, queries: Queries, C: float) -> DualQP:
    """State the problem over the differences of pairs of sparse rows, which are listed."""
    left, right = queries.pairs()
    n = len(left)
    differences = sp.csr_array(X[left] - X[right])
    kernel = kernel_operator(differences, KernelFunction("linear"))
    return DualQP(kernel, -np.ones(n), np.ones(n), np.full(n, float(C)), has_bias=False)


def document_coefficients(queries: Queries, a: Array) -> Array:
    """c of each document, from the multipliers of pairs."""
    left, right = queries.pairs()
    n = queries.n_documents
    won = np.bincount(left, weights=a, minlength=n)
    lost = np.bincount(right, weights=a, minlength=n)
    net = won - lost
    # Where i wins as much as it loses the difference is rounding.
    net[np.abs(net) <= 1e-14 * (won + lost)] = 0.0
    return np.asarray(net)


@dataclass(frozen=True)
class RankingPoint:
    """Weights, and all that the problem says of them at one width of the ramp. `v` are the weights
    that the multipliers stand for, `primal` belongs to w, `dual` to them."""

    w: Array
    t: Array
    v: Array
    width: float
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    @property
    def unsettled(self) -> float:
        """The part of the gap that is left to do at this width."""
        return 0.5 * float(np.sum((self.w - self.v) ** 2))


class LinearRanking:
    """The problem over rows of features, dense of any dtype or CSR, worked on by `threads`. Dense
    rows may be moved by `shift`: their differences, which is all that counts, stay."""

    def __init__(
        self, X: Any, queries: Queries, C: float, threads: TileThreads, shift: Array | None = None
    ) -> None:
        self.X = X
        self.queries = queries
        self.C = C
        self.threads = threads
        self.shift = shift
        self.products: DenseProducts | SparseProducts
        if sp.issparse(X):
            self.products = SparseProducts(X, np.float64)
        else:
            self.products = DenseProducts(X, np.float64, shift)
        self.parts = queries.parts()
        self._last_order = np.arange(queries.n_documents)
        self._levels = (queries.starts, queries.level, queries.n_levels)

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    def rows(self, part: tuple[int, int]) -> tuple[int, int]:
        """The documents of a part."""
        return int(self.queries.starts[part[0]]), int(self.queries.starts[part[1]])

    def table(self, start: int, stop: int) -> Array:
        """Rows of features as a dense float64 array; the user's own where it is one."""
        rows = self.X[start:stop]
        if sp.issparse(rows):
            rows = rows.toarray()
        if self.shift is not None:
            rows = rows - self.shift
        return np.ascontiguousarray(rows, dtype=np.float64)

    def scores(self, w: Array) -> Array:
        """t = X w."""
        t = np.empty(self.queries.n_documents)

        def work(part: tuple[int, int]) -> None:
            start, stop = self.rows(part)
            self.products.times(w, start, stop, t[start:stop])

        self.threads.map(work, self.parts)
        return t

    def weights(self, c: Array) -> Array:
        """Xᵀ c."""
        sums = np.empty((len(self.parts), self.n_features))

        def work(number: int) -> None:
            start, stop = self.rows(self.parts[number])
            self.products.transposed_times(c[start:stop], start, stop, sums[number])

        self.threads.map(work, range(len(self.parts)))
        return np.asarray(sums.sum(axis=0))

    def sort(self, t: Array) -> Array:
        """The documents of each query by ascending score."""
        order = self._last_order.copy()  # most often nearly right
        starts = self.queries.starts
        self.threads.map(lambda part: sort_queries(t, starts, *part, order), self.parts)
        self._last_order = order
        return order

    def multipliers(self, t: Array, order: Array, width: float) -> tuple[Array, float]:
        """c / C of each document and Σ a / C, of the ramp of `width`."""
        net, rest = np.empty(len(t)), (*self._levels, width)
        total = self._sum(lambda part: pair_multipliers(t, order, *rest, *part, net))
        return net, total

    def hinge(self, t: Array, order: Array) -> float:
        """Σ max(0, 1 − t_i + t_j)."""
        return self._sum(lambda part: pair_hinge(t, order, *self._levels, *part))

    def _sum(self, work: Callable[[tuple[int, int]], float]) -> float:
        """Σ work(part), added up in the order of the parts."""
        sums = np.empty(len(self.parts))

        def store(number: int) -> None:
            sums[number] = work(self.parts[number])

        self.threads.map(store, range(len(self.parts)))
        return float(sums.sum())

    def point(self, w: Array, t: Array, width: float) -> RankingPoint:
        """Judge the weights w, of scores t = Xw; where those overflow, as worth nothing."""
        if not np.isfinite(t).all():
            return RankingPoint(w, t, w, width, np.inf, -np.inf)
        order = self.sort(t)
        net, total = self.multipliers(t, order, width)
        v = self.C * self.weights(net)
        primal = 0.5 * float(w @ w) + self.C * self.hinge(t, order)
        return RankingPoint(w, t, v, width, primal, self.C * total - 0.5 * float(v @ v))

    def certify(self, point: RankingPoint, c: Array, dual: float) -> Judgement:
        """Judge the weights of a point from scratch, beside the dual objective `dual` that was
        found on the way; c are multipliers of documents. Scores are computed anew, and `accuracy`
        says what rounding may have done to both objectives."""
        t = self.scores(point.w)
        found = self.point(point.w, t, point.width)
        accuracy = self._find_accuracy(point.w, found.v, c, found.primal)
        return Judgement(self.kkt_gap(found), found.primal, dual, 0.0, accuracy)

    def certify_pairs(self, w: Array, a: Array, kkt_gap: float) -> Judgement:
        """Judge the multipliers `a` of all pairs, and w = Σ a (x_i − x_j), their weights."""
        t, square = self.scores(w), float(w @ w)
        primal = 0.5 * square + self.C * self.hinge(t, self.sort(t))
        c = document_coefficients(self.queries, a)
        accuracy = self._find_accuracy(w, w, c, primal)
        return Judgement(kkt_gap, primal, float(a.sum()) - 0.5 * square, 0.0, accuracy)

    def _find_accuracy(self, w: Array, v: Array, c: Array, primal: float) -> float:
        """What rounding may have done to both objectives, those of w and of v = Xᵀc."""
        ends = self._find_ends()
        d, n = self.X.shape[1], len(c)
        lost = _UNIT * np.sqrt(d) * float(ends @ np.abs(w))
        moved = _UNIT * np.sqrt(n) * ends * float(np.abs(c).sum())
        sums = self.C * self.queries.n_pairs * (2.0 * lost + _UNIT)
        return float(sums + np.abs(v) @ moved + _UNIT * abs(primal))

    def _find_ends(self) -> Array:
        """The largest absolute value of each feature, from the origin of the rows."""
        if sp.issparse(self.X):
            return np.asarray(abs(self.X).max(axis=0).toarray(), dtype=np.float64).ravel()
        high, low = (
            np.asarray(end, np.float64) for end in (self.X.max(axis=0), self.X.min(axis=0))
        )
        shift = 0.0 if self.shift is None else self.shift
        return np.maximum(high - shift, shift - low)

    def kkt_gap(self, point: RankingPoint) -> float:
        """No less than the gap in the conditions of an optimum of the pairs' multipliers. They are
        exact for the scores Xw and a margin blurred by half a width to either side; the scores Xv
        that the multipliers stand for differ from Xw by what the weights differ."""
        e = self.scores(point.v - point.w)
        first = self.queries.starts[:-1]
        spread = float(np.max(np.maximum.reduceat(e, first) - np.minimum.reduceat(e, first)))
        return point.width + 2.0 * spread


def certify_documents(
    kernel: KernelOperator, queries: Queries, C: float, c: Array, total: float, kkt_gap: float
) -> Judgement:
    """Judge coefficients c of documents from scratch, `total` being the sum of their multipliers:
    in extended precision where rounding of the kernel would matter, and that is to be had."""
    size, cost = float(np.abs(c).sum()), C * queries.n_pairs

    def find_accuracy(error: float) -> float:
        return size * error * (2.0 * cost + size) + _UNIT * (cost + total)

    accuracy, extended = find_accuracy(float(kernel.error())), None
    if not accuracy <= _GOOD_SHARE * cost:
        extended = kernel.extended_sums(c)
    if extended is not None:
        sums, error = extended
        accuracy = find_accuracy(error)
        quadratic = float(c @ sums)
        f = np.asarray(sums - sums.mean(), dtype=np.float64)
    else:
        with TileThreads() as threads:
            f = kernel_product(kernel.astype(np.float64), c, threads)
        quadratic = float(c @ f)
    order, part = np.arange(len(c)), (0, len(queries.n_levels))
    sort_queries(f, queries.starts, *part, order)
    hinge = pair_hinge(f, order, queries.starts, queries.level, queries.n_levels, *part)
    primal, dual = 0.5 * quadratic + C * float(hinge), total - 0.5 * quadratic
    return Judgement(kkt_gap, primal, dual, 0.0, accuracy)
