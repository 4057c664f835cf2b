"""Curves over rows, times or C: what is drawn, apart from how.

A :class:`CurveChart` says which curves there are, what the axes mean, which places are marked and
which stretch is shaded. Displays draw it by matplotlib (`draw_curves`), pages by SVG
(`lindero.report.streams.write_curves`): both show the same numbers, names and marks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.plot.style import Style, dress
from lindero.runtime.arrays import Array
from lindero.runtime.texts import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Points of a curve that are drawn; of more, the extremes of stretches of equal length.
MOST_PLACES = 4000


@dataclass(frozen=True)
class CurveChart:
    """Some curves, by name, over one axis.

    Attributes
    ----------
    title : str
        What is shown.
    curves : mapping of str to (ndarray, ndarray)
        Places and values of each.
    beside, axis : str
        What values and places are.
    marks : sequence of float, default=()
        Places with a line.
    shaded : tuple of float or None, default=None
        A stretch where something happens.
    least : float or None, default=None
        Where the axis of values begins; None is near the smallest.
    logarithmic : bool, default=False
        Whether the axis of values is.
    dates : bool, default=False
        Whether places are times, in nanoseconds since 1970.
    """

    title: str
    curves: Mapping[str, tuple[Any, Any]]
    beside: str
    axis: str
    marks: Sequence[float] = field(default=())
    shaded: tuple[float, float] | None = None
    least: float | None = None
    logarithmic: bool = False
    dates: bool = False


def thin_curve(places: Any, values: Any, most: int = MOST_PLACES) -> tuple[Array, Array]:
    """At most so many points, peaks among them: the least and the largest value of each stretch.
    Values that are not finite are left out."""
    places, values = np.asarray(places), np.asarray(values, dtype=np.float64)
    known = np.isfinite(values)
    if not known.all():
        places, values = places[known], values[known]
    if len(values) <= most:
        return places, values
    ends = np.linspace(0, len(values), max(1, most // 2 - 1) + 1).round().astype(np.int64)
    kept = {0, len(values) - 1}
    for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        part = values[start:stop]
        kept |= {start + int(part.argmin()), start + int(part.argmax())}
    rows = np.array(sorted(kept), dtype=np.int64)
    return places[rows], values[rows]


def find_places(rows: Array, times: Any) -> tuple[Array, str, bool]:
    """Where rows of a stream lie along the axis, what the axis is, and whether it is of dates."""
    if times is None:
        return rows + 1, "row of the stream", False
    own = np.asarray(times)
    own = own[rows] if len(own) > len(rows) else own
    if own.dtype.kind == "M":
        return own.astype("datetime64[ns]").astype(np.int64), "time", True
    return own.astype(np.float64), "time", False


def draw_curves(
    ax: Axes, chart: CurveChart, style: Style, *, first: int = 0, legend: bool | None = None
) -> list[Any]:
    """Draw a chart by matplotlib; the lines. `first` is the style of the first curve."""

    def place(x: Any) -> Any:
        return np.asarray(x).astype(np.int64).astype("datetime64[ns]") if chart.dates else x

    if chart.shaded is not None:
        ax.axvspan(*map(place, chart.shaded), color=style.grid, linewidth=0, zorder=0)
    for mark in chart.marks:
        ax.axvline(place(mark), color=style.muted, linewidth=1.0, linestyle="--", zorder=1)
    lines = []
    for k, (name, (x, y)) in enumerate(chart.curves.items(), start=first):
        x, y = thin_curve(x, y)
        marker = style.marker(k) if len(y) < 20 else None
        (line,) = ax.plot(
            place(x), y, color=style.colour(k), linewidth=1.6,
            linestyle=style.line(k) if len(chart.curves) > 1 else "-",
            marker=marker, markersize=4, label=shorten(name, 40), zorder=2 + 0.01 * k,
        )  # fmt: skip
        lines.append(line)
    if chart.logarithmic:
        ax.set_yscale("log")
    elif chart.least is not None:
        ax.set_ylim(bottom=chart.least)
    ax.set(xlabel=chart.axis, ylabel=chart.beside)
    ax.set_title(chart.title, fontsize=10, loc="left", color=style.ink)
    ax.grid(visible=True, color=style.grid, linewidth=0.6)
    ax.set_axisbelow(True)
    if legend or (legend is None and len(chart.curves) > 1):
        ax.legend(
            fontsize=8, frameon=True, facecolor=style.paper, edgecolor="none", framealpha=0.85,
            ncols=2 if len(chart.curves) > 4 else 1,
        )  # fmt: skip
    dress(ax, style)
    return lines
