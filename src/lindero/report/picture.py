"""Pictures as SVG inside a page: no library, no file beside it, colours of the page.

Everything that comes from a user is escaped here, and nowhere else: `Picture.text` takes text.
Colours are classes of the page's style, so that pictures follow its light and dark versions.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from html import escape

from lindero.runtime.arrays import write_plain

#: Height of text in charts.
FONT_SIZE = 12

#: Width of charts on wide pages and on narrow ones, as of telephones.
WIDE, NARROW = 760, 350


def measure_text(text: str, size: float = FONT_SIZE) -> float:
    """About how wide a text is; rather too much than too little."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return size * (0.58 * (len(text) - wide) + 1.05 * wide)


def place_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers between two others, about so many, and two at least: one alone says nothing of
    how far apart values are."""
    if not high > low:
        return [low]
    for many in (max(1, count), count + 1, count + 2, 2 * count + 2):
        rough = (high - low) / many
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(f * unit for f in (1, 2, 2.5, 5, 10) if f * unit >= rough * 0.999)
        first = math.ceil(low / step - 1e-9)
        last = math.floor(high / step + 1e-9)
        if last > first:
            break
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
    """A number at an axis, without an exponent."""
    return write_plain(value, 4)


class Scale:
    """From values to places along a side of a picture."""

    def __init__(
        self, low: float, high: float, start: float, stop: float, *, logarithmic: bool = False
    ) -> None:
        self.low, self.high = low, high
        self._of = math.log10 if logarithmic else float
        span = self._of(high) - self._of(low)
        self._start, self._slope = start, (stop - start) / (span or 1.0)
        self.n_ticks = max(2, min(6, round(abs(stop - start) / 70)))

    def __call__(self, value: float) -> float:
        return self._start + self._slope * (self._of(value) - self._of(self.low))

    @property
    def ticks(self) -> list[float]:
        if self._of is math.log10:
            return place_log_ticks(self.low, self.high)
        return place_ticks(self.low, self.high, self.n_ticks)


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
