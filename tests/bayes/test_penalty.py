"""The penalty towards the generative estimate: its value, its slope, its ends, its optimum."""

import numpy as np
import pytest

from lindero.bayes.columns.moments import Moments
from lindero.bayes.discriminative.lbfgs import LbfgsVariables, run_lbfgs
from lindero.bayes.discriminative.learning import learn_discriminatively
from lindero.bayes.discriminative.objective import NetworkParameters
from lindero.bayes.discriminative.tm import move_counts
from tests.conditional_bank import chain, counted, loops, naive, problem_of, random_rows
from tests.naive import conditional as twin
from tests.naive.penalty import penalty as twin_penalty


def some_problem(graph, penalty, seed=0, n_rows=60, missing=0.0, with_class=None):
    random = np.random.default_rng(seed)
    cards = np.array([2, 3, 2, 4])
    codes, y = random_rows(random, n_rows, cards, 3)
    codes[random.random(codes.shape) < missing] = 0
    numbers, weights = 5 + 3 * random.normal(y, 1.0, (2, n_rows)), random.random(n_rows) + 0.1
    families = counted(graph(4), codes, cards, y, 3, weights, with_class)
    moments = Moments.of(numbers, y, 3, weights)
    problem = problem_of(
        families, codes, y, weights, numbers=numbers, moments=moments, penalty=penalty
    )
    return problem, codes, y, weights, numbers


def elsewhere(problem, seed, size=0.4):
    """Parameters some way from the start, as Parameters and as network and normals."""
    random = np.random.default_rng(seed)
    start, cells = problem.estimate(problem.counts, problem.sums), problem.rows.cells
    logs = cells.normalise(start.logs + random.normal(0, size, start.logs.shape))
    mean = start.mean + random.normal(0, size, start.mean.shape)
    at = NetworkParameters(logs, mean, start.sd * np.exp(random.normal(0, size, mean.shape)))
    return at, (problem.build_network(at), problem.rows.gaussian.unstandardise(at.mean, at.sd))


@pytest.mark.parametrize("graph", [naive, chain, loops])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("with_class", [None, (True, True, True, False)])
def test_the_objective_is_the_likelihood_less_divergences(graph, missing, with_class):
    problem, codes, y, weights, numbers = some_problem(
        graph, 4.0, missing=missing, with_class=with_class
    )
    start = problem.estimate(problem.counts, problem.sums)
    first = problem.build_network(start), problem.rows.gaussian.unstandardise(start.mean, start.sd)
    at, (network, normals) = elsewhere(problem, 1)
    posterior = twin.posterior(network, normals, codes, numbers)
    likelihood = weights @ np.log(posterior[np.arange(len(y)), y])
    held = twin_penalty(network, normals, *first, 4.0)
    found = problem.evaluate(at)
    assert held < -1
    np.testing.assert_allclose(found.log_likelihood, likelihood, rtol=1e-9)
    np.testing.assert_allclose(found.objective, likelihood + held, rtol=1e-8)
    at_start = problem.evaluate(start)
    np.testing.assert_allclose(at_start.objective, at_start.log_likelihood, rtol=1e-12)


@pytest.mark.parametrize("graph", [naive, chain, loops])
def test_every_slope_of_the_penalty_is_that_of_finite_differences(graph):
    problem, *_ = some_problem(graph, 7.0, seed=2)
    variables = LbfgsVariables.of(problem)
    start = problem.estimate(problem.counts, problem.sums)
    at, _ = elsewhere(problem, 3)
    vector = variables.pack(at)
    at = variables.unpack(vector, start)
    slope = variables.compute_slope(at, problem.evaluate(at))
    assert np.abs(slope[-12:]).min() > 1e-3  # means and deviations are among them
    for k in range(len(vector)):
        ends = []
        for sign in (1, -1):
            moved = vector.copy()
            moved[k] += sign * 1e-5
            ends.append(problem.evaluate(variables.unpack(moved, start)).objective)
        np.testing.assert_allclose(slope[k], (ends[0] - ends[1]) / 2e-5, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("graph", [naive, chain, loops])
@pytest.mark.parametrize("solver", ["tm", "accelerated"])
def test_a_large_penalty_gives_the_generative_tables_back(graph, solver):
    random = np.random.default_rng(4)
    cards = np.array([2, 3, 2, 4])
    codes, y = random_rows(random, 200, cards, 3)
    numbers = random.gamma(2.0 + y, 1.0, (2, 200))
    families = counted(graph(4), codes, cards, y, 3)
    generative = families.estimate(1.0)
    mean, sd = Moments.of(numbers, y, 3).normals()
    apart = []
    for strength in (1.0, 1e3, 1e8):
        fit = learn_discriminatively(
            families, codes, y, numbers=numbers, penalty=strength, solver=solver
        )
        tables = zip(fit.network.log_tables, generative.log_tables, strict=True)
        of_tables = max(np.abs(np.exp(one) - np.exp(two)).max() for one, two in tables)
        apart.append(max(of_tables, np.abs(fit.mean - mean).max(), np.abs(fit.sd - sd).max()))
    assert apart[0] > apart[1] > apart[2]
    assert apart[0] > 0.05
    assert apart[2] < 1e-6


@pytest.mark.parametrize("strength", [0.5, 20.0])
def test_naive_bayes_has_one_optimum_from_wherever_one_starts(strength):
    problem, *_ = some_problem(naive, strength, seed=5, n_rows=100)
    assert not problem.is_free  # it is not proved
    ends = [move_counts(problem, 5000, 1e-10).trace[-1].objective]
    starts = [problem.estimate(problem.counts, problem.sums)]
    starts += [elsewhere(problem, seed, 1.5)[0] for seed in range(2)]
    first = [problem.evaluate(start).objective for start in starts]
    assert np.ptp(first) > 20
    for start in starts:
        way = run_lbfgs(problem, start, 5000, 1e-13)
        ends.append(way.trace[-1].objective)
    np.testing.assert_allclose(ends, ends[0], rtol=1e-7)


@pytest.mark.parametrize("graph", [naive, chain, loops])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_moving_counts_climbs_and_keeps_counts_of_parents(graph, missing):
    problem, *_ = some_problem(graph, 5.0, seed=6, n_rows=120, missing=missing)
    way = move_counts(problem, 300, 1e-7)
    assert len(way.trace) > 3
    assert np.diff([step.objective for step in way.trace]).min() > 0
    cells = problem.rows.cells
    for i in range(4):
        now, before = (cells.view_seen(counts, i) for counts in (way.counts, problem.counts))
        np.testing.assert_allclose(now.sum(axis=0), before.sum(axis=0), rtol=1e-9)
        assert np.abs(now - before).max() > 1e-3
    np.testing.assert_allclose(way.sums[0], problem.sums[0], rtol=1e-9)
    other = run_lbfgs(problem, problem.estimate(problem.counts, problem.sums), 2000, 1e-12).trace[
        -1
    ]
    np.testing.assert_allclose(way.trace[-1].objective, other.objective, rtol=1e-5)


@pytest.mark.parametrize("solver", ["tm", "accelerated"])
def test_separable_classes_have_a_maximum(solver):
    y = np.repeat([0, 1], 30)
    random = np.random.default_rng(7)
    codes = np.array([random.integers(1, 3, 60), random.integers(1, 4, 60)], np.uint8)
    numbers = np.array([1.2 * y + random.random(60)])  # no class reaches into the other's range
    families = counted(chain(2), codes, [2, 3], y, 2)
    alone = learn_discriminatively(families, codes, y, numbers=numbers, solver=solver)
    assert "the classes can be told apart without error" in alone.status
    assert not alone.is_converged
    fits = [
        learn_discriminatively(
            families, codes, y, numbers=numbers, penalty=strength, solver=solver, tolerance=1e-7
        )
        for strength in (0.5, 3.0)
    ]
    for fit in fits:
        assert fit.status.startswith("Converged")
        assert fit.is_converged
        assert max(np.abs(table).max() for table in fit.network.log_tables) < 15
        assert fit.sd.min() > 0.1
    assert fits[1].trace[-1].log_likelihood < fits[0].trace[-1].log_likelihood < -1e-4


def test_the_sentence_says_why_a_better_optimum_may_exist():
    random = np.random.default_rng(8)
    cards = np.array([2, 3, 2, 4])
    codes, y = random_rows(random, 120, cards, 2)
    gaps = codes.copy()
    gaps[0, :9] = 0
    beside = "optimum next to the generative estimate, and there may be a better one, because "
    for graph, rows, strength, reason in (
        (naive, codes, 0.0, None),
        (naive, codes, 2.0, "a penalty need not be concave"),
        (naive, gaps, 0.0, "rows have missing values"),
        (naive, gaps, 2.0, "rows have missing values"),
        (chain, codes, 0.0, None),
        (chain, codes, 2.0, "a penalty need not be concave"),
        (loops, codes, 0.0, "some attributes have parents that are not parents of one another"),
    ):
        families = counted(graph(4), rows, cards, y, 2)
        fit = learn_discriminatively(families, rows, y, penalty=strength)
        assert fit.is_global == (reason is None)
        assert fit.status.endswith("tolerance." if reason is None else f"{beside}{reason}.")


@pytest.mark.parametrize("solver", ["tm", "accelerated"])
def test_the_sentence_says_that_there_is_no_maximum_in_any_graph(solver):
    random = np.random.default_rng(10)
    cards = np.array([2, 3, 2, 4])
    codes, y = random_rows(random, 150, cards, 2)
    loose = counted(loops(4), codes, cards, y, 2)
    alone = learn_discriminatively(loose, codes, y, solver=solver)
    assert "has no maximum" not in alone.status  # values of its roots meet both classes
    codes[1] = np.where(y == 1, 1 + codes[1] % 2, codes[1])  # value 3 is of class 0 only
    families = counted(loops(4), codes, cards, y, 2)
    fit = learn_discriminatively(families, codes, y, solver=solver, max_iter=300)
    assert "some values never occur with some class" in fit.status
    assert not fit.is_converged


@pytest.mark.parametrize("solver", ["tm", "accelerated"])
def test_the_sentence_says_that_rows_with_gaps_are_told_apart(solver):
    y = np.repeat([0, 1], 20)
    codes = np.array([y + 1, np.tile([1, 2], 20)], np.uint8)
    codes[1, 0] = 0
    families = counted(naive(2), codes, [2, 2], y, 2)
    fit = learn_discriminatively(families, codes, y, solver=solver)
    assert "All rows are classified without error: a penalty above 0" in fit.status
    held = learn_discriminatively(families, codes, y, solver=solver, penalty=1.0)
    assert "classified without error" not in held.status
    codes[0, 5] = 2
    mixed = counted(naive(2), codes, [2, 2], y, 2)
    assert (
        "classified without error"
        not in learn_discriminatively(mixed, codes, y, solver=solver).status
    )


def test_gaps_in_attributes_that_have_no_arc_do_not_matter():
    random = np.random.default_rng(9)
    cards = np.array([3, 2, 3])
    codes, y = random_rows(random, 200, cards, 2)
    graph, with_class = ((), (0,), ()), (True, True, False)
    gaps = codes.copy()
    gaps[2, :50] = 0
    fits = [
        learn_discriminatively(
            counted(graph, rows, cards, y, 2, with_class=with_class), rows, y, tolerance=1e-12
        )
        for rows in (codes, gaps)
    ]
    assert fits[1].is_global
    assert fits[0].status == fits[1].status
    for one, two in zip(fits[0].network.log_tables[:2], fits[1].network.log_tables[:2],
                        strict=True):  # fmt: skip
        np.testing.assert_allclose(one, two, rtol=1e-9)
