"""Data that make no sense: an error that names the argument, and an estimator left as it was."""

import numpy as np
import pytest
import scipy.sparse as sp
from clouds import four_clouds, two_clouds
from tests.refusals import refused

from lindero.svm import SVC

NAN, INFINITY = float("nan"), float("inf")


def spoiled(array, value):
    """A copy with one entry replaced."""
    array = np.array(array, dtype=float)
    array.flat[5] = value
    return array


X, Y = two_clouds()

BAD_TRAINING_DATA = {
    "NaN in X": (spoiled(X, NAN), Y, "X contains NaN"),
    "infinity in X": (spoiled(X, INFINITY), Y, "X contains infinity"),
    "NaN in sparse X": (sp.csr_array(spoiled(X, NAN)), Y, "X contains NaN"),
    "no rows": (np.empty((0, 4)), np.empty(0), r"0 sample\(s\).*minimum of 1"),
    "no features": (np.empty((len(Y), 0)), Y, r"0 feature\(s\).*minimum of 1"),
    "one class": (X, np.zeros(len(Y)), "y has only one class.*at least two"),
    "complex X": (X + 1j, Y, "[Cc]omplex data not supported"),
    "text in X": (X.astype(str), Y, "numeric"),
    "words in X": (np.full(X.shape, "word", dtype=object), Y, "could not convert string to float"),
    "one-dimensional X": (X[:, 0], Y, "[Rr]eshape your data"),
    "three-dimensional X": (X[None], Y, "dim 3.*dim <= 2"),
    "no y": (X, None, "requires y to be passed.*None"),
    "NaN in y": (X, spoiled(Y, NAN), "y contains NaN"),
    "infinity in y": (X, spoiled(Y, INFINITY), "y contains infinity"),
    "short y": (X, Y[:-1], r"y has 119 values, but X has 120 rows.*one for each"),
    "continuous y": (X, np.linspace(0, 1, len(Y)), "label type: continuous.*discrete classes"),
    "y with two columns": (X, np.column_stack([Y, Y]), r"y should be a 1d array"),
}


@pytest.mark.parametrize("fitted", [False, True], ids=["new", "fitted"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize(
    ("table", "labels", "message"), BAD_TRAINING_DATA.values(), ids=BAD_TRAINING_DATA
)
def test_bad_training_data_are_named_and_change_nothing(table, labels, message, kernel, fitted):
    model = {False: SVC(kernel=kernel), True: SVC(kernel=kernel).fit(X, Y)}[fitted]
    with refused(model, ValueError, message):
        model.fit(table, labels)


def test_y_of_the_wrong_length_is_named():
    model = SVC()
    with refused(model, ValueError, r"\by\b"):
        model.fit(X, Y[:-1])


BAD_WEIGHTS = {
    "negative": (np.where(Y == 1, -1.0, 1.0), "`?sample_weight`?"),
    "NaN": (np.where(Y == 1, NAN, 1.0), "sample_weight contains NaN"),
    "infinite": (np.where(Y == 1, INFINITY, 1.0), "sample_weight contains infinity"),
    "too few": (np.ones(len(Y) - 1), r"sample_weight.*\(119,\), expected \(120,\)"),
    "two columns": (np.ones((len(Y), 2)), "[Ss]ample weights must be 1D"),
    "all zero": (np.zeros(len(Y)), "[Ss]ample.weight.*(non-zero|positive)"),
    "zero for a class": (1.0 - Y, "sample_weight is zero for all samples of class.*1.*positive"),
    "text": (np.full(len(Y), "heavy"), "could not convert string to float"),
}


@pytest.mark.parametrize("fitted", [False, True], ids=["new", "fitted"])
@pytest.mark.parametrize(("weights", "message"), BAD_WEIGHTS.values(), ids=BAD_WEIGHTS)
def test_bad_weights_are_named_and_change_nothing(weights, message, fitted):
    model = {False: SVC(), True: SVC().fit(X, Y)}[fitted]
    with refused(model, ValueError, message):
        model.fit(X, Y, weights)


def test_a_class_without_weight_among_several_is_named():
    table, labels = four_clouds()
    weights = np.where(labels == 2, 0.0, 1.0)
    model = SVC()
    with refused(model, ValueError, "sample_weight.*class.*2"):
        model.fit(table, labels, weights)


@pytest.mark.parametrize("fitted", [False, True], ids=["new", "fitted"])
@pytest.mark.parametrize(
    ("matrix", "error", "message"),
    [
        (X, ValueError, r"X must be a square kernel matrix.*\(120, 4\).*all pairs"),
        (sp.csr_array(X @ X.T), TypeError, "[Ss]parse data was passed.*dense"),
        (spoiled(X @ X.T, NAN), ValueError, "X contains NaN"),
    ],
    ids=["not square", "sparse", "NaN"],
)
def test_bad_kernel_matrices_are_named_and_change_nothing(matrix, error, message, fitted):
    new = SVC(kernel="precomputed")
    model = {False: new, True: SVC(kernel="precomputed").fit(X @ X.T, Y)}[fitted]
    with refused(model, error, message):
        model.fit(matrix, Y)


BAD_NEW_DATA = {
    "too narrow": (X[:, :3], "3 features.*expecting 4"),
    "too wide": (np.hstack([X, X]), "8 features.*expecting 4"),
    "sparse and too wide": (sp.csr_array(np.hstack([X, X])), "8 features.*expecting 4"),
    "NaN": (spoiled(X, NAN), "X contains NaN"),
    "infinity": (spoiled(X, INFINITY), "X contains infinity"),
    "empty": (np.empty((0, 4)), r"0 sample\(s\).*minimum of 1"),
    "one row as a vector": (X[0], "[Rr]eshape your data"),
    "complex": (X + 1j, "[Cc]omplex data not supported"),
}


@pytest.mark.parametrize("method", ["predict", "decision_function"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize(("table", "message"), BAD_NEW_DATA.values(), ids=BAD_NEW_DATA)
def test_bad_new_rows_are_named_and_change_nothing(table, message, kernel, method):
    model = SVC(kernel=kernel).fit(X, Y)
    with refused(model, ValueError, message):
        getattr(model, method)(table)


def test_a_kernel_matrix_of_the_wrong_width_is_refused_at_predict():
    model = SVC(kernel="precomputed").fit(X @ X.T, Y)
    with refused(model, ValueError, "119 features.*expecting 120"):
        model.predict((X @ X.T)[:, :-1])


def test_after_a_refusal_the_fitted_model_decides_as_before():
    model = SVC().fit(X, Y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(spoiled(X, NAN), Y)
    np.testing.assert_array_equal(model.decision_function(X), before)
