"""What a machine says over its inputs: regions and margins of classifiers, the region of a
one-class machine, the tube of a regression; and the support vectors that hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.plot.style import (
    Style,
    draw_points,
    dress,
    find_style,
    put_legend_below,
    sample_rows,
    take_axes,
)
from lindero.runtime.arrays import Array, dense

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Points of the grid along each feature; fewer, down to the second, where values are dear.
_RESOLUTION, _LEAST_RESOLUTION = 250, 80

#: Kernel values that a picture may take.
_MOST_VALUES = 3 * 10**8

#: Points of the grid at which signs of decision values are compared with predictions.
_LOOKED_AT = 300

#: Support vectors with a ring.
_MOST_RINGS = 300


@dataclass(repr=False)
class BoundaryDisplay:
    """What a machine says on a grid, ready to draw.

    Create it with :meth:`from_estimator`; :meth:`plot` draws it again elsewhere. Of two classes
    margins are drawn at the values that the machine asks for, unequal ones for
    :class:`~lindero.svm.CostSensitiveSVC`. Of a regression over one feature the tube is drawn.

    Parameters
    ----------
    xx, yy : ndarray of shape (n, n)
        The grid; of a regression, places along the feature, of shape (n,), and predictions there.
    values : ndarray of shape (n, n) or None
        Decision values on the grid, for two classes and for one-class machines.
    sides : ndarray of shape (n, n) or None
        Position of the predicted class on the grid; None for a regression.
    X : ndarray of shape (n_samples, 2)
        The samples; of a regression, feature and target.
    codes : ndarray of shape (n_samples,)
        Position of the class of each sample.
    classes : ndarray of shape (n_classes,)
        Class labels; of a one-class machine "inside" and "outside", of a regression none.
    vectors : ndarray of shape (n_vectors, 2)
        Support vectors.
    bounded : ndarray of bool of shape (n_vectors,) or None
        Which support vectors have a coefficient at its upper bound, if known.
    names : tuple of str
        Names of the two axes.
    margins : tuple of float or None, default=(1.0, 1.0)
        Absolute decision values of the margins on the two sides; None where there are none.
    tube : float or None, default=None
        Half of the width of a regression's tube.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.
    surface_ : matplotlib QuadMesh or None
        The regions.
    contours_ : matplotlib ContourSet or None
        Boundary and margins.
    points_ : list of matplotlib Line2D
        The samples, class by class.
    rings_ : list of matplotlib PathCollection
        Rings around support vectors: solid, then dotted for those at their bounds.

    See Also
    --------
    EvolutionDisplay : A boundary that moves, at several instants.
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
    sides: Array | None
    X: Array
    codes: Array
    classes: Array
    vectors: Array
    bounded: Array | None
    names: tuple[str, str]
    margins: tuple[float, float] | None = (1.0, 1.0)
    tube: float | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        ax: Axes | None = None,
        theme: str | None = None,
        resolution: int | None = None,
        times: Any = None,
    ) -> BoundaryDisplay:
        """Evaluate a fitted machine over the range of X, and draw it.

        Parameters
        ----------
        estimator : fitted classifier, regression or one-class machine
            A classifier with, to draw margins, `decision_function` and, to mark support vectors,
            `support_vectors_`; or a pipeline that ends in one.
        X : array-like of shape (n_samples, 2)
            The samples to show; of shape (n_samples, 1) for a regression.
        y : array-like of shape (n_samples,), optional
            Their labels or targets; not needed for a one-class machine.
        ax : matplotlib Axes, optional
            The axes to draw on; by default the current ones if they are empty, else new ones.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.
        resolution : int, optional
            Points of the grid along each feature; 250 by default, fewer where there are very many
            support vectors.
        times : a single time, optional
            For adaptive machines: the instant whose boundary is drawn.

        Returns
        -------
        display : BoundaryDisplay
        """
        asked = {} if times is None else {"times": times}
        points = np.asarray(dense(X), dtype=np.float64)
        if not hasattr(estimator, "classes_") and not _is_one_class(estimator):
            display = cls._describe_tube(estimator, X, points, y, resolution, asked)
        else:
            display = cls._describe_regions(estimator, X, points, y, resolution, asked)
        return display.plot(ax=ax, theme=theme)

    @classmethod
    def _describe_regions(
        cls, estimator: Any, X: Any, points: Array, y: Any, resolution: int | None, asked: Any
    ) -> BoundaryDisplay:
        names = [str(name) for name in getattr(X, "columns", ("feature 0", "feature 1"))]
        require_features(points, 2, "BoundaryDisplay")
        novelty = _is_one_class(estimator)
        if novelty:
            classes = np.array(["inside", "outside"])
            codes = (np.asarray(estimator.predict(X)) < 0).astype(np.intp)
        else:
            classes = np.asarray(estimator.classes_)
            codes = find_codes(classes, y, len(points))
        last = estimator[-1] if hasattr(estimator, "steps") else estimator
        xx, yy = make_grid(points, resolution or _choose_resolution(last))
        grid = like_table(X, np.column_stack([xx.ravel(), yy.ravel()]))
        values = None
        if (novelty or len(classes) == 2) and hasattr(estimator, "decision_function"):
            values = np.asarray(estimator.decision_function(grid, **asked)).reshape(xx.shape)
        if novelty:
            assert values is not None
            sides = (values < 0.0).astype(np.intp)
        else:
            sides = _find_sides(estimator, classes, grid, values, asked).reshape(xx.shape)
        vectors = _find_vectors(last, 2) if last is estimator else np.empty((0, 2))
        below, above = getattr(last, "margins_", (1.0, 1.0))
        return cls(
            xx=xx,
            yy=yy,
            values=values,
            sides=sides,
            X=points,
            codes=codes,
            classes=classes,
            vectors=vectors,
            bounded=_find_bounded(last, vectors),
            names=(names[0], names[1]),
            margins=None if novelty or not _has_margins(last) else (float(below), float(above)),
        )

    @classmethod
    def _describe_tube(
        cls, estimator: Any, X: Any, points: Array, y: Any, resolution: int | None, asked: Any
    ) -> BoundaryDisplay:
        names = [str(name) for name in getattr(X, "columns", ("feature",))]
        require_features(points, 1, "BoundaryDisplay of a regression")
        targets = np.asarray(y, dtype=np.float64)
        if targets.shape != (len(points),):
            raise ValueError(
                f"y must hold one number for each of the {len(points)} rows of X, got shape "
                f"{targets.shape}."
            )
        low, high = _find_ends(points)
        line = np.linspace(low[0], high[0], resolution or 2 * _RESOLUTION)
        curve = np.asarray(estimator.predict(like_table(X, line[:, None]), **asked))
        last = estimator[-1] if hasattr(estimator, "steps") else estimator
        tube = getattr(last, "epsilon_", getattr(last, "epsilon", None))
        support = getattr(last, "support_", None) if last is estimator else None
        vectors, bounded = np.empty((0, 2)), None
        found = _find_vectors(last, 1) if support is not None else np.empty((0, 1))
        # Targets of support vectors are known where the rows are those of the fit.
        if support is not None and len(found) and support.max() < len(points):
            mine = points[support]
            if np.allclose(mine, found):
                vectors = np.column_stack([mine[:, 0], targets[support]])
                bounded = _find_bounded(last, vectors)
        return cls(
            xx=line, yy=curve, values=None, sides=None,
            X=np.column_stack([points[:, 0], targets]),
            codes=np.zeros(len(points), dtype=np.intp), classes=np.empty(0), vectors=vectors,
            bounded=bounded, names=(names[0], "target"), margins=None,
            tube=None if tube is None else float(tube),
        )  # fmt: skip

    def plot(self, *, ax: Axes | None = None, theme: str | None = None) -> BoundaryDisplay:
        """Draw boundary, margins, samples and support vectors.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; by default the current ones if they are empty, else new ones.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        self : BoundaryDisplay
        """
        style, ax = find_style(theme), take_axes(ax)
        self.surface_: Any = None
        self.contours_: Any = None
        if self.sides is None:
            self._draw_tube(ax, style)
        else:
            self._draw_regions(ax, style)
        rows, told = sample_rows(len(self.X))
        self.points_: list[Any] = []
        points, codes = self.X[rows], self.codes[rows]
        for k in range(max(1, len(self.classes))):
            mine = codes == k
            label = f"class {self.classes[k]}" if len(self.classes) else "data"
            if self.margins is None and self.values is not None and len(self.classes) == 2:
                label = str(self.classes[k])
            x, y = points[mine].T
            self.points_.append(
                draw_points(ax, x, y, style, k, label)
                if len(self.classes)
                else draw_points(ax, x, y, style, 0, label, colour=style.muted)
            )
        self.rings_: list[Any] = []
        if self.bounded is None:
            self._draw_rings(ax, style, self.vectors, "-", "support vector")
        else:
            where = "on the margin" if self.sides is not None else "at the edge of the tube"
            self._draw_rings(
                ax, style, self.vectors[~self.bounded], "-", f"support vector, {where}"
            )
            self._draw_rings(
                ax, style, self.vectors[self.bounded], ":", "support vector, at its bound"
            )
        if sum([len(rings.get_offsets()) for rings in self.rings_]) < len(self.vectors):
            more = f"of {len(self.vectors):,} support vectors some have rings"
            told = f"{told}; {more}" if told else more
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        legend = put_legend_below(ax, title=told or None)
        dress(ax, style, frame=self.sides is not None)
        handles: list[Any] = list(legend.legend_handles)
        for handle in handles:  # points may be tiny where there are many
            if hasattr(handle, "set_markersize"):
                handle.set(markersize=4.6, alpha=1.0)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_regions(self, ax: Axes, style: Style) -> None:
        from matplotlib.colors import ListedColormap

        assert self.sides is not None
        count = len(self.classes)
        colours = [style.colour(k) for k in range(count)]
        if self.values is not None:
            levels = [0.0]
            if self.margins is not None:
                levels = [-self.margins[0], 0.0, self.margins[1]]
            self.contours_ = ax.contour(
                self.xx, self.yy, self.values, levels=levels, colors=style.ink,
                linestyles=["--", "-", "--"] if self.margins else ["-"],
                linewidths=[1.0, 1.8, 1.0] if self.margins else [1.8],
            )  # fmt: skip
            ax.plot([], [], "-", color=style.ink, linewidth=1.8, label="boundary")
            if self.margins is not None:
                equal = self.margins == (1.0, 1.0)
                told = "margin" if equal else "margins, {:.3g} and {:.3g}".format(*self.margins)
                ax.plot([], [], "--", color=style.ink, linewidth=1.0, label=told)
        elif count > 1:
            borders = np.arange(count - 1) + 0.5
            self.contours_ = ax.contour(
                self.xx, self.yy, self.sides, levels=borders, colors=style.ink, linewidths=1.2
            )
        self.surface_ = ax.pcolormesh(
            self.xx, self.yy, self.sides, cmap=ListedColormap(colours), alpha=0.16,
            shading="auto", vmin=-0.5, vmax=count - 0.5, rasterized=True, zorder=0,
        )  # fmt: skip

    def _draw_tube(self, ax: Axes, style: Style) -> None:
        if self.tube:
            ax.fill_between(
                self.xx, self.yy - self.tube, self.yy + self.tube, color=style.colour(0),
                alpha=0.18, linewidth=0, label=f"tube, ±{self.tube:.3g}", zorder=1,
            )  # fmt: skip
            for edge in (self.yy - self.tube, self.yy + self.tube):
                ax.plot(self.xx, edge, "--", color=style.ink, linewidth=0.8, zorder=2)
        ax.plot(self.xx, self.yy, color=style.ink, linewidth=1.8, label="prediction", zorder=4)

    def _draw_rings(self, ax: Axes, style: Style, vectors: Array, line: str, label: str) -> None:
        if len(vectors):
            rows, _ = sample_rows(len(vectors), _MOST_RINGS)
            rings = ax.scatter(
                vectors[rows, 0], vectors[rows, 1], s=80 if len(rows) <= 100 else 45,
                facecolors="none", edgecolors=style.ink, linestyles=line, label=label, zorder=4,
                linewidths=1.1 if len(rows) <= 100 else 0.7,
                alpha=1.0 if len(rows) <= 100 else 0.6,
            )  # fmt: skip
            self.rings_.append(rings)


# -- what is read of estimators and tables --------------------------------------------------------


def require_features(points: Array, count: int, display: str) -> None:
    """Refuse tables that a plane cannot show, saying what can be done."""
    if points.ndim == 2 and points.shape[1] == count and len(points):
        return
    what = "two features" if count == 2 else "one feature"
    if points.ndim == 2 and not len(points):
        advice = "Pass rows to show."
    elif points.ndim == 2 and points.shape[1] == 1:
        advice = (
            "Add a second column; with one feature, plot decision_function over it "
            "(sorted values as x)."
        )
    elif count == 2:
        advice = (
            "Fit on two columns, or project the data first (sklearn.decomposition.PCA(2) before "
            "fit)."
        )
    else:
        advice = "Fit on one column, or look at all of them with lindero.plot.ExplanationDisplay."
    raise ValueError(f"{display} draws {what}, but X has shape {points.shape}. {advice}")


def find_codes(classes: Array, y: Any, n_rows: int) -> Array:
    """Positions of labels among the classes."""
    labels = np.asarray(y)
    if labels.shape == (n_rows,):
        codes = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
        if (classes[codes] == labels).all():
            return codes
    raise ValueError(
        "y must hold one label for each row of X, from the classes that the estimator was "
        "fitted on."
    )


def make_grid(points: Array, resolution: int) -> tuple[Array, Array]:
    """A grid over the range of points, with some room."""
    low, high = _find_ends(points)
    axes = [np.linspace(low[k], high[k], resolution) for k in (0, 1)]
    xx, yy = np.meshgrid(*axes)
    return xx, yy


def _find_ends(points: Array) -> tuple[Array, Array]:
    if not np.isfinite(points).all():
        row = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise ValueError(f"Row {row} of X is not finite: leave rows with missing values out.")
    span = np.ptp(points, axis=0)
    pad = np.where(span > 0.0, 0.08 * span, 0.08 * np.maximum(1.0, np.abs(points[0])))
    return points.min(axis=0) - pad, points.max(axis=0) + pad


def like_table(X: Any, rows: Array) -> Any:
    """Rows as a table of the kind of X, with its names."""
    if hasattr(X, "columns"):
        return type(X)(dict(zip(X.columns, rows.T, strict=True)))
    return rows


def _find_sides(
    estimator: Any, classes: Array, grid: Any, values: Array | None, asked: Any
) -> Array:
    """Positions of the predicted classes. Where there are decision values, their signs say it, if
    they do where that is least clear and here and there: predictions cost as much again."""

    def predict(rows: Any) -> Array:
        codes: Array = np.searchsorted(classes, estimator.predict(rows, **asked))
        return codes

    if values is None or hasattr(grid, "columns"):
        return predict(grid)
    flat = np.ravel(values)
    signs = (flat > 0.0).astype(np.intp)
    unclear = np.argsort(np.abs(flat), kind="stable")[:_LOOKED_AT]
    spread = np.linspace(0, len(flat) - 1, _LOOKED_AT).astype(np.intp)
    some = np.concatenate([unclear, spread])
    return signs if (predict(grid[some]) == signs[some]).all() else predict(grid)


def _choose_resolution(machine: Any) -> int:
    """As fine as usual, unless there are very many support vectors."""
    count = max(1, len(getattr(machine, "support_", ())))
    affordable = int((_MOST_VALUES / count) ** 0.5)
    return max(_LEAST_RESOLUTION, min(_RESOLUTION, affordable))


def _is_one_class(estimator: Any) -> bool:
    from sklearn.base import is_outlier_detector

    return bool(is_outlier_detector(estimator))


def _has_margins(machine: Any) -> bool:
    """Whether decision values are measured in margins: those of support vector machines, except on
    a stream, where they are log-odds as those of other classifiers."""
    of_svm = type(machine).__module__.startswith("lindero.svm.") or "SV" in type(machine).__name__
    return (of_svm or hasattr(machine, "support_vectors_")) and not hasattr(machine, "history_")


def _find_vectors(estimator: Any, count: int) -> Array:
    """Support vectors, if the estimator has them and they have so many features."""
    try:
        vectors = dense(getattr(estimator, "support_vectors_", np.empty((0, count))))
    except ValueError:  # of an adaptive machine that follows a stream
        vectors = np.empty((0, count))
    return vectors if vectors.shape[1:] == (count,) else np.empty((0, count))


def _find_bounded(machine: Any, vectors: Array) -> Array | None:
    """Which of the support vectors have a coefficient at its bound, if the machine says so."""
    bounded = getattr(machine, "bounded_support_", None) if len(vectors) else None
    return None if bounded is None else np.isin(machine.support_, bounded)
