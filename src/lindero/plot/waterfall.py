"""A prediction as a waterfall: from the baseline, column by column, to what was predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lindero.plot.style import dress, find_style, take_axes
from lindero.runtime.texts import shorten_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    figure_ : matplotlib Figure
        Their figure.
    bars_ : list of matplotlib Rectangle
        The bars; those against are hatched.

    See Also
    --------
    lindero.evaluation.explain : The explanations.
    ExplanationDisplay : The same for an estimator, and over many rows.

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
        cls,
        explanation: Steps,
        *,
        most: int = 10,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> WaterfallDisplay:
        """Draw an explanation.

        Parameters
        ----------
        explanation : RowExplanation
            One of those that :func:`lindero.evaluation.explain` gives.
        most : int, default=10
            How many columns to draw; the others are summed up in one bar.
        ax : matplotlib Axes, optional
            The axes to draw on; by default the current ones if they are empty, else new ones.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        display : WaterfallDisplay
        """
        return cls.describe(explanation, most=most).plot(ax=ax, theme=theme)

    @classmethod
    def describe(cls, explanation: Steps, *, most: int = 10) -> WaterfallDisplay:
        """What is drawn of an explanation, not drawn yet: pages draw it as SVG.

        Parameters
        ----------
        explanation : RowExplanation
            One of those that :func:`lindero.evaluation.explain` gives.
        most : int, default=10
            How many columns to draw.

        Returns
        -------
        display : WaterfallDisplay
        """
        return cls(
            steps=[
                (shorten_name(title, _LONGEST), start, stop, text)
                for title, start, stop, text in explanation.list_steps(most)
            ],
            ends=explanation.describe_ends(),
            axis=explanation.describe_axis(),
            baseline=float(explanation.baseline),
            value=float(explanation.value),
        )

    @property
    def places(self) -> list[float]:
        """Everywhere along the axis that something is drawn."""
        return [self.baseline, self.value, *(stop for _, _, stop, _ in self.steps)]

    def plot(self, *, ax: Axes | None = None, theme: str | None = None) -> WaterfallDisplay:
        """Draw the bars, the largest contribution above.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; by default the current ones if they are empty, else new ones.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        self : WaterfallDisplay
        """
        style, ax = find_style(theme), take_axes(ax)
        places = self.places
        room = 0.02 * (max(places) - min(places)) or 0.02
        last = len(self.steps)
        self.bars_ = []
        for row, (_, start, stop, text) in enumerate(self.steps):
            against = stop < start
            (bar,) = ax.barh(
                row, stop - start, left=start, color=style.colour(int(against)), height=0.62,
                hatch="////" if against else None, edgecolor=style.paper, linewidth=0.0,
            )  # fmt: skip
            self.bars_.append(bar)
            ax.plot(
                [stop, stop], [row - 0.31, row + 1.31], color=style.ink, linewidth=0.7, alpha=0.5
            )
            ax.text(max(start, stop) + room, row, text, va="center", fontsize=9, color=style.ink)
        ax.axvline(self.baseline, color=style.ink, linewidth=0.8, linestyle=":")
        ax.plot(self.value, last, marker="D", color=style.ink, markersize=6)
        ax.text(
            self.value + 2 * room, last, self.ends[1], va="center", fontsize=9, weight="bold",
            color=style.ink,
        )  # fmt: skip
        ax.set_title(self.ends[0], fontsize=9, loc="left", color=style.ink)
        ax.set_yticks(range(last + 1), [*(title for title, *_ in self.steps), "prediction"])
        ax.set_ylim(last + 0.6, -0.6)
        # Room for what is written beside the bars: a letter is about a hundredth of the width.
        letters = max(len(self.ends[1]) + 4, *(len(text) for *_, text in self.steps), 6)
        ax.set_xlim(min(places) - 4 * room, max(places) + 1.1 * letters * room)
        ax.ticklabel_format(axis="x", style="plain", useOffset=False)
        ax.set_xlabel(self.axis)
        dress(ax, style)
        self.ax_, self.figure_ = ax, ax.figure
        return self
