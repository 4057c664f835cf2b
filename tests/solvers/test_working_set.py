"""Where problems start whose sums are not zero."""

import numpy as np
import pytest

from lindero.solvers.solution import Limits
from lindero.solvers.working_set import COARSE_SAMPLES, WorkingSetSolver, coarse_start, over_some
from lindero.solvers.wrappers import ScaledSolver
from tests.problem_bank import curve, nu_margin, nu_tube, one_class, rbf, two_clouds

LARGE = {
    "one class": lambda: one_class(two_clouds(5000)[0], rbf(0.1), 0.2),
    "ν": lambda: nu_margin(*two_clouds(5000), rbf(0.3), 0.4),
    "ν tube": lambda: nu_tube(*curve(5000), rbf(0.5), 1.0, 0.4),
}


@pytest.mark.parametrize("name", LARGE)
def test_the_start_is_feasible_and_much_nearer_than_a_plain_one(name):
    problem = LARGE[name]()
    best = WorkingSetSolver().solve(problem)
    optimum = -problem.judge(best.a).dual
    start, plain = coarse_start(problem, WorkingSetSolver(), Limits(), 0), problem.start(None)
    assert problem.judge(start).infeasibility <= 1e-9 * problem.u.sum()
    excess = [-problem.judge(a).dual - optimum for a in (start, plain)]
    assert 0 <= excess[0] < 0.1 * excess[1]


@pytest.mark.parametrize("name", LARGE)
def test_over_some_samples_groups_have_as_much_room_as_in_the_whole(name):
    problem = LARGE[name]()
    samples = np.arange(0, 5000, 5)
    sample_of = np.arange(5000) if problem.sample_of is None else problem.sample_of
    variables = np.flatnonzero(np.isin(sample_of, samples))
    some = over_some(problem, samples, variables)
    for (whole, delta), (part, same) in zip(problem.groups, some.groups, strict=True):
        assert same == delta
        assert some.u[part].sum() == pytest.approx(problem.u[whole].sum())
    assert some.kernel.n_samples == len(samples)
    assert some.n_variables == len(variables)


def test_small_problems_start_plainly():
    problem = one_class(two_clouds(COARSE_SAMPLES)[0], rbf(0.1), 0.2)
    np.testing.assert_array_equal(
        coarse_start(problem, WorkingSetSolver(), Limits(), 0), problem.start(None)
    )


@pytest.mark.parametrize("share", [1e-7, 1e-3])
def test_with_small_sums_the_gap_is_small_beside_them(share):
    problem = one_class(two_clouds(600)[0], rbf(0.5), share)
    solution = ScaledSolver(tol=1e-3).solve(problem)
    assert problem.judge(solution.a).kkt_gap <= 1e-3 * min(1.0, share * 600)
