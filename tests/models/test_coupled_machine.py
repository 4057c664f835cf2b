"""Machines of coupled fits: at nodes, between them, and against each other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lindero.graphs.graph import Chain
from lindero.kernels.coupled import CoupledKernel
from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.models.coupled_machine import CoupledKernelMachine, HyperplaneField
from lindero.problems.coupled import CoupledMargin, CoupledTube
from lindero.solvers.choose import GeneralSolver
from lindero.solvers.coupled.interior_point import CoupledInteriorPointSolver
from tests.coupled_bank import coupled_margin, coupled_tube, turning
from tests.naive.coupled import coupled_kernel
from tests.naive.functions import kernel_matrix

CUT = np.ones(59)
CUT[[19, 39]] = 0.0


def field():
    return HyperplaneField(
        np.array([[1.0, 0.0], [0.0, 2.0], [4.0, 4.0]]), np.array([0.0, 1.0, 2.0])
    )


def test_hyperplanes_between_nodes_are_between_theirs():
    coef, intercepts = field().at([0.0, 0.25, 1.5, 2.0])
    assert_allclose(coef, [[1.0, 0.0], [0.75, 0.5], [2.0, 3.0], [4.0, 4.0]])
    assert_allclose(intercepts, [0.0, 0.25, 1.5, 2.0])


def test_before_the_first_node_and_beyond_the_last_the_nearest_holds():
    Z = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert_array_equal(field().decision_values(Z, [-5.0, 99.0]), [1.0, 10.0])


def test_a_field_of_one_node_holds_everywhere():
    alone = HyperplaneField(np.array([[2.0]]), np.array([1.0]))
    assert_array_equal(alone.decision_values(np.ones((3, 1)), [-1, 0, 7.5]), 3.0)


def trained(name, links, regression=False, coupling=50.0):
    """A machine, its kernel matrix by the twin, the solution and the data."""
    X, y = turning(60, noise=0.4)
    base = kernel_operator(X, KernelFunction(name, gamma=0.5))
    kernel = CoupledKernel(base, links, coupling)
    if regression:
        problem = CoupledTube(0.1).state_dual(kernel, X[:, 0] ** 2 + y, np.full(60, 0.5))
    else:
        problem = CoupledMargin().state_dual(kernel, y, np.full(60, 0.5))
    solution = GeneralSolver(tol=1e-9).solve(problem)
    z = problem.at_samples(problem.s * solution.a)
    return machine_of(kernel, z, solution.bias), z, X, y


def machine_of(kernel, z, bias):
    """The machine of a solution over all samples, reduced to those with coefficients."""
    support = np.flatnonzero(z)
    return CoupledKernelMachine(kernel.subset(support), z[support], np.atleast_1d(bias))


def intercepts_of(machine):
    """b_i of every node."""
    kernel = machine.kernel
    return kernel.offsets(machine.z) + machine.biases[kernel.vectors.component]


@pytest.mark.parametrize("links", [np.ones(59), CUT], ids=["whole", "cut"])
@pytest.mark.parametrize("regression", [False, True])
def test_with_a_linear_kernel_both_ways_lead_to_the_same_hyperplanes(links, regression):
    machine, z, X, y = trained("linear", links, regression)
    bounds = np.full(60, 0.5)
    if regression:
        problem = coupled_tube(X, X[:, 0] ** 2 + y, bounds, 0.1, 50.0, Chain(links))
    else:
        problem = coupled_margin(X, y, bounds, 50.0, Chain(links))
    primal = CoupledInteriorPointSolver(tol=1e-12).solve(problem)
    assert_allclose(problem.at_nodes(primal.a), z, atol=1e-4)
    there = HyperplaneField(primal.theta[:, :-1], primal.theta[:, -1])
    Z = np.random.default_rng(1).standard_normal((60, 2))
    positions = np.concatenate([np.arange(19.0), np.linspace(20, 39, 20), np.linspace(40, 59, 21)])
    expected = there.decision_values(Z, positions)
    assert_allclose(machine.decision_values(Z, positions), expected, atol=1e-3)
    assert_allclose(intercepts_of(machine), primal.theta[:, -1], atol=1e-3)


@pytest.mark.parametrize("links", [np.ones(59), CUT], ids=["whole", "cut"])
def test_outputs_are_sums_over_dense_inverses(links):
    machine, z, X, _ = trained("rbf", links)
    assert 0 < len(machine.z) < 60
    W = np.diag(links, 1) + np.diag(links, -1)
    smooth = coupled_kernel(np.ones((60, 60)), W, 50.0) - coupled_kernel(
        np.zeros((60, 60)), W, 50.0
    )
    Z, nodes = (
        np.random.default_rng(1).standard_normal((7, 2)),
        np.array([3, 59, 0, 20, 39, 40, 41]),
    )
    K = kernel_matrix("rbf", Z, X, gamma=0.5)
    expected = (smooth[nodes] * K) @ z + intercepts_of(machine)[nodes]
    assert_allclose(machine.decision_values(Z, nodes), expected, atol=1e-9)
    halfway = machine.decision_values(Z, nodes.clip(max=58) + 0.5)
    after = machine.decision_values(Z, nodes.clip(max=58) + 1)
    before = machine.decision_values(Z, nodes.clip(max=58))
    assert_allclose(halfway, 0.5 * (before + after), atol=1e-12)


def test_a_component_of_one_class_has_its_label_as_output():
    X, y = turning(60, noise=0.4)
    y[20:40] = -1.0
    kernel = CoupledKernel(kernel_operator(X, KernelFunction("rbf", gamma=0.5)), CUT, 50.0)
    problem = CoupledMargin().state_dual(kernel, y, np.ones(60))
    solution = GeneralSolver(tol=1e-6).solve(problem)
    machine = machine_of(kernel, problem.s * solution.a, solution.bias)
    assert_array_equal(machine.decision_values(X[:5], np.arange(20, 25)), -1.0)


def test_many_rows_are_evaluated_in_pieces():
    machine, _, _, _ = trained("rbf", np.ones(59))
    rng = np.random.default_rng(2)
    Z, positions = rng.standard_normal((3000, 2)), rng.uniform(-1, 61, 3000)
    values = machine.decision_values(Z, positions)
    for i in (0, 255, 256, 2999):
        alone = machine.decision_values(Z[i : i + 1], positions[i : i + 1])
        assert_allclose(values[i], alone[0], atol=1e-10)
