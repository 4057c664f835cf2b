"""``lindero train`` and ``lindero predict`` for tables in partitions: folders and patterns of
Parquet files, out of core or on a Dask cluster, a row group at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from lindero.cli import options
from lindero.cli.cluster import open_cluster
from lindero.cli.output import CommandError, Output, align_columns

#: Seconds between two lines of progress, and before the first.
_EVERY, _AT_FIRST = 10.0, 1.0

#: Options of data that only whole files have.
_ONLY_WHOLE = ("format", "time", "qid", "header", "delimiter", "decimal", "thousands", "dates")


@dataclass(frozen=True)
class TableParts:
    """What a model file records of a table in partitions, by the names that data sets have."""

    source: str
    n_rows: int
    n_features: int
    n_parts: int
    target: str
    left_out: tuple[str, ...] = ()
    reading: Any = None
    ids: Any = None
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """A line."""
        return (
            f"{self.source}: {self.n_rows} rows in {self.n_parts} row groups, {self.n_features} "
            f"columns; target {self.target!r}"
        )


def train_partitions(
    output: Output,
    data: options.DataSource,
    machine: str,
    settings: Sequence[str],
    path: str,
    cluster: str | None,
    refused: Sequence[str],
) -> None:
    """Train a machine on Parquet files that are never in memory as a whole, and save it."""
    from lindero import scale
    from lindero.cli.saved_model import save_model
    from lindero.evaluation import parse_settings
    from lindero.evaluation.build import unwrap_machine
    from lindero.evaluation.partitions import (
        choose_partition_machine,
        make_partition_machine,
        require_partition_machine,
    )
    from lindero.scale.partitions import list_columns, open_source

    _refuse(data, refused)
    kinds = list_columns(data.path)
    target, weight, columns = _choose_columns(data.options, list(kinds))
    features = {name: kinds[name] for name in columns}
    found = choose_partition_machine(machine, features, kinds[target])
    params = parse_settings(settings, found)
    require_partition_machine(found, params, features)
    source = open_source(data.path, target, weight, columns)
    n_rows = sum(source.lengths or ())
    table = TableParts(data.path, n_rows, len(columns), source.n_partitions, target)
    options.describe_data(output, table)
    model = make_partition_machine(found, params)
    final = unwrap_machine(model)
    begun = time.perf_counter()
    with open_cluster(cluster) as client, _telling(output) as tell:
        if hasattr(final, "callback"):
            final.set_params(callback=tell)
        given = {"sample_weight": weight, "columns": columns, "client": client}
        with output.showing_status(f"training {found.name}"):
            scale.fit(model, data.path, target, **given)
        if hasattr(final, "callback"):
            final.set_params(callback=None)
    seconds = time.perf_counter() - begun
    result, sentence = save_model(model, path, found, data, table, params, seconds)
    assigned = f" with {', '.join(options.format_params(params))}" if params else ""
    output.show_result(
        {**result, "partitions": table.n_parts},
        f"{found.name}{assigned} on {n_rows} rows in {table.n_parts} row groups, to predict "
        f"{target!r}\n{sentence}\nTrained in {seconds:.2f} s; saved as {path}.",
    )


def _refuse(data: options.DataSource, refused: Sequence[str]) -> None:
    """Refuse options that need the whole table."""
    given = [f"--{name}" for name in _ONLY_WHOLE if data.options[name] is not None]
    if data.options["target"] is False:
        given.append("--no-target")
    for option in [*given, *refused]:
        raise CommandError(f"{option} is not there for tables in partitions: leave it out.")


def _choose_columns(chosen: dict[str, Any], names: list[str]) -> tuple[str, str | None, list[str]]:
    """The target, the weight and the features, by name or position."""
    from lindero.evaluation.registry import suggest_name
    from lindero.scale.partitions import find_target

    def find(name: str) -> str:
        if name in names:
            return name
        if name.lstrip("-").isdigit() and -len(names) <= int(name) < len(names):
            return names[int(name)]
        raise CommandError(f"There is no column {name!r}: {suggest_name(name, names)}")

    weight = None if chosen["weight"] is None else find(chosen["weight"])
    target = find_target(names) if chosen["target"] is None else find(chosen["target"])
    left_out = {target, weight, *map(find, (*chosen["drop"], *chosen["id"]))}
    wanted = [find(name) for name in chosen["only"]] or names
    columns = [name for name in wanted if name not in left_out]
    if not columns:
        raise CommandError("There is no column left to learn from.")
    return target, weight, columns


@contextmanager
def _telling(output: Output) -> Iterator[Callable[[Any], bool]]:
    """A callback that writes a line of progress on standard error now and then."""
    begun, last = time.perf_counter(), [float("-inf")]

    def tell(report: Any) -> bool:
        now = time.perf_counter()
        if not output.quiet and now - begun >= _AT_FIRST and now - last[0] >= _EVERY:
            last[0] = now
            gap = f", gap {report.gap:.2g}" if report.gap < float("inf") else ""
            of = f" of machine {report.problem + 1}" if report.n_problems > 1 else ""
            click.echo(f"{now - begun:.0f} s: pass {report.n_iter}{of}{gap}", err=True)
        return False

    yield tell


# -- predictions ----------------------------------------------------------------------------------


class StreamedScores:
    """Accuracy, or R² and the root of the mean squared error, of rows that come in pieces."""

    def __init__(self, numeric: bool) -> None:
        self._numeric = numeric
        self._sums = [0.0, 0.0, 0.0, 0.0]  # rows, right ones or squared errors, targets, squares

    def add(self, y: Any, found: Any) -> None:
        """Further rows with their predictions; those without a target do not count."""
        import numpy as np

        from lindero.validation import find_missing

        known = ~find_missing(y)
        y, found = y[known], np.asarray(found)[known]
        if not len(y):
            return
        if self._numeric:
            y = y.astype(float)
            added = [len(y), ((y - found) ** 2).sum(), y.sum(), (y * y).sum()]
        else:
            same = np.asarray(y).astype(str) == found.astype(str)
            added = [len(y), float(same.sum()), 0.0, 0.0]
        self._sums = [a + float(b) for a, b in zip(self._sums, added, strict=True)]

    def finish(self) -> dict[str, float]:
        """Scores by name; none without rows that have a target."""
        n, right, total, squares = self._sums
        if n == 0:
            return {}
        if not self._numeric:
            return {"accuracy": right / n}
        spread = squares - total * total / n
        scores = {"rmse": (right / n) ** 0.5}
        return {"r2": 1.0 - right / spread, **scores} if spread > 0 else scores


def predict_partitions(
    output: Output,
    data: options.DataSource,
    saved: Any,
    path: str | None,
    make_columns: Callable[[Any, Any], dict[str, Any]],
) -> None:
    """Predict for one row group after the other, and write as it goes; `make_columns` are those of
    a part."""
    from lindero.cli.writing import write_pieces
    from lindero.data.content import Content
    from lindero.evaluation.measures import title_measure
    from lindero.scale.partitions import open_source

    if output.json and path is None:
        raise CommandError("--json needs -o for tables in partitions: rows are written to a file.")
    source = open_source(data.path, like=_list_wanted(data, saved))
    scores = StreamedScores(saved.machine.task == "regression")
    n_rows, begun, last = 0, time.perf_counter(), time.perf_counter()

    def predict() -> Iterator[dict[str, Any]]:
        nonlocal n_rows, last
        for number, part in enumerate(source.partitions):
            if not source.lengths or source.lengths[number] == 0:
                continue
            content = Content(memoryview(_encode(part.load().X)), part.label)
            dataset, X = saved.load(data, output, content)
            columns = make_columns(dataset, X)
            if saved.machine.has_target and dataset.y is not None:
                scores.add(dataset.y, columns["prediction"])
            n_rows += dataset.n_rows
            now = time.perf_counter()
            if not output.quiet and now - last >= _EVERY:
                last = now
                done = f"{number + 1} of {source.n_partitions} row groups"
                click.echo(f"{now - begun:.0f} s: {done}, {n_rows} rows", err=True)
            yield columns

    write_pieces(predict(), path)
    found = scores.finish()
    result: dict[str, Any] = {"model": saved.path, "data": data.path, "rows": n_rows}
    result |= {"scores": found} if found else {}
    if path is not None:
        text = f"{n_rows} predictions of {saved.machine.name} written to {path}."
        output.show_result({**result, "output": path}, text)
    if found and not output.quiet and not output.json:
        rows = [[title_measure(name), value] for name, value in found.items()]
        click.echo(align_columns(rows), err=path is None)


def _list_wanted(data: options.DataSource, saved: Any) -> list[str] | None:
    """Columns to read: those of the model, the target if there is one, and what the user names."""
    from lindero.scale.partitions import list_columns

    names = list(list_columns(data.path))
    if saved.names is None:
        return None
    roles = [value for value in data.options.values() if isinstance(value, str)]
    target = saved.summary.get("target")
    wanted = {*saved.names, target, *roles, *data.options["id"]}
    if any(name.lstrip("-").isdigit() for name in roles) or not set(saved.names) <= set(names):
        return None  # positions of all columns, or a model of others, which it will say
    return [name for name in names if name in wanted]


def _encode(table: Any) -> bytes:
    """A row group as a file of its own."""
    import pyarrow as pa
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink, compression="none")
    return bytes(sink.getvalue().to_pybytes())
