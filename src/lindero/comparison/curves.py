"""Curves along a stream, as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lindero.comparison.drawing import Picture, Scale, shortened, text_width

_WIDTH, _HEIGHT = 760, 320
_STYLES = ("best", "second", "other")
_MOST_POINTS = 600


def error_curves(
    curves: Mapping[str, tuple[Any, Any]], *, shaded: tuple[float, float] | None = None
) -> str:
    """Shares of errors along the rows of a stream, up to three curves by name.

    Parameters
    ----------
    curves : mapping of str to (rows, errors)
        Places, and errors from 0 to 1 there.
    shaded : (float, float) or None, default=None
        Rows between which something happens.

    Returns
    -------
    picture : str
        SVG.
    """
    left, right, top, bottom = 70, 20, 34, _HEIGHT - 46
    picture = Picture(_WIDTH, _HEIGHT, "Errors along the stream")
    last = max(float(np.max(rows)) for rows, _ in curves.values())
    most = max(100.0 * float(np.max(errors)) for _, errors in curves.values())
    x, y = Scale(0.0, last, left, _WIDTH - right), Scale(0.0, 1.08 * most or 1.0, bottom, top)
    if shaded is not None:
        width = x(shaded[1]) - x(shaded[0])
        picture.rectangle(x(shaded[0]), top, width, bottom - top, "empty")
    picture.axis_below(x, top, bottom, "row of the stream")
    picture.axis_left(y, left, _WIDTH - right, "errors (%)")
    place = float(left)
    for (name, (rows, errors)), style in zip(curves.items(), _STYLES, strict=False):
        few = np.linspace(0, len(rows) - 1, min(len(rows), _MOST_POINTS)).round().astype(int)
        points = [(x(float(rows[k])), y(100.0 * float(errors[k]))) for k in few]
        picture.path(points, style)
        picture.line(place, 16, place + 18, 16, f"{style} key")
        label = shortened(name, 30)
        picture.text(place + 24, 20, label)
        place += 44 + text_width(label)
    return str(picture)
