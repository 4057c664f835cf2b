"""How good predictions are: one vocabulary of measures for all tasks.

    accuracy, error   share of rows whose class is the one predicted, and of the others
    log_loss          −mean log P(true class); probabilities below 10⁻¹⁵ count as that
    cost              mean cost of the predicted class, given the true one
    r2                1 − squared error / squared deviations of the target
    rmse, mae         root of the mean squared error, mean absolute error
    ndcg@10           of the first ten rows of each query; NaN where no query has an order
    outlier_share     share of rows that a novelty detector finds unlike those of training, which
                      says nothing of being right

Rows count by their weights. Cross-validation and tuning report accuracy and r2, comparisons error
and rmse, of which less is better. Of costs a cost-sensitive machine knows their ratio only,
C₊/(2C₋ − 1) (`lindero.svm.costs_from_matrix`): the unit is what an error on the class that is not
`positive_class` costs.

Classes are numbers here: positions among those that a machine knows. A row of none of them, −1, is
an error of the largest cost, and has probability 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from lindero.evaluation.build import make_machine, predict_rows, unwrap_machine
from lindero.evaluation.registry import CLASSIFICATION, CLUSTERING, NOVELTY, RANKING, MachineSpec
from lindero.runtime.arrays import Array

#: Measures as they are written in tables.
MEASURES = {
    "accuracy": "accuracy", "error": "error", "log_loss": "log-loss", "cost": "cost", "r2": "R²",
    "rmse": "RMSE", "mae": "MAE", "ndcg@10": "NDCG@10", "outlier_share": "share of outliers",
}  # fmt: skip

#: Measures of which less is better.
LESS_IS_BETTER = ("error", "cost", "log_loss", "rmse", "mae", "outlier_share")

#: The least probability that a class is taken to have: a row of a class that a machine holds
#: impossible costs 34.5, not infinity.
LEAST_PROBABILITY = 1e-15

_COSTS = ("cost_positive", "cost_negative")


# -- scores of predictions ------------------------------------------------------------------------


def code_labels(labels: Array, classes: Array) -> Array:
    """The position of each label among the classes; −1 where it is none of them."""
    places = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([places.get(label, -1) for label in labels.tolist()], dtype=np.intp)


def score_classes(
    truth: Array,
    answers: Array,
    probabilities: Array | None,
    costs: Array | None,
    weights: Array | None,
) -> dict[str, float]:
    """Error, log-loss and cost of predicted classes, all as positions among the classes."""
    scores = {"error": average_rows(truth != answers, weights)}
    own = np.full(len(truth), np.nan)
    if probabilities is not None:
        own = np.where(truth < 0, 0.0, probabilities[np.arange(len(truth)), truth])
    scores["log_loss"] = average_rows(-np.log(np.maximum(own, LEAST_PROBABILITY)), weights)
    if costs is not None:
        caused = np.where(truth < 0, costs.max(), costs[truth, answers])
        scores["cost"] = average_rows(caused, weights)
    return scores


def score_numbers(truth: Array, answers: Array, weights: Array | None) -> dict[str, float]:
    """RMSE and MAE of predicted numbers."""
    off = np.asarray(answers, dtype=np.float64) - truth
    return {
        "rmse": float(np.sqrt(average_rows(off * off, weights))),
        "mae": average_rows(np.abs(off), weights),
    }


def average_rows(values: Array, weights: Array | None) -> float:
    """The mean of some rows; NaN where all weights are 0."""
    if weights is not None and not np.any(weights):
        return float("nan")
    return float(np.average(values, weights=weights))


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
    return matrix


# -- measures of a fitted machine ----------------------------------------------------------------


def choose_measure(machine: MachineSpec, model: Any) -> str:
    """The measure that models are chosen by."""
    if machine.task == CLASSIFICATION:
        return "accuracy" if _find_cost_ratio(unwrap_machine(model)) == 1.0 else "cost"
    return {NOVELTY: "outlier_share", RANKING: "ndcg@10"}.get(machine.task, "r2")


def measure_machine(
    machine: MachineSpec,
    model: Any,
    X: Any,
    y: Any,
    *,
    times: Any = None,
    qid: Any = None,
    weights: Any = None,
    found: Array | None = None,
) -> dict[str, float]:
    """All measures of a fitted machine on some rows; `found` are its predictions, if known."""
    if machine.task == CLUSTERING:
        raise ValueError(f"{machine.name} has no target, so nothing says how good it is.")
    if machine.task == RANKING:
        if not _has_order(np.asarray(y), np.asarray(qid)):
            return {"ndcg@10": float("nan")}
        # The pipeline would have the encoder know what qid is.
        encoded = X if model is unwrap_machine(model) else model[:-1].transform(X)
        return {"ndcg@10": float(unwrap_machine(model).score(encoded, y, qid=qid))}
    if found is None:
        found = predict_rows(model, X, times=times)
    if machine.task == NOVELTY:
        return {"outlier_share": float(np.average(found < 0, weights=weights))}
    if machine.task == CLASSIFICATION:
        return _measure_classes(model, X, np.asarray(y), found, weights)
    from sklearn.metrics import r2_score

    r2 = float(r2_score(y, found, sample_weight=weights))
    return {"r2": r2, **score_numbers(np.asarray(y), found, weights)}


def _measure_classes(model: Any, X: Any, y: Array, found: Array, weights: Any) -> dict[str, float]:
    truth, answers = code_labels(y, model.classes_), code_labels(found, model.classes_)
    costs = _make_cost_matrix(unwrap_machine(model))
    probabilities = model.predict_proba(X) if has_probabilities(model) else None
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


def _make_cost_matrix(final: Any) -> Array | None:
    """Costs of each predicted class, given the true one; None where all errors cost the same."""
    ratio = _find_cost_ratio(final)
    if ratio == 1.0:
        return None
    costs = 1.0 - np.eye(2)
    first = final.positive_class is not None and final.positive_class == final.classes_[0]
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
        return hasattr(model, "predict_log_proba")
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
