"""Rows as bytes and back: what a store keeps of a row is all that its model learned from.

    b"n" | length of the header | header as JSON | 64-bit floats       rows of floats
    b"j" | length of the header | header as JSON | values as JSON      rows with anything else

The header holds target, weight and time, as far as there are any. A model always learns what was
read back from the bytes, also the first time: so a store that is opened again, and learns the rows
once more, cannot learn anything else.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from lindero.runtime.arrays import Array

_LENGTH = struct.Struct("<I")


@dataclass(frozen=True)
class GivenRows:
    """Rows as they were passed: a list of values each, and the names of the columns if any."""

    names: tuple[str, ...] | None
    values: list[list[Any]]

    @classmethod
    def of(cls, X: Any) -> GivenRows:
        """From a table, an array, a list of lists or a list of dicts."""
        if isinstance(X, list) and X and all(isinstance(row, dict) for row in X):
            names = tuple(X[0])
            for at, row in enumerate(X):
                if set(row) != set(names):
                    raise ValueError(
                        f"Row {at} has the columns {sorted(row)}, but row 0 has {sorted(names)}. "
                        "Give every row every column; None stands for a missing value."
                    )
            return cls(_read_names(names), [[_plain(row[name]) for name in names] for row in X])
        if hasattr(X, "tocsr"):
            raise ValueError(
                "The rows are a sparse matrix, and a store keeps dense rows: pass X.toarray()."
            )
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            columns = [frame[name].to_list() for name in frame.columns]
            rows = [[_plain(value) for value in row] for row in zip(*columns, strict=True)]
            return cls(_read_names(tuple(frame.columns)), rows)
        rows = X.tolist() if isinstance(X, np.ndarray) else [list(row) for row in X]
        if not all(isinstance(row, list) for row in rows):
            raise ValueError(
                "The rows are a flat list, but a table is wanted: [[1.0, 2.0]] is one row of two "
                "columns."
            )
        width = len(rows[0]) if rows else 0
        for at, row in enumerate(rows):
            if len(row) != width:
                raise ValueError(f"Row {at} has {len(row)} values, but row 0 has {width}.")
        return cls(None, [[_plain(value) for value in row] for row in rows])

    def in_order(self, names: tuple[str, ...] | None) -> GivenRows:
        """With the columns in the order that a model knows them."""
        if names is None or self.names == names:
            return self
        if self.names is None:
            if any(len(row) != len(names) for row in self.values):
                raise ValueError(
                    f"The rows have {len(self.values[0])} values, but the columns of this model "
                    f"are {list(names)}."
                )
            return GivenRows(names, self.values)
        missing, unknown = set(names) - set(self.names), set(self.names) - set(names)
        if missing or unknown:
            parts = [f"lack {sorted(missing)}"] if missing else []
            parts += [f"bring {sorted(unknown)}"] if unknown else []
            raise ValueError(
                f"The rows {' and '.join(parts)}: the columns of this model are {list(names)}."
            )
        places = [self.names.index(name) for name in names]
        return GivenRows(names, [[row[place] for place in places] for row in self.values])


def _read_names(names: Sequence[Any]) -> tuple[str, ...]:
    if not all(isinstance(name, str) for name in names):
        raise ValueError(f"Names of columns must be text, but these are {list(names)!r}.")
    return tuple(names)


def _plain(value: Any) -> Any:
    """A value as plain Python has it; NaN and the like are None."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if not isinstance(value, (bool, int, float, str)):
        raise ValueError(
            f"A store keeps numbers and text, but {value!r} is of type {type(value).__name__}. "
            "Convert the column first."
        )
    return value


def encode_row(
    values: list[Any], numeric: bool, target: Any = None, weight: Any = None, time: Any = None
) -> bytes:
    """The bytes of a row. With `numeric`, its values must be numbers, or missing ones."""
    given = {"y": target, "w": weight, "t": time}
    header = json.dumps({name: value for name, value in given.items() if value is not None})
    start = _LENGTH.pack(len(header)) + header.encode()
    if not numeric and not all(type(value) is float for value in values):
        return b"j" + start + json.dumps(values).encode()
    numbers = [math.nan if value is None else float(value) for value in values]
    return b"n" + start + np.asarray(numbers, dtype="<f8").tobytes()


@dataclass(frozen=True)
class Batch:
    """Rows to learn together, as estimators take them."""

    X: Any
    y: Array | None
    weights: Array | None
    times: Array | None

    @classmethod
    def of(cls, encoded: Sequence[bytes], names: tuple[str, ...] | None) -> Batch:
        """From the bytes of rows."""
        rows, headers = [], []
        for data in encoded:
            (length,) = _LENGTH.unpack_from(data, 1)
            end = 1 + _LENGTH.size + length
            headers.append(json.loads(data[1 + _LENGTH.size : end]))
            if data[:1] == b"n":
                rows.append(np.frombuffer(data, dtype="<f8", offset=end))
            else:
                rows.append(json.loads(data[end:]))
        y, weights, times = (_column(headers, name) for name in "ywt")
        return cls(as_table(rows, names), y, weights, times)


def _column(headers: list[dict[str, Any]], name: str) -> Array | None:
    if name not in headers[0]:
        return None
    return np.array([header[name] for header in headers])


def as_table(rows: Sequence[Any], names: tuple[str, ...] | None) -> Any:
    """Rows as the table that estimators learn from and answer to."""
    if all(isinstance(row, np.ndarray) for row in rows):
        numbers = np.array(rows, dtype=np.float64)
        if names is None:
            return numbers
        return pa.table({name: numbers[:, at] for at, name in enumerate(names)})
    rows = [row.tolist() if isinstance(row, np.ndarray) else row for row in rows]
    if names is None:
        table = np.empty((len(rows), len(rows[0])), dtype=object)
        table[:] = rows
        return table
    return pa.table({name: _arrow([row[at] for row in rows]) for at, name in enumerate(names)})


def _arrow(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise ValueError(
            f"A column mixes values of several types, such as {values[:3]!r}: make all of them "
            "text, or all of them numbers."
        ) from None
