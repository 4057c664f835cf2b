"""A boundary that moves: side by side at several instants, or as a film."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.plot.boundary import find_codes, like_table, make_grid, require_features
from lindero.plot.style import Style, draw_points, dress, find_style, load_pyplot
from lindero.runtime.arrays import Array, dense

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Points of the grid along each feature: there are many frames.
_RESOLUTION = 120

#: Rows around an instant that are drawn, at least, and as a share of all.
_FEWEST_AROUND, _SHARE_AROUND, _MOST_AROUND = 10, 20, 400


@dataclass(frozen=True)
class Instant:
    """A frame: the rows around an instant, and what the machine said then.

    Attributes
    ----------
    title : str
        When it is.
    rows : ndarray
        Rows around it.
    values : ndarray
        Decision values on the grid (two classes), positions of the predicted class (several), or
        predictions along the feature (a regression).
    """

    title: str
    rows: Array
    values: Array


@dataclass(repr=False)
class EvolutionDisplay:
    """The boundary of an adaptive machine at several instants, with the rows around each.

    Create it with :meth:`from_estimator`; :meth:`plot` draws it again elsewhere, and
    :meth:`animate` writes a film.

    Parameters
    ----------
    estimator : AdaptiveSVC or AdaptiveSVR
        The machine, for the frames of a film.
    table : array-like of shape (n_samples, n_features)
        The samples as they were given.
    X : ndarray of shape (n_samples, 2)
        The samples; of a regression, feature and target.
    codes : ndarray of shape (n_samples,)
        Position of the class of each sample.
    classes : ndarray of shape (n_classes,)
        Class labels; none of a regression.
    times : ndarray of shape (n_samples,)
        When each sample was.
    grid : tuple of ndarray
        Where frames are evaluated.
    names : tuple of str
        Names of the two axes.
    instants : list of Instant
        The frames that are drawn side by side.

    Attributes
    ----------
    axes_ : tuple of matplotlib Axes
        The axes of the last plot, one for each instant.
    figure_ : matplotlib Figure
        Their figure.
    boundaries_ : list
        The boundary in each of the axes: a ContourSet, or a Line2D of a regression.

    See Also
    --------
    PathDisplay : Weights and drift over time.
    BoundaryDisplay : One boundary, with margins and support vectors.

    Examples
    --------
    >>> from lindero.data import make_rotating
    >>> from lindero.plot import EvolutionDisplay
    >>> from lindero.svm import AdaptiveSVC
    >>> X, y = make_rotating(120, random_state=0)
    >>> model = AdaptiveSVC(coupling=1e4).fit(X, y)
    >>> display = EvolutionDisplay.from_estimator(model, X, y, instants=3)
    >>> [instant.title for instant in display.instants]
    ['row 10', 'row 60', 'row 109']
    """

    estimator: Any
    table: Any
    X: Array
    codes: Array
    classes: Array
    times: Array
    grid: tuple[Array, Array]
    names: tuple[str, str]
    instants: list[Instant]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        times: Any = None,
        instants: int | Sequence[Any] = 5,
        axes: Any = None,
        theme: str | None = None,
    ) -> EvolutionDisplay:
        """Ask a fitted machine for its boundary at several instants, and draw them.

        Parameters
        ----------
        estimator : AdaptiveSVC or AdaptiveSVR
            Fitted along time.
        X : array-like of shape (n_samples, 2)
            The rows, in the order of time; of shape (n_samples, 1) for a regression.
        y : array-like of shape (n_samples,)
            Their labels or targets.
        times : array-like of shape (n_samples,), optional
            Their times; the number of each row by default.
        instants : int or sequence of times, default=5
            How many frames, or of which times.
        axes : sequence of matplotlib Axes, optional
            The axes to draw on, one for each instant; new ones by default.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        display : EvolutionDisplay
        """
        if not hasattr(estimator, "times_"):
            raise ValueError(
                f"{type(estimator).__name__} has one boundary for all times: draw it with "
                "BoundaryDisplay, or fit an AdaptiveSVC."
            )
        points = np.asarray(dense(X), dtype=np.float64)
        classes = np.asarray(getattr(estimator, "classes_", np.empty(0)))
        if len(classes):
            require_features(points, 2, "EvolutionDisplay")
            codes, grid = find_codes(classes, y, len(points)), make_grid(points, _RESOLUTION)
            names = [str(name) for name in getattr(X, "columns", ("feature 0", "feature 1"))]
        else:
            require_features(points, 1, "EvolutionDisplay of a regression")
            codes = np.zeros(len(points), dtype=np.intp)
            points = np.column_stack([points[:, 0], np.asarray(y, dtype=np.float64)])
            line = np.linspace(points[:, 0].min(), points[:, 0].max(), 2 * _RESOLUTION)
            grid = line, line
            names = [*(str(name) for name in getattr(X, "columns", ("feature",))), "target"]
        own = np.arange(len(points)) if times is None else np.asarray(times)
        if len(own) != len(points):
            raise ValueError(f"times has {len(own)} entries for {len(points)} rows of X.")
        display = cls(estimator, X, points, codes, classes, own, grid, (names[0], names[1]), [])
        display.instants = [display.look_at(when) for when in display._choose(instants)]
        return display.plot(axes=axes, theme=theme)

    def look_at(self, when: Any) -> Instant:
        """The frame of an instant.

        Parameters
        ----------
        when : time
            One of the kind of `times`.

        Returns
        -------
        instant : Instant
        """
        around = int(np.clip(len(self.times) // _SHARE_AROUND, _FEWEST_AROUND, _MOST_AROUND))
        order = np.argsort(self.times, kind="stable")
        middle = int(np.searchsorted(self.times[order], when))
        rows = order[max(0, middle - around) : middle + around + 1]
        is_row = np.array_equal(self.times, np.arange(len(self.times)))
        text = str(when).replace("T", " ") if self.times.dtype.kind == "M" else f"{when:g}"
        title = f"{'row' if is_row else 'time'} {text}"
        xx, yy = self.grid
        if not len(self.classes):
            asked = like_table(self.table, xx[:, None])
            return Instant(title, rows, np.asarray(self.estimator.predict(asked, times=when)))
        asked = like_table(self.table, np.column_stack([xx.ravel(), yy.ravel()]))
        if len(self.classes) == 2:
            values = np.asarray(self.estimator.decision_function(asked, times=when))
        else:
            found = self.estimator.predict(asked, times=when)
            values = np.searchsorted(self.classes, found)
        return Instant(title, rows, values.reshape(xx.shape))

    def plot(self, *, axes: Any = None, theme: str | None = None) -> EvolutionDisplay:
        """Draw the instants side by side.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, optional
            The axes to draw on, one for each instant; new ones by default.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        self : EvolutionDisplay
        """
        style, count = find_style(theme), len(self.instants)
        is_own = axes is None
        if axes is None:
            _, axes = load_pyplot().subplots(
                1, count, sharex=True, sharey=True, layout="constrained", squeeze=False,
                figsize=(min(15.0, 0.6 + 2.6 * count), 3.1),
            )  # fmt: skip
        panels: list[Any] = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(panels) < count:
            raise ValueError(f"{count} axes are needed, and {len(panels)} were given.")
        self.boundaries_ = []
        for k, (ax, instant) in enumerate(zip(panels, self.instants, strict=False)):
            self.boundaries_.append(self._draw(ax, instant, style))
            if is_own and k:
                ax.set_ylabel("")
        if is_own:
            handles, labels = panels[0].get_legend_handles_labels()
            legend = panels[0].figure.legend(
                handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=8,
                labelcolor=style.ink,
            )  # fmt: skip
            legend.set_zorder(5)
        self.axes_, self.figure_ = tuple(panels[:count]), panels[0].figure
        return self

    def animate(
        self,
        path: str | Path,
        *,
        frames: int = 60,
        frames_per_second: int = 12,
        theme: str | None = None,
        dpi: int = 90,
    ) -> Path:
        """Write a film from the first row to the last.

        Parameters
        ----------
        path : str or path-like
            A file that ends in .gif, or in .mp4 where the program ffmpeg is installed.
        frames : int, default=60
            How many instants.
        frames_per_second : int, default=12
            How many of them in a second.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.
        dpi : int, default=90
            Dots per inch, of 4.6 inches.

        Returns
        -------
        path : Path
        """
        plt, style, target = load_pyplot(), find_style(theme), Path(path)
        writer = _choose_writer(target, frames_per_second)
        figure, ax = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
        figure.set_facecolor(style.paper)
        try:
            with writer.saving(figure, str(target), dpi):
                for when in self._choose(frames):
                    ax.clear()
                    self._draw(ax, self.look_at(when), style)
                    writer.grab_frame(facecolor=style.paper)
        finally:
            plt.close(figure)
        return target

    def _choose(self, instants: int | Sequence[Any]) -> list[Any]:
        """Times of the frames, evenly spread over the rows."""
        if not isinstance(instants, int | np.integer):
            return list(np.asarray(instants))
        if instants < 1:
            raise ValueError(f"At least one instant is needed, got {instants}.")
        ordered = np.sort(self.times)
        edge = min(_FEWEST_AROUND, (len(ordered) - 1) // 2)
        rows = np.linspace(edge, len(ordered) - 1 - edge, int(instants)).round().astype(int)
        return list(ordered[rows])

    def _draw(self, ax: Axes, instant: Instant, style: Style) -> Any:
        xx, yy = self.grid
        rows = instant.rows
        boundary: Any
        if not len(self.classes):
            (boundary,) = ax.plot(
                xx, instant.values, color=style.ink, linewidth=1.8, label="prediction"
            )
            x, y = self.X[rows].T
            draw_points(ax, x, y, style, 0, "rows around")
            low, high = self.X[:, 1].min(), self.X[:, 1].max()
            room = 0.05 * (high - low) or 1.0
            ax.set_ylim(low - room, high + room)
        else:
            boundary = self._draw_regions(ax, instant, style)
            for k, label in enumerate(self.classes):
                mine = rows[self.codes[rows] == k]
                x, y = self.X[mine].T
                draw_points(ax, x, y, style, k, f"class {label}")
            ax.set(xlim=(xx.min(), xx.max()), ylim=(yy.min(), yy.max()))
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.set_title(instant.title, fontsize=10)
        dress(ax, style, frame=True)
        return boundary

    def _draw_regions(self, ax: Axes, instant: Instant, style: Style) -> Any:
        from matplotlib.colors import ListedColormap

        xx, yy = self.grid
        two, count = len(self.classes) == 2, len(self.classes)
        sides = (instant.values > 0.0).astype(np.intp) if two else instant.values
        ax.pcolormesh(
            xx, yy, sides, cmap=ListedColormap([style.colour(k) for k in range(count)]), alpha=0.16,
            shading="auto", vmin=-0.5, vmax=count - 0.5, rasterized=True, zorder=0,
        )  # fmt: skip
        levels = [0.0] if two else np.arange(count - 1) + 0.5
        values = instant.values
        # Where one class has all of the frame there is no boundary to draw.
        if float(values.min()) < levels[-1] and float(values.max()) > levels[0]:
            ax.plot([], [], color=style.ink, linewidth=1.8, label="boundary at that time")
            return ax.contour(xx, yy, values, levels=levels, colors=style.ink, linewidths=1.8)
        return None


def _choose_writer(path: Path, frames_per_second: int) -> Any:
    """What writes a film, by the name of the file."""
    from matplotlib import animation

    kind = path.suffix.lower()
    if kind == ".gif":
        return animation.PillowWriter(fps=frames_per_second)
    if kind != ".mp4":
        raise ValueError(f"Films are written to .gif or .mp4 files, got {str(path)!r}.")
    if shutil.which("ffmpeg") is None:
        raise ValueError(
            "Films in .mp4 need the program ffmpeg, which was not found: install it, or write a "
            ".gif."
        )
    return animation.FFMpegWriter(fps=frames_per_second)
