"""Few rows by guesses of those at their kinks, and the matrices of their steps."""

import numpy as np
import pytest

from lindero.solvers import interior_point
from lindero.solvers.interior_point import GatheredGram
from lindero.solvers.kept_rows import Guess, RowsToSettle, solve_for_few
from lindero.solvers.solution import Limits
from tests.naive import kept_rows as naive


def kept(n=400, d=6, C=1.0, sides=1, seed=0):
    random = np.random.default_rng(seed)
    rows = np.column_stack([random.standard_normal((n, d)), np.ones(n)])
    values = rows @ random.standard_normal(d + 1) + random.standard_normal(n)
    if sides == 1:
        s, p = np.sign(values)[None], -np.ones((1, n))
    else:  # a tube around the values
        s = np.stack([np.ones(n), -np.ones(n)])
        p = np.stack([0.2 - values, 0.2 + values])
    u = C * random.uniform(0.5, 2.0, s.shape)
    pull = np.append(0.3 * random.standard_normal(d), 0.5)
    return RowsToSettle(rows, s, p, u, pull, np.append(np.ones(d), 0.0))


def terms(problem):
    return problem.rows, problem.s, problem.p, problem.u, problem.pull, problem.penalty


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("C", [0.01, 0.1, 1.0])
def test_the_slope_vanishes_with_the_last_width(C, sides):
    problem, theta, goal = kept(C=C, sides=sides), np.zeros(7), 1e-4
    wide = 4.0 * float(np.abs(problem.p).max())
    guess = Guess.at(problem.reach(theta), wide)
    found = problem.settle(theta, wide, goal, guess, Limits())
    assert found is not None
    size = 1.0 + float(problem.u.sum())
    np.testing.assert_allclose(naive.slope(found, *terms(problem), goal), 0.0, atol=1e-9 * size)
    a, r = naive.dual_variables(found, *terms(problem)[:4], goal)
    np.testing.assert_array_equal(guess.inside, np.abs(r) < goal)
    np.testing.assert_array_equal(guess.full & ~guess.inside, (r <= -goal))
    exact = np.where(guess.inside, problem.bounded(r, goal), np.where(guess.full, problem.u, 0.0))
    np.testing.assert_allclose(exact, a, atol=1e-9 * size)


@pytest.mark.parametrize("n", [1, 3, 12])
def test_few_rows_give_the_move_of_their_whole_system(n):
    random = np.random.default_rng(n)
    rows, sigma = random.standard_normal((n, 20)), random.uniform(1.0, 1e3, n)
    slope = random.standard_normal(21)
    system = naive.gram(rows, sigma) + np.diag(np.append(np.ones(20), 0.0))
    np.testing.assert_allclose(solve_for_few(rows, sigma, slope), np.linalg.solve(system, slope))


def test_wide_rows_settle_where_the_slope_vanishes():
    problem, theta, goal = kept(n=120, d=90, C=0.1), np.zeros(91), 1e-4
    wide = 4.0 * float(np.abs(problem.p).max())
    guess = Guess.at(problem.reach(theta), wide)
    found = problem.settle(theta, wide, goal, guess, Limits())
    assert found is not None
    assert 0 < np.count_nonzero(guess.inside) < 60
    np.testing.assert_allclose(naive.slope(found, *terms(problem), goal), 0.0, atol=1e-9)


def test_what_has_settled_takes_one_step_more():
    problem, goal = kept(), 1e-4
    guess = Guess.at(problem.reach(np.zeros(7)), 4.0)
    first = problem.settle(np.zeros(7), 4.0, goal, guess, Limits())
    assert first is not None
    before, again = problem.n_iter, problem.settle(first, goal, goal, guess, Limits())
    assert again is not None
    assert problem.n_iter == before + 1
    np.testing.assert_allclose(again, first, atol=1e-9)


def test_what_does_not_settle_is_left_to_others():
    problem = kept()
    guess = Guess.at(problem.reach(np.zeros(7)), 4.0)
    assert problem.settle(np.zeros(7), 4.0, 1e-4, guess, Limits(max_iter=2)) is None
    assert problem.n_iter == 2
    stopped = Limits()
    stopped.interrupt()
    assert problem.settle(np.zeros(7), 4.0, 1e-4, guess, stopped) is None
    few = kept(n=60, d=40, C=1e6)  # guesses swing: fewer rows at their kinks than columns
    guess = Guess.at(few.reach(np.zeros(41)), 0.9)
    with np.errstate(all="ignore"):
        assert few.settle(np.zeros(41), 0.9, 1e-12, guess, Limits()) is None
    assert few.n_iter <= 60


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("gathered", [1, 50, 10_000])
def test_a_sum_of_rows_is_that_written_out(monkeypatch, gathered, single):
    monkeypatch.setattr(interior_point, "_GATHERED", gathered)
    random = np.random.default_rng(0)
    rows, weights = random.standard_normal((90, 5)), random.uniform(0.1, 2.0, 90)
    out = np.zeros((6, 6))
    gram = GatheredGram(out, 30.0 if single else np.inf)
    for start in range(0, 90, 40):
        part = slice(start, start + 40)
        gram.add(rows[part], weights[part], 40 / 90)
    gram.add(rows[:0], weights[:0], 0.1)
    gram.flush()
    np.testing.assert_allclose(
        np.tril(out), np.tril(naive.gram(rows, weights)), rtol=1e-12, atol=1e-4 if single else 1e-12
    )


def test_single_precision_ends_where_its_rounding_would_count():
    rows, out = np.full((40, 1), 1.0 + 2.0**-30), np.zeros((2, 2))
    gram = GatheredGram(out, 2.1)
    gram.add(rows, np.full(40, 1e6), 1.0)
    gram.flush()
    assert out[1, 0] == pytest.approx(4e7 * (1.0 + 2.0**-30), rel=1e-13)
