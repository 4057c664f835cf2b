"""A cost-sensitive classifier that learns and forgets single samples exactly."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from lindero.problems.dual_qp import upper_bounds
from lindero.runtime.arrays import Array
from lindero.svm.costs import class_terms, require_two
from lindero.svm.exact_insight import PenaltyInsight
from lindero.svm.incremental_machine import INCREMENTAL_CONSTRAINTS
from lindero.svm.label_coding import LabelCoding
from lindero.svm.margin_machine import KernelClassifier
from lindero.svm.transaction import unfitted_copy
from lindero.validation import further_table, row_factors, sample_weights, training_table


class IncrementalSVC(PenaltyInsight, KernelClassifier):
    """Cost-sensitive classification that learns and forgets single samples, exactly.

    After every call the model is the one that :class:`CostSensitiveSVC` with the same `gamma` (the
    defaults differ) would find for the samples held, to rounding: nothing is approximated, and what
    was forgotten has left no trace. A sample that changes nothing costs one row of kernel values;
    others some linear systems of the size of the margin.

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
    gamma : {"auto", "scale"} or float, default="auto"
        Factor in the rbf, poly and sigmoid kernels. ``"auto"`` is ``1 / n_features``. ``"scale"``
        is ``1 / (n_features * X.var())`` of the rows of the first call, and stays what it was.
    coef0 : float, default=0.0
        Constant in the poly and sigmoid kernels.
    window : int or None, default=None
        Hold at most this many samples: the oldest is forgotten as a new one arrives. The last
        sample of a class is kept, and the next oldest goes instead.
    cache_size : float, default=200
        Megabytes for kernel columns of the samples on the margin.
    verbose : bool, default=False
        Show a progress bar where many samples are learned at once.

    Attributes
    ----------
    sample_ids_ : ndarray of shape (n_held,)
        Ids of the samples held, oldest first. Ids count from 0 in the order in which samples came,
        and are never given again.
    updates_ : structured ndarray
        A row for each update: `kind` (add, forget, replace), `id`, `iterations`, `set_changes`
        (samples that came to or left the margin), and `from_scratch`, true for samples that were
        learned at once with others, in which case the counts are those of all together.
    certificate_ : Certificate
        KKT gap, primal and dual objective over the samples held, steps and seconds so far.
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
    """

    _coding: LabelCoding

    # What SVC lets users choose for several classes is settled for two.
    multiclass = "ovo"
    decision_function_shape = "ovr"
    break_ties = False
    _scheme = "ovo"

    _parameter_constraints: ClassVar[dict[str, list[Any] | str]] = {
        **INCREMENTAL_CONSTRAINTS,
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
        gamma: str | float = "auto",
        coef0: float = 0.0,
        window: int | None = None,
        cache_size: float = 200,
        verbose: bool = False,
    ) -> None:
        self.C = C
        self.cost_positive = cost_positive
        self.cost_negative = cost_negative
        self.positive_class = positive_class
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.window = window
        self.cache_size = cache_size
        self.verbose = verbose

    # -- learning -----------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, sample_cost: Any = None
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

        Returns
        -------
        self : IncrementalSVC
            A call that fails or is interrupted leaves the estimator as it was.
        """
        return self._begin_with(X, y, None, sample_weight, sample_cost)

    # Not decorated: parameters count in the first call only, and checking them costs as much as
    # many an update.
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        sample_cost: Any = None,
    ) -> IncrementalSVC:
        """Learn more samples, one after another.

        Parameters other than those of the first call take effect with the next `fit`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to learn. Where they are many beside those held, they are learned at once, which
            is faster and leads to the same model.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of two labels, default=None
            The labels to expect. Without it, the first two seen.
        sample_weight, sample_cost : array-like of shape (n_samples,), default=None
            Factors of C for each row, which are multiplied; rows where one is zero take no part.

        Returns
        -------
        self : IncrementalSVC
            A call that fails or is interrupted changes nothing at all.
        """
        if not hasattr(self, "_engine"):
            self._validate_params()
            return self._begin_with(X, y, classes, sample_weight, sample_cost)
        X, y = further_table(self, X, y)
        before = self._coding
        coding = before
        if classes is not None:
            coding = coding.declaring(classes)
        if not coding.covers(y):
            coding = coding.knowing(y)
        factors = self._factors(X, sample_weight, sample_cost)
        try:
            self._become(coding)
            self._learn(X, coding.codes(y), factors)
        except BaseException:
            self._become(before)
            raise
        return self

    def _begin_with(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, sample_cost: Any
    ) -> IncrementalSVC:
        fitted = unfitted_copy(self)
        X, y = training_table(fitted, X, y)
        fitted._fitted_C = self.C
        fitted._fitted_costs = (self.positive_class, self.cost_positive, self.cost_negative)
        coding = LabelCoding.begun(y, classes)
        fitted._terms = fitted._class_terms(coding.classes)
        fitted._coding = coding = coding.knowing(y)
        fitted.classes_ = coding.classes
        sample_weights(sample_weight, X)  # refuses a first call without any weight
        factors = self._factors(X, sample_weight, sample_cost)
        upper_bounds(self.C, factors)
        fitted._begin(X, (factors > 0.0).astype(np.float64) if factors.any() else factors + 1.0)
        fitted._learn(X, coding.codes(y), factors)
        self.__dict__ = fitted.__dict__
        return self

    def _factors(self, X: Any, sample_weight: Any, sample_cost: Any) -> Array:
        if sample_weight is None and sample_cost is None:
            return np.ones(X.shape[0])
        weights = row_factors(sample_weight, X.shape[0], "sample_weight")
        with np.errstate(over="ignore"):
            factors: Array = weights * row_factors(sample_cost, X.shape[0], "sample_cost")
        return factors

    def _class_terms(self, classes: Array) -> tuple[Array, Array]:
        """Margins and factors of C of the classes; a single one has those of its future place."""
        if len(classes) > 2:
            require_two(classes)
        positive, cost_positive, cost_negative = self._fitted_costs
        two = classes if len(classes) == 2 else np.array([classes[0], classes[0]])
        margins, weights = class_terms(
            two, positive if len(classes) == 2 else None, cost_positive, cost_negative
        )
        return margins, weights

    def _become(self, coding: LabelCoding) -> None:
        """More (or, undoing that, fewer) classes than before: all coefficients are zero still."""
        if coding is self._coding:
            return
        targets, before = self._samples.targets, self.classes_
        terms = self._class_terms(coding.classes)
        self._coding, self.classes_, self._terms = coding, coding.classes, terms
        if len(before) == len(coding.classes):
            return
        label = before[:1] if len(before) == 1 else coding.classes[:1]
        targets[:] = coding.codes(label)[0]
        s, p, u = self._stated(targets, self._samples.factors)
        self._engine.restate(s, p, np.where(self._samples.alive, u, 0.0))
        self._view.expansion = None

    def _stated_for(self, C: float, targets: Array, factors: Array) -> tuple[Array, Array, Array]:
        margins, weights = self._terms
        codes = targets.astype(np.intp)
        signs = np.where(codes == 1, 1.0, -1.0)
        return signs, -margins[codes], upper_bounds(C, factors * weights[codes])

    # -- forgetting and changing --------------------------------------------------------------

    def _require_left(self, slots: Array) -> None:
        left = self._samples.alive.copy()
        left[slots] = False
        self._require_every_class(self._samples.targets, left)

    def replace(self, ids: Any, y: Any = None, sample_cost: Any = None) -> IncrementalSVC:
        """Change the label or the cost of samples that are held.

        Parameters
        ----------
        ids : int or array-like of int
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
        self._require_fitted()
        if y is None and sample_cost is None:
            raise ValueError("Nothing to replace: give y, sample_cost, or both.")
        slots = self._samples.find(ids)
        targets = self._samples.targets[slots]
        factors = self._samples.factors[slots]
        if y is not None:
            labels = self._one_each(y, slots, "y")
            coding = self._coding.knowing(labels)
            if len(coding.classes) > len(self.classes_):
                raise ValueError(
                    f"Only samples of class {self.classes_.tolist()[0]!r} are held: samples of the "
                    "other class come by partial_fit."
                )
            targets = coding.codes(labels)
        if sample_cost is not None:
            given = self._one_each(sample_cost, slots, "sample_cost")
            factors = row_factors(given, len(slots), "sample_cost")
            upper_bounds(self._fitted_C, factors)
        after = self._samples.targets.copy()
        after[slots] = targets
        self._require_every_class(after, self._samples.alive)
        self._replace(slots, targets, factors)
        return self

    def _require_every_class(self, targets: Array, left: Array) -> None:
        """Refuse to lose the last sample of a class."""
        now = np.bincount(self._samples.targets[self._samples.alive].astype(np.intp), minlength=2)
        then = np.bincount(targets[left].astype(np.intp), minlength=2)
        for code in np.flatnonzero((now > 0) & (then == 0)):
            raise ValueError(
                f"This would leave no sample of class {self.classes_.tolist()[code]!r}. Learn "
                "another one first, or call fit to begin anew."
            )

    def _first_to_go(self, count: int) -> Array:
        """The oldest, but never the last of a class."""
        if count == 0:
            return np.empty(0, dtype=np.int64)
        slots, codes = self._samples.slots, self._samples.targets.astype(np.intp)
        left = np.bincount(codes[slots], minlength=2)
        leaving: list[int] = []
        for slot in slots:
            if len(leaving) == count:
                break
            if left[codes[slot]] > 1:
                left[codes[slot]] -= 1
                leaving.append(int(slot))
        return np.array(leaving, dtype=np.int64)

    # -- insight ------------------------------------------------------------------------------

    def leave_one_out(self) -> Array:
        """Decision values of each sample held, from the machine that never saw it. Exact.

        Returns
        -------
        values : ndarray of shape (n_held,)
            In the order of `sample_ids_`. Their signs are the predictions.
        """
        self._require_fitted()
        taking_part = self._samples.alive & (self._samples.factors > 0.0)
        counts = np.bincount(self._samples.targets[taking_part].astype(np.intp), minlength=2)
        if counts.min() < 2:
            raise ValueError(
                "leave_one_out needs two samples of each class at least, of positive cost: "
                f"{counts[0]} and {counts[1]} are held."
            )
        return self._left_out()

    # -- decisions ----------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """Signed values: positive on the side of ``classes_[1]``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        values : ndarray of shape (n_samples,)
        """
        return self._values(X)[:, 0]

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
        above = self._values(X)[:, 0] >= 0
        labels: Array = self.classes_[
            above.astype(np.intp) if len(self.classes_) > 1 else above * 0
        ]
        return labels

    def _in_order(self, support: Array) -> Array:
        """By class, as scikit-learn has them."""
        codes = self._samples.targets[self._samples.slots[support]]
        return support[np.argsort(codes, kind="stable")]

    @property
    def margins_(self) -> Array:
        """The margins of the two classes."""
        self._require_fitted()
        return self._terms[0]

    @property
    def _n_support(self) -> Array:  # type: ignore[override]
        codes = self._samples.targets[self._samples.slots[self.support_]].astype(np.intp)
        return np.bincount(codes, minlength=len(self.classes_)).astype(np.int32)

    # -- for scikit-learn ---------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
