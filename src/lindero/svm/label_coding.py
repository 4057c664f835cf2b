"""Two classes that become known as labels come: which they are, and the code of each label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from lindero.labels import (
    declared_classes,
    plain_labels,
    require_labels,
    require_one_kind,
    require_same_kind,
)
from lindero.runtime.arrays import Array
from lindero.svm.costs import require_two


@dataclass(frozen=True)
class LabelCoding:
    """The classes known, in order; `declared` if no others may come."""

    classes: Array
    declared: bool

    @classmethod
    def begun(cls, y: Array, classes: Any) -> LabelCoding:
        """From the labels of a first call, and the classes it declares, if any."""
        require_one_kind(y)
        check_classification_targets(y)
        if classes is None:
            return cls(np.unique(y), False)
        declared = declared_classes(classes)
        require_two(declared)
        return cls(declared, True)

    def declaring(self, classes: Any) -> LabelCoding:
        """With classes declared in a later call, which must agree with what is known."""
        given = declared_classes(classes)
        require_two(given)
        known, labels = plain_labels(self.classes), plain_labels(given)
        agrees = np.isin(known, labels).all()
        if not agrees or (len(known) == 2 and not np.isin(labels, known).all()):
            raise ValueError(
                f"classes={given.tolist()} differs from the {self.classes.tolist()} known so far. "
                "Call fit to begin anew."
            )
        return LabelCoding(self.classes if len(known) == 2 else given, True)

    def knowing(self, y: Array) -> LabelCoding:
        """With the labels of y, which may be the first of a second class."""
        require_labels(y)
        known, labels = plain_labels(self.classes), plain_labels(y)
        require_same_kind(labels, known, "Call fit to begin anew.")
        unknown = np.flatnonzero(~np.isin(labels, known))
        if len(unknown) == 0:
            return self
        room = 0 if self.declared else 2 - len(known)
        _, first = np.unique(labels[unknown], return_index=True)
        rows = unknown[np.sort(first)]  # where each new class comes first
        classes = np.unique(np.concatenate([known, labels[rows[:room]]]))
        if len(rows) > room:
            raise ValueError(
                f"y holds the label {labels.tolist()[rows[room]]!r} in row {rows[room]}, but the "
                f"classes are {classes.tolist()}"
                + (" as declared" if self.declared else "")
                + ". Only two classes can be told apart. Call fit to begin anew, or wrap the "
                "machine in sklearn.multiclass.OneVsRestClassifier."
            )
        check_classification_targets(y)
        objects = self.classes.dtype == object
        return LabelCoding(classes.astype(object) if objects else classes, False)

    def codes(self, y: Array) -> Array:
        """The position of each label among the classes."""
        return np.searchsorted(plain_labels(self.classes), plain_labels(y)).astype(np.float64)

    def covers(self, y: Array) -> bool:
        """Whether all labels are known, where that is quickly seen."""
        if y.dtype.kind != self.classes.dtype.kind or y.dtype.kind not in "biufU":
            return False
        places = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        return bool((self.classes[places] == y).all())
