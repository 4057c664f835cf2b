"""What every fitted kernel classifier offers: decisions, labels, attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from lindero.kernels.operator import KernelFunction
from lindero.runtime.arrays import Array
from lindero.svm.margin_machine import MarginMachine
from lindero.svm.multiclass import BinaryTask, join, votes

CALIBRATION = (
    "Support vector machines give decision values, not probabilities. For probabilities wrap the "
    "estimator: lindero.svm.calibrated(estimator), which is sklearn's CalibratedClassifierCV."
)


class _Refused:
    """An attribute that is not there, and says what to use instead."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        raise AttributeError(f"{owner.__name__} has no {self.name}. {CALIBRATION}")


class KernelClassifier(ClassifierMixin, MarginMachine):  # type: ignore[misc]
    """Abstract. Subclasses fit by solving binary tasks and end with `_adopt_expansion`."""

    multiclass: str
    decision_function_shape: str
    break_ties: bool

    def _adopt_expansion(
        self,
        X: Any,
        function: KernelFunction,
        shift: Array | None,
        classes: Array,
        codes: Array,
        tasks: Sequence[BinaryTask],
        alphas: Sequence[Array],
        intercepts: Array,
    ) -> None:
        """Set the attributes that describe the fitted machines, from the solution of each task."""
        expansion = join(tasks, alphas, codes, len(classes), self.multiclass)
        self._adopt_classes(classes, expansion.n_support, self.multiclass)
        self._adopt_vectors(
            function,
            X[expansion.support] if function.name != "precomputed" else X[:0],
            expansion.support,
            expansion.coefficients,
            intercepts,
            X.shape,
            shift,
        )

    def _adopt_classes(self, classes: Array, n_support: Array, scheme: str) -> None:
        """The classes, the support vectors of each, and how machines belong to them; before
        `_adopt_vectors`."""
        self.classes_ = classes
        self._n_support = n_support
        self._scheme = scheme  # parameters may be changed after the fit

    # -- decisions ----------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """Signed distance-like values: how far each row is on a class's side.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to judge; of shape (n_samples, n_training_rows) if the kernel is precomputed.

        Returns
        -------
        values : ndarray
            Shape (n_samples,) for two classes. With more, one column per class, or per pair of
            classes if ``decision_function_shape="ovo"`` (and ``multiclass="ovo"``).
        """
        return self._shaped(self._values(X))

    def predict(self, X: Any) -> Array:
        """The class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify; of shape (n_samples, n_training_rows) if the kernel is precomputed.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        values = self._values(X)
        n_classes = len(self.classes_)
        if n_classes == 2:
            codes = (values[:, 0] >= 0).astype(np.intp)
        elif self._scheme == "ovr":
            codes = np.argmax(values, axis=1)
        elif self.break_ties:
            codes = np.argmax(self._shaped(values), axis=1)
        else:
            codes = votes(values, n_classes)
        labels: Array = self.classes_[codes]
        return labels

    def _shaped(self, values: Array) -> Array:
        n_classes = len(self.classes_)
        if n_classes == 2:
            return values[:, 0]
        if self._scheme == "ovo" and self.decision_function_shape == "ovr":
            shaped: Array = _ovr_decision_function(values < 0, -values, n_classes)
            return shaped
        return values

    predict_proba = _Refused("predict_proba")
    predict_log_proba = _Refused("predict_log_proba")

    # -- attributes ---------------------------------------------------------------------------

    @property
    def _group_sizes(self) -> tuple[int, ...] | None:
        paired = self._scheme == "ovo" and len(self.classes_) > 2
        return tuple(int(k) for k in self._n_support) if paired else None

    @property
    def n_support_(self) -> Array:
        """Number of support vectors of each class."""
        check_is_fitted(self)
        return self._n_support
