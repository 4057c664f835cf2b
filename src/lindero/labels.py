"""Labels of classes as users pass them: none missing, each with its place among the classes.

The same text is an array of text in NumPy and one of objects in a dataframe, so labels are told
apart by their values, and not by the type of the array that they come in.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import column_or_1d

from lindero.runtime.arrays import Array


def missing_values(values: Array) -> Array:
    """Which values are None, NaN, NaT or pandas' NA."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(values.shape, dtype=bool)
    missing: Array = np.frompyfunc(_is_missing, 1, 1)(values).astype(bool)
    return missing


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas' NA does not say whether it differs from itself
        return True
    except ValueError:  # neither does an array, but that is something
        return False


def require_labels(y: Any) -> None:
    """Refuse rows without a label."""
    if y is None or sp.issparse(y):
        return
    try:
        labels = _as_given(y)
    except ValueError:  # rows of different lengths, which later checks speak of
        return
    if labels.shape not in ((labels.size,), (labels.size, 1)):
        return
    labels = labels.ravel()
    missing = np.flatnonzero(missing_values(labels))
    if len(missing):
        row = int(missing[0])
        raise ValueError(
            f"y has no label in row {row}: its value is {labels[row]}. Leave such rows out, or "
            "label them first. (Input y contains NaN.)"
        )


def _as_given(labels: Any) -> Array:
    """Labels in an array that has kept each as it is: a list of text and NaN would become text that
    says 'nan'."""
    array = np.asarray(labels)
    listed = array.dtype.kind == "U" and not hasattr(labels, "dtype")
    return np.asarray(labels, dtype=object) if listed else array


def require_one_kind(labels: Array) -> None:
    """Refuse text among other labels, which has no order with them."""
    if labels.dtype != object:
        return
    text = np.array([isinstance(label, str) for label in labels], dtype=bool)
    if text.any() and not text.all():
        one, other = int(np.argmax(text)), int(np.argmin(text))
        raise ValueError(
            f"y mixes text with other labels: row {one} holds {labels[one]!r}, row {other} holds "
            f"{labels[other]!r}. Make all of them text, or all of them numbers."
        )


def declared_classes(classes: Any) -> Array:
    """The classes that a user says there are, in order."""
    if missing_values(_as_given(classes)).any():
        raise ValueError(f"classes={list(classes)} holds a missing value: name labels only.")
    return np.unique(column_or_1d(classes, input_name="classes"))


def plain_labels(labels: Array) -> Array:
    """Labels in an array of their own type: text in a dataframe comes as objects."""
    require_one_kind(labels)
    return np.array(labels.tolist()) if labels.dtype == object else labels


def require_same_kind(labels: Array, known: Array, advice: str) -> None:
    """Refuse text where classes are numbers, and the other way round; both are plain."""
    if (labels.dtype.kind in "US") != (known.dtype.kind in "US"):
        raise ValueError(
            f"y holds labels like {labels.tolist()[0]!r}, but those known are like "
            f"{known.tolist()[0]!r}: text and numbers cannot be mixed. {advice}"
        )


def label_codes(y: Array, classes: Array, advice: str) -> Array:
    """The position of each label among the classes; `advice` is for users whose label is none."""
    known, labels = plain_labels(classes), plain_labels(y)
    require_same_kind(labels, known, advice)
    codes: Array = np.minimum(np.searchsorted(known, labels), len(known) - 1)
    unknown = np.flatnonzero(known[codes] != labels)
    if len(unknown):
        row = int(unknown[0])
        raise ValueError(
            f"y holds the label {labels.tolist()[row]!r} in row {row}, but the classes are "
            f"{known.tolist()}. {advice}"
        )
    return codes


def known_codes(y: Any, classes: Array) -> Array:
    """The position of each label among the classes of a fitted model."""
    if y is None:
        raise ValueError("y is needed: the labels given to fit.")
    require_labels(y)
    return label_codes(column_or_1d(y), classes, "Such labels were not in the data given to fit.")
