"""The folds of a search: each with its machines for all C and gamma, side by side in threads.

What is done to the training rows of a fold is what `fit` of the estimator does to a table, so that
the models are the same; only the solving is shared.

A path is one gamma on one fold, along ascending C, each point solved from the one before.
Where the kernel matrix of the fold is known, the decision values of the validation rows are one
product. They are put into the fitted estimators that a scorer is given.

Threads solve paths (compiled code and BLAS release Python's lock); the scoring is done in the
thread that called `fit`, since a user's scorer need not be thread-safe and scikit-learn's settings
belong to a thread. Paths of small gammas go first: those kernels are the smoothest, their problems
take longest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from lindero.kernels.operator import KernelFunction, KernelOperator
from lindero.kernels.special import MatrixKernel, RowMatrix, side_by_side
from lindero.problems.formulation import Formulation, Task
from lindero.runtime.arrays import Array
from lindero.runtime.threads import available_threads, single_threaded_blas
from lindero.solvers.choose import GeneralSolver
from lindero.solvers.solution import Certificate, Limits
from lindero.solvers.wrappers import PathSolver
from lindero.svm.fitting import (
    SIDE_BY_SIDE_ROWS,
    KernelEstimator,
    TaskTurns,
    TrainingSet,
    adopt_solutions,
    certify_solutions,
    fit_machines,
    remember_values,
)
from lindero.svm.progress import SearchCallback, SearchProgress, counting_fits
from lindero.validation import make_kernel_function

#: Number, training rows and validation rows of a fold.
Split = tuple[int, Array, Array]


# -- a fold ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SearchFold:
    """The training and validation part of one split, as a formulation with C = 1 sees them. `train`
    and `test` are rows of the whole table; `counts` how many rows each training row counts for,
    `weights` their factors of C; `targets` are codes of classes if there are `n_classes`.
    `template` is the unfitted estimator, `attributes` what its fits have besides what the solutions
    say."""

    template: KernelEstimator
    formulation: Formulation
    train: Array
    test: Array
    X_train: Any
    X_test: Any
    counts: Array
    weights: Array
    targets: Array
    n_classes: int = 0
    scheme: str = "ovo"
    attributes: dict[str, Any] = field(default_factory=dict)

    def training_set(self, gamma: Any) -> TrainingSet:
        point, X = set_point(self.template, 1.0, gamma), self.X_train
        function = make_kernel_function(point, X, self.counts)
        targets = (self.targets, self.n_classes, self.scheme)
        return TrainingSet.of(self.formulation, X, function, self.weights, *targets)


def set_point(template: KernelEstimator, C: float, gamma: Any) -> KernelEstimator:
    """A copy of an unfitted estimator at a point of the grid, without the checks of `set_params`:
    a search makes thousands."""
    copied = object.__new__(type(template))
    copied.__dict__ = {**vars(template), "C": C}
    if gamma is not None:
        copied.__dict__["gamma"] = gamma
    return copied


# -- a path ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PathSettings:
    """What is the same for all paths of a search; `n_threads` is for each solver."""

    tol: float
    cache_size: float
    n_threads: int | None
    limits: Limits
    report: Callable[[float], None]


def fit_path(
    fold: SearchFold,
    gamma: Any,
    Cs: Sequence[float],
    matrix: RowMatrix | None,
    settings: PathSettings,
) -> list[KernelEstimator]:
    """A fitted estimator for each of the ascending Cs."""
    training = fold.training_set(gamma)
    make_solver = training.choose_solver("auto")
    kernels = None
    if make_solver is not GeneralSolver:
        matrix = None  # interior points want the features
    if matrix is not None:
        training, make_solver = replace(training, shift=matrix.shift), PathSolver
        kernels = _gather_kernels(matrix, fold.train, training.function)

    def report() -> None:
        if settings.limits.interrupted:
            raise KeyboardInterrupt
        settings.report(1 / len(training.tasks))

    path = [
        training.with_formulation(replace(fold.formulation, C=C))  # type: ignore[call-arg]
        for C in Cs
    ]
    turns = TaskTurns(settings.n_threads, report, kernels)
    solved = fit_machines(
        path, make_solver, settings.tol, settings.cache_size, settings.limits, turns=turns
    )
    if matrix is not None:
        cross = matrix.between(fold.test, fold.train, training.function)
    models = []
    for C, point, machines in zip(Cs, path, solved, strict=True):
        model = set_point(fold.template, C, gamma)
        model.__dict__.update(fold.attributes)
        if fold.X_train.ndim == 2:
            model.n_features_in_ = fold.X_train.shape[1]
        machines, parts = certify_solutions(machines, settings.tol)
        functions = adopt_solutions(model, point, machines)
        model.certificate_ = Certificate.join(parts, sum(part.seconds for part in parts))
        if matrix is not None:
            z = np.zeros((len(fold.train), len(functions)))
            for k, (task, function) in enumerate(zip(point.tasks, functions, strict=True)):
                z[task.rows, k] = function.coefficients
            biases = np.array([function.intercept for function in functions])
            remember_values(model, fold.X_test, cross @ z + biases)
        models.append(model)
    return models


def _gather_kernels(
    matrix: RowMatrix, train: Array, function: KernelFunction
) -> Callable[[Task], KernelOperator]:
    """A function that gives the kernel over the rows of a task, from a matrix at hand."""

    def gather(rows: Array) -> KernelOperator:
        return MatrixKernel(matrix.among(rows, function))

    whole = cache(lambda: gather(train))  # one-vs-rest asks for it for each class
    return lambda task: whole() if len(task.rows) == len(train) else gather(train[task.rows])


# -- all paths ------------------------------------------------------------------------------------


@dataclass
class SearchScores:
    """Arrays of shape (n_gammas, n_Cs, n_splits); NaN where the callback ended the search."""

    scores: Array
    fit_times: Array
    score_times: Array
    n_done: int = 0
    n_unfinished: int = 0
    worst_gap: float = 0.0


@dataclass(frozen=True)
class Search:
    """A grid of C × gamma, the folds it is tried on, and how a model is scored on one of them."""

    Cs: Sequence[float]
    gammas: Sequence[Any]
    folds: Sequence[SearchFold]
    X: Any
    score: Callable[[Any, int], float]
    callback: SearchCallback | None

    def run(self, tol: float, cache_size: float, limits: Limits, verbose: bool) -> SearchScores:
        """Score every point on every fold."""
        shape = (len(self.gammas), len(self.Cs), len(self.folds))
        outcome = SearchScores(np.full(shape, np.nan), np.zeros(shape), np.zeros(shape))
        order = np.argsort(self.Cs, kind="stable")
        ascending = [self.Cs[c] for c in order]
        numbers = [gamma if isinstance(gamma, float) else 0.0 for gamma in self.gammas]
        gammas = np.argsort(numbers, kind="stable").tolist()
        jobs = [(g, k) for g in gammas for k in range(len(self.folds))]
        begun = time.perf_counter()
        with single_threaded_blas, counting_fits(verbose, outcome.scores.size) as report:
            n_workers, matrix = self._plan(len(jobs), cache_size)
            share, n_threads = cache_size / max(1, n_workers), 1 if n_workers else None
            settings = PathSettings(tol, share, n_threads, limits, report)

            def solve(job: tuple[int, int]) -> list[Any]:
                g, k = job
                return fit_path(self.folds[k], self.gammas[g], ascending, matrix, settings)

            with closing(_complete(solve, jobs, n_workers, limits)) as ended:
                for (g, k), models in ended:
                    for c, model in zip(order, models, strict=True):
                        if self._enter(outcome, (g, int(c), k), model, begun):
                            return outcome
        return outcome

    def _enter(
        self, outcome: SearchScores, place: tuple[int, int, int], model: Any, begun: float
    ) -> bool:
        """Score a model, write down what it took and tell the callback; whether this wants the
        search, which was begun then, to end."""
        g, c, k = place
        fitted = time.perf_counter()
        outcome.scores[place] = score = self.score(model, k)
        outcome.score_times[place] = time.perf_counter() - fitted
        outcome.fit_times[place] = model.certificate_.seconds
        outcome.n_done += 1
        if model.fit_status_:
            outcome.n_unfinished += 1
            outcome.worst_gap = max(outcome.worst_gap, model.certificate_.kkt_gap)
        if self.callback is None:
            return False
        point, n_total = (self.Cs[c], self.gammas[g], k, score), outcome.scores.size
        progress = SearchProgress(*point, outcome.n_done, n_total, time.perf_counter() - begun)
        return bool(self.callback(progress))

    def _plan(self, n_jobs: int, cache_size: float) -> tuple[int, RowMatrix | None]:
        """Threads for jobs side by side (0: one after another, each with all threads), and the
        matrix they share if it fits."""
        parts = [fold.training_set(self.gammas[0]) for fold in self.folds]
        n_rows = self.X.shape[0]
        longest = max(len(fold.train) for fold in self.folds)
        at_most = min(available_threads(), n_jobs)
        if GeneralSolver in {part.choose_solver("auto") for part in parts}:
            fitting = side_by_side(n_rows, longest, cache_size, at_most)
            return fitting, RowMatrix(self.X, parts[0].function) if fitting else None
        return at_most if longest <= SIDE_BY_SIDE_ROWS else 0, None


def _complete(
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
