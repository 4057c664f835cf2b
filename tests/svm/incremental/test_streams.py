"""What long or unruly streams do to incremental machines."""

import pickle
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from tests.svm.incremental.failures import MACHINES

from lindero.svm import (
    CostSensitiveSVC,
    IncrementalOneClassSVM,
    IncrementalSVC,
    IncrementalSVR,
    OneClassSVM,
)


def labelled(n, seed=2, d=3):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    return X, (X[:, 0] + 0.7 * random.normal(size=n) > 0).astype(int)


def batch(X, y, **params):
    return CostSensitiveSVC(tol=1e-9, **{"gamma": "auto", **params}).fit(X, y)


def test_ids_stay_with_their_samples_when_gaps_are_closed():
    X, y = labelled(200)
    model = IncrementalSVC(gamma="auto").fit(X, y)
    model.forget(np.r_[0:60, 130:200])
    model.forget(65).replace(70, y=1 - y[70])
    rest = np.delete(np.arange(60, 130), 5)
    assert model.sample_ids_.tolist() == rest.tolist()
    y[70] = 1 - y[70]
    assert_allclose(
        model.decision_function(X), batch(X[rest], y[rest]).decision_function(X), atol=1e-7
    )
    model.forget(rest[1:40]).forget(int(rest[41]))
    with pytest.raises(ValueError, match="No sample of id 65"):
        model.forget(65)


@pytest.mark.parametrize("machine", [IncrementalSVR, IncrementalOneClassSVM])
def test_ids_stay_with_their_samples_in_other_machines(machine):
    X, _ = labelled(200)
    targets = (X[:, 1],) if machine is IncrementalSVR else ()
    model = machine(gamma=0.5).fit(X, *targets).forget(np.arange(130)).forget(150)
    model.replace(140, sample_weight=2.0)
    rest = np.delete(np.arange(130, 200), 20)
    assert model.sample_ids_.tolist() == rest.tolist()
    weights = np.where(rest == 140, 2.0, 1.0)
    other = machine(gamma=0.5).fit(X[rest], *(t[rest] for t in targets), sample_weight=weights)
    decide = "predict" if machine is IncrementalSVR else "decision_function"
    assert_allclose(getattr(model, decide)(X), getattr(other, decide)(X), atol=1e-8)


@pytest.mark.parametrize(("kernel", "far"), [("poly", 100.0), ("poly", 1e3), ("linear", 1e6)])
@pytest.mark.parametrize("stays", [True, False])
def test_one_row_far_out_does_not_blunt_what_follows(kernel, far, stays):
    X, y = labelled(80)
    params = {"kernel": kernel, "coef0": 1.0, "gamma": "auto"}
    model = IncrementalSVC(**params).fit(X[:60], y[:60])
    model.partial_fit(np.full((1, 3), far), [1])
    if not stays:
        model.forget(60)
    for i in range(60, 80):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    certificate = model.certify()
    assert certificate.status.startswith("Optimal")
    assert certificate.duality_gap <= 1e-9 * certificate.primal
    if not stays:
        expected = batch(X, y, **params)
        assert certificate.dual == pytest.approx(expected.certificate_.dual, rel=1e-9)
        assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-6)


def test_columns_of_different_scales_are_not_called_optimal_before_they_are():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 5)) * [1, 1, 1, 1, 30]
    y = X[:, 0] + X[:, 1] ** 2
    model = IncrementalSVR(kernel="poly", coef0=1, gamma=1).fit(X[:200], y[:200])
    for i in range(200, 300):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    certificate = model.certify()
    assert certificate.duality_gap <= 1e-3 * certificate.primal
    if certificate.status.startswith("Optimal"):
        assert certificate.duality_gap <= 1e-6 * max(1.0, certificate.primal)


@pytest.mark.parametrize("window", [None, 5])
def test_all_samples_outside_whatever_their_weights(window):
    random = np.random.default_rng(0)
    X, weights = np.round(random.normal(size=(12, 2)), 2), 10 ** random.uniform(-3, 3, 12)
    model = IncrementalOneClassSVM(nu=1.0, gamma=0.5, window=window)
    for i in range(12):
        model.partial_fit(X[i : i + 1], sample_weight=weights[i : i + 1])
    held = model.sample_ids_
    expected = OneClassSVM(nu=1.0, gamma=0.5, tol=1e-9).fit(X[held], sample_weight=weights[held])
    assert_allclose(model.score_samples(X), expected.score_samples(X), rtol=1e-9)


def test_a_window_forgets_before_it_learns():
    model = IncrementalSVC(C=np.inf, kernel="linear", window=2)
    model.partial_fit([[0.0], [1.0]], [0, 1]).partial_fit([[2.0]], [0])
    assert model.sample_ids_.tolist() == [1, 2]
    assert model.predict([[1.4], [1.6]]).tolist() == [1, 0]


def test_what_a_window_drops_at_once_is_in_the_record():
    X, y = labelled(300)
    model = IncrementalSVC(window=50, gamma="auto").fit(X, y)
    kinds, counts = np.unique(model.updates_["kind"], return_counts=True)
    assert dict(zip(kinds.tolist(), counts.tolist(), strict=True)) == {"add": 300, "forget": 250}
    assert len(model.sample_ids_) == 50


def test_text_in_objects_is_text():
    X, _ = labelled(10)
    y = np.array(["n", "pos"] * 5)
    for first, second in ((y.astype(object), y), (y, y.astype(object))):
        model = IncrementalSVC(gamma="auto").fit(X[:8], first[:8]).partial_fit(X[8:], second[8:])
        model.replace(0, y="pos").replace(0, y=np.array(["n"], dtype=object))
        assert_allclose(
            model.decision_function(X),
            IncrementalSVC(gamma="auto").fit(X, y).decision_function(X),
            atol=1e-9,
        )
    IncrementalSVC(gamma="auto").partial_fit(X, y.astype(object), classes=["n", "pos"])


def test_classes_declared_later_hold():
    model = (
        IncrementalSVC(gamma="auto")
        .partial_fit([[0.0]], [0])
        .partial_fit([[0.5]], [0], classes=[0, 1])
    )
    with pytest.raises(ValueError, match=r"label 2.*as declared"):
        model.partial_fit([[1.0]], [2])
    with pytest.raises(ValueError, match="Only binary"):
        model.partial_fit([[1.0]], [1], classes=[0, 1, 2])


def test_costs_changed_in_mid_stream_wait_for_the_next_fit():
    X, y = labelled(40)
    order = np.argsort(y, kind="stable")
    model = IncrementalSVC(cost_negative=2.0, gamma="auto").partial_fit(X[order][:5], y[order][:5])
    model.set_params(cost_negative=5.0).partial_fit(X[order][5:], y[order][5:])
    assert model.margins_.tolist() == [1 / 3, 1.0]
    assert model.fit(X, y).margins_.tolist() == [1 / 9, 1.0]


def test_a_pickle_holds_the_samples_and_not_the_columns():
    X, y = labelled(600)
    model = IncrementalSVC(C=10.0, gamma="auto").fit(X, y)
    text = pickle.dumps(model)
    assert len(text) < 40 * X.nbytes
    other = pickle.loads(text)
    for each in (model, other):
        each.forget([1, 5, 7]).partial_fit(X[:2] + 0.1, y[:2])
    assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-10)


# -- gamma ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
def test_gamma_is_that_of_the_rows_of_the_first_call_and_stays(machine):
    X, y = labelled(60)
    rest = () if machine is IncrementalOneClassSVM else (y,)
    model = machine().fit(5.0 * X[:20], *(t[:20] for t in rest))
    named = machine(gamma=1 / (3 * (5.0 * X[:20]).var())).fit(5.0 * X[:20], *(t[:20] for t in rest))
    for each in (model, named):
        each.partial_fit(X[20:], *(t[20:] for t in rest)).forget(np.arange(5))
    decide = "predict" if machine is IncrementalSVR else "decision_function"
    assert_allclose(getattr(model, decide)(X), getattr(named, decide)(X), atol=1e-9)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("form", [np.array, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("n_first", [1, 3])
def test_first_rows_that_do_not_vary_have_no_scale(machine, form, n_first):
    X, y = labelled(20)
    first = np.repeat([[1.0, 2.0, 0.0]], n_first, axis=0)
    rest = () if machine is IncrementalOneClassSVM else (y,)
    model = machine()
    with pytest.warns(UserWarning, match=r"do not vary: gamma is 1/n_features = 0.333333") as told:
        model.partial_fit(form(first), *(t[:n_first] for t in rest))
    assert [warning.filename for warning in told] == [__file__]
    other = machine(gamma=1 / 3).partial_fit(form(first), *(t[:n_first] for t in rest))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        for i in range(n_first, 20):
            for each in (model, other):
                each.partial_fit(form(X[i : i + 1]), *(t[i : i + 1] for t in rest))
    decide = "predict" if machine is IncrementalSVR else "decision_function"
    assert_allclose(getattr(model, decide)(X), getattr(other, decide)(X), atol=1e-12)


@pytest.mark.parametrize("params", [{"kernel": "linear"}, {"gamma": "auto"}, {"gamma": 0.5}])
def test_a_single_first_row_is_fine_where_gamma_does_not_depend_on_it(params):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        IncrementalSVC(**params).partial_fit([[1.0, 2.0]], [0])
        IncrementalSVC().partial_fit([[1.0, 2.0], [1.0, 3.0]], [0, 0])


def test_the_path_ends_with_a_word_where_rounding_hides_it():
    # How far a path can be followed depends on the processor's arithmetic; of these, not all can.
    random = np.random.default_rng(1)
    ended = []
    for gamma in (1e-3, 1e-4, 1e-5, 1e-6):
        X, y = random.normal(size=(60, 2)), random.integers(0, 2, 60)
        model = IncrementalSVC(gamma=gamma).fit(X, y)
        before = model.decision_function(X)
        try:
            model.path(1e-6, 1e12)
        except ValueError as error:
            ended.append(str(error))
        assert_allclose(model.decision_function(X), before, rtol=0, atol=0)
    assert ended
    assert all(re.search(r"Rounding.*path in C beyond", words) for words in ended)
