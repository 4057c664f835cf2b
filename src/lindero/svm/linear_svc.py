"""Linear support vector classification, a drop-in for ``sklearn.svm.LinearSVC``, and the C at which
a path of machines with few weights begins."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from lindero.kernels.operator import KernelFunction
from lindero.problems.class_margin import ClassMargin
from lindero.problems.formulation import Formulation
from lindero.problems.margin import Margin
from lindero.problems.sparse_margin import SparseMargin, find_least_cost
from lindero.problems.squared import SquaredMargin
from lindero.problems.through_origin import OriginMargin, SquaredOriginMargin
from lindero.runtime.partitioned import scoring_partitions
from lindero.solvers.solution import Callback, Certificate
from lindero.svm import kernel_estimator
from lindero.svm.batches import learn_batch
from lindero.svm.crammer_singer import certify_all_classes, fit_all_classes
from lindero.svm.fitted_machines import FittedMachines
from lindero.svm.fitting import TrainingSet, read_classes
from lindero.svm.following import scoring_at_home
from lindero.svm.kernel_estimator import KernelEstimator, MachineOptions
from lindero.svm.multiclass import split_classes
from lindero.svm.parameters import KERNEL_MACHINE_CONSTRAINTS
from lindero.validation import (
    find_classes,
    keep_parameters,
    read_sample_weights,
    read_training_table,
    require_computable,
    require_every_class,
    weigh_classes,
)

#: What a loss is called, and how it is stated: with an intercept, and without.
MARGINS = {"hinge": Margin, "squared_hinge": SquaredMargin}
ORIGIN_MARGINS = {"hinge": OriginMargin, "squared_hinge": SquaredOriginMargin}

#: All that a fit may have stated, by the names that model files have for it.
STATED_MARGINS: dict[str, type[Formulation]] = {
    **MARGINS,
    "hinge_through_origin": OriginMargin,
    "squared_hinge_through_origin": SquaredOriginMargin,
    "l1": SparseMargin,
    "crammer_singer": ClassMargin,
}

#: What parameters of linear machines may be.
LINEAR_CONSTRAINTS: dict[str, list[Any]] = {
    "dual": ["boolean", StrOptions({"auto"})],
    "C": [Interval(Real, 0.0, None, closed="neither")],
    "intercept_scaling": [Interval(Real, 0.0, None, closed="neither")],
    "random_state": ["random_state"],
    "max_iter": [Interval(Integral, -1, None, closed="left")],
    **{
        name: KERNEL_MACHINE_CONSTRAINTS[name]
        for name in ("tol", "verbose", "warm_start", "time_limit", "callback")
    },
}

LINEAR = KernelFunction("linear")


class LinearSVC(ClassifierMixin, KernelEstimator):  # type: ignore[misc]
    """Linear classification for many rows or columns, sparse or dense, with a certificate.

    Parameters, class order and signs are those of :class:`sklearn.svm.LinearSVC`; `warm_start`,
    `time_limit` and `callback` are added. Three things differ. The intercept is not penalised,
    so that moving the data does not change the boundary: `intercept_scaling` has nothing to do.
    The solver is chosen by the shape of the table: coordinate descent on the dual for many columns,
    Newton's method or interior points for few. And a fit says how near to the optimum it is.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        Penalty of the weights: half the sum of their squares, or the sum of their absolute values,
        with which many are zero. The second goes with squared losses only, and keeps a copy of X
        by columns while it fits. `l1_min_c` is the C with which all weights are still zero.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        What errors cost: ``max(0, 1 - y f(x))`` with ``"hinge"``, as in :class:`SVC`, or its
        square.
    dual : bool or "auto", default="auto"
        Accepted so that code for scikit-learn runs unchanged; it changes nothing, as both problems
        have one solution.
    tol : float, default=1e-4
        Gap in the optimality conditions at which fitting stops, in units of the margin. With
        ``penalty="l1"`` it is the duality gap, as a share of the objective.
    C : float, default=1.0
        Penalty of errors.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        One machine for each class against the rest, or one problem for all classes, in which a row
        pays for its worst rival alone: `loss`, `penalty` and `dual` are then ignored, as in
        scikit-learn. (With two classes the second is the machine with hinge losses and twice the
        C, and the certificate is that machine's.)
    fit_intercept : bool, default=True
        Whether there is an intercept; without one boundaries go through the origin.
    intercept_scaling : float, default=1.0
        Accepted so that code for scikit-learn runs unchanged. There it makes the penalty of the
        intercept smaller; here it has none.
    class_weight : dict or "balanced" or None, default=None
        Factors of C for each class.
    verbose : bool, default=False
        Show a progress bar on fits that take longer than a second.
    random_state : int, RandomState or None, default=None
        Accepted so that code for scikit-learn runs unchanged. Fits are the same each time.
    max_iter : int, default=-1
        Limit on the iterations of the solver for each machine (epochs of coordinate descent, or
        Newton steps); -1 is none.
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
    coef_ : ndarray of shape (n_machines, n_features)
        Weights of the features; a single machine for two classes, else one for each class.
    intercept_ : ndarray of shape (n_machines,)
        Constants of the decision functions.
    support_ : ndarray of shape (n_SV,)
        Rows of the training data that the weights are made of, grouped by class. (With
        ``penalty="l1"``, those with errors: `dual_coef_` are their multipliers, which prove how
        good the weights are.)
    n_support_ : ndarray of shape (n_classes,)
        Number of these rows of each class.
    dual_coef_ : ndarray of shape (n_machines, n_SV)
        Their coefficients, times the label.
    free_support_, bounded_support_ : ndarray
        Rows whose coefficients are below their bounds, and at them. Squared losses have no bounds.
    n_iter_ : ndarray of shape (n_machines,)
        Iterations of the solver for each machine; the same for all where they are one problem.
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
    LinearSVCCV : C chosen by cross-validation, along a path of warm starts.
    LinearSVR : The same for regression.
    SVC : Other kernels.

    References
    ----------
    C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi and S. Sundararajan, "A dual coordinate
    descent method for large-scale linear SVM", ICML 2008.

    S. S. Keerthi and D. DeCoste, "A modified finite Newton method for fast solution of large scale
    linear SVMs", Journal of Machine Learning Research 6, 2005.

    S. S. Keerthi, S. Sundararajan, K.-W. Chang, C.-J. Hsieh and C.-J. Lin, "A sequential dual
    method for large scale multi-class linear SVMs", KDD 2008.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from lindero.svm import LinearSVC
    >>> texts = ["a fine day", "fine and sunny", "a grey day", "grey and cold"]
    >>> X = TfidfVectorizer().fit_transform(texts)
    >>> model = LinearSVC().fit(X, ["good", "good", "bad", "bad"])
    >>> model.predict(X).tolist()
    ['good', 'good', 'bad', 'bad']
    >>> model.certificate_.status
    'Optimal: the KKT gap is within tol.'
    """

    kernel = "linear"
    gamma, degree, coef0 = 1.0, 3, 0.0
    cache_size = 200.0
    _runs_on_devices = True
    _keeps_vectors = False
    _takes_objects = False
    _takes_any_order = True
    _formulation = Margin
    _fitted_state = ("_kept_rows",)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions(set(MARGINS))],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
        "fit_intercept": ["boolean"],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        **LINEAR_CONSTRAINTS,
    }

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: bool | str = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: dict[Any, float] | str | None = None,
        verbose: bool = False,
        random_state: Any = None,
        max_iter: int = -1,
        warm_start: bool = False,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        keep_parameters(self, locals())

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        X, y, codes, weights = read_classes(self, X, y, sample_weight)
        require_computable(X, LINEAR)
        self.class_weight_, weights = weigh_classes(
            self.class_weight, self.classes_, codes, y, weights
        )
        margin = self._state_margin()
        return TrainingSet.of(margin, X, LINEAR, weights, codes, len(self.classes_), "ovr")

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> LinearSVC:
        """Fit to one more batch of rows, and to all those before it.

        Each batch is kept, and the fit goes on from the last one: the model and its certificate are
        those of `fit` with all rows so far, within `tol`, and memory grows with them. Model files
        do not hold these rows, pickles do. After `fit` a first batch begins anew.
        Until each class has a row there is no model: batches are only kept, and `predict` says that
        it is not fitted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows of the batch, sparse if those before were.
        y : array-like of shape (n_samples,)
            Their class labels.
        classes : array-like or None, default=None
            All classes that there will be, needed in the first call unless its batch has rows of
            each.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self : object
            The fitted estimator: as it was if this fails.
        """
        learn_batch(self, X, y, sample_weight, classes)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, last: FittedMachines | None) -> bool:
        if self.multi_class == "crammer_singer":
            return fit_all_classes(self, X, y, sample_weight, last)
        return super()._fit(X, y, sample_weight, last)

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """Recompute the certificate from scratch, from what the fitted attributes hold alone.

        Parameters
        ----------
        X, y, sample_weight
            The data given to `fit`.

        Returns
        -------
        certificate : Certificate
            As :meth:`SVC.certify` has it. With ``penalty="l1"`` weights and multipliers are judged
            together; with ``multi_class="crammer_singer"`` all classes are.
        """
        check_is_fitted(self)
        if isinstance(self._machines_.formulation, ClassMargin):
            return certify_all_classes(self, *self._read_again(X, y, sample_weight))
        return super().certify(X, y, sample_weight)

    def _state_margin(self) -> Formulation:
        """What is to be solved for each class."""
        if self.multi_class == "crammer_singer":
            if len(self.classes_) == 2:  # a binary machine, see `problems.class_margin`
                return (Margin if self.fit_intercept else OriginMargin)(2.0 * self.C)
            return ClassMargin(self.C, self.fit_intercept)
        if self.penalty == "l1":
            if self.loss != "squared_hinge":
                raise ValueError(
                    "penalty='l1' goes with loss='squared_hinge' only, as in scikit-learn: the sum "
                    "of plain hinge losses and absolute weights is a linear program. Leave loss "
                    "out, or use penalty='l2'."
                )
            return SparseMargin(self.C, self.fit_intercept)
        return (MARGINS if self.fit_intercept else ORIGIN_MARGINS)[self.loss](self.C)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Classes that lie on one side of the origin are beyond a boundary through it.
        tags.classifier_tags.poor_score = not self.fit_intercept
        return tags

    def _options(self) -> MachineOptions:
        return MachineOptions("auto")

    decision_function = kernel_estimator.decision_function
    score = scoring_partitions(scoring_at_home(ClassifierMixin.score))


def l1_min_c(
    X: Any,
    y: Any,
    *,
    loss: str = "squared_hinge",
    fit_intercept: bool = True,
    intercept_scaling: float = 1.0,
    sample_weight: Any = None,
) -> float:
    """The largest C for which `LinearSVC` with ``penalty="l1"`` has no weights at all.

    Above it at least one feature has a weight. Unlike that of :func:`sklearn.svm.l1_min_c` the
    intercept has no penalty, so that this is the exact value with an intercept, too.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training rows.
    y : array-like of shape (n_samples,)
        Class labels. With more than two it is the least of those of each class against the rest.
    loss : {"squared_hinge"}, default="squared_hinge"
        The only loss that goes with this penalty.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    intercept_scaling : float, default=1.0
        Accepted so that code for scikit-learn runs unchanged.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each row, with that of its class.

    Returns
    -------
    least : float
        The beginning of a path over C; infinite where no feature tells the classes apart.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.svm import LinearSVC, l1_min_c
    >>> X, y = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]), [0, 0, 1, 1]
    >>> least = l1_min_c(X, y)
    >>> [LinearSVC("l1", C=f * least).fit(X, y).coef_.any().item() for f in (0.999, 1.1)]
    [False, True]
    """
    if loss != "squared_hinge":
        raise ValueError(f"loss must be 'squared_hinge', got {loss!r}: see LinearSVC.")
    X, y = read_training_table(LinearSVC(), X, y)
    require_computable(X, LINEAR)
    classes, codes = find_classes(y)
    weights = read_sample_weights(sample_weight, X)
    require_every_class("sample_weight", weights, codes, classes)
    rows = np.arange(X.shape[0])
    if len(classes) == 2:
        return find_least_cost(X, np.where(codes == 1, 1.0, -1.0), weights, fit_intercept)
    tasks = split_classes(codes, len(classes), "ovr", rows)
    return min(find_least_cost(X, task.targets, weights, fit_intercept) for task in tasks)
