"""Why a machine says what it says of a row.

Bayesian classifiers take their log-odds apart exactly (`explain`). For the others each column is
put, in turn, where it says nothing: a number at its mean, a category at none of its values. What
the value of the row loses by it is what the column has to say:

    said_j(x) = f(x) − f(x without column j)

With a linear kernel these are the terms w_j x_j, which sum up to f(x) − b; with others they need
not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindero.machines.building import TABLE_STEP, final_estimator
from lindero.machines.column_scales import SPARSE
from lindero.machines.registry import CLASSIFICATION, machine_of
from lindero.runtime.arrays import Array

#: The machine is asked once for each column: more would take too long.
MOST_COLUMNS = 1000


def explained_rows(model: Any, X: Any, *, times: Any = None, most: int = 5) -> list[str]:
    """A sentence for each row: its value, and the columns that have most to say.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted, from :func:`~lindero.machines.make_machine`.
    X : table
        Rows.
    times : array-like or None, default=None
        Their times, for machines that move.
    most : int, default=5
        How many columns to name.

    Returns
    -------
    sentences : list of str
        "yes: +1.2 (age +0.8, sex=male +0.5)". What is positive speaks for the class predicted, or
        for a larger number.
    """
    final = final_estimator(model)
    if hasattr(final, "explain"):
        explanation = final.explain(X)
        return [explanation.sentence(row, most) for row in range(len(explanation.log_odds))]
    if model is final:
        raise ValueError(f"{type(final).__name__} cannot be explained without its table encoder.")
    encoder = model.named_steps[TABLE_STEP]
    if encoder.n_features_in_ > MOST_COLUMNS:
        raise ValueError(
            f"The data have {encoder.n_features_in_} columns, too many to ask about one by one: "
            f"explanations go up to {MOST_COLUMNS}."
        )
    numbers = encoder.transform(X)
    labels, chosen = _labels(final, numbers, times)
    value = _value(final, numbers, times, chosen)
    said = np.empty((len(value), encoder.n_features_in_))
    for column, part in enumerate(encoder.parts()):
        said[:, column] = value - _value(final, _without(numbers, part), times, chosen)
    names = [str(name) for name in getattr(encoder, "feature_names_in_", _numbered(encoder))]
    return [_sentence(labels[row], value[row], said[row], names, most) for row in range(len(said))]


def _numbered(encoder: Any) -> list[str]:
    """Names of columns that have none; files of sparse rows count from 1."""
    if encoder.form_ == SPARSE:
        return [f"feature {column}" for column in range(1, encoder.n_features_in_ + 1)]
    return [f"x{column}" for column in range(encoder.n_features_in_)]


def _labels(final: Any, numbers: Any, times: Any) -> tuple[list[Any], Array | None]:
    """What is predicted for each row, and its place among the classes if it is one."""
    predicted = final.predict(numbers) if times is None else final.predict(numbers, times=times)
    machine = machine_of(final)
    if machine is None or machine.task != CLASSIFICATION:
        return [None] * len(predicted), None
    return predicted.tolist(), np.searchsorted(final.classes_, predicted)


def _value(final: Any, numbers: Any, times: Any, chosen: Array | None) -> Array:
    """What speaks for the class predicted, or the number predicted."""
    more = {} if times is None else {"times": times}
    ask = getattr(final, "decision_function", final.predict)
    values = np.asarray(ask(numbers, **more), dtype=np.float64)
    if chosen is None:
        return values
    if values.ndim == 1:
        return np.where(chosen == 1, values, -values)
    row_values: Array = values[np.arange(len(values)), chosen]
    return row_values


def _without(numbers: Any, part: slice) -> Any:
    """With one column saying nothing."""
    changed = numbers.copy()
    if isinstance(changed, np.ndarray):
        changed[:, part] = 0.0
        return changed
    changed.data[(changed.indices >= part.start) & (changed.indices < part.stop)] = 0.0
    return changed


def _sentence(label: Any, value: float, said: Array, names: list[str], most: int) -> str:
    order = np.argsort(-np.abs(said), kind="stable")[:most]
    parts = ", ".join(f"{names[j]} {said[j]:+.3g}" for j in order if said[j] != 0.0)
    head = f"{value:+.3g}" if label is None else f"{label}: {value:+.3g}"
    return f"{head} ({parts})" if parts else head
