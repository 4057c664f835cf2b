"""Paths in C: what is drawn is exact for every C."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from lindero.plot import CPathDisplay
from lindero.svm import SVC, IncrementalOneClassSVM, IncrementalSVC, IncrementalSVR

pytest.importorskip("matplotlib.pyplot")

X, Y = make_moons(120, noise=0.35, random_state=0)


@pytest.fixture(scope="module")
def machine():
    return IncrementalSVC(gamma=1.0).fit(X[:60], Y[:60])


def test_errors_are_those_of_machines_fitted_with_that_penalty(machine):
    # Below, no sample is on the margin, and a fit may take another constant of an interval.
    display = CPathDisplay.from_estimator(machine, 0.12, 50.0, X=X[60:], y=Y[60:])
    ends = np.append(display.C, 50.0)
    rng = np.random.default_rng(0)
    for C in np.exp(rng.uniform(np.log(0.12), np.log(50.0), 12)):
        fitted = IncrementalSVC(C=C, gamma=1.0).fit(X[:60], Y[:60])
        expected = np.mean(fitted.predict(X[60:]) != Y[60:])
        k = np.searchsorted(ends, C, side="right") - 1
        assert display.errors[k] == pytest.approx(expected)
    low, high = display.best_range_
    assert low <= display.best_C_ <= high
    best = IncrementalSVC(C=display.best_C_, gamma=1.0).fit(X[:60], Y[:60])
    assert 1 - best.score(X[60:], Y[60:]) == pytest.approx(display.errors.min())


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_panels_lines_and_titles(machine, theme):
    display = CPathDisplay.from_estimator(machine, 50.0, 0.1, X=X[60:], y=Y[60:], theme=theme)
    assert len(display.axes_) == 3
    assert all(ax.get_xscale() == "log" for ax in display.axes_)
    assert display.axes_[0].get_xlim() == pytest.approx((0.1, 50.0))  # falling paths are turned
    used = display.path.coefficients.any(axis=0).sum()
    assert len(display.lines_.get_segments()) == used
    segments = np.vstack(display.lines_.get_segments())
    assert np.abs(segments[:, 1]).max() <= 1.0 + 1e-9  # coefficients are at most C
    assert f"C = {display.best_C_:.3g}" in display.axes_[2].get_title(loc="left")
    assert display.axes_[2].get_xlabel() == "C"
    assert len(CPathDisplay.from_estimator(machine, 0.1, 1.0).axes_) == 2


def test_deviations_of_a_regression_are_those_of_machines_fitted_with_that_penalty():
    target = np.sin(3 * X[:, 0])
    machine = IncrementalSVR(gamma=1.0, epsilon=0.1).fit(X[:50], target[:50])
    display = CPathDisplay.from_estimator(machine, 0.1, 20.0, X=X[60:], y=target[60:])
    for k in np.linspace(0, len(display.C) - 1, 6).astype(int):
        fitted = IncrementalSVR(C=display.C[k], gamma=1.0, epsilon=0.1).fit(X[:50], target[:50])
        expected = np.abs(fitted.predict(X[60:]) - target[60:]).mean()
        assert display.errors[k] == pytest.approx(expected, abs=1e-5)
    assert "MAE" in display.axes_[2].get_ylabel()


def test_many_rows_are_judged_in_parts(machine, monkeypatch):
    whole = CPathDisplay.from_estimator(machine, 0.1, 5.0, X=X[60:], y=Y[60:])
    monkeypatch.setattr("lindero.plot.c_path._MOST_VALUES", 500)
    parts = CPathDisplay.from_estimator(machine, 0.1, 5.0, X=X[60:], y=Y[60:])
    np.testing.assert_allclose(parts.C, whole.C, rtol=1e-9)
    np.testing.assert_allclose(parts.errors, whole.errors)


def test_a_path_judges_rows_after_its_samples_are_forgotten():
    machine = IncrementalSVC(gamma=1.0).fit(X[:60], Y[:60])
    path = machine.path(0.5, 5.0)
    before = path.decision_function(X[60:])
    machine.forget(list(range(20)))
    np.testing.assert_array_equal(path.decision_function(X[60:]), before)
    values = (1 - 0.25) * before[0] + 0.25 * before[1]
    coefficients, intercept = path.at(0.75 * path.C[0] + 0.25 * path.C[1])
    kernel = np.exp(-((X[60:, None] - X[None, :60]) ** 2).sum(-1))
    np.testing.assert_allclose(kernel @ coefficients + intercept, values, atol=1e-9)
    with pytest.raises(ValueError, match=r"\(3, 1\), but the samples of the path have 2 features"):
        path.decision_function(X[:3, :1])
    with pytest.raises(ValueError, match="knows no samples"):
        type(path)(path.C, path.coefficients, path.intercepts).decision_function(X)


def test_what_has_no_path_or_does_not_fit_is_refused(machine):
    with pytest.raises(ValueError, match=r"SVC has no path in C.*SVCCV"):
        CPathDisplay.from_estimator(SVC().fit(X, Y), 0.1, 1.0)
    with pytest.raises(ValueError, match="no path in C"):
        CPathDisplay.from_estimator(IncrementalOneClassSVM().fit(X), 0.1, 1.0)
    with pytest.raises(ValueError, match="pass both"):
        CPathDisplay.from_estimator(machine, 0.1, 1.0, X=X)
    with pytest.raises(ValueError, match="has learned 2 features"):
        CPathDisplay.from_estimator(machine, 0.1, 1.0, X=X[:, :1], y=Y)
    with pytest.raises(ValueError, match="other labels"):
        CPathDisplay.from_estimator(machine, 0.1, 1.0, X=X, y=Y + 7)
    with pytest.raises(ValueError, match="y has shape"):
        CPathDisplay.from_estimator(machine, 0.1, 1.0, X=X, y=Y[:5])


@pytest.mark.parametrize("count", [1, 100])
def test_one_feature_and_a_hundred(count):
    wide = np.random.default_rng(0).normal(size=(60, count))
    y = wide[:, 0] > 0
    machine = IncrementalSVC().fit(wide[:40], y[:40])
    display = CPathDisplay.from_estimator(machine, 0.1, 10.0, X=wide[40:], y=y[40:])
    assert 0.0 <= display.errors.min() < 0.6
