"""``lindero data``: published data sets."""

from __future__ import annotations

import shlex

import click

from lindero.cli.options import output_options
from lindero.cli.output import Output, aligned


@click.group()
def command() -> None:
    """List and fetch published data sets."""


@command.command("list")
@output_options
@click.pass_obj
def list_command(output: Output) -> None:
    """List the data sets that can be fetched by name."""
    from lindero.data import list_published

    found = list_published()
    output.result({"data": found}, aligned([[name, words] for name, words in found.items()]))


@command.command("fetch", epilog="\b\nExample:\n  lindero data fetch heart -o heart.csv")
@click.argument("name")
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(dir_okay=False),
    help="Where to write (csv, tsv, parquet, arff or svm).  [default: NAME.csv, or NAME.svm]",
)
@output_options
@click.pass_obj
def fetch_command(output: Output, name: str, path: str | None) -> None:
    """Fetch a data set and write it to a file."""
    from lindero.cli.saved_model import require_place
    from lindero.cli.writing import dataset_table, format_of, write_table
    from lindero.data import fetch

    if path is not None:
        require_place(path)
        format_of(path)
    with output.waiting(f"fetching {name}"):
        dataset = fetch(name)
    is_sparse = not hasattr(dataset.X, "column_names")
    target = path or f"{name}.{'svm' if is_sparse else 'csv'}"
    if format_of(target) == "svmlight":
        from lindero.cli.convert import svmlight_numbers, write_as_svmlight

        write_as_svmlight(svmlight_numbers(dataset), dataset, target)
    else:
        write_table(dataset_table(dataset), target)
    result = {"name": name, "output": target, "rows": dataset.n_rows, "target": dataset.target}
    output.result(result, f"{dataset.summary()}\nWritten to {target}.")
    output.note(f"Next: lindero train {shlex.quote(target)}")
