"""Squared losses: margins and tubes whose errors cost their squares.

    min ½‖w‖² + Σ c_i ξ_i²     s.t.  s_i (⟨w, φ(x_i)⟩ + b) + p_i ≥ −ξ_i

with c_i = C times the weight of the sample. The multiplier of a constraint is a_i = 2 c_i ξ_i,
which has no upper bound, and the dual is that of the same problem with hinge losses, with a ridge:

    min_a  ½ zᵀ(K + D) z + pᵀa,   z = s∗a,   a ≥ 0,   Σz = 0,        D_ii = 1 / (2 c_i)

So it is a `DualQP` over a `RidgedKernel`, u = ∞. (Of the two variables of a sample in a tube one is
zero, so that the ridge of the sample is that of both.) The problem knows that its ridge stands for
losses: the primal that it judges by is the one above.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lindero.kernels.operator import KernelOperator
from lindero.kernels.special import RidgedKernel
from lindero.problems.dual_qp import DualQP, upper_bounds
from lindero.problems.formulation import DualPoint, Formulation, KernelExpansion
from lindero.problems.margin import margin_terms
from lindero.problems.tube import tube_terms
from lindero.runtime.arrays import Array

#: The largest ridge: rows of a price this small could as well be left out.
_LARGEST_RIDGE = 1e290


def find_ridge(prices: Array) -> Array:
    """What squared losses of these prices add to the diagonal of a kernel."""
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(0.5 / prices, _LARGEST_RIDGE))


@dataclass(frozen=True)
class SquaredMargin(Formulation):
    """A margin with squared hinge losses. Targets are the signs."""

    C: float

    squared: ClassVar[bool] = True

    def bounds(self, weights: Array) -> Array:
        """The prices c_i; of the variables themselves there are no bounds."""
        return upper_bounds(self.C, weights)

    def state(self, kernel: KernelOperator, targets: Array, bounds: Array) -> DualQP:
        s, p, u = margin_terms(targets, np.full(len(targets), np.inf))
        return DualQP(kernel=RidgedKernel(kernel, find_ridge(bounds)), p=p, s=s, u=u)

    def recover(self, problem: DualQP, point: DualPoint, tol: float) -> KernelExpansion:
        return KernelExpansion(problem.s * point.a, point.bias)

    def restore(self, problem: DualQP, function: KernelExpansion) -> tuple[Array, Any]:
        return problem.s * function.coefficients, function.intercept


@dataclass(frozen=True)
class SquaredTube(Formulation):
    """A tube of half-width ε with squared losses outside."""

    C: float
    epsilon: float

    per_sample: ClassVar[int] = 2
    squared: ClassVar[bool] = True

    def bounds(self, weights: Array) -> Array:
        """The prices c_i."""
        return upper_bounds(self.C, weights)

    def state(self, kernel: KernelOperator, targets: Array, bounds: Array) -> DualQP:
        n = len(targets)
        terms = tube_terms(targets, np.full(n, np.inf), self.epsilon)
        s, p, u = (part.ravel() for part in terms)
        ridged = RidgedKernel(kernel, find_ridge(bounds))
        return DualQP(kernel=ridged, p=p, s=s, u=u, sample_of=np.tile(np.arange(n), 2))

    def recover(self, problem: DualQP, point: DualPoint, tol: float) -> KernelExpansion:
        return KernelExpansion(problem.at_samples(problem.s * point.a), point.bias)

    def restore(self, problem: DualQP, function: KernelExpansion) -> tuple[Array, Any]:
        coefficients = function.coefficients[problem.sample_of]
        return np.maximum(0.0, problem.s * coefficients), function.intercept
