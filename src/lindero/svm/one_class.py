"""Novelty detection by the support of a cloud, a drop-in for ``sklearn.svm.OneClassSVM``."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

from sklearn.base import OutlierMixin, _fit_context
from sklearn.utils._param_validation import Interval

from lindero.problems.novelty import Novelty
from lindero.solvers.solution import Callback
from lindero.svm.fitting import Functions, Solved, TrainingSet
from lindero.svm.following import answering_at_home
from lindero.svm.kernel_estimator import KernelEstimator
from lindero.svm.parameters import KERNEL_MACHINE_CONSTRAINTS
from lindero.validation import (
    keep_parameters,
    make_kernel_function,
    read_sample_weights,
    read_unlabelled_table,
)


class OneClassSVM(OutlierMixin, KernelEstimator):  # type: ignore[misc]
    """Where the data are: a region that holds all but a share ν of them.

    The parameters and fitted attributes are those of :class:`sklearn.svm.OneClassSVM`, with those
    of :class:`SVC` that it does not have. Samples on the boundary count as inside, so that with a
    tiny ν all training samples are.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: at most this share of the samples (by weight) lies outside the region, and at
        least this share are support vectors.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable takes two arrays of rows and returns that block of the kernel matrix.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Factor in the rbf, poly and sigmoid kernels. ``"scale"`` is
        ``1 / (n_features * X.var())``, ``"auto"`` is ``1 / n_features``.
    coef0 : float, default=0.0
        Constant in the poly and sigmoid kernels.
    shrinking : bool, default=True
        Accepted so that code for scikit-learn runs unchanged; it changes nothing.
    tol : float, default=1e-3
        Gap in the optimality conditions at which fitting stops.
    cache_size : float, default=200
        Megabytes for kernel rows.
    verbose : bool, default=False
        Show a progress bar on fits that take longer than a second.
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
    support_ : ndarray of shape (n_SV,)
        Rows of the training data that are support vectors.
    support_vectors_ : ndarray or CSR array of shape (n_SV, n_features)
        The support vectors (empty when the kernel is precomputed).
    dual_coef_ : ndarray or CSR array of shape (1, n_SV)
        Coefficients of the support vectors.
    free_support_ : ndarray of shape (n_free,)
        Rows whose coefficients are below their bounds: they lie on the boundary.
    bounded_support_ : ndarray of shape (n_bounded,)
        Rows whose coefficients are at their bounds: they lie outside the region.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features, for the linear kernel only.
    intercept_ : ndarray of shape (1,)
        Constant of the function.
    offset_ : float
        ``decision_function(X)`` is ``score_samples(X) - offset_``.
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
    IncrementalOneClassSVM : Learns and forgets sample by sample.

    References
    ----------
    B. Schölkopf, J. C. Platt, J. Shawe-Taylor, A. J. Smola and R. C. Williamson, "Estimating the
    support of a high-dimensional distribution", Neural Computation 13(7), 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.svm import OneClassSVM
    >>> X = np.array([[0.0], [0.44], [0.45], [0.46], [1.0]])
    >>> OneClassSVM(gamma="auto", nu=0.5).fit(X).predict([[0.45], [3.0]])
    array([ 1, -1])
    """

    _formulation = Novelty
    _runs_on_devices = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
        **KERNEL_MACHINE_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        warm_start: bool = False,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        keep_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVM:
        """Find the region.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; the kernel matrix of shape (n_samples, n_samples) if precomputed.
        y : Ignored
            Not used; present for consistency with scikit-learn.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row; rows of weight zero are left out.

        Returns
        -------
        self : OneClassSVM
            The fitted estimator: as it was if fit fails, with the best model so far on Ctrl-C.
        """
        return self._fit_aside(X, None, sample_weight)

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        X = read_unlabelled_table(self, X)
        weights = read_sample_weights(sample_weight, X)
        function = make_kernel_function(self, X, weights)
        return TrainingSet.of(Novelty(self.nu), X, function, weights)

    def _finish(self, functions: Functions, training: TrainingSet, solved: Solved) -> None:
        self.offset_ = -functions[0].intercept

    @answering_at_home
    def decision_function(self, X: Any) -> Any:
        """How far inside the region each row is: negative outside.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; of shape (n_samples, n_training_rows) if the kernel is precomputed.

        Returns
        -------
        values : ndarray of shape (n_samples,)
        """
        return self._outputs(X)[:, 0]

    @answering_at_home
    def score_samples(self, X: Any) -> Any:
        """The values without the offset: larger where there are more data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; of shape (n_samples, n_training_rows) if the kernel is precomputed.

        Returns
        -------
        values : ndarray of shape (n_samples,)
        """
        return self._outputs(X)[:, 0] + self.offset_

    @answering_at_home
    def predict(self, X: Any) -> Any:
        """1 for rows inside the region, -1 for those outside.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; of shape (n_samples, n_training_rows) if the kernel is precomputed.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return 2 * (self._outputs(X)[:, 0] >= 0) - 1
