"""``lindero scale``: any table as scaled numbers."""

from __future__ import annotations

from typing import Any

import click

from lindero.cli.mistakes import Mistake
from lindero.cli.options import DataSource, data_options, output_options
from lindero.cli.output import Output

_EXAMPLES = """\b
Examples:
  lindero scale heart.csv -o heart.svm
  lindero scale new.csv --like model.lin -o new.svm
"""


@click.command(epilog=_EXAMPLES)
@data_options
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(dir_okay=False),
    help="Where to write (csv, tsv, parquet, arff or svm); by default csv to standard output.",
)
@click.option(
    "--like",
    metavar="MODEL",
    type=click.Path(),
    help="Scale as this model does, not by DATA itself.",
)
@output_options
@click.pass_obj
def command(output: Output, data: DataSource, path: str | None, like: str | None) -> None:
    """Turn a table into scaled numbers.

    Numbers get mean 0 and deviation 1; a category becomes a column for each of its values; what is
    missing becomes 0, with a column that says where. Sparse rows are divided by the largest value
    of each feature. The target is written unchanged, as the last column.
    """
    from lindero.cli.saving import require_place
    from lindero.cli.tables import format_of

    if path is not None:
        require_place(path)
        format_of(path)
    elif output.json:
        raise Mistake("--json needs -o: the scaled rows themselves go to standard output.")
    if like is None:
        from lindero.evaluation import TableEncoder

        dataset = data.load()
        X = dataset.X
        encoder = TableEncoder().fit(X)
    else:
        dataset, X, encoder = _as_in(like, data, output)
    numbers = encoder.transform(X)
    names = [str(name) for name in encoder.get_feature_names_out()]
    _write(numbers, names, dataset, path)
    if path is not None:
        text = f"{numbers.shape[0]} rows of {numbers.shape[1]} numbers written to {path}."
        output.result({"output": path, "rows": numbers.shape[0], "columns": names}, text)


def _as_in(like: str, data: DataSource, output: Output) -> Any:
    """Data, and the encoder of a model."""
    from lindero.cli.saved_model import SavedModel
    from lindero.evaluation.build import TABLE_STEP

    saved = SavedModel.read(like)
    steps = getattr(saved.model, "named_steps", {})
    if TABLE_STEP not in steps:
        raise Mistake(f"{like} holds {type(saved.model).__name__}, which scales nothing.")
    dataset, X = saved.load(data, output)
    return dataset, X, steps[TABLE_STEP]


def _write(numbers: Any, names: list[str], dataset: Any, path: str | None) -> None:
    from lindero.cli.tables import format_of, write_columns

    if path is not None and format_of(path) == "svmlight":
        from lindero.cli.convert import write_as_svmlight

        write_as_svmlight(numbers, dataset, path)
        return
    dense = numbers.toarray() if hasattr(numbers, "toarray") else numbers
    columns = {name: dense[:, k] for k, name in enumerate(names)}
    if dataset.y is not None:
        columns[dataset.target or "target"] = dataset.y
    write_columns(columns, path)
