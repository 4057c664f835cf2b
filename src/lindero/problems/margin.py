"""Maximum-margin classification: soft and hard.

    min ½‖w‖² + Σ u_i ξ_i    s.t.  y_i (⟨w, φ(x_i)⟩ + b) ≥ 1 − ξ_i,  ξ ≥ 0         y_i = ±1

is the dual problem with p = −1, s = y. The bound u_i is C times the weights of the sample and of
its class; u_i = ∞ forbids ξ_i altogether (hard margin). The model is w = Σ a_i y_i φ(x_i).
"""

from __future__ import annotations

import numpy as np

from lindero.kernels.functions import Array
from lindero.kernels.operator import KernelOperator
from lindero.problems.dual_qp import DualQP


def margin_problem(kernel: KernelOperator, signs: Array, bounds: Array) -> DualQP:
    """State the problem for labels `signs` = ±1 and upper bounds `bounds`."""
    return DualQP(kernel=kernel, p=-np.ones(len(signs)), s=signs, u=bounds)
