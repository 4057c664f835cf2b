"""Cut points against their twins, published cuts, and what must not change them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from lindero.bayes.columns.attributes import (
    encode_cut,
    find_mdl_cuts,
    find_quantile_cuts,
    find_uniform_cuts,
)
from tests.naive import discretise as naive

COLUMNS = {
    "distinct": lambda rng, n: rng.standard_normal(n),
    "ties": lambda rng, n: rng.integers(0, 8, n).astype(float),
    "some ties": lambda rng, n: np.round(rng.standard_normal(n), 1),
    "constant": lambda rng, n: np.full(n, 3.0),
}
WEIGHTS = {
    "none": lambda rng, n: None,
    "counts": lambda rng, n: rng.integers(0, 4, n).astype(float),
    "fractions": lambda rng, n: 3.0 * rng.random(n),
}


def classes_of(rng, values, n_classes, noise):
    """Classes that follow the values but for noise."""
    shaken = np.nan_to_num(values) + noise * rng.standard_normal(len(values)) + 1.0
    return np.clip(np.round(shaken), 0, n_classes - 1).astype(np.intp)


@pytest.mark.parametrize("weighted", WEIGHTS)
@pytest.mark.parametrize("column", COLUMNS)
def test_mdl_cuts_are_those_of_the_twin(column, weighted):
    rng = np.random.default_rng(7)
    n_cuts = 0
    for trial in range(60):
        n = int(rng.integers(0, 90))
        values = COLUMNS[column](rng, n)
        values[rng.random(n) < 0.1 * (trial % 2)] = np.nan
        y = classes_of(rng, values, n_classes=2 + trial % 4, noise=(0.0, 0.3, 1.0)[trial % 3])
        weights = WEIGHTS[weighted](rng, n)
        cuts = find_mdl_cuts(values, y, 2 + trial % 4, weights)
        assert_allclose(
            cuts, naive.find_mdl_cuts(values, y, np.ones(n) if weights is None else weights)
        )
        n_cuts += len(cuts)
    assert (n_cuts > 60) == (column != "constant")


def test_mdl_cuts_of_iris_are_the_published_ones():
    X, y = load_iris(return_X_y=True)
    found = [find_mdl_cuts(column, y, 3) for column in X.T]
    published = [[5.55, 6.15], [2.95, 3.35], [2.45, 4.75], [0.8, 1.75]]
    for cuts, expected in zip(found, published, strict=True):
        assert_allclose(cuts, expected)


def test_a_weight_counts_rows_in_mdl_and_quantile_cuts():
    rng = np.random.default_rng(3)
    values = np.round(rng.standard_normal(200), 2)
    y = classes_of(rng, values, 3, noise=0.3)
    counts = rng.integers(0, 4, 200)
    repeated = np.repeat(values, counts)
    cuts = find_mdl_cuts(values, y, 3, counts.astype(float))
    assert len(cuts) > 1
    assert_array_equal(cuts, find_mdl_cuts(repeated, np.repeat(y, counts), 3))
    assert_array_equal(
        find_quantile_cuts(values, 7, counts.astype(float)), find_quantile_cuts(repeated, 7)
    )


def test_mdl_cuts_ignore_the_order_of_rows_and_the_names_of_classes():
    rng = np.random.default_rng(4)
    values = np.round(rng.standard_normal(300), 1)
    y = classes_of(rng, values, 4, noise=0.4)
    cuts = find_mdl_cuts(values, y, 4)
    assert len(cuts) > 1
    order = rng.permutation(300)
    assert_array_equal(find_mdl_cuts(values[order], y[order], 4), cuts)
    assert_array_equal(find_mdl_cuts(values, np.array([6, 2, 0, 5])[y], 7), cuts)
    assert_allclose(find_mdl_cuts(-values, y, 4), -cuts[::-1])


@pytest.mark.parametrize("n_classes", [2, 40, 900])
def test_classes_in_runs_are_cut_at_every_run(n_classes):
    # With 900 classes 3^k is more than a float holds.
    values = np.arange(20.0 * n_classes)
    cuts = find_mdl_cuts(values, np.repeat(np.arange(n_classes), 20), n_classes)
    assert_array_equal(cuts, np.arange(1, n_classes) * 20 - 0.5)


def test_no_cut_where_nothing_is_to_be_told():
    values = np.repeat(np.arange(250.0), 2)
    assert find_mdl_cuts(values, np.tile([0, 1], 250), 2).size == 0
    assert find_mdl_cuts(values, np.zeros(500, int), 2).size == 0
    assert find_mdl_cuts(np.full(5, np.nan), np.arange(5), 5).size == 0
    # Weights that sum to less than two rows.
    assert find_mdl_cuts(np.arange(10.0), np.arange(10) // 5, 2, np.full(10, 0.1)).size == 0


@pytest.mark.parametrize(
    ("left", "right"),
    [(1.0, np.nextafter(1.0, 2.0)), (-1.7e308, 1.7e308), (0.0, 5e-324), (-5e-324, 0.0)],
)
def test_a_cut_separates_its_neighbours_however_near_or_far(left, right):
    values = np.repeat([left, right], 20)
    halves = [find_mdl_cuts(values, np.repeat([0, 1], 20), 2), find_quantile_cuts(values, 2)]
    for cuts in halves:
        codes = encode_cut(values, cuts, np.empty(40, np.uint8))
        assert_array_equal(codes, np.repeat([1, 2], 20))


@pytest.mark.parametrize("n_bins", [1, 2, 5, 10])
def test_quantile_cuts_fill_all_values_equally(n_bins):
    values = np.random.default_rng(6).standard_normal(100)
    codes = encode_cut(values, find_quantile_cuts(values, n_bins), np.empty(100, np.uint8))
    assert_array_equal(np.bincount(codes, minlength=n_bins + 1)[1:], np.full(n_bins, 100 // n_bins))
    assert codes.min() == 1


def test_quantile_cuts_that_fall_together_count_once():
    values = np.array([0.0] * 90 + [*range(1, 11)] + [np.nan] * 50)
    assert_array_equal(find_quantile_cuts(values, 4), [0.5])
    assert_array_equal(find_quantile_cuts(values, 20), [0.5, 5.5])
    assert find_quantile_cuts(np.full(9, 2.0), 4).size == 0
    assert find_quantile_cuts(np.full(9, np.nan), 4, np.ones(9)).size == 0


def test_uniform_cuts_have_equal_distances():
    assert_allclose(find_uniform_cuts(np.array([0.0, np.nan, 10.0, 1.0]), 4), [2.5, 5.0, 7.5])
    assert find_uniform_cuts(np.array([2.0, 2.0]), 4).size == 0
    assert find_uniform_cuts(np.array([np.nan]), 4).size == 0
    assert find_uniform_cuts(np.arange(5.0), 1).size == 0
    assert_allclose(find_uniform_cuts(np.array([-1.6e308, 1.6e308]), 4), [-8e307, 0.0, 8e307])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32])
@pytest.mark.parametrize("n_cuts", [0, 1, 2, 3, 7, 16, 250])
def test_codes_count_the_cuts_below(n_cuts, dtype):
    rng = np.random.default_rng(8)
    cuts = np.sort(rng.standard_normal(n_cuts))
    values = np.concatenate([2.0 * rng.standard_normal(200), cuts, [np.nan, -np.inf, np.inf]])
    out = np.empty(len(values), dtype)
    assert encode_cut(values, cuts, out) is out
    assert_array_equal(out, naive.encode_cut(values, cuts))


def test_codes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"254 cuts need codes up to 256.*uint8"):
        encode_cut(np.zeros(3), np.arange(254.0), np.empty(3, np.uint8))
