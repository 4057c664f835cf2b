"""Support vector classification, a drop-in for ``sklearn.svm.SVC``."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from lindero.kernels.functions import NAMED_KERNELS, Array, KernelFunction
from lindero.kernels.operator import kernel_operator, origin
from lindero.problems.dual_qp import DualQP
from lindero.solvers.limits import Limits
from lindero.solvers.solution import Callback, Certificate, Solution, Status
from lindero.svm.judging import certificate_of, verdict
from lindero.svm.kernel_classifier import (
    CALIBRATION,
    KernelClassifier,
    dense,
    is_fitted_attribute,
    warn_if_indefinite,
)
from lindero.svm.multiclass import BinaryTask, binary_tasks, split
from lindero.svm.progress import reporting
from lindero.svm.training import SOLVERS, choose_solver, solve_all, statement, upper_bounds
from lindero.validation import (
    class_labels,
    class_weights,
    kernel_function,
    known_codes,
    new_table,
    require_every_class,
    sample_weights,
    scale_advice,
    training_table,
)


class SVC(KernelClassifier):
    """Support vector classification with any kernel, and a certificate of optimality.

    The parameters, fitted attributes, class order and signs are those of
    :class:`sklearn.svm.SVC`; what is added is listed first.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of errors. ``float("inf")`` asks for the hard margin: no errors at all. Data that
        no boundary of the kernel separates then raise
        :class:`~lindero.errors.NotSeparableError`, which names samples on the wrong side.
    solver : {"auto", "working_set", "interior_point"}, default="auto"
        ``"working_set"`` is decomposition, for any kernel. ``"interior_point"`` is for the linear
        kernel with up to some thousand features, and takes a score of steps whatever C is.
        ``"auto"`` takes the latter where it applies.
    multiclass : {"ovo", "ovr"}, default="ovo"
        Train one machine per pair of classes (as scikit-learn does), or one per class against the
        rest.
    warm_start : bool, default=False
        Go on from the last fit where that has the same rows and classes: after a stop, or with
        other values of the parameters.
    time_limit : float or None, default=None
        Seconds after which fitting stops with the best model so far and a warning.
    callback : callable or None, default=None
        Called with a :class:`~lindero.solvers.solution.Progress` as fitting goes on. Returning
        True stops it.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable takes two arrays of rows and returns the kernel matrix between them; it is asked
        for blocks of that matrix.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Factor in the rbf, poly and sigmoid kernels. ``"scale"`` is
        ``1 / (n_features * X.var())``, ``"auto"`` is ``1 / n_features``.
    coef0 : float, default=0.0
        Constant in the poly and sigmoid kernels.
    shrinking : bool, default=True
        Accepted so that code for scikit-learn runs unchanged. The working set already leaves
        aside variables that cannot move, so it changes nothing.
    probability : "deprecated" or False
        Accepted for the same reason; True is an error that points to calibration.
    tol : float, default=1e-3
        Gap in the optimality conditions at which fitting stops.
    cache_size : float, default=200
        Megabytes for kernel rows.
    class_weight : dict or "balanced" or None, default=None
        Factors of C for each class.
    verbose : bool, default=False
        Show a progress bar on fits that take longer than a second.
    max_iter : int, default=-1
        Limit on the steps of the solver for each binary problem; -1 is none.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether `decision_function` gives one column per class, or one per pair of classes.
    break_ties : bool, default=False
        With more than two classes, predict the class of largest decision value instead of counting
        votes, so that `predict` and `decision_function` cannot differ.
    random_state : int, RandomState or None, default=None
        Accepted for compatibility; nothing here is random.

    Attributes
    ----------
    certificate_ : Certificate
        KKT gap, primal and dual objective, steps, seconds and why fitting stopped.
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
    support_bounds_ : ndarray of shape (n_SV,)
        Largest value the coefficient of each support vector may have: C times its weights.
        Support vectors below it lie on the margin, those at it inside or beyond.
    coef_ : ndarray of shape (n_machines, n_features)
        Weights of the features, for the linear kernel only.
    intercept_ : ndarray of shape (n_machines,)
        Constants of the decision functions.
    n_iter_ : ndarray of shape (n_machines,)
        Steps of the solver for each machine.
    fit_status_ : int
        0 if the optimum was reached, 1 otherwise.
    shape_fit_ : tuple of int
        Shape of the training data.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had any.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0.0, np.inf, closed="right")],
        "kernel": [StrOptions(set(NAMED_KERNELS)), callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "shrinking": ["boolean"],
        "probability": ["boolean", StrOptions({"deprecated"})],
        "cache_size": [Interval(Real, 0.0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
        "solver": [StrOptions(set(SOLVERS))],
        "multiclass": [StrOptions({"ovo", "ovr"})],
        "warm_start": ["boolean"],
        "time_limit": [Interval(Real, 0.0, None, closed="neither"), None],
        "callback": [callable, None],
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
        warm_start: bool = False,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.solver = solver
        self.multiclass = multiclass
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.callback = callback

    # -- fitting ------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVC:
        """Fit to the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; the kernel matrix of shape (n_samples, n_samples) if precomputed.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C for each row; rows of weight zero are left out.

        Returns
        -------
        self : SVC
            The fitted estimator. A call that fails leaves it as it was; one that is interrupted
            (Ctrl-C) leaves the best model so far.
        """
        if self.probability not in (False, "deprecated"):
            raise ValueError("probability=True is not supported. " + CALIBRATION)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo': ties between "
                "classes are broken by the values of decision_function_shape='ovr'."
            )
        # All work is done on a copy, adopted at the end: a failed fit changes nothing. The copy
        # holds no trace of an earlier fit but its solutions.
        fitted = type(self).__new__(type(self))
        fitted.__dict__ = {k: v for k, v in vars(self).items() if not is_fitted_attribute(k)}
        interrupted = fitted._fit(X, y, sample_weight)
        self.__dict__ = fitted.__dict__
        if interrupted:
            raise KeyboardInterrupt(
                "Fitting was interrupted. The estimator holds the best model so far; its "
                "certificate_ says how far it had come, and warm_start=True goes on from it."
            )
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> bool:
        """Set all fitted attributes; whether the fit was interrupted."""
        begun = time.perf_counter()
        X, y = training_table(self, X, y)
        classes, codes = class_labels(y)
        weights = sample_weights(sample_weight, X)
        require_every_class("sample_weight", weights, codes, classes)
        function = kernel_function(self, X, weights)
        class_weight = class_weights(self.class_weight, classes, y, weights)
        if self.class_weight is not None:
            weights = weights * class_weight[codes]
            require_every_class("class_weight", weights, codes, classes)
        bounds = upper_bounds(self.C, weights)
        tasks = binary_tasks(codes, len(classes), self.multiclass, bounds > 0)
        shift = origin(X, function)
        solved, interrupted = self._solve(X, function, shift, bounds, tasks)

        solutions = [solution for _, solution in solved]
        self.class_weight_ = class_weight
        self._adopt_expansion(X, function, shift, classes, codes, tasks, solutions)
        self.support_bounds_ = bounds[self.support_]
        self._fitted_C = self.C
        self._last_solutions = list(zip(tasks, solutions, strict=True)) if self.warm_start else None
        self.certificate_ = certificate_of(solved, time.perf_counter() - begun)
        self.n_iter_ = np.array([solution.n_iter for _, solution in solved], dtype=np.int32)
        n_unfinished = sum(solution.status is not Status.OPTIMAL for solution in solutions)
        self.fit_status_ = int(n_unfinished > 0)
        if n_unfinished and not interrupted:
            self._warn_unfinished(X, n_unfinished)
        warn_if_indefinite(self._function, X, self.support_)
        return interrupted

    def _solve(
        self,
        X: Any,
        function: KernelFunction,
        shift: Array | None,
        bounds: Array,
        tasks: list[BinaryTask],
    ) -> tuple[list[tuple[DualQP, Solution]], bool]:
        """Each task's problem and solution, and whether the user interrupted."""
        shape = (max(len(task.rows) for task in tasks), X.shape[1])
        make_solver = choose_solver(self.solver, function, shape, hard=bool(np.isinf(self.C)))
        state = statement(kernel_operator(X, function, shift=shift), bounds)

        with reporting(bool(self.verbose), self.callback) as callback:
            limits = Limits(
                max_iter=None if self.max_iter < 0 else self.max_iter,
                time_limit=self.time_limit,
                callback=callback,
                n_problems=len(tasks),
            )
            starts = self._starts(tasks)
            solved = solve_all(tasks, state, make_solver, self.tol, self.cache_size, starts, limits)
        return solved, limits.interrupted

    def _starts(self, tasks: list[BinaryTask]) -> list[Solution | None]:
        """Solutions of the last fit for tasks of the same rows and signs."""
        last = getattr(self, "_last_solutions", None) if self.warm_start else None
        if last is None or len(last) != len(tasks):
            return [None] * len(tasks)
        return [
            solution
            if np.array_equal(task.rows, old.rows) and np.array_equal(task.signs, old.signs)
            else None
            for task, (old, solution) in zip(tasks, last, strict=True)
        ]

    def _warn_unfinished(self, X: Any, n_unfinished: int) -> None:
        certificate = self.certificate_
        n_machines = len(self.n_iter_)
        which = f" ({n_unfinished} of {n_machines} machines)" if n_machines > 1 else ""
        if certificate.status == Status.PRECISION.value:
            advice = "Lower C, or raise tol."
        else:
            advice = (
                "Raise max_iter or time_limit (warm_start=True goes on from here), or raise tol."
            )
        warnings.warn(
            f"{certificate.status}{which} The gap left is {certificate.kkt_gap:.3g}, tol is "
            f"{self.tol:.3g}. {advice}" + scale_advice(X, self._function),
            ConvergenceWarning,
            stacklevel=5,
        )

    # -- judging ------------------------------------------------------------------------------

    def certify(self, X: Any, y: Any, sample_weight: Any = None) -> Certificate:
        """Recompute the certificate from scratch, in float64, from the coefficients alone.

        Nothing of the solver's state is used: the problem is stated again from the training data
        and judges the fitted coefficients.

        Parameters
        ----------
        X, y, sample_weight
            The data given to `fit`.

        Returns
        -------
        certificate : Certificate
        """
        check_is_fitted(self)
        begun = time.perf_counter()
        X = new_table(self, X)
        codes = known_codes(y, self.classes_)
        if X.shape[0] != self.shape_fit_[0] or len(codes) != X.shape[0]:
            raise ValueError(
                f"certify needs the data given to fit: {self.shape_fit_[0]} rows, but X has "
                f"{X.shape[0]} and y has {len(codes)}."
            )
        weights = sample_weights(sample_weight, X)
        bounds = upper_bounds(self._fitted_C, weights * self.class_weight_[codes])
        tasks = binary_tasks(codes, len(self.classes_), self._scheme, bounds > 0)
        coefficients = dense(self.dual_coef_)
        alphas = split(
            tasks, self.support_, coefficients, len(codes), len(self.classes_), self._scheme
        )
        shift = origin(X, self._function)
        state = statement(kernel_operator(X, self._function, shift=shift), bounds)
        parts = []
        for number, (task, a) in enumerate(zip(tasks, alphas, strict=True)):
            problem = state(task)
            bias = float(self.intercept_[number]) + self._bias_of_origin(shift)[number]
            judgement = problem.judge(a, bias=bias)
            status = verdict(judgement, a, self.tol)
            parts.append(Certificate.of(judgement, int(self.n_iter_[number]), 0.0, status))
        return Certificate.joined(parts, time.perf_counter() - begun)
