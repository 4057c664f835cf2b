"""The rest of scikit-learn's LinearSVC and LinearSVR: few weights, one margin between all classes,
no intercept, and batches."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from lindero.svm import LinearSVC, LinearSVR, l1_min_c

VARIANTS = [
    {"penalty": "l1"},
    {"penalty": "l1", "fit_intercept": False},
    {"multi_class": "crammer_singer"},
    {"multi_class": "crammer_singer", "fit_intercept": False},
    {"fit_intercept": False},
    {"fit_intercept": False, "loss": "hinge"},
]
EVERY = pytest.mark.parametrize("variant", VARIANTS, ids=str)


def rows(n=240, d=12, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    scores = X @ (rng.standard_normal((d, max(2, n_classes))) * (np.arange(d) < 6)[:, None])
    y = (scores + rng.standard_normal(scores.shape)).argmax(axis=1)
    return X, y, rng.uniform(0.2, 2.0, n)


@EVERY
def test_certificates_are_recomputed_from_attributes_alone(variant):
    X, y, weights = rows()
    weights[:9] = 0.0
    model = LinearSVC(**variant).fit(X, y, weights)
    assert model.certificate_.status.startswith("Optimal")
    again = model.certify(X, y, weights)
    assert again.kkt_gap == pytest.approx(model.certificate_.kkt_gap, abs=1e-9)
    assert again.primal == pytest.approx(model.certificate_.primal)
    assert -1e-9 <= again.duality_gap <= 1e-3 * again.primal
    assert ("duality gap" in again.status) == ("penalty" in variant)
    model.dual_coef_ = 1.1 * model.dual_coef_
    assert not model.certify(X, y, weights).status.endswith("is within tol.")


@EVERY
def test_weights_are_repeated_rows_and_tables_of_any_kind_say_the_same(variant):
    X, y, _ = rows(120)
    times = np.random.default_rng(1).integers(1, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), times)
    one = LinearSVC(tol=1e-7, **variant).fit(X, y, times)
    for table in (X, sp.csr_array(X), X.astype(np.float32)):
        two = LinearSVC(tol=1e-7, **variant).fit(table[repeated], y[repeated])
        assert_allclose(one.coef_, two.coef_, atol=2e-4)
        assert_allclose(one.intercept_, two.intercept_, atol=2e-4)
    if not variant.get("fit_intercept", True):
        assert not one.intercept_.any()


@EVERY
def test_batches_end_where_all_rows_do(variant):
    X, y, weights = rows()
    whole = LinearSVC(tol=1e-6, **variant).fit(X, y, weights)
    model = LinearSVC(tol=1e-6, **variant)
    for part in np.split(np.arange(240), 4):
        model.partial_fit(X[part], y[part], sample_weight=weights[part])
    assert model.certify(X, y, weights).primal == pytest.approx(whole.certificate_.primal, rel=1e-5)
    assert np.mean(model.predict(X) == whole.predict(X)) >= 0.97  # rivals of a row may be even
    assert not model.warm_start


@EVERY
def test_a_warm_start_has_nothing_to_do(variant):
    X, y, _ = rows()
    model = LinearSVC(warm_start=True, **variant).fit(X, y)
    assert model.fit(X, y).n_iter_.max() == 0


def test_batches_wait_for_every_class():
    X, y, _ = rows()
    order = np.argsort(y, kind="stable")
    model = LinearSVC().partial_fit(X[order[:50]], y[order[:50]], classes=[0, 1, 2])
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, 1:], y)
    with pytest.raises(ValueError, match="first call"):
        model.partial_fit(X, np.where(y == 2, 3, y))
    model.partial_fit(X[order[50:]], y[order[50:]])
    known = LinearSVC().fit(X[order], y[order])
    assert_allclose(model.coef_, known.coef_, atol=1e-6)
    with pytest.warns(UserWarning, match="begins anew"):
        known.partial_fit(X, y)
    with pytest.raises(ValueError, match="not those of the first call"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="all sparse or all dense"):
        model.partial_fit(sp.csr_array(X), y)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_regressions_without_an_intercept_and_in_batches(loss):
    X, _, weights = rows()
    y = X[:, 0] + 0.1 * np.random.default_rng(2).standard_normal(240)
    model = LinearSVR(loss=loss, epsilon=0.05, fit_intercept=False, tol=1e-6).fit(X, y, weights)
    peer = sklearn.svm.LinearSVR(
        loss=loss, epsilon=0.05, fit_intercept=False, dual=True, tol=1e-8, max_iter=100_000,
        random_state=0,
    ).fit(X, y, weights)  # fmt: skip
    errors = np.maximum(0.0, np.abs(X @ peer.coef_ - y) - 0.05)
    loss_of_peer = weights @ (errors**2 if "squared" in loss else errors)
    theirs = 0.5 * peer.coef_ @ peer.coef_ + loss_of_peer
    ours = model.certificate_
    assert ours.dual <= theirs
    assert ours.primal <= theirs * (1 + 1e-6)
    # Half the square of a distance from the optimum is at most what the objective is above it.
    above = np.sqrt(2 * (theirs - ours.dual)) + np.sqrt(2 * (ours.primal - ours.dual))
    assert np.linalg.norm(model.coef_ - peer.coef_) <= above
    assert above <= 0.02
    assert not model.intercept_.any()
    parts = LinearSVR(loss=loss, epsilon=0.05, tol=1e-6)
    for part in np.split(np.arange(240), 4):
        parts.partial_fit(X[part], y[part], weights[part])
    whole = LinearSVR(loss=loss, epsilon=0.05, tol=1e-6).fit(X, y, weights)
    assert parts.certify(X, y, weights).primal == pytest.approx(whole.certificate_.primal, rel=1e-5)


@pytest.mark.parametrize("C", [0.05, 1.0])
def test_objectives_without_intercepts_are_not_above_those_of_the_peer(C):
    X, y, _ = rows()
    ours = LinearSVC(multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-6).fit(X, y)
    peer = sklearn.svm.LinearSVC(
        multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-6, max_iter=100_000,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    assert_allclose(ours.coef_, peer.coef_, atol=1e-2)
    assert np.mean(ours.predict(X) == peer.predict(X)) >= 0.97
    few = LinearSVC(penalty="l1", C=C, fit_intercept=False, tol=1e-8).fit(X, y == 1)
    other = sklearn.svm.LinearSVC(
        penalty="l1", dual=False, C=C, fit_intercept=False, tol=1e-8, max_iter=100_000,
        random_state=0,
    ).fit(X, y == 1)  # fmt: skip
    assert_allclose(few.coef_, other.coef_, atol=1e-3)


def test_two_classes_of_one_margin_are_a_binary_machine():
    X, y, _ = rows(n_classes=2)
    model = LinearSVC(multi_class="crammer_singer", C=0.3, tol=1e-6).fit(X, y)
    known = LinearSVC(loss="hinge", C=0.6, tol=1e-6).fit(X, y)
    assert_allclose(model.coef_, known.coef_)
    assert model.certify(X, y).primal == pytest.approx(known.certificate_.primal)


def test_a_path_of_few_weights_begins_with_none():
    X, y, _ = rows()
    least = l1_min_c(X, y)
    assert not LinearSVC("l1", C=0.99 * least).fit(X, y).coef_.any()
    assert LinearSVC("l1", C=1.01 * least, tol=1e-8).fit(X, y).coef_.any()
    assert l1_min_c(sp.csr_array(X), y) == pytest.approx(least)
    known = sklearn.svm.l1_min_c(X, y, fit_intercept=False)
    assert l1_min_c(X, y, fit_intercept=False) == pytest.approx(known)
    with pytest.raises(ValueError, match="loss must be"):
        l1_min_c(X, y, loss="log")


@pytest.mark.parametrize("variant", [VARIANTS[0], VARIANTS[2], VARIANTS[5]], ids=str)
def test_limits_and_hostile_tables(variant):
    X, y, _ = rows()
    with pytest.warns(ConvergenceWarning):
        stopped = LinearSVC(C=100.0, max_iter=1, tol=1e-12, **variant).fit(X, y)
    assert stopped.fit_status_ == 1
    table = sp.csr_array(X)
    double = sp.csr_array(
        (np.repeat(table.data / 2, 2), np.repeat(table.indices, 2), 2 * table.indptr), X.shape
    )
    wide = sp.csr_array(
        (table.data, table.indices.astype(np.int64), table.indptr.astype(np.int64)), X.shape
    )
    known = LinearSVC(tol=1e-7, **variant).fit(X, y)
    for other in (double, wide):
        assert_allclose(LinearSVC(tol=1e-7, **variant).fit(other, y).coef_, known.coef_, atol=1e-4)
    table.indices[3] = -1
    with pytest.raises(ValueError, match="indices do not fit"):
        LinearSVC(**variant).fit(table, y)
    with pytest.raises(ValueError, match="squared_hinge"):
        LinearSVC(penalty="l1", loss="hinge").fit(X, y)
