"""Writing tables: csv, tsv, parquet, arff and svmlight, whole or not at all."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from lindero.cli.output import Mistake, to_standard_output

#: Formats by how the names of their files end.
ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arff": "arff",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}

#: Cells of a table that may be made of sparse rows.
_MOST_CELLS = 10**8


def format_of(path: str, named: str | None = None) -> str:
    """The format that a file is to have."""
    found = named or ENDINGS.get(Path(path).suffix.lower())
    if found is None:
        raise Mistake(
            f"The name {path!r} does not say which format is meant: let it end with one of "
            f"{', '.join(ENDINGS)}."
        )
    return found


def write_columns(columns: dict[str, Any], path: str | None, named: str | None = None) -> None:
    """Write columns by name; to standard output, as csv, where there is no path."""
    import pyarrow as pa

    write_table(pa.table({name: pa.array(values) for name, values in columns.items()}), path, named)


def write_table(table: Any, path: str | None, named: str | None = None) -> None:
    """Write a table of Arrow in the format that the name of the file says."""
    kind = named or ("csv" if path is None else format_of(path))
    if kind == "svmlight":
        raise Mistake("A table with names cannot be written as svmlight: take csv or parquet.")
    write_bytes(_WRITERS[kind](table, kind), path)


def write_svmlight(X: Any, y: Any, qid: Any, path: str | None) -> None:
    """Write rows of numbers as ``label index:value``."""
    import numpy as np
    from sklearn.datasets import dump_svmlight_file

    file = io.BytesIO()
    labels = np.zeros(X.shape[0]) if y is None else np.array(y)
    queries = None if qid is None else np.array(qid)  # views of Arrow are read-only
    dump_svmlight_file(X, labels, file, zero_based=False, query_id=queries)
    write_bytes(file.getvalue(), path)


def write_bytes(data: bytes, path: str | None) -> None:
    """To a file, which is replaced at the end, or to standard output."""
    if path is None:
        with to_standard_output():
            click.echo(data, nl=False)
        return
    from lindero.persist.safe_file import write_whole_bytes

    write_whole_bytes(path, data)


def _csv(table: Any, kind: str) -> bytes:
    # Arrow's own writer puts quotes around all text.
    file = io.StringIO()
    writer = csv.writer(file, delimiter="\t" if kind == "tsv" else ",", lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return file.getvalue().encode("utf-8")


def _parquet(table: Any, _: str) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink)
    return bytes(sink.getvalue().to_pybytes())


def _arff(table: Any, _: str) -> bytes:
    import arff
    import pyarrow as pa

    attributes: list[tuple[str, Any]] = []
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            attributes.append((name, "REAL"))
            columns.append(column.to_pylist())
            continue
        values = [None if value is None else str(value) for value in column.to_pylist()]
        attributes.append((name, sorted({value for value in values if value is not None})))
        columns.append(values)
    rows = [list(row) for row in zip(*columns, strict=True)]
    text = arff.dumps({"relation": "lindero", "attributes": attributes, "data": rows})
    return bytes(text.encode("utf-8"))


_WRITERS: dict[str, Callable[[Any, str], bytes]] = {
    "csv": _csv,
    "tsv": _csv,
    "parquet": _parquet,
    "arff": _arff,
}


# -- data sets --------------------------------------------------------------------------------


def dataset_table(dataset: Any) -> Any:
    """All columns of a data set as one table: names, times, queries, weights, features, target."""
    import pyarrow as pa

    before = {"id": dataset.ids, "time": dataset.times, "qid": dataset.qid}
    before["weight"] = dataset.weights
    features = _feature_table(dataset.X)
    taken = set(features.column_names)
    columns: dict[str, Any] = {
        _free(name, taken): pa.array(values)
        for name, values in before.items()
        if values is not None
    }
    columns.update(zip(features.column_names, features.columns, strict=True))
    if dataset.y is not None:
        columns[_free(dataset.target or "target", set(columns))] = pa.array(dataset.y)
    return pa.table(columns)


def _feature_table(X: Any) -> Any:
    import pyarrow as pa

    if hasattr(X, "column_names"):
        return X
    if X.shape[0] * X.shape[1] > _MOST_CELLS:
        raise Mistake(
            f"The data have {X.shape[0]} rows of {X.shape[1]} features, most of them zero: as a "
            "table they would take too much room. Leave them as svmlight."
        )
    dense = X.toarray() if hasattr(X, "toarray") else X
    return pa.table({f"x{k + 1}": dense[:, k] for k in range(dense.shape[1])})


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
