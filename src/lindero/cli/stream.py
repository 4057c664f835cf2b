"""``lindero stream``: prequential evaluation: each row is predicted before it is learned."""

from __future__ import annotations

import shlex
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from lindero.cli import options
from lindero.cli.output import INTERRUPTED, Output

if TYPE_CHECKING:
    from lindero.evaluation.stream_runs import Stream
    from lindero.evaluation.streams import PrequentialResult


_EXAMPLES = """\b
Examples:
  lindero stream visits.csv --time day -m adaptive-svc
  lindero stream visits.csv -m naive-bayes --batch-size 10 --save-every 1000
  lindero stream visits.csv --resume snapshots
"""

_BARS = "▁▂▃▄▅▆▇█"

#: Points of the curve in a terminal and in JSON.
_IN_A_LINE, _IN_JSON = 60, 200
_PAUSE_SECONDS = 0.1

#: Options that a snapshot fixes.
_FIXED = ("machine", "settings", "batch_size", "warm_up", "refit_every", "refit_on", "seed")


@click.command(epilog=_EXAMPLES)
@options.data_options
@options.machine_option(
    "The machine; auto is adaptive-svc if rows have times, otherwise incremental-svc."
)
@options.settings_option
@options.count_option(
    "--batch-size", "Rows that are predicted together before they are learned.", 1
)
@options.count_option(
    "--warm-up",
    "First rows, which are only learned; by default 100, or a fifth of all. The scales of columns "
    "are fitted to them and then fixed.",
)
@options.count_option(
    "--window", "Rows per point of the error curve; by default a tenth of all, at most 1000."
)
@options.count_option(
    "--refit-every", "Refit the machine every so many rows, if it cannot learn row by row."
)
@options.count_option("--refit-on", "Refit it to the last so many rows; by default to all so far.")
@options.count_option("--save-every", "Rows between snapshots.")
@options.folder_option("--snapshots", "snapshots", "Folder for snapshots.")
@click.option(
    "--resume",
    type=click.Path(exists=True),
    help="Continue from a snapshot, or from the last one in a folder. DATA must be the same, but "
    "may have more rows at the end.",
)
@options.file_option("Where to save the machine after the last row.")
@options.report_option("Write an HTML report with the curve.")
@options.force_option
@options.seed_option
@options.output_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    data: options.DataSource,
    machine: str,
    settings: tuple[str, ...],
    window: int | None,
    save_every: int | None,
    snapshots: str,
    resume: str | None,
    path: str | None,
    report: str | None,
    **schedule: Any,
) -> None:
    """Predict and learn row by row.

    Each row is predicted before it is learned (prequential evaluation), in order of time (--time)
    or of the file. With --save-every snapshots of the machine are saved; --resume continues from
    one, with the same result as an uninterrupted run.
    """
    from lindero.cli.saved_model import save_model
    from lindero.cli.writing import refuse_inputs, require_writable
    from lindero.evaluation import parse_settings
    from lindero.evaluation.registry import choose_machine
    from lindero.evaluation.stream_runs import (
        ANSWERS,
        Stream,
        StreamSettings,
        require_unused,
    )

    output: Output = ctx.ensure_object(Output)
    if save_every is not None:
        refuse_inputs([str(Path(snapshots, ANSWERS))], [data.path])
        if not _is_own_folder(snapshots, resume):
            require_unused(snapshots)
    require_writable(output, [path, report], [data.path, *_list_snapshots(resume)])
    dataset = data.load()
    options.describe_data(output, dataset)
    if resume is not None:
        _require_nothing_fixed(ctx)
        stream = Stream.resume(dataset, resume)
    else:
        spec = choose_machine(machine, dataset, on_stream=True)
        params = parse_settings(settings, spec, dataset.y)
        # batch_size, warm_up, refit_every, refit_on, seed
        stream = Stream.begin(dataset, StreamSettings(spec.name, params, **schedule))
    interrupted = False
    with watch_stream(output, stream, window) as progress:
        try:
            stream.run(progress, save_every, snapshots)
        except KeyboardInterrupt:
            interrupted = True
    result = stream.build_result(window)
    values = list_values(stream, result)
    if path is not None and not interrupted:
        found, params = stream.machine, stream.settings.params
        save_model(stream.model, path, found, data, dataset, params, stream.seconds)
        values["model"] = path
    if report is not None:
        write_page(stream, result, report, dataset.summary())
        values["report"] = report
    output.show_result(values, format_result(stream, result, values))
    if interrupted:
        if stream.saved:
            output.advise(
                f"Continue with: {data.format_command('stream', ['--resume', stream.saved[-1]])}"
            )
        sys.exit(INTERRUPTED)


def _list_snapshots(resume: str | None) -> list[str]:
    """The files that a stream is resumed from."""
    if resume is None:
        return []
    folder = Path(resume)
    return [str(file) for file in folder.iterdir()] if folder.is_dir() else [resume]


def _is_own_folder(folder: str, resume: str | None) -> bool:
    """Whether the snapshots in a folder are those of the stream that is resumed."""
    if resume is None or not Path(folder).is_dir():
        return False
    return Path(folder).samefile(resume if Path(resume).is_dir() else Path(resume).parent)


def _require_nothing_fixed(ctx: click.Context) -> None:
    for name in _FIXED:
        if ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            option = "--set" if name == "settings" else f"--{name.replace('_', '-')}"
            raise click.UsageError(
                f"{option} is fixed by the snapshot: leave it out with --resume."
            )


def draw_sparkline(errors: Any) -> str:
    """Errors as a line of small bars, from 0 to the largest."""
    most = max(1e-9, *map(float, errors))
    return "".join(_BARS[round(float(e) / most * (len(_BARS) - 1))] for e in errors)


@contextmanager
def watch_stream(
    output: Output, stream: Stream, window: int | None
) -> Iterator[Callable[[int, int], None]]:
    """A live error curve on a terminal: yields a function to call with the rows tested so far, and
    the number of correct ones."""
    if not output.is_live:
        yield lambda done, right: None
        return
    import numpy as np
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    size = stream.choose_window(window)
    columns = (BarColumn(bar_width=20), MofNCompleteColumn(), TextColumn("{task.fields[text]}"))
    n_rows = stream.dataset.n_rows - stream.settings.warm_up
    seen = deque([(len(stream.answers), stream.n_right)])
    curve: list[float] = []
    drawn = 0.0
    title = TextColumn(stream.settings.machine)
    with Progress(title, *columns, console=Console(stderr=True), transient=True) as display:
        task = display.add_task("", total=n_rows, completed=len(stream.answers), text="")

        def report(done: int, right: int) -> None:
            nonlocal drawn
            seen.append((done, right))
            while done - seen[1][0] >= size:
                seen.popleft()
            now = time.perf_counter()
            if now - drawn < _PAUSE_SECONDS:
                return
            drawn = now
            last = done - seen[0][0]
            curve.append(1.0 - (right - seen[0][1]) / last)
            line = draw_sparkline(_sample_evenly(np.array(curve), 24))
            text = f"errors in the last {last}: {100 * curve[-1]:.1f} %  {line}"
            display.update(task, completed=done, text=text)

        yield report


def _sample_evenly(values: Any, count: int) -> Any:
    """At most so many of the values, evenly spaced, including the last."""
    import numpy as np

    if len(values) <= count:
        return values
    return values[np.linspace(0, len(values) - 1, count).round().astype(int)]


def list_values(stream: Stream, result: PrequentialResult) -> dict[str, Any]:
    """The result as plain values."""
    import numpy as np

    places = _sample_evenly(np.arange(len(result.rows)), _IN_JSON)
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


def format_result(stream: Stream, result: PrequentialResult, values: dict[str, Any]) -> str:
    """The result as text."""
    n_tested = len(result.rows)
    lines = [
        f"{stream.settings.machine}: {n_tested} rows, each predicted before it was learned (the "
        f"first {stream.settings.warm_up} were only learned)"
    ]
    if not result.complete:
        lines.append(f"Interrupted after row {stream.position} of {stream.dataset.n_rows}.")
    if n_tested:
        lines.append(
            f"{100 * (1 - result.accuracy):.1f} % errors, kappa {result.kappa:.3f}; "
            f"{result.seconds_learning:.2f} s learning, "
            f"{result.seconds_predicting:.2f} s predicting"
        )
        errors = _sample_evenly(1.0 - result.curve_accuracy, _IN_A_LINE)
        lines.append(f"errors in the last {result.window} rows, up to {100 * errors.max():.1f} %:")
        lines.append(f"  {draw_sparkline(errors)}  {100 * errors[-1]:.1f} %")
    if stream.resumed_from is not None:
        lines.append(f"Continued from {stream.resumed_from}.")
    if stream.saved:
        more = f", and {len(stream.saved) - 1} before it" if len(stream.saved) > 1 else ""
        lines.append(f"Last snapshot: {stream.saved[-1]}{more}")
    for name, words in (("model", "Model saved as"), ("report", "Report:")):
        if name in values:
            lines.append(f"{words} {values[name]}")
    return "\n".join(lines)


def write_page(stream: Stream, result: PrequentialResult, path: str, data: str) -> None:
    """Write the HTML report."""
    from lindero.report import write_stream_report

    write_stream_report(
        result,
        path,
        title=f"{stream.settings.machine} on a stream",
        summary=data,
        lines=format_result(stream, result, {}).splitlines()[:2],
        times=stream.dataset.times,
        command=shlex.join(["lindero", *sys.argv[1:]]),
        data=stream.dataset,
    )
