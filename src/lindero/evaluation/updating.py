"""Fitted machines learn new rows and forget old ones.

Incremental support vector machines learn and forget single rows exactly, and know them by ids.
Adaptive machines append rows that are newer than all they know. Bayesian classifiers that count add
the counts of rows and take them away again; they hold no rows, so that those to be forgotten must
be given whole. A table encoder keeps its categories and scales: decision values before and after
are about the same numbers. So does what turns decisions into probabilities and answers: the machine
inside of a calibrated model, or of one with a threshold or costs, is updated, and the curve and the
threshold stay those of training.

All else learned from all rows together, and is trained again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from lindero.errors import warn_user
from lindero.evaluation.build import predict_rows, unwrap_machine
from lindero.evaluation.measures import measure_machine
from lindero.evaluation.registry import (
    CLASSIFICATION,
    NOVELTY,
    REGRESSION,
    MachineSpec,
    find_inner,
    identify_machine,
)
from lindero.runtime.arrays import Array
from lindero.validation import find_missing

#: The machine that can be updated, for each task.
_REMEDIES = {
    CLASSIFICATION: "incremental-svc for two classes, or naive-bayes",
    REGRESSION: "incremental-svr",
    NOVELTY: "incremental-one-class-svm",
}


@dataclass(frozen=True)
class Update:
    """What `update_machine` gives.

    Attributes
    ----------
    model : estimator or Pipeline
        The model with the new rows and without the forgotten ones.
    rows_before, rows_after : float
        How many rows it knew and knows, by weight for Bayesian classifiers.
    learned, forgotten : int
        Rows that were learned, and forgotten.
    scores : dict of float
        How good the model was on the new rows before it learned them, as of
        ``lindero predict``: fresh rows, and so an honest test.
    kept : str
        What stays as it was in training though the machine has changed, in a sentence; empty where
        nothing does.

    See Also
    --------
    update_machine : Makes it.
    """

    model: Any
    rows_before: float
    rows_after: float
    learned: int
    forgotten: int
    scores: dict[str, float] = field(default_factory=dict)
    kept: str = ""


def update_machine(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    times: Any = None,
    weights: Any = None,
    ids: Any = None,
    forget: Any = None,
    forget_rows: tuple[Any, ...] | None = None,
) -> Update:
    """Learn new rows and forget old ones, as if the model had been trained so.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted, from :func:`~lindero.evaluation.make_machine` or
        :func:`~lindero.evaluation.make_decision_machine`. It stays as it is.
    X : table or None, default=None
        New rows, with the columns of training; None learns nothing.
    y : array-like or None, default=None
        Their labels or targets.
    times, weights : array-like or None, default=None
        Their times, for machines that move, and weights.
    ids : array-like or None, default=None
        Their ids, for incremental machines that were trained with ids.
    forget : array-like or None, default=None
        Ids of the rows to forget, for incremental machines.
    forget_rows : tuple of (X, y) or (X, y, weights) or None, default=None
        Whole rows to forget, for Bayesian classifiers, which know rows by their values only; with
        the weights they were learned with, where these are not 1.

    Returns
    -------
    update : Update
        The new model, and what has changed.

    Raises
    ------
    ValueError
        If the machine cannot learn or forget; the message says why, and what to do.

    See Also
    --------
    fit_machine : Trains from scratch.
    prequential : Learns a stream row by row, and tests on each row before.

    Examples
    --------
    >>> from lindero.evaluation import fit_machine, make_machine, update_machine
    >>> model = make_machine("incremental-svc", {"kernel": "linear", "C": 10})
    >>> model = fit_machine(model, [[0.0], [4.0]], ["left", "right"], ids=["ann", "bob"])
    >>> update = update_machine(model, [[1.0]], ["right"], ids=["eve"])
    >>> update.rows_before, update.rows_after
    (2.0, 3.0)
    >>> update.scores["accuracy"], update.model.predict([[1.5]]).tolist()
    (0.0, ['right'])
    >>> update_machine(update.model, forget=["eve"]).model.predict([[1.5]]).tolist()
    ['left']
    """
    machine = identify_machine(model)
    if X is None and forget is None and forget_rows is None:
        raise ValueError("Nothing to do: give new rows, or rows to forget.")
    require_updatable(model, machine, X is not None, forget is not None, forget_rows is not None)
    assert machine is not None
    changed = deepcopy(model)
    before, scores = count_rows(changed), {}
    if X is not None and (machine.has_target or machine.task == NOVELTY):
        if machine.has_target and y is None:
            raise ValueError(
                f"The new rows have no target, and {machine.name} learns to predict one: give y "
                "(name its column, --target)."
            )
        scores = _score(machine, model, X, y, times, weights)
    new_ids = None if ids is None else np.asarray(ids).tolist()
    first = [] if forget is None else np.atleast_1d(np.asarray(forget)).tolist()
    steps: list[Callable[[], tuple[int, int]]] = [
        partial(_learn, changed, machine, X, y, times, weights, new_ids),
        partial(_forget, changed, first, forget_rows),
    ]
    if set(first) & set(new_ids or ()):  # rows that come again, changed
        steps.reverse()
    learned, forgotten = 0, 0
    for step in steps:
        n_learned, n_forgotten = step()
        learned, forgotten = learned + n_learned, forgotten + n_forgotten
    if machine.takes_times:
        unwrap_machine(changed).release_memory()  # its file would be many times as large
    kept = _tell_kept(changed)
    return Update(changed, before, count_rows(changed), learned, forgotten, scores, kept)


def _tell_kept(model: Any) -> str:
    """What an update leaves as it was."""
    if find_inner(model) is model:
        return ""
    parts = []
    if getattr(model, "curve_", None) is not None or hasattr(model, "calibrated_classifiers_"):
        parts.append("the calibration curve")
    if getattr(model, "threshold_", None) is not None:
        parts.append("the threshold")
    elif getattr(model, "rule_", None) == "costs":
        parts.append("the costs")
    if not parts:
        return ""
    said = " and ".join(parts)
    verb = "stay" if len(parts) > 1 or said == "the costs" else "stays"
    return (
        f"The machine inside was updated; {said} {verb} as in training. Train again when "
        "they no longer fit the rows."
    )


def require_updatable(
    model: Any,
    machine: MachineSpec | None,
    learns: bool = True,
    forgets: bool = False,
    forgets_rows: bool = False,
) -> None:
    """Refuse machines that cannot learn or forget, with the reason and what to do instead."""
    final = unwrap_machine(model)
    several = len(getattr(model, "calibrated_classifiers_", ())) > 1
    if machine is None or several:
        why = f"{type(final).__name__} learned from all rows together"
        if several:
            why = "it averages several machines, each of some of the rows (use ensemble=False)"
        raise ValueError(f"The model cannot be updated: {why}. Train it again with all rows.")
    remedy = _REMEDIES.get(machine.task)
    again = "Train it again with all rows" + (
        f", or train a machine that learns row by row (-m {remedy})." if remedy else "."
    )
    if learns:
        reason = _find_reason(final, "partial_fit")
        if reason is not None:
            raise ValueError(f"{machine.name} cannot learn further rows: {reason} {again}")
    knows_ids = hasattr(final, "sample_ids_")
    if forgets and not knows_ids:
        if _find_reason(final, "forget") is None:
            raise ValueError(
                f"{machine.name} keeps counts, not rows, and knows no ids: give the rows to forget "
                "whole, with all columns and the target."
            )
        raise ValueError(f"{machine.name} cannot forget rows: {again}")
    if forgets_rows:
        reason = _find_reason(final, "forget")
        if knows_ids or reason is not None:
            advice = "give their ids." if knows_ids else f"{reason} {again}"
            raise ValueError(f"{machine.name} cannot forget rows by their values: {advice}")


def _find_reason(final: Any, method: str) -> str | None:
    """Why a machine lacks a method; None where it has it."""
    try:
        getattr(final, method)
    except AttributeError as error:
        if not hasattr(type(final), method):
            return "it learned from all rows together."
        said = str(error.__cause__ or error).partition(": call fit")[0]
        return said if said.endswith(".") else f"{said}."
    return None


def count_rows(model: Any) -> float:
    """How many rows a model knows, or how much weight; NaN where it does not say."""
    final = unwrap_machine(model)
    if hasattr(final, "sample_ids_"):
        return float(len(final.sample_ids_))
    if hasattr(final, "class_count_"):
        return float(np.sum(final.class_count_))
    return float(getattr(final, "shape_fit_", (np.nan,))[0])


def _score(
    machine: MachineSpec, model: Any, X: Any, y: Any, times: Any, weights: Any
) -> dict[str, float]:
    moves = times if machine.takes_times else None
    found = predict_rows(model, X, times=moves)
    return measure_machine(machine, model, X, y, times=moves, weights=weights, found=found)


def _learn(
    model: Any, machine: MachineSpec, X: Any, y: Any, times: Any, weights: Any, ids: Any
) -> tuple[int, int]:
    if X is None:
        return 0, 0
    final, inner, rows = unwrap_machine(model), find_inner(model), X
    if final is not inner:
        rows = inner[:-1].transform(X)
        _warn_of_new_values(inner[0], X, rows)
    takes = inspect.signature(final.partial_fit).parameters
    given: dict[str, Any] = {"times": times, "sample_weight": weights, "ids": ids}
    if weights is not None and "sample_weight" not in takes:
        raise ValueError(f"{machine.name} takes no weights of rows: leave them out.")
    more = {name: value for name, value in given.items() if value is not None and name in takes}
    if machine.has_target:
        final.partial_fit(rows, y, **more)
    else:
        final.partial_fit(rows, **more)
    return int(rows.shape[0] if hasattr(rows, "shape") else len(rows)), 0


def _forget(model: Any, ids: Sequence[Any], rows: tuple[Any, ...] | None) -> tuple[int, int]:
    final, n_forgotten = unwrap_machine(model), 0
    if len(ids):
        final.forget(ids)
        n_forgotten += len(ids)
    if rows is not None:
        final.forget(*rows)
        n_forgotten += len(rows[1])
    return 0, n_forgotten


def _warn_of_new_values(encoder: Any, X: Any, encoded: Any) -> None:
    """Say which columns bring values that the encoding does not know: they count as no value."""
    kinds = getattr(encoder, "kinds_", ())
    if not hasattr(X, "column_names") or not hasattr(encoder, "parts"):
        return
    said = []
    for column, part in enumerate(encoder.parts()):
        if kinds[column] != "category" or not encoder.categories_[column]:
            continue
        name = str(encoder.feature_names_in_[column])
        width = len(encoder.categories_[column])
        block = encoded[:, part.start : part.start + width]
        values = np.array(X[name].to_pylist(), dtype=object)
        missing: Array = find_missing(values)
        new = (np.asarray(block.sum(axis=1)).ravel() == 0) & ~missing
        if new.any():
            said.append(f"{name!r} ({int(new.sum())} rows, such as {values[new][0]!r})")
    if said:
        warn_user(
            f"Values that were not there in training count as none: {', '.join(said)}. The "
            "encoding stays as it is; train again to learn them.",
            UserWarning,
        )
