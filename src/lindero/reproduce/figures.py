"""Pictures of papers: one layout for all, and files as SVG and PNG (needs the ``plot`` extra).

Colours, marks and dashes are those of displays on white paper: a picture of a paper and a display
can stand side by side. What is here besides is the size of type for a printed column.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.plot import style
from lindero.plot.style import LIGHT
from lindero.reproduce.cells import Measured, PaperFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS, INK, MUTED, GRID = LIGHT.colours, LIGHT.ink, LIGHT.muted, LIGHT.grid
MARKERS = tuple(map(LIGHT.marker, range(len(COLOURS))))
DASHES: tuple[Any, ...] = tuple(map(LIGHT.line, range(len(COLOURS))))

#: Settings of matplotlib for all pictures.
STYLE: dict[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.5,
    "svg.hashsalt": "lindero",
    "svg.fonttype": "none",
}


def draw_figure(figure: PaperFigure, measured: Sequence[Measured]) -> Figure:
    """A picture of what works returned."""
    import matplotlib
    from matplotlib.figure import Figure as Sheet

    with matplotlib.rc_context(STYLE):
        sheet = Sheet(figsize=figure.size, layout="constrained")
        figure.draw(sheet, measured)
    return sheet


def save_figure(sheet: Figure, path: Path) -> None:
    """As ``path.svg`` and ``path.png``, the same each time."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        sheet.savefig(path.with_suffix(".svg"), metadata={"Date": None}, dpi=150)
        sheet.savefig(path.with_suffix(".png"), dpi=110, metadata={"Software": None})


def draw_points(
    ax: Axes, X: Any, y: Any, *, size: float = 14.0, labels: dict[int, str] | None = None
) -> None:
    """Samples of classes −1 and 1, in two colours and marks; `size` is an area, as of scatter."""
    X, y = np.asarray(X), np.asarray(y)
    for place, label in enumerate((-1, 1)):  # as BoundaryDisplay has them
        mine = X[y == label]
        name = (labels or {}).get(label, f"class {'+1' if label == 1 else '−1'}")
        style.draw_points(ax, mine[:, 0], mine[:, 1], LIGHT, place, name, size=size**0.5)


def draw_line(ax: Axes, w: Any, b: float, value: float = 0.0, **options: Any) -> None:
    """Where ⟨w, x⟩ + b has a value, in the plane."""
    w = np.asarray(w, dtype=np.float64)
    foot = (value - b) * w / (w @ w)
    along = 20 * np.array([-w[1], w[0]]) / np.linalg.norm(w)
    ends = np.array([foot - along, foot + along])
    ax.plot(ends[:, 0], ends[:, 1], **{"color": INK, "zorder": 2, **options})


def frame_points(ax: Axes, X: Any, title: str = "") -> None:
    """Axes that hold all points, with the same unit both ways."""
    low, high = np.min(X, axis=0) - 0.6, np.max(X, axis=0) + 0.6
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="$x_1$", ylabel="$x_2$",
           title=title, aspect="equal")  # fmt: skip
