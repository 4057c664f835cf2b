"""Linear support vector classification, a drop-in for ``sklearn.svm.LinearSVC``."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions

from lindero.kernels.operator import KernelFunction
from lindero.problems.margin import Margin
from lindero.problems.squared import SquaredMargin
from lindero.solvers.solution import Callback
from lindero.svm import fitting
from lindero.svm.fitting import KernelEstimator, MachineOptions, TrainingSet, read_classes
from lindero.svm.parameters import KERNEL_MACHINE_CONSTRAINTS
from lindero.validation import keep_parameters, require_computable, weigh_classes

#: What a loss is called, and how it is stated.
MARGINS = {"hinge": Margin, "squared_hinge": SquaredMargin}

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
    penalty : {"l2"}, default="l2"
        Penalty of the weights.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        What errors cost: ``max(0, 1 - y f(x))`` with ``"hinge"``, as in :class:`SVC`, or its
        square.
    dual : bool or "auto", default="auto"
        Accepted so that code for scikit-learn runs unchanged; it changes nothing, as both problems
        have one solution.
    tol : float, default=1e-4
        Gap in the optimality conditions at which fitting stops, in units of the margin.
    C : float, default=1.0
        Penalty of errors.
    multi_class : {"ovr"}, default="ovr"
        One machine for each class against the rest.
    fit_intercept : {True}, default=True
        There is always an intercept.
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
        Rows of the training data that the weights are made of, grouped by class.
    n_support_ : ndarray of shape (n_classes,)
        Number of these rows of each class.
    dual_coef_ : ndarray of shape (n_machines, n_SV)
        Their coefficients, times the label.
    free_support_, bounded_support_ : ndarray
        Rows whose coefficients are below their bounds, and at them. Squared losses have no bounds.
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
    LinearSVCCV : C chosen by cross-validation, along a path of warm starts.
    LinearSVR : The same for regression.
    SVC : Other kernels.

    References
    ----------
    C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi and S. Sundararajan, "A dual coordinate
    descent method for large-scale linear SVM", ICML 2008.

    S. S. Keerthi and D. DeCoste, "A modified finite Newton method for fast solution of large scale
    linear SVMs", Journal of Machine Learning Research 6, 2005.

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
    _keeps_vectors = False
    _takes_objects = False
    _takes_any_order = True
    _formulation = Margin

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "penalty": [StrOptions({"l2"})],
        "loss": [StrOptions(set(MARGINS))],
        "multi_class": [StrOptions({"ovr"})],
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
        require_intercept(self)
        X, y, codes, weights = read_classes(self, X, y, sample_weight)
        require_computable(X, LINEAR)
        self.class_weight_, weights = weigh_classes(
            self.class_weight, self.classes_, codes, y, weights
        )
        margin = MARGINS[self.loss](self.C)
        return TrainingSet.of(margin, X, LINEAR, weights, codes, len(self.classes_), "ovr")

    def _options(self) -> MachineOptions:
        return MachineOptions("auto")

    decision_function = fitting.decision_function


def require_intercept(estimator: Any) -> None:
    """Refuse what scikit-learn's machines can do and these cannot."""
    if not estimator.fit_intercept:
        raise ValueError(
            "fit_intercept=False is not supported: these machines always have an intercept, which "
            "is not penalised. Leave the parameter out, or use sklearn.svm for a boundary through "
            "the origin."
        )
