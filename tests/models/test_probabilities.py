"""Curves from decision values to probabilities: those of scikit-learn, on any values."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from lindero.models.probabilities import arrange_by_class, fit_curve, fit_sigmoid


class GivenValues(ClassifierMixin, BaseEstimator):
    """A classifier whose decision values are its input."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[np.argmax(X, axis=1)]

    def decision_function(self, X):
        return (X[:, 1] - X[:, 0]) / 2 if len(self.classes_) == 2 else X


def naive_probabilities(values, y, weights):
    """The same by scikit-learn."""
    held = FrozenEstimator(GivenValues().fit(values, y))
    rows = np.arange(len(y))
    method = "sigmoid" if len(np.unique(y)) == 2 else "temperature"
    curve = CalibratedClassifierCV(held, method=method, cv=[(rows, rows)], ensemble=False)
    return curve.fit(values, y, sample_weight=weights).predict_proba(values)


def some_values(n_classes, n_rows=200, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_classes, size=n_rows)
    values = rng.normal(size=(n_rows, n_classes))
    values[np.arange(n_rows), codes] += 1.0
    if n_classes == 2:
        values = np.column_stack([-values[:, 1] + values[:, 0], values[:, 1] - values[:, 0]])
    return values, np.array(["no", "perhaps", "so", "yes"])[codes]


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_curve_is_that_of_scikit_learn(n_classes, weighted):
    values, y = some_values(n_classes)
    weights = np.random.default_rng(1).uniform(0.1, 3.0, len(y)) if weighted else None
    found = fit_curve(values, y, weights, y)(values, np.unique(y))
    np.testing.assert_allclose(found, naive_probabilities(values, y, weights), atol=2e-3)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_whole_weights_are_repetitions(n_classes):
    values, y = some_values(n_classes, 60)
    weights = np.random.default_rng(2).integers(1, 4, len(y))
    one = fit_curve(values, y, weights, y)
    two = fit_curve(np.repeat(values, weights, axis=0), np.repeat(y, weights), None, y)
    assert one.slope == pytest.approx(two.slope, rel=1e-4)
    assert one.offset == pytest.approx(two.offset, abs=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("factor", [1e-200, 1e-3, 1.0, 1e6, 1e150, 1e300])
def test_the_unit_of_values_makes_no_difference(n_classes, factor):
    values, y = some_values(n_classes)
    plain = fit_curve(values, y, None, y)(values, np.unique(y))
    with np.errstate(all="raise", under="ignore"):
        scaled = fit_curve(values * factor, y, None, y)(values * factor, np.unique(y))
    np.testing.assert_allclose(scaled, plain, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_separated_values_give_sure_but_finite_curves(n_classes):
    y = np.repeat(np.arange(n_classes), 20)
    values = np.where(y[:, None] == np.arange(n_classes), 1.0, -1.0)
    curve = fit_curve(values, y, None, y)
    found = curve(values, np.arange(n_classes))
    assert np.isfinite(curve.slope)
    assert (found.argmax(axis=1) == y).all()
    assert 0.9 < found.max() <= 1.0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_constant_values_give_the_shares_or_equal_ones(n_classes):
    y = np.repeat(np.arange(n_classes), [30, 10, 5][:n_classes])
    values = np.zeros((len(y), n_classes))
    found = fit_curve(values, y, None, y)(values, np.arange(n_classes))
    second = (10 * 11 / 12 + 30 / 32) / 40  # the mean of Platt's targets
    expected = [1 - second, second] if n_classes == 2 else np.full(3, 1 / 3)
    np.testing.assert_allclose(found, np.tile(expected, (len(y), 1)), atol=1e-6)


def test_values_beyond_those_fitted_stay_probabilities():
    values, y = some_values(3)
    curve = fit_curve(values, y, None, y)
    with np.errstate(all="raise", under="ignore"):
        found = curve(np.array([[1e308, -1e308, 0.0], [-1e308, -1e308, -1e308]]), np.unique(y))
    np.testing.assert_allclose(found, [[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])


def test_a_class_without_rows_has_its_share():
    values, y = some_values(2)
    training = np.append(y, ["rare"])
    curve = fit_curve(values, y, None, training)
    found = curve(values, np.unique(y))
    assert curve.classes.tolist() == ["no", "perhaps", "rare"]
    np.testing.assert_allclose(found[:, 2], 1 / len(training))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_values_of_one_machine_are_arranged_by_the_classes_of_another():
    one = arrange_by_class(np.array([2.0, -3.0]), np.array(["a", "c"]), np.array(["a", "b", "c"]))
    assert one.tolist() == [[-2.0, -4.0, 2.0], [3.0, -4.0, -3.0]]
    two = arrange_by_class(np.array([[1.0, 2.0, 3.0]]), np.array([1, 2, 3]), np.array([1, 3]))
    assert two.tolist() == [[1.0, 3.0]]


def test_the_sigmoid_minimises_its_loss():
    rng = np.random.default_rng(3)
    f = rng.normal(size=300)
    positive = rng.random(300) < 1 / (1 + np.exp(-(2 * f - 1)))
    weights = rng.uniform(0.5, 2.0, 300)
    slope, offset = fit_sigmoid(f, positive, weights)

    def loss(s, o):
        high, low = weights[positive].sum(), weights[~positive].sum()
        target = np.where(positive, (high + 1) / (high + 2), 1 / (low + 2))
        z = s * f + o
        return weights @ (np.logaddexp(0, z) - target * z)

    least = loss(slope, offset)
    for step in rng.normal(size=(50, 2)) * 0.1:
        assert loss(slope + step[0], offset + step[1]) >= least
