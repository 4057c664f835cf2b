"""Linear machines without an intercept: the solvers of those with one that can do without.

Few features: interior points, or Newton's method for squared losses, cost n·d² a step whatever C
is. Many features, and where rounding ends those before the gap is within tol: coordinate descent.
Without a sum to keep, a step of one coordinate is all there is to it. Small problems are solved to
a small share of tol, so that weights of rows do what repeated rows do.
"""

from __future__ import annotations

from dataclasses import replace

from lindero.kernels.special import RidgedKernel
from lindero.problems.dual_qp import DualQP
from lindero.solvers.choose import MOST_FEATURES
from lindero.solvers.interior_point import InteriorPointSolver
from lindero.solvers.linear_descent import LinearDescentSolver, LinearRows
from lindero.solvers.small import MOST_VARIABLES
from lindero.solvers.solution import FINE_SHARE, LEAST_FINE, Limits, Solution, Solver, Start, Status
from lindero.solvers.squared_newton import SquaredNewtonSolver


class OriginSolver(Solver):
    """Solves a linear `DualQP` without a bias."""

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        if problem.n_variables > MOST_VARIABLES:
            return self._solve_to(self.tol, problem, start, limits, number)
        fine = min(self.tol, max(FINE_SHARE * self.tol, LEAST_FINE))
        found = self._solve_to(fine, problem, start, limits, number)
        if problem.judge(found.a, found.f).kkt_gap <= self.tol:
            return replace(found, status=Status.OPTIMAL)
        return found

    def _solve_to(
        self, tol: float, problem: DualQP, start: Start, limits: Limits, number: int
    ) -> Solution:
        first, spent = start, 0
        if LinearRows.of(problem.kernel).n_features <= MOST_FEATURES:
            squared = isinstance(problem.kernel, RidgedKernel)
            solver = SquaredNewtonSolver if squared else InteriorPointSolver
            first = solver(tol, n_threads=self.n_threads).solve(problem, start, limits, number)
            if first.status is not Status.PRECISION:
                return first
            spent = first.n_iter
        last = LinearDescentSolver(tol).solve(problem, first, limits.deduct(spent), number)
        return replace(last, n_iter=spent + last.n_iter)
