"""Conditional likelihoods and surpluses, against enumeration and finite differences."""

import numpy as np
import pytest

from lindero.bayes.columns.moments import Moments
from lindero.bayes.discriminative import posteriors
from lindero.bayes.discriminative.cells import FamilyCells
from lindero.bayes.discriminative.gaussians import to_natural
from lindero.bayes.discriminative.lbfgs import LbfgsVariables
from lindero.bayes.discriminative.objective import ConditionalRows, NetworkParameters
from tests.conditional_bank import chain, counted, loops, naive, problem_of, random_rows
from tests.naive import conditional as twin
from tests.network_bank import random_codes, random_network


def some_rows(random, network, missing, n_numbers, n_rows=14):
    codes = random_codes(random, network, n_rows, missing, new=0)
    y, weights = random.integers(0, network.n_classes, n_rows), random.random(n_rows)
    numbers = random.normal(3.0, 2.0, (n_numbers, n_rows))
    numbers[random.random(numbers.shape) < missing / 2] = np.nan
    mean = random.normal(3.0, 1.0, (n_numbers, network.n_classes))
    sd = random.uniform(0.5, 3.0, mean.shape)
    return codes, y, weights, numbers, (mean, sd)


def assert_equals_enumeration(seed, most_parents, missing, n_numbers):
    random = np.random.default_rng(seed)
    network = random_network(random, most_parents, alpha=1.0)
    codes, y, weights, numbers, normals = some_rows(random, network, missing, n_numbers)
    cells, logs = FamilyCells.from_network(network)
    rows = ConditionalRows(cells, codes, y, weights, numbers)
    inside = rows.gaussian.standardise(*normals)
    parameters = NetworkParameters(logs, *inside)
    found = rows.evaluate(parameters)

    posterior = twin.posterior(network, normals, codes, numbers)
    aims = weights[:, None] * np.eye(network.n_classes)[y]
    log_likelihood = weights @ np.log(posterior[np.arange(len(y)), y])
    np.testing.assert_allclose(found.log_likelihood, log_likelihood, rtol=1e-10, atol=1e-10)
    assert found.objective == found.log_likelihood
    residuals = aims - weights[:, None] * posterior
    standard = (numbers - rows.gaussian.centre) / rows.gaussian.scale
    tables, of_class, moments = twin.surplus(network, codes, standard, residuals)
    np.testing.assert_allclose(found.cells[-1], of_class, atol=1e-9)
    np.testing.assert_allclose(found.moments, moments, atol=1e-9)
    ours = twin.slopes(network, cells.split(found.cells))
    for one, two in zip(ours, twin.slopes(network, tables), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-9)


@pytest.mark.parametrize("missing", [0.0, 0.35])
@pytest.mark.parametrize("most_parents", [0, 1, 3])
@pytest.mark.parametrize("n_numbers", [0, 2])
def test_everything_equals_enumeration(most_parents, missing, n_numbers):
    for seed in range(16):
        assert_equals_enumeration(seed, most_parents, missing, n_numbers)


@pytest.mark.parametrize("entries", [1, 40, 10**6])
def test_groups_of_any_size_count_every_cell_alike(entries, monkeypatch):
    monkeypatch.setattr(posteriors, "_ENTRIES", entries)
    random = np.random.default_rng(0)
    for parents in (naive(7), chain(7), loops(7)):
        cards = random.integers(2, 6, 7)
        codes, y = random_rows(random, 3000, cards, 3)
        families = counted(parents, codes, cards, y, 3)
        problem = problem_of(families, codes, y)
        cells, at = problem.rows.cells, problem.estimate(problem.counts, problem.sums)
        found = problem.evaluate(at)
        joint = cells.to_network(at.logs).log_joint(codes)
        shares = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
        for i, above in enumerate(parents):
            table = np.zeros((*cells.shapes[i], 3))
            np.add.at(table, tuple(codes[[i, *above]]), np.eye(3)[y] - shares)
            np.testing.assert_allclose(cells.view_table(found.cells, i), table, atol=1e-8)


@pytest.mark.parametrize("graph", [chain, loops])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("penalty", [0.0, 4.0])
def test_slopes_are_those_of_finite_differences(graph, missing, penalty):
    random = np.random.default_rng(1)
    cards = np.array([2, 3, 2, 4])
    codes, y = random_rows(random, 60, cards, 3)
    codes[random.random(codes.shape) < missing] = 0
    numbers = random.normal(y, 1.0, (2, 60))
    families = counted(graph(4), codes, cards, y, 3)
    problem = problem_of(
        families, codes, y, numbers=numbers, moments=Moments.of(numbers, y, 3), penalty=penalty
    )
    variables = LbfgsVariables.of(problem)
    start = problem.estimate(problem.counts, problem.sums)
    vector = variables.pack(start) + random.normal(0, 0.1, len(variables.pack(start)))
    at = variables.unpack(vector, start)
    slope = variables.compute_slope(at, problem.evaluate(at))
    assert problem.is_free == (graph is chain and missing == 0 and penalty == 0)
    for k in random.choice(len(vector), 25, replace=False):
        ends = []
        for sign in (1, -1):
            moved = vector.copy()
            moved[k] += sign * 1e-5
            ends.append(problem.evaluate(variables.unpack(moved, start)).objective)
        np.testing.assert_allclose(slope[k], (ends[0] - ends[1]) / 2e-5, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_any_number_of_threads_gives_the_same_bits(n_classes):
    random = np.random.default_rng(2)
    cards = np.full(12, 4)
    codes, y = random_rows(random, 40_000, cards, n_classes)
    numbers, weights = random.normal(y, 1.0, (3, 40_000)), random.random(40_000)
    cells = FamilyCells(chain(12), (True,) * 12, cards, n_classes)
    logs = cells.normalise(random.normal(size=(cells.size, n_classes)))
    mean, sd = random.normal(size=(3, n_classes)), np.ones((3, n_classes))
    answers = []
    for n_threads in (1, 2, 5):
        rows = ConditionalRows(cells, codes, y, weights, numbers, n_threads)
        answers.append(rows.evaluate(NetworkParameters(logs, mean, sd)))
    for other in answers[1:]:
        assert other.log_likelihood == answers[0].log_likelihood
        np.testing.assert_array_equal(other.cells, answers[0].cells)
        np.testing.assert_array_equal(other.moments, answers[0].moments)


def test_weights_count_rows():
    random = np.random.default_rng(3)
    cards = np.array([3, 2, 3])
    codes, y = random_rows(random, 50, cards, 2)
    times = random.integers(0, 3, 50)
    cells = FamilyCells(chain(3), (True,) * 3, cards, 2)
    logs = cells.normalise(random.normal(size=(cells.size, 2)))
    at = NetworkParameters(logs, np.empty((0, 2)), np.empty((0, 2)))
    weighted = ConditionalRows(cells, codes, y, times.astype(float)).evaluate(at)
    repeated = ConditionalRows(cells, np.repeat(codes, times, axis=1), np.repeat(y, times))
    twice = repeated.evaluate(at)
    np.testing.assert_allclose(weighted.log_likelihood, twice.log_likelihood)
    np.testing.assert_allclose(weighted.cells, twice.cells, atol=1e-12)


def test_natural_parameters_are_those_of_the_density():
    x, mean, sd = 1.7, np.array([[0.3]]), np.array([[2.1]])
    one, first, second = to_natural(mean, sd)[:, 0, 0]
    density = -0.5 * ((x - 0.3) / 2.1) ** 2 - np.log(2.1)
    np.testing.assert_allclose(one + first * x + second * x**2, density)


def test_what_does_not_fit_is_refused():
    cells = FamilyCells(naive(2), (True,) * 2, np.array([2, 2]), 2)
    codes, y = np.ones((2, 3), np.uint8), np.array([0, 1, 0])
    with pytest.raises(ValueError, match="values that were never seen"):
        ConditionalRows(cells, codes + np.uint8(2), y)
    with pytest.raises(ValueError, match="3 rows need as many columns"):
        ConditionalRows(cells, codes, y, None, np.zeros((1, 4)))
