"""Parameters of a machine, chosen by cross-validation: one loop over grids for `tune` and for the
inner folds of `compare`.

C and gamma of SVC and SVR are searched by `SVCCV` and `SVRCV`, which share work between points
(`svm_search`; of the usual grids it leaves out points that cannot win). Everything else is fitted
point by point on the same folds: scikit-learn's search has no way for times and queries to reach
the scoring. Points that cannot be fitted (a nu that the labels of a fold do not allow, say) are
left out, and say why.
"""

from __future__ import annotations

import inspect
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from lindero.evaluation.build import fit_machine, list_encoder_parameters, make_machine
from lindero.evaluation.cross_validation import FitsDone, prepare_folds
from lindero.evaluation.decisions import DecisionClassifier, make_decision_machine
from lindero.evaluation.encoder import TableEncoder
from lindero.evaluation.fold_scores import FoldJudge, FoldRecord
from lindero.evaluation.folds import Split
from lindero.evaluation.measures import (
    NUMBERS,
    average_folds,
    code_labels,
    find_measure,
    measure_spread,
    put_costs_inside,
    require_one_cost,
    score,
)
from lindero.evaluation.registry import MachineSpec
from lindero.evaluation.rows import EvaluationRows
from lindero.evaluation.svm_search import SEARCHES, WITHOUT_GAMMA, search_kernel
from lindero.models.probabilities import arrange_by_class, fit_column_curve
from lindero.runtime.arrays import Array

#: From so many rows on, points of the usual grid that cannot win are left out.
_MANY_ROWS = 500


@dataclass(frozen=True)
class Trial:
    """One point of a grid: its parameters, and mean and deviation of its score over the folds.

    See Also
    --------
    tune : Tries every point of a grid.
    """

    params: dict[str, Any]
    mean: float
    std: float
    failure: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values; no score where the point could not be fitted."""
        unknown = {} if self.failure is None else {"mean": None, "std": None}
        return {**vars(self), **unknown}


def try_points(
    points: Sequence[dict[str, Any]],
    fit: Callable[[dict[str, Any], EvaluationRows], Any],
    judge: Callable[[Any, EvaluationRows], Any],
    rows: EvaluationRows,
    splits: Sequence[Split],
    progress: FitsDone | None = None,
    grade: Callable[[list[Any]], list[float]] = list,
) -> Iterator[Trial]:
    """Fit every point to the training rows of every fold, and judge it on the test rows; `grade`
    makes scores of what all folds were judged by."""
    total = len(points) * len(splits)
    together = _try_on_cluster(points, fit, judge, rows, splits) if _find_cluster() else None
    for number, point in enumerate(points):
        done, judged = number * len(splits), []
        try:
            if together is not None:
                judged, failure = next(together)
                if failure is not None:
                    raise failure
            for fold, (train, test) in enumerate(splits, start=1):
                if together is None:
                    judged.append(_judge_fold(point, fit, judge, rows.take(train), rows.take(test)))
                if progress is not None:
                    progress(done + fold, total)
            scores = grade(judged)
        except (ValueError, TypeError) as error:
            if progress is not None:
                progress(done + len(splits), total)
            yield Trial(point, math.nan, math.nan, str(error).split("\n")[0])
        else:
            yield Trial(point, average_folds(scores), measure_spread(scores))


def _judge_fold(point: Any, fit: Any, judge: Any, train: Any, test: Any) -> Any:
    with warnings.catch_warnings():
        # The score says what a point is worth; only the chosen one warns of itself.
        warnings.simplefilter("ignore", UserWarning)
        return judge(fit(point, train), test)


def _find_cluster() -> bool:
    """Whether joblib's Dask backend is in force."""
    if "distributed" not in sys.modules:
        return False
    from lindero.runtime.cluster_pool import find_dask_client

    return find_dask_client() is not None


def _try_on_cluster(points: Any, fit: Any, judge: Any, rows: Any, splits: Any) -> Iterator[Any]:
    """What each point was judged by in all folds, or why it could not be; points side by side."""
    from joblib import Parallel, delayed

    work = delayed(_judge_folds)
    yield from Parallel(n_jobs=-1)(work(point, fit, judge, rows, splits) for point in points)


def _judge_folds(
    point: Any, fit: Any, judge: Any, rows: Any, splits: Any
) -> tuple[list[Any], Exception | None]:
    try:
        return [
            _judge_fold(point, fit, judge, rows.take(train), rows.take(test))
            for train, test in splits
        ], None
    except (ValueError, TypeError) as error:
        return [], error


def rank_trials(trials: Iterable[Trial], *, less_is_better: bool = True) -> list[Trial]:
    """The best first, of equals the first of the grid; those without a score last."""
    sign = 1.0 if less_is_better else -1.0
    return sorted(trials, key=lambda t: math.inf if math.isnan(t.mean) else sign * t.mean)


def make_scorer(measure: str, positive: int | None = None) -> Callable[..., float] | None:
    """A scorer, of which more is better, that ranks points as a measure does; None where it is the
    one that estimators have (accuracy, R²)."""
    found = find_measure(measure)
    if found.name in ("error", "accuracy", "r2"):
        return None

    def judge(model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        if found.needs == NUMBERS:
            return -score(found.name, y, model.predict(X), weights=sample_weight)
        table = arrange_by_class(model.decision_function(X), model.classes_, model.classes_)
        truth = code_labels(np.asarray(y), model.classes_)
        lost = score_decisions(found.name, truth, table, sample_weight, positive)
        return 0.0 if math.isnan(lost) else -lost

    return judge


def score_decisions(
    measure: str, truth: Array, values: Array, weights: Any, positive: int | None
) -> float:
    """What decision values, a column for each class, lose by a measure; less is better.

    Where more than their order matters, it is the log-loss of the best curve through them, fitted
    to these rows, which is the same advantage for all. So it is where answers depend on a threshold
    that is chosen later.
    """
    found = find_measure(measure)
    if found.by_order:
        given = truth, None, values, None, weights
        return float(found.orient(score(measure, *given, positive=positive)))
    if len(np.unique(truth[truth >= 0])) < 2:
        return math.nan
    table = fit_column_curve(values, truth, weights)(values)
    proper = "brier" if measure == "brier" else "log_loss"
    return score(proper, truth, None, table, None, weights)


@dataclass(frozen=True)
class Tuning:
    """The best parameters of a machine, and all that were tried, from :func:`tune`.

    Attributes
    ----------
    machine : str
        Name of the machine.
    params : dict
        The best parameters, with those that were given.
    best : Trial
        The best point of the grid.
    measure : str
        What points were compared by.
    trials : list of Trial
        All points, the best first.
    model : estimator or Pipeline
        Fitted to all rows with the best parameters, as :func:`make_decision_machine` makes it for
        the measure and the costs; None where the search was interrupted.
    reason : str
        Why it is this measure.
    threshold : float or None
        The probability of the second of two classes from which on the model answers it, tuned for
        the measure or the costs on rows left out; None where 0.5 is as good, or the measure does
        not look at answers.

    See Also
    --------
    tune : Where it comes from.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lindero.evaluation import tune
    >>> result = tune("kdb", *load_iris(return_X_y=True), grid={"k": [0, 1]}, folds=3)
    >>> len(result.trials), result.measure
    (2, 'accuracy')
    """

    machine: str
    params: dict[str, Any]
    best: Trial
    measure: str
    trials: list[Trial]
    model: Any
    reason: str = ""
    threshold: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """All but the model as plain values."""
        values = {name: value for name, value in vars(self).items() if name != "model"}
        trials = [trial.to_dict() for trial in self.trials]
        return {**values, "best": self.best.to_dict(), "trials": trials}


def tune(
    machine: str | MachineSpec,
    X: Any,
    y: Any = None,
    *,
    params: Mapping[str, Any] | None = None,
    grid: Mapping[str, Any] | None = None,
    measure: str | None = None,
    costs: Any = None,
    times: Any = None,
    qid: Any = None,
    weights: Any = None,
    positions: Any = None,
    folds: int = 5,
    random_state: int = 0,
    progress: FitsDone | None = None,
) -> Tuning:
    """Choose parameters by cross-validation, and fit the best to all rows.

    C and epsilon of a regression, in its usual grid and where they are not set, are in units of
    the target's standard deviation. Where a class is rare, SVC gives all classes the same weight
    (``class_weight="balanced"``), unless it is set or the error is what counts.

    Parameters
    ----------
    machine : str or MachineSpec
        Its name, one of :data:`~lindero.evaluation.MACHINES`.
    X, y : table and array-like
        Rows and their targets; rows without one are left out.
    params : dict or None, default=None
        Parameters that are not to be searched.
    grid : dict or None, default=None
        Values to try of each parameter; those of the machine's entry by default.
    measure : str or None, default=None
        What points are ranked by, one of :data:`~lindero.evaluation.MEASURES`. None is cost where
        there are costs, log-loss where a class is rare (below 20 % of the rows and below half of an
        equal share), accuracy for other classes, R² for numbers.
    costs : mapping or array-like of shape (n_classes, n_classes), default=None
        Cost of predicting the class of a column where that of a row is true; or a mapping from
        (true, predicted), other errors costing 1. Answers are then those of least expected cost.
    times, qid, weights : array-like or None, default=None
        Time, query and weight of each row.
    positions : array-like of shape (n_samples, n_coordinates) or None, default=None
        Where each row is, for adaptive machines.
    folds : int, default=5
        Number of folds.
    random_state : int, default=0
        Seed of the shuffling.
    progress : callable or None, default=None
        Called with the number of fits done and the number of all.

    Returns
    -------
    result : Tuning
        Of points with the same score the first of the grid is taken.

    See Also
    --------
    cross_validate : Scores of given parameters.
    compare : Many machines, each tuned inside its training rows.
    lindero.svm.SVCCV : The search of C and gamma as an estimator.

    Notes
    -----
    From 500 rows on, points of the usual grid of C, gamma and epsilon that cannot win are left out:
    larger Cs of a gamma whose score has fallen clearly, and points that are far from the best on a
    sample of the rows or with a wider tube. A grid that is given is tried whole. Within
    ``joblib.parallel_config(backend="dask")`` the workers of that cluster try the points, all of
    them, each by itself.

    Ctrl-C ends the search with a KeyboardInterrupt whose attribute `result` holds the points done
    until then, without a model; it has none where C and gamma were searched together.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lindero.evaluation import tune
    >>> X, y = load_iris(return_X_y=True)
    >>> result = tune("svc", X, y, grid={"C": [0.001, 10]})
    >>> result.params
    {'C': 10.0}
    """
    rows = EvaluationRows(X, y, times, qid, weights, positions)
    found, rows, splits = prepare_folds(machine, rows, folds, random_state)
    given = put_costs_inside(found, params or {}, costs, rows.y)
    searched = _choose_grid(found, given, grid)
    require_one_cost(found, given, searched)
    # All that a user asks for is tried; of the usual grid what may win.
    usual_grid = all(values == list(found.grid.get(k, ())) for k, values in searched.items())
    prune = usual_grid and len(rows.y) >= _MANY_ROWS
    first = {name: values[0] for name, values in searched.items() if values}
    judge = FoldJudge.plan(found, make_machine(found, {**given, **first}), rows, measure, costs)
    if grid is None and found.class_name == "SVC" and "class_weight" not in given:
        # Where a class is rare, the hinge loss is least for the same answer everywhere.
        searched |= {"class_weight": ["balanced"]} if judge.weighs_classes(rows) else {}

    def fit(point: dict[str, Any], part: EvaluationRows) -> Any:
        return fit_machine(make_machine(found, {**given, **point}), part.X, **part.roles())

    trials: list[Trial] = []
    try:
        if not _find_cluster() and _can_share_work(found, given, searched):
            trials += _search_together(found, given, searched, rows, splits, progress, judge, prune)
        else:
            points, grade = list(ParameterGrid(searched)), judge.score_measure
            # One by one: those done are the result of a search that is interrupted.
            for trial in try_points(points, fit, judge.watch, rows, splits, progress, grade):
                trials.append(trial)
        result = _sum_up(found, given, judge, trials)
        aim = judge.asks_for
        if measure is None and hasattr(found.load(), "partial_fit"):
            aim = None  # a curve that nobody asked for would keep it from learning further rows
        model = make_decision_machine(
            found, result.params, y=rows.y, costs=costs, measure=aim, random_state=random_state
        )
        fitted = fit_machine(model, rows.X, **rows.roles())
        decides = isinstance(fitted, DecisionClassifier)
        return replace(result, model=fitted, threshold=fitted.threshold_ if decides else None)
    except KeyboardInterrupt as interrupt:
        if any(trial.failure is None for trial in trials):
            interrupt.result = _sum_up(found, given, judge, trials)  # type: ignore[attr-defined]
        raise


def _sum_up(
    machine: MachineSpec, given: Mapping[str, Any], judge: FoldJudge, trials: list[Trial]
) -> Tuning:
    """The result of some trials, without a model."""
    greater = find_measure(judge.measure).greater_is_better
    ordered = rank_trials(trials, less_is_better=not greater)
    best = ordered[0]
    if best.failure is not None:
        raise ValueError(f"No point of the grid could be fitted. The first error: {best.failure}")
    params = {**given, **best.params}
    return Tuning(machine.name, params, best, judge.measure, ordered, None, judge.reason)


def _choose_grid(
    machine: MachineSpec, given: Mapping[str, Any], grid: Mapping[str, Any] | None
) -> dict[str, list[Any]]:
    """Values of the parameters that are searched."""
    searched = {
        name: list(found) if isinstance(found, (list, tuple, np.ndarray)) else [found]
        for name, found in (machine.grid if grid is None else grid).items()
        if name not in given
    }
    kernel = {**machine.preset, **given}.get("kernel")
    if grid is None and (kernel in WITHOUT_GAMMA or callable(kernel)):
        searched.pop("gamma", None)
    if not searched:
        why = "it has no target, so no score says what is best."
        if machine.has_target:
            why = (
                "all of its usual grid is set, or it has none. Say which values to try: grid=, or "
                "--grid name=value,value."
            )
        raise ValueError(f"There is nothing to tune in {machine.name}: {why}")
    return searched


def _can_share_work(
    machine: MachineSpec, given: Mapping[str, Any], searched: Mapping[str, list[Any]]
) -> bool:
    """Whether `SVCCV` or `SVRCV` knows everything that is asked for."""
    if machine.variant_of or machine.class_name not in SEARCHES or "C" not in searched:
        return False
    import lindero.svm

    kind = getattr(lindero.svm, SEARCHES[machine.class_name])
    known = {*inspect.signature(kind).parameters, "gamma", *list_encoder_parameters(machine)}
    return set(given) <= known and set(searched) <= {"C", "gamma", "epsilon", "class_weight"}


def _search_together(
    machine: MachineSpec,
    given: Mapping[str, Any],
    searched: Mapping[str, list[Any]],
    rows: EvaluationRows,
    splits: Sequence[Split],
    progress: FitsDone | None,
    judge: FoldJudge,
    prune: bool,
) -> list[Trial]:
    """C and gamma by `SVCCV` or `SVRCV`. The table is encoded once, by all rows: scales, which
    know nothing of the target, are those of the whole."""
    # Scores of the estimators themselves, or of what they say of each fold.
    own = judge.measure in ("accuracy", "r2") and judge.costs is None
    rank = make_scorer(judge.measure, judge.positive)
    pending: list[FoldRecord] = []
    told: dict[Any, dict[int, FoldRecord]] = {}

    def watch(model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        pending[:] = [judge.watch(model, EvaluationRows(X, y, weights=sample_weight))]
        if rank is None:
            return float(model.score(X, y, sample_weight))
        return rank(model, X, y, sample_weight)

    of_table = {name: given[name] for name in list_encoder_parameters(machine) if name in given}
    numbers = TableEncoder(**of_table).fit_transform(rows.X)
    others = {name: values for name, values in searched.items() if name not in ("C", "gamma")}
    usual = {**machine.preset, **given}
    apart = {"gamma", *of_table, *searched}
    fixed = {name: value for name, value in usual.items() if name not in apart}
    gammas = searched.get("gamma", [usual.get("gamma", "scale")])
    has_gamma = usual.get("kernel", "rbf") not in WITHOUT_GAMMA
    rounds = list(ParameterGrid(others)) if others else [{}]
    # Wide tubes are solved fastest: they tell which points are worth a narrow one.
    order = sorted(range(len(rounds)), key=lambda k: -rounds[k].get("epsilon", 0.0))
    trials: list[list[Trial]] = [[] for _ in rounds]
    near = None
    for n_before, number in enumerate(order):
        point = rounds[number]

        def report(search: Any, n_before: int = n_before, number: int = number) -> None:
            if pending:
                place = number, search.C, search.gamma
                told.setdefault(place, {})[search.fold] = pending.pop()
            if progress is not None:
                progress(n_before * search.n_total + search.n_done, len(rounds) * search.n_total)

        scores = search_kernel(
            machine.class_name, numbers, rows.y, rows.weights, splits, Cs=searched["C"],
            gammas=gammas if has_gamma else None, fixed={**fixed, **point}, callback=report,
            scoring=None if own else watch, prune=prune, near=near,
        )  # fmt: skip
        if prune and near is None:
            near = scores.find_near()
        table = scores.cv_results_
        columns = table["params"], table["mean_test_score"], table["std_test_score"]
        for found, mean, std in zip(*columns, strict=True):
            params = {name: value for name, value in found.items() if name in searched} | point
            if not own:
                by_fold = told[number, found["C"], found.get("gamma")]
                records = [by_fold[fold] for fold in sorted(by_fold)]
                measured = judge.score_measure(records)
                mean, std = average_folds(measured), measure_spread(measured)
            trials[number].append(Trial(params, float(mean), float(std)))
    return [trial for some in trials for trial in some]
