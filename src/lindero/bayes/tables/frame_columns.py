"""One column of a dataframe of any library, through narwhals."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from lindero.bayes.tables.listed_column import ListedColumn
from lindero.bayes.tables.matrix_columns import MatrixColumns
from lindero.validation import require_numeric_columns

_NO_NUMPY_NUMBER = (nw.Int128, nw.UInt128, nw.Decimal)


def frame_column(column: nw.Series[Any], label: Any) -> MatrixColumns | ListedColumn:
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
        return ListedColumn.numbered(found, native.cat.codes.to_numpy(), label, True)
    if isinstance(column.dtype, nw.Enum):
        declared = column.dtype.categories
    else:  # which others there may be is known to polars or Arrow, and says nothing
        declared = tuple(sorted(column.drop_nulls().unique().to_list()))
    return ListedColumn.of(column.to_list(), label, declared)
