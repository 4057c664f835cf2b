"""All paths of a search, side by side in threads, and their scores.

A job is one gamma on one fold. Threads solve (compiled code and BLAS release Python's lock); the
scoring is done here, in the thread that called `fit`, since a user's scorer need not be
thread-safe and scikit-learn's settings belong to a thread. Jobs of small gammas go first: those
kernels are the smoothest, their problems take longest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from lindero.kernels.special import RowMatrix, side_by_side
from lindero.runtime.arrays import Array
from lindero.runtime.threads import available_threads, single_threaded_blas
from lindero.solvers.choose import GeneralSolver, choose_solver
from lindero.solvers.solution import Limits
from lindero.svm.fold_path import Fold, PathSettings, fold_path
from lindero.svm.search_grid import Grid
from lindero.svm.search_progress import SearchCallback, SearchProgress, progress_bar
from lindero.svm.training import SIDE_BY_SIDE_ROWS


@dataclass
class Outcome:
    """Arrays of shape (n_gammas, n_Cs, n_splits); NaN where the callback ended the search."""

    scores: Array
    fit_times: Array
    score_times: Array
    n_done: int = 0
    n_unfinished: int = 0
    worst_gap: float = 0.0


@dataclass(frozen=True)
class Search:
    """A grid, the folds it is tried on, and how a fitted model is scored on one of them."""

    grid: Grid
    folds: Sequence[Fold]
    X: Any
    score: Callable[[Any, int], float]
    tol: float
    cache_size: float
    max_iter: int | None
    verbose: bool
    callback: SearchCallback | None

    def run(self) -> Outcome:
        """Score every point on every fold."""
        shape = (len(self.grid.gammas), len(self.grid.Cs), len(self.folds))
        outcome = Outcome(np.full(shape, np.nan), np.zeros(shape), np.zeros(shape))
        order = np.argsort(self.grid.Cs, kind="stable")
        Cs = [self.grid.Cs[c] for c in order]
        gammas = sorted(range(shape[0]), key=lambda g: _as_number(self.grid.gammas[g]))
        jobs = [(g, k) for g in gammas for k in range(len(self.folds))]
        limits = Limits(max_iter=self.max_iter)
        begun = time.perf_counter()
        with single_threaded_blas, progress_bar(self.verbose, outcome.scores.size) as report:
            n_workers, matrix = self._plan(len(jobs))
            cache_size = self.cache_size / max(1, n_workers)
            n_threads = 1 if n_workers else None
            settings = PathSettings(self.tol, cache_size, n_threads, limits, report)

            def solve(job: tuple[int, int]) -> list[Any]:
                g, k = job
                return fold_path(self.folds[k], self.grid.gammas[g], Cs, matrix, settings)

            with closing(_completed(solve, jobs, n_workers, limits)) as ended:
                for (g, k), models in ended:
                    for c, model in zip(order, models, strict=True):
                        self._enter(outcome, (g, int(c), k), model)
                        if self._report(outcome, (g, int(c), k), time.perf_counter() - begun):
                            return outcome
        return outcome

    def _enter(self, outcome: Outcome, place: tuple[int, int, int], model: Any) -> None:
        """Score a model and write down what it took."""
        begun = time.perf_counter()
        outcome.scores[place] = self.score(model, place[2])
        outcome.score_times[place] = time.perf_counter() - begun
        outcome.fit_times[place] = model.certificate_.seconds
        outcome.n_done += 1
        if model.fit_status_:
            outcome.n_unfinished += 1
            outcome.worst_gap = max(outcome.worst_gap, model.certificate_.kkt_gap)

    def _report(self, outcome: Outcome, place: tuple[int, int, int], seconds: float) -> bool:
        """Tell the callback; whether it wants the search to end."""
        if self.callback is None:
            return False
        g, c, k = place
        return bool(
            self.callback(
                SearchProgress(
                    C=self.grid.Cs[c],
                    gamma=self.grid.gammas[g],
                    fold=k,
                    score=float(outcome.scores[place]),
                    n_done=outcome.n_done,
                    n_total=outcome.scores.size,
                    seconds=seconds,
                )
            )
        )

    def _plan(self, n_jobs: int) -> tuple[int, RowMatrix | None]:
        """Threads for jobs side by side (0: one after another, each with all threads), and the
        matrix they share if it fits."""
        function = self.folds[0].function(self.grid.gammas[0])
        n_rows = self.X.shape[0]
        longest = max(len(fold.train) for fold in self.folds)
        at_most = min(available_threads(), n_jobs)
        solvers = {choose_solver("auto", function, _shape(fold), hard=False) for fold in self.folds}
        if GeneralSolver in solvers:
            fitting = side_by_side(n_rows, longest, self.cache_size, at_most)
            return fitting, RowMatrix(self.X, function) if fitting else None
        return at_most if longest <= SIDE_BY_SIDE_ROWS else 0, None


def _shape(fold: Fold) -> tuple[int, int]:
    return max(len(machine.rows) for machine in fold.machines), fold.X_train.shape[1]


def _as_number(gamma: Any) -> float:
    return gamma if isinstance(gamma, float) else 0.0


def _completed(
    work: Callable[[Any], Any], jobs: Sequence[Any], n_workers: int, limits: Limits
) -> Generator[tuple[Any, Any]]:
    """Jobs with what `work` returned for them, in the order in which they end."""
    if n_workers == 0:
        for job in jobs:
            yield job, work(job)
        return
    pool = ThreadPoolExecutor(n_workers, thread_name_prefix="lindero")
    try:
        waiting = {pool.submit(work, job): job for job in jobs}
        for future in as_completed(waiting):
            yield waiting.pop(future), future.result()
    finally:
        # After an interruption, an error or a stop: solvers notice within a few steps.
        limits.interrupt()
        pool.shutdown(wait=True, cancel_futures=True)
