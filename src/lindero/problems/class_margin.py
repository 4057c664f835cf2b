"""One margin between all classes (Crammer and Singer): each sample pays for its worst rival alone.

    min ½ Σ_m ‖w_m‖² + Σ c_i ξ_i     s.t.  f_y(x_i) − f_m(x_i) ≥ e_im − ξ_i  for all classes m

with f_m(x) = w_m·x + b_m, y the class of sample i, e_im = 1 unless m = y, where it is 0, and c_i =
C times the weight of the sample. The intercepts have no penalty. The dual problem has a variable
for each sample and class,

    min_α  ½ Σ_m ‖w_m‖² + Σ e_im α_im     w_m = Σ_i α_im x_i
    s.t.   Σ_m α_im = 0,   α_im ≤ c_i for m = y,  α_im ≤ 0 for the others,   Σ_i α_im = 0

of which the last is asked only with intercepts. With G_im = f_m(x_i) + e_im a sample is at its
optimum when all classes whose α can rise have the same largest G:

    KKT gap      max over samples of  max_m G_im − min {G_im : α_im below its bound}
    primal       ½ Σ ‖w_m‖² + Σ c_i (max_m G_im − G_iy)
    dual         −½ Σ ‖w_m‖² − Σ e_im α_im

Sums that are not zero are flows that do not go round: a sample of class p takes |α_im| from p to
its rival m, and Σ_i α_im is what leaves a class less what arrives. Where that is not zero, some
path leads from a class with too much to one with too little, and less is sent along it
(`balance_flows`).

Two classes are a binary machine with hinge losses: u = w_1 − w_0 has ½ Σ ‖w_m‖² = ¼ ‖u‖², so that
twice the objective is that of `Margin` with 2C.

K. Crammer and Y. Singer, "On the algorithmic implementation of multiclass kernel-based vector
machines", Journal of Machine Learning Research 2, 2001.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from lindero.kernels.operator import KernelOperator
from lindero.problems.dual_qp import ROUNDING, Judgement, upper_bounds
from lindero.problems.formulation import DualPoint, Formulation, KernelExpansion
from lindero.runtime.arrays import Array
from lindero.runtime.cached import cached_property

#: Numbers that are converted at once.
_NUMBERS_AT_ONCE = 2**20

#: Share of all coefficients that their sums may be off.
_ROUNDED = 1e-9

#: Relative rounding of one operation.
_UNIT = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ClassProblem:
    """The problem above over the rows X. Coefficients are of shape (n_samples, n_classes)."""

    X: Any
    codes: Array
    c: Array
    n_classes: int
    has_bias: bool
    places: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", np.arange(len(self.codes)))

    @property
    def bounds(self) -> Array:
        """c_i for the class of a sample, zero for its rivals."""
        bounds = np.zeros((len(self.codes), self.n_classes))
        bounds[self.places, self.codes] = self.c
        return bounds

    def weigh(self, A: Array) -> Array:
        """The weights of each class, one row each."""
        return np.ascontiguousarray(np.asarray(self.X.T @ A, dtype=np.float64).T)

    def nearest_feasible(self, A: Array) -> Array:
        """Coefficients that keep all constraints, near these."""
        A = np.minimum(A, 0.0)
        A[self.places, self.codes] = 0.0
        with np.errstate(under="ignore"):
            taken = -A.sum(axis=1)
            over = taken > self.c
            A[over] *= (self.c[over] / taken[over])[:, None]
            if self.has_bias:
                A = balance_flows(A, self.codes, self.c)
            taken = -A.sum(axis=1)
        A[self.places, self.codes] = np.where(taken >= (1.0 - ROUNDING) * self.c, self.c, taken)
        return A

    @cached_property
    def _longest(self) -> float:
        """The largest ‖x_i‖."""
        longest = 0.0
        for part in self._parts():
            rows = self.X[part]
            if sp.issparse(rows):
                squares = rows.multiply(rows).sum(axis=1)
            else:
                rows = rows.astype(np.float64, copy=False)
                squares = np.einsum("ij,ij->i", rows, rows)
            longest = max(longest, float(np.sqrt(squares.max(initial=0.0))))
        return longest

    def _parts(self) -> list[slice]:
        """Rows that are converted at once."""
        height = max(64, _NUMBERS_AT_ONCE // max(1, self.X.shape[1]))
        return [slice(start, start + height) for start in range(0, self.X.shape[0], height)]

    def _values(self, W: Array) -> tuple[Array, float]:
        """X Wᵀ, and a bound on the sums of absolute products in it."""
        if sp.issparse(self.X):
            values = np.asarray(self.X @ np.ascontiguousarray(W.T), dtype=np.float64)
        else:
            values = np.empty((self.X.shape[0], len(W)))
            for part in self._parts():
                values[part] = self.X[part].astype(np.float64, copy=False) @ W.T
        size = float((W * W).sum(axis=1).max(initial=0.0))
        return values, self._longest * float(np.sqrt(size))

    def judge(self, A: Array, b: Array) -> Judgement:
        """Objective values, the gap and feasibility, from scratch."""
        W, bounds = self.weigh(A), self.bounds
        e = np.ones(A.shape)
        e[self.places, self.codes] = 0.0
        G, largest = self._values(W)
        G += b + e
        top = G.max(axis=1)
        rising = np.where(bounds > A, G, np.inf).min(axis=1)
        gap = float((top - rising).max(initial=0.0))
        with np.errstate(over="ignore", invalid="ignore"):
            size = 0.5 * float((W * W).sum())
            primal = size + float(self.c @ (top - G[self.places, self.codes]))
            dual = -size - float((e * A).sum())
            accuracy = 4.0 * _UNIT * (largest + float(np.abs(b).max()) + 1.0)
        outside = max(float((A - bounds).max(initial=0.0)), float(np.abs(A.sum(axis=1)).max()))
        if self.has_bias:
            outside = max(outside, float(np.abs(A.sum(axis=0)).max()))
        return Judgement(gap if np.isfinite(gap) else np.inf, primal, dual, outside, accuracy)


@dataclass(frozen=True)
class ClassMargin(Formulation):
    """One margin between all classes, seen from one of them: its coefficients and its intercept are
    a machine of its own. All of them are solved, and judged, together."""

    C: float
    has_intercept: bool = True

    movable_origin: ClassVar[bool] = False

    def bounds(self, weights: Array) -> Array:
        """The prices c_i."""
        return upper_bounds(self.C, weights)

    def state(self, kernel: KernelOperator, targets: Any, bounds: Array) -> Any:
        """What the machine of one class asks of its samples; targets are their signs."""
        return ClassSide(np.where(targets > 0, bounds, np.inf))

    def recover(self, problem: Any, point: DualPoint, tol: float) -> KernelExpansion:
        return KernelExpansion(point.a, point.bias)

    def restore(self, problem: Any, function: KernelExpansion) -> tuple[Array, Any]:
        return function.coefficients, function.intercept


@dataclass(frozen=True)
class ClassSide:
    """One class of a `ClassProblem`: its own samples have a bound on their coefficients."""

    u: Array

    sample_of: ClassVar[None] = None


def balance_flows(A: Array, codes: Array, c: Array) -> Array:
    """Rivals' coefficients (≤ 0, own ones 0) changed where what leaves a class is not what arrives.

    Surplus goes from class p to class m where a sample of p that is within its bounds takes less
    for m, one of m takes more for p, or one at its bounds takes for p what it took for m: none of
    this changes which coefficients are at their bounds. What that leaves, if it is more than
    rounding, is taken from all samples of p that have m for a rival."""
    taken, used = -A.sum(axis=1), A < 0.0
    inside, counts = taken < (1.0 - ROUNDING) * c, np.maximum(used.sum(axis=1), 1)[:, None]
    less = np.where(inside[:, None], -A, 0.0)
    more = np.where(used & inside[:, None], (c - taken)[:, None] / counts, 0.0)
    turned = np.flatnonzero(~inside & (counts[:, 0] > 1))
    rivals = used[turned].astype(np.float64)
    turn = -A[turned] / counts[turned]
    ways = _sum_classes(less, codes) + _sum_classes(more, codes).T + rivals.T @ turn
    shares = _find_shares(ways, find_surplus(A, codes))
    A = A + shares[codes] * less - shares.T[codes] * more
    A[turned] += turn * (rivals @ shares) - rivals * (turn @ shares.T)
    surplus = find_surplus(A, codes)
    if np.abs(surplus).max() > _ROUNDED * float(np.abs(A).sum()):
        A = A * (1.0 - _find_shares(_sum_classes(-A, codes), surplus)[codes])
    return np.minimum(A, 0.0)


def find_surplus(A: Array, codes: Array) -> Array:
    """What leaves each class, less what arrives."""
    flows = _sum_classes(-A, codes)
    return np.asarray(flows.sum(axis=1) - flows.sum(axis=0))


def _sum_classes(values: Array, codes: Array) -> Array:
    """The rows of each class, summed."""
    n_classes = values.shape[1]
    return np.stack([values[codes == m].sum(axis=0) for m in range(n_classes)])


def _find_shares(ways: Array, surplus: Array) -> Array:
    """The share of each way that has to be gone."""
    np.fill_diagonal(ways, 0.0)
    left = send_less(ways, surplus)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        return np.where(ways > 0.0, 1.0 - left / ways, 0.0)


def send_less(flows: Array, surplus: Array) -> Array:
    """Flows from class to class, made smaller along paths from classes that send too much to those
    that receive too much, until all are even or no path is left."""
    flows, surplus = flows.copy(), surplus.copy()
    size = 1e-15 * float(np.abs(surplus).sum())
    for _ in range(4 * len(flows) ** 2):
        source = int(np.argmax(surplus))
        if not surplus[source] > size:
            break
        path = _find_path(flows, source, surplus)
        if path is None:
            surplus[source] = 0.0  # nothing more can be done for this one
            continue
        edges = list(pairwise(path))
        amount = min(surplus[source], -surplus[path[-1]], *(flows[p, m] for p, m in edges))
        for p, m in edges:
            flows[p, m] -= amount
        surplus[source] -= amount
        surplus[path[-1]] += amount
    return flows


def _find_path(flows: Array, source: int, surplus: Array) -> list[int] | None:
    """The shortest way along flows to a class that receives too much."""
    before, waiting = {source: source}, deque([source])
    while waiting:
        place = waiting.popleft()
        if surplus[place] < 0.0:
            path = [place]
            while path[-1] != source:
                path.append(before[path[-1]])
            return path[::-1]
        for following in np.flatnonzero(flows[place] > 0.0).tolist():
            if following not in before:
                before[following] = place
                waiting.append(following)
    return None
