"""Every problem of the bank by every solver that can take it, judged by the problem itself."""

from functools import cache

import numpy as np
import pytest

from lindero.solvers.solution import Status
from tests.naive import dual_qp as naive
from tests.naive.smo import smo_block
from tests.problem_bank import BANK, CROSSED, CROSSED_IDS, SMALL

TOL = 1e-3


@cache
def plain_objective(name):
    """What the slow twin reaches; on the worst conditioned problems it is stopped early."""
    problem = BANK[name].make()
    K = naive.dense_kernel(problem)
    z = problem.s * problem.start(None)
    groups = [range(problem.n_variables)[members] for members, _ in problem.groups]
    v = K @ z + problem.q
    smo_block(K, z, problem.lower, problem.upper, v, 1e-6, 1e-12, 20_000, groups)
    return naive.objective(problem, problem.s * z, K)


@pytest.mark.parametrize(("name", "solver"), CROSSED, ids=CROSSED_IDS)
def test_solution_has_the_certificate_that_was_asked_for(name, solver):
    problem = BANK[name].make()
    solution = solver(tol=TOL).solve(problem)
    assert solution.status is Status.OPTIMAL
    # No slack: f is recomputed from scratch in float64, also where rows were float32.
    judgement = problem.judge(solution.a)
    assert judgement.kkt_gap <= TOL
    size = 1.0 + np.abs(solution.a).sum()
    assert judgement.infeasibility <= 1e-12 * size
    # Each term of the duality gap is at most gap · a_i, or gap · u_i.
    most = np.where(np.isinf(problem.u), solution.a, problem.u).sum()
    assert judgement.duality_gap <= 1.01 * TOL * most + 1e-9 * abs(judgement.dual)


@pytest.mark.parametrize(("name", "solver"), CROSSED, ids=CROSSED_IDS)
def test_sums_and_bias_of_a_solution_are_those_of_its_coefficients(name, solver):
    problem = BANK[name].make()
    solution = solver(tol=TOL).solve(problem)
    f = problem.kernel_sums(solution.a)
    # Rounding of rows in float32 is part of the gap that was promised.
    np.testing.assert_allclose(solution.f, f, rtol=1e-9, atol=TOL)
    assert solution.bias == pytest.approx(problem.bias(solution.a, solution.f), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "solver"),
    [pair for pair in CROSSED if pair[0] in SMALL],
    ids=[i for i, pair in zip(CROSSED_IDS, CROSSED, strict=True) if pair[0] in SMALL],
)
def test_objective_is_that_of_plain_sequential_minimal_optimisation(name, solver):
    problem = BANK[name].make()
    expected = plain_objective(name)
    ours = naive.objective(problem, solver(tol=1e-6).solve(problem).a)
    assert ours <= expected + 1e-7 * abs(expected)


@pytest.mark.parametrize("cache_size", [1e-9, 0.05, 0.5])
@pytest.mark.parametrize("name", ["large", "large tube", "large one class"])
def test_a_cache_for_few_or_no_rows_changes_work_but_not_the_certificate(name, cache_size):
    problem = BANK[name].make()
    solver = BANK[name].solvers[0]
    roomy = solver(tol=TOL).solve(problem)
    solution = solver(tol=TOL, cache_size=cache_size).solve(problem)
    assert problem.judge(solution.a).kkt_gap <= TOL
    assert solution.statistics["outer"] > 1
    assert solution.statistics["rows_computed"] > roomy.statistics["rows_computed"]
    assert solution.statistics["rows_kept"] < roomy.statistics["rows_kept"]


def test_a_large_bound_makes_float32_sums_be_refreshed():
    problem = BANK["large C"].make()
    solution = BANK["large C"].solvers[0](tol=TOL).solve(problem)
    assert solution.statistics["refreshed"] > 0
    assert problem.judge(solution.a).kkt_gap <= TOL
