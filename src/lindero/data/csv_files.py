"""CSV files, read by Arrow, which finds types over the whole file with several threads.

How a file is written, its `Dialect`, is detected from the first lines.

* The delimiter is the first of tab, semicolon, comma, bar and blank that divides all of these
  lines into the same number of fields, more than one. If none does, it is the one that divides
  most of them like the first line, so that the others can be reported.
* There is a header if some column is text in the first line and numbers in all others. There is
  none if any field of the first line is a number or missing. A table of text has one, unless a
  word of the first line occurs again in its column, or twice in that line.
* Blanks around fields are ignored in a column that has some in these lines, and in columns of
  numbers. Arrow does not ignore them, so such columns are trimmed and converted afterwards.
* There are decimal commas if the delimiter is not a comma and numbers with a comma occur, but none
  with a point.

Text that a spreadsheet would run as a formula is written with an apostrophe in front
(`guard_formula`), which is taken away again when a file is read.

Columns that Arrow takes for dates or times of day are wanted as text. Most of them are known from
their first rows; the others are read again (`SourceTable.text_of`).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import csv as arrow_csv

from lindero.data.content import Content
from lindero.data.number_formats import looks_ambiguous
from lindero.data.tables import SourceTable, require_distinct
from lindero.errors import DataError
from lindero.runtime.texts import shorten

DELIMITERS = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "bar", " ": "blank"}
MOST_COLUMNS = 60_000

#: What a missing value looks like in text files.
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "<null>")

TRUE = ("true", "True", "TRUE")
FALSE = ("false", "False", "FALSE")

_NO_TEXT = frozenset((*MISSING, *TRUE, *FALSE))
_WRITTEN_OUT = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}
_SAMPLE_BYTES = 2**16
_SAMPLE_RECORDS = 200
_WITH_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_WITH_POINT = re.compile(r"[+-]?[0-9]*\.[0-9]+")

#: Text that a spreadsheet runs: a sign, alone harmless, or a control character. Apostrophes in
#: front count, so that text which has one of its own gets another and stays what it was.
_FORMULA = r"^'*([=+\-@][\s\S]|[\x00-\x1f])"
_GUARDED = r"^''*([=+\-@][\s\S]|[\x00-\x1f])"
_IS_FORMULA = re.compile(_FORMULA)
_IS_GUARDED = re.compile(_GUARDED)

_BLOCK = 2**22
#: Arrow counts the bytes of a block in 32 bits.
_LARGEST_BLOCK = 2**31 - 1


def read_csv(
    content: Content, delimiter: str | None, header: bool | None, decimal: str | None = None
) -> SourceTable:
    """The table in a CSV file."""
    dialect = detect_dialect(content, delimiter, header, decimal)
    require_distinct(dialect.names, content)
    if dialect.has_quotes and (error := find_open_quote(content, dialect)):
        raise error
    table = parse_rows(content, dialect, types=dict.fromkeys(dialect.texts, pa.string()))
    named = zip(dialect.names, table.columns, strict=True)
    doubtful = tuple(name for name in dialect.doubtful if _may_be_thousands(table[name]))
    tidied = {name: _unguard(_tidy(column, name, dialect)) for name, column in named}
    nothing = [name for name in dialect.unnamed if tidied[name].null_count == len(tidied[name])]
    # A column with neither a name nor a value is dropped, unless all columns are such.
    plain = pa.table(tidied)
    plain = plain.drop_columns(nothing) if len(nothing) < len(tidied) else plain

    def text_of(name: str) -> pa.ChunkedArray:
        if plain[name].type == pa.string():
            return plain[name]
        return _unguard(trim(parse_rows(content, dialect, only=name)[name]))

    return SourceTable(plain, text_of, decimal=dialect.decimal, doubtful=doubtful)


def _may_be_thousands(column: pa.ChunkedArray) -> bool:
    """Whether the points of all numbers may separate thousands."""
    if column.type != pa.float64():
        return False
    size = pc.abs(column)
    return bool(pc.all(pc.and_(pc.greater_equal(size, 1.0), pc.less(size, 1000.0))).as_py())


def parse_rows(
    content: Content,
    dialect: Dialect,
    only: str | None = None,
    types: dict[str, Any] | None = None,
    missing: Sequence[str] = MISSING,
) -> pa.Table:
    """The columns as Arrow reads them: all, of types found or given; or only one, as text."""
    convert = arrow_csv.ConvertOptions(
        null_values=list(missing),
        strings_can_be_null=True,
        true_values=list(TRUE),
        false_values=list(FALSE),
        decimal_point=dialect.decimal,
        include_columns=None if only is None else [only],
        column_types=types if only is None else {only: pa.string()},
        check_utf8=False,
    )
    try:
        return _parse_blocks(content, dialect, convert)
    except (pa.ArrowException, OSError) as error:
        said = shorten(str(error).partition("\n")[0], 200)
        raise find_row_fault(content, dialect) or content.error(
            f"cannot be read as CSV with delimiter {dialect.delimiter!r}: {said}"
        ) from None


def _parse_blocks(content: Content, dialect: Dialect, convert: Any) -> pa.Table:
    """Rows by Arrow, which splits blocks at line ends, or at those outside quotes: that takes a
    second pass in one thread, and is not needed if there are as many rows as lines."""
    rows = pa.py_buffer(content.data[dialect.start :])

    def attempt(block: int, quotes: bool) -> pa.Table:
        read = arrow_csv.ReadOptions(column_names=dialect.names, block_size=block)
        parse = arrow_csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=quotes)
        return arrow_csv.read_csv(pa.BufferReader(rows), read, parse, convert)

    if dialect.has_quotes and len(rows) > _BLOCK:
        with suppress(pa.ArrowInvalid):
            table = attempt(_BLOCK, quotes=False)
            if table.num_rows == content.count(b"\n", dialect.start):
                return table
    try:
        return attempt(_BLOCK, dialect.has_quotes)
    except pa.ArrowInvalid as error:
        if "straddling" not in str(error):
            raise
        # A row is longer than a block.
        return attempt(min(max(len(rows), _BLOCK), _LARGEST_BLOCK), dialect.has_quotes)


def _tidy(column: pa.ChunkedArray, name: str, dialect: Dialect) -> pa.ChunkedArray:
    if column.type != pa.string() or name not in dialect.loose:
        return column
    text = trim(column)
    return column if text is column else infer_type(text, dialect.decimal)


def guard_formula(value: Any) -> Any:
    """Text as it is written to a CSV file: with an apostrophe where a spreadsheet would run it."""
    if isinstance(value, str) and _IS_FORMULA.match(value) and not is_number(value):
        return f"'{value}"
    return value


def _unguard(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text as it was before `guard_formula`."""
    if column.type != pa.string() or not pc.any(pc.starts_with(column, "'")).as_py():
        return column
    guarded = pc.match_substring_regex(column, _GUARDED)
    return pc.if_else(guarded, pc.utf8_slice_codeunits(column, 1), column)


def trim(column: pa.ChunkedArray, missing: Sequence[str] = MISSING) -> pa.ChunkedArray:
    """Text without surrounding blanks; the column itself if it has none."""
    text = pc.ascii_trim_whitespace(column)
    return column if text.equals(column) else mark_missing(text, missing)


def mark_missing(text: pa.ChunkedArray, missing: Sequence[str]) -> pa.ChunkedArray:
    """Text with null in place of the words that mean missing."""
    is_missing = pc.is_in(text, value_set=pa.array(missing, pa.string()))
    return pc.if_else(is_missing, pa.scalar(None, pa.string()), text)


def infer_type(text: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray:
    """Text as numbers or booleans, if all of it is."""
    if text.null_count == len(text):
        return pa.chunked_array([pa.nulls(len(text))])
    numbers = text if decimal == "." else pc.replace_substring(text, decimal, ".")
    for kind in (pa.int64(), pa.float64()):
        try:
            return numbers.cast(kind)
        except pa.ArrowInvalid:
            continue
    if pc.all(pc.is_in(text, value_set=pa.array([*TRUE, *FALSE, None]))).as_py():
        flags = pc.is_in(text, value_set=pa.array(TRUE))
        return pc.if_else(pc.is_valid(text), flags, pa.scalar(None, pa.bool_()))
    return text


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written."""

    delimiter: str
    #: Names of the columns: of the header, or x0, x1, … where there is none.
    names: list[str]
    #: Offset of the first row in bytes.
    start: int
    #: The decimal sign.
    decimal: str
    #: Whether there is a quote in any row.
    has_quotes: bool = False
    #: Columns that are text in the first lines. Dates are text.
    texts: tuple[str, ...] = ()
    #: Columns that may have blanks around fields: some in the first lines, and all but text.
    loose: frozenset[str] = frozenset()
    #: Columns without a name in the header, such as a delimiter at the end of each line makes.
    unnamed: frozenset[str] = frozenset()
    #: Columns in which all numbers of the first lines are like 1.883, perhaps thousands.
    doubtful: tuple[str, ...] = ()


def detect_dialect(
    content: Content, delimiter: str | None, header: bool | None, decimal: str | None = None
) -> Dialect:
    """How a file is written, where the user did not say so."""
    sample, is_whole = _read_sample(content)
    named = None if delimiter is None else parse_delimiter(delimiter)
    delimiter = named or _guess_delimiter(sample, is_whole)
    rows = _split_records(sample, delimiter, is_whole)
    if not rows:
        raise content.error("has no readable line: is a quote not closed?")
    first, rest = [field.strip() for field in rows[0]], rows[1:]
    titles = [field[1:] if _IS_GUARDED.match(field) else field for field in first]
    if len(first) > MOST_COLUMNS:
        raise content.error(
            f"has {len(first)} columns; at most {MOST_COLUMNS} are read. If most values are "
            "zero, save the data as svmlight."
        )
    if header is None:
        header = _has_header(first, rest)
    start = _find_first_row(sample, delimiter) if header else 0
    if header and content.is_blank(start):
        listed = ", ".join(first[:5]) + (", ..." if len(first) > 5 else "")
        raise content.error(
            f"has a header ({listed}) and no rows. If it is a row, pass header=False."
        )
    names = [f"x{j}" for j in range(len(first))]
    if header:
        names = [given or name for given, name in zip(titles, names, strict=True)]
    is_given = decimal is not None
    if decimal is None:
        decimal = "," if delimiter != "," and _has_decimal_commas(rest or rows) else "."
    body = rest if header and rest else rows
    has_quotes = content.find(b'"', start) >= 0
    columns = dict(zip(names, zip_longest(*body, fillvalue=""), strict=False))
    texts = tuple(name for name, fields in columns.items() if _is_text(fields, decimal))
    loose = frozenset(columns).difference(
        name for name in texts if not any(field != field.strip() for field in columns[name])
    )
    titled = zip(first, names, strict=True)
    unnamed = frozenset(name for title, name in titled if header and not title)
    doubtful = (
        ()
        if is_given or decimal != "."
        else tuple(name for name, fields in columns.items() if looks_ambiguous(fields))
    )
    return Dialect(delimiter, names, start, decimal, has_quotes, texts, loose, unnamed, doubtful)


def parse_delimiter(delimiter: str) -> str:
    """The delimiter that a user named."""
    delimiter = _WRITTEN_OUT.get(delimiter, delimiter)
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise DataError(f"delimiter must be one character, such as ',' or ';', not {delimiter!r}.")
    if not delimiter.isascii():
        raise DataError(f"delimiter must be a character of ASCII, not {delimiter!r}.")
    return delimiter


def is_number(field: str, decimal: str = ".") -> bool:
    """Whether a field is a number, and not missing."""
    try:
        float(field.replace(decimal, ".") if decimal != "." else field)
    except ValueError:
        return False
    return field not in MISSING


def _read_sample(content: Content) -> tuple[str, bool]:
    """The first lines, at least three of them, and whether these are the whole file."""
    size, data = _SAMPLE_BYTES, content.head(_SAMPLE_BYTES)
    while size < len(content.data) and data.count(b"\n") + data.count(b"\r") < 4:
        size *= 4
        data = content.head(size)
    if size >= len(content.data):
        return data.decode("utf-8"), True
    end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
    return data[:end].decode("utf-8"), False


def _split_records(sample: str, delimiter: str, is_whole: bool = True) -> list[list[str]]:
    """The first lines of a sample that are not blank, divided into fields."""
    found: list[list[str]] = []
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
    try:
        for record in reader:
            if record:
                found.append(record)
            if len(found) > _SAMPLE_RECORDS:
                break
        else:
            if not is_whole and len(found) > 1:
                found.pop()  # a quote may have been cut in two
    except csv.Error:  # a field beyond the csv module's limit; the lines before it are enough
        pass
    return found[:_SAMPLE_RECORDS]


def _guess_delimiter(sample: str, is_whole: bool) -> str:
    agreeing = {}
    for delimiter in DELIMITERS:
        rows = _split_records(sample, delimiter, is_whole)
        if not rows or len(rows[0]) == 1:
            continue
        agreeing[delimiter] = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
        if agreeing[delimiter] == 1.0:
            return delimiter
    return max(agreeing, key=agreeing.__getitem__) if agreeing else ","


def _has_header(first: list[str], rest: list[list[str]]) -> bool:
    columns: list[list[str]] = [[] for _ in first]
    for row in rest:
        for column, field in zip(columns, row, strict=False):
            if (field := field.strip()) not in MISSING:
                column.append(field)
    is_text = [field not in MISSING and not is_number(field) for field in first]
    for text, column in zip(is_text, columns, strict=True):
        decimal = "," if all(map(_WITH_COMMA.fullmatch, column)) else "."
        if text and column and all(is_number(field, decimal) for field in column):
            return True
    if not all(is_text) or len(set(first)) < len(first):
        return False
    return not any(field in column for field, column in zip(first, columns, strict=True))


def _is_text(fields: tuple[str, ...], decimal: str) -> bool:
    """Whether any field is neither missing nor a number nor a boolean."""
    return any(not is_number(field, decimal) and field.strip() not in _NO_TEXT for field in fields)


def _find_first_row(sample: str, delimiter: str) -> int:
    """Offset of the byte after the first record, which may span lines."""
    lines = io.StringIO(sample, newline="").readlines()
    reader = csv.reader(iter(lines), delimiter=delimiter)
    next(record for record in reader if record)
    return sum(len(line.encode("utf-8")) for line in lines[: reader.line_num])


def _has_decimal_commas(rows: list[list[str]]) -> bool:
    fields = [field.strip() for row in rows for field in row]
    return any(map(_WITH_COMMA.fullmatch, fields)) and not any(map(_WITH_POINT.fullmatch, fields))


# -- what is wrong with a file ---------------------------------------------------------------------

# Arrow does not count lines. Python's reader does, and is fast enough for an error message.


def find_row_fault(content: Content, dialect: Dialect) -> DataError | None:
    """An error that names the first row with more or fewer fields than there are columns."""
    expected = len(dialect.names)
    for line, record in _number_records(content, dialect):
        if isinstance(record, str):
            return content.error(record, line)
        if record and len(record) != expected:
            return content.error(_describe_ragged_row(record, expected, dialect.delimiter), line)
    return None


def find_open_quote(content: Content, dialect: Dialect) -> DataError | None:
    """An error that names a quote that is never closed, which would hide the lines after it."""
    if content.count(b'"', dialect.start) % 2 == 0:
        return None
    for line, record in _number_records(content, dialect, strict=True):
        if isinstance(record, str) and "end of data" in record:
            return content.error(
                'a quote (") in this row is never closed. Close it, or double it if it is a '
                "character of the text.",
                line,
            )
    return None


def _number_records(
    content: Content, dialect: Dialect, strict: bool = False
) -> Iterator[tuple[int, list[str] | str]]:
    """For each record, the line it begins on, and its fields or what is wrong with it."""
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
            yield begins, f"cannot be split into fields: {error}."
            if reader.line_num + before + 1 == begins:  # no progress, so the end
                return


def _describe_ragged_row(record: list[str], expected: int, delimiter: str) -> str:
    text = delimiter.join(record)
    for other, name in DELIMITERS.items():
        if other != delimiter and len(record) == 1 and text.count(other) == expected - 1 > 0:
            return (
                f"is delimited by {name} ({other!r}), but the first lines by {delimiter!r}. Use "
                "one delimiter throughout, or pass delimiter=."
            )
    fields = "1 field" if len(record) == 1 else f"{len(record)} fields"
    return (
        f"has {fields}, but the table has {expected} columns: {shorten(text, 60)!r}. Correct the "
        f"row, quote fields that contain the delimiter, or pass delimiter= if it is not "
        f"{delimiter!r}."
    )
