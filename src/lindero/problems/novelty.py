"""The support of a cloud of samples: all but a share ν of it lies where f(x) ≥ ρ.

    min ½‖w‖² − ρ ν Σu + Σ u_i ξ_i    s.t.  ⟨w, φ(x_i)⟩ ≥ ρ − ξ_i,  ξ ≥ 0

(Schölkopf, Platt, Shawe-Taylor, Smola and Williamson, 2001) is the dual problem with p = 0, s = 1
and Σa = ν Σu; its bias is −ρ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lindero.kernels.operator import KernelOperator
from lindero.problems.dual_qp import DualQP, upper_bounds
from lindero.problems.formulation import DualPoint, Formulation, KernelExpansion
from lindero.runtime.arrays import Array

#: The offset is lowered by this share of what its sum may be, so that samples on the boundary stay
#: inside it.
_ROUNDING = 1e-12

#: Rows of kernel values computed at once.
_ROWS = 256


def novelty_terms(bounds: Array) -> tuple[Array, Array, Array]:
    """s, p and u of samples with these upper bounds, their weights."""
    return np.ones(len(bounds)), np.zeros(len(bounds)), bounds


@dataclass(frozen=True)
class Novelty(Formulation):
    """The region that holds all but a share ν of the weight. Samples have no targets."""

    nu: float

    scale_free: ClassVar[bool] = True

    # Distances from the origin are what a linear kernel is about here: it stays.
    movable_origin: ClassVar[bool] = False

    def bounds(self, weights: Array) -> Array:
        return upper_bounds(1.0, weights)

    def state(self, kernel: KernelOperator, targets: Any, bounds: Array) -> DualQP:
        s, p, u = novelty_terms(bounds)
        return DualQP(kernel=kernel, p=p, s=s, u=u, delta=self.nu * float(bounds.sum()))

    def recover(self, problem: DualQP, point: DualPoint, tol: float) -> KernelExpansion:
        """Only samples at their bound may lie outside: the offset is no more than the least value
        of all others, where the mean over the boundary might be, by the tolerance."""
        a, bias = point.a, float(point.bias)
        others = np.flatnonzero(a < problem.u)
        if len(others) == 0:
            return KernelExpansion(problem.s * a, bias)
        # The values at hand may carry rounding: compute those again that may be the least.
        values = point.f[others]
        others = others[values <= values.min() + tol * max(1.0, abs(values.min()))]
        kernel, held = problem.kernel.astype(np.float64), np.flatnonzero(a)
        support, least = kernel.probe(held), np.inf
        for start in range(0, len(others), _ROWS):
            block = kernel.cross(kernel.probe(others[start : start + _ROWS]), support)
            least = min(least, float((block @ a[held]).min()))
        # By as much as the order in which a sum is taken may change it.
        largest = float(np.abs(kernel.diagonal()).max()) * float(a.sum())
        return KernelExpansion(problem.s * a, max(bias, -least + _ROUNDING * largest))

    def restore(self, problem: DualQP, function: KernelExpansion) -> tuple[Array, Any]:
        return np.maximum(0.0, function.coefficients), function.intercept
