"""The judgement in other units and in extended precision."""

import numpy as np
import pytest

from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.problems.margin import Margin
from lindero.problems.novelty import Novelty
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


def test_scores_far_from_their_mean_keep_the_digits_of_the_gap():
    """An indefinite kernel and coefficients of 1e12: the two free rows are 1e-4 apart at 1e12, of
    which float64 has no digits once the mean is taken away."""
    y = np.array([1.0, 1.0, -1.0, -1.0])
    K = np.diag([1.0, 1.0 + 1e-15, -1.0, -3.0])
    a = np.full(4, 1e12)
    a[1] += 2.0**-13
    u = np.array([1e13, 1e13, 1e12, 1e12])
    problem = Margin(1e13).state(kernel_operator(K, KernelFunction("precomputed")), y, u)
    judgement = problem.certify(a, -1e12 + 1.0, 1e-6)
    v = K.astype(extended.REAL) @ (y * a).astype(extended.REAL) - y
    found = extended.gap(v, y * a, np.minimum(0, u * y), np.maximum(0, u * y))
    np.testing.assert_allclose(judgement.kkt_gap, found, rtol=1e-6)


def test_objectives_in_extended_precision_are_those_in_double():
    """Where variables have a sum, the bias is part of the objective."""
    X, _ = clouds()
    problem = Novelty(0.3).state(
        kernel_operator(X, KernelFunction("rbf", 0.5)), np.zeros(40), np.ones(40)
    )
    solution = GeneralSolver(1e-9).solve(problem)
    double, long = (problem.certify(solution.a, solution.bias, gap) for gap in (1e-3, 1e-14))
    np.testing.assert_allclose([long.primal, long.dual], [double.primal, double.dual])


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
