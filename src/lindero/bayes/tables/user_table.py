"""Any table a user may pass, as columns that are read alike.

Arrays and lists of lists are judged by scikit-learn's own check, dataframes of any library come
through narwhals. The dtype of a column says what it is: numbers are numbers; text, truth values and
categories are categories; a column of objects is what its values are, all of one kind. Missing are
NaN, None, NaT, and what pandas, polars and Arrow have for it. Dates are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils import check_array

from lindero.bayes.tables.frame_columns import frame_column
from lindero.bayes.tables.listed_column import ListedColumn
from lindero.bayes.tables.matrix_columns import MatrixColumns
from lindero.runtime.arrays import Array

Part = MatrixColumns | ListedColumn


@dataclass(frozen=True)
class UserTable:
    """A table as it was passed, whose columns can be asked for values, codes or numbers.

    Attributes
    ----------
    parts : tuple
        Its columns from left to right, in groups: an array is one, a dataframe has one for each.
    names : tuple of str or None
        Names of the columns; None where not all of them are text.
    n_rows : int
        Number of rows.
    """

    parts: tuple[Part, ...]
    names: tuple[str, ...] | None
    n_rows: int

    @classmethod
    def of(cls, X: Any) -> UserTable:
        """From whatever was passed as X."""
        if isinstance(X, cls):
            return X
        if type(X) is np.ndarray:
            return _from_array(X)
        frame = computed(X)
        return _from_frame(frame) if isinstance(frame, nw.DataFrame) else _from_array(X)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return sum(part.n_columns for part in self.parts)

    def place(self, column: int) -> tuple[Part, int]:
        """The part that a column is in, and its place there."""
        if len(self.parts) == 1:
            return self.parts[0], column
        return self.parts[column], 0

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

    def in_order(self, names: tuple[str, ...]) -> UserTable:
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


def computed(X: Any) -> Any:
    """X as narwhals has it, or as it is where that knows no such table; one that holds no rows yet
    is refused."""
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"Each column of X needs a name of its own. {error}") from None
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
    """An array that has kept what each value is: text would turn numbers into text, and numbers
    would turn truth values into numbers."""
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
    parts = tuple(frame_column(column, labels[j]) for j, column in enumerate(frame.iter_columns()))
    return UserTable(parts, names if named else None, n_rows)
