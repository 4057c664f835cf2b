"""A stream in a terminal and on a page: the curve of errors as it grows."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.cli.output import Output
from lindero.evaluation import PrequentialResult

if TYPE_CHECKING:
    from lindero.cli.streaming import Stream

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
    from lindero.persist.safe_file import write_whole_bytes
    from lindero.report.charts import draw_error_curves
    from lindero.report.page import figure, heading, page, paragraph

    title = f"{stream.settings.machine} on a stream"
    body = [heading(title, 1), paragraph(data, "muted")]
    body += [paragraph(line) for line in result_text(stream, result, {}).splitlines()[:2]]
    if len(result.rows):
        curves = {stream.settings.machine: (result.rows + 1, 1.0 - result.curve_accuracy)}
        caption = f"Errors in the last {result.window} rows, each predicted before it was learned."
        body.append(figure(draw_error_curves(curves), caption))
    write_whole_bytes(path, page(title, body).encode("utf-8", errors="replace"))
