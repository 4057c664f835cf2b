"""Products over data that are not copied, and the sums the interior-point solver asks for."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from lindero.kernels import products
from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.kernels.products import DenseProducts, SparseProducts


def pixels(n_samples, n_features):
    return np.random.default_rng(0).integers(0, 256, (n_samples, n_features), dtype=np.uint8)


@pytest.mark.parametrize("name", ["linear", "rbf"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_data_converted_tile_by_tile_give_the_same_values(monkeypatch, name, dtype):
    X, function = pixels(50, 8), KernelFunction(name, gamma=1e-5)
    kept = kernel_operator(X, function, dtype)
    values = kept.cross(kept.probe(np.arange(20)), kept.probe(np.arange(50)))
    assert kept.products._ready is not None
    monkeypatch.setattr(products, "COPY_LIMIT_BYTES", 0)
    tiled = kernel_operator(X, function, dtype)
    out = np.empty((20, 50), dtype)
    tiled.block(tiled.probe(np.arange(20)), 0, 50, out)
    assert tiled.products._ready is None
    np.testing.assert_allclose(out, values, rtol=10 * np.finfo(dtype).eps)


def test_small_data_in_the_right_precision_are_used_as_they_are():
    X = np.ones((5, 2))
    assert DenseProducts(X, np.float64)._ready is X


def test_large_8_bit_data_are_never_copied_to_float64():
    X = pixels(70_000, 200)  # 14 MB; 112 MB in float64, above the limit for a copy
    out = np.empty((4, 1000))
    tracemalloc.start()
    try:
        kernel = kernel_operator(X, KernelFunction("rbf", gamma=1e-6))
        kernel.block(kernel.probe(np.arange(4)), 0, 1000, out)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert kernel.products._ready is None
    assert peak < 24 * 2**20


PRODUCTS = {
    "dense": lambda X: DenseProducts(X, np.float64),
    "dense float32": lambda X: DenseProducts(X.astype(np.float32), np.float64),
    "sparse": lambda X: SparseProducts(sp.csr_array(X), np.float64),
}


@pytest.mark.parametrize("kind", PRODUCTS)
class TestLinearMaps:
    X = np.random.default_rng(1).integers(-2, 3, (23, 5)).astype(np.float64)

    def test_times_is_a_product_with_these_rows(self, kind):
        theta, out = np.arange(5.0), np.full(8, np.nan)
        PRODUCTS[kind](self.X).times(theta, 3, 11, out)
        np.testing.assert_allclose(out, self.X[3:11] @ theta)

    def test_transposed_times_sums_these_rows(self, kind):
        c, out = np.arange(8.0), np.full(5, np.nan)
        PRODUCTS[kind](self.X).transposed_times(c, 3, 11, out)
        np.testing.assert_allclose(out, self.X[3:11].T @ c)

    def test_weighted_gram_is_added_to_the_lower_triangle(self, kind):
        weights, out = np.arange(1.0, 9.0), np.ones((6, 6))
        PRODUCTS[kind](self.X).add_weighted_gram(weights, 3, 11, out)
        extended = np.column_stack([self.X[3:11], np.ones(8)])
        expected = 1 + extended.T @ (extended * weights[:, None])
        np.testing.assert_allclose(np.tril(out), np.tril(expected))
