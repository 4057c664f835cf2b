"""How good predictions are: one vocabulary of measures for all tasks.

Of classes:

    accuracy, error     share of rows whose class is the one predicted, and of the others
    balanced_accuracy   mean over the classes of the share of their rows that are found (recall)
    f1                  2 TP / (2 TP + FP + FN)
    mcc                 Matthews' correlation of true and predicted classes
    kappa               Cohen's κ, agreement beyond chance
    cost                mean cost of the predicted class, given the true one
    roc_auc             probability that a row of a class is ranked above one of the others
    average_precision   area below the precision–recall curve, in steps
    log_loss            −mean log P(true class); probabilities below 10⁻¹⁵ count as that
    brier               mean squared error of the probabilities; for more than two classes summed
                        over them

Of numbers:

    rmse, mae           root of the mean squared error, mean absolute error
    r2                  1 − squared error / squared deviations of the target
    pinball             loss of a quantile, by default the median; pinball@0.9 is of the 90 % one

Of others:

    ndcg@10             of the first ten rows of each query; NaN where no query has an order
    outlier_share       share of rows that a novelty detector finds unlike those of training, which
                        says nothing of being right

Of two classes, f1 and average_precision are about the rarer one, the positive class (the second of
equals). Of more, f1, average_precision and roc_auc are means over the classes, each against the
rest (macro averages). log_loss and brier of classes, and all measures of numbers, are *proper*:
they are best for the true probabilities, or the true mean, median or quantile, so that they tell
machines apart whose classes are all the same.

Rows count by their weights. Classes are numbers here: positions among those that a machine knows. A
row of none of them, −1, is an error of the largest cost, and has probability 0.

Of costs a cost-sensitive machine knows their ratio only, C₊/(2C₋ − 1)
(`lindero.svm.costs_from_matrix`): the unit is what an error on the class that is not
`positive_class` costs.

This is one file, since names, formulas, the choice of a measure and the thresholds that follow
from it have to agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from lindero.evaluation.build import (
    compute_probabilities,
    make_machine,
    predict_rows,
    unwrap_machine,
)
from lindero.evaluation.registry import (
    CLASSIFICATION,
    CLUSTERING,
    NOVELTY,
    RANKING,
    REGRESSION,
    TAGGING,
    MachineSpec,
    Strategy,
    suggest_name,
)
from lindero.runtime.arrays import Array
from lindero.svm.sequences import count_runs, measure_sequences

LABELS, PROBABILITIES, NUMBERS = "labels", "probabilities", "numbers"


@dataclass(frozen=True)
class Measure:
    """A measure of predictions, an entry of :data:`MEASURES`.

    Attributes
    ----------
    name : str
        As it is written in Python and on the command line.
    title : str
        As it is written in tables.
    task : {"classification", "regression", "ranking", "tagging", "novelty"}
        What it judges.
    greater_is_better : bool, default=False
        Whether more of it is better.
    needs : {"labels", "probabilities", "numbers"}, default="labels"
        What it looks at.
    is_proper : bool, default=False
        Whether true probabilities, or the true mean, median or quantile, are best by it.
    by_rows : bool, default=False
        Whether it is a mean over rows, or its root.
    by_order : bool, default=False
        Whether of probabilities only their order matters, so that decision values do as well.
    in_percent : bool, default=False
        Whether it is written in per cent.
    quantile : float, default=0.5
        That pinball is the loss of.

    See Also
    --------
    find_measure : The entry of a name.
    score : A measure of some predictions.

    Examples
    --------
    >>> from lindero.evaluation import MEASURES
    >>> MEASURES["roc_auc"].title, MEASURES["roc_auc"].greater_is_better
    ('ROC AUC', True)
    """

    name: str
    title: str
    task: str
    greater_is_better: bool = False
    needs: str = LABELS
    is_proper: bool = False
    by_rows: bool = False
    by_order: bool = False
    in_percent: bool = False
    quantile: float = 0.5

    def orient(self, values: Any) -> Any:
        """Scores with the sign changed where more is better, so that less is."""
        return -values if self.greater_is_better else values


def _labels(name: str, title: str, **more: Any) -> Measure:
    return Measure(name, title, CLASSIFICATION, **more)


def _probabilities(name: str, title: str, **more: Any) -> Measure:
    return Measure(name, title, CLASSIFICATION, needs=PROBABILITIES, **more)


def _numbers(name: str, title: str, **more: Any) -> Measure:
    return Measure(name, title, REGRESSION, needs=NUMBERS, is_proper=True, by_rows=True, **more)


_MORE: dict[str, Any] = {"greater_is_better": True}
_ALL = (
    _labels("error", "error", by_rows=True, in_percent=True),
    _labels("accuracy", "accuracy", by_rows=True, in_percent=True, **_MORE),
    _labels("balanced_accuracy", "balanced accuracy", in_percent=True, **_MORE),
    _probabilities("roc_auc", "ROC AUC", by_order=True, **_MORE),
    _probabilities("average_precision", "average precision", by_order=True, **_MORE),
    _labels("f1", "F1", **_MORE),
    _probabilities("log_loss", "log-loss", is_proper=True, by_rows=True),
    _probabilities("brier", "Brier score", is_proper=True, by_rows=True),
    _labels("cost", "cost", by_rows=True),
    _labels("mcc", "MCC", **_MORE),
    _labels("kappa", "κ", **_MORE),
    _numbers("mae", "MAE"),
    _numbers("rmse", "RMSE"),
    _numbers("r2", "R²", **_MORE),
    _numbers("pinball", "pinball loss"),
    Measure("ndcg@10", "NDCG@10", RANKING, **_MORE),
    Measure("token_accuracy", "accuracy of tokens", TAGGING, in_percent=True, **_MORE),
    Measure("sequence_accuracy", "accuracy of sequences", TAGGING, in_percent=True, **_MORE),
    Measure("chunk_f1", "F1 of chunks", TAGGING, **_MORE),
    Measure("outlier_share", "share of outliers", NOVELTY),
)

#: Every measure by its name.
MEASURES: dict[str, Measure] = {measure.name: measure for measure in _ALL}

#: The least probability that a class is taken to have: a row of a class that a machine holds
#: impossible costs 34.5, not infinity.
LEAST_PROBABILITY = 1e-15

#: A class is rare below this share of the rows, and below half of an equal share.
RARE = 0.2

_COSTS = ("cost_positive", "cost_negative")


# -- measures by name -----------------------------------------------------------------------------


def title_measure(name: str) -> str:
    """What a measure is called in tables; other figures by their name."""
    return MEASURES[name].title if name in MEASURES else name.replace("_", " ")


def find_measure(name: str, task: str | None = None) -> Measure:
    """The entry of a measure, or an error that says which there are.

    Parameters
    ----------
    name : str
        One of :data:`MEASURES`, with hyphens or underscores; ``"pinball@0.9"`` is the loss of the
        90 % quantile.
    task : str or None, default=None
        What is to be judged; a measure of another task is refused.

    Returns
    -------
    measure : Measure

    See Also
    --------
    choose_measure : The usual one for some targets.

    Examples
    --------
    >>> from lindero.evaluation import find_measure
    >>> find_measure("log-loss").name, find_measure("pinball@0.9").quantile
    ('log_loss', 0.9)
    """
    known = [m.name for m in _ALL if task in (None, m.task)]
    key = str(name).strip().lower().replace("-", "_").replace(" ", "_")
    head, at, level = key.partition("@")
    if head == "pinball" and at:
        measure = _read_quantile(key, level)
    elif key in MEASURES:
        measure = MEASURES[key]
    else:
        raise ValueError(f"There is no measure {name!r}: {suggest_name(str(name), known)}")
    if task is not None and measure.task != task:
        raise ValueError(
            f"The measure {measure.name} is for {measure.task}, and the task is {task}: take one "
            f"of {', '.join(known)}."
        )
    return measure


def _read_quantile(name: str, text: str) -> Measure:
    try:
        quantile = float(text)
    except ValueError:
        quantile = math.nan
    if not 0.0 < quantile < 1.0:
        raise ValueError(f"{name!r}: write a quantile between 0 and 1, such as pinball@0.9.")
    title = f"pinball loss at {quantile:g}"
    return replace(MEASURES["pinball"], name=name, title=title, quantile=quantile)


def list_measures(task: str, has_costs: bool = False) -> list[str]:
    """Names of the measures of a task; cost is among them where there are costs."""
    return [m.name for m in _ALL if m.task == task and (has_costs or m.name != "cost")]


def choose_measure(task: str, y: Any, costs: Any = None, weights: Any = None) -> tuple[str, str]:
    """The measure that machines are ranked by where none is named.

    Parameters
    ----------
    task : {"classification", "regression"}
        What y is.
    y : array-like of shape (n_rows,)
        Classes, or their codes; or numbers.
    costs : array-like, mapping or None, default=None
        What errors cost, if they differ.
    weights : array-like of shape (n_rows,), default=None
        How much each row counts.

    Returns
    -------
    name : str
        "rmse" for numbers; "cost" where there are costs; "log_loss" where the rarest class has less
        than 20 % of the rows and less than half of an equal share; else "error".
    sentence : str
        Why.

    See Also
    --------
    find_measure : The entry of the name.

    Examples
    --------
    >>> from lindero.evaluation import choose_measure
    >>> choose_measure("classification", ["no"] * 97 + ["yes"] * 3)[0]
    'log_loss'
    """
    if task != CLASSIFICATION:
        return "rmse", "Ranked by RMSE, as the target is a number."
    if costs is not None:
        return "cost", "Ranked by mean cost, as errors have costs."
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    shares = np.bincount(codes, weights=weights, minlength=len(classes))
    shares = shares / max(shares.sum(), np.finfo(np.float64).tiny)
    rarest = int(np.argmin(shares)) if len(shares) else 0
    if len(classes) > 1 and shares[rarest] < min(RARE, 0.5 / len(classes)):
        return "log_loss", (
            f"Ranked by log-loss: class '{classes[rarest]!s}' has {100 * shares[rarest]:.2g} % of "
            "the rows, so that a machine that never predicts it would make few errors."
        )
    return "error", "Ranked by error, the share of wrong answers, as no class is rare."


def choose_others(
    measure: str, task: str, y: Any, costs: Any = None, weights: Any = None
) -> tuple[str, ...]:
    """Names of the measure and of two others that are shown beside it."""
    if task != CLASSIFICATION:
        usual = ["rmse", "mae", "r2"]
    elif costs is not None:
        usual = ["cost", "error", "log_loss"]
    elif choose_measure(task, y, None, weights)[0] == "log_loss":
        usual = ["log_loss", "roc_auc", "average_precision"]
    else:
        usual = ["error", "log_loss", "roc_auc"]
    same = {"error", "accuracy"} if measure in ("error", "accuracy") else {measure}
    return (measure, *[name for name in usual if name not in same][:2])


# -- scores of predictions ------------------------------------------------------------------------


def code_labels(labels: Array, classes: Array) -> Array:
    """The position of each label among the classes; −1 where it is none of them."""
    places = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([places.get(label, -1) for label in labels.tolist()], dtype=np.intp)


def find_positive(truth: Array) -> int:
    """The code of the positive class of two: the rarer one, of equals the second."""
    return 0 if np.sum(truth == 0) < np.sum(truth == 1) else 1


def score(
    measure: str,
    truth: Any,
    answers: Any,
    probabilities: Any = None,
    costs: Any = None,
    weights: Any = None,
    *,
    positive: int | None = None,
) -> float:
    """A measure of some predictions.

    Parameters
    ----------
    measure : str
        Its name, one of :data:`MEASURES` for classification or regression.
    truth : array-like of shape (n_rows,)
        Positions of the true classes, −1 for a class that is not known; or numbers.
    answers : array-like of shape (n_rows,) or None
        Predicted classes, as positions; or numbers.
    probabilities : array-like of shape (n_rows, n_classes), default=None
        Of each class. For roc_auc and average_precision decision values do as well.
    costs : array-like of shape (n_classes, n_classes), default=None
        Of predicting the class of a column where that of a row is true.
    weights : array-like of shape (n_rows,), default=None
        How much each row counts.
    positive : int or None, default=None
        Position of the class that f1 and average_precision of two classes are about; None is the
        rarer one of these rows.

    Returns
    -------
    value : float
        NaN where the rows do not say: no probabilities, weights of 0, one class only for roc_auc.

    See Also
    --------
    choose_threshold : From which probability on a class is best answered.

    Examples
    --------
    >>> from lindero.evaluation import score
    >>> score("f1", [0, 0, 0, 1, 1], [0, 0, 1, 1, 1])
    0.8
    >>> round(score("log_loss", [0, 1], None, [[0.9, 0.1], [0.2, 0.8]]), 3)
    0.164
    """
    found = find_measure(measure)
    truth = np.asarray(truth)
    weights = None if weights is None else np.asarray(weights, dtype=np.float64)
    if weights is not None and not np.any(weights):
        return math.nan
    if found.needs == NUMBERS:
        return _score_numbers(found, truth, np.asarray(answers, dtype=np.float64), weights)
    if found.task != CLASSIFICATION:
        raise ValueError(f"{found.name} is not computed from predictions alone.")
    matrix = None if costs is None else np.asarray(costs, dtype=np.float64)
    if found.needs == PROBABILITIES:
        if probabilities is None:
            return math.nan
        given = np.asarray(probabilities, dtype=np.float64)
        if not found.by_order:
            return average_rows(find_row_losses(found, truth, None, given), weights)
        return _score_order(found, truth, given, weights, positive)
    answers = np.asarray(answers)
    if found.name == "accuracy":
        return average_rows(truth == answers, weights)
    if found.by_rows:
        return average_rows(find_row_losses(found, truth, answers, None, matrix), weights)
    tables = [t for t in (probabilities, costs) if t is not None]
    n_classes = np.shape(tables[0])[1] if tables else 1 + int(max(truth.max(), answers.max()))
    if positive is None and n_classes == 2:
        positive = find_positive(truth)
    counts = count_confusions(truth, answers, n_classes, weights)
    return float(score_confusions(found.name, counts, None, positive))


def find_row_losses(
    measure: Measure,
    truth: Array,
    answers: Array | None,
    probabilities: Array | None,
    costs: Array | None = None,
) -> Array:
    """What each row adds to a measure that is a mean over rows, less being better: squared errors
    for rmse and r2, wrong answers for accuracy; NaN without probabilities."""
    if measure.needs == NUMBERS:
        assert answers is not None
        off = truth - answers
        if measure.name in ("rmse", "r2"):
            return np.asarray(off * off)
        if measure.name == "mae":
            return np.asarray(np.abs(off))
        return np.asarray(np.maximum(measure.quantile * off, (measure.quantile - 1.0) * off))
    rows = np.arange(len(truth))
    if measure.needs == PROBABILITIES:
        if probabilities is None:
            return np.full(len(truth), np.nan)
        own = np.where(truth < 0, 0.0, probabilities[rows, truth])
        if measure.name == "log_loss":
            return np.asarray(-np.log(np.maximum(own, LEAST_PROBABILITY)))
        squares = np.sum(probabilities**2, axis=1) - 2.0 * own + 1.0
        return np.asarray(squares / 2.0 if probabilities.shape[1] == 2 else squares)
    assert answers is not None
    if measure.name != "cost":
        return np.asarray(truth != answers, dtype=np.float64)
    if costs is None:
        raise ValueError("The measure cost needs costs: say what errors cost, or take another.")
    return np.where(truth < 0, costs.max(), costs[truth, answers])


def _score_numbers(measure: Measure, truth: Array, answers: Array, weights: Array | None) -> float:
    mean = average_rows(find_row_losses(measure, truth, answers, None), weights)
    if measure.name == "rmse":
        return math.sqrt(mean)
    if measure.name != "r2":
        return mean
    spread = average_rows((truth - np.average(truth, weights=weights)) ** 2, weights)
    if spread == 0.0:
        return 1.0 if mean == 0.0 else 0.0  # as scikit-learn has it
    return 1.0 - mean / spread


def _score_order(
    measure: Measure, truth: Array, values: Array, weights: Array | None, positive: int | None
) -> float:
    """roc_auc or average_precision: of two classes the positive one, of more the mean over those
    that have rows, and of which not all rows are."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    compute = roc_auc_score if measure.name == "roc_auc" else average_precision_score
    classes: Any = range(values.shape[1])
    if values.shape[1] == 2:
        classes = [find_positive(truth) if positive is None else positive]
    found = []
    for code in classes:
        own = truth == code
        counted = own if weights is None else own[weights > 0]
        if counted.any() and not counted.all():
            found.append(compute(own, values[:, code], sample_weight=weights))
    return float(np.mean(found)) if found else math.nan


def count_confusions(
    truth: Array, answers: Array, n_classes: int, weights: Array | None = None
) -> Array:
    """Weights of rows by true class and predicted class; a last row holds unknown classes."""
    size = n_classes + bool(np.any(truth < 0))
    flat = np.where(truth < 0, n_classes, truth) * size + answers
    return np.bincount(flat, weights=weights, minlength=size * size).reshape(size, size)


def score_confusions(
    measure: str, counts: Array, costs: Array | None = None, positive: int | None = None
) -> Any:
    """A measure of labels from confusion matrices of shape (..., n_classes, n_classes); `positive`
    is the class that f1 is about, None for the mean over all."""
    counts = np.asarray(counts, dtype=np.float64)
    total = counts.sum(axis=(-2, -1))
    right = np.diagonal(counts, axis1=-2, axis2=-1)
    true, predicted = counts.sum(axis=-1), counts.sum(axis=-2)
    with np.errstate(invalid="ignore", divide="ignore"):
        if measure == "cost":
            return np.sum(counts * costs, axis=(-2, -1)) / total
        if measure in ("error", "accuracy"):
            share = right.sum(axis=-1) / total
            return share if measure == "accuracy" else 1.0 - share
        if measure == "balanced_accuracy":
            return np.nanmean(np.where(true > 0, right / true, np.nan), axis=-1)
        if measure == "f1":
            each = np.where(true + predicted > 0, 2.0 * right / (true + predicted), np.nan)
            if positive is not None:
                return np.nan_to_num(each[..., positive])
            return np.nanmean(each, axis=-1)
        agreed, chance = right.sum(axis=-1), np.sum(true * predicted, axis=-1)
        if measure == "kappa":
            rest = total * total - chance
            return np.where(rest > 0, (agreed * total - chance) / rest, 0.0)
        assert measure == "mcc"
        spread = np.sqrt(total**2 - np.sum(true**2, axis=-1)) * np.sqrt(
            total**2 - np.sum(predicted**2, axis=-1)
        )
        return np.where(spread > 0, (agreed * total - chance) / spread, 0.0)


def score_all(
    task: str,
    truth: Array,
    answers: Array,
    probabilities: Array | None = None,
    costs: Array | None = None,
    weights: Array | None = None,
    *,
    positive: int | None = None,
    more: str | None = None,
) -> dict[str, float]:
    """All measures of a task, and `more`, a name that is not in the list (a quantile)."""
    names = list_measures(task, costs is not None)
    names += [more] if more is not None and more not in names else []
    given = truth, answers, probabilities, costs, weights
    return {name: score(name, *given, positive=positive) for name in names}


def score_classes(
    truth: Array,
    answers: Array,
    probabilities: Array | None,
    costs: Array | None,
    weights: Array | None,
) -> dict[str, float]:
    """Error, log-loss and cost of predicted classes, all as positions among the classes."""
    names = ["error", "log_loss", *(["cost"] if costs is not None else [])]
    return {name: score(name, truth, answers, probabilities, costs, weights) for name in names}


def score_numbers(truth: Array, answers: Array, weights: Array | None) -> dict[str, float]:
    """RMSE and MAE of predicted numbers."""
    return {name: score(name, truth, answers, weights=weights) for name in ("rmse", "mae")}


def average_rows(values: Array, weights: Array | None) -> float:
    """The mean of some rows; NaN where all weights are 0."""
    if weights is not None and not np.any(weights):
        return float("nan")
    return float(np.average(values, weights=weights))


# -- thresholds -----------------------------------------------------------------------------------

#: Resamples of the rows that a threshold is chosen by, and the most thresholds that are tried.
_RESAMPLES, _MOST_CUTS = 64, 1000


def choose_threshold(
    truth: Any,
    probabilities: Any,
    measure: str,
    costs: Any = None,
    weights: Any = None,
    *,
    positive: int | None = None,
) -> float | None:
    """The probability of the second of two classes from which on it is best answered.

    Parameters
    ----------
    truth : array-like of shape (n_rows,)
        Positions of the true classes, 0 or 1.
    probabilities : array-like of shape (n_rows, 2)
        Of rows that the machine was not trained on (out of fold).
    measure : str
        What the answers are to be good at, one of :data:`MEASURES`.
    costs : array-like of shape (2, 2), default=None
        Of predicting the class of a column where that of a row is true; for the measure "cost".
    weights : array-like of shape (n_rows,), default=None
        How much each row counts.
    positive : int or None, default=None
        Position of the class that f1 is about; None is the rarer one of these rows.

    Returns
    -------
    threshold : float or None
        None where there are not two classes, where the measure does not look at answers, and where
        0.5 is as good within noise. For costs, the threshold of least expected cost takes the place
        of 0.5, and is returned where no other is better beyond noise.

    See Also
    --------
    choose_least_cost : Classes of least expected cost, for any number of classes.

    Notes
    -----
    The threshold is the median of those that are best on 64 bootstrap resamples of the rows, which
    is steadier than the best one of the rows themselves. It is taken where it is better than the
    usual one by more than a standard error of the difference; with costs, also by more than one
    more error of the dearest kind would take away.

    References
    ----------
    .. [1] Elkan, C.: The foundations of cost-sensitive learning. IJCAI 2001, 973–978.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.evaluation import choose_threshold
    >>> truth = np.repeat([0, 1], [90, 10])
    >>> second = np.where(truth == 1, 0.4, np.linspace(0.0, 0.35, 100))
    >>> probabilities = np.column_stack([1 - second, second])
    >>> 0.3 < choose_threshold(truth, probabilities, "f1") < 0.4
    True
    """
    found = find_measure(measure, CLASSIFICATION)
    given = np.asarray(probabilities, dtype=np.float64)
    if found.needs != LABELS or given.ndim != 2 or given.shape[1] != 2:
        return None
    usual, matrix = 0.5, None
    if found.name == "cost":
        if costs is None:
            raise ValueError("A threshold for costs needs costs: say what errors cost.")
        matrix = np.asarray(costs, dtype=np.float64)
        alarm, miss = matrix[0, 1] - matrix[0, 0], matrix[1, 0] - matrix[1, 1]
        usual = float(np.clip(alarm / (alarm + miss), 0.0, 1.0)) if alarm + miss > 0 else 0.5
    fallback = None if usual == 0.5 else usual
    codes = np.asarray(truth)
    kept = np.flatnonzero((codes >= 0) & ~np.isnan(given[:, 1]))
    order = kept[np.argsort(-given[kept, 1], kind="stable")]
    second, own = given[order, 1], codes[order]
    if len(np.unique(own)) < 2:
        return fallback
    target = find_positive(own) if positive is None else positive
    mass = np.ones(len(own)) if weights is None else np.asarray(weights, dtype=np.float64)[order]
    ends = np.append(np.flatnonzero(np.diff(second)) + 1, len(second))
    ends = np.append(0, ends) if second[0] < 1.0 else ends
    if len(ends) > _MOST_CUTS:
        ends = ends[np.linspace(0, len(ends) - 1, _MOST_CUTS).astype(np.intp)]
    cuts = _place_cuts(second, ends)
    now = int(np.searchsorted(-second, -usual, side="right"))  # rows at or above the usual one

    def evaluate(weights: Array, ends: Array) -> Array:
        """The measure, less being better, where the first `ends` rows are answered second."""
        sums = np.zeros((2, len(own) + 1))
        np.cumsum(np.where(own == [[0], [1]], weights, 0.0), axis=1, out=sums[:, 1:])
        taken, whole = sums[:, ends], sums[:, -1:]
        counts = np.stack([whole - taken, taken], axis=-1)  # true class, end, predicted class
        values = score_confusions(found.name, np.swapaxes(counts, 0, 1), matrix, target)
        return np.asarray(np.nan_to_num(found.orient(values), nan=np.inf))

    random = np.random.default_rng(0)
    draws = [
        mass * random.multinomial(len(own), np.full(len(own), 1.0 / len(own)))
        for _ in range(_RESAMPLES)
    ]
    best = [cuts[np.argmin(evaluate(drawn, ends))] for drawn in draws]
    tuned = float(np.median(best))
    then = int(np.searchsorted(-second, -tuned, side="right"))
    both = np.array([now, then])
    gains = np.array([-np.diff(evaluate(drawn, both))[0] for drawn in draws])
    before, after = evaluate(mass, both)
    # Costs are known: an error of the dearest kind, had it been seen, must not undo the gain.
    dearest = 0.0 if matrix is None else float(matrix.max()) / len(own)
    if not before - after > np.std(gains[np.isfinite(gains)]) + dearest:
        return fallback
    return tuned


def _place_cuts(second: Array, ends: Array) -> Array:
    """A threshold for each number of rows that are answered second, half way to the next row."""
    return np.asarray((np.append(1.0, second)[ends] + np.append(second, 0.0)[ends]) / 2.0)


def choose_least_cost(probabilities: Any, costs: Any) -> Array:
    """The class of least expected cost of each row.

    Parameters
    ----------
    probabilities : array-like of shape (n_rows, n_classes)
        Of each class.
    costs : array-like of shape (n_classes, n_classes)
        ``costs[i][j]`` is the cost of predicting class j where class i is true.

    Returns
    -------
    codes : ndarray of shape (n_rows,)
        Positions among the classes.

    See Also
    --------
    lindero.svm.CostSensitiveSVC : Has the costs in its margins.

    Examples
    --------
    An illness with a probability of 20 %, where a miss costs 20 times as much as a false alarm:

    >>> from lindero.evaluation import choose_least_cost
    >>> choose_least_cost([[0.8, 0.2]], costs=[[0, 1], [20, 0]])
    array([1])
    """
    expected = np.asarray(probabilities, dtype=np.float64) @ np.asarray(costs, dtype=np.float64)
    codes: Array = np.argmin(expected, axis=1)
    return codes


def read_costs(costs: Any, classes: Array) -> Array | None:
    """Costs as a user may give them, as a matrix over all classes; a mapping from (true class,
    predicted class) leaves errors that it does not name at 1, and right answers at 0."""
    if costs is None:
        return None
    n_classes = len(classes)
    if isinstance(costs, Mapping):
        matrix = 1.0 - np.eye(n_classes)
        place = {label: code for code, label in enumerate(classes.tolist())}
        for pair, cost in costs.items():
            for label in pair:
                if label not in place:
                    raise ValueError(
                        f"costs name the class {label!r}, which does not occur: the classes are "
                        f"{', '.join(map(repr, place))}."
                    )
            matrix[place[pair[0]], place[pair[1]]] = cost
    else:
        matrix = np.asarray(costs, dtype=np.float64)
    if matrix.shape != (n_classes, n_classes):
        raise ValueError(
            f"costs must have a row for each true class and a column for each predicted one, "
            f"{n_classes} × {n_classes}; their shape is {matrix.shape}."
        )
    if not np.isfinite(matrix).all():
        raise ValueError(f"costs must be finite numbers, got {matrix.tolist()}.")
    negative = np.argwhere((matrix < 0) & ~np.eye(n_classes, dtype=bool))
    if len(negative):
        i, j = negative[0]
        raise ValueError(
            f"costs of errors must not be negative, and predicting {classes[j]!s} where "
            f"{classes[i]!s} is true costs {matrix[i, j]:g}. Only right answers may earn something."
        )
    return matrix


def put_costs_inside(
    machine: MachineSpec, params: Mapping[str, Any], costs: Any, y: Any
) -> dict[str, Any]:
    """Parameters of a machine, with costs of two classes where it has them in its margins."""
    classes = np.unique(np.asarray(y)) if costs is not None else np.empty(0)
    if machine.strategy is not Strategy.COSTS or len(classes) != 2:
        return dict(params)
    from lindero.svm import costs_from_matrix

    terms = costs_from_matrix(read_costs(costs, classes), classes.tolist())
    return {**terms._asdict(), **params}


# -- measures of a fitted machine ----------------------------------------------------------------


def measure_machine(
    machine: MachineSpec,
    model: Any,
    X: Any,
    y: Any,
    *,
    times: Any = None,
    qid: Any = None,
    weights: Any = None,
    positions: Any = None,
    found: Array | None = None,
    costs: Array | None = None,
) -> dict[str, float]:
    """All measures of a fitted machine on some rows; `found` are its predictions, if known, `costs`
    those of classes, if they are not its own."""
    if machine.task == CLUSTERING:
        raise ValueError(f"{machine.name} has no target, so nothing says how good it is.")
    if machine.task == RANKING:
        if not _has_order(np.asarray(y), np.asarray(qid)):
            return {"ndcg@10": float("nan")}
        # The pipeline would have the encoder know what qid is.
        encoded = X if model is unwrap_machine(model) else model[:-1].transform(X)
        return {"ndcg@10": float(unwrap_machine(model).score(encoded, y, qid=qid))}
    if found is None:
        found = predict_rows(model, X, times=times, qid=qid, positions=positions)
    if machine.task == TAGGING:
        return measure_sequences(np.asarray(y), found, None if qid is None else count_runs(qid))
    if machine.task == NOVELTY:
        return {"outlier_share": float(np.average(found < 0, weights=weights))}
    if machine.task == CLASSIFICATION:
        return _measure_classes(model, X, np.asarray(y), found, weights, times, costs)
    from sklearn.metrics import r2_score

    r2 = float(r2_score(y, found, sample_weight=weights))
    return {"r2": r2, **score_numbers(np.asarray(y), found, weights)}


def _measure_classes(
    model: Any, X: Any, y: Array, found: Array, weights: Any, times: Any, costs: Array | None
) -> dict[str, float]:
    truth, answers = code_labels(y, model.classes_), code_labels(found, model.classes_)
    if costs is None:
        costs = getattr(model, "costs_", None)  # of a DecisionClassifier
    if costs is None:
        costs = make_cost_matrix(unwrap_machine(model), model.classes_)
    probabilities = None
    if has_probabilities(model):
        probabilities = compute_probabilities(model, X, times=times)
    scores = score_classes(truth, answers, probabilities, costs, weights)
    result = {"accuracy": average_rows(truth == answers, weights)}
    if costs is not None:
        result["cost"] = scores["cost"]
    if probabilities is not None:
        result["log_loss"] = scores["log_loss"]
    return result


def _has_order(y: Array, qid: Array) -> bool:
    """Whether any query has rows of different relevance."""
    pairs = np.unique(np.column_stack([np.unique(qid, return_inverse=True)[1], y]), axis=0)
    return len(pairs) > len(np.unique(pairs[:, 0]))


def _find_cost_ratio(final: Any) -> float:
    """What an error on the positive class costs, one on the other class costing 1."""
    positive, negative = (getattr(final, name, 1.0) for name in _COSTS)
    try:
        return float(positive / (2.0 * negative - 1.0))
    except (TypeError, ZeroDivisionError):  # for `fit` to refuse
        return 1.0


def make_cost_matrix(final: Any, classes: Array) -> Array | None:
    """Costs of each predicted class, given the true one, that a machine has inside; None where all
    errors cost the same."""
    ratio = _find_cost_ratio(final)
    if ratio == 1.0 or len(classes) != 2:
        return None
    costs = 1.0 - np.eye(2)
    first = final.positive_class is not None and final.positive_class == classes[0]
    costs[0 if first else 1] *= ratio
    return costs


def require_one_cost(
    machine: MachineSpec, given: Mapping[str, Any], searched: Mapping[str, Any]
) -> None:
    """Refuse a grid whose points differ in what errors cost: the cheapest would always win."""
    varied = {name: searched[name] for name in _COSTS if name in searched}
    points = ParameterGrid(varied) if varied else [{}]
    models = [make_machine(machine, {**given, **point}) for point in points]
    if len({_find_cost_ratio(unwrap_machine(model)) for model in models}) > 1:
        raise ValueError(
            "Points of the grid differ in what errors cost, cost_positive / (2 cost_negative - 1), "
            "so their costs cannot be compared: set cost_positive and cost_negative to what they "
            "are (lindero.svm.costs_from_matrix), and search other parameters."
        )


def has_probabilities(model: Any) -> bool:
    """Whether a model has probabilities of its own."""
    # Support vector machines have a method that says how to get some.
    try:
        return hasattr(model, "predict_proba") or hasattr(model, "predict_log_proba")
    except (AttributeError, ValueError, NotImplementedError):
        return False


def average_folds(values: Any) -> float:
    """Mean over the folds that could be judged; NaN if there are none."""
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    return float(known.mean()) if len(known) else float("nan")


def measure_spread(values: Any) -> float:
    """Standard deviation over the folds that could be judged."""
    return float(average_folds((np.array(values) - average_folds(values)) ** 2) ** 0.5)
