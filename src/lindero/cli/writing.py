"""Writing tables as csv, tsv, parquet, arff or svmlight: completely, or not at all.

Whether a command may write a file is decided here, before any work is done: never over one of its
inputs, and over another file only with --force.
"""

from __future__ import annotations

import csv
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from lindero.cli.output import CommandError, Output, writing_to_standard_output
from lindero.errors import escape_controls

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


def require_writable(
    output: Output,
    paths: Iterable[str | None],
    inputs: Iterable[str | None] = (),
    option: str = "-o",
    own: Iterable[str] = (),
) -> None:
    """Refuse paths that must not or cannot be written to, before any work is done.

    None is no path. "-" among the inputs is standard input. `option` is what names another path;
    `own` are files that the command writes under names of its own, which may exist.
    """
    wanted = [path for path in paths if path]
    refuse_inputs(wanted, inputs)
    taken = {os.path.realpath(path) for path in own}
    for path in wanted:
        if os.path.realpath(path) in taken:
            raise click.UsageError(f"{path!r} would be written twice. Choose two files.")
        if os.path.isfile(path) and not output.force:
            raise click.UsageError(
                f"{path!r} exists already. Use --force to replace it, or {option} to choose "
                "another file."
            )
        taken.add(os.path.realpath(path))
    for path in wanted:
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_dir():
            raise CommandError(
                f"The folder {str(folder)!r} does not exist: create it before saving {path!r}."
            )
        if Path(path).is_dir():
            raise CommandError(f"{path!r} is a folder. Give the name of a file.")
        if not os.access(folder, os.W_OK):
            raise CommandError(f"You have no permission to write to the folder {str(folder)!r}.")


def find_free_name(path: str, taken: Iterable[str] = ()) -> str:
    """A path as it is if no file has it and it is not taken, or else with a number behind it."""
    given, number = Path(path), 1
    while os.path.lexists(path) or path in taken:
        number += 1
        path = str(given.with_stem(f"{given.stem}-{number}"))
    return path


def refuse_inputs(paths: Iterable[str], inputs: Iterable[str | None]) -> None:
    """Refuse to write over what a command reads, --force or not."""
    read = [path for path in inputs if path]
    for path in paths:
        if source := next((each for each in read if _is_same_file(path, each)), None):
            name = "standard input" if source == "-" else repr(source)
            raise click.UsageError(
                f"{path!r} is read by this command ({name}), and would be lost. Choose another "
                "file to write to."
            )


def _is_same_file(path: str, source: str) -> bool:
    """Whether both are one file, whatever its names and links."""
    source = os.path.expanduser(source)
    try:
        there = os.stat(path)
        here = os.fstat(sys.stdin.fileno()) if source == "-" else os.stat(source)
    except (OSError, ValueError, AttributeError):  # one of them does not exist, or is no file
        return source != "-" and os.path.realpath(path) == os.path.realpath(source)
    return stat.S_ISREG(there.st_mode) and os.path.samestat(there, here)


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
            shown = sys.stdout.isatty()
            click.echo(escape_controls(data.decode("utf-8")) if shown else data, nl=False)
        return
    from lindero.persist.safe_file import write_whole_bytes

    write_whole_bytes(path, data)


def write_pieces(pieces: Iterator[dict[str, Any]], path: str | None) -> None:
    """Write named columns that come in pieces, of which one at a time is in memory; without a path
    as csv to standard output."""
    kind = "csv" if path is None else choose_format(path)
    if kind not in ("csv", "tsv", "parquet"):
        raise CommandError(
            "Predictions of tables in partitions are written as csv, tsv or parquet."
        )
    encoded = _stream_parquet(pieces) if kind == "parquet" else _stream_csv(pieces, kind)
    if path is None:
        for piece in encoded:
            write_bytes(piece, None)
        return
    from lindero.persist.safe_file import write_whole_pieces

    write_whole_pieces(path, encoded)


def _stream_csv(pieces: Iterator[dict[str, Any]], kind: str) -> Iterator[bytes]:
    import pyarrow as pa

    for number, columns in enumerate(pieces):
        table = pa.table({name: pa.array(values) for name, values in columns.items()})
        data = _encode_csv(table, kind)
        yield data if number == 0 else data.partition(b"\n")[2]


def _stream_parquet(pieces: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """A row group for each piece."""
    import pyarrow as pa
    from pyarrow import parquet

    sink, writer = io.BytesIO(), None
    for columns in pieces:
        table = pa.table({name: pa.array(values) for name, values in columns.items()})
        if writer is None:
            file = pa.PythonFile(sink, mode="w")
            writer = parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
        yield sink.getvalue()
        sink.seek(0)
        sink.truncate()
    if writer is not None:
        writer.close()
        yield sink.getvalue()


def _encode_csv(table: Any, kind: str) -> bytes:
    from lindero.data.csv_files import guard_formula

    # Arrow's own writer puts quotes around all text.
    file = io.StringIO()
    writer = csv.writer(file, delimiter="\t" if kind == "tsv" else ",", lineterminator="\n")
    writer.writerow(map(guard_formula, table.column_names))
    columns = [column.to_pylist() for column in table.columns]
    texts = [str(column.type) in ("string", "large_string") for column in table.columns]
    pairs = zip(columns, texts, strict=True)
    columns = [[*map(guard_formula, values)] if text else values for values, text in pairs]
    writer.writerows(zip(*columns, strict=True))
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

    if dataset.ids is not None and dataset.ids.ndim == 2:
        for name, values in zip(dataset.reading.id, dataset.ids.T, strict=True):
            add(name, values)
    else:
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
