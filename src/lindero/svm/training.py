"""From the binary tasks of a fit to their solutions: which solver, in which threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from lindero.errors import NotSeparableError
from lindero.problems.dual_qp import DualQP
from lindero.runtime.threads import TileThreads, single_threaded_blas
from lindero.solvers.choose import SMALL_FIT_ROWS
from lindero.solvers.solution import Limits, Solution, Solver, Status
from lindero.solvers.wrappers import not_separable_message
from lindero.svm.multiclass import BinaryTask

#: Tasks of at most this many rows run side by side, one thread each; larger ones one by one.
SIDE_BY_SIDE_ROWS = 20_000


def solve_all(
    tasks: Sequence[BinaryTask],
    state: Callable[[BinaryTask], DualQP],
    make_solver: Callable[..., Solver],
    tol: float,
    cache_size: float,
    starts: Sequence[Solution | None],
    limits: Limits,
) -> list[tuple[DualQP, Solution]]:
    """Solve each task, stated only when its turn comes; unsolved ones after an interruption get
    the zero solution, so that what was solved is not lost."""
    solved: list[Any] = [None] * len(tasks)

    def work(number: int, n_threads: int | None, share: float) -> None:
        problem = state(tasks[number])
        if limits.interrupted:
            solved[number] = (problem, _nothing(problem))
            return
        solver = make_solver(tol=tol, cache_size=cache_size * share, n_threads=n_threads)
        try:
            solved[number] = (problem, solver.solve(problem, starts[number], limits, number))
        except KeyboardInterrupt:
            limits.interrupt()
            solved[number] = (problem, _nothing(problem))
        except NotSeparableError as error:
            limits.interrupt()
            rows = tasks[number].rows[list(error.samples)]
            raise NotSeparableError(not_separable_message(rows), rows.tolist()) from None
        except BaseException:
            limits.interrupt()  # no use in going on with the others
            raise

    sizes = [len(task.rows) for task in tasks]
    if sum(sizes) < SMALL_FIT_ROWS:
        with single_threaded_blas:
            for number in range(len(tasks)):
                work(number, 1, 1.0)
        return solved
    if len(tasks) == 1 or max(sizes) > SIDE_BY_SIDE_ROWS:
        for number in range(len(tasks)):
            work(number, None, 1.0)
        return solved
    with TileThreads() as threads:
        try:
            threads.map(partial(work, n_threads=1, share=1 / threads.n_threads), range(len(tasks)))
        except KeyboardInterrupt:
            limits.interrupt()
    for number, done in enumerate(solved):
        if done is None:
            work(number, 1, 1.0)
    return solved


def solve_one(
    problem: DualQP,
    make_solver: Callable[..., Solver],
    tol: float,
    cache_size: float,
    start: Solution | None,
    limits: Limits,
) -> Solution:
    """Solve a single problem; small ones without starting threads."""
    small = problem.n_variables < SMALL_FIT_ROWS
    solver = make_solver(tol=tol, cache_size=cache_size, n_threads=1 if small else None)
    if not small:
        return solver.solve(problem, start, limits)
    with single_threaded_blas:
        return solver.solve(problem, start, limits)


def _nothing(problem: DualQP) -> Solution:
    a, f = np.zeros(problem.n_variables), np.zeros(problem.kernel.n_samples)
    bias = 0.0 if problem.group_sizes is None else np.zeros(problem.n_groups)
    return Solution(a, f, bias, Status.INTERRUPTED, 0, 0.0)
