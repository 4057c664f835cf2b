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

import numpy as np

from lindero.kernels.operator import KernelOperator
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array


def margin_problem(
    kernel: KernelOperator, signs: Array, bounds: Array, margins: Array | None = None
) -> DualQP:
    """State the problem for labels `signs` = ±1, upper bounds `bounds`, and `margins` Ω, all 1
    unless given."""
    p = -np.ones(len(signs)) if margins is None else -margins
    return DualQP(kernel=kernel, p=p, s=signs, u=bounds)


def largest_nu(signs: Array, bounds: Array) -> float:
    """The ν above which the ν-problem has no feasible point."""
    weight = [float(bounds[signs > 0].sum()), float(bounds[signs < 0].sum())]
    return 2.0 * min(weight) / sum(weight)


def nu_margin_problem(kernel: KernelOperator, signs: Array, bounds: Array, nu: float) -> DualQP:
    """State the ν-problem for samples of which the positive ones come first."""
    n_positive = int((signs > 0).sum())
    half = 0.5 * nu * float(bounds.sum())
    return DualQP(
        kernel=kernel,
        p=np.zeros(len(signs)),
        s=signs,
        u=bounds,
        delta=np.array([half, -half]),
        group_sizes=(n_positive, len(signs) - n_positive),
    )


def margin_of(biases: Array) -> tuple[float, float]:
    """b and ρ of a solved ν-problem."""
    return float(biases[0] + biases[1]) / 2, float(biases[1] - biases[0]) / 2
