"""Why a CSV file could not be read, with the line: only looked for when something is wrong.

Arrow reads in parallel and does not count lines. Python's own reader does, follows quotes in the
same way, and is fast enough for an error message.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from lindero.data.content import Content
from lindero.data.csv_dialect import DELIMITERS, Dialect
from lindero.errors import DataError

_SHOWN = 60


def row_fault(content: Content, dialect: Dialect) -> DataError | None:
    """The first row that has more or fewer fields than there are columns, as an error."""
    expected = len(dialect.names)
    for line, record in _numbered(content, dialect):
        if isinstance(record, str):
            return content.error(record, line)
        if record and len(record) != expected:
            return content.error(_ragged(record, expected, dialect.delimiter), line)
    return None


def open_quote(content: Content, dialect: Dialect) -> DataError | None:
    """A quote that is never closed, and so hides the lines after it, as an error."""
    if content.count(b'"', dialect.start) % 2 == 0:
        return None
    for line, record in _numbered(content, dialect, strict=True):
        if isinstance(record, str) and "end of data" in record:
            return content.error(
                'a quote (") is opened in this row and never closed. Close it, or double it if it '
                "is meant as a sign.",
                line,
            )
    return None


def _numbered(
    content: Content, dialect: Dialect, strict: bool = False
) -> Iterator[tuple[int, list[str] | str]]:
    """The line that each record begins on, and its fields, or a complaint about it."""
    before = content.count(b"\n", 0, dialect.start)
    lines = io.TextIOWrapper(
        io.BytesIO(content.data[dialect.start :]), encoding="utf-8", newline=""
    )
    reader = csv.reader(lines, delimiter=dialect.delimiter, strict=strict)
    while True:
        begins = before + reader.line_num + 1
        try:
            yield begins, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield begins, f"cannot be divided into fields: {error}."
            if reader.line_num + before + 1 == begins:  # no progress, so the end
                return


def _ragged(record: list[str], expected: int, delimiter: str) -> str:
    text = delimiter.join(record)
    for other, name in DELIMITERS.items():
        if other != delimiter and len(record) == 1 and text.count(other) == expected - 1 > 0:
            return (
                f"is divided by {name} ({other!r}), but the first lines by {delimiter!r}. Use one "
                "delimiter throughout, or pass delimiter=."
            )
    fields = "1 field" if len(record) == 1 else f"{len(record)} fields"
    shown = text[:_SHOWN] + ("..." if len(text) > _SHOWN else "")
    return (
        f"has {fields}, but the table has {expected} columns: {shown!r}. Correct the row, quote "
        "fields that contain the delimiter, or pass delimiter= if it is not "
        f"{delimiter!r}."
    )
