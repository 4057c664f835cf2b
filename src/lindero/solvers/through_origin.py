"""Machines without an intercept: the solvers of those with one that can do without.

Any kernel. A problem without a bias is one with a bias and one sample more, whose kernel values are
all zero and which is free to have any coefficient: it takes up the sum of all others, and its own
condition is that the bias is zero. That costs nothing beside decomposition.

Linear kernels. Few features: interior points, or Newton's method for squared losses, cost n·d² a
step whatever C is. Many features, and where rounding ends those before the gap is within tol:
coordinate descent. Without a sum to keep, a step of one coordinate is all there is to it. Small
problems are solved to a small share of tol, so that weights of rows do what repeated rows do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lindero.kernels.special import BorderedKernel, RidgedKernel
from lindero.problems.dual_qp import DualQP
from lindero.solvers.choose import MOST_FEATURES, GeneralSolver
from lindero.solvers.interior_point import InteriorPointSolver
from lindero.solvers.linear_descent import LinearDescentSolver, LinearRows
from lindero.solvers.small import MOST_VARIABLES
from lindero.solvers.solution import FINE_SHARE, LEAST_FINE, Limits, Solution, Solver, Start, Status
from lindero.solvers.squared_newton import SquaredNewtonSolver


class KernelOriginSolver(Solver):
    """Solves a `DualQP` without a bias, with any kernel and finite bounds."""

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        n, n_samples = problem.n_variables, problem.kernel.n_samples
        sample_of = np.arange(n) if problem.sample_of is None else problem.sample_of
        # Either side of the free sample alone can hold the sum of all others.
        most = 2.0 * float(problem.u.sum()) + 1.0
        bordered = DualQP(
            BorderedKernel(problem.kernel, np.append(np.arange(n_samples), -1)),
            np.append(problem.p, [0.0, 0.0]),
            np.append(problem.s, [1.0, -1.0]),
            np.append(problem.u, [most, most]),
            sample_of=np.append(sample_of, [n_samples, n_samples]),
        )
        if start is not None:
            total = float(problem.s @ start.a)
            a = np.append(start.a, [max(0.0, -total), max(0.0, total)])
            start = replace(start, a=a, f=np.append(start.f, 0.0), bias=0.0)
        solver = GeneralSolver(self.tol, self.cache_size, self.n_threads)
        found = solver.solve(bordered, start, limits, number)
        a = problem.snap(found.a[:n].copy())
        return replace(found, a=a, f=problem.kernel_sums(a), bias=0.0, interior=None)


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
