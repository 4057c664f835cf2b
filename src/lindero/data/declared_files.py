"""ARFF and KEEL: rows below declarations of their columns.

Plain rows, without quotes and escapes, are read by Arrow, as in a CSV file. liac-arff reads the
others and sparse ones (``{3 1.5, 7 yes}``), more slowly. Afterwards both are held against the
declarations.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any

from lindero.data.content import Content
from lindero.data.csv_dialect import MISSING, Dialect
from lindero.data.csv_files import parsed, retyped, trimmed, without_missing
from lindero.data.declarations import Declarations, read_declarations
from lindero.data.source_table import SourceTable
from lindero.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

#: Values that a sparse file may have when it is written out with its zeros.
MOST_FILLED = 10**8

_NOT_PLAIN = re.compile(rb"['\"\\{}]|^[ \t]*%", re.M)


def read_declared(content: Content) -> SourceTable:
    """The table in an ARFF or KEEL file."""
    import pyarrow as pa

    if content.find(b"\n") < 0:
        ends = bytes(content.data).replace(b"\r", b"\n")
        content = Content(memoryview(ends), content.source)
    declared = read_declarations(content)
    if content.is_blank(declared.start):
        raise content.error("has no rows after '@data'.")
    missing = sorted({*MISSING} - {word for words in declared.categories for word in words or ()})
    if _NOT_PLAIN.search(content.data, declared.start):
        columns = _by_liac(content, declared, missing)
    else:
        columns = _by_arrow(content, declared, missing)
    if len(columns[0]) == 0:
        raise content.error("has no rows after '@data'.")
    fitting = [_fitting(content, declared, j, c, missing) for j, c in enumerate(columns)]
    table = pa.table(fitting, names=declared.names)
    return SourceTable(
        table,
        lambda name: table[name].cast(pa.string()),
        tuple(declared.outputs),
        tuple(declared.inputs) or None,
    )


def _by_arrow(content: Content, declared: Declarations, missing: list[str]) -> list[Any]:
    """Columns of plain rows: text, or of the types that Arrow finds."""
    import pyarrow as pa

    dialect = Dialect(",", declared.names, declared.start, ".")
    texts = {
        name: pa.string()
        for name, number in zip(declared.names, declared.is_number, strict=True)
        if not number
    }
    return list(parsed(content, dialect, types=texts, missing=missing).columns)


def _by_liac(content: Content, declared: Declarations, missing: list[str]) -> list[Any]:
    """Columns of rows with quotes, escapes, comments or braces, all as text."""
    import arff
    import pyarrow as pa

    rows = bytes(content.data[declared.start :]).decode("utf-8").replace("\r\n", "\n")
    sparse = next((line for line in map(str.strip, rows.split("\n")) if line[:1] not in "%"), "")
    head = "".join(f"@attribute a{j} STRING\n" for j in range(len(declared.names)))
    decoder = arff.ArffDecoder()
    form = arff.LOD if sparse.startswith("{") else arff.DENSE
    try:
        found = decoder.decode("@relation r\n" + head + "@data\n" + rows, return_type=form)["data"]
    except (arff.ArffException, ValueError, LookupError, csv.Error) as error:
        before = content.count(b"\n", 0, declared.start) - len(declared.names) - 2
        line = before + decoder._current_line
        raise content.error(
            f"the row cannot be read: {_reason(error, len(declared.names))}.", line
        ) from None
    if form == arff.LOD:
        found = _filled(content, declared, found)
    columns = zip(*found, strict=True) if found else [()] * len(declared.names)
    texts = (pa.chunked_array([pa.array(column, pa.string())]) for column in columns)
    return [without_missing(text, missing) for text in texts]


def _reason(error: Exception, n_columns: int) -> str:
    name = type(error).__name__
    if name == "BadDataFormat":
        return f"it does not have one value for each of the {n_columns} columns"
    if name == "BadLayout":
        return "quotes, commas or braces are not where they should be"
    return str(error).rstrip(".") or name


def _filled(content: Content, declared: Declarations, found: list[Any]) -> list[list[str | None]]:
    """Sparse rows with what they leave out: 0, and of categories the first."""
    if len(found) * len(declared.names) > MOST_FILLED:
        raise content.error(
            f"has {len(found)} sparse rows of {len(declared.names)} columns, too many to write out "
            "with their zeros. Save it as svmlight."
        )
    left_out: list[str | None] = [
        words[0] if words else "0" if number else None
        for words, number in zip(declared.categories, declared.is_number, strict=True)
    ]
    rows = []
    for entries in found:
        row = left_out.copy()
        for place, value in entries.items():
            row[place] = value
        rows.append(row)
    return rows


def _fitting(
    content: Content, declared: Declarations, place: int, column: Any, missing: list[str]
) -> pa.ChunkedArray:
    """A column as it was declared, or an error where it is not so."""
    import pyarrow as pa
    from pyarrow import compute as pc

    name, words = declared.names[place], declared.categories[place]
    if declared.is_number[place]:
        if column.type == pa.string():
            column = retyped(trimmed(column, missing), ".")
        if column.type in (pa.int64(), pa.float64(), pa.null()):
            return column.cast(pa.float64())
        text = column.cast(pa.string())
        row, value = _first(pc.invert(_are_numbers(text)), text)
        raise _unfitting(content, declared, row, f"{value!r} in column {name!r} is no number.")
    column = trimmed(column, missing)
    if words is not None:
        known = pc.is_in(column, value_set=pa.array([*words, None], pa.string()))
        if not pc.all(known).as_py():
            row, value = _first(pc.invert(known), column)
            raise _unfitting(
                content,
                declared,
                row,
                f"{value!r} is none of the values declared for column {name!r}: "
                f"{', '.join(words[:10])}{', ...' if len(words) > 10 else ''}.",
            )
    return column


def _are_numbers(text: pa.ChunkedArray) -> Any:
    from pyarrow import compute as pc

    number = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
    return pc.fill_null(pc.match_substring_regex(text, number), True)


def _first(bad: Any, column: pa.ChunkedArray) -> tuple[int, str]:
    row = max(0, bad.index(True).as_py())
    return row, str(column[row].as_py())[:40]


def _unfitting(content: Content, declared: Declarations, row: int, message: str) -> DataError:
    before = content.count(b"\n", 0, declared.start)
    rows = bytes(content.data[declared.start :]).split(b"\n")
    lines = [
        number
        for number, line in enumerate(rows, start=before + 1)
        if line.strip() and not line.strip().startswith(b"%")
    ]
    return content.error(message, lines[row] if row < len(lines) else None)
