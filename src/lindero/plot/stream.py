"""A stream over time: how well it was predicted, how fast it changed, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lindero.plot.curves import CurveChart, draw_curves
from lindero.plot.style import find_style, take_panels
from lindero.runtime.arrays import Array


def describe_speed(history: Any) -> CurveChart:
    """What is drawn of how fast a stream changed, on pages and by displays; of `history_` of an
    adaptive machine."""
    return _describe_reach(
        history.rows, np.sqrt(history.coupling), [float(change.row) for change in history.changes]
    )


def _describe_reach(rows: Array, reach: Array, changes: Any) -> CurveChart:
    return CurveChart(
        "How fast the stream changes: the fewer, the faster",
        {"rows that matter": (rows, reach)},
        "rows that matter",
        "row of the stream",
        marks=changes,
        logarithmic=True,
    )


@dataclass(repr=False)
class StreamDisplay:
    """The rows that mattered to an adaptive machine along a stream, its loss, and the changes.

    Create it with :meth:`from_estimator`; :meth:`plot` draws it again elsewhere.

    Parameters
    ----------
    rows : ndarray of shape (n_records,)
        Rows of the stream.
    reach : ndarray of shape (n_records,)
        How many rows mattered, the square root of the coupling.
    loss : ndarray of shape (n_records,)
        Log-loss over the rows before.
    changes : ndarray
        Rows at which changes were noticed to have begun.

    Attributes
    ----------
    axes_ : tuple of two matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.
    lines_ : list of matplotlib Line2D
        The two curves.

    See Also
    --------
    lindero.svm.AdaptiveSVC : Its attribute `history_`.
    PathDisplay : Weights, offsets and drift.
    PrequentialDisplay : Errors along a stream.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.plot import StreamDisplay
    >>> from lindero.svm import AdaptiveSVC
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> y = np.where(np.arange(1000) < 600, X[:, 0] > 0, X[:, 1] > 0)
    >>> display = StreamDisplay.from_estimator(AdaptiveSVC().partial_fit(X, y))
    >>> bool(abs(display.changes[0] - 600) < 20)
    True
    """

    rows: Array
    reach: Array
    loss: Array
    changes: Array

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, axes: Any = None, theme: str | None = None
    ) -> StreamDisplay:
        """Draw the stream that a machine has learned.

        Parameters
        ----------
        estimator : AdaptiveSVC or AdaptiveSVR
            One that has learned by `partial_fit`, with ``coupling="auto"``.
        axes : sequence of two matplotlib Axes, optional
            The axes to draw on, for speed and for loss; two new ones by default.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        display : StreamDisplay
        """
        told = estimator.history_
        if not len(told.rows):
            raise ValueError(
                "The stream is too short to be drawn: it is recorded every 256 rows. Learn more."
            )
        display = cls(
            rows=told.rows,
            reach=np.sqrt(told.coupling),
            loss=told.loss,
            changes=np.array([change.row for change in told.changes], dtype=np.int64),
        )
        return display.plot(axes=axes, theme=theme)

    def plot(self, *, axes: Any = None, theme: str | None = None) -> StreamDisplay:
        """Draw it.

        Parameters
        ----------
        axes : sequence of two matplotlib Axes, optional
            The axes to draw on, for speed and for loss; two new ones by default.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        self : StreamDisplay
        """
        style = find_style(theme)
        above, below = take_panels(axes, [2.0, 2.0])
        speed = _describe_reach(self.rows, self.reach, self.changes.tolist())
        loss = CurveChart(
            "Mean log-loss since the last record",
            {"log-loss": (self.rows, self.loss)},
            "log-loss",
            "rows learned; dashed: a change",
            marks=self.changes.tolist(),
            least=min(0.0, float(self.loss.min())),
        )
        self.lines_ = [
            *draw_curves(above, speed, style),
            *draw_curves(below, loss, style, first=1),
        ]
        if axes is None:
            above.set_xlabel("")
        self.axes_, self.figure_ = (above, below), above.figure
        return self
