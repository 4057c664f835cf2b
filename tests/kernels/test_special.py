"""The kernel of pairs over every kind of base kernel, against single kernel values."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.kernels.special import PairKernel
from tests.naive.functions import kernel_matrix
from tests.naive.ranking import pair_kernel

PARAMETERS = {"gamma": 0.2, "degree": 2, "coef0": 0.5}
LEFT = np.array([3, 0, 7, 7, 2, 5, 0])
RIGHT = np.array([1, 4, 6, 2, 7, 5, 0])


def rows():
    return np.random.default_rng(3).standard_normal((8, 4))


def polynomial(X, Z):
    return (0.2 * X @ Z.T + 0.5) ** 2


BASES = {
    "linear": kernel_operator(rows(), KernelFunction("linear")),
    "rbf": kernel_operator(rows(), KernelFunction("rbf", **PARAMETERS)),
    "poly": kernel_operator(rows(), KernelFunction("poly", **PARAMETERS)),
    "sparse rbf": kernel_operator(sp.csr_array(rows()), KernelFunction("rbf", **PARAMETERS)),
    "callable": kernel_operator(rows(), KernelFunction("callable", call=polynomial)),
    "precomputed": kernel_operator(polynomial(rows(), rows()), KernelFunction("precomputed")),
}


@pytest.fixture(params=list(BASES))
def case(request):
    """A pair kernel, and its matrix by the twin."""
    name = request.param.split()[-1]
    named = "poly" if name in ("callable", "precomputed") else name
    K = kernel_matrix(named, rows(), rows(), **PARAMETERS)
    return PairKernel(BASES[request.param], LEFT, RIGHT), pair_kernel(K, LEFT, RIGHT)


def test_the_diagonal_is_that_of_the_matrix(case):
    kernel, expected = case
    assert_allclose(kernel.diagonal(), np.diagonal(expected), atol=1e-12)


def test_blocks_and_columns_are_parts_of_the_matrix(case):
    kernel, expected = case
    chosen = np.array([6, 2, 0])
    probe = kernel.probe(chosen)
    assert len(probe) == 3
    block, columns = np.empty((3, 4)), np.empty((4, 3))
    kernel.block(probe, 2, 6, block)
    kernel.columns(probe, 2, 6, columns)
    assert_allclose(block, expected[chosen, 2:6], atol=1e-12)
    assert_allclose(columns, expected[chosen, 2:6].T, atol=1e-12)


def test_cross_and_matrix_are_parts_of_the_matrix(case):
    kernel, expected = case
    one, other = np.array([1, 5]), np.array([0, 6, 3])
    values = kernel.cross(kernel.probe(one), kernel.probe(other))
    assert_allclose(values, expected[one[:, None], other], atol=1e-12)
    padded = kernel.matrix(other, 5)
    assert_allclose(padded[:, :3], expected[other[:, None], other], atol=1e-12)
    assert_array_equal(padded[:, 3:], 0.0)


def test_a_sample_paired_with_itself_has_a_row_of_exact_zeros(case):
    kernel, _ = case
    row = np.empty((1, kernel.n_samples))
    kernel.block(kernel.probe(np.array([6])), 0, kernel.n_samples, row)
    assert_array_equal(row, 0.0)
    assert kernel.diagonal()[6] == 0.0


def test_a_subset_and_another_precision_are_the_same_kernel(case):
    kernel, expected = case
    chosen = np.array([4, 1])
    among = kernel.subset(chosen).matrix(np.arange(2), 2)
    assert_allclose(among, expected[chosen[:, None], chosen], atol=1e-12)
    single = kernel.astype(np.float32)
    assert single.dtype == np.float32
    assert single.rounding() >= np.abs(expected).max() / 4
    everything = np.arange(kernel.n_samples)
    block = single.cross(single.probe(everything), single.probe(everything))
    assert_allclose(block, expected, atol=1e-5 * np.abs(expected).max())
    assert kernel.astype(np.float64).dtype == np.float64


@pytest.mark.parametrize("name", ["linear", "rbf", "poly"])
def test_pairs_of_new_rows_are_met_with_those_of_training(name):
    Z = np.random.default_rng(4).standard_normal((2, 3, 4))
    kernel = PairKernel(BASES[name], LEFT, RIGHT)
    values = np.empty((3, len(LEFT)))
    kernel.block(kernel.probe_of(Z), 0, len(LEFT), values)
    everything = np.concatenate([rows(), *Z])
    K = kernel_matrix(name, everything, everything, **PARAMETERS)
    over = pair_kernel(K, np.append(LEFT, [8, 9, 10]), np.append(RIGHT, [11, 12, 13]))
    assert_allclose(values, over[7:, :7], atol=1e-12)


def test_the_diagonal_of_many_pairs_is_put_together_from_chunks():
    X = np.random.default_rng(5).standard_normal((60, 3))
    left, right = np.nonzero(np.tri(60, k=-1))
    kernel = PairKernel(kernel_operator(X, KernelFunction("linear")), left, right)
    assert len(left) > 1024
    assert_allclose(kernel.diagonal(), np.sum((X[left] - X[right]) ** 2, axis=1), atol=1e-12)
