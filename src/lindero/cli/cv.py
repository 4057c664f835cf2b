"""``lindero cv``: cross-validation."""

from __future__ import annotations

import sys

import click

from lindero.cli import options
from lindero.cli.output import INTERRUPTED, Output, align_columns, run_interruptible

_EXAMPLES = """\b
Examples:
  lindero cv heart.csv -m tan
  lindero cv heart.csv -m svc --set C=10 --set gamma=0.1 --folds 10
  lindero cv churn.csv -m svc --measure roc-auc
"""


@click.command(epilog=f"{_EXAMPLES}\n{options.list_machines()}")
@options.position_option
@options.data_options
@options.machine_options
@options.measure_option
@options.cost_option
@options.folds_option
@options.seed_option
@options.output_options
@click.pass_obj
def command(
    output: Output,
    data: options.DataSource,
    machine: str,
    settings: tuple[str, ...],
    measure: str | None,
    costs: tuple[str, ...],
    folds: int,
    seed: int,
) -> None:
    """Cross-validate a machine.

    The machine is trained on all folds but one and tested on that one, for each fold. Rows of a
    query (--qid) stay together. With times (--time) each fold is tested with a machine trained on
    earlier rows. Shown are the measure and two others. Ctrl-C ends it and shows the folds done so
    far.
    """
    from lindero.cli.compare import parse_costs
    from lindero.evaluation import cross_validate, find_measure

    dataset, found, params = data.prepare(output, machine, settings)
    with output.showing_progress(f"fitting {found.name}") as progress:
        result, interrupted = run_interruptible(
            cross_validate,
            found,
            dataset.X,
            params=params,
            measure=measure,
            costs=parse_costs(costs, dataset) if costs else None,
            folds=folds,
            random_state=seed,
            progress=progress,
            **options.gather_roles(dataset),
        )
    rows = [
        [find_measure(name).title, result.mean(name), result.std(name), min(values), max(values)]
        for name, values in ((name, result.scores[name]) for name in result.measures)
    ]
    header = ["", "mean", "std", "min", "max"]
    text = f"{found.name}, {len(result.seconds)} folds of {dataset.n_rows} rows"
    text += f", {sum(result.seconds):.2f} s\n{align_columns(rows, header)}"
    text += f"\n{result.reason}" if result.reason else ""
    text += "\nInterrupted: the other folds were not tested." * interrupted
    output.show_result({**result.to_dict(), "complete": not interrupted}, text)
    if interrupted:
        sys.exit(INTERRUPTED)
    more = options.repeat_options(measure, costs)
    command = data.format_command("tune", ["-m", found.name, *more])
    output.advise(f"Next: {command}  (find better parameters)")
