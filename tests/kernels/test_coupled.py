"""The coupled kernel of a chain against inverses of dense matrices."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from lindero.errors import KernelError
from lindero.kernels import coupled
from lindero.kernels.coupled import CoupledKernel
from lindero.kernels.operator import KernelFunction, kernel_operator
from tests.naive.coupled import coupled_kernel
from tests.naive.functions import kernel_matrix

PARAMETERS = {"gamma": 0.2, "degree": 2, "coef0": 0.5}
LINKS = {
    "unweighted": np.ones(8),
    "weighted": np.array([0.3, 2.0, 1.0, 5.0, 0.01, 1.0, 7.0, 1.0]),
    "cut": np.array([1.0, 0.0, 2.0, 1.0, 0.0, 0.0, 3.0, 1.0]),
}


def rows(n=9):
    return np.random.default_rng(3).standard_normal((n, 4))


def matrix_of(links):
    return np.diag(links, 1) + np.diag(links, -1)


def whole(kernel):
    return kernel.matrix(np.arange(kernel.n_samples), kernel.n_samples)


@pytest.fixture(params=["linear", "rbf", "poly", "sparse rbf"])
def base(request):
    name = request.param.split()[-1]
    X = sp.csr_array(rows()) if "sparse" in request.param else rows()
    expected = kernel_matrix(name, rows(), rows(), **PARAMETERS)
    return kernel_operator(X, KernelFunction(name, **PARAMETERS)), expected


@pytest.fixture(params=LINKS)
def case(request, base):
    links = LINKS[request.param]
    expected = coupled_kernel(base[1], matrix_of(links), 30.0)
    return CoupledKernel(base[0], links, 30.0), expected


def test_the_diagonal_is_that_of_the_matrix(case):
    kernel, expected = case
    assert_allclose(kernel.diagonal(), np.diagonal(expected), rtol=1e-10)


def test_blocks_and_columns_are_parts_of_the_matrix(case):
    kernel, expected = case
    chosen = np.array([6, 2, 0])
    probe = kernel.probe(chosen)
    assert len(probe) == 3
    block, columns = np.empty((3, 4)), np.empty((4, 3))
    kernel.block(probe, 2, 6, block)
    kernel.columns(probe, 2, 6, columns)
    assert_allclose(block, expected[chosen, 2:6], atol=1e-11)
    assert_allclose(columns, expected[chosen, 2:6].T, atol=1e-11)


def test_cross_and_matrix_are_parts_of_the_matrix(case):
    kernel, expected = case
    one, other = np.array([1, 5]), np.array([0, 6, 3])
    values = kernel.cross(kernel.probe(one), kernel.probe(other))
    assert_allclose(values, expected[one[:, None], other], atol=1e-11)
    padded = kernel.matrix(other, 5)
    assert_allclose(padded[:, :3], expected[other[:, None], other], atol=1e-11)
    assert_array_equal(padded[:, 3:], 0.0)


def test_a_subset_and_another_precision_are_the_same_kernel(case):
    kernel, expected = case
    chosen = np.array([4, 1, 8])
    assert_allclose(whole(kernel.subset(chosen)), expected[chosen[:, None], chosen], atol=1e-11)
    single = kernel.astype(np.float32)
    assert single.dtype == np.float32
    assert single.rounding() >= np.abs(expected).max() / 4
    assert_allclose(whole(single), expected, atol=1e-5 * np.abs(expected).max())
    assert kernel.astype(np.float64) is kernel


def test_new_rows_at_nodes_are_met_with_those_of_training(case):
    kernel, _ = case
    Z, nodes = np.random.default_rng(4).standard_normal((3, 4)), np.array([7, 0, 3])
    values = np.empty((3, 9))
    kernel.block(kernel.probe_of((Z, nodes)), 0, 9, values)
    # Rows of training met as if they were new are where they were.
    same = np.empty((9, 9))
    kernel.block(kernel.probe_of((rows(), np.arange(9))), 0, 9, same)
    assert_allclose(same, whole(kernel), atol=1e-11)
    own = np.empty((3, 9))
    kernel.base.block(kernel.base.probe_of(Z), 0, 9, own)
    smooth = coupled_kernel(np.ones((9, 9)), matrix_of(_links(kernel)), 30.0)
    flat = coupled_kernel(np.zeros((9, 9)), matrix_of(_links(kernel)), 30.0)
    expected = (smooth - flat)[nodes] * own + flat[nodes]
    assert_allclose(values, expected, atol=1e-11)


def _links(kernel):
    place, component = kernel.vectors.place, kernel.vectors.component
    apart = np.diff(place)
    same = np.diff(component) == 0
    return np.where(same, 9 / 30.0 / np.where(same, apart, 1.0), 0.0)


@pytest.mark.parametrize("links", LINKS)
def test_offsets_are_products_with_the_second_part(links):
    kernel = CoupledKernel(kernel_operator(rows(), KernelFunction("linear")), LINKS[links], 7.0, 40)
    z = np.random.default_rng(0).standard_normal(9)
    expected = coupled_kernel(np.zeros((9, 9)), matrix_of(LINKS[links]), 7.0, 40) @ z
    assert_allclose(kernel.offsets(z), expected, atol=1e-11)


@pytest.mark.parametrize("coupling", [1e-8, 1e-3, 1.0, 1e5, 1e12])
def test_long_chains_neither_overflow_nor_vanish(coupling):
    n = 100_000
    kernel = CoupledKernel(
        kernel_operator(np.ones((n, 1)), KernelFunction("linear")), np.ones(n - 1), coupling
    )
    values = np.empty((2, n))
    kernel.block(kernel.probe(np.array([0, n // 2])), 0, n, values)
    assert np.isfinite(values).all()
    # Rows of the first part sum to n, those of the second to 0: A·1 = 1 and L·1 = 0.
    second = n / coupling * n / 3
    assert_allclose(values.sum(axis=1), n, rtol=1e-6, atol=1e-9 * n * second)


def test_entries_along_a_long_chain_are_those_of_its_closed_form():
    # Far from the ends of an unweighted chain the inverse decays as a power of one root.
    n, coupling = 4001, 3.0
    kernel = CoupledKernel(
        kernel_operator(np.ones((n, 1)), KernelFunction("linear")), np.ones(n - 1), coupling
    )
    values = np.empty((1, n))
    kernel.block(kernel.probe(np.array([2000])), 0, n, values)
    flat = kernel.offsets(np.eye(1, n, 2000)[0])
    root = (1 + 2 * coupling - np.sqrt(1 + 4 * coupling)) / (2 * coupling)
    expected = n * root ** np.arange(40) / np.sqrt(1 + 4 * coupling)
    assert_allclose((values[0] - flat)[2000:2040], expected, atol=1e-9 * n)


def test_sums_in_extended_precision_are_those_of_the_matrix(case, monkeypatch):
    kernel, expected = case
    z = np.array([0.5, 0.0, -2.0, 1.0, 0.0, 0.3, -0.7, 0.9, 0.0])
    monkeypatch.setattr(coupled, "_EXTENDED_VALUES", 14)  # two rows at a time
    # Of each part of the chain, the second part of the kernel is known up to what sums to zero.
    component = kernel.component
    z -= (np.bincount(component, z) / np.bincount(component))[component]
    sums, error = kernel.extended_sums(z)
    assert sums.dtype == np.longdouble
    assert error < 1e-9
    assert_allclose(sums.astype(float), expected @ z, atol=1e-9)


def test_sums_in_extended_precision_take_little_room():
    n = 1500
    X = np.random.default_rng(0).normal(size=(n, 2))
    kernel = CoupledKernel(kernel_operator(X, KernelFunction("rbf", 0.5)), np.ones(n - 1), 3.0)
    kernel.extended_sums(np.ones(n))
    tracemalloc.start()
    kernel.extended_sums(np.ones(n))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n * 16  # what the matrix alone would take


def test_samples_and_nodes_that_do_not_match_are_refused():
    base = kernel_operator(rows(), KernelFunction("linear"))
    with pytest.raises(KernelError, match="9 samples, 9 nodes given and 8 in all"):
        CoupledKernel(base, np.ones(7), 1.0)
    with pytest.raises(KernelError, match="2 nodes given"):
        CoupledKernel(base, np.ones(8), 1.0, nodes=np.arange(2))
