"""Kernel functions in place, against their definitions in extended precision."""

import numpy as np
import pytest

from lindero.kernels.operator import KernelFunction, gaussian_double, gaussian_single
from lindero.kernels.operator import integer_power as fast_power
from tests.naive import functions as naive

GAUSSIANS = [(gaussian_single, np.float32), (gaussian_double, np.float64)]


def applied(gaussian, dtype, arguments, gamma=1.0):
    """exp(−γ · arguments), and the same by the twin on the very numbers that went in."""
    zeros = np.zeros(len(arguments), dtype)
    G = np.array(-0.5 * np.asarray(arguments), dtype=dtype).reshape(1, -1)
    expected = naive.gaussian_double(G, zeros[:1], zeros, dtype(gamma))
    gaussian(G, zeros[:1], zeros, dtype(gamma), np.empty_like(G[0]))
    return G[0], expected[0]


@pytest.mark.parametrize(("gaussian", "dtype"), GAUSSIANS)
def test_gaussian_is_within_a_few_units_of_the_last_place_of_one(gaussian, dtype):
    arguments = np.concatenate([np.linspace(0, 5, 4001), np.geomspace(1e-12, 80, 4001)])
    values, expected = applied(gaussian, dtype, arguments)
    assert np.abs(values - expected).max() <= 4 * np.finfo(dtype).eps


@pytest.mark.parametrize(("gaussian", "dtype"), GAUSSIANS)
def test_gaussian_keeps_relative_accuracy_where_the_argument_is_small(gaussian, dtype):
    values, expected = applied(gaussian, dtype, np.linspace(0, 1, 1001))
    assert np.abs(values / expected - 1).max() <= 4 * np.finfo(dtype).eps


@pytest.mark.parametrize(("gaussian", "dtype"), GAUSSIANS)
def test_gaussian_relative_error_grows_only_with_the_argument(gaussian, dtype):
    # The argument itself is rounded once or twice: its relative error becomes an absolute one.
    values, expected = applied(gaussian, dtype, np.linspace(1, 80, 2001))
    error = np.abs(values / expected - 1) / np.linspace(1, 80, 2001)
    assert error.max() <= 4 * np.finfo(dtype).eps


@pytest.mark.parametrize(("gaussian", "dtype"), GAUSSIANS)
def test_gaussian_of_huge_distances_is_zero_to_the_least_normal_number(gaussian, dtype):
    largest = float(np.finfo(dtype).max)
    arguments = [1e3, 1e6, 1e20, 1e30, 0.5 * largest]
    values, _ = applied(gaussian, dtype, arguments)
    assert np.isfinite(values).all()
    assert (values >= 0).all()
    assert (values <= np.finfo(dtype).tiny).all()


@pytest.mark.parametrize(("gaussian", "dtype"), GAUSSIANS)
def test_gaussian_whose_exponent_overflows_is_still_zero(gaussian, dtype):
    values, _ = applied(gaussian, dtype, [0.5 * float(np.finfo(dtype).max)], gamma=1e4)
    assert 0 <= values[0] <= np.finfo(dtype).tiny


@pytest.mark.parametrize(("gaussian", "dtype"), GAUSSIANS)
def test_gaussian_never_exceeds_one_when_cancellation_makes_a_square_negative(gaussian, dtype):
    values, _ = applied(gaussian, dtype, [-1e-3, -1.0, 0.0])
    assert (values == 1).all()


@pytest.mark.parametrize(("gaussian", "dtype"), GAUSSIANS)
@pytest.mark.parametrize("width", [1, 7, 64, 129])
def test_gaussian_of_tiles_of_any_width_matches_its_twin(gaussian, dtype, width):
    rng = np.random.default_rng(width)
    X, Z = rng.standard_normal((5, 3)).astype(dtype), rng.standard_normal((width, 3)).astype(dtype)
    left, right, G = (X * X).sum(axis=1), (Z * Z).sum(axis=1), X @ Z.T
    expected = naive.gaussian_double(G, left, right, dtype(0.7))
    gaussian(G, left, right, dtype(0.7), np.empty_like(G[0]))
    # Sums of squares up to some 30 are rounded before the exponential is taken.
    assert np.abs(G - expected).max() <= 40 * np.finfo(dtype).eps


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4, 7, 10])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_integer_power_is_repeated_multiplication(degree, dtype):
    values = np.random.default_rng(degree).uniform(-2, 2, (4, 9)).astype(dtype)
    expected = naive.integer_power(values.astype(np.float64), degree)
    fast_power(values, degree)
    np.testing.assert_allclose(values, expected, rtol=2 * (degree + 1) * np.finfo(dtype).eps)


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid"])
def test_diagonal_is_the_kernel_of_each_sample_with_itself(name):
    X = np.random.default_rng(0).standard_normal((6, 3))
    function = KernelFunction(name, gamma=0.3, degree=3, coef0=0.5)
    expected = np.diagonal(naive.kernel_matrix(name, X, X, 0.3, 3, 0.5))
    np.testing.assert_allclose(function.diagonal((X * X).sum(axis=1)), expected, rtol=1e-13)
