"""The rows that machines are compared on, whatever kind of table they are in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from lindero.labels import plain_labels, require_labels
from lindero.machines import folds
from lindero.runtime.arrays import Array
from lindero.svm.adaptive.times import plain_times

CLASSIFICATION, REGRESSION = "classification", "regression"

#: Whole numbers of type float are classes up to so many different ones.
_MANY_VALUES = 20


@dataclass(frozen=True)
class Rows:
    """Some rows: features, targets, and what else is known of each.

    Attributes
    ----------
    X : dataframe, ndarray or csr_array
        Features.
    y : ndarray
        Classes or numbers.
    times, weights : ndarray or None
        When each row was seen, and how much it counts.
    """

    X: Any
    y: Array
    times: Array | None = None
    weights: Array | None = None

    @property
    def n_rows(self) -> int:
        return len(self.y)

    def take(self, indices: Array) -> Rows:
        """These rows, in this order."""
        parts = (self.X, self.y, self.times, self.weights)
        return Rows(*(folds.rows_of(part, indices) for part in parts))


def rows_of(X: Any, y: Any, times: Any, weights: Any) -> Rows:
    """What a user passed, as rows; or an error that says what is wrong with it."""
    frame = nw.from_native(X, pass_through=True, eager_only=True)
    table = X
    if not isinstance(frame, nw.DataFrame):
        table = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
        if table.ndim != 2:
            raise ValueError(
                f"X must be a table of rows and columns, but its shape is {table.shape}."
            )
    n_rows = int(table.shape[0])
    if y is None:
        raise ValueError("y is needed: the class, or the number, that each row is about.")
    require_labels(y)
    targets = plain_labels(column_or_1d(y))
    _require_one_each("y", targets, n_rows)
    return Rows(table, targets, _instants(times, n_rows), _weights(weights, n_rows))


def _instants(times: Any, n_rows: int) -> Array | None:
    if times is None:
        return None
    instants = plain_times(np.atleast_1d(times))
    _require_one_each("times", instants, n_rows)
    gone = np.isnat(instants) if instants.dtype.kind in "mM" else instants != instants
    if np.any(gone):
        raise ValueError(f"times[{int(np.argmax(gone))}] is missing: give every row its time.")
    return instants


def _weights(weights: Any, n_rows: int) -> Array | None:
    if weights is None:
        return None
    factors: Array = np.asarray(column_or_1d(weights), dtype=np.float64)
    _require_one_each("sample_weight", factors, n_rows)
    if not np.isfinite(factors).all() or (factors < 0).any() or not factors.any():
        raise ValueError(
            "sample_weight must be finite numbers of at least 0, and some must be above it."
        )
    return factors


def _require_one_each(name: str, values: Array, n_rows: int) -> None:
    if len(values) != n_rows:
        raise ValueError(
            f"{name} has {len(values)} values, but X has {n_rows} rows: pass one for each."
        )


def task_of(y: Array, task: str | None) -> str:
    """Whether targets are classes or numbers, as the user says or as they look."""
    if task is None:
        fractions = type_of_target(y).startswith("continuous")
        many = y.dtype.kind == "f" and len(np.unique(y)) > _MANY_VALUES
        return REGRESSION if fractions or many else CLASSIFICATION
    if task not in (CLASSIFICATION, REGRESSION):
        raise ValueError(
            f"Machines are compared on {CLASSIFICATION} or {REGRESSION}; the task is {task!r}."
        )
    if task == REGRESSION and y.dtype.kind not in "iufb":
        raise ValueError(
            "A regression needs numbers as targets, and these are of type "
            f"{y.dtype}: pass task={CLASSIFICATION!r}, or another target."
        )
    return task
