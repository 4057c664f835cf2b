"""The solver for linear kernels over few features: small problems apart, interior points."""

from __future__ import annotations

from dataclasses import dataclass

from lindero.problems.dual_qp import DualQP
from lindero.solvers.interior_point import InteriorPointSolver
from lindero.solvers.limits import Limits
from lindero.solvers.small import MOST_VARIABLES, SmallSolver
from lindero.solvers.solution import Solution


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
        """The solution of the method that suits the size."""
        if problem.n_variables <= MOST_VARIABLES:
            return SmallSolver(self.tol).solve(problem, start, limits, number)
        return InteriorPointSolver(self.tol, self.n_threads).solve(problem, start, limits, number)
