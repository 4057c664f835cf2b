"""A column as a list of its distinct values, and the place in it of each row's.

Text, categories and objects of Python come to this form by one pass through a dictionary, after
which everything else is done once for each distinct value rather than for each row. Values are
plain: text, truth values, integers or floats, never objects of the library they came from.
"""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from lindero.bayes.tables.refusals import dates, infinite, mixed, strange
from lindero.labels import missing_values
from lindero.runtime.arrays import Array

_DATES = (
    datetime.date,
    datetime.time,
    datetime.timedelta,
    np.datetime64,
    np.timedelta64,
)


@dataclass(frozen=True)
class ListedColumn:
    """One column of a user's table.

    Attributes
    ----------
    label : str or int
        Name of the column, or its position; for messages.
    values : list
        Distinct values, of one kind.
    places : ndarray of shape (n_rows,)
        Position in `values` of each row's; −1 where it is missing.
    value_kind : {"text", "flag", "number"} or None
        What the values are; None where there are none.
    declared : bool
        Whether the user has said which values there are, and in which order.
    """

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
            raise strange(label, row, rows[row]) from None
        return cls.numbered(list(numbering), places, label, bool(declared))

    @classmethod
    def numbered(cls, found: list[Any], places: Array, label: Any, declared: bool) -> ListedColumn:
        """From distinct values, some of which may be missing ones, and the place of each row's."""
        objects = np.empty(len(found), dtype=object)
        objects[:] = found
        present = np.flatnonzero(~missing_values(objects)).tolist()
        kind = _one_kind({k: found[k] for k in present}, places, label)
        merged: dict[Any, int] = {}  # Decimal("0.1") and 0.1 are one value
        new_place = np.full(len(found) + 1, -1, dtype=np.int32)  # the last: rows without any
        for k in present:
            value = _plain(found[k], kind)
            if kind == "number" and abs(value) == np.inf:
                raise infinite(label, _first_row(places, k))
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

    def first_value(self, _: int) -> tuple[int, Any]:
        """The first row that has a value, and the value."""
        row = int(np.argmax(self.places >= 0))
        return row, self.value(row, 0)

    def value(self, row: int, _: int) -> Any:
        """The value in a row that has one."""
        return self.values[self.places[row]]

    def distinct(self, which: Array) -> list[list[Any]]:
        """Its values in the order of their codes, once for each place in `which`."""
        if self.declared:
            return [self.values for _ in which]
        if self.value_kind == "flag":
            return [[False, True] for _ in which]
        return [sorted(self.values) for _ in which]

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
            out[row] = np.array([*map(_as_float, self.values), np.nan])[self.places]


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


def _one_kind(found: dict[int, Any], places: Array, label: Any) -> str | None:
    """The kind that all values are of; `found` are the values by their place."""
    kinds = {kind: _kind_of(kind) for kind in {type(value) for value in found.values()}}

    def first(kind: str) -> tuple[int | None, Any]:
        return next((_first_row(places, k), v) for k, v in found.items() if kinds[type(v)] == kind)

    names = sorted(set(kinds.values()), reverse=True)
    if "date" in names:
        raise dates(label, *first("date"))
    if "other" in names:
        raise strange(label, *first("other"))
    if len(names) > 1:
        raise mixed(label, {name: first(name) for name in names[:2]})
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


def _plain(value: Any, kind: str | None) -> Any:
    if kind == "text":
        return str(value)
    if kind == "flag":
        return bool(value)
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits
        return float("inf")
