"""Labels, numbers to be predicted and weights of a partition, checked; and totals by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lindero.runtime.arrays import Array
from lindero.validation import find_classes, find_missing, make_label_array, make_plain_labels


def read_labels(y: Any, n_rows: int, label: str) -> Array:
    """Labels in an array of their own type."""
    labels = _read_column(y, n_rows, label)
    missing = find_missing(labels)
    if missing.any():
        raise ValueError(
            f"{label} of y has no label in its row {int(np.argmax(missing))}. Leave such rows out, "
            "or label them first. (Input y contains NaN.)"
        )
    return make_plain_labels(labels) if n_rows else labels


def read_numbers(y: Any, n_rows: int, label: str) -> Array:
    """Targets of a regression."""
    given = _read_column(y, n_rows, label)
    try:
        targets = given.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{label} of y holds {given.dtype}, not numbers.") from None
    bad = ~np.isfinite(targets)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"{label} of y holds {targets[row]} in its row {row}: leave such rows out, or fill "
            "them in first. (Input y contains NaN or infinity.)"
        )
    return targets


def _read_column(y: Any, n_rows: int, label: str) -> Array:
    if y is None:
        raise ValueError("y is needed: a target for each row of X, or the name of its column.")
    values = make_label_array(y)
    if values.shape != (n_rows,):
        raise ValueError(f"{label} of y has shape {values.shape}, but X has {n_rows} rows there.")
    return values


def read_weights(weights: Any, n_rows: int, label: str) -> Array | None:
    """Weights, none negative."""
    if weights is None:
        return None
    values: Array = np.asarray(weights, dtype=np.float64)
    if values.shape != (n_rows,):
        raise ValueError(f"{label} of sample_weight has shape {values.shape}, not ({n_rows},).")
    bad = ~(values >= 0) | np.isinf(values)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"{label} of sample_weight holds {values[row]} in its row {row}: weights must be "
            "finite and not negative."
        )
    return values


def encode_part(labels: Array, classes: Array, label: str) -> Array:
    """The position of each label among the classes."""
    if not len(labels):
        return np.empty(0, dtype=np.intp)
    codes: Array = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    unknown = classes[codes] != labels
    if unknown.any():
        row = int(np.argmax(unknown))
        raise ValueError(
            f"{label} of y holds the label {labels.tolist()[row]!r} in its row {row}, but the "
            f"classes are {classes.tolist()}."
        )
    return codes


@dataclass(frozen=True)
class ClassTotals:
    """The classes of some rows in their order, and how many rows with a weight, and which weight,
    each has."""

    classes: Array
    counts: Array
    weights: Array

    @classmethod
    def of(cls, labels: Array, weights: Array) -> ClassTotals:
        classes, codes = np.unique(labels, return_inverse=True)
        size = len(classes)
        counts = np.bincount(codes[weights > 0], minlength=size)
        return cls(classes, counts, np.bincount(codes, weights, size))

    def merge(self, other: ClassTotals) -> ClassTotals:
        """Of the rows of both."""
        if not len(self.classes) or not len(other.classes):
            return self if len(self.classes) else other
        kinds = [one.classes.dtype.kind in "US" for one in (self, other)]
        if kinds[0] != kinds[1]:
            raise ValueError(
                f"y holds labels like {self.classes.tolist()[0]!r} in one partition, and like "
                f"{other.classes.tolist()[0]!r} in another: text and numbers cannot be mixed."
            )
        classes = np.union1d(self.classes, other.classes)
        counts, weights = np.zeros(len(classes), dtype=np.int64), np.zeros(len(classes))
        for one in (self, other):
            places = np.searchsorted(classes, one.classes)
            counts[places] += one.counts
            weights[places] += one.weights
        return ClassTotals(classes, counts, weights)

    def require_several(self) -> None:
        """Refuse a single class, and targets that are no labels."""
        find_classes(self.classes)
        self.require_weight(np.ones(len(self.classes)))

    def require_weight(self, factors: Array) -> None:
        """Refuse classes without any weight."""
        empty = np.flatnonzero(~(self.weights * factors > 0))
        if len(empty):
            raise ValueError(
                f"The weights of all rows of class '{self.classes[empty[0]]}' are zero: give some "
                "a positive weight, or leave the class out."
            )
