"""ν-support vector classification, a drop-in for ``sklearn.svm.NuSVC``."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions

from lindero.errors import warn_user
from lindero.problems.dual_qp import ROUNDING
from lindero.problems.margin import NuMargin, largest_nu, margin_of
from lindero.runtime.arrays import Array
from lindero.solvers.solution import Callback, Status
from lindero.svm import kernel_estimator, probability
from lindero.svm.fitting import Functions, Solved, TrainingSet, read_classes
from lindero.svm.following import scoring_at_home
from lindero.svm.kernel_estimator import KernelEstimator, MachineOptions
from lindero.svm.multiclass import describe_task
from lindero.svm.parameters import KERNEL_MACHINE_CONSTRAINTS
from lindero.validation import keep_parameters, make_kernel_function

#: Margins below this share of the bias are nothing but rounding.
_NO_MARGIN = 1e-9


class NuSVC(ClassifierMixin, KernelEstimator):  # type: ignore[misc]
    """Support vector classification that takes a share of errors instead of their penalty.

    The parameters, fitted attributes, class order and signs are those of
    :class:`sklearn.svm.NuSVC`, with those of :class:`SVC` that it does not have. There is no
    `class_weight`, which scikit-learn accepts and ignores: each class has half of the share ν
    whatever its weight. Rows can have weights.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: at most this share of the samples (by weight) of each binary problem are inside
        the margin or beyond, and at least this share are support vectors. Classes of unequal
        weight limit it to ``2 * min(share of one class, share of the other)``; larger values are
        an error that names the largest possible one.
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
    probability : bool or "deprecated", default="deprecated"
        True fits curves from decision values to probabilities by five-fold cross-validation, for
        `predict_proba`. It warns, as in scikit-learn: :func:`calibrate` does the same for any
        classifier.
    tol : float, default=1e-3
        Gap in the optimality conditions at which fitting stops, before the margin is scaled to 1.
    cache_size : float, default=200
        Megabytes for kernel rows.
    verbose : bool, default=False
        Show a progress bar on fits that take longer than a second.
    max_iter : int, default=-1
        Limit on the iterations of the solver for each binary problem; -1 is none.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether `decision_function` gives one column per class, or one per pair of classes.
    break_ties : bool, default=False
        With more than two classes, predict the class of largest decision value, not of most votes.
    random_state : int, RandomState or None, default=None
        Shuffles the rows of the folds of ``probability=True``, always in the same way if None;
        nothing else is random.
    multiclass : {"ovo", "ovr"}, default="ovo"
        One machine per pair of classes (as in scikit-learn), or one per class against the rest.
    warm_start : bool, default=False
        Go on from the last fit where that has the same rows and classes.
    time_limit : float or None, default=None
        Seconds after which fitting stops with the best model so far and a warning.
    callback : callable or None, default=None
        Called with a :class:`~lindero.solvers.solution.Progress`; returning True stops fitting.

    Attributes
    ----------
    certificate_ : Certificate
        KKT gap, primal and dual objective, iterations, seconds and why fitting stopped; all before
        the margin is scaled to 1.
    rho_ : ndarray of shape (n_machines,)
        The margin of each machine before it was scaled to 1. ``1 / rho_`` is the C with which
        :class:`SVC` would give the same machine.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    class_weight_ : ndarray of shape (n_classes,)
        Ones: see above.
    support_ : ndarray of shape (n_SV,)
        Rows of the training data that are support vectors, grouped by class.
    support_vectors_ : ndarray or CSR array of shape (n_SV, n_features)
        The support vectors (empty when the kernel is precomputed).
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray or CSR array of shape (n_classes - 1, n_SV)
        Coefficients of the support vectors, times the label.
    free_support_ : ndarray of shape (n_free,)
        Rows whose coefficients are below their bounds: they lie on the margin.
    bounded_support_ : ndarray of shape (n_bounded,)
        Rows whose coefficients are at their bounds: they lie inside the margin or beyond.
    coef_ : ndarray of shape (n_machines, n_features)
        Weights of the features, for the linear kernel only.
    intercept_ : ndarray of shape (n_machines,)
        Constants of the decision functions.
    n_iter_ : ndarray of shape (n_machines,)
        Iterations of the solver for each machine.
    probA_, probB_ : ndarray of shape (n_machines,)
        With ``probability=True``, a machine's positive side has the probability
        ``1 / (1 + exp(probA_ * value + probB_))``. Deprecated.
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
    SVC : A penalty of errors instead of their share.
    NuSVR : The same for regression.

    References
    ----------
    B. Schölkopf, A. J. Smola, R. C. Williamson and P. L. Bartlett, "New support vector algorithms",
    Neural Computation 12(5), 2000.

    C.-C. Chang and C.-J. Lin, "LIBSVM: a library for support vector machines", ACM Transactions on
    Intelligent Systems and Technology 2(3), 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lindero.svm import NuSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NuSVC(nu=0.1).fit(X, y)
    >>> model.predict(X[[0, 60, 140]])
    array([0, 1, 2])
    """

    _formulation = NuMargin
    _runs_on_devices = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_MACHINE_CONSTRAINTS,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
        "probability": ["boolean", StrOptions({"deprecated"})],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
        "multiclass": [StrOptions({"ovo", "ovr"})],
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
        probability: bool | str = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
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
        X, y, codes, weights = read_classes(self, X, y, sample_weight)
        function = make_kernel_function(self, X, weights)
        self.class_weight_ = np.ones(len(self.classes_))
        margin, n_classes = NuMargin(self.nu), len(self.classes_)
        training = TrainingSet.of(margin, X, function, weights, codes, n_classes, self.multiclass)
        self._require_feasible(training)
        return training

    def _options(self) -> MachineOptions:
        return MachineOptions(
            decision_function_shape=self.decision_function_shape, break_ties=self.break_ties,
            probability=self.probability, random_state=self.random_state,
        )  # fmt: skip

    def _make_feasible(self, training: TrainingSet) -> TrainingSet:
        nu = min(largest_nu(task.targets, training.bounds[task.rows]) for task in training.tasks)
        return training if self.nu <= nu else training.with_formulation(NuMargin(nu))

    def _finish(self, functions: Functions, training: TrainingSet, solved: Solved) -> None:
        widths, mean = np.array([f.width for f in functions]), _mean_weight(training.weights)
        with np.errstate(over="ignore", under="ignore"):
            self.rho_ = widths * mean
            same = mean == 1.0 or np.allclose(self.rho_ / mean, widths, rtol=1e-9, atol=0.0)
        if not same:
            raise ValueError(
                f"Margins are in units of sample_weight, whose mean is {mean:.1e}: too large or "
                "too small to compute with. Divide the weights by it: nothing else depends on it."
            )
        unknown, parts = 0, self.certificate_.parts or (self.certificate_,)
        for (problem, solution), part in zip(solved, parts, strict=True):
            if problem is None:
                continue
            bias, rho = margin_of(solution.bias)
            least = max(part.kkt_gap, _NO_MARGIN * (1.0 + abs(bias)))
            unknown += solution.status is Status.OPTIMAL and rho <= least
        if unknown:
            warn_user(
                f"{unknown} of {len(solved)} machines have no margin at nu={self.nu:g} "
                f"that differs from zero at tol={self.tol:g}: this kernel has hardly any boundary "
                "with so few errors, so do not rely on theirs. Raise nu, or lower tol.",
                UserWarning,
            )

    def _require_feasible(self, training: TrainingSet) -> None:
        """Refuse a share that no solution can meet, before any work is done."""
        limits = [largest_nu(task.targets, training.bounds[task.rows]) for task in training.tasks]
        tightest = int(np.argmin(limits))
        if self.nu <= limits[tightest] * (1.0 + ROUNDING):
            return
        between = describe_task(tightest, self.classes_, training.scheme)
        advice = ""
        if len(training.tasks) == 1 or training.scheme == "ovo":
            advice = (
                ", or weights that balance the classes, sample_weight="
                "sklearn.utils.class_weight.compute_sample_weight('balanced', y)"
            )
        raise ValueError(
            f"nu={self.nu:g} is infeasible: one of {between} has too little weight to hold its "
            f"half of that share. The largest feasible nu is {_round_down(limits[tightest])}; use "
            f"at most that{advice}. (specified nu is infeasible)"
        )

    decision_function = kernel_estimator.decision_function
    predict_proba = probability.predict_proba
    predict_log_proba = probability.predict_log_proba
    probA_, probB_ = probability.prob_a, probability.prob_b  # noqa: N815

    score = scoring_at_home(ClassifierMixin.score)

    def _find_widths(self, weights: Array) -> Array:
        return self.rho_ / _mean_weight(weights)


def _mean_weight(weights: Array) -> float:
    """What bounds are weights in units of: ρ is found in these units, too."""
    return float(weights[weights > 0].mean())


def _round_down(limit: float) -> str:
    """Six digits, none of which is more than the limit."""
    if not limit > 1e-300:  # weights of one class are nothing beside those of the other
        return "0"
    unit = 10.0 ** (math.floor(math.log10(limit)) - 5)
    return f"{math.floor(limit / unit) * unit:.6g}"
