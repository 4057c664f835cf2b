"""``lindero tune``: a grid search over the parameters of a machine."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from typing import Any

import click

from lindero.cli import options
from lindero.cli.cluster import cluster_option, use_cluster
from lindero.cli.output import INTERRUPTED, Output, align_columns, run_interruptible

#: Points of the grid that are shown.
_MOST_SHOWN = 10

_EXAMPLES = """\b
Examples:
  lindero tune heart.csv -m svc
  lindero tune heart.csv -m kdb --grid k=1,2,3 --grid alpha=0.1,1 -o heart.lin
  lindero tune churn.csv -m svc --measure average-precision
"""


@click.command(epilog=f"{_EXAMPLES}\n{options.list_machines()}")
@options.position_option
@options.data_options
@options.machine_options
@click.option(
    "--grid",
    metavar="NAME=VALUES",
    multiple=True,
    help="Values to try, such as C=1,10,100, instead of the default grid. Can be repeated.",
)
@options.measure_option
@options.cost_option
@options.file_option("Where to save the best model, trained on all rows; not saved by default.")
@options.force_option
@options.folds_option
@cluster_option
@options.seed_option
@options.output_options
@click.pass_obj
def command(
    output: Output,
    data: options.DataSource,
    machine: str,
    settings: tuple[str, ...],
    grid: tuple[str, ...],
    measure: str | None,
    costs: tuple[str, ...],
    path: str | None,
    folds: int,
    cluster: str | None,
    seed: int,
) -> None:
    """Find the best parameters of a machine.

    Every point of a grid is cross-validated. Parameters given by --set are fixed. Ctrl-C ends the
    search and shows the points done so far.
    """
    import numpy as np

    from lindero.cli.saved_model import save_model
    from lindero.cli.train import decide_after, read_decisions
    from lindero.cli.writing import require_writable
    from lindero.evaluation import find_measure, parse_settings

    require_writable(output, [path], [data.path])
    dataset, found, params = data.prepare(output, machine, settings)
    points = parse_settings(grid, found, dataset.y) or None
    begun = time.perf_counter()
    asked = read_decisions(dataset, found, measure, costs)
    with nullcontext() if cluster is None else use_cluster(cluster):
        tuning, interrupted = run_interruptible(
            search, output, found, dataset, params=params, grid=points, measure=measure,
            costs=asked["costs"], folds=folds, random_state=seed,
        )  # fmt: skip
    seconds = time.perf_counter() - begun
    result = {**tuning.to_dict(), "seconds": seconds, "complete": not interrupted}
    names = list(tuning.best.params)
    shown = tuning.trials[:_MOST_SHOWN]
    rows = [[*(trial.params[name] for name in names), trial.mean, trial.std] for trial in shown]
    text = f"{found.name}, {len(tuning.trials)} points, {folds} folds, {seconds:.2f} s\n"
    text += align_columns(rows, [*names, find_measure(tuning.measure).title, "std"])
    text += f"\n{tuning.reason}" if tuning.reason else ""
    if tuning.threshold is not None:
        second = np.unique(dataset.y)[1]
        text += f"\n{second!s} is best answered from a probability of {tuning.threshold:.3g} on."
    text += "\nInterrupted: the other points were not tested, and nothing was saved." * interrupted
    if path is not None and not interrupted:
        result["model"] = path
        model = decide_after(output, tuning, found, dataset, asked, seed)
        _, sentence = save_model(model, path, found, data, dataset, tuning.params, seconds)
        text += f"\n{sentence}\nThe best model is saved as {path}."
    output.show_result(result, text)
    if path is None or interrupted:
        settings_given = options.format_params(tuning.params)
        words = ["-m", found.name, *(w for text in settings_given for w in ("--set", text))]
        asked_for = measure
        if tuning.reason and not hasattr(found.load(), "partial_fit"):  # as `tune` does
            asked_for = options.find_asked_measure(tuning)
        words += options.repeat_options(asked_for, costs)
        words += options.choose_model_name()
        output.advise(f"Next: {data.format_command('train', words)}")
    if interrupted:
        sys.exit(INTERRUPTED)


def search(output: Output, machine: Any, dataset: Any, **settings: Any) -> Any:
    """Run the search with a progress bar; warn of points that could not be fitted."""
    from lindero.evaluation import tune

    with output.showing_progress(f"tuning {machine.name}") as progress:
        roles = options.gather_roles(dataset)
        tuning = tune(machine, dataset.X, progress=progress, **roles, **settings)
    failed = [trial for trial in tuning.trials if trial.failure is not None]
    if failed:
        output.warn(
            f"{len(failed)} of {len(tuning.trials)} points could not be fitted, the first "
            f"because: {failed[0].failure}"
        )
    return tuning
