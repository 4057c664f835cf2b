"""How a CSV file is written: its delimiter, whether it has a header, and its decimal sign.

All is read off the first lines.

* The delimiter is the first of tab, semicolon, comma, bar and blank that divides all of these lines
  into equally many fields, more than one; if none does, the one that divides most of them like the
  first line, so that the others can be complained about.
* There is a header if some column is text in the first line and numbers in all others; there is
  none if any field of the first line is a number or missing; a table of text has one, unless a
  word of the first line comes again in its column, or twice in that line.
* Blanks around fields do not count in a column that has some in these lines, nor in one of numbers.
* Numbers have a decimal comma where the delimiter is none and numbers with a comma occur, but no
  numbers with a point.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from itertools import zip_longest

from lindero.data.content import Content
from lindero.errors import DataError

DELIMITERS = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "bar", " ": "blank"}
MOST_COLUMNS = 60_000

#: What stands for a missing value in text files.
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "<null>")

TRUE = ("true", "True", "TRUE")
FALSE = ("false", "False", "FALSE")

_NO_TEXT = frozenset((*MISSING, *TRUE, *FALSE))
_WRITTEN_OUT = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}
_SAMPLE_BYTES = 2**16
_SAMPLE_RECORDS = 200
_WITH_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_WITH_POINT = re.compile(r"[+-]?[0-9]*\.[0-9]+")


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written.

    Attributes
    ----------
    delimiter : str
        One character.
    names : list of str
        Names of the columns: of the header, or x0, x1, … where there is none.
    start : int
        The byte that the first row begins at.
    decimal : str
        The sign before decimals.
    has_quotes : bool
        Whether there is a quote in any row.
    texts : tuple of str
        Columns that are text in the first lines, and so in all. Dates are text.
    loose : frozenset of str
        Columns that may have blanks around their fields: those that do in the first lines, or
        would hold numbers if they had none.
    unnamed : frozenset of str
        Columns that the header has no name for, as a delimiter at the end of each line makes one.
    """

    delimiter: str
    names: list[str]
    start: int
    decimal: str
    has_quotes: bool = False
    texts: tuple[str, ...] = ()
    loose: frozenset[str] = frozenset()
    unnamed: frozenset[str] = frozenset()


def csv_dialect(content: Content, delimiter: str | None, header: bool | None) -> Dialect:
    """How a file is written, as far as the user has not said so."""
    sample, is_whole = _sample(content)
    if delimiter is None:
        delimiter = _likely_delimiter(sample, is_whole)
    else:
        delimiter = named_delimiter(delimiter)
    rows = _records(sample, delimiter, is_whole)
    if not rows:
        raise content.error("has no readable line: is a quote left open?")
    first, rest = [field.strip() for field in rows[0]], rows[1:]
    if len(first) > MOST_COLUMNS:
        raise content.error(
            f"has {len(first)} columns; at most {MOST_COLUMNS} are read. Data with so many are "
            "mostly zero: save them as svmlight."
        )
    if header is None:
        header = _has_header(first, rest)
    start = _end_of_first_record(sample, delimiter) if header else 0
    if header and content.is_blank(start):
        raise content.error(
            f"has a header ({_listed(first)}) and no rows. If it is a row, pass header=False."
        )
    names = [f"x{j}" for j in range(len(first))]
    if header:
        names = [given or name for given, name in zip(first, names, strict=True)]
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
    return Dialect(delimiter, names, start, decimal, has_quotes, texts, loose, unnamed)


def named_delimiter(delimiter: str) -> str:
    """The delimiter that a user has named."""
    delimiter = _WRITTEN_OUT.get(delimiter, delimiter)
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise DataError(f"delimiter must be one character, such as ',' or ';', not {delimiter!r}.")
    if not delimiter.isascii():
        raise DataError(f"delimiter must be a character of ASCII, not {delimiter!r}.")
    return delimiter


def is_number(field: str, decimal: str = ".") -> bool:
    """Whether a field is a number; missing ones are none."""
    try:
        float(field.replace(decimal, ".") if decimal != "." else field)
    except ValueError:
        return False
    return field not in MISSING


def _sample(content: Content) -> tuple[str, bool]:
    """The first lines, at least three of them, and whether these are all."""
    size, data = _SAMPLE_BYTES, content.head(_SAMPLE_BYTES)
    while size < len(content.data) and data.count(b"\n") + data.count(b"\r") < 4:
        size *= 4
        data = content.head(size)
    if size >= len(content.data):
        return data.decode("utf-8"), True
    end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
    return data[:end].decode("utf-8"), False


def _records(sample: str, delimiter: str, is_whole: bool = True) -> list[list[str]]:
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
    except csv.Error:  # a field beyond the limit of the csv module; what came before is enough
        pass
    return found[:_SAMPLE_RECORDS]


def _likely_delimiter(sample: str, is_whole: bool) -> str:
    agreeing = {}
    for delimiter in DELIMITERS:
        rows = _records(sample, delimiter, is_whole)
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
    decimals = [
        "," if column and all(map(_WITH_COMMA.fullmatch, column)) else "." for column in columns
    ]
    is_text = [field not in MISSING and not is_number(field) for field in first]
    for text, column, decimal in zip(is_text, columns, decimals, strict=True):
        if text and column and all(is_number(field, decimal) for field in column):
            return True
    if not all(is_text) or len(set(first)) < len(first):
        return False
    return not any(field in column for field, column in zip(first, columns, strict=True))


def _is_text(fields: tuple[str, ...], decimal: str) -> bool:
    """Whether any field is neither missing nor a number nor a truth value."""
    return any(not is_number(field, decimal) and field.strip() not in _NO_TEXT for field in fields)


def _end_of_first_record(sample: str, delimiter: str) -> int:
    """The byte after the first line that is not blank, which a quote may make several lines."""
    lines = io.StringIO(sample, newline="").readlines()
    reader = csv.reader(iter(lines), delimiter=delimiter)
    next(record for record in reader if record)
    return sum(len(line.encode("utf-8")) for line in lines[: reader.line_num])


def _has_decimal_commas(rows: list[list[str]]) -> bool:
    fields = [field.strip() for row in rows for field in row]
    return any(map(_WITH_COMMA.fullmatch, fields)) and not any(map(_WITH_POINT.fullmatch, fields))


def _listed(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
