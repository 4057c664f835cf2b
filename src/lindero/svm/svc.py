"""Support vector classification, a drop-in for ``sklearn.svm.SVC``."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions

from lindero.problems.margin import Margin
from lindero.problems.through_origin import OriginMargin
from lindero.runtime.partitioned import scoring_partitions
from lindero.solvers.choose import SOLVERS
from lindero.solvers.solution import Callback
from lindero.solvers.xi_alpha import XiAlphaEstimates, estimate_errors
from lindero.svm import judging, kernel_estimator, probability
from lindero.svm.fitting import TrainingSet, read_classes
from lindero.svm.following import answering_at_home, scoring_at_home
from lindero.svm.kernel_estimator import KernelEstimator, MachineOptions
from lindero.svm.parameters import KERNEL_MACHINE_CONSTRAINTS
from lindero.validation import keep_parameters, make_kernel_function, weigh_classes


class SVC(ClassifierMixin, KernelEstimator):  # type: ignore[misc]
    """Support vector classification with any kernel, and a certificate of optimality.

    The parameters, fitted attributes, class order and signs are those of
    :class:`sklearn.svm.SVC`; `solver`, `multiclass`, `warm_start`, `time_limit` and `callback` are
    added.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of errors. ``float("inf")`` asks for the hard margin: no errors at all. Data that
        no boundary of the kernel separates then raise
        :class:`~lindero.errors.NotSeparableError`, which names samples on the wrong side.
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
        Gap in the optimality conditions at which fitting stops.
    cache_size : float, default=200
        Megabytes for kernel rows.
    class_weight : dict or "balanced" or None, default=None
        Factors of C for each class.
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
    solver : {"auto", "working_set", "interior_point", "coordinate_descent"}, default="auto"
        ``"working_set"`` is decomposition, for any kernel. ``"interior_point"`` is for the linear
        kernel with up to some thousand features, and takes about 20 iterations whatever C is;
        ``"coordinate_descent"`` is for the linear kernel with more of them, text above all.
        ``"auto"`` takes these where they apply.
    multiclass : {"ovo", "ovr"}, default="ovo"
        One machine per pair of classes (as in scikit-learn), or one per class against the rest.
    fit_intercept : bool, default=True
        Whether decision functions have a constant. False fixes it at zero, as SVMlight does with
        ``-b 0`` (not for the hard margin).
    warm_start : bool, default=False
        Go on from the last fit where that has the same rows and classes.
    time_limit : float or None, default=None
        Seconds after which fitting stops with the best model so far and a warning.
    callback : callable or None, default=None
        Called with a :class:`~lindero.solvers.solution.Progress`; returning True stops fitting.

    Attributes
    ----------
    certificate_ : Certificate
        KKT gap, primal and dual objective, iterations, seconds and why fitting stopped.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    class_weight_ : ndarray of shape (n_classes,)
        The factor of C of each class.
    support_ : ndarray of shape (n_SV,)
        Rows of the training data that are support vectors, grouped by class.
    support_vectors_ : ndarray or CSR array of shape (n_SV, n_features)
        The support vectors (empty when the kernel is precomputed).
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray or CSR array of shape (n_classes - 1, n_SV)
        Coefficients of the support vectors, times the label; with ``multiclass="ovr"`` and more
        than two classes of shape (n_classes, n_SV).
    free_support_ : ndarray of shape (n_free,)
        Rows whose coefficients are below their bounds: they lie on the margin.
    bounded_support_ : ndarray of shape (n_bounded,)
        Rows whose coefficient is at its bound, C times the weights, in at least one machine: they
        lie inside the margin, or on the wrong side.
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
    SVCCV : C and gamma chosen by cross-validation.
    NuSVC : A share of errors instead of their penalty.
    CostSensitiveSVC : Errors on one of two classes cost more.
    IncrementalSVC : Learns and forgets sample by sample.
    calibrate : Probabilities.

    References
    ----------
    C. Cortes and V. Vapnik, "Support-vector networks", Machine Learning 20(3), 1995.

    C.-C. Chang and C.-J. Lin, "LIBSVM: a library for support vector machines", ACM Transactions on
    Intelligent Systems and Technology 2(3), 2011.

    T. Joachims, "Estimating the generalization performance of an SVM efficiently", ICML 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.svm import SVC
    >>> X = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    >>> y = np.array([1, -1, -1, 1])
    >>> model = SVC(C=float("inf"), kernel="poly", degree=2, gamma=1, coef0=1).fit(X, y)
    >>> model.decision_function([[2, 3]]).round(6)
    array([6.])
    >>> model.certificate_.status
    'Optimal: the KKT gap is within tol.'
    """

    _formulation = Margin
    _runs_on_devices = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_MACHINE_CONSTRAINTS,
        "C": [Interval(Real, 0.0, np.inf, closed="right")],
        "probability": ["boolean", StrOptions({"deprecated"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
        "solver": [StrOptions(set(SOLVERS))],
        "multiclass": [StrOptions({"ovo", "ovr"})],
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool | str = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: dict[Any, float] | str | None = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        solver: str = "auto",
        multiclass: str = "ovo",
        fit_intercept: bool = True,
        warm_start: bool = False,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        keep_parameters(self, locals())

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        X, y, codes, weights = read_classes(self, X, y, sample_weight)
        function = make_kernel_function(self, X, weights)
        self.class_weight_, weights = weigh_classes(
            self.class_weight, self.classes_, codes, y, weights
        )
        if not (self.fit_intercept or np.isfinite(self.C)):
            raise ValueError("C=inf, the hard margin, needs fit_intercept=True; give C a number.")
        margin = (Margin if self.fit_intercept else OriginMargin)(self.C)
        n_classes = len(self.classes_)
        return TrainingSet.of(margin, X, function, weights, codes, n_classes, self.multiclass)

    def _options(self) -> MachineOptions:
        return MachineOptions(
            self.solver, self.decision_function_shape, self.break_ties, self.probability,
            self.random_state,
        )  # fmt: skip

    decision_function = kernel_estimator.decision_function
    leave_one_out = judging.leave_one_out

    @answering_at_home
    def estimate_xi_alpha(
        self, X: Any, y: Any, sample_weight: Any = None, *, rho: float = 2.0
    ) -> XiAlphaEstimates:
        """Bounds on leave-one-out error, recall and precision, from the solution alone.

        Nothing is trained again. With α_i the dual variable of row i, ξ_i = max(0, 1 − y_i f(x_i))
        its loss and R² the width of the kernel's values, a row may be wrong when it is left out
        only if ``rho * α_i * R² + ξ_i >= 1`` with rho = 2 (Joachims 2000). With d such rows of n,
        of which d₊ are among the n₊ of the second class and d₋ among those of the first::

            error <= d / n      recall >= 1 - d₊ / n₊
            precision >= (n₊ - d₊) / (n₊ - d₊ + d₋)

        They say much where the margin is wide and errors are few, and little otherwise;
        `leave_one_out` is exact, and takes longer.

        Parameters
        ----------
        X, y, sample_weight
            The data given to `fit`, of two classes.
        rho : float, default=2.0
            2 for bounds. SVMlight takes 1, with which these are estimates, nearer to the truth.

        Returns
        -------
        estimates : XiAlphaEstimates
            With `error`, `recall`, `precision` and the rows counted as wrong, `suspects`.

        Examples
        --------
        >>> import numpy as np
        >>> from lindero.svm import SVC
        >>> X = np.array([[2, 0], [3, 1], [4, 0], [-2, 0], [-3, 1], [-4, 0]])
        >>> y = [1, 1, 1, 0, 0, 0]
        >>> model = SVC(kernel="linear", C=0.1).fit(X, y)
        >>> print(model.estimate_xi_alpha(X, y))
        error <= 0.3333, recall >= 0.6667, precision >= 0.6667 (rho = 2)
        """
        if not (isinstance(rho, Real) and 0.0 < float(rho) <= 2.0):
            raise ValueError(f"rho must be above 0 and at most 2, not {rho!r}.")
        values = self._values(X)
        _, restated = judging.restate(self, *self._read_again(X, y, sample_weight))
        if len(self.classes_) != 2:
            raise ValueError(
                f"xi-alpha estimates are for two classes, and there are {len(self.classes_)}: use "
                "leave_one_out, or a machine for each class against the rest."
            )
        task, problem, a, _ = restated[0]
        return estimate_errors(problem, a, values[task.rows, 0], task.rows, float(rho))

    score = scoring_partitions(scoring_at_home(ClassifierMixin.score))
    predict_proba = probability.predict_proba
    predict_log_proba = probability.predict_log_proba
    probA_, probB_ = probability.prob_a, probability.prob_b  # noqa: N815
