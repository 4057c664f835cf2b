"""Arrays to codes and numbers, against twins in plain Python."""

import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from lindero.bayes.tables.column_readers import WIDEST
from lindero.bayes.tables.schema import Schema, choose_code_type
from tests.naive import table as naive

#: Arrays whose columns are all to be categories, by what is special about them.
ARRAYS = {
    "small": lambda rng: rng.integers(0, 5, (300, 4)),
    "negative": lambda rng: rng.integers(-7, -2, (300, 4)),
    "bytes": lambda rng: rng.integers(-128, 128, (300, 3)).astype(np.int8),
    "unsigned": lambda rng: rng.integers(0, 300, (500, 3)).astype(np.uint16),
    "widest": lambda rng: rng.choice([-5, WIDEST - 6], (300, 2)),
    "too wide": lambda rng: rng.choice([-5, WIDEST - 5, 3], (300, 2)),
    "ends of int64": lambda rng: rng.choice([-(2**63), 0, 2**63 - 1], (300, 3)),
    "least of int64": lambda rng: np.full((5, 2), -(2**63)),
    "large uint64": lambda rng: rng.choice(np.array([2**64 - 1, 2**64 - 2, 3], np.uint64), (99, 2)),
    "whole floats": lambda rng: rng.integers(-3, 3, (300, 4)).astype(np.float32),
    "with NaN": lambda rng: rng.choice([np.nan, 1.0, 4.0, -2.0], (300, 4)),
    "fractions": lambda rng: rng.choice([np.nan, 0.5, 1.0, -2.25], (300, 4)),
    "large floats": lambda rng: rng.choice([2.0**53, 2.0**53 + 2, 1e300, np.nan], (300, 2)),
    "one column without values": lambda rng: np.column_stack([np.full(50, np.nan), np.arange(50)]),
    "several blocks": lambda rng: rng.integers(0, 300, (70_000, 2)),
    "Fortran order": lambda rng: np.asfortranarray(rng.integers(0, 5, (300, 4))),
    "many columns": lambda rng: rng.integers(-2, 3, (40, 150)),
    "every other": lambda rng: rng.integers(0, 5, (300, 8))[::-2, ::2],
}


@pytest.mark.parametrize("name", ARRAYS)
def test_codes_are_those_of_the_twin(name):
    X = ARRAYS[name](np.random.default_rng(0))
    X.flags.writeable = False
    half = X[: len(X) // 3]
    schema = Schema.learn(half, "all")
    table = schema.read(X)
    for column, known, codes in zip(X.T.tolist(), schema.columns, table.codes, strict=True):
        assert list(known.values) == naive.distinct(column[: len(half)])
        assert_array_equal(codes, naive.codes(column, known.values, len(known.values) + 1))
    assert table.codes.flags.c_contiguous
    assert_array_equal(table.cards, [len(column.values) for column in schema.columns])


def test_values_are_plain_and_of_the_type_they_came_in():
    for dtype, kind in ((np.int16, int), (np.float32, float), (bool, bool)):
        schema = Schema.learn(np.array([[0], [1]], dtype=dtype), "all")
        assert [type(value) for value in schema.columns[0].values] == [kind, kind]


@pytest.mark.parametrize(
    ("n_values", "dtype"),
    [(5, np.uint8), (254, np.uint8), (255, np.uint16), (65534, np.uint16), (65535, np.int32)],
)
def test_codes_take_the_smallest_type_that_holds_unseen_values_too(n_values, dtype):
    assert choose_code_type(n_values) == dtype
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        schema = Schema.learn(np.arange(n_values)[:, None], "all")
    codes = schema.read([[0], [n_values - 1], [n_values]]).codes
    assert codes.dtype == dtype
    assert codes.tolist() == [[1, n_values, n_values + 1]]


def test_truth_values_are_two_categories_even_if_one_is_seen():
    schema = Schema.learn(np.array([[True, False], [True, False]]))
    assert [column.values for column in schema.columns] == [(False, True)] * 2
    assert schema.read(np.array([[False, True]])).codes.tolist() == [[1], [2]]


# -- numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int8, np.uint64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_are_the_transposed_array(dtype, order):
    X = np.random.default_rng(0).integers(0, 100, (300, 4)).astype(dtype, order=order)
    for array in (X, X[::2], X[:, ::-1]):
        table = Schema.learn(array).read(array)
        assert table.numbers.dtype == np.float64
        assert table.numbers.flags.c_contiguous
        assert_array_equal(table.numbers, array.T)
        assert table.codes.shape == (0, len(array))


def test_missing_numbers_stay_nan():
    X = np.array([[1.0, np.nan], [np.nan, 2.0]])
    assert_array_equal(Schema.learn(X).read(X).numbers, X.T)


def test_numbers_and_categories_of_one_array():
    X = np.array([[1.5, 7.0, 0.5], [2.5, 9.0, np.nan], [3.5, 7.0, 0.5]])
    schema = Schema.learn(X, [1])
    table = schema.read(X)
    assert (schema.category_columns, schema.number_columns) == ((1,), (0, 2))
    assert_array_equal(table.codes, [[1, 2, 1]])
    assert_array_equal(table.numbers, X[:, [0, 2]].T)


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
@pytest.mark.parametrize("chosen", [None, "all"])
def test_infinite_numbers_are_refused_with_their_place(bad, chosen):
    X = np.zeros((100_000, 3))
    X[1, 0] = np.nan
    X[70_000, 2] = bad
    with pytest.raises(ValueError, match=r"infinity.*row 70000, column 2\."):
        Schema.learn(X, chosen).read(X)


def test_a_number_too_large_for_a_float_is_refused():
    with pytest.raises(ValueError, match=r"too large.*row 1, column 0\."):
        Schema.learn([[1], [10**400]]).read([[1], [10**400]])


def test_masked_values_are_missing():
    X = np.ma.MaskedArray([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    assert_array_equal(Schema.learn(X).read(X).numbers, [[1, 3], [np.nan, 4]])


# -- memory ---------------------------------------------------------------------------------------


def peak(work):
    """Most bytes that arrays took at a time."""
    work()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_reading_takes_little_more_memory_than_what_is_read():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (300_000, 20))
    schema = Schema.learn(X, "all")
    codes = schema.read(X).codes
    assert codes.dtype == np.uint8
    assert peak(lambda: schema.read(X)) < 1.6 * codes.nbytes
    X = rng.standard_normal((100_000, 20))
    schema = Schema.learn(X)
    assert peak(lambda: schema.read(X)) < 1.2 * X.nbytes
    X = np.asfortranarray(X)
    assert peak(lambda: schema.read(X)) < 0.1 * X.nbytes


# -- lists and objects ----------------------------------------------------------------------------


@pytest.mark.parametrize("container", [list, lambda rows: np.array(rows, dtype=object)])
def test_each_column_of_lists_and_objects_is_what_its_values_are(container):
    X = container(
        [
            ["red", 1, True, "?", None],
            [None, 2.5, None, "", None],
            ["blue", None, False, "?", None],
            [np.nan, 3, True, "?", None],
        ]
    )
    schema = Schema.learn(X)
    table = schema.read(X)
    assert [column.kind for column in schema.columns] == [
        "category", "number", "category", "category", "unknown",
    ]  # fmt: skip
    assert [column.values for column in schema.columns] == [
        ("blue", "red"), (), (False, True), ("", "?"), (),
    ]  # fmt: skip
    assert_array_equal(table.codes, [[2, 0, 1, 0], [2, 0, 1, 2], [2, 1, 2, 2], [0, 0, 0, 0]])
    assert_array_equal(table.numbers, [[1, 2.5, np.nan, 3]])
    assert_array_equal(table.cards, [2, 2, 2, 0])


def test_truth_values_among_numbers_of_a_list_stay_truth_values():
    schema = Schema.learn([[True, 2.5], [False, 3.5]])
    assert [column.kind for column in schema.columns] == ["category", "number"]


def test_text_arrays_are_categories():
    for dtype in ("U3", object, np.dtypes.StringDType()):
        schema = Schema.learn(np.array([["b", "1"], ["a", "2"]], dtype=dtype))
        assert [column.values for column in schema.columns] == [("a", "b"), ("1", "2")]
        assert all(type(value) is str for column in schema.columns for value in column.values)


REFUSED = {
    "mixed": (["a", 1, None], r"Column 1 of X mixes text with numbers: row 0 holds 'a', row 1"),
    "flags and numbers": ([True, 2.5], "mixes numbers with booleans"),
    "dates": ([None, np.datetime64("2020-01-01")], r"dates or times.*row 1.*days since"),
    "complex": ([1.0, 1j], r"Complex data not supported.*row 1"),
    "dictionaries": (["a", {"b": 1}], r"row 1.*argument must be a string or a real number"),
    "lists in tuples": (["a", ([],)], r"of type tuple, in row 1"),
    "bytes": ([b"a", None], r"of type bytes, in row 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_objects_are_refused_with_their_place(name):
    values, message = REFUSED[name]
    X = np.empty((len(values), 2), dtype=object)
    X[:, 0], X[:, 1] = "x", values
    with pytest.raises((TypeError, ValueError), match=message):
        Schema.learn(X)


@pytest.mark.parametrize("kind", ["datetime64[ns]", "datetime64[D]", "timedelta64[s]"])
def test_arrays_of_dates_are_refused(kind):
    with pytest.raises(ValueError, match="Column 0 of X holds dates or times"):
        Schema.learn(np.ones((3, 2), dtype=kind))
