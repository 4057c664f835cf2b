"""Any table a user may pass, and the schema that reads it as categories and numbers.

Arrays and lists of lists are judged by scikit-learn's own check, dataframes of any library come
through narwhals. The dtype of a column says what it is: numbers are numbers; text, booleans and
categories are categories; a column of objects is what its values are, all of one kind. Missing are
NaN, None, NaT, and what pandas, polars and Arrow have for it. Dates are refused.

A schema is learned from the first table, reads further ones as the same columns, and can be
extended by the categories that a further batch brings. A column without any value is of a kind not
known yet: it is read as a category without values until a batch has one, which tells the kind. A
column that is left out (`Schema.tidy`) is read as one that is always missing. A schema holds plain
values only, so that it can be stored, and can read tables of another library than the one it was
learned from.

What it reads is a `Table`: categories as small integers, numbers as float64. An attribute with r
values is coded

    0        missing
    1 … r    its values, in the order in which the schema lists them
    r + 1    a value that the schema does not list (only in tables read for prediction)

and lies in memory as one row of codes, so that counting runs along contiguous rows. Values that
turn up later are appended: r grows, and the codes of old values stay what they were. Values that
only forgotten rows had are taken out again.

A schema is nothing without the tables that it reads, so that both are in one file.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils import check_array

from lindero.bayes.tables.column_readers import ListedColumn, MatrixColumns, require_finite
from lindero.bayes.tables.refusals import refuse_other_kind, refuse_unseen_value
from lindero.bayes.tables.summed_columns import SummedColumn
from lindero.bayes.tables.wide_columns import (
    FEW_VALUES,
    FEWEST_ROWS,
    OTHER,
    counts_rows,
    find_rare,
    is_name_of_ids,
    is_name_of_numbers,
    is_name_of_times,
    is_text,
    names_rows,
    rises,
)
from lindero.errors import warn_user
from lindero.runtime.arrays import Array
from lindero.validation import read_frame, require_numeric_columns

Part = MatrixColumns | ListedColumn

CATEGORY = "category"
NUMBER = "number"
UNKNOWN = "unknown"
LEFT_OUT = "left out"
UNSEEN = ("smooth", "missing", "error")

#: From here on a user is told that a column may be no category at all.
_MANY_CATEGORIES = 10_000


# -- tables as users pass them ---------------------------------------------------------------------


@dataclass(frozen=True)
class UserTable:
    """A table as it was passed, whose columns can be asked for values, codes or numbers."""

    parts: tuple[Part, ...]  # columns from left to right: an array is one part, a dataframe many
    names: tuple[str, ...] | None  # of the columns; None where not all of them are text
    n_rows: int

    @classmethod
    def of(cls, X: Any) -> UserTable:
        """From whatever was passed as X."""
        if isinstance(X, cls):
            return X
        if type(X) is np.ndarray:
            return _from_array(X)
        frame = require_computed(X)
        return _from_frame(frame) if isinstance(frame, nw.DataFrame) else _from_array(X)

    @property
    def n_columns(self) -> int:
        return sum(part.n_columns for part in self.parts)

    def place(self, column: int) -> tuple[Part, int]:
        """The part that a column is in, and its place there."""
        return (self.parts[0], column) if len(self.parts) == 1 else (self.parts[column], 0)

    def parts_of(self, columns: tuple[int, ...]) -> Iterator[tuple[Part, Array, slice]]:
        """Each part, its places that are among `columns`, and where these are in `columns`."""
        if len(self.parts) == 1 and columns:
            yield self.parts[0], np.array(columns), slice(0, len(columns))
        elif len(self.parts) > 1:
            for at, column in enumerate(columns):
                yield self.parts[column], np.zeros(1, dtype=np.intp), slice(at, at + 1)

    def distinct(self, columns: tuple[int, ...]) -> list[list[Any]]:
        """The values of some columns, as categories, in the order of their codes."""
        return [
            values for part, which, _ in self.parts_of(columns) for values in part.distinct(which)
        ]

    def reorder(self, names: tuple[str, ...]) -> UserTable:
        """With its columns in the order of `names`; only for a table that has names."""
        assert self.names is not None
        place = {name: at for at, name in enumerate(self.names)}
        told = {
            "Feature names unseen at fit time": set(place).difference(names),
            "Feature names seen at fit time, yet now missing": set(names).difference(place),
        }
        if any(told.values()):  # in scikit-learn's words
            raise ValueError(
                "The feature names should match those that were passed during fit.\n"
                + "".join(
                    f"{words}:\n" + "".join(f"- {name}\n" for name in sorted(found))
                    for words, found in told.items()
                    if found
                )
            )
        if names == self.names:
            return self
        return replace(self, parts=tuple(self.parts[place[name]] for name in names), names=names)


def require_computed(X: Any) -> Any:
    """X as narwhals has it, or as it is if that does not know it; one without rows is refused."""
    frame = read_frame(X, eager_only=False)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"X is a lazy table ({type(X).__name__}) that holds no rows yet. Have it computed "
            "first, by its method collect() or compute()."
        )
    return frame


def _from_array(X: Any) -> UserTable:
    if isinstance(X, np.ma.MaskedArray):
        kind = np.float64 if X.dtype.kind in "biuf" else object
        X = np.ma.filled(X.astype(kind), np.nan)
    if isinstance(X, (list, tuple)):
        X = _from_lists(X)
    values: Array = check_array(X, dtype=None, ensure_all_finite=False, input_name="X")
    n_rows, n_columns = values.shape
    if values.dtype.kind in "biuf":
        return UserTable((MatrixColumns(values, range(n_columns)),), None, n_rows)
    is_date = values.dtype.kind in "mM"  # a list of which may be one of integers
    columns = ((list if is_date else np.ndarray.tolist)(values[:, j]) for j in range(n_columns))
    parts = tuple(ListedColumn.of(column, j) for j, column in enumerate(columns))
    return UserTable(parts, None, n_rows)


def _from_lists(X: Any) -> Array:
    """An array of what each value is: NumPy turns numbers into text, and booleans into numbers."""
    array: Array = np.asarray(X)
    first_row = X[0] if array.ndim == 2 and len(X) else ()
    flags = any(isinstance(value, (bool, np.bool_)) for value in first_row)
    if array.dtype.kind in "US" or (array.dtype.kind in "iuf" and flags):
        return np.asarray(X, dtype=object)
    return array


def _from_frame(frame: nw.DataFrame[Any]) -> UserTable:
    n_rows, n_columns = frame.shape
    for size, what in ((n_rows, "sample"), (n_columns, "feature")):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={frame.shape}) while a minimum of 1 is "
                "required."
            )
    names = tuple(frame.columns)
    named = all(isinstance(name, str) for name in names)
    labels = names if named else range(n_columns)
    parts = tuple(
        read_frame_column(column, labels[j]) for j, column in enumerate(frame.iter_columns())
    )
    return UserTable(parts, names if named else None, n_rows)


# -- one column of a dataframe, through narwhals ---------------------------------------------------

_NO_NUMPY_NUMBER = (nw.Int128, nw.UInt128, nw.Decimal)


def read_frame_column(column: nw.Series[Any], label: Any) -> Part:
    """Numbers stay in their array; text, categories and objects are listed."""
    dtype = column.dtype
    if dtype.is_temporal():
        require_numeric_columns(column.alias(str(label)).to_frame())
    if isinstance(dtype, (nw.Categorical, nw.Enum)):
        return _categories(column, label)
    if isinstance(dtype, _NO_NUMPY_NUMBER):
        column = column.cast(nw.Float64)
    elif dtype.is_integer() or isinstance(dtype, nw.Boolean):
        if column.null_count():
            missing = column.is_null().to_numpy()[:, None]
            column = column.fill_null(False if isinstance(dtype, nw.Boolean) else 0)
            return MatrixColumns(column.to_numpy()[:, None], [label], missing)
    elif not dtype.is_float() and column.null_count() == len(column):
        return ListedColumn.of([None] * len(column), label)
    if column.dtype.is_numeric() or isinstance(dtype, (nw.Boolean, nw.Unknown)):
        values = column.to_numpy()
        if values.dtype.kind in "biuf":
            return MatrixColumns(values[:, None], [label])
    if isinstance(dtype, nw.String) and hasattr(column.to_native(), "dictionary_encode"):  # Arrow
        found = column.to_native().dictionary_encode().unify_dictionaries().combine_chunks()
        places = found.indices.fill_null(len(found.dictionary)).to_numpy(zero_copy_only=False)
        return ListedColumn.from_places([*found.dictionary.to_pylist(), None], places, label, False)
    return ListedColumn.of(column.to_list(), label)


def _categories(column: nw.Series[Any], label: Any) -> ListedColumn:
    """A column of categories: those that pandas' dtype or an Enum declares keep their order."""
    native = column.to_native()
    if hasattr(native, "cat") and hasattr(native.cat, "codes"):  # pandas
        found = native.cat.categories.tolist()
        if not all(isinstance(value, (str, int, float)) for value in found):
            found = [str(value) for value in found]  # intervals, dates
        return ListedColumn.from_places(found, native.cat.codes.to_numpy(), label, True)
    if isinstance(column.dtype, nw.Enum):
        declared = column.dtype.categories
    else:  # which others there may be is known to polars or Arrow, and says nothing
        declared = tuple(sorted(column.drop_nulls().unique().to_list()))
    return ListedColumn.of(column.to_list(), label, declared)


# -- the schema, and what it reads -----------------------------------------------------------------


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
    """A column of a table. Its kind is "category", "number", "left out", or "unknown" while it has
    no values and the user has not said; values are those of a category in the order of their codes
    1 … r: text, booleans or numbers. All values that are not among them are `other`, where it is
    not None. Columns have names in a table with names."""

    name: str | None
    kind: str
    values: tuple[Any, ...] = ()
    other: str | None = None

    def state(self) -> dict[str, Any]:
        """What files of models hold of it."""
        plain = {"name": self.name, "kind": self.kind, "values": self.values}
        return plain if self.other is None else {**plain, "other": self.other}

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

    def tidy(
        self,
        table: UserTable,
        least: int | None = None,
        keep: Container[int] = (),
        reads_texts: bool = False,
        most: int | None = None,
    ) -> tuple[Schema, list[str], list[str], list[str]]:
        """With rare values pooled and without columns that name rows and texts, as
        `lindero.bayes.tables.wide_columns` says: those of fewer rows than `least`, and all but the
        `most` most frequent ones. Columns in `keep` stay as they are, and so do all
        if none would be left: texts count as left where the caller `reads_texts`.

        Returns
        -------
        schema, names, texts, scattered
            The schema; and titles of columns left out: names of rows, texts, and categories in
            which all values are rare.
        """
        columns = list(self.columns)
        left: dict[str, list[str]] = {"names": [], "texts": [], "scattered": []}
        for at, column in enumerate(columns):
            part, place = table.place(at)
            if at in keep:
                continue
            if isinstance(part, MatrixColumns):
                why = "names" if _numbers_rows(part, place, column.name) else ""
            elif isinstance(part, SummedColumn) and part.value_kind == "number":
                why = "names" if part.numbers_rows(column.name) else ""
            elif part.value_kind == "text" and not part.declared and column.values:
                why, columns[at] = _pool(column, part, table.n_rows, least, most)
            else:
                continue
            if why:
                left[why].append(self.title(at))
                columns[at] = Column(column.name, LEFT_OUT)
        nothing_left = all(column.kind in (LEFT_OUT, UNKNOWN) for column in columns)
        if nothing_left and not (reads_texts and left["texts"]):
            return self, [], [], []
        return Schema(tuple(columns)), left["names"], left["texts"], left["scattered"]

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
        columns = list(self.columns)
        for column in self.unknown_columns:
            columns[column] = replace(columns[column], kind=_kind(*table.place(column)))
        schema = Schema(tuple(columns)) if self.unknown_columns else self
        added, which = [], schema.category_columns
        for column, values in zip(which, table.distinct(which), strict=True):
            known = set(columns[column].values)
            fixed = columns[column].kind == LEFT_OUT or columns[column].other is not None
            added.append([value for value in values if value not in known and not fixed])
        return schema._with_values(added) if any(added) else schema

    def keep_values(self, kept: list[Array]) -> Schema:
        """With some of the values of each category column only, `kept` being their slots 1 … r
        after the slot 0 of missing ones."""
        columns = list(self.columns)
        for column, slots in zip(self.category_columns, kept, strict=True):
            values = columns[column].values
            columns[column] = replace(
                columns[column], values=tuple(values[slot - 1] for slot in slots[1:])
            )
        return Schema(tuple(columns))

    def find_declared(self, X: Any) -> list[set[Any]]:
        """Of each category column, values that a table lists besides its rows: categories of a
        dtype, and both truth values."""
        table = self._match(UserTable.of(X))
        declared: list[set[Any]] = []
        for column in self.category_columns:
            part, place = table.place(column)
            flags = {False, True} if self.columns[column].value_kind == "flag" else set()
            listed = isinstance(part, ListedColumn) and part.declared
            declared.append(set(part.distinct(np.array([place]))[0]) if listed else flags)
            if (other := self.columns[column].other) is not None:
                declared[-1].add(other)
        return declared

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
        """Codes and numbers of a table with these columns, in any order if they have names. A new
        category becomes a code, r + 1 (`unseen="smooth"`), a missing value or an error."""
        if unseen not in UNSEEN:
            raise ValueError(f"unseen={unseen!r} is none of {list(UNSEEN)}.")
        table = self._match(UserTable.of(X))
        cards = np.array([len(self.columns[k].values) for k in self.category_columns], np.int64)
        code_type = choose_code_type(int(cards.max(initial=0)))
        codes = np.empty((len(cards), table.n_rows), code_type)
        others = [0] * len(cards) if unseen == "missing" else (cards + 1).tolist()
        if unseen == "error":  # which a column cannot have that has no values to differ from
            kinds = [self.columns[k].kind for k in self.category_columns]
            others = [other * (kind != UNKNOWN) for kind, other in zip(kinds, others, strict=True)]
        code_of = [
            {value: code for code, value in enumerate(self.columns[k].values, start=1)}
            for k in self.category_columns
        ]
        pooled = np.zeros(len(cards), dtype=bool)
        for at, k in enumerate(self.category_columns):
            if self.columns[k].kind == LEFT_OUT:
                others[at] = 0
            elif (other := self.columns[k].other) is not None:
                others[at], pooled[at] = code_of[at].get(other, others[at]), True
        for part, which, rows in table.parts_of(self.category_columns):
            if len(which) == 1 and self.columns[self.category_columns[rows.start]].kind == LEFT_OUT:
                codes[rows] = 0
            else:
                part.write_codes(which, code_of[rows], others[rows], codes[rows])
        if unseen == "error":
            self._require_seen(table, codes, others, pooled)
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

    def _require_seen(
        self, table: UserTable, codes: Array, others: list[int], pooled: Array
    ) -> None:
        for at, column in enumerate(self.category_columns):
            if pooled[at]:
                continue
            row = int(np.argmax(codes[at] == others[at]))
            if codes[at, row] == others[at] != 0:
                part, place = table.place(column)
                value, known = part.value(row, place), list(self.columns[column].values)
                refuse_unseen_value(self._label(column), row, value, known)

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
                refuse_other_kind(self._label(column), kind, *part.first_value(place))
        return table


def _kind(part: Part, place: int) -> str:
    """The kind of a column that is at some place of a part of a table."""
    return UNKNOWN if part.is_unknown(place) else part.kind(place)


def _numbers_rows(part: MatrixColumns, place: int, name: str | None) -> bool:
    """Whether numbers are those of rows: whole, all different, and under the name of an id, rising
    under that of a number, or without gaps in a column with a name."""
    values = part.values[:, place]
    if name is None or len(values) < FEWEST_ROWS or values.dtype.kind not in "iu":
        return False
    if part.missing is not None or is_name_of_times(name):
        return False
    if is_name_of_numbers(name) and rises(values):
        return True
    counts = counts_rows(int(values.min()), int(values.max()), len(values))
    return (counts or is_name_of_ids(name)) and len(np.unique(values)) == len(values)


def _pool(
    column: Column,
    part: ListedColumn | SummedColumn,
    n_rows: int,
    least: int | None,
    most: int | None,
) -> tuple[str, Column]:
    """Why a column of text is left out, if it is, and the column with its rare values pooled."""
    if names_rows(len(part.values), n_rows, part.values):
        return "names", column
    if len(part.values) > FEW_VALUES and is_text(part.values):
        return "texts", column
    count_of = dict(zip(part.values, part.count_values().tolist(), strict=True))
    rare = find_rare(np.array([count_of[v] for v in column.values]), n_rows, least, most)
    kept = [value for value, few in zip(column.values, rare, strict=True) if not few]
    if rare.sum() < 2:
        return "", column
    if not kept:
        return "scattered", column
    values = kept if OTHER in kept else [*kept, OTHER]
    return "", replace(column, values=tuple(values), other=OTHER)


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
        outside = [entry for entry in entries.tolist() if not -n_columns <= entry < n_columns]
        if outside:
            raise ValueError(
                f"categorical_features names column {outside[0]}, but X has {n_columns} columns: "
                f"positions are 0 to {n_columns - 1}."
            )
        return {entry % n_columns for entry in entries.tolist()}
    if not all(isinstance(entry, str) for entry in entries.tolist()):
        raise ValueError(f"{_FORMS}; it is {chosen!r}.")
    unknown = [entry for entry in entries.tolist() if entry not in (names or ())]
    if unknown:
        known = "have no names: give positions" if names is None else f"are {list(names)}"
        raise ValueError(
            f"categorical_features names column {unknown[0]!r}, but the columns of X {known}."
        )
    return {names.index(entry) for entry in entries.tolist()} if names else set()


# -- dataframes that are given back ---------------------------------------------------------------

_BACKENDS = ("pandas", "polars", "pyarrow")


def choose_backend(backend: str | None) -> Any:
    """The backend asked for, or the first that is installed."""
    if backend not in (None, *_BACKENDS):
        raise ValueError(f"backend={backend!r} is none of {list(_BACKENDS)}.")
    found = backend or next(filter(find_spec, _BACKENDS), None)
    if found is None:
        raise ImportError(f"A dataframe needs one of {list(_BACKENDS)}: install pandas, say.")
    return found


def find_free_name(name: str, taken: Container[str]) -> str:
    """The name, with as many underscores after it as it takes to be none of those taken."""
    while name in taken:
        name += "_"
    return name
