"""A stream as a page: errors along it, where they changed, and how a moving boundary moved.

Change points: the row after which the share of errors differs most before and after, by the test of
two proportions, if p times the number of places tried (Bonferroni) is below 1 %; then the same in
both parts. Errors of neighbouring rows are taken as independent. Of numbers, ranks of the absolute
errors are compared by the test of two means, so that a few large errors make no change point.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lindero.evaluation.build import TABLE_STEP, unwrap_machine
from lindero.evaluation.registry import CLASSIFICATION
from lindero.evaluation.stream_results import PrequentialResult, sum_in_window
from lindero.persist.safe_file import write_whole_bytes
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

#: Change points: the level of the test, rows on either side, and how many at most.
_LEVEL, _FEWEST, _MOST_CHANGES = 0.01, 30, 8


# -- change points --------------------------------------------------------------------------------


def find_changes(correct: Any) -> list[int]:
    """Places in a stream of right and wrong answers where the share of errors changes, in order."""
    return _find_places((~np.asarray(correct, dtype=bool)).astype(np.float64))


def find_error_changes(errors: Any) -> list[int]:
    """Places in a stream of absolute errors where their size changes, in order."""
    from scipy.stats import rankdata

    sizes = np.nan_to_num(np.asarray(errors, dtype=np.float64), nan=np.inf)
    return _find_places(rankdata(sizes) / max(1, len(sizes)))


def _find_places(losses: Array) -> list[int]:
    totals = np.zeros((2, len(losses) + 1))
    np.cumsum([losses, losses**2], axis=1, out=totals[:, 1:])
    parts: list[tuple[int, int]] = [(0, len(losses))]
    found: list[int] = []
    while parts and len(found) < _MOST_CHANGES:
        start, stop = parts.pop(0)
        place = _find_change(totals, start, stop)
        if place is not None:
            found.append(place)
            parts += [(start, place), (place, stop)]
    return sorted(found)


def _find_change(totals: Array, start: int, stop: int) -> int | None:
    """The place of a part where it changes most, if it does; `totals` are sums of the losses and of
    their squares."""
    places = np.arange(start + _FEWEST, stop - _FEWEST + 1)
    if len(places) == 0:
        return None
    before, after, total = places - start, stop - places, totals[0]
    first = (total[places] - total[start]) / before
    second = (total[stop] - total[places]) / after
    mean, square = (totals[:, stop] - totals[:, start]) / (stop - start)
    variance = square - mean**2  # of right and wrong answers, share · (1 − share)
    if not variance > 1e-12:
        return None
    z = np.abs(first - second) / np.sqrt(variance * (1 / before + 1 / after))
    best = int(z.argmax())
    p = len(places) * math.erfc(float(z[best]) / math.sqrt(2.0))
    return int(places[best]) if p < _LEVEL else None


# -- charts ---------------------------------------------------------------------------------------


def draw_error_curves(
    curves: Mapping[str, tuple[Any, Any]],
    width: int = WIDE,
    *,
    shaded: tuple[float, float] | None = None,
    changes: Sequence[float] = (),
    axis: str = "row of the stream",
    times: Array | None = None,
) -> str:
    """Error rates, from 0 to 1, along the rows of a stream, up to three curves by name; between
    the `shaded` rows something happens, and lines mark `changes`."""
    hundred = {name: (rows, 100.0 * np.asarray(errors)) for name, (rows, errors) in curves.items()}
    title = "Error rate along the stream"
    return _draw_curves(
        title, hundred, "error rate (%)", width, shaded=shaded, changes=changes, axis=axis,
        least=0.0, times=times,
    )  # fmt: skip


def _draw_curves(
    title: str,
    curves: Mapping[str, tuple[Any, Any]],
    beside: str,
    width: int,
    *,
    shaded: tuple[float, float] | None = None,
    changes: Sequence[float] = (),
    axis: str,
    least: float | None = None,
    times: Array | None = None,
) -> str:
    ends = [(min(map(float, v)), max(map(float, v))) for _, v in curves.values()]
    low = min(end[0] for end in ends) if least is None else least
    high = max(end[1] for end in ends)
    room = 0.08 * (high - low) or 1.0
    rows_of_keys = _place_keys([shorten(name, 30) for name in curves], width)
    top = 20 + 18 * len(rows_of_keys)
    left, right, bottom = 70, 20, _HEIGHT - 46
    picture = Picture(width, _HEIGHT, title)
    first = min(float(np.min(rows)) for rows, _ in curves.values())
    last = max(float(np.max(rows)) for rows, _ in curves.values())
    x = Scale(0.0 if least is not None and times is None else first, last, left, width - right)
    y = Scale(low if least is not None else low - room, high + room, bottom, top)
    if shaded is not None:
        start, stop = map(x, shaded)
        picture.rectangle(start, top, stop - start, bottom - top, "empty")
    if times is None:
        picture.axis_below(x, top, bottom, axis)
    else:
        _draw_dates(picture, x, top, bottom, times)
    picture.axis_left(y, left, width - right, beside)
    for change in changes:
        picture.line(x(change), top, x(change), bottom, "reference")
    places = [place for line in rows_of_keys for place in line]
    for (name, (rows, values)), style, place in zip(
        curves.items(), _list_styles(len(curves)), places, strict=True
    ):
        few = np.linspace(0, len(rows) - 1, min(len(rows), _MOST_POINTS)).round().astype(int)
        picture.path([(x(float(rows[k])), y(float(values[k]))) for k in few], style)
        picture.line(place[0], place[1], place[0] + 18, place[1], f"{style} key")
        picture.text(place[0] + 24, place[1] + 4, shorten(name, 30))
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


def _draw_dates(picture: Picture, x: Scale, top: float, bottom: float, times: Array) -> None:
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
        places, axis, dates = _read_times(result.times if times is None else times, result)
        body += _show_errors(result, places, axis, dates)
        body += _show_drift(result)
        body += _show_speed(result)
        body += _show_weights(result, places, axis, dates)
    body += describe_origin(command, data)
    write_whole_bytes(path, page(title, body).encode("utf-8", errors="replace"))


def _read_times(times: Any, result: PrequentialResult) -> tuple[Array, str, Array | None]:
    """Where each tested row is along the axis, what the axis is, and dates if they are."""
    if times is None:
        return result.rows + 1, "row of the stream", None
    own = np.asarray(times)
    own = own[result.rows] if len(own) > len(result.rows) else own
    if own.dtype.kind == "M":
        dates = own.astype("datetime64[ns]")
        return dates.astype(np.int64), "time", dates
    return own.astype(np.float64), "time", None


def _show_errors(
    result: PrequentialResult, places: Array, axis: str, dates: Array | None
) -> list[str]:
    window = min(result.window, max(_FEWEST, len(result.rows) // 15))
    of_classes = result.task == CLASSIFICATION
    if of_classes:
        losses, what = (~result.correct).astype(np.float64), "Share of errors"
        changes = find_changes(result.correct)
    else:
        losses, what = np.abs(result.truth - result.answers), "Mean absolute error"
        changes = find_error_changes(losses)
    curve = (
        places,
        sum_in_window(losses, window) / np.minimum(np.arange(1, len(losses) + 1), window),
    )
    marks = [float(places[change]) for change in changes]
    said = f"{what} in the last {window} rows, each predicted before it was learned. "
    said += "Dashed lines: change points." if changes else "No change points were found."

    def draw(width: int) -> str:
        if of_classes:
            curves = {"errors": curve}
            return draw_error_curves(curves, width, changes=marks, axis=axis, times=dates)
        return _draw_curves(
            "Mean absolute error along the stream", {"MAE": _keep_finite(*curve)}, "MAE", width,
            changes=marks, axis=axis, least=0.0, times=dates,
        )  # fmt: skip

    parts = [heading("Errors over time"), figure(draw_twice(draw), said)]
    if changes:
        test = "test of two proportions" if of_classes else "test of two means of their ranks"
        what = "the share of errors changes" if of_classes else "absolute errors change"
        parts += [
            heading("Change points"),
            _make_changes_table(result, losses, changes, places, dates),
            paragraph(
                f"Places where {what}: {test}, p below 1 % after Bonferroni's correction for all "
                "places.",
                "muted",
            ),
        ]
    return parts


def _keep_finite(places: Array, values: Array) -> tuple[Array, Array]:
    kept = np.isfinite(values)
    return (places[kept], values[kept]) if kept.any() else (places, np.zeros(len(places)))


def _make_changes_table(
    result: PrequentialResult, losses: Array, changes: list[int], places: Array, dates: Array | None
) -> str:
    def write(part: Array) -> str:
        mean = float(part.mean())
        return f"{100 * mean:.1f} %" if result.task == CLASSIFICATION else write_plain(mean)

    ends = [0, *changes, len(result.rows)]
    rows = []
    for at, change in enumerate(changes):
        when = write_plain(float(places[change]), 6)
        if dates is not None:
            when = _write_date(dates[change])
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
    curves = {"rows that matter": (history.rows, 0.5 * np.log10(history.coupling))}
    marks = [float(change.row) for change in history.changes]

    def draw(width: int) -> str:
        return _draw_curves(
            "Speed of change", curves, "log10 of rows that matter", width, changes=marks,
            axis="row of the stream",
        )  # fmt: skip

    said = "How many of the last rows matter: the fewer, the faster things change. "
    said += "Dashed lines: changes that the machine noticed." if marks else "No change was noticed."
    return [heading("Speed of change"), figure(draw_twice(draw), said)]


def _show_weights(
    result: PrequentialResult, places: Array, axis: str, dates: Array | None
) -> list[str]:
    """How the weights of a linear boundary moved, where the model keeps them for all times."""
    final = unwrap_machine(result.model)
    try:
        weights = np.asarray(final.coef_)
    except (AttributeError, ValueError):
        return []
    history, n_tested = _find_history(result), len(places)
    if history is not None:  # kept now and then, and the present ones
        places = np.append(history.rows, result.rows[-1] + 1 - result.delay)
        axis, dates = "row of the stream", None
        if weights.ndim != 2 or not 3 <= len(weights) == len(places):
            return []
    elif weights.ndim != 2 or len(weights) < max(3, n_tested // 2):
        return []
    weights = weights[-len(places) :]
    names = _name_weights(result.model, weights.shape[1])
    moved = np.ptp(weights, axis=0)
    shown = np.argsort(-moved, kind="stable")[:_MOST_WEIGHTS]
    curves = {names[j]: (places[-len(weights) :], weights[:, j]) for j in shown}

    def draw(width: int) -> str:
        return _draw_curves("Weights over time", curves, "weight", width, axis=axis, times=dates)

    said = f"Weights of the boundary over time, of the {len(shown)} columns that moved most."
    return [heading("Weights over time"), figure(draw_twice(draw), said)]


def _name_weights(model: Any, count: int) -> list[str]:
    steps = getattr(model, "named_steps", {})
    if TABLE_STEP in steps:
        names = [str(name) for name in steps[TABLE_STEP].get_feature_names_out()]
    else:
        names = [str(name) for name in getattr(model, "feature_names_in_", [])]
    return names if len(names) == count else [f"x{j}" for j in range(count)]
