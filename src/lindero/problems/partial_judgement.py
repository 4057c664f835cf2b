"""The judgement of a point of a `DualQP` whose rows are seen part by part.

For a linear kernel, f = K z is X w with w = Xᵀ z, so that a part of the rows can be judged by w and
the bias alone. What parts say adds up: the extremes of v among the variables that can rise and
among those that can fall, the losses Σ u max(0, −r), the linear term pᵀa, the sum sᵀa, and Xᵀ z.

Squared losses add a ridge d: v then has d z, the losses are Σ max(0, −r)² / 2d, and the linear term
has ½ zᵀdz.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lindero.kernels.special import RidgedKernel
from lindero.problems.dual_qp import DualQP, Judgement, gap_between, primal_value
from lindero.runtime.arrays import Array

#: Products of numbers are known to this.
_EPSILON = float(np.finfo(np.float64).eps)


def linear_products(problem: DualQP) -> Any:
    """The products of rows behind a problem with a linear kernel, in float64."""
    kernel = problem.kernel
    base = kernel.base if isinstance(kernel, RidgedKernel) else kernel
    return base.astype(np.float64).products  # type: ignore[attr-defined]


@dataclass(frozen=True)
class PartialJudgement:
    """What some rows say of a point; the weights are Σ z_i x_i over them."""

    least: float
    most: float
    losses: float
    linear: float
    balance: float
    outside: float
    size: float
    weights: Array
    largest_norm: float

    @classmethod
    def of(cls, problem: DualQP, a: Array, f: Array, bias: float) -> PartialJudgement:
        """Of dual variables `a` of the rows of a problem with a linear kernel, where f = X w."""
        s, u, z = problem.s, problem.u, problem.at_samples(problem.s * a)
        ridge = problem.kernel.ridge if isinstance(problem.kernel, RidgedKernel) else None
        own = np.zeros(len(z)) if ridge is None else ridge * z
        v = problem.scores(f + own)
        rises = np.where(s > 0, a < u, a > 0)
        falls = np.where(s > 0, a > 0, a < u)
        products = linear_products(problem)
        weights = np.zeros(products.n_features)
        products.transposed_times(z, 0, len(z), out=weights)
        broken = not np.isfinite(v).all()
        return cls(
            least=-np.inf if broken else float(v[rises].min(initial=np.inf)),
            most=np.inf if broken else float(v[falls].max(initial=-np.inf)),
            losses=float(primal_value(0.0, v, s, problem.p, u, 0.0, bias))
            if ridge is None
            else _sum_squares(problem, f, ridge, bias),
            linear=float(problem.p @ a) + 0.5 * float(z @ own),
            balance=float(s @ a),
            outside=float(max((-a).max(initial=0.0), (a - u).max(initial=0.0))),
            size=float(a.sum()),
            weights=weights,
            largest_norm=float(np.sqrt(products.squares.max(initial=0.0))),
        )

    @classmethod
    def of_nothing(cls, n_features: int) -> PartialJudgement:
        """Of no rows at all."""
        return cls(np.inf, -np.inf, 0.0, 0.0, 0.0, 0.0, 0.0, np.zeros(n_features), 0.0)

    def merge(self, other: PartialJudgement) -> PartialJudgement:
        """Of the rows of both."""
        return PartialJudgement(
            min(self.least, other.least),
            max(self.most, other.most),
            self.losses + other.losses,
            self.linear + other.linear,
            self.balance + other.balance,
            max(self.outside, other.outside),
            self.size + other.size,
            self.weights + other.weights,
            max(self.largest_norm, other.largest_norm),
        )

    def finish(self, w: Array) -> Judgement:
        """The judgement of all rows, whose f was X w. The w that their dual variables make may
        differ by rounding, and so may every v: that is the accuracy."""
        quadratic = float(self.weights @ self.weights)
        apart = float(np.linalg.norm(self.weights - w))
        rounding = _EPSILON * len(w) * float(np.linalg.norm(w))
        return Judgement(
            kkt_gap=float(gap_between(self.least, self.most)),
            primal=0.5 * float(w @ w) + self.losses,
            dual=-0.5 * quadratic - self.linear,
            infeasibility=max(self.outside, abs(self.balance)),
            accuracy=2.0 * self.largest_norm * (apart + rounding),
        )


def _sum_squares(problem: DualQP, f: Array, ridge: Array, bias: float) -> float:
    """Σ max(0, −r)² / 2d, r without the ridge."""
    errors = np.maximum(0.0, -problem.s * (problem.scores(f) + bias))
    if problem.sample_of is not None:
        ridge = ridge[problem.sample_of]
    return 0.5 * float((errors * errors / ridge).sum())
