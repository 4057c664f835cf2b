"""The decision boundary of a classifier over two features, with its margins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.runtime.arrays import Array, dense

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colours that differ in lightness too, for print and for colour-blind readers.
_COLOURS = ("#2b6cb0", "#dd6b20", "#2f855a", "#805ad5", "#b83280", "#718096")
_INK = "#1a202c"
_MARKERS = ("o", "s", "^", "D", "v", "P")


@dataclass(repr=False)
class BoundaryDisplay:
    """Decision values on a grid, ready to draw.

    Create it with :meth:`from_estimator`; :meth:`plot` draws it again elsewhere.

    Parameters
    ----------
    xx, yy : ndarray of shape (n, n)
        The grid.
    values : ndarray of shape (n, n) or None
        Decision values on the grid, for two classes.
    sides : ndarray of shape (n, n)
        Position of the predicted class on the grid.
    X : ndarray of shape (n_samples, 2)
        The samples.
    codes : ndarray of shape (n_samples,)
        Position of the class of each sample.
    classes : ndarray of shape (n_classes,)
        Class labels.
    vectors : ndarray of shape (n_vectors, 2)
        Support vectors.
    bounded : ndarray of bool of shape (n_vectors,) or None
        Which support vectors have a coefficient at its upper bound, if known.
    names : tuple of str
        Names of the two features.
    margins : tuple of float, default=(1.0, 1.0)
        Absolute decision values of the margins on the two sides.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.

    See Also
    --------
    sklearn.inspection.DecisionBoundaryDisplay : Regions without margins and support vectors.

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
    values: Array | None
    sides: Array
    X: Array
    codes: Array
    classes: Array
    vectors: Array
    bounded: Array | None
    names: tuple[str, str]
    margins: tuple[float, float] = (1.0, 1.0)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Axes | None = None, resolution: int = 250
    ) -> BoundaryDisplay:
        """Evaluate a fitted classifier over the range of X, and draw it.

        Parameters
        ----------
        estimator : fitted classifier
            A classifier with `decision_function` and, to mark support vectors,
            `support_vectors_`; or a pipeline that ends in one.
        X : array-like of shape (n_samples, 2)
            The samples to show.
        y : array-like of shape (n_samples,)
            Their labels.
        ax : matplotlib Axes, optional
            The axes to draw on; the current axes by default.
        resolution : int, default=250
            Points of the grid along each feature.

        Returns
        -------
        display : BoundaryDisplay
        """
        names = [str(name) for name in getattr(X, "columns", ("feature 0", "feature 1"))]
        points = np.asarray(X, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(
                f"BoundaryDisplay draws two features, but X has shape {points.shape}. Fit on two "
                "columns, or project the data first (sklearn.decomposition.PCA(2))."
            )
        classes = np.asarray(estimator.classes_)
        codes = np.searchsorted(classes, np.asarray(y)).clip(max=len(classes) - 1)
        if len(codes) != len(points) or (classes[codes] != np.asarray(y)).any():
            raise ValueError(
                "y must hold one label for each row of X, from the classes that the estimator was "
                "fitted on."
            )
        pad = 0.08 * np.ptp(points, axis=0) + 1e-12
        low, high = points.min(axis=0) - pad, points.max(axis=0) + pad
        xx, yy = np.meshgrid(*(np.linspace(low[k], high[k], resolution) for k in (0, 1)))
        grid: Any = np.column_stack([xx.ravel(), yy.ravel()])
        if hasattr(X, "columns"):
            grid = type(X)(dict(zip(X.columns, grid.T, strict=True)))
        values = estimator.decision_function(grid) if len(classes) == 2 else None
        last = estimator[-1] if hasattr(estimator, "steps") else estimator
        vectors = _find_vectors(last) if last is estimator else np.empty((0, 2))
        bounded = getattr(last, "bounded_support_", None) if len(vectors) else None
        below, above = getattr(last, "margins_", (1.0, 1.0))
        display = cls(
            xx=xx,
            yy=yy,
            values=None if values is None else values.reshape(xx.shape),
            sides=np.searchsorted(classes, estimator.predict(grid)).reshape(xx.shape),
            X=points,
            codes=codes,
            classes=classes,
            vectors=vectors,
            bounded=None if bounded is None else np.isin(last.support_, bounded),
            names=(names[0], names[1]),
            margins=(float(below), float(above)),
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> BoundaryDisplay:
        """Draw boundary, margins, samples and support vectors.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; the current axes by default.

        Returns
        -------
        self : BoundaryDisplay
        """
        import matplotlib.pyplot as plt
        from matplotlib.colors import ListedColormap

        if ax is None:
            ax = plt.gca()
            figure = plt.gcf()
            if figure.get_layout_engine() is None:
                figure.set_layout_engine("constrained")  # room for the legend below
        colours = [_COLOURS[k % len(_COLOURS)] for k in range(len(self.classes))]
        if self.values is not None:
            ax.contour(
                self.xx, self.yy, self.values, levels=[-self.margins[0], 0.0, self.margins[1]],
                linestyles=["--", "-", "--"], colors=_INK, linewidths=[1.0, 1.8, 1.0],
            )  # fmt: skip
            ax.plot([], [], "-", color=_INK, linewidth=1.8, label="boundary")
            ax.plot([], [], "--", color=_INK, linewidth=1.0, label="margin")
        else:
            borders = np.arange(len(self.classes) - 1) + 0.5
            ax.contour(self.xx, self.yy, self.sides, levels=borders, colors=_INK, linewidths=1.2)
        ax.pcolormesh(
            self.xx, self.yy, self.sides, cmap=ListedColormap(colours), alpha=0.15,
            shading="auto", vmin=-0.5, vmax=len(self.classes) - 0.5, rasterized=True,
        )  # fmt: skip
        for k, label in enumerate(self.classes):
            mine = self.codes == k
            ax.scatter(
                self.X[mine, 0], self.X[mine, 1], c=colours[k], s=22, linewidths=0,
                marker=_MARKERS[k % len(_MARKERS)], label=f"class {label}", zorder=3,
            )  # fmt: skip
        if self.bounded is None:
            self._draw_rings(ax, self.vectors, "-", "support vector")
        else:
            self._draw_rings(ax, self.vectors[~self.bounded], "-", "support vector, on the margin")
            self._draw_rings(ax, self.vectors[self.bounded], ":", "support vector, at its bound")
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, fontsize=8, frameon=False
        )
        self.ax_ = ax
        return self

    def _draw_rings(self, ax: Axes, vectors: Array, style: str, label: str) -> None:
        if len(vectors):
            ax.scatter(
                vectors[:, 0], vectors[:, 1], s=90, facecolors="none", edgecolors=_INK,
                linewidths=1.1, linestyles=style, label=label, zorder=4,
            )  # fmt: skip


def _find_vectors(estimator: Any) -> Array:
    """Support vectors, if the estimator has them and they have two features."""
    vectors = dense(getattr(estimator, "support_vectors_", np.empty((0, 2))))
    return vectors if vectors.shape[1:] == (2,) else np.empty((0, 2))
