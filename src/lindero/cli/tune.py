"""``lindero tune``: the best parameters of a machine."""

from __future__ import annotations

import sys
import time
from typing import Any

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

#: Points of a grid that are shown.
_MOST_SHOWN = 10

_EXAMPLES = """\b
Examples:
  lindero tune heart.csv -m svc
  lindero tune heart.csv -m kdb --grid k=1,2,3 --grid alpha=0.1,1 -o heart.lin
"""


@click.command(epilog=f"{_EXAMPLES}\n{machine_names()}")
@data_options
@machine_options
@click.option(
    "--grid",
    metavar="NAME=VALUES",
    multiple=True,
    help="Values to try, such as C=1,10,100, for those the machine usually has. Can be repeated.",
)
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(dir_okay=False),
    help="Where to save the best model, fitted to all rows; by default it is not saved.",
)
@folds_option
@seed_option
@output_options
@click.pass_obj
def command(
    output: Output,
    data: DataSource,
    machine: str,
    settings: tuple[str, ...],
    grid: tuple[str, ...],
    path: str | None,
    folds: int,
    seed: int,
) -> None:
    """Find the best parameters of a machine.

    Every point of a grid is judged by cross-validation. Parameters given by --set are not
    searched. Ctrl-C ends the search and shows the points done until then.
    """
    from lindero.cli.reading import chosen_machine, chosen_params, typed
    from lindero.cli.saving import require_place, save_model

    if path is not None:
        require_place(path)
    dataset = data.load(machine)
    found = chosen_machine(machine, dataset)
    params = chosen_params(settings, found, dataset)
    points = chosen_params(grid, found, dataset) or None
    output.note(dataset.summary())
    begun = time.perf_counter()
    interrupted = False
    try:
        tuning = search(output, found, dataset, params, points, folds, seed)
    except KeyboardInterrupt as interrupt:
        if not hasattr(interrupt, "result"):
            raise
        tuning, interrupted = interrupt.result, True
    seconds = time.perf_counter() - begun
    result = {**tuning.to_dict(), "seconds": seconds, "complete": not interrupted}
    names = list(tuning.best.params)
    shown = tuning.trials[:_MOST_SHOWN]
    rows = [[*(trial.params[name] for name in names), trial.mean, trial.std] for trial in shown]
    text = f"{found.name}, {len(tuning.trials)} points, {folds} folds, {seconds:.2f} s\n"
    text += aligned(rows, [*names, tuning.measure.replace("_", " "), "deviation"])
    text += "\nCut short: these points are all that is known, and nothing is saved." * interrupted
    if path is not None and not interrupted:
        result["model"] = path
        _, sentence = save_model(tuning.model, path, found, data, dataset, tuning.params, seconds)
        text += f"\n{sentence}\nThe best is saved as {path}."
    output.result(result, text)
    if path is None or interrupted:
        output.note(f"Next: {typed('train', data, found.name, tuning.params)}")
    if interrupted:
        sys.exit(INTERRUPTED)


def search(
    output: Output,
    machine: Any,
    dataset: Any,
    params: dict[str, Any],
    grid: dict[str, Any] | None,
    folds: int,
    seed: int,
) -> Any:
    """The search itself, with a bar; points that could not be fitted are told of."""
    from lindero.cli.reading import roles
    from lindero.evaluation import tune

    with output.progress(f"tuning {machine.name}") as progress:
        tuning = tune(
            machine,
            dataset.X,
            params=params,
            grid=grid,
            folds=folds,
            random_state=seed,
            progress=progress,
            **roles(dataset),
        )
    failed = [trial for trial in tuning.trials if trial.failure is not None]
    if failed:
        output.warn(
            f"{len(failed)} of {len(tuning.trials)} points could not be fitted, the first "
            f"because: {failed[0].failure}"
        )
    return tuning
