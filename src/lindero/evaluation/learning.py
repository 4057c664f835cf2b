"""How a comparison trains each kind of machine: parameters chosen inside the training rows, by the
`Strategy` of the machine.

Nothing here sees a test row: parameters are chosen by inner folds (forward chaining where rows have
times) of at most `tuning_rows` of the training rows. Scales and categories of columns are learned
from the training rows, and the machine is fitted to all of them with the chosen parameters.

Most points of a grid are far from the best, and a few rows show it. So points are tried by
successive halving [1]_: all of them on one fold, with few rows, the better half of them on the next
one, with twice as many, until one is left or folds are used up. C and gamma, which `SVCCV` and
`SVRCV` search together, are searched on a part of the rows first, and then around the best point.
It is one file, since every strategy needs the same samples, folds, judges and curves.

.. [1] Jamieson, K., Talwalkar, A.: Non-stochastic best arm identification and hyperparameter
   optimization. AISTATS 2016.

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
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from lindero.evaluation.build import (
    MACHINE_STEP,
    TABLE_STEP,
    choose_table_parameters,
    compute_decisions,
    fit_machine,
    make_machine,
    predict_rows,
    scale_to_target,
    unwrap_machine,
)
from lindero.evaluation.decisions import decide_classes
from lindero.evaluation.encoder import TableEncoder
from lindero.evaluation.folds import (
    Split,
    keep_repeated_classes,
    make_inner_folds,
    sample_rows,
    take_rows,
)
from lindero.evaluation.measures import (
    LABELS,
    PROBABILITIES,
    average_rows,
    choose_measure,
    choose_threshold,
    code_labels,
    find_measure,
    find_row_losses,
    score,
    score_classes,
)
from lindero.evaluation.registry import (
    BOOSTING,
    CLASSIFICATION,
    REGRESSION,
    MachineSpec,
    Strategy,
    identify_machine,
)
from lindero.evaluation.rows import EvaluationRows
from lindero.evaluation.search import make_scorer, score_decisions
from lindero.evaluation.svm_search import search_kernel
from lindero.models.probabilities import ProbabilityCurve, arrange_by_class, fit_curve
from lindero.runtime.arrays import Array
from lindero.validation import compute_scale_gamma

#: Error of solutions of regressions, in standard deviations of the target.
_TOLERANCE = 1e-3

#: Training rows that points of a grid are tried on first; then twice as many.
_FIRST_ROWS = 500

#: Grids of C and gamma of more points than this are searched on a part of the rows first.
_FEW_POINTS = 9

#: Gradient boosting of more classes than this takes too long to be tuned.
_FEW_CLASSES = 8


@dataclass(frozen=True)
class ComparisonPlan:
    """What all machines of a comparison share: classes, costs, and how parameters are chosen."""

    classes: Array | None
    costs: Array | None
    inner_folds: int
    tuning_rows: int
    random_state: int
    measure: str = "error"
    positive: int | None = None
    #: Whether parameters are chosen at all; a first answer takes those that are usual.
    tunes: bool = True
    #: Whether columns that name rows are encoded; else they are left out.
    keep_row_names: bool = False

    @property
    def task(self) -> str:
        """Classification or regression."""
        return REGRESSION if self.classes is None else CLASSIFICATION

    @property
    def aim(self) -> str:
        """What answers are to be good at: costs, where there are some, else the measure."""
        return self.measure if self.costs is None else "cost"

    def weighs_classes(self, rows: EvaluationRows) -> bool:
        """Whether a support vector machine is to give all classes the same weight: where one is
        rare, the hinge loss is least for a function that is the same everywhere, whose decision
        values say nothing; unless the error is all that counts."""
        if self.measure in ("error", "accuracy") and self.costs is None:
            return False
        return choose_measure(CLASSIFICATION, rows.y, None, rows.weights)[0] == "log_loss"

    def judge(self, model: Any, part: EvaluationRows) -> float:
        """What a model of the inner folds loses on their test rows; less is better."""
        answers, probabilities = TrainedMachine(model, {}).answer(part.X, part.times, self)
        measure = find_measure(self.measure)
        if self.classes is None:
            losses = find_row_losses(measure, part.y, answers, None)
            return average_rows(losses, part.weights)
        truth = code_labels(part.y, self.classes)
        if probabilities is None:
            values = compute_decisions(model, part.X, times=part.times)
            if values is None or self.measure in ("error", "accuracy"):
                return score("error", truth, answers, weights=part.weights)
            table = arrange_by_class(values, model.classes_, self.classes)
            return score_decisions(self.measure, truth, table, part.weights, self.positive)
        # Answers depend on a threshold that is chosen later; probabilities do not.
        name = measure.name if measure.needs == PROBABILITIES else "log_loss"
        given = truth, answers, probabilities, None, part.weights
        return float(find_measure(name).orient(score(name, *given, positive=self.positive)))

    def sample(self, rows: EvaluationRows) -> tuple[EvaluationRows, list[Split]]:
        """Rows to choose parameters by, and their folds."""
        classes, seed = self.classes is not None, self.random_state
        some = sample_rows(rows.y, self.tuning_rows, classes, seed)
        part = rows.take(keep_repeated_classes(rows.y, some) if classes else some)
        return part, make_inner_folds(part.y, part.times, self.inner_folds, classes, seed)


@dataclass(frozen=True)
class TrainedMachine:
    """A machine with its chosen parameters, fitted to training rows."""

    model: Any
    parameters: dict[str, Any]
    curve: ProbabilityCurve | None = None
    #: Whether the machine has the costs inside, or its probabilities are weighed by them.
    knows_costs: bool = False
    #: The probability of the second of two classes from which on it is answered.
    threshold: float | None = None
    #: Whether the likeliest class is answered, not the one that the machine predicts: weights of
    #: classes move its predictions, and the curve moves probabilities back.
    by_probability: bool = False

    def answer(
        self, X: Any, times: Array | None, plan: ComparisonPlan
    ) -> tuple[Array, Array | None]:
        """Numbers; or positions among all classes, with probabilities of all of them."""
        if plan.classes is None:
            return predict_rows(self.model, X, times=times), None
        probabilities = self._find_probabilities(X, times, plan.classes)
        if self.threshold is not None and probabilities is not None:
            return decide_classes(probabilities, self.threshold), probabilities
        if self.by_probability and probabilities is not None and plan.costs is None:
            return decide_classes(probabilities), probabilities
        if plan.costs is not None and probabilities is not None and not self.knows_costs:
            return decide_classes(probabilities, costs=plan.costs), probabilities
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


def train_machine(
    machine: MachineSpec, rows: EvaluationRows, plan: ComparisonPlan
) -> TrainedMachine:
    """A machine with parameters chosen inside these rows, fitted to all of them."""
    train = {
        Strategy.GRID: _train_by_grid,
        Strategy.KERNEL: _train_kernel_machine,
        Strategy.COSTS: _train_with_costs,
        Strategy.COUPLING: _train_adaptive,
        Strategy.WINDOW: _train_by_window,
        Strategy.GIVEN: _train_given,
    }
    trained = train[machine.strategy](machine, rows, plan)
    return replace(trained, threshold=_tune_threshold(trained, rows, plan))


def _tune_threshold(
    trained: TrainedMachine, rows: EvaluationRows, plan: ComparisonPlan
) -> float | None:
    """From which probability on the second of two classes is answered, chosen by the inner folds;
    None where the answers of the machine are to stay as they are."""
    if plan.classes is None or len(plan.classes) != 2 or trained.knows_costs or not plan.tunes:
        return None
    if find_measure(plan.aim).needs != LABELS or plan.aim in ("error", "accuracy"):
        return None
    sample, splits = plan.sample(rows)
    tests, found = [], []
    for train, test in splits:
        seen, unseen = sample.take(train), sample.take(test)
        if len(np.unique(seen.y)) < 2:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            again = clone(trained.model)
            final = unwrap_machine(again)
            known = final.get_params(deep=False)
            final.set_params(**{k: v for k, v in trained.parameters.items() if k in known})
            model = fit_machine(again, seen.X, **seen.roles())
            part = replace(trained, model=model)
            _, probabilities = part.answer(unseen.X, unseen.times, plan)
        if probabilities is None:
            return None
        tests.append(test)
        found.append(probabilities)
    if not tests:
        return None
    tested = np.concatenate(tests)
    return choose_threshold(
        code_labels(sample.y[tested], plan.classes), np.concatenate(found), plan.aim, plan.costs,
        take_rows(sample.weights, tested), positive=plan.positive,
    )  # fmt: skip


def _train_by_grid(
    machine: MachineSpec, rows: EvaluationRows, plan: ComparisonPlan
) -> TrainedMachine:
    """Every point of a grid, by a measure of probabilities (`ComparisonPlan.judge`), or by error
    where there are none."""
    machine = scale_to_target(machine, rows.y)
    sample, splits = plan.sample(rows)

    def fit(point: dict[str, Any], part: EvaluationRows) -> Any:
        of_table = choose_table_parameters(machine, plan.keep_row_names, part.X)
        model = make_machine(machine, {**of_table, **point}, random_state=plan.random_state)
        return fit_machine(model, part.X, **part.roles())

    grid = machine.inner_grid or machine.grid
    if machine.name == BOOSTING and plan.classes is not None and len(plan.classes) > _FEW_CLASSES:
        grid = {}  # it grows a tree for each class in each step
    point = _choose_point(grid, fit, plan.judge, sample, splits, plan) if grid else {}
    model = fit(point, rows)
    curve = None
    if plan.classes is not None and not hasattr(model, "predict_proba"):
        curve = _fit_curve(partial(fit, point), sample, splits, rows.y)
    return TrainedMachine(model, point, curve)


def _train_kernel_machine(
    machine: MachineSpec, rows: EvaluationRows, plan: ComparisonPlan
) -> TrainedMachine:
    """SVC or SVR with C and gamma of the least error or squared error, or the best by the measure.

    C and epsilon of SVR are multiples of the deviation σ of the target, which is the same as
    dividing the target by it: with y/σ for y, w becomes w/σ, and C Σξ beside ½‖w‖² becomes C/σ Σξ.
    """
    encoder, numbers = _encode_rows(rows, plan)
    sample, splits = plan.sample(numbers)
    grid, unit, chosen = machine.inner_grid, 1.0, dict(machine.preset)
    if plan.classes is None:
        unit = _find_unit(rows.y)
        chosen = {"epsilon": grid["epsilon"][0] * unit, "tol": _TOLERANCE * unit, **chosen}
        if not (splits and plan.tunes):
            chosen["C"] = unit
    weighted = plan.classes is not None and plan.weighs_classes(rows)
    if weighted:
        chosen["class_weight"] = "balanced"
    if splits and plan.tunes:  # else rows are too few, and the defaults have to do
        chosen |= _search_coarse_to_fine(
            machine, sample, splits, plan, Cs=[unit * C for C in grid["C"]],
            gammas=_scale_gammas(sample.X, grid), fixed=chosen,
        )  # fmt: skip
    kind = machine.load()

    def fit(part: EvaluationRows) -> Any:
        return kind(**chosen).fit(part.X, part.y, part.weights)

    model = _make_pipeline(encoder, fit(numbers))
    if plan.classes is None:
        chosen.pop("tol")
        return TrainedMachine(model, chosen)
    curve = _fit_curve(fit, sample, splits, rows.y)
    return TrainedMachine(model, chosen, curve, by_probability=weighted)


def _train_with_costs(
    machine: MachineSpec, rows: EvaluationRows, plan: ComparisonPlan
) -> TrainedMachine:
    """Costs inside the margin: C, gamma and the ratio of margins of the least cost."""
    from lindero.svm import costs_from_matrix

    classes, matrix = plan.classes, plan.costs
    assert classes is not None
    assert matrix is not None
    encoder, numbers = _encode_rows(rows, plan)
    sample, splits = plan.sample(numbers)
    grid: dict[str, Any] = dict(machine.inner_grid)
    gammas = _scale_gammas(sample.X, grid)
    if gammas is not None:
        grid["gamma"] = gammas
    kind = machine.load()

    def set_params(point: dict[str, Any]) -> dict[str, Any]:
        others = dict(point)
        ratio = others.pop("margin_ratio", None)
        costs = costs_from_matrix(matrix, classes.tolist(), margin_ratio=ratio)
        return {**machine.preset, **others, **costs._asdict()}

    def fit(point: dict[str, Any], part: EvaluationRows) -> Any:
        return kind(**set_params(point)).fit(part.X, part.y, part.weights)

    def judge(model: Any, part: EvaluationRows) -> float:
        truth, answers = code_labels(part.y, classes), code_labels(model.predict(part.X), classes)
        return score_classes(truth, answers, None, matrix, part.weights)["cost"]

    point = _choose_point(grid, fit, judge, sample, splits, plan)
    model = _make_pipeline(encoder, fit(point, numbers))
    curve = _fit_curve(partial(fit, point), sample, splits, rows.y)
    return TrainedMachine(model, set_params(point), curve, knows_costs=True)


def _train_adaptive(
    machine: MachineSpec, rows: EvaluationRows, plan: ComparisonPlan
) -> TrainedMachine:
    """A machine that moves with time, its coupling chosen by what predicts the next rows best."""
    kind = machine.load()
    encoder, numbers = _encode_rows(rows, plan)
    unit = _find_unit(rows.y) if plan.classes is None else 1.0
    fixed = {name: unit * values[0] for name, values in machine.inner_grid.items()}

    def fit(coupling: Any, part: EvaluationRows) -> Any:
        machine = kind(coupling=coupling, **fixed)
        return machine.fit(part.X, part.y, part.weights, times=part.times)

    model, curve = fit("auto", numbers), None
    chosen = {**fixed, "coupling": model.coupling_}
    if plan.classes is not None:
        curve = _fit_curve(partial(fit, model.coupling_), *plan.sample(numbers), rows.y)
    return TrainedMachine(_make_pipeline(encoder, model), chosen, curve)


def _train_by_window(
    machine: MachineSpec, rows: EvaluationRows, plan: ComparisonPlan
) -> TrainedMachine:
    """A machine of the last rows: how many, and C, chosen by what predicts the next rows best."""
    kind = machine.load()
    encoder, numbers = _encode_rows(rows, plan)
    sample, splits = plan.sample(numbers)
    unit = _find_unit(rows.y) if plan.classes is None else 1.0
    grid, n_rows = dict(machine.inner_grid), len(rows.y)
    fixed = {name: unit * values[0] for name, values in grid.items() if name == "epsilon"}
    fixed |= machine.preset
    lengths = sorted({min(length, n_rows) for length in grid["window"]})
    Cs = [unit * C for C in grid["C"]]

    def fit(point: dict[str, Any], part: EvaluationRows) -> Any:
        # Parameters are chosen on some of the rows only, where they are very many.
        share = len(sample.y) / n_rows if part is not numbers else 1.0
        last = part.take(find_last_rows(part, share * point["window"], plan.classes is not None))
        return kind(**fixed, C=point["C"]).fit(last.X, last.y, last.weights)

    def judge(point: dict[str, Any]) -> float:
        total = 0.0
        for train, test in splits:
            seen, unseen = sample.take(train), sample.take(test)
            answers = fit(point, seen).predict(unseen.X)
            wrong = answers != unseen.y if plan.classes is not None else (answers - unseen.y) ** 2
            weights = np.ones(len(test)) if unseen.weights is None else unseen.weights
            total += float(weights @ wrong)
        return total

    point: dict[str, Any] = {"C": unit, "window": lengths[-1]}
    if splits and plan.tunes:
        # Of equals the longest, and the smallest C.
        points = [{"C": C, "window": length} for length in reversed(lengths) for C in Cs]
        point = min(points, key=judge)
    last = find_last_rows(numbers, point["window"], plan.classes is not None)
    point["window"], known = len(last), numbers.take(last)
    model = kind(**fixed, **point).fit(known.X, known.y, known.weights)
    curve = None
    if plan.classes is not None:
        curve = _fit_curve(partial(fit, point), sample, splits, rows.y)
    return TrainedMachine(_make_pipeline(encoder, model), {**fixed, **point}, curve)


def find_last_rows(rows: EvaluationRows, length: float, classes: bool) -> Array:
    """The last rows in time, so many and one at least, in order; more if these are all of one
    class."""
    order: Array = np.argsort(rows.times, kind="stable")
    first = len(order) - max(1, min(len(order), int(np.ceil(length))))
    if classes:
        labels = np.asarray(rows.y)[order]
        other = np.flatnonzero(labels != labels[-1])
        if len(other):
            first = min(first, int(other[-1]))
    return order[first:]


def _train_given(
    machine: MachineSpec, rows: EvaluationRows, plan: ComparisonPlan
) -> TrainedMachine:
    """An estimator that the user gave, with the parameters it has. Numbers from a `TableEncoder`
    are put before it, unless it takes tables, or is a pipeline, which is taken to know its way."""
    known = identify_machine(machine.estimator)
    takes_tables = hasattr(machine.estimator, "steps") or (known is not None and known.takes_tables)

    def fit(part: EvaluationRows) -> Any:
        model = clone(machine.estimator)
        if not takes_tables:
            model = _make_pipeline(TableEncoder(keep_row_names=plan.keep_row_names), model)
        return fit_machine(model, part.X, **part.roles())

    model, curve = fit(rows), None
    if plan.classes is not None and not hasattr(model, "predict_proba"):
        curve = _fit_curve(fit, *plan.sample(rows), rows.y)
    return TrainedMachine(model, {}, curve)


# -- choosing parameters --------------------------------------------------------------------------


def _choose_point(
    grid: Any,
    fit: Callable[[dict[str, Any], EvaluationRows], Any],
    judge: Callable[[Any, EvaluationRows], float],
    sample: EvaluationRows,
    splits: Sequence[Split],
    plan: ComparisonPlan,
) -> dict[str, Any]:
    """The best point by successive halving over the folds, of equals the first; nothing, which is
    the defaults of the machine, where rows are too few for folds."""
    points: list[dict[str, Any]] = list(ParameterGrid(grid))
    if not splits or not plan.tunes:
        return {}
    if len(points) == 1:
        return points[0]
    left, totals = list(range(len(points))), np.zeros(len(points))
    failures: dict[int, str] = {}
    for rung, (train, test) in enumerate(splits):
        some = train
        if rung < len(splits) - 1:
            few = _FIRST_ROWS * 2**rung
            places = sample_rows(sample.y[train], few, plan.classes is not None, plan.random_state)
            some = train[places]
        part, tested = sample.take(some), sample.take(test)
        for number in left:
            try:
                with warnings.catch_warnings():
                    # The score says what a point is worth; only the chosen one warns of itself.
                    warnings.simplefilter("ignore", UserWarning)
                    found = judge(fit(points[number], part), tested)
            except (ValueError, TypeError) as error:
                failures[number], found = str(error).split("\n")[0], np.nan
            totals[number] += len(some) * (np.inf if np.isnan(found) else found)
        order = sorted(left, key=lambda number: (totals[number], number))
        # With few rows the last two are close, and are told apart by all folds.
        fewest = 2 if len(train) <= _FIRST_ROWS else 1
        left = sorted(order[: max(fewest, (len(left) + 1) // 2)])
        if len(left) == 1:
            break
    best = min(left, key=lambda number: (totals[number], number))
    if best in failures:
        raise ValueError(failures[best])
    return points[best]


def _search_coarse_to_fine(
    machine: MachineSpec,
    sample: EvaluationRows,
    splits: Sequence[Split],
    plan: ComparisonPlan,
    *,
    Cs: list[float],
    gammas: list[float] | None,
    fixed: dict[str, Any],
) -> dict[str, Any]:
    """C and gamma of `SVCCV` or `SVRCV`: all of the grid with a part of the training rows of each
    fold, and then the points around the best with all of them."""

    def search(folds: Sequence[Split], Cs: list[float], gammas: list[float] | None) -> Any:
        return search_kernel(
            machine.class_name, sample.X, sample.y, sample.weights, folds, Cs=Cs, gammas=gammas,
            fixed=fixed, scoring=scoring,
        )  # fmt: skip

    scoring = None if plan.measure == "rmse" else make_scorer(plan.measure, plan.positive)
    n_points = len(Cs) * (1 if gammas is None else len(gammas))
    if n_points > _FEW_POINTS and min(len(train) for train, _ in splits) > 1.5 * _FIRST_ROWS:
        few = [
            (train[sample_rows(sample.y[train], _FIRST_ROWS, plan.classes is not None, 0)], test)
            for train, test in splits
        ]
        coarse = search(few, Cs, gammas).best_params_
        Cs = _find_neighbours(Cs, coarse["C"])
        gammas = None if gammas is None else _find_neighbours(gammas, coarse["gamma"])
    found: dict[str, Any] = search(splits, Cs, gammas).best_params_
    return found


def _find_neighbours(values: list[float], best: float) -> list[float]:
    """A value of a list, and those before and after it."""
    place = int(np.argmin(np.abs(np.log(np.asarray(values) / best))))
    return values[max(0, place - 1) : place + 2]


def _encode_rows(rows: EvaluationRows, plan: ComparisonPlan) -> tuple[TableEncoder, EvaluationRows]:
    encoder = TableEncoder(keep_row_names=plan.keep_row_names).fit(rows.X)
    return encoder, replace(rows, X=encoder.transform(rows.X))


def _make_pipeline(encoder: TableEncoder, machine: Any) -> Pipeline:
    return Pipeline([(TABLE_STEP, encoder), (MACHINE_STEP, machine)])


def _scale_gammas(X: Any, grid: Mapping[str, Any]) -> list[float] | None:
    """Multiples of gamma="scale" of these rows; None for a kernel without gamma."""
    if "gamma" not in grid:
        return None
    unit = compute_scale_gamma(X)
    return [factor * unit for factor in grid["gamma"]]


def _find_unit(y: Array) -> float:
    """The standard deviation of the target; 1 where it is constant."""
    return float(np.std(y)) or 1.0


def _fit_curve(
    fit: Callable[[EvaluationRows], Any],
    sample: EvaluationRows,
    splits: Sequence[Split],
    training: Array,
) -> ProbabilityCurve | None:
    """The curve of decision values of machines fitted to the inner folds of a sample; None where
    these know of fewer than two classes. `training` are the classes of all training rows."""
    tests, decided = [], []
    for train, test in splits:
        if len(np.unique(sample.y[train])) < 2:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = fit(sample.take(train))
        part = sample.take(test)
        values = compute_decisions(model, part.X, times=part.times)
        if values is not None:
            tests.append(test)
            decided.append((values, model.classes_))
    if not tests:
        return None
    tested = np.concatenate(tests)
    classes = np.unique(sample.y[tested])
    if len(classes) < 2:
        return None
    values = np.concatenate([arrange_by_class(*found, classes) for found in decided])
    weights = take_rows(sample.weights, tested)
    return fit_curve(values, sample.y[tested], weights, training)
