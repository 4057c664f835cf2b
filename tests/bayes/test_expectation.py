"""Expected counts, against enumeration of everything that a row may be."""

import numpy as np
import pytest

from lindero.bayes.networks import expectation
from lindero.bayes.networks.expectation import expect_counts
from lindero.bayes.networks.network import estimate_network
from tests.naive import network as naive
from tests.network_bank import random_codes, random_network


def assert_equals_enumeration(random, network, missing=0.35):
    codes = random_codes(random, network, 12, missing, new=0)
    y, weights = random.integers(0, network.n_classes, 12), random.random(12)
    expected = naive.expect_counts(network, codes, y, weights)
    for table, twin in zip(expect_counts(network, codes, y, weights), expected, strict=True):
        np.testing.assert_allclose(table, twin, rtol=0, atol=1e-10)


def test_trees_equal_enumeration():
    for seed in range(100):
        random = np.random.default_rng(seed)
        assert_equals_enumeration(random, random_network(random, most_parents=1))


@pytest.mark.parametrize(("usual", "rare"), [(1024, 1024), (1, 1024), (1, 1)])
def test_general_networks_equal_enumeration(usual, rare, monkeypatch):
    monkeypatch.setattr(expectation, "STATE_LIMIT", usual)
    monkeypatch.setattr(expectation, "RARE_STATE_LIMIT", rare)
    for seed in range(40):
        random = np.random.default_rng(1000 + seed)
        assert_equals_enumeration(random, random_network(random, most_parents=3))
    for seed in range(10):
        random = np.random.default_rng(2000 + seed)
        network = random_network(random, most_parents=3, n_attributes=6, dense=True)
        assert_equals_enumeration(random, network, missing=0.6)


@pytest.mark.parametrize("most_parents", [1, 3])
def test_any_number_of_threads_gives_the_same_bits(most_parents):
    random = np.random.default_rng(1)
    network = random_network(random, most_parents, n_attributes=6, alpha=1.0)
    codes = random_codes(random, network, 5000, new=0)
    y, weights = random.integers(0, network.n_classes, 5000), random.random(5000)
    one = expect_counts(network, codes, y, weights, n_threads=1)
    for n_threads in (2, 5):
        other = expect_counts(network, codes, y, weights, n_threads=n_threads)
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_nothing_is_lost_and_complete_rows_count_as_they_are():
    random = np.random.default_rng(2)
    network = random_network(random, 3, n_attributes=5, alpha=1.0)
    codes = random_codes(random, network, 400, new=0)
    codes[:, :200] = np.maximum(codes[:, :200], 1)
    y = random.integers(0, network.n_classes, 400)
    whole = expect_counts(network, codes, y)
    for table in whole:
        np.testing.assert_allclose(
            table.sum(axis=tuple(range(table.ndim - 1))), np.bincount(y, minlength=table.shape[-1])
        )
    complete = expect_counts(network, codes[:, :200], y[:200])
    for i, table in enumerate(complete):
        twin = np.zeros_like(table)
        np.add.at(twin, (*codes[[i, *network.parents[i]], :200], y[:200]), 1.0)
        np.testing.assert_array_equal(table, twin)


@pytest.mark.parametrize("parents", [((), (0,), (1,)), ((), (0,), (0, 1))])
def test_rounds_of_em_never_lower_the_likelihood(parents):
    random = np.random.default_rng(3)
    n, cards = 600, np.array([3, 3, 3])
    first = random.integers(1, 4, n)
    codes = np.array([first, np.where(random.random(n) < 0.8, first, 1), 4 - first])
    y = (first + random.integers(0, 2, n)) % 2
    codes[random.random(codes.shape) < 0.3] = 0
    codes = codes.astype(np.uint8)
    counts = [random.random([4] * (1 + len(above)) + [2]) for above in parents]
    likelihoods = []
    for _ in range(30):
        network = estimate_network(counts, parents, [True] * 3, cards, np.bincount(y), alpha=0)
        likelihoods.append(network.log_joint(codes)[np.arange(n), y].sum())
        counts = expect_counts(network, codes, y)
    assert np.diff(likelihoods).min() > -1e-9
    assert likelihoods[-1] > likelihoods[0] + 10


def test_impossible_rows_count_as_they_stand():
    certain = np.array([[0.0, 0.0], [5.0, 5.0], [0.0, 0.0]])
    below = np.zeros((3, 3, 2))
    below[1, 1] = 5.0
    network = estimate_network([certain, below], [(), (0,)], [True] * 2, [2, 2], [1, 1], alpha=0)
    codes = np.array([[0], [2]], dtype=np.uint8)  # 2 never follows the only value there is
    own, pair = expect_counts(network, codes, np.array([1]))
    assert own[0, 1] == own.sum() == 1
    assert pair[2, 0, 1] == pair.sum() == 1


def test_what_cannot_be_counted_is_refused():
    network = random_network(np.random.default_rng(5), 1, n_attributes=2)
    codes = np.ones((2, 3), np.uint8)
    with pytest.raises(ValueError, match="y must hold classes from 0"):
        expect_counts(network, codes, np.array([0, 1, 9]))
    with pytest.raises(ValueError, match="3 rows need one class each"):
        expect_counts(network, codes, np.array([0, 1]))
    codes[1, 0] = network.cards[1] + 1
    with pytest.raises(ValueError, match="Attribute 1 has codes above"):
        expect_counts(network, codes, np.array([0, 1, 1]))
