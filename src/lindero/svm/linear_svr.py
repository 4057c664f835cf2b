"""Linear support vector regression, a drop-in for ``sklearn.svm.LinearSVR``."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions

from lindero.problems.formulation import Formulation
from lindero.problems.squared import SquaredTube
from lindero.problems.through_origin import OriginTube, SquaredOriginTube
from lindero.problems.tube import Tube
from lindero.runtime.arrays import Array
from lindero.runtime.partitioned import scoring_partitions
from lindero.solvers.solution import Callback
from lindero.svm.batches import learn_batch
from lindero.svm.fitting import TrainingSet
from lindero.svm.following import scoring_at_home
from lindero.svm.kernel_estimator import KernelEstimator, MachineOptions
from lindero.svm.linear_svc import LINEAR, LINEAR_CONSTRAINTS
from lindero.validation import (
    keep_parameters,
    read_sample_weights,
    read_training_table,
    require_computable,
)

#: What a loss is called, and how it is stated: with an intercept, and without.
TUBES = {"epsilon_insensitive": Tube, "squared_epsilon_insensitive": SquaredTube}
ORIGIN_TUBES = {
    "epsilon_insensitive": OriginTube,
    "squared_epsilon_insensitive": SquaredOriginTube,
}

#: All that a fit may have stated, by the names that model files have for it.
STATED_TUBES: dict[str, type[Formulation]] = {
    **TUBES,
    "epsilon_insensitive_through_origin": OriginTube,
    "squared_epsilon_insensitive_through_origin": SquaredOriginTube,
}


class LinearSVR(RegressorMixin, KernelEstimator):  # type: ignore[misc]
    """Linear regression inside a tube, for many rows or columns, sparse or dense.

    Parameters and fitted attributes are those of :class:`sklearn.svm.LinearSVR`, with the
    differences that :class:`LinearSVC` has: the intercept is not penalised, and the solver is
    chosen by the shape of the table.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half-width of the tube, within which errors cost nothing.
    tol : float, default=1e-4
        Gap in the optimality conditions at which fitting stops, in units of the target.
    C : float, default=1.0
        Penalty of targets outside the tube.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, \
default="epsilon_insensitive"
        What errors cost: ``max(0, |y - f(x)| - epsilon)``, or its square.
    fit_intercept : bool, default=True
        Whether there is an intercept, which has no penalty; without one the function is zero at
        the origin.
    intercept_scaling : float, default=1.0
        Accepted so that code for scikit-learn runs unchanged: the intercept has no penalty here.
    dual : bool or "auto", default="auto"
        Accepted so that code for scikit-learn runs unchanged; it changes nothing.
    verbose : bool, default=False
        Show a progress bar on fits that take longer than a second.
    random_state : int, RandomState or None, default=None
        Accepted so that code for scikit-learn runs unchanged. Fits are the same each time.
    max_iter : int, default=-1
        Limit on the iterations of the solver; -1 is none.
    warm_start : bool, default=False
        Go on from the last fit where that had as many rows.
    time_limit : float or None, default=None
        Seconds after which fitting stops with the best model so far and a warning.
    callback : callable or None, default=None
        Called with a :class:`~lindero.solvers.solution.Progress`; returning True stops fitting.

    Attributes
    ----------
    certificate_ : Certificate
        KKT gap, primal and dual objective, iterations, seconds and why fitting stopped.
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    intercept_ : ndarray of shape (1,)
        Constant of the function.
    support_ : ndarray of shape (n_SV,)
        Rows of the training data that the weights are made of.
    n_support_ : ndarray of shape (1,)
        Number of these rows.
    dual_coef_ : ndarray of shape (1, n_SV)
        Their coefficients.
    free_support_, bounded_support_ : ndarray
        Rows whose coefficients are below their bounds, and at them. Squared losses have no bounds.
    n_iter_ : int
        Iterations of the solver.
    fit_status_ : int
        0 if the optimum was reached, 1 otherwise.
    shape_fit_ : tuple of int
        Shape of the training data.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had any.

    See Also
    --------
    LinearSVC : The same for classification.
    SVR : Other kernels.

    References
    ----------
    C.-H. Ho and C.-J. Lin, "Large-scale linear support vector regression", Journal of Machine
    Learning Research 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.svm import LinearSVR
    >>> X = np.arange(20.0)[:, None]
    >>> model = LinearSVR(C=10, epsilon=0.1).fit(X, 3 * X[:, 0] + 5)
    >>> bool(np.abs(model.predict(X) - (3 * X[:, 0] + 5)).max() < 0.11)
    True
    """

    kernel = "linear"
    gamma, degree, coef0 = 1.0, 3, 0.0
    cache_size = 200.0
    _runs_on_devices = True
    _keeps_vectors = False
    _takes_objects = False
    _takes_any_order = True
    _formulation = Tube
    _fitted_state = ("_kept_rows",)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "loss": [StrOptions(set(TUBES))],
        "fit_intercept": ["boolean"],
        **LINEAR_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: bool | str = "auto",
        verbose: bool = False,
        random_state: Any = None,
        max_iter: int = -1,
        warm_start: bool = False,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        keep_parameters(self, locals())

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        X, y = read_training_table(self, X, y, y_numeric=True)
        require_computable(X, LINEAR)
        weights = read_sample_weights(sample_weight, X)
        tubes = TUBES if self.fit_intercept else ORIGIN_TUBES
        tube = tubes[self.loss](self.C, self.epsilon)
        return TrainingSet.of(tube, X, LINEAR, weights, y)

    def _options(self) -> MachineOptions:
        return MachineOptions("auto")

    score = scoring_partitions(scoring_at_home(RegressorMixin.score))

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVR:
        """Fit to one more batch of rows, and to all those before it.

        Each batch is kept, and the fit goes on from the last one: the model and its certificate are
        those of `fit` with all rows so far, within `tol`, and memory grows with them. Model files
        do not hold these rows, pickles do. After `fit` a first batch begins anew.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows of the batch, sparse if those before were.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self : object
            The fitted estimator: as it was if this fails.
        """
        learn_batch(self, X, y, sample_weight)
        return self

    @property
    def coef_(self) -> Array:
        """Weights of the features."""
        weights: Array = super().coef_[0]
        return weights
