"""Why predictions are as they are: one row as a waterfall, many rows column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.evaluation.explanations import RowExplanation, explain
from lindero.plot.style import Style, dress, find_style, sample_rows, take_axes
from lindero.plot.waterfall import WaterfallDisplay
from lindero.runtime.arrays import Array
from lindero.runtime.texts import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Rows that are drawn, a dot for each and column.
_MOST_ROWS = 1500

_EMPTY = "There is no row to explain: X is empty."

#: Dots that lie beside each other in a column are moved up and down, in so many bins along it.
_BINS = 80


@dataclass(repr=False)
class ExplanationDisplay:
    """Contributions of columns to predictions: of one row, or of all rows.

    Create it with :meth:`from_estimator`; :meth:`plot` draws it again elsewhere. Over all rows
    there is a line of dots for each column, a dot for each row; of two classes to the right where
    the column speaks for the second one, of more where it speaks for the class that was predicted.
    Dots are shaded by the column's value, where it holds numbers.

    Parameters
    ----------
    explanations : list of RowExplanation
        One for each row; of more than 1500 for a sample, since only these are drawn.
    n_rows : int or None, default=None
        Of how many rows they are; None is their own number.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.
    columns_ : list of str
        Columns that were drawn, the one that matters most first (over all rows).
    dots_ : list of matplotlib PathCollection
        The dots of each of them (over all rows).
    waterfall_ : WaterfallDisplay or None
        The picture of one row.

    See Also
    --------
    lindero.evaluation.explain : The numbers.
    WaterfallDisplay : The picture of one row.

    Examples
    --------
    >>> from lindero.bayes import NaiveBayes
    >>> from lindero.plot import ExplanationDisplay
    >>> X = [["sun", 30.0], ["sun", 25.0], ["rain", 9.0], ["rain", 12.0]]
    >>> model = NaiveBayes(numeric="gaussian").fit(X, ["out", "out", "in", "in"])
    >>> display = ExplanationDisplay.from_estimator(model, X)
    >>> display.columns_
    ['x1', 'x0']
    >>> len(display.plot(row=2).waterfall_.steps)
    2
    """

    explanations: list[RowExplanation]
    n_rows: int | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        times: Any = None,
        background: Any = None,
        row: int | None = None,
        most: int = 10,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> ExplanationDisplay:
        """Explain the predictions of some rows, and draw them.

        Parameters
        ----------
        estimator : estimator or Pipeline
            Fitted; what :func:`lindero.evaluation.explain` takes.
        X : table
            Rows to explain.
        times : array-like, optional
            Their times, for machines that move.
        background : table, optional
            Rows like those of training, which rows are held against; needed by machines that were
            not made by :func:`lindero.evaluation.make_machine`, Bayesian classifiers excepted.
        row : int, optional
            Draw this row alone; all of them by default, or the only one.
        most : int, default=10
            How many columns to draw.
        ax : matplotlib Axes, optional
            The axes to draw on; by default the current ones if they are empty, else new ones.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        display : ExplanationDisplay
        """
        count = X.shape[0] if hasattr(X, "shape") else len(X)
        if count > _MOST_ROWS:
            chosen = sample_rows(count, _MOST_ROWS)[0]
            if row is not None:
                _require_row(row, count)
                chosen, row = np.array([row % count]), None
            X = _take_rows(X, chosen)
            times = None if times is None else np.asarray(times)[chosen]
        found = explain(estimator, X, times=times, background=background)
        if not found:
            raise ValueError(_EMPTY)
        return cls(found, count).plot(row=row, most=most, ax=ax, theme=theme)

    @classmethod
    def from_explanations(
        cls,
        explanations: Sequence[RowExplanation],
        *,
        row: int | None = None,
        most: int = 10,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> ExplanationDisplay:
        """Draw what :func:`lindero.evaluation.explain` has found.

        Parameters
        ----------
        explanations : sequence of RowExplanation
            One for each row.
        row, most, ax, theme
            As in :meth:`from_estimator`.

        Returns
        -------
        display : ExplanationDisplay
        """
        if not len(explanations):
            raise ValueError(_EMPTY)
        return cls(list(explanations)).plot(row=row, most=most, ax=ax, theme=theme)

    def plot(
        self,
        *,
        row: int | None = None,
        most: int = 10,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> ExplanationDisplay:
        """Draw one row, or all.

        Parameters
        ----------
        row : int, optional
            Draw this row alone; all of them by default, or the only one.
        most : int, default=10
            How many columns to draw.
        ax : matplotlib Axes, optional
            The axes to draw on; by default the current ones if they are empty, else new ones.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        self : ExplanationDisplay
        """
        count = len(self.explanations)
        self.columns_: list[str] = []
        self.dots_: list[Any] = []
        self.waterfall_: WaterfallDisplay | None = None
        if row is not None or count == 1:
            _require_row(row or 0, count)
            self.waterfall_ = WaterfallDisplay.from_explanation(
                self.explanations[row or 0], most=most, ax=ax, theme=theme
            )
            self.ax_, self.figure_ = self.waterfall_.ax_, self.waterfall_.figure_
            return self
        style, ax = find_style(theme), take_axes(ax)
        self._draw_rows(ax, style, most)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_rows(self, ax: Axes, style: Style, most: int) -> None:
        shown, told = sample_rows(len(self.explanations), _MOST_ROWS)
        if self.n_rows is not None and self.n_rows > len(self.explanations):
            told = f"{len(shown):,} of {self.n_rows:,} rows are drawn"
        rows = [self.explanations[k] for k in shown]
        names, terms, axis = rows[0].names, self._collect(rows), self._describe_axis()
        order = np.argsort(-np.abs(terms).mean(axis=0), kind="stable")
        order = np.array([j for j in order if terms[:, j].any()] or order[:1].tolist())
        chosen, left = order[:most], len(order) - len(order[:most])
        ax.axvline(0.0, color=style.muted, linewidth=1.0, zorder=1)
        mapped = None
        for place, j in enumerate(chosen.tolist()):
            column = terms[:, j]
            shades = _shade([row.values[j] for row in rows])
            heights = place + 0.36 * _spread(column, np.abs(terms[:, chosen]).max())
            looks: dict[str, Any] = {"color": style.muted}
            if shades is not None:
                looks = {"c": shades, "cmap": style.blend(), "vmin": 0.0, "vmax": 1.0}
            dots = ax.scatter(
                column, heights, s=14, linewidths=0, alpha=0.85, zorder=3,
                rasterized=len(rows) > 300, **looks,
            )  # fmt: skip
            mapped = dots if shades is not None else mapped
            self.dots_.append(dots)
            self.columns_.append(names[j])
        if left:
            rest = np.delete(terms, chosen, axis=1).sum(axis=1)
            heights = len(chosen) + 0.36 * _spread(rest, np.abs(terms).max())
            self.dots_.append(
                ax.scatter(rest, heights, s=14, color=style.muted, linewidths=0, alpha=0.6,
                           rasterized=len(rows) > 300, zorder=3)
            )  # fmt: skip
            self.columns_.append(f"{left} other column{'s' * (left > 1)}")
        ax.set_yticks(range(len(self.columns_)), [shorten(name, 26) for name in self.columns_])
        ax.set_ylim(len(self.columns_) - 0.4, -0.6)
        ax.set_xlabel(axis)
        ax.grid(visible=True, axis="y", color=style.grid, linewidth=0.6)
        ax.set_axisbelow(True)
        title = told or f"{len(rows):,} rows, a dot for each"
        ax.set_title(title, fontsize=9, loc="left", color=style.muted)
        dress(ax, style)
        if mapped is not None:
            bar = ax.figure.colorbar(mapped, ax=ax, ticks=[0.0, 1.0], aspect=40, pad=0.01)
            bar.ax.set_yticklabels(["low", "high"])
            grey = any(dots.get_array() is None for dots in self.dots_[: len(chosen)])
            label = "value of the column" + (" (grey: no number)" if grey else "")
            bar.set_label(label, color=style.ink, fontsize=8)
            bar.ax.tick_params(colors=style.muted, labelcolor=style.ink, labelsize=8)
            bar.outline.set_edgecolor(style.muted)

    def _collect(self, rows: list[RowExplanation]) -> Array:
        """Contributions (n_rows, n_columns); of two classes for the second one."""
        terms = np.array([row.contributions for row in rows], dtype=np.float64)
        terms = np.where(np.isfinite(terms), terms, 0.0)
        if rows[0].n_classes == 2:
            second = self._find_second()
            terms *= np.array([[1.0] if row.label == second else [-1.0] for row in rows])
        return terms

    def _find_second(self) -> Any:
        """The second of two classes."""
        first = self.explanations[0]
        try:
            return max(first.label, first.against)
        except TypeError:
            return max(first.label, first.against, key=str)

    def _describe_axis(self) -> str:
        first = self.explanations[0]
        if first.n_classes == 0:
            return "added to the predicted value"
        if first.n_classes == 2:
            return f"added to the {first.unit} of {shorten(self._find_second(), 24)}"
        return f"added to the {first.unit} of the class that was predicted"


def _require_row(row: int, count: int) -> None:
    if not -count <= row < count:
        raise ValueError(f"row={row} is not one of the {count} rows explained.")


def _take_rows(X: Any, rows: Array) -> Any:
    """Some rows of a table of any kind."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "column_names"):  # of Arrow
        return X.take(rows)
    return X[rows] if hasattr(X, "shape") else [X[k] for k in rows.tolist()]


def _shade(values: list[Any]) -> Array | None:
    """Numbers by their rank, from 0 to 1, missing ones in the middle; None for other values."""
    try:
        numbers = np.array([np.nan if value is None else float(value) for value in values])
    except (TypeError, ValueError):
        return None
    known = np.isfinite(numbers)
    if not known.any() or any(isinstance(value, str) for value in values):
        return None
    places, counts = np.unique(numbers[known], return_inverse=True, return_counts=True)[1:]
    middle = (np.cumsum(counts) - 0.5 * (counts + 1)) / max(1, known.sum() - 1)
    shades = np.full(len(numbers), 0.5)
    shades[known] = np.clip(middle[places], 0.0, 1.0) if len(counts) > 1 else 0.5
    return shades


def _spread(values: Array, reach: float) -> Array:
    """Offsets between −1 and 1 by which dots of much the same value are moved apart."""
    bins = np.floor(values / (reach or 1.0) * _BINS).astype(np.int64)
    order = np.lexsort((values, bins))
    _, starts, counts = np.unique(bins[order], return_index=True, return_counts=True)
    rank = np.arange(len(values)) - np.repeat(starts, counts)
    # 0, 1, −1, 2, −2, …: from the middle outwards.
    steps = np.where(rank % 2, (rank + 1) // 2, -(rank // 2)).astype(np.float64)
    offsets = np.empty(len(values))
    offsets[order] = steps / max(6.0, float(np.abs(steps).max(initial=0.0)))
    return offsets
