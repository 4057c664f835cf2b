"""Linear support vector machines over rows in partitions.

    first pass       classes, weights, means, the size of numbers, and a sample
    further passes   `solvers.passes`, for all problems of several classes at once
    last pass        the certificate, from all rows

The fitted estimator is an ordinary one that holds its hyperplanes. Its support vectors may be a
good part of all rows, so that it does not hold those: as in files of linear machines, the weights w
of each machine stand in their place, as one vector with the coefficient 1.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lindero.errors import warn_user
from lindero.kernels.operator import LARGEST_VALUE
from lindero.problems.formulation import Formulation
from lindero.problems.margin import CostMargin, Margin
from lindero.problems.tube import Tube
from lindero.runtime.arrays import Array
from lindero.scale.partitions import Rows, Source, read_matrix
from lindero.scale.runner import Runner
from lindero.scale.sampling import DrawnRows
from lindero.scale.targets import ClassTotals, encode_part, read_labels, read_numbers, read_weights
from lindero.solvers.passes import (
    LINEAR,
    PartRows,
    PassSolution,
    PassSolver,
    answer_all,
    choose_fetched,
    choose_sampled,
    merge_answers,
)
from lindero.solvers.solution import Certificate, Limits, Status
from lindero.svm.cost_sensitive_svc import CostSensitiveSVC
from lindero.svm.costs import class_terms
from lindero.svm.fitting import FittedMachines, KernelEstimator, adopt_machines
from lindero.svm.progress import reporting
from lindero.svm.svc import SVC
from lindero.svm.svr import SVR
from lindero.validation import compute_class_weights

#: What is fitted here.
MACHINES = (SVC, CostSensitiveSVC, SVR)

#: More features than this make matrices of which each partition returns too much.
_MOST_FEATURES = 5_000


@dataclass(frozen=True)
class NumberRows:
    """A partition whose numbers were checked: targets are labels, or numbers of a regression."""

    part: int
    label: str
    X: Array
    targets: Array
    weights: Array | None


@dataclass(frozen=True)
class Survey:
    """What a first pass finds: numbers of rows, sums by class, means, the largest number, and a
    sample of rows with their targets and weights."""

    n_rows: int
    totals: ClassTotals | None
    sums: Array
    largest: float
    sample: DrawnRows

    def merge(self, other: Survey) -> Survey:
        totals = self.totals
        if totals is not None and other.totals is not None:
            totals = totals.merge(other.totals)
        return Survey(
            self.n_rows + other.n_rows,
            totals,
            self.sums + other.sums,
            max(self.largest, other.largest),
            self.sample.merge(other.sample),
        )


def read_numeric_part(
    number: int, label: str, rows: Rows, *, names: Any, n_columns: int, classifies: bool
) -> NumberRows:
    """A partition as numbers, checked."""
    X = read_matrix(rows, label, names, n_columns)
    read = read_labels if classifies else read_numbers
    return NumberRows(
        number, label, X, read(rows.y, len(X), label), read_weights(rows.weights, len(X), label)
    )


def survey(rows: NumberRows, *, classifies: bool, most: int) -> Survey:
    X, weights = rows.X, rows.weights
    counted = np.ones(len(X)) if weights is None else weights
    totals = ClassTotals.of(rows.targets, counted) if classifies else None
    largest = max(float(X.max(initial=0.0)), -float(X.min(initial=0.0)))
    columns = (X, rows.targets, counted)
    chosen = counted > 0
    if not chosen.all():
        columns = (X[chosen], rows.targets[chosen], counted[chosen])
    sample = DrawnRows.draw(columns, most, rows.part)
    return Survey(len(X), totals, X.sum(axis=0, dtype=np.float64), largest, sample)


# -- one problem, or several ----------------------------------------------------------------------


@dataclass(frozen=True)
class LinearTask:
    """One of the problems of a fit: the codes of the classes on its two sides; all others, None,
    in one class against the rest. A regression has neither."""

    formulation: Formulation
    positive: int | None = None
    negative: int | None = None

    def choose(self, codes: Array) -> tuple[Array | None, Array]:
        """Which rows take part (None: all), and their signs."""
        signs = np.where(codes == self.positive, 1.0, -1.0)
        if self.negative is None:
            return None, signs
        inside = np.flatnonzero((codes == self.positive) | (codes == self.negative))
        return inside, signs[inside]


@dataclass(frozen=True)
class LinearPlan:
    """The problems of a fit, and how rows become theirs."""

    tasks: tuple[LinearTask, ...]
    classes: Array | None
    class_weight: Array | None
    shift: Array | None

    def split(self, rows: NumberRows, factor: float = 1.0) -> dict[int, PartRows]:
        """The rows of each problem; weights are multiplied by `factor`."""
        weights = np.ones(len(rows.X)) if rows.weights is None else rows.weights
        weights = factor * weights
        codes = None
        if self.classes is not None:
            assert self.class_weight is not None
            codes = encode_part(rows.targets, self.classes, rows.label)
            weights = weights * self.class_weight[codes]
        return {
            number: self._take(task, rows, weights, codes) for number, task in enumerate(self.tasks)
        }

    def _take(
        self, task: LinearTask, rows: NumberRows, weights: Array, codes: Array | None
    ) -> PartRows:
        bounds, targets, chosen = task.formulation.bounds(weights), rows.targets, None
        if codes is not None:
            chosen, targets = task.choose(codes)
            bounds = bounds if chosen is None else bounds[chosen]
        if not (bounds > 0).all():
            held = np.flatnonzero(bounds > 0)
            chosen = held if chosen is None else chosen[held]
            bounds, targets = bounds[held], targets[held]
        X = rows.X if chosen is None else rows.X[chosen]
        numbers = np.arange(len(rows.X)) if chosen is None else chosen
        return PartRows(rows.part, numbers, X, targets, bounds, task.formulation, self.shift)


def _answer(rows: NumberRows, *, plan: LinearPlan, questions: list[Any]) -> dict[int, Any]:
    wanted = {number for number, _ in questions}
    tasks = tuple(t if n in wanted else _NOTHING for n, t in enumerate(plan.tasks))
    return answer_all(questions, replace(plan, tasks=tasks).split(rows))


#: A problem that has been solved, and has no rows any more.
_NOTHING = LinearTask(Margin(1.0), -1, -1)


def _count_rows(rows: NumberRows, *, plan: LinearPlan) -> Array:
    return np.array([len(part.numbers) for part in plan.split(rows).values()])


def _add(one: Any, other: Any) -> Any:
    return one + other


def _merge(one: Any, other: Any) -> Any:
    return one.merge(other)


# -- fitting --------------------------------------------------------------------------------------


def require_linear(estimator: Any) -> None:
    """Refuse parameters that machines over partitions cannot have."""
    name = type(estimator).__name__
    if estimator.kernel != "linear":
        raise ValueError(
            f"{name} over partitions needs kernel='linear', not kernel={estimator.kernel!r}: a "
            "kernel matrix has rows × rows. For other kernels take a sample of the rows."
        )
    if not np.isfinite(estimator.C):
        raise ValueError(f"{name} over partitions needs a finite C: give a large one, C=1e6 say.")
    if getattr(estimator, "probability", "deprecated") not in (False, "deprecated"):
        raise ValueError(
            f"{name} over partitions has no probability=True: calibrate the fitted machine on "
            "further rows (sklearn.calibration.CalibratedClassifierCV)."
        )


def fit_linear(model: Any, source: Source, runner: Runner) -> None:
    """Set all fitted attributes of a linear machine."""
    begun = time.perf_counter()
    require_linear(model)
    if source.n_columns > _MOST_FEATURES:
        raise ValueError(
            f"Linear machines over partitions take up to {_MOST_FEATURES} features, not "
            f"{source.n_columns}: each pass returns a matrix of features × features."
        )
    classifies = not isinstance(model, SVR)
    read = partial(
        read_numeric_part, names=source.names, n_columns=source.n_columns, classifies=classifies
    )
    most = choose_sampled(source.n_columns)
    found: Survey = runner.reduce(read, partial(survey, classifies=classifies, most=most), _merge)
    _require_rows(found, source)
    model.n_features_in_ = source.n_columns
    if source.names is not None:
        model.feature_names_in_ = np.asarray(source.names, dtype=object)
    plan = _make_plan(model, found)
    kept = found.n_rows * (source.n_columns + 4) * found.sample.columns[0].dtype.itemsize
    runner.keep(kept, read)
    n_rows = runner.reduce(read, partial(_count_rows, plan=plan), _add)
    solutions = _solve(model, plan, found, n_rows, runner, read)
    _adopt(model, plan, solutions, source.n_columns, time.perf_counter() - begun)


def _require_rows(found: Survey, source: Source) -> None:
    if found.n_rows == 0:
        raise ValueError("X has no rows: all of its partitions are empty.")
    if not found.largest * found.largest * source.n_columns <= LARGEST_VALUE:
        raise ValueError(
            f"Kernel values of these data are too large to compute with: X holds values up to "
            f"{found.largest:.1e}. Scale the features first."
        )
    if found.totals is not None:
        found.totals.require_several()
    elif found.sample.n_rows == 0:
        raise ValueError("sample_weight is zero for all rows.")


def _make_plan(model: Any, found: Survey) -> LinearPlan:
    """The problems of a fit; sets what estimators know of their classes."""
    mean = found.sums / found.n_rows
    X = found.sample.columns[0]
    spread = float(np.einsum("ij,ij->i", X - mean, X - mean).mean()) if len(X) else 0.0
    shift = mean if float(mean @ mean) > spread else None
    if found.totals is None:
        return LinearPlan((LinearTask(Tube(model.C, model.epsilon)),), None, None, shift)
    classes, weights = found.totals.classes, found.totals.weights
    model.classes_ = classes
    n_classes = len(classes)
    if isinstance(model, CostSensitiveSVC):
        model.margins_, model.class_weight_ = class_terms(
            classes, model.positive_class, model.cost_positive, model.cost_negative
        )
        tasks = [LinearTask(CostMargin(model.C, model.margins_), 1)]
    else:
        model.class_weight_ = compute_class_weights(model.class_weight, classes, classes, weights)
        margin = Margin(model.C)
        if n_classes == 2:
            tasks = [LinearTask(margin, 1)]
        elif model.multiclass == "ovr":
            tasks = [LinearTask(margin, c) for c in range(n_classes)]
        else:
            tasks = [LinearTask(margin, i, j) for i, j in combinations(range(n_classes), 2)]
    found.totals.require_weight(model.class_weight_)
    return LinearPlan(tuple(tasks), classes, model.class_weight_, shift)


def _solve(
    model: Any, plan: LinearPlan, found: Survey, n_rows: Array, runner: Runner, read: Any
) -> list[PassSolution]:
    """Solve all problems side by side: a pass answers the questions of all that are not done."""
    sampled = NumberRows(-1, "The sample", *found.sample.columns)
    share = max(1.0, found.n_rows / max(1, found.sample.n_rows))
    samples = plan.split(sampled, share)
    n_features = len(found.sums)
    with reporting(bool(model.verbose), model.callback) as callback:
        limits = Limits(
            None if model.max_iter < 0 else model.max_iter, model.time_limit, callback,
            len(plan.tasks),
        )  # fmt: skip
        solving: dict[int, Generator[Any, Any, PassSolution]] = {
            number: PassSolver(
                task.formulation, int(n_rows[number]), n_features,
                model.tol * task.formulation.unit, choose_fetched(n_features), limits, number,
            ).solve(samples[number])
            for number, task in enumerate(plan.tasks)
        }  # fmt: skip
        solved: dict[int, PassSolution] = {}
        answers: dict[int, Any] = dict.fromkeys(solving)
        while True:
            questions = []
            for number, answer in answers.items():
                try:
                    questions.append((number, solving[number].send(answer)))
                except StopIteration as end:
                    solved[number] = end.value
            if not questions:
                return [solved[number] for number in range(len(plan.tasks))]
            work = partial(_answer, plan=plan, questions=questions)
            answers = runner.reduce(read, work, merge_answers)


def _adopt(
    model: KernelEstimator,
    plan: LinearPlan,
    solutions: list[PassSolution],
    n_features: int,
    seconds: float,
) -> None:
    weights = np.stack([solution.theta[:-1] for solution in solutions])
    intercepts = np.array([solution.theta[-1] for solution in solutions])
    if plan.shift is not None:
        intercepts = intercepts - weights @ plan.shift
    n_machines, n_support, scheme = len(solutions), None, "ovo"
    coefficients = np.eye(n_machines)
    if plan.classes is not None:
        n_classes = len(plan.classes)
        n_support = np.zeros(n_classes, dtype=np.int32)
        scheme = getattr(model, "multiclass", "ovo")
        if n_classes == 2:
            n_support[1] = 1
        elif scheme == "ovr":
            n_support[:] = 1
        else:
            # The weights of a pair count as a vector of its first class, in the line of the other.
            n_support[:] = n_classes - 1 - np.arange(n_classes)
            coefficients = np.zeros((n_classes - 1, n_machines))
            for k, (_, j) in enumerate(combinations(range(n_classes), 2)):
                coefficients[j - 1, k] = 1.0
    machines = FittedMachines(LINEAR, None, None, n_support, scheme)
    support = np.arange(n_machines)
    adopt_machines(model, machines, weights, support, coefficients, intercepts, (0, n_features))
    model.free_support_ = model.bounded_support_ = np.empty(0, dtype=np.int32)
    n_iter = np.array([solution.n_passes for solution in solutions], dtype=np.int32)
    model.n_iter_ = n_iter if plan.classes is not None else int(n_iter[0])
    unfinished = [one for one in solutions if one.status is not Status.OPTIMAL]
    model.fit_status_ = int(bool(unfinished))
    parts = [
        Certificate.of(one.judgement, one.n_passes, one.seconds, one.status.value)
        for one in solutions
    ]
    model.certificate_ = Certificate.join(parts, seconds)
    if unfinished:
        warn_user(
            f"{model.certificate_.status} The gap left is {model.certificate_.kkt_gap:.3g}, tol is "
            f"{model.tol:.3g}. Scale the features, lower C, or raise tol, max_iter or time_limit.",
            ConvergenceWarning,
        )
