"""``lindero cv``: how well a machine does on rows that it has not seen."""

from __future__ import annotations

import sys

import click

from lindero.cli.mistakes import INTERRUPTED
from lindero.cli.options import (
    DataSource,
    data_options,
    folds_option,
    machine_names,
    machine_options,
    output_options,
    seed_option,
)
from lindero.cli.output import Output, aligned

_EXAMPLES = """\b
Examples:
  lindero cv heart.csv -m tan
  lindero cv heart.csv -m svc --set C=10 --set gamma=0.1 --folds 10
"""


@click.command(epilog=f"{_EXAMPLES}\n{machine_names()}")
@data_options
@machine_options
@folds_option
@seed_option
@output_options
@click.pass_obj
def command(
    output: Output,
    data: DataSource,
    machine: str,
    settings: tuple[str, ...],
    folds: int,
    seed: int,
) -> None:
    """Say how well a machine does on unseen rows.

    By cross-validation: the machine learns from all folds but one and is judged on that one. Rows
    of a query (--qid) stay together; with times (--time) each fold is judged by what came before.
    Ctrl-C ends it and shows what the folds done until then say.
    """
    from lindero.cli.reading import chosen_machine, chosen_params, roles, typed
    from lindero.evaluation import cross_validate

    dataset = data.load(machine)
    found = chosen_machine(machine, dataset)
    params = chosen_params(settings, found, dataset)
    output.note(dataset.summary())
    interrupted = False
    try:
        with output.progress(f"fitting {found.name}") as progress:
            result = cross_validate(
                found,
                dataset.X,
                params=params,
                folds=folds,
                random_state=seed,
                progress=progress,
                **roles(dataset),
            )
    except KeyboardInterrupt as interrupt:
        if not hasattr(interrupt, "result"):
            raise
        result, interrupted = interrupt.result, True
    rows = [
        [name.replace("_", " "), result.mean(name), result.std(name), min(values), max(values)]
        for name, values in result.scores.items()
    ]
    header = ["", "mean", "deviation", "least", "most"]
    text = f"{found.name}, {len(result.seconds)} folds of {dataset.n_rows} rows"
    text += f", {sum(result.seconds):.2f} s\n{aligned(rows, header)}"
    text += "\nCut short: the other folds were not judged." * interrupted
    output.result({**result.to_dict(), "complete": not interrupted}, text)
    if interrupted:
        sys.exit(INTERRUPTED)
    output.note(f"Next: {typed('tune', data, found.name, {})}  (find better parameters)")
