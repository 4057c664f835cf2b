"""The search for labels against all labellings of a few rows, its steps against plain loops."""

import numpy as np
import pytest

from lindero.kernels.special import MatrixKernel
from lindero.problems import transductive
from lindero.solvers.choose import GeneralSolver
from lindero.solvers.label_search import METHODS, LabelSearch, PartialLabels
from lindero.solvers.solution import Limits
from tests.naive import label_search as naive


def few_rows(seed, n_classes=2):
    """Nine rows, one or two of each class labelled, and how many of the others each class gets."""
    random = np.random.default_rng(seed)
    truth = np.arange(9) % n_classes
    X = random.normal(size=(9, 2)) + 2.0 * np.column_stack([truth, truth == 1])
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    signs = np.array([naive.sides(code, n_classes) for code in truth])
    signs[4:] = 0.0
    bounds = 10.0 ** random.uniform(-0.5, 1.0, 9)
    counts = np.bincount(truth[4:], minlength=n_classes)
    return np.exp(-0.5 * squares), signs, bounds, counts


def search(K, signs, bounds, n_classes, limits=None, tol=1e-6):
    rows = PartialLabels(MatrixKernel(K), signs, bounds, n_classes)
    return LabelSearch(rows, GeneralSolver, tol, 200.0, limits or Limits())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_is_found_is_a_labelling_that_no_swap_makes_better(method, n_classes):
    best = 0
    for seed in range(4):
        K, signs, bounds, counts = few_rows(seed, n_classes)
        known = naive.search_labels(K, signs, bounds, n_classes, counts)
        searched = search(K, signs, bounds, n_classes)
        found = searched.run(method, searched.solve_labelled(), counts)
        assert np.array_equal(np.bincount(found.codes, minlength=n_classes), counts)
        assert found.objective == pytest.approx(known[tuple(found.codes)], rel=1e-4)
        opened = signs[:, 0] == 0
        costs = naive.label_costs(found.values[opened], n_classes, bounds[opened])
        assert naive.count_profitable_swaps(found.codes, costs) == 0
        best += found.objective <= min(known.values()) * 1.0001
    assert best >= 1  # a local optimum may be another


@pytest.mark.parametrize("n_classes", [2, 4])
def test_costs_and_assignments_are_those_of_plain_loops(n_classes):
    random = np.random.default_rng(3)
    for _ in range(5):
        values = 2.0 * random.normal(size=(6, 1 if n_classes == 2 else n_classes))
        weights, counts = random.uniform(0.1, 3.0, 6), np.bincount(np.arange(6) % n_classes)
        costs = transductive.label_costs(values, n_classes, weights)
        np.testing.assert_allclose(costs, naive.label_costs(values, n_classes, weights))
        codes = transductive.assign_labels(costs, counts)
        assert np.array_equal(np.bincount(codes, minlength=n_classes), counts)
        assert naive.count_profitable_swaps(codes, costs) == 0
        least, cost = naive.assign_labels(costs, counts), costs[np.arange(6), codes].sum()
        assert cost == pytest.approx(least) if n_classes == 2 else cost <= 1.3 * least


@pytest.mark.parametrize("temperature", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_soft_labels_meet_the_counts_and_no_others_cost_less(n_classes, temperature):
    random = np.random.default_rng(5)
    costs, counts = random.exponential(size=(12, n_classes)), np.array([3, 9, 0][:n_classes])
    counts[-1] += 12 - counts.sum()
    shares = transductive.soften_labels(costs, counts, temperature)

    def price(p):
        return (p * costs).sum() + temperature * transductive.entropy_cost(p)

    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_allclose(shares.sum(axis=0), counts, atol=1e-6)
    for _ in range(20):
        i, j = random.choice(12, 2, replace=False)
        a, b = random.choice(n_classes, 2, replace=False)
        move = 0.5 * min(shares[i, a], shares[j, b])
        other = shares.copy()
        other[i, a], other[i, b] = other[i, a] - move, other[i, b] + move
        other[j, b], other[j, a] = other[j, b] - move, other[j, a] + move
        assert price(other) >= price(shares) - 1e-9 * max(1.0, temperature)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_twins_state_what_the_mathematics_says(n_classes):
    """The primal value of the problem with twins, from hinges written out."""
    K, signs, bounds, _ = few_rows(1)
    opened = np.flatnonzero(signs[:, 0] == 0)
    known = np.flatnonzero(signs[:, 0] != 0)
    samples = np.concatenate([known, opened, opened])
    random = np.random.default_rng(2)
    shares, at = random.uniform(size=5), 2.0 * random.normal(size=5)
    d = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    y, own, other = signs[known, 0], bounds[known], bounds[opened]
    doubled = MatrixKernel(K).subset(samples), None
    problems = [
        transductive.state_soft(*rows, y, own, other, shares)
        for rows in (doubled, (MatrixKernel(K), samples))
    ] + [
        transductive.state_tangent(*rows, y, own, other, d, at)
        for rows in (doubled, (MatrixKernel(K), samples))
    ]
    for number, problem in enumerate(problems):
        a = problem.nearest_feasible(random.uniform(size=14) * problem.u)
        f = problem.kernel_sums(a)
        bias = 0.3
        reach = f[4:9] + bias if problem.sample_of is None else f[opened] + bias
        loss = own @ transductive.hinge(y * (f[known] + bias))
        if number < 2:
            loss += other @ (
                shares * transductive.hinge(reach) + (1 - shares) * transductive.hinge(-reach)
            )
        else:
            slope = np.where(d * at > -1.0, d, 0.0)
            both = transductive.hinge(reach) + transductive.hinge(-reach)
            loss += other @ (both - slope * reach - (slope != 0))
        quadratic = 0.5 * float(problem.at_samples(problem.s * a) @ f)
        assert problem.judge(a, f, bias).primal == pytest.approx(quadratic + loss)


def test_counts_are_the_nearest_whole_numbers():
    assert transductive.count_labels(np.array([0.5, 0.5]), 7).tolist() in ([3, 4], [4, 3])
    assert transductive.count_labels(np.array([0.2, 0.3, 0.5]), 10).tolist() == [2, 3, 5]
    assert transductive.count_labels(np.array([0.0, 1.0]), 3).tolist() == [0, 3]
    assert transductive.count_labels(np.ones(3), 1).sum() == 1


@pytest.mark.parametrize("method", METHODS)
def test_a_callback_stops_the_search_with_labels_that_meet_the_counts(method):
    K, signs, bounds, counts = few_rows(2)
    searched = search(K, signs, bounds, 2, Limits(callback=lambda report: True))
    found = searched.run(method, np.zeros((9, 1)), counts)
    assert np.array_equal(np.bincount(found.codes, minlength=2), counts)
    assert len(found.solutions) == 1
