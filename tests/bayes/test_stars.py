"""The average of star networks, against the networks themselves."""

import numpy as np
import pytest
from scipy.special import logsumexp

from lindero.bayes import inference
from lindero.bayes.stars import estimated_stars, star_network
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
    networks = [star_network(i, *counts, alpha) for i in range(len(cards))]
    each = [naive.log_joint(network, codes) for network in networks]
    found = estimated_stars(*counts, alpha).log_joint(codes)
    np.testing.assert_allclose(
        found, logsumexp(each, axis=0) - np.log(len(cards)), rtol=0, atol=1e-10
    )


def test_only_those_that_may_be_centres_count():
    random = np.random.default_rng(0)
    cards = [2, 3, 2]
    counts = counted(random, cards, 2)
    codes = np.array([[1, 2, 0, 2], [1, 1, 2, 4], [2, 2, 2, 0]], dtype=np.uint8)
    allowed = np.zeros(4 + 5 + 4, dtype=bool)
    allowed[[1, 4 + 2, 9 + 2]] = True  # x_0 = 1, x_1 = 2, x_2 = 2
    each = [star_network(i, *counts, 1.0).log_joint(codes) for i in range(3)]
    found = estimated_stars(*counts, 1.0).log_joint(codes, allowed)
    np.testing.assert_allclose(found[0], np.logaddexp(each[0][0], each[2][0]) - np.log(2))
    np.testing.assert_allclose(found[1], each[2][1])
    np.testing.assert_allclose(found[2], np.logaddexp(each[1][2], each[2][2]) - np.log(2))
    assert np.isnan(found[3]).all()
    with pytest.raises(ValueError, match="the codes of all attributes are 13"):
        estimated_stars(*counts, 1.0).log_joint(codes, allowed[:5])


def test_many_attributes_do_not_underflow_and_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(inference, "_THREAD_WORK", 0)
    monkeypatch.setattr(inference, "_TILE_ROWS", 30)
    random = np.random.default_rng(1)
    cards, d = np.full(150, 4), 150
    centre, leaf = random.poisson(3.0, (5, 3)) + 1.0, random.poisson(3.0, (5, 5, 3)) + 1.0
    stars = estimated_stars(cards, [3, 4, 5], lambda i: centre, lambda i, j: leaf, 1.0)
    codes = random.integers(0, 6, (d, 100)).astype(np.uint8)
    one = stars.log_joint(codes, n_threads=1)
    assert np.exp(one).max() < 1e-50
    assert np.isfinite(one).all()
    np.testing.assert_array_equal(stars.log_joint(codes, n_threads=3), one)
    np.testing.assert_array_equal(stars.log_joint(codes.astype(np.int32)), one)
