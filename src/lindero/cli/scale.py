"""``lindero scale``: a table as scaled numbers."""

from __future__ import annotations

import click

from lindero.cli.options import (
    DataSource,
    data_options,
    file_option,
    force_option,
    output_options,
)
from lindero.cli.output import CommandError, Output

_EXAMPLES = """\b
Examples:
  lindero scale heart.csv -o heart.svm
  lindero scale new.csv --like model.lin -o new.svm
  lindero scale heart.csv --scaling range -o heart.svm
"""


@click.command(epilog=_EXAMPLES)
@data_options
@file_option("Where to write (csv, tsv, parquet, arff or svm); by default csv to standard output.")
@click.option(
    "--like",
    metavar="MODEL",
    type=click.Path(),
    help="Scale like this model instead of fitting the scales to DATA.",
)
@click.option(
    "--scaling",
    type=click.Choice(["deviation", "range"]),
    default=None,
    help="deviation: mean 0 and standard deviation 1, the default; range: from 0 to 1.",
)
@force_option
@output_options
@click.pass_obj
def command(
    output: Output, data: DataSource, path: str | None, like: str | None, scaling: str | None
) -> None:
    """Convert a table to scaled numbers.

    Numbers get mean 0 and standard deviation 1, or the range from 0 to 1, where a constant column
    becomes 1 unless it is 0. Categories are one-hot encoded. Missing values become 0, with an
    indicator column. Sparse columns are divided by their largest value. The target is written
    unchanged, as the last column.
    """
    from lindero.cli.writing import choose_format, require_writable, write_columns, write_svmlight

    if path is not None:
        require_writable(output, [path], [data.path, like])
        choose_format(path)
    elif output.json:
        raise CommandError("--json needs -o, since the scaled rows go to standard output.")
    if like is not None and scaling is not None:
        raise CommandError("--like brings the scales of its model: leave out --scaling.")
    if like is None:
        from lindero.evaluation import TableEncoder

        dataset = data.load()
        X = dataset.X
        encoder = TableEncoder(scaling=scaling or "deviation").fit(X)
    else:
        from lindero.cli.saved_model import SavedModel
        from lindero.evaluation.build import TABLE_STEP
        from lindero.evaluation.registry import find_inner

        saved = SavedModel.read(like)
        encoder = getattr(find_inner(saved.model), "named_steps", {}).get(TABLE_STEP)
        if encoder is None:
            raise CommandError(f"{like} holds {type(saved.model).__name__}, which has no scales.")
        dataset, X = saved.load(data, output)
    numbers = encoder.transform(X)
    names = [str(name) for name in encoder.get_feature_names_out()]
    if path is not None and choose_format(path) == "svmlight":
        write_svmlight(numbers, dataset, path)
    else:
        dense = numbers.toarray() if hasattr(numbers, "toarray") else numbers
        columns = dict(zip(names, dense.T, strict=True))
        if dataset.y is not None:
            columns[dataset.target or "target"] = dataset.y
        write_columns(columns, path)
    if path is not None:
        text = f"{numbers.shape[0]} rows of {numbers.shape[1]} numbers written to {path}."
        output.show_result({"output": path, "rows": numbers.shape[0], "columns": names}, text)
