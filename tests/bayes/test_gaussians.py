"""Numbers in conditional learning: quadratic logistic regression."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from lindero.bayes.columns.moments import add_log_densities
from lindero.bayes.discriminative.gaussians import (
    LEAST_VARIANCE,
    GaussianColumns,
    compute_statistics,
    estimate_normals,
    find_largest_step,
)
from lindero.bayes.discriminative.learning import learn_discriminatively
from lindero.bayes.discriminative.logistic import build_indicators
from tests.conditional_bank import chain, counted, naive, random_rows

NO_CODES = np.empty((0, 0), np.uint8)


def numbers_and_classes(seed, n_rows=600, n_classes=3):
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, n_rows)
    skewed = random.gamma(2.0 + y, 1.0)
    return np.array([skewed, random.normal(y, 1.0 + y), 1000 + 5 * random.normal(size=n_rows)]), y


def quadratic_optimum(numbers, y, more=None):
    X = (numbers - numbers.mean(axis=1, keepdims=True)) / numbers.std(axis=1, keepdims=True)
    X = np.vstack([X, X**2]).T
    if more is not None:
        X = np.hstack([X, more.toarray()])
    model = LogisticRegression(C=np.inf, tol=1e-11, max_iter=20_000).fit(X, y)
    return model.predict_log_proba(X)[np.arange(len(y)), y].sum()


@pytest.mark.parametrize(("solver", "tolerance"), [("tm", 1e-11), ("accelerated", 1e-13)])
def test_the_optimum_is_that_of_quadratic_logistic_regression(solver, tolerance):
    numbers, y = numbers_and_classes(0)
    families = counted((), np.empty((0, len(y)), np.uint8), np.empty(0, int), y, 3)
    fit = learn_discriminatively(
        families, np.empty((0, len(y)), np.uint8), y, numbers=numbers, solver=solver,
        tolerance=tolerance, max_iter=5000,
    )  # fmt: skip
    best = quadratic_optimum(numbers, y)
    assert fit.trace[0].log_likelihood < best - 3
    np.testing.assert_allclose(fit.trace[-1].log_likelihood, best, rtol=1e-6)
    scores = fit.network.log_joint(np.empty((0, len(y)), np.uint8))
    add_log_densities(numbers, fit.mean, fit.sd, scores)
    own = scores[np.arange(len(y)), y] - np.logaddexp.reduce(scores, axis=1)
    np.testing.assert_allclose(own.sum(), fit.trace[-1].log_likelihood, rtol=1e-9)
    assert (fit.sd > 0).all()


@pytest.mark.parametrize("solver", ["tm", "accelerated"])
@pytest.mark.parametrize("graph", [naive, chain])
def test_categories_and_numbers_together(solver, graph):
    numbers, y = numbers_and_classes(1, n_classes=2)
    random = np.random.default_rng(1)
    cards = np.array([3, 2, 3])
    codes, _ = random_rows(random, len(y), cards, 2)
    codes[0] = 1 + (codes[0] + y * (random.random(len(y)) < 0.4)) % 3
    families = counted(graph(3), codes, cards, y, 2)
    fit = learn_discriminatively(
        families, codes, y, numbers=numbers, solver=solver, tolerance=1e-11, max_iter=5000
    )
    best = quadratic_optimum(numbers, y, build_indicators(fit.network, codes))
    np.testing.assert_allclose(fit.trace[-1].log_likelihood, best, rtol=1e-6)


def test_sums_and_normals_are_each_others_inverse():
    random = np.random.default_rng(2)
    count, mean, sd = 1 + random.random((2, 3)), random.normal(size=(2, 3)), random.random((2, 3))
    again = estimate_normals(compute_statistics(count, mean, sd))
    np.testing.assert_allclose(again[0], mean)
    np.testing.assert_allclose(again[1], sd)


def test_the_largest_step_is_where_the_first_variance_or_count_ends():
    random = np.random.default_rng(3)
    for _ in range(200):
        sums = compute_statistics(
            random.uniform(1, 9, (2, 2)), random.normal(size=(2, 2)), random.uniform(0.2, 2, (2, 2))
        )
        change = random.normal(0, 3, (3, 2, 2))
        step = find_largest_step(sums, change)
        inside = sums + 0.999 * min(step, 1e3) * change
        assert (inside[0] > 0).all()
        variance = inside[2] / inside[0] - (inside[1] / inside[0]) ** 2
        assert variance.min() > LEAST_VARIANCE
        if step < 1e3:
            n, first, second = sums + 1.001 * step * change
            assert (n <= 0).any() or (second / n - (first / n) ** 2).min() < LEAST_VARIANCE + 1e-6
    assert find_largest_step(np.zeros((3, 0, 2)), np.zeros((3, 0, 2))) == np.inf


@pytest.mark.parametrize("solver", ["tm", "accelerated"])
def test_separable_constant_and_empty_columns_end_finite(solver):
    y = np.repeat([0, 1], 20)
    numbers = np.array([y + 1e-3 * np.arange(40), np.full(40, 7.0), np.full(40, np.nan)])
    codes = np.empty((0, 40), np.uint8)
    families = counted((), codes, np.empty(0, int), y, 2)
    for chosen in (numbers[:2], numbers):
        fit = learn_discriminatively(families, codes, y, numbers=chosen, solver=solver)
        assert np.isfinite(fit.mean).all()
        assert (fit.sd > 0).all()
        assert fit.trace[-1].log_likelihood > -1e-3


def test_units_do_not_matter():
    numbers, y = numbers_and_classes(4)
    codes = np.empty((0, len(y)), np.uint8)
    families = counted((), codes, np.empty(0, int), y, 3)
    one = learn_discriminatively(families, codes, y, numbers=numbers)
    two = learn_discriminatively(families, codes, y, numbers=numbers * 1e6 - 3e7)
    np.testing.assert_allclose(
        one.trace[-1].log_likelihood, two.trace[-1].log_likelihood, rtol=1e-7
    )
    np.testing.assert_allclose(two.mean, one.mean * 1e6 - 3e7, rtol=1e-2)
    columns = GaussianColumns(numbers)
    np.testing.assert_allclose(columns.numbers.mean(axis=1), 0, atol=1e-9)
    np.testing.assert_allclose(columns.numbers.std(axis=1), 1)
