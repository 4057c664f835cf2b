"""Sums and blocks put together from tiles."""

import numpy as np
import pytest
import scipy.sparse as sp

from lindero.kernels.blocks import kernel_among, kernel_product, kernel_tile, tile_bounds
from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.runtime.threads import TileThreads
from tests.naive.functions import kernel_matrix


def data(n, seed=0):
    return np.random.default_rng(seed).standard_normal((n, 3))


def gaussian(X, dtype=np.float64):
    return kernel_operator(X, KernelFunction("rbf", gamma=0.5), dtype)


@pytest.mark.parametrize(
    ("columns", "height"), [(0, 5), (1, 1), (128, 1000), (9000, 512), (300, 0)]
)
def test_tiles_cover_every_column_once_and_in_order(columns, height):
    bounds = tile_bounds(columns, height, itemsize=8)
    covered = [column for start, stop in bounds for column in range(start, stop)]
    assert covered == list(range(columns))


def test_a_tile_is_the_kernel_of_a_probe_with_a_range():
    X = data(30)
    kernel = gaussian(X)
    tile = kernel_tile(kernel, kernel.probe(np.array([2, 4])), 10, 25)
    np.testing.assert_allclose(tile, kernel_matrix("rbf", X[[2, 4]], X[10:25], 0.5), atol=1e-14)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_block_among_rows_reuses_its_corner_and_pads_with_zeros(n_threads):
    X, rows = data(500), np.random.default_rng(1).permutation(500)[:300]
    corner = np.full((100, 100), 42.0)
    with TileThreads(n_threads) as threads:
        block = kernel_among(gaussian(X), rows, corner, threads, multiple=64)
    expected = kernel_matrix("rbf", X[rows], X[rows], 0.5)
    expected[:100, :100] = 42.0
    assert block.shape == (300, 320)
    np.testing.assert_allclose(block[:, :300], expected, atol=1e-13)
    assert not block[:, 300:].any()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_product_with_all_samples_touches_only_nonzero_coefficients(kind):
    X, z = data(700), np.random.default_rng(2).standard_normal(700)
    z[::3] = 0.0
    with TileThreads(2) as threads:
        product = kernel_product(gaussian(kind(X)), z, threads)
    np.testing.assert_allclose(product, kernel_matrix("rbf", X, X, 0.5) @ z, atol=1e-11)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_product_is_the_same_to_the_bit_for_any_number_of_threads(dtype):
    z = np.random.default_rng(3).standard_normal(5000)
    results = []
    for n_threads in (1, 2, 3):
        with TileThreads(n_threads) as threads:
            results.append(kernel_product(gaussian(data(5000), dtype), z, threads))
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


def test_block_is_the_same_to_the_bit_for_any_number_of_threads():
    results = []
    for n_threads in (1, 2, 3):
        with TileThreads(n_threads) as threads:
            results.append(kernel_among(gaussian(data(900)), np.arange(900), None, threads))
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])
