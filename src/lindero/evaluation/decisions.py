"""From probabilities to answers: calibrated probabilities, thresholds and costs around a machine.

A machine that has no probabilities gets them from a curve (`lindero.models.probabilities`) over
decision values of rows that were left out. The answer for a row is then

    with a threshold  the second of two classes from P(second | x) ≥ threshold on
    with costs        the class of least expected cost, Σ_i P(i | x) cost(i, j)
    otherwise         the class of largest probability

so that answers and probabilities never contradict each other. A threshold can be tuned for a
measure or for costs on the same rows that were left out.

Costs between more than two classes have another way into a support vector machine: one
cost-sensitive machine for each class against the rest (`CostMargins`), which asks for wider margins
where errors cost more. Whichever costs less on the rows left out is taken.

This is one file, as curve, threshold and costs are judged by the same rows left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, _fit_context, clone
from sklearn.utils import indexable
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, column_or_1d

from lindero.evaluation.build import (
    compute_decisions,
    fit_machine,
    make_machine,
    unwrap_machine,
)
from lindero.evaluation.folds import deal_folds, make_forward_folds, take_rows
from lindero.evaluation.measures import (
    LABELS,
    MEASURES,
    PROBABILITIES,
    average_rows,
    choose_least_cost,
    choose_threshold,
    find_measure,
    has_probabilities,
    put_costs_inside,
    read_costs,
)
from lindero.evaluation.registry import CLASSIFICATION, MachineSpec, Strategy, find_machine
from lindero.models.probabilities import ProbabilityCurve, arrange_by_class, fit_curve
from lindero.notebook import link_documentation, write_card
from lindero.runtime.arrays import Array
from lindero.transaction import fitting_aside
from lindero.validation import find_classes, find_missing

#: Values of `rule_`.
LARGEST, THRESHOLD, COSTS, MARGINS = "largest", "threshold", "costs", "margins"

#: Measures that a threshold can be tuned for.
_OF_ANSWERS = {m.name for m in MEASURES.values() if m.task == CLASSIFICATION and m.needs == LABELS}

_LEAST = 1e-300


class DecisionClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier with calibrated probabilities, whose answers follow a threshold or costs.

    Parameters
    ----------
    estimator : classifier, Pipeline or None, default=None
        The machine, unfitted: one with probabilities, or with decision values. None is SVC behind
        a table encoder.
    threshold : float, str or None, default=None
        From which probability on the second of two classes is answered; the name of a measure of
        answers (:data:`lindero.evaluation.MEASURES`) tunes it for that measure, and "cost" for
        `costs`; None is one half.
    costs : mapping or array-like of shape (n_classes, n_classes), default=None
        Cost of answering the class of a column where that of a row is true; or a mapping from
        (true, answered), other errors costing 1. Answers are those of least expected cost.
    calibration : {"auto", "always", "never"}, default="auto"
        Whether probabilities come from a curve over decision values: "auto" where the machine has
        none of its own.
    margins : {"auto", "always", "never"}, default="auto"
        Whether costs between more than two classes go into the margins of one machine for each
        class, as :class:`~lindero.svm.CostSensitiveSVC` has them: "auto" where `estimator` is an
        SVC and this costs less on the rows left out. Probabilities then have the costs in them.
    cv : int, splitter or iterable, default=3
        Folds by which rows are left out, for the curve and the threshold. With a number, rows with
        times are left out after those that the machine is fitted to.
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
    rule_ : {"largest", "threshold", "costs", "margins"}
        How classes are answered.
    reason_ : str
        Why, where there was a choice; else empty.
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

    _html_repr = write_card
    _get_doc_link = link_documentation

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "threshold": [Interval(Real, 0.0, 1.0, closed="both"), StrOptions(_OF_ANSWERS), None],
        "costs": ["array-like", dict, None],
        "calibration": [StrOptions({"auto", "always", "never"})],
        "margins": [StrOptions({"auto", "always", "never"})],
        "cv": ["cv_object"],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        threshold: float | str | None = None,
        costs: Any = None,
        calibration: str = "auto",
        margins: str = "auto",
        cv: Any = 3,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.threshold = threshold
        self.costs = costs
        self.calibration = calibration
        self.margins = margins
        self.cv = cv
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, times: Any = None) -> Self:
        """Fit the machine to all rows, and curve and threshold to rows left out in turn.

        Parameters
        ----------
        X : array-like, dataframe or sparse matrix of shape (n_samples, n_features)
            Rows, as the machine takes them.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.
        times : array-like of shape (n_samples,), default=None
            Time of each row, for machines that move with time.

        Returns
        -------
        self : DecisionClassifier
            The fitted classifier: as it was if the fit fails.
        """
        if y is None:
            raise ValueError(
                "DecisionClassifier requires y to be passed, but the target y is None."
            )
        weights = None if sample_weight is None else np.asarray(sample_weight)
        (X,), labels = indexable(X), column_or_1d(y, warn=True, dtype=None)
        with fitting_aside(self) as attempt:
            attempt.estimator._fit(X, labels, {"weights": weights, "times": times})
        return self

    def _fit(self, X: Any, y: Any, roles: dict[str, Any]) -> None:
        machine = make_machine("svc") if self.estimator is None else self.estimator
        if len(y) == 0:  # for the machine to refuse
            fit_machine(clone(machine), X, y)
        self.classes_, codes = find_classes(y)
        self.costs_ = read_costs(self.costs, self.classes_)
        self._require_decidable()
        rival = self._find_rival(machine)
        if rival is not None:
            machine = _replace_machine(machine, "SVC")
        self.estimator_ = fit_machine(clone(machine), X, y, **roles)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        own = has_probabilities(self.estimator_)
        if not own and self.calibration == "never":
            raise ValueError(
                f"{type(unwrap_machine(self.estimator_)).__name__} has no probabilities: "
                "calibration='auto' gives it some."
            )
        needs_curve = self.calibration == "always" or not own
        self.curve_, self.threshold_, self.reason_ = None, self.threshold, ""
        self.rule_ = LARGEST if self.threshold is None else THRESHOLD
        if self.costs_ is not None and self.threshold is None:
            self.rule_ = COSTS
        if not needs_curve and not isinstance(self.threshold, str) and rival is None:
            return
        left_out = LeftOutRows.choose(X, y, roles, self.cv, self.random_state)
        found = left_out.ask(machine, X, needs_curve)
        if needs_curve:
            self.curve_, found = left_out.calibrate(found)
        if isinstance(self.threshold, str):
            self._tune_threshold(codes[left_out.rows], found, left_out.weights)
        if rival is not None:
            self._try_margins(rival, X, roles, left_out, found)

    def _require_decidable(self) -> None:
        """Refuse a threshold where it has no meaning."""
        if isinstance(self.threshold, bool):
            raise ValueError(
                f"threshold={self.threshold} is neither a number from 0 to 1 nor the name of a "
                "measure: write 'f1', for example."
            )
        n_classes, has_costs = len(self.classes_), self.costs_ is not None
        if self.threshold is None or (n_classes == 2 and has_costs == (self.threshold == "cost")):
            return
        why = f"there are {n_classes} classes"
        if n_classes == 2:
            why = "there are costs" if has_costs else "there are no costs"
        raise ValueError(
            f"threshold={self.threshold!r} does not fit, as {why}: numbers and measures are for "
            "two classes without costs, 'cost' for two classes with costs. Leave it out."
        )

    def _tune_threshold(self, truth: Array, found: Array, weights: Array | None) -> None:
        assert isinstance(self.threshold, str)
        given = truth, found, self.threshold, self.costs_, weights
        self.threshold_ = choose_threshold(*given)
        title = "costs" if self.threshold == "cost" else MEASURES[self.threshold].title
        if self.threshold_ is None:
            self.rule_ = LARGEST
            self.reason_ = f"No threshold is better for {title} than 0.5 on the rows left out."
        else:
            self.threshold_ = float(self.threshold_)
            self.reason_ = f"The threshold is tuned for {title} on rows left out."
        answers = np.unique(found[:, 1] >= (0.5 if self.threshold_ is None else self.threshold_))
        if len(answers) == 1:
            only = self.classes_[int(answers[0])]
            self.reason_ += f" All of these are answered {only}: columns change nothing."

    def _find_rival(self, machine: Any) -> Any:
        """The same machine with costs in its margins; None where that is not to be tried."""
        if self.costs_ is None or len(self.classes_) == 2 or self.margins == "never":
            return None
        final = unwrap_machine(machine)
        name = type(final).__name__
        if name not in ("SVC", "CostSensitiveSVC") or final.kernel == "precomputed":
            if self.margins == "always":
                raise ValueError(f"margins='always' is for SVC and CostSensitiveSVC, not {name}.")
            return None
        rival = _replace_machine(machine, "CostSensitiveSVC")
        margins = CostMargins(unwrap_machine(rival), costs=self.costs_)
        if machine is final:
            return margins
        return rival.set_params(**{rival.steps[-1][0]: margins})

    def _try_margins(
        self, rival: Any, X: Any, roles: dict[str, Any], left_out: LeftOutRows, found: Array
    ) -> None:
        """Take the costs into the margins where that costs less on the rows left out."""
        assert self.costs_ is not None
        try:
            decided = left_out.ask(rival, X, True)
        except ValueError:  # costs that no margin expresses
            if self.margins == "always":
                raise
            return
        truth = np.searchsorted(self.classes_, left_out.labels)
        places = np.searchsorted(self.classes_, left_out.seen)
        spread = np.zeros((len(found), len(self.classes_)))
        spread[:, places] = found
        costs = [
            average_rows(self.costs_[truth, answers], left_out.weights)
            for answers in (choose_least_cost(spread, self.costs_), places[decided.argmax(axis=1)])
        ]
        names = "least expected cost", "margins of one machine for each class"
        wins = costs[1] < costs[0] or self.margins == "always"
        best, other = (1, 0) if wins else (0, 1)
        self.reason_ = (
            f"Answers by {names[best]}: {costs[best]:.4g} a row on the rows left out, against "
            f"{costs[other]:.4g} by {names[other]}."
        )
        if wins:
            self.curve_, _ = left_out.calibrate(decided)
            self.estimator_, self.rule_ = fit_machine(clone(rival), X, left_out.y, **roles), MARGINS

    def predict_proba(self, X: Any, times: Any = None) -> Array:
        """Probabilities of each class.

        Parameters
        ----------
        X : array-like, dataframe or sparse matrix of shape (n_samples, n_features)
            Rows.
        times : array-like of shape (n_samples,), default=None
            Their times, for machines that move with time.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            A column for each of `classes_`; rows sum up to 1.
        """
        check_is_fitted(self)
        if self.curve_ is None:
            given: Array = self.estimator_.predict_proba(X)
            return given
        return self.curve_(_decide_values(self.estimator_, X, times), self.estimator_.classes_)

    def predict_log_proba(self, X: Any, times: Any = None) -> Array:
        """Logarithms of the probabilities of each class.

        Parameters
        ----------
        X : array-like, dataframe or sparse matrix of shape (n_samples, n_features)
            Rows.
        times : array-like of shape (n_samples,), default=None
            Their times, for machines that move with time.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            A column for each of `classes_`.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X, times)))

    def predict(self, X: Any, times: Any = None) -> Array:
        """The answer for each row.

        Parameters
        ----------
        X : array-like, dataframe or sparse matrix of shape (n_samples, n_features)
            Rows.
        times : array-like of shape (n_samples,), default=None
            Their times, for machines that move with time.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            By the threshold, by costs, or of the largest probability.
        """
        probabilities = self.predict_proba(X, times)
        costs = self.costs_ if self.rule_ == COSTS else None
        assert not isinstance(self.threshold_, str)
        labels: Array = self.classes_[decide_classes(probabilities, self.threshold_, costs)]
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        machine = make_machine("svc") if self.estimator is None else self.estimator
        first = machine.steps[0][1] if hasattr(machine, "steps") else machine
        tags.input_tags = first.__sklearn_tags__().input_tags
        tags.classifier_tags.multi_class = machine.__sklearn_tags__().classifier_tags.multi_class
        return tags


def decide_classes(
    probabilities: Array, threshold: float | None = None, costs: Array | None = None
) -> Array:
    """Positions of the classes that are answered: by a threshold on the second of two, by costs, or
    the most probable ones."""
    if threshold is not None:
        return (probabilities[:, 1] >= threshold).astype(np.intp)
    if costs is not None:
        return choose_least_cost(probabilities, costs)
    codes: Array = probabilities.argmax(axis=1)
    return codes


def _decide_values(model: Any, X: Any, times: Any) -> Array:
    """Decision values; of a machine that has none, logarithms of its probabilities."""
    values = compute_decisions(model, X, times=times)
    if values is None:
        values = np.log(np.maximum(model.predict_proba(X), _LEAST))
    return values


def _replace_machine(model: Any, class_name: str) -> Any:
    """An unfitted copy with another support vector machine, of the parameters that both have but
    for costs and weights of classes."""
    import lindero.svm

    copied = clone(model)
    final = unwrap_machine(copied)
    if type(final).__name__ == class_name:
        return copied
    other = getattr(lindero.svm, class_name)()
    known = other.get_params(deep=False)
    shared = {k: v for k, v in final.get_params(deep=False).items() if k in known}
    other.set_params(**shared)
    return other if copied is final else copied.set_params(**{copied.steps[-1][0]: other})


# -- rows that are left out -----------------------------------------------------------------------


@dataclass(frozen=True)
class LeftOutRows:
    """Rows that machines are asked about that were not fitted to them; rows whose class has no
    other are never left out."""

    y: Array
    roles: dict[str, Any]
    splits: list[tuple[Array, Array]]
    rows: Array

    @classmethod
    def choose(
        cls, X: Any, y: Array, roles: dict[str, Any], cv: Any, random_state: int
    ) -> LeftOutRows:
        """Folds of rows, by time where they have times."""
        splits, folds = None, 3 if cv is None else cv
        if not isinstance(folds, Integral):
            from sklearn.model_selection import check_cv

            splits = list(check_cv(cv, y, classifier=True).split(X, y))
        elif roles["times"] is not None:
            with suppress(ValueError):  # too few times
                splits = make_forward_folds(np.asarray(roles["times"]), int(folds), y)[0]
                known = len(np.unique(y))
                splits = [s for s in splits if len(np.unique(y[s[0]])) == known]
        if not splits:
            _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
            some, alone = np.flatnonzero(counts[codes] > 1), np.flatnonzero(counts[codes] == 1)
            if np.sum(counts > 1) < 2:
                raise ValueError(
                    "Probabilities and thresholds need rows that can be left out, at least two of "
                    "each of two classes: bring more rows."
                )
            folds = min(int(folds), int(counts.max()))
            dealt = deal_folds(y[some], folds, random_state, stratified=True)
            splits = [(np.append(some[train], alone), some[test]) for train, test in dealt]
        return cls(y, roles, splits, np.concatenate([test for _, test in splits]))

    @property
    def labels(self) -> Array:
        """Their classes."""
        labels: Array = self.y[self.rows]
        return labels

    @property
    def seen(self) -> Array:
        """The classes among them."""
        return np.unique(self.labels)

    @property
    def weights(self) -> Array | None:
        """Their weights."""
        given = self.roles["weights"]
        return None if given is None else np.asarray(given, dtype=np.float64)[self.rows]

    def ask(self, machine: Any, X: Any, decisions: bool) -> Array:
        """Decision values or probabilities of the rows, a column for each class seen."""
        found = []
        for train, test in self.splits:
            seen = {name: take_rows(values, train) for name, values in self.roles.items()}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # said of the fit to all rows
                model = fit_machine(clone(machine), take_rows(X, train), self.y[train], **seen)
            part, times = take_rows(X, test), take_rows(self.roles["times"], test)
            values = _decide_values(model, part, times) if decisions else model.predict_proba(part)
            found.append(arrange_by_class(values, model.classes_, self.seen))
        return np.concatenate(found)

    def calibrate(self, values: Array) -> tuple[ProbabilityCurve, Array]:
        """The curve of their decision values, and the probabilities of the classes seen."""
        curve = fit_curve(values, self.labels, self.weights, self.y)
        return curve, curve(values, self.seen)[:, curve.seen]


# -- costs in the margins -------------------------------------------------------------------------


class CostMargins(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """One cost-sensitive machine for each class against the rest.

    The machine of class k pays for a row of class k what missing it costs, on average over the
    other answers, and for a row of class i what answering k for it costs.

    Parameters
    ----------
    machine : CostSensitiveSVC
        Whose parameters all machines have but for the costs.
    costs : array-like of shape (n_classes, n_classes)
        Cost of answering the class of a column where that of a row is true.

    Attributes
    ----------
    machines_ : list of CostSensitiveSVC
        One for each class.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of columns.

    See Also
    --------
    DecisionClassifier : Tries it beside least expected cost.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "machine": [HasMethods(["fit", "decision_function"]), None],
        "costs": ["array-like", dict, None],
    }

    def __init__(self, machine: Any = None, *, costs: Any = None) -> None:
        self.machine = machine
        self.costs = costs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit all machines.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self : CostMargins
        """
        from lindero.svm import costs_from_matrix

        self.classes_, codes = find_classes(np.asarray(y))
        matrix = read_costs(self.costs, self.classes_)
        assert matrix is not None
        net = matrix - np.diagonal(matrix)[:, None]
        self.machines_ = []
        for code in range(len(self.classes_)):
            own = codes == code
            alarms = net[codes, code]
            miss = net[code].sum() / (len(net) - 1)
            alarm = average_rows(alarms[~own], take_rows(sample_weight, np.flatnonzero(~own)))
            terms = costs_from_matrix([[0.0, alarm], [miss, 0.0]])
            machine = clone(self.machine).set_params(**terms._asdict())
            machine.fit(X, own.astype(int), sample_weight, np.where(own, 1.0, alarms / alarm))
            self.machines_.append(machine)
        self.n_features_in_ = self.machines_[0].n_features_in_
        return self

    def decision_function(self, X: Any) -> Array:
        """The decision value of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        values : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return np.column_stack([machine.decision_function(X) for machine in self.machines_])

    def predict(self, X: Any) -> Array:
        """The class of the largest decision value.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        labels: Array = self.classes_[self.decision_function(X).argmax(axis=1)]
        return labels


# -- machines by name -----------------------------------------------------------------------------


def make_decision_machine(
    machine: str | MachineSpec,
    params: Mapping[str, Any] | None = None,
    *,
    y: Any = None,
    costs: Any = None,
    measure: str | None = None,
    threshold: float | str | None = None,
    proba: bool = False,
    random_state: int | None = None,
) -> Any:
    """An unfitted machine that answers as costs, a measure or a threshold ask for.

    Parameters
    ----------
    machine : str or MachineSpec
        Its name, one of :data:`~lindero.evaluation.MACHINES`.
    params : dict or None, default=None
        Parameters of the machine.
    y : array-like of shape (n_samples,), default=None
        Class labels of the rows that it will be fitted to; needed for costs and measures.
    costs : mapping or array-like of shape (n_classes, n_classes), default=None
        Cost of answering the class of a column where that of a row is true; or a mapping from
        (true, answered), other errors costing 1.
    measure : str or None, default=None
        What it is to be good at: the threshold between two classes is tuned for a measure of
        answers, and probabilities are calibrated for one of probabilities.
    threshold : float, str or None, default=None
        As in :class:`DecisionClassifier`.
    proba : bool, default=False
        Whether it must have probabilities.
    random_state : int or None, default=None
        Seed of the folds, and of machines that have one.

    Returns
    -------
    model : estimator
        That of :func:`make_machine` where nothing else is asked for, else a
        :class:`DecisionClassifier` around it.

    See Also
    --------
    fit_machine : Fits it.

    Examples
    --------
    >>> from lindero.evaluation import make_decision_machine
    >>> y = ["no", "yes", "no", "yes"]
    >>> make_decision_machine("svc", y=y, costs={("yes", "no"): 5}).threshold
    'cost'
    """
    found = find_machine(machine) if isinstance(machine, str) else machine
    given = dict(params or {})
    asked = measure is not None and find_measure(measure).name not in ("error", "accuracy")
    if found.task != CLASSIFICATION:
        if costs is not None or threshold is not None or proba:
            raise ValueError(
                f"{found.name} does not predict classes, and costs, thresholds and probabilities "
                "are for classes: leave them out."
            )
        return make_machine(found, given, random_state=random_state)
    if y is None and (asked or costs is not None):
        raise ValueError(
            "Costs and measures depend on the classes: say which there are, by y=, the labels of "
            "the rows that the machine will be fitted to."
        )
    unlabelled = False
    if found.takes_unlabelled and y is not None:
        y = np.asarray(y)
        missing = find_missing(y)
        y, unlabelled = y[~missing], bool(missing.any())
    classes = np.unique(np.asarray(y))
    matrix = read_costs(costs, classes)
    inside = found.strategy is Strategy.COSTS and matrix is not None and len(classes) == 2
    given = put_costs_inside(found, given, matrix, y)
    model = make_machine(found, given, random_state=random_state)
    wants_proba = proba
    if asked and measure is not None:
        aim = find_measure(measure, CLASSIFICATION)
        wants_proba = wants_proba or aim.needs == PROBABILITIES
        if aim.needs == LABELS and len(classes) == 2 and costs is None and threshold is None:
            threshold = aim.name
    if costs is not None and len(classes) == 2 and threshold is None and not inside:
        threshold = "cost"
    if isinstance(threshold, str):
        threshold = find_measure(threshold, CLASSIFICATION).name
    decides = threshold is not None or (costs is not None and not inside)
    if not decides and (not wants_proba or has_probabilities(model)):
        return model
    if unlabelled:
        raise ValueError(
            "Thresholds, costs and probabilities are learned from rows that are left out in turn, "
            f"which need labels, and some rows have none: leave them out to train {found.name}."
        )
    seed = 0 if random_state is None else random_state
    return DecisionClassifier(model, threshold=threshold, costs=costs, random_state=seed)
