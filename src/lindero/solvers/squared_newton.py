"""Newton's method on the primal of a linear machine with squared losses, for few features.

A `DualQP` over a linear kernel with ridges d, without upper bounds, is the dual of

    min_θ  ½ θᵀHθ + Σ ξ_i² / (2 d_i)        ξ_i = max(0, −r_i),   r_i = s_i x̃_i·θ + p_i

which is smooth: its gradient is Hθ − Σ (ξ_i / d_i) s_i x̃_i, and where no r_i changes its sign it is
quadratic, with the second derivative H + Σ_{ξ_i > 0} x̃_i x̃_iᵀ / d_i. A step costs n·d², whatever C
is, and is halved until the objective falls enough; once the rows with errors are known the next
step is exact. The multipliers are a_i = ξ_i / d_i; the problem judges the feasible point near them.

S. S. Keerthi and D. DeCoste, "A modified finite Newton method for fast solution of large scale
linear SVMs", Journal of Machine Learning Research 6, 2005.

The descent is written for arrays of NumPy's and for tensors alike (`devices.linear`).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from lindero.errors import SolverError
from lindero.kernels.operator import ProductKernel
from lindero.kernels.special import RidgedKernel
from lindero.problems.dual_qp import DualQP
from lindero.runtime.threads import TileThreads
from lindero.solvers.interior_point import (
    SMALL_DATA,
    LinearProblem,
    NewtonSystem,
    make_newton_system,
)
from lindero.solvers.solution import Limits, Progress, Solution, Solver, Start, Status

#: Steps after which the method is stuck: it needs some ten.
_MOST_STEPS = 200

#: Share of what the slope promises that a step must gain, and halvings until it is nothing.
_LEAST_GAIN, _MOST_HALVINGS = 1e-4, 40


class SquaredNewtonSolver(Solver):
    """Solves a linear `DualQP` with ridges, δ = 0 and no bounds to a KKT gap of `tol`."""

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        begun = time.perf_counter()
        kernel = problem.kernel
        base = kernel.base if isinstance(kernel, RidgedKernel) else None
        if not (isinstance(base, ProductKernel) and base.function.name == "linear"):
            raise SolverError("Newton's method needs a linear kernel with ridges.")
        assert isinstance(kernel, RidgedKernel)
        small = base.n_samples * base.products.n_features <= SMALL_DATA
        with TileThreads(1 if small else self.n_threads) as threads:
            products = base.astype(np.float64).products
            system = make_newton_system(products, small, threads, problem.has_bias)
            descent = NewtonDescent(problem, system, kernel.ridge, self.tol, start)
            status = descent.run(limits, number, begun)
        a, f = descent.best_a, descent.best_f
        seconds = time.perf_counter() - begun
        return Solution(a, f, problem.bias(a, f), status, descent.n_iter, seconds)


class NewtonDescent:
    """The iterate θ, and the best judged point found on the way; of arrays of NumPy's, or tensors.
    `ridge` is that of each sample."""

    def __init__(
        self,
        problem: LinearProblem,
        system: NewtonSystem,
        ridge: Any,
        tol: float,
        start: Solution | None,
    ) -> None:
        self.problem, self.system, self.ridge, self.tol = problem, system, ridge, tol
        self.arrays = system.arrays
        self.n_iter = 0
        self.theta = system.nothing()
        self.best_a = self.arrays.zeros_like(problem.p)
        self.best_f, self.best_gap = problem.at_samples(self.best_a), np.inf
        if start is not None:
            self._consider(start.a)
            self.theta = system.adjoint(problem.at_samples(problem.s * self.best_a))
            self.theta[-1] = problem.bias(self.best_a, self.best_f)

    def _errors(self, reach: Any) -> Any:
        """ξ of each variable, from x̃·θ of each sample."""
        problem = self.problem
        return (-(problem.s * self._at_variables(reach) + problem.p)).clip(0.0, None)

    def _at_variables(self, values: Any) -> Any:
        sample_of = self.problem.sample_of
        return values if sample_of is None else values[sample_of]

    def _objective(self, theta: Any, errors: Any) -> float:
        losses = errors * errors / self._at_variables(self.ridge)
        return 0.5 * float(theta @ self.system.penalty(theta)) + 0.5 * float(losses.sum())

    def run(self, limits: Limits, number: int, begun: float) -> Status:
        """Newton steps until the judged point is within tol, or a limit is reached."""
        try:
            if self.best_gap <= self.tol:
                return Status.OPTIMAL
            reach = self.system.forward(self.theta)
            while True:
                seconds = time.perf_counter() - begun
                gap = min(self.best_gap, 1.0 / self.tol)
                report = Progress(self.n_iter, max(gap, 2 * self.tol), self.tol, seconds, number)
                reason = limits.check(report)
                if reason is not None:
                    return reason
                moved = self._step(reach)
                self.n_iter += 1
                if moved is None or self.n_iter == _MOST_STEPS:
                    return Status.PRECISION
                reach = moved
                errors = self._errors(reach)
                self._consider(errors / self._at_variables(self.ridge))
                if self.best_gap <= self.tol:
                    return Status.OPTIMAL
        except KeyboardInterrupt:
            limits.interrupt()
            return Status.INTERRUPTED
        except np.linalg.LinAlgError:
            return Status.PRECISION

    def _step(self, reach: Any) -> Any:
        """Move θ downhill; x̃·θ there, None where rounding leaves no way down."""
        problem, system = self.problem, self.system
        errors = self._errors(reach)
        prices = 1.0 / self._at_variables(self.ridge)
        gradient = system.penalty(self.theta) - system.adjoint(
            problem.at_samples(problem.s * (errors * prices))
        )
        weights = problem.at_samples(self.arrays.where(errors > 0.0, prices, 0.0))
        if not weights.any():  # no row has an error: any bias is as good, and w = 0 is best
            weights = self.arrays.full_like(weights, float(prices.min()))
        system.factor(weights)
        move = -system.solve(gradient)
        along, slope = system.forward(move), float(gradient @ move)
        before = self._objective(self.theta, errors)
        length = 1.0
        for _ in range(_MOST_HALVINGS):
            theta, ahead = self.theta + length * move, reach + length * along
            if self._objective(theta, self._errors(ahead)) <= before + _LEAST_GAIN * length * slope:
                self.theta = theta
                return ahead
            length *= 0.5
        # Within rounding of the optimum the objective cannot tell: the full step is the best guess.
        if abs(slope) <= 1e-10 * max(before, 1e-300):
            self.theta = self.theta + move
            return reach + along
        return None

    def _consider(self, near: Any) -> None:
        """Keep the feasible point near the one given, if its KKT gap is the best so far."""
        problem = self.problem
        a = problem.nearest_feasible(near)
        if a is None:
            return
        z = problem.at_samples(problem.s * a)
        weights = self.system.adjoint(z)
        weights[-1] = 0.0
        f = self.system.forward(weights) + self.ridge * z
        gap = problem.kkt_gap(a, f)
        if gap < self.best_gap or not np.isfinite(self.best_gap):
            self.best_a, self.best_f, self.best_gap = a, f, gap
