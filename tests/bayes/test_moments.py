"""Moments and densities against their twins, against scikit-learn, and at their edges."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.naive_bayes import GaussianNB

from lindero.bayes.columns.moments import Moments, add_log_densities
from tests.naive import moments as naive


def table(seed=0, n_rows=300, n_numbers=5, n_classes=4, missing=0.1):
    """Numbers of very different size, with classes that move their means; class 3 is rare."""
    rng = np.random.default_rng(seed)
    y = rng.choice(n_classes, n_rows, p=[0.4, 0.4, 0.19, 0.01])
    numbers = rng.standard_normal((n_numbers, n_rows)) + y
    numbers *= 10.0 ** np.arange(-4, 2 * n_numbers - 4, 2)[:, None]
    numbers[2] += 1e6
    numbers[rng.random(numbers.shape) < missing] = np.nan
    return numbers, y


def densities(numbers, mean, sd):
    out = np.zeros((numbers.shape[1], mean.shape[1]))
    add_log_densities(numbers, mean, sd, out)
    return out


def assert_same(a, b, rtol=1e-9):
    assert_allclose(a.count, b.count, rtol=rtol)
    assert_allclose(a.mean, b.mean, rtol=rtol)
    assert_allclose(a.squares, b.squares, rtol=rtol)
    assert_array_equal(a.largest, b.largest)


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_are_those_of_the_twin(weighted):
    numbers, y = table()
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.7], 300) if weighted else None
    found = Moments.of(numbers, y, 5, weights)
    expected = naive.moments(numbers, y, 5, np.ones(300) if weights is None else weights)
    counted = np.isfinite(numbers) & (True if weights is None else weights > 0)
    largest = np.where(counted, np.abs(numbers), 0.0).max(axis=1)
    assert_same(found, Moments(*expected, largest))
    assert not found.count[:, 4].any()
    assert found.count[:, 3].any()


def test_batches_merge_to_the_whole():
    numbers, y = table(n_rows=2000)
    whole = Moments.of(numbers, y, 4)
    parts = [Moments.of(numbers[:, part], y[part], 4) for part in np.split(np.arange(2000), 50)]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merge(part)
    assert_same(merged, whole)
    for found, expected in zip(merged.normals(), whole.normals(), strict=True):
        assert_allclose(found, expected, rtol=1e-9)


def test_an_empty_part_changes_nothing():
    numbers, y = table()
    whole = Moments.of(numbers, y, 4)
    empty = Moments.of(numbers[:, :0], y[:0], 4)
    for merged in (whole.merge(empty), empty.merge(whole)):
        assert_array_equal(merged.mean, whole.mean)
        assert_array_equal(merged.squares, whole.squares)


def test_a_weight_counts_rows():
    numbers, y = table()
    counts = np.random.default_rng(2).integers(0, 4, 300)
    repeated = Moments.of(np.repeat(numbers, counts, axis=1), np.repeat(y, counts), 4)
    assert_same(Moments.of(numbers, y, 4, counts.astype(float)), repeated)


def test_large_means_do_not_spoil_small_variances():
    rng = np.random.default_rng(3)
    small = rng.integers(-8, 9, 1000) / 8.0
    found = Moments.of(small[None] + 2.0**45, np.zeros(1000, int), 1)
    assert_allclose(found.squares[0, 0], np.sum((small - small.mean()) ** 2), rtol=1e-9)


def test_densities_are_those_of_the_twin():
    numbers, y = table(n_rows=1300)
    mean, sd = Moments.of(numbers, y, 4).normals()
    assert_allclose(densities(numbers, mean, sd), naive.log_densities(numbers, mean, sd))


def test_densities_of_many_rows_are_those_of_few():
    numbers, y = table(n_rows=40000)
    mean, sd = Moments.of(numbers, y, 4).normals()
    pieces = np.split(numbers, [1000, 17000, 33000], axis=1)
    expected = [densities(np.ascontiguousarray(piece), mean, sd) for piece in pieces]
    assert_array_equal(densities(numbers, mean, sd), np.concatenate(expected))


def test_densities_are_added():
    numbers, y = table()
    mean, sd = Moments.of(numbers, y, 4).normals()
    out = np.random.default_rng(4).standard_normal((300, 4))
    expected = out + densities(numbers, mean, sd)
    add_log_densities(numbers, mean, sd, out)
    assert_allclose(out, expected)


def test_scikit_learn_gives_the_same_densities():
    # It divides by n = 100, the sample variance by n − 1.
    numbers, _ = table(missing=0.0)
    y = np.repeat(np.arange(3), 100)
    mean, sd = Moments.of(numbers, y, 3).normals()
    peer = GaussianNB(var_smoothing=0.0).fit(numbers.T, y)
    assert_allclose(mean, peer.theta_.T)
    assert_allclose(sd**2 * 0.99, peer.var_.T)
    found = densities(numbers, mean, np.sqrt(0.99) * sd) + np.log(1 / 3)
    assert_allclose(found, peer.predict_joint_log_proba(numbers.T))


def test_a_class_of_fewer_than_two_rows_takes_the_pooled_variance():
    numbers = np.array([[1.0, 3.0, 10.0, 14.0, 20.0, 7.0, np.nan]])
    y = np.array([0, 0, 1, 1, 1, 2, 3])
    mean, sd = Moments.of(numbers, y, 4).normals()
    within = 2.0 + np.sum((numbers[0, 2:5] - numbers[0, 2:5].mean()) ** 2)
    assert_allclose(sd[0, 2] ** 2, within / 3)
    assert_allclose(mean[0], [2.0, 44 / 3, 7.0, np.mean(numbers[0, :6])])
    assert_allclose(sd[0, 3], np.std(numbers[0, :6]))


def test_without_any_class_of_two_rows_the_whole_column_is_taken():
    numbers = np.array([[1.0, 4.0, 7.0]])
    _, sd = Moments.of(numbers, np.arange(3), 3).normals()
    assert_allclose(sd, np.full((1, 3), np.std(numbers)))


@pytest.mark.parametrize("value", [0.0, 0.1, 1e-200, -1e12])
def test_a_constant_column_tells_nothing(value):
    y = np.repeat([0, 1, 2], [50, 49, 1])
    found = Moments.of(np.full((1, 100), value), y, 4)
    found = found.merge(Moments.of(np.full((1, 7), value), np.arange(7) % 2, 4))
    mean, sd = found.normals()
    assert_array_equal(mean, np.full((1, 4), value))
    assert_allclose(sd, np.full((1, 4), np.sqrt(1e-9 * max(1.0, value**2))))
    met = densities(np.array([[value, value + 1.0, -3e5, np.nan]]), mean, sd)
    assert_array_equal(met, np.repeat(met[:, :1], 4, axis=1))
    assert np.isfinite(met).all()


def test_a_class_that_does_not_vary_has_the_floor_of_its_column():
    numbers = np.array([[5.0] * 10 + [*range(10)]])
    _, sd = Moments.of(numbers, np.repeat([0, 1], 10), 2).normals()
    assert_allclose(sd[0, 0] ** 2, 1e-9 * np.var(numbers))


def test_a_column_without_numbers_tells_nothing():
    numbers = np.full((1, 4), np.nan)
    mean, sd = Moments.of(numbers, np.arange(4) % 2, 2).normals()
    assert np.isfinite(mean).all()
    assert (sd > 0).all()
    assert_array_equal(densities(numbers, mean, sd), np.zeros((4, 2)))


def test_numbers_far_from_all_classes_have_finite_densities():
    numbers, y = table()
    mean, sd = Moments.of(numbers, y, 4).normals()
    far = np.full((5, 2), 1.7e308)
    far[:, 1] *= -1
    assert np.isfinite(densities(far, mean, sd)).all()


def test_squares_that_overflow_are_refused_by_name():
    numbers = np.ones((3, 4))
    numbers[1] = [1e200, -1e200, 0.0, 0.0]
    with pytest.raises(ValueError, match="column number 1 of the numeric ones are too large"):
        Moments.of(numbers, np.zeros(4, int), 1)
    parts = [Moments.of(np.full((1, 2), x), np.zeros(2, int), 1) for x in (1e200, -1e200)]
    with pytest.raises(ValueError, match="column number 0 of the numeric ones are too large"):
        parts[0].merge(parts[1])
    # No class overflows by itself, but the column does.
    apart = Moments.of(np.array([[1e200, -1e200]]), np.arange(2), 2)
    with pytest.raises(ValueError, match="column number 0 of the numeric ones are too large"):
        apart.normals()


def test_moments_of_different_tables_do_not_merge():
    numbers, y = table()
    with pytest.raises(ValueError, match=r"\(5, 4\) and \(5, 6\)"):
        Moments.of(numbers, y, 4).merge(Moments.of(numbers, y, 6))
