"""Streams as strangers tried them: what they found wrong stays mended."""

import numpy as np
import pytest

from lindero.svm import AdaptiveSVC, AdaptiveSVR


def clouds(n_rows, n_columns=4, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(n_rows, n_columns)), random


def test_rows_of_hardly_any_weight_change_hardly_anything():
    X, _ = clouds(3000)
    y = X[:, 0] > 0
    weights = np.where(np.arange(3000) < 2000, 1.0, 1e-12)
    model = AdaptiveSVC().partial_fit(X, np.where(weights == 1.0, y, ~y), sample_weight=weights)
    assert model.score(X, y) > 0.97
    assert model.history_.changes == ()


def test_some_outliers_do_not_spoil_the_scale():
    X, random = clouds(4000)
    y = X.sum(axis=1) > 0
    X[50:][random.random(X[50:].shape) < 0.03] = -999.0
    model = AdaptiveSVC().partial_fit(X[:3000], y[:3000])
    sound = (X[3000:] > -999.0).all(axis=1)
    assert model.score(X[3000:][sound], y[3000:][sound]) > 0.93


def test_wide_tables_have_numbers_for_their_speed():
    X, _ = clouds(300, 400)
    model = AdaptiveSVC().partial_fit(X, X[:, 0] > 0)
    assert np.isfinite([model.coupling_, model.C_, model.n_scale_]).all()
    assert model.warn_unreliable() is None
    assert "nan" not in " ".join(model.describe_drift())


def test_a_third_class_turns_no_hyperplane_around():
    X, _ = clouds(2600)
    y = np.where(X[:, 0] > 0, 0, 1)
    y[1500:][X[1500:, 1] > 1.5] = 2
    y[0], y[1] = 1, 0  # class 1 is the first to appear
    model = AdaptiveSVC(kernel="linear").partial_fit(X, y)
    weights = model.coef_[list(model.classes_).index(0), :, 0]
    assert (weights > 0).all()


def test_targets_of_any_size_without_scaling():
    X, random = clouds(2000)
    y = 1e6 * X[:, 0] + 1e4 * random.normal(size=2000)
    assert AdaptiveSVR(scale=False).partial_fit(X[:1500], y[:1500]).score(X[1500:], y[1500:]) > 0.9


def test_a_slow_turn_is_told_and_calm_is_too():
    X, random = clouds(3000, 2)
    angle = np.arange(3000) / 3000 * np.pi
    side = X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) + 0.3 * random.normal(size=3000)
    turning = AdaptiveSVC(kernel="linear").partial_fit(X, side > 0).describe_drift()
    assert "has turned by" in " ".join(turning)
    calm = AdaptiveSVC(kernel="linear").partial_fit(X, X[:, 0] > 0.2 * random.normal(size=3000))
    assert "at rest" in " ".join(calm.describe_drift())
    coins = AdaptiveSVC().partial_fit(X, random.random(3000) > 0.5)
    assert "next to nothing" in " ".join(coins.describe_drift())
    assert coins.warn_unreliable() is None


def test_a_given_coupling_does_not_look_for_changes_and_says_so():
    X, _ = clouds(1500)
    model = AdaptiveSVC(coupling=1e6).partial_fit(X, X[:, 0] > 0)
    assert "not looked for" in " ".join(model.describe_drift())
    assert model.warn_unreliable() is None


def test_the_first_class_of_a_wide_table_does_not_get_all_rows():
    """Where filters are of first order alone, b = 1 of the class that came first has to go soon."""
    y = np.random.default_rng(0).integers(0, 10, size=600)
    random = np.random.default_rng(1)
    X = 0.16 * random.normal(size=(10, 900))[y] + random.normal(size=(600, 900))
    model = AdaptiveSVC().partial_fit(X[:300], y[:300])
    assert model._stream.state.plain.means.shape[1] == 0
    answers = model.predict(X[300:])
    assert np.mean(answers == y[300:]) > 0.75  # before it was 0.40,
    assert np.mean(answers == y[0]) < 0.25  # and 0.69


def test_another_unit_is_told_by_the_name_of_its_column():
    X, _ = clouds(900)
    y = X[:, 0] > 0
    X[500:, 2] *= 1e4
    with pytest.warns(UserWarning, match="Column 2 has another scale"):
        model = AdaptiveSVC(kernel="linear").partial_fit(X, y)
    told = [line for line in model.describe_drift(list("abcd")) if "unit" in line]
    row = model._stream.rescaled[0][0]
    assert told == [f"From row {row} on 'c' has another scale: has its unit changed?"]


@pytest.mark.parametrize("k", [0, 2.5, "a"])
def test_numbers_of_changes_are_checked(k):
    X, _ = clouds(50)
    with pytest.raises(ValueError, match="whole number"):
        AdaptiveSVC().partial_fit(X, X[:, 0] > 0).changepoints(k)
