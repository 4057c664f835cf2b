"""Novelty detection that learns and forgets single samples exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import OutlierMixin, _fit_context
from sklearn.utils._param_validation import Interval

from lindero.kernels.operator import KernelFunction
from lindero.problems.novelty import novelty_terms
from lindero.runtime.arrays import Array
from lindero.runtime.threads import one_at_a_time
from lindero.solvers.active_set import Point
from lindero.solvers.solution import Solver
from lindero.solvers.wrappers import ScaledSolver
from lindero.svm.incremental import estimator
from lindero.svm.incremental.estimator import INCREMENTAL_CONSTRAINTS, IncrementalEstimator
from lindero.svm.incremental.machine import OnlineFormulation
from lindero.transaction import fitting_aside
from lindero.validation import (
    keep_parameters,
    read_new_table,
    read_row_factors,
    read_sample_weights,
    read_unlabelled_table,
)

#: The offset is lowered by this share of the values, so that samples on the boundary stay inside.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class OnlineNovelty(OnlineFormulation):
    """The support of a cloud of `problems.novelty`, sample by sample; `share` is ν."""

    share: float

    FIELDS: ClassVar[dict[str, str]] = {"share": "_fitted_nu"}

    def state_samples(self, targets: Array, factors: Array) -> tuple[Array, Array, Array]:
        return novelty_terms(factors)

    def choose_solver(
        self, function: KernelFunction, shape: tuple[int, int], hard: bool
    ) -> Callable[..., Solver]:
        return ScaledSolver

    def adjust_bias(self, bias: float, point: Point) -> float:
        """Only samples at their bound lie outside: rounding must not put others there."""
        inside = point.a < point.u
        if not inside.any():
            return bias
        least = float(point.f[inside].min())
        largest = float(np.abs(point.f).max())
        # Terms may cancel to nothing; their rounding does not.
        terms = float(point.a @ point.root) * float(point.root.max())
        rounding = max(_ROUNDING * max(largest, abs(least)), 32 * np.finfo(float).eps * terms)
        return max(bias, -least + rounding)


class IncrementalOneClassSVM(OutlierMixin, IncrementalEstimator):  # type: ignore[misc]
    """Where the data are, learned and forgotten sample by sample, exactly.

    After every call the region is the one that :class:`OneClassSVM` with the same `gamma` would
    find for the samples held, to rounding: at most a share ν of them lies outside.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: at most this share of the samples (by weight) lies outside the region, and at
        least this share are support vectors.
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
    window : int or None, default=None
        Hold at most this many samples: the oldest is forgotten as a new one arrives.
    cache_size : float, default=200
        Megabytes for kernel columns of the samples on the boundary.
    verbose : bool, default=False
        Show a progress bar where many samples are learned at once.

    Attributes
    ----------
    sample_ids_, ids_ : ndarray of shape (n_held,)
        Ids of the samples held, oldest first: those given as `ids`, or else numbers that count from
        0, and are never given again.
    updates_ : structured ndarray
        A row for each update: `kind` (add, forget, replace), `id` (a number that counts samples
        from 0, whatever their ids), `iterations`, `set_changes`
        (samples that came to or left the boundary), and `from_scratch`: learned at once
        with others, in which case the counts are those of all together.
        `corrections` counts steps apart that only remove rounding.
        The latest 100 000 at least.
    certificate_ : Certificate
        KKT gap, primal and dual objective over the samples held, steps and seconds so far:
        computed when looked at, as by `certify`.
    support_ : ndarray of shape (n_SV,)
        Positions of the support vectors among the samples held.
    support_vectors_ : ndarray or CSR array of shape (n_SV, n_features)
        The support vectors.
    free_support_ : ndarray of shape (n_free,)
        Positions of those on the boundary: their coefficients are below their bounds.
    bounded_support_ : ndarray of shape (n_bounded,)
        Positions of those outside the region: their coefficients are at their bounds.
    dual_coef_ : ndarray or CSR array of shape (1, n_SV)
        Coefficients of the support vectors.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features, for the linear kernel only.
    intercept_ : ndarray of shape (1,)
        Constant of the function.
    offset_ : float
        ``decision_function(X)`` is ``score_samples(X) - offset_``.
    shape_fit_ : tuple of int
        Number of samples held, and of features.
    n_features_in_ : int
        Number of features seen in the first call.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had any.

    See Also
    --------
    OneClassSVM : The same machine, fitted to all samples at once.
    IncrementalSVC : Classification that learns and forgets single samples.

    References
    ----------
    B. Schölkopf, J. Platt, J. Shawe-Taylor, A. Smola and R. Williamson, "Estimating the support of
    a high-dimensional distribution", Neural Computation 13(7), 1443-1471, 2001.

    P. Laskov, C. Gehl, S. Krüger and K.-R. Müller, "Incremental support vector learning: analysis,
    implementation and applications", Journal of Machine Learning Research 7, 1909-1936, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.svm import IncrementalOneClassSVM
    >>> model = IncrementalOneClassSVM(nu=0.1)
    >>> model = model.partial_fit(np.array([[0.0], [0.44], [0.45], [0.46], [1.0]]))
    >>> model.predict([[0.45], [3.0]])
    array([ 1, -1])
    """

    _formulation = OnlineNovelty

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **INCREMENTAL_CONSTRAINTS,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        window: int | None = None,
        cache_size: float = 200,
        verbose: bool = False,
    ) -> None:
        keep_parameters(self, locals())

    # -- learning -----------------------------------------------------------------------------

    @one_at_a_time
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, ids: Any = None
    ) -> IncrementalOneClassSVM:
        """Forget everything and learn these samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : Ignored
            Present for the sake of scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; rows of weight zero take no part.
        ids : array-like of int or str, of shape (n_samples,), default=None
            Ids of the rows, by which `forget` and `replace` know them: none twice among those
            held. Either all rows have such ids, from the first call on, or samples are counted.

        Returns
        -------
        self : IncrementalOneClassSVM
            A call that fails or is interrupted leaves the estimator as it was.
        """
        with fitting_aside(self) as attempt:
            fitted = attempt.estimator
            X = read_unlabelled_table(fitted, X)
            weights = read_sample_weights(sample_weight, X)
            # Distances from the origin are what a linear kernel is about here: it stays.
            fitted._begin(X, weights, OnlineNovelty(self.nu), may_shift=self.kernel != "linear")
            fitted._machine.learn(X, np.zeros(X.shape[0]), weights, ids)
        return self

    # Parameters, which count in the first call only, are checked there: it is as slow as a row.
    @one_at_a_time
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, ids: Any = None
    ) -> IncrementalOneClassSVM:
        """Learn more samples, one after another.

        Parameters other than those of the first call take effect with the next `fit`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to learn. Many are learned at once: faster, and the same model.
        y : Ignored
            Present for the sake of scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; rows of weight zero take no part.
        ids : array-like of int or str, of shape (n_samples,), default=None
            Ids of the rows, by which `forget` and `replace` know them: none twice among those
            held. Either all rows have such ids, from the first call on, or samples are counted.

        Returns
        -------
        self : IncrementalOneClassSVM
            A call that fails or is interrupted changes nothing at all.
        """
        if not hasattr(self, "_machine"):
            fitted: IncrementalOneClassSVM = self.fit(X, None, sample_weight, ids)
            return fitted
        X = read_new_table(self, X)
        weights = read_row_factors(sample_weight, X.shape[0], "sample_weight")
        self._machine.learn(X, np.zeros(X.shape[0]), weights, ids)
        return self

    # -- changing -----------------------------------------------------------------------------

    @one_at_a_time
    def replace(self, ids: Any, sample_weight: Any) -> IncrementalOneClassSVM:
        """Change the weight of samples that are held.

        Parameters
        ----------
        ids : int, str, or array-like of these
            Samples to change, by their ids (see `sample_ids_`).
        sample_weight : float or array-like of float
            Their new weights.

        Returns
        -------
        self : IncrementalOneClassSVM
            A call that fails changes nothing at all.
        """
        machine = self._require_machine()
        slots = machine.samples.find(ids)
        factors = self._read_factors(sample_weight, slots, "sample_weight")
        machine.change(slots, machine.samples.targets[slots], factors)
        return self

    # -- insight and decisions ----------------------------------------------------------------

    @property
    def offset_(self) -> float:
        """What `score_samples` is compared with."""
        return -self._model.intercept

    decision_function = estimator.decision_function

    def score_samples(self, X: Any) -> Array:
        """The values without the offset: larger where there are more data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        values : ndarray of shape (n_samples,)
        """
        self._require_machine()
        X = read_new_table(self, X)
        model = self._model
        return model.decision_values(X) - model.intercept

    def predict(self, X: Any) -> Array:
        """1 for rows inside the region, -1 for those outside.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)
