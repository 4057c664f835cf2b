"""From probabilities to answers: calibrated probabilities, thresholds and costs around a machine.

A machine that has no probabilities gets them from a curve (`lindero.models.probabilities`) over
decision values of rows that were left out. The answer for a row is then

    with costs        the class of least expected cost, Σ_i P(i | x) cost(i, j)
    with a threshold  the second of two classes from P(second | x) ≥ threshold on
    otherwise         the class of largest probability

so that answers and probabilities never contradict each other. A threshold can be tuned for a
measure on the same rows that were left out.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, _fit_context, clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from lindero.evaluation.build import compute_decisions, fit_machine, unwrap_machine
from lindero.evaluation.folds import deal_folds, take_rows
from lindero.evaluation.measures import (
    MEASURES,
    choose_least_cost,
    choose_threshold,
    has_probabilities,
    read_costs,
)
from lindero.models.probabilities import ProbabilityCurve, arrange_by_class, fit_curve
from lindero.runtime.arrays import Array
from lindero.transaction import fitting_aside
from lindero.validation import find_classes


class DecisionClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier with calibrated probabilities, whose answers follow a threshold or costs.

    Parameters
    ----------
    estimator : classifier or Pipeline
        The machine, unfitted: one with probabilities, or with decision values.
    threshold : float, str or None, default=None
        From which probability on the second of two classes is answered; the name of a measure
        (:data:`lindero.evaluation.MEASURES`) tunes it for that measure; None is one half.
    costs : mapping or array-like of shape (n_classes, n_classes), default=None
        Cost of answering the class of a column where that of a row is true; or a mapping from
        (true, answered), other errors costing 1. Answers are those of least expected cost.
    calibration : {"auto", "always", "never"}, default="auto"
        Whether probabilities come from a curve over decision values: "auto" where the machine has
        none of its own.
    cv : int, default=3
        Folds by which rows are left out, for the curve and the threshold; fewer where a class has
        fewer rows.
    random_state : int, default=0
        Seed of the folds.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to all rows.
    curve_ : ProbabilityCurve or None
        From decision values to probabilities; None where the machine has its own.
    threshold_ : float or None
        From which probability on the second class is answered; None for the largest.
    costs_ : ndarray of shape (n_classes, n_classes) or None
        Costs of all classes.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if all are text.

    See Also
    --------
    lindero.svm.calibrate : The same curve through scikit-learn's CalibratedClassifierCV.
    choose_least_cost : The rule behind `costs`.

    References
    ----------
    .. [1] Platt, J.: Probabilistic outputs for support vector machines. Advances in Large Margin
       Classifiers (1999).
    .. [2] Elkan, C.: The foundations of cost-sensitive learning. IJCAI (2001).

    Examples
    --------
    An illness that is ten times worse to miss than to suspect in vain:

    >>> from sklearn.datasets import load_breast_cancer
    >>> from lindero.evaluation import DecisionClassifier, make_machine
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DecisionClassifier(make_machine("svc"), costs=[[0, 10], [1, 0]]).fit(X, y)
    >>> plain = DecisionClassifier(make_machine("svc")).fit(X, y)
    >>> int((model.predict(X) == 0).sum()) > int((plain.predict(X) == 0).sum())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "threshold": [Interval(Real, 0.0, 1.0, closed="both"), StrOptions(set(MEASURES)), None],
        "costs": ["array-like", dict, None],
        "calibration": [StrOptions({"auto", "always", "never"})],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        threshold: float | str | None = None,
        costs: Any = None,
        calibration: str = "auto",
        cv: int = 3,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.threshold = threshold
        self.costs = costs
        self.calibration = calibration
        self.cv = cv
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine to all rows, and curve and threshold to rows left out in turn.

        Parameters
        ----------
        X : array-like, dataframe or sparse matrix of shape (n_samples, n_features)
            Rows, as the machine takes them.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self : DecisionClassifier
            The fitted classifier: as it was if the fit fails.
        """
        with fitting_aside(self) as attempt:
            attempt.estimator._fit(X, np.asarray(y), sample_weight)
        return self

    def _fit(self, X: Any, y: Array, weights: Any) -> None:
        self.classes_, codes = find_classes(y)
        n_classes = len(self.classes_)
        self.costs_ = read_costs(self.costs, self.classes_)
        if self.threshold is not None and (n_classes > 2 or self.costs_ is not None):
            why = "there are costs" if self.costs_ is not None else f"there are {n_classes} classes"
            raise ValueError(
                f"threshold={self.threshold!r} is for two classes without costs, and {why}: leave "
                "it out."
            )
        self.estimator_ = fit_machine(clone(self.estimator), X, y, weights=weights)
        own = has_probabilities(self.estimator_)
        if not own and self.calibration == "never":
            raise ValueError(
                f"{type(unwrap_machine(self.estimator_)).__name__} has no probabilities: "
                "calibration='auto' gives it some."
            )
        needs_curve = self.calibration == "always" or not own
        self.curve_, self.threshold_ = None, self.threshold
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        if not needs_curve and not isinstance(self.threshold, str):
            return
        rows, left_out = self._leave_out(X, y, codes, weights, needs_curve)
        some = None if weights is None else np.asarray(weights)[rows]
        if needs_curve:
            self.curve_ = fit_curve(left_out, y[rows], some, y)
            left_out = self.curve_(left_out, np.unique(y[rows]))
        if isinstance(self.threshold, str):
            self.threshold_ = choose_threshold(codes[rows], left_out, self.threshold, None, some)

    def _leave_out(
        self, X: Any, y: Array, codes: Array, weights: Any, decisions: bool
    ) -> tuple[Array, Array]:
        """Rows, and their decision values or probabilities by machines that were not fitted to
        them: a column for each class among their labels."""
        fewest = int(np.bincount(codes).min())
        if fewest < 2:
            label = self.classes_[np.bincount(codes).argmin()]
            raise ValueError(
                f"Class {label!s} has one row only: probabilities and thresholds need rows of each "
                "class that can be left out. Bring more rows of it, or leave it out."
            )
        tests, found = [], []
        folds = deal_folds(y, min(self.cv, fewest), self.random_state, stratified=True)
        for train, test in folds:
            model = clone(self.estimator)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # said of the fit to all rows
                fit_machine(
                    model, take_rows(X, train), y[train],
                    weights=None if weights is None else np.asarray(weights)[train],
                )  # fmt: skip
            part = take_rows(X, test)
            values = compute_decisions(model, part) if decisions else model.predict_proba(part)
            if values is None:  # a curve over log-odds
                values = np.log(np.maximum(model.predict_proba(part), 1e-300))
            tests.append(test)
            found.append(arrange_by_class(values, model.classes_, self.classes_))
        return np.concatenate(tests), np.concatenate(found)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of each class.

        Parameters
        ----------
        X : array-like, dataframe or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            A column for each of `classes_`; rows sum up to 1.
        """
        check_is_fitted(self)
        if self.curve_ is None:
            given: Array = self.estimator_.predict_proba(X)
            return given
        values = compute_decisions(self.estimator_, X)
        if values is None:
            values = np.log(np.maximum(self.estimator_.predict_proba(X), 1e-300))
        return self.curve_(values, self.estimator_.classes_)

    def predict(self, X: Any) -> Array:
        """The answer for each row.

        Parameters
        ----------
        X : array-like, dataframe or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            By costs, by the threshold, or of the largest probability.
        """
        codes = self.decide(self.predict_proba(X))
        labels: Array = self.classes_[codes]
        return labels

    def decide(self, probabilities: Array) -> Array:
        """Positions among `classes_` of the answers that follow from probabilities.

        Parameters
        ----------
        probabilities : ndarray of shape (n_samples, n_classes)
            From `predict_proba`.

        Returns
        -------
        codes : ndarray of shape (n_samples,)
            Positions.
        """
        if self.costs_ is not None:
            return choose_least_cost(probabilities, self.costs_)
        if self.threshold_ is not None:
            return (probabilities[:, 1] >= self.threshold_).astype(np.intp)
        codes: Array = probabilities.argmax(axis=1)
        return codes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            inner = self.estimator.__sklearn_tags__()
            tags.input_tags = inner.input_tags
        return tags
