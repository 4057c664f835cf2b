"""Evaluating machines: in chunks, groups and threads, against one plain product."""

import numpy as np
import pytest
import scipy.sparse as sp

from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.models.kernel_machine import KernelMachine, groups_of, linear_weights
from tests.naive import kernel_machine as naive
from tests.naive.functions import kernel_matrix

GAMMA = 0.4


def vectors(n, seed=0):
    return np.random.default_rng(seed).standard_normal((n, 3))


def machine(V, coefficients, intercepts, group_sizes=None, name="rbf"):
    kernel = kernel_operator(V, KernelFunction(name, gamma=GAMMA))
    return KernelMachine(kernel, coefficients, intercepts, group_sizes)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("n_rows", [1, 5, 700])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_values_are_the_sum_over_support_vectors_and_the_intercept(kind, n_rows, n_outputs):
    V, Z = vectors(300), vectors(n_rows, seed=1)
    rng = np.random.default_rng(2)
    coefficients, intercepts = rng.standard_normal((n_outputs, 300)), rng.standard_normal(n_outputs)
    values = machine(kind(V), coefficients, intercepts).decision_values(kind(Z))
    K = np.exp(-GAMMA * ((Z[:, None] - V) ** 2).sum(axis=2))
    np.testing.assert_allclose(
        values, naive.decision_values(K, coefficients, intercepts), atol=1e-11
    )


@pytest.mark.parametrize("sizes", [(4, 6), (3, 1, 5), (2, 0, 4, 3)])
def test_one_column_for_each_pair_of_groups(sizes):
    n, n_groups = sum(sizes), len(sizes)
    V, Z = vectors(n), vectors(9, seed=1)
    rng = np.random.default_rng(3)
    coefficients = rng.standard_normal((n_groups - 1, n))
    intercepts = rng.standard_normal(n_groups * (n_groups - 1) // 2)
    values = machine(V, coefficients, intercepts, sizes).decision_values(Z)
    K = kernel_matrix("rbf", Z, V, GAMMA)
    expected = naive.pair_values(K, coefficients, intercepts, sizes)
    np.testing.assert_allclose(values, expected, atol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("sizes", [None, (3, 1, 5)])
def test_weights_of_a_linear_machine_give_the_same_values(kind, sizes):
    V, Z = vectors(9), vectors(6, seed=1)
    coefficients = np.random.default_rng(4).standard_normal((2, 9))
    intercepts = np.arange(3.0 if sizes else 2.0)
    values = machine(kind(V), coefficients, intercepts, sizes, "linear").decision_values(kind(Z))
    weights = linear_weights(kind(V), coefficients, sizes)
    np.testing.assert_allclose(values, Z @ weights.T + intercepts, atol=1e-12)


def test_no_rows_give_no_values():
    values = machine(vectors(5), np.ones((2, 5)), np.zeros(2)).decision_values(np.empty((0, 3)))
    assert values.shape == (0, 2)


def test_groups_are_consecutive_ranges():
    assert groups_of(7, None) == [(0, 7)]
    assert groups_of(7, (2, 0, 5)) == [(0, 2), (2, 2), (2, 7)]


def test_a_row_alone_has_the_value_it_has_among_many():
    V, Z = vectors(400), vectors(1200, seed=1)
    many = machine(V, np.ones((1, 400)), np.zeros(1)).decision_values(Z)
    alone = machine(V, np.ones((1, 400)), np.zeros(1)).decision_values(Z[1100:1101])
    assert alone[0, 0] == pytest.approx(many[1100, 0], rel=1e-13)
