"""The work of one fold and one kernel: its machines for all C, each going on from the last.

Along ascending C, from one solution a of the dual problem (bounds u) to the next (bounds u' > u):

    start   coefficients at their bound are put to the new one, the others stay; the sum is then
            mended by the free ones. Most rows inside the margin stay there when C grows.
    end     where a < u everywhere, no bound acts: a solves the problem for every larger C as well,
            with the same bias and the same gap. The rest of the path costs nothing, exactly.

With the kernel matrix of the fold at hand, the decision values of the validation rows are one
product. They are put into the fitted estimators that a scorer is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from lindero.kernels.operator import KernelFunction, KernelOperator, kernel_operator, origin
from lindero.kernels.special import MatrixKernel, RowMatrix
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array
from lindero.solvers.choose import GeneralSolver, choose_solver
from lindero.solvers.solution import Limits, Solution, Solver, Status
from lindero.solvers.wrappers import PathSolver

#: Number, training rows and validation rows of a fold.
Split = tuple[int, Array, Array]

Solved = list[tuple[DualQP, Solution]]


@dataclass(frozen=True)
class Machine:
    """One dual problem of a fold: its rows of the training part, and how a C states it."""

    rows: Array
    state: Callable[[KernelOperator, float], DualQP]


class Fold(Protocol):
    """The training and validation part of one split, as a formulation sees them.

    `train` and `test` are rows of the whole table.
    """

    train: Array
    test: Array
    X_train: Any
    X_test: Any
    machines: Sequence[Machine]

    def function(self, gamma: Any) -> KernelFunction: ...

    def fitted(
        self, C: float, gamma: Any, function: KernelFunction, shift: Array | None, solved: Solved
    ) -> Any:
        """The estimator that fitting the training part with these parameters gives."""
        ...


@dataclass(frozen=True)
class PathSettings:
    """What is the same for all paths of a search; `n_threads` is for each solver."""

    tol: float
    cache_size: float
    n_threads: int | None
    limits: Limits
    report: Callable[[float], None]


def fold_path(
    fold: Fold, gamma: Any, Cs: Sequence[float], matrix: RowMatrix | None, settings: PathSettings
) -> list[Any]:
    """A fitted estimator for each of the ascending Cs."""
    function = fold.function(gamma)
    n_rows = len(fold.train)
    longest = max(len(machine.rows) for machine in fold.machines)
    make_solver = choose_solver("auto", function, (longest, fold.X_train.shape[1]), hard=False)
    if make_solver is not GeneralSolver:
        matrix = None  # interior points want the features
    solver: Solver = PathSolver(settings.tol)
    if matrix is None:
        solver = make_solver(
            tol=settings.tol, cache_size=settings.cache_size, n_threads=settings.n_threads
        )
    shift = origin(fold.X_train, function) if matrix is None else matrix.shift
    over: KernelOperator | None = None
    paths = []
    for machine in fold.machines:
        whole = len(machine.rows) == n_rows
        if over is None or not whole:
            over = _kernel_of(fold, machine.rows, function, matrix, shift)
        paths.append(_along(machine, over, Cs, solver, settings, 1 / len(fold.machines)))
    models = [
        fold.fitted(C, gamma, function, shift, [path[i] for path in paths])
        for i, C in enumerate(Cs)
    ]
    if matrix is not None:
        cross = matrix.between(fold.test, fold.train, function)
        for i, model in enumerate(models):
            z = np.zeros((n_rows, len(paths)))
            for k, (machine, path) in enumerate(zip(fold.machines, paths, strict=True)):
                problem, solution = path[i]
                z[machine.rows, k] = problem.at_samples(problem.s * solution.a)
            biases = np.array([path[i][1].bias for path in paths])
            model.know(fold.X_test, cross @ z + biases)
    return models


def _kernel_of(
    fold: Fold,
    rows: Array,
    function: KernelFunction,
    matrix: RowMatrix | None,
    shift: Array | None,
) -> KernelOperator:
    if matrix is not None:
        return MatrixKernel(matrix.among(fold.train[rows], function))
    kernel = kernel_operator(fold.X_train, function, shift=shift)
    return kernel if len(rows) == kernel.n_samples else kernel.subset(rows)


def _along(
    machine: Machine,
    kernel: KernelOperator,
    Cs: Sequence[float],
    solver: Solver,
    settings: PathSettings,
    share: float,
) -> Solved:
    """The problem and its solution for each C."""
    solved: Solved = []
    for C in Cs:
        problem = machine.state(kernel, C)
        solution = _next(problem, solved[-1] if solved else None, solver, settings.limits)
        if settings.limits.interrupted:
            raise KeyboardInterrupt
        solved.append((problem, solution))
        settings.report(share)
    return solved


def _next(
    problem: DualQP, last: tuple[DualQP, Solution] | None, solver: Solver, limits: Limits
) -> Solution:
    if last is None:
        return solver.solve(problem, None, limits)
    old, solution = last
    at_bound = (solution.a >= old.u) & (old.u > 0)
    if solution.status is Status.OPTIMAL and not at_bound.any():
        return replace(solution, n_iter=0, seconds=0.0)
    start = replace(solution, a=np.where(at_bound, problem.u, solution.a))
    return solver.solve(problem, start, limits)
