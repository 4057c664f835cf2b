"""The judgement in other units and in extended precision."""

import numpy as np
import pytest

from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.problems.margin import Margin
from lindero.solvers.choose import GeneralSolver
from lindero.solvers.solution import Status
from tests.naive import extended


def stated(X, y, C, function):
    return Margin(C).state(kernel_operator(X, function), y, np.full(len(y), C))


def clouds(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize("unit", [4.0**30, 4.0**-30])
def test_scores_are_the_same_in_any_unit(unit):
    X, y = clouds()
    problem = stated(X, y, 2.0, KernelFunction("rbf", 0.5))
    other = problem.in_units(unit)
    a = np.random.default_rng(1).uniform(0, 2, 40)
    v = problem.scores(problem.kernel_sums(a))
    np.testing.assert_allclose(other.scores(other.kernel_sums(a * unit)), v, rtol=1e-12)
    np.testing.assert_allclose(other.u, problem.u * unit)


@pytest.mark.parametrize("size", [1.0, 1e3, 1e5])
def test_the_gap_is_that_of_extended_precision(size):
    X, y = clouds()
    X = X * [1.0, size] + 1e6
    problem = stated(X, y, 1e4, KernelFunction("linear"))
    solution = GeneralSolver(1e-3).solve(problem)
    judgement = problem.certify(solution.a, solution.bias, 1e-3)
    # Unshifted rows: the coefficients need not sum to zero to the last digit, and are as they are.
    rows = X.astype(extended.REAL)
    v = rows @ (rows.T @ (y * solution.a).astype(extended.REAL)) - y
    z = y * solution.a
    found = extended.gap(v, z, np.minimum(0, 1e4 * y), np.maximum(0, 1e4 * y))
    assert abs(judgement.kkt_gap - found) <= judgement.accuracy + 1e-9 * max(1.0, found)


@pytest.mark.parametrize(
    ("found", "gap", "accuracy", "left"),
    [
        (Status.OPTIMAL, 0.5, 0.0, Status.OPTIMAL),
        (Status.OPTIMAL, 2.0, 0.0, Status.PRECISION),
        (Status.OPTIMAL, 0.5, 3.0, Status.UNPROVEN),
        (Status.OPTIMAL, np.nan, 0.0, Status.PRECISION),
        (Status.PRECISION, 0.5, 0.0, Status.OPTIMAL),
        (Status.STALLED, 2.0, 0.0, Status.STALLED),
        (Status.TIME_LIMIT, 0.5, 0.0, Status.TIME_LIMIT),
    ],
)
def test_the_status_is_what_the_judgement_leaves_of_it(found, gap, accuracy, left):
    X, y = clouds()
    problem = stated(X, y, 1.0, KernelFunction("linear"))
    judgement = problem.judge(np.zeros(40))
    told = type(judgement)(gap, judgement.primal, judgement.dual, 0.0, accuracy)
    assert found.certify(told, 1.0) is left
