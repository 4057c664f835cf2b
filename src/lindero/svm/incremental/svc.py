"""A cost-sensitive classifier that learns and forgets single samples exactly.

Beside the estimator: what a sample becomes in the dual problem, and the two classes that become
known as labels come. They are in one file, half of which is documentation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets

from lindero.problems.dual_qp import upper_bounds
from lindero.problems.margin import margin_terms
from lindero.runtime.arrays import Array
from lindero.runtime.cached import cached_property
from lindero.runtime.threads import one_at_a_time
from lindero.svm.calibration import RefusedMethod
from lindero.svm.costs import class_terms, require_two
from lindero.svm.incremental import estimator
from lindero.svm.incremental.estimator import (
    INCREMENTAL_CONSTRAINTS,
    WINDOW_CONSTRAINTS,
    IncrementalEstimator,
    give_each,
)
from lindero.svm.incremental.machine import HeldModel, OnlineFormulation
from lindero.transaction import fitting_aside
from lindero.validation import (
    keep_parameters,
    make_plain_labels,
    read_declared_classes,
    read_further_table,
    read_new_table,
    read_row_factors,
    read_sample_weights,
    read_training_table,
    require_labels,
    require_one_kind,
    require_same_kind,
)

# -- what a sample becomes ------------------------------------------------------------------------


@dataclass(frozen=True)
class OnlineMargin(OnlineFormulation):
    """The soft, hard or cost-sensitive margin of `problems.margin`, sample by sample; `terms` are
    margins and weights of the two classes."""

    C: float
    terms: tuple[Array, Array]

    FIELDS: ClassVar[dict[str, str]] = {"C": "_fitted_C", "terms": "_terms"}
    by_class: ClassVar[bool] = True
    largest_difference: ClassVar[float | None] = 2.0

    @cached_property
    def _of_classes(self) -> tuple[Array, Array, Array]:
        """Signs, linear terms and weights of a sample of each class."""
        margins, weights = self.terms
        return margin_terms(np.array([-1.0, 1.0]), weights, margins)

    def state_samples(self, targets: Array, factors: Array) -> tuple[Array, Array, Array]:
        s, p, weights = self._of_classes
        codes = targets.astype(np.intp)
        weighed = factors * weights[codes]
        if weighed.min() > 0.0 and self.C * float(weighed.sum()) < np.inf:
            bounds = self.C * weighed
        else:  # infinite, zero, or to be refused
            bounds = upper_bounds(self.C, weighed)
        return s[codes], p[codes], bounds

    def lose(self, values: Array, target: float) -> Array:
        """The log-loss of σ(2f), |f| cut off at 1, times the share that the class has in costs."""
        weights = self.terms[1]
        share = float(weights[int(target)] / weights.max())
        agree = np.clip(np.where(np.isnan(values), 0.0, values), -1.0, 1.0)
        losses: Array = share * np.log1p(np.exp(-2.0 * agree if target > 0.0 else 2.0 * agree))
        return losses


# -- classes --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelCoding:
    """The classes known so far, in order; `declared` if no others may come."""

    classes: Array
    declared: bool

    @classmethod
    def begin(cls, y: Array, classes: Any) -> LabelCoding:
        """From the labels of a first call, and the classes it declares, if any."""
        require_one_kind(y)
        check_classification_targets(y)
        if classes is None:
            return cls(np.unique(y), False)
        declared = read_declared_classes(classes)
        require_two(declared)
        return cls(declared, True)

    def declare(self, classes: Any) -> LabelCoding:
        """With classes declared in a later call, which must agree with what is known."""
        given = read_declared_classes(classes)
        require_two(given)
        known, labels = make_plain_labels(self.classes), make_plain_labels(given)
        agrees = np.isin(known, labels).all()
        if not agrees or (len(known) == 2 and not np.isin(labels, known).all()):
            raise ValueError(
                f"classes={given.tolist()} differs from the {self.classes.tolist()} known so far. "
                "Call fit to start over."
            )
        return LabelCoding(self.classes if len(known) == 2 else given, True)

    def extend(self, y: Array) -> LabelCoding:
        """With the labels of y, which may be the first of a second class."""
        require_labels(y)
        known, labels = make_plain_labels(self.classes), make_plain_labels(y)
        require_same_kind(labels, known, "Call fit to start over.")
        unknown = np.flatnonzero(~np.isin(labels, known))
        if len(unknown) == 0:
            return self
        room = 0 if self.declared else 2 - len(known)
        _, first = np.unique(labels[unknown], return_index=True)
        rows = unknown[np.sort(first)]  # where each new class comes first
        classes = np.unique(np.concatenate([known, labels[rows[:room]]]))
        if len(rows) > room:
            raise ValueError(
                f"y holds the label {labels.tolist()[rows[room]]!r} in row {rows[room]}, but the "
                f"classes are {classes.tolist()}"
                + (" as declared" if self.declared else "")
                + ". Only two classes can be told apart. Call fit to start over, or wrap the "
                "machine in sklearn.multiclass.OneVsRestClassifier."
            )
        check_classification_targets(y)
        objects = self.classes.dtype == object
        return LabelCoding(classes.astype(object) if objects else classes, False)

    def encode(self, y: Array) -> Array:
        """The position of each label among the classes, all of which are known."""
        known, labels = make_plain_labels(self.classes), make_plain_labels(y)
        return np.searchsorted(known, labels).astype(np.float64)

    def encode_known(self, y: Array) -> Array | None:
        """The same; None unless it is quickly seen that all labels are known."""
        if y.dtype.kind != self.classes.dtype.kind or y.dtype.kind not in "biufU":
            return None
        places = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        return places.astype(np.float64) if (self.classes[places] == y).all() else None


# -- the estimator --------------------------------------------------------------------------------


class IncrementalSVC(ClassifierMixin, IncrementalEstimator):  # type: ignore[misc]
    """Cost-sensitive classification that learns and forgets single samples, exactly.

    After every call the model is the one that :class:`CostSensitiveSVC` with the same `gamma` would
    find for the samples held, to rounding: nothing is approximated, and what was forgotten has left
    no trace. A sample that changes nothing costs one row of kernel values; others some linear
    systems of the size of the margin.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of errors; ``inf`` is the hard margin, which refuses samples that cannot be
        separated.
    cost_positive, cost_negative : float, default=1.0
        Costs of errors on either class, as in :class:`CostSensitiveSVC`; 1 and 1 is the plain
        machine.
    positive_class : label or None, default=None
        The class that `cost_positive` is about; None is ``classes_[1]``.
    kernel : {"linear", "poly", "rbf", "sigmoid"} or callable, default="rbf"
        A callable takes two arrays of rows and returns the kernel matrix between them. Updates are
        exact for kernels that are positive semi-definite; for others (sigmoid) the certificate
        speaks of a stationary point only.
    degree : int, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Factor in the rbf, poly and sigmoid kernels. ``"scale"`` is ``1 / (n_features * X.var())``
        of the rows of the first call, and stays what it was. Where these rows do not vary, it is
        that of ``"auto"``, ``1 / n_features``, with a warning.
    coef0 : float, default=0.0
        Constant in the poly and sigmoid kernels.
    window : int, "auto" or None, default=None
        Hold at most this many samples: the oldest is forgotten as a new one arrives. The last
        sample of a class is kept, and the next oldest goes instead.
        ``"auto"`` finds the length itself, long in calm and short after a change: exact machines of
        several lengths predict each row before they learn it, and the best of late answers.
    max_window : int, default=1000
        The longest window that ``"auto"`` may choose. Half as many samples again are held at most,
        in windows of 37, 111, 333 and 1000. Each of these costs about as much as a machine.
    cache_size : float, default=200
        Megabytes for kernel columns of the samples on the margin.
    verbose : bool, default=False
        Show a progress bar where many samples are learned at once.

    Attributes
    ----------
    sample_ids_, ids_ : ndarray of shape (n_held,)
        Ids of the samples held, oldest first: those given as `ids`, or else numbers that count from
        0, and are never given again.
    stored_ids_ : ndarray of shape (n_stored,)
        The same, and those that are held by longer windows only, with ``window="auto"``: `forget`
        and `replace` know them too.
    window_ : int or None
        The length of the window that answers: of all attributes, methods and predictions.
    window_history_ : structured ndarray
        With ``window="auto"``: `row`, counted from 0, and the length of the `window` after it, for
        1000 rows at most, evenly spaced.
    window_cuts_ : ndarray of int
        With ``window="auto"``: the rows at which long windows were dropped, as they had become
        significantly worse than short ones; the latest 1000.
    updates_ : structured ndarray
        A row for each update: `kind` (add, forget, replace), `id` (a number that counts samples
        from 0, whatever their ids), `iterations`, `set_changes`
        (samples that came to or left the margin), and `from_scratch`: learned at once
        with others, in which case the counts are those of all together.
        `corrections` counts steps apart that only remove rounding.
        The latest 100 000 at least, with ``window="auto"`` the latest 1000.
    certificate_ : Certificate
        KKT gap, primal and dual objective over the samples held, steps and seconds so far:
        computed when looked at, as by `certify`.
    classes_ : ndarray of shape (n_classes,)
        The class labels; one only, as long as no other has been seen or declared.
    margins_ : ndarray of shape (2,)
        The margins of the two classes: their samples are to have decision values beyond
        ``-margins_[0]`` and ``margins_[1]``.
    support_ : ndarray of shape (n_SV,)
        Positions of the support vectors among the samples held.
    support_vectors_ : ndarray or CSR array of shape (n_SV, n_features)
        The support vectors.
    free_support_ : ndarray of shape (n_free,)
        Positions of those on the margin: their coefficients are below their bounds.
    bounded_support_ : ndarray of shape (n_bounded,)
        Positions of those inside it or on the wrong side: their coefficients are at their bounds.
    dual_coef_ : ndarray or CSR array of shape (1, n_SV)
        Coefficients of the support vectors.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features, for the linear kernel only.
    intercept_ : ndarray of shape (1,)
        Constant of the decision function.
    shape_fit_ : tuple of int
        Number of samples held, and of features.
    n_features_in_ : int
        Number of features seen in the first call.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had any.

    See Also
    --------
    CostSensitiveSVC : The same machine, fitted to all samples at once.
    IncrementalSVR : Regression that learns and forgets single samples.
    AdaptiveSVC : Classes that drift, with a model for every instant.

    References
    ----------
    X. Quan, Y. Gu, G. Zheng and B. Gu, "An incremental cost-sensitive support vector machine",
    Journal of University of Science and Technology of China 46(9), 727-735, 2016.

    G. Cauwenberghs and T. Poggio, "Incremental and decremental support vector machine learning",
    Advances in Neural Information Processing Systems 13, 2000.

    P. Laskov, C. Gehl, S. Krüger and K.-R. Müller, "Incremental support vector learning: analysis,
    implementation and applications", Journal of Machine Learning Research 7, 1909-1936, 2006.

    M. Herbster and M. K. Warmuth, "Tracking the best expert", Machine Learning 32(2), 151-178,
    1998.

    J. Shin, A. Ramdas and A. Rinaldo, "E-detectors: a nonparametric framework for sequential change
    detection", New England Journal of Statistics in Data Science 2(2), 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.svm import IncrementalSVC
    >>> model = IncrementalSVC(C=10.0, kernel="linear")
    >>> model = model.partial_fit([[0.0], [4.0]], ["left", "right"])
    >>> model.predict([[1.5]])
    array(['left'], dtype='<U5')
    >>> model = model.partial_fit([[1.0]], ["right"])
    >>> model.predict([[1.5]])
    array(['right'], dtype='<U5')
    >>> model = model.forget(2)
    >>> model.predict([[1.5]])
    array(['left'], dtype='<U5')

    Samples may have ids of your own:

    >>> model = IncrementalSVC(C=10.0, kernel="linear")
    >>> model = model.partial_fit([[0.0], [4.0]], ["left", "right"], ids=["ann", "bob"])
    >>> model = model.partial_fit([[1.0]], ["right"], ids=["eve"])
    >>> model.forget("eve").ids_
    array(['ann', 'bob'], dtype='<U3')

    A window that finds its length: here the labels are turned round after 600 rows. What came
    before is dropped.

    >>> X = np.random.default_rng(0).normal(size=(650, 2))
    >>> y = (X[:, 0] > 0) ^ (np.arange(650) >= 600)
    >>> model = IncrementalSVC(kernel="linear", window="auto").fit(X[:600], y[:600])
    >>> model.window_
    1000
    >>> model = model.partial_fit(X[600:], y[600:])
    >>> model.window_
    37
    >>> len(model.window_cuts_), bool(model.sample_ids_.min() > 560)
    (1, True)
    """

    _formulation = OnlineMargin
    _coding: LabelCoding
    classes_: Array

    _parameter_constraints: ClassVar[dict[str, list[Any] | str]] = {
        **INCREMENTAL_CONSTRAINTS,
        **WINDOW_CONSTRAINTS,
        "C": [Interval(Real, 0.0, np.inf, closed="right")],
        "cost_positive": [Interval(Real, 0.0, None, closed="neither")],
        "cost_negative": [Interval(Real, None, None, closed="neither")],
        "positive_class": "no_validation",
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
        window: int | str | None = None,
        max_window: int = 1000,
        cache_size: float = 200,
        verbose: bool = False,
    ) -> None:
        keep_parameters(self, locals())

    # -- learning -----------------------------------------------------------------------------

    @one_at_a_time
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        sample_cost: Any = None,
        ids: Any = None,
    ) -> IncrementalSVC:
        """Forget everything and learn these samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels, two different ones at the most.
        sample_weight, sample_cost : array-like of shape (n_samples,), default=None
            Factors of C for each row, which are multiplied; rows where one is zero take no part.
        ids : array-like of int or str, of shape (n_samples,), default=None
            Ids of the rows, by which `forget` and `replace` know them: none twice among those
            held. Either all rows have such ids, from the first call on, or samples are counted.

        Returns
        -------
        self : IncrementalSVC
            A call that fails or is interrupted leaves the estimator as it was.
        """
        return self._begin_with(X, y, None, sample_weight, sample_cost, ids)

    # Parameters, which count in the first call only, are checked there: it is as slow as a row.
    @one_at_a_time
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        sample_cost: Any = None,
        ids: Any = None,
    ) -> IncrementalSVC:
        """Learn more samples, one after another.

        Parameters other than those of the first call take effect with the next `fit`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to learn. Many are learned at once: faster, and the same model.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of two labels, default=None
            The labels to expect. Without it, the first two seen.
        sample_weight, sample_cost : array-like of shape (n_samples,), default=None
            Factors of C for each row, which are multiplied; rows where one is zero take no part.
        ids : array-like of int or str, of shape (n_samples,), default=None
            Ids of the rows, by which `forget` and `replace` know them: none twice among those
            held. Either all rows have such ids, from the first call on, or samples are counted.

        Returns
        -------
        self : IncrementalSVC
            A call that fails or is interrupted changes nothing at all.
        """
        if not hasattr(self, "_machine"):
            self._validate_params()
            return self._begin_with(X, y, classes, sample_weight, sample_cost, ids)
        X, y = read_further_table(self, X, y)
        before = self._coding
        coding = before if classes is None else before.declare(classes)
        codes = coding.encode_known(y)
        if codes is None:
            coding = coding.extend(y)
            codes = coding.encode(y)
        factors = _multiply_factors(X.shape[0], sample_weight, sample_cost)
        try:
            self._adopt_coding(coding)
            self._learn(X, codes, factors, ids)
        except BaseException:
            self._adopt_coding(before)
            raise
        return self

    def _begin_with(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, sample_cost: Any, ids: Any
    ) -> IncrementalSVC:
        with fitting_aside(self) as attempt:
            fitted = attempt.estimator
            X, y = read_training_table(fitted, X, y)
            fitted._fitted_costs = (self.positive_class, self.cost_positive, self.cost_negative)
            coding = LabelCoding.begin(y, classes)
            formulation = fitted._formulate(coding.classes, self.C)
            fitted._coding = coding = coding.extend(y)
            fitted.classes_ = coding.classes
            counts = read_sample_weights(sample_weight, X)  # refuses a first call without weight
            factors = _multiply_factors(X.shape[0], sample_weight, sample_cost)
            upper_bounds(self.C, factors)
            if factors.any():
                counts = np.where(factors > 0.0, counts, 0.0)
            fitted._begin(X, counts, formulation)
            fitted._learn(X, coding.encode(y), factors, ids)
        return self

    def _formulate(self, classes: Array, C: float) -> OnlineMargin:
        """Margins and weights of the classes; a single one has those of its future place."""
        if len(classes) > 2:
            require_two(classes)
        positive, cost_positive, cost_negative = self._fitted_costs
        if len(classes) < 2:
            classes, positive = np.array([classes[0], classes[0]]), None
        terms = class_terms(classes, positive, cost_positive, cost_negative)
        return OnlineMargin(C, (terms.margins, terms.weights))

    def _adopt_coding(self, coding: LabelCoding) -> None:
        """More (or, undoing that, fewer) classes than before: all coefficients are zero still."""
        if coding is self._coding:
            return
        before, classes = self.classes_, coding.classes
        formulation = self._formulate(classes, self._machine.formulation.C)
        self._coding, self.classes_ = coding, classes
        label = before[:1] if len(before) == 1 else classes[:1]
        for machine in self._all_machines:
            if len(before) == len(classes):
                machine.formulation = formulation
            else:
                machine.restate(formulation, coding.encode(label)[0])

    # -- forgetting and changing --------------------------------------------------------------

    def _require_left(self, slots: Array) -> None:
        samples = self._holder.samples
        left = samples.alive.copy()
        left[slots] = False
        self._require_every_class(samples.targets, left)

    @one_at_a_time
    def replace(self, ids: Any, y: Any = None, sample_cost: Any = None) -> IncrementalSVC:
        """Change the label or the cost of samples that are held.

        Parameters
        ----------
        ids : int, str, or array-like of these
            Samples to change, by their ids (see `sample_ids_`).
        y : label or array-like of labels, default=None
            Their new labels; None leaves them as they are.
        sample_cost : float or array-like of float, default=None
            Their new costs; None leaves them as they are.

        Returns
        -------
        self : IncrementalSVC
            A call that fails changes nothing at all.
        """
        machine = self._holder
        if y is None and sample_cost is None:
            raise ValueError("Nothing to replace: give y, sample_cost, or both.")
        samples = machine.samples
        slots = samples.find(ids)
        targets, factors = samples.targets[slots], samples.factors[slots]
        if y is not None:
            labels = give_each(y, slots, "y")
            coding = self._coding.extend(labels)
            if len(coding.classes) > len(self.classes_):
                raise ValueError(
                    f"Only samples of class {self.classes_.tolist()[0]!r} are held: samples of the "
                    "other class come by partial_fit."
                )
            targets = coding.encode(labels)
        if sample_cost is not None:
            factors = self._read_factors(sample_cost, slots, "sample_cost")
            upper_bounds(machine.formulation.C, factors)
        after = samples.targets.copy()
        after[slots] = targets
        self._require_every_class(after, samples.alive)
        self._change(slots, targets, factors)
        return self

    def _require_every_class(self, targets: Array, left: Array) -> None:
        """Refuse to lose the last sample of a class."""
        samples = self._holder.samples
        now = np.bincount(samples.targets[samples.alive].astype(np.intp), minlength=2)
        then = np.bincount(targets[left].astype(np.intp), minlength=2)
        for code in np.flatnonzero((now > 0) & (then == 0)):
            raise ValueError(
                f"This would leave no sample of class {self.classes_.tolist()[code]!r}. Learn "
                "another one first, or call fit to start over."
            )

    # -- insight and decisions ----------------------------------------------------------------

    path = estimator.path
    decision_function = estimator.decision_function

    def predict(self, X: Any) -> Array:
        """The class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        self._require_machine()
        X = read_new_table(self, X)
        model, classes = self._look()
        codes = (model.decision_values(X) >= 0).astype(np.intp)
        labels: Array = classes[np.minimum(codes, len(classes) - 1)]
        return labels

    @one_at_a_time
    def _look(self) -> tuple[HeldModel, Array]:
        """The model and its classes, of one moment."""
        return self._require_machine().model, self.classes_

    predict_proba = RefusedMethod("predict_proba")
    predict_log_proba = RefusedMethod("predict_log_proba")

    # -- attributes ---------------------------------------------------------------------------

    @property
    def margins_(self) -> Array:
        """The margins of the two classes."""
        margins: Array = self._require_machine().formulation.terms[0]
        return margins

    @property
    @one_at_a_time
    def n_support_(self) -> Array:
        """Number of support vectors of each class."""
        samples, support = self._require_machine().samples, self.support_
        codes = samples.targets[samples.slots[support]].astype(np.intp)
        return np.bincount(codes, minlength=len(self.classes_)).astype(np.int32)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _multiply_factors(n_rows: int, sample_weight: Any, sample_cost: Any) -> Array:
    """The factor of C of each row."""
    if sample_weight is None and sample_cost is None:
        return np.ones(n_rows)
    weights = read_row_factors(sample_weight, n_rows, "sample_weight")
    with np.errstate(over="ignore"):
        factors: Array = weights * read_row_factors(sample_cost, n_rows, "sample_cost")
    return factors
