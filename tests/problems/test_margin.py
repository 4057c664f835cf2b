"""Classification stated as the dual problem; the tutorial's worked case."""

import numpy as np
import pytest

from lindero.kernels.operator import kernel_operator
from lindero.models.kernel_machine import KernelMachine
from lindero.problems.margin import Margin
from lindero.solvers.choose import GeneralSolver
from lindero.solvers.small import OneBlockSolver
from lindero.solvers.wrappers import HardMarginSolver
from tests.problem_bank import LINEAR_KERNEL, XOR_KERNEL, xor


def test_the_problem_has_unit_costs_the_labels_and_the_given_bounds():
    y, bounds = np.array([1.0, -1.0, 1.0]), np.array([1.0, 2.0, 3.0])
    problem = Margin(1.0).state(kernel_operator(np.eye(3), LINEAR_KERNEL), y, bounds)
    assert (problem.p == -1).all()
    assert (problem.s == y).all()
    assert (problem.u == bounds).all()
    assert problem.delta == 0
    assert (problem.lower == [0, -2, 0]).all()
    assert (problem.upper == [1, 0, 3]).all()


@pytest.mark.parametrize("solver", [HardMarginSolver, GeneralSolver, OneBlockSolver])
@pytest.mark.parametrize("C", [1.0, np.inf])
class TestExclusiveOr:
    """K = (⟨x,x'⟩+1)²: every a_i is 1/8, the boundary is x₁x₂ = 0, the margin √2."""

    X = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])

    def test_all_coefficients_are_an_eighth(self, solver, C):
        solution = solver().solve(xor(C))
        np.testing.assert_allclose(solution.a, 1 / 8, atol=1e-8)
        assert solution.bias == pytest.approx(0, abs=1e-8)

    def test_the_decision_is_the_product_of_the_coordinates(self, solver, C):
        problem = xor(C)
        solution = solver().solve(problem)
        kernel = kernel_operator(self.X, XOR_KERNEL)
        machine = KernelMachine(kernel, (problem.s * solution.a)[None], np.array([solution.bias]))
        Z = np.random.default_rng(0).uniform(-3, 3, (50, 2))
        np.testing.assert_allclose(machine.decision_values(Z)[:, 0], Z[:, 0] * Z[:, 1], atol=1e-8)

    def test_the_margin_is_the_square_root_of_two(self, solver, C):
        problem = xor(C)
        solution = solver().solve(problem)
        norm = np.sqrt((problem.s * solution.a) @ problem.kernel_sums(solution.a))
        assert 1 / norm == pytest.approx(np.sqrt(2), abs=1e-8)
