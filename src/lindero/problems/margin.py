"""Maximum-margin classification: soft, hard, cost-sensitive, and with ν in place of C.

    min ½‖w‖² + Σ u_i ξ_i    s.t.  y_i (⟨w, φ(x_i)⟩ + b) ≥ Ω_i − ξ_i,  ξ ≥ 0        y_i = ±1

is the dual problem with p = −Ω, s = y. The margin Ω_i asked for is 1. The bound u_i is C times the
weights of the sample and of its class; u_i = ∞ forbids ξ_i altogether (hard margin). The model is
w = Σ a_i y_i φ(x_i).

The cost-sensitive machine (Masnadi-Shirazi and Vasconcelos, 2010) asks for less of the negatives,
and weighs the classes, by the costs C₊ and C₋ > ½:

    positives   Ω = 1               u = C C₊                loss  C₊ max(0, 1 − f)
    negatives   Ω = 1/(2C₋ − 1)     u = C (2C₋ − 1)         loss  max(0, 1 + (2C₋ − 1) f)

Where a share η of the samples at x are positive, the mean loss is linear in f between the margins,
with slope (1−η)(2C₋ − 1) − ηC₊: the best f is 1 if η/(1−η) > (2C₋ − 1)/C₊, else the other margin.
The bounds alone would do for that, but they play no part where classes can be separated and C is
large. The margins do: the boundary then divides the gap between the classes as 2C₋ − 1 to 1.
With κ = 1/(2C₋ − 1), f = ½(1+κ) g + ½(1−κ) turns this into the machine g of margins 1 and bounds
2u/(1+κ), whose boundary is drawn at g = −(1−κ)/(1+κ) instead of 0.

The ν-machine (Schölkopf, Smola, Williamson and Bartlett, 2000) lets the margin ρ find its own size,

    min ½‖w‖² − ρ ν Σu + Σ u_i ξ_i    s.t.  y_i (⟨w, φ(x_i)⟩ + b) ≥ ρ − ξ_i,  ξ, ρ ≥ 0

whose dual has p = 0 and the sums Σ₊ a = Σ₋ a = ν Σu / 2: at most a share ν of the weight can be
margin errors, at least that share are support vectors. It can be met only if neither class has
less weight than that. With the biases b₊ = b − ρ and b₋ = b + ρ of the two groups, dividing by ρ
gives a machine of margin 1, the one that C = 1/ρ would give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lindero.kernels.operator import KernelOperator
from lindero.problems.dual_qp import ROUNDING, DualQP, upper_bounds
from lindero.problems.formulation import DualPoint, Formulation, KernelExpansion
from lindero.runtime.arrays import Array


def margin_terms(
    signs: Array, bounds: Array, margins: Array | None = None
) -> tuple[Array, Array, Array]:
    """s, p and u of samples with these signs and upper bounds; `margins` are the Ω of the negative
    and of the positive samples, 1 unless given."""
    if margins is None:
        return signs, -np.ones(len(signs)), bounds
    return signs, -margins[(signs > 0).astype(np.intp)], bounds


@dataclass(frozen=True)
class HingeMargin(Formulation):
    """Abstract. Targets are the signs; the margin is hard where C is infinite."""

    C: float

    @property
    def hard(self) -> bool:
        return bool(np.isinf(self.C))

    def bounds(self, weights: Array) -> Array:
        return upper_bounds(self.C, weights)

    def recover(self, problem: DualQP, point: DualPoint, tol: float) -> KernelExpansion:
        return KernelExpansion(problem.s * point.a, point.bias)

    def restore(self, problem: DualQP, function: KernelExpansion) -> tuple[Array, Any]:
        return problem.s * function.coefficients, function.intercept


@dataclass(frozen=True)
class Margin(HingeMargin):
    """The same margin for all samples."""

    def state(self, kernel: KernelOperator, targets: Array, bounds: Array) -> DualQP:
        s, p, u = margin_terms(targets, bounds)
        return DualQP(kernel=kernel, p=p, s=s, u=u)


@dataclass(frozen=True)
class CostMargin(HingeMargin):
    """The cost-sensitive margin: `margins` are the Ω of the negative and of the positive samples.
    What errors weigh is part of the weights."""

    margins: Array

    @property
    def unit(self) -> float:  # type: ignore[override]
        # The boundary is as near to a class as its margin: a gap of that size would misplace it.
        return float(min(1.0, self.margins.min()))

    def state(self, kernel: KernelOperator, targets: Array, bounds: Array) -> DualQP:
        s, p, u = margin_terms(targets, bounds, self.margins)
        return DualQP(kernel=kernel, p=p, s=s, u=u)


@dataclass(frozen=True)
class NuMargin(Formulation):
    """The ν-machine, scaled to margin 1. Targets are the signs, those of the positives first."""

    nu: float

    positives_first: ClassVar[bool] = True
    scale_free: ClassVar[bool] = True

    def bounds(self, weights: Array) -> Array:
        """Weights over their mean: the machine does not depend on their scale, and neither should
        what is taken for a margin of nothing."""
        weights = upper_bounds(1.0, weights)
        return weights / float(weights[weights > 0].mean())

    def state(self, kernel: KernelOperator, targets: Array, bounds: Array) -> DualQP:
        n_positive = int((targets > 0).sum())
        half = 0.5 * self.nu * float(bounds.sum())
        return DualQP(
            kernel=kernel,
            p=np.zeros(len(targets)),
            s=targets,
            u=bounds,
            delta=np.array([half, -half]),
            group_sizes=(n_positive, len(targets) - n_positive),
        )

    def recover(self, problem: DualQP, point: DualPoint, tol: float) -> KernelExpansion:
        """Where there is no margin (w = 0, or a fit stopped too early) the scale stays as it is."""
        bias, rho = margin_of(point.bias)
        rho = rho if rho > 0 else 1.0
        return KernelExpansion(problem.s * (point.a / rho), bias / rho, rho)

    def restore(self, problem: DualQP, function: KernelExpansion) -> tuple[Array, Any]:
        rho, u = function.width, problem.u
        a, bias = problem.s * function.coefficients * rho, function.intercept * rho
        at_bound = np.abs(a - u) <= ROUNDING * u  # lost in scaling there and back
        return np.where(at_bound, u, a), np.array([bias - rho, bias + rho])


def margin_of(biases: Array) -> tuple[float, float]:
    """b and ρ of a solved ν-problem."""
    return float(biases[0] + biases[1]) / 2, float(biases[1] - biases[0]) / 2


def largest_nu(signs: Array, bounds: Array) -> float:
    """The ν above which the ν-problem has no feasible point."""
    weight = [float(bounds[signs > 0].sum()), float(bounds[signs < 0].sum())]
    return 2.0 * min(weight) / sum(weight)
