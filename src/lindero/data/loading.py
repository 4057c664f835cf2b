"""Loading a file: its format, its columns, and the part that each plays."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lindero.data.content import Content, read_content
from lindero.data.csv_files import read_csv
from lindero.data.dataset import Dataset
from lindero.data.declared_files import read_declared
from lindero.data.formats import named_format, recognised_format, require_no_other
from lindero.data.parquet_files import read_parquet
from lindero.data.roles import Roles
from lindero.data.row_values import (
    kind_of,
    names_of_rows,
    number_targets,
    query_values,
    target_values,
    time_values,
    weight_values,
)
from lindero.data.source_table import SourceTable
from lindero.data.svmlight_files import read_svmlight

if TYPE_CHECKING:
    import pyarrow as pa


def load(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    target: str | int | bool | None = None,
    time: str | int | None = None,
    qid: str | int | None = None,
    weight: str | int | None = None,
    id: str | int | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
) -> Dataset:
    """Load a table from a file.

    Columns are named, or given by their position, counted from 0, or from −1 backwards.

    Parameters
    ----------
    path : str or path-like
        The file, packed with gzip or not; "-" is standard input.
    format : {"csv", "tsv", "parquet", "arff", "keel", "svmlight"}, default=None
        Format of the file; None tells it from what the file holds.
    target : str, int or False, default=None
        The column to predict. None takes one called class, target, label or y, in capitals or not,
        or else the last one; False takes none, so that all columns are features.
    time : str or int, default=None
        The column of times: numbers, or dates such as 2024-05-01T12:30:00.
    qid : str or int, default=None
        The column that says which query a row belongs to. svmlight files have their own.
    weight : str or int, default=None
        The column of weights.
    id : str or int, default=None
        The column that names the rows. It is kept as text and is no feature.
    header : bool, default=None
        Whether the first line of a CSV file names the columns; None tells it from the lines below.
    delimiter : str, default=None
        The character between fields of a CSV file; None tells it from the first lines.

    Returns
    -------
    data : Dataset
        Features, target, and what else is known of each row.

    Raises
    ------
    DataError
        If the file cannot be read or has no such column. The message says what to do.

    Examples
    --------
    >>> import os, tempfile
    >>> from lindero.data import load
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "flowers.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("petal,colour,class\\n1.4,red,a\\n4.7,?,b\\n1.3,red,a\\n5.1,blue,b\\n")
    >>> data = load(path)
    >>> data.summary()  # doctest: +NORMALIZE_WHITESPACE
    "flowers.csv: 4 rows, 2 columns (1 number, 1 category), 12.5 % missing;
    target 'class': a 2, b 2"
    >>> folder.cleanup()
    """
    roles = Roles(target, time, qid, weight, id)
    chosen = None if format is None else named_format(format)
    content = read_content(path)
    try:
        return loaded(content, chosen, roles, header, delimiter)
    except MemoryError:
        raise content.error("needs more memory than there is.") from None


def loaded(
    content: Content,
    chosen: str | None,
    roles: Roles,
    header: bool | None = None,
    delimiter: str | None = None,
) -> Dataset:
    """The data in a file that has been read."""
    kind = chosen or recognised_format(content)
    if kind not in ("csv", "tsv") and not (header is None and delimiter is None):
        raise content.error(f"header= and delimiter= are for CSV files, but this is {kind}.")
    if kind == "parquet":
        return from_table(read_parquet(content), roles, content)
    require_no_other(content)
    content = content.as_text()
    if kind == "svmlight":
        return _from_svmlight(content, roles)
    if kind in ("arff", "keel"):
        return from_table(read_declared(content), roles, content)
    if kind == "tsv" and delimiter is None:
        delimiter = "\t"
    return from_table(read_csv(content, delimiter, header), roles, content)


def _from_svmlight(content: Content, roles: Roles) -> Dataset:
    if unfit := roles.given():
        part = next(iter(unfit))
        raise content.error(
            f"{part}={unfit[part]!r} was given, but columns of svmlight files have no names: the "
            "target stands first in each row, and qid: after it."
        )
    X, y, queries = read_svmlight(content)
    if roles.target is False:
        return Dataset(X, None, None, {}, content.source, qid=queries)
    return Dataset(X, number_targets(y), "label", {}, content.source, qid=queries)


def from_table(source: SourceTable, roles: Roles, content: Content) -> Dataset:
    """A table with each column in its part."""
    table, outputs = source.table, source.outputs
    named = roles.resolved(table.column_names, content, outputs)
    taken = {name for name in vars(named).values() if name is not None}
    features = [name for name in table.column_names if name not in taken]
    if source.inputs is not None:
        features = [name for name in features if name in source.inputs]
    if not features:
        raise content.error(
            "has no columns left for features: all of them have another part. Pass target=False if "
            "there is no target."
        )

    def values(name: str) -> pa.ChunkedArray:
        from pyarrow import types

        column = table[name]
        return source.text_of(name) if types.is_temporal(column.type) else column

    columns = [values(name) for name in features]
    X = type(table).from_arrays(columns, names=features)
    return Dataset(
        X=X,
        y=None if named.target is None else target_values(values(named.target)),
        target=named.target,
        kinds={name: kind_of(column) for name, column in zip(features, columns, strict=True)},
        source=content.source,
        times=named.time and time_values(table[named.time], named.time, content),
        weights=named.weight and weight_values(values(named.weight), named.weight, content),
        qid=named.qid and query_values(values(named.qid), named.qid, content),
        ids=named.id and names_of_rows(source.text_of(named.id)),
    )
