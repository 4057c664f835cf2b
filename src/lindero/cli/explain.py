"""``lindero explain``: why a saved model predicts what it predicts, in sentences."""

from __future__ import annotations

from typing import Any

import click

from lindero.cli.options import (
    DataSource,
    count_option,
    data_options,
    file_option,
    force_option,
    output_options,
)
from lindero.cli.output import CommandError, Output

_EXAMPLES = """\b
Examples:
  lindero explain model.lin new.csv --row 3
  lindero explain model.lin new.csv --most 10 -o why.csv
"""

#: Rows that are shown where the user names none and no file.
_SHOWN = 10


@click.command(epilog=_EXAMPLES)
@click.argument("model", metavar="MODEL", type=click.Path())
@data_options
@click.option(
    "--row",
    "rows",
    type=click.IntRange(min=1),
    multiple=True,
    help="Number of a row of DATA, counted from 1. Can be repeated.",
)
@count_option("--most", "Number of columns that a sentence names.", 5)
@file_option(
    "Where to write the sentences of all rows: a table (csv, tsv, parquet or arff), or text (.txt "
    "or .md)."
)
@force_option
@output_options
@click.pass_obj
def command(
    output: Output,
    model: str,
    data: DataSource,
    rows: tuple[int, ...],
    most: int,
    path: str | None,
) -> None:
    """Explain predictions, row by row.

    Each sentence has the prediction and the columns that contribute most to it. Without --row and
    -o the first 10 rows are explained.
    """
    from lindero.cli.saved_model import SavedModel, require_no_places
    from lindero.cli.writing import require_writable, write_bytes, write_columns

    require_writable(output, [path], [model, data.path])
    saved = SavedModel.read(model)
    dataset, X = saved.load(data, output)
    require_no_places(dataset, saved.path)
    chosen = _choose_rows(dataset, rows, path)
    sentences = _explain(saved, dataset, X, chosen, most)
    numbers = [row + 1 for row in chosen]
    names = None if dataset.ids is None or dataset.ids.ndim != 1 else dataset.ids[chosen]
    if path is not None:
        if path.lower().endswith((".txt", ".md")):
            lines = _write_lines(numbers, names, sentences, path.lower().endswith(".md"))
            write_bytes(("\n".join(lines) + "\n").encode("utf-8"), path)
        else:
            columns: dict[str, Any] = {"row": numbers}
            columns |= {} if names is None else {"id": names}
            write_columns({**columns, "why": sentences}, path)
    listed = [{"row": n, "why": text} for n, text in zip(numbers, sentences, strict=True)]
    if names is not None:
        listed = [
            {**each, "id": str(name)} for each, name in zip(listed, names.tolist(), strict=True)
        ]
    result: dict[str, Any] = {"model": model, "data": dataset.source, "rows": dataset.n_rows}
    if path is not None:
        result["output"] = path
        output.show_result(result, f"{len(sentences)} explanations written to {path}.")
        return
    text = "\n".join(_write_lines(numbers, names, sentences, False))
    if len(chosen) < dataset.n_rows and not rows:
        output.note(f"{len(chosen)} of {dataset.n_rows} rows; --row and -o explain others.")
    output.show_result({**result, "explanations": listed}, text)


def _choose_rows(dataset: Any, rows: tuple[int, ...], path: str | None) -> list[int]:
    """Positions of the rows to explain."""
    if not rows:
        return list(range(dataset.n_rows if path is not None else min(_SHOWN, dataset.n_rows)))
    beyond = [row for row in rows if row > dataset.n_rows]
    if beyond:
        raise CommandError(
            f"--row {beyond[0]}: {dataset.source} has {dataset.n_rows} rows, counted from 1."
        )
    return [row - 1 for row in rows]


def _explain(saved: Any, dataset: Any, X: Any, chosen: list[int], most: int) -> list[str]:
    import numpy as np

    from lindero.evaluation import explain_rows
    from lindero.evaluation.folds import take_rows

    places = np.array(chosen, dtype=np.intp)
    times = dataset.times if saved.machine.takes_times else None
    return list(
        explain_rows(saved.model, take_rows(X, places), times=take_rows(times, places), most=most)
    )


def _write_lines(numbers: list[int], names: Any, sentences: list[str], marked: bool) -> list[str]:
    """A line for each row."""
    heads = [f"Row {n}" for n in numbers]
    if names is not None:
        heads = [f"{head} ({name})" for head, name in zip(heads, names.tolist(), strict=True)]
    if marked:
        return [f"- **{head}**: {text}" for head, text in zip(heads, sentences, strict=True)]
    return [f"{head}: {text}" for head, text in zip(heads, sentences, strict=True)]
