"""A stream as a page: errors along it, where they changed, and how a moving boundary moved.

What is drawn, errors with their change points, speeds, weights, is found by `lindero.plot`, whose
displays show the same by matplotlib; here curves become SVG in the colours of the page.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lindero.evaluation.build import TABLE_STEP, unwrap_machine
from lindero.evaluation.registry import CLASSIFICATION
from lindero.evaluation.stream_results import PrequentialResult
from lindero.persist.safe_file import write_whole_bytes
from lindero.plot.curves import CurveChart, find_places, thin_curve
from lindero.plot.path import describe_weights
from lindero.plot.prequential import StreamErrors, describe_errors
from lindero.plot.stream import describe_speed
from lindero.report.charts import draw_twice
from lindero.report.page import describe_origin, figure, heading, page, paragraph, table
from lindero.report.picture import WIDE, Picture, Scale, measure_text
from lindero.runtime.arrays import Array, write_plain
from lindero.runtime.texts import shorten

_HEIGHT = 320
_STYLES = ("best", "second", "other")
_MOST_POINTS = 600

#: Weights that are drawn.
_MOST_WEIGHTS = 5


# -- charts ---------------------------------------------------------------------------------------


def draw_error_curves(
    curves: Mapping[str, tuple[Any, Any]],
    width: int = WIDE,
    *,
    shaded: tuple[float, float] | None = None,
    changes: Sequence[float] = (),
    axis: str = "row of the stream",
) -> str:
    """Error rates, from 0 to 1, along the rows of a stream, up to three curves by name; between
    the `shaded` rows something happens, and lines mark `changes`."""
    hundred = {name: (rows, 100.0 * np.asarray(errors)) for name, (rows, errors) in curves.items()}
    title = "Error rate along the stream"
    return write_curves(
        CurveChart(title, hundred, "error rate (%)", axis, changes, shaded, least=0.0), width
    )


def write_curves(chart: CurveChart, width: int = WIDE) -> str:
    """A chart of curves as SVG; :func:`lindero.plot.curves.draw_curves` draws it by matplotlib."""
    curves = {name: thin_curve(*curve, _MOST_POINTS) for name, curve in chart.curves.items()}
    low = min(float(y.min()) for _, y in curves.values())
    low = low if chart.least is None else chart.least
    high = max(float(y.max()) for _, y in curves.values())
    if chart.logarithmic:
        low, high = low / 1.3, high * 1.3
    else:
        room = 0.08 * (high - low) or 1.0
        low, high = low if chart.least is not None else low - room, high + room
    rows_of_keys = _place_keys([shorten(name, 30) for name in curves], width)
    top = 20 + 18 * len(rows_of_keys)
    left, right, bottom = 70, 20, _HEIGHT - 46
    picture = Picture(width, _HEIGHT, chart.title)
    first = min(float(np.min(places)) for places, _ in curves.values())
    last = max(float(np.max(places)) for places, _ in curves.values())
    x = Scale(
        0.0 if chart.least is not None and not chart.dates else first, last, left, width - right
    )
    y = Scale(low, high, bottom, top, logarithmic=chart.logarithmic)
    if chart.shaded is not None:
        start, stop = map(x, chart.shaded)
        picture.rectangle(start, top, stop - start, bottom - top, "empty")
    if chart.dates:
        _draw_dates(picture, x, top, bottom)
    else:
        picture.axis_below(x, top, bottom, chart.axis)
    picture.axis_left(y, left, width - right, chart.beside)
    for mark in chart.marks:
        picture.line(x(mark), top, x(mark), bottom, "reference")
    keys = [key for line in rows_of_keys for key in line]
    for (name, (places, values)), style, key in zip(
        curves.items(), _list_styles(len(curves)), keys, strict=True
    ):
        points = zip(places.tolist(), values.tolist(), strict=True)
        picture.path([(x(place), y(value)) for place, value in points], style)
        picture.line(key[0], key[1], key[0] + 18, key[1], f"{style} key")
        picture.text(key[0] + 24, key[1] + 4, shorten(name, 30))
    return str(picture)


def _list_styles(count: int) -> list[str]:
    return [*_STYLES, "third", "fourth"][:count] if count <= 5 else [_STYLES[-1]] * count


def _place_keys(names: list[str], width: int) -> list[list[tuple[float, float]]]:
    """Where names of curves go, in lines that fit the width."""
    lines: list[list[tuple[float, float]]] = [[]]
    at, line = 12.0, 0
    for name in names:
        need = 44 + measure_text(name)
        if lines[-1] and at + need > width:
            lines.append([])
            at, line = 12.0, line + 1
        lines[-1].append((at, 14.0 + 18 * line))
        at += need
    return lines


def _draw_dates(picture: Picture, x: Scale, top: float, bottom: float) -> None:
    """An axis of days or times; x counts nanoseconds."""
    count = max(2, int((x(x.high) - x(x.low)) / 120))
    span = (x.high - x.low) / 1e9
    unit = "D" if span > 3 * 86_400 else "m" if span > 300 else "s"
    for value in np.linspace(x.low, x.high, count + 1)[:-1] + (x.high - x.low) / (2 * count):
        picture.line(x(value), top, x(value), bottom)
        text = str(np.datetime64(int(value), "ns").astype(f"datetime64[{unit}]"))
        picture.text(x(value), bottom + 16, text.replace("T", " "), anchor="middle", style="tick")
    picture.text((x(x.low) + x(x.high)) / 2, bottom + 34, "time", anchor="middle")


# -- the page -------------------------------------------------------------------------------------


def write_stream_report(
    result: PrequentialResult,
    path: str | os.PathLike[Any],
    *,
    title: str = "A stream",
    summary: str = "",
    lines: Sequence[str] = (),
    times: Any = None,
    command: str | None = None,
    data: Any = None,
) -> None:
    """Write the evaluation along a stream as a single page of HTML, charts included.

    Parameters
    ----------
    result : PrequentialResult
        From :func:`~lindero.evaluation.prequential`.
    path : str or path-like
        The file. It is written whole, or not at all.
    title, summary : str
        Heading, and the data in a line.
    lines : sequence of str, default=()
        Paragraphs above the charts.
    times : array-like or None, default=None
        Time of each row of the stream, numbers or dates: the axis of the charts. None is the times
        of the result, if it has any.
    command : str or None, default=None
        The command that made it.
    data : Dataset or None, default=None
        The data, for their hash.

    See Also
    --------
    write_report : The page of a comparison.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from lindero.bayes import NaiveBayes
    >>> from lindero.evaluation import prequential
    >>> from lindero.report import write_stream_report
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> result = prequential(NaiveBayes(), X, (X[:, 0] > 0).astype(int))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "stream.html")
    ...     write_stream_report(result, path)
    ...     os.path.getsize(path) > 1000
    True
    """
    body = [heading(title, 1), paragraph(summary, "muted"), *(paragraph(line) for line in lines)]
    if len(result.rows):
        body += _show_errors(result, times)
        body += _show_drift(result)
        body += _show_speed(result)
        body += _show_weights(result, times)
    body += describe_origin(command, data)
    write_whole_bytes(path, page(title, body).encode("utf-8", errors="replace"))


def _show_errors(result: PrequentialResult, times: Any) -> list[str]:
    found = describe_errors(result, times)
    of_classes = result.task == CLASSIFICATION
    what = "Share of errors" if of_classes else "Mean absolute error"
    said = f"{what} in the last {found.window} rows, each predicted before it was learned. "
    said += "Dashed lines: change points." if found.changes else "No change points were found."
    picture = draw_twice(lambda width: write_curves(found.chart, width))
    parts = [heading("Errors over time"), figure(picture, said)]
    if found.changes:
        test = "test of two proportions" if of_classes else "test of two means of their ranks"
        what = "the share of errors changes" if of_classes else "absolute errors change"
        parts += [
            heading("Change points"),
            _make_changes_table(result, found),
            paragraph(
                f"Places where {what}: {test}, p below 1 % after Bonferroni's correction for all "
                "places.",
                "muted",
            ),
        ]
    return parts


def _make_changes_table(result: PrequentialResult, found: StreamErrors) -> str:
    def write(part: Array) -> str:
        mean = float(part.mean())
        return f"{100 * mean:.1f} %" if result.task == CLASSIFICATION else write_plain(mean)

    changes, losses = found.changes, found.losses
    ends = [0, *changes, len(result.rows)]
    rows = []
    for at, change in enumerate(changes):
        when = write_plain(float(found.places[change]), 6)
        if found.chart.dates:
            when = _write_date(found.places[change].astype("datetime64[ns]"))
        before, after = losses[ends[at] : change], losses[change : ends[at + 2]]
        rows.append([f"{result.rows[change] + 1}", when, write(before), write(after)])
    name = "errors" if result.task == CLASSIFICATION else "MAE"
    return table(["row", "time", f"{name} before", f"{name} after"], rows, figures=(2, 3))


def _show_drift(result: PrequentialResult) -> list[str]:
    """What the model says of how it moved, and whether it can be relied on."""
    said = [paragraph(line) for line in result.drift]
    if result.warning is not None:
        said.append(paragraph(f"Warning: {result.warning}"))
    return [heading("Drift"), *said] if said else []


def _write_date(date: Any) -> str:
    text = str(date.astype("datetime64[s]")).replace("T", " ")
    return text.removesuffix(" 00:00:00")


def _find_history(result: PrequentialResult) -> Any:
    """What an adaptive machine recorded of its stream; None for others."""
    return getattr(unwrap_machine(result.model), "history_", None)


def _show_speed(result: PrequentialResult) -> list[str]:
    """How many rows matter along the stream, where the machine finds that out."""
    history = _find_history(result)
    if history is None or len(history.rows) < 3:
        return []
    chart = describe_speed(history)
    said = "How many of the last rows matter: the fewer, the faster things change. "
    said += (
        "Dashed lines: changes that the machine noticed."
        if chart.marks
        else ("No change was noticed.")
    )
    picture = draw_twice(lambda width: write_curves(chart, width))
    return [heading("Speed of change"), figure(picture, said)]


def _show_weights(result: PrequentialResult, times: Any) -> list[str]:
    """How the weights of a linear boundary moved, where the model keeps them for all times."""
    final = unwrap_machine(result.model)
    try:
        weights = np.asarray(final.coef_)
    except (AttributeError, ValueError):
        return []
    places, axis, dates = find_places(result.rows, result.times if times is None else times)
    history, n_tested = _find_history(result), len(places)
    if history is not None:  # kept now and then, and the present ones
        places = np.append(history.rows, result.rows[-1] + 1 - result.delay)
        axis, dates = "row of the stream", False
        if weights.ndim != 2 or not 3 <= len(weights) == len(places):
            return []
    elif weights.ndim != 2 or len(weights) < max(3, n_tested // 2):
        return []
    weights = weights[-len(places) :]
    names = _name_weights(result.model, weights.shape[1])
    chart = describe_weights(places[-len(weights) :], weights, names, _MOST_WEIGHTS, axis, dates)
    said = f"Weights of the boundary over time, of the {len(chart.curves)} columns that moved most."
    picture = draw_twice(lambda width: write_curves(chart, width))
    return [heading("Weights over time"), figure(picture, said)]


def _name_weights(model: Any, count: int) -> list[str]:
    steps = getattr(model, "named_steps", {})
    if TABLE_STEP in steps:
        names = [str(name) for name in steps[TABLE_STEP].get_feature_names_out()]
    else:
        names = [str(name) for name in getattr(model, "feature_names_in_", [])]
    return names if len(names) == count else [f"x{j}" for j in range(count)]
