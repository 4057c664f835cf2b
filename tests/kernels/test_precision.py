"""What kernel values lose to rounding, and in which units they are."""

import numpy as np
import pytest
import scipy.sparse as sp

from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.kernels.special import ScaledKernel, scale_kernel
from tests.naive import extended

FUNCTIONS = {
    "linear": KernelFunction("linear"),
    "rbf": KernelFunction("rbf", 1.0),
    "poly": KernelFunction("poly", 0.5, 3, 1.0),
}


def matrix_of(kernel):
    everything = kernel.probe(np.arange(kernel.n_samples))
    return kernel.cross(everything, everything)


def table(seed):
    """Rows of columns of very different sizes, far from zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3)) * 10.0 ** rng.uniform(-2, 6, 3)
    return np.round(X, 2) + 10.0 ** rng.uniform(0, 4)


def exact_matrix(X, function):
    rows = X.astype(extended.REAL)
    if function.name == "linear":
        return rows @ rows.T
    return extended.kernel_matrix(X, function.name, function.gamma, function.degree, function.coef0)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("seed", range(20))
def test_no_value_is_farther_off_than_is_said(name, seed):
    X, function = table(seed), FUNCTIONS[name]
    kernel = kernel_operator(X, function)
    off = np.abs(matrix_of(kernel) - exact_matrix(X, function)).max()
    assert off <= kernel.error()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("seed", range(5))
def test_sums_in_extended_precision(name, seed):
    X, function = table(seed), FUNCTIONS[name]
    z = np.random.default_rng(seed).normal(size=30)
    sums, error = kernel_operator(X, function).extended_sums(z)
    expected = exact_matrix(X, function) @ z.astype(extended.REAL)
    assert np.abs(sums - expected).max() <= error * np.abs(z).sum()


@pytest.mark.parametrize("size", [1e4, 1e6, 1e8])
def test_distances_beside_a_large_column(size):
    rng = np.random.default_rng(1)
    X = np.column_stack([size * rng.integers(0, 2, 40), rng.normal(size=(40, 2))])
    kernel = kernel_operator(X, FUNCTIONS["rbf"])
    exact = extended.kernel_matrix(X, "rbf", 1.0)
    np.testing.assert_allclose(matrix_of(kernel), exact.astype(float), atol=1e-8)
    tile = np.empty((10, 40))
    kernel.block(kernel.probe(np.arange(10)), 0, 40, tile)
    np.testing.assert_allclose(tile, exact[:10].astype(float), atol=1e-8)
    turned = np.empty((40, 10))
    kernel.columns(kernel.probe_of(X[:10]), 0, 40, turned)
    np.testing.assert_allclose(turned, exact[:, :10].astype(float), atol=1e-8)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("unit", [4.0**40, 4.0**-40])
def test_a_kernel_in_other_units(name, form, unit):
    X = np.random.default_rng(0).normal(size=(12, 3))
    kernel = kernel_operator(form(X), FUNCTIONS[name])
    scaled = scale_kernel(kernel, unit)
    np.testing.assert_array_equal(matrix_of(scaled) * unit, matrix_of(kernel))
    np.testing.assert_array_equal(scaled.diagonal() * unit, kernel.diagonal())
    assert scaled.largest() * unit == kernel.largest()
    assert isinstance(scaled, ScaledKernel) == (name != "linear")
    part = scaled.subset(np.array([3, 1, 7]))
    np.testing.assert_array_equal(matrix_of(part), matrix_of(scaled)[np.ix_([3, 1, 7], [3, 1, 7])])
