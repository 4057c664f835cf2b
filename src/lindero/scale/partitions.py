"""Tables in partitions: Dask's arrays and dataframes, and the row groups of Parquet files.

A partition is loaded when its turn comes, by whoever's turn it is: a thread of this process or a
worker of a cluster. Partitions may be empty, uneven, and of unknown size. What can be known without
reading rows is checked at once: that files have the same columns, and that X, y and weights are cut
in the same places where their sizes are known.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lindero.errors import DataError
from lindero.runtime.partitioned import is_dask

_TARGETS = ("class", "target", "label", "y")

#: Rows that are turned from columns at a time, and bytes of a column that are read ahead: a row
#: group of numbers then takes hardly more memory than its matrix.
_ROWS_TURNED = 8_192
_READ_AHEAD = 2**18


@dataclass(frozen=True)
class Rows:
    """The rows of one partition, as they are: a table, its targets and its weights."""

    X: Any
    y: Any
    weights: Any

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])


class Partition(Protocol):
    """One part of a table, which can be loaded anywhere."""

    label: str

    def load(self) -> Rows: ...


@dataclass(frozen=True)
class RowGroup:
    """A row group of a Parquet file: as a table, or as a matrix of numbers of type `dtype` ("" is
    that of the columns)."""

    label: str
    path: str
    group: int
    columns: tuple[str, ...]
    target: str | None
    weight: str | None
    dtype: str | None = None

    def load(self) -> Rows:
        named = [name for name in (self.target, self.weight) if name]
        if self.dtype is not None:
            return self._load_numbers(named)
        wanted = [*self.columns, *named]
        # Arrow keeps what earlier groups took; and reads whole groups ahead unless told not to.
        pa.default_memory_pool().release_unused()
        with pq.ParquetFile(self.path, pre_buffer=False) as file:
            table = file.read_row_group(self.group, columns=wanted, use_threads=False)
        y = None if self.target is None else table.column(self.target)
        weights = None if self.weight is None else table.column(self.weight)
        return Rows(table.select(list(self.columns)), _unpack(y), _unpack(weights))

    def _load_numbers(self, named: list[str]) -> Rows:
        """Some rows at a time, so that columns and matrix are never there both."""
        columns = list(self.columns)
        with pq.ParquetFile(self.path, pre_buffer=False, buffer_size=_READ_AHEAD) as file:
            kinds = [file.schema_arrow.field(name).type for name in columns]
            for name, kind in zip(columns, kinds, strict=True):
                require_numbers(name, kind, self.label)
            n_rows = file.metadata.row_group(self.group).num_rows
            matrix = np.empty((n_rows, len(columns)), self.dtype or find_float(kinds))
            start, rest = 0, []
            reading = {"row_groups": [self.group], "batch_size": _ROWS_TURNED}
            for batch in file.iter_batches(
                columns=list(dict.fromkeys([*columns, *named])), use_threads=False, **reading
            ):
                stop = start + batch.num_rows
                for at, name in enumerate(columns):
                    column = _decode(batch.column(name))
                    matrix[start:stop, at] = column.to_numpy(zero_copy_only=False)
                rest.append(batch.select(named))
                start = stop
        found = pa.Table.from_batches(rest) if rest and named else None
        y, weights = (
            None if name is None else np.empty(0) if found is None else _unpack(found.column(name))
            for name in (self.target, self.weight)
        )
        return Rows(matrix, y, weights)


def _decode(column: pa.Array) -> pa.Array:
    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


def _unpack(column: pa.ChunkedArray | None) -> Any:
    if column is None:
        return None
    kind = column.type
    return (column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column).to_numpy()


@dataclass(frozen=True)
class Block:
    """A partition of Dask's: one task for each of X, y and weights, whatever they are made of."""

    label: str
    X: Any
    y: Any
    weights: Any

    def load(self) -> Rows:
        import dask

        found = dask.compute(self.X, self.y, self.weights, scheduler="synchronous")
        X, y, weights = found
        return join_block(X, y, weights, self.label)


def join_block(X: Any, y: Any, weights: Any, label: str) -> Rows:
    """The rows of a block, whose parts must be of one length."""
    columns = [y, weights]
    for at, name in enumerate(("y", "sample_weight")):
        part = columns[at]
        if part is None:
            continue
        if hasattr(part, "to_numpy"):
            part = part.to_numpy()
        part = np.asarray(part)
        if part.ndim == 2 and part.shape[1] == 1:
            part = part[:, 0]
        if part.shape != (X.shape[0],):
            raise ValueError(
                f"{label} of X has {X.shape[0]} rows, but that of {name} has shape {part.shape}: "
                "cut both in the same places (dask.array.rechunk, or one dataframe for both)."
            )
        columns[at] = part
    return Rows(X, *columns)


@dataclass(frozen=True)
class Source:
    """A table in partitions. `kind` says what it is, `lengths` are the rows of each partition where
    they are known, `meta` a table without rows that has its columns."""

    kind: str
    partitions: tuple[Any, ...]
    lengths: tuple[int, ...] | None
    names: tuple[str, ...] | None
    n_columns: int
    meta: Any = None

    @property
    def n_partitions(self) -> int:
        return len(self.partitions)

    def in_numbers(self, dtype: str = "") -> Source:
        """The same, row groups of files being read as matrices."""
        if self.kind != "parquet":
            return self
        return replace(self, partitions=tuple(replace(p, dtype=dtype) for p in self.partitions))


def open_source(
    X: Any, y: Any = None, sample_weight: Any = None, like: Sequence[str] | None = None
) -> Source:
    """X in partitions. `y` and `sample_weight` are collections of Dask's, or names of columns;
    `like` are the columns that are wanted of files, all others being left alone."""
    if is_dask(X):
        return _open_dask(X, y, sample_weight)
    for part, name in ((y, "y"), (sample_weight, "sample_weight")):
        if not isinstance(part, str | None):
            raise TypeError(
                f"{name} must be the name of a column of the Parquet files, or None, not "
                f"{type(part).__name__}."
            )
    return _open_parquet(X, y, sample_weight, like)


# -- Parquet --------------------------------------------------------------------------------------


def find_files(path: Any) -> list[str]:
    """The files that a path, a folder, a pattern or a list of these names, in order."""
    paths = path if isinstance(path, (list, tuple)) else [path]
    found: list[str] = []
    for one in paths:
        if not isinstance(one, (str, os.PathLike)):
            raise TypeError(
                "X must be a Dask array, a Dask dataframe, or the path of Parquet files (a file, a "
                f"folder, a pattern such as 'part-*.parquet', or a list), not {type(one).__name__}."
            )
        text = os.fspath(one)
        if os.path.isdir(text):
            found += sorted(str(file) for file in Path(text).rglob("*.parquet"))
        elif os.path.isfile(text):
            found.append(text)
        else:
            found += sorted(glob.glob(text, recursive=True))
    if not found:
        raise DataError(f"There are no Parquet files at {path!r}.", path=str(path))
    return found


def _open_parquet(
    path: Any, target: str | None, weight: str | None, like: Sequence[str] | None
) -> Source:
    files = find_files(path)
    first, groups = None, []
    for file in files:
        try:
            with pq.ParquetFile(file) as opened:
                schema, metadata = opened.schema_arrow, opened.metadata
        except (pa.ArrowInvalid, OSError) as error:
            raise _refuse_file(file, error) from None
        schema = schema.remove_metadata()
        if first is None:
            first = schema
            named = _choose_columns(schema, target, weight, like, file)
        else:
            _require_same(first, schema, [*named[0], *filter(None, named[1:])], files[0], file)
        groups += [
            (file, group, metadata.row_group(group).num_rows)
            for group in range(metadata.num_row_groups)
        ]
    assert first is not None
    columns, target, weight = named
    partitions = tuple(
        # Workers of a cluster may be in another folder.
        RowGroup(f"{file}, row group {group}", os.path.abspath(file), group, *named)
        for file, group, _ in groups
    )
    lengths = tuple(n_rows for _, _, n_rows in groups)
    meta = first.empty_table().select(list(columns))
    return Source("parquet", partitions, lengths, columns, len(columns), meta)


def _refuse_file(file: str, error: Exception) -> DataError:
    why = str(error).splitlines()[0]
    if "magic bytes" in why:  # another format
        why = (
            "tables in partitions, or on a cluster, are. Convert it: lindero convert FILE x.parquet"
        )
    return DataError(f"{file} is not a Parquet file: {why}.", path=file)


def list_columns(path: Any) -> dict[str, str]:
    """The columns of Parquet files, by the first of them, and what they hold: "fractions", "whole
    numbers", "truth values", "text", "nothing", or the name of another type."""
    file = find_files(path)[0]
    try:
        schema = pq.read_schema(file)
    except (pa.ArrowInvalid, OSError) as error:
        raise _refuse_file(file, error) from None
    kinds = {}
    for field in schema:
        kind = _find_kind(field.type)
        if kind == "numbers":
            kind = "whole numbers" if pa.types.is_integer(field.type) else "fractions"
        kinds[field.name] = kind
    return kinds


def find_target(names: Sequence[str]) -> str:
    """The column to predict: one called class, target, label or y, or else the last."""
    return next((name for name in names if name.lower() in _TARGETS), names[-1])


def are_partitions(path: Any) -> bool:
    """Whether a path is a pattern of Parquet files, or a folder that has some."""
    text = os.fspath(path)
    if os.path.isdir(text):
        return next(Path(text).rglob("*.parquet"), None) is not None
    return not os.path.exists(text) and glob.has_magic(text) and text.endswith("parquet")


def _choose_columns(
    schema: pa.Schema,
    target: str | None,
    weight: str | None,
    like: Sequence[str] | None,
    file: str,
) -> tuple[tuple[str, ...], str | None, str | None]:
    for name in (target, weight, *(like or ())):
        if name is not None and name not in schema.names:
            raise DataError(
                f"There is no column {name!r} in {file}; its columns are {schema.names}.", path=file
            )
    columns = like or [name for name in schema.names if name not in (target, weight)]
    if not columns:
        raise DataError(f"{file} has no column to learn from beside {target!r}.", path=file)
    return tuple(columns), target, weight


def _require_same(
    first: pa.Schema, schema: pa.Schema, names: list[str], one: str, other: str
) -> None:
    """Refuse a file whose columns are others than those of the first."""
    for name in names:
        if name not in schema.names:
            raise DataError(
                f"Column {name!r} is in {one}, but not in {other}: all files must have the same "
                "columns.",
                path=other,
            )
        kinds = [_find_kind(each.field(name).type) for each in (first, schema)]
        if "nothing" not in kinds and kinds[0] != kinds[1]:
            raise DataError(
                f"Column {name!r} holds {kinds[0]} in {one}, but {kinds[1]} in {other}: all files "
                "must have the same columns.",
                path=other,
            )


def _find_kind(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_null(kind):
        return "nothing"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "numbers"
    if pa.types.is_boolean(kind):
        return "truth values"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    return str(kind)


# -- Dask -----------------------------------------------------------------------------------------


def _open_dask(X: Any, y: Any, sample_weight: Any) -> Source:
    if hasattr(X, "columns"):
        if isinstance(y, str):
            _require_column(X, y, "y")
            X, y = X.drop(columns=[y]), X[y]
        if isinstance(sample_weight, str):
            _require_column(X, sample_weight, "sample_weight")
            X, sample_weight = X.drop(columns=[sample_weight]), X[sample_weight]
        names = tuple(X.columns)
        blocks, lengths, kind = list(X.to_delayed()), None, "dataframe"
        named = names if all(isinstance(name, str) for name in names) else None
        width, meta = len(names), X._meta
    elif hasattr(X, "chunks"):
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, rows and columns, but has {X.ndim}.")
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        if not np.isfinite(X.shape[1]):
            raise ValueError(
                "The number of columns of X is not known: call X.compute_chunk_sizes() first."
            )
        blocks, named, kind = list(X.to_delayed().ravel()), None, "array"
        known = all(np.isfinite(size) for size in X.chunks[0])
        lengths = tuple(int(size) for size in X.chunks[0]) if known else None
        width, meta = int(X.shape[1]), np.empty((0, int(X.shape[1])), X.dtype)
    else:
        raise TypeError(
            f"X must be a Dask array or dataframe, not {type(X).__name__}: call its "
            "to_dataframe() first."
        )
    columns = [_cut_like(part, name, X, blocks) for part, name in ((y, "y"),
               (sample_weight, "sample_weight"))]  # fmt: skip
    partitions = tuple(
        Block(f"Partition {number}", block, *(None if part is None else part[number]
              for part in columns))
        for number, block in enumerate(blocks)
    )  # fmt: skip
    return Source(kind, partitions, lengths, named, width, meta)


def _require_column(X: Any, name: str, parameter: str) -> None:
    if name not in X.columns:
        raise ValueError(f"{parameter} names {name!r}, which is no column of X: {list(X.columns)}.")


def _cut_like(part: Any, name: str, X: Any, blocks: list[Any]) -> list[Any] | None:
    """The blocks of y or of weights, one for each of X."""
    if part is None:
        return None
    if not is_dask(part):
        raise TypeError(
            f"X is a Dask {type(X).__name__}, but {name} is a {type(part).__name__}: make it one "
            "of Dask's too (dask.array.from_array), or name a column of X."
        )
    if hasattr(part, "chunks") and hasattr(X, "chunks"):
        sizes, wanted = part.chunks[0], X.chunks[0]
        known = all(np.isfinite(size) for size in (*sizes, *wanted))
        if known and sum(sizes) != sum(wanted):
            raise ValueError(f"{name} has {sum(sizes)} values, but X has {sum(wanted)} rows.")
        if known and sizes != wanted:
            part = part.rechunk({0: wanted})
        if part.ndim == 2:
            part = part.rechunk({1: -1})
    cut = list(np.ravel(part.to_delayed()))
    if len(cut) != len(blocks):
        raise ValueError(
            f"{name} has {len(cut)} partitions, but X has {len(blocks)}: cut both in the same "
            "places (dask.array.rechunk, or one dataframe for both)."
        )
    return cut


# -- columns of numbers ----------------------------------------------------------------------------


def find_float(kinds: Iterable[pa.DataType]) -> type[np.float32 | np.float64]:
    single = all(kind in (pa.float32(), pa.float16()) for kind in kinds)
    return np.float32 if single else np.float64


def require_numbers(name: str, kind: pa.DataType, label: str) -> None:
    if _find_kind(kind) not in ("numbers", "truth values", "nothing"):
        refuse_column(name, kind, label)


def refuse_column(name: Any, kind: Any, label: str) -> None:
    raise ValueError(
        f"Column {name!r} of X holds {kind}, not numbers ({label}). Encode it first, or leave it "
        "out. (could not convert string to float)"
    )
