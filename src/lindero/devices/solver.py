"""Solvers of problems over rows on a device."""

from __future__ import annotations

from collections.abc import Sequence

from lindero.problems.dual_qp import DualQP
from lindero.solvers.choose import GeneralSolver
from lindero.solvers.solution import Limits, Solution, Solver, Start


class DeviceSolver(Solver):
    """Solves a `DualQP` over a `DeviceKernel` to a KKT gap of `tol`."""

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        solver = GeneralSolver(self.tol, self.cache_size, self.n_threads)
        return solver.solve(problem, start, limits, number)

    def solve_all(
        self, problems: Sequence[DualQP], starts: Sequence[Start], limits: Limits
    ) -> list[Solution]:
        """The solutions of several problems."""
        return [
            self.solve(problem, start, limits, number)
            for number, (problem, start) in enumerate(zip(problems, starts, strict=True))
        ]
