"""The support of a cloud of samples: all but a share ν of it lies where f(x) ≥ ρ.

    min ½‖w‖² − ρ ν Σu + Σ u_i ξ_i    s.t.  ⟨w, φ(x_i)⟩ ≥ ρ − ξ_i,  ξ ≥ 0

(Schölkopf, Platt, Shawe-Taylor, Smola and Williamson, 2001) is the dual problem with p = 0, s = 1
and Σa = ν Σu; its bias is −ρ.
"""

from __future__ import annotations

import numpy as np

from lindero.kernels.operator import KernelOperator
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array


def novelty_problem(kernel: KernelOperator, bounds: Array, nu: float) -> DualQP:
    """State the problem for upper bounds `bounds`, the weights of the samples."""
    n = len(bounds)
    return DualQP(
        kernel=kernel, p=np.zeros(n), s=np.ones(n), u=bounds, delta=nu * float(bounds.sum())
    )
