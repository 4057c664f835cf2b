"""A prediction as a waterfall: from the baseline, column by column, to what was predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lindero.runtime.texts import shorten_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: For it and against it; they differ in lightness too.
_FOR, _AGAINST, _INK = "#2b6cb0", "#dd6b20", "#1a202c"

#: Letters of a title that fit beside the bars.
_LONGEST = 34


class Steps(Protocol):
    """What a waterfall is drawn from: a :class:`lindero.evaluation.RowExplanation`."""

    @property
    def baseline(self) -> float: ...

    @property
    def value(self) -> float: ...

    def list_steps(self, most: int = 10) -> list[tuple[str, float, float, str]]: ...

    def describe_ends(self) -> tuple[str, str]: ...

    def describe_axis(self) -> str: ...


@dataclass(repr=False)
class WaterfallDisplay:
    """The contributions of columns to one prediction, as bars from the baseline to its value.

    Create it with :meth:`from_explanation`; :meth:`plot` draws it again elsewhere.

    Parameters
    ----------
    steps : list of (str, float, float, str)
        For each bar its title, where it begins and ends, and the text beside it.
    ends : tuple of (str, str)
        Baseline and value in words.
    axis : str
        Title of the axis.
    baseline, value : float
        Where the bars begin, and where they end.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.

    See Also
    --------
    lindero.evaluation.explain : The explanations.
    BoundaryDisplay : The decision boundary over two features.

    Examples
    --------
    >>> from lindero.evaluation import explain, make_machine
    >>> from lindero.plot import WaterfallDisplay
    >>> model = make_machine("naive-bayes").fit([["sun"], ["rain"]], ["out", "in"])
    >>> display = WaterfallDisplay.from_explanation(explain(model, [["rain"]])[0])
    >>> [title for title, *_ in display.steps]
    ['x0 = rain']
    """

    steps: list[tuple[str, float, float, str]]
    ends: tuple[str, str]
    axis: str
    baseline: float
    value: float

    @classmethod
    def from_explanation(
        cls, explanation: Steps, *, most: int = 10, ax: Axes | None = None
    ) -> WaterfallDisplay:
        """Draw an explanation.

        Parameters
        ----------
        explanation : RowExplanation
            One of those that :func:`lindero.evaluation.explain` gives.
        most : int, default=10
            How many columns to draw; the others are summed up in one bar.
        ax : matplotlib Axes, optional
            The axes to draw on; the current axes by default.

        Returns
        -------
        display : WaterfallDisplay
        """
        display = cls(
            steps=explanation.list_steps(most),
            ends=explanation.describe_ends(),
            axis=explanation.describe_axis(),
            baseline=float(explanation.baseline),
            value=float(explanation.value),
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> WaterfallDisplay:
        """Draw the bars, the largest contribution above.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; the current axes by default.

        Returns
        -------
        self : WaterfallDisplay
        """
        import matplotlib.pyplot as plt

        if ax is None:
            ax = plt.gca()
            figure = plt.gcf()
            if figure.get_layout_engine() is None:
                figure.set_layout_engine("constrained")
        places = [self.baseline, self.value, *(stop for _, _, stop, _ in self.steps)]
        room = 0.02 * (max(places) - min(places)) or 0.02
        last = len(self.steps)
        for row, (_, start, stop, text) in enumerate(self.steps):
            colour = _FOR if stop >= start else _AGAINST
            ax.barh(row, stop - start, left=start, color=colour, height=0.62)
            ax.plot([stop, stop], [row - 0.31, row + 1.31], color=_INK, linewidth=0.7, alpha=0.5)
            ax.text(max(start, stop) + room, row, text, va="center", fontsize=9, color=_INK)
        ax.axvline(self.baseline, color=_INK, linewidth=0.8, linestyle=":")
        ax.plot(self.value, last, marker="D", color=_INK, markersize=6)
        ax.text(self.value + 2 * room, last, self.ends[1], va="center", fontsize=9, weight="bold")
        ax.set_title(self.ends[0], fontsize=9, loc="left", color=_INK)
        titles = [shorten_name(title, _LONGEST) for title, *_ in self.steps]
        ax.set_yticks(range(last + 1), [*titles, "prediction"])
        ax.set_ylim(last + 0.6, -0.6)
        ax.set_xlim(min(places) - 4 * room, max(places) + 14 * room)
        ax.ticklabel_format(axis="x", style="plain", useOffset=False)
        ax.set_xlabel(self.axis)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        self.ax_ = ax
        return self
