"""Charts as SVG inside a page: no library, no file beside it, colours of the page.

First the parts, `Scale` and `Picture`; then the charts of a comparison, and curves along a stream.
Everything that comes from a user is escaped here, and nowhere else: `Picture.text` takes text.
Colours are classes of the page's style, so that charts follow its light and dark versions.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from lindero.evaluation.measures import MEASURES
from lindero.evaluation.results import Comparison, MachineResult, write_score
from lindero.runtime.arrays import Array

#: Height of text in charts.
FONT_SIZE = 12

#: Width of charts; pages shrink them to fit.
_WIDTH = 760

#: More classes than this are not drawn as a matrix.
MOST_CLASSES = 40

#: Bins of a reliability diagram.
_BINS = 10

#: Curves along a stream.
_CURVE_HEIGHT = 320
_CURVE_STYLES = ("best", "second", "other")
_MOST_POINTS = 600


# -- parts of a chart -----------------------------------------------------------------------------


def measure_text(text: str, size: float = FONT_SIZE) -> float:
    """About how wide a text is; rather too much than too little."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return size * (0.58 * (len(text) - wide) + 1.05 * wide)


def shorten(text: str, length: int) -> str:
    """A text on one line, with its end left out if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def place_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers between two others, about so many."""
    if not high > low:
        return [low]
    rough = (high - low) / max(1, count)
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * unit for factor in (1, 2, 2.5, 5, 10) if factor * unit >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [step * k for k in range(first, last + 1)]


def place_log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten in a range, or 1, 2 and 5 times them where there are few, or round numbers
    where there are hardly any of these."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [factor * 10.0**k for k in powers for factor in (1, 2, 5)]
    for values in ([10.0**k for k in powers], fine):
        inside = [value for value in values if low * 0.999 <= value <= high * 1.001]
        if len(inside) > 1:
            return inside
    return place_ticks(low, high, 3) or [low]


def write_number(value: float) -> str:
    """A number at an axis."""
    return f"{value:.4g}".replace("-", "−")


class Scale:
    """From values to places along a side of a picture."""

    def __init__(
        self, low: float, high: float, start: float, stop: float, *, logarithmic: bool = False
    ) -> None:
        self.low, self.high = low, high
        self._of = math.log10 if logarithmic else float
        span = self._of(high) - self._of(low)
        self._start, self._slope = start, (stop - start) / (span or 1.0)

    def __call__(self, value: float) -> float:
        return self._start + self._slope * (self._of(value) - self._of(self.low))

    @property
    def ticks(self) -> list[float]:
        place = place_log_ticks if self._of is math.log10 else place_ticks
        return place(self.low, self.high)


class Picture:
    """Shapes and text, in pixels from the upper left corner."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width, self.height = width, height
        self._title = title
        self._parts: list[str] = []

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str = "grid") -> None:
        """A straight line."""
        self._parts.append(
            f'<line class="{style}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
        )

    def path(self, points: Sequence[tuple[float, float]], style: str = "curve") -> None:
        """A line through points."""
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(f'<polyline class="{style}" points="{places}"/>')

    def circle(self, x: float, y: float, radius: float, style: str, hint: str = "") -> None:
        """A dot, with words that appear when it is pointed at."""
        self._parts.append(
            f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}">'
            f"{_write_hint(hint)}</circle>"
        )

    def rectangle(
        self, x: float, y: float, width: float, height: float, style: str, *,
        strength: float = 1.0, hint: str = "",
    ) -> None:  # fmt: skip
        """A filled rectangle."""
        self._parts.append(
            f'<rect class="{style}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" fill-opacity="{strength:.3f}">{_write_hint(hint)}</rect>'
        )

    def text(
        self, x: float, y: float, text: str, *, anchor: str = "start", style: str = "label",
        turned: float = 0.0, size: float = FONT_SIZE,
    ) -> None:  # fmt: skip
        """Text beginning, centred or ending at a place."""
        turn = f' transform="rotate({turned:g} {x:.1f} {y:.1f})"' if turned else ""
        self._parts.append(
            f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
            f'font-size="{size:g}"{turn}>{escape(text)}</text>'
        )

    def axis_below(self, scale: Scale, top: float, bottom: float, title: str) -> None:
        """Lines upwards from round numbers, and what they are."""
        for value in scale.ticks:
            x = scale(value)
            self.line(x, top, x, bottom)
            self.text(x, bottom + 16, write_number(value), anchor="middle", style="tick")
        middle = (scale(scale.low) + scale(scale.high)) / 2
        self.text(middle, bottom + 34, title, anchor="middle")

    def axis_left(self, scale: Scale, left: float, right: float, title: str) -> None:
        """Lines to the right from round numbers, and what they are."""
        for value in scale.ticks:
            y = scale(value)
            self.line(left, y, right, y)
            self.text(left - 6, y + 4, write_number(value), anchor="end", style="tick")
        middle = (scale(scale.low) + scale(scale.high)) / 2
        self.text(14, middle, title, anchor="middle", turned=-90)

    def __str__(self) -> str:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" '
            f'viewBox="0 0 {self.width:.0f} {self.height:.0f}" '
            f'width="{self.width:.0f}" height="{self.height:.0f}">'
            f"<title>{escape(self._title)}</title>{''.join(self._parts)}</svg>"
        )


def _write_hint(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""


def find_free_place(
    x: float, y: float, width: float, placed: list[tuple[float, float, float, float]],
    ends: tuple[float, float],
) -> tuple[float, float]:  # fmt: skip
    """Where a label beside a point does not lie on others, and between `ends` if it can: its left
    end and its baseline. Its rectangle (left, top, right, bottom) is added to those `placed`."""
    steps = (0, -13, 13, -26, 26, -39, 39, -52, 52)
    sides = [
        side for side in (9.0, -9.0 - width) if ends[0] <= x + side and x + side + width <= ends[1]
    ]
    candidates = [(x + side, y + 4 + step) for step in steps for side in sides or [9.0]]
    for left, base in candidates:
        own = (left, base - 10, left + width, base + 3)
        if all(own[2] <= a or c <= own[0] or own[3] <= b or d <= own[1] for a, b, c, d in placed):
            break
    placed.append(own)
    return left, base


# -- charts of a comparison -----------------------------------------------------------------------


def _choose_axis(comparison: Comparison) -> tuple[str, float]:
    """The measure in words, and what it is multiplied by for reading."""
    if comparison.measure == "error":
        return "error (%)", 100.0
    return MEASURES[comparison.measure].title, 1.0


def draw_scores(comparison: Comparison) -> str:
    """Scores of every machine on all folds, their mean, and one standard deviation either side."""
    machines = [machine for machine in comparison.ranked if machine.is_judged]
    measure = comparison.measure
    words, factor = _choose_axis(comparison)
    scores = [factor * m.scores[measure][m.done] for m in machines]
    names = [shorten(m.name, 34) for m in machines]
    left = 16 + max(measure_text(name) for name in names)
    right, row, top = 96, 28, 12
    bottom = top + row * len(machines)
    picture = Picture(_WIDTH, bottom + 44, "Scores of all machines on all folds")
    means = np.array([values.mean() for values in scores])
    baseline = factor * comparison.baseline
    high = max(float(values.max()) for values in scores)
    low = min(float(values.min()) for values in scores)
    # The baseline is shown where it does not push everything else together.
    shows_baseline = baseline <= high + 0.6 * (high - low)
    high = max(high, baseline) if shows_baseline else high
    room = 0.04 * (high - low) or 0.05 * abs(high) or 1.0
    least = max(0.0, low - room) if low >= 0 else low - room
    x = Scale(least, high + room, left, _WIDTH - right)
    picture.axis_below(x, top, bottom, f"{words}, less is better")
    if shows_baseline:
        picture.line(x(baseline), top, x(baseline), bottom, "reference")
    for place, (machine, values, name) in enumerate(zip(machines, scores, names, strict=True)):
        y = top + row * (place + 0.5)
        style = "best" if machine is comparison.best else "other"
        picture.text(left - 10, y + 4, name, anchor="end")
        if len(values) > 1:
            spread = values.std(ddof=1)
            ends = max(least, means[place] - spread), min(x.high, means[place] + spread)
            picture.line(x(ends[0]), y, x(ends[1]), y, f"{style} bar")
        for fold, value in enumerate(values):
            hint = f"{machine.name}, fold {fold + 1}: {write_score(measure, value / factor)}"
            picture.circle(x(value), y, 3, f"{style} fold", hint)
        picture.circle(x(means[place]), y, 5.5, style, f"{machine.name}: mean of the folds")
        own = write_score(measure, machine.mean(measure))
        picture.text(_WIDTH - right + 12, y + 4, own, style="value")
    return str(picture)


def draw_times(comparison: Comparison) -> str:
    """Scores against the time of a fold, on a logarithmic axis."""
    machines = [machine for machine in comparison.ranked if machine.is_judged]
    words, factor = _choose_axis(comparison)
    height, left, right, top, bottom = 380, 76, 24, 14, 330
    picture = Picture(_WIDTH, height, "Scores against time")
    seconds = np.array([max(m.seconds, 1e-4) for m in machines])
    means = factor * np.array([m.mean(comparison.measure) for m in machines])
    room = 0.08 * float(np.ptp(means)) or 0.1 * float(means.max()) or 1.0
    least = max(0.0, means.min() - room) if means.min() >= 0 else means.min() - room
    x = Scale(seconds.min() / 1.6, seconds.max() * 1.6, left, _WIDTH - right, logarithmic=True)
    y = Scale(float(least), float(means.max()) + room, bottom, top)
    picture.axis_below(x, top, bottom, "seconds per fold, tuning included")
    picture.axis_left(y, left, _WIDTH - right, words)
    spots = [(x(s), y(value)) for s, value in zip(seconds.tolist(), means.tolist(), strict=True)]
    placed = [(px - 6, py - 6, px + 6, py + 6) for px, py in spots]
    for machine, (px, py) in zip(machines, spots, strict=True):
        style = "best" if machine is comparison.best else "other"
        name = shorten(machine.name, 34)
        at = find_free_place(px, py, measure_text(name), placed, (left, _WIDTH))
        if abs(at[1] - 4 - py) > 13:
            edge = at[0] if at[0] > px else at[0] + measure_text(name)
            picture.line(px, py, edge, at[1] - 4, "leader")
        picture.circle(px, py, 5.5, style, f"{machine.name}: {machine.seconds:.2f} s")
        picture.text(*at, name)
    return str(picture)


def draw_confusion_matrix(comparison: Comparison, machine: MachineResult) -> str | None:
    """The confusion matrix; None for too many classes."""
    assert comparison.classes is not None
    n_classes = len(comparison.classes)
    if n_classes > MOST_CLASSES:
        return None
    counts = count_confusions(comparison, machine)
    names = [shorten(str(label), 16) for label in comparison.classes.tolist()]
    widest = max(measure_text(name) for name in names)
    cell = min(84.0, max(17.0, 520.0 / n_classes))
    size = 12 if cell >= 34 else 9.5 if cell >= 24 else 8
    left = 34 + widest
    turned = widest > cell - 6
    above = 30 + (widest * 0.72 + 8 if turned else 16)
    side = cell * n_classes
    spill = widest * 0.72 if turned else 10
    picture = Picture(max(left + side + spill, 260), above + side + 8, "Confusion matrix")
    picture.text(left + side / 2, 14, "predicted", anchor="middle", style="tick")
    picture.text(14, above + side / 2, "true", anchor="middle", style="tick", turned=-90)
    totals = np.maximum(counts.sum(axis=1), 1)
    for i, name in enumerate(names):
        y = above + cell * i
        picture.text(left - 8, y + cell / 2 + 4, name, anchor="end", size=min(12, size + 2))
        x = left + cell * (i + 0.5)
        way: Any = {"turned": -45} if turned else {"anchor": "middle"}
        picture.text(x + 4 * turned, above - 8, name, size=min(12, size + 2), **way)
        for j in range(n_classes):
            share = counts[i, j] / totals[i]
            style = "right" if i == j else "wrong"
            hint = f"true {names[i]}, predicted {names[j]}: {counts[i, j]} ({100 * share:.1f} %)"
            x = left + cell * j
            strength = math.sqrt(share) if counts[i, j] else 0.0
            picture.rectangle(x, y, cell - 1, cell - 1, "empty")
            picture.rectangle(x, y, cell - 1, cell - 1, style, strength=0.75 * strength, hint=hint)
            if counts[i, j]:
                text = str(counts[i, j])
                fitting = size * min(1.0, (cell - 3) / measure_text(text, size))
                middle = x + cell / 2 - 0.5, y + cell / 2 + size / 3
                picture.text(*middle, text, anchor="middle", style="count", size=fitting)
    return str(picture)


def count_confusions(comparison: Comparison, machine: MachineResult) -> Array:
    """Rows of each true class (a row) by predicted class (a column), out of fold."""
    assert comparison.classes is not None
    n_classes = len(comparison.classes)
    tested = machine.answers >= 0
    cells = comparison.truth[tested] * n_classes + machine.answers[tested]
    counts: Array = np.bincount(cells, minlength=n_classes * n_classes)
    return counts.reshape(n_classes, n_classes)


def _draw_square(
    title: str, low: float, high: float, below: str, beside: str
) -> tuple[Picture, Scale, Scale]:
    """Two axes of the same range, and a line where they are equal."""
    size, left, top = 380, 76, 14
    picture = Picture(left + size + 24, top + size + 48, title)
    x, y = Scale(low, high, left, left + size), Scale(low, high, top + size, top)
    picture.axis_below(x, top, top + size, below)
    picture.axis_left(y, left, left + size, beside)
    picture.line(x(low), y(low), x(high), y(high), "reference")
    return picture, x, y


def draw_reliability(comparison: Comparison, machine: MachineResult) -> str | None:
    """The reliability diagram, predicted probabilities against frequencies, of the second of two
    classes, or of the likeliest of several; None without probabilities."""
    found = machine.probabilities
    if found is None or comparison.classes is None:
        return None
    known = ~np.isnan(found).any(axis=1)
    if comparison.classes.size == 2:
        predicted, observed = found[known, 1], comparison.truth[known] == 1
        words = f"predicted probability of {shorten(str(comparison.classes[1]), 24)}"
        share = "observed frequency"
    else:
        predicted = found[known].max(axis=1)
        observed = found[known].argmax(axis=1) == comparison.truth[known]
        words, share = "predicted probability of the likeliest class", "accuracy"
    picture, x, y = _draw_square("Reliability diagram", 0.0, 1.0, words, share)
    bins = np.minimum((predicted * _BINS).astype(int), _BINS - 1)
    most = np.bincount(bins, minlength=_BINS).max()
    held = [bins == code for code in np.unique(bins)]
    points = [(predicted[own].mean(), observed[own].mean(), int(own.sum())) for own in held]
    picture.path([(x(p), y(q)) for p, q, _ in points], "best line")
    for p, q, count in points:
        # One standard deviation of so many rows, were the probability right.
        spread = math.sqrt(max(p * (1 - p), 0.0) / count)
        picture.line(x(p), y(max(0, p - spread)), x(p), y(min(1, p + spread)), "expected")
        hint = f"predicted {write_number(p)}, observed {write_number(q)}, {count} rows"
        picture.circle(x(p), y(q), 3 + 7 * math.sqrt(count / most), "best", hint)
    return str(picture)


def draw_predictions(comparison: Comparison, machine: MachineResult) -> str:
    """Out-of-fold predictions against true numbers; at most 2000 rows."""
    tested = np.flatnonzero(~np.isnan(machine.answers))
    if len(tested) > 2000:
        tested = np.sort(np.random.default_rng(0).choice(tested, 2000, replace=False))
    truth, answers = comparison.truth[tested], machine.answers[tested]
    both = np.concatenate([truth, answers])
    room = 0.03 * float(np.ptp(both)) or 1.0
    low, high = float(both.min()) - room, float(both.max()) + room
    title, words = "Predicted against true numbers", f"true {shorten(comparison.target, 40)}"
    picture, x, y = _draw_square(title, low, high, words, "predicted")
    for t, a in zip(truth.tolist(), answers.tolist(), strict=True):
        picture.circle(x(t), y(a), 2.5, "best fold")
    return str(picture)


def draw_error_curves(
    curves: Mapping[str, tuple[Any, Any]], *, shaded: tuple[float, float] | None = None
) -> str:
    """Error rates, from 0 to 1, along the rows of a stream, up to three curves by name; between
    the `shaded` rows something happens."""
    left, right, top, bottom = 70, 20, 34, _CURVE_HEIGHT - 46
    picture = Picture(_WIDTH, _CURVE_HEIGHT, "Error rate along the stream")
    last = max(float(np.max(rows)) for rows, _ in curves.values())
    most = max(100.0 * float(np.max(errors)) for _, errors in curves.values())
    x, y = Scale(0.0, last, left, _WIDTH - right), Scale(0.0, 1.08 * most or 1.0, bottom, top)
    if shaded is not None:
        start, stop = map(x, shaded)
        picture.rectangle(start, top, stop - start, bottom - top, "empty")
    picture.axis_below(x, top, bottom, "row of the stream")
    picture.axis_left(y, left, _WIDTH - right, "error rate (%)")
    place = float(left)
    for (name, (rows, errors)), style in zip(curves.items(), _CURVE_STYLES, strict=False):
        few = np.linspace(0, len(rows) - 1, min(len(rows), _MOST_POINTS)).round().astype(int)
        points = [(x(float(rows[k])), y(100.0 * float(errors[k]))) for k in few]
        picture.path(points, style)
        picture.line(place, 16, place + 18, 16, f"{style} key")
        label = shorten(name, 30)
        picture.text(place + 24, 20, label)
        place += 44 + measure_text(label)
    return str(picture)
