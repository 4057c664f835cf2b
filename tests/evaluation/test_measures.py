"""Scores of answers, and decisions of least cost."""

import numpy as np
import pytest
from sklearn.metrics import log_loss, mean_absolute_error, root_mean_squared_error

from lindero.evaluation import choose_least_cost
from lindero.evaluation.measures import code_labels, read_costs, score_classes, score_numbers

RANDOM = np.random.default_rng(0)


def test_class_scores_are_those_of_scikit_learn():
    truth = RANDOM.integers(0, 3, size=50)
    probabilities = RANDOM.dirichlet(np.ones(3), size=50)
    answers = probabilities.argmax(axis=1)
    weights = RANDOM.uniform(size=50)
    scores = score_classes(truth, answers, probabilities, 1 - np.eye(3), weights)
    expected = log_loss(truth, probabilities, sample_weight=weights)
    assert scores["log_loss"] == pytest.approx(expected)
    assert scores["error"] == pytest.approx(np.average(truth != answers, weights=weights))
    assert scores["cost"] == pytest.approx(scores["error"])


def test_a_class_held_impossible_is_dear_but_not_infinite():
    scores = score_classes(np.array([1]), np.array([0]), np.array([[1.0, 0.0]]), None, None)
    assert scores["log_loss"] == pytest.approx(-np.log(1e-15))
    assert np.isnan(score_classes(np.array([1]), np.array([0]), None, None, None)["log_loss"])


def test_number_scores_are_those_of_scikit_learn():
    truth, answers, weights = RANDOM.normal(size=(3, 40)) ** 2
    scores = score_numbers(truth, answers, weights)
    rmse = root_mean_squared_error(truth, answers, sample_weight=weights)
    assert scores["rmse"] == pytest.approx(rmse)
    assert scores["mae"] == pytest.approx(
        mean_absolute_error(truth, answers, sample_weight=weights)
    )


def test_least_cost_moves_the_threshold():
    p = np.linspace(0, 1, 101)
    decided = choose_least_cost(np.column_stack([1 - p, p]), [[0, 1], [4, 0]])
    assert ((p > 0.2 + 1e-9) == (decided == 1)).all()


def test_costs_as_a_mapping():
    classes = np.array(["a", "b", "c"])
    matrix = read_costs({("a", "c"): 7, ("b", "b"): -1}, classes)
    assert matrix.tolist() == [[0, 1, 7], [1, -1, 1], [1, 1, 0]]


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ({("a", "x"): 1}, "costs name the class 'x', which does not occur: the classes are 'a'"),
        ([[0, 1]], "2 × 2; their shape is \\(1, 2\\)"),
        ([[0, float("inf")], [1, 0]], "must be finite"),
    ],
)
def test_costs_that_make_no_sense(costs, words):
    with pytest.raises(ValueError, match=words):
        read_costs(costs, np.array(["a", "b"]))


def test_unknown_labels_have_no_code():
    assert code_labels(np.array(["b", "z", "a"]), np.array(["a", "b"])).tolist() == [1, -1, 0]
