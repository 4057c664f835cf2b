"""The same columns from dataframes of every library."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from lindero.bayes.tables.schema import Schema

NAN = np.nan


def coded(frame, chosen=None):
    """Values and codes of a table with one column of categories."""
    schema = Schema.learn(frame, chosen)
    assert schema.category_columns == (0,)
    return schema.columns[0].values, schema.read(frame, unseen="error").codes[0].tolist()


# -- pandas ---------------------------------------------------------------------------------------

CATEGORIES = {
    "str": (pd.Series(["b", None, "a"]), ("a", "b"), [2, 0, 1]),
    "string": (pd.Series(["b", pd.NA, "a"], dtype="string"), ("a", "b"), [2, 0, 1]),
    "object": (pd.Series(["b", NAN, "a"], dtype=object), ("a", "b"), [2, 0, 1]),
    "NA among objects": (pd.Series(["b", pd.NA, pd.NaT], dtype=object), ("b",), [1, 0, 0]),
    "question mark": (pd.Series(["?", "", None]), ("", "?"), [2, 1, 0]),
    "bool": (pd.Series([True, True]), (False, True), [2, 2]),
    "boolean": (pd.Series([True, pd.NA, False], dtype="boolean"), (False, True), [2, 0, 1]),
    "bool objects": (pd.Series([True, None], dtype=object), (False, True), [2, 0]),
    "category": (
        pd.Series(pd.Categorical(["a", None, "b"], categories=["z", "b", "a"])),
        ("z", "b", "a"),
        [3, 0, 2],
    ),
    "ordered": (
        pd.Series(pd.Categorical(["lo", "hi"], categories=["lo", "mid", "hi"], ordered=True)),
        ("lo", "mid", "hi"),
        [1, 3],
    ),
    "numbers as categories": (
        pd.Series(pd.Categorical([2, NAN, 10], categories=[10, 2, 3])),
        (10, 2, 3),
        [2, 0, 1],
    ),
    "floats as categories": (
        pd.Series(pd.Categorical([0.5, 1.0], categories=[1.0, 0.5])),
        (1.0, 0.5),
        [2, 1],
    ),
    "intervals": (pd.Series(pd.cut([1, 9], [0, 5, 10])), ("(0, 5]", "(5, 10]"), [1, 2]),
    "no categories": (pd.Series(pd.Categorical([None, None])), (), [0, 0]),
}


@pytest.mark.parametrize("name", CATEGORIES)
def test_categories_of_pandas(name):
    series, values, codes = CATEGORIES[name]
    found = coded(series.to_frame("c"))
    assert found == (values, codes)
    assert [type(value) for value in found[0]] == [type(value) for value in values]


CHOSEN = {
    "int64": (pd.Series([5, -1, 5]), (-1, 5), [2, 1, 2]),
    "Int64": (pd.Series([2**60 + 1, pd.NA, 2**60], dtype="Int64"), (2**60, 2**60 + 1), [2, 0, 1]),
    "Int8": (pd.Series([3, pd.NA, 7], dtype="Int8"), (3, 7), [1, 0, 2]),
    "far Int64": (pd.Series([10**9, pd.NA, -5], dtype="Int64"), (-5, 10**9), [2, 0, 1]),
    "float64": (pd.Series([1.0, NAN, 0.5]), (0.5, 1.0), [2, 0, 1]),
    "Float64": (pd.Series([1.0, pd.NA, 0.0], dtype="Float64"), (0.0, 1.0), [2, 0, 1]),
    "objects": (pd.Series([2, None, 1.5], dtype=object), (1.5, 2), [2, 0, 1]),
    "Decimal": (pd.Series([Decimal("0.5"), 0.5], dtype=object), (0.5,), [1, 1]),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_numbers_of_pandas_that_are_said_to_be_categories(name):
    series, values, codes = CHOSEN[name]
    assert coded(series.to_frame("c"), ["c"]) == (values, codes)


@pytest.mark.parametrize(
    ("series", "numbers"),
    [
        (pd.Series([1, 2]), [1, 2]),
        (pd.Series([1, pd.NA], dtype="Int64"), [1, NAN]),
        (pd.Series([0.5, pd.NA], dtype="Float32"), [0.5, NAN]),
        (pd.Series([2, None], dtype=object), [2, NAN]),
        (pd.Series([Decimal("2.5"), None], dtype=object), [2.5, NAN]),
        (pd.Series(pd.arrays.SparseArray([0.0, 3.0])), [0, 3]),
    ],
)
def test_numbers_of_pandas(series, numbers):
    frame = series.to_frame("n")
    assert_array_equal(Schema.learn(frame).read(frame).numbers, [numbers])


def test_categories_of_numbers_are_numbers_to_a_column_of_numbers():
    schema = Schema.learn(pd.DataFrame({"n": [0.5, 1.5]}))
    given = pd.DataFrame({"n": pd.Categorical([7, None])})
    assert_array_equal(schema.read(given).numbers, [[7, NAN]])


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(pd.to_datetime(["2020-01-01", None])),
        pd.Series(pd.to_datetime(["2020-01-01"]).tz_localize("UTC")),
        pd.Series(pd.to_timedelta([1, 2])),
        pd.Series([datetime.date(2020, 1, 1)], dtype=object),
    ],
)
def test_dates_are_refused_with_advice(series):
    with pytest.raises(
        ValueError, match=r"'d' of X holds dates or times.*days since.*lindero.data.load"
    ):
        Schema.learn(series.to_frame("d"))


def test_categories_that_mix_kinds_are_refused():
    frame = pd.DataFrame({"c": pd.Categorical(["a", "a"], categories=["a", 1])})
    with pytest.raises(ValueError, match=r"mixes.*row 0 holds 'a', its list of categories holds 1"):
        Schema.learn(frame)


def test_periods_are_refused_by_their_type():
    frame = pd.DataFrame({"p": pd.period_range("2020-01", periods=2, freq="M")})
    with pytest.raises(TypeError, match=r"Column 'p'.*of type Period, in row 0"):
        Schema.learn(frame)


def test_columns_without_names_of_text_are_told_by_position():
    frame = pd.DataFrame([["a", 1], [2, 1]])
    assert Schema.learn(pd.DataFrame([["a", 1]])).names is None
    with pytest.raises(ValueError, match="Column 0 of X mixes"):
        Schema.learn(frame)


# -- other libraries ------------------------------------------------------------------------------


def polars_frame():
    return pl.DataFrame(
        {
            "text": ["b", None, "a"],
            "category": pl.Series(["y", "x", None], dtype=pl.Categorical),
            "enum": pl.Series(["lo", None, "hi"], dtype=pl.Enum(["lo", "mid", "hi"])),
            "flag": [True, None, False],
            "integer": [1, None, 3],
            "float": [0.5, None, NAN],
            "decimal": pl.Series(["1.5", None, "2"]).cast(pl.Decimal(10, 2)),
            "nothing": [None, None, None],
        }
    )


def arrow_table():
    return pa.table(
        {
            "text": ["b", None, "a"],
            "category": pa.array(["y", "x", None]).dictionary_encode(),
            "enum": pa.array(["lo", None, "hi"]),
            "flag": [True, None, False],
            "integer": [1, None, 3],
            "float": [0.5, None, NAN],
            "decimal": pa.array([Decimal("1.5"), None, Decimal("2")]),
            "nothing": pa.nulls(3),
        }
    )


def pandas_of_arrow():
    return arrow_table().to_pandas(types_mapper=pd.ArrowDtype)


@pytest.mark.parametrize(
    ("make", "levels"),
    [
        (polars_frame, ("lo", "mid", "hi")),
        (arrow_table, ("hi", "lo")),
        (pandas_of_arrow, ("hi", "lo")),
    ],
    ids=["polars", "pyarrow", "pandas of pyarrow"],
)
def test_frames_of_other_libraries(make, levels):
    frame = make()
    schema = Schema.learn(frame, ["integer"])
    assert [column.values for column in schema.columns] == [
        ("a", "b"), ("x", "y"), levels, (False, True), (1, 3), (), (), (),
    ]  # fmt: skip
    table = schema.read(frame, unseen="error")
    low, high = 1 + levels.index("lo"), 1 + levels.index("hi")
    assert table.codes.tolist() == [
        [2, 0, 1], [2, 1, 0], [low, 0, high], [2, 0, 1], [1, 0, 2], [0, 0, 0],
    ]  # fmt: skip
    assert_array_equal(table.numbers, [[0.5, NAN, NAN], [1.5, NAN, 2]])
    rows = pd.DataFrame({name: [None] for name in reversed(schema.names)})
    assert not schema.read(rows).codes.any()


def test_a_dictionary_of_numbers_is_a_category():
    table = pa.table({"c": pa.array([7, None, 2]).dictionary_encode()})
    assert coded(table) == ((2, 7), [2, 0, 1])


def test_lazy_and_dated_tables_of_polars_are_refused():
    with pytest.raises(TypeError, match=r"lazy table.*collect\(\)"):
        Schema.learn(pl.DataFrame({"a": [1]}).lazy())
    with pytest.raises(ValueError, match=r"Column 'd' of X holds dates or times"):
        Schema.learn(pl.DataFrame({"d": [datetime.date(2020, 1, 1)]}))
    with pytest.raises(TypeError, match=r"Column 'l' of X holds \[1\], of type list, in row 1"):
        Schema.learn(pl.DataFrame({"l": [None, [1]]}))


def test_arrow_tables_may_not_repeat_names():
    with pytest.raises(ValueError, match=r"needs a name of its own.*\n- 'a'"):
        Schema.learn(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]))


def test_text_of_arrow_in_chunks_is_that_of_lists():
    chunks = [["b", None, "a"], [], ["c", "b"], [None]]
    rows = [value for chunk in chunks for value in chunk]
    for kind in (pa.string(), pa.large_string()):
        table = pa.table({"x": pa.chunked_array(chunks, kind), "y": pa.array([None] * 6, kind)})
        schema = Schema.learn(table)
        assert schema.columns[0].values == ("a", "b", "c")
        assert schema.columns[1].values == ()
        expected = schema.read([[value, None] for value in rows]).codes
        assert_array_equal(schema.read(table).codes, expected)
