"""Structures against all trees there are, and against sums over single values."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lindero.bayes.counts.counts import (
    measure_conditional_information,
    measure_dependence,
    measure_information,
    measure_relevance,
)
from lindero.bayes.kdb import find_k_parents
from lindero.bayes.networks.network import sort_parents_first
from lindero.bayes.tan import find_tree
from tests.bayes.test_counts import count_pairs, count_singles
from tests.naive import structure as naive


def counted(n_classes, seed, n_rows=400):
    """Counts of attributes that depend on the class and on each other, some values missing."""
    rng = np.random.default_rng(seed)
    cards = np.array([2, 4, 3, 1, 5, 2])
    y = rng.integers(0, n_classes, n_rows)
    hidden = rng.integers(0, 6, n_rows)
    codes = np.stack([1 + (hidden * (1 + i % 3) + y * (i % 2)) % r for i, r in enumerate(cards)])
    noisy = rng.random(codes.shape)
    codes = np.where(noisy < 0.3, rng.integers(1, cards[:, None] + 1, codes.shape), codes)
    codes[noisy > 0.9] = 0
    return count_pairs(codes.astype(np.uint8), cards, y, n_classes)


def random_weights(n, seed):
    weights = np.random.default_rng(seed).random((n, n))
    return weights + weights.T


def weight_of(parents, weights):
    return sum(weights[i, j] for i, own in enumerate(parents) for j in own)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_information_is_that_of_the_twin(n_classes):
    counts = counted(n_classes, seed=n_classes)
    alone = [naive.mutual_information(counts.single(i)[1:]) for i in range(6)]
    assert_allclose(measure_information(counts)[0], alone, rtol=0, atol=1e-12)
    assert max(alone) > 0.005
    information = measure_conditional_information(counts)[0]
    assert_array_equal(information, information.T)
    assert_array_equal(np.diagonal(information), 0.0)
    assert information.max() > 0.05
    for i, j in combinations(range(6), 2):
        expected = naive.conditional_mutual_information(counts.pair(i, j)[1:, 1:])
        assert_allclose(information[i, j], expected, rtol=0, atol=1e-12)


def test_structures_weigh_information_by_the_rows_that_it_is_from():
    counts, W = counted(3, seed=1), 400
    cards, information = counts.cards, measure_conditional_information(counts)[0]
    weighed = measure_dependence(counts)
    for i, j in combinations(range(6), 2):
        share = counts.pair(i, j)[1:, 1:].sum() / W
        assert 0.7 < share < 0.9
        chance = (cards[i] - 1) * (cards[j] - 1) * 3 / (2 * W)
        expected = share * information[i, j] - (1 - share) * chance
        assert_allclose([weighed[i, j], weighed[j, i]], expected, rtol=0, atol=1e-9)
    alone = measure_information(counts)[0]
    for i, told in enumerate(measure_relevance(counts)):
        share = counts.single(i)[1:].sum() / W
        expected = share * alone[i] - (1 - share) * (cards[i] - 1) * 2 / (2 * W)
        assert_allclose(told, expected, rtol=0, atol=1e-9)


def test_structures_of_complete_rows_compare_information_itself():
    random = np.random.default_rng(2)
    codes, y = random.integers(1, 4, (5, 90)).astype(np.uint8), random.integers(0, 2, 90)
    counts = count_pairs(codes, [3] * 5, y, 2)
    both = np.triu_indices(5, 1)
    expected = measure_conditional_information(counts)[0][both]
    assert_allclose(measure_dependence(counts)[both], expected, rtol=0, atol=1e-10)
    assert_allclose(measure_relevance(counts), measure_information(counts)[0], atol=1e-10)


def test_attributes_left_out_of_a_structure_stay_alone():
    weights, among = random_weights(6, 3), np.array([False, True, True, False, True, True])
    kept = np.flatnonzero(among)
    told = np.array([0.9, 0.1, 0.3, 0.8, 0.2, 0.2])
    for found, of_kept in (
        (find_tree(weights, 2, told, among), find_tree(weights[np.ix_(kept, kept)], 1)),
        (find_tree(weights, 0, told, among), find_tree(weights[np.ix_(kept, kept)], 1)),
        (find_tree(weights, None, told, among), find_tree(weights[np.ix_(kept, kept)], 1)),
        (
            find_k_parents(told, weights, 2, among),
            find_k_parents(told[kept], weights[np.ix_(kept, kept)], 2),
        ),
    ):
        expected = [()] * 6
        for i, own in zip(kept, of_kept, strict=True):
            expected[i] = tuple(int(kept[j]) for j in own)
        assert found == tuple(expected)
    assert find_tree(weights, among=np.zeros(6, dtype=bool)) == ((),) * 6


def test_independent_attributes_tell_exactly_nothing():
    codes = np.array(np.meshgrid([1, 2], [1, 2, 3], [1, 2])).reshape(3, -1).astype(np.uint8)
    counts = count_pairs(codes[:2], [2, 3], codes[2].astype(np.intp) - 1, 2)
    assert_array_equal(measure_conditional_information(counts)[0], np.zeros((2, 2)))
    assert_array_equal(measure_information(counts)[0], [0.0, 0.0])


def test_a_copied_attribute_tells_all_there_is():
    column = np.repeat([1, 2, 3, 4], 5).astype(np.uint8)
    y = np.tile([0, 1, 0, 1, 0], 4)
    counts = count_pairs(np.stack([column, column]), [4, 4], y, 2)
    assert_allclose(measure_conditional_information(counts)[0][0, 1], np.log(4), rtol=1e-14)


def test_attributes_that_no_row_has_together_tell_nothing():
    codes = np.array([[1, 2, 0, 0], [0, 0, 1, 2], [0, 0, 0, 0]], dtype=np.uint8)
    counts = count_pairs(codes, [2, 2, 0], np.array([0, 1, 0, 1]), 2)
    assert_array_equal(measure_conditional_information(counts)[0], np.zeros((3, 3)))
    assert_allclose(measure_information(counts)[0], [np.log(2), np.log(2), 0.0], rtol=1e-14)


def test_the_class_needs_no_pairs():
    codes = np.array([[1, 1, 2, 2]], dtype=np.uint8)
    counts = count_singles(codes, [2], np.array([1, 1, 0, 0]), 2)
    assert_allclose(measure_information(counts)[0], [np.log(2)], rtol=1e-14)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_no_spanning_tree_is_heavier(n, seed):
    weights = random_weights(n, seed)
    greatest = naive.greatest_tree_weight(weights)
    for root in range(n):
        parents = find_tree(weights, root)
        assert [i for i, own in enumerate(parents) if not own] == [root]
        assert all(len(own) <= 1 for own in parents)
        assert sort_parents_first(parents)[0] == root
        assert_allclose(weight_of(parents, weights), greatest, rtol=1e-14)


def test_no_spanning_tree_of_information_is_heavier():
    information = measure_conditional_information(counted(3, seed=8))[0]
    greatest = naive.greatest_tree_weight(information)
    assert_allclose(weight_of(find_tree(information), information), greatest, rtol=1e-14)


def test_the_twin_lists_all_trees():
    for n, expected in ((2, 1), (3, 3), (4, 16), (5, 125)):
        trees = {frozenset(map(frozenset, edges)) for edges in naive.spanning_trees(n)}
        assert len(trees) == expected


def test_weights_that_differ_by_the_last_bit_are_told_apart():
    weights = np.full((3, 3), 1e-3)
    weights[1, 2] = weights[2, 1] = np.nextafter(1e-3, 1.0)
    weights[0, 2] = weights[2, 0] = np.nextafter(1e-3, 0.0)
    assert find_tree(weights, 0) == ((), (0,), (1,))


@pytest.mark.parametrize("level", [0.0, 0.25, -1.0])
def test_equal_weights_prefer_the_first_edges(level):
    assert find_tree(np.full((4, 4), level)) == ((), (0,), (0,), (0,))
    assert find_tree(np.full((4, 4), level), root=2) == ((2,), (0,), (), (0,))


def test_the_root_is_the_most_relevant_attribute_and_the_first_of_equals():
    weights = random_weights(5, 9)
    relevance = np.array([0.1, 0.3, 0.2, 0.3, 0.0])
    assert find_tree(weights, relevance=relevance) == find_tree(weights, 1)
    assert find_tree(weights, 4, relevance) == find_tree(weights, 4)
    assert find_tree(weights) == find_tree(weights, 0)


def test_trees_of_one_attribute_and_of_none():
    assert find_tree(np.zeros((1, 1))) == ((),)
    assert find_tree(np.zeros((0, 0))) == ()


@pytest.mark.parametrize("k", [0, 1, 2, 3, 9])
@pytest.mark.parametrize("seed", range(3))
def test_k_dependence_is_that_of_the_twin(seed, k):
    rng = np.random.default_rng(seed)
    relevance, weights = rng.integers(0, 4, 7) / 4, np.round(random_weights(7, seed), 1)
    parents = find_k_parents(relevance, weights, k)
    assert parents == naive.find_k_parents(relevance, weights, k)
    assert sorted(map(len, parents)) == sorted(min(k, place) for place in range(7))
    assert sorted(sort_parents_first(parents)) == list(range(7))


def test_parents_come_before_their_children():
    parents = ((2,), (), (1, 4), (0, 2), (1,))
    order = sort_parents_first(parents)
    assert sorted(order) == [0, 1, 2, 3, 4]
    for child, own in enumerate(parents):
        assert all(order.index(parent) < order.index(child) for parent in own)
    assert sort_parents_first(parents) == order


def test_a_cycle_is_named_along_its_edges():
    parents = ((2,), (0,), (1,), (0,))
    with pytest.raises(ValueError, match="attribute 0 → attribute 1 → attribute 2 → attribute 0"):
        sort_parents_first(parents)
    with pytest.raises(ValueError, match="'a' → 'b' → 'c' → 'a'"):
        sort_parents_first(parents, names=["a", "b", "c", "d"])
    with pytest.raises(ValueError, match="attribute 1 → attribute 1: take one"):
        sort_parents_first(((), (1,)))


def test_impossible_requests_are_refused():
    with pytest.raises(ValueError, match="attribute 1 has the parent 7"):
        sort_parents_first(((), (7,)))
    with pytest.raises(ValueError, match="root must be one of the 3 attributes, 0 to 2, got 3"):
        find_tree(np.ones((3, 3)), root=3)
    with pytest.raises(ValueError, match=r"weights .* is NaN at \[0, 0\]"):
        find_tree(np.full((3, 3), np.nan))
    with pytest.raises(ValueError, match=r"relevance .* is NaN at \[1\]"):
        find_k_parents(np.array([0.0, np.nan]), np.zeros((2, 2)), 1)
    with pytest.raises(ValueError, match="k must be 0 or more, got -1"):
        find_k_parents(np.zeros(2), np.zeros((2, 2)), -1)
