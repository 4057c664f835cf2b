"""Support vector regression of very many rows, on a kernel seen through landmarks."""

from __future__ import annotations

import time
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval

from lindero.problems.tube import Tube
from lindero.runtime.partitioned import scoring_partitions
from lindero.solvers.solution import Callback
from lindero.svm import nystrom
from lindero.svm.fitting import TrainingSet
from lindero.svm.following import scoring_at_home
from lindero.svm.kernel_estimator import KernelEstimator, MachineOptions
from lindero.svm.nystrom_svc import NYSTROM_CONSTRAINTS
from lindero.validation import (
    keep_parameters,
    make_kernel_function,
    read_sample_weights,
    read_training_table,
)


class NystromSVR(RegressorMixin, KernelEstimator):  # type: ignore[misc]
    """Support vector regression for up to millions of rows, on a kernel seen through landmarks.

    As :class:`NystromSVC`: the kernel is projected on a few landmarks, and the problem that remains
    is solved to optimality. With as many landmarks as rows this is :class:`SVR`.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of targets outside the tube.
    epsilon : float, default=0.1
        Half-width of the tube, within which errors cost nothing.
    kernel : {"rbf", "poly", "sigmoid"} or callable, default="rbf"
        As in :class:`NystromSVC`.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Factor in the rbf, poly and sigmoid kernels. ``"scale"`` is
        ``1 / (n_features * X.var())``, ``"auto"`` is ``1 / n_features``.
    coef0 : float, default=0.0
        Constant in the poly and sigmoid kernels.
    n_components : "auto" or int, default="auto"
        The number of landmarks, as in :class:`NystromSVC`.
    landmarks : {"kmeans++", "leverage", "random"}, default="kmeans++"
        How they are chosen, as in :class:`NystromSVC`.
    tol : float, default=1e-3
        Gap in the optimality conditions at which fitting stops.
    cache_size : float, default=2000
        Megabytes for features, as in :class:`NystromSVC`.
    verbose : bool, default=False
        Show a progress bar on fits that take longer than a second.
    max_iter : int, default=-1
        Limit on the iterations of the solver; -1 is none.
    random_state : int, RandomState or None, default=None
        Draws the landmarks, always in the same way if None.
    warm_start : bool, default=False
        Go on from the last fit where that had as many rows.
    time_limit : float or None, default=None
        Seconds after which fitting stops with the best model so far and a warning.
    callback : callable or None, default=None
        Called with a :class:`~lindero.solvers.solution.Progress`; returning True stops fitting.

    Attributes
    ----------
    certificate_ : Certificate
        KKT gap and objective values of the machine on the kernel seen through the landmarks;
        `kernel_gap` says what these cost.
    landmarks_ : ndarray or CSR array of shape (n_components_, n_features)
        The landmarks.
    landmark_coef_ : ndarray of shape (1, n_components_)
        Coefficients of the landmarks in the function.
    n_components_ : int
        The number of landmarks.
    losses_ : dict
        With ``n_components="auto"``, the loss of the rows left out for each number that was tried.
    support_ : ndarray of shape (n_SV,)
        Rows of the training data on the edge of the tube or outside.
    dual_coef_ : ndarray of shape (1, n_SV)
        Their dual coefficients: needed by `certify` only.
    free_support_, bounded_support_ : ndarray
        Rows on the edge of the tube, and outside.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
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
    SVR : The exact kernel, for up to some ten thousand rows.
    NystromSVC : The same for classification.

    References
    ----------
    C. K. I. Williams and M. Seeger, "Using the Nyström method to speed up kernel machines",
    Advances in Neural Information Processing Systems 13, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.svm import NystromSVR
    >>> X = np.linspace(0, 6, 2000)[:, None]
    >>> model = NystromSVR(C=10, epsilon=0.05, n_components=20).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.06)
    True
    """

    _runs_on_devices = True
    _formulation = Tube

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NYSTROM_CONSTRAINTS,
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
        n_components: str | int = "auto",
        landmarks: str = "kmeans++",
        tol: float = 1e-3,
        cache_size: float = 2000,
        verbose: bool = False,
        max_iter: int = -1,
        random_state: Any = None,
        warm_start: bool = False,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        keep_parameters(self, locals())

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        begun = time.perf_counter()
        X, y = read_training_table(self, X, y, y_numeric=True)
        weights = read_sample_weights(sample_weight, X)
        function = make_kernel_function(self, X, weights)
        training = TrainingSet.of(Tube(self.C, self.epsilon), X, function, weights, y)
        return nystrom.approximate(self, training, begun)

    def _options(self) -> MachineOptions:
        return MachineOptions("auto")

    _approximate = nystrom.restate
    _finish = nystrom.finish
    _limits = nystrom.limit
    _evaluate = nystrom.evaluate
    score = scoring_partitions(scoring_at_home(RegressorMixin.score))
