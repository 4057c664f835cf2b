"""Samples appended one by one: the same hyperplanes as those of a fit of everything."""

import pickle

import numpy as np
import pytest
from drifting import off, planes, sloping, three_turning, turning
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refused
from sklearn.base import clone

from lindero.svm import AdaptiveSVC, AdaptiveSVR
from lindero.svm import adaptive_online as online


def streamed(model, X, y, first=1, at_once=1, **classes):
    model.partial_fit(X[:first], y[:first], **classes)
    for start in range(first, len(y), at_once):
        rows = slice(start, start + at_once)
        model.partial_fit(X[rows], y[rows])
    return model


def window_lengths(monkeypatch):
    """The number of samples in each window that is solved from now on."""
    lengths, solved = [], online._solved

    def noting(machine, tail, *rest):
        lengths.append(len(tail.targets))
        return solved(machine, tail, *rest)

    monkeypatch.setattr(online, "_solved", noting)
    return lengths


@pytest.mark.parametrize("coupling", [1.0, 30.0, 1e3])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_a_stream_ends_where_a_fit_of_everything_does(monkeypatch, coupling, noise):
    X, y = turning(900, noise=noise, turns=2)
    lengths = window_lengths(monkeypatch)
    model = AdaptiveSVC(coupling=coupling, n_scale=300)
    streamed(model, X, y, classes=[-1, 1])
    whole = AdaptiveSVC(coupling=coupling, n_scale=300, tol=1e-10).fit(X, y)
    assert off(model, whole) < model.lag_tol
    assert off(model, whole) < 1e-6 or np.mean(lengths[-200:]) < len(y) / 2
    assert_allclose(planes(model)[-1], planes(whole)[-1], atol=1e-3 * np.abs(planes(whole)).max())
    gap = model.certify()
    assert gap.duality_gap < 1e-3 * gap.primal


def test_short_windows_suffice_where_neighbours_are_loosely_coupled(monkeypatch):
    X, y = turning(600, turns=2)
    model = AdaptiveSVC(coupling=10.0, n_scale=100).partial_fit(X[:300], y[:300])
    lengths = window_lengths(monkeypatch)
    streamed(model, X[300:], y[300:])
    assert max(lengths) < 150
    assert off(model, AdaptiveSVC(coupling=10.0, n_scale=100, tol=1e-10).fit(X, y)) < model.lag_tol


def test_a_smaller_tolerance_is_kept_too():
    X, y = turning(500, turns=2)
    model = AdaptiveSVC(coupling=30.0, n_scale=100, lag_tol=1e-7)
    streamed(model, X, y, classes=[-1, 1])
    assert off(model, AdaptiveSVC(coupling=30.0, n_scale=100, tol=1e-13).fit(X, y)) < 1e-6


def test_n_follows_the_number_of_samples_in_steps():
    X, y = turning(300)
    model = streamed(AdaptiveSVC(coupling=100.0), X, y, classes=[-1, 1])
    assert model.n_scale_ == 256.0
    whole = AdaptiveSVC(coupling=100.0, n_scale=256, tol=1e-10).fit(X, y)
    assert off(model, whole) < model.lag_tol
    assert AdaptiveSVC().fit(X, y).n_scale_ == 300.0


@pytest.mark.parametrize("at_once", [1, 7, 60])
def test_numbers_and_several_classes_and_samples_at_once(at_once):
    X, y = sloping(300)
    model = streamed(AdaptiveSVR(coupling=30.0, n_scale=100), X, y, at_once=at_once)
    assert off(model, AdaptiveSVR(coupling=30.0, n_scale=100, tol=1e-10).fit(X, y)) < 1e-3
    X, y = three_turning(300)
    model = AdaptiveSVC(coupling=30.0, n_scale=100)
    streamed(model, X, y, at_once=at_once, classes=["c", "a", "b"])
    assert model.coef_.shape == (3, 300, 2)
    assert off(model, AdaptiveSVC(coupling=30.0, n_scale=100, tol=1e-10).fit(X, y)) < 1e-3


def test_times_and_their_gaps_go_on():
    X, y = turning(200)
    times = np.cumsum(np.random.default_rng(0).integers(0, 4, 200)).astype(float)
    model = AdaptiveSVC(coupling=10.0, time_weighted=True, n_scale=100)
    model.fit(X[:150], y[:150], times[:150])
    for start in range(150, 200, 5):
        rows = np.random.default_rng(start).permutation(np.arange(start, start + 5))
        model.partial_fit(X[rows], y[rows], times[rows])
    assert model.coef_.shape == X.shape
    order = np.argsort(model.times_, kind="stable")
    assert_array_equal(model.times_[order], times)
    certificate = model.certify()
    assert certificate.duality_gap < 1e-3 * certificate.primal


def test_the_first_samples_may_all_be_of_one_class():
    X, y = turning(40)
    model = AdaptiveSVC().partial_fit(X[:3], [1, 1, 1], classes=[-1, 1])
    assert_allclose(planes(model), np.tile([0.0, 0.0, 0.0, 1.0], (3, 1)))
    assert_array_equal(model.predict(X), np.ones(40))
    model.partial_fit(X[3:], y[3:])
    whole = AdaptiveSVC(n_scale=model.n_scale_).fit(X, np.append([1, 1, 1], y[3:]))
    assert off(model, whole) < model.lag_tol


def test_a_horizon_caps_the_window(monkeypatch):
    X, y = turning(300, noise=0.5)
    model = AdaptiveSVC(coupling=1e6, horizon=20).fit(X[:200], y[:200])
    before = model.coef_[:150].copy()
    lengths = window_lengths(monkeypatch)
    streamed(model, X[200:], y[200:])
    assert max(lengths) <= 21
    assert_array_equal(model.coef_[:150], before)


def test_certificates_are_those_of_the_last_window():
    X, y = turning(200)
    model = AdaptiveSVC(coupling=10.0).fit(X[:150], y[:150])
    model.partial_fit(X[150:151], y[150:151])
    assert "within tol" in model.certificate_.status
    assert model.certificate_.primal < model.certify().primal
    assert model.shape_fit_ == (151, 3)


def test_a_machine_can_be_kept_and_go_on():
    X, y = turning(120)
    model = AdaptiveSVC(coupling=10.0).fit(X[:100], y[:100])
    model.partial_fit(X[100:101], y[100:101])
    other = pickle.loads(pickle.dumps(model))
    for machine in (model, other):
        machine.partial_fit(X[101:], y[101:])
    assert_array_equal(other.coef_, model.coef_)
    assert not hasattr(clone(model), "coef_")


def test_a_call_that_cannot_be_changes_nothing():
    X, y = turning(60)
    model = AdaptiveSVC().fit(X[:50], y[:50], times=np.arange(50.0))
    path = planes(model).copy()
    new = X[50:52], y[50:52]
    with refused(model, ValueError, r"before the last one known, 49.0, but that of row 1 is 3.0"):
        model.partial_fit(*new, times=[50.0, 3.0])
    with refused(model, ValueError, "times are needed"):
        model.partial_fit(*new)
    with refused(model, ValueError, "row 0 is NaN"):
        model.partial_fit(*new, times=[np.nan, 50.0])
    with refused(model, ValueError, "label '7'.*classes"):
        model.partial_fit(new[0], [7, 1], times=[50, 51])
    with refused(model, ValueError, "differs from"):
        model.partial_fit(*new, times=[50, 51], classes=[0, 1])
    with refused(model, ValueError, "3 features"):
        model.partial_fit(new[0][:, :2], new[1], times=[50, 51])
    with refused(model, ValueError, "dates"):
        model.partial_fit(*new, times=np.array(["2024", "2025"], dtype="datetime64[s]"))
    with refused(model, ValueError, "row 1 is -1"):
        model.partial_fit(*new, times=[50, 51], sample_weight=[1, -1])
    assert_array_equal(planes(model), path)
    model.partial_fit(*new, times=[50, 51])
    assert len(model.coef_) == 52


def test_what_cannot_be_begun():
    X, y = turning(30)
    with pytest.raises(ValueError, match="only one class"):
        AdaptiveSVC().partial_fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="call fit"):
        AdaptiveSVC(coupling="auto").partial_fit(X, y)
    for params in ({"graph": "space"}, {"kernel": "rbf"}):
        assert not hasattr(AdaptiveSVC(**params), "partial_fit")
        with pytest.raises(AttributeError):
            AdaptiveSVC(**params).partial_fit(X, y)


def test_ctrl_c_changes_nothing():
    X, y = turning(60)
    model = AdaptiveSVC().fit(X[:40], y[:40])
    path = planes(model).copy()

    def interrupted(progress):
        raise KeyboardInterrupt

    model.callback = interrupted
    with refused(model, KeyboardInterrupt, "Nothing was changed"):
        model.partial_fit(X[40:], y[40:])
    assert_array_equal(planes(model), path)
    model.callback = None
    assert len(model.partial_fit(X[40:], y[40:]).coef_) == 60
