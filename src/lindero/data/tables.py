"""Tables of Arrow: as they come from a file, and their columns as arrays of NumPy.

Whatever the format, a file becomes a `SourceTable`, whose columns have five Arrow types: integer,
float, boolean, text, and null where every value is missing. Dates stay dates until it is known
whether they are times.
"""

from __future__ import annotations

import datetime
import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import parquet, types

from lindero.data.content import Content
from lindero.runtime.arrays import Array

#: Integers are classes if there are at most this many different ones.
MOST_CLASSES = 20

#: Rows of Parquet that are read at once where text may be longer than it looks.
_MOST_ROWS = 2**16


@dataclass(frozen=True)
class SourceTable:
    """The columns of a file."""

    table: pa.Table
    #: From the name of a column to its values as text, as they stand in the file.
    text_of: Callable[[str], pa.ChunkedArray]
    #: Columns that the file itself declares to be targets.
    outputs: tuple[str, ...] = ()
    #: Columns that the file itself declares to be features; None where it does not say.
    inputs: tuple[str, ...] | None = None
    #: Whether the file itself says which columns are numbers.
    is_declared: bool = False
    #: Whether numbers are numbers in the file itself, rather than text that reads like some.
    has_types: bool = False
    #: The decimal sign that numbers were read with.
    decimal: str = "."
    #: Columns of numbers that are all like 1.883, perhaps thousands.
    doubtful: tuple[str, ...] = ()


def require_distinct(names: list[str], content: Content) -> None:
    """Refuse two columns with the same name."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        at = [j for j, name in enumerate(names) if name == repeated[0]]
        raise content.error(
            f"has {len(at)} columns called {repeated[0]!r} (positions {', '.join(map(str, at))}, "
            "counted from 0). Rename all but one"
            + (", or pass header=False if the first line is a row." if len(names) > 1 else ".")
        )


def simplify_column(column: pa.ChunkedArray, name: str, content: Content) -> pa.ChunkedArray:
    """A column of any Arrow type as one of the five types above, or as dates."""
    kind = column.type
    if types.is_dictionary(kind):
        return simplify_column(column.cast(kind.value_type), name, content)
    if types.is_floating(kind) or types.is_decimal(kind):
        return column if kind in (pa.float32(), pa.float64()) else column.cast(pa.float64())
    try:
        return column.cast(pa.string()) if _is_text(kind) else column
    except pa.ArrowInvalid:
        raise _refuse_kind(kind, name, content) from None


def _is_text(kind: pa.DataType) -> bool:
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return bool(is_text or types.is_binary(kind))


def _require_readable(kind: pa.DataType, name: str, content: Content) -> None:
    """Refuse a column that cannot become one of the five types above, or dates."""
    kind = _get_value_type(kind)
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    is_plain = types.is_boolean(kind) or types.is_null(kind) or types.is_temporal(kind)
    if not (is_number or is_plain or _is_text(kind)):
        raise _refuse_kind(kind, name, content)


def _refuse_kind(kind: pa.DataType, name: str, content: Content) -> Exception:
    return content.error(
        f"column {name!r} holds {kind}, neither numbers nor text. Convert the column, or save the "
        "table without it."
    )


# -- Parquet ---------------------------------------------------------------------------------------


def read_parquet(content: Content) -> SourceTable:
    """The table in a Parquet file."""
    try:
        file = parquet.ParquetFile(pa.BufferReader(content.data))
        names = [str(name) for name in file.schema_arrow.names]
        for name, kind in zip(names, file.schema_arrow.types, strict=True):
            _require_readable(kind, name, content)
        require_distinct(names, content)
        table = _read_bounded(file, content)
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0][:200].rstrip(".")
        raise content.error(
            f"is a damaged Parquet file ({reason}). Download or write it again."
        ) from None
    if table.num_rows == 0:
        raise content.error("has columns, but no rows.")
    named = zip(names, table.columns, strict=True)
    plain = pa.table({name: simplify_column(column, name, content) for name, column in named})
    return SourceTable(plain, lambda name: plain[name].cast(pa.string()), has_types=True)


def _read_bounded(file: parquet.ParquetFile, content: Content) -> pa.Table:
    """The columns, unless they take too much.

    Repeated values take almost no space, so a few bytes may declare any number of rows, each with
    the same long text. Where all may be as long as the longest, rows are read a few at a time.
    """
    about, schema = file.metadata, file.schema_arrow
    groups = [about.row_group(k) for k in range(about.num_row_groups)]
    size, n_values, most, texts = 0, 0, 0, {}
    for place, (name, kind) in enumerate(zip(schema.names, schema.types, strict=True)):
        parts = [group.column(place) for group in groups]
        if _is_text(_get_value_type(kind)):
            texts[name] = parts
        for part in parts:
            # What is read is what a part declares, whatever the file says of its rows.
            n_declared, n_stored = max(0, part.num_values), max(0, part.total_uncompressed_size)
            n_values += n_declared
            size += n_declared * _count_value_bytes(kind)
            if name in texts:
                size += n_stored
                most += n_declared * n_stored  # if each value were all that is stored
    content.require_room(size, f"declares {n_values} values in {len(content.data)} bytes")
    if size + most <= content.allowed:
        return file.read()
    lengths = _find_lengths(texts, content)
    of_text = sum(lengths[name] * max(0, part.num_values) for name in texts for part in texts[name])
    if size + of_text <= content.allowed:
        return file.read()
    step = max(1, min(_MOST_ROWS, content.allowed // max(1, 4 * sum(lengths.values()))))
    taken, batches = 0, []
    for batch in file.iter_batches(batch_size=step):
        taken += batch.nbytes + sum(map(_count_coded_text, batch.columns))
        content.require_room(taken, f"holds {taken} bytes and more, of text that is repeated")
        batches.append(batch)
    return pa.Table.from_batches(batches, batches[0].schema if batches else schema)


def _find_lengths(texts: dict[str, list[Any]], content: Content) -> dict[str, int]:
    """For each column of text, bytes that no value takes more than, beside what is stored for it
    alone; `texts` are the parts of the columns."""
    lengths, coded = dict.fromkeys(texts, 0), []
    for name, parts in texts.items():
        # Of each value, what it shares with the one before is left out.
        shared = [part for part in parts if "DELTA_BYTE_ARRAY" in part.encodings]
        lengths[name] = max((part.total_uncompressed_size for part in shared), default=0)
        if any(how.endswith("DICTIONARY") for part in parts for how in part.encodings):
            coded.append(name)
    if coded:
        file = parquet.ParquetFile(pa.BufferReader(content.data), read_dictionary=coded)
        for group in range(file.metadata.num_row_groups):
            # Whatever row is read, all texts of its group come with it.
            rows = file.iter_batches(batch_size=1, row_groups=[group], columns=coded)
            for row in itertools.islice(rows, 1):
                for name, column in zip(row.schema.names, row.columns, strict=True):
                    longest = pc.max(pc.binary_length(column.dictionary)).as_py() or 0
                    lengths[name] = max(lengths[name], longest)
    return lengths


def _get_value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if types.is_dictionary(kind) else kind


def _count_value_bytes(kind: pa.DataType) -> int:
    """The bytes that a value takes in memory, beside those of text itself."""
    if types.is_dictionary(kind):
        return 4 + _count_value_bytes(kind.value_type)
    if _is_text(kind):
        return 4
    return 1 if types.is_null(kind) else max(1, int(kind.bit_width) // 8)


def _count_coded_text(column: pa.Array) -> int:
    """The bytes of the text that stands once for many values in a column."""
    if not types.is_dictionary(column.type) or not _is_text(column.type.value_type):
        return 0
    return pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0


# -- columns as arrays -----------------------------------------------------------------------------


def count_missing(column: pa.ChunkedArray) -> int:
    """How many values are null or NaN."""
    n_nulls = int(column.null_count)
    if types.is_floating(column.type):
        n_nulls += pc.sum(pc.is_nan(column)).as_py() or 0
    return n_nulls


def find_kind(column: pa.ChunkedArray) -> str:
    """Whether a column holds numbers, categories, or nothing."""
    if count_missing(column) == len(column):
        return "empty"
    return "category" if types.is_string(column.type) or types.is_boolean(column.type) else "number"


def read_targets(column: pa.ChunkedArray) -> Array | None:
    """A target: classes as objects or integers, numbers as floats; None if all are missing."""
    if count_missing(column) == len(column):
        return None
    if types.is_string(column.type):
        return _share_text(column)
    if types.is_boolean(column.type):
        return read_objects(column) if column.null_count else column.to_numpy()
    return read_number_targets(_to_floats(column))


def read_number_targets(values: Array) -> Array:
    """Few integers as classes (int64, or objects where some are missing), others unchanged. Few are
    at most `MOST_CLASSES` different values, each occurring twice on average, or two."""
    present = values[~np.isnan(values)]
    different = np.unique(present)
    most = min(MOST_CLASSES, max(2, len(present) // 2))
    whole = (np.abs(different) < 2.0**53) & (different == np.floor(different))
    if len(different) > most or not whole.all():
        return values
    if len(present) == len(values):
        return values.astype(np.int64)
    classes = np.full(len(values), None, dtype=object)
    classes[~np.isnan(values)] = present.astype(np.int64).tolist()
    return classes


def _share_text(column: pa.ChunkedArray) -> Array:
    """Text as objects, equal values sharing one object, and None."""
    coded = column.dictionary_encode().combine_chunks()
    if hasattr(coded, "chunks"):
        coded = coded.chunk(0)
    values = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
    codes = coded.indices.fill_null(len(values) - 1).to_numpy()
    return np.asarray(values[codes])


def read_objects(column: pa.ChunkedArray) -> Array:
    """Values as they are, such as names of rows."""
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values


def read_queries(column: pa.ChunkedArray, name: str, content: Content) -> Array:
    """Queries: integers or text, none missing."""
    _require_all(column, name, "qid", content)
    if types.is_integer(column.type):
        return np.asarray(column.to_numpy())
    return read_objects(column.cast("string"))


def read_weights(column: pa.ChunkedArray, name: str, content: Content) -> Array:
    """Weights: numbers, none missing or negative."""
    _require_all(column, name, "weight", content)
    values = _read_numbers(column, name, "weight", content)
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(bad):
        raise content.error(
            f"weights cannot be negative or infinite, but column {name!r} holds {values[bad[0]]:g} "
            f"in row {bad[0]}."
        )
    return values


def read_positions(table: pa.Table, names: tuple[str, ...], content: Content) -> Array | None:
    """Where each row is: numbers, a column for each coordinate; None where no column says it."""
    if not names:
        return None
    for name in names:
        _require_all(table[name], name, "position", content)
    return np.column_stack([_read_numbers(table[n], n, "position", content) for n in names])


def read_times(column: pa.ChunkedArray, name: str, content: Content) -> Array:
    """Times: integers (int64), floats, or dates (datetime64, in UTC)."""
    _require_all(column, name, "time", content)
    if types.is_integer(column.type):
        return np.asarray(column.cast("int64").to_numpy())
    if types.is_timestamp(column.type) or types.is_date(column.type):
        dates = column.to_numpy()
        fine = np.datetime_data(dates.dtype)[0] == "ns"
        return np.asarray(dates if fine else dates.astype("datetime64[us]"))
    if types.is_string(column.type):
        return _parse_dates(column, name, content)
    return _read_numbers(column, name, "time", content)


def _parse_dates(column: pa.ChunkedArray, name: str, content: Content) -> Array:
    """Dates in text: by Arrow if all have one form, else one by one, which also finds a bad one."""
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


def _read_numbers(column: pa.ChunkedArray, name: str, role: str, content: Content) -> Array:
    if not (types.is_integer(column.type) or types.is_floating(column.type)):
        raise content.error(
            f"{role}={name!r} must be a column of numbers{' or dates' * (role == 'time')}, but it "
            f"holds {column.type} ({str(column[0].as_py())[:40]!r} in row 0)."
        )
    return _to_floats(column)


def _to_floats(column: pa.ChunkedArray) -> Array:
    """Numbers as float64; integers beyond 2**53 are rounded."""
    return np.asarray(column.cast("float64", safe=False).to_numpy())


def _require_all(column: pa.ChunkedArray, name: str, role: str, content: Content) -> None:
    if count_missing(column):
        missing = pc.is_null(column, nan_is_null=True)
        raise content.error(
            f"{role}={name!r} has no value in row {missing.index(True).as_py()}. Fill in such "
            "values, or remove these rows."
        )
