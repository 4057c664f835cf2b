"""What machines that hold their samples share with others: values, weights, tags."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from lindero.kernels.operator import kernel_operator, origin
from lindero.models.kernel_machine import KernelMachine
from lindero.runtime.arrays import Array, dense
from lindero.solvers.solution import Certificate
from lindero.svm.calibration import RefusedMethod
from lindero.validation import new_table


class MarginMachine(BaseEstimator):  # type: ignore[misc]
    """Abstract."""

    kernel: Any
    certificate_: Certificate
    shape_fit_: tuple[int, int]
    support_: Array
    support_vectors_: Array
    dual_coef_: Array
    intercept_: Array
    _function: Any
    _weights: Array

    def _values(self, X: Any) -> Array:
        """The output of each machine for each row of X: (n_rows, n_machines)."""
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
        )
        return machine.decision_values(X)

    @property
    def coef_(self) -> Any:
        """Weights of the features, one row per machine; for the linear kernel only."""
        function = getattr(self, "_function", None)
        if (function.name if function else self.kernel) != "linear":
            raise AttributeError(
                "coef_ is only available when kernel='linear', not "
                f"kernel={function.name if function else self.kernel!r}."
            )
        check_is_fitted(self)
        return sp.csr_array(self._weights) if sp.issparse(self.dual_coef_) else self._weights

    # -- for scikit-learn ---------------------------------------------------------------------

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


class KernelClassifier(ClassifierMixin, MarginMachine):  # type: ignore[misc]
    """Abstract."""

    classes_: Array
    _n_support: Array

    predict_proba = RefusedMethod("predict_proba")
    predict_log_proba = RefusedMethod("predict_log_proba")

    @property
    def n_support_(self) -> Array:
        """Number of support vectors of each class."""
        check_is_fitted(self)
        return self._n_support
