"""Margins with few weights: the sum of absolute weights in place of half their squares.

    min_{w,b}  ‖w‖₁ + Σ c_i max(0, 1 − s_i (x_i·w + b))²

with c_i = C times the weight of the sample. The intercept has no penalty. (Without one, b = 0.) The
multiplier of a sample is a_i = 2 c_i ξ_i, and the dual problem

    max_a  Σ a_i − Σ a_i² / (4 c_i)     s.t.  |Σ a_i s_i x_ij| ≤ 1 for each feature j,  a ≥ 0,

and Σ a_i s_i = 0 where there is an intercept. w is no sum of rows: a feature whose constraint is
not at its bound has no weight, and that is what the penalty is for. So a solution has both, its
multipliers and its weights, and they are judged together by the duality gap, as a share of the
primal objective:

    gap  =  (P(w, b) − D(a)) / P(w, b)

Any a ≥ 0 becomes feasible when the heavier side of the sum is scaled down to the lighter one, and
all of it then by t ≤ 1 / max_j |Σ a_i s_i x_ij|, of which D is the largest where t = Σ a_i / (2 Σ
a_i² / 4c_i), if that is less.

The least C. With w = 0 the best intercept is the weighted mean of the signs, or 0 without one. With
the multipliers a that belong to it for C = 1, which C only scales, w = 0 is the solution as long as
C max_j |Σ a_i s_i x_ij| ≤ 1: a path over C begins at the reciprocal of that maximum.

J. Zhu, S. Rosset, T. Hastie and R. Tibshirani, "1-norm support vector machines", NIPS 2003.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from lindero.kernels.operator import KernelOperator
from lindero.problems.dual_qp import Judgement, upper_bounds
from lindero.problems.formulation import DualPoint, Formulation, KernelExpansion
from lindero.runtime.arrays import Array

#: Relative rounding of one operation.
_UNIT = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class SparseWeights:
    """The problem above, over rows X that may be sparse."""

    kernel: KernelOperator
    s: Array
    c: Array
    has_intercept: bool
    u: Array = field(init=False, repr=False)

    #: What is said of other problems, whose solutions are multipliers alone.
    sample_of: ClassVar[None] = None
    group_sizes: ClassVar[None] = None
    n_groups: ClassVar[int] = 1
    starts_at_zero: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "u", np.full(len(self.s), np.inf))

    @property
    def rows(self) -> Any:
        """The rows as they were given."""
        return self.kernel.products.given()  # type: ignore[attr-defined]

    @property
    def n_variables(self) -> int:
        return len(self.s)

    @property
    def n_features(self) -> int:
        return int(self.rows.shape[1])

    def errors(self, w: Array, b: float) -> Array:
        """ξ of each sample."""
        return np.asarray(np.maximum(0.0, 1.0 - self.s * (_times(self.rows, w) + b)))

    def pulls(self, a: Array) -> Array:
        """Σ a_i s_i x_ij of each feature."""
        return _sum_rows(self.rows, self.s * a)

    def nearest_feasible(self, a: Array) -> Array:
        """Multipliers that keep all constraints, scaled down from these."""
        a = np.maximum(0.0, a)
        if self.has_intercept:
            sides = [float(a[side].sum()) for side in (self.s < 0, self.s > 0)]
            least, most = min(sides), max(sides)
            heavier = self.s > 0 if sides[1] == most else self.s < 0
            a = np.where(heavier, a * (least / most if most > 0.0 else 1.0), a)
        steepest = float(np.abs(self.pulls(a)).max(initial=0.0))
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            losses = float((a * (a / self.c)).sum())
            best = 2.0 * float(a.sum()) / losses if losses > 0.0 else 1.0
            share = min(best, 1.0 / steepest if steepest > 1.0 else best)
            # Never up: a multiple that is feasible as well would need more of what is known.
            scaled = a * min(1.0, share)
        return scaled if np.isfinite(scaled).all() else np.zeros_like(a)

    def judge(self, w: Array, b: float, a: Array) -> Judgement:
        """Objective values, the gap and feasibility of weights with their multipliers, from
        scratch."""
        errors = self.errors(w, b)
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            losses = float((self.c * errors * errors).sum())
            primal = float(np.abs(w).sum()) + losses
            dual = float(a.sum()) - 0.25 * float((a * (a / self.c)).sum())
            gap = max(0.0, (primal - dual) / primal) if primal > 0.0 else 0.0
            reach = _times(abs(self.rows), np.abs(w)) + abs(b) + 1.0
            lost = 2.0 * float((self.c * errors * reach).sum()) / max(primal, 1e-300)
        outside = max(0.0, float(np.abs(self.pulls(a)).max(initial=0.0)) - 1.0)
        if self.has_intercept:
            outside = max(outside, abs(float(self.s @ a)))
        accuracy = _UNIT * (lost + 1.0)
        if not np.isfinite(gap):
            gap, dual = np.inf, -np.inf
        return Judgement(gap, primal, dual, max(outside, -float(a.min(initial=0.0))), accuracy)

    def certify(
        self, a: Array, bias: Any, wanted: float, f: Array | None = None, blur: float = 0.0
    ) -> Judgement:
        """The judgement of a solution, whose `f` are its weights."""
        w = np.zeros(self.n_features) if f is None or len(f) != self.n_features else f
        return self.judge(w, float(bias), a)


@dataclass(frozen=True)
class SparseMargin(Formulation):
    """A margin with squared hinge losses and few weights. Targets are the signs."""

    C: float
    has_intercept: bool = True

    movable_origin: ClassVar[bool] = False
    keeps_weights: ClassVar[bool] = True

    @property
    def has_bias(self) -> bool:  # type: ignore[override]
        return self.has_intercept

    def bounds(self, weights: Array) -> Array:
        """The prices c_i; of the multipliers themselves there are no bounds."""
        return upper_bounds(self.C, weights)

    def state(self, kernel: KernelOperator, targets: Array, bounds: Array) -> Any:
        return SparseWeights(kernel, targets, bounds, self.has_intercept)

    def recover(self, problem: Any, point: DualPoint, tol: float) -> KernelExpansion:
        return KernelExpansion(problem.s * point.a, point.bias)

    def restore(self, problem: Any, function: KernelExpansion) -> tuple[Array, Any]:
        return problem.s * function.coefficients, function.intercept


def find_least_cost(X: Any, s: Array, weights: Array, has_intercept: bool) -> float:
    """The largest C for which all weights of the features are zero."""
    mean = float(s @ weights) / float(weights.sum()) if has_intercept else 0.0
    a = 2.0 * weights * (1.0 - s * mean)
    steepest = float(np.abs(_sum_rows(X, s * a)).max(initial=0.0))
    with np.errstate(over="ignore"):
        return float(np.divide(1.0, steepest)) if steepest > 0.0 else np.inf


def _times(X: Any, w: Array) -> Array:
    return np.asarray(X @ w, dtype=np.float64).ravel()


def _sum_rows(X: Any, c: Array) -> Array:
    return np.asarray(X.T @ c, dtype=np.float64).ravel()
