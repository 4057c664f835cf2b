"""Regression inside a tube: of given width ε, or of the width that ν asks for.

    min ½‖w‖² + Σ u_i (ξ_i + ξ'_i)    s.t.  y_i − f(x_i) ≤ ε + ξ_i,  f(x_i) − y_i ≤ ε + ξ'_i

with f(x) = ⟨w, φ(x)⟩ + b and ξ, ξ' ≥ 0. Each sample has two dual variables, one that pulls f up
towards y and one that pulls it down: s = (+1, −1), p = (ε − y, ε + y). Both belong to one kernel
row. The model is w = Σ (a_i − a'_i) φ(x_i).

In the ν-machine ε is found, at the price ν Σu · ε: p = (−y, y), and each half of the variables sums
to ν Σu / 2. With the biases b₁ = b + ε and b₂ = b − ε of the two halves, b and ε are recovered.
"""

from __future__ import annotations

import numpy as np

from lindero.kernels.operator import KernelOperator
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array


def tube_problem(kernel: KernelOperator, y: Array, bounds: Array, epsilon: float) -> DualQP:
    """State the problem for targets y, upper bounds and a tube of half-width `epsilon`."""
    n = len(y)
    return DualQP(
        kernel=kernel,
        p=np.concatenate([epsilon - y, epsilon + y]),
        s=np.repeat([1.0, -1.0], n),
        u=np.tile(bounds, 2),
        sample_of=np.tile(np.arange(n), 2),
    )


def nu_tube_problem(kernel: KernelOperator, y: Array, bounds: Array, nu: float) -> DualQP:
    """State the problem whose tube leaves at most a share ν of the weight outside."""
    n = len(y)
    half = 0.5 * nu * float(bounds.sum())
    return DualQP(
        kernel=kernel,
        p=np.concatenate([-y, y]),
        s=np.repeat([1.0, -1.0], n),
        u=np.tile(bounds, 2),
        delta=np.array([half, -half]),
        sample_of=np.tile(np.arange(n), 2),
        group_sizes=(n, n),
    )


def tube_of(biases: Array) -> tuple[float, float]:
    """b and ε of a solved ν-problem."""
    return float(biases[0] + biases[1]) / 2, float(biases[0] - biases[1]) / 2
