"""Joint distributions of networks, against enumeration of everything."""

from itertools import permutations

import numpy as np
import pytest
from scipy.special import logsumexp

from lindero.bayes.networks import expectation, inference
from lindero.bayes.networks.network import estimate_network
from tests.naive import network as naive
from tests.network_bank import random_codes, random_network


@pytest.fixture(params=["enumerated", "rare patterns enumerated", "eliminated"])
def way(request, monkeypatch):
    """Every way of summing out in general networks."""
    limits = {"enumerated": (1024, 1024), "rare patterns enumerated": (1, 1024)}
    for module in (inference, expectation):
        usual, rare = limits.get(request.param, (1, 1))
        monkeypatch.setattr(module, "STATE_LIMIT", usual)
        monkeypatch.setattr(module, "RARE_STATE_LIMIT", rare)


def assert_equals_enumeration(random, network, missing=0.35):
    codes = random_codes(random, network, 8, missing)
    expected = naive.log_joint(network, codes)
    found = network.log_joint(codes)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    terms = network.log_terms(codes)
    np.testing.assert_allclose(network.log_prior + terms.sum(axis=0), found, rtol=0, atol=1e-10)
    missing = (codes == 0) | ((codes > network.cards[:, None]) & (network.unseen is None))
    assert not terms[missing].any()


def test_trees_equal_enumeration():
    for seed in range(200):
        random = np.random.default_rng(seed)
        assert_equals_enumeration(random, random_network(random, most_parents=1))


@pytest.mark.usefixtures("way")
def test_general_networks_equal_enumeration():
    for seed in range(70):
        random = np.random.default_rng(1000 + seed)
        assert_equals_enumeration(random, random_network(random, most_parents=3))


@pytest.mark.usefixtures("way")
def test_dense_networks_with_most_values_missing_equal_enumeration():
    for seed in range(25):
        random = np.random.default_rng(2000 + seed)
        network = random_network(random, most_parents=3, n_attributes=6, dense=True)
        assert_equals_enumeration(random, network, missing=0.6)


@pytest.mark.parametrize("parents", list(permutations((1, 2, 3))))
def test_an_observed_child_brings_all_its_missing_parents_together(parents):
    random = np.random.default_rng(12)
    counts = [random.poisson(2.0, (4, 4, 4, 4, 2)), *random.poisson(2.0, (3, 4, 2))]
    network = estimate_network(counts, [parents, (), (), ()], [True] * 4, [3] * 4, [1, 2], 1.0)
    codes = np.array([[1, 2, 3], [0, 0, 1], [0, 0, 0], [0, 3, 0]], dtype=np.uint8)
    np.testing.assert_allclose(
        network.log_joint(codes), naive.log_joint(network, codes), atol=1e-10
    )


def test_all_missing_gives_the_prior():
    random = np.random.default_rng(2)
    for most_parents in (0, 1, 3):
        network = random_network(random, most_parents, n_attributes=5)
        codes = np.zeros((5, 3), dtype=np.uint8)
        np.testing.assert_array_equal(network.log_joint(codes), [network.log_prior] * 3)
        assert not network.log_terms(codes).any()


def test_joint_probabilities_of_all_rows_sum_to_one():
    random = np.random.default_rng(3)
    network = random_network(random, 3, n_attributes=4)
    grid = np.array(np.meshgrid(*(np.arange(1, r + 1) for r in network.cards)), dtype=np.uint8)
    assert logsumexp(network.log_joint(grid.reshape(4, -1))) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("missing_root", [False, True])
def test_five_hundred_attributes_do_not_underflow(missing_root):
    random = np.random.default_rng(4)
    d, cards = 500, np.full(500, 6)
    counts = [random.poisson(3.0, [7, *[7] * (i > 0), 3]).astype(float) for i in range(d)]
    parents = [(0,) if i else () for i in range(d)]
    network = estimate_network(counts, parents, [True] * d, cards, [3, 4, 5], 1.0)
    codes = random.integers(1, 7, (d, 40)).astype(np.uint8)
    codes[0, : 40 * missing_root] = 0
    given_root = []
    for x in range(1, 7):
        columns = zip(codes[1:], network.log_tables[1:], strict=True)
        leaves = sum(table[x - 1, code - 1] for code, table in columns)
        given_root.append(network.log_prior + network.log_tables[0][x - 1] + leaves)
    if missing_root:
        expected = logsumexp(given_root, axis=0)
    else:
        expected = np.array(given_root)[codes[0] - 1, np.arange(40)]
    assert np.exp(expected).max() == 0
    np.testing.assert_allclose(network.log_joint(codes), expected, rtol=1e-12)


def test_elimination_does_not_underflow():
    random = np.random.default_rng(5)
    d = 800
    parents = [(), (), *[(0, 1)] * (d - 2)]
    counts = [random.poisson(2.0, [5, *[5] * len(above), 2]).astype(float) for above in parents]
    network = estimate_network(counts, parents, [True] * d, np.full(d, 4), [1, 1], 1.0)
    codes = random.integers(1, 5, (d, 100)).astype(np.uint8)
    codes[:2] = 0
    by_enumeration = network.log_joint(codes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inference, "STATE_LIMIT", 1)
        by_elimination = network.log_joint(codes)  # 100 rows alike: too many for a rare pattern
    assert np.exp(by_enumeration).max() == 0
    np.testing.assert_allclose(by_elimination, by_enumeration, rtol=1e-12)


@pytest.mark.parametrize("most_parents", [0, 1, 3])
def test_any_number_of_threads_gives_the_same_bits(most_parents, monkeypatch):
    monkeypatch.setattr(inference, "_THREAD_WORK", 0)
    monkeypatch.setattr(inference, "_TILE_ROWS", 100)
    random = np.random.default_rng(6)
    network = random_network(random, most_parents, n_attributes=6, alpha=1.0)
    codes = random_codes(random, network, 3000)
    one = network.log_joint(codes, n_threads=1)
    for n_threads in (2, 5):
        np.testing.assert_array_equal(network.log_joint(codes, n_threads), one)
    alone = [network.log_joint(codes[:, [k]])[0] for k in range(200)]
    np.testing.assert_array_equal(alone, one[:200])


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.int64])
@pytest.mark.parametrize("most_parents", [1, 3])
def test_any_type_of_codes_gives_the_same(dtype, most_parents):
    random = np.random.default_rng(7)
    network = random_network(random, most_parents, n_attributes=6, alpha=1.0)
    codes = random_codes(random, network, 50)
    expected = network.log_joint(codes)
    np.testing.assert_array_equal(network.log_joint(codes.astype(dtype)), expected)
    every_second = codes.astype(dtype)[:, ::2]
    np.testing.assert_array_equal(network.log_joint(every_second), expected[::2])


def test_many_values_need_wide_codes():
    random = np.random.default_rng(8)
    counts = [random.poisson(1.0, (401, 2)).astype(float), random.poisson(1.0, (3, 401, 2)) * 1.0]
    network = estimate_network(counts, [(), (0,)], [True] * 2, np.array([400, 2]), [5, 6], 1.0)
    codes = np.array([[400, 0, 401, 300], [2, 1, 1, 0]], dtype=np.uint16)
    np.testing.assert_allclose(
        network.log_joint(codes), naive.log_joint(network, codes), atol=1e-10
    )


@pytest.mark.parametrize("parents", [[(), (0,), (1,)], [(), (0,), (0, 1)]])
def test_an_attribute_without_values_tells_nothing(parents):
    random = np.random.default_rng(9)
    cards = np.array([2, 0, 3])
    counts = [
        random.poisson(3.0, [*(cards[j] + 1 for j in (i, *above)), 2]).astype(float)
        for i, above in enumerate(parents)
    ]
    network = estimate_network(counts, parents, [True] * 3, cards, [1, 2], 1.0)
    codes = np.array([[1, 0, 2, 0], [0, 0, 1, 1], [1, 3, 0, 2]], dtype=np.uint8)
    found = network.log_joint(codes)
    np.testing.assert_allclose(found, naive.log_joint(network, codes), atol=1e-10)
    left_out = [tuple(p for p in above if p != 1) for above in parents]
    counts[1] = np.zeros((2, *counts[1].shape[1:]))  # one value, of which no row has any
    counts[2] = counts[2].take(0, axis=1 + parents[2].index(1))
    without = estimate_network(counts, left_out, [True] * 3, [2, 1, 3], [1, 2], 1.0)
    codes[1] = 0
    np.testing.assert_allclose(found, without.log_joint(codes), atol=1e-10)
    assert np.ptp(found[3] - network.log_prior) > 0.01  # the class is told of all the same


def test_a_new_value_is_to_its_children_as_if_missing():
    own = np.array([[0.0, 0.0], [6.0, 1.0], [2.0, 7.0]])
    below = np.zeros((3, 3, 2))
    below[1:, 1:] = [[[5.0, 1.0], [1.0, 2.0]], [[1.0, 0.0], [1.0, 5.0]]]
    network = estimate_network([own, below], [(), (0,)], [True, True], [2, 2], [8, 8], alpha=1.0)
    new, missing, alone = network.log_joint(np.array([[3, 0, 3], [1, 1, 0]], dtype=np.uint8))
    np.testing.assert_allclose(new - network.log_prior, missing + alone - 2 * network.log_prior)
    np.testing.assert_allclose(np.exp(alone - network.log_prior), [1 / 10, 1 / 10])
    shares = np.array([7 / 10 * 6 / 8 + 3 / 10 * 2 / 4, 2 / 10 * 2 / 3 + 8 / 10 * 3 / 9])
    np.testing.assert_allclose(np.exp(missing - network.log_prior), shares)


def test_no_rows_are_answered_with_none():
    network = random_network(np.random.default_rng(10), 3, n_attributes=4)
    assert network.log_joint(np.zeros((4, 0), np.uint8)).shape == (0, network.n_classes)
    assert network.log_terms(np.zeros((4, 0), np.uint8)).shape == (4, 0, network.n_classes)


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (np.zeros((3, 5), np.uint8), r"shape \(3, 5\); 4 attributes need \(4, n_rows\)"),
        (np.zeros(4, np.uint8), "4 attributes need"),
        (np.zeros((4, 5)), "must be integers"),
        (np.full((4, 5), -1), "must not be negative"),
    ],
)
def test_codes_that_cannot_be_meant_are_refused(codes, message):
    network = random_network(np.random.default_rng(11), 3, n_attributes=4)
    with pytest.raises(ValueError, match=message):
        network.log_joint(codes)


def test_too_many_missing_attributes_that_depend_on_each_other_are_refused(monkeypatch):
    monkeypatch.setattr("lindero.bayes.networks.elimination.CELL_LIMIT", 1000)
    monkeypatch.setattr(inference, "STATE_LIMIT", 1)
    monkeypatch.setattr(inference, "RARE_STATE_LIMIT", 1)
    parents = [(), (), (), (), (), (0, 1, 2, 3, 4)]
    tables = [*[np.ones((5, 2))] * 5, np.ones((2, 5, 5, 5, 5, 5, 2))]
    network = estimate_network(tables, parents, [True] * 6, [4, 4, 4, 4, 4, 1], [1, 1], 1.0)
    codes = np.array([[1, 0], [2, 0], [3, 5], [0, 0], [1, 0], [1, 1]], dtype=np.uint8)
    message = "Row 1 has 5 of 6 columns missing or new, and summing out 5 .* tables of 1024 cells"
    with pytest.raises(ValueError, match=message):
        network.log_joint(codes)
    with pytest.raises(ValueError, match=r"Row 1 has .* fill in some of the missing values"):
        network.log_terms(codes)
