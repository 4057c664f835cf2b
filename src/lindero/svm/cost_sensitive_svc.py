"""Support vector classification where errors on one class cost more than on the other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import type_of_target

from lindero.devices.homes import read_vector
from lindero.problems.margin import CostMargin
from lindero.runtime.arrays import Array
from lindero.runtime.partitioned import fitting_partitions, scoring_partitions
from lindero.solvers.choose import SOLVERS
from lindero.solvers.solution import Callback, Certificate
from lindero.svm import judging, kernel_estimator
from lindero.svm.calibration import RefusedMethod
from lindero.svm.costs import class_terms, require_two
from lindero.svm.fitting import TrainingSet
from lindero.svm.following import answering_at_home, home_of, scoring_at_home
from lindero.svm.kernel_estimator import KernelEstimator, MachineOptions
from lindero.svm.parameters import KERNEL_MACHINE_CONSTRAINTS
from lindero.validation import (
    find_classes,
    keep_parameters,
    make_kernel_function,
    read_row_factors,
    read_sample_weights,
    read_training_table,
    require_every_class,
    require_labels,
)


class CostSensitiveSVC(ClassifierMixin, KernelEstimator):  # type: ignore[misc]
    """Binary classification with costs, by the cost-sensitive hinge loss.

    Errors on the positive class are weighed by `cost_positive`, those on the other one by
    ``2 * cost_negative - 1``; and while positives are asked for a margin of 1, negatives are asked
    for one of ``1 / (2 * cost_negative - 1)`` only. Weights decide where the classes overlap: with
    enough data the positive class is predicted where its odds exceed
    ``(2 * cost_negative - 1) / cost_positive``. Margins decide where they can be separated: there
    class weights play no part once C is large, while this boundary still keeps further away from
    the class that matters. ``cost_positive = cost_negative = 1`` is :class:`~lindero.svm.SVC`.

    Costs of errors are turned into these parameters by :func:`~lindero.svm.costs_from_matrix`.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of errors. ``float("inf")`` asks for the hard margin: no errors at all, and
        the margins above. Data that no boundary of the kernel separates then raise
        :class:`~lindero.errors.NotSeparableError`, which names samples on the wrong side.
    cost_positive : float, default=1.0
        Weight of errors on the positive class. Less than ``2 * cost_negative - 1`` is allowed, but
        then negatives are favoured where the classes overlap and positives where they do not.
    cost_negative : float, default=1.0
        Above 1 the boundary lies nearer to the negatives, below 1 nearer to the positives; it must
        be above 1/2.
    positive_class : label or None, default=None
        The class whose errors `cost_positive` weighs; None is the second, ``classes_[1]``. Signs
        do not depend on it: positive values of `decision_function` always mean ``classes_[1]``.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable takes two arrays of rows and returns that block of the kernel matrix.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Factor in the rbf, poly and sigmoid kernels. ``"scale"`` is
        ``1 / (n_features * X.var())``, ``"auto"`` is ``1 / n_features``.
    coef0 : float, default=0.0
        Constant in the poly and sigmoid kernels.
    tol : float, default=1e-3
        Gap in the optimality conditions at which fitting stops, in units of the smaller margin if
        that is below 1.
    cache_size : float, default=200
        Megabytes for kernel rows.
    verbose : bool, default=False
        Show a progress bar on fits that take longer than a second.
    max_iter : int, default=-1
        Limit on the iterations of the solver; -1 is none.
    solver : {"auto", "working_set", "interior_point", "coordinate_descent"}, default="auto"
        ``"working_set"`` is decomposition, for any kernel. ``"interior_point"`` is for the linear
        kernel with up to some thousand features, and takes about 20 iterations whatever C is;
        ``"coordinate_descent"`` is for the linear kernel with more of them, text above all.
        ``"auto"`` takes these where they apply.
    warm_start : bool, default=False
        Go on from the last fit where that has the same rows and classes: after a stop, or with
        other values of the parameters.
    time_limit : float or None, default=None
        Seconds after which fitting stops with the best model so far and a warning.
    callback : callable or None, default=None
        Called with a :class:`~lindero.solvers.solution.Progress`; returning True stops fitting.

    Attributes
    ----------
    certificate_ : Certificate
        KKT gap, primal and dual objective, iterations, seconds and why fitting stopped.
    classes_ : ndarray of shape (2,)
        The class labels.
    class_weight_ : ndarray of shape (2,)
        The factor of C of each class, in the order of `classes_`.
    margins_ : ndarray of shape (2,)
        The margin asked for of each class: values of `decision_function` at their margins are
        ``-margins_[0]`` and ``margins_[1]``.
    support_ : ndarray of shape (n_SV,)
        Rows of the training data that are support vectors, grouped by class.
    support_vectors_ : ndarray or CSR array of shape (n_SV, n_features)
        The support vectors (empty when the kernel is precomputed).
    n_support_ : ndarray of shape (2,)
        Number of support vectors of each class.
    dual_coef_ : ndarray or CSR array of shape (1, n_SV)
        Coefficients of the support vectors, positive for those of ``classes_[1]``.
    free_support_ : ndarray of shape (n_free,)
        Rows whose coefficients are below their bounds: they lie on the margin of their class.
    bounded_support_ : ndarray of shape (n_bounded,)
        Rows whose coefficient is at its bound: they lie inside the margin of their class, or on
        the wrong side.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features, for the linear kernel only.
    intercept_ : ndarray of shape (1,)
        Constant of the decision function.
    n_iter_ : ndarray of shape (1,)
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
    costs_from_matrix : The parameters that a matrix of costs asks for.
    SVC : Several classes; `class_weight` is the part of this that weights can do.

    References
    ----------
    H. Masnadi-Shirazi and N. Vasconcelos, "Risk minimization, probability elicitation, and
    cost-sensitive SVMs", International Conference on Machine Learning, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.svm import CostSensitiveSVC
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> y = np.array(["fine", "fine", "ill", "ill"])
    >>> model = CostSensitiveSVC(
    ...     C=float("inf"), kernel="linear", cost_positive=9, cost_negative=2, positive_class="ill"
    ... ).fit(X, y)
    >>> model.predict([[1.9], [2.1]])
    array(['fine', 'ill'], dtype='<U4')
    >>> model.decision_function([[1.0], [3.0], [5.0]]).round(3)
    array([-0.333,  0.333,  1.   ])
    """

    _formulation = CostMargin
    _runs_on_devices = True

    _parameter_constraints: ClassVar[dict[str, list[Any] | str]] = {
        **{
            name: kinds for name, kinds in KERNEL_MACHINE_CONSTRAINTS.items() if name != "shrinking"
        },
        "C": [Interval(Real, 0.0, np.inf, closed="right")],
        "cost_positive": [Interval(Real, 0.0, None, closed="neither")],
        # Why it must be above 1/2 is said by `class_terms`.
        "cost_negative": [Interval(Real, None, None, closed="neither")],
        "positive_class": "no_validation",
        "solver": [StrOptions(set(SOLVERS))],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        cost_positive: float = 1.0,
        cost_negative: float = 1.0,
        positive_class: Any = None,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        solver: str = "auto",
        warm_start: bool = False,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        keep_parameters(self, locals())

    @fitting_partitions
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, sample_cost: Any = None
    ) -> CostSensitiveSVC:
        """Fit to the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; the kernel matrix of shape (n_samples, n_samples) if precomputed.
        y : array-like of shape (n_samples,)
            Class labels, two different ones.
        sample_weight : array-like of shape (n_samples,), default=None
            How many rows each row counts for; rows of weight zero are left out.
        sample_cost : array-like of shape (n_samples,), default=None
            Factors of the cost of errors on each row; rows of cost zero are left out. The two are
            multiplied. Costs differ from weights in one place: what a row costs says nothing of how
            often its like occurs, so ``gamma="scale"`` does not depend on it.

        Returns
        -------
        self : CostSensitiveSVC
            The fitted estimator: as it was if fit fails, with the best model so far on Ctrl-C.
        """
        labels = read_vector("y", y, home_of(X))
        # Before X is looked at: several classes are refused whatever the rows are.
        require_labels(labels)
        several = False
        # What is not finite, or has no order, is refused below, with its place.
        with np.errstate(invalid="ignore"), suppress(TypeError):
            several = y is not None and type_of_target(labels) == "multiclass"
        if several:
            require_two(np.unique(labels))
        return self._fit_aside(X, y, (sample_weight, sample_cost))

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        X, y = read_training_table(self, X, y)
        self.classes_, codes = find_classes(y)
        counts, weights = _read_weights(X, *sample_weight)
        require_every_class("sample_weight times sample_cost", weights, codes, self.classes_)
        function = make_kernel_function(self, X, counts)
        self.margins_, self.class_weight_ = class_terms(
            self.classes_, self.positive_class, self.cost_positive, self.cost_negative
        )
        with np.errstate(over="ignore"):
            weights = weights * self.class_weight_[codes]
        margin = CostMargin(self.C, self.margins_)
        return TrainingSet.of(margin, X, function, weights, codes, n_classes=2)

    def _options(self) -> MachineOptions:
        return MachineOptions(self.solver)

    decision_function = kernel_estimator.decision_function
    score = scoring_partitions(scoring_at_home(ClassifierMixin.score))
    predict_proba = RefusedMethod("predict_proba")
    predict_log_proba = RefusedMethod("predict_log_proba")

    @answering_at_home
    def certify(
        self, X: Any, y: Any = None, sample_weight: Any = None, sample_cost: Any = None
    ) -> Certificate:
        """Recompute the certificate from scratch, from the coefficients, as `SVC` does.

        Parameters
        ----------
        X, y, sample_weight, sample_cost
            The data given to `fit`.

        Returns
        -------
        certificate : Certificate
        """
        return super().certify(X, y, (sample_weight, sample_cost))

    @answering_at_home
    def leave_one_out(
        self, X: Any, y: Any, sample_weight: Any = None, sample_cost: Any = None
    ) -> Array:
        """Decision values of each training row from a machine trained without that row. Exact.

        Parameters are kept, ``gamma="scale"`` as derived from all rows included, and so are limits
        of the fit. Solutions go to a thousandth of `tol`.

        Parameters
        ----------
        X, y, sample_weight, sample_cost
            The data given to `fit`.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            Their signs are the predictions, and
            ``np.mean((values > 0) != (y == model.classes_[1]))`` is the leave-one-out error.
        """
        return judging.leave_one_out(self, X, y, (sample_weight, sample_cost))

    def _weigh_again(self, X: Any, targets: Any, sample_weight: Any) -> Array:
        _, weights = _read_weights(X, *sample_weight)
        factors: Array = self.class_weight_[targets]
        return weights * factors

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _read_weights(X: Any, sample_weight: Any, sample_cost: Any) -> tuple[Array, Array]:
    """How many rows each row counts for, and its factor of C."""
    weights = read_sample_weights(sample_weight, X)
    costs = read_row_factors(sample_cost, X.shape[0], "sample_cost")
    with np.errstate(over="ignore"):
        return weights * (costs > 0), weights * costs
