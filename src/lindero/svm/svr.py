"""Support vector regression, a drop-in for ``sklearn.svm.SVR``."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions

from lindero.problems.through_origin import OriginTube
from lindero.problems.tube import Tube
from lindero.runtime.partitioned import scoring_partitions
from lindero.solvers.choose import SOLVERS
from lindero.solvers.solution import Callback
from lindero.svm import judging
from lindero.svm.fitting import TrainingSet
from lindero.svm.following import scoring_at_home
from lindero.svm.kernel_estimator import KernelEstimator, MachineOptions
from lindero.svm.parameters import KERNEL_MACHINE_CONSTRAINTS
from lindero.validation import (
    keep_parameters,
    make_kernel_function,
    read_sample_weights,
    read_training_table,
)


class SVR(RegressorMixin, KernelEstimator):  # type: ignore[misc]
    """Support vector regression: a function within ε of the targets, as flat as possible.

    The parameters and fitted attributes are those of :class:`sklearn.svm.SVR`, with those of
    :class:`SVC` that it does not have.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of targets outside the tube. ``float("inf")`` allows none: where no function of the
        kernel is within `epsilon` of all of them, fitting raises
        :class:`~lindero.errors.NotSeparableError`, which names rows that are left outside.
    epsilon : float, default=0.1
        Half-width of the tube, within which errors cost nothing.
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
    solver : {"auto", "working_set", "interior_point", "coordinate_descent"}, default="auto"
        As in :class:`SVC`: interior points for the linear kernel with few features, coordinate
        descent with many.
    fit_intercept : bool, default=True
        Whether decision functions have a constant. False fixes it at zero, as SVMlight does with
        ``-b 0``.
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
    SVRCV : C and gamma chosen by cross-validation.
    NuSVR : A tube that finds its own width.
    IncrementalSVR : Learns and forgets sample by sample.

    References
    ----------
    A. J. Smola and B. Schölkopf, "A tutorial on support vector regression", Statistics and
    Computing 14(3), 2004.

    C.-C. Chang and C.-J. Lin, "LIBSVM: a library for support vector machines", ACM Transactions on
    Intelligent Systems and Technology 2(3), 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.svm import SVR
    >>> X = np.linspace(0, 6, 61)[:, None]
    >>> model = SVR(C=10, gamma=1.0, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.06)
    True
    """

    _formulation = Tube
    _runs_on_devices = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0.0, np.inf, closed="right")],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "solver": [StrOptions(set(SOLVERS))],
        "fit_intercept": ["boolean"],
        **KERNEL_MACHINE_CONSTRAINTS,
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
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        solver: str = "auto",
        fit_intercept: bool = True,
        warm_start: bool = False,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        keep_parameters(self, locals())

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        X, y = read_training_table(self, X, y, y_numeric=True)
        weights = read_sample_weights(sample_weight, X)
        function = make_kernel_function(self, X, weights)
        if not (self.fit_intercept or np.isfinite(self.C)):
            raise ValueError("C=inf needs fit_intercept=True; give C a number.")
        tube = (Tube if self.fit_intercept else OriginTube)(self.C, self.epsilon)
        return TrainingSet.of(tube, X, function, weights, y)

    def _options(self) -> MachineOptions:
        return MachineOptions(self.solver)

    leave_one_out = judging.leave_one_out
    score = scoring_partitions(scoring_at_home(RegressorMixin.score))
