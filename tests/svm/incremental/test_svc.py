"""The incremental classifier: the batch machine at every moment, however its samples came."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_svmlight_file
from tests.svm.clouds import two_clouds
from tests.svm.incremental.machines import KERNEL_PARAMS as KERNELS
from tests.svm.incremental.machines import assert_same, batch, one_by_one

from lindero.svm import IncrementalSVC

COSTS = {"cost_positive": 3.0, "cost_negative": 1.4}


# -- equal to the batch machine -------------------------------------------------------------------


@pytest.mark.parametrize("costs", [{}, COSTS], ids=["plain", "costs"])
@pytest.mark.parametrize("C", [0.1, 10.0, 1e4])
@pytest.mark.parametrize("name", KERNELS)
def test_a_stream_gives_the_machine_of_the_batch(name, C, costs):
    X, y = two_clouds(90, 3)
    params = {"C": C, **KERNELS[name], **costs}
    factors = np.random.default_rng(0).uniform(0.2, 2.0, 90)
    model = one_by_one(X, y, factors, **params)
    other = batch(X, y, factors, **params)
    assert_same(model, other, X, 1e-6)
    assert_array_equal(model.sample_ids_, np.arange(90))
    assert model.shape_fit_ == (90, 3)
    assert model.n_support_.sum() == len(model.support_) == model.dual_coef_.shape[1]
    assert_array_equal(model.support_vectors_, X[model.support_])
    assert_array_equal(y[model.support_], np.repeat([0, 1], model.n_support_))
    assert (np.sign(model.dual_coef_[0]) == np.where(y[model.support_] == 1, 1, -1)).all()


@pytest.mark.parametrize("name", KERNELS)
def test_many_rows_at_once_and_one_by_one_are_the_same(name):
    X, y = two_clouds(150, 3)
    params = {"C": 5.0, **KERNELS[name]}
    at_once = IncrementalSVC(**params).fit(X, y)
    mixed = IncrementalSVC(**params).partial_fit(X[:7], y[:7]).partial_fit(X[7:100], y[7:100])
    mixed.partial_fit(X[100:], y[100:])
    single = one_by_one(X, y, **params)
    for model in (mixed, single):
        assert_same(model, at_once, X, 1e-8)
    assert at_once.updates_["from_scratch"].all()
    assert not single.updates_["from_scratch"].any()
    assert mixed.updates_["from_scratch"].tolist() == [False] * 7 + [True] * 143
    for model in (at_once, mixed, single):
        assert model.updates_["id"].tolist() == list(range(150))
        assert set(model.updates_["kind"]) == {"add"}


def test_what_was_forgotten_has_left_no_trace():
    X, y = two_clouds(120)
    gone = np.random.default_rng(1).permutation(120)[:50]
    rest = np.setdiff1d(np.arange(120), gone)
    model = IncrementalSVC(C=20.0, gamma="auto").fit(X, y)
    at_once = copy.deepcopy(model).forget(gone)
    for i in gone:
        model.forget(int(i))
    other = batch(X[rest], y[rest], C=20.0)
    for forgetful in (model, at_once):
        assert_same(forgetful, other, X, 1e-6)
        assert_array_equal(forgetful.sample_ids_, rest)
    assert at_once.updates_["from_scratch"][-50:].all()
    assert at_once.updates_["kind"][-50:].tolist() == ["forget"] * 50


@pytest.mark.parametrize("name", KERNELS)
def test_adding_and_forgetting_is_as_if_nothing_had_been(name):
    X, y = two_clouds(60, 3, apart=0.5)
    params = {"C": 30.0, **KERNELS[name]}
    model = IncrementalSVC(**params).fit(X[:40], y[:40])
    before = model.decision_function(X)
    for i in range(40, 60):
        model.partial_fit(X[i : i + 1], 1 - y[i : i + 1])
        assert model.sample_ids_[-1] == i
        model.forget(i)
        assert_allclose(model.decision_function(X), before, atol=1e-8)
    model.partial_fit(X[40:], y[40:]).forget(model.sample_ids_[-20:])
    assert_allclose(model.decision_function(X), before, atol=1e-8)
    assert_array_equal(model.sample_ids_, np.arange(40))


def test_ids_are_never_given_again():
    X, y = two_clouds(30)
    model = IncrementalSVC(gamma="auto").fit(X, y).forget([29, 28, 4])
    model.partial_fit(X[:2], y[:2])
    assert model.sample_ids_.tolist() == [*range(4), *range(5, 28), 30, 31]
    assert model.fit(X, y).sample_ids_.tolist() == list(range(30))


def test_labels_and_costs_are_changed_in_place():
    X, y = two_clouds(60)
    changed, costs = y.copy(), np.ones(60)
    model = IncrementalSVC(C=3.0, gamma="auto", **COSTS).fit(X, y)
    changed[[3, 9]] = 1 - y[[3, 9]]
    model.replace([3, 9], changed[[3, 9]])
    assert_same(model, batch(X, changed, C=3.0, **COSTS), X)
    costs[[5, 9, 20]] = [4.0, 0.0, 0.5]
    model.replace([5, 9, 20], sample_cost=[4.0, 0.0, 0.5])
    assert_same(model, batch(X, changed, costs, C=3.0, **COSTS), X)
    changed[:10], costs[:10] = 1, 2.0
    model.replace(np.arange(10), 1, 2.0)
    assert_same(model, batch(X, changed, costs, C=3.0, **COSTS), X)
    assert model.updates_["kind"].tolist() == ["add"] * 60 + ["replace"] * 15
    assert_array_equal(model.sample_ids_, np.arange(60))


@pytest.mark.parametrize("C", [1.0, 1e6])
def test_conflicting_and_repeated_samples_do_no_harm(C):
    X = np.repeat(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), 12, axis=0)
    y = np.arange(36) % 2
    model = one_by_one(X, y, C=C, kernel="linear")
    assert_same(model, batch(X, y, C=C, kernel="linear"), X, 1e-6)
    for i in range(0, 30, 3):
        model.forget(i)
    rest = model.sample_ids_
    assert_same(model, batch(X[rest], y[rest], C=C, kernel="linear"), X, 1e-6)


def test_a_large_stream_keeps_to_the_batch_machine():
    """More samples than those that are looked at closely in a step."""
    X, y = two_clouds(1200, 5, apart=2.0)
    model = IncrementalSVC(C=10.0, gamma=0.3).fit(X[:700], y[:700])
    for i in range(700, 900):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        model.forget(int(model.sample_ids_[0]))
    assert_same(model, batch(X[200:900], y[200:900], C=10.0, gamma=0.3), X, 1e-6)
    assert model.certify().kkt_gap <= 1e-10


def test_a_fresh_certificate_says_the_same():
    X, y = two_clouds(80)
    model = IncrementalSVC(C=100.0, gamma="auto").fit(X[:50], y[:50])
    for i in range(50, 80):
        model.partial_fit(X[i : i + 1], y[i : i + 1]).forget(i - 50)
        held, fresh = model.certificate_, model.certify()
        assert fresh.kkt_gap == pytest.approx(held.kkt_gap, abs=1e-10)
        assert (fresh.primal, fresh.dual) == pytest.approx((held.primal, held.dual), rel=1e-10)
        assert held.kkt_gap <= 1e-10
        assert held.duality_gap <= 1e-8 * abs(held.dual)
        assert (fresh.n_iter, fresh.status) == (held.n_iter, held.status)
        assert held.status.startswith("Optimal")


def test_support_vectors_are_free_or_at_their_bounds():
    X, y = two_clouds(80, apart=0.8)
    costs = np.random.default_rng(0).uniform(0.3, 2.0, 80)
    model = one_by_one(X, y, costs, C=2.0, gamma=0.5).forget([0, 7])
    rest = model.sample_ids_
    u, z = 2.0 * costs[rest], np.zeros(78)
    z[model.support_] = np.abs(model.dual_coef_[0])
    assert_array_equal(np.sort(model.bounded_support_), np.flatnonzero(z == u))
    assert_array_equal(np.sort(model.free_support_), np.flatnonzero((z > 0) & (z < u)))
    margins = np.where(y[rest] == 1, 1, -1) * model.decision_function(X[rest])
    assert_allclose(margins[model.free_support_], 1.0, atol=1e-9)
    assert (margins[model.bounded_support_] <= 1.0 + 1e-9).all()


# -- window ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("at_once", [False, True])
def test_a_window_holds_the_last_samples(name, at_once):
    X, y = two_clouds(160, 3)
    params = {"C": 5.0, "window": 30, **KERNELS[name]}
    model = IncrementalSVC(**params)
    if at_once:
        model.fit(X, y)
    else:
        for i in range(160):
            model.partial_fit(X[i : i + 1], y[i : i + 1])
            assert len(model.sample_ids_) == min(i + 1, 30)
    assert model.sample_ids_.tolist() == list(range(130, 160))
    assert_same(model, batch(X[130:], y[130:], **params), X, 1e-6)


@pytest.mark.parametrize("at_once", [False, True])
def test_a_window_keeps_the_last_sample_of_a_class(at_once):
    X, _ = two_clouds(80)
    y = np.zeros(80, dtype=int)
    y[[1, 3, 70]] = 1
    model = IncrementalSVC(window=10, gamma="auto")
    for start, stop, ids in ((0, 60, [3, *range(51, 60)]), (60, 80, list(range(70, 80)))):
        if at_once:
            model.partial_fit(X[start:stop], y[start:stop])
        else:
            for i in range(start, stop):
                model.partial_fit(X[i : i + 1], y[i : i + 1])
        assert model.sample_ids_.tolist() == ids
        assert_same(model, batch(X[ids], y[ids]), X)


def test_the_smallest_window_holds_one_of_each_class():
    X, y = two_clouds(40)
    model = one_by_one(X, y, window=2)
    newest = sorted(int(np.flatnonzero(y == label)[-1]) for label in (0, 1))
    assert model.sample_ids_.tolist() == newest


def test_a_window_does_not_grow_inside():
    X, y = two_clouds(2000)
    model = IncrementalSVC(window=50, gamma="auto").fit(X[:50], y[:50])
    largest = []
    for i in range(50, 2000):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        largest.append(model._machine.samples.n_slots)
    assert max(largest) <= 50 + 64 + 2
    assert model.sample_ids_.tolist() == list(range(1950, 2000))
    assert_same(model, batch(X[1950:], y[1950:]), X)
    assert len(model.updates_) == 50 + 2 * 1950


def test_parameters_set_later_wait_for_the_next_fit():
    X, y = two_clouds(60)
    model = IncrementalSVC(C=2.0, gamma=0.5, window=20).fit(X[:40], y[:40])
    model.set_params(C=50.0, gamma=3.0, window=None, cost_positive=9.0)
    for i in range(40, 60):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_same(model, batch(X[40:], y[40:], C=2.0, gamma=0.5), X)
    model.fit(X, y)
    assert_same(model, batch(X, y, C=50.0, gamma=3.0, cost_positive=9.0), X, 1e-6)


# -- one class at first ---------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["a", "z"], ids=["sorts before", "sorts after"])
@pytest.mark.parametrize("positive", [None, "m", "other"])
@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("n_first", [1, 40])
def test_the_second_class_may_come_later(other, positive, declared, n_first):
    X, codes = two_clouds(80)
    X, codes = X[np.argsort(codes, kind="stable")], np.sort(codes)
    X, codes = X[40 - n_first :], codes[40 - n_first :]
    y = np.where(codes == 1, other, "m")
    positive_class = other if positive == "other" else positive
    params = {"C": 3.0, "positive_class": positive_class, "gamma": "auto", **COSTS}
    model = IncrementalSVC(**params)
    classes = sorted(["m", other]) if declared else None
    model.partial_fit(X[:n_first], y[:n_first], classes=classes)
    assert_array_equal(model.predict(X), np.full(len(X), "m"))
    assert len(model.support_) == 0
    assert model.certificate_.kkt_gap == 0.0
    assert model.classes_.tolist() == (classes if declared else ["m"])
    if declared:
        sign = 1 if model.classes_[1] == "m" else -1
        assert (sign * model.decision_function(X) > 0).all()
    model.partial_fit(X[n_first : n_first + 3], y[n_first : n_first + 3])
    model.partial_fit(X[n_first + 3 :], y[n_first + 3 :])
    assert model.classes_.tolist() == sorted(["m", other])
    assert_same(model, batch(X, y, **params), X)


def test_forgetting_among_one_class_only():
    X, _ = two_clouds(20)
    model = IncrementalSVC(gamma="auto").partial_fit(X[:10], np.full(10, 5)).forget([0, 3, 9])
    model.replace([1, 2], sample_cost=3.0).partial_fit(X[10:12], [3, 3])
    rows, costs = [1, 2, 4, 5, 6, 7, 8, 10, 11], np.array([3.0, 3, 1, 1, 1, 1, 1, 1, 1])
    labels = np.array([5] * 7 + [3] * 2)
    assert_same(model, batch(X[rows], labels, costs), X)


# -- real data ------------------------------------------------------------------------------------


def test_ijcnn1_as_a_stream_is_ijcnn1_at_once(real_data):
    X, y = load_svmlight_file(str(real_data("ijcnn1.svm.gz")), n_features=22)
    X, y = X[:1500].toarray(), y[:1500]
    params = {"C": 10.0, "cost_positive": 1.0, "cost_negative": 2.0, "gamma": 0.25}
    model = IncrementalSVC(**params)
    for i in range(1500):
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[-1, 1])
    assert not model.updates_["from_scratch"].any()
    other = batch(X, y, **params)
    assert_same(model, other, X, 1e-5)
    assert model.certify().kkt_gap <= 1e-9
    assert model.updates_["set_changes"].mean() < 5
