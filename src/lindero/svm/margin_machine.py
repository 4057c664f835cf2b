"""What every fitted margin machine shares: a fit that cannot half happen, support vectors, values.

Subclasses write `_fit`, which sets all fitted attributes of a copy. A call to `fit` that fails
leaves the estimator as it was; one that is interrupted leaves the best model so far.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lindero.kernels.operator import KernelFunction, kernel_operator, origin
from lindero.models.kernel_machine import KernelMachine, linear_weights
from lindero.runtime.arrays import Array, dense
from lindero.solvers.solution import Callback, Certificate, Limits, Status
from lindero.svm.transaction import fitting_aside
from lindero.validation import new_table, scale_advice

#: Support vectors among which a kernel is looked at for negative directions.
_CHECKED_VECTORS = 200


class MarginMachine(BaseEstimator):  # type: ignore[misc]
    """Abstract. Subclasses write `_fit` and call `_adopt_vectors` in it."""

    kernel: Any
    tol: float
    max_iter: int
    time_limit: float | None
    certificate_: Certificate

    # -- fitting ------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> bool:
        """Set all fitted attributes; whether the fit was interrupted."""
        raise NotImplementedError

    def _fit_aside(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit a copy that holds no trace of an earlier fit but its solutions, and become it."""
        with fitting_aside(self) as attempt:
            attempt.interrupted = attempt.estimator._fit(X, y, sample_weight)
        return self

    def _limits(self, callback: Callback | None, n_problems: int = 1) -> Limits:
        return Limits(
            max_iter=None if self.max_iter < 0 else self.max_iter,
            time_limit=self.time_limit,
            callback=callback,
            n_problems=n_problems,
        )

    def _warn_unfinished(self, X: Any, n_unfinished: int, n_machines: int) -> None:
        certificate = self.certificate_
        which = f" ({n_unfinished} of {n_machines} machines)" if n_machines > 1 else ""
        if certificate.status == Status.PRECISION.value:
            advice = "Lower C, or raise tol." if hasattr(self, "C") else "Raise tol."
        else:
            advice = (
                "Raise max_iter or time_limit (warm_start=True goes on from here), or raise tol."
            )
        warnings.warn(
            f"{certificate.status}{which} The gap left is {certificate.kkt_gap:.3g}, tol is "
            f"{self.tol:.3g}. {advice}" + scale_advice(X, self._function),
            ConvergenceWarning,
            stacklevel=6,
        )

    # -- the model ----------------------------------------------------------------------------

    def _adopt_vectors(
        self,
        function: KernelFunction,
        vectors: Any,
        support: Array,
        coefficients: Array,
        intercepts: Array,
        shape: tuple[int, int],
        shift: Array | None = None,
    ) -> None:
        """Set the attributes that describe the machines: `coefficients` (a row per machine, or
        one-vs-one as in `models.kernel_machine`) of `vectors`, which are the rows `support` of
        training data of `shape`. `shift` is the origin they were trained with."""
        self.shape_fit_ = shape
        self.support_ = support.astype(np.int32)
        self.support_vectors_ = np.empty((0, 0)) if function.name == "precomputed" else vectors
        self.dual_coef_ = sp.csr_array(coefficients) if sp.issparse(vectors) else coefficients
        self.intercept_ = intercepts
        self._function = function
        self._gamma = function.gamma
        if function.name == "linear":
            self._weights = linear_weights(vectors, coefficients, self._group_sizes)
            self.intercept_ = intercepts - self._bias_of_origin(shift)

    def _bias_of_origin(self, shift: Array | None) -> Array:
        """w·origin of each machine: what moving the origin of a linear kernel adds to its bias."""
        if shift is None or self._function.name != "linear":
            return np.zeros(len(self.intercept_))
        moved: Array = self._weights @ shift
        return moved

    @property
    def _group_sizes(self) -> tuple[int, ...] | None:
        """Support vectors of each class, where machines are pairs of classes."""
        return None

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
            group_sizes=self._group_sizes,
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


def require_fitted_rows(estimator: Any, X: Any, y: Array | None) -> None:
    """Refuse other data than those of the fit, as far as their number tells."""
    n_fitted = estimator.shape_fit_[0]
    if n_fitted == 0:
        raise ValueError(
            f"This {type(estimator).__name__} was read from a model file, which does not say what "
            "it was trained with: it can predict, but not be judged."
        )
    if X.shape[0] != n_fitted or (y is not None and len(y) != n_fitted):
        raise ValueError(
            f"The data given to fit are needed: {n_fitted} rows, but X has {X.shape[0]}"
            + ("." if y is None else f" and y has {len(y)}.")
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
            stacklevel=7,
        )
