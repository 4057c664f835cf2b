"""Streams of Arrow from strangers.

Only plain columns are taken, of numbers and text: no dictionaries, no compression, and no types
that say in a few bytes how long they are, by all of which a small body could become a large table.
What the messages of a stream announce is looked at before Arrow sees them, and all that Arrow has
read is checked before anybody else sees it.
"""

from __future__ import annotations

import struct

import pyarrow as pa

from lindero.serve.limits import RequestLimits
from lindero.serve.refusals import RefusedError

_PLAIN_TYPES = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_string,
    pa.types.is_large_string,
)


def read_arrow(data: bytes, limits: RequestLimits) -> pa.Table:
    """A table of plain columns, checked through and through."""
    _look_through_arrow(data, limits)
    try:
        with pa.ipc.open_stream(pa.BufferReader(data)) as stream:
            limits.require("columns", len(stream.schema))
            for part in stream.schema:
                if not any(is_kind(part.type) for is_kind in _PLAIN_TYPES):
                    raise RefusedError(
                        422,
                        "rows_refused",
                        f"A column is of Arrow's type {part.type!s:.50}: cast it to numbers or "
                        "text.",
                    )
            table = stream.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, OverflowError):
        raise RefusedError(
            400, "unreadable_body", "The body is not a whole stream of Arrow's IPC format."
        ) from None
    return table


def _look_through_arrow(data: bytes, limits: RequestLimits) -> None:
    """Refuse a stream whose messages announce more than they hold, before Arrow believes them.

    A message is FF FF FF FF, the length of its header, the header (a flatbuffer) and its body. Of a
    batch of rows, the header says how many there are, and whether its columns are compressed.
    """
    broken = RefusedError(
        400, "unreadable_body", "The body is not a whole stream of Arrow's IPC format."
    )
    at, n_rows = 0, 0
    try:
        while at < len(data):
            mark, length = struct.unpack_from("<Ii", data, at)
            if mark != 0xFFFFFFFF or length < 0:
                raise broken
            if length == 0:
                return
            at += 8
            header = _Flat(data[at : at + length])
            message = header.root()
            kind, body_length = header.read(message, 1, "<B"), header.read(message, 3, "<q")
            if body_length < 0 or length < 8:
                raise broken
            if kind == 3:
                batch = header.table(message, 2)
                n_rows += header.read(batch, 0, "<q")
                if header.field(batch, 3):
                    raise RefusedError(
                        422, "rows_refused", "Write the stream of Arrow uncompressed."
                    )
                limits.require("rows", n_rows)
            elif kind != 1:
                raise RefusedError(
                    422, "rows_refused", "Columns of Arrow's dictionaries: cast to text."
                )
            at += length + body_length
    except struct.error:
        raise broken from None
    raise broken


class _Flat:
    """A flatbuffer, read with every place checked by `struct`."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def root(self) -> int:
        return self._get("<I", 0)

    def field(self, table: int, number: int) -> int:
        """The place of a field of a table; 0 where it has its default."""
        names = table - self._get("<i", table)
        place = 4 + 2 * number
        if names < 0 or place + 2 > self._get("<H", names):
            return 0
        offset = self._get("<H", names + place)
        return table + offset if offset else 0

    def read(self, table: int, number: int, kind: str) -> int:
        place = self.field(table, number)
        return self._get(kind, place) if place else 0

    def table(self, table: int, number: int) -> int:
        place = self.field(table, number)
        if not place:
            raise struct.error
        return place + self._get("<I", place)

    def _get(self, kind: str, place: int) -> int:
        if place < 0:
            raise struct.error
        (value,) = struct.unpack_from(kind, self._data, place)
        return int(value)
