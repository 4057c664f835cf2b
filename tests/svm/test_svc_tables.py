"""Tables of any number type and memory layout give the same machine, without needless copies."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from clouds import four_clouds, two_clouds
from numpy.testing import assert_allclose, assert_array_equal

from lindero.svm import SVC

PARAMS = [{}, {"kernel": "linear"}, {"kernel": "poly", "coef0": 1.0}]


def pixels(n_samples=200, n_features=30, seed=0):
    """Images of two classes, as uint8."""
    random = np.random.default_rng(seed)
    y = np.arange(n_samples) % 2
    X = random.integers(0, 200, size=(n_samples, n_features), dtype=np.uint8)
    X[y == 1, : n_features // 4] += 55
    return X, y


@pytest.mark.parametrize("params", PARAMS, ids=str)
@pytest.mark.parametrize("clouds", [two_clouds, four_clouds])
def test_single_precision_tables_are_as_good_as_their_double_copies(params, clouds):
    X, y = clouds()
    single = X.astype(np.float32)
    from_single = SVC(tol=1e-8, **params).fit(single, y)
    from_double = SVC(tol=1e-8, **params).fit(single.astype(np.float64), y)
    expected = from_double.decision_function(single.astype(np.float64))
    assert_allclose(from_single.decision_function(single), expected, atol=1e-5)
    assert from_single.decision_function(single).dtype == np.float64


@pytest.mark.parametrize(
    "dtype", [np.uint8, np.int8, np.int16, np.int32, np.int64, np.float16, np.longdouble]
)
@pytest.mark.parametrize("params", PARAMS, ids=str)
def test_every_number_type_gives_the_machine_of_its_double_copy(dtype, params):
    X, y = pixels()
    X = (X // 4).astype(dtype)
    model = SVC(tol=1e-8, **params).fit(X, y)
    double = SVC(tol=1e-8, **params).fit(X.astype(np.float64), y)
    expected = double.decision_function(X.astype(np.float64))
    assert_allclose(model.decision_function(X), expected, atol=1e-5)


def test_truth_values_are_numbers():
    X, y = pixels()
    model = SVC(tol=1e-8).fit(X > 100, y)
    expected = (
        SVC(tol=1e-8).fit((X > 100).astype(float), y).decision_function((X > 100).astype(float))
    )
    assert_allclose(model.decision_function(X > 100), expected, atol=1e-6)


def fortran(X, tmp_path):
    return np.asfortranarray(X)


def every_second(X, tmp_path):
    wide = np.zeros((2 * X.shape[0], 2 * X.shape[1]))
    wide[::2, 1::2] = X
    return wide[::2, 1::2]


def backwards(X, tmp_path):
    return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]


def read_only(X, tmp_path):
    X = X.copy()
    X.flags.writeable = False
    return X


def on_disk(X, tmp_path):
    np.save(tmp_path / "X.npy", X)
    return np.load(tmp_path / "X.npy", mmap_mode="r")


def frame(X, tmp_path):
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])


def nested_lists(X, tmp_path):
    return X.tolist()


@pytest.mark.parametrize(
    "laid_out", [fortran, every_second, backwards, read_only, on_disk, frame, nested_lists]
)
@pytest.mark.parametrize("params", PARAMS, ids=str)
def test_the_layout_of_the_table_does_not_matter(laid_out, params, tmp_path):
    X, y = four_clouds()
    table = laid_out(X, tmp_path)
    model = SVC(tol=1e-8, **params).fit(table, y)
    expected = SVC(tol=1e-8, **params).fit(X, y).decision_function(X)
    assert_allclose(model.decision_function(table), expected, atol=1e-6)


@pytest.mark.parametrize("laid_out", [fortran, on_disk])
def test_the_layout_of_a_kernel_matrix_does_not_matter(laid_out, tmp_path):
    X, y = two_clouds()
    K = X @ X.T
    model = SVC(kernel="precomputed").fit(laid_out(K, tmp_path), y)
    expected = SVC(kernel="precomputed").fit(K, y).decision_function(K)
    assert_allclose(model.decision_function(laid_out(K, tmp_path)), expected, atol=1e-9)


def test_the_users_arrays_are_left_as_they_were():
    X, y = four_clouds()
    weights = np.ones(len(y))
    kept = X.copy(), y.copy(), weights.copy()
    SVC().fit(X, y, weights).predict(X)
    for array, before in zip((X, y, weights), kept, strict=True):
        assert_array_equal(array, before)


def test_a_fitted_model_does_not_share_memory_with_the_table():
    X, y = two_clouds()
    model = SVC().fit(X, y)
    before = model.decision_function(X)
    table = X.copy()
    X[:] = 0
    assert_array_equal(model.decision_function(table), before)


def test_labels_as_a_series_or_a_column_are_taken():
    X, y = two_clouds()
    expected = SVC().fit(X, y).decision_function(X)
    series = SVC().fit(X, pd.Series(y, index=np.arange(len(y)) + 100))
    assert_array_equal(series.decision_function(X), expected)
    with pytest.warns(UserWarning, match="column-vector"):
        column = SVC().fit(X, y[:, None])
    assert_array_equal(column.decision_function(X), expected)


def test_frames_with_other_column_names_are_refused_at_predict():
    X, y = two_clouds()
    model = SVC().fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=list("abce")))


@pytest.mark.parametrize("gamma", [1e-7, "scale"])
def test_a_fit_on_8_bit_pixels_takes_no_double_precision_copy(gamma):
    X, y = pixels(n_samples=3000, n_features=2000)
    # The row cache is not what is measured here.
    model = SVC(gamma=gamma, cache_size=1)
    model.fit(X[:50], y[:50])  # imports and compiled code are not counted either
    tracemalloc.start()
    try:
        model.fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < X.size * np.dtype(np.float64).itemsize
    assert model.support_vectors_.dtype == np.uint8
