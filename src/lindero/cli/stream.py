"""``lindero stream``: prequential evaluation: each row is predicted before it is learned."""

from __future__ import annotations

import math
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
    from lindero.evaluation.stream_results import PrequentialResult
    from lindero.evaluation.stream_runs import Stream


_EXAMPLES = """\b
Examples:
  lindero stream visits.csv --time day
  lindero stream visits.csv --delay 30 --cost gone:here=5
  lindero stream prices.csv --target price --measure r2
  lindero stream visits.csv -m naive-bayes --batch-size 10 --save-every 1000
  lindero stream visits.csv --resume snapshots
"""

_BARS = "▁▂▃▄▅▆▇█"

#: Points of the curve in a terminal and in JSON.
_IN_A_LINE, _IN_JSON = 60, 200
_PAUSE_SECONDS = 0.1

#: Options that a snapshot fixes.
_FIXED = (
    "machine", "settings", "batch_size", "warm_up", "delay", "refit_every", "refit_on", "seed",
)  # fmt: skip


@click.command(epilog=_EXAMPLES)
@options.data_options
@options.machine_option("The machine; auto is adaptive-svc, or adaptive-svr for numbers.")
@options.settings_option
@options.count_option(
    "--batch-size", "Rows that are predicted together before they are learned.", 1
)
@options.count_option(
    "--warm-up",
    "First rows, which are only learned. Categories and scales of columns are fitted to them and "
    "then fixed. By default 100, or a fifth of all; 1 for a machine that scales columns itself, if "
    "all are numbers.",
)
@options.count_option(
    "--delay",
    "Rows after which a label becomes known: row t is learned only after row t + N was predicted.",
    0,
    0,
)
@options.count_option(
    "--window", "Rows per point of the curves; by default a tenth of all, at most 1000."
)
@options.cost_option
@click.option(
    "--measure",
    type=options.MeasureName(),
    help="What the curve shows: error, accuracy, balanced-accuracy, kappa, log-loss or cost; mae, "
    "rmse or r2 for numbers. By default cost where there are costs, otherwise error or mae.",
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
    costs: tuple[str, ...],
    measure: str | None,
    save_every: int | None,
    snapshots: str,
    resume: str | None,
    path: str | None,
    report: str | None,
    **schedule: Any,
) -> None:
    """Predict and learn row by row.

    Each row is predicted before it is learned (prequential evaluation), in order of time (--time)
    or of the file. Targets are classes or numbers. With --save-every snapshots of the machine are
    saved; --resume continues from one, with the same result as an uninterrupted run.
    """
    from lindero.cli.compare import parse_costs
    from lindero.cli.saved_model import save_model
    from lindero.cli.writing import refuse_inputs, require_writable
    from lindero.evaluation import parse_settings
    from lindero.evaluation.measures import put_costs_inside
    from lindero.evaluation.registry import choose_machine
    from lindero.evaluation.stream_runs import (
        ANSWERS,
        Stream,
        StreamSettings,
        require_unused,
    )

    output: Output = ctx.ensure_object(Output)
    own = [] if save_every is None else [str(Path(snapshots, ANSWERS))]
    if save_every is not None:
        refuse_inputs(own, [data.path])
        if not _is_own_folder(snapshots, resume):
            require_unused(snapshots)
    require_writable(output, [path, report], [data.path, *_list_snapshots(resume)], own=own)
    dataset = data.load()
    options.describe_data(output, dataset)
    priced = parse_costs(costs, dataset) if costs else None
    _require_measure(measure, dataset, priced)
    if resume is not None:
        _require_nothing_fixed(ctx)
        stream = Stream.resume(dataset, resume, priced)
    else:
        spec = choose_machine(machine, dataset, on_stream=True)
        params = parse_settings(settings, spec, dataset.y)
        params = put_costs_inside(spec, params, priced, dataset.y)
        # batch_size, warm_up, delay, refit_every, refit_on, seed
        stream = Stream.begin(dataset, StreamSettings(spec.name, params, **schedule), priced)
    interrupted = False
    with watch_stream(output, stream, window) as progress:
        try:
            stream.run(progress, save_every, snapshots)
        except KeyboardInterrupt:
            interrupted = True
    result = stream.build_result(window)
    if measure is not None and measure not in result.scores:
        output.warn(f"{stream.settings.machine} has no probabilities, and so no log-loss.")
        measure = None
    values = list_values(stream, result, measure)
    if path is not None and not interrupted:
        found, params = stream.machine, stream.settings.params
        save_model(stream.model, path, found, data, dataset, params, stream.seconds)
        values["model"] = path
    if report is not None:
        write_page(stream, result, values, report, dataset.summary())
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


def _require_measure(measure: str | None, dataset: Any, costs: Any) -> None:
    """Refuse a measure that streams do not have, before any time is spent."""
    from lindero.evaluation.stream_results import STREAM_MEASURES

    known = STREAM_MEASURES.get(dataset.task, ())
    if measure is None or not known:
        return
    if measure not in known:
        names = ", ".join(name.replace("_", "-") for name in known)
        raise ValueError(
            f"A stream of {dataset.task} has no {measure.replace('_', '-')}: take one of {names}."
        )
    if measure == "cost" and costs is None:
        raise ValueError("The measure cost needs costs: say what errors cost (--cost).")


def draw_sparkline(values: Any) -> str:
    """Values as a line of small bars, from 0 (or the least, if that is below) to the largest; a
    space where there is none."""
    known = [float(value) for value in values if math.isfinite(value)]
    least, most = min([0.0, *known]), max([1e-9, *known])

    def draw(value: float) -> str:
        if not math.isfinite(value):
            return " "
        return _BARS[round((value - least) / (most - least) * (len(_BARS) - 1))]

    return "".join(draw(float(value)) for value in values)


@contextmanager
def watch_stream(
    output: Output, stream: Stream, window: int | None
) -> Iterator[Callable[[int, float], None]]:
    """A live error curve on a terminal: yields a function to call with the rows tested so far, and
    the number of wrong ones, or the sum of absolute errors."""
    if not output.is_live:
        yield lambda done, loss: None
        return
    import numpy as np
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    evaluation, size = stream.evaluation, stream.choose_window(window)
    of_classes = evaluation.target.classes is not None
    columns = (BarColumn(bar_width=20), MofNCompleteColumn(), TextColumn("{task.fields[text]}"))
    seen = deque([(evaluation.n_tested, evaluation.loss)])
    curve: list[float] = []
    drawn = 0.0
    title = TextColumn(stream.settings.machine)
    with Progress(title, *columns, console=Console(stderr=True), transient=True) as display:
        total, done_before = evaluation.n_to_test, evaluation.n_tested
        task = display.add_task("", total=total, completed=done_before, text="")

        def report(done: int, loss: float) -> None:
            nonlocal drawn
            seen.append((done, loss))
            while done - seen[1][0] >= size:
                seen.popleft()
            now = time.perf_counter()
            if now - drawn < _PAUSE_SECONDS:
                return
            drawn = now
            last = done - seen[0][0]
            curve.append((loss - seen[0][1]) / last)
            line = draw_sparkline(_sample_evenly(np.array(curve), 24))
            name = "error" if of_classes else "mae"
            text = f"{_name_curve(name, last)}: {_write_measure(name, curve[-1])}  {line}"
            display.update(task, completed=done, text=text)

        yield report


def _sample_evenly(values: Any, count: int) -> Any:
    """At most so many of the values, evenly spaced, including the last."""
    import numpy as np

    if len(values) <= count:
        return values
    return values[np.linspace(0, len(values) - 1, count).round().astype(int)]


def list_values(
    stream: Stream, result: PrequentialResult, measure: str | None = None
) -> dict[str, Any]:
    """The result as plain values."""
    import numpy as np

    places = _sample_evenly(np.arange(len(result.rows)), _IN_JSON)
    scores = result.scores
    shown = measure or ("cost" if "cost" in scores else next(iter(scores)))
    names = ("error", "kappa") if result.task == "classification" else ("mae", "r2")
    curve: dict[str, Any] = {"row": (result.rows[places] + 1).tolist()}
    if result.times is not None:
        curve["time"] = result.times[places]
    curve |= {name: result.curve(name)[places].tolist() for name in [*names, shown]}
    return {
        "machine": stream.settings.machine,
        "params": stream.settings.params,
        "task": result.task,
        "rows": stream.dataset.n_rows,
        "warm_up": stream.settings.warm_up,
        "delay": stream.settings.delay,
        "batch_size": stream.settings.batch_size,
        "tested": len(result.rows),
        "complete": result.complete,
        **scores,
        "measure": shown,
        "window": result.window,
        "curve": curve,
        "drift": result.drift,
        "warning": result.warning,
        "seconds_learning": result.seconds_learning,
        "seconds_predicting": result.seconds_predicting,
        "snapshots": stream.saved,
        "resumed_from": stream.resumed_from,
    }


#: Measures as they are named in a line of text, and how it says what a curve shows.
_SHOWN = {
    "error": "errors", "kappa": "kappa", "log_loss": "log-loss", "cost": "mean cost",
    "mae": "MAE", "rmse": "RMSE", "r2": "R²", "accuracy": "right answers",
    "balanced_accuracy": "balanced accuracy",
}  # fmt: skip
_IN_PERCENT = ("error", "accuracy", "balanced_accuracy")


def _write_measure(name: str, value: float) -> str:
    """A value as text."""
    if math.isnan(value):
        return "-"
    if name in _IN_PERCENT:
        return f"{100 * value:.1f} %"
    return f"{value:.3f}" if name in ("kappa", "r2", "log_loss") else f"{value:.4g}"


def _name_curve(name: str, window: int) -> str:
    """What a point of a curve is."""
    return f"{_SHOWN[name]} in the last {window} rows"


def _list_measures(values: dict[str, Any]) -> str:
    """Measures over all tested rows, in a line."""
    names = ("error", "kappa", "log_loss", "cost", "mae", "rmse", "r2")
    listed = [name for name in names if name in values]
    if values["measure"] not in listed:
        listed.append(values["measure"])
    first = f"{_write_measure('error', values['error'])} errors" if "error" in values else ""
    rest = [
        f"{_SHOWN[name]} {_write_measure(name, values[name])}" for name in listed if name != "error"
    ]
    return ", ".join([first, *rest] if first else rest)


def describe_run(stream: Stream, result: PrequentialResult, values: dict[str, Any]) -> list[str]:
    """What was done, and how good it was, in a few lines."""
    n_tested, settings = len(result.rows), stream.settings
    learned = "the first was" if settings.warm_up == 1 else f"the first {settings.warm_up} were"
    lines = [
        f"{settings.machine}: {n_tested} rows, each predicted before it was learned "
        f"({learned} only learned)"
    ]
    if settings.delay:
        lines.append(
            f"Labels came {settings.delay} rows late: so many rows after the first ones were not "
            "tested, and as many at the end were not learned."
        )
    if not result.complete:
        lines.append(f"Interrupted after row {stream.position} of {stream.dataset.n_rows}.")
    if n_tested:
        lines.append(
            f"{_list_measures(values)}; {result.seconds_learning:.2f} s learning, "
            f"{result.seconds_predicting:.2f} s predicting"
        )
    return lines


def format_result(stream: Stream, result: PrequentialResult, values: dict[str, Any]) -> str:
    """The result as text."""
    lines = describe_run(stream, result, values)
    if len(result.rows):
        shown = values["measure"]
        whole = min(result.window, len(result.rows) // 4)  # points of fewer rows mean little
        curve = _sample_evenly(result.curve(shown)[whole:], _IN_A_LINE)
        known = [float(value) for value in curve if math.isfinite(value)]
        largest = _write_measure(shown, max(known, default=math.nan))
        lines.append(f"{_name_curve(shown, result.window)}, up to {largest}:")
        lines.append(f"  {draw_sparkline(curve)}  {_write_measure(shown, float(curve[-1]))}")
    lines += values["drift"]
    if values["warning"] is not None:
        lines.append(f"Warning: {values['warning']}")
    if stream.resumed_from is not None:
        lines.append(f"Continued from {stream.resumed_from}.")
    if stream.saved:
        more = f", and {len(stream.saved) - 1} before it" if len(stream.saved) > 1 else ""
        lines.append(f"Last snapshot: {stream.saved[-1]}{more}")
    for name, words in (("model", "Model saved as"), ("report", "Report:")):
        if name in values:
            lines.append(f"{words} {values[name]}")
    return "\n".join(lines)


def write_page(
    stream: Stream, result: PrequentialResult, values: dict[str, Any], path: str, data: str
) -> None:
    """Write the HTML report."""
    from lindero.report import write_stream_report

    write_stream_report(
        result,
        path,
        title=f"{stream.settings.machine} on a stream",
        summary=data,
        lines=describe_run(stream, result, values),
        command=shlex.join(["lindero", *sys.argv[1:]]),
        data=stream.dataset,
    )
