"""Columns of Arrow as arrays of NumPy: targets, times, weights, queries and names of rows."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.data.content import Content
from lindero.runtime.arrays import Array

if TYPE_CHECKING:
    import pyarrow as pa

#: Whole numbers are classes if there are no more of them than this.
MOST_CLASSES = 20


def taken(X: Any, places: Array) -> Any:
    """Rows of a table or of an array."""
    return X.take(places) if hasattr(X, "take") and hasattr(X, "schema") else X[places]


def missing_count(column: pa.ChunkedArray) -> int:
    """How many values are null or NaN."""
    from pyarrow import compute as pc
    from pyarrow import types

    n_nulls = int(column.null_count)
    if types.is_floating(column.type):
        n_nulls += pc.sum(pc.is_nan(column)).as_py() or 0
    return n_nulls


def kind_of(column: pa.ChunkedArray) -> str:
    """Whether a column holds numbers, categories, or nothing."""
    from pyarrow import types

    if missing_count(column) == len(column):
        return "empty"
    return "category" if types.is_string(column.type) or types.is_boolean(column.type) else "number"


def target_values(column: pa.ChunkedArray) -> Array | None:
    """A target: classes as objects or whole numbers, other numbers as floats; None where there is
    no value at all."""
    from pyarrow import types

    if missing_count(column) == len(column):
        return None
    if types.is_string(column.type):
        return _shared_text(column)
    if types.is_boolean(column.type):
        return _objects(column) if column.null_count else column.to_numpy()
    return number_targets(_floats(column))


def number_targets(values: Array) -> Array:
    """Numbers as classes (int64, or objects where some are missing) if they are whole and few, else
    as they are.

    Few are at most `MOST_CLASSES` different ones, each of which comes twice on average; two are
    always few.
    """
    present = values[~np.isnan(values)]
    different = np.unique(present)
    most = min(MOST_CLASSES, max(2, len(present) // 2))
    if len(different) > most or not _is_whole(different):
        return values
    if len(present) == len(values):
        return values.astype(np.int64)
    classes = np.full(len(values), None, dtype=object)
    classes[~np.isnan(values)] = present.astype(np.int64).tolist()
    return classes


def _is_whole(values: Array) -> bool:
    return bool(np.all((np.abs(values) < 2.0**53) & (values == np.floor(values))))


def _shared_text(column: pa.ChunkedArray) -> Array:
    """Text as objects, one for each different value, and None."""
    coded = column.dictionary_encode().combine_chunks()
    if hasattr(coded, "chunks"):
        coded = coded.chunk(0)
    values = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
    codes = coded.indices.fill_null(len(values) - 1).to_numpy()
    shared: Array = values[codes]
    return shared


def _objects(column: pa.ChunkedArray) -> Array:
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values


def names_of_rows(text: pa.ChunkedArray) -> Array:
    """Names of rows: text, as in the file."""
    return _objects(text)


def query_values(column: pa.ChunkedArray, name: str, content: Content) -> Array:
    """Queries: whole numbers or text, none missing."""
    from pyarrow import types

    _require_all(column, name, "qid", content)
    if types.is_integer(column.type):
        return np.asarray(column.to_numpy())
    return _objects(column.cast("string"))


def weight_values(column: pa.ChunkedArray, name: str, content: Content) -> Array:
    """Weights: numbers, none missing or negative."""
    _require_all(column, name, "weight", content)
    values = _numbers(column, name, "weight", content)
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(bad):
        raise content.error(
            f"weights cannot be negative or infinite, but column {name!r} holds {values[bad[0]]:g} "
            f"in row {bad[0]}."
        )
    return values


def time_values(column: pa.ChunkedArray, name: str, content: Content) -> Array:
    """Times: whole numbers (int64), floats, or dates (datetime64, in UTC)."""
    from pyarrow import types

    _require_all(column, name, "time", content)
    if types.is_integer(column.type):
        return np.asarray(column.cast("int64").to_numpy())
    if types.is_timestamp(column.type) or types.is_date(column.type):
        dates = column.to_numpy()
        fine = np.datetime_data(dates.dtype)[0] == "ns"
        return np.asarray(dates if fine else dates.astype("datetime64[us]"))
    if types.is_string(column.type):
        return _dates(column, name, content)
    return _numbers(column, name, "time", content)


def _dates(column: pa.ChunkedArray, name: str, content: Content) -> Array:
    """Dates in text: by Arrow if all are alike, and else, or to find the one at fault, singly."""
    import pyarrow as pa

    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            return np.asarray(column.cast(kind).to_numpy())
        except pa.ArrowInvalid:
            continue
    dates = []
    for row, text in enumerate(column.to_pylist()):
        try:
            moment = datetime.datetime.fromisoformat(text)
        except ValueError:
            raise content.error(
                f"the time in row {row}, column {name!r}, cannot be read: {text[:40]!r}. Times are "
                "numbers, or dates such as 2024-05-01 or 2024-05-01T12:30:00."
            ) from None
        if moment.tzinfo is not None:
            try:
                moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
            except OverflowError:  # before the year 1 in UTC
                moment = moment.replace(tzinfo=None)
        dates.append(moment)
    return np.array(dates, dtype="datetime64[us]")


def _numbers(column: pa.ChunkedArray, name: str, role: str, content: Content) -> Array:
    from pyarrow import types

    if not (types.is_integer(column.type) or types.is_floating(column.type)):
        raise content.error(
            f"{role}={name!r} must be a column of numbers{' or dates' * (role == 'time')}, but it "
            f"holds {column.type} ({str(column[0].as_py())[:40]!r} in row 0)."
        )
    return _floats(column)


def _floats(column: pa.ChunkedArray) -> Array:
    """Numbers as float64, rounded where that cannot tell them apart."""
    return np.asarray(column.cast("float64", safe=False).to_numpy())


def _require_all(column: pa.ChunkedArray, name: str, role: str, content: Content) -> None:
    from pyarrow import compute as pc

    if missing_count(column):
        missing = pc.is_null(column, nan_is_null=True)
        raise content.error(
            f"{role}={name!r} has no value in row {missing.index(True).as_py()}. Leave such rows "
            "out, or complete them."
        )
