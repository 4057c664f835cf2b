"""Which solver for which problem: the only place that decides."""

from __future__ import annotations

from collections.abc import Callable

from lindero.kernels.functions import KernelFunction
from lindero.solvers.hard_margin import HardMarginSolver
from lindero.solvers.linear import LinearSolver
from lindero.solvers.small import PolishedInteriorPointSolver
from lindero.solvers.solution import Solver
from lindero.solvers.working_set import WorkingSetSolver

SOLVERS = ("auto", "working_set", "interior_point")

#: Interior points cost n·d² a step: beyond this many features decomposition is the better bet.
MOST_FEATURES = 1_000

#: Beyond this many the matrix of a Newton step alone takes a gigabyte.
WIDEST = 5_000

#: Fits of fewer rows in all are over before threads have started.
SMALL_FIT_ROWS = 2_000


def choose_solver(
    name: str, kernel: KernelFunction, shape: tuple[int, int], hard: bool
) -> Callable[..., Solver]:
    """A constructor of solvers that takes ``tol``, ``cache_size`` and ``n_threads``."""
    n_samples, n_features = shape
    if name == "interior_point" and kernel.name != "linear":
        raise ValueError(
            "solver='interior_point' needs kernel='linear'; use solver='auto' or 'working_set' "
            f"for kernel={kernel.name!r}."
        )
    if name == "interior_point" and n_features > WIDEST:
        raise ValueError(
            f"solver='interior_point' keeps a matrix of features × features: at most {WIDEST} "
            f"features, not {n_features}. Use solver='working_set'."
        )
    if hard:
        return HardMarginSolver
    fits = kernel.name == "linear" and n_features <= MOST_FEATURES and n_samples > n_features
    if name == "interior_point":
        return _interior_point
    return LinearSolver if name == "auto" and fits else WorkingSetSolver


def _interior_point(tol: float, cache_size: float, n_threads: int | None) -> Solver:
    return PolishedInteriorPointSolver(tol, n_threads)
