"""Which columns a table has: which are categories with which values, which are numbers.

A schema is learned from the first table, reads further ones as the same columns, and can be
extended by the categories that a further batch brings. A column without any value is of a kind not
known yet: it is read as a category without values until a batch has one, which tells the kind. A
schema holds plain values only, so that it can be stored, and can read tables of another library
than the one it was learned from.

What it reads is a `Table`: categories as small integers, numbers as float64. An attribute with r
values is coded

    0        missing
    1 … r    its values, in the order in which the schema lists them
    r + 1    a value that the schema does not list (only in tables read for prediction)

and lies in memory as one row of codes, so that counting runs along contiguous rows. Values that
turn up later are appended: r grows, and the codes of old values stay what they were.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lindero.bayes.tables.column_readers import MatrixColumns, require_finite
from lindero.bayes.tables.refusals import another_kind, unseen_value
from lindero.bayes.tables.user_table import Part, UserTable
from lindero.errors import warn_user
from lindero.runtime.arrays import Array

CATEGORY = "category"
NUMBER = "number"
UNKNOWN = "unknown"
UNSEEN = ("smooth", "missing", "error")

#: From here on a user is told that a column may be no category at all.
_MANY_CATEGORIES = 10_000


@dataclass(frozen=True)
class Table:
    """Rows read by a schema. Its arrays are for reading: numbers may share the user's memory."""

    codes: Array  # of the category columns, (n_categories, n_rows), as `choose_code_type` says
    cards: Array  # number r of values of each, int64; 0 for a column without any
    numbers: Array  # (n_numbers, n_rows), float64; NaN is missing, and none is infinite
    n_rows: int


def choose_code_type(most_values: int) -> type[np.uint8 | np.uint16 | np.int32]:
    """The smallest type for codes of attributes with up to so many values."""
    if most_values + 1 <= np.iinfo(np.uint8).max:
        return np.uint8
    return np.uint16 if most_values + 1 <= np.iinfo(np.uint16).max else np.int32


@dataclass(frozen=True)
class Column:
    """A column of a table. Its kind is "category", "number", or "unknown" while it has no values
    and the user has not said; values are those of a category in the order of their codes 1 … r:
    text, booleans or numbers. Columns have names in a table with names."""

    name: str | None
    kind: str
    values: tuple[Any, ...] = ()

    @property
    def value_kind(self) -> str | None:
        """What its values are: "text", "flag" or "number"; None where there are none."""
        if self.kind == NUMBER:
            return "number"
        if not self.values:
            return None
        if isinstance(self.values[0], str):
            return "text"
        return "flag" if isinstance(self.values[0], bool) else "number"


@dataclass(frozen=True)
class Schema:
    """The columns of a table, from left to right.

    Examples
    --------
    >>> from lindero.bayes.tables.schema import Schema
    >>> rows = [["red", 1.5], ["blue", None], [None, 2.5]]
    >>> schema = Schema.learn(rows)
    >>> schema.columns[0].values
    ('blue', 'red')
    >>> schema.read(rows).codes.tolist()
    [[2, 1, 0]]
    >>> schema.read([["green", 1.5]]).codes.tolist()
    [[3]]
    """

    columns: tuple[Column, ...]

    @classmethod
    def learn(cls, X: Any, categorical_features: Any = None) -> Schema:
        """The schema of a table. `categorical_features` are columns that are categories whatever
        their dtype: all, or some by position, by name or by a mask. A `UserTable` that is also
        read afterwards is looked through only once."""
        table = UserTable.of(X)
        chosen = choose_columns(categorical_features, table.names, table.n_columns)
        kinds = [_kind(*table.place(column)) for column in range(table.n_columns)]
        named = table.names or [None] * table.n_columns
        schema = cls(
            tuple(
                Column(name, CATEGORY if column in chosen else kind)
                for column, (name, kind) in enumerate(zip(named, kinds, strict=True))
            )
        )
        return schema._with_values(table.distinct(schema.category_columns))

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns, in a table with names."""
        names = tuple(column.name for column in self.columns if column.name is not None)
        return names if len(names) == self.n_columns else None

    @property
    def n_columns(self) -> int:
        return len(self.columns)

    @property
    def category_columns(self) -> tuple[int, ...]:
        """Which column each row of a table's codes is, those of unknown kind being among them."""
        return tuple(k for k, column in enumerate(self.columns) if column.kind != NUMBER)

    @property
    def number_columns(self) -> tuple[int, ...]:
        """Which column each row of a table's numbers is."""
        return tuple(k for k, column in enumerate(self.columns) if column.kind == NUMBER)

    @property
    def unknown_columns(self) -> tuple[int, ...]:
        """Columns whose kind is not known yet."""
        return tuple(k for k, column in enumerate(self.columns) if column.kind == UNKNOWN)

    def title(self, column: int) -> str:
        """Name of a column; x0, x1 and so on where it has none."""
        name = self.columns[column].name
        return f"x{column}" if name is None else name

    def extend(self, X: Any) -> Schema:
        """With the categories that a further table brings appended, sorted among themselves, and
        with the kinds of columns that have their first values there."""
        table = self._match(UserTable.of(X))
        schema = self._settle(table)
        added = []
        for column, values in zip(
            schema.category_columns, table.distinct(schema.category_columns), strict=True
        ):
            known = set(schema.columns[column].values)
            added.append([value for value in values if value not in known])
        return schema._with_values(added) if any(added) else schema

    def _settle(self, table: UserTable) -> Schema:
        """With the kinds that the values of a table tell."""
        if not self.unknown_columns:
            return self
        columns = list(self.columns)
        for column in self.unknown_columns:
            columns[column] = replace(columns[column], kind=_kind(*table.place(column)))
        return Schema(tuple(columns))

    def _with_values(self, added: Iterable[list[Any]]) -> Schema:
        columns = list(self.columns)
        for column, values in zip(self.category_columns, added, strict=True):
            before = columns[column].values
            columns[column] = replace(columns[column], values=before + tuple(values))
            if len(before) < _MANY_CATEGORIES <= len(before) + len(values):
                warn_user(
                    f"Column {self._label(column)!r} has {len(before) + len(values)} categories. "
                    "If it names or numbers the rows, leave it out; if it holds numbers, leave it "
                    "out of categorical_features.",
                    UserWarning,
                )
        return Schema(tuple(columns))

    def read(self, X: Any, *, unseen: str = "smooth") -> Table:
        """Codes and numbers of a table with these columns; those with names may come in another
        order.

        A category that is none of the schema's becomes a code of its own, r + 1
        (`unseen="smooth"`), a missing value ("missing"), or an error ("error").
        """
        if unseen not in UNSEEN:
            raise ValueError(f"unseen={unseen!r} is none of {list(UNSEEN)}.")
        table = self._match(UserTable.of(X))
        cards = np.array([len(self.columns[k].values) for k in self.category_columns], np.int64)
        codes = np.empty(
            (len(cards), table.n_rows), dtype=choose_code_type(int(cards.max(initial=0)))
        )
        others = [0] * len(cards) if unseen == "missing" else (cards + 1).tolist()
        if unseen == "error":  # which a column cannot have that has no values to differ from
            kinds = [self.columns[k].kind for k in self.category_columns]
            others = [other * (kind != UNKNOWN) for kind, other in zip(kinds, others, strict=True)]
        code_of = [
            {value: code for code, value in enumerate(self.columns[k].values, start=1)}
            for k in self.category_columns
        ]
        for part, which, rows in table.parts_of(self.category_columns):
            part.write_codes(which, code_of[rows], others[rows], codes[rows])
        if unseen == "error":
            self._require_seen(table, codes, others)
        numbers = self._numbers(table)
        require_finite(numbers, [self._label(column) for column in self.number_columns])
        return Table(codes, cards, numbers, table.n_rows)

    def _numbers(self, table: UserTable) -> Array:
        if len(table.parts) == 1 and len(self.number_columns) == self.n_columns:
            part = table.parts[0]
            shared = part.shared_numbers() if isinstance(part, MatrixColumns) else None
            if shared is not None:
                return shared
        numbers = np.empty((len(self.number_columns), table.n_rows))
        for part, which, rows in table.parts_of(self.number_columns):
            part.write_numbers(which, numbers[rows])
        return numbers

    def _require_seen(self, table: UserTable, codes: Array, others: list[int]) -> None:
        for at, column in enumerate(self.category_columns):
            row = int(np.argmax(codes[at] == others[at]))
            if codes[at, row] == others[at] != 0:
                part, place = table.place(column)
                value, known = part.value(row, place), list(self.columns[column].values)
                raise unseen_value(self._label(column), row, value, known)

    def _label(self, column: int) -> Any:
        name = self.columns[column].name
        return column if name is None else name

    def _match(self, table: UserTable) -> UserTable:
        """The table with its columns in the order of the schema's, and of the same kinds."""
        if self.names is not None and table.names is not None:
            table = table.reorder(self.names)
        elif table.n_columns != self.n_columns:
            raise ValueError(
                f"X has {table.n_columns} features, but {self.n_columns} were given to fit: pass "
                "the same columns."
            )
        for column, known in enumerate(self.columns):
            part, place = table.place(column)
            kind = known.value_kind
            # Truth values are numbers too, 0 and 1; text matches text only.
            if kind is None or (kind == "text") == (part.value_kind == "text"):
                continue
            if part.has_values(place):
                raise another_kind(self._label(column), kind, *part.first_value(place))
        return table


def _kind(part: Part, place: int) -> str:
    """The kind of a column that is at some place of a part of a table."""
    return UNKNOWN if part.is_unknown(place) else part.kind(place)


# -- which columns a user has said to be categories -----------------------------------------------

_FORMS = (
    "categorical_features must be None, 'all', a list of names or positions of columns, or a mask "
    "with one boolean for each column"
)


def choose_columns(chosen: Any, names: tuple[str, ...] | None, n_columns: int) -> set[int]:
    """Positions of the columns that `categorical_features` names."""
    if chosen is None:
        return set()
    if isinstance(chosen, str):
        if chosen == "all":
            return set(range(n_columns))
        raise ValueError(f"{_FORMS}; it is {chosen!r}. One column is a list too: [{chosen!r}].")
    entries = np.asarray(chosen)
    if entries.ndim != 1:
        raise ValueError(f"{_FORMS}; it is {chosen!r}.")
    if len(entries) == 0:
        return set()
    if entries.dtype.kind == "b":
        if len(entries) != n_columns:
            raise ValueError(
                f"categorical_features is a mask of {len(entries)} booleans, but X has "
                f"{n_columns} columns."
            )
        return set(np.flatnonzero(entries).tolist())
    if entries.dtype.kind in "iu":
        return {_position(int(entry), n_columns) for entry in entries}
    if all(isinstance(entry, str) for entry in entries.tolist()):
        return {_position_of(str(entry), names) for entry in entries}
    raise ValueError(f"{_FORMS}; it is {chosen!r}.")


def _position(entry: int, n_columns: int) -> int:
    if not -n_columns <= entry < n_columns:
        raise ValueError(
            f"categorical_features names column {entry}, but X has {n_columns} columns: positions "
            f"are 0 to {n_columns - 1}."
        )
    return entry % n_columns


def _position_of(entry: str, names: tuple[str, ...] | None) -> int:
    if names is None or entry not in names:
        known = "have no names: give positions" if names is None else f"are {list(names)}"
        raise ValueError(
            f"categorical_features names column {entry!r}, but the columns of X {known}."
        )
    return names.index(entry)
