"""What every fitted kernel regressor offers."""

from __future__ import annotations

from typing import Any

from sklearn.base import RegressorMixin

from lindero.runtime.arrays import Array
from lindero.solvers.solution import Certificate
from lindero.svm.parameters import upper_bounds
from lindero.svm.single_machine import SingleMachine
from lindero.validation import numeric_targets, training_table


class KernelRegressor(RegressorMixin, SingleMachine):  # type: ignore[misc]
    """Abstract. Subclasses state their problem over numeric targets; bounds are C times weights."""

    C: float

    def _table(self, X: Any, y: Any) -> tuple[Any, Array | None]:
        return training_table(self, X, y, y_numeric=True)

    def _bounds(self, weights: Array) -> Array:
        self._fitted_C = getattr(self, "_fitted_C", self.C)
        return upper_bounds(self._fitted_C, weights)

    def _targets(self, y: Any) -> Array | None:
        return numeric_targets(y)

    def predict(self, X: Any) -> Array:
        """The value of the regression at each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; of shape (n_samples, n_training_rows) if the kernel is precomputed.

        Returns
        -------
        values : ndarray of shape (n_samples,)
        """
        return self._values(X)[:, 0]

    def certify(self, X: Any, y: Any, sample_weight: Any = None) -> Certificate:
        """Recompute the certificate from scratch, in float64, from the coefficients alone.

        Parameters
        ----------
        X, y, sample_weight
            The data given to `fit`.

        Returns
        -------
        certificate : Certificate
        """
        return self._certify(X, y, sample_weight)
