"""ν-support vector regression, a drop-in for ``sklearn.svm.NuSVR``."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval

from lindero.problems.tube import NuTube
from lindero.runtime.arrays import Array
from lindero.solvers.solution import Callback
from lindero.svm.fitting import Functions, Solved, TrainingSet
from lindero.svm.following import scoring_at_home
from lindero.svm.kernel_estimator import KernelEstimator
from lindero.svm.parameters import KERNEL_MACHINE_CONSTRAINTS
from lindero.validation import (
    keep_parameters,
    make_kernel_function,
    read_sample_weights,
    read_training_table,
)


class NuSVR(RegressorMixin, KernelEstimator):  # type: ignore[misc]
    """Support vector regression whose tube finds its own width.

    The parameters and fitted attributes are those of :class:`sklearn.svm.NuSVR`, with those of
    :class:`SVC` that it does not have.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: at most this share of the samples (by weight) lies outside the tube, and at
        least this share are support vectors (unless a tube of no width fits them all).
    C : float, default=1.0
        Penalty of targets outside the tube.
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
        Rows whose coefficients are below their bounds: they lie on the edge of the tube.
    bounded_support_ : ndarray of shape (n_bounded,)
        Rows whose coefficients are at their bounds: they lie outside the tube.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features, for the linear kernel only.
    intercept_ : ndarray of shape (1,)
        Constant of the function.
    epsilon_ : float
        Half-width of the tube that was found.
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
    SVR : A tube of given width.
    NuSVC : The same for classification.

    References
    ----------
    B. Schölkopf, A. J. Smola, R. C. Williamson and P. L. Bartlett, "New support vector algorithms",
    Neural Computation 12(5), 2000.

    C.-C. Chang and C.-J. Lin, "LIBSVM: a library for support vector machines", ACM Transactions on
    Intelligent Systems and Technology 2(3), 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.svm import NuSVR
    >>> X = np.linspace(0, 6, 61)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(50 * X[:, 0])
    >>> model = NuSVR(nu=0.2, C=10, gamma=1.0).fit(X, y)
    >>> outside = np.abs(model.predict(X) - y) > model.epsilon_ + model.tol
    >>> bool(outside.mean() <= 0.2 <= len(model.support_) / 61)
    True
    """

    _formulation = NuTube
    _runs_on_devices = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        **KERNEL_MACHINE_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
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

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        X, y = read_training_table(self, X, y, y_numeric=True)
        weights = read_sample_weights(sample_weight, X)
        function = make_kernel_function(self, X, weights)
        return TrainingSet.of(NuTube(self.C, self.nu), X, function, weights, y)

    def _finish(self, functions: Functions, training: TrainingSet, solved: Solved) -> None:
        self.epsilon_ = functions[0].width

    score = scoring_at_home(RegressorMixin.score)

    def _find_widths(self, weights: Array) -> list[float]:
        return [self.epsilon_]
