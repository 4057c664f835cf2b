"""ARFF and KEEL: a head that declares the columns, then rows.

    @relation name
    @attribute name {value, value, ...}        categories
    @attribute name real [0.0, 1.0]            numbers; also integer, numeric; ranges are KEEL's
    @attribute name string                     text; also date
    @inputs name, name, ...                    KEEL only
    @outputs name
    @data

One parser reads the head of both formats, in time linear in the length of a line. liac-arff's
pattern for categories would take exponential time if a closing brace is missing.

Rows without quotes and escapes are read by Arrow, as in a CSV file. liac-arff reads the others and
sparse ones (``{3 1.5, 7 yes}``), more slowly. Both are then checked against the declarations.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from pyarrow import compute as pc

from lindero.data.content import Content
from lindero.data.csv_files import (
    MISSING,
    MOST_COLUMNS,
    Dialect,
    infer_type,
    mark_missing,
    parse_rows,
    trim,
)
from lindero.data.tables import SourceTable, require_distinct
from lindero.errors import DataError
from lindero.runtime.texts import shorten

#: Bytes that a value of a sparse file takes, zeros included.
_FILLED_BYTES = 4

_DATA = re.compile(rb"^[ \t]*@data\b[^\n]*(?:\n|\Z)", re.I | re.M)
_NUMBERS = ("real", "integer", "numeric")
_TEXTS = ("string", "date")
_QUOTES = "'\""
_ESCAPED = re.compile(r"\\(.)")
_NOT_PLAIN = re.compile(rb"['\"\\{}]|^[ \t]*%", re.M)


def read_declared(content: Content) -> SourceTable:
    """The table in an ARFF or KEEL file."""
    if content.find(b"\n") < 0:
        ends = bytes(content.data).replace(b"\r", b"\n")
        content = replace(content, data=memoryview(ends))
    declared = read_declarations(content)
    if content.is_blank(declared.start):
        raise content.error("has no rows after '@data'.")
    missing = sorted({*MISSING} - {word for words in declared.categories for word in words or ()})
    if _NOT_PLAIN.search(content.data, declared.start):
        columns = _read_by_liac(content, declared, missing)
    else:
        # Text, or of the types that Arrow finds.
        described = zip(declared.names, declared.is_number, strict=True)
        texts = {name: pa.string() for name, number in described if not number}
        dialect = Dialect(",", declared.names, declared.start, ".")
        columns = parse_rows(content, dialect, types=texts, missing=missing).columns
    if len(columns[0]) == 0:
        raise content.error("has no rows after '@data'.")
    fitting = [_check_column(content, declared, j, c, missing) for j, c in enumerate(columns)]
    table = pa.table(fitting, names=declared.names)
    return SourceTable(
        table,
        lambda name: table[name].cast(pa.string()),
        tuple(declared.outputs),
        tuple(declared.inputs) or None,
        is_declared=True,
        has_types=True,
    )


def _read_by_liac(content: Content, declared: Declarations, missing: list[str]) -> list[Any]:
    """Columns of rows with quotes, escapes, comments or braces, all as text."""
    import arff

    rows = bytes(content.data[declared.start :]).decode("utf-8").replace("\r\n", "\n")
    sparse = next((line for line in map(str.strip, rows.split("\n")) if line[:1] not in "%"), "")
    head = "".join(f"@attribute a{j} STRING\n" for j in range(len(declared.names)))
    decoder, form = arff.ArffDecoder(), arff.LOD if sparse.startswith("{") else arff.DENSE
    try:
        found = decoder.decode("@relation r\n" + head + "@data\n" + rows, return_type=form)["data"]
    except (arff.ArffException, ValueError, LookupError, csv.Error) as error:
        before = content.count(b"\n", 0, declared.start) - len(declared.names) - 2
        said = f"the row cannot be read: {_explain(error, len(declared.names))}."
        raise content.error(said, before + decoder._current_line) from None
    if form == arff.LOD:
        found = _fill_zeros(content, declared, found)
    columns = zip(*found, strict=True) if found else [()] * len(declared.names)
    texts = (pa.chunked_array([pa.array(column, pa.string())]) for column in columns)
    return [mark_missing(text, missing) for text in texts]


def _explain(error: Exception, n_columns: int) -> str:
    name = type(error).__name__
    if name == "BadDataFormat":
        return f"it does not have one value for each of the {n_columns} columns"
    if name == "BadLayout":
        return "quotes, commas or braces are misplaced"
    return str(error).rstrip(".") or name


def _fill_zeros(
    content: Content, declared: Declarations, found: list[Any]
) -> list[list[str | None]]:
    """Sparse rows as dense ones: 0 for numbers, the first category for categories."""
    content.require_room(
        _FILLED_BYTES * len(found) * len(declared.names),
        f"has {len(found)} sparse rows of {len(declared.names)} columns, which are stored with "
        "their zeros (not so as svmlight)",
    )
    left_out: list[str | None] = [
        words[0] if words else "0" if number else None
        for words, number in zip(declared.categories, declared.is_number, strict=True)
    ]
    return [[entries.get(j, value) for j, value in enumerate(left_out)] for entries in found]


def _check_column(
    content: Content, declared: Declarations, place: int, column: Any, missing: list[str]
) -> pa.ChunkedArray:
    """A column as it was declared, or an error if it is not."""
    name, words = declared.names[place], declared.categories[place]
    if declared.is_number[place]:
        if column.type == pa.string():
            column = infer_type(trim(column, missing), ".")
        if column.type in (pa.int64(), pa.float64(), pa.null()):
            return column.cast(pa.float64())
        text = column.cast(pa.string())
        number = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
        fits = pc.fill_null(pc.match_substring_regex(text, number), True)
        said = f"in column {name!r} is not a number."
        raise _locate_fault(content, declared, text, fits, said)
    column = trim(column, missing)
    if words is not None:
        known = pc.is_in(column, value_set=pa.array([*words, None], pa.string()))
        if not pc.all(known).as_py():
            listed = ", ".join(words[:10]) + (", ..." if len(words) > 10 else "")
            said = f"is not declared as a value of column {name!r}: {listed}."
            raise _locate_fault(content, declared, column, known, said)
    return column


def _locate_fault(
    content: Content, declared: Declarations, column: pa.ChunkedArray, fits: Any, said: str
) -> DataError:
    """An error about the first value that does not fit, with its line."""
    row = max(0, fits.index(False).as_py())
    before = content.count(b"\n", 0, declared.start)
    rows = bytes(content.data[declared.start :]).split(b"\n")
    lines = [
        number
        for number, line in enumerate(rows, start=before + 1)
        if line.strip() and not line.strip().startswith(b"%")
    ]
    message = f"{str(column[row].as_py())[:40]!r} {said}"
    return content.error(message, lines[row] if row < len(lines) else None)


@dataclass
class Declarations:
    """The head of a file: for each column its name, its categories (None if it has none) and
    whether it holds numbers; and the columns that KEEL's declarations list."""

    #: Offset of the first row in bytes.
    start: int
    names: list[str] = field(default_factory=list)
    categories: list[list[str] | None] = field(default_factory=list)
    is_number: list[bool] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


def read_declarations(content: Content) -> Declarations:
    """Read everything before the rows."""
    data = _DATA.search(content.data)
    if data is None:
        raise content.error("has no line '@data' before the rows. Is the file complete?")
    declared = Declarations(data.end())
    head = content.head(data.start()).decode("utf-8")
    for number, line in enumerate(head.split("\n"), start=1):
        line = line.strip()
        if line and not line.startswith("%") and (complaint := _declare(declared, line)):
            raise content.error(complaint, number)
    if not declared.names:
        raise content.error("declares no columns: '@attribute' lines are missing.")
    require_distinct(declared.names, content)
    for name in (*declared.inputs, *declared.outputs):
        if name not in declared.names:
            raise content.error(f"@inputs or @outputs name {name!r}, which no @attribute declares.")
    return declared


def _declare(declared: Declarations, line: str) -> str | None:
    """Record one line, or return what is wrong with it."""
    keyword, _, rest = line.replace("\t", " ").partition(" ")
    keyword, rest = keyword.lower(), rest.strip()
    if keyword == "@attribute":
        return _declare_column(declared, rest)
    if keyword in ("@input", "@inputs"):
        declared.inputs += _split_values(rest)
    elif keyword in ("@output", "@outputs"):
        declared.outputs += _split_values(rest)
    elif keyword != "@relation":
        return (
            f"{shorten(line, 40)!r} is not a declaration: expected @relation, @attribute, @inputs, "
            "@outputs or @data."
        )
    return None


def _declare_column(declared: Declarations, text: str) -> str | None:
    name, kind = _split_name(text)
    if not name or not kind:
        return f"expected '@attribute name type', not '@attribute {shorten(text, 40)!r}'."
    if len(declared.names) == MOST_COLUMNS:
        return f"declares more than {MOST_COLUMNS} columns."
    values, word = None, kind.partition("[")[0].partition(" ")[0].lower()
    if kind.startswith("{"):
        if not kind.endswith("}"):
            return f"the list of categories of {name!r} has no closing brace."
        values = _split_values(kind[1:-1])
        if not values:
            return f"column {name!r} declares an empty list of categories."
    elif word not in _NUMBERS and word not in _TEXTS:
        return (
            f"column {name!r} has the unknown type {shorten(kind, 40)!r}. Types are numeric, real, "
            "integer, string, date, and a list of categories in braces."
        )
    declared.names.append(name)
    declared.categories.append(values)
    declared.is_number.append(values is None and word in _NUMBERS)
    return None


def _split_name(text: str) -> tuple[str, str]:
    if text[:1] and text[0] in _QUOTES:
        end = text.find(text[0], 1)
        return text[1:end], text[end + 1 :].strip() if end > 0 else ""
    place = min((at for at in (text.find(" "), text.find("{")) if at >= 0), default=len(text))
    return text[:place], text[place:].strip()


def _split_values(text: str) -> list[str]:
    """Words between commas, some in quotes; the list ends before a quote that is not closed."""
    found, at = [], 0
    while at < len(text):
        if text[at] in " ,\t":
            at += 1
        elif text[at] in _QUOTES:
            end = _find_closing_quote(text, at)
            if end < 0:
                break
            found.append(_ESCAPED.sub(r"\1", text[at + 1 : end]))
            at = end + 1
        else:
            end = text.find(",", at)
            end = len(text) if end < 0 else end
            found.append(text[at:end].strip())
            at = end
    return found


def _find_closing_quote(text: str, opening: int) -> int:
    """Position of the closing quote; −1 if there is none."""
    at = opening + 1
    while at < len(text):
        if text[at] == text[opening]:
            return at
        at += 2 if text[at] == "\\" else 1
    return -1
