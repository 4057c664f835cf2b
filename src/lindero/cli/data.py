"""``lindero data``: published data sets."""

from __future__ import annotations

import shlex

import click

from lindero.cli.options import file_option, force_option, output_options
from lindero.cli.output import Output, align_columns


@click.group()
def command() -> None:
    """List and download published data sets."""


@command.command("list")
@output_options
@click.pass_obj
def list_command(output: Output) -> None:
    """List the data sets that are known by name."""
    from lindero.data import list_published

    found = list_published()
    output.show_result(
        {"data": found}, align_columns([[name, words] for name, words in found.items()])
    )


@command.command("fetch", epilog="\b\nExample:\n  lindero data fetch heart -o heart.csv")
@click.argument("name")
@file_option("Where to write (csv, tsv, parquet, arff or svm).  [default: NAME.csv, or NAME.svm]")
@force_option
@output_options
@click.pass_obj
def fetch_command(output: Output, name: str, path: str | None) -> None:
    """Download a data set and write it to a file."""
    from lindero.cli.writing import choose_format, require_writable, write_dataset
    from lindero.data import fetch

    require_writable(output, [path])
    if path is not None:
        choose_format(path)
    with output.showing_status(f"fetching {name}"):
        dataset = fetch(name)
    is_sparse = not hasattr(dataset.X, "column_names")
    target = path or f"{name}.{'svm' if is_sparse else 'csv'}"
    if path is None:
        require_writable(output, [target])
    write_dataset(dataset, target)
    result = {"name": name, "output": target, "rows": dataset.n_rows, "target": dataset.target}
    output.show_result(result, f"{dataset.summary()}\nWritten to {target}.")
    output.advise(f"Next: lindero train {shlex.quote(target)}")
