"""What is known of a column from parts of its table, which need not be in memory together.

Kinds, values and how many rows have each add up over parts, so that a schema can be learned from
them as from the table itself. A `SummedColumn` answers what `Schema` asks of a column to learn its
kind and values; it has no rows to read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lindero.bayes.tables.column_readers import ListedColumn, MatrixColumns
from lindero.bayes.tables.wide_columns import (
    FEWEST_ROWS,
    counts_rows,
    is_name_of_ids,
    is_name_of_times,
)
from lindero.runtime.arrays import Array

#: Values of a column that are kept; more cannot be categories, and would fill the memory.
MOST_VALUES = 2**20

#: Whole numbers that are kept to see whether all differ; of more, only parts are known to.
_MOST_NUMBERS = 2**22

_WORDS = {"text": "text", "flag": "truth values", "number": "numbers"}


@dataclass(frozen=True)
class WholeNumbers:
    """Whole numbers of a column that may number the rows: the least, the largest, and all of them
    as long as they differ and are not too many."""

    least: int
    most: int
    n_rows: int
    differ: bool
    numbers: Array | None

    @classmethod
    def of(cls, values: Array) -> Self:
        least, most = int(values.min()), int(values.max())
        if most - least + 1 < len(values):
            return cls(least, most, len(values), False, None)
        numbers = np.unique(values)
        differ = len(numbers) == len(values)
        keeps = differ and len(numbers) <= _MOST_NUMBERS
        return cls(least, most, len(values), differ, numbers if keeps else None)

    def merge(self, other: Self) -> Self:
        least, most = min(self.least, other.least), max(self.most, other.most)
        n_rows, differ, numbers = self.n_rows + other.n_rows, self.differ and other.differ, None
        if most - least + 1 < n_rows:
            differ = False
        apart = self.most < other.least or other.most < self.least
        if differ and self.numbers is not None and other.numbers is not None:
            numbers = np.union1d(self.numbers, other.numbers)
            differ = apart or len(numbers) == n_rows
        keeps = differ and numbers is not None and len(numbers) <= _MOST_NUMBERS
        return type(self)(least, most, n_rows, differ, numbers if keeps else None)


@dataclass(frozen=True)
class SummedColumn:
    """One column: the kind of its values; these, and how many rows have each, where it may be a
    category (`listed`); and whole numbers that may be those of rows."""

    label: Any
    value_kind: str | None
    declared: bool
    listed: bool
    values: list[Any]
    counts: Array
    whole: WholeNumbers | None
    n_columns = 1

    @classmethod
    def of(
        cls, part: MatrixColumns | ListedColumn, place: int, label: Any, is_category: bool
    ) -> Self:
        """From one part of the table, that has rows; `is_category` where the user has said so."""
        if part.is_unknown(place):
            return cls(label, None, False, is_category, [], np.zeros(0, np.int64), None)
        kind, which = part.value_kind, np.array([place])
        declared = isinstance(part, ListedColumn) and part.declared
        listed = is_category or part.kind(place) == "category"
        values, counts, whole = [], np.zeros(0, np.int64), None
        if listed:
            values = list(part.distinct(which)[0])
            counts = np.zeros(len(values), np.int64)
            if isinstance(part, ListedColumn):
                of_value = dict(zip(part.values, part.count_values().tolist(), strict=True))
                counts = np.array([of_value.get(value, 0) for value in values], np.int64)
        elif isinstance(part, MatrixColumns) and isinstance(label, str):
            numbers = part.values[:, place]
            if numbers.dtype.kind in "iu" and part.missing is None and not is_name_of_times(label):
                whole = WholeNumbers.of(numbers)
        return cls(label, kind, declared, listed, values, counts, whole)

    def merge(self, other: Self) -> Self:
        """The column of both parts."""
        if self.value_kind is None or other.value_kind is None:
            known = other if self.value_kind is None else self
            return type(self)(
                known.label, known.value_kind, known.declared, known.listed, known.values,
                known.counts, None,
            )  # fmt: skip
        if self.value_kind != other.value_kind:
            kinds = [_WORDS[str(one.value_kind)] for one in (self, other)]
            raise ValueError(
                f"Column {self.label!r} holds {kinds[0]} in one partition, and {kinds[1]} in "
                "another: make all of them of one kind."
            )
        values, counts = self._join_values(other)
        if len(values) > MOST_VALUES:
            raise ValueError(
                f"Column {self.label!r} has more than {MOST_VALUES} different values: it names the "
                "rows, or is text, of which nothing can be learned. Leave it out."
            )
        whole = None
        if self.whole is not None and other.whole is not None:
            whole = self.whole.merge(other.whole)
        declared, listed = self.declared and other.declared, self.listed or other.listed
        return type(self)(self.label, self.value_kind, declared, listed, values, counts, whole)

    def _join_values(self, other: Self) -> tuple[list[Any], Array]:
        if self.values == other.values:
            # Whole numbers stay so only if they are in both parts.
            floats = any(isinstance(value, float) for value in other.values)
            return (other if floats else self).values, self.counts + other.counts
        one = dict(zip(self.values, self.counts.tolist(), strict=True))
        two = dict(zip(other.values, other.counts.tolist(), strict=True))
        values = list(dict.fromkeys([*self.values, *other.values]))
        if any(isinstance(value, float) for value in values):
            values = [float(value) for value in values]
        if not (self.declared and other.declared):
            values = sorted(values)
        counts = [one.get(value, 0) + two.get(value, 0) for value in values]
        return values, np.array(counts, np.int64)

    def kind(self, _: int) -> str:
        """What it is unless the user says otherwise."""
        return "number" if self.value_kind == "number" and not self.declared else "category"

    def is_unknown(self, _: int) -> bool:
        return self.value_kind is None

    def distinct(self, which: Array) -> list[list[Any]]:
        """Its values in the order of their codes."""
        return [self.values for _ in which]

    def count_values(self) -> Array:
        """How many rows have each value."""
        return self.counts

    def numbers_rows(self, name: str | None) -> bool:
        """Whether its numbers are those of rows; see `wide_columns`."""
        whole = self.whole
        return whole is not None and whole.n_rows >= FEWEST_ROWS and self.may_number_rows(name)

    def may_number_rows(self, name: str | None) -> bool:
        """The same of a few rows, which are not enough to be sure."""
        whole = self.whole
        if name is None or whole is None or not whole.differ:
            return False
        return counts_rows(whole.least, whole.most, whole.n_rows) or is_name_of_ids(name)


def merge_columns(
    one: tuple[SummedColumn, ...], other: tuple[SummedColumn, ...]
) -> tuple[SummedColumn, ...]:
    """The columns of both parts."""
    return tuple(first.merge(second) for first, second in zip(one, other, strict=True))
