"""The page of the demo."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindero.cli.demo_parts import STILL, TURNING, Followed, Forgotten
from lindero.evaluation import Comparison
from lindero.persist.safe_file import write_whole_bytes
from lindero.report.charts import Picture, draw_error_curves
from lindero.report.comparison import make_body
from lindero.report.page import code, figure, heading, page, paragraph

#: Rows whose lines are drawn, and how many rows around them.
_INSTANTS = (100, 225, 250, 275, 400)
_AROUND = 12
_SIDE, _REACH = 140.0, 2.3


def write_demo_page(
    path: str, comparison: Comparison, moving: Followed, changed: Forgotten
) -> None:
    """Write everything the demo found to one file."""
    title = "What lindero can do"
    body = [
        heading(title, 1),
        heading("1  Machines compared"),
        paragraph(
            "Tumours in a table of numbers and words, with gaps; to miss a malignant one costs 10 "
            "times as much as a false alarm."
        ),
        *make_body(comparison, level=3),
        heading("2  A boundary that moves"),
        paragraph(
            "Two clouds stand still, change places by turning round each other, and stand still "
            "again. Each row is predicted before it is learned."
        ),
        figure(
            draw_error_curves(moving.curves, shaded=(STILL, STILL + TURNING)),
            f"Errors in the last {moving.window} rows; the clouds turn where the ground is shaded. "
            + _told(moving),
        ),
        figure(
            _instants(moving),
            f"The line of adaptive-svc at five rows, and the {_AROUND} rows either side.",
        ),
        heading("3  Rows learned one by one, and one forgotten"),
        *(paragraph(line) for line in changed.text().split("\n", 2)),
        heading("Your own table"),
        code("lindero compare YOUR_TABLE.csv --report report.html"),
    ]
    write_whole_bytes(path, page(title, body).encode("utf-8"))


def _told(moving: Followed) -> str:
    figures = [f"{name} {100 * error:.1f} %" for name, error in moving.errors.items()]
    return f"In all: {'; '.join(figures)}."


def _instants(moving: Followed) -> str:
    """Clouds and lines at a few instants, side by side."""
    gap = 12.0
    width = len(_INSTANTS) * (_SIDE + gap)
    picture = Picture(width, _SIDE + 30, "The line at five instants")
    for place, now in enumerate(_INSTANTS):
        left = place * (_SIDE + gap)
        picture.rectangle(left, 22, _SIDE, _SIDE, "empty")
        picture.text(left + _SIDE / 2, 14, f"row {now}", anchor="middle", style="tick")
        _draw_line(picture, moving.lines[now], left)
        for row in range(now - _AROUND, now + _AROUND + 1):
            x, y = _at(moving.X[row], left)
            if left < x < left + _SIDE and 22 < y < 22 + _SIDE:
                style = "best" if moving.y[row] > 0 else "second"
                picture.circle(x, y, 3.0, style)
    return str(picture)


def _at(point: Any, left: float) -> tuple[float, float]:
    middle = _SIDE / 2
    scale = middle / _REACH
    return left + middle + scale * float(point[0]), 22 + middle - scale * float(point[1])


def _draw_line(picture: Picture, line: Any, left: float) -> None:
    """Where w·x + b = 0, inside the frame."""
    w, b = line[:2], float(line[2])
    size = float(w @ w)
    if size == 0.0:
        return
    nearest, along = -b * w / size, np.array([-w[1], w[0]]) / np.sqrt(size)
    # As far either way as the frame reaches.
    steps = np.linspace(-2 * _REACH, 2 * _REACH, 401)
    points = nearest + steps[:, None] * along
    inside = points[(np.abs(points) < _REACH).all(axis=1)]
    if len(inside) > 1:
        picture.line(*_at(inside[0], left), *_at(inside[-1], left), "boundary")
