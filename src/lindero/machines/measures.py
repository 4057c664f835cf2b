"""How good predictions are, in the measures that each task is judged by.

    classification   accuracy; mean cost where mistakes have costs; log-loss where a machine has
                     probabilities
    regression       R², mean absolute error
    ranking          NDCG of the first ten of each query; NaN where no query has an order
    novelty          the share of rows found unlike those of training, which is no measure of
                     being right

Choices between models go by the first of them, or by the cost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindero.kernels.functions import Array
from lindero.machines.building import final_estimator
from lindero.machines.fitting import predictions
from lindero.machines.registry import (
    CLASSIFICATION,
    CLUSTERING,
    NOVELTY,
    RANKING,
    Machine,
)

#: Measures of which less is better.
LESS_IS_BETTER = ("cost", "log_loss", "mean_absolute_error", "outlier_share")

_COSTS = ("cost_positive", "cost_negative")


def principal_measure(machine: Machine, model: Any) -> str:
    """The measure that a choice between models goes by."""
    if machine.task == CLASSIFICATION:
        return "cost" if _has_costs(final_estimator(model)) else "accuracy"
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
    final = final_estimator(model)
    y, found = y.astype(object), found.astype(object)  # text and numbers never are the same
    result = {"accuracy": float(np.average(y == found, weights=weights))}
    if _has_costs(final):
        positive = final.classes_[-1] if final.positive_class is None else final.positive_class
        costs = np.where(y == positive, final.cost_positive, final.cost_negative)
        result["cost"] = float(np.average(costs * (y != found), weights=weights))
    if has_probabilities(model):
        result["log_loss"] = _log_loss(model, X, y, weights)
    return result


def _log_loss(model: Any, X: Any, y: Array, weights: Any) -> float:
    """−mean log P(class of the row); infinite where a row is of a class never seen."""
    classes = model.classes_.tolist()
    place = {label: at for at, label in enumerate(classes)}
    codes = np.array([place.get(label, -1) for label in y.tolist()])
    log_proba = model.predict_log_proba(X)
    own = np.where(codes < 0, -np.inf, log_proba[np.arange(len(y)), codes])
    return float(-np.average(own, weights=weights))


def _has_order(y: Array, qid: Array) -> bool:
    """Whether any query has rows of different relevance."""
    pairs = np.unique(np.column_stack([np.unique(qid, return_inverse=True)[1], y]), axis=0)
    return len(pairs) > len(np.unique(pairs[:, 0]))


def _has_costs(final: Any) -> bool:
    """Whether mistakes have costs of their own."""
    return any(getattr(final, name, 1.0) != 1.0 for name in _COSTS)


def has_probabilities(model: Any) -> bool:
    """Whether a model has probabilities of its own."""
    # Support vector machines have a method that says how to get some.
    try:
        return hasattr(model, "predict_log_proba")
    except (AttributeError, ValueError, NotImplementedError):
        return False
