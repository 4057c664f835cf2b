"""``lindero stream``: each row is predicted, and then learned."""

from __future__ import annotations

import sys

import click
from click.core import ParameterSource

from lindero.cli.mistakes import INTERRUPTED
from lindero.cli.options import (
    AUTO,
    DataSource,
    MachineName,
    data_options,
    output_options,
    seed_option,
)
from lindero.cli.output import Output

_EXAMPLES = """\b
Examples:
  lindero stream visits.csv --time day -m adaptive-svc
  lindero stream visits.csv -m naive-bayes --batch-size 10 --save-every 1000
  lindero stream visits.csv --resume snapshots
"""

#: What a snapshot says itself, so that it cannot be said again.
_SETTLED = ("machine", "settings", "batch_size", "warm_up", "refit_every", "refit_on", "seed")


@click.command(epilog=_EXAMPLES)
@data_options
@click.option(
    "-m",
    "--machine",
    type=MachineName(),
    default=AUTO,
    show_default=True,
    help="Which machine; auto is adaptive-svc where rows have times, otherwise incremental-svc.",
)
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="A parameter of the machine, such as C=10. Can be repeated.",
)
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Rows that are predicted together before any of them is learned.",
)
@click.option(
    "--warm-up",
    type=click.IntRange(min=1),
    help="Rows at the beginning that are only learned; by default 100, or a fifth of all. Scales "
    "of columns are learned from them and stay.",
)
@click.option(
    "--window",
    type=click.IntRange(min=1),
    help="Rows that a point of the curve is about; by default a tenth of all, at most 1000.",
)
@click.option(
    "--refit-every",
    type=click.IntRange(min=1),
    help="Fit the machine anew every so many rows, for those that cannot learn row by row.",
)
@click.option(
    "--refit-on",
    type=click.IntRange(min=1),
    help="Fit it to the last so many rows; by default to all so far.",
)
@click.option("--save-every", type=click.IntRange(min=1), help="Rows between snapshots.")
@click.option(
    "--snapshots",
    type=click.Path(file_okay=False),
    default="snapshots",
    show_default=True,
    help="Folder for snapshots.",
)
@click.option(
    "--resume",
    type=click.Path(exists=True),
    help="Go on from a snapshot, or from the last one in a folder. DATA are the same, or the same "
    "with more rows at the end.",
)
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(dir_okay=False),
    help="Where to save the machine that has learned all rows.",
)
@click.option(
    "--report", type=click.Path(dir_okay=False), help="Write a page with the curve (HTML)."
)
@seed_option
@output_options
@click.pass_context
def command(
    ctx: click.Context,
    data: DataSource,
    machine: str,
    settings: tuple[str, ...],
    batch_size: int,
    warm_up: int | None,
    window: int | None,
    refit_every: int | None,
    refit_on: int | None,
    save_every: int | None,
    snapshots: str,
    resume: str | None,
    path: str | None,
    report: str | None,
    seed: int,
) -> None:
    """Learn from rows as they come.

    Each row is predicted before it is learned, in the order of time (--time) or of the file, so
    that all rows but the first are both test and training data. With --save-every the machine is
    saved as it goes; --resume goes on from there, with the same result as if nothing had happened.
    """
    from lindero.cli.saving import require_place, save_model
    from lindero.cli.snapshots import require_unused
    from lindero.cli.stream_view import live_curve, result_text, result_values, write_page
    from lindero.cli.streaming import Stream

    output: Output = ctx.ensure_object(Output)
    for place in (path, report):
        if place is not None:
            require_place(place)
    dataset = data.load()
    output.note(dataset.summary())
    if resume is not None:
        _require_nothing_settled(ctx)
        stream = Stream.resumed(dataset, resume)
    else:
        if save_every is not None:
            require_unused(snapshots)
        stream = Stream.begun(
            dataset,
            machine,
            settings,
            batch_size=batch_size,
            warm_up=warm_up,
            refit_every=refit_every,
            refit_on=refit_on,
            seed=seed,
        )
    interrupted = False
    with live_curve(output, stream, window) as progress:
        try:
            stream.run(progress, save_every, snapshots)
        except KeyboardInterrupt:
            interrupted = True
    result = stream.result(window)
    values = result_values(stream, result)
    if path is not None and not interrupted:
        found, params = stream.machine, stream.settings.params
        save_model(stream.model, path, found, data, dataset, params, stream.seconds)
        values["model"] = path
    if report is not None:
        write_page(stream, result, report, dataset.summary())
        values["report"] = report
    output.result(values, result_text(stream, result, values))
    if interrupted:
        if stream.saved:
            output.note(f"Go on with: {data.typed('stream', ['--resume', stream.saved[-1]])}")
        sys.exit(INTERRUPTED)


def _require_nothing_settled(ctx: click.Context) -> None:
    for name in _SETTLED:
        if ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            option = "--set" if name == "settings" else f"--{name.replace('_', '-')}"
            raise click.UsageError(
                f"{option} is settled by the snapshot that --resume goes on from: leave it out."
            )
