"""Writing tables as csv, tsv, parquet, arff or svmlight: completely, or not at all."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from lindero.cli.output import CommandError, writing_to_standard_output

#: Formats by file extension.
ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arff": "arff",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}

#: Cells that a table made from sparse rows may have.
_MOST_CELLS = 10**8


def require_writable(*paths: str | None) -> None:
    """Refuse paths that cannot be written to, before any work is done; None is no path."""
    for path in filter(None, paths):
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_dir():
            raise CommandError(
                f"The folder {str(folder)!r} does not exist: create it before saving {path!r}."
            )
        if Path(path).is_dir():
            raise CommandError(f"{path!r} is a folder. Give the name of a file.")
        if not os.access(folder, os.W_OK):
            raise CommandError(f"You have no permission to write to the folder {str(folder)!r}.")


def choose_format(path: str, named: str | None = None) -> str:
    """The format of a file to write: the one that is named, or that of its extension."""
    found = named or ENDINGS.get(Path(path).suffix.lower())
    if found is None:
        raise CommandError(
            f"The format of {path!r} is unclear: use one of the extensions {', '.join(ENDINGS)}."
        )
    return found


def write_columns(columns: dict[str, Any], path: str | None) -> None:
    """Write named columns; without a path as csv to standard output."""
    import pyarrow as pa

    write_table(pa.table({name: pa.array(values) for name, values in columns.items()}), path)


def write_table(table: Any, path: str | None, named: str | None = None) -> None:
    """Write an Arrow table."""
    kind = named or ("csv" if path is None else choose_format(path))
    if kind == "svmlight":
        raise CommandError("Named columns cannot be written as svmlight: use csv or parquet.")
    write_bytes(_WRITERS[kind](table, kind), path)


def write_bytes(data: bytes, path: str | None) -> None:
    """Write to a file, which is replaced at the end, or to standard output."""
    if path is None:
        with writing_to_standard_output():
            click.echo(data, nl=False)
        return
    from lindero.persist.safe_file import write_whole_bytes

    write_whole_bytes(path, data)


def _encode_csv(table: Any, kind: str) -> bytes:
    # Arrow's own writer puts quotes around all text.
    file = io.StringIO()
    writer = csv.writer(file, delimiter="\t" if kind == "tsv" else ",", lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return file.getvalue().encode("utf-8")


def _encode_parquet(table: Any, _: str) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink)
    return bytes(sink.getvalue().to_pybytes())


def _encode_arff(table: Any, _: str) -> bytes:
    import arff
    import pyarrow as pa

    attributes: list[tuple[str, Any]] = []
    columns: list[Any] = []
    kind: Any
    for name, column in zip(table.column_names, table.columns, strict=True):
        values, kind = column.to_pylist(), "REAL"
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            values = [None if value is None else str(value) for value in values]
            kind = sorted({value for value in values if value is not None})
        attributes.append((name, kind))
        columns.append(values)
    rows = [list(row) for row in zip(*columns, strict=True)]
    text = arff.dumps({"relation": "lindero", "attributes": attributes, "data": rows})
    return bytes(text.encode("utf-8"))


_WRITERS: dict[str, Callable[[Any, str], bytes]] = {
    "csv": _encode_csv,
    "tsv": _encode_csv,
    "parquet": _encode_parquet,
    "arff": _encode_arff,
}


def write_dataset(dataset: Any, path: str, named: str | None = None) -> None:
    """Write a data set in the format that is named, or that the name of the file says."""
    if choose_format(path, named) == "svmlight":
        write_svmlight(require_numbers(dataset), dataset, path)
    else:
        write_table(build_table(dataset), path, named)


def build_table(dataset: Any) -> Any:
    """Join a data set to one table: names, times, queries, weights, features, target."""
    import pyarrow as pa

    features = _build_features(dataset.X)
    columns: dict[str, Any] = {}

    def add(name: str, values: Any) -> None:
        while name in columns or name in features.column_names:
            name += "_"
        if values is not None:
            columns[name] = pa.array(values)

    add("id", dataset.ids)
    add("time", dataset.times)
    add("qid", dataset.qid)
    add("weight", dataset.weights)
    columns.update(zip(features.column_names, features.columns, strict=True))
    add(dataset.target or "target", dataset.y)
    return pa.table(columns)


def _build_features(X: Any) -> Any:
    import pyarrow as pa

    if hasattr(X, "column_names"):
        return X
    if X.shape[0] * X.shape[1] > _MOST_CELLS:
        raise CommandError(
            f"The data have {X.shape[0]} rows of {X.shape[1]} features, most of them zero: as a "
            "table they would take too much memory. Keep them as svmlight."
        )
    dense = X.toarray() if hasattr(X, "toarray") else X
    return pa.table({f"x{k + 1}": dense[:, k] for k in range(dense.shape[1])})


def require_numbers(dataset: Any) -> Any:
    """The features of a data set as an array; refuse columns that svmlight cannot hold."""
    import numpy as np

    X = dataset.X
    if not hasattr(X, "column_names"):
        return X
    for name, column in zip(X.column_names, X.columns, strict=True):
        numeric = dataset.kinds.get(name) == "number"
        if not numeric or column.null_count:
            why = "has missing values" if numeric else "is not numeric"
            raise CommandError(
                f"Column {name!r} {why}, which svmlight cannot store. Use lindero scale to turn "
                "the table into numbers."
            )
    return np.column_stack([column.to_numpy() for column in X.columns])


def write_svmlight(X: Any, dataset: Any, path: str) -> None:
    """Write rows of numbers with the targets of a data set as ``label index:value``. Classes that
    are text are numbered, with a warning."""
    import numpy as np
    from sklearn.datasets import dump_svmlight_file

    from lindero.errors import warn_user

    y, qid = dataset.y, dataset.qid
    y = np.zeros(X.shape[0]) if y is None else np.array(y)  # views of Arrow are read-only
    if y.dtype.kind not in "biuf":
        labels, y = np.unique(y.astype(str), return_inverse=True)
        if len(labels) == 2:
            y = 2 * y - 1
        pairs = zip(labels.tolist(), np.unique(y).tolist(), strict=True)
        listed = ", ".join(f"{label!r} is {code}" for label, code in pairs)
        warn_user(f"Labels of svmlight are numbers: {listed}.", UserWarning)
    if qid is not None:
        qid = np.array(qid)
        qid = qid if qid.dtype.kind in "iu" else np.unique(qid, return_inverse=True)[1]
    file = io.BytesIO()
    dump_svmlight_file(X, y, file, zero_based=False, query_id=qid)
    write_bytes(file.getvalue(), path)
