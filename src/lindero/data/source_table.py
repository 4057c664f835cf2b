"""A table as it came from a file, before columns are given their parts.

Whatever the format, columns are brought to five types of Arrow: whole numbers, floats, truth
values, text, and null where nothing is known. Dates stay dates until it is clear whether they are
times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lindero.data.content import Content

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class SourceTable:
    """The columns of a file.

    Attributes
    ----------
    table : pyarrow.Table
        All columns.
    text_of : callable
        From the name of a column to its values as text, as they stand in the file.
    outputs : list of str
        Columns that the file itself declares to be targets.
    inputs : list of str or None
        Columns that the file itself declares to be features; None where it does not say.
    """

    table: pa.Table
    text_of: Callable[[str], pa.ChunkedArray]
    outputs: tuple[str, ...] = ()
    inputs: tuple[str, ...] | None = None


def require_distinct(names: list[str], content: Content) -> None:
    """Refuse two columns of one name."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        at = [j for j, name in enumerate(names) if name == repeated[0]]
        raise content.error(
            f"has {len(at)} columns called {repeated[0]!r} (positions {', '.join(map(str, at))}, "
            "counted from 0). Give each a name of its own"
            + (", or pass header=False if the first line is a row." if len(names) > 1 else ".")
        )


def plain_column(column: pa.ChunkedArray, name: str, content: Content) -> pa.ChunkedArray:
    """A column of any type of Arrow as one of those that tables here have, or dates."""
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        return plain_column(column.cast(kind.value_type), name, content)
    if types.is_integer(kind) or types.is_boolean(kind) or types.is_null(kind):
        return column
    if kind in (pa.float32(), pa.float64(), pa.string()) or types.is_temporal(kind):
        return column
    if types.is_floating(kind) or types.is_decimal(kind):
        return column.cast(pa.float64())
    try:
        if types.is_large_string(kind) or types.is_binary(kind) or types.is_string_view(kind):
            return column.cast(pa.string())
    except pa.ArrowInvalid:
        pass
    raise content.error(
        f"column {name!r} holds {kind}, neither numbers nor text. Save the table without it, or "
        "turn it into such."
    )
