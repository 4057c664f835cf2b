"""How good predictions are, in the measures that each task is judged by.

    classification   accuracy; mean cost where errors on one class cost more; log-loss where a
                     machine has probabilities
    regression       R², mean absolute error
    ranking          NDCG of the first ten of each query; NaN where no query has an order
    novelty          the share of rows found unlike those of training, which is no measure of
                     being right

Choices between models go by the first of them, or by the cost. Of costs a cost-sensitive machine
knows their ratio only, C₊/(2C₋ − 1) (`lindero.svm.costs_from_matrix`): the unit is what an error on
the class that is not `positive_class` costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid

from lindero.machines.building import final_estimator, make_machine
from lindero.machines.fitting import predictions
from lindero.machines.registry import (
    CLASSIFICATION,
    CLUSTERING,
    NOVELTY,
    RANKING,
    Machine,
)
from lindero.machines.scoring import class_scores, codes_of, weighted_mean
from lindero.runtime.arrays import Array

#: Measures of which less is better.
LESS_IS_BETTER = ("cost", "log_loss", "mean_absolute_error", "outlier_share")

_COSTS = ("cost_positive", "cost_negative")


def principal_measure(machine: Machine, model: Any) -> str:
    """The measure that a choice between models goes by."""
    if machine.task == CLASSIFICATION:
        return "accuracy" if _cost_ratio(final_estimator(model)) == 1.0 else "cost"
    return {NOVELTY: "outlier_share", RANKING: "ndcg@10"}.get(machine.task, "r2")


def measured(
    machine: Machine,
    model: Any,
    X: Any,
    y: Any,
    *,
    times: Any = None,
    qid: Any = None,
    weights: Any = None,
    found: Array | None = None,
) -> dict[str, float]:
    """All measures of a fitted model on some rows, by name; `found` are its predictions, where
    they are known."""
    if machine.task == CLUSTERING:
        raise ValueError(f"{machine.name} has no target, so nothing says how good it is.")
    if machine.task == RANKING and not _has_order(np.asarray(y), np.asarray(qid)):
        return {"ndcg@10": float("nan")}
    if machine.task == RANKING:
        # The pipeline would have the encoder know what qid is.
        encoded = X if model is final_estimator(model) else model[:-1].transform(X)
        return {"ndcg@10": float(final_estimator(model).score(encoded, y, qid=qid))}
    if found is None:
        found = predictions(model, X, times=times)
    if machine.task == NOVELTY:
        return {"outlier_share": float(np.average(found < 0, weights=weights))}
    if machine.task == CLASSIFICATION:
        return _classification(model, X, np.asarray(y), found, weights)
    from sklearn.metrics import mean_absolute_error, r2_score

    return {
        "r2": float(r2_score(y, found, sample_weight=weights)),
        "mean_absolute_error": float(mean_absolute_error(y, found, sample_weight=weights)),
    }


def _classification(model: Any, X: Any, y: Array, found: Array, weights: Any) -> dict[str, float]:
    truth, answers = codes_of(y, model.classes_), codes_of(found, model.classes_)
    costs = _cost_matrix(final_estimator(model))
    probabilities = model.predict_proba(X) if has_probabilities(model) else None
    scores = class_scores(truth, answers, probabilities, costs, weights)
    result = {"accuracy": weighted_mean(truth == answers, weights)}
    if costs is not None:
        result["cost"] = scores["cost"]
    if probabilities is not None:
        result["log_loss"] = scores["log_loss"]
    return result


def _has_order(y: Array, qid: Array) -> bool:
    """Whether any query has rows of different relevance."""
    pairs = np.unique(np.column_stack([np.unique(qid, return_inverse=True)[1], y]), axis=0)
    return len(pairs) > len(np.unique(pairs[:, 0]))


def _cost_ratio(final: Any) -> float:
    """What an error on the positive class costs, one on the other class costing 1."""
    positive, negative = (getattr(final, name, 1.0) for name in _COSTS)
    try:
        return float(positive / (2.0 * negative - 1.0))
    except (TypeError, ZeroDivisionError):  # for `fit` to refuse
        return 1.0


def _cost_matrix(final: Any) -> Array | None:
    """Costs of each predicted class, given the true one; None where all errors cost the same."""
    ratio = _cost_ratio(final)
    if ratio == 1.0:
        return None
    costs = 1.0 - np.eye(2)
    first = final.positive_class is not None and final.positive_class == final.classes_[0]
    costs[0 if first else 1] *= ratio
    return costs


def require_one_cost(
    machine: Machine, given: Mapping[str, Any], searched: Mapping[str, Any]
) -> None:
    """Refuse a grid whose points disagree on what errors cost: the cheapest would always win."""
    varied = {name: searched[name] for name in _COSTS if name in searched}
    points = ParameterGrid(varied) if varied else [{}]
    models = [make_machine(machine, {**given, **point}) for point in points]
    if len({_cost_ratio(final_estimator(model)) for model in models}) > 1:
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
