"""The decision boundary of a classifier over two features, with its margins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.kernels.functions import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colours that differ in lightness too, for print and for colour-blind readers.
_COLOURS = ("#2b6cb0", "#dd6b20", "#2f855a", "#805ad5", "#b83280", "#718096")
_INK = "#1a202c"
_MARKERS = ("o", "s", "^", "D", "v", "P")


@dataclass
class BoundaryDisplay:
    """Decision values on a grid, ready to draw.

    Create it with :meth:`from_estimator`; `plot` draws it again elsewhere.

    Attributes
    ----------
    xx, yy : ndarray of shape (n, n)
        The grid.
    values : ndarray of shape (n, n) or (n, n, n_classes)
        Decision values on the grid.
    ax_ : matplotlib Axes
        Where it was drawn last.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from lindero.svm import SVC
    >>> from lindero.plot import BoundaryDisplay
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> display = BoundaryDisplay.from_estimator(SVC().fit(X, y), X, y)
    >>> display.values.shape
    (250, 250)
    """

    xx: Array
    yy: Array
    values: Array
    X: Array
    codes: Array
    classes: Array
    support: Array
    bounded: Array
    names: tuple[str, str]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        ax: Axes | None = None,
        resolution: int = 250,
    ) -> BoundaryDisplay:
        """Evaluate a fitted classifier over the range of X and draw it.

        Parameters
        ----------
        estimator : fitted classifier
            One with `decision_function` and, for the rings, `support_`.
        X : array-like of shape (n_samples, 2)
            The training data.
        y : array-like of shape (n_samples,)
            Its labels.
        ax : matplotlib Axes, optional
            Where to draw; the current axes by default.
        resolution : int, default=250
            Points of the grid along each feature.

        Returns
        -------
        display : BoundaryDisplay
        """
        names = tuple(str(name) for name in getattr(X, "columns", ("feature 0", "feature 1")))
        points = np.asarray(X, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(
                f"BoundaryDisplay draws two features, but X has shape {points.shape}. Fit on two "
                "columns, or project the data first (sklearn.decomposition.PCA(2))."
            )
        pad = 0.08 * np.ptp(points, axis=0) + 1e-12
        low, high = points.min(axis=0) - pad, points.max(axis=0) + pad
        xx, yy = np.meshgrid(*(np.linspace(low[k], high[k], resolution) for k in (0, 1)))
        values = estimator.decision_function(np.column_stack([xx.ravel(), yy.ravel()]))
        support = np.asarray(getattr(estimator, "support_", []), dtype=int)
        display = cls(
            xx=xx,
            yy=yy,
            values=values.reshape(*xx.shape, *values.shape[1:]),
            X=points,
            codes=np.searchsorted(estimator.classes_, np.asarray(y)),
            classes=estimator.classes_,
            support=support,
            bounded=_at_bound(estimator, support),
            names=(names[0], names[1]),
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> BoundaryDisplay:
        """Draw boundary, margins, samples and support vectors.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; the current axes by default.

        Returns
        -------
        self : BoundaryDisplay
        """
        import matplotlib.pyplot as plt
        from matplotlib.colors import ListedColormap

        if ax is None:
            ax = plt.gca()
        colours = [_COLOURS[k % len(_COLOURS)] for k in range(len(self.classes))]
        if self.values.ndim == 2:
            side = (self.values > 0).astype(int)
            levels, styles = [-1.0, 0.0, 1.0], ["--", "-", "--"]
            ax.contour(
                self.xx, self.yy, self.values, levels=levels, linestyles=styles,
                colors=_INK, linewidths=[1.0, 1.8, 1.0],
            )  # fmt: skip
            ax.plot([], [], "-", color=_INK, linewidth=1.8, label="boundary")
            ax.plot([], [], "--", color=_INK, linewidth=1.0, label="margin")
        else:
            side = self.values.argmax(axis=2)
        ax.pcolormesh(
            self.xx, self.yy, side, cmap=ListedColormap(colours), alpha=0.15, shading="auto",
            vmin=-0.5, vmax=len(self.classes) - 0.5, rasterized=True,
        )  # fmt: skip
        for k, label in enumerate(self.classes):
            mine = self.codes == k
            ax.scatter(
                self.X[mine, 0], self.X[mine, 1], c=colours[k], s=22, linewidths=0,
                marker=_MARKERS[k % len(_MARKERS)], label=f"class {label}", zorder=3,
            )  # fmt: skip
        self._ring(ax, self.support[~self.bounded], "-", "support vector, on the margin")
        self._ring(ax, self.support[self.bounded], ":", "support vector, at its bound")
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, fontsize=8, frameon=False
        )
        self.ax_ = ax
        return self

    def _ring(self, ax: Axes, rows: Array, style: str, label: str) -> None:
        if len(rows):
            ax.scatter(
                self.X[rows, 0], self.X[rows, 1], s=90, facecolors="none", edgecolors=_INK,
                linewidths=1.1, linestyles=style, label=label, zorder=4,
            )  # fmt: skip


def _at_bound(estimator: Any, support: Array) -> Array:
    """Which support vectors have a coefficient at its upper bound in some machine."""
    bounds = getattr(estimator, "support_bounds_", None)
    if bounds is None:
        return np.zeros(len(support), dtype=bool)
    coefficients = estimator.dual_coef_
    dense = coefficients.toarray() if hasattr(coefficients, "toarray") else coefficients
    at_bound: Array = np.abs(dense).max(axis=0) >= bounds * (1 - 1e-9)
    return at_bound
