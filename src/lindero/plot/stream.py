"""A stream over time: how well it was predicted, how fast it changed, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.runtime.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SPEED, _LOSS, _CHANGE, _INK = "#2b6cb0", "#dd6b20", "#a0aec0", "#1a202c"


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

    See Also
    --------
    lindero.svm.AdaptiveSVC : Its attribute `history_`.

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
    def from_estimator(cls, estimator: Any, *, axes: Any = None) -> StreamDisplay:
        """Draw the stream that a machine has learned.

        Parameters
        ----------
        estimator : AdaptiveSVC or AdaptiveSVR
            One that has learned by `partial_fit`, with ``coupling="auto"``.
        axes : sequence of two matplotlib Axes, optional
            The axes to draw on, for speed and for loss; two new ones by default.

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
        return display.plot(axes=axes)

    def plot(self, *, axes: Any = None) -> StreamDisplay:
        """Draw it.

        Parameters
        ----------
        axes : sequence of two matplotlib Axes, optional
            The axes to draw on, for speed and for loss; two new ones by default.

        Returns
        -------
        self : StreamDisplay
        """
        import matplotlib.pyplot as plt

        if axes is None:
            _, axes = plt.subplots(2, 1, sharex=True, layout="constrained", figsize=(7.0, 4.2))
        above, below = axes
        self._draw(above, self.reach, _SPEED, "rows that matter")
        above.set_yscale("log")
        above.set_title("How fast the stream changes: the fewer, the faster", fontsize=10)
        self._draw(below, self.loss, _LOSS, "log-loss")
        below.set_ylim(bottom=min(0.0, float(self.loss.min())))
        below.set_xlabel("rows learned; dashed: a change")
        self.axes_ = above, below
        return self

    def _draw(self, ax: Axes, values: Array, colour: str, title: str) -> None:
        for row in self.changes:
            ax.axvline(row, color=_CHANGE, linewidth=1.2, linestyle="--", zorder=1)
        marker = "o" if len(values) < 20 else None
        ax.plot(self.rows, values, color=colour, linewidth=1.8, marker=marker, zorder=2)
        ax.set_ylabel(title, color=_INK)
        ax.spines[["top", "right"]].set_visible(False)
