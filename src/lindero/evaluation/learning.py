"""How a comparison trains each kind of machine: parameters chosen inside the training rows.

    Strategy.GRID       every point of its grid, by log-loss, or by error without probabilities
    Strategy.KERNEL     C and gamma together (SVCCV, SVRCV), by error or squared error
    Strategy.COSTS      C, gamma and how unequal margins are, by cost
    Strategy.COUPLING   the coupling, by predicting the next rows, as the machine does itself

Nothing here sees a test row: parameters are chosen by inner folds (forward chaining where rows have
times) of at most `tuning_rows` of the training rows. Scales and categories of columns are learned
from the training rows, and the machine is fitted to all of them with the chosen parameters.

Support vector machines have no probabilities. Decision values of training rows are taken from
machines that were fitted without them (the inner folds), and a curve from those values to
probabilities is fitted: a sigmoid for two classes (Platt); for more one temperature, which leaves
the differences between classes their meaning, where sigmoids of single classes are far too timid.
Decision values of test rows go through a curve that was fitted before.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from lindero.evaluation.build import (
    MACHINE_STEP,
    TABLE_STEP,
    compute_decisions,
    fit_machine,
    make_machine,
    predict_rows,
    scale_to_target,
)
from lindero.evaluation.encoder import TableEncoder
from lindero.evaluation.folds import (
    Split,
    keep_repeated_classes,
    make_inner_folds,
    sample_rows,
    take_rows,
)
from lindero.evaluation.measures import choose_least_cost, code_labels, score_classes
from lindero.evaluation.registry import MachineSpec, Strategy
from lindero.evaluation.rows import EvaluationRows
from lindero.evaluation.search import rank_trials, search_kernel, try_points
from lindero.runtime.arrays import Array

#: Error of solutions of regressions, in standard deviations of the target.
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class ComparisonPlan:
    """What all machines of a comparison share: classes, costs, and how parameters are chosen."""

    classes: Array | None
    costs: Array | None
    inner_folds: int
    tuning_rows: int
    random_state: int

    def sample(self, rows: EvaluationRows) -> tuple[Array, list[Split]]:
        """Rows to choose parameters by, and their folds."""
        some = sample_rows(rows.y, self.tuning_rows, self.classes is not None, self.random_state)
        if self.classes is not None:
            some = keep_repeated_classes(rows.y, some)
        times = None if rows.times is None else rows.times[some]
        classes = self.classes is not None
        splits = make_inner_folds(rows.y[some], times, self.inner_folds, classes, self.random_state)
        return some, splits


@dataclass(frozen=True)
class TrainedMachine:
    """A machine with its chosen parameters, fitted to training rows."""

    model: Any
    parameters: dict[str, Any]
    curve: ProbabilityCurve | None = None
    #: Whether the machine has the costs inside, or its probabilities are weighed by them.
    knows_costs: bool = False

    def answer(
        self, X: Any, times: Array | None, plan: ComparisonPlan
    ) -> tuple[Array, Array | None]:
        """Numbers; or positions among all classes, with probabilities of all of them."""
        if plan.classes is None:
            return predict_rows(self.model, X, times=times), None
        probabilities = self._find_probabilities(X, times, plan.classes)
        if plan.costs is not None and probabilities is not None and not self.knows_costs:
            return choose_least_cost(probabilities, plan.costs), probabilities
        return code_labels(predict_rows(self.model, X, times=times), plan.classes), probabilities

    def _find_probabilities(self, X: Any, times: Array | None, classes: Array) -> Array | None:
        if hasattr(self.model, "predict_proba"):
            given, known = self.model.predict_proba(X), self.model.classes_
        elif self.curve is not None:
            values = compute_decisions(self.model, X, times=times)
            assert values is not None
            given, known = self.curve(values, self.model.classes_), self.curve.classes
        else:
            return None
        spread = np.zeros((len(given), len(classes)))
        spread[:, np.searchsorted(classes, known)] = given
        return spread


# -- one function for each strategy ---------------------------------------------------------------


def train_machine(
    machine: MachineSpec, rows: EvaluationRows, plan: ComparisonPlan
) -> TrainedMachine:
    """A machine with parameters chosen inside these rows, fitted to all of them."""
    return TRAINERS[machine.strategy](machine, rows, plan)


def _train_by_grid(
    machine: MachineSpec, rows: EvaluationRows, plan: ComparisonPlan
) -> TrainedMachine:
    """Every point of a grid, by log-loss, or by error where there are no probabilities."""
    machine = scale_to_target(machine, rows.y)
    some, splits = plan.sample(rows)
    sample = rows.take(some)

    def fit(point: dict[str, Any], train: Array) -> Any:
        return fit_rows(point, sample.take(train))

    def fit_rows(point: dict[str, Any], part: EvaluationRows) -> Any:
        model = make_machine(machine, point, random_state=plan.random_state)
        times = part.times if machine.takes_times else None
        return fit_machine(model, part.X, part.y, times=times, weights=part.weights)

    def judge(model: Any, test: Array) -> float:
        part = sample.take(test)
        answers, probabilities = TrainedMachine(model, {}).answer(part.X, part.times, plan)
        if plan.classes is None:
            return float(np.mean((answers - part.y) ** 2))
        truth = code_labels(part.y, plan.classes)
        scores = score_classes(truth, answers, probabilities, None, part.weights)
        return scores["error" if probabilities is None else "log_loss"]

    point = _choose_point(machine.inner_grid or machine.grid, fit, judge, splits)
    model = fit_rows(point, rows)
    curve = None
    if plan.classes is not None and not hasattr(model, "predict_proba"):
        curve = _fit_curve(lambda train: fit(point, train), sample, splits, rows.y)
    return TrainedMachine(model, point, curve)


def _train_kernel_machine(
    machine: MachineSpec, rows: EvaluationRows, plan: ComparisonPlan
) -> TrainedMachine:
    """SVC or SVR with C and gamma of the least error or squared error.

    C and epsilon of SVR are multiples of the deviation σ of the target, which is the same as
    dividing the target by it: with y/σ for y, w becomes w/σ, and C Σξ beside ½‖w‖² becomes C/σ Σξ.
    """
    encoder, numbers = _encode_rows(rows)
    some, splits = plan.sample(numbers)
    sample = numbers.take(some)
    grid, unit, chosen = machine.inner_grid, 1.0, dict(machine.preset)
    if plan.classes is None:
        unit = _find_unit(rows.y)
        chosen = {"epsilon": grid["epsilon"][0] * unit, "tol": _TOLERANCE * unit, **chosen}
    if splits:  # else rows are too few, and the defaults have to do
        search = search_kernel(
            machine.class_name, sample.X, sample.y, sample.weights, splits,
            Cs=[unit * C for C in grid["C"]], gammas=_scale_gammas(sample.X, grid), fixed=chosen,
        )  # fmt: skip
        chosen = {**chosen, **search.best_params_}
    kind = machine.load()

    def fit(train: Array) -> Any:
        part = sample.take(train)
        return kind(**chosen).fit(part.X, part.y, part.weights)

    model = _make_pipeline(encoder, kind(**chosen).fit(numbers.X, numbers.y, numbers.weights))
    if plan.classes is None:
        return TrainedMachine(model, _drop(chosen, "tol"))
    return TrainedMachine(model, chosen, _fit_curve(fit, sample, splits, rows.y))


def _train_with_costs(
    machine: MachineSpec, rows: EvaluationRows, plan: ComparisonPlan
) -> TrainedMachine:
    """Costs inside the margin: C, gamma and the ratio of margins of the least cost."""
    from lindero.svm import costs_from_matrix

    classes, matrix = plan.classes, plan.costs
    assert classes is not None
    assert matrix is not None
    encoder, numbers = _encode_rows(rows)
    some, splits = plan.sample(numbers)
    sample = numbers.take(some)
    grid: dict[str, Any] = dict(machine.inner_grid)
    gammas = _scale_gammas(sample.X, grid)
    if gammas is not None:
        grid["gamma"] = gammas
    kind = machine.load()

    def set_params(point: dict[str, Any]) -> dict[str, Any]:
        ratio = point.get("margin_ratio")
        costs = costs_from_matrix(matrix, classes.tolist(), margin_ratio=ratio)
        return {**machine.preset, **_drop(point, "margin_ratio"), **costs._asdict()}

    def fit(point: dict[str, Any], train: Array) -> Any:
        part = sample.take(train)
        return kind(**set_params(point)).fit(part.X, part.y, part.weights)

    def judge(model: Any, test: Array) -> float:
        part = sample.take(test)
        truth, answers = code_labels(part.y, classes), code_labels(model.predict(part.X), classes)
        return score_classes(truth, answers, None, matrix, part.weights)["cost"]

    point = _choose_point(grid, fit, judge, splits)
    model = kind(**set_params(point)).fit(numbers.X, numbers.y, numbers.weights)
    curve = _fit_curve(lambda train: fit(point, train), sample, splits, rows.y)
    model = _make_pipeline(encoder, model)
    return TrainedMachine(model, set_params(point), curve, knows_costs=True)


def _train_adaptive(
    machine: MachineSpec, rows: EvaluationRows, plan: ComparisonPlan
) -> TrainedMachine:
    """A machine that moves with time, its coupling chosen by what predicts the next rows best."""
    kind = machine.load()
    encoder, numbers = _encode_rows(rows)
    unit = _find_unit(rows.y) if plan.classes is None else 1.0
    fixed = {name: unit * values[0] for name, values in machine.inner_grid.items()}
    model = kind(coupling="auto", **fixed)
    model.fit(numbers.X, numbers.y, numbers.weights, times=numbers.times)
    chosen = {**fixed, "coupling": model.coupling_}
    curve = None
    if plan.classes is not None:
        some, splits = plan.sample(numbers)
        sample = numbers.take(some)

        def fit(train: Array) -> Any:
            part = sample.take(train)
            return kind(**chosen).fit(part.X, part.y, part.weights, times=part.times)

        curve = _fit_curve(fit, sample, splits, rows.y)
    return TrainedMachine(_make_pipeline(encoder, model), chosen, curve)


#: How each strategy trains a machine.
TRAINERS: dict[
    Strategy, Callable[[MachineSpec, EvaluationRows, ComparisonPlan], TrainedMachine]
] = {
    Strategy.GRID: _train_by_grid,
    Strategy.KERNEL: _train_kernel_machine,
    Strategy.COSTS: _train_with_costs,
    Strategy.COUPLING: _train_adaptive,
}


def _choose_point(
    grid: Any,
    fit: Callable[[dict[str, Any], Array], Any],
    judge: Callable[[Any, Array], float],
    splits: Sequence[Split],
) -> dict[str, Any]:
    """The point of least mean score over the folds, of equals the first; nothing, which is the
    defaults of the machine, where rows are too few for folds."""
    points: list[dict[str, Any]] = list(ParameterGrid(grid))
    if not splits:
        return {}
    if len(points) == 1:
        return points[0]
    best = rank_trials(try_points(points, fit, judge, splits))[0]
    if best.failure is not None:
        raise ValueError(best.failure)
    return best.params


def _encode_rows(rows: EvaluationRows) -> tuple[TableEncoder, EvaluationRows]:
    encoder = TableEncoder().fit(rows.X)
    return encoder, replace(rows, X=encoder.transform(rows.X))


def _make_pipeline(encoder: TableEncoder, machine: Any) -> Pipeline:
    return Pipeline([(TABLE_STEP, encoder), (MACHINE_STEP, machine)])


def _scale_gammas(X: Any, grid: Mapping[str, Any]) -> list[float] | None:
    """Multiples of gamma="scale" of these rows; None for a kernel without gamma."""
    if "gamma" not in grid:
        return None
    squares = X.power(2).mean() if hasattr(X, "power") else float(np.mean(X * X))
    variance = float(squares - X.mean() ** 2)
    return [factor / (X.shape[1] * variance if variance > 0 else 1.0) for factor in grid["gamma"]]


def _find_unit(y: Array) -> float:
    """The standard deviation of the target; 1 where it is constant."""
    return float(np.std(y)) or 1.0


def _drop(params: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in params.items() if key != name}


# -- from decision values to probabilities --------------------------------------------------------


class _GivenValues(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose decision values are its input, for a curve to be fitted to."""

    def __init__(self, classes: Any = None) -> None:
        self.classes = classes

    def fit(self, X: Any, y: Any) -> _GivenValues:
        self.classes_ = np.asarray(self.classes)
        return self

    def predict(self, X: Any) -> Array:
        codes = np.argmax(np.asarray(X), axis=1)
        labels: Array = self.classes_[codes]
        return labels

    def decision_function(self, X: Any) -> Array:
        values: Array = np.asarray(X)
        return (values[:, 1] - values[:, 0]) / 2 if len(self.classes_) == 2 else values


def _arrange_by_class(values: Array, known: Array, classes: Array) -> Array:
    """Decision values with a column for each of `classes`. Classes that the machine does not know
    are less likely than any it knows; others that it knows are left out."""
    columns = values if values.ndim == 2 else np.column_stack([-values, values])
    spread = np.full((len(columns), len(classes)), columns.min(initial=0.0) - 1.0)
    shared = np.isin(known, classes)
    spread[:, np.searchsorted(classes, known[shared])] = columns[:, shared]
    return spread


class ProbabilityCurve:
    """From decision values to probabilities of classes.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_seen)
        Out-of-fold decisions, a column for each class that occurs in `y`.
    y : ndarray of shape (n_rows,)
        The classes of these rows.
    weights : ndarray of shape (n_rows,) or None
        How much they count.
    training : ndarray
        The classes of all training rows. Those of so few rows that they are not in `y` have the
        probability of their share, whatever the decision.
    """

    def __init__(self, values: Array, y: Array, weights: Array | None, training: Array) -> None:
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.frozen import FrozenEstimator

        self.classes, counts = np.unique(training, return_counts=True)
        self._shares = counts / counts.sum()
        self._seen = np.unique(y)
        held = FrozenEstimator(_GivenValues(self._seen).fit(values, y))
        all_rows = np.arange(len(y))  # values are out of fold already
        method = "sigmoid" if len(self._seen) == 2 else "temperature"
        self._curve = CalibratedClassifierCV(
            held, method=method, cv=[(all_rows, all_rows)], ensemble=False
        )
        self._curve.fit(values, y, sample_weight=weights)

    def __call__(self, values: Array, known: Array) -> Array:
        """Probabilities, a column for each of `classes`, of decisions about the `known` ones."""
        seen = np.isin(self.classes, self._seen)
        given = np.tile(self._shares, (len(values), 1))
        among = self._curve.predict_proba(_arrange_by_class(values, known, self._seen))
        given[:, seen] = self._shares[seen].sum() * among
        return given


def _fit_curve(
    fit: Callable[[Array], Any], sample: EvaluationRows, splits: Sequence[Split], training: Array
) -> ProbabilityCurve | None:
    """The curve of decision values of machines fitted to the inner folds of a sample; None where
    these know of fewer than two classes. `training` are the classes of all training rows."""
    tests, decided = [], []
    for train, test in splits:
        if len(np.unique(sample.y[train])) < 2:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fit(train)
        times = None if sample.times is None else sample.times[test]
        values = compute_decisions(model, take_rows(sample.X, test), times=times)
        if values is not None:
            tests.append(test)
            decided.append((values, model.classes_))
    if not tests:
        return None
    tested = np.concatenate(tests)
    classes = np.unique(sample.y[tested])
    if len(classes) < 2:
        return None
    values = np.concatenate([_arrange_by_class(*found, classes) for found in decided])
    weights = None if sample.weights is None else sample.weights[tested]
    return ProbabilityCurve(values, sample.y[tested], weights, training)
