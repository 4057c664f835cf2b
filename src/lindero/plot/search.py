"""Scores of a search over C and γ as a map, or over C alone as a curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.plot.style import Style, dress, find_style, take_axes
from lindero.runtime.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Cells with their scores written in them, ticks along a side.
_MOST_WRITTEN, _MOST_TICKS = 64, 14


@dataclass(repr=False)
class SearchDisplay:
    """Mean scores over the folds for each C and γ, and the point that was taken.

    Create it with :meth:`from_estimator`; :meth:`plot` draws it again elsewhere.

    Parameters
    ----------
    Cs : ndarray of shape (n_Cs,)
        Values of C.
    gammas : list
        Values of γ; a single one (or None) draws a curve over C.
    scores : ndarray of shape (n_gammas, n_Cs, n_splits)
        Scores on each fold; NaN where a point was not tried.
    best : tuple of int
        Position of the best γ and C.
    measure : str, default="accuracy"
        What scores are.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.
    map_ : matplotlib QuadMesh or None
        The cells of the map.
    colorbar_ : matplotlib Colorbar or None
        Their key.

    See Also
    --------
    lindero.svm.SVCCV : A search.
    CPathDisplay : All values of C, exactly.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lindero.plot import SearchDisplay
    >>> from lindero.svm import SVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = SVCCV(Cs=[0.1, 1, 10], gammas=[0.01, 0.1, 1]).fit(X, y)
    >>> display = SearchDisplay.from_estimator(search)
    >>> display.ax_.get_title()
    'best: C = 1, γ = 0.1, accuracy 0.98'
    """

    Cs: Array
    gammas: list[Any]
    scores: Array
    best: tuple[int, int]
    measure: str = "accuracy"

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Axes | None = None, theme: str | None = None
    ) -> SearchDisplay:
        """Draw the scores of a fitted search.

        Parameters
        ----------
        estimator : SVCCV, SVRCV or LinearSVCCV
            Fitted.
        ax : matplotlib Axes, optional
            The axes to draw on; by default the current ones if they are empty, else new ones.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        display : SearchDisplay
        """
        if not hasattr(estimator, "scores_"):
            raise ValueError(
                f"{type(estimator).__name__} holds no scores of a search: SearchDisplay draws a "
                "fitted SVCCV, SVRCV or LinearSVCCV."
            )
        scores, Cs = np.asarray(estimator.scores_), np.asarray(estimator.Cs_)
        known = getattr(estimator, "gammas_", None)
        gammas = [None] if known is None or not np.size(known) else np.ravel(known).tolist()
        row = gammas.index(estimator.gamma_) if estimator.gamma_ in gammas else 0
        column = int(np.flatnonzero(Cs == estimator.C_)[0])
        asked = estimator.scoring
        usual = "accuracy" if hasattr(estimator, "classes_") else "R²"
        named = asked if isinstance(asked, str) else usual if asked is None else "score"
        measure = named.replace("neg_", "−").replace("_", " ")
        return cls(Cs, gammas, scores, (row, column), measure).plot(ax=ax, theme=theme)

    @property
    def means(self) -> Array:
        """Mean scores (n_gammas, n_Cs)."""
        return np.asarray(self.scores.mean(axis=2))

    def plot(self, *, ax: Axes | None = None, theme: str | None = None) -> SearchDisplay:
        """Draw the map, or the curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; by default the current ones if they are empty, else new ones.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        self : SearchDisplay
        """
        style, ax = find_style(theme), take_axes(ax)
        self.map_: Any = None
        self.colorbar_: Any = None
        if len(self.gammas) == 1:
            self._draw_curve(ax, style)
        else:
            self._draw_map(ax, style)
        row, column = self.best
        gamma = self.gammas[row]
        point = f"C = {self.Cs[column]:.4g}"
        if gamma is not None:
            point += f", γ = {_write(gamma)}"
        score = self.means[row, column]
        ax.set_title(f"best: {point}, {self.measure} {score:.4g}", fontsize=10, color=style.ink)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_map(self, ax: Axes, style: Style) -> None:
        from matplotlib.patches import Rectangle

        means = self.means
        n_rows, n_columns = means.shape
        # The best scores are told apart: half of the shades are for the best half of the points.
        known = means[np.isfinite(means)]
        low = float(np.quantile(known, 0.1)) if len(known) > 4 else float(known.min())
        ax.set_facecolor(style.panel)
        self.map_ = ax.pcolormesh(
            np.arange(n_columns + 1), np.arange(n_rows + 1), np.ma.masked_invalid(means),
            cmap=style.shades, vmin=low, vmax=float(known.max()), rasterized=True,
            edgecolors=style.paper, linewidth=0.5,
        )  # fmt: skip
        row, column = self.best
        for colour, width in (("#ffffff", 4.5), ("#000000", 2.0)):
            frame = Rectangle(
                (column + 0.03, row + 0.03), 0.94, 0.94, fill=False, edgecolor=colour,
                linewidth=width, zorder=4,
            )  # fmt: skip
            ax.add_patch(frame)
        if means.size <= _MOST_WRITTEN:
            middle = (low + float(known.max())) / 2
            for i, j in zip(*np.nonzero(np.isfinite(means)), strict=True):
                dark = means[i, j] < middle
                ax.text(
                    j + 0.5, i + 0.5, f"{means[i, j]:.3f}", ha="center", va="center", fontsize=7,
                    color="#ffffff" if dark else "#000000", zorder=6,
                )  # fmt: skip
        for axis, values in ((ax.xaxis, self.Cs.tolist()), (ax.yaxis, self.gammas)):
            step = -(-len(values) // _MOST_TICKS)
            places = range(0, len(values), step)
            turned = 45 if axis is ax.xaxis and len(places) > 8 else 0
            axis.set_ticks(
                [place + 0.5 for place in places], [_write(values[place]) for place in places],
                rotation=turned, fontsize=8,
            )  # fmt: skip
        ax.set(xlabel="C", ylabel="γ")
        dress(ax, style)
        ax.set_facecolor(style.panel)
        ends = "min" if float(known.min()) < low else "neither"
        bar = self.colorbar_ = ax.figure.colorbar(self.map_, ax=ax, extend=ends, pad=0.02)
        label = f"mean {self.measure} over {self.scores.shape[2]} folds"
        if not np.isfinite(means).all():
            label += " (empty: not tried)"
        bar.set_label(label, color=style.ink, fontsize=8)
        bar.ax.tick_params(colors=style.muted, labelcolor=style.ink, labelsize=8)
        bar.outline.set_edgecolor(style.muted)

    def _draw_curve(self, ax: Axes, style: Style) -> None:
        scores = self.scores[0]
        kept = np.isfinite(scores).all(axis=1)
        C, means = self.Cs[kept], scores[kept].mean(axis=1)
        spread = scores[kept].std(axis=1, ddof=1) if scores.shape[1] > 1 else 0.0 * means
        ax.fill_between(
            C, means - spread, means + spread, color=style.colour(0), alpha=0.18, linewidth=0,
            label="± one standard deviation over the folds",
        )  # fmt: skip
        ax.plot(C, means, marker="o", markersize=4, color=style.colour(0), label="mean")
        best = self.best[1]
        ax.plot(
            self.Cs[best], scores[best].mean(), marker="*", markersize=12, color=style.ink,
            linestyle="none", label="taken", zorder=4,
        )  # fmt: skip
        ax.set_xscale("log")
        ax.set(xlabel="C", ylabel=self.measure)
        ax.grid(visible=True, color=style.grid, linewidth=0.6)
        ax.set_axisbelow(True)
        ax.legend(fontsize=8, facecolor=style.paper, edgecolor="none", framealpha=0.85)
        dress(ax, style)


def _write(value: Any) -> str:
    if isinstance(value, str):
        return value
    number = float(value)
    return f"{number:.0f}" if number == int(number) and number < 1e6 else f"{number:.3g}"
