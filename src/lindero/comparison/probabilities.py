"""Probabilities for machines that only say how far a row is on a class's side.

Decision values of training rows are taken from machines that were fitted without them (the inner
folds), and a curve from those values to probabilities is fitted to them: a sigmoid for two classes
(Platt); for more one temperature, which leaves the differences between classes their meaning, where
sigmoids of each class by itself are far too timid. Test rows play no part: their decision values
are put through a curve that was there before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from lindero.runtime.arrays import Array

#: Decisions of a machine fitted to some training rows, for others: (train, test) to values and
#: classes; None where that machine cannot be fitted.
OutOfFold = Callable[[Array, Array], tuple[Array, Array] | None]


class _GivenValues(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose decision values are its input, for a curve to be fitted to."""

    def __init__(self, classes: Any = None) -> None:
        self.classes = classes

    def fit(self, X: Any, y: Any) -> _GivenValues:
        self.classes_ = np.asarray(self.classes)
        return self

    def predict(self, X: Any) -> Array:
        codes = np.argmax(np.asarray(X), axis=1)
        labels: Array = self.classes_[codes]
        return labels

    def decision_function(self, X: Any) -> Array:
        values: Array = np.asarray(X)
        return (values[:, 1] - values[:, 0]) / 2 if len(self.classes_) == 2 else values


def by_class(values: Array, known: Array, classes: Array) -> Array:
    """Decision values with a column for each of `classes`; those that the machine does not know
    are less likely than any it does, and others that it knows are left out."""
    columns = values if values.ndim == 2 else np.column_stack([-values, values])
    spread = np.full((len(columns), len(classes)), columns.min(initial=0.0) - 1.0)
    shared = np.isin(known, classes)
    spread[:, np.searchsorted(classes, known[shared])] = columns[:, shared]
    return spread


class ProbabilityCurve:
    """From decision values to probabilities of classes.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_told)
        Out-of-fold decisions, a column for each class that occurs in `y`.
    y : ndarray of shape (n_rows,)
        The classes of these rows.
    weights : ndarray of shape (n_rows,) or None
        How much they count.
    training : ndarray
        The classes of all training rows. Those of so few rows that they are not in `y` have the
        probability of their share, whatever the decision.
    """

    def __init__(self, values: Array, y: Array, weights: Array | None, training: Array) -> None:
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.frozen import FrozenEstimator

        self.classes, counts = np.unique(training, return_counts=True)
        self._shares = counts / counts.sum()
        self._told = np.unique(y)
        held = FrozenEstimator(_GivenValues(self._told).fit(values, y))
        all_rows = np.arange(len(y))  # values are out of fold already
        method = "sigmoid" if len(self._told) == 2 else "temperature"
        self._curve = CalibratedClassifierCV(
            held, method=method, cv=[(all_rows, all_rows)], ensemble=False
        )
        self._curve.fit(values, y, sample_weight=weights)

    def __call__(self, values: Array, known: Array) -> Array:
        """Probabilities, a column for each of `classes`, of decisions about the `known` ones."""
        told = np.isin(self.classes, self._told)
        given = np.tile(self._shares, (len(values), 1))
        among = self._curve.predict_proba(by_class(values, known, self._told))
        given[:, told] = self._shares[told].sum() * among
        return given


def fitted_curve(
    decide: OutOfFold,
    y: Array,
    weights: Array | None,
    splits: list[tuple[Array, Array]],
    training: Array,
) -> ProbabilityCurve | None:
    """The curve of out-of-fold decisions; None where they tell of fewer than two classes."""
    decided = [(test, decide(train, test)) for train, test in splits]
    known = [(test, found) for test, found in decided if found is not None]
    if not known:
        return None
    tested = np.concatenate([test for test, _ in known])
    told = np.unique(y[tested])
    if len(told) < 2:
        return None
    values = [by_class(*found, told) for _, found in known]
    factors = None if weights is None else weights[tested]
    return ProbabilityCurve(np.concatenate(values), y[tested], factors, training)
