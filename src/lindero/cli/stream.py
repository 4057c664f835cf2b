"""``lindero stream``: each row is predicted, and then learned."""

# DOC stream_view.py
# """A stream in a terminal and on a page: the curve of errors as it grows."""


from __future__ import annotations
import sys
import click
from click.core import ParameterSource
from lindero.cli.output import INTERRUPTED
from lindero.cli.options import (
    AUTO,
    DataSource,
    MachineName,
    data_options,
    output_options,
    seed_option,
)
from lindero.cli.output import Output
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
import numpy as np
from lindero.data import PrequentialResult

if TYPE_CHECKING:
    from lindero.cli.streaming import Stream


# -- stream ----------------------------------------------------------------------------------------


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
    from lindero.cli.saved_model import require_place, save_model
    from lindero.cli.streaming import require_unused
    from lindero.cli.stream import live_curve, result_text, result_values, write_page
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


# -- stream view -----------------------------------------------------------------------------------


_BARS = "▁▂▃▄▅▆▇█"

#: Points of the curve in a terminal, in JSON and on a page.
_IN_A_LINE, _IN_JSON = 60, 200
_PAUSE_SECONDS = 0.1


def sparkline(errors: Any) -> str:
    """Shares from 0 to their largest, as a line of small bars."""
    most = max(float(np.max(errors)), 1e-9)
    return "".join(_BARS[round(float(e) / most * (len(_BARS) - 1))] for e in errors)


@contextmanager
def live_curve(
    output: Output, stream: Stream, window: int | None
) -> Iterator[Callable[[int, int], None]]:
    """A function to call with rows tested in a segment and right ones among them; draws the curve
    of errors where someone watches."""
    if not output.is_live:
        yield lambda done, right: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    size = stream.window(window)
    columns = (BarColumn(bar_width=20), MofNCompleteColumn(), TextColumn("{task.fields[text]}"))
    console = Console(stderr=True)
    n_rows = stream.dataset.n_rows - stream.settings.warm_up
    last: deque[tuple[int, int]] = deque()
    curve: list[float] = []
    state = {"done": 0, "right": 0, "before": len(stream.answers), "drawn": 0.0, "kept": 0}
    with Progress(
        TextColumn(stream.settings.machine), *columns, console=console, transient=True
    ) as display:
        task = display.add_task("", total=n_rows, completed=len(stream.answers), text="")

        def report(done: int, right: int) -> None:
            if done <= state["done"]:  # a new segment
                state["before"] += state["done"]
                state["done"] = state["right"] = 0
            last.append((done - int(state["done"]), right - int(state["right"])))
            state["done"], state["right"] = done, right
            state["kept"] += last[-1][0]
            while state["kept"] - last[0][0] >= size:
                state["kept"] -= last.popleft()[0]
            now = time.perf_counter()
            if now - state["drawn"] < _PAUSE_SECONDS:
                return
            state["drawn"] = now
            error = 1.0 - sum(part for _, part in last) / state["kept"]
            curve.append(error)
            line = sparkline(_sampled(np.array(curve), 24))
            text = f"errors in the last {int(state['kept'])}: {100 * error:.1f} %  {line}"
            display.update(task, completed=state["before"] + done, text=text)

        yield report


def _sampled(values: Any, count: int) -> Any:
    """At most so many of the values, evenly, the last one among them."""
    if len(values) <= count:
        return values
    return values[np.linspace(0, len(values) - 1, count).round().astype(int)]


def result_values(stream: Stream, result: PrequentialResult) -> dict[str, Any]:
    """The result as plain values."""
    places = _sampled(np.arange(len(result.rows)), _IN_JSON)
    return {
        "machine": stream.settings.machine,
        "params": stream.settings.params,
        "rows": stream.dataset.n_rows,
        "warm_up": stream.settings.warm_up,
        "batch_size": stream.settings.batch_size,
        "tested": len(result.rows),
        "complete": result.complete,
        "accuracy": result.accuracy,
        "error": 1.0 - result.accuracy,
        "kappa": float(result.kappa),
        "window": result.window,
        "curve": {
            "row": (result.rows[places] + 1).tolist(),
            "error": (1.0 - result.curve_accuracy[places]).tolist(),
            "kappa": result.curve_kappa[places].tolist(),
        },
        "seconds_learning": result.seconds_learning,
        "seconds_predicting": result.seconds_predicting,
        "snapshots": stream.saved,
        "resumed_from": stream.resumed_from,
    }


def result_text(stream: Stream, result: PrequentialResult, values: dict[str, Any]) -> str:
    """The result in words, and the curve as a line."""
    n_tested = len(result.rows)
    lines = [
        f"{stream.settings.machine}: {n_tested} rows, each predicted before it was learned (the "
        f"first {stream.settings.warm_up} were only learned)"
    ]
    if not result.complete:
        lines.append(f"Cut short after row {stream.position} of {stream.dataset.n_rows}.")
    if n_tested:
        lines.append(
            f"{100 * (1 - result.accuracy):.1f} % errors, kappa {result.kappa:.3f}; "
            f"{result.seconds_learning:.2f} s learning, "
            f"{result.seconds_predicting:.2f} s predicting"
        )
        errors = _sampled(1.0 - result.curve_accuracy, _IN_A_LINE)
        lines.append(f"errors in the last {result.window} rows, up to {100 * errors.max():.1f} %:")
        lines.append(f"  {sparkline(errors)}  {100 * errors[-1]:.1f} %")
    if stream.resumed_from is not None:
        lines.append(f"It went on from {stream.resumed_from}.")
    if stream.saved:
        more = f", and {len(stream.saved) - 1} before it" if len(stream.saved) > 1 else ""
        lines.append(f"Last snapshot: {stream.saved[-1]}{more}")
    for name, words in (("model", "The machine is saved as"), ("report", "The page:")):
        if name in values:
            lines.append(f"{words} {values[name]}")
    return "\n".join(lines)


def write_page(stream: Stream, result: PrequentialResult, path: str, data: str) -> None:
    """The curve as a page that needs nothing but itself."""
    from lindero.comparison.curves import error_curves
    from lindero.comparison.page import figure, heading, page, paragraph
    from lindero.persist.safe_file import write_whole_bytes

    title = f"{stream.settings.machine} on a stream"
    body = [heading(title, 1), paragraph(data, "muted")]
    body += [paragraph(line) for line in result_text(stream, result, {}).splitlines()[:2]]
    if len(result.rows):
        curves = {stream.settings.machine: (result.rows + 1, 1.0 - result.curve_accuracy)}
        caption = f"Errors in the last {result.window} rows, each predicted before it was learned."
        body.append(figure(error_curves(curves), caption))
    write_whole_bytes(path, page(title, body).encode("utf-8", errors="replace"))
