"""What every fitted kernel classifier offers: decisions, labels, attributes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from lindero.kernels.functions import Array, KernelFunction
from lindero.kernels.operator import kernel_operator, origin
from lindero.models.kernel_machine import KernelMachine, linear_weights
from lindero.solvers.solution import Solution
from lindero.svm.multiclass import BinaryTask, join, votes
from lindero.validation import new_table

CALIBRATION = (
    "Support vector machines give decision values, not probabilities. For probabilities wrap the "
    "estimator: sklearn.calibration.CalibratedClassifierCV(estimator, ensemble=False)."
)


#: Support vectors among which a kernel is looked at for negative directions.
_CHECKED_VECTORS = 200


class _Refused:
    """An attribute that is not there, and says what to use instead."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        raise AttributeError(f"{owner.__name__} has no {self.name}. {CALIBRATION}")


class KernelClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Abstract. Subclasses fit by solving binary tasks and end with `_adopt_expansion`."""

    kernel: Any
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
        solutions: Sequence[Solution],
    ) -> None:
        """Set the attributes that describe the fitted machines; `shift` is the origin they were
        trained with."""
        alphas = [solution.a for solution in solutions]
        expansion = join(tasks, alphas, codes, len(classes), self.multiclass)
        self.classes_ = classes
        self._scheme = self.multiclass  # parameters may be changed after the fit
        self.shape_fit_ = X.shape
        self.support_ = expansion.support.astype(np.int32)
        self._n_support = expansion.n_support
        self.intercept_ = np.array([solution.bias for solution in solutions])
        coefficients = expansion.coefficients
        self.dual_coef_ = sp.csr_array(coefficients) if sp.issparse(X) else coefficients
        if function.name == "precomputed":
            self.support_vectors_ = np.empty((0, 0), dtype=np.float64)
        else:
            self.support_vectors_ = X[expansion.support]
        self._function = function
        self._gamma = function.gamma
        if function.name == "linear":
            self._weights = linear_weights(self.support_vectors_, coefficients, self._group_sizes)
            self.intercept_ = self.intercept_ - self._bias_of_origin(shift)

    def _bias_of_origin(self, shift: Array | None) -> Array:
        """w·origin of each machine: what moving the origin of a linear kernel adds to its bias."""
        if shift is None or self._function.name != "linear":
            return np.zeros(len(self.intercept_))
        moved: Array = self._weights @ shift
        return moved

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
        return self._shaped(self._decision_values(X))

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
        values = self._decision_values(X)
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

    def _decision_values(self, X: Any) -> Array:
        check_is_fitted(self)
        X = new_table(self, X)
        if self._function.name == "linear":
            return np.asarray(X @ self._weights.T + self.intercept_, dtype=np.float64)
        vectors = self.support_vectors_
        if self._function.name == "precomputed":
            X = vectors = X[:, self.support_]
        machine = KernelMachine(
            kernel=kernel_operator(vectors, self._function, shift=origin(vectors, self._function)),
            coefficients=dense(self.dual_coef_),
            intercepts=self.intercept_,
            group_sizes=self._group_sizes,
        )
        return machine.decision_values(X)

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

    @property
    def coef_(self) -> Any:
        """Weights of the features, one row per machine; for the linear kernel only."""
        function = getattr(self, "_function", None)
        if (function.name if function else self.kernel) != "linear":
            raise AttributeError(
                f"coef_ is only available when kernel='linear', not kernel={self.kernel!r}."
            )
        check_is_fitted(self)
        return sp.csr_array(self._weights) if sp.issparse(self.dual_coef_) else self._weights

    @classmethod
    @cache
    def _get_param_names(cls) -> Any:
        """Names of the parameters, read from the signature once: a small fit is shorter than
        looking at it."""
        return super()._get_param_names()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def is_fitted_attribute(name: str) -> bool:
    """Whether an attribute is one that fitting sets (parameters and foreign ones are not)."""
    public = name.endswith("_") and not name.startswith("_")
    return public or name in (
        "_fitted_C",
        "_function",
        "_gamma",
        "_n_support",
        "_scheme",
        "_weights",
    )


def warn_if_indefinite(function: KernelFunction, X: Any, support: Array) -> None:
    """Say so when a kernel is not positive semi-definite on (some of) the support vectors."""
    if function.name in ("linear", "poly", "rbf") or len(support) == 0:
        return
    kernel = kernel_operator(X, function)
    probe = kernel.probe(support[:_CHECKED_VECTORS])
    matrix = kernel.cross(probe, probe)
    matrix = 0.5 * (matrix + matrix.T)
    ridge = 1e-8 * float(np.abs(matrix).max())
    _, failed = lapack.dpotrf(matrix + ridge * np.eye(len(matrix)), lower=1)
    if failed:
        warnings.warn(
            f"The {function.name} kernel is not positive semi-definite on these data: the problem "
            "has no single optimum, and the certificate speaks of a stationary point only.",
            UserWarning,
            stacklevel=6,
        )


def dense(values: Any) -> Array:
    """A sparse array made dense; a dense one as it is."""
    array: Array = values.toarray() if sp.issparse(values) else values
    return array
