"""What answers are judged by: error, log-loss and cost of classes, RMSE and MAE of numbers.

Less is better in all of them, and rows count by their weights.

    error      share of rows whose class is not the one predicted
    log-loss   −mean log P(true class); probabilities below 10⁻¹⁵ count as that
    cost       mean cost of the predicted class, given the true one

Classes are numbers here: positions among those that a machine knows. A row of none of them, −1, is
an error of the largest cost, and impossible.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lindero.runtime.arrays import Array

#: The least probability that a class is taken to have: a row of a class that a machine holds
#: impossible costs 34.5, not infinity.
LEAST_PROBABILITY = 1e-15


def codes_of(labels: Array, classes: Array) -> Array:
    """The position of each label among the classes; −1 where it is none of them, as text is none
    of numbers."""
    places = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([places.get(label, -1) for label in labels.tolist()], dtype=np.intp)


def class_scores(
    truth: Array,
    answers: Array,
    probabilities: Array | None,
    costs: Array | None,
    weights: Array | None,
) -> dict[str, float]:
    """Scores of answers about classes, all as positions among the classes."""
    scores = {"error": weighted_mean(truth != answers, weights)}
    own = np.full(len(truth), np.nan)
    if probabilities is not None:
        own = np.where(truth < 0, 0.0, probabilities[np.arange(len(truth)), truth])
    scores["log_loss"] = weighted_mean(-np.log(np.maximum(own, LEAST_PROBABILITY)), weights)
    if costs is not None:
        caused = np.where(truth < 0, costs.max(), costs[truth, answers])
        scores["cost"] = weighted_mean(caused, weights)
    return scores


def number_scores(truth: Array, answers: Array, weights: Array | None) -> dict[str, float]:
    """Scores of answers that are numbers."""
    off = np.asarray(answers, dtype=np.float64) - truth
    return {
        "rmse": float(np.sqrt(weighted_mean(off * off, weights))),
        "mae": weighted_mean(np.abs(off), weights),
    }


def weighted_mean(values: Array, weights: Array | None) -> float:
    """The mean of some rows; NaN where all weights are 0."""
    if weights is not None and not weights.any():
        return float("nan")
    return float(np.average(values, weights=weights))


def least_cost(probabilities: Any, costs: Any) -> Array:
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

    Examples
    --------
    An illness of one chance in five, which is 20 times as bad to miss as to suspect in vain:

    >>> from lindero.comparison import least_cost
    >>> least_cost([[0.8, 0.2]], costs=[[0, 1], [20, 0]])
    array([1])
    """
    expected = np.asarray(probabilities, dtype=np.float64) @ np.asarray(costs, dtype=np.float64)
    codes: Array = np.argmin(expected, axis=1)
    return codes


def cost_matrix(costs: Any, classes: Array) -> Array | None:
    """Costs as a user may give them, as a matrix over all classes.

    A mapping from (true class, predicted class) to costs leaves errors that it does not name at
    1, and right answers at 0.
    """
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
