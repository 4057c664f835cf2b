"""CSV through Arrow: types are found over the whole file, by several threads.

Arrow takes a field as it stands, so that fields with blanks around them are text to it; such
columns are trimmed and looked at again. Columns that Arrow takes for dates or times of day are
wanted as text. Most of them are known as such from their first rows, and the others are read once
more (`SourceTable.text_of`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lindero.data.content import Content
from lindero.data.csv_dialect import FALSE, MISSING, TRUE, Dialect, csv_dialect, is_number
from lindero.data.csv_faults import open_quote, row_fault
from lindero.data.source_table import SourceTable, require_distinct
from lindero.errors import warn_user

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows in which numbers with signs are looked for, and what these are like: 1.234,56 or $3 or 5 %.
_LOOKED_AT = 200
_DRESSED_NUMBER = re.compile(
    r"[+-]?[$€£]?[ \u00a0]?[+-]?\d+([.,' \u00a0]\d{3})*([.,]\d+)?[ \u00a0]?[%€$£]?"
)

_BLOCK = 2**22
#: Arrow counts the bytes of a block in 32 bits.
_LARGEST_BLOCK = 2**31 - 1


def read_csv(content: Content, delimiter: str | None, header: bool | None) -> SourceTable:
    """The table in a CSV file."""
    import pyarrow as pa

    dialect = csv_dialect(content, delimiter, header)
    require_distinct(dialect.names, content)
    if dialect.has_quotes and (error := open_quote(content, dialect)):
        raise error
    table = parsed(content, dialect, types=dict.fromkeys(dialect.texts, pa.string()))
    named = zip(dialect.names, table.columns, strict=True)
    for name in dialect.texts:
        _warn_of_dressed_numbers(table[name], name, content)
    tidied = {name: _tidied(column, name, dialect) for name, column in named}
    nothing = [name for name in dialect.unnamed if tidied[name].null_count == len(tidied[name])]
    # With neither name nor value a column is none, unless all are.
    plain = pa.table(tidied)
    plain = plain.drop_columns(nothing) if len(nothing) < len(tidied) else plain

    def text_of(name: str) -> pa.ChunkedArray:
        if plain[name].type == pa.string():
            return plain[name]
        return trimmed(parsed(content, dialect, only=name)[name])

    return SourceTable(plain, text_of)


def _warn_of_dressed_numbers(column: pa.ChunkedArray, name: str, content: Content) -> None:
    """Say so where text is numbers with signs of thousands, per cent or money, or with a decimal
    comma beside others with a point."""
    values = [value.strip() for value in column.slice(0, _LOOKED_AT).drop_null().to_pylist()]
    dressed = next((value for value in values if not is_number(value)), None)
    if dressed is not None and all(map(_DRESSED_NUMBER.fullmatch, values)):
        warn_user(
            f"{content.source}: column {name!r} is taken for text, since its numbers are written "
            f"like {dressed!r}. Write them like 1234.5 to have them read as numbers.",
            UserWarning,
        )


def parsed(
    content: Content,
    dialect: Dialect,
    only: str | None = None,
    types: dict[str, Any] | None = None,
    missing: Sequence[str] = MISSING,
) -> pa.Table:
    """The columns as Arrow reads them: all, of the types that it finds or that are given, or only
    one, as text."""
    import pyarrow as pa
    from pyarrow import csv

    convert = csv.ConvertOptions(
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
        return _parsed(content, dialect, convert)
    except (pa.ArrowException, OSError) as error:
        raise row_fault(content, dialect) or content.error(
            f"cannot be read as CSV with delimiter {dialect.delimiter!r}: {_first_line(error)}"
        ) from None


def _parsed(content: Content, dialect: Dialect, convert: Any) -> pa.Table:
    """Rows by Arrow, which divides them at ends of lines, or where quotes allow it.

    Following quotes takes another pass, by one thread. It is not needed where there are as many
    rows as lines, for then no line ends within quotes.
    """
    import pyarrow as pa
    from pyarrow import csv

    rows = pa.py_buffer(content.data[dialect.start :])

    def attempt(block: int, quotes: bool) -> pa.Table:
        return csv.read_csv(
            pa.BufferReader(rows),
            read_options=csv.ReadOptions(column_names=dialect.names, block_size=block),
            parse_options=csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=quotes),
            convert_options=convert,
        )

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
        # A row is larger than a block.
        return attempt(min(max(len(rows), _BLOCK), _LARGEST_BLOCK), dialect.has_quotes)


def _first_line(error: Exception) -> str:
    text = str(error).partition("\n")[0]
    return text[:200] + ("..." if len(text) > 200 else "")


def _tidied(column: pa.ChunkedArray, name: str, dialect: Dialect) -> pa.ChunkedArray:
    import pyarrow as pa

    if column.type != pa.string() or name not in dialect.loose:
        return column
    text = trimmed(column)
    return column if text is column else retyped(text, dialect.decimal)


def trimmed(column: pa.ChunkedArray, missing: Sequence[str] = MISSING) -> pa.ChunkedArray:
    """Text without blanks around it; the column itself where there are none."""
    from pyarrow import compute as pc

    text = pc.ascii_trim_whitespace(column)
    return column if text.equals(column) else without_missing(text, missing)


def without_missing(text: pa.ChunkedArray, missing: Sequence[str]) -> pa.ChunkedArray:
    """Text with null in place of the words for missing."""
    import pyarrow as pa
    from pyarrow import compute as pc

    is_missing = pc.is_in(text, value_set=pa.array(missing, pa.string()))
    return pc.if_else(is_missing, pa.scalar(None, pa.string()), text)


def retyped(text: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray:
    """Text as numbers or truth values, where all of it is such."""
    import pyarrow as pa
    from pyarrow import compute as pc

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
