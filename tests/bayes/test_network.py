"""Networks as they are stated and estimated."""

import pickle

import numpy as np
import pytest

from lindero.bayes.networks.network import Network, estimate_network
from tests.network_bank import random_codes, random_network


def chain(**changes):
    """Two attributes, the first the parent of the second, and two classes."""
    parts = {
        "cards": np.array([2, 3]),
        "n_classes": 2,
        "parents": ((), (0,)),
        "with_class": (True, False),
        "log_prior": np.log([0.5, 0.5]),
        "log_tables": (np.log(np.full((2, 2), 0.5)), np.log(np.full((2, 3, 1), 1 / 3))),
        "unseen": None,
    }
    return Network(**{**parts, **changes})


def test_probabilities_are_smoothed_relative_counts_of_what_was_observed():
    own = np.array([[9.0, 9.0], [3.0, 0.0], [1.0, 2.0]])  # slot 0: missing
    below = np.zeros((3, 3, 2))
    below[:, 1, 0], below[:, 2, 1], below[:, 0, :] = (7.0, 4.0, 0.0), (5.0, 1.0, 2.0), 50.0
    network = estimate_network([own, below], [(), (0,)], [True, True], [2, 2], [13, 11], alpha=0.5)
    np.testing.assert_allclose(np.exp(network.log_prior), [13 / 24, 11 / 24])
    np.testing.assert_allclose(
        np.exp(network.log_tables[0]), [[3.5 / 5, 0.5 / 3], [1.5 / 5, 2.5 / 3]]
    )
    np.testing.assert_allclose(np.exp(network.log_tables[1][0]), [[4.5 / 5, 0.5], [0.5 / 5, 0.5]])
    np.testing.assert_allclose(np.exp(network.log_tables[1][1]), [[0.5, 1.5 / 4], [0.5, 2.5 / 4]])
    np.testing.assert_allclose(np.exp(network.unseen[0]), [0.5 / 5, 0.5 / 3])
    np.testing.assert_allclose(np.exp(network.unseen[1]), [[0.5 / 5, 0.5], [0.5, 0.5 / 4]])


def test_without_smoothing_what_was_never_seen_is_uniform_and_new_values_are_missing():
    counts = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 0.0]])
    network = estimate_network([counts], [()], [True], [2], [4, 4], alpha=0)
    np.testing.assert_array_equal(np.exp(network.log_tables[0]), [[1, 0.5], [0, 0.5]])
    codes = np.array([[3, 0, 1]], dtype=np.uint8)
    np.testing.assert_allclose(np.exp(network.log_joint(codes)), [[0.5, 0.5]] * 2 + [[0.5, 0.25]])


def test_an_attribute_without_the_class_is_counted_over_all_classes():
    counts = np.array([[9.0, 9.0], [3.0, 1.0], [2.0, 2.0]])
    network = estimate_network([counts], [()], [False], [2], [1, 1], alpha=0)
    np.testing.assert_allclose(np.exp(network.log_tables[0]), [[0.5], [0.5]])


def test_a_given_prior_takes_the_place_of_counts():
    network = estimate_network(
        [np.ones((3, 2))], [()], [True], [2], [9, 1], alpha=1, prior=[0.25, 0.75]
    )
    np.testing.assert_allclose(np.exp(network.log_prior), [0.25, 0.75])


def test_no_rows_at_all_are_refused():
    with pytest.raises(ValueError, match="class_counts are all zero"):
        estimate_network([np.zeros((3, 2))], [()], [True], [2], [0, 0], alpha=1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parents": ((),)}, "parents has 1 entries for 2 attributes"),
        ({"unseen": ()}, "unseen has 0 entries"),
        ({"log_prior": np.zeros(3)}, "log_prior has shape"),
        ({"parents": ((), (2,))}, "parents of attribute 1 are"),
        ({"parents": ((), (0, 0))}, "parents of attribute 1 are"),
        ({"with_class": (True, True)}, r"log_tables\[1\] has shape \(2, 3, 1\)"),
        ({"unseen": (np.zeros(2), np.zeros(1))}, r"unseen\[1\] has shape"),
        (
            {
                "parents": ((1,), (0,)),
                "log_tables": (np.zeros((3, 2, 2)), np.zeros((2, 3, 1))),
            },
            "each other's parents in a cycle, attribute 0 → attribute 1 → attribute 0",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        chain(**changes)


def test_parents_come_before_children_and_trees_are_told_apart():
    random = np.random.default_rng(0)
    for most_parents in (1, 3):
        network = random_network(random, most_parents, n_attributes=6)
        place = {i: k for k, i in enumerate(network.order)}
        assert all(place[p] < place[i] for i in place for p in network.parents[i])
        assert network.is_tree == (max(map(len, network.parents)) <= 1)


def test_a_network_is_the_same_after_pickling():
    random = np.random.default_rng(1)
    network = random_network(random, 3)
    codes = random_codes(random, network, 20)
    before = network.log_joint(codes)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(network)).log_joint(codes), before)
