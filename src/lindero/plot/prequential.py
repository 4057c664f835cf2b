"""Errors along a stream, each row predicted before it was learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.evaluation.change_points import FEWEST_ROWS, find_changes, find_error_changes
from lindero.evaluation.measures import find_measure
from lindero.evaluation.registry import CLASSIFICATION
from lindero.evaluation.stream_results import PrequentialResult, sum_in_window
from lindero.evaluation.streams import prequential
from lindero.plot.curves import CurveChart, draw_curves, find_places
from lindero.plot.style import find_style, take_axes
from lindero.runtime.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A point of an error curve is about this share of the rows, if the window is longer.
_SHARE = 15


@dataclass(frozen=True)
class StreamErrors:
    """Errors of one evaluation: the loss of each tested row, and the chart of their means.

    Attributes
    ----------
    losses : ndarray of shape (n_tested,)
        1 for a wrong answer and 0 for a right one, or absolute errors.
    places : ndarray of shape (n_tested,)
        Where the rows lie along the axis.
    changes : list of int
        Positions, among the tested rows, where errors change.
    window : int
        Rows that a point of the curve is about.
    chart : CurveChart
        The curve with the changes marked.
    """

    losses: Array
    places: Array
    changes: list[int]
    window: int
    chart: CurveChart


def describe_errors(result: PrequentialResult, times: Any = None, name: str = "") -> StreamErrors:
    """What is drawn of an evaluation on a stream, on pages and by displays."""
    places, axis, dates = find_places(result.rows, result.times if times is None else times)
    of_classes = result.task == CLASSIFICATION
    window = min(result.window, max(FEWEST_ROWS, len(result.rows) // _SHARE))
    if of_classes:
        losses = (~result.correct).astype(np.float64)
        changes, factor = find_changes(result.correct), 100.0
    else:
        losses = np.abs(result.truth - result.answers)
        changes, factor = find_error_changes(losses), 1.0
    means = sum_in_window(losses, window) / np.minimum(np.arange(1, len(losses) + 1), window)
    kept = np.isfinite(means)
    if not kept.any():
        kept, means = np.ones(len(means), dtype=bool), np.zeros(len(means))
    chart = CurveChart(
        title=f"{'Share of errors' if of_classes else 'Mean absolute error'}, the last {window} "
        "rows",
        curves={name or ("errors" if of_classes else "MAE"): (places[kept], factor * means[kept])},
        beside="error rate (%)" if of_classes else "MAE",
        axis=axis,
        marks=[float(places[change]) for change in changes],
        least=0.0,
        dates=dates,
    )
    return StreamErrors(losses, places, changes, window, chart)


@dataclass(repr=False)
class PrequentialDisplay:
    """Errors or another measure along a stream, of one model or of several.

    Create it with :meth:`from_result` or :meth:`from_estimator`; :meth:`plot` draws it again
    elsewhere.

    Parameters
    ----------
    chart : CurveChart
        The curves, over rows or times, with change points marked where there is one model.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.
    lines_ : list of matplotlib Line2D
        The curves.

    See Also
    --------
    lindero.evaluation.prequential : The evaluation.
    StreamDisplay : How fast a stream changed, as an adaptive machine found.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.bayes import NaiveBayes
    >>> from lindero.plot import PrequentialDisplay
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> y = np.where(np.arange(600) < 300, X[:, 0] > 0, X[:, 0] < 0)
    >>> display = PrequentialDisplay.from_estimator(NaiveBayes(), X, y)
    >>> display.chart.beside, len(display.lines_)
    ('error rate (%)', 1)
    """

    chart: CurveChart

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        ax: Axes | None = None,
        theme: str | None = None,
        **options: Any,
    ) -> PrequentialDisplay:
        """Evaluate an untrained copy of a model on a stream, and draw its errors.

        Parameters
        ----------
        estimator : object
            What :func:`lindero.evaluation.prequential` takes.
        X, y : array-like
            The stream, in the order of time.
        ax : matplotlib Axes, optional
            The axes to draw on; by default the current ones if they are empty, else new ones.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.
        **options : dict
            Further parameters of `prequential`, as `times` or `warm_up`.

        Returns
        -------
        display : PrequentialDisplay
        """
        return cls.from_result(prequential(estimator, X, y, **options), ax=ax, theme=theme)

    @classmethod
    def from_result(
        cls,
        result: PrequentialResult | Mapping[str, PrequentialResult],
        *,
        measure: str | None = None,
        times: Any = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> PrequentialDisplay:
        """Draw what an evaluation found.

        Parameters
        ----------
        result : PrequentialResult or mapping of str to PrequentialResult
            One, or several by name, on the same stream.
        measure : str, optional
            One of those in `result.scores`; the share of errors, or the mean absolute error, by
            default.
        times : array-like, optional
            Time of each row; those of the result by default.
        ax : matplotlib Axes, optional
            The axes to draw on; by default the current ones if they are empty, else new ones.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        display : PrequentialDisplay
        """
        named = dict(result) if isinstance(result, Mapping) else {"": result}
        if not named:
            raise ValueError(
                "result holds no evaluation: pass one, or a mapping from names to them."
            )
        for name, one in named.items():
            if not len(one.rows):
                of = f" of {name!r}" if name else ""
                raise ValueError(
                    f"The evaluation{of} tested no row: give it more rows, or a smaller warm_up."
                )
        if len({one.task for one in named.values()}) > 1:
            raise ValueError("Evaluations of classes and of numbers have no measure in common.")
        if measure is None:
            charts = [describe_errors(one, times, name).chart for name, one in named.items()]
        else:
            charts = [_follow(one, measure, times, name) for name, one in named.items()]
        first = charts[0]
        if len(charts) > 1:
            curves = {name: curve for chart in charts for name, curve in chart.curves.items()}
            first = CurveChart(
                first.title, curves, first.beside, first.axis, least=first.least, dates=first.dates
            )
        return cls(first).plot(ax=ax, theme=theme)

    def plot(self, *, ax: Axes | None = None, theme: str | None = None) -> PrequentialDisplay:
        """Draw the curves; dashed lines are change points.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; by default the current ones if they are empty, else new ones.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        self : PrequentialDisplay
        """
        ax = take_axes(ax)
        self.lines_ = draw_curves(ax, self.chart, find_style(theme))
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _follow(result: PrequentialResult, measure: str, times: Any, name: str) -> CurveChart:
    """The curve of a measure."""
    values = result.curve(measure)  # refuses unknown names
    places, axis, dates = find_places(result.rows, result.times if times is None else times)
    found = find_measure(measure) if measure != "error" else None
    title = "Share of errors" if found is None else found.title
    in_percent = found is None or found.in_percent
    factor = 100.0 if in_percent else 1.0
    window = min(result.window, len(result.rows))
    return CurveChart(
        f"{title}, the last {window} rows",
        {name or title: (places, factor * values)},
        f"{title} (%)" if in_percent else title,
        axis,
        dates=dates,
    )
