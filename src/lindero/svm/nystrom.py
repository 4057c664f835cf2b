"""Machines on a kernel seen through landmarks: what `NystromSVC` and `NystromSVR` share.

Rows are read as for any machine. Landmarks are chosen, the rows get features (`kernels.nystrom`),
and the problem is that of a linear machine over these columns: the same formulations, solvers and
judge. What is kept of a fit is an expansion in the landmarks, so that predictions cost the same
whatever the number of rows was.

How many landmarks? Their number is doubled until the loss of rows that were left out stalls. That
is found on a part of the rows, for which machines of any size are quick. Each number costs some
four times the one before. So one that is not expected to be worth it is not tried: gains shrink
from one number to the next, and the next gain is expected to shrink as the last one did.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from lindero.devices.homes import to_host
from lindero.devices.rows import DeviceRows
from lindero.errors import warn_user
from lindero.kernels.landmarks import choose_landmarks
from lindero.kernels.nystrom import (
    ErrorSample,
    feature_kernel,
    join_gaps,
    landmark_kernel,
    make_map,
    weigh_features,
)
from lindero.kernels.operator import ProductKernel
from lindero.models.kernel_machine import KernelMachine
from lindero.problems.formulation import KernelExpansion
from lindero.runtime.arrays import Array, dense
from lindero.runtime.threads import single_threaded_blas
from lindero.solvers.solution import Callback, Limits
from lindero.svm.fitting import Functions, Solved, TrainingSet, fit_machines
from lindero.svm.kernel_estimator import KernelEstimator

#: Numbers of landmarks that are tried: the first, and the largest.
_FEWEST, _MOST = 64, 4096

#: So many landmarks cost next to nothing: tables of no more rows have all of them, and so they are
#: machines on the kernel itself. More than a quarter of the rows cost more than such a machine.
_CHEAP, _SHARE_OF_ROWS = 1024, 0.25

#: Rows that are learned from, and rows that judge, where the number of landmarks is looked for.
_LEARNED, _JUDGED = 40_000, 10_000

#: The loss must fall by this share, and by more than its standard error, for twice as many.
_WORTHWHILE = 0.01

#: Share of a time limit that the search for their number may take.
_SHARE_OF_TIME = 0.3

#: Shares of negative eigenvalues above this are no rounding.
_INDEFINITE = 1e-6


# -- fitting --------------------------------------------------------------------------------------


def approximate(estimator: KernelEstimator, training: TrainingSet, begun: float) -> TrainingSet:
    """The same rows with features for their kernel; sets the landmarks of the estimator, which is
    being fitted since `begun`, and keeps the features until the fit ends."""
    features = estimator._features = choose_features(estimator, training, begun)
    return see_through(training, features, estimator.cache_size)


def choose_features(estimator: KernelEstimator, training: TrainingSet, begun: float) -> Any:
    """Features for the kernel of these rows; sets the landmarks of the estimator."""
    estimator._begun = begun
    random = _make_generator(estimator.random_state)
    rows, n = np.flatnonzero(training.bounds > 0), estimator.n_components
    if n == "auto":
        n, estimator.losses_ = _find_number(estimator, training, rows, random)
    landmarks = choose_landmarks(
        training.X, training.weights, training.function, n, estimator.landmarks, random
    )
    features = make_map(training.X, landmarks, training.function)
    if features.negative > _INDEFINITE:
        warn_user(
            f"The {training.function.name} kernel is not positive semi-definite on these data: "
            f"{100 * features.negative:.2g} % of its spectrum among the landmarks is negative and "
            "left out. The machine is the optimum for what remains of the kernel.",
            UserWarning,
        )
    estimator.landmarks_, estimator.n_components_ = landmarks, features.kernel.n_samples
    return features


def see_through(training: TrainingSet, features: Any, megabytes: float) -> TrainingSet:
    """The same rows with these features for their kernel."""
    return replace(training, features=feature_kernel(training.X, features, megabytes))


def restate(self: KernelEstimator, training: TrainingSet) -> TrainingSet:
    """The rows of a fit as they were seen in it."""
    with single_threaded_blas:  # as in the fit, for the same digits
        features = make_map(training.X, self.landmarks_, training.function)
        return see_through(training, features, self.cache_size)


def finish(
    self: KernelEstimator, functions: Functions, training: TrainingSet, solved: Solved
) -> None:
    """Turn each function of the rows into one of the landmarks, and measure what these miss."""
    features, rows = self._features, training.features
    weights = _weigh_landmarks(training, functions)
    self.landmark_coef_ = features.expand(weights)
    known = rows.products.source if isinstance(rows, ProductKernel) else None
    known = known if isinstance(known, np.ndarray) else None
    sample = ErrorSample(training.X, features, np.random.default_rng(0), known)
    parts = [
        sample.measure(task.rows, function.coefficients, w)
        for task, function, w in zip(training.tasks, functions, weights, strict=True)
    ]
    gap = join_gaps(features, sample.missing, parts)
    self.certificate_ = replace(self.certificate_, kernel_gap=gap)
    self.dual_coef_ = dense(self.dual_coef_)
    del self.support_vectors_, self._begun, self._features


def _weigh_landmarks(training: TrainingSet, functions: Functions) -> Array:
    """Weights of the features, a row for each machine."""
    kernels = training.kernels()
    return np.stack(
        [
            weigh_features(kernels(task), function.coefficients)
            for task, function in zip(training.tasks, functions, strict=True)
        ]
    )


def limit(self: KernelEstimator, callback: Callback | None, n_problems: int) -> Limits:
    """Limits of a solver, with what is left of the time: to choose landmarks and to compute
    features takes some of it."""
    left = None
    if self.time_limit is not None:
        left = max(0.0, self.time_limit - (time.perf_counter() - self._begun))
    return Limits(None if self.max_iter < 0 else self.max_iter, left, callback, n_problems)


def _make_generator(random_state: Any) -> np.random.Generator:
    """Seeded in scikit-learn's way; None is always the same."""
    state = check_random_state(0 if random_state is None else random_state)
    return np.random.default_rng(state.randint(2**31))


# -- predicting -----------------------------------------------------------------------------------


def evaluate(self: KernelEstimator, X: Any) -> Any:
    """The output of each machine for each checked row: (n_rows, n_machines), where the rows are."""
    function = self._machines_.function
    return _evaluate_at(self.landmarks_, function, self.landmark_coef_, self.intercept_, X)


def _evaluate_at(
    landmarks: Any, function: Any, coefficients: Array, intercepts: Array, X: Any
) -> Any:
    if isinstance(X, DeviceRows):
        return X.evaluate(landmarks, function, coefficients, intercepts, None)
    kernel = landmark_kernel(landmarks, function)
    return KernelMachine(kernel, coefficients, intercepts).decision_values(X)


# -- how many -------------------------------------------------------------------------------------


def _find_number(
    estimator: KernelEstimator, training: TrainingSet, rows: Array, random: np.random.Generator
) -> tuple[int, dict[int, float]]:
    """The number of landmarks at which the loss of rows left out stalls, and the losses found. All
    rows where they are few: the noise of a few rows left out would hide what is gained."""
    if len(rows) <= _CHEAP:
        return len(rows), {}
    order = _spread_classes(rows, training.codes, random)
    n_judged = min(_JUDGED, len(order) // 5)
    judged, learned = order[:n_judged], order[n_judged : n_judged + _LEARNED]
    part, rest = _take_rows(training, np.sort(learned)), _take_rows(training, np.sort(judged))
    begun, losses, n = time.perf_counter(), dict[int, float](), _FEWEST
    gains: list[float] = []
    last, late = None, False
    most = min(_MOST, len(learned), max(_CHEAP, int(_SHARE_OF_ROWS * len(learned))))
    while n <= most:
        found = _try_number(estimator, part, rest, n, random)
        if found is None:
            break
        losses[n] = float(found.mean())
        spent = time.perf_counter() - begun
        # Twice as many take four times as long.
        late = estimator.time_limit is not None and 5 * spent > (
            _SHARE_OF_TIME * estimator.time_limit
        )
        if late or not (last is None or _is_better(found, last)):
            break
        if last is not None:
            gains.append(float(last.mean() - found.mean()))
        last, n = found, 2 * n
        if _expect_gain(gains) <= _WORTHWHILE * float(found.mean()):
            break
    best = min(losses, key=lambda number: losses[number], default=_FEWEST)
    stalled = last is not None and n in losses and not late
    return (n // 2 if stalled else best), losses


def _expect_gain(gains: list[float]) -> float:
    """What the next number may gain, from what those before did."""
    if len(gains) < 2:
        return np.inf
    before, last = gains[-2:]
    return last * min(1.0, last / before)


def _is_better(found: Array, last: Array) -> bool:
    """Whether losses are less than before, by more than chance and by something."""
    gained = last - found
    error = float(gained.std()) / np.sqrt(len(gained))
    return bool(gained.mean() > max(error, _WORTHWHILE * last.mean()))


def _spread_classes(rows: Array, codes: Array | None, random: np.random.Generator) -> Array:
    """Rows in random order, in which classes come by turns as often as they occur."""
    order = random.permutation(rows)
    if codes is None:
        return order
    places = np.empty(len(order))
    for code in np.unique(codes[order]):
        members = np.flatnonzero(codes[order] == code)
        places[members] = (np.arange(len(members)) + 0.5) / len(members)
    return order[np.argsort(places, kind="stable")]


def _take_rows(training: TrainingSet, rows: Array) -> TrainingSet:
    """Some of the rows, as a fit of their own."""
    if training.codes is None:
        targets = training.tasks[0].targets
        at = np.searchsorted(training.tasks[0].rows, rows)
        targets = targets[at]
    else:
        targets = training.codes[rows]
    return TrainingSet.of(
        training.formulation, training.X[rows], training.function, training.weights[rows],
        targets, training.n_classes, training.scheme,
    )  # fmt: skip


def _try_number(
    estimator: KernelEstimator,
    part: TrainingSet,
    rest: TrainingSet,
    n: int,
    random: np.random.Generator,
) -> Array | None:
    """The loss of each row of the rest, of all machines in one, from a fit to a part with so many
    landmarks; None if that was stopped."""
    landmarks = choose_landmarks(
        part.X, part.weights, part.function, n, estimator.landmarks, random
    )
    features = make_map(part.X, landmarks, part.function)
    part = see_through(part, features, estimator.cache_size)
    tol = estimator.tol * part.formulation.unit
    limits = estimator._limits(estimator.callback, len(part.tasks))
    [solved] = fit_machines([part], part.choose_solver("auto"), tol, estimator.cache_size, limits)
    if limits.interrupted:
        raise KeyboardInterrupt("Fitting was interrupted before the number of landmarks was found.")
    if limits.stopped or limits.expired:
        return None
    functions = [
        KernelExpansion(np.zeros(len(task.rows)), 0.0)
        if problem is None
        else part.formulation.recover(problem, solution, tol)
        for task, (problem, solution) in zip(part.tasks, solved, strict=True)
    ]
    coefficients = features.expand(_weigh_landmarks(part, functions))
    intercepts = np.array([function.intercept for function in functions])
    values = _evaluate_at(landmarks, part.function, coefficients, intercepts, rest.X)
    return _sum_losses(rest, to_host(values))


def _sum_losses(rest: TrainingSet, values: Array) -> Array:
    """Σ over machines of u max(0, −r) for each row, r as in `problems.dual_qp`."""
    losses, kernels = np.zeros(len(rest.bounds)), rest.kernels()
    for number, task in enumerate(rest.tasks):
        problem = rest.state(kernels(task), task)
        sample_of = np.arange(len(task.rows)) if problem.sample_of is None else problem.sample_of
        reach = problem.s * values[task.rows[sample_of], number] + problem.p
        np.add.at(losses, task.rows[sample_of], problem.u * np.maximum(0.0, -reach))
    return losses
