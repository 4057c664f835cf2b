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
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from lindero.devices.homes import to_host
from lindero.devices.rows import DeviceRows
from lindero.kernels.operator import KernelFunction, KernelOperator
from lindero.kernels.special import MatrixKernel, RowMatrix, side_by_side
from lindero.problems.formulation import Formulation, Task
from lindero.runtime.arrays import Array
from lindero.runtime.threads import available_threads, single_threaded_blas
from lindero.solvers.choose import GeneralSolver
from lindero.solvers.solution import Certificate, Limits
from lindero.solvers.wrappers import PathSolver
from lindero.svm.fitted_machines import adopt_solutions, remember_values
from lindero.svm.fitting import (
    SIDE_BY_SIDE_ROWS,
    Solved,
    TaskTurns,
    TrainingSet,
    fit_machines,
    solve_together,
)
from lindero.svm.judging import certify_solutions
from lindero.svm.kernel_estimator import KernelEstimator
from lindero.svm.progress import SearchCallback, SearchProgress, counting_fits
from lindero.validation import make_kernel_function

#: Rows of all problems that are handed to a device at once.
_ROWS_TOGETHER = 200_000

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

    path = [_put_C(training, fold, C) for C in Cs]
    turns = TaskTurns(settings.n_threads, report, kernels)
    solved = fit_machines(
        path, make_solver, settings.tol, settings.cache_size, settings.limits, turns=turns
    )
    return _adopt_path(fold, gamma, Cs, path, solved, settings.tol, matrix)


def fit_paths(
    jobs: Sequence[tuple[SearchFold, Any, Sequence[float]]], settings: PathSettings
) -> list[list[KernelEstimator]]:
    """The same for many paths over rows on a device, which solves all of them together; each is a
    fold, a gamma and ascending Cs."""
    paths = []
    for fold, gamma, Cs in jobs:
        training = fold.training_set(gamma)
        paths.append([_put_C(training, fold, C) for C in Cs])
    solver = paths[0][0].choose_solver("auto")(settings.tol, settings.cache_size)
    share = 1 / len(paths[0][0].tasks)

    def report() -> None:
        if settings.limits.interrupted:
            raise KeyboardInterrupt
        settings.report(share)

    solved = solve_together(paths, solver, settings.limits, report=report)
    return [
        _adopt_path(*job, path, points, settings.tol, None)
        for job, path, points in zip(jobs, paths, solved, strict=True)
    ]


def _put_C(training: TrainingSet, fold: SearchFold, C: float) -> TrainingSet:  # noqa: N802
    return training.with_formulation(replace(fold.formulation, C=C))  # type: ignore[call-arg]


def _adopt_path(
    fold: SearchFold,
    gamma: Any,
    Cs: Sequence[float],
    path: Sequence[TrainingSet],
    solved: Sequence[Solved],
    tol: float,
    matrix: RowMatrix | None,
) -> list[KernelEstimator]:
    """A fitted estimator for each point of a path that was solved."""
    training = path[0]
    if matrix is not None:
        cross = matrix.between(fold.test, fold.train, training.function)
    models = []
    known: tuple[list[Any], Any] = [], None
    for C, point, machines in zip(Cs, path, solved, strict=True):
        model = set_point(fold.template, C, gamma)
        model.__dict__.update(fold.attributes)
        if fold.X_train.ndim == 2:
            model.n_features_in_ = fold.X_train.shape[1]
        machines, parts = certify_solutions(machines, tol)
        functions = adopt_solutions(model, point, machines)
        model.certificate_ = Certificate.join(parts, sum(part.seconds for part in parts))
        if matrix is not None:
            z = np.zeros((len(fold.train), len(functions)))
            for k, (task, function) in enumerate(zip(point.tasks, functions, strict=True)):
                z[task.rows, k] = function.coefficients
            biases = np.array([function.intercept for function in functions])
            remember_values(model, fold.X_test, cross @ z + biases)
        elif training.function.name == "linear":
            # Rows of a fold have been checked with all others. Where no bound acts, all larger Cs
            # have the same weights.
            weights = [solution.weights for _, solution in machines]
            same = [old is new is not None for old, new in zip(known[0], weights, strict=False)]
            if not same or not all(same):
                known = weights, np.asarray(to_host(model._evaluate(fold.X_test)))
            remember_values(model, fold.X_test, known[1])
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
class PointScores:
    """Scores of a point of the grid on all folds, NaN where it was not tried, and the seconds."""

    scores: Array
    fit_times: Array
    score_times: Array

    @classmethod
    def of_folds(cls, n_folds: int) -> PointScores:
        return cls(np.full(n_folds, np.nan), np.zeros(n_folds), np.zeros(n_folds))


@dataclass
class SearchOutcome:
    """How far a search has come; `stopped` by its callback."""

    n_total: int = 0
    n_done: int = 0
    n_unfinished: int = 0
    worst_gap: float = 0.0
    stopped: bool = False


@dataclass(frozen=True)
class Search:
    """Folds that points (C, gamma) are tried on, and how a model is scored on one of them; `gamma`
    is that of any point. What it learns of the fits is added to `outcome`."""

    folds: Sequence[SearchFold]
    X: Any
    gamma: Any
    score: Callable[[Any, int], float]
    callback: SearchCallback | None
    tol: float
    cache_size: float
    limits: Limits
    verbose: bool
    outcome: SearchOutcome = field(default_factory=SearchOutcome)
    begun: float = field(default_factory=time.perf_counter)

    def try_points(self, points: Sequence[tuple[float, Any]]) -> dict[Any, PointScores]:
        """Score these points on every fold."""
        found = {point: PointScores.of_folds(len(self.folds)) for point in points}
        paths: dict[Any, list[float]] = {}
        for C, gamma in sorted(found, key=lambda point: point[0]):
            paths.setdefault(gamma, []).append(C)
        # Small gammas first: they take longest.
        order = sorted(paths, key=lambda gamma: gamma if isinstance(gamma, float) else 0.0)
        jobs = [(gamma, k) for gamma in order for k in range(len(self.folds))]
        n_fits = len(found) * len(self.folds)
        self.outcome.n_total += n_fits
        with single_threaded_blas, counting_fits(self.verbose, n_fits) as report:
            n_workers, matrix = self._plan
            n_workers = min(n_workers, len(jobs))
            share, n_threads = self.cache_size / max(1, n_workers), 1 if n_workers else None
            settings = PathSettings(self.tol, share, n_threads, self.limits, report)

            def solve(job: tuple[Any, int]) -> list[Any]:
                gamma, k = job
                return fit_path(self.folds[k], gamma, paths[gamma], matrix, settings)

            def solve_all() -> Generator[tuple[Any, Any]]:
                for part in self._gather(jobs):
                    work = [(self.folds[k], gamma, paths[gamma]) for gamma, k in part]
                    yield from zip(part, fit_paths(work, settings), strict=True)

            on_device = isinstance(self.X, DeviceRows)
            ended = solve_all() if on_device else _complete(solve, jobs, n_workers, self.limits)
            with closing(ended):
                for (gamma, k), models in ended:
                    for C, model in zip(paths[gamma], models, strict=True):
                        if self._enter(found[C, gamma], (C, gamma, k), model):
                            self.outcome.stopped = True
                            return found
        return found

    def _gather(self, jobs: Sequence[tuple[Any, int]]) -> Iterator[Sequence[tuple[Any, int]]]:
        """Jobs that a device does together: as many as their rows make a full one."""
        longest = max(len(fold.train) for fold in self.folds)
        height = max(len(self.folds), _ROWS_TOGETHER // longest)
        for start in range(0, len(jobs), height):
            yield jobs[start : start + height]

    def _enter(self, found: PointScores, place: tuple[float, Any, int], model: Any) -> bool:
        """Score a model, write down what it took and tell the callback; whether this wants the
        search to end."""
        outcome, k, fitted = self.outcome, place[2], time.perf_counter()
        found.scores[k] = score = self.score(model, k)
        found.score_times[k] = time.perf_counter() - fitted
        found.fit_times[k] = model.certificate_.seconds
        outcome.n_done += 1
        if model.fit_status_:
            outcome.n_unfinished += 1
            outcome.worst_gap = max(outcome.worst_gap, model.certificate_.kkt_gap)
        if self.callback is None:
            return False
        seconds = time.perf_counter() - self.begun
        progress = SearchProgress(*place, score, outcome.n_done, outcome.n_total, seconds)
        return bool(self.callback(progress))

    @cached_property
    def _plan(self) -> tuple[int, RowMatrix | None]:
        """Threads for jobs side by side (0: one after another, each with all threads), and the
        matrix they share if it fits."""
        if isinstance(self.X, DeviceRows):
            return 0, None
        parts = [fold.training_set(self.gamma) for fold in self.folds]
        n_rows = self.X.shape[0]
        longest = max(len(fold.train) for fold in self.folds)
        at_most = available_threads()
        if GeneralSolver in {part.choose_solver("auto") for part in parts}:
            fitting = side_by_side(n_rows, longest, self.cache_size, at_most)
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
    ended = False
    try:
        waiting = {pool.submit(work, job): job for job in jobs}
        for future in as_completed(waiting):
            yield waiting.pop(future), future.result()
        ended = True
    finally:
        # After an interruption, an error or a stop: solvers notice within a few steps.
        if not ended:
            limits.interrupt()
        pool.shutdown(wait=True, cancel_futures=True)
