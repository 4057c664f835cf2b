"""Any table a user may pass, as columns that are read alike; and dataframes to be given back.

Arrays and lists of lists are judged by scikit-learn's own check, dataframes of any library come
through narwhals. The dtype of a column says what it is: numbers are numbers; text, booleans and
categories are categories; a column of objects is what its values are, all of one kind. Missing are
NaN, None, NaT, and what pandas, polars and Arrow have for it. Dates are refused.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils import check_array

from lindero.bayes.tables.column_readers import ListedColumn, MatrixColumns
from lindero.runtime.arrays import Array
from lindero.validation import require_numeric_columns

Part = MatrixColumns | ListedColumn


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
    would turn booleans into numbers."""
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


def read_frame_column(column: nw.Series[Any], label: Any) -> MatrixColumns | ListedColumn:
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


# -- dataframes that are given back ---------------------------------------------------------------

_BACKENDS = ("pandas", "polars", "pyarrow")


def choose_backend(backend: str | None) -> Any:
    """The backend asked for, or the first that is installed."""
    if backend is not None:
        if backend not in _BACKENDS:
            raise ValueError(f"backend={backend!r} is none of {list(_BACKENDS)}.")
        return backend
    for name in _BACKENDS:
        if find_spec(name) is not None:
            return name
    raise ImportError(f"A dataframe needs one of {list(_BACKENDS)}: install pandas, for example.")


def find_free_name(name: str, taken: Container[str]) -> str:
    """The name, with as many underscores after it as it takes to be none of those taken."""
    while name in taken:
        name += "_"
    return name
