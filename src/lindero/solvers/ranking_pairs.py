"""Ranking over any kernel: decomposition over pairs, or Newton steps over documents.

`WorkingSetSolver` stops by the KKT gap, which bounds the duality gap by C times the gap for each
pair that is not settled. Ranking is asked for a share of the objective instead, so the KKT gap is
lowered, each time from the last solution, until that is met; most often the first one does.

Its steps grow without limit where the kernel is badly conditioned. Documents are fewer than pairs,
though: with K = ZZᵀ over documents any kernel is linear in the features Z, and Newton's steps do
not mind conditioning. They take over where decomposition needs too many steps, if K is small enough
to be factored. The model is then the one of the multipliers, c = Σ ±a, with weights v = Zᵀc.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lindero.kernels.operator import KernelOperator
from lindero.problems.dual_qp import Judgement
from lindero.problems.ranking import LinearRanking, Queries, document_coefficients, pair_problem
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads
from lindero.solvers.limits import Limits
from lindero.solvers.ranking_newton import RankingNewtonSolver
from lindero.solvers.small import kernel_features
from lindero.solvers.solution import Status
from lindero.solvers.working_set import WorkingSetSolver

#: The first KKT gap, in units of the share of the objective.
_FIRST = 10.0

#: Lower ones are beyond rounding.
_LEAST = 1e-12

#: Steps of decomposition for each pair after which Newton's take over: a few are the rule.
_PATIENCE = 50

#: Kernel matrices over at most this many documents are factored.
_MOST_DOCUMENTS = 2_000


@dataclass(frozen=True)
class ExpansionSolution:
    """Coefficients c of the documents in f = Σ c_i k(·, x_i), and how good they are."""

    c: Array
    judgement: Judgement
    status: Status
    n_iter: int


@dataclass(frozen=True)
class RankingPairsSolver:
    """Solves ranking over any kernel to a duality gap of `tol` times the primal objective."""

    tol: float = 1e-4
    cache_size: float = 200.0
    patience: int = _PATIENCE

    def solve(
        self, kernel: KernelOperator, queries: Queries, C: float, limits: Limits | None = None
    ) -> ExpansionSolution:
        """The solution of the method that gets there."""
        limits = limits or Limits()
        factored = kernel.n_samples <= _MOST_DOCUMENTS
        first = self._by_pairs(kernel, queries, C, limits, self.patience if factored else None)
        stuck = first.status is Status.ITERATION_LIMIT and limits.steps_left(first.n_iter, 1) > 0
        if not stuck:
            return first
        Z = exact_factor(kernel)
        if Z is None:
            return self._by_pairs(kernel, queries, C, limits, None)
        second = self._by_documents(Z, queries, C, limits.after(first.n_iter))
        return replace(second, n_iter=first.n_iter + second.n_iter)

    def _by_pairs(
        self,
        kernel: KernelOperator,
        queries: Queries,
        C: float,
        limits: Limits,
        patience: int | None,
    ) -> ExpansionSolution:
        """Decomposition, of at most `patience` steps a pair."""
        problem = pair_problem(kernel, queries, C)
        limits = limits.after(0)
        if patience is not None:
            limits.max_iter = limits.steps_left(0, patience * problem.n_variables)
        kkt_tol, spent, solution = _FIRST * self.tol, 0, None
        while True:
            solver = WorkingSetSolver(kkt_tol, self.cache_size)
            solution = solver.solve(problem, solution, limits.after(spent))
            spent += solution.n_iter
            # The problem forces the bias to zero: it is taken as exactly that.
            judgement = problem.judge(solution.a, solution.f, 0.0)
            status = solution.status
            if _meets(judgement, self.tol) and not limits.interrupted:
                status = Status.OPTIMAL
            elif status is Status.OPTIMAL and kkt_tol < _LEAST:
                status = Status.PRECISION
            elif status is Status.OPTIMAL:
                kkt_tol *= 0.1
                continue
            c = document_coefficients(queries, solution.a)
            return ExpansionSolution(c, judgement, status, spent)

    def _by_documents(
        self, Z: Array, queries: Queries, C: float, limits: Limits
    ) -> ExpansionSolution:
        """Newton steps over the features Z."""
        solver = RankingNewtonSolver(0.5 * self.tol, most_direct=Z.shape[1])
        solution = solver.solve(Z, queries, C, limits=limits)
        v = Z.T @ solution.c
        with TileThreads(1) as threads:
            problem = LinearRanking(Z, queries, C, threads)
            t = problem.scores(v)
            primal = 0.5 * float(v @ v) + C * problem.hinge(t, problem.sorted(t))
        judgement = replace(solution.judgement, primal=primal)
        status = solution.status
        if status is Status.OPTIMAL and not _meets(judgement, self.tol):
            status = Status.PRECISION
        return ExpansionSolution(solution.c, judgement, status, solution.n_iter)


def _meets(judgement: Judgement, tol: float) -> bool:
    return judgement.duality_gap <= tol * abs(judgement.primal)


def exact_factor(kernel: KernelOperator) -> Array | None:
    """Z with K = ZZᵀ, or None where there is none: the kernel is not positive semi-definite."""
    features, _ = kernel_features(kernel)
    Z = np.empty((kernel.n_samples, features.products.n_features))
    features.products.fill_rows(Z)
    rows = np.arange(kernel.n_samples)
    K = kernel.astype(np.float64).matrix(rows, len(rows))
    close = np.abs(Z @ Z.T - K).max() <= 1e-8 * max(float(np.abs(np.diagonal(K)).max()), 1e-300)
    return Z if close else None
