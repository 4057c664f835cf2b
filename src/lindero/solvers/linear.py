"""The solver for linear kernels over few features: decomposition while small, else interior points.

A few hundred samples are a single working set, mostly solved before an interior-point method has
set itself up. But the steps of decomposition grow with C and with badly scaled features without
limit, those of interior points do not: so it gets one round, and interior points the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from lindero.problems.dual_qp import DualQP
from lindero.solvers.interior_point import InteriorPointSolver
from lindero.solvers.limits import Limits
from lindero.solvers.one_block import OneBlockSolver
from lindero.solvers.solution import Solution, Status
from lindero.solvers.working_set import ONE_BLOCK


@dataclass(frozen=True)
class LinearSolver:
    """Solves a linear `DualQP` with δ = 0 and finite u to a KKT gap of `tol`."""

    tol: float = 1e-3
    cache_size: float = 200.0
    n_threads: int | None = None

    def solve(
        self,
        problem: DualQP,
        start: Solution | None = None,
        limits: Limits | None = None,
        number: int = 0,
    ) -> Solution:
        """The solution of either, whichever is quicker."""
        limits = limits or Limits()
        if problem.n_variables > ONE_BLOCK:
            return InteriorPointSolver(self.tol, self.n_threads).solve(
                problem, start, limits, number
            )
        quick = OneBlockSolver(self.tol, rounds=1)
        solution = quick.solve(problem, start, limits, number)
        if solution.status not in (Status.PRECISION, Status.ITERATION_LIMIT):
            return solution
        inner = InteriorPointSolver(self.tol, 1).solve(problem, start, limits, number)
        n_iter = solution.n_iter + inner.n_iter
        if inner.status is Status.OPTIMAL:
            # From there one face is mostly enough to be exact.
            exact = quick.solve(problem, inner, limits, number)
            if exact.status is Status.OPTIMAL:
                return replace(exact, n_iter=n_iter + exact.n_iter)
        return replace(inner, n_iter=n_iter)
