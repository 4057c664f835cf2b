"""Samples appended one by one: the same hyperplanes as those of a fit of everything."""

import pickle
import warnings

import numpy as np
import pytest
from drifting import off, planes, sloping, three_turning, turning
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from tests.refusals import refused

from lindero.solvers.coupled.follower import ChainFollower
from lindero.svm import AdaptiveSVC, AdaptiveSVR


def streamed(model, X, y, first=1, at_once=1, **classes):
    """Learn the first rows, then the others, so many at once."""
    model.partial_fit(X[:first], y[:first], **classes)
    depths_of(model, X[first:], y[first:], at_once)
    return model


def depths_of(model, X, y, at_once=1):
    """How many of the last hyperplanes each call may have changed, as the rows are learned."""
    depths = []
    for start in range(0, len(y), at_once):
        rows = slice(start, start + at_once)
        model.partial_fit(X[rows], y[rows])
        depths.append(len(model.times_) - model._path.trail.touched)
    return depths


def whole_path(model, X, y):
    """A fit of everything that means the same, and is nearer to the optimum."""
    parameters = {**model.get_params(), "n_scale": model.n_scale_, "tol": 1e-10, "callback": None}
    return type(model)(**parameters).fit(X, y)


@pytest.mark.parametrize("coupling", [1.0, 30.0, 1e3])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_a_stream_ends_where_a_fit_of_everything_does(coupling, noise):
    X, y = turning(900, noise=noise, turns=2)
    model = AdaptiveSVC(coupling=coupling, n_scale=300)
    model.partial_fit(X[:1], y[:1], classes=[-1, 1])
    depths = depths_of(model, X[1:], y[1:])
    whole = whole_path(model, X, y)
    assert off(model, whole) < model.lag_tol
    assert np.mean(depths[-200:]) < len(y) / 4
    assert_allclose(planes(model)[-1], planes(whole)[-1], atol=1e-3 * np.abs(planes(whole)).max())
    gap = model.certify()
    assert gap.duality_gap < 1e-3 * gap.primal


@pytest.mark.parametrize("n_scale", [300.0, None])
@pytest.mark.parametrize("coupling", [1e-3, 1.0, 1e3, 1e6, 1e8, 1e10])
def test_any_coupling_is_followed_within_the_tolerance(coupling, n_scale):
    parameters = {"coupling": coupling, "n_scale": n_scale, "online": "exact"}
    X, y = turning(400, turns=2)
    model = streamed(AdaptiveSVC(**parameters), X, y, classes=[-1, 1])
    assert off(model, whole_path(model, X, y)) < model.lag_tol
    X, y = three_turning(400)
    model = streamed(AdaptiveSVC(**parameters), X, y, classes=["a", "b", "c"])
    assert off(model, whole_path(model, X, y)) < model.lag_tol
    X, y = sloping(400)
    model = streamed(AdaptiveSVR(**parameters), X, y)
    assert off(model, whole_path(model, X, y)) < model.lag_tol


def test_a_strongly_coupled_real_stream_is_followed(real_data):
    path = real_data("stream_sea.csv.gz")
    table = np.loadtxt(path, delimiter=",", skiprows=11_501, max_rows=1500)
    X, y = table[:, :-1], table[:, -1]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = streamed(AdaptiveSVC(coupling=1e8, n_scale=1000, online="exact"), X, y, classes=[0, 1])
    assert off(model, whole_path(model, X, y)) < model.lag_tol


def test_a_few_hyperplanes_change_where_neighbours_are_loosely_coupled():
    X, y = turning(600, turns=2)
    model = AdaptiveSVC(coupling=10.0, n_scale=100).partial_fit(X[:301], y[:301])
    assert max(depths_of(model, X[301:], y[301:])) < 150
    assert off(model, whole_path(model, X, y)) < model.lag_tol


@pytest.mark.parametrize("coupling", [3.0, 1e3, 1e6])
def test_it_does_not_matter_how_many_come_at_once(coupling):
    X, y = turning(700, turns=2)
    whole = AdaptiveSVC(coupling=coupling, n_scale=300, tol=1e-10).fit(X, y)
    for at_once in (1, 7, 33, 200):
        model = AdaptiveSVC(coupling=coupling, n_scale=300, online="exact")
        streamed(model, X, y, 20, at_once)
        assert off(model, whole) < model.lag_tol, at_once


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
    assert AdaptiveSVC(coupling=1e3).fit(X, y).n_scale_ == 300.0


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
    model.fit(X[:150], y[:150], times=times[:150])
    for start in range(150, 200, 5):
        rows = np.random.default_rng(start).permutation(np.arange(start, start + 5))
        model.partial_fit(X[rows], y[rows], times=times[rows])
    assert model.coef_.shape == X.shape
    order = np.argsort(model.times_, kind="stable")
    assert_array_equal(model.times_[order], times)
    certificate = model.certify()
    assert certificate.duality_gap < 1e-3 * certificate.primal


def test_the_first_samples_may_all_be_of_one_class():
    X, y = turning(40)
    model = AdaptiveSVC(coupling=1e3).partial_fit(X[:3], [1, 1, 1], classes=[-1, 1])
    assert_allclose(planes(model), np.tile([0.0, 0.0, 0.0, 1.0], (3, 1)))
    assert_array_equal(model.predict(X), np.ones(40))
    model.partial_fit(X[3:], y[3:])
    whole = AdaptiveSVC(coupling=1e3, n_scale=model.n_scale_).fit(X, np.append([1, 1, 1], y[3:]))
    assert off(model, whole) < model.lag_tol


@pytest.mark.parametrize("at_once", [1, 10, 64])
def test_a_horizon_leaves_older_hyperplanes_as_they_are(at_once):
    X, y = turning(500, noise=0.5)
    model = AdaptiveSVC(coupling=1e6, horizon=20, n_scale=200, online="exact").fit(X[:200], y[:200])
    for start in range(200, 500, at_once):  # at 400 nothing is renewed, since n is given
        before = planes(model).copy()
        rows = slice(start, start + at_once)
        model.partial_fit(X[rows], y[rows])
        assert_array_equal(planes(model)[: start - 20], before[: start - 20])
        assert len(model.times_) - model._path.trail.touched <= 20 + min(at_once, 32)


def test_more_samples_at_once_than_the_horizon_has_are_all_learned():
    # So loosely coupled that a horizon of 16 costs nothing.
    X, y = turning(400, turns=2)
    model = AdaptiveSVC(coupling=0.1, n_scale=100, horizon=16, tol=1e-10).fit(X[:300], y[:300])
    model.partial_fit(X[300:], y[300:])
    assert off(model, whole_path(model, X, y)) < model.lag_tol


def test_certificates_are_those_of_the_last_window():
    X, y = turning(200)
    model = AdaptiveSVC(coupling=10.0).fit(X[:150], y[:150])
    model.partial_fit(X[150:151], y[150:151])
    assert "within tol" in model.certificate_.status
    assert model.certificate_.primal < model.certify().primal
    assert model.shape_fit_ == (151, 3)


@pytest.mark.parametrize("coupling", [10.0, 1e6])
def test_a_machine_can_be_kept_and_go_on(coupling):
    X, y = turning(320)
    model = AdaptiveSVC(coupling=coupling, online="exact").fit(X[:100], y[:100])
    model.partial_fit(X[100:101], y[100:101])
    other = pickle.loads(pickle.dumps(model))
    for machine in (model, other):
        depths_of(machine, X[101:], y[101:])
    assert_array_equal(planes(other), planes(model))
    assert not hasattr(clone(model), "coef_")


def test_a_call_that_cannot_be_changes_nothing():
    X, y = turning(60)
    model = AdaptiveSVC(coupling=1e3).fit(X[:50], y[:50], times=np.arange(50.0))
    path = planes(model).copy()
    new = X[50:52], y[50:52]
    with refused(model, ValueError, r"before the last one known, 49.0, but that of row 1 is 3.0"):
        model.partial_fit(*new, times=[50.0, 3.0])
    with refused(model, ValueError, "times are needed"):
        model.partial_fit(*new)
    with refused(model, ValueError, "row 0 is NaN"):
        model.partial_fit(*new, times=[np.nan, 50.0])
    with refused(model, ValueError, "label 7 in row 0.*classes"):
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
        AdaptiveSVC(coupling=1e3).partial_fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="call fit"):
        AdaptiveSVC(coupling="auto", online="exact").partial_fit(X, y)
    for params in ({"graph": "space"}, {"kernel": "rbf", "online": "exact"}):
        assert not hasattr(AdaptiveSVC(**params), "partial_fit")
        with pytest.raises(AttributeError):
            AdaptiveSVC(**params).partial_fit(X, y)


def interrupted(progress):
    raise KeyboardInterrupt


@pytest.mark.parametrize("n_new", [60, 100])
def test_ctrl_c_changes_nothing(n_new):
    # The interior-point method, which reports, has a part once the number of samples doubles: at
    # once in the first case, after three parts of the call have been learned in the second.
    X, y = turning(n_new + 150)
    known = 40 if n_new == 60 else 100
    stop = known + n_new
    model, other = (AdaptiveSVC(coupling=1e3).fit(X[:known], y[:known]) for _ in range(2))
    path = planes(model).copy()
    model.callback = interrupted
    with refused(model, KeyboardInterrupt, "Nothing was changed"):
        model.partial_fit(X[known:stop], y[known:stop])
    assert_array_equal(planes(model), path)
    model.callback = None
    for machine in (model, other):
        machine.partial_fit(X[known:stop], y[known:stop])
    assert_array_equal(planes(model), planes(other))


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("n_scale", [None, 200.0])
def test_a_failure_in_the_midst_of_a_call_changes_nothing(monkeypatch, error, n_scale):
    X, y = turning(700, turns=2)
    # With and without learning before: followers are there already, or not.
    for known in (260, 300):
        model, other = (
            AdaptiveSVC(coupling=1e3, n_scale=n_scale).fit(X[:260], y[:260]) for _ in range(2)
        )
        for machine in (model, other):
            depths_of(machine, X[260:known], y[260:known])
        path, certificate = planes(model).copy(), other.certificate_
        follow, calls = ChainFollower.follow, []

        def failing(follower, *rest, follow=follow, calls=calls):
            calls.append(follow(follower, *rest))
            if len(calls) == 3:
                raise error("in the midst")
            return calls[-1]

        with monkeypatch.context() as patched:
            patched.setattr(ChainFollower, "follow", failing)
            with refused(model, error, "in the midst"):
                model.partial_fit(X[known : known + 100], y[known : known + 100])
        assert_array_equal(planes(model), path)
        assert model.shape_fit_ == (known, 3)
        assert_array_equal(model.times_, np.arange(known))
        assert model.certificate_.primal == certificate.primal
        for machine in (model, other):
            machine.partial_fit(X[known : known + 100], y[known : known + 100])
            depths_of(machine, X[known + 100 :], y[known + 100 :])
        assert model.n_scale_ == other.n_scale_
        assert off(model, other) < model.lag_tol
        assert off(model, whole_path(model, X, y)) < model.lag_tol


def test_a_warning_that_is_an_error_changes_nothing():
    X, y = turning(120)
    model = AdaptiveSVC(coupling=1e3).fit(X[:50], y[:50])
    path = planes(model).copy()
    model.max_iter = 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with refused(model, ConvergenceWarning, "max_iter"):
            model.partial_fit(X[50:], y[50:])
    assert_array_equal(planes(model), path)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.partial_fit(X[50:], y[50:])
    assert model.fit_status_ == 1
    assert len(model.coef_) == 120
