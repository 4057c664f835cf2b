"""Regression inside a tube: of given width ε, or of the width that ν asks for.

    min ½‖w‖² + Σ u_i (ξ_i + ξ'_i)    s.t.  y_i − f(x_i) ≤ ε + ξ_i,  f(x_i) − y_i ≤ ε + ξ'_i

with f(x) = ⟨w, φ(x)⟩ + b and ξ, ξ' ≥ 0. Each sample has two dual variables, one that pulls f up
towards y and one that pulls it down: s = (+1, −1), p = (ε − y, ε + y). Both belong to one kernel
row. The model is w = Σ (a_i − a'_i) φ(x_i). u_i = ∞ forbids ξ_i and ξ'_i: no target may be outside.

In the ν-machine ε is found, at the price ν Σu · ε: p = (−y, y), and each half of the variables sums
to ν Σu / 2. With the biases b₁ = b + ε and b₂ = b − ε of the two halves, b and ε are recovered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lindero.kernels.operator import KernelOperator
from lindero.problems.dual_qp import DualQP, upper_bounds
from lindero.problems.formulation import DualPoint, Formulation, KernelExpansion
from lindero.runtime.arrays import Array

#: Share of a sum of variables that rounding may have lost.
_ROUNDED = 1e-6


def tube_terms(y: Array, bounds: Array, epsilon: float) -> tuple[Array, Array, Array]:
    """s, p and u of samples with targets y, each of shape (2, n): a row for the variables that pull
    the function up, one for those that pull it down."""
    s, p, u = np.empty((3, 2, len(y)))
    s[0], s[1] = 1.0, -1.0
    p[0], p[1] = epsilon - y, epsilon + y
    u[:] = bounds
    return s, p, u


@dataclass(frozen=True)
class Tube(Formulation):
    """A tube of half-width ε."""

    C: float
    epsilon: float

    per_sample: ClassVar[int] = 2

    @property
    def hard(self) -> bool:
        return bool(np.isinf(self.C))

    def bounds(self, weights: Array) -> Array:
        return upper_bounds(self.C, weights)

    def state(self, kernel: KernelOperator, targets: Array, bounds: Array) -> DualQP:
        return _state(kernel, targets, bounds, self.epsilon)

    def recover(self, problem: DualQP, point: DualPoint, tol: float) -> KernelExpansion:
        return KernelExpansion(problem.at_samples(problem.s * point.a), point.bias)

    def restore(self, problem: DualQP, function: KernelExpansion) -> tuple[Array, Any]:
        return _pulls(problem, function), function.intercept


@dataclass(frozen=True)
class NuTube(Formulation):
    """A tube that leaves at most a share ν of the weight outside, and finds its own width."""

    C: float
    nu: float

    per_sample: ClassVar[int] = 2

    def bounds(self, weights: Array) -> Array:
        return upper_bounds(self.C, weights)

    def state(self, kernel: KernelOperator, targets: Array, bounds: Array) -> DualQP:
        n, half = len(targets), 0.5 * self.nu * float(bounds.sum())
        halves = {"delta": np.array([half, -half]), "group_sizes": (n, n)}
        return _state(kernel, targets, bounds, 0.0, **halves)

    def recover(self, problem: DualQP, point: DualPoint, tol: float) -> KernelExpansion:
        intercept = float(point.bias[0] + point.bias[1]) / 2
        epsilon = float(point.bias[0] - point.bias[1]) / 2
        coefficients = problem.at_samples(problem.s * point.a)
        return KernelExpansion(coefficients, intercept, max(0.0, epsilon))

    def restore(self, problem: DualQP, function: KernelExpansion) -> tuple[Array, Any]:
        """Where the tube has no width, both variables of a row may be positive, and coefficients
        tell only their difference. What is missing from the sums goes to the rows nearest to the
        function, in equal parts to both."""
        a, b, epsilon = _pulls(problem, function), function.intercept, function.width
        n = len(a) // 2
        biases, total = np.array([b + epsilon, b - epsilon]), float(problem.delta[0])
        missing = total - float(a[:n].sum())
        if missing <= _ROUNDED * total:  # else rounding would pull some row both ways
            return a, biases
        room = np.minimum(problem.u - a, np.roll(problem.u - a, n))[:n]
        v = problem.scores(problem.kernel_sums(a))
        order = np.argsort(np.abs(v[:n] + b), kind="stable")
        before = np.cumsum(room[order]) - room[order]
        more = np.zeros(n)
        more[order] = np.clip(missing - before, 0.0, room[order])
        return a + np.tile(more, 2), biases


def _state(kernel: KernelOperator, y: Array, bounds: Array, epsilon: float, **sums: Any) -> DualQP:
    s, p, u = (terms.ravel() for terms in tube_terms(y, bounds, epsilon))
    return DualQP(kernel=kernel, p=p, s=s, u=u, sample_of=np.tile(np.arange(len(y)), 2), **sums)


def _pulls(problem: DualQP, function: KernelExpansion) -> Array:
    """Dual variables of which no sample has two."""
    return np.asarray(np.maximum(0.0, problem.s * function.coefficients[problem.sample_of]))
