"""Agreement with sklearn.svm.SVC over kinds of tables, labels, weights and kernel widths."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from clouds import four_clouds, two_clouds
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from test_svc_parity import CLOSE, CLOUDS, KERNELS, both

from lindero.svm import SVC


def thinned(X):
    """X with its small entries set to zero, as CSR."""
    return sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))


@pytest.mark.parametrize("params", KERNELS, ids=str)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_sparse_tables_agree_with_scikit_learn(params, n_classes):
    X, y = CLOUDS[n_classes]()
    ours, theirs = both(thinned(X), y, **params)
    assert_allclose(
        ours.decision_function(thinned(X)), theirs.decision_function(thinned(X)), **CLOSE
    )
    assert_array_equal(ours.predict(thinned(X)), theirs.predict(thinned(X)))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sparse_and_dense_tables_give_the_same_machine(kernel):
    X, y = four_clouds()
    sparse = SVC(kernel=kernel, tol=1e-8).fit(thinned(X), y)
    dense = SVC(kernel=kernel, tol=1e-8).fit(thinned(X).toarray(), y)
    values = dense.decision_function(thinned(X).toarray())
    assert_allclose(sparse.decision_function(thinned(X)), values, atol=1e-6)
    # Either kind of model takes either kind of new rows.
    assert_allclose(sparse.decision_function(thinned(X).toarray()), values, atol=1e-6)
    assert_allclose(dense.decision_function(thinned(X)), values, atol=1e-6)


def test_a_fit_on_sparse_rows_has_sparse_attributes():
    X, y = two_clouds()
    ours, theirs = both(thinned(X), y, kernel="linear")
    for name in ("coef_", "dual_coef_", "support_vectors_"):
        assert sp.issparse(getattr(theirs, name))
        assert sp.issparse(getattr(ours, name))
    assert_allclose(ours.coef_.toarray(), theirs.coef_.toarray(), **CLOSE)


@pytest.mark.parametrize("form", [sp.csc_array, sp.coo_array, sp.csr_matrix, sp.lil_matrix])
def test_every_sparse_form_is_taken(form):
    X, y = two_clouds()
    model = SVC(tol=1e-8).fit(form(thinned(X)), y)
    expected = SVC(tol=1e-8).fit(thinned(X), y).decision_function(thinned(X))
    assert_allclose(model.decision_function(form(thinned(X))), expected, atol=1e-9)


def test_repeated_entries_of_a_sparse_matrix_are_added_and_the_input_left_alone():
    X, y = two_clouds(n_samples=20)
    whole = sp.csr_array(X)
    pointers = 2 * whole.indptr
    halves = sp.csr_array(
        (np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), pointers), shape=X.shape
    )
    model = SVC(tol=1e-8).fit(halves, y)
    expected = SVC(tol=1e-8).fit(X, y).decision_function(X)
    assert_allclose(model.decision_function(X), expected, atol=1e-6)
    assert halves.nnz == 2 * whole.nnz


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([7, -3]),
        np.array([False, True]),
        np.array([1.0, 2.0]),
        np.array([200, 100], dtype=np.uint8),
    ],
    ids=lambda labels: f"{labels.dtype}",
)
def test_labels_of_any_kind_come_back_as_they_were(labels):
    X, y = two_clouds()
    ours, theirs = both(X, labels[y])
    assert_array_equal(ours.classes_, theirs.classes_)
    assert ours.predict(X).dtype == labels.dtype
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), **CLOSE)


@pytest.mark.parametrize("class_weight", [{0: 3.0, 2: 0.2}, {1: 5.0}, "balanced"], ids=str)
def test_class_weights_agree(class_weight):
    X, y = four_clouds()
    X, y = X[20:], np.sort(y)[20:]
    ours, theirs = both(X, y, class_weight=class_weight)
    assert_allclose(ours.class_weight_, theirs.class_weight_)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), **CLOSE)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_sample_weights_some_of_them_zero_agree(kernel, n_classes):
    X, y = CLOUDS[n_classes]()
    weights = np.random.default_rng(0).integers(0, 4, len(y)) / 2
    assert (weights == 0).any()
    ours, theirs = both(X, y, weights, kernel=kernel, gamma=0.3)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), **CLOSE)


def test_rows_of_weight_zero_are_never_support_vectors():
    X, y = four_clouds(apart=0.2)
    weights = np.ones(len(y))
    weights[::3] = 0
    model = SVC(gamma=0.3).fit(X, y, weights)
    assert (weights[model.support_] > 0).all()
    assert len(model.support_) > 0.9 * np.count_nonzero(weights)


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.7, 0.0])
def test_kernel_widths_agree(gamma):
    X, y = two_clouds()
    ours, theirs = both(3 * X, y, gamma=gamma)
    assert_allclose(ours.decision_function(3 * X), theirs.decision_function(3 * X), **CLOSE)


def test_constant_features_do_not_break_gamma_scale():
    X, y = np.ones((10, 2)), np.arange(10) % 2
    ours, theirs = both(X, y)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), **CLOSE)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_precomputed_kernels_agree(n_classes):
    X, y = CLOUDS[n_classes]()
    new, _ = CLOUDS[n_classes](seed=1, n_samples=50)
    ours, theirs = both(rbf_kernel(X), y, kernel="precomputed")
    assert ours.support_vectors_.shape == theirs.support_vectors_.shape
    assert_array_equal(ours.support_, theirs.support_)
    values = theirs.decision_function(rbf_kernel(new, X))
    assert_allclose(ours.decision_function(rbf_kernel(new, X)), values, **CLOSE)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_callable_kernels_agree(n_classes):
    X, y = CLOUDS[n_classes]()
    new, _ = CLOUDS[n_classes](seed=1, n_samples=50)
    ours, theirs = both(X, y, kernel=laplacian_kernel)
    assert_allclose(ours.decision_function(new), theirs.decision_function(new), **CLOSE)


def test_names_of_columns_are_kept():
    X, y = two_clouds()
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    ours, theirs = both(table, y)
    assert_array_equal(ours.feature_names_in_, theirs.feature_names_in_)
    assert not hasattr(SVC().fit(X, y), "feature_names_in_")
