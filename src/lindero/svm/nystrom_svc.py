"""Support vector classification of very many rows, on a kernel seen through landmarks."""

from __future__ import annotations

import time
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions

from lindero.kernels.landmarks import LANDMARKS
from lindero.problems.margin import CostMargin
from lindero.runtime.partitioned import scoring_partitions
from lindero.solvers.solution import Callback
from lindero.svm import kernel_estimator, nystrom
from lindero.svm.costs import class_terms
from lindero.svm.fitting import TrainingSet, read_classes
from lindero.svm.following import scoring_at_home
from lindero.svm.kernel_estimator import KernelEstimator, MachineOptions
from lindero.svm.parameters import KERNEL_MACHINE_CONSTRAINTS
from lindero.validation import keep_parameters, make_kernel_function, weigh_classes

NYSTROM_CONSTRAINTS: dict[str, list[Any]] = {
    **{name: kinds for name, kinds in KERNEL_MACHINE_CONSTRAINTS.items() if name != "shrinking"},
    "C": [Interval(Real, 0.0, None, closed="neither")],
    "kernel": [StrOptions({"rbf", "poly", "sigmoid"}), callable],
    "n_components": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "landmarks": [StrOptions(set(LANDMARKS))],
    "random_state": ["random_state"],
}


class NystromSVC(ClassifierMixin, KernelEstimator):  # type: ignore[misc]
    """Support vector classification for up to millions of rows, on a kernel seen through landmarks.

    A few landmarks stand for the rows: the kernel is projected on them, and the machine is linear
    in the features that remain. It is then solved to optimality, as :class:`SVC` is, in time that
    grows with the number of rows and not with its square. The certificate says how near the optimum
    is, and what the landmarks may have cost beside it, so that it is known which of the two limits.
    With as many landmarks as rows this is :class:`SVC`.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of errors.
    kernel : {"rbf", "poly", "sigmoid"} or callable, default="rbf"
        A callable takes two arrays of rows and returns that block of the kernel matrix. Of a kernel
        that is not positive semi-definite, such as the sigmoid, the negative part is left out, with
        a warning. For a linear one take :class:`SVC`, which is exact at any number of rows.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Factor in the rbf, poly and sigmoid kernels. ``"scale"`` is
        ``1 / (n_features * X.var())``, ``"auto"`` is ``1 / n_features``.
    coef0 : float, default=0.0
        Constant in the poly and sigmoid kernels.
    n_components : "auto" or int, default="auto"
        The number of landmarks. ``"auto"`` doubles it from 64 on, on a part of the rows, until the
        loss of rows left out stalls, or there is one for four rows, or 1024 if that is more.
        Tables of up to 1024 rows have all of them for landmarks.
    landmarks : {"kmeans++", "leverage", "random"}, default="kmeans++"
        How they are chosen: far from each other, for the Gaussian kernel over dense columns with a
        few steps of k-means; rows that others do not explain (ridge leverage scores); or any rows.
    tol : float, default=1e-3
        Gap in the optimality conditions at which fitting stops.
    cache_size : float, default=2000
        Megabytes for features, 4 bytes a row and landmark. Where they take more, they are computed
        anew in each pass, a block of rows at a time: slower by some times, in hardly any memory.
    class_weight : dict or "balanced" or None, default=None
        Factors of C for each class.
    costs : tuple or None, default=None
        What :func:`costs_from_matrix` returns, ``(cost_positive, cost_negative, positive_class)``:
        the costs of errors on two classes go into the margins, as in :class:`CostSensitiveSVC`.
    verbose : bool, default=False
        Show a progress bar on fits that take longer than a second.
    max_iter : int, default=-1
        Limit on the iterations of the solver for each binary problem; -1 is none.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether `decision_function` gives one column per class, or one per pair of classes.
    break_ties : bool, default=False
        With more than two classes, predict the class of largest decision value, not of most votes.
    random_state : int, RandomState or None, default=None
        Draws the landmarks, always in the same way if None.
    multiclass : {"ovo", "ovr"}, default="ovo"
        One machine per pair of classes, or one per class against the rest; all share the features.
    warm_start : bool, default=False
        Go on from the last fit where that has the same rows and classes.
    time_limit : float or None, default=None
        Seconds after which fitting stops with the best model so far and a warning.
    callback : callable or None, default=None
        Called with a :class:`~lindero.solvers.solution.Progress`; returning True stops fitting.

    Attributes
    ----------
    certificate_ : Certificate
        KKT gap and objective values of the machine on the kernel seen through the landmarks;
        `kernel_gap` says what these cost.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    class_weight_ : ndarray of shape (n_classes,)
        The factor of C of each class.
    landmarks_ : ndarray or CSR array of shape (n_components_, n_features)
        The landmarks.
    landmark_coef_ : ndarray of shape (n_machines, n_components_)
        Coefficients of the landmarks in the decision functions.
    n_components_ : int
        The number of landmarks.
    losses_ : dict
        With ``n_components="auto"``, the loss of the rows left out for each number that was tried.
    support_ : ndarray of shape (n_SV,)
        Rows of the training data on the margin or inside of it, grouped by class.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (n_classes - 1, n_SV)
        Dual coefficients, times the label, as in :class:`SVC`: needed by `certify` only.
    free_support_, bounded_support_ : ndarray
        Rows whose coefficients are below their bounds, and at them in at least one machine.
    intercept_ : ndarray of shape (n_machines,)
        Constants of the decision functions.
    n_iter_ : ndarray of shape (n_machines,)
        Iterations of the solver for each machine.
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
    SVC : The exact kernel, for up to some ten thousand rows.
    NystromSVR : The same for regression.
    CostSensitiveSVC : Costs of errors with the exact kernel.

    References
    ----------
    C. K. I. Williams and M. Seeger, "Using the Nyström method to speed up kernel machines",
    Advances in Neural Information Processing Systems 13, 2001.

    K. Zhang, I. W. Tsang and J. T. Kwok, "Improved Nyström low-rank approximation and error
    analysis", International Conference on Machine Learning, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.svm import NystromSVC
    >>> X = np.random.default_rng(0).standard_normal((2000, 2))
    >>> y = (X**2).sum(axis=1) > 1.4
    >>> model = NystromSVC(n_components=50).fit(X, y)
    >>> bool(model.score(X, y) > 0.98)
    True
    >>> model.certificate_.status
    'Optimal: the KKT gap is within tol.'
    >>> bool(model.certificate_.kernel_gap.missing < 0.01)
    True
    """

    _runs_on_devices = True
    _formulation = CostMargin

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NYSTROM_CONSTRAINTS,
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "costs": ["array-like", None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "multiclass": [StrOptions({"ovo", "ovr"})],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        n_components: str | int = "auto",
        landmarks: str = "kmeans++",
        tol: float = 1e-3,
        cache_size: float = 2000,
        class_weight: dict[Any, float] | str | None = None,
        costs: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        multiclass: str = "ovo",
        warm_start: bool = False,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        keep_parameters(self, locals())

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        begun = time.perf_counter()
        X, y, codes, weights = read_classes(self, X, y, sample_weight)
        function = make_kernel_function(self, X, weights)
        self.class_weight_, weights = weigh_classes(
            self.class_weight, self.classes_, codes, y, weights
        )
        margins = np.ones(2)
        if self.costs is not None:
            margins, factors = class_terms(self.classes_, *read_costs(self.costs))
            self.class_weight_ = self.class_weight_ * factors
            with np.errstate(over="ignore"):
                weights = weights * factors[codes]
        margin, n_classes = CostMargin(self.C, margins), len(self.classes_)
        training = TrainingSet.of(margin, X, function, weights, codes, n_classes, self.multiclass)
        return nystrom.approximate(self, training, begun)

    def _options(self) -> MachineOptions:
        return MachineOptions("auto", self.decision_function_shape, self.break_ties)

    _approximate = nystrom.restate
    _finish = nystrom.finish
    _limits = nystrom.limit
    _evaluate = nystrom.evaluate
    decision_function = kernel_estimator.decision_function
    score = scoring_partitions(scoring_at_home(ClassifierMixin.score))


def read_costs(costs: Any) -> tuple[Any, float, float]:
    """The positive class and the two costs, in the order of `class_terms`."""
    try:
        cost_positive, cost_negative, positive_class = costs
        cost_positive, cost_negative = float(cost_positive), float(cost_negative)
    except (TypeError, ValueError):
        raise ValueError(
            f"costs must be (cost_positive, cost_negative, positive_class), got {costs!r}: give "
            "what lindero.svm.costs_from_matrix returns."
        ) from None
    if not (0.0 < cost_positive < np.inf and cost_negative < np.inf):
        raise ValueError(
            f"costs must be positive and finite, got {cost_positive:g} and {cost_negative:g}."
        )
    return positive_class, cost_positive, cost_negative
