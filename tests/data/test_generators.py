"""The published artificial data sets: rules of their labels, sizes, seeds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lindero.data import make_rotating, make_sigmoid, make_sigmoid_grid
from lindero.svm import SVC


def turned_back(X, step):
    """The first two columns, each row turned back by its angle."""
    angle = -step * np.arange(1, len(X) + 1)
    c, s = np.cos(angle), np.sin(angle)
    return np.column_stack([c * X[:, 0] - s * X[:, 1], s * X[:, 0] + c * X[:, 1]])


@pytest.mark.parametrize("step", [np.pi / 500, 3 * np.pi / 1000])
def test_rows_turned_back_are_two_clouds_of_the_stated_centres_and_deviation(step):
    X, y = make_rotating(4000, step=step, noise=0.1, random_state=0)
    clouds = turned_back(X, step)
    for label in (-1, 1):
        cloud = clouds[y == label]
        assert_allclose(cloud.mean(axis=0), [0, label], atol=0.01)
        assert_allclose(cloud.std(axis=0), 0.1, atol=0.01)


def test_without_noise_every_row_is_where_its_angle_says():
    X, y = make_rotating(8, step=np.pi / 4, noise=0.0, random_state=3)
    angle = np.pi / 4 * np.arange(1, 9)
    assert_allclose(X, y[:, None] * np.column_stack([-np.sin(angle), np.cos(angle)]), atol=1e-15)


@pytest.mark.parametrize(("n", "sum_of_labels"), [(500, 0), (501, 1), (2, 0), (3, 1)])
def test_classes_are_balanced_and_shuffled(n, sum_of_labels):
    X, y = make_rotating(n, random_state=0)
    assert X.shape == (n, 2)
    assert set(y) == {-1, 1}
    assert y.sum() == sum_of_labels
    if n >= 500:
        # neither one class after the other nor taking turns
        assert 0.3 < np.mean(y[1:] != y[:-1]) < 0.7


def test_no_line_separates_data_set_2_but_one_does_at_any_time():
    X, y = make_rotating(500, step=3 * np.pi / 1000, random_state=0)
    plain = SVC(kernel="linear").fit(X, y)
    assert plain.score(X, y) < 0.85
    for part in np.split(np.arange(500), 10):
        assert SVC(kernel="linear").fit(X[part], y[part]).score(X[part], y[part]) == 1.0


def test_further_features_are_noise():
    X, y = make_rotating(2000, n_features=5, noise=0.5, random_state=0)
    assert X.shape == (2000, 5)
    assert_allclose(X[:, 2:].std(axis=0), 0.5, atol=0.05)
    correlations = np.corrcoef(X[:, 2:].T, y)[-1, :-1]
    assert np.abs(correlations).max() < 0.1


def test_points_of_the_sigmoid_fill_its_rectangle_and_the_curve_divides_them():
    X, y = make_sigmoid(3000, random_state=1)
    assert X.shape == (3000, 2)
    assert_allclose(X.min(axis=0), [-0.2, -5], atol=0.02)
    assert_allclose(X.max(axis=0), [1.2, 5], atol=0.02)
    assert_array_equal(y == 1, X[:, 0] >= 1 / (1 + np.exp(-X[:, 1])))
    assert set(y) == {-1, 1}


def test_the_grid_covers_the_rectangle_evenly():
    X, y = make_sigmoid_grid(50)
    assert X.shape == (2500, 2)
    assert_allclose(np.unique(X[:, 0]), np.linspace(-0.2, 1.2, 50))
    assert_allclose(np.unique(X[:, 1]), np.linspace(-5, 5, 50))
    assert_array_equal(y == 1, X[:, 0] >= 1 / (1 + np.exp(-X[:, 1])))
    assert len(make_sigmoid_grid()[0]) == 10_000


def test_a_linear_machine_has_the_published_error_on_the_sigmoid():
    """5.73 % is published: one draw. Ours are around it, and a swap of axes is far from it."""
    errors = [
        100
        * (1 - SVC(kernel="linear").fit(*make_sigmoid(random_state=s)).score(*make_sigmoid_grid()))
        for s in range(10)
    ]
    assert 5.6 < np.mean(errors) < 6.0
    assert min(errors) > 5.0
    assert max(errors) < 6.6


@pytest.mark.parametrize("make", [make_rotating, make_sigmoid])
def test_a_seed_decides_everything(make):
    first, again, other = make(50, random_state=7), make(50, random_state=7), make(50)
    assert_array_equal(first[0], again[0])
    assert_array_equal(first[1], again[1])
    assert (first[0] != other[0]).any()
    state = np.random.RandomState(7)
    assert_array_equal(make(50, random_state=state)[0], first[0])
    assert (make(50, random_state=state)[0] != first[0]).any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_rotating(1), "n_samples must be an integer of at least 2; it is 1"),
        (lambda: make_rotating(10.0), "n_samples must be an integer"),
        (lambda: make_rotating(True), "n_samples must be an integer"),
        (lambda: make_rotating(10, n_features=1), "n_features must be an integer of at least"),
        (lambda: make_rotating(10, step=np.nan), "step must be a finite number"),
        (lambda: make_rotating(10, noise=-1.0), "noise is a standard deviation"),
        (lambda: make_sigmoid(0), "n_samples must be an integer of at least 1"),
        (lambda: make_sigmoid_grid(1), "n_per_side must be an integer of at least 2"),
    ],
)
def test_bad_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
