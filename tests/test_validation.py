"""From what a user passes to clean arrays."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from lindero.bayes import NaiveBayes
from lindero.evaluation import TableEncoder
from lindero.kernels.operator import KernelFunction
from lindero.svm import (
    SVC,
    SVR,
    SVRCV,
    AdaptiveSVR,
    IncrementalSVC,
    IncrementalSVR,
    LinearSVR,
    NuSVR,
    NystromSVR,
)
from lindero.validation import (
    advise_scaling,
    compute_class_weights,
    compute_total_variance,
    find_classes,
    is_plain,
    make_kernel_function,
    read_new_table,
    read_sample_weights,
    read_training_table,
    require_every_class,
)
from tests.refusals import refused

REGRESSIONS = [SVR, NuSVR, LinearSVR, NystromSVR, SVRCV, AdaptiveSVR, IncrementalSVR]
LINEAR = KernelFunction("linear")
X = np.random.default_rng(0).normal(size=(12, 3))
Y = np.arange(12) % 3


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64, np.float32, np.float64, bool])
def test_a_table_keeps_its_number_type_and_memory(dtype):
    table = (X > 0).astype(dtype)
    clean, _ = read_training_table(SVC(), table, Y)
    assert clean.dtype == dtype
    assert np.shares_memory(clean, table)


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble])
def test_number_types_without_fast_arithmetic_become_double(dtype):
    clean, _ = read_training_table(SVC(), X.astype(dtype), Y)
    assert clean.dtype == np.float64


@pytest.mark.parametrize("form", [sp.csc_array, sp.coo_matrix, sp.csr_matrix])
def test_sparse_tables_become_csr_arrays(form):
    clean, _ = read_training_table(SVC(), form(X), Y)
    assert isinstance(clean, sp.csr_array)
    assert_array_equal(clean.toarray(), X)


def test_sparse_entries_given_twice_are_added_in_a_copy():
    twice = sp.csr_array(([1.0, 2.0, 5.0], [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    clean, _ = read_training_table(SVC(), twice, [0, 1])
    assert_array_equal(clean.toarray(), [[0, 3], [5, 0]])
    assert clean.nnz == 2
    assert twice.nnz == 3


def test_the_width_and_names_of_a_table_are_remembered():
    estimator = SVC()
    read_training_table(estimator, pd.DataFrame(X, columns=["a", "b", "c"]), Y)
    assert estimator.n_features_in_ == 3
    assert_array_equal(estimator.feature_names_in_, ["a", "b", "c"])
    with pytest.raises(ValueError, match=r"2 features.*expecting 3"):
        read_new_table(estimator, X[:, :2])


def test_a_kernel_matrix_must_be_square_and_dense():
    with pytest.raises(ValueError, match=r"square.*\(12, 3\)"):
        read_training_table(SVC(kernel="precomputed"), X, Y)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        read_training_table(SVC(kernel="precomputed"), sp.csr_array(X @ X.T), Y)


def test_without_weights_all_rows_weigh_one():
    assert_array_equal(read_sample_weights(None, X), np.ones(12))


def test_one_number_is_the_weight_of_all_rows():
    assert_array_equal(read_sample_weights(2.5, X), np.full(12, 2.5))


def test_weights_of_any_number_type_become_double():
    weights = read_sample_weights(np.arange(12, dtype=np.int8) + 1, X)
    assert weights.dtype == np.float64


def test_the_class_without_weight_is_named():
    codes, classes = np.array([0, 0, 1, 1]), np.array(["a", "b"])
    with pytest.raises(ValueError, match=r"sample_weight is zero.*class 'b'"):
        require_every_class("sample_weight", np.array([1, 1, 0, 0]), codes, classes)


def test_balanced_class_weights_count_rows_by_weight():
    y = np.array([0, 0, 0, 1])
    weights = np.array([1.0, 0.0, 2.0, 1.0])
    factors = compute_class_weights("balanced", np.array([0, 1]), y, weights)
    repeated = compute_class_weights(
        "balanced", np.array([0, 1]), np.array([0, 0, 0, 1]), np.ones(4)
    )
    assert_allclose(factors, repeated)
    assert_allclose(factors, [4 / (2 * 3), 4 / (2 * 1)])


def test_classes_that_a_dictionary_leaves_out_weigh_one():
    factors = compute_class_weights({1: 3.0}, np.arange(3), Y, np.ones(12))
    assert_array_equal(factors, [1.0, 3.0, 1.0])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_variance_is_that_of_all_entries_with_rows_repeated_by_weight(form):
    weights = np.random.default_rng(1).integers(0, 4, 12)
    expected = np.repeat(X, weights, axis=0).var()
    assert_allclose(compute_total_variance(form(X), weights.astype(float)), expected, rtol=1e-12)


def test_the_variance_of_data_far_from_zero_keeps_its_digits():
    assert_allclose(compute_total_variance(X + 1e6, np.ones(12)), X.var(), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.float32])
def test_the_variance_of_small_number_types_does_not_overflow(dtype):
    table = np.random.default_rng(0).integers(0, 127, size=(20000, 5)).astype(dtype)
    expected = table.astype(float).var()
    assert_allclose(compute_total_variance(table, np.ones(20000)), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("gamma", "expected"), [("auto", 1 / 3), ("scale", 1 / (3 * X.var())), (0.25, 0.25)]
)
def test_gamma_is_a_rule_or_a_number(gamma, expected):
    function = make_kernel_function(SVC(gamma=gamma), X, np.ones(12))
    assert_allclose(function.gamma, expected)


def test_gamma_scale_of_constant_data_is_one():
    assert make_kernel_function(SVC(), np.ones((4, 2)), np.ones(4)).gamma == 1.0


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_scale_advice_is_given_only_where_features_differ_a_thousandfold(form):
    assert advise_scaling(form(X), LINEAR) == ""
    assert "1e+04" in advise_scaling(form(np.array([[1.0, 1e4], [0.0, 0.0]])), LINEAR)


def test_scale_advice_ignores_constant_features():
    assert advise_scaling(np.array([[1.0, 7e9, 0.0], [2.0, 7e9, 0.0]]), LINEAR) == ""


def test_scale_advice_takes_integers_of_any_size():
    wide = np.array([[-(2**62), 1], [2**62, 3]], dtype=np.int64)
    assert "scale them first" in advise_scaling(wide, LINEAR)


@pytest.mark.parametrize(
    ("table", "plain"),
    [
        (X, True),
        (X.astype(np.float32), True),
        (X.astype(np.float16), False),
        (X.astype(int), False),
        (X[0], False),
        (X[:0], False),
        (np.where(X > 0, np.nan, X), False),
        (np.where(X > 0, np.inf, X), False),
        (X.tolist(), False),
        (pd.DataFrame(X), False),
        (sp.csr_array(X), False),
        (np.ma.masked_array(X), False),
    ],
)
def test_only_finite_dense_floats_are_taken_without_a_closer_look(table, plain):
    assert is_plain(table) is plain


def test_a_plain_table_of_another_width_or_without_its_names_gets_the_closer_look():
    estimator = SVC().fit(X, Y)
    assert read_new_table(estimator, X) is X
    with pytest.raises(ValueError, match="features"):
        read_new_table(estimator, X[:, :2])
    named = SVC().fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)
    with pytest.warns(UserWarning, match="feature names"):
        read_new_table(named, X)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_place_of_a_value_that_is_not_finite_is_named(value):
    bad = X.copy()
    bad[7, 1] = value
    with pytest.raises(ValueError, match=r"Input X contains.*row 7, column 1\."):
        read_training_table(SVC(), bad, Y)
    frame = pd.DataFrame(bad, columns=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"Input X contains.*row 7, column 'b'\."):
        read_training_table(SVC(), frame, Y)
    with pytest.raises(ValueError, match=r"row 7, column 'b'"):
        read_new_table(SVC().fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y), frame)


def test_the_place_of_a_missing_value_of_pandas_is_named():
    frame = pd.DataFrame({"width": X[:, 0], "count": pd.array(np.arange(12), dtype="Int64")})
    whole = SVC().fit(frame, Y)
    frame.loc[7, "count"] = pd.NA
    place = r"Input X contains NaN\..*row 7, column 'count'\..*SimpleImputer"
    for table in (frame, frame[["count"]], frame.astype({"count": object})):
        with pytest.raises(ValueError, match=place):
            read_training_table(SVC(), table, Y)
    with pytest.raises(ValueError, match=place):
        read_new_table(whole, frame)
    with pytest.raises(ValueError, match=r"Input X contains NaN\..*row 7, column 1\."):
        read_training_table(SVC(), frame.to_numpy(dtype=object), Y)


@pytest.mark.parametrize(
    ("labels", "classes", "codes"),
    [
        ([3, 1, 3], [1, 3], [1, 0, 1]),
        (["b", "a", "c"], ["a", "b", "c"], [1, 0, 2]),
        ([True, False], [False, True], [1, 0]),
    ],
)
def test_classes_are_sorted_and_labels_numbered(labels, classes, codes):
    found, numbers = find_classes(np.array(labels))
    assert_array_equal(found, classes)
    assert_array_equal(numbers, codes)


def test_a_single_class_is_named():
    with pytest.raises(ValueError, match=r"only one class.*'spam'"):
        find_classes(np.array(["spam", "spam"]))


def test_continuous_labels_are_refused():
    with pytest.raises(ValueError, match="continuous"):
        find_classes(np.array([0.1, 0.2, 0.3]))


def test_parameters_found_good_are_not_confused_with_others_that_are_equal():
    """1 and True are equal, but only one of them says whether."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    model = SVC(shrinking=True).fit(X, y)
    for bad in ({"shrinking": 1}, {"C": -1.0}, {"degree": 1.5}):
        for _ in range(2):
            with pytest.raises(ValueError, match=next(iter(bad))):
                clone(model).set_params(**bad).fit(X, y)


def test_a_table_of_arrow_in_the_order_of_fit_is_read_as_any_other():
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), rng.integers(0, 2, 30)
    table = pa.table({name: X[:, k] for k, name in enumerate("abc")})
    model = SVC(gamma=0.5).fit(table, y)
    expected = SVC(gamma=0.5).fit(X, y).decision_function(X)
    assert_array_equal(model.decision_function(table), expected)
    assert_allclose(model.decision_function(table[:1]), expected[:1])
    with pytest.raises(ValueError, match="feature names should match"):
        model.decision_function(table.select(["c", "a", "b"]))
    missing = pa.array([1.0, None, 2.0])
    gaps = pa.table({"a": X[:3, 0], "b": missing, "c": X[:3, 2]})
    with pytest.raises(ValueError, match="NaN"):
        model.predict(gaps)
    whole = pa.table({name: pa.array([1, 2, 3]) for name in "abc"})
    floats = np.array([[1.0] * 3, [2.0] * 3, [3.0] * 3])
    assert_array_equal(
        model.decision_function(whole), SVC(gamma=0.5).fit(X, y).decision_function(floats)
    )
    with pytest.raises(ValueError, match="holds text"):
        model.predict(pa.table({"a": ["x"], "b": [1.0], "c": [1.0]}))
    with pytest.raises(ValueError, match="infinity"):
        model.predict(pa.table({"a": [np.inf], "b": [1.0], "c": [1.0]}))


def test_a_missing_value_of_any_table_is_named_by_its_column_and_nothing_else_is_said():
    X = np.arange(12.0).reshape(4, 3)
    X[2, 1] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for table in (frame, pa.table({name: X[:, k] for k, name in enumerate("abc")})):
        with pytest.raises(ValueError, match=r"is in row 2, column 'b'\. Leave such rows"):
            IncrementalSVC().fit(table, [0, 1, 0, 1])


@pytest.mark.parametrize("machine", REGRESSIONS)
@pytest.mark.parametrize(
    ("bad", "message"),
    [(None, "no number in row 3: its value is (None|nan)"), (np.nan, "no number in row 3: .*nan"),
     (np.inf, "not finite in row 3: its value is inf"), (pd.NA, "no number in row 3"),
     (10**400, "not finite in row 3: its value is 1000")],
)  # fmt: skip
@pytest.mark.parametrize("form", [list, pd.Series, np.array])
def test_targets_that_are_no_numbers_are_refused_by_their_row(machine, bad, message, form):
    targets = [float(value) for value in Y]
    targets[3] = bad
    model = machine()
    with refused(model, ValueError, message):
        model.fit(X, form(targets))


def test_infinite_values_are_not_to_be_imputed():
    table = X.copy()
    table[5, 1] = np.inf
    with pytest.raises(ValueError, match=r"row 5, column 1.*finite numbers in their place") as told:
        SVC().fit(table, Y)
    assert "Imputer" not in str(told.value)


@pytest.mark.parametrize("machine", [SVC, IncrementalSVC, NaiveBayes, TableEncoder])
def test_two_columns_of_one_name_are_refused_in_our_words(machine):
    model = machine()
    with refused(model, ValueError, "Each column of X needs a name of its own"):
        model.fit(pd.DataFrame(X, columns=["a", "a", "b"]), Y)
