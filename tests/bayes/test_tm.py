"""Moving counts: what stays, what rises, and how it ends."""

import numpy as np
import pytest

from lindero.bayes import TAN, NaiveBayes
from lindero.bayes.columns.moments import Moments
from lindero.bayes.discriminative.convergence import LearningOutcome
from lindero.bayes.discriminative.learning import learn_discriminatively, move_counts_or_climb
from lindero.bayes.discriminative.logistic import compute_joint_counts
from lindero.bayes.discriminative.tm import move_counts
from lindero.bayes.networks.network import FamilyCounts
from tests.bayes.tic_tac_toe import tic_tac_toe
from tests.conditional_bank import chain, counted, loops, naive, problem_of, random_rows


def learned(graph, seed=0, n_rows=400, n_classes=3, **options):
    random = np.random.default_rng(seed)
    cards = np.array([3, 2, 4, 3])
    codes, y = random_rows(random, n_rows, cards, n_classes)
    families = counted(graph(4), codes, cards, y, n_classes)
    problem = problem_of(families, codes, y, **options)
    return problem, move_counts(problem, 3000, 1e-8)


@pytest.mark.parametrize("graph", [naive, chain])
def test_counts_of_attributes_stay_and_the_objective_rises(graph):
    problem, way = learned(graph)
    assert len(way.trace) > 4
    np.testing.assert_allclose(
        way.counts.sum(axis=1), problem.counts.sum(axis=1), rtol=0, atol=1e-9
    )
    assert np.diff([step.objective for step in way.trace]).min() > 0
    assert all(0 < step.step <= 1 for step in way.trace[1:])
    assert way.counts[problem.rows.cells.used].min() > 0


@pytest.mark.parametrize("graph", [naive, chain])
def test_tables_agree_on_what_they_share(graph):
    problem, way = learned(graph)
    cells = problem.rows.cells
    for counts in (problem.counts, way.counts):
        for i, above in enumerate(cells.parents):
            table = cells.view_seen(counts, i)
            np.testing.assert_allclose(
                table.sum(axis=tuple(range(table.ndim - 1))), counts[-1], rtol=1e-11
            )
            for p in above:
                own = cells.view_seen(counts, p)
                np.testing.assert_allclose(
                    table.sum(axis=0), own.sum(axis=tuple(range(1, own.ndim - 1))), rtol=1e-11
                )
    again = compute_joint_counts(
        cells, way.parameters.logs, problem.rows.total_weight, problem.counts
    )
    np.testing.assert_allclose(way.counts, again, rtol=1e-10)


def test_it_starts_at_the_smoothed_generative_estimate():
    random = np.random.default_rng(1)
    cards = np.array([3, 2, 2])
    codes, y = random_rows(random, 90, cards, 2)
    families = counted(chain(3), codes, cards, y, 2)
    problem = problem_of(families, codes, y, alpha=0.5)
    start = problem.build_network(problem.estimate(problem.counts, problem.sums))
    generative = families.estimate(0.5)
    for one, two in zip(start.log_tables, generative.log_tables, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-12)
    np.testing.assert_allclose(start.log_prior, generative.log_prior)


@pytest.mark.parametrize("graph", [naive, chain, loops])
def test_at_the_end_counts_are_as_expected(graph):
    problem, way = learned(graph, n_rows=4000)
    assert way.end.outcome is LearningOutcome.CONVERGED
    cells, start = problem.rows.cells, problem.estimate(problem.counts, problem.sums)
    before = largest_slope(cells, start.logs, problem.evaluate(start).cells)
    after = largest_slope(cells, way.parameters.logs, problem.evaluate(way.parameters).cells)
    assert before > 2
    assert after < before / 20


def largest_slope(cells, logs, surplus):
    tables = [cells.view_seen(surplus, i) for i in range(cells.n_attributes)]
    shares = [np.exp(cells.view_seen(logs, i)) for i in range(cells.n_attributes)]
    slopes = [t - s * t.sum(axis=0) for t, s in zip(tables, shares, strict=True)]
    return max(np.abs(surplus[-1]).max(), *(np.abs(slope).max() for slope in slopes))


@pytest.mark.parametrize("alpha", [0.1, 1.0, 5.0])
def test_pseudo_counts_do_not_move_the_optimum(alpha):
    _, way = learned(chain, alpha=alpha)
    _, other = learned(chain, alpha=1.5)
    np.testing.assert_allclose(way.trace[-1].objective, other.trace[-1].objective, rtol=1e-7)


def test_the_objective_rises_with_missing_values_too():
    random = np.random.default_rng(2)
    cards = np.array([3, 2, 3, 2])
    codes, y = random_rows(random, 300, cards, 2)
    codes[random.random(codes.shape) < 0.25] = 0
    numbers = random.normal(y, 1.0, (2, 300))
    numbers[random.random(numbers.shape) < 0.2] = np.nan
    for graph in (naive, chain, loops):
        families = counted(graph(4), codes, cards, y, 2)
        moments = Moments.of(numbers, y, 2)
        problem = problem_of(families, codes, y, numbers=numbers, moments=moments)
        way = move_counts(problem, 100, 1e-7)
        assert not problem.is_free
        assert np.diff([step.objective for step in way.trace]).min() > 0
        assert way.trace[-1].objective > way.trace[0].objective + 0.1
        other = learn_discriminatively(families, codes, y, numbers=numbers)
        gain, best = (w.trace[-1].objective - w.trace[0].objective for w in (way, other))
        assert 0.5 * best < gain < 1.1 * best  # moving counts takes many small steps here


def test_attributes_without_the_class_keep_their_tables():
    random = np.random.default_rng(3)
    cards = np.array([3, 2, 3])
    codes, y = random_rows(random, 200, cards, 2)
    families = counted(chain(3), codes, cards, y, 2, with_class=(True, True, False))
    for solver in ("tm", "accelerated"):
        found = learn_discriminatively(families, codes, y, solver=solver)
        generative = families.estimate(1.0)
        assert found.network.log_tables[2].shape == (2, 3, 1)
        np.testing.assert_allclose(
            found.network.log_tables[2], generative.log_tables[2], atol=1e-12
        )
        assert found.trace[-1].log_likelihood > found.trace[0].log_likelihood


# -- counts that vanish ------------------------------------------------------------------------


def test_where_counts_vanish_another_method_goes_on():
    X, y = tic_tac_toe()
    assert X.shape == (958, 9)
    assert y.sum() == 626
    options = {"learning": "discriminative", "penalty": 0.0, "solver": "tm"}
    found = NaiveBayes(**options).fit(X, y).convergence_
    # The optimum of a logistic regression on the indicators is -38.4282; counts alone creep there.
    assert found.is_global
    assert found.log_likelihood[-1] == pytest.approx(-38.4282, abs=1e-3)
    assert np.diff(found.log_likelihood).min() > -1e-9
    n_moved = int(np.flatnonzero(found.step[1:] < 1.0)[-1]) + 1
    assert f"after {n_moved} of them L-BFGS went on" in found.status
    assert len(found.step) < found.n_iter < 300

    tree = TAN(**options).fit(X, y).convergence_
    assert tree.log_likelihood[-1] > -1e-6
    assert "can be told apart without error" in tree.status
    assert "L-BFGS went on" in tree.status


def test_moving_counts_alone_says_that_it_creeps():
    random = np.random.default_rng(5)
    codes, y = random_rows(random, 40, np.array([6, 8, 7, 3]), 2)
    problem = problem_of(counted(naive(4), codes, [7, 9, 8, 3], y, 2), codes, y)
    way = move_counts(problem, 5000, 1e-12)
    assert way.end.outcome is LearningOutcome.STALLED
    again = move_counts_or_climb(problem, 5000, 1e-12)
    assert again.trace[-1].objective > way.trace[-1].objective
    cut = move_counts_or_climb(problem, way.n_iter + 1, 1e-12)  # nothing left to go on with
    assert cut.end.outcome is LearningOutcome.STALLED
    assert "max_iter allows no other way" in cut.end.status


# -- bad cases -------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["tm", "accelerated"])
def test_separable_classes_have_a_finite_answer_that_says_so(solver):
    random = np.random.default_rng(4)
    codes = random.integers(1, 3, (3, 80)).astype(np.uint8)
    y = (codes.sum(axis=0) > 4).astype(int)  # a majority: no value is of one class only
    assert all(len(set(y[codes[i] == v])) == 2 for i in range(3) for v in (1, 2))
    families = counted(naive(3), codes, [2, 2, 2], y, 2)
    found = learn_discriminatively(families, codes, y, solver=solver)
    assert "the classes can be told apart without error" in found.status
    assert all(np.isfinite(table).all() for table in found.network.log_tables)
    assert found.trace[-1].log_likelihood > -0.5
    pulled = learn_discriminatively(families, codes, y, solver=solver, penalty=5.0)
    assert pulled.status.startswith("Converged")
    assert pulled.trace[-1].log_likelihood < -0.5


@pytest.mark.parametrize("solver", ["tm", "accelerated"])
@pytest.mark.parametrize("graph", [naive, chain, loops])
def test_empty_cells_lone_rows_and_many_parameters(graph, solver):
    random = np.random.default_rng(5)
    cards = np.array([7, 9, 8, 3])  # the last value of each never occurs
    codes, y = random_rows(random, 40, cards - 1, 2)
    y = np.append(y, 2)  # a class with one row
    codes = np.append(codes, [[1]] * 4, axis=1).astype(np.uint8)
    families = counted(graph(4), codes, cards, y, 3)
    found = learn_discriminatively(families, codes, y, solver=solver, max_iter=400)
    assert all(np.isfinite(table).all() for table in found.network.log_tables)
    assert np.isfinite(found.network.log_prior).all()
    assert np.diff([step.objective for step in found.trace]).min() > -1e-9
    assert found.trace[-1].log_likelihood > found.trace[0].log_likelihood
    assert not found.is_global  # there is no optimum
    if graph is not loops:
        assert any(
            words in found.status
            for words in ("some values never occur with some class", "Stalled", "Stopped after")
        )


@pytest.mark.parametrize("solver", ["tm", "accelerated"])
def test_no_attributes_no_numbers_and_columns_without_values(solver):
    y = np.array([0, 1, 1, 1])
    nothing = np.empty((0, 4), np.uint8)
    families = counted((), nothing, np.empty(0, int), y, 2)
    found = learn_discriminatively(families, nothing, y, solver=solver)
    np.testing.assert_allclose(np.exp(found.network.log_prior), [0.25, 0.75])
    codes = np.array([[0, 0, 0, 0], [1, 2, 2, 1]], np.uint8)
    families = counted(((), (0,)), codes, [0, 2], y, 2)
    found = learn_discriminatively(families, codes, y, solver=solver)
    generative = families.estimate(1.0)
    assert found.network.parents == generative.parents
    assert [t.shape for t in found.network.log_tables] == [t.shape for t in generative.log_tables]
    ours, theirs = (network.log_joint(codes) for network in (found.network, generative))
    assert np.isfinite(ours).all()
    assert np.abs(ours - theirs).max() > 0.01  # it has learned from the other column


@pytest.mark.parametrize("solver", ["tm", "accelerated"])
def test_few_iterations_are_said_to_be_few(solver):
    random = np.random.default_rng(6)
    cards = np.array([3, 2, 4, 3])
    codes, y = random_rows(random, 400, cards, 3)
    families = counted(chain(4), codes, cards, y, 3)
    found = learn_discriminatively(families, codes, y, solver=solver, max_iter=4)
    assert found.status.startswith("Stopped after 4 iterations, the most that max_iter allows")
    assert found.n_iter <= 4


@pytest.mark.parametrize("graph", [naive, chain, loops])
def test_moved_counts_give_the_network(graph):
    problem, way = learned(graph)
    cells, found = problem.rows.cells, problem.build_network(way.parameters)
    counts = FamilyCounts(cells.parents, cells.with_class, way.counts[-1], cells.split(way.counts))
    again = counts.estimate(0.0)
    np.testing.assert_allclose(found.log_prior, again.log_prior, atol=1e-9)
    for one, two in zip(found.log_tables, again.log_tables, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-9)


def test_what_cannot_be_learned_is_refused():
    codes, y = np.array([[1, 2, 1]], np.uint8), np.array([0, 1, 1])
    families = counted(naive(1), codes, [2], y, 2)
    for message, options in {
        "a count of zero cannot": {"alpha": 0.0},
        "penalty is -1": {"penalty": -1.0},
        "solver is 'newton'; there are": {"solver": "newton"},
        "All rows have weight 0": {"weights": np.zeros(3)},
        "two iterations at least": {"max_iter": 1},
    }.items():
        with pytest.raises(ValueError, match=message):
            learn_discriminatively(families, codes, y, **options)
