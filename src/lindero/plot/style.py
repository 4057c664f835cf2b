"""How pictures look: one set of colours, markers and line styles for all displays.

Colours are those of Okabe and Ito, which readers who see fewer colours can tell apart; the light
ones are darkened on white paper, where they would vanish. Nothing is said by colour alone: classes
differ in their markers, curves in their line styles, so that a black and white print says the same.

    with use_theme("dark"): ...         # or plot(theme="dark")
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.runtime.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_LINES: tuple[Any, ...] = ("-", "--", "-.", (0, (1, 1.2)), (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))

#: Points that a picture shows: more cannot be told apart, and take long to draw.
MOST_POINTS = 20_000

#: Points that are stored one by one in vector files; more are stored as an image.
_MOST_VECTORS = 2000


@dataclass(frozen=True)
class Style:
    """Colours on one kind of paper, and what else tells classes and curves apart.

    Attributes
    ----------
    name : str
        Of the theme.
    paper, ink, muted, grid, panel : str
        Background, text and lines, text of less weight, lines behind, boxes.
    colours : tuple of str
        Of classes and curves, in this order.
    shades : str
        A colour map for numbers, dark to light.
    ends : tuple of str
        Colours of small and of large numbers, for points.
    """

    name: str
    paper: str
    ink: str
    muted: str
    grid: str
    panel: str
    colours: tuple[str, ...]
    ends: tuple[str, str]
    shades: str = "cividis"

    def colour(self, k: int) -> str:
        """The colour of class or curve k."""
        return self.colours[k % len(self.colours)]

    def marker(self, k: int) -> str:
        """The marker of class k."""
        return _MARKERS[k % len(_MARKERS)]

    def blend(self) -> Any:
        """A colour map for points, which is seen on the paper at both ends."""
        from matplotlib.colors import LinearSegmentedColormap

        return LinearSegmentedColormap.from_list(f"lindero {self.name}", list(self.ends))

    def line(self, k: int) -> Any:
        """The line style of curve k."""
        return _LINES[k % len(_LINES)]


LIGHT = Style(
    "light", paper="#ffffff", ink="#1a202c", muted="#5b6575", grid="#dfe3ea", panel="#f3f5f8",
    colours=("#0072b2", "#d55e00", "#00825f", "#a64d86", "#8f6400", "#4d5766"),
    ends=("#0b4f8a", "#e69f00"),
)  # fmt: skip
DARK = Style(
    "dark", paper="#14181f", ink="#e8ecf2", muted="#a3adbb", grid="#333b47", panel="#222934",
    colours=("#56b4e9", "#e69f00", "#1fc795", "#e39ac9", "#f0e442", "#b6bfcc"),
    ends=("#4aa3e0", "#f7e26b"),
)  # fmt: skip

THEMES = {"light": LIGHT, "dark": DARK}

_current: ContextVar[Style] = ContextVar("style of lindero.plot", default=LIGHT)


def find_style(theme: str | None = None) -> Style:
    """The style of a theme; None is that of `use_theme`, light outside of it."""
    if theme is None:
        return _current.get()
    if theme not in THEMES:
        raise ValueError(f"theme must be one of {', '.join(map(repr, THEMES))}, got {theme!r}.")
    return THEMES[theme]


@contextmanager
def use_theme(theme: str) -> Iterator[None]:
    """Draw all displays of a block in a theme.

    Parameters
    ----------
    theme : {"light", "dark"}
        Its name.

    Examples
    --------
    >>> from lindero.plot import use_theme
    >>> from lindero.plot.style import find_style
    >>> with use_theme("dark"):
    ...     print(find_style().paper)
    #14181f
    """
    token = _current.set(find_style(theme))
    try:
        yield
    finally:
        _current.reset(token)


# -- matplotlib -----------------------------------------------------------------------------------


def load_pyplot() -> Any:
    """matplotlib.pyplot, or an error that says what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Pictures need matplotlib, which is not installed: pip install 'lindero[plot]'."
        ) from error
    return plt


def take_axes(ax: Axes | None) -> Axes:
    """The axes to draw on: where none are given the current ones, if nothing is drawn there, else
    those of a new figure, which makes room for what stands outside of them."""
    if ax is not None:
        return ax
    plt = load_pyplot()
    taken: Axes = plt.gca()
    if taken.has_data():
        taken = plt.subplots(layout="constrained")[1]
    elif plt.gcf().get_layout_engine() is None:
        plt.gcf().set_layout_engine("constrained")
    return taken


def take_panels(axes: Any, heights: list[float], *, width: float = 7.2, share: bool = True) -> Any:
    """So many axes, one below another; those given, or those of a new figure."""
    count = len(heights)
    if axes is None:
        _, axes = load_pyplot().subplots(
            count, 1, sharex=share, layout="constrained", figsize=(width, 0.5 + sum(heights)),
            squeeze=False, height_ratios=heights,
        )  # fmt: skip
    listed = list(np.ravel(np.asarray(axes, dtype=object)))
    if len(listed) < count:
        raise ValueError(f"{count} axes are needed, and {len(listed)} were given.")
    return listed[:count]


def dress(ax: Axes, style: Style, *, frame: bool = False) -> None:
    """Give axes and their figure the colours of a style; `frame` keeps the lines above and to the
    right."""
    ax.figure.set_facecolor(style.paper)
    ax.set_facecolor(style.paper)
    ax.spines[["top", "right"]].set_visible(frame)
    for spine in ax.spines.values():
        spine.set_color(style.muted)
    ax.tick_params(which="both", colors=style.muted, labelcolor=style.ink)
    for text in (ax.xaxis.label, ax.yaxis.label, ax.title, ax.xaxis.offsetText):
        text.set_color(style.ink)
    legend = ax.get_legend()
    if legend is not None:
        legend.get_title().set_color(style.muted)
        for text in legend.get_texts():
            text.set_color(style.ink)


def put_legend_below(ax: Axes, title: str | None = None) -> Any:
    """A legend that hides nothing: below the title of the axis, however low the axes are."""
    from matplotlib.transforms import offset_copy

    figure: Any = ax.figure
    below = offset_copy(ax.transAxes, fig=figure, y=-30.0, units="points")
    return ax.legend(
        loc="upper center", bbox_to_anchor=(0.5, 0.0), bbox_transform=below, ncols=2, fontsize=8,
        frameon=False, title=title, title_fontsize=8, columnspacing=1.0, handlelength=1.6,
    )  # fmt: skip


def sample_rows(n_rows: int, most: int = MOST_POINTS) -> tuple[Any, str]:
    """Which rows to draw, always the same ones, and a sentence that says so; "" for all."""
    if n_rows <= most:
        return np.arange(n_rows), ""
    rows = np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))
    return rows, f"{most:,} of {n_rows:,} rows are drawn"


def draw_points(
    ax: Axes, x: Array, y: Array, style: Style, k: int, label: str, *, size: float = 4.6,
    alpha: float | None = None, zorder: float = 3, colour: str | None = None,
) -> Any:  # fmt: skip
    """Points of one class: smaller and fainter the more there are."""
    crowd = len(x)
    if crowd > 1000:
        size *= 0.7 if crowd <= 5000 else 0.5
    if alpha is None:
        alpha = 0.9 if crowd <= 1000 else 0.5
    (points,) = ax.plot(
        x, y, linestyle="none", marker=style.marker(k), markersize=size, markeredgewidth=0.0,
        color=colour or style.colour(k), alpha=alpha, label=label, zorder=zorder,
        rasterized=crowd > _MOST_VECTORS,
    )  # fmt: skip
    return points
