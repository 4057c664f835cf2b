"""The incremental region: the batch machine at every moment."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.svm.clouds import two_clouds
from tests.svm.incremental.life import laplacian

from lindero.svm import IncrementalOneClassSVM, OneClassSVM

KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": "auto"},
    "rbf": {"kernel": "rbf", "gamma": 0.4},
    "callable": {"kernel": laplacian},
}


def cloud(n=70, n_features=2, seed=0):
    return two_clouds(n, n_features, seed=seed)[0] + 0.5


def batch(X, weights=None, **params):
    params = {name: value for name, value in params.items() if name != "window"}
    return OneClassSVM(tol=1e-11, **{"gamma": "auto", **params}).fit(X, sample_weight=weights)


def one_by_one(X, weights=None, **params):
    model = IncrementalOneClassSVM(**{"gamma": "auto", **params})
    for i in range(X.shape[0]):
        weight = None if weights is None else weights[i : i + 1]
        model.partial_fit(X[i : i + 1], sample_weight=weight)
    return model


def assert_same(model, other, X, atol=1e-7):
    assert_allclose(model.decision_function(X), other.decision_function(X), atol=atol)
    assert model.certificate_.dual == pytest.approx(other.certificate_.dual, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("nu", [0.02, 0.3, 0.77, 1.0])
@pytest.mark.parametrize("name", KERNELS)
def test_a_stream_gives_the_machine_of_the_batch(name, nu):
    X = cloud(60)
    params = {"nu": nu, **KERNELS[name]}
    model = one_by_one(X, **params)
    assert_same(model, batch(X, **params), X, 1e-6)
    assert np.mean(model.predict(X) == -1) <= nu + 1e-12
    assert len(model.support_) >= nu * 60 - 1e-9
    assert_allclose(model.score_samples(X) - model.offset_, model.decision_function(X), atol=1e-12)
    assert model.certify().infeasibility <= 1e-9


def test_weights_are_shares_of_the_sum():
    X = cloud(60)
    weights = np.random.default_rng(0).uniform(0.1, 3.0, 60)
    model = one_by_one(X, weights, nu=0.3)
    other = batch(X, weights, nu=0.3)
    assert_same(model, other, X, 1e-6)
    weights[[3, 40]] = 5.0
    model.replace([3, 40], 5.0)
    assert_same(model, batch(X, weights, nu=0.3), X, 1e-6)


@pytest.mark.parametrize("name", KERNELS)
def test_many_rows_at_once_and_one_by_one_are_the_same(name):
    X = cloud(120)
    params = {"nu": 0.25, **KERNELS[name]}
    at_once = IncrementalOneClassSVM(**params).fit(X)
    mixed = IncrementalOneClassSVM(**params).partial_fit(X[:70]).partial_fit(X[70:80])
    mixed.partial_fit(X[80:])
    for model in (mixed, one_by_one(X, **params)):
        assert_same(model, at_once, X, 1e-8)
    assert at_once.updates_["from_scratch"].all()
    assert mixed.updates_["from_scratch"].tolist() == [True] * 70 + [False] * 10 + [True] * 40


@pytest.mark.parametrize("nu", [0.1, 0.5, 1.0])
def test_what_was_forgotten_has_left_no_trace(nu):
    X = cloud(90)
    model = IncrementalOneClassSVM(nu=nu, gamma="auto").fit(X[:80])
    before = model.decision_function(X)
    model.partial_fit(X[80:]).forget(np.arange(80, 90))
    assert_allclose(model.decision_function(X), before, atol=1e-8)
    for i in range(0, 80, 3):
        model.forget(i)
    assert_same(model, batch(X[model.sample_ids_], nu=nu), X, 1e-6)
    model.forget(model.sample_ids_[:-1])
    assert len(model.sample_ids_) == 1
    assert_same(model, batch(X[model.sample_ids_], nu=nu), X, 1e-6)


@pytest.mark.parametrize("at_once", [False, True])
def test_a_window_holds_the_last_samples(at_once):
    X = cloud(300)
    params = {"nu": 0.2, "window": 25, "gamma": "auto"}
    model = IncrementalOneClassSVM(**params).fit(X) if at_once else one_by_one(X, **params)
    assert model.sample_ids_.tolist() == list(range(275, 300))
    assert_same(model, batch(X[275:], nu=0.2), X, 1e-6)
    assert at_once or model._machine.samples.n_slots <= 25 + 64 + 2


def test_repeated_rows_do_no_harm():
    X = np.repeat(np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), 10, axis=0)
    for kernel in ("linear", "rbf"):
        model = one_by_one(X, nu=0.35, kernel=kernel)
        assert_same(model, batch(X, nu=0.35, kernel=kernel), X)
        assert_same(model.forget(np.arange(0, 30, 4)), batch(
            X[model.sample_ids_], nu=0.35, kernel=kernel), X)  # fmt: skip


def test_a_fresh_certificate_says_the_same():
    X = cloud(60)
    model = IncrementalOneClassSVM(nu=0.3, gamma="auto").fit(X[:40])
    for i in range(40, 60):
        model.partial_fit(X[i : i + 1]).forget(i - 40)
        held, fresh = model.certificate_, model.certify()
        assert held.kkt_gap <= 1e-11
        assert fresh.kkt_gap == pytest.approx(held.kkt_gap, abs=1e-11)
        assert (fresh.primal, fresh.dual) == pytest.approx((held.primal, held.dual), rel=1e-10)


def test_tables_of_all_kinds_give_the_same_machine():
    X = np.round(3 * cloud(60, 3))
    expected = one_by_one(X, nu=0.3).decision_function(X)
    for table in (X.astype(np.float32), X.astype(np.int8), sp.csr_array(X)):
        model = IncrementalOneClassSVM(nu=0.3, gamma="auto").fit(table[:50]).partial_fit(table[50:])
        assert_allclose(model.decision_function(table), expected, atol=1e-8)
    frame = pd.DataFrame(X, columns=list("abc"))
    model = IncrementalOneClassSVM(nu=0.3, gamma="auto").fit(frame[:50]).partial_fit(frame[50:])
    assert_allclose(model.decision_function(frame), expected, atol=1e-8)
    small = IncrementalOneClassSVM(nu=0.3, cache_size=1e-6, gamma="auto")
    for i in range(60):
        small.partial_fit(X[i : i + 1])
    assert_allclose(small.decision_function(X), expected, atol=1e-8)


def test_rows_far_from_zero():
    X = cloud(60)
    far, near = one_by_one(X + 1e6, nu=0.3), one_by_one(X, nu=0.3)
    assert_allclose(far.decision_function(X + 1e6), near.decision_function(X), atol=1e-7)


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["copy", "pickle"]
)
def test_copies_go_on_learning_on_their_own(copied):
    X = cloud(60)
    model = IncrementalOneClassSVM(nu=0.3, gamma="auto").fit(X[:40])
    values = model.decision_function(X)
    other = copied(model).partial_fit(X[40:]).forget([0, 1])
    assert_same(other, batch(X[2:], nu=0.3), X, 1e-6)
    assert_array_equal(model.decision_function(X), values)


def test_it_works_in_a_pipeline():
    X = cloud(80)
    pipeline = make_pipeline(StandardScaler(), IncrementalOneClassSVM(nu=0.2, gamma="auto")).fit(
        50 * X - 7
    )
    scaled = StandardScaler().fit_transform(50 * X - 7)
    assert_allclose(
        pipeline.decision_function(50 * X - 7), batch(scaled, nu=0.2).decision_function(scaled),
        atol=1e-6,
    )  # fmt: skip
