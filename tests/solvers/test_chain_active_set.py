"""The window solver against the interior-point method, and where it gives up."""

import numpy as np
import pytest

from lindero.problems.coupled import Anchor
from lindero.problems.coupled_losses import coupled_margin, coupled_tube
from lindero.problems.node_graphs import Chain
from lindero.solvers.chain_active_set import follow_chain
from lindero.solvers.coupled_interior_point import CoupledInteriorPointSolver


def appended(seed, tube, anchored):
    """The problem after a sample has been appended, and the solution before that."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 60)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d))
    y = X[:, 0] * np.cos(np.arange(n) / 20) + 0.3 * rng.normal(size=n)
    links, coupling = rng.uniform(0.2, 5.0, n - 1), 10.0 ** rng.uniform(-1, 5)
    anchor = Anchor(rng.normal(size=d + 1), 0.7) if anchored else None
    bounds = 10.0 ** rng.uniform(-2, 1, n)
    bounds[::9] = 0.0

    def problem(m):
        rest = (coupling, Chain(links[: m - 1]), float(n), anchor)
        if tube:
            return coupled_tube(X[:m], y[:m], bounds[:m], 0.1, *rest)
        return coupled_margin(X[:m], np.where(y[:m] > 0, 1.0, -1.0), bounds[:m], *rest)

    before = CoupledInteriorPointSolver(1e-11).solve(problem(n - 1))
    theta = np.vstack([before.theta, before.theta[-1:]])
    return problem(n), theta, np.pad(before.a, ((0, 0), (0, 1)))


@pytest.mark.parametrize("tube", [False, True], ids=["margin", "tube"])
@pytest.mark.parametrize("anchored", [False, True], ids=["alone", "anchored"])
def test_it_finds_the_optimum_that_interior_points_find(tube, anchored):
    found = 0
    for seed in range(30):
        problem, theta, a = appended(seed, tube, anchored)
        start = theta.copy(), a.copy()
        solution = follow_chain(problem, theta, a)
        np.testing.assert_array_equal(theta, start[0])
        np.testing.assert_array_equal(a, start[1])
        if solution is None:
            continue
        found += 1
        best = CoupledInteriorPointSolver(1e-10).solve(problem)
        judgement = problem.judge(*solution)
        assert judgement.infeasibility < 1e-6
        assert problem.relative_gap(judgement) < 1e-7
        np.testing.assert_allclose(judgement.primal, best.judgement.primal, rtol=1e-7, atol=1e-12)
    assert found >= (28 if anchored else 20)


def test_offsets_that_nothing_fixes_are_not_guessed():
    X = np.ones((4, 1))
    problem = coupled_margin(X, np.ones(4), np.ones(4), 1.0, Chain.of(4))
    theta = np.tile([0.0, 1.0], (4, 1))
    assert follow_chain(problem, theta, np.zeros((1, 4))) is None


def test_a_start_that_is_not_finite_is_given_up():
    problem, theta, a = appended(0, False, True)
    theta[3] = np.nan
    assert follow_chain(problem, theta, a) is None
