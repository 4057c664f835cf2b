"""The same problem gives the same bits, whatever the number of threads."""

import numpy as np
import pytest

from lindero.solvers.interior_point import SMALL_DATA
from tests.problem_bank import BANK, CROSSED, CROSSED_IDS, LINEAR_KERNEL, margin, two_clouds


def bits(solution):
    return (
        solution.a.tobytes(),
        solution.f.tobytes(),
        np.asarray(solution.bias).tobytes(),
        solution.n_iter,
    )


@pytest.mark.parametrize(("name", "solver"), CROSSED, ids=CROSSED_IDS)
def test_solving_again_gives_the_same_bits(name, solver):
    first, second = (solver().solve(BANK[name].make()) for _ in range(2))
    assert bits(first) == bits(second)


@pytest.mark.parametrize(("name", "solver"), CROSSED, ids=CROSSED_IDS)
def test_one_and_two_threads_give_the_same_bits(name, solver):
    one, two = (solver(n_threads=k).solve(BANK[name].make()) for k in (1, 2))
    assert bits(one) == bits(two)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_interior_points_on_larger_data_give_the_same_bits_in_any_threads(n_threads):
    (solver,) = [s for s in BANK["large linear"].solvers if s.__name__ == "InteriorPointSolver"]
    X, y = two_clouds(15_000, n_features=20)
    assert X.size > SMALL_DATA
    problem = margin(X, y, LINEAR_KERNEL, C=0.01)
    assert bits(solver(n_threads=1).solve(problem)) == bits(
        solver(n_threads=n_threads).solve(problem)
    )


def test_other_data_give_other_bits():
    # Guards the comparison itself.
    solver = BANK["gaussian"].solvers[0]
    assert bits(solver().solve(BANK["gaussian"].make())) != bits(
        solver().solve(BANK["callable"].make())
    )
    assert np.isfinite(solver().solve(BANK["gaussian"].make()).bias)
