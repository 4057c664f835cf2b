"""The average of star networks, against the networks themselves."""

import numpy as np
import pytest
from scipy.special import logsumexp

from lindero.bayes.aode import estimate_star, estimate_stars
from lindero.bayes.networks import inference
from tests.naive import network as naive


def counted(random, cards, n_classes, n_rows=60):
    """Counts of random rows: of classes, singles and pairs."""
    codes = np.array([random.integers(0, r + 1, n_rows) for r in cards])
    y = random.integers(0, n_classes, n_rows)

    def table(*members):
        counts = np.zeros([*(cards[j] + 1 for j in members), n_classes])
        np.add.at(counts, (*codes[list(members)], y), 1.0)
        return counts

    return np.asarray(cards), np.bincount(y, minlength=n_classes), table, table


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("cards", [[2, 3, 4, 2], [3, 1, 0, 5], [4]])
def test_the_average_is_that_of_the_networks(cards, alpha, n_classes):
    random = np.random.default_rng(n_classes)
    counts = counted(random, cards, n_classes)
    codes = np.array([random.integers(0, r + 2, 150) for r in cards]).astype(np.uint8)
    networks = [estimate_star(i, *counts, alpha) for i, r in enumerate(cards) if r > 0]
    each = [naive.log_joint(network, codes) for network in networks]
    found = estimate_stars(*counts, alpha).log_joint(codes)
    np.testing.assert_allclose(
        found, logsumexp(each, axis=0) - np.log(len(networks)), rtol=0, atol=1e-10
    )


def test_attributes_that_no_row_has_are_no_centres():
    random = np.random.default_rng(0)
    cards, class_counts, single, pair = counted(random, [2, 3, 2], 2)

    def beside(i):
        return np.where(np.arange(4)[:, None] == 0, 60.0, 0.0) * np.ones(2) if i == 1 else single(i)

    def beside_pair(i, j):
        table = np.zeros((cards[i] + 1, cards[j] + 1, 2))
        kept = pair(i, j).sum(axis=[i, j].index(1), keepdims=True) if 1 in (i, j) else pair(i, j)
        table[tuple(slice(n) for n in kept.shape)] = kept
        return table

    codes = np.array([[1, 2, 0, 3], [1, 0, 4, 3], [2, 3, 2, 0]], dtype=np.uint8)
    found = estimate_stars(cards, class_counts, beside, beside_pair, 1.0).log_joint(codes)
    each = [
        estimate_star(i, cards, class_counts, beside, beside_pair, 1.0).log_joint(codes)
        for i in (0, 2)
    ]
    np.testing.assert_allclose(found, np.logaddexp(*each) - np.log(2), rtol=0, atol=1e-12)


def test_no_centre_at_all_leaves_the_prior():
    stars = estimate_stars([], [1, 3], None, None, 1.0)
    np.testing.assert_allclose(np.exp(stars.log_joint(np.zeros((0, 2), np.uint8)))[1], [0.25, 0.75])


def test_many_attributes_do_not_underflow_and_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(inference, "_THREAD_WORK", 0)
    monkeypatch.setattr(inference, "_TILE_ROWS", 30)
    random = np.random.default_rng(1)
    cards, d = np.full(150, 4), 150
    centre, leaf = random.poisson(3.0, (5, 3)) + 1.0, random.poisson(3.0, (5, 5, 3)) + 1.0
    stars = estimate_stars(cards, [3, 4, 5], lambda i: centre, lambda i, j: leaf, 1.0)
    codes = random.integers(0, 6, (d, 100)).astype(np.uint8)
    one = stars.log_joint(codes, n_threads=1)
    assert np.exp(one).max() < 1e-50
    assert np.isfinite(one).all()
    np.testing.assert_array_equal(stars.log_joint(codes, n_threads=3), one)
    np.testing.assert_array_equal(stars.log_joint(codes.astype(np.int32)), one)
