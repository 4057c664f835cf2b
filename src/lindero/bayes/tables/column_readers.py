"""Columns of a user's table, read into codes or numbers.

`ListedColumn` holds the distinct values of a column, and the place in it of each row's. Text,
categories and objects of Python come to this form by one pass through a dictionary, after which
everything else is done once for each distinct value rather than for each row. Values are plain:
text, booleans, integers or floats, never objects of the library they came from.

`MatrixColumns` holds columns of numbers that share one array of any real type. Nothing is done
before it is asked for, and no copy is made of the whole: a table of a million rows is read in
blocks, straight into its codes or its transposed numbers. Categories that are whole numbers
low ≤ v ≤ high, high − low < `WIDEST`, are coded by a look-up, ``table[v − low]``, without sorting.
Each block is turned into 64-bit integers, so that one compiled loop serves arrays of all types.
"""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from lindero.bayes.tables.refusals import (
    refuse_dates,
    refuse_infinity,
    refuse_mixed_values,
    refuse_value,
)
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, compiled
from lindero.validation import find_missing

_DATES = datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64


@dataclass(frozen=True)
class ListedColumn:
    """One column of a user's table: its distinct values, all of one kind, and the position among
    them of each row's, −1 where it is missing. `declared` says whether the user has listed the
    values, in their order. The label, a name or a position, is for messages."""

    label: Any
    values: list[Any]
    places: Array
    value_kind: str | None
    declared: bool = False
    n_columns = 1

    @classmethod
    def of(cls, rows: Sequence[Any], label: Any, declared: Sequence[Any] = ()) -> ListedColumn:
        """From one value a row."""
        numbering = _Numbering((value, place) for place, value in enumerate(declared))
        try:
            places = np.fromiter(map(numbering.__getitem__, rows), np.int32, len(rows))
        except TypeError:  # no dictionary takes it
            row = next(row for row, value in enumerate(rows) if not _is_hashable(value))
            refuse_value(label, row, rows[row])
        return cls.from_places(list(numbering), places, label, bool(declared))

    @classmethod
    def from_places(
        cls, found: list[Any], places: Array, label: Any, declared: bool
    ) -> ListedColumn:
        """From distinct values, some of which may be missing ones, and the place of each row's."""
        objects = np.empty(len(found), dtype=object)
        objects[:] = found
        present = np.flatnonzero(~find_missing(objects)).tolist()
        kind = _find_kind({k: found[k] for k in present}, places, label)
        merged: dict[Any, int] = {}  # Decimal("0.1") and 0.1 are one value
        new_place = np.full(len(found) + 1, -1, dtype=np.int32)  # the last: rows without any
        for k in present:
            value = _make_plain(found[k], kind)
            if kind == "number" and abs(value) == np.inf:
                refuse_infinity(label, _first_row(places, k))
            new_place[k] = merged.setdefault(value, len(merged))
        return cls(label, list(merged), new_place[places], kind, declared)

    def kind(self, _: int) -> str:
        """What it is unless the user says otherwise: "category" or "number"."""
        return "number" if self.value_kind == "number" and not self.declared else "category"

    def has_values(self, _: int) -> bool:
        """Whether any row has a value."""
        return bool((self.places >= 0).any())

    def is_unknown(self, _: int) -> bool:
        """Whether nothing tells yet what the column holds."""
        return not self.values

    def count_values(self) -> Array:
        """How many rows have each value."""
        return np.bincount(self.places[self.places >= 0], minlength=len(self.values))

    def first_value(self, _: int) -> tuple[int, Any]:
        """The first row that has a value, and the value."""
        row = int(np.argmax(self.places >= 0))
        return row, self.value(row, 0)

    def value(self, row: int, _: int) -> Any:
        """The value in a row that has one."""
        return self.values[self.places[row]]

    def distinct(self, which: Array) -> list[list[Any]]:
        """Its values in the order of their codes, once for each place in `which`."""
        values = [False, True] if self.value_kind == "flag" else sorted(self.values)
        return [self.values if self.declared else values for _ in which]

    def write_codes(
        self, which: Array, code_of: Sequence[dict[Any, int]], unseen: Sequence[int], out: Array
    ) -> None:
        """Write the code of each row's value to `out`, of shape (1, n_rows)."""
        for row in range(len(which)):
            codes = [code_of[row].get(value, unseen[row]) for value in self.values]
            out[row] = np.array([*codes, 0], dtype=out.dtype)[self.places]

    def write_numbers(self, which: Array, out: Array) -> None:
        """Write the numbers to `out`, of shape (1, n_rows)."""
        for row in range(len(which)):
            out[row] = np.array([*map(_to_float, self.values), np.nan])[self.places]


class _Numbering(dict[Any, int]):
    """Gives each new key the next number."""

    def __missing__(self, key: Any) -> int:
        number = self[key] = len(self)
        return number


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _find_kind(found: dict[int, Any], places: Array, label: Any) -> str | None:
    """The kind that all values are of; `found` are the values by their place."""
    kinds = {kind: _kind_of(kind) for kind in {type(value) for value in found.values()}}

    def first(kind: str) -> tuple[int | None, Any]:
        return next((_first_row(places, k), v) for k, v in found.items() if kinds[type(v)] == kind)

    names = sorted(set(kinds.values()), reverse=True)
    if "date" in names:
        refuse_dates(label, *first("date"))
    if "other" in names:
        refuse_value(label, *first("other"))
    if len(names) > 1:
        refuse_mixed_values(label, {name: first(name) for name in names[:2]})
    return names[0] if names else None


def _first_row(places: Array, place: int) -> int | None:
    rows = np.flatnonzero(places == place)
    return int(rows[0]) if len(rows) else None  # declared, and not in any row


def _kind_of(kind: type) -> str:
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, (bool, np.bool_)):
        return "flag"
    if issubclass(kind, _DATES):  # before numbers, which NumPy's timedelta64 is said to be
        return "date"
    if issubclass(kind, (numbers.Real, Decimal)):
        return "number"
    return "other"


def _make_plain(value: Any, kind: str | None) -> Any:
    if kind == "text":
        return str(value)
    if kind == "flag":
        return bool(value)
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def _to_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits
        return float("inf")


#: Rows that are looked at first for a value.
_FIRST_ROWS = 16


class MatrixColumns:
    """Some columns of a user's table: an array of shape (n_rows, n_columns) of any real dtype, in
    which NaN is missing and so is what the mask `missing` says. Labels are for messages. They
    answer as `ListedColumn` does."""

    def __init__(self, values: Array, labels: Sequence[Any], missing: Array | None = None) -> None:
        self.values = values
        self.labels = labels
        self.missing = missing
        self._listed: dict[int, ListedColumn] = {}

    @property
    def n_columns(self) -> int:
        return int(self.values.shape[1])

    def kind(self, _: int) -> str:
        return "category" if self.value_kind == "flag" else "number"

    @property
    def value_kind(self) -> str:
        return "flag" if self.values.dtype.kind == "b" else "number"

    def has_values(self, column: int) -> bool:
        # Most often one of the first rows has, and the others need no look.
        return bool(self._present(column, _FIRST_ROWS).any() or self._present(column).any())

    def is_unknown(self, column: int) -> bool:
        return self.value_kind == "number" and not self.has_values(column)

    def _present(self, column: int, n_rows: int | None = None) -> Array:
        values = self.values[:n_rows, column]
        present: Array = np.ones(len(values), dtype=bool)
        if self.missing is not None:
            present &= ~self.missing[:n_rows, column]
        if self.values.dtype.kind == "f":
            present &= ~np.isnan(values)
        return present

    def first_value(self, column: int) -> tuple[int, Any]:
        row = int(np.argmax(self._present(column)))
        return row, self.value(row, column)

    def value(self, row: int, column: int) -> Any:
        return self.values[row, column].item()

    def distinct(self, which: Array) -> list[list[Any]]:
        """The values of some columns in the order of their codes."""
        if self.value_kind == "flag":
            return [[False, True] for _ in which]
        found: list[list[Any]] = []
        for place, values in enumerate(find_whole_values(self.values, self.missing, which)):
            if values is None:
                found.append(sorted(self._list_values(int(which[place])).values))
            else:
                is_float = self.values.dtype.kind == "f"
                found.append([float(value) for value in values] if is_float else list(values))
        return found

    def write_codes(
        self, which: Array, code_of: Sequence[dict[Any, int]], unseen: Sequence[int], out: Array
    ) -> None:
        """Write the codes of some columns to the rows of `out`."""
        done = encode_whole(self.values, self.missing, which, code_of, unseen, out)
        for row in np.flatnonzero(~done).tolist():
            listed = self._list_values(int(which[row]))
            at = slice(row, row + 1)
            listed.write_codes(which[at], code_of[at], unseen[at], out[at])

    def _list_values(self, column: int) -> ListedColumn:
        """A column whose values are too far apart to be looked up, or not whole: by sorting."""
        if column not in self._listed:
            found, inverse = np.unique(self.values[:, column], return_inverse=True)
            places: Array = inverse.astype(np.int32)
            if self.missing is not None:
                places[self.missing[:, column]] = -1
                used = np.unique(places[places >= 0])  # not what stands where values are missing
                new_place = np.full(len(found) + 1, -1, dtype=np.int32)
                new_place[used] = np.arange(len(used))
                found, places = found[used], new_place[places]
            label = self.labels[column]
            self._listed[column] = ListedColumn.from_places(found.tolist(), places, label, False)
        return self._listed[column]

    def write_numbers(self, which: Array, out: Array) -> None:
        """Write some columns to the rows of `out`, float64."""
        every = len(which) == self.n_columns and bool((which == np.arange(len(which))).all())
        for rows in split_rows(len(self.values), len(which)):
            part = self.values[rows] if every else self.values[rows][:, which]
            with np.errstate(over="ignore"):  # infinite then, and refused as that
                out[:, rows] = part.T
            if self.missing is not None:
                gaps = self.missing[rows] if every else self.missing[rows][:, which]
                out[:, rows][gaps.T] = np.nan

    def shared_numbers(self) -> Array | None:
        """All columns, transposed, where they lie in memory like that already."""
        values = self.values
        shareable = values.dtype == np.float64 and self.missing is None and values.flags.writeable
        return values.T if shareable and values.flags.f_contiguous else None


def require_finite(numbers: Array, labels: Sequence[Any]) -> None:
    """Refuse infinite numbers; columns are rows of `numbers`."""
    for rows in split_rows(numbers.shape[1], len(numbers)):
        bad = np.isinf(numbers[:, rows])
        if bad.any():
            row, column = np.argwhere(bad.T)[0]
            refuse_infinity(labels[column], rows.start + int(row))


# -- categories that are small whole numbers ------------------------------------------------------

#: What stands for a missing value in a block.
MISSING = np.iinfo(np.int64).min
#: Columns whose values span more than this are not looked up.
WIDEST = 2**16
_BLOCK_VALUES = 2**17
#: Columns whose values are searched for together: 4 MiB of ticks.
_COLUMNS_AT_ONCE = 64
_LARGEST = np.iinfo(np.int64).max
#: Floats from here on are too coarse to tell neighbouring whole numbers apart.
_COARSE = 2.0**53


def split_rows(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of rows, so that a block of that many columns stays in the cache."""
    height = max(1, _BLOCK_VALUES // max(1, n_columns))
    return (slice(start, min(start + height, n_rows)) for start in range(0, n_rows, height))


def find_whole_values(values: Array, missing: Array | None, which: Array) -> list[list[int] | None]:
    """The distinct values of some columns, in order; None where they are not small whole numbers.
    `values` has shape (n_rows, n_columns) and a real dtype, `missing` is a mask of that shape."""
    return [
        found
        for start in range(0, len(which), _COLUMNS_AT_ONCE)
        for found in _find_distinct(values, missing, which[start : start + _COLUMNS_AT_ONCE])
    ]


def _find_distinct(values: Array, missing: Array | None, which: Array) -> list[list[int] | None]:
    low = np.full(len(which), _LARGEST)
    high = np.full(len(which), MISSING)
    usable = np.ones(len(which), dtype=bool)
    # Numbers that span no more than WIDEST differ by their remainder, wherever the span begins.
    seen = np.zeros((len(which), WIDEST), dtype=np.uint8)
    for _, block in _read_whole_blocks(values, missing, which, usable):
        _mark(block, low, high, seen)
    found: list[list[int] | None] = [None] * len(which)
    for j in np.flatnonzero(usable):
        span = int(high[j]) - int(low[j]) + 1  # Python's integers: the difference may overflow
        if span <= WIDEST:
            candidates = low[j] + np.arange(max(0, span))
            found[j] = candidates[seen[j, candidates & (WIDEST - 1)] > 0].tolist()
    return found


def encode_whole(
    values: Array,
    missing: Array | None,
    which: Array,
    code_of: Sequence[dict[Any, int]],
    unseen: Sequence[int],
    out: Array,
) -> Array:
    """Write the codes of some columns to the rows of `out`, and say for which this was possible:
    not for columns with other than whole numbers, or whose known values span too much."""
    usable = np.ones(len(which), dtype=bool)
    tables = [_table(known, code) for known, code in zip(code_of, unseen, strict=True)]
    usable[[table is None for table in tables]] = False
    rows = np.flatnonzero(usable)
    kept = [table for table in tables if table is not None]
    if not kept:
        return usable
    low = np.array([first for first, _ in kept], dtype=np.int64)
    begin = np.concatenate([[0], np.cumsum([len(codes) for _, codes in kept])])
    table = np.concatenate([codes for _, codes in kept])
    other = np.array([unseen[row] for row in rows.tolist()], dtype=np.int32)
    whole = np.ones(len(rows), dtype=bool)
    for block_rows, block in _read_whole_blocks(values, missing, which[rows], whole):
        _look_up(block, low, begin, table, other, rows, block_rows.start, out)
    usable[rows] = whole
    return usable


def _table(code_of: dict[Any, int], unseen: int) -> tuple[int, Array] | None:
    """The first whole number among the known values, and the codes of those from there on."""
    known = {int(value): code for value, code in code_of.items() if _is_whole(value)}
    known = {value: code for value, code in known.items() if MISSING < value <= _LARGEST}
    if not known:
        return 0, np.zeros(0, dtype=np.int32)
    first, last = min(known), max(known)
    if last - first >= WIDEST:
        return None
    codes = np.full(last - first + 1, unseen, dtype=np.int32)
    codes[np.array(list(known)) - first] = list(known.values())
    return first, codes


def _is_whole(value: Any) -> bool:
    return value.is_integer() if isinstance(value, float) else not isinstance(value, str)


def _read_whole_blocks(
    values: Array, missing: Array | None, which: Array, usable: Array
) -> Iterator[tuple[slice, Array]]:
    """Rows, and their values as 64-bit integers, column by column.

    Columns where that is not possible lose their place in `usable`; what is in their blocks then
    means nothing.
    """
    every = len(which) == values.shape[1] and bool((which == np.arange(len(which))).all())
    kind, size = values.dtype.kind, values.dtype.itemsize
    for rows in split_rows(len(values), len(which)):
        part = values[rows] if every else values[rows][:, which]
        block = np.empty((len(which), len(part)), dtype=np.int64)
        if kind == "f":
            with np.errstate(over="ignore"):  # infinite then, which is refused elsewhere
                _to_whole(np.ascontiguousarray(part.T, dtype=np.float64), block, usable)
        else:
            np.copyto(block, part.T, casting="unsafe")
            if kind == "u" and size == 8:
                usable &= block.min(axis=1) >= 0  # larger than a signed integer can be
            elif size == 8:
                usable &= block.min(axis=1) != MISSING  # a value that only looks missing
            if missing is not None:
                gaps = missing[rows] if every else missing[rows][:, which]
                block[gaps.T] = MISSING
        yield rows, block


@compiled(EXACT)
def _to_whole(numbers, block, usable):  # type: ignore[no-untyped-def]
    """Floats to integers, NaN to `MISSING`."""
    for j in range(numbers.shape[0]):
        good = usable[j]
        for i in range(numbers.shape[1]):
            value = numbers[j, i]
            if np.isnan(value):
                block[j, i] = MISSING
            elif abs(value) < _COARSE and value == np.floor(value):
                block[j, i] = np.int64(value)
            else:
                block[j, i] = MISSING
                good = False
        usable[j] = good


@compiled(EXACT)
def _mark(block, low, high, seen):  # type: ignore[no-untyped-def]
    """Tick off the values that occur, by remainder, and keep the least and the largest so far."""
    for j in range(block.shape[0]):
        least, largest = low[j], high[j]
        column, ticks = block[j], seen[j]
        for i in range(column.shape[0]):
            value = column[i]
            largest = max(largest, value)  # a missing value is the least of all
            least = min(least, value if value != MISSING else _LARGEST)
        for i in range(column.shape[0]):
            if column[i] != MISSING:
                ticks[column[i] & (WIDEST - 1)] = 1
        low[j], high[j] = least, largest


@compiled(EXACT)
def _look_up(block, low, begin, table, unseen, out_rows, start, out):  # type: ignore[no-untyped-def]
    """Codes of a block, to the rows of `out` that its columns have."""
    for j in range(block.shape[0]):
        codes = table[begin[j] : begin[j + 1]]
        first, last = low[j], low[j] + codes.shape[0] - 1
        written = out[out_rows[j], start : start + block.shape[1]]
        for i in range(block.shape[1]):
            value = block[j, i]
            if value == MISSING:
                written[i] = 0
            elif first <= value <= last:
                written[i] = codes[value - first]
            else:
                written[i] = unseen[j]
