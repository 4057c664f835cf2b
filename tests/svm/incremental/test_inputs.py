"""Tables of all kinds, copies, and other tools around the incremental classifier."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.svm.clouds import four_clouds, two_clouds
from tests.svm.incremental.machines import KERNEL_PARAMS as KERNELS
from tests.svm.incremental.machines import assert_same, batch, one_by_one

from lindero.svm import IncrementalSVC

# -- tables of all kinds --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["linear", "poly", "rbf"])
def test_sparse_tables_give_the_dense_machine(name):
    X, y = two_clouds(80)
    X[np.abs(X) < 0.7] = 0.0
    params = {"C": 4.0, **KERNELS[name]}
    dense = one_by_one(X, y, **params)
    sparse = one_by_one(sp.csr_array(X), y, **params)
    mixed = IncrementalSVC(**params).fit(sp.csr_array(X[:40]), y[:40])
    mixed.partial_fit(X[40:60], y[40:60]).partial_fit(sp.coo_array(X[60:]), y[60:])
    for model in (sparse, mixed):
        assert_allclose(model.decision_function(X), dense.decision_function(X), atol=1e-8)
        assert sp.issparse(model.support_vectors_)
        assert sp.issparse(model.dual_coef_)
        model.forget([0, 5, 70])
        assert_allclose(
            model.decision_function(sp.csr_array(X[:5])), model.decision_function(X[:5])
        )
    if name == "linear":
        assert_allclose(sparse.coef_.toarray(), dense.coef_, atol=1e-8)


def test_sparse_windows_close_their_gaps():
    X, y = two_clouds(400)
    X[np.abs(X) < 0.7] = 0.0
    model = one_by_one(sp.csr_array(X), y, window=20)
    assert_same(model, batch(X[380:], y[380:]), X)


@pytest.mark.parametrize("kind", [np.float32, np.int8, np.uint8, bool])
def test_tables_of_other_numbers(kind):
    X, y = two_clouds(60)
    X = np.abs(np.round(2 * X)).astype(kind)
    model = IncrementalSVC(C=2.0, gamma="auto").fit(X[:50], y[:50])
    model.partial_fit(X[50:], y[50:])
    assert_same(model, batch(X.astype(float), y, C=2.0), X)


def test_columns_have_names():
    X, y = two_clouds(60)
    frame = pd.DataFrame(X, columns=list("wxyz"))
    model = (
        IncrementalSVC(gamma="auto").partial_fit(frame[:50], y[:50]).partial_fit(frame[50:], y[50:])
    )
    assert model.feature_names_in_.tolist() == list("wxyz")
    assert_allclose(model.decision_function(frame), batch(X, y).decision_function(X), atol=1e-7)
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame[["z", "y", "x", "w"]][:5], y[:5])
    assert len(model.sample_ids_) == 60


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_rows_far_from_zero(kernel):
    X, y = two_clouds(90)
    model = one_by_one(X + 1e6, y, C=2.0, kernel=kernel, gamma=0.3)
    near = one_by_one(X, y, C=2.0, kernel=kernel, gamma=0.3)
    # Rows themselves are rounded by 1e-10.
    assert_allclose(model.decision_function(X + 1e6), near.decision_function(X), atol=1e-7)
    assert model.certify().kkt_gap <= 1e-9
    model.forget(np.arange(20))
    near.forget(np.arange(20))
    assert_allclose(model.decision_function(X + 1e6), near.decision_function(X), atol=1e-7)


def test_rows_that_move_far_away_from_the_first():
    X, y = two_clouds(60)
    X[1:] += 1e4
    model = one_by_one(X, y, C=2.0, gamma=0.3)
    assert_allclose(
        model.decision_function(X), batch(X, y, C=2.0, gamma=0.3).decision_function(X), atol=1e-5
    )


@pytest.mark.parametrize("name", KERNELS)
def test_a_tiny_cache_gives_the_same_machine(name):
    X, y = two_clouds(200, apart=0.5)
    params = {"C": 20.0, **KERNELS[name]}
    small = IncrementalSVC(cache_size=1e-6, **params).fit(X[:150], y[:150])
    large = IncrementalSVC(**params).fit(X[:150], y[:150])
    for i in range(150, 200):
        for model in (small, large):
            model.partial_fit(X[i : i + 1], y[i : i + 1]).forget(i - 150)
    assert len(small.support_) > 32
    assert_allclose(small.decision_function(X), large.decision_function(X), atol=1e-8)


# -- copies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))],
    ids=["copy", "pickle"],
)
def test_copies_go_on_learning_on_their_own(name, copied):
    X, y = two_clouds(80)
    params = {"C": 3.0, "window": 50, **KERNELS[name]}
    model = IncrementalSVC(**params).fit(X[:50], y[:50])
    values, updates = model.decision_function(X), model.updates_
    other = copied(model)
    assert_array_equal(other.decision_function(X), values)
    assert_array_equal(other.updates_, updates)
    assert other.certificate_ == model.certificate_
    other.forget([3, 4])
    for i in range(50, 80):
        other.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_array_equal(model.decision_function(X), values)
    assert_array_equal(model.sample_ids_, np.arange(50))
    rest = other.sample_ids_
    assert_same(other, batch(X[rest], y[rest], **params), X, 1e-6)


def test_a_clone_knows_no_samples():
    X, y = two_clouds(40)
    model = IncrementalSVC(C=3.0, window=9, positive_class=0, gamma="auto").fit(X, y)
    other = clone(model)
    assert other.get_params() == model.get_params()
    assert vars(other).keys() == other.get_params().keys()


# -- inside other tools ---------------------------------------------------------------------------


def test_it_works_in_a_pipeline():
    X, y = two_clouds(100)
    pipeline = make_pipeline(StandardScaler(), IncrementalSVC(gamma="auto")).fit(100 * X + 3, y)
    scaled = StandardScaler().fit_transform(100 * X + 3)
    assert_allclose(
        pipeline.decision_function(100 * X + 3),
        batch(scaled, y).decision_function(scaled),
        atol=1e-6,
    )


def test_several_classes_by_one_vs_rest():
    X, y = four_clouds(160)
    wrapped = OneVsRestClassifier(IncrementalSVC(C=2.0, gamma="auto"))
    for start in range(0, 160, 20):
        some = slice(start, start + 20)
        wrapped.partial_fit(X[some], y[some], classes=np.arange(4))
    expected = np.column_stack(
        [batch(X, (y == code).astype(int), C=2.0).decision_function(X) for code in range(4)]
    )
    assert_allclose(wrapped.decision_function(X), expected, atol=1e-6)
    assert_array_equal(wrapped.predict(X), expected.argmax(axis=1))
