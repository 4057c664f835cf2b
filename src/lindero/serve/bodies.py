"""What comes in a body, and what goes out: JSON, CSV, NDJSON and streams of Arrow.

JSON says what is what:      {"rows": [[5.1, 3.5]], "y": ["a"], "ids": ["one"]}
a table names its columns:   POST …/learn?y=kind&ids=card, with a line, an object or a column each

Everything is checked before a model sees it, with bounds on sizes: a hostile body is a refusal with
a reason, never an error of a library.

How a format is read and how it is checked belong together, and so stand in one file.
"""

from __future__ import annotations

import asyncio
import csv
import io
import json
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from lindero.data.csv_files import guard_formula
from lindero.runtime.arrays import Array
from lindero.serve.arrow_streams import read_arrow
from lindero.serve.limits import RequestLimits
from lindero.serve.reader import ModelReader
from lindero.serve.refusals import RefusedError
from lindero.serve.stored_rows import GivenRows
from lindero.serve.turns import Room

JSON, CSV, NDJSON, ARROW = (
    "application/json",
    "text/csv",
    "application/x-ndjson",
    "application/vnd.apache.arrow.stream",
)
FORMATS = (JSON, CSV, NDJSON, ARROW)

#: What stands beside rows, each of them a value a row.
ROLES = ("y", "ids", "sample_weight", "times")

#: Memory that JSON may take, at most, as a multiple of the largest body.
_MOST_GROWTH = 10

#: Whole numbers beyond are no numbers of 64 bits.
_LARGEST_INTEGER = 2**63

#: What is left of the body of a request that was refused may take so long.
_DRAIN_SECONDS = 1.0

#: Bytes of the line of CSV that names columns.
_LONGEST_HEADER = 2**20

_LONGEST_TEXT = 10_000
_LONGEST_KEY = 200

#: Labels in one array are all as wide as the longest: so many characters in all, at most.
_MOST_LABEL_CHARACTERS = 2**24

#: What rows that become one array may hold. Among anything else, a single long text would make
#: every other value of the array as wide as itself.
_NUMBERS = {int, float, bool}

#: Columns of text that a list of missing values is read as, in CSV.
_MISSING = ("", "NA", "NaN", "nan", "null")


@dataclass
class Given:
    """A request, read."""

    rows: Any = None  # a list of lists or of dicts, or a table of Arrow
    y: Any = None
    ids: Any = None
    sample_weight: Any = None
    times: Any = None
    more: dict[str, Any] = field(default_factory=dict)  # whatever else the operation knows

    @property
    def n_rows(self) -> int:
        return 0 if self.rows is None else len(self.rows)

    def cells(self) -> Iterator[Any]:
        """Every value that came, for messages that must not repeat any."""
        yield from self.y or ()
        if isinstance(self.rows, pa.Table):
            for column in self.rows.columns:
                yield from column.to_pylist()
            return
        for row in self.rows or ():
            if isinstance(row, (list, dict)):
                yield from row.values() if isinstance(row, dict) else row


# -- bytes -----------------------------------------------------------------------------------------


class Body:
    """The bytes of a body, as far as limits let them come, and the room that they take."""

    def __init__(self, limits: RequestLimits, room: Room) -> None:
        self._limits = limits
        self._room = room
        self._parts: list[bytes] = []
        self._size = 0

    async def read(
        self, receive: Callable[[], Awaitable[Any]], headers: Mapping[bytes, bytes]
    ) -> bytes:
        """All of it."""
        limits = self._limits
        declared = headers.get(b"content-length")
        if declared is not None and (not declared.isdigit() or int(declared) > limits.bytes):
            raise limits.refuse_body()
        message = await receive() if declared == b"0" else await _next(receive, limits.seconds)
        self._add(_part(message))
        deadline = asyncio.get_running_loop().time() + limits.seconds
        while message.get("more_body", False):
            message = await _next(receive, deadline - asyncio.get_running_loop().time())
            self._add(_part(message))
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    def _add(self, part: bytes) -> None:
        if self._size + len(part) > self._limits.bytes:
            raise self._limits.refuse_body()
        self._room.take(self._size, len(part))
        self._size += len(part)
        self._parts.append(part)

    def leave(self) -> None:
        """Nobody needs it any more."""
        self._room.leave(self._size)
        self._parts, self._size = [], 0


async def _next(receive: Callable[[], Awaitable[Any]], seconds: float) -> Any:
    try:
        async with asyncio.timeout(seconds):
            return await receive()
    except TimeoutError:
        raise RefusedError(
            408,
            "too_slow",
            "The body did not arrive within the limit of time. Send less at once.",
        ) from None


async def drain_body(
    receive: Callable[[], Awaitable[Any]], headers: Mapping[bytes, bytes], limits: RequestLimits
) -> bool:
    """Take in the rest of a body that nobody wants any more, and whether that was all of it. Who
    closes a connection while the other side is still sending may take its answer away."""
    if b"expect" in headers:  # it is not sent yet, and is not to be
        return False
    size = 0
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            while size <= 4 * limits.bytes:
                message = await receive()
                size += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return bool(message["type"] == "http.request")
    except TimeoutError:
        pass
    return False


def _part(message: Any) -> bytes:
    if message["type"] != "http.request":
        raise RefusedError(400, "cut_off", "The request ended before its body was whole.")
    part: bytes = message.get("body", b"")
    return part


# -- reading ---------------------------------------------------------------------------------------


def read_given(
    data: bytes,
    kind: str,
    query: Mapping[str, str],
    known: Iterable[str],
    limits: RequestLimits,
) -> Given:
    """A body of one of the formats. `known` are the fields of JSON that the operation has."""
    if kind in (JSON, NDJSON):
        _require_room(data, limits)
    if kind == JSON:
        return _read_fields(_read_object(data), tuple(known), limits)
    if "rows" not in known:
        raise RefusedError(415, "unknown_format", f"This operation takes {JSON}.")
    if kind == CSV:
        table = _read_csv(data, limits)
    elif kind == NDJSON:
        return _read_lines(data, query, limits)
    elif kind == ARROW:
        table = read_arrow(data, limits)
        _check_size(table, limits)
    else:
        raise RefusedError(
            415,
            "unknown_format",
            f"The Content-Type must be one of {', '.join(FORMATS)}.",
        )
    given = Given()
    for role in ROLES:
        if role in query:
            name = query[role]
            if name not in table.column_names:
                raise RefusedError(
                    422, "column_missing", f"There is no column {role}={name!r:.100}."
                )
            setattr(given, role, table[name].to_pylist())
            table = table.drop_columns([name])
    given.rows = table
    _check_roles(given, limits)
    return given


def _require_room(data: bytes, limits: RequestLimits) -> None:
    """Refuse JSON that would take far more memory as objects of Python than on its way, before it
    is read: what follows a comma, a list or an object take so many bytes, at most."""
    grown = len(data) + 64 * (data.count(b",") + data.count(b"[")) + 240 * data.count(b"{")
    if grown > _MOST_GROWTH * limits.bytes:
        raise RefusedError(
            413,
            "too_many_values",
            "The body holds too many values for one request in JSON. Send fewer rows at once.",
        )


def _read_object(data: bytes) -> dict[str, Any]:
    """A JSON object; empty for an empty body."""
    if not data:
        return {}
    found = _decode(data)
    if not isinstance(found, dict):
        raise RefusedError(
            400, "unreadable_body", 'The body must be an object, such as {"rows": …}.'
        )
    return found


def _decode(data: bytes, decoder: json.JSONDecoder | None = None) -> Any:
    try:
        return (decoder or _DECODER).decode(data.decode("utf-8"))
    except _NotAllowedError as error:
        raise RefusedError(400, "unreadable_body", str(error)) from None
    except (ValueError, RecursionError) as error:  # of bytes that are no text, too
        place = f" (at character {error.pos})" if isinstance(error, json.JSONDecodeError) else ""
        raise RefusedError(
            400, "unreadable_body", f"The body is not JSON in UTF-8 that can be read{place}."
        ) from None


class _NotAllowedError(ValueError):
    """JSON that Python would read, and others would not."""


def _refuse_constant(name: str) -> Any:
    raise _NotAllowedError(f"{name} is no value of JSON: write null for what is missing.")


def _pair(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _NotAllowedError("An object of the body has the same name twice.")
    return found


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_pair)


def _read_fields(found: dict[str, Any], known: tuple[str, ...], limits: RequestLimits) -> Given:
    unknown = [name for name in found if name not in known]
    if unknown:
        raise RefusedError(
            422,
            "unknown_field",
            f"The body has {len(unknown)} unknown names; known ones are {', '.join(known)}.",
        )
    if found.get("columns") is not None:
        found["rows"] = _name_columns(found.get("rows"), found["columns"], limits)
    found.pop("columns", None)
    given = Given()
    for name, value in found.items():
        if name == "rows" or name in ROLES:
            if value is not None:
                setattr(given, name, value)
        else:
            given.more[name] = value
    if "rows" in known:
        _check_rows(given.rows, limits)
    _check_roles(given, limits)
    return given


def _name_columns(rows: Any, names: Any, limits: RequestLimits) -> list[dict[str, Any]]:
    """Rows as objects, from lists and the names of their columns."""
    _check_rows(rows, limits)
    if (
        not isinstance(names, list)
        or not all(is_text(name) for name in names)
        or len(set(names)) < len(names)
    ):
        raise RefusedError(422, "rows_refused", "columns must be a list of different names.")
    for at, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(names):
            raise RefusedError(
                422, "rows_refused", f"Row {at} is not a list of {len(names)} values, as columns."
            )
    return [dict(zip(names, row, strict=True)) for row in rows]


def _check_rows(rows: Any, limits: RequestLimits) -> None:
    if not isinstance(rows, list) or not rows:
        raise RefusedError(422, "rows_missing", "Give rows: a list of lists, or a list of objects.")
    limits.require("rows", len(rows))
    kind = type(rows[0])
    if kind not in (list, dict):
        raise RefusedError(422, "rows_refused", "Each row must be a list or an object.")
    limits.require("columns", len(rows[0]))
    if not rows[0]:
        raise RefusedError(422, "rows_refused", "Row 0 has no columns.")


def _check_roles(given: Given, limits: RequestLimits) -> None:
    for role in ROLES:
        values = getattr(given, role)
        if values is None:
            continue
        if role == "ids" and isinstance(values, (str, int)) and not isinstance(values, bool):
            values = given.ids = [values]
        if not isinstance(values, list):
            raise RefusedError(422, "rows_refused", f"{role} must be a list, with a value a row.")
        limits.require("rows", len(values))
        for at, value in enumerate(values):
            if role == "ids" and not _is_id(value):
                raise RefusedError(
                    422,
                    "rows_refused",
                    f"ids[{at}] is neither text of at most {_LONGEST_KEY} characters nor a whole "
                    "number of 64 bits.",
                )
            if role in ("sample_weight", "times") and not is_number(value):
                raise RefusedError(422, "rows_refused", f"{role}[{at}] is not a finite number.")
            if role == "y" and not (is_number(value) or is_text(value) or isinstance(value, bool)):
                raise RefusedError(
                    422,
                    "rows_refused",
                    f"y[{at}] is no label: a label is text or a finite number. Leave rows without "
                    "one out.",
                )
        if role == "y":
            longest = max((len(value) for value in values if isinstance(value, str)), default=0)
            if longest * len(values) > _MOST_LABEL_CHARACTERS:
                raise RefusedError(
                    422,
                    "rows_refused",
                    f"y has a label of {longest} characters, too many for {len(values)} rows: send "
                    "fewer rows at once, or shorter labels.",
                )


def _is_id(value: Any) -> bool:
    if isinstance(value, str):
        return is_text(value) and 0 < len(value) <= _LONGEST_KEY and "\0" not in value
    return type(value) is int and abs(value) < _LARGEST_INTEGER


def is_number(value: Any) -> bool:
    """Whether a value is a finite number that 64 bits can hold."""
    if type(value) is float:
        return math.isfinite(value)
    return type(value) is int and abs(value) < _LARGEST_INTEGER


def is_text(value: Any) -> bool:
    """Whether a value is text that can be written down."""
    return isinstance(value, str) and len(value) <= _LONGEST_TEXT and is_encodable(value)


def is_encodable(text: str) -> bool:
    """Whether text has no half of a pair of characters."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _read_lines(data: bytes, query: Mapping[str, str], limits: RequestLimits) -> Given:
    """Objects, one a line, of which some names are roles."""
    rows: list[dict[str, Any]] = []
    names: dict[str, str] = {}

    def pair(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return _pair([(names.setdefault(name, name), value) for name, value in pairs])

    # The name of a column is kept once, not once a line.
    decoder = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=pair)
    for number, line in enumerate(io.BytesIO(data)):
        if not line.strip():
            continue
        limits.require("rows", len(rows) + 1)
        row = _decode(line, decoder)
        if not isinstance(row, dict):
            raise RefusedError(422, "rows_refused", f"Line {number} is not an object.")
        rows.append(row)
    _check_rows(rows, limits)
    given = Given(rows=rows)
    for role in ROLES:
        if role in query:
            name = query[role]
            lacking = next((at for at, row in enumerate(rows) if name not in row), None)
            if lacking is not None:
                raise RefusedError(
                    422, "column_missing", f"Row {lacking} has no column {role}={name!r:.100}."
                )
            setattr(given, role, [row.pop(name) for row in rows])
    _check_rows(rows, limits)
    _check_roles(given, limits)
    return given


def _read_csv(data: bytes, limits: RequestLimits) -> pa.Table:
    """A table whose first line names its columns; a column of numbers is one."""
    try:
        # Arrow checks the rest; as text of Python, all would be as wide as the widest character.
        head = io.BytesIO(data[:_LONGEST_HEADER])
        first = next(csv.reader(io.TextIOWrapper(head, "utf-8-sig", "ignore", newline="")), [])
        limits.require("columns", len(first))
        if not first or len(set(first)) < len(first) or not all(first):
            raise RefusedError(
                400, "unreadable_body", "The first line must name the columns, each once."
            )
        table = pa_csv.read_csv(
            pa.BufferReader(data),
            read_options=pa_csv.ReadOptions(use_threads=False),
            parse_options=pa_csv.ParseOptions(newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(first, pa.string()),
                strings_can_be_null=True,
                null_values=list(_MISSING),
            ),
        )
    except (pa.ArrowInvalid, UnicodeError, csv.Error):
        raise RefusedError(
            400,
            "unreadable_body",
            "The body is not CSV in UTF-8 with as many values in each line as the first names.",
        ) from None
    if table.column_names != first:
        raise RefusedError(
            413, "too_many_columns", f"The first line is longer than {_LONGEST_HEADER} bytes."
        )
    _check_size(table, limits)
    return pa.table({name: _as_numbers(table[name]) for name in table.column_names})


def _as_numbers(column: Any) -> Any:
    """A column as numbers, if all of it are."""
    if column.null_count == len(column):
        return column
    try:
        return pc.cast(column, pa.float64())
    except pa.ArrowInvalid:
        return column


def _check_size(table: pa.Table, limits: RequestLimits) -> None:
    limits.require("columns", table.num_columns)
    limits.require("rows", table.num_rows)
    limits.require("values", table.num_rows * table.num_columns)
    if table.num_rows == 0 or table.num_columns == 0:
        raise RefusedError(422, "rows_missing", "The table has no rows.")
    if len(set(table.column_names)) < table.num_columns:
        raise RefusedError(422, "rows_refused", "The table has the same column twice.")


# -- rows for a model ------------------------------------------------------------------------------


def prepare_rows(rows: Any, reader: ModelReader) -> Any:
    """Rows as a model takes them; a value that no model can hold is refused by its place."""
    names = reader.held.names
    if reader.takes_arrays:
        array = _as_array(rows, names)
        if array is not None:
            return array
    if isinstance(rows, pa.Table):
        rows = rows.to_pylist() if rows.num_columns else []
    _check_cells(rows, reader.held.is_numeric)
    return rows


def _as_array(rows: Any, names: tuple[str, ...] | None) -> Array | None:
    """Rows of numbers as one array, in the order of the columns; None where something is amiss,
    which whoever looks more closely will find."""
    try:
        if isinstance(rows, pa.Table):
            if names is None or set(names) != set(rows.column_names):
                return None
            columns = [rows[name] for name in names]
            if any(pa.types.is_string(column.type) for column in columns):
                return None
            return np.column_stack([column.to_numpy().astype(np.float64) for column in columns])
        if type(rows[0]) is dict:
            if names is None or any(len(row) != len(names) for row in rows):
                return None
            rows = [[row[name] for name in names] for row in rows]
        if not set(map(type, chain.from_iterable(rows))) <= _NUMBERS:
            return None
        array = np.array(rows)
    except (ValueError, TypeError, KeyError, OverflowError):
        return None
    fits = array.ndim == 2 and array.dtype.kind in "if"
    return array.astype(np.float64, copy=False) if fits else None


def _check_cells(rows: list[Any], numeric: bool) -> None:
    first = rows[0]
    kind, width = type(first), len(first)
    for at, row in enumerate(rows):
        if type(row) is not kind or len(row) != width:
            raise RefusedError(
                422,
                "rows_refused",
                f"Row {at} is not like row 0, which has {width} columns: give every row every "
                "column, and null for what is missing.",
            )
        pairs = row.items() if kind is dict else enumerate(row)
        for name, value in pairs:
            if value is None or is_number(value) or type(value) is bool:
                continue
            if is_text(value) and not numeric:
                continue
            wanted = "a finite number" if numeric else "a finite number or text of usual length"
            place = f"{name!r:.100}" if kind is dict else str(name)
            raise RefusedError(
                422,
                "rows_refused",
                f"Row {at}, column {place}: {wanted} is wanted, or null for what is missing.",
            )


def require_names(rows: Any, reader: ModelReader) -> None:
    """Refuse columns that the model does not know, and say which."""
    if isinstance(rows, pa.Table):
        found = tuple(rows.column_names)
    elif isinstance(rows[0], dict):
        found = tuple(rows[0])
    else:
        return
    if not all(is_text(name) for name in found):
        raise RefusedError(422, "rows_refused", "A column has a name that cannot be written down.")
    if reader.held.names is None:
        raise RefusedError(
            422,
            "columns_unknown",
            "The columns have names, but those of this model have none: give rows as lists, in the "
            "order in which it learned them.",
        )
    if reader.held.names != found:
        GivenRows(found, [[None] * len(found)]).in_order(reader.held.names)


# -- writing ---------------------------------------------------------------------------------------


def choose_answer_format(accept: bytes | None) -> str:
    """The first format of an Accept header that is known; JSON where there is none."""
    if accept is None or accept == b"*/*":
        return JSON
    for part in accept.decode("latin-1").split(","):
        kind = part.partition(";")[0].strip().lower()
        if kind in FORMATS:
            return kind
        if kind in ("*/*", "application/*"):
            return JSON
    raise RefusedError(406, "unknown_format", f"Answers come as {', '.join(FORMATS)}.")


def write_json(answer: Any) -> bytes:
    """JSON without NaN: what is not finite becomes null."""
    try:
        return _ENCODER.encode(answer).encode()
    except ValueError:
        return _ENCODER.encode(_without_nan(answer)).encode()


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_table(columns: dict[str, list[Any]], kind: str) -> bytes:
    """Answers as a table, a row for each row that was asked about."""
    if kind == NDJSON:
        names = list(columns)
        lines = (dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True))
        return b"".join(write_json(line) + b"\n" for line in lines)
    if kind == CSV:
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            writer.writerow([guard_formula(value) for value in row])
        return file.getvalue().encode()
    table = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    written: bytes = sink.getvalue().to_pybytes()
    return written
