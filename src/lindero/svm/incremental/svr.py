"""Support vector regression that learns and forgets single samples exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval

from lindero.problems.dual_qp import upper_bounds
from lindero.problems.tube import tube_terms
from lindero.runtime.arrays import Array
from lindero.runtime.threads import one_at_a_time
from lindero.svm.incremental import estimator
from lindero.svm.incremental.estimator import (
    INCREMENTAL_CONSTRAINTS,
    WINDOW_CONSTRAINTS,
    IncrementalEstimator,
    give_each,
)
from lindero.svm.incremental.machine import OnlineFormulation
from lindero.transaction import fitting_aside
from lindero.validation import (
    keep_parameters,
    read_further_table,
    read_numeric_targets,
    read_row_factors,
    read_sample_weights,
    read_training_table,
)


@dataclass(frozen=True)
class OnlineTube(OnlineFormulation):
    """The tube of `problems.tube`, sample by sample."""

    C: float
    epsilon: float

    FIELDS: ClassVar[dict[str, str]] = {"C": "_fitted_C", "epsilon": "_fitted_epsilon"}
    per_sample: ClassVar[int] = 2

    def state_samples(self, targets: Array, factors: Array) -> tuple[Array, Array, Array]:
        terms = tube_terms(targets, upper_bounds(self.C, factors), self.epsilon)
        s, p, u = (of_samples.T.ravel() for of_samples in terms)
        return s, p, u

    def lose(self, values: Array, target: float) -> Array:
        """Absolute errors, zero inside the tube."""
        errors: Array = np.maximum(np.abs(target - values) - self.epsilon, 0.0)
        return np.where(np.isnan(errors), np.inf, errors)


class IncrementalSVR(RegressorMixin, IncrementalEstimator):  # type: ignore[misc]
    """Regression inside a tube that learns and forgets single samples, exactly.

    After every call the model is the one that :class:`SVR` with the same `gamma` would find for the
    samples held, to rounding.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of what lies outside the tube.
    epsilon : float, default=0.1
        Half-width of the tube.
    kernel : {"linear", "poly", "rbf", "sigmoid"} or callable, default="rbf"
        A callable takes two arrays of rows and returns the kernel matrix between them. Updates are
        exact for kernels that are positive semi-definite.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Factor in the rbf, poly and sigmoid kernels. ``"scale"`` is ``1 / (n_features * X.var())``
        of the rows of the first call, and stays what it was. Where these rows do not vary, it is
        that of ``"auto"``, ``1 / n_features``, with a warning.
    coef0 : float, default=0.0
        Constant in the poly and sigmoid kernels.
    window : int, "auto" or None, default=None
        Hold at most this many samples: the oldest is forgotten as a new one arrives.
        ``"auto"`` finds the length itself, long in calm and short after a change: exact machines of
        several lengths predict each row before they learn it, and the best of late answers.
    max_window : int, default=1000
        The longest window that ``"auto"`` may choose. Half as many samples again are held at most,
        in windows of 37, 111, 333 and 1000. Each of these costs about as much as a machine.
    cache_size : float, default=200
        Megabytes for kernel columns of the samples on the margin.
    verbose : bool, default=False
        Show a progress bar where many samples are learned at once.

    Attributes
    ----------
    sample_ids_, ids_ : ndarray of shape (n_held,)
        Ids of the samples held, oldest first: those given as `ids`, or else numbers that count from
        0, and are never given again.
    stored_ids_ : ndarray of shape (n_stored,)
        The same, and those that are held by longer windows only, with ``window="auto"``: `forget`
        and `replace` know them too.
    window_ : int or None
        The length of the window that answers: of all attributes, methods and predictions.
    window_history_ : structured ndarray
        With ``window="auto"``: `row`, counted from 0, and the length of the `window` after it, for
        1000 rows at most, evenly spaced.
    window_cuts_ : ndarray of int
        With ``window="auto"``: the rows at which long windows were dropped, as they had become
        significantly worse than short ones; the latest 1000.
    updates_ : structured ndarray
        A row for each update: `kind` (add, forget, replace), `id` (a number that counts samples
        from 0, whatever their ids), `iterations`, `set_changes`
        (samples that came to or left the edge of the tube), and `from_scratch`, true for samples
        that were learned at once with others, in which case the counts are those of all together.
        `corrections` counts steps apart that only remove rounding.
        The latest 100 000 at least, with ``window="auto"`` the latest 1000.
    certificate_ : Certificate
        KKT gap, primal and dual objective over the samples held, steps and seconds so far:
        computed when looked at, as by `certify`.
    support_ : ndarray of shape (n_SV,)
        Positions of the support vectors among the samples held.
    support_vectors_ : ndarray or CSR array of shape (n_SV, n_features)
        The support vectors.
    free_support_ : ndarray of shape (n_free,)
        Positions of those at the edge of the tube: their coefficients are below their bounds.
    bounded_support_ : ndarray of shape (n_bounded,)
        Positions of those outside it: their coefficients are at their bounds.
    dual_coef_ : ndarray or CSR array of shape (1, n_SV)
        Coefficients of the support vectors.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features, for the linear kernel only.
    intercept_ : ndarray of shape (1,)
        Constant of the function.
    shape_fit_ : tuple of int
        Number of samples held, and of features.
    n_features_in_ : int
        Number of features seen in the first call.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had any.

    See Also
    --------
    SVR : The same machine, fitted to all samples at once.
    IncrementalSVC : Classification that learns and forgets single samples.
    AdaptiveSVR : Regression for data that drift, with a model for every instant.

    References
    ----------
    J. Ma, J. Theiler and S. Perkins, "Accurate on-line support vector regression", Neural
    Computation 15(11), 2683-2703, 2003.

    P. Laskov, C. Gehl, S. Krüger and K.-R. Müller, "Incremental support vector learning: analysis,
    implementation and applications", Journal of Machine Learning Research 7, 1909-1936, 2006.

    M. Herbster and M. K. Warmuth, "Tracking the best expert", Machine Learning 32(2), 151-178,
    1998.

    J. Shin, A. Ramdas and A. Rinaldo, "E-detectors: a nonparametric framework for sequential change
    detection", New England Journal of Statistics in Data Science 2(2), 2024.

    Examples
    --------
    >>> from lindero.svm import IncrementalSVR
    >>> model = IncrementalSVR(C=100.0, epsilon=0.0, kernel="linear")
    >>> model = model.partial_fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 5.0])
    >>> model = model.forget(2)
    >>> model.predict([[3.0]]).round(6)
    array([3.])
    """

    _formulation = OnlineTube

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **INCREMENTAL_CONSTRAINTS,
        **WINDOW_CONSTRAINTS,
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        window: int | str | None = None,
        max_window: int = 1000,
        cache_size: float = 200,
        verbose: bool = False,
    ) -> None:
        keep_parameters(self, locals())

    # -- learning -----------------------------------------------------------------------------

    @one_at_a_time
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, ids: Any = None) -> IncrementalSVR:
        """Forget everything and learn these samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C for each row; rows of weight zero take no part.
        ids : array-like of int or str, of shape (n_samples,), default=None
            Ids of the rows, by which `forget` and `replace` know them: none twice among those
            held. Either all rows have such ids, from the first call on, or samples are counted.

        Returns
        -------
        self : IncrementalSVR
            A call that fails or is interrupted leaves the estimator as it was.
        """
        with fitting_aside(self) as attempt:
            fitted = attempt.estimator
            X, y = read_training_table(fitted, X, y, y_numeric=True)
            weights = read_sample_weights(sample_weight, X)
            upper_bounds(self.C, weights)
            fitted._begin(X, weights, OnlineTube(self.C, self.epsilon))
            fitted._learn(X, y, weights, ids)
        return self

    # Parameters, which count in the first call only, are checked there: it is as slow as a row.
    @one_at_a_time
    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, ids: Any = None
    ) -> IncrementalSVR:
        """Learn more samples, one after another.

        Parameters other than those of the first call take effect with the next `fit`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to learn. Many are learned at once: faster, and the same model.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C for each row; rows of weight zero take no part.
        ids : array-like of int or str, of shape (n_samples,), default=None
            Ids of the rows, by which `forget` and `replace` know them: none twice among those
            held. Either all rows have such ids, from the first call on, or samples are counted.

        Returns
        -------
        self : IncrementalSVR
            A call that fails or is interrupted changes nothing at all.
        """
        if not hasattr(self, "_machine"):
            fitted: IncrementalSVR = self.fit(X, y, sample_weight, ids)
            return fitted
        X, y = read_further_table(self, X, y, y_numeric=True)
        weights = read_row_factors(sample_weight, X.shape[0], "sample_weight")
        upper_bounds(self._machine.formulation.C, weights)
        self._learn(X, y, weights, ids)
        return self

    # -- changing -----------------------------------------------------------------------------

    @one_at_a_time
    def replace(self, ids: Any, y: Any = None, sample_weight: Any = None) -> IncrementalSVR:
        """Change the target or the weight of samples that are held.

        Parameters
        ----------
        ids : int, str, or array-like of these
            Samples to change, by their ids (see `sample_ids_`).
        y : float or array-like of float, default=None
            Their new targets; None leaves them as they are.
        sample_weight : float or array-like of float, default=None
            Their new weights; None leaves them as they are.

        Returns
        -------
        self : IncrementalSVR
            A call that fails changes nothing at all.
        """
        machine = self._holder
        slots = machine.samples.find(ids)
        targets, factors = machine.samples.targets[slots], machine.samples.factors[slots]
        if y is not None:
            targets = read_numeric_targets(give_each(y, slots, "y"))
        if sample_weight is not None:
            factors = self._read_factors(sample_weight, slots, "sample_weight")
            upper_bounds(machine.formulation.C, factors)
        self._change(slots, targets, factors)
        return self

    # -- insight and predictions --------------------------------------------------------------

    path = estimator.path

    def predict(self, X: Any) -> Array:
        """The value of the regression at each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        values : ndarray of shape (n_samples,)
        """
        return estimator.decision_function(self, X)
