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

#: Small problems are solved to this gap by interior points: a few more steps, cheap ones.
_SMALL_TOL = 1e-9


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
        solution = OneBlockSolver(self.tol, one_round=True).solve(problem, start, limits, number)
        if solution.status not in (Status.PRECISION, Status.ITERATION_LIMIT):
            return solution
        spent = solution.n_iter
        exact = InteriorPointSolver(min(self.tol, _SMALL_TOL), 1)
        solution = exact.solve(problem, start, limits, number)
        within = problem.judge(solution.a, solution.f).kkt_gap <= self.tol
        return replace(
            solution,
            n_iter=spent + solution.n_iter,
            status=Status.OPTIMAL if within else solution.status,
        )
