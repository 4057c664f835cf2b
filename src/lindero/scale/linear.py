"""Linear support vector machines over rows in partitions, and those on landmarks.

    first pass       classes, weights, means, the size of numbers, and a sample
    further passes   `solvers.passes`, for all problems of several classes at once; squared losses
                     have `solvers.squared_passes`
    last pass        the certificate, from all rows

Machines on landmarks are linear in their features (`scale.nystrom`). Features, and the numbers of
sparse rows, are made of a block of rows where it is looked at, and never are there as a whole.

The fitted estimator is an ordinary one that holds its hyperplanes. Its support vectors may be a
good part of all rows, so that it does not hold those: as in files of linear machines, the weights w
of each machine stand in their place, as one vector with the coefficient 1.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from lindero.errors import warn_user
from lindero.kernels.nystrom import NystromMap
from lindero.kernels.operator import LARGEST_VALUE
from lindero.problems.formulation import Formulation
from lindero.problems.margin import CostMargin
from lindero.runtime.arrays import Array
from lindero.scale.numbers import NumberRows, Reader
from lindero.scale.nystrom import (
    adopt_landmarks,
    choose_sample_size,
    measure_kernel_gap,
    see_sample,
)
from lindero.scale.partitions import Source
from lindero.scale.runner import Runner
from lindero.scale.sampling import DrawnRows, Spread
from lindero.scale.targets import ClassTotals, encode_part
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
from lindero.solvers.squared_passes import SquaredPassSolver
from lindero.svm.cost_sensitive_svc import CostSensitiveSVC
from lindero.svm.costs import class_terms
from lindero.svm.fitted_machines import FittedMachines, adopt_machines
from lindero.svm.kernel_estimator import KernelEstimator
from lindero.svm.linear_svc import MARGINS, LinearSVC
from lindero.svm.linear_svr import TUBES, LinearSVR
from lindero.svm.nystrom_svc import NystromSVC, read_costs
from lindero.svm.nystrom_svr import NystromSVR
from lindero.svm.progress import reporting
from lindero.svm.svc import SVC
from lindero.svm.svr import SVR
from lindero.validation import compute_class_weights

#: What is fitted here.
MACHINES = (SVC, LinearSVC, NystromSVC, CostSensitiveSVC, SVR, LinearSVR, NystromSVR)

#: Those that predict numbers; those with squared losses, and those on landmarks.
_REGRESSIONS = (SVR, LinearSVR, NystromSVR)
_PLAIN, _ON_LANDMARKS = (LinearSVC, LinearSVR), (NystromSVC, NystromSVR)

#: More features than this make matrices of which each partition returns too much.
_MOST_FEATURES = 5_000


class SeenRows:
    """Rows of a partition as an array that is made where it is looked at: some of them, in numbers
    that are dense, with features in the place of columns where there are any."""

    def __init__(self, X: Any, chosen: Array | None, features: NystromMap | None) -> None:
        self._X, self._chosen, self._features = X, chosen, features
        n_rows = X.shape[0] if chosen is None else len(chosen)
        self.shape = (n_rows, X.shape[1] if features is None else features.n_features)

    def __getitem__(self, rows: slice) -> Array:
        X = self._X[rows if self._chosen is None else self._chosen[rows]]
        if sp.issparse(X):
            X = X.toarray()
        if self._features is None:
            return np.asarray(X)
        return self._features.compute(X) if len(X) else np.empty((0, self.shape[1]))


@dataclass(frozen=True)
class Survey:
    """What a first pass finds: numbers of rows, and of rows that count, sums by class, means, the
    largest number, the spread of all numbers, and a sample of rows with their targets and weights.
    """

    n_rows: int
    n_counted: int
    totals: ClassTotals | None
    sums: Array
    largest: float
    spread: Spread
    sample: DrawnRows

    def merge(self, other: Survey) -> Survey:
        totals = self.totals
        if totals is not None and other.totals is not None:
            totals = totals.merge(other.totals)
        return Survey(
            self.n_rows + other.n_rows,
            self.n_counted + other.n_counted,
            totals,
            self.sums + other.sums,
            max(self.largest, other.largest),
            self.spread.merge(other.spread),
            self.sample.merge(other.sample),
        )


def survey(rows: NumberRows, *, classifies: bool, spreads: bool, most: int) -> Survey:
    X, weights, n_rows = rows.X, rows.weights, rows.X.shape[0]
    counted = np.ones(n_rows) if weights is None else weights
    totals = ClassTotals.of(rows.targets, counted) if classifies else None
    largest = max(float(X.max()), -float(X.min())) if n_rows else 0.0
    chosen = np.flatnonzero(counted > 0)
    drawn = DrawnRows.draw((chosen,), most, rows.part)
    places = drawn.columns[0]
    held = X[places].toarray() if sp.issparse(X) else X[places]
    sample = replace(drawn, columns=(held, rows.targets[places], counted[places]))
    sums = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel()
    spread = Spread.of(X, counted) if spreads else Spread(0.0, 0.0, 0.0)
    return Survey(n_rows, len(chosen), totals, sums, largest, spread, sample)


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
    features: NystromMap | None = None

    def split(self, rows: NumberRows, factor: float = 1.0) -> Callable[[int], PartRows]:
        """The rows of a problem, by its number; weights are multiplied by `factor`."""
        weights = np.ones(rows.X.shape[0]) if rows.weights is None else rows.weights
        weights = factor * weights
        codes = None
        if self.classes is not None:
            assert self.class_weight is not None
            codes = encode_part(rows.targets, self.classes, rows.label)
            weights = weights * self.class_weight[codes]
        return lambda number: self._take(self.tasks[number], rows, weights, codes)

    def count(self, found: Survey) -> list[int]:
        """The rows of each problem."""
        if found.totals is None or self.tasks[0].positive is None:
            return [found.n_counted]
        counts, n_all = found.totals.counts, found.n_counted
        return [
            n_all if task.negative is None else int(counts[task.positive] + counts[task.negative])
            for task in self.tasks
        ]

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
        X = SeenRows(rows.X, chosen, self.features)
        numbers = np.arange(rows.X.shape[0]) if chosen is None else chosen
        return PartRows(rows.part, numbers, X, targets, bounds, task.formulation, self.shift)


def _answer(rows: NumberRows, *, plan: LinearPlan, questions: list[Any]) -> dict[int, Any]:
    return answer_all(questions, plan.split(rows))


def _merge(one: Any, other: Any) -> Any:
    return one.merge(other)


# -- fitting --------------------------------------------------------------------------------------


def _require_usual(estimator: Any) -> None:
    """Refuse variants of linear machines that are solved in memory only."""
    usual = {"fit_intercept": True, "penalty": "l2", "multi_class": "ovr"}
    for parameter, value in usual.items():
        given = getattr(estimator, parameter, value)
        if given != value:
            raise ValueError(
                f"{type(estimator).__name__} over partitions needs {parameter}={value!r}, not "
                f"{given!r}: fit it in memory, to a sample of the rows if need be."
            )


def require_linear(estimator: Any) -> None:
    """Refuse parameters that machines over partitions cannot have."""
    name = type(estimator).__name__
    if isinstance(estimator, _PLAIN):
        _require_usual(estimator)
    if estimator.kernel != "linear" and not isinstance(estimator, _ON_LANDMARKS):
        raise ValueError(
            f"{name} over partitions needs kernel='linear', not kernel={estimator.kernel!r}: a "
            "kernel matrix has rows × rows. NystromSVC and NystromSVR have other kernels."
        )
    if not np.isfinite(estimator.C):
        raise ValueError(f"{name} over partitions needs a finite C: give a large one, C=1e6 say.")
    if getattr(estimator, "probability", "deprecated") not in (False, "deprecated"):
        raise ValueError(
            f"{name} over partitions has no probability=True: calibrate the fitted machine on "
            "further rows (sklearn.calibration.CalibratedClassifierCV)."
        )


def fit_linear(model: Any, source: Source, runner: Runner, reader: Reader) -> None:
    """Set all fitted attributes of a linear machine."""
    begun = time.perf_counter()
    require_linear(model)
    if source.n_columns > _MOST_FEATURES:
        raise ValueError(
            f"Linear machines over partitions take up to {_MOST_FEATURES} features, not "
            f"{source.n_columns}: each pass returns a matrix of features × features. Wide sparse "
            "rows are for LinearSVC in memory (a sample of them), or hash them to fewer columns."
        )
    classifies, on_landmarks = not isinstance(model, _REGRESSIONS), isinstance(model, _ON_LANDMARKS)
    read = partial(
        reader.read, names=source.names, n_columns=source.n_columns, classifies=classifies
    )
    most = choose_sampled(source.n_columns)
    if on_landmarks:
        most = choose_sample_size(model, source.n_columns)
    first = partial(survey, classifies=classifies, spreads=on_landmarks, most=most)
    found: Survey = runner.reduce(read, first, _merge)
    _require_rows(found, source)
    model.n_features_in_ = source.n_columns
    if source.names is not None:
        model.feature_names_in_ = np.asarray(source.names, dtype=object)
    plan = _make_plan(model, found)
    if on_landmarks:
        plan = replace(plan, shift=None, features=_choose_features(model, plan, found, begun))
    kept = found.n_rows * (source.n_columns + 4) * found.sample.columns[0].dtype.itemsize
    runner.keep(kept, read)
    solutions = _solve(model, plan, found, runner, read)
    _adopt(model, plan, solutions, source.n_columns, time.perf_counter() - begun)
    if plan.features is not None:
        gap = measure_kernel_gap(plan, solutions, found.sample.columns[0], runner, read)
        model.certificate_ = replace(model.certificate_, kernel_gap=gap)
    _warn_unfinished(model)


def _choose_features(model: Any, plan: LinearPlan, found: Survey, begun: float) -> NystromMap:
    """Landmarks from the sample; the same rows for all problems, whose weights have classes'."""
    X, targets, weights = found.sample.columns
    n_classes = 0
    if plan.classes is not None:
        assert plan.class_weight is not None
        targets, n_classes = encode_part(targets, plan.classes, "The sample"), len(plan.classes)
        weights = weights * plan.class_weight[targets]
    given = (X, targets, weights, n_classes)
    numbers = (found.spread, found.largest)
    return see_sample(model, plan.tasks[0].formulation, *given, numbers, begun)


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
        tube: Any = TUBES[getattr(model, "loss", "epsilon_insensitive")]
        return LinearPlan((LinearTask(tube(model.C, model.epsilon)),), None, None, shift)
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
        kind: Any = MARGINS[getattr(model, "loss", "hinge")]
        on_landmarks = isinstance(model, NystromSVC)
        margin = _read_margin(model, classes) if on_landmarks else kind(model.C)
        if n_classes == 2:
            tasks = [LinearTask(margin, 1)]
        elif _find_scheme(model) == "ovr":
            tasks = [LinearTask(margin, c) for c in range(n_classes)]
        else:
            tasks = [LinearTask(margin, i, j) for i, j in combinations(range(n_classes), 2)]
    found.totals.require_weight(model.class_weight_)
    return LinearPlan(tuple(tasks), classes, model.class_weight_, shift)


def _find_scheme(model: Any) -> str:
    """How machines belong to classes."""
    return "ovr" if isinstance(model, LinearSVC) else getattr(model, "multiclass", "ovo")


def _read_margin(model: NystromSVC, classes: Array) -> Formulation:
    """The margin of a machine on landmarks, whose costs are factors of classes, too."""
    margins = np.ones(2)
    if model.costs is not None:
        margins, factors = class_terms(classes, *read_costs(model.costs))
        model.class_weight_ = model.class_weight_ * factors
    return CostMargin(model.C, margins)


def _solve(
    model: Any, plan: LinearPlan, found: Survey, runner: Runner, read: Any
) -> list[PassSolution]:
    """Solve all problems side by side: a pass answers the questions of all that are not done."""
    sampled = NumberRows(-1, "The sample", *found.sample.columns)
    share = max(1.0, found.n_rows / max(1, found.sample.n_rows))
    take, n_rows = plan.split(sampled, share), plan.count(found)
    n_features = len(found.sums) if plan.features is None else plan.features.n_features
    most = choose_sampled(n_features)
    with reporting(bool(model.verbose), model.callback) as callback:
        limits = Limits(
            None if model.max_iter < 0 else model.max_iter, model.time_limit, callback,
            len(plan.tasks),
        )  # fmt: skip
        solving: dict[int, Generator[Any, Any, PassSolution]] = {}
        for number, task in enumerate(plan.tasks):
            sample = take(number)
            part = sample.take(slice(0, most))
            factor = len(sample.numbers) / max(1, len(part.numbers))
            part = replace(part, bounds=factor * part.bounds)
            tol = model.tol * task.formulation.unit
            if task.formulation.squared:
                made: Any = SquaredPassSolver(task.formulation, n_features, tol, limits, number)
            else:
                made = PassSolver(
                    task.formulation, n_rows[number], n_features, tol, choose_fetched(n_features),
                    limits, number,
                )  # fmt: skip
            solving[number] = made.solve(part)
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
        scheme = _find_scheme(model)
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
    support, kept = np.arange(n_machines), weights
    function, formulation = LINEAR, plan.tasks[0].formulation
    machines = FittedMachines(function, None, None, n_support, scheme)
    if not model._keeps_vectors or plan.features is not None:  # no vectors: weights alone
        n_support = None if n_support is None else np.zeros_like(n_support)
        support, kept = support[:0], weights[:0]
        coefficients = coefficients[:, :0]
        if plan.features is not None:
            function, weights = plan.features.function, None  # type: ignore[assignment]
        machines = FittedMachines(function, formulation, weights, n_support, scheme)
    if plan.features is not None:
        adopt_landmarks(model, plan.features, np.stack([one.theta[:-1] for one in solutions]))
        kept = plan.features.landmarks[:0]
    adopt_machines(model, machines, kept, support, coefficients, intercepts, (0, n_features))
    if plan.features is not None:
        del model.support_vectors_
    model.free_support_ = model.bounded_support_ = np.empty(0, dtype=np.int32)
    n_iter = np.array([solution.n_passes for solution in solutions], dtype=np.int32)
    model.n_iter_ = n_iter if plan.classes is not None else int(n_iter[0])
    model.fit_status_ = int(any(one.status is not Status.OPTIMAL for one in solutions))
    parts = [
        Certificate.of(one.judgement, one.n_passes, one.seconds, one.status.value)
        for one in solutions
    ]
    model.certificate_ = Certificate.join(parts, seconds)


def _warn_unfinished(model: Any) -> None:
    if model.fit_status_:
        warn_user(
            f"{model.certificate_.status} The gap left is {model.certificate_.kkt_gap:.3g}, tol is "
            f"{model.tol:.3g}. Scale the features, lower C, or raise tol, max_iter or time_limit.",
            ConvergenceWarning,
        )
