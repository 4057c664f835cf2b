"""Labels, times and counts as a user may pass them, or an error that says what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from lindero.runtime.arrays import Array
from lindero.svm.adaptive.times import plain_times


def stream_labels(y: Any, n_rows: int) -> Array:
    """y as a vector of classes, none missing."""
    if y is None:
        raise ValueError("y is needed: the class of each row.")
    labels: Array = column_or_1d(y)
    if len(labels) != n_rows:
        raise ValueError(f"y has {len(labels)} values, but X has {n_rows} rows: pass one for each.")
    missing = labels != labels
    if np.any(missing):
        raise ValueError(f"y contains NaN: y[{int(np.argmax(missing))}] is no class.")
    try:
        check_classification_targets(labels)
    except ValueError as error:
        raise ValueError(f"prequential is for classifiers: y must hold classes. {error}") from None
    return labels


def class_codes(labels: Array, classes: Array) -> Array:
    """The position of each label among the classes."""
    codes: Array = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    unknown = np.flatnonzero(classes[codes] != labels)
    if len(unknown):
        row = int(unknown[0])
        raise ValueError(
            f"y[{row}] is {labels[row]!r}, which is none of the classes {classes.tolist()}. Pass "
            "all that occur as classes=."
        )
    return codes


def stream_times(times: Any, n_rows: int) -> Array:
    """times as a vector that never decreases."""
    instants = plain_times(np.atleast_1d(times))
    if len(instants) != n_rows:
        raise ValueError(
            f"times has {len(instants)} values, but X has {n_rows} rows: pass one for each."
        )
    missing = np.isnat(instants) if instants.dtype.kind in "mM" else instants != instants
    if np.any(missing):
        raise ValueError(f"times[{int(np.argmax(missing))}] is missing (NaN).")
    back = np.flatnonzero(instants[1:] < instants[:-1])
    if len(back):
        row = int(back[0]) + 1
        raise ValueError(
            f"A stream goes forward in time, but times[{row}] is before times[{row - 1}]. Sort the "
            "rows by time first."
        )
    return instants


def whole_number(value: Any, least: int, name: str) -> int:
    """A count, not below the least one that makes sense."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; it is {value!r}.")
    return int(value)
