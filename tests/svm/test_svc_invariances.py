"""Changes of the data that must not change the machine."""

import numpy as np
import pytest
from clouds import four_clouds, two_clouds
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from lindero.svm import SVC

TIGHT = 1e-8


def decisions(X, y, new, sample_weight=None, **params):
    params = {"tol": TIGHT, "decision_function_shape": "ovo", **params}
    return SVC(**params).fit(X, y, sample_weight=sample_weight).decision_function(new)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**31),
    n_classes=st.integers(2, 3),
    kernel=st.sampled_from(["linear", "rbf", "poly"]),
    class_weight=st.sampled_from([None, "balanced"]),
    C=st.sampled_from([0.1, 1.0, 10.0]),
)
def test_weights_are_repeated_rows(seed, n_classes, kernel, class_weight, C):
    random = np.random.default_rng(seed)
    X = random.normal(size=(30, 3))
    y = np.concatenate([np.arange(n_classes), random.integers(0, n_classes, 30 - n_classes)])
    weights = random.integers(0, 4, 30)
    weights[:n_classes] = 1  # no class may be without any
    params = {"kernel": kernel, "class_weight": class_weight, "C": C}
    weighted = decisions(X, y, X, weights, **params)
    repeated = decisions(np.repeat(X, weights, axis=0), np.repeat(y, weights), X, **params)
    assert_allclose(weighted, repeated, atol=1e-5)


def test_weights_of_one_are_no_weights():
    X, y = four_clouds()
    assert_array_equal(decisions(X, y, X, np.ones(len(y))), decisions(X, y, X))


def test_weights_do_change_the_machine():
    """Guards the tests above against weights that are ignored."""
    X, y = two_clouds()
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    assert np.abs(decisions(X, y, X, weights) - decisions(X, y, X)).max() > 0.05


def test_where_every_coefficient_is_at_its_bound_the_intercept_is_in_the_middle():
    """Whatever way the coefficients got there: rounding must not make one of them free."""
    X, y = two_clouds(n_samples=150)
    cold = SVC(C=0.01).fit(X, y)
    assert_allclose(np.abs(cold.dual_coef_), 0.01, atol=1e-12)
    warm = SVC(C=1.0, warm_start=True).fit(X, y).set_params(C=0.01).fit(X, y)
    shuffled = SVC(C=0.01).fit(X[::-1], y[::-1])
    weighted = SVC(C=0.1).fit(X, y, np.full(len(y), 0.1))
    for model in (warm, shuffled, weighted):
        assert_allclose(model.intercept_, cold.intercept_, atol=1e-9)


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**31),
    kernel=st.sampled_from(["linear", "rbf"]),
    multiclass=st.sampled_from(["ovo", "ovr"]),
)
def test_the_order_of_rows_does_not_matter(seed, kernel, multiclass):
    X, y = four_clouds(n_samples=60)
    order = np.random.default_rng(seed).permutation(len(y))
    params = {"kernel": kernel, "multiclass": multiclass}
    assert_allclose(
        decisions(X[order], y[order], X, **params), decisions(X, y, X, **params), atol=1e-6
    )


def test_the_order_of_rows_does_not_matter_where_rows_are_single_precision():
    X, y = two_clouds(n_samples=1300)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = decisions(X[order], y[order], X, tol=1e-4)
    assert_allclose(shuffled, decisions(X, y, X, tol=1e-4), atol=2e-3)


@pytest.mark.parametrize("distance", [1.0, 1e3, 1e6])
def test_the_gaussian_machine_moves_with_the_data(distance):
    X, y = two_clouds()
    there = X + distance
    # Rounding in X + distance itself is some 1e-16 · distance.
    assert_allclose(
        decisions(there, y, there), decisions(X, y, X), atol=1e-7 + 1e-12 * distance * 100
    )


def test_the_gaussian_machine_turns_with_the_data():
    X, y = two_clouds()
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))
    turned = decisions(X @ turn, y, X @ turn, gamma=0.3)
    assert_allclose(turned, decisions(X, y, X, gamma=0.3), atol=1e-6)


@pytest.mark.parametrize("unit", [1e3, 1e-3, 1e100, 1e-100])
def test_gamma_scale_makes_the_unit_of_measure_irrelevant(unit):
    X, y = two_clouds()
    assert_allclose(decisions(unit * X, y, unit * X), decisions(X, y, X), atol=1e-6)


def test_the_linear_machine_scales_with_the_data_if_c_does():
    X, y = two_clouds()
    scaled = decisions(10 * X, y, 10 * X, kernel="linear", C=0.01)
    assert_allclose(scaled, decisions(X, y, X, kernel="linear", C=1.0), atol=1e-6)


def test_swapping_the_labels_swaps_the_signs():
    X, y = two_clouds()
    assert_allclose(decisions(X, 1 - y, X), -decisions(X, y, X), atol=1e-6)


def test_a_class_weight_is_a_weight_of_its_rows():
    X, y = two_clouds()
    by_class = decisions(X, y, X, class_weight={1: 3.0}, gamma=0.3)
    assert_allclose(by_class, decisions(X, y, X, np.where(y == 1, 3.0, 1.0), gamma=0.3), atol=1e-7)


@pytest.mark.parametrize("params", [{}, {"kernel": "linear"}, {"kernel": "poly"}], ids=str)
@pytest.mark.parametrize("n_samples", [160, 1200])
def test_repeated_fits_are_identical_to_the_last_bit(params, n_samples):
    X, y = four_clouds(n_samples=n_samples)
    first, second = (SVC(**params).fit(X, y) for _ in range(2))
    assert_array_equal(first.support_, second.support_)
    assert_array_equal(first.dual_coef_, second.dual_coef_)
    assert_array_equal(first.intercept_, second.intercept_)
    assert_array_equal(first.decision_function(X), second.decision_function(X))


def test_repeated_fits_of_a_large_binary_problem_are_identical_to_the_last_bit():
    X, y = two_clouds(n_samples=2500)
    first, second = (SVC(C=10).fit(X, y) for _ in range(2))
    assert_array_equal(first.dual_coef_, second.dual_coef_)
    assert_array_equal(first.decision_function(X), second.decision_function(X))
