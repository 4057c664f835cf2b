"""Networks and logistic regressions: the same posterior, the same optimum."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from lindero.bayes.discriminative.cells import FamilyCells
from lindero.bayes.discriminative.learning import learn_discriminatively
from lindero.bayes.discriminative.logistic import (
    absorb_normalisers,
    build_indicators,
    compute_joint_counts,
    fit_margins,
    is_global,
    to_logistic,
)
from tests.conditional_bank import (
    chain,
    counted,
    from_logistic,
    learned_tree,
    loops,
    naive,
    random_rows,
    read_table,
)

#: Each parent's family holds the others: perfect, though attributes have two parents.
PERFECT = ((), (0,), (1, 0), (2, 1), (0, 1))


def test_graphs_with_one_optimum():
    true = [True] * 5
    assert is_global(naive(5), true)
    assert is_global(chain(5), true)
    assert is_global(PERFECT, true)
    assert not is_global(loops(5), true)
    assert is_global(chain(3), [True, True, False])  # a leaf that drops out
    assert not is_global(chain(3), [False, True, True])


def log_posterior(network, codes):
    joint = network.log_joint(codes)
    return joint - np.logaddexp.reduce(joint, axis=1)[:, None]


@pytest.mark.parametrize("parents", [naive(5), chain(5), PERFECT])
def test_any_weights_are_those_of_a_network(parents):
    random = np.random.default_rng(0)
    cards, with_class = np.array([2, 3, 2, 4, 3]), (True,) * 5
    cells = FamilyCells(parents, with_class, cards, 3)
    coefficients = random.normal(0, 2, (3, int(cells.informative.sum()) - 1))
    intercepts = random.normal(0, 2, 3)
    network = from_logistic(coefficients, intercepts, cards, parents, with_class)
    for table in network.log_tables:
        np.testing.assert_allclose(np.exp(table).sum(axis=-2), 1.0)
    np.testing.assert_allclose(np.exp(network.log_prior).sum(), 1.0)
    codes = np.array([random.integers(1, r + 1, 200) for r in cards]).astype(np.uint8)
    scores = build_indicators(network, codes) @ coefficients.T + intercepts
    expected = scores - np.logaddexp.reduce(scores, axis=1)[:, None]
    np.testing.assert_allclose(log_posterior(network, codes), expected, atol=1e-10)

    there = to_logistic(network)
    back = from_logistic(*there, cards, parents, with_class)
    for one, two in zip(network.log_tables, back.log_tables, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-12)
    scores = build_indicators(network, codes) @ there[0].T + there[1]
    np.testing.assert_allclose(scores, network.log_joint(codes), atol=1e-10)


def test_indicators_are_in_the_order_that_is_told():
    network = from_logistic(
        np.arange(16.0).reshape(2, 8), np.zeros(2), [2, 3], ((), (0,)), (True, True)
    )
    codes = np.array([[2, 1, 0], [3, 1, 2]], np.uint8)
    rows = build_indicators(network, codes).toarray()
    assert rows.shape == (3, 8)
    # value 2 of the first; value 3 of the second under value 2 of the first
    assert np.flatnonzero(rows[0]).tolist() == [1, 2 + 2 * 2 + 1]
    assert np.flatnonzero(rows[1]).tolist() == [0, 2]
    assert not rows[2].any()


@pytest.mark.parametrize("parents", [naive(5), chain(5), PERFECT])
def test_margins_are_given_back_without_a_change_of_the_posterior(parents):
    random = np.random.default_rng(1)
    cards, n_classes = np.array([2, 3, 2, 4, 3]), 3
    cells = FamilyCells(parents, (True,) * 5, cards, n_classes)
    one, two = (
        absorb_normalisers(cells, random.normal(size=(cells.size, n_classes)) * cells.used[:, None])
        for _ in range(2)
    )
    wanted = compute_joint_counts(cells, one, 50.0, one).sum(axis=1)
    found = fit_margins(cells, two, wanted)
    margins = compute_joint_counts(cells, found, 50.0, one).sum(axis=1)
    assert np.abs(compute_joint_counts(cells, two, 50.0, one).sum(axis=1) - wanted).max() > 1
    np.testing.assert_allclose(margins, wanted, rtol=1e-7)
    codes = np.array([random.integers(1, r + 1, 100) for r in cards]).astype(np.uint8)
    np.testing.assert_allclose(
        log_posterior(cells.to_network(found), codes), log_posterior(cells.to_network(two), codes),
        atol=1e-10,
    )  # fmt: skip


def optimum(network, codes, y):
    """The conditional log-likelihood at the optimum of scikit-learn's logistic regression."""
    X = build_indicators(network, codes)
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=20_000).fit(X, y)
    return model.predict_log_proba(X)[np.arange(len(y)), y].sum()


@pytest.mark.parametrize("parents", [naive(5), chain(5), PERFECT])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_both_ways_end_in_the_network_of_logistic_regression(parents, n_classes):
    random = np.random.default_rng(2)
    cards = np.array([2, 3, 2, 4, 3])
    codes, y = random_rows(random, 1500, cards, n_classes)
    families = counted(parents, codes, cards, y, n_classes)
    fits = [
        learn_discriminatively(families, codes, y, solver=solver, tolerance=tolerance)
        for solver, tolerance in (("tm", 1e-11), ("accelerated", 1e-13))
    ]
    best = optimum(fits[0].network, codes, y)
    for fit in fits:
        assert fit.is_global
        assert fit.status.startswith("Converged")
        np.testing.assert_allclose(fit.trace[-1].log_likelihood, best, rtol=1e-6)
        own = log_posterior(fit.network, codes)[np.arange(len(y)), y].sum()
        np.testing.assert_allclose(own, best, rtol=1e-6)
    for one, two in zip(fits[0].network.log_tables, fits[1].network.log_tables, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-3)
    assert fits[0].trace[0].log_likelihood < best - 0.2


@pytest.mark.parametrize("name", ["heart", "german", "breast", "corral"])
def test_published_tables_reach_the_logistic_optimum(name, real_data):
    codes, cards, y = read_table(real_data(f"uci_{name}.csv.gz"))
    for parents in (naive(len(codes)), learned_tree(codes, cards, y)):
        families = counted(parents, codes, cards, y, int(y.max()) + 1)
        fit = learn_discriminatively(families, codes, y, tolerance=1e-12, max_iter=3000)
        best = optimum(fit.network, codes, y)
        # Where values never meet a class there is a supremum only, which both come close to.
        rtol = 1e-6 if fit.status.startswith("Converged") else 1e-5
        np.testing.assert_allclose(fit.trace[-1].log_likelihood, best, rtol=rtol, atol=1e-6)


def test_separable_tables_end_finite_with_the_posterior_that_was_found(real_data):
    codes, cards, y = read_table(real_data("uci_hepatitis.csv.gz"))
    for left_out in range(5):
        kept = np.arange(len(y)) % 5 != left_out
        families = counted(naive(len(codes)), codes[:, kept], cards, y[kept], 2)
        fit = learn_discriminatively(families, codes[:, kept], y[kept])
        assert fit.status.startswith("The conditional likelihood has no maximum, because some")
        assert all(np.isfinite(table).all() for table in fit.network.log_tables)
        own = log_posterior(fit.network, codes[:, kept])[np.arange(kept.sum()), y[kept]].sum()
        np.testing.assert_allclose(own, fit.trace[-1].log_likelihood, atol=1e-7)


@pytest.mark.parametrize("name", ["heart", "german"])
def test_moving_counts_reaches_it_too(name, real_data):
    codes, cards, y = read_table(real_data(f"uci_{name}.csv.gz"))
    families = counted(naive(len(codes)), codes, cards, y, 2)
    fit = learn_discriminatively(families, codes, y, solver="tm", tolerance=1e-10)
    assert fit.status.startswith("Converged")
    best = optimum(fit.network, codes, y)
    np.testing.assert_allclose(fit.trace[-1].log_likelihood, best, rtol=1e-6)
