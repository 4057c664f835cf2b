"""One machine per pair or per class, and the rule that joins their decisions."""

import numpy as np
import pytest
import scipy.sparse as sp
from clouds import four_clouds
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from lindero.svm import SVC


@pytest.mark.parametrize("params", [{}, {"kernel": "linear"}, {"kernel": "poly", "C": 3}], ids=str)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_one_against_the_rest_is_one_binary_fit_per_class(params, form):
    X, y = four_clouds()
    model = SVC(multiclass="ovr", tol=1e-8, **params).fit(form(X), y)
    separate = [SVC(tol=1e-8, **params).fit(form(X), y == c) for c in range(4)]
    values = np.column_stack([machine.decision_function(X) for machine in separate])
    assert_allclose(model.decision_function(X), values, atol=1e-6)
    assert_allclose(model.intercept_, [machine.intercept_[0] for machine in separate], atol=1e-6)
    assert_array_equal(model.predict(X), np.argmax(values, axis=1))


def test_one_against_the_rest_applies_weights_as_the_binary_fits_do():
    X, y = four_clouds()
    weights = np.random.default_rng(0).integers(0, 3, len(y)) / 2
    model = SVC(multiclass="ovr", tol=1e-8, gamma=0.3).fit(X, y, weights)
    separate = [SVC(tol=1e-8, gamma=0.3).fit(X, y == c, weights) for c in range(4)]
    values = np.column_stack([machine.decision_function(X) for machine in separate])
    assert_allclose(model.decision_function(X), values, atol=1e-6)


def test_one_against_one_is_one_binary_fit_per_pair():
    X, y = four_clouds()
    model = SVC(decision_function_shape="ovo", gamma=0.3, tol=1e-8).fit(X, y)
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    chosen = [np.isin(y, pair) for pair in pairs]
    separate = [SVC(gamma=0.3, tol=1e-8).fit(X[rows], y[rows]) for rows in chosen]
    # A binary fit counts its second class as positive, a pair its first.
    values = -np.column_stack([machine.decision_function(X) for machine in separate])
    assert_allclose(model.decision_function(X), values, atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_attributes_of_one_against_the_rest_have_one_row_per_class(kernel):
    X, y = four_clouds()
    model = SVC(multiclass="ovr", kernel=kernel).fit(X, y)
    assert model.dual_coef_.shape == (4, len(model.support_))
    assert model.intercept_.shape == model.n_iter_.shape == (4,)
    assert model.decision_function(X).shape == (len(X), 4)
    assert_array_equal(model.n_support_, np.bincount(y[model.support_]))


def test_weights_of_one_against_the_rest_give_its_decisions():
    X, y = four_clouds()
    model = SVC(multiclass="ovr", kernel="linear").fit(X, y)
    assert_allclose(X @ model.coef_.T + model.intercept_, model.decision_function(X), atol=1e-9)


def test_with_two_classes_both_schemes_are_the_same_fit():
    X, y = four_clouds()
    rest, pairs = (SVC(multiclass=name).fit(X, y > 1) for name in ("ovr", "ovo"))
    assert_array_equal(rest.dual_coef_, pairs.dual_coef_)
    assert_array_equal(rest.decision_function(X), pairs.decision_function(X))


@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**31),
    n_classes=st.integers(3, 5),
    multiclass=st.sampled_from(["ovo", "ovr"]),
)
def test_with_ties_broken_the_prediction_is_always_the_largest_decision(
    seed, n_classes, multiclass
):
    random = np.random.default_rng(seed)
    X = random.integers(0, 3, size=(40, 2)).astype(float)  # a coarse grid, so that ties happen
    y = np.concatenate([np.arange(n_classes), random.integers(0, n_classes, 40 - n_classes)])
    model = SVC(break_ties=True, multiclass=multiclass).fit(X, y)
    new = random.normal(1, 2, size=(200, 2))
    assert_array_equal(model.predict(new), np.argmax(model.decision_function(new), axis=1))


def test_one_against_the_rest_predicts_the_largest_decision_in_any_case():
    X, y = four_clouds(apart=0.2)
    model = SVC(multiclass="ovr").fit(X, y)
    assert_array_equal(model.predict(X), np.argmax(model.decision_function(X), axis=1))


def test_breaking_ties_with_decisions_per_pair_is_refused_by_predict():
    X, y = four_clouds()
    model = SVC(break_ties=True, decision_function_shape="ovo").fit(X, y)
    assert model.decision_function(X).shape == (len(X), 6)
    with pytest.raises(ValueError, match=r"break_ties must be False.*decision_function_shape"):
        model.predict(X)


def test_many_small_classes_are_fitted_side_by_side_as_one_by_one():
    """Enough rows in all that pairs share the machine's cores."""
    random = np.random.default_rng(0)
    y = np.arange(1200) % 8
    X = random.normal(size=(1200, 3)) + 2 * np.eye(8)[:, :3][y]
    model = SVC(decision_function_shape="ovo", gamma=0.3, tol=1e-6).fit(X, y)
    rows = np.isin(y, (2, 6))
    pair = SVC(gamma=0.3, tol=1e-6).fit(X[rows], y[rows])
    number = [(i, j) for i in range(8) for j in range(i + 1, 8)].index((2, 6))
    assert_allclose(model.decision_function(X)[:, number], -pair.decision_function(X), atol=1e-4)
