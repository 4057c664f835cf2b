"""What a schema learns, reads again, and refuses."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from lindero.bayes.tables.schema import Column, Schema, UserTable

FRAME = pd.DataFrame(
    {
        "colour": ["red", "blue", "red", None],
        "size": [1.5, 2.5, None, 4.0],
        "old": [True, False] * 2,
    }
)


@pytest.fixture
def schema():
    return Schema.learn(FRAME)


def test_a_schema_holds_plain_values_and_survives_pickling(schema):
    assert schema.columns == (
        Column("colour", "category", ("blue", "red")),
        Column("size", "number"),
        Column("old", "category", (False, True)),
    )
    assert schema.names == ("colour", "size", "old")
    assert (schema.category_columns, schema.number_columns) == ((0, 2), (1,))
    assert b"pandas" not in pickle.dumps(schema)
    assert pickle.loads(pickle.dumps(schema)) == schema


def test_a_table_looked_through_once_is_learned_and_read_alike(schema):
    table = UserTable.of(FRAME)
    assert Schema.learn(table) == schema
    assert_array_equal(schema.read(table).codes, schema.read(FRAME).codes)
    assert_array_equal(schema.read(table).codes, [[2, 1, 2, 0], [2, 1, 2, 1]])


def test_titles_are_names_or_positions(schema):
    assert schema.title(1) == "size"
    unnamed = Schema.learn(np.zeros((2, 3)))
    assert unnamed.names is None
    assert unnamed.title(2) == "x2"


# -- columns of later tables ----------------------------------------------------------------------


def test_columns_are_found_by_name(schema):
    again = schema.read(FRAME[["old", "colour", "size"]])
    assert_array_equal(again.codes, schema.read(FRAME).codes)
    assert_array_equal(again.numbers, schema.read(FRAME).numbers)


def test_missing_and_additional_columns_are_named(schema):
    with pytest.raises(ValueError, match=r"yet now missing:\n- old\n- size\n"):
        schema.read(FRAME[["colour"]])
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- weight\n"):
        schema.read(FRAME.assign(weight=1.0))
    with pytest.raises(ValueError, match="X has 2 features, but 3 were given to fit"):
        schema.read([["red", 1.5]])


def test_a_frame_can_be_read_from_an_array_and_the_other_way_round(schema):
    by_array = schema.read(FRAME.to_numpy(dtype=object))
    assert_array_equal(by_array.codes, schema.read(FRAME).codes)
    unnamed = Schema.learn(np.arange(6.0).reshape(2, 3))
    frame = pd.DataFrame([[1, 2, 3]], columns=["c", "b", "a"])
    assert_array_equal(unnamed.read(frame).numbers, [[1], [2], [3]])


def test_a_column_of_missing_values_only_fits_any_kind(schema):
    empty = pd.DataFrame({"colour": [np.nan], "size": [None], "old": [None]})
    table = schema.read(empty, unseen="error")
    assert_array_equal(table.codes, [[0], [0]])
    assert_array_equal(table.numbers, [[np.nan]])


@pytest.mark.parametrize(
    ("column", "values", "held"),
    [
        ("colour", [np.nan, 3.0], "held text .* row 1 holds 3.0"),
        ("size", ["big", None], "held numbers .* row 0 holds 'big'"),
        ("size", pd.Categorical([None, "big"]), "held numbers .* row 1 holds 'big'"),
        ("old", ["True", "False"], "held booleans .* row 0 holds 'True'"),
    ],
)
def test_values_that_can_match_nothing_are_refused(schema, column, values, held):
    with pytest.raises(ValueError, match=f"Column '{column}' {held}"):
        schema.read(FRAME[:2].assign(**{column: values}))
    with pytest.raises(ValueError, match=f"Column '{column}' {held}"):
        schema.extend(FRAME[:2].assign(**{column: values}))


@pytest.mark.parametrize(
    "values",
    [
        np.array([3, 1, 2]),
        np.array([3.0, 1.0, 2.0]),
        pd.array([3, 1, 2], dtype="Int8"),
        pd.Categorical([3, 1, 2], categories=[2, 3, 1]),
        np.array([3, 1.0, 2], dtype=object),
    ],
)
def test_categories_are_matched_by_value_whatever_their_type(values):
    schema = Schema.learn(pd.DataFrame({"n": [1, 3, 5]}), ["n"])
    assert schema.read(pd.DataFrame({"n": values})).codes.tolist() == [[2, 1, 4]]
    flags = Schema.learn(np.array([[True], [False]]))
    assert flags.read([[1], [0], [2]]).codes.tolist() == [[2, 1, 3]]


# -- unseen categories ----------------------------------------------------------------------------


@pytest.mark.parametrize("values", [["b", "z", None], [2, 9, None], [0.5, 1.5, None]])
def test_unseen_categories(values):
    known = pd.DataFrame({"v": [values[0], values[0]]})
    schema = Schema.learn(known, "all")
    frame = pd.DataFrame({"v": values})
    assert schema.read(frame).codes.tolist() == [[1, 2, 0]]
    assert schema.read(frame, unseen="missing").codes.tolist() == [[1, 0, 0]]
    with pytest.raises(ValueError, match=rf"Row 1 of column 'v' holds {values[1]!r}.*known are"):
        schema.read(frame, unseen="error")
    with pytest.raises(ValueError, match=r"unseen='ignore' is none of"):
        schema.read(frame, unseen="ignore")


def test_new_categories_are_appended_and_old_codes_stay():
    schema = Schema.learn([["b", 7], ["d", 7]], [1])
    longer = schema.extend([["c", 9], ["a", None], ["d", 8]])
    assert [column.values for column in longer.columns] == [
        ("b", "d", "a", "c"),
        (7, 8, 9),
    ]
    assert longer.read([["b", 7], ["d", 8]]).codes.tolist() == [[1, 2], [1, 2]]
    assert longer.extend([["a", 7]]) is longer
    assert [column.values for column in schema.columns] == [("b", "d"), (7,)]


def test_a_column_without_values_takes_those_of_a_later_batch():
    schema = Schema.learn(pd.DataFrame({"v": pd.Series([None, None], dtype="string")}))
    assert schema.columns[0].values == ()
    assert schema.read(pd.DataFrame({"v": ["a", None]})).codes.tolist() == [[1, 0]]
    assert schema.extend(pd.DataFrame({"v": ["b", "a"]})).columns[0].values == ("a", "b")


def test_very_many_categories_work_and_are_told():
    names = pd.DataFrame({"id": [f"n{i}" for i in range(10_000)]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schema = Schema.learn(names[:-1])
    with pytest.warns(UserWarning, match="Column 'id' has 10000 categories"):
        assert schema.extend(names).read(names).codes[0, -1] == 10_000
    with pytest.warns(UserWarning, match="Column 0 has 20000 categories"):
        Schema.learn(10 * np.arange(20_000.0)[:, None], [0])


# -- categorical_features -------------------------------------------------------------------------

NUMBERS = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": [3, 3]})


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (None, ()),
        ([], ()),
        ("all", (0, 1, 2)),
        (["c", "a"], (0, 2)),
        (np.array(["b"], dtype=object), (1,)),
        (pd.Index(["b"]), (1,)),
        ([-1, 0], (0, 2)),
        (np.array([1]), (1,)),
        ([False, True, False], (1,)),
    ],
)
def test_chosen_columns_are_categories(chosen, expected):
    assert Schema.learn(NUMBERS, chosen).category_columns == expected


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("a", r"must be None, 'all'.*\['a'\]"),
        (["d"], r"'d', but the columns of X are \['a', 'b', 'c'\]"),
        ([3], "column 3, but X has 3 columns"),
        ([True, False], "mask of 2 booleans, but X has 3"),
        ([0.5], "must be None"),
        ([["a"]], "must be None"),
    ],
)
def test_wrong_choices_are_told(chosen, message):
    with pytest.raises(ValueError, match=message):
        Schema.learn(NUMBERS, chosen)


def test_names_need_a_table_with_names():
    with pytest.raises(ValueError, match="have no names"):
        Schema.learn(NUMBERS.to_numpy(), ["a"])


# -- no table at all ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.arange(3.0), "Reshape your data"),
        ([1.0, 2.0], "Reshape your data"),
        (pd.Series([1.0]), "Expected a 2-dimensional container"),
        (np.zeros((2, 2, 2)), "dim 3"),
        (np.zeros((0, 2)), r"0 sample\(s\)"),
        (np.zeros((2, 0)), r"0 feature\(s\)"),
        (NUMBERS[:0], r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
        (NUMBERS[[]], r"0 feature\(s\) \(shape=\(2, 0\)\) while a minimum of 1 is required"),
        (np.ones((2, 2)) * 1j, "Complex data not supported"),
        ([[1, 2], [3]], "inhomogeneous"),
        (sp.csr_array(np.eye(2)), "dense data is required"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), r"needs a name of its own.*\n- 'a'"),
    ],
)
def test_what_is_no_table_is_refused(X, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Schema.learn(X)
