"""The penalty that cross-validation chooses, against cross-validation written out plainly."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lindero.bayes import TAN, NaiveBayes, NetworkClassifier
from lindero.bayes.discriminative.learning import STRENGTHS, _choose_safest, assign_folds
from tests.bayes.mixed_tables import categories
from tests.naive import penalty_choice as twin


def table(seed, n_rows):
    """Three columns of text and one of numbers."""
    X, y = categories(seed, n_rows, 3, n_classes=3)
    number = np.random.default_rng(seed).gamma(1.0 + np.unique(y, return_inverse=True)[1], 1.0)
    return np.column_stack([X, number.astype(object)]), y


def naive_bayes(penalty="auto"):
    return NaiveBayes(learning="discriminative", penalty=penalty, tol=1e-6)


def chain(penalty="auto"):
    return NetworkClassifier(
        [(0, 1), (1, 2)], numeric="gaussian", learning="discriminative", penalty=penalty, tol=1e-6
    )


def cut(penalty="auto"):
    return naive_bayes(penalty).set_params(numeric="mdl")


def tree(penalty="auto"):
    return TAN(learning="discriminative", penalty=penalty, tol=1e-6)


@pytest.mark.parametrize(
    ("make", "seed", "n_rows"),
    [(naive_bayes, 0, 90), (naive_bayes, 1, 400), (chain, 0, 90), (chain, 1, 400), (cut, 1, 400),
     (tree, 1, 400)],
)  # fmt: skip
def test_losses_and_choice_are_those_of_plain_cross_validation(make, seed, n_rows):
    X, y = table(seed, n_rows)
    weights = np.random.default_rng(seed).integers(1, 3, n_rows).astype(float)
    found = make().fit(X, y, sample_weight=weights).convergence_
    losses = [twin.compute_row_losses(make, X, y, weights, strength) for strength in twin.STRENGTHS]
    means = [np.average(own, weights=weights) for own in losses]
    assert tuple(found.penalty_losses) == twin.STRENGTHS == STRENGTHS
    assert_allclose(list(found.penalty_losses.values()), means, rtol=1e-9)
    assert np.ptp(means) > 1e-4
    assert found.penalty == STRENGTHS[twin.chosen(losses, weights)]


def test_the_chosen_penalty_is_learned_with():
    X, y = table(2, 150)
    chosen = naive_bayes().fit(X, y)
    given = naive_bayes(chosen.convergence_.penalty).fit(X, y)
    assert_array_equal(chosen.predict_proba(X), given.predict_proba(X))
    assert given.convergence_.penalty_losses == {}
    again = naive_bayes().fit(X, y)
    assert again.convergence_ == chosen.convergence_


def test_the_generative_estimate_is_held_on_to_where_it_is_right_and_left_where_not():
    random = np.random.default_rng(3)
    y = random.integers(0, 2, 1000)
    independent = np.where(random.random((1000, 8)) < 0.3, 1 - y[:, None], y[:, None])
    the_same = np.tile(independent[:, :1], 8)
    right, wrong = (
        naive_bayes().set_params(categorical_features="all").fit(X, y).convergence_
        for X in (independent, the_same)
    )
    assert right.penalty == 300.0
    assert wrong.penalty < 300.0
    assert wrong.penalty_losses[300.0] > wrong.penalty_losses[1.0] + 0.01


def test_the_standard_error_rule():
    random = np.random.default_rng(4)
    base = random.random(50)
    noise = random.normal(0, 1, 50)
    noise -= noise.mean()
    noise /= noise.std()
    weights = np.ones(50)
    error = 1 / np.sqrt(50)
    for shifts, expected in (
        ([0.5, 0.0, 0.5 * error, 0.9 * error, 1.1 * error], 3),  # the last within an error
        ([0.0, 2.0, 0.5 * error, 2.0, 2.0], 2),  # also beyond one that is not
        ([0.5 * error, 0.5 * error, 0.0, 2.0, 2.0], 2),  # weaker ones are no candidates
        ([2.0, 2.0, 2.0, 2.0, 0.0], 4),
    ):
        best = shifts.index(0.0)
        losses = np.array([base + shift + noise * (k != best) for k, shift in enumerate(shifts)])
        assert _choose_safest(losses, weights) == expected == twin.chosen(losses, weights)
        twice = np.full(50, 2.0)
        assert _choose_safest(losses, twice) == twin.chosen(losses, twice)
    equal = np.tile(base, (5, 1))
    assert _choose_safest(equal, weights) == 4


def test_folds_are_stratified_and_fixed():
    random = np.random.default_rng(5)
    y = random.choice(4, 203, p=[0.6, 0.3, 0.09, 0.01])
    fold = assign_folds(y)
    assert_array_equal(fold, twin.folds(y))
    for c in range(4):
        sizes = np.bincount(fold[y == c], minlength=5)
        assert np.ptp(sizes) <= 1
        assert sizes.sum() == np.sum(y == c)
    assert_array_equal(np.argsort(assign_folds(np.array([3, 3, 1]))), [0, 2, 1])


def test_a_class_with_one_row_has_finite_losses():
    X, y = table(6, 80)
    y = y.copy()
    y[17] = "alone"
    for make in (naive_bayes, chain):
        model = make().fit(X, y)
        assert np.isfinite(list(model.convergence_.penalty_losses.values())).all()
        assert np.isfinite(model.predict_log_proba(X)).all()


def test_no_class_with_two_rows():
    X, y = table(7, 3)
    y = np.array(["a", "b", "c"])
    model = naive_bayes().fit(X, y)
    assert model.convergence_.penalty == STRENGTHS[-1]  # nothing speaks against it
    assert np.isfinite(model.predict_log_proba(X)).all()
