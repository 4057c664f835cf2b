"""Two classes that become known as labels come: which they are, and the code of each label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from lindero.kernels.functions import Array
from lindero.svm.misclassification_costs import require_two


@dataclass(frozen=True)
class LabelCoding:
    """The classes known, in order; `declared` if no others may come."""

    classes: Array
    declared: bool

    @classmethod
    def begun(cls, y: Array, classes: Any) -> LabelCoding:
        """From the labels of a first call, and the classes it declares, if any."""
        check_classification_targets(y)
        if classes is None:
            return cls(np.unique(y), False)
        declared = np.unique(column_or_1d(classes))
        require_two(declared)
        return cls(declared, True)

    def declaring(self, classes: Any) -> LabelCoding:
        """With classes declared in a later call, which must agree with what is known."""
        given = np.unique(column_or_1d(classes))
        require_two(given)
        known, labels = _plain(self.classes), _plain(given)
        agrees = np.isin(known, labels).all()
        if not agrees or (len(known) == 2 and not np.isin(labels, known).all()):
            raise ValueError(
                f"classes={given.tolist()} differs from the {self.classes.tolist()} known so far. "
                "Call fit to begin anew."
            )
        return LabelCoding(self.classes if len(known) == 2 else given, True)

    def knowing(self, y: Array) -> LabelCoding:
        """With the labels of y, which may be the first of a second class."""
        known, labels = _plain(self.classes), np.unique(_plain(y))
        if (labels.dtype.kind in "US") != (known.dtype.kind in "US"):
            raise ValueError(
                f"y holds labels like {labels.tolist()[0]!r}, but those known are like "
                f"{known.tolist()[0]!r}: text and numbers cannot be mixed."
            )
        unknown = labels[~np.isin(labels, known)]
        if len(unknown) == 0:
            return self
        if len(known) + len(unknown) > 2 or self.declared:
            raise ValueError(
                f"y holds the label {unknown.tolist()[0]!r}, but the classes are {known.tolist()}"
                + (" as declared" if self.declared else "")
                + ". Only two classes can be told apart. Call fit to begin anew, or wrap the "
                "machine in sklearn.multiclass.OneVsRestClassifier."
            )
        check_classification_targets(y)
        both = np.unique(np.concatenate([known, unknown]))
        return LabelCoding(both.astype(self.classes.dtype) if self._objects else both, False)

    @property
    def _objects(self) -> bool:
        return bool(self.classes.dtype == object)

    def codes(self, y: Array) -> Array:
        """The position of each label among the classes."""
        if y.dtype.kind != self.classes.dtype.kind or y.dtype == object:
            return np.searchsorted(_plain(self.classes), _plain(y)).astype(np.float64)
        return np.searchsorted(self.classes, y).astype(np.float64)

    def covers(self, y: Array) -> bool:
        """Whether all labels are known, where that is quickly seen."""
        if y.dtype.kind != self.classes.dtype.kind or y.dtype.kind not in "biufU":
            return False
        places = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        return bool((self.classes[places] == y).all())


def _plain(labels: Array) -> Array:
    """Labels in an array of their own type: text in a dataframe comes as objects."""
    return np.array(labels.tolist()) if labels.dtype == object else labels
