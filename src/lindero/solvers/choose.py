"""Which solver for which problem: the only place that decides.

    hard margin                        `HardMarginSolver`
    linear kernel over few features    `LinearSolver`: small problems exactly, very many rows by
                                       sifting, else interior points; sparse ones with a small C
                                       by coordinate descent
    linear kernel over many            `WideLinearSolver`: the same with coordinate descent
    squared losses, few features       `SquaredNewtonSolver`
    any other                          `GeneralSolver`: small problems exactly, else decomposition

Every solver is made from ``tol``, ``cache_size`` and ``n_threads``. Solvers that wrap others stand
on `GeneralSolver`, so that what is small is said once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lindero.kernels.operator import KernelFunction, ProductKernel
from lindero.kernels.products import SparseProducts
from lindero.problems.dual_qp import DualQP
from lindero.solvers.interior_point import InteriorPointSolver
from lindero.solvers.linear_descent import LinearDescentSolver
from lindero.solvers.sifting import SiftingSolver
from lindero.solvers.small import (
    MOST_VARIABLES,
    PolishedInteriorPointSolver,
    SmallSolver,
    linear_features,
)
from lindero.solvers.solution import Limits, Solution, Solver, Start, Status
from lindero.solvers.squared_newton import SquaredNewtonSolver
from lindero.solvers.working_set import WorkingSetSolver

SOLVERS = ("auto", "working_set", "interior_point", "coordinate_descent")

#: Interior points cost n·d² a step: beyond this many features decomposition is the better bet.
MOST_FEATURES = 1_000

#: Beyond this many the matrix of a Newton step alone takes a gigabyte.
WIDEST = 5_000

#: With fewer rows their whole kernel matrix is soon computed, and decomposition works on it.
FEWEST_WIDE_ROWS = 1_000

#: Rows from which sifting pays, for each feature and at least.
SIFTED_A_FEATURE, FEWEST_SIFTED = 20, 5_000

#: Rows of few features are sparse up to this share of entries. Coordinates are tried first where
#: the bound times ‖x‖² is no larger than the second, for so many epochs.
_SPARSE_SHARE, _SHORT_REACH, _FEW_EPOCHS = 0.2, 2.0, 300

#: Fits of fewer rows in all are over before threads have started.
SMALL_FIT_ROWS = 2_000


def choose_solver(
    name: str,
    kernel: KernelFunction,
    shape: tuple[int, int],
    hard: bool,
    squared: bool = False,
) -> Callable[..., Solver]:
    """A constructor of solvers that takes ``tol``, ``cache_size`` and ``n_threads``."""
    n_samples, n_features = shape
    if name in ("interior_point", "coordinate_descent") and kernel.name != "linear":
        raise ValueError(
            f"solver={name!r} needs kernel='linear'; use solver='auto' or 'working_set' "
            f"for kernel={kernel.name!r}."
        )
    if name == "interior_point" and n_features > WIDEST:
        raise ValueError(
            f"solver='interior_point' keeps a matrix of features × features: at most {WIDEST} "
            f"features, not {n_features}. Use solver='working_set'."
        )
    if hard:
        # It wraps solvers of this file, so it cannot be imported at the top.
        from lindero.solvers.wrappers import HardMarginSolver

        return HardMarginSolver
    if name == "interior_point":
        return PolishedInteriorPointSolver
    few = n_features <= MOST_FEATURES and n_samples > n_features
    if squared and name == "auto":
        return SquaredNewtonSolver if few else WideLinearSolver
    if name == "coordinate_descent":
        return WideLinearSolver
    if name != "auto" or kernel.name != "linear":
        return GeneralSolver
    if few:
        return LinearSolver
    return WideLinearSolver if n_samples >= FEWEST_WIDE_ROWS else GeneralSolver


class GeneralSolver(Solver):
    """Solves any `DualQP` to a KKT gap of `tol`."""

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        solver: Solver = SmallSolver(self.tol)
        if problem.n_variables > MOST_VARIABLES:
            solver = WorkingSetSolver(self.tol, self.cache_size, self.n_threads)
        return solver.solve(problem, start, limits, number)


class LinearSolver(Solver):
    """Solves a linear `DualQP` with δ = 0 and finite u."""

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        solver: Solver = SmallSolver(self.tol)
        if problem.n_variables > MOST_VARIABLES:
            if _descends_fast(problem):
                first = LinearDescentSolver(self.tol, most_epochs=_FEW_EPOCHS)
                solution = first.solve(problem, start, limits, number)
                if solution.status not in (Status.STALLED, Status.PRECISION):
                    return solution
                limits = limits.deduct(solution.n_iter)
            many = problem.kernel.n_samples >= max(
                FEWEST_SIFTED, SIFTED_A_FEATURE * linear_features(problem.kernel)
            )
            kind = SiftingSolver if many else InteriorPointSolver
            solver = kind(self.tol, n_threads=self.n_threads)
        return solver.solve(problem, start, limits, number)


def _descends_fast(problem: DualQP) -> bool:
    """Whether coordinates take few epochs: rows are sparse, and what the bound of one alone may add
    to its own output is about a margin."""
    kernel = problem.kernel
    if not (isinstance(kernel, ProductKernel) and isinstance(kernel.products, SparseProducts)):
        return False
    if kernel.n_samples < FEWEST_WIDE_ROWS:
        return False
    n_entries = len(kernel.products.source.data)
    sparse = n_entries <= _SPARSE_SHARE * kernel.n_samples * kernel.products.n_features
    reach = float(problem.u.max(initial=0.0)) * float(kernel.products.squares.mean())
    return sparse and reach <= _SHORT_REACH


class WideLinearSolver(Solver):
    """Solves a linear `DualQP` with δ = 0 over many features, whose bounds may be infinite."""

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        if problem.n_variables <= MOST_VARIABLES:
            return SmallSolver(self.tol).solve(problem, start, limits, number)
        first = LinearDescentSolver(self.tol).solve(problem, start, limits, number)
        if first.status not in (Status.STALLED, Status.PRECISION):
            return first
        # Rows that are all but dependent, with large C, take coordinates without end.
        rest = WorkingSetSolver(self.tol, self.cache_size, self.n_threads)
        last = rest.solve(problem, first, limits.deduct(first.n_iter), number)
        return replace(last, n_iter=first.n_iter + last.n_iter)
