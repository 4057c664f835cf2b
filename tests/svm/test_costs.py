"""From a matrix of costs to the parameters of the machine, and when that cannot be."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lindero.svm import CostSensitiveSVC, costs_from_matrix
from lindero.svm.costs import class_terms
from lindero.validation import read_row_factors

NAN, INFINITY = float("nan"), float("inf")


def threshold(costs):
    """The odds of a positive above which the loss is least at the positive margin."""
    f = np.array([-1 / (2 * costs.cost_negative - 1), 1.0])

    def best(share):
        on_positives = costs.cost_positive * np.maximum(0, 1 - f)
        on_negatives = np.maximum(0, 1 + (2 * costs.cost_negative - 1) * f)
        return f[np.argmin(share * on_positives + (1 - share) * on_negatives)]

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if best(middle) > 0 else (middle, high)
    return low / (1 - low)


@pytest.mark.parametrize("margin_ratio", [None, 1.0, 3.0])
@pytest.mark.parametrize(
    ("matrix", "positive", "odds"),
    [
        ([[0, 1], [5, 0]], 1, 1 / 5),
        ([[0, 5], [1, 0]], 0, 1 / 5),
        ([[0, 1], [1, 0]], 1, 1.0),
        ([[-2, 1], [20, 8]], 1, 3 / 12),
        ([[1e-9, 3e-9], [1e-8, 0]], 1, 2 / 10),
    ],
)
def test_the_loss_changes_its_mind_where_the_expected_costs_are_equal(
    matrix, positive, odds, margin_ratio
):
    costs = costs_from_matrix(matrix, margin_ratio=margin_ratio)
    assert costs.positive_class == positive
    assert threshold(costs) == pytest.approx(odds, rel=1e-9)


def test_the_margins_are_as_the_square_roots_of_the_costs_unless_told_otherwise():
    terms = class_terms(np.array([0, 1]), *reordered(costs_from_matrix([[0, 1], [9, 0]])))
    assert_allclose(terms.margins, [1 / 3, 1.0])
    assert_allclose(terms.weights, [3.0, 27.0])
    wide = costs_from_matrix([[0, 1], [9, 0]], margin_ratio=9)
    assert_allclose(class_terms(np.array([0, 1]), *reordered(wide)).margins, [1 / 9, 1.0])


def reordered(costs):
    return costs.positive_class, costs.cost_positive, costs.cost_negative


def test_the_default_margins_cost_least_where_classes_thin_out_towards_where_they_meet():
    # The two classes meet anywhere in a gap from 0 (negatives) to 1; rows at distance s from that
    # place have density s. Boundaries are tried one by one.
    ratio, meeting, boundaries = 7.0, np.linspace(0, 1, 2001), np.linspace(0, 1, 2001)
    missed = np.maximum(0, boundaries[:, None] - meeting) ** 2 / 2
    alarms = np.maximum(0, meeting - boundaries[:, None]) ** 2 / 2
    best = boundaries[np.argmin((ratio * missed + alarms).mean(axis=1))]
    costs = costs_from_matrix([[0, 1], [ratio, 0]])
    assert (1 - best) / best == pytest.approx(2 * costs.cost_negative - 1, rel=2e-3)


def test_equal_costs_are_the_plain_machine():
    assert costs_from_matrix([[0, 2], [2, 0]])[:2] == (1.0, 1.0)


def test_ratio_one_is_plain_class_weights():
    assert costs_from_matrix([[0, 1], [6, 0]], margin_ratio=1) == (6.0, 1.0, 1)


def test_labels_come_back_as_the_positive_class():
    labels = ("ham", "spam")
    assert costs_from_matrix([[0, 9], [1, 0]], labels).positive_class == "ham"
    assert costs_from_matrix([[0, 1], [9, 0]], labels).positive_class == "spam"
    assert costs_from_matrix([[0, 1], [9, 0]], np.array([-1, 1])).positive_class == 1


def test_swapping_classes_and_matrix_changes_nothing():
    one = costs_from_matrix([[0, 3], [8, 1]], ("a", "b"))
    other = costs_from_matrix([[1, 8], [3, 0]], ("b", "a"))
    assert one == other


def test_the_unit_of_the_costs_does_not_matter():
    one = costs_from_matrix([[0, 3], [7, 1]])
    other = costs_from_matrix(np.array([[0, 3], [7, 1]]) * 1e200)
    assert_allclose(one, other)


def test_the_result_is_keywords_of_the_machine():
    costs = costs_from_matrix([[0, 9], [1, 0]], ("a", "b"))
    model = CostSensitiveSVC(**costs._asdict())
    assert (model.cost_positive, model.cost_negative, model.positive_class) == (27.0, 2.0, "a")


@pytest.mark.parametrize(
    ("matrix", "keywords", "message"),
    [
        ([[0, 1, 2], [1, 0, 2]], {}, r"shape \(2, 2\), not \(2, 3\).*true negative"),
        ([0, 1, 5, 0], {}, r"shape \(2, 2\), not \(4,\)"),
        ([[0, NAN], [1, 0]], {}, "finite"),
        ([[0, 1], [INFINITY, 0]], {}, "finite.*large compared with the others"),
        ([[0, 0], [5, 0]], {}, "Predicting 1 where 0 is true costs 0, no more than being right"),
        ([[0, 1], [2, 3]], {}, "Predicting 0 where 1 is true costs 2, no more than.*3.*way round"),
        ([[1, 0], [0, 5]], {}, "no more than being right.*way round"),
        ([[-1e308, 1e308], [1, 0]], {}, "overflow.*unit"),
        ([[0, 1e-300], [1e300, 0]], {}, "too far apart"),
        ([[0, 1], [5, 0]], {"classes": ("a",)}, "two different labels"),
        ([[0, 1], [5, 0]], {"classes": ("a", "a")}, "two different labels"),
        ([[0, 1], [5, 0]], {"margin_ratio": 0.5}, "margin_ratio.*at least 1.*0.5"),
        ([[0, 1], [5, 0]], {"margin_ratio": NAN}, "margin_ratio.*nan"),
        ([[0, 1], [5, 0]], {"margin_ratio": INFINITY}, "margin_ratio.*inf"),
    ],
)
def test_what_cannot_be_expressed_is_refused(matrix, keywords, message):
    with pytest.raises(ValueError, match=message):
        costs_from_matrix(matrix, **keywords)


@pytest.mark.parametrize("positive", ["no", "yes"])
def test_terms_belong_to_classes_whatever_their_order(positive):
    terms = class_terms(np.array(["no", "yes"]), positive, 5.0, 2.0)
    code = ["no", "yes"].index(positive)
    assert (terms.margins[code], terms.weights[code]) == (1.0, 5.0)
    assert (terms.margins[1 - code], terms.weights[1 - code]) == (1 / 3, 3.0)


def test_costs_of_rows_are_ones_unless_given():
    assert_array_equal(read_row_factors(None, 3, "sample_cost"), np.ones(3))
    assert_array_equal(read_row_factors([1, 0, 2], 3, "sample_cost"), [1.0, 0.0, 2.0])
