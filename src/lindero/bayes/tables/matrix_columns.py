"""Columns of numbers that share one array, row by row or column by column, of any real type.

Nothing is done before it is asked for, and no copy is made of the whole: a table of a million rows
is read in blocks, straight into its codes or its transposed numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lindero.bayes.tables.listed_column import ListedColumn
from lindero.bayes.tables.refusals import infinite
from lindero.bayes.tables.whole_numbers import code_whole, distinct_whole, row_blocks
from lindero.runtime.arrays import Array

#: Rows that are looked at first for a value.
_FIRST_ROWS = 16


class MatrixColumns:
    """Some columns of a user's table.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
        Of any real dtype; NaN is missing.
    labels : sequence
        Name or position of each column, for messages.
    missing : ndarray of shape (n_rows, n_columns) or None, default=None
        Which are missing besides.
    """

    def __init__(self, values: Array, labels: Sequence[Any], missing: Array | None = None) -> None:
        self.values = values
        self.labels = labels
        self.missing = missing
        self._listed: dict[int, ListedColumn] = {}

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    def kind(self, _: int) -> str:
        """What a column is unless the user says otherwise: "category" or "number"."""
        return "category" if self.value_kind == "flag" else "number"

    @property
    def value_kind(self) -> str:
        """What the values are: "flag" or "number"."""
        return "flag" if self.values.dtype.kind == "b" else "number"

    def has_values(self, column: int) -> bool:
        """Whether any row has a value there."""
        # Most often one of the first rows has, and the others need no look.
        return bool(self._present(column, _FIRST_ROWS).any() or self._present(column).any())

    def is_unknown(self, column: int) -> bool:
        """Whether nothing tells yet what the column holds."""
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
        """The first row that has a value, and the value."""
        row = int(np.argmax(self._present(column)))
        return row, self.value(row, column)

    def value(self, row: int, column: int) -> Any:
        """The value in a row that has one."""
        return self.values[row, column].item()

    def distinct(self, which: Array) -> list[list[Any]]:
        """The values of some columns in the order of their codes."""
        if self.value_kind == "flag":
            return [[False, True] for _ in which]
        found: list[list[Any]] = []
        for place, values in enumerate(distinct_whole(self.values, self.missing, which)):
            if values is None:
                found.append(sorted(self._as_listed(int(which[place])).values))
            else:
                is_float = self.values.dtype.kind == "f"
                found.append([float(value) for value in values] if is_float else list(values))
        return found

    def write_codes(
        self, which: Array, code_of: Sequence[dict[Any, int]], unseen: Sequence[int], out: Array
    ) -> None:
        """Write the codes of some columns to the rows of `out`."""
        done = code_whole(self.values, self.missing, which, code_of, unseen, out)
        for row in np.flatnonzero(~done).tolist():
            listed = self._as_listed(int(which[row]))
            at = slice(row, row + 1)
            listed.write_codes(which[at], code_of[at], unseen[at], out[at])

    def _as_listed(self, column: int) -> ListedColumn:
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
            self._listed[column] = ListedColumn.numbered(found.tolist(), places, label, False)
        return self._listed[column]

    def write_numbers(self, which: Array, out: Array) -> None:
        """Write some columns to the rows of `out`, float64."""
        every = len(which) == self.n_columns and bool((which == np.arange(len(which))).all())
        for rows in row_blocks(len(self.values), len(which)):
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
    for rows in row_blocks(numbers.shape[1], len(numbers)):
        bad = np.isinf(numbers[:, rows])
        if bad.any():
            row, column = np.argwhere(bad.T)[0]
            raise infinite(labels[column], rows.start + int(row))
