"""Learning ended by rows that it does not see."""

import numpy as np
import pytest

from lindero.bayes.discriminative.learning import EarlyStopping, learn_discriminatively
from tests.conditional_bank import chain, counted, random_rows


def too_many_parameters():
    """Eighty rows to learn from, trees of six values, and four hundred rows to judge by."""
    random = np.random.default_rng(0)
    cards = np.full(6, 6)
    codes, y = random_rows(random, 480, cards, 2)
    return codes[:, :80], y[:80], codes[:, 80:], y[80:], cards


def loss_of(network, codes, y):
    joint = network.log_joint(codes)
    return -np.mean(joint[np.arange(len(y)), y] - np.logaddexp.reduce(joint, axis=1))


@pytest.mark.parametrize("solver", ["tm", "accelerated"])
def test_the_best_pass_is_what_it_gives(solver):
    codes, y, others, labels, cards = too_many_parameters()
    families = counted(chain(6), codes, cards, y, 2)
    stopping = EarlyStopping(others, labels, patience=3)
    fit = learn_discriminatively(families, codes, y, solver=solver, stopping=stopping)
    whole = learn_discriminatively(families, codes, y, solver=solver)
    assert fit.n_iter < whole.n_iter
    assert fit.status.startswith("Stopped early: the validation rows had their lowest")
    assert len(stopping.losses) == stopping.best_step + 1 + 3
    np.testing.assert_allclose(loss_of(fit.network, others, labels), min(stopping.losses))
    np.testing.assert_allclose(stopping.losses[0], loss_of(families.estimate(1.0), others, labels))
    assert min(stopping.losses) < loss_of(whole.network, others, labels)


def test_learning_that_keeps_improving_ends_by_itself():
    random = np.random.default_rng(1)
    cards = np.full(4, 3)
    codes, y = random_rows(random, 4000, cards, 2)
    families = counted(chain(4), codes[:, :3000], cards, y[:3000], 2)
    stopping = EarlyStopping(codes[:, :3000], y[:3000], patience=5)
    fit = learn_discriminatively(families, codes[:, :3000], y[:3000], stopping=stopping)
    assert fit.status.startswith("Converged")
    np.testing.assert_allclose(min(stopping.losses) * 3000, -fit.trace[-1].log_likelihood)


def test_weights_and_numbers_of_validation_rows():
    random = np.random.default_rng(2)
    y = random.integers(0, 2, 200)
    numbers, weights = random.gamma(1.0 + y, 1.0, (1, 200)), random.integers(0, 3, 200)
    codes = np.empty((0, 200), np.uint8)
    families = counted((), codes, np.empty(0, int), y, 2)
    weighted = EarlyStopping(codes, y, weights, numbers)
    repeated = EarlyStopping(
        np.repeat(codes, weights, axis=1), np.repeat(y, weights), None,
        np.repeat(numbers, weights, axis=1),
    )  # fmt: skip
    for stopping in (weighted, repeated):
        learn_discriminatively(families, codes, y, numbers=numbers, stopping=stopping)
    np.testing.assert_allclose(weighted.losses, repeated.losses)


def test_bad_validation_rows_are_refused():
    codes, y = np.ones((1, 2), np.uint8), np.array([0, 1])
    with pytest.raises(ValueError, match="validation rows with weight"):
        EarlyStopping(codes, y, np.zeros(2))
    with pytest.raises(ValueError, match="patience is 0"):
        EarlyStopping(codes, y, patience=0)
