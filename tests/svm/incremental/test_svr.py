"""The incremental regression: the batch machine at every moment."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.svm.incremental.life import laplacian

from lindero.svm import SVR, IncrementalSVR

KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": "auto"},
    "rbf": {"kernel": "rbf", "gamma": 0.4},
    "callable": {"kernel": laplacian},
}


def curve(n=80, n_features=2, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, n_features))
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * random.normal(size=n)


def batch(X, y, weights=None, **params):
    params = {name: value for name, value in params.items() if name != "window"}
    return SVR(tol=1e-9, **{"gamma": "auto", **params}).fit(X, y, sample_weight=weights)


def one_by_one(X, y, weights=None, **params):
    model = IncrementalSVR(**{"gamma": "auto", **params})
    for i in range(X.shape[0]):
        weight = None if weights is None else weights[i : i + 1]
        model.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=weight)
    return model


def assert_same(model, other, X, atol=1e-6):
    assert_allclose(model.predict(X), other.predict(X), atol=atol)
    assert model.certificate_.dual == pytest.approx(other.certificate_.dual, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 10.0])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("name", KERNELS)
def test_a_stream_gives_the_machine_of_the_batch(name, C, epsilon):
    X, y = curve(60)
    weights = np.random.default_rng(0).uniform(0.2, 2.0, 60)
    params = {"C": C, "epsilon": epsilon, **KERNELS[name]}
    model = one_by_one(X, y, weights, **params)
    other = batch(X, y, weights, **params)
    values, expected = model.predict(X), other.predict(X)
    if epsilon < 10.0:
        assert_allclose(values, expected, atol=2e-6)
    assert_allclose(values - values[0], expected - expected[0], atol=2e-6)
    assert model.certificate_.dual == pytest.approx(other.certificate_.dual, rel=1e-8, abs=1e-9)
    assert_array_equal(model.support_vectors_, X[model.support_])
    assert (len(model.support_) == 0) == (epsilon == 10.0)


@pytest.mark.parametrize("name", KERNELS)
def test_many_rows_at_once_and_one_by_one_are_the_same(name):
    X, y = curve(120)
    params = {"C": 5.0, **KERNELS[name]}
    at_once = IncrementalSVR(**params).fit(X, y)
    mixed = IncrementalSVR(**params).partial_fit(X[:70], y[:70]).partial_fit(X[70:80], y[70:80])
    mixed.partial_fit(X[80:], y[80:])
    single = one_by_one(X, y, **params)
    for model in (mixed, single):
        assert_same(model, at_once, X, 1e-8)
    assert at_once.updates_["from_scratch"].all()
    assert mixed.updates_["from_scratch"].tolist() == [True] * 70 + [False] * 10 + [True] * 40


def test_samples_are_forgotten_and_changed():
    X, y = curve(80)
    model = IncrementalSVR(C=20.0, gamma="auto").fit(X, y)
    before = model.predict(X)
    model.partial_fit(X[:1] + 0.1, [5.0]).forget(80)
    assert_allclose(model.predict(X), before, atol=1e-8)
    y, weights = y.copy(), np.ones(80)
    y[[3, 4]], weights[[3, 9]] = [2.0, -2.0], [0.5, 3.0]
    model.replace([3, 4], [2.0, -2.0]).replace([9, 3], sample_weight=[3.0, 0.5])
    assert_same(model, batch(X, y, weights, C=20.0), X)
    y[:5], weights[:5] = 1.0, 2.0
    model.replace(np.arange(5), 1.0, 2.0)
    assert_same(model, batch(X, y, weights, C=20.0), X)
    gone = np.arange(0, 80, 2)
    rest = np.arange(1, 80, 2)
    assert_same(model.forget(gone), batch(X[rest], y[rest], weights[rest], C=20.0), X)
    assert_array_equal(model.sample_ids_, rest)


@pytest.mark.parametrize("at_once", [False, True])
def test_a_window_holds_the_last_samples(at_once):
    X, y = curve(300)
    params = {"C": 5.0, "window": 25, "gamma": 0.5}
    model = IncrementalSVR(**params).fit(X, y) if at_once else one_by_one(X, y, **params)
    assert model.sample_ids_.tolist() == list(range(275, 300))
    assert_same(model, batch(X[275:], y[275:], **params), X)
    assert at_once or model._machine.samples.n_slots <= 25 + 64 + 2


def test_one_sample_is_its_own_regression():
    model = IncrementalSVR(epsilon=0.1, gamma="auto").partial_fit([[1.0, 2.0]], [7.0])
    assert_allclose(model.predict([[1.0, 2.0], [9.0, 9.0]]), 7.0, atol=1e-12)
    assert len(model.support_) == 0


def test_nothing_is_left_of_a_sample_that_was_forgotten():
    """The other one is inside the tube again: not even rounding makes it a support vector."""
    random = np.random.default_rng(0)
    for _ in range(50):
        X, y = random.normal(size=(2, 2)), random.normal(size=2) * 5
        model = IncrementalSVR(C=10.0 ** random.uniform(-3, 3), gamma="auto").partial_fit(
            X[:1], y[:1]
        )
        model.partial_fit(X[1:], y[1:], sample_weight=[3.0]).forget(1)
        assert len(model.support_) == 0


def test_a_fresh_certificate_says_the_same():
    X, y = curve(60)
    model = IncrementalSVR(C=100.0, epsilon=0.01, gamma="auto").fit(X[:40], y[:40])
    for i in range(40, 60):
        model.partial_fit(X[i : i + 1], y[i : i + 1]).forget(i - 40)
        held, fresh = model.certificate_, model.certify()
        assert held.kkt_gap <= 1e-10
        assert fresh.kkt_gap == pytest.approx(held.kkt_gap, abs=1e-10)
        assert (fresh.primal, fresh.dual) == pytest.approx((held.primal, held.dual), rel=1e-9)


def test_tables_of_all_kinds_give_the_same_machine():
    X, y = curve(60, 3)
    X = np.round(3 * X)
    expected = one_by_one(X, y).predict(X)
    for table in (X.astype(np.float32), X.astype(np.int8), sp.csr_array(X)):
        model = IncrementalSVR(gamma="auto").fit(table[:50], y[:50])
        model.partial_fit(table[50:], y[50:].astype(np.float32).astype(float))
        assert_allclose(model.predict(table), expected, atol=1e-5)
    frame = pd.DataFrame(X, columns=list("abc"))
    model = IncrementalSVR(gamma="auto").fit(frame[:50], y[:50]).partial_fit(frame[50:], y[50:])
    assert_allclose(model.predict(frame), expected, atol=1e-8)
    small = IncrementalSVR(cache_size=1e-6, gamma="auto").fit(X[:50], y[:50])
    for i in range(50, 60):
        small.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_allclose(small.predict(X), expected, atol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_rows_far_from_zero(kernel):
    X, y = curve(60)
    far = one_by_one(X + 1e6, y, kernel=kernel, gamma=0.4)
    near = one_by_one(X, y, kernel=kernel, gamma=0.4)
    assert_allclose(far.predict(X + 1e6), near.predict(X), atol=1e-7)


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["copy", "pickle"]
)
def test_copies_go_on_learning_on_their_own(copied):
    X, y = curve(60)
    model = IncrementalSVR(gamma="auto").fit(X[:40], y[:40])
    values = model.predict(X)
    other = copied(model)
    assert_array_equal(other.predict(X), values)
    for i in range(40, 60):
        other.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_same(other.forget([0, 1]), batch(X[2:], y[2:]), X)
    assert_array_equal(model.predict(X), values)
    assert clone(model).get_params() == model.get_params()


def test_it_works_in_a_pipeline():
    X, y = curve(80)
    pipeline = make_pipeline(StandardScaler(), IncrementalSVR(gamma="auto")).fit(50 * X - 7, y)
    scaled = StandardScaler().fit_transform(50 * X - 7)
    assert_allclose(pipeline.predict(50 * X - 7), batch(scaled, y).predict(scaled), atol=1e-6)
