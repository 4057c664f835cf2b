"""Fitting and asking machines that need more than X and y: times, queries, weights.

Each machine takes these by a name of its own, or not at all; here is the one place that knows.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.machines.building import MACHINE_STEP, final_estimator
from lindero.machines.registry import CLASSIFICATION, RANKING, Machine, machine_of
from lindero.runtime.arrays import Array


def fit_machine(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    times: Any = None,
    qid: Any = None,
    weights: Any = None,
) -> Any:
    """Fit an estimator of :func:`~lindero.machines.make_machine` with what it can use.

    Parameters
    ----------
    model : estimator or Pipeline
        From `make_machine`.
    X : table
        Rows.
    y : array-like or None, default=None
        Labels or targets.
    times, qid, weights : array-like or None, default=None
        Time, query and weight of each row. Times are left out for machines that have no use for
        them; queries and weights are refused where they would be ignored.

    Returns
    -------
    model : estimator or Pipeline
        The fitted model itself.
    """
    final = final_estimator(model)
    takes = inspect.signature(final.fit).parameters
    machine = machine_of(final)
    title = machine.name if machine is not None else type(final).__name__
    if machine is not None and machine.has_target:
        require_target(machine, y)
    if machine is not None and machine.takes_tables and sp.issparse(X):
        raise ValueError(
            f"{title} takes tables, not sparse rows: make them a table first (lindero convert "
            "rows.svm rows.csv, or X.toarray())."
        )
    if machine is not None and machine.task == RANKING and qid is None:
        raise ValueError(
            f"{title} ranks rows within a query, but the data say of no row which query it is of: "
            "name the column (--qid)."
        )
    given = {"times": times, "qid": qid if "qid" in takes else None, "sample_weight": weights}
    if weights is not None and "sample_weight" not in takes:
        raise ValueError(f"{title} takes no weights of rows: leave them out.")
    more = {name: value for name, value in given.items() if value is not None and name in takes}
    target = y if machine is None or machine.has_target else None
    if model is final:
        return model.fit(X, target, **more)
    return model.fit(X, target, **{f"{MACHINE_STEP}__{name}": v for name, v in more.items()})


def require_target(machine: Machine, y: Any) -> None:
    """Refuse data without a target, and numbers for classes or classes for numbers."""
    if y is None:
        raise ValueError(
            f"{machine.name} learns to predict a target, but the data have none: name a column "
            "(--target)."
        )
    values = np.asarray(y)
    if machine.task == CLASSIFICATION and len(values) and (values == values[0]).all():
        raise ValueError(
            f"The target has one value only ({values[0]!s}), so {machine.name} has nothing to tell "
            "apart: it needs rows of at least two classes."
        )
    if machine.task != CLASSIFICATION and values.dtype.kind not in "biuf":
        raise ValueError(
            f"{machine.name} predicts numbers, but the target holds {values[0]!r}: name another "
            "target, or take a machine for classes, such as svc."
        )
    if machine.task == CLASSIFICATION and _is_measured(values):
        raise ValueError(
            f"{machine.name} predicts classes, but the target holds numbers such as "
            f"{values[_first_broken(values)]:g}: take a machine for numbers, such as svr, or name "
            "another target."
        )


def _is_measured(values: Array) -> bool:
    return values.dtype.kind == "f" and bool(np.isfinite(values).all()) and _has_broken(values)


def _has_broken(values: Array) -> bool:
    return bool((values % 1.0 != 0.0).any())


def _first_broken(values: Array) -> int:
    return int(np.argmax(values % 1.0 != 0.0))


def predictions(model: Any, X: Any, *, times: Any = None) -> Array:
    """What a fitted machine says of rows: a class, a number, a rank, or 1 and −1 for rows like
    and unlike those of training."""
    machine = machine_of(model)
    if machine is not None and machine.takes_times and times is not None:
        values: Array = model.predict(X, times=times)
    else:
        values = model.predict(X)
    return values


def decision_values(model: Any, X: Any, *, times: Any = None) -> Array | None:
    """How far rows are on which side of the boundary; None where there is nothing such."""
    final = final_estimator(model)
    if not hasattr(final, "decision_function"):
        return None
    encoded = X if model is final else model[:-1].transform(X)
    machine = machine_of(model)
    if machine is not None and machine.takes_times and times is not None:
        values: Array = final.decision_function(encoded, times=times)
    else:
        values = final.decision_function(encoded)
    return values
