"""Leaving out, the path in C and the record of updates: exact, and without a trace on the model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.svm.clouds import two_clouds
from tests.svm.incremental.life import assert_unchanged, laplacian, state_of

from lindero.persist import load, save
from lindero.solvers.active_set import ActiveSet, engine
from lindero.solvers.active_set.motion import Motion
from lindero.svm import (
    SVR,
    CostSensitiveSVC,
    IncrementalOneClassSVM,
    IncrementalSVC,
    IncrementalSVR,
    OneClassSVM,
)

KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.5},
    "rbf": {"kernel": "rbf", "gamma": 0.5},
    "callable": {"kernel": laplacian, "gamma": "auto"},
}
COSTS = {"cost_positive": 2.0, "cost_negative": 1.2}


def cloud_of(n=36, seed=0):
    """Overlapping classes, with a repeated row and one of both labels."""
    X, y = two_clouds(n, 2, seed=seed, apart=1.0)
    X[5], X[6], y[5], y[6] = X[4], X[7], y[4], 1 - y[7]
    return X, y


def distinct(n=36):
    """Without repeated rows: coefficients are unique."""
    return two_clouds(n, 2, apart=1.0)


# -- leaving one out ------------------------------------------------------------------------------


def without(i, X, y):
    return np.delete(X, i, axis=0), np.delete(y, i)


@pytest.mark.parametrize("C", [0.05, 1.0, 1e3])
@pytest.mark.parametrize("name", KERNELS)
def test_leaving_out_is_training_without(name, C):
    X, y = cloud_of()
    params = {"C": C, **KERNELS[name], **COSTS}
    model = IncrementalSVC(**params).fit(X, y)
    before = state_of(model, X)
    values = model.leave_one_out()
    assert_unchanged(model, before, X)
    for i in range(len(y)):
        rest = CostSensitiveSVC(tol=1e-10, **params).fit(*without(i, X, y))
        assert values[i] == pytest.approx(rest.decision_function(X[i : i + 1])[0], abs=2e-6)
        again = IncrementalSVC(**params).fit(*without(i, X, y))
        assert values[i] == pytest.approx(again.decision_function(X[i : i + 1])[0], abs=1e-7)


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize("name", KERNELS)
def test_leaving_out_of_a_regression(name, epsilon):
    X, _ = cloud_of(24)
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1]
    params = {"C": 3.0, "epsilon": epsilon, **KERNELS[name]}
    model = IncrementalSVR(**params).fit(X, y)
    before = state_of(model, X)
    values = model.leave_one_out()
    assert_unchanged(model, before, X)
    for i in range(len(y)):
        rest = SVR(tol=1e-10, **params).fit(*without(i, X, y))
        assert values[i] == pytest.approx(rest.predict(X[i : i + 1])[0], abs=2e-6)


@pytest.mark.parametrize("nu", [0.05, 0.4, 1.0])
def test_leaving_out_of_a_region(nu):
    X, _ = cloud_of(24)
    model = IncrementalOneClassSVM(nu=nu, gamma=0.5).fit(X)
    before = state_of(model, X)
    values = model.leave_one_out()
    assert_unchanged(model, before, X)
    for i in range(24):
        rest = OneClassSVM(nu=nu, gamma=0.5, tol=1e-10).fit(np.delete(X, i, axis=0))
        assert values[i] == pytest.approx(rest.decision_function(X[i : i + 1])[0], abs=1e-6)


def test_leaving_out_after_forgetting_is_in_the_order_of_the_ids():
    X, y = cloud_of(40)
    model = IncrementalSVC(gamma=0.5).fit(X, y).forget([0, 3, 17, 39])
    rest = model.sample_ids_
    expected = IncrementalSVC(gamma=0.5).fit(X[rest], y[rest]).leave_one_out()
    assert_allclose(model.leave_one_out(), expected, atol=1e-8)


def test_leaving_out_of_a_hard_margin():
    X = np.linspace(-2, 2, 12)[:, None]
    y = (X[:, 0] > 0).astype(int)
    values = IncrementalSVC(C=np.inf, kernel="linear").fit(X, y).leave_one_out()
    for i in range(12):
        rest = IncrementalSVC(C=1e7, kernel="linear").fit(*without(i, X, y))
        assert values[i] == pytest.approx(rest.decision_function(X[i : i + 1])[0], abs=1e-6)


def test_leaving_out_of_a_thousand_does_not_wear_the_model_out():
    X, y = two_clouds(300, 3, apart=0.5)
    model = IncrementalSVC(C=10.0, gamma=1.0).fit(X, y)
    first = model.leave_one_out()
    for _ in range(3):
        assert_array_equal(model.leave_one_out(), first)
    assert model.certify().kkt_gap <= 1e-11


# -- the path -------------------------------------------------------------------------------------


def expansion_at(model, coefficients, intercept, X):
    """Values of coefficients over all samples held."""
    K = {
        "linear": lambda: X @ X.T,
        "poly": lambda: (0.5 * X @ X.T + 1) ** 2,
        "rbf": lambda: np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)),
    }.get(model.kernel, lambda: laplacian(X, X))()
    return K @ coefficients + intercept


@pytest.mark.parametrize("ends", [(0.01, 50.0), (50.0, 0.01)], ids=["up", "down"])
@pytest.mark.parametrize("name", KERNELS)
def test_every_point_of_the_path_is_a_refit(name, ends):
    X, y = cloud_of()
    costs = np.random.default_rng(0).uniform(0.3, 2.0, len(y))
    params = {**KERNELS[name], **COSTS}
    model = IncrementalSVC(C=2.0, **params).fit(X, y, sample_cost=costs)
    before = state_of(model, X)
    path = model.path(*ends)
    assert_unchanged(model, before, X)
    assert (path.C[0], path.C[-1]) == ends
    assert (np.diff(path.C) * np.sign(ends[1] - ends[0]) >= 0).all()
    assert path.coefficients.shape == (len(path.C), len(y))
    assert path.intercepts.shape == path.C.shape
    for C in [*ends, *np.geomspace(0.011, 49, 25)]:
        coefficients, intercept = path.at(C)
        refit = IncrementalSVC(C=C, **params).fit(X, y, sample_cost=costs)
        values = expansion_at(model, coefficients, intercept, X)
        expected = refit.decision_function(X)
        free = np.abs(refit.dual_coef_[0]) < 0.999999 * C
        if free.any() and name != "linear":  # else the constant is open
            assert_allclose(values, expected, atol=1e-6)
        assert_allclose(values - values[0], expected - expected[0], atol=1e-6)
        assert abs(coefficients.sum()) <= 1e-9 * C


def test_the_path_up_and_the_path_down_are_the_same():
    X, y = distinct()
    model = IncrementalSVC(C=2.0, gamma=0.5).fit(X, y)
    up, down = model.path(0.05, 20.0), model.path(20.0, 0.05)
    for C in np.geomspace(0.05, 20.0, 40):
        assert_allclose(up.at(C)[0], down.at(C)[0], atol=1e-8)


def test_coefficients_are_linear_between_breakpoints():
    X, y = distinct()
    model = IncrementalSVC(C=2.0, gamma=0.5).fit(X, y)
    path = model.path(0.1, 10.0)
    for left, right in zip(path.C[:-1], path.C[1:], strict=True):
        if right - left < 1e-6:
            continue
        middle = 0.5 * (left + right)
        refit = IncrementalSVC(C=middle, gamma=0.5).fit(X, y)
        z = np.zeros(len(y))
        z[refit.support_] = refit.dual_coef_[0]
        assert_allclose(path.at(middle)[0], z, atol=1e-7)


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_the_path_of_a_regression(epsilon):
    X, _ = cloud_of(30)
    y = np.sin(2 * X[:, 0])
    model = IncrementalSVR(C=1.0, epsilon=epsilon, gamma=0.5).fit(X, y)
    before = state_of(model, X)
    path = model.path(0.01, 100.0)
    assert_unchanged(model, before, X)
    for C in np.geomspace(0.01, 100.0, 15):
        values = expansion_at(model, *path.at(C), X)
        expected = IncrementalSVR(C=C, epsilon=epsilon, gamma=0.5).fit(X, y).predict(X)
        assert_allclose(values - values[0], expected - expected[0], atol=1e-6)


def test_a_path_of_one_point_and_one_at_the_penalty_of_the_model():
    X, y = distinct()
    model = IncrementalSVC(C=2.0, gamma=0.5).fit(X, y)
    z = np.zeros(len(y))
    z[model.support_] = model.dual_coef_[0]
    for path in (model.path(2.0, 2.0), model.path(2.0, 5.0), model.path(1.0, 2.0)):
        coefficients, intercept = path.at(2.0)
        assert_allclose(coefficients, z, atol=1e-9)
        assert intercept == pytest.approx(model.intercept_[0], abs=1e-9)


def test_the_path_of_a_hard_margin():
    X = np.linspace(-2, 2, 12)[:, None]
    y = (X[:, 0] > 0).astype(int)
    model = IncrementalSVC(C=np.inf, kernel="linear").fit(X, y)
    before = state_of(model, X)
    path = model.path(0.01, 1e4)
    assert_unchanged(model, before, X)
    assert_allclose(expansion_at(model, *path.at(1e4), X), model.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("name", ["linear", "poly"])
def test_paths_through_degenerate_data(name):
    """Few rows, many times, under both labels: breakpoints coincide."""
    X = np.repeat(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), 8, axis=0)
    y = np.array([0, 0, 0, 1, 1, 0, 1, 1] * 4)
    model = IncrementalSVC(C=1.0, **KERNELS[name]).fit(X, y)
    before = state_of(model, X)
    path = model.path(1e-3, 1e3)
    assert_unchanged(model, before, X)
    for C in np.geomspace(1e-3, 1e3, 13):
        refit = IncrementalSVC(C=C, **KERNELS[name]).fit(X, y)
        values = expansion_at(model, *path.at(C), X)
        expected = refit.decision_function(X)
        assert_allclose(values - values[0], expected - expected[0], atol=1e-6 * max(1.0, C))


@pytest.mark.parametrize("name", ["follow", "join", "drop", "settle"])
@pytest.mark.parametrize("number", [1, 2, 5])
def test_an_interruption_leaves_the_model_as_it_was(name, number, monkeypatch):
    X, y = cloud_of(60)
    model = IncrementalSVC(C=5.0, gamma=0.5).fit(X, y)
    before = state_of(model, X)
    place = ActiveSet if name == "settle" else Motion
    original = getattr(place, name)
    happened = 0
    for call in (model.leave_one_out, lambda: model.path(0.1, 50.0)):
        calls = []

        def method(self, *args, calls=calls, **kwargs):
            calls.append(None)
            if len(calls) == number and number % 2:
                raise KeyboardInterrupt
            result = original(self, *args, **kwargs)
            if len(calls) == number:
                raise KeyboardInterrupt
            return result

        with monkeypatch.context() as patch:
            patch.setattr(place, name, method)
            try:
                call()
            except KeyboardInterrupt:
                happened += 1
        assert_unchanged(model, before, X)
    assert happened or number > 1 or name in ("join", "drop")
    model.partial_fit(X[:3] + 0.1, y[:3]).forget([1, 2])
    assert model.certify().kkt_gap <= 1e-10


# -- the record -----------------------------------------------------------------------------------


def test_of_a_long_stream_the_latest_updates_are_kept(monkeypatch):
    monkeypatch.setattr("lindero.svm.incremental.machine._LOGGED", 30)
    X, y = two_clouds(200)
    model = IncrementalSVC(window=20, gamma="auto").fit(X[:20], y[:20])
    for i in range(20, 200):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        assert len(model.updates_) <= 60
    assert len(model.updates_) >= 30
    assert model.updates_["id"][-2:].tolist() == [179, 199]
    with pytest.raises(ValueError, match="id 3"):
        model.forget([3])
    assert model.updates_["id"][-2:].tolist() == [179, 199]


def test_every_update_is_recorded():
    X, y = two_clouds(60)
    model = IncrementalSVC(gamma="auto").fit(X[:40], y[:40])
    for i in range(40, 60):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    model.forget([4, 50]).replace(7, sample_cost=2.0)
    record = model.updates_
    assert record.dtype.names == (
        "kind",
        "id",
        "iterations",
        "set_changes",
        "from_scratch",
        "corrections",
    )
    assert record["kind"].tolist() == ["add"] * 60 + ["forget"] * 2 + ["replace"]
    assert record["id"].tolist() == [*range(60), 4, 50, 7]
    assert record["from_scratch"].tolist() == [True] * 40 + [False] * 23
    assert len(set(map(tuple, record[:40][["iterations", "set_changes"]].tolist()))) == 1
    assert (record["iterations"] >= 0).all()
    assert record["set_changes"][60:].sum() > 0


def test_corrections_of_rounding_are_counted_apart_and_saved(tmp_path, monkeypatch):
    X, y = two_clouds(60)
    model = IncrementalSVC(gamma="auto").fit(X[:40], y[:40])
    monkeypatch.setattr(engine, "_ACCEPTED", 0.0)  # whatever rounding leaves is removed
    for i in range(40, 60):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    monkeypatch.undo()
    plain = IncrementalSVC(gamma="auto").fit(X[:40], y[:40])
    for i in range(40, 60):
        plain.partial_fit(X[i : i + 1], y[i : i + 1])
    moved = plain.updates_["iterations"][40:] > 0
    assert moved.any()
    assert (model.updates_["corrections"][40:][moved] > 0).all()
    assert (plain.updates_["corrections"][40:] == 0).all()
    assert (model.updates_["iterations"][40:] == plain.updates_["iterations"][40:]).all()
    save(model, tmp_path / "model.lin")
    assert (load(tmp_path / "model.lin").updates_ == model.updates_).all()


def test_a_sample_beyond_the_margin_takes_no_iteration():
    X, y = two_clouds(60, apart=8.0)
    model = IncrementalSVC(kernel="linear").fit(X, y)
    for label, far in ((0, -50.0), (1, 50.0)):
        model.partial_fit([[far, 0.0, 0.0, 0.0]], [label])
        last = model.updates_[-1]
        assert (last["iterations"], last["set_changes"]) == (0, 0)


def test_a_record_given_away_does_not_change():
    X, y = two_clouds(10)
    model = IncrementalSVC(gamma="auto").fit(X, y)
    record = model.updates_
    copied = record.copy()
    model.forget(3)
    assert_array_equal(record, copied)
    record["id"] = -1
    assert (model.updates_["id"] >= 0).all()


@pytest.mark.parametrize("window", [None, "auto"])
def test_records_of_updates_can_be_dropped(window):
    X, y = two_clouds(40)
    model = IncrementalSVC(window=window, gamma="auto")
    for i in range(0, 40, 4):
        model.partial_fit(X[i : i + 4], y[i : i + 4], classes=np.unique(y))
    known = model.updates_
    assert model.trim_updates(len(known)) is model
    assert len(model.updates_) == len(known)
    assert model.trim_updates(5).updates_.tolist() == known[-5:].tolist()
    model.partial_fit(X[:1], y[:1])
    assert len(model.updates_) > 5
    assert len(model.trim_updates(0).updates_) == 0
    with pytest.raises(ValueError, match="number of records"):
        model.trim_updates(-1)
