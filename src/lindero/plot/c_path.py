"""All solutions of an incremental machine between two values of C, and how well each predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.plot.style import Style, dress, find_style, sample_rows, take_panels
from lindero.runtime.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lindero.svm.incremental.estimator import PenaltyPath

#: Coefficients that are drawn.
_MOST_LINES = 300

#: Rows judged at once, of a machine with many breakpoints.
_MOST_VALUES = 4 * 10**6

#: Values of C, beside the breakpoints, where curves that bend are drawn.
_BETWEEN = 200


@dataclass(repr=False)
class CPathDisplay:
    """Coefficients, support vectors and errors over C, along the exact path.

    Create it with :meth:`from_estimator`; :meth:`plot` draws it again elsewhere. Between two
    breakpoints coefficients and decision values are linear in C, so that the share of errors is
    known for every C: it changes where a decision value crosses zero, and nowhere else. Where no
    sample is on the margin an interval of constants is optimal, and a fit may take another one than
    the path.

    Parameters
    ----------
    path : PenaltyPath
        The solutions.
    C : ndarray of shape (n_places,) or None, default=None
        Where errors change, in order (of classes), or where they were computed; None without rows
        to judge.
    errors : ndarray of shape (n_places,) or None, default=None
        The share of errors from there on, or the mean absolute error there.
    of_classes : bool, default=True
        Whether `errors` is a share.

    Attributes
    ----------
    best_C_ : float or None
        Of the values of C with the least error, the middle (of logarithms) of the longest stretch.
    best_range_ : tuple of float or None
        That stretch.
    axes_ : tuple of matplotlib Axes
        The axes of the last plot: coefficients, support vectors, errors.
    figure_ : matplotlib Figure
        Their figure.
    lines_ : matplotlib LineCollection
        The coefficients.

    See Also
    --------
    lindero.svm.IncrementalSVC : Its method `path`.
    SearchDisplay : C and γ by cross-validation.

    References
    ----------
    .. [1] Hastie, T., Rosset, S., Tibshirani, R., Zhu, J. (2004). The entire regularization path
       for the support vector machine. Journal of Machine Learning Research 5, 1391-1415.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from lindero.plot import CPathDisplay
    >>> from lindero.svm import IncrementalSVC
    >>> X, y = make_moons(90, noise=0.3, random_state=0)
    >>> model = IncrementalSVC().fit(X[:60], y[:60])
    >>> display = CPathDisplay.from_estimator(model, 0.1, 10.0, X=X[60:], y=y[60:])
    >>> 0.1 <= display.best_C_ <= 10.0
    True
    """

    path: PenaltyPath
    C: Array | None = None
    errors: Array | None = None
    of_classes: bool = True

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        C_from: float,
        C_to: float,
        *,
        X: Any = None,
        y: Any = None,
        axes: Any = None,
        theme: str | None = None,
    ) -> CPathDisplay:
        """Follow the path of a machine, judge it on other rows, and draw both.

        Parameters
        ----------
        estimator : IncrementalSVC or IncrementalSVR
            Fitted. It stays as it is.
        C_from, C_to : float
            The ends of the path.
        X : array-like of shape (n_rows, n_features), optional
            Rows to judge the solutions on, which the machine has not learned.
        y : array-like of shape (n_rows,), optional
            Their labels or targets.
        axes : sequence of matplotlib Axes, optional
            The axes to draw on: two, or three with rows to judge; new ones by default.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        display : CPathDisplay
        """
        if not hasattr(estimator, "path"):
            raise ValueError(
                f"{type(estimator).__name__} has no path in C: CPathDisplay draws IncrementalSVC "
                "and IncrementalSVR. Other machines have SVCCV, and SearchDisplay."
            )
        if (X is None) != (y is None):
            raise ValueError("X and y judge the solutions together: pass both, or neither.")
        path = estimator.path(C_from, C_to)
        if path.C[0] > path.C[-1]:
            path = type(path)(
                path.C[::-1], path.coefficients[::-1], path.intercepts[::-1], path.function,
                path.vectors,
            )  # fmt: skip
        of_classes = hasattr(estimator, "classes_")
        if X is None:
            return cls(path, of_classes=of_classes).plot(axes=axes, theme=theme)
        rows = np.asarray(X, dtype=np.float64)
        expected = estimator.n_features_in_
        if rows.ndim != 2 or rows.shape[1] != expected or not len(rows):
            raise ValueError(
                f"X has shape {rows.shape}, but the machine has learned {expected} features: pass "
                f"at least one row of {expected}."
            )
        targets = np.asarray(y)
        if targets.shape != (len(rows),):
            raise ValueError(f"y has shape {targets.shape} for {len(rows)} rows of X.")
        if of_classes:
            classes = np.asarray(estimator.classes_)
            if not np.isin(targets, classes).all():
                raise ValueError(f"y holds other labels than the classes, {classes.tolist()}.")
            C, errors = _follow_errors(path, rows, targets == classes[1])
        else:
            C, errors = _follow_deviations(path, rows, targets.astype(np.float64))
        return cls(path, C, errors, of_classes).plot(axes=axes, theme=theme)

    @property
    def best_range_(self) -> tuple[float, float] | None:
        """The longest stretch of C with the least error."""
        if self.C is None or self.errors is None:
            return None
        if not self.of_classes:
            best = float(self.C[int(self.errors.argmin())])
            return best, best
        ends = np.append(self.C[1:], self.path.C[-1])
        least = np.flatnonzero(self.errors <= self.errors.min())
        # Stretches that follow each other are one.
        parts = np.split(least, np.flatnonzero(np.diff(least) > 1) + 1)
        stretches = [(float(self.C[part[0]]), float(ends[part[-1]])) for part in parts]
        return max(stretches, key=lambda ends: ends[1] / ends[0])

    @property
    def best_C_(self) -> float | None:  # noqa: N802
        """The middle of that stretch."""
        ends = self.best_range_
        return None if ends is None else float(np.sqrt(ends[0] * ends[1]))

    def plot(self, *, axes: Any = None, theme: str | None = None) -> CPathDisplay:
        """Draw coefficients, the number of support vectors, and errors.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, optional
            The axes to draw on: two, or three with rows to judge; new ones by default.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        self : CPathDisplay
        """
        style = find_style(theme)
        heights = [2.2, 1.4] if self.errors is None else [2.2, 1.4, 1.9]
        panels = take_panels(axes, heights)
        self._draw_coefficients(panels[0], style)
        held = (self.path.coefficients != 0.0).sum(axis=1)
        panels[1].step(self.path.C, held, where="post", color=style.colour(0), linewidth=1.6)
        panels[1].set_ylabel("support vectors")
        panels[1].set_ylim(bottom=0)
        if self.errors is not None:
            self._draw_errors(panels[2], style)
        for ax in panels:
            ax.set_xscale("log")
            ax.set_xlim(self.path.C[0], self.path.C[-1])
            ax.grid(visible=True, color=style.grid, linewidth=0.6)
            ax.set_axisbelow(True)
            dress(ax, style)
        if axes is None:
            panels[-1].set_xlabel("C")
        else:
            for ax in panels:
                ax.set_xlabel("C")
        self.axes_, self.figure_ = tuple(panels), panels[0].figure
        return self

    def _draw_coefficients(self, ax: Axes, style: Style) -> None:
        from matplotlib.collections import LineCollection

        path = self.path
        used = np.flatnonzero(path.coefficients.any(axis=0))
        chosen, told = sample_rows(len(used), _MOST_LINES)
        values = path.coefficients[:, used[chosen]]
        positive = values[np.abs(values).argmax(axis=0), np.arange(values.shape[1])] > 0
        # As a part of C they are bent between breakpoints.
        C = np.unique(np.concatenate([path.C, np.geomspace(path.C[0], path.C[-1], _BETWEEN)]))
        segments = [
            np.column_stack([C, np.interp(C, path.C, values[:, k]) / C])
            for k in range(values.shape[1])
        ]
        self.lines_ = LineCollection(
            segments, linewidths=0.8, alpha=0.8, rasterized=len(segments) > 100,
            colors=[style.colour(0 if up else 1) for up in positive],
            linestyles=["-" if up else "--" for up in positive],
        )  # fmt: skip
        ax.add_collection(self.lines_)
        ax.autoscale_view()
        ax.set_ylabel("coefficient ÷ C")
        n_breaks = len(np.unique(path.C)) - 2
        what = told.replace("rows are", "coefficients are") or f"{len(used)} coefficients"
        ax.set_title(
            f"The exact path in C: {max(0, n_breaks)} breakpoints, {what}", fontsize=10,
            loc="left", color=style.ink,
        )  # fmt: skip

    def _draw_errors(self, ax: Axes, style: Style) -> None:
        assert self.C is not None
        assert self.errors is not None
        C, errors = np.append(self.C, self.path.C[-1]), np.append(self.errors, self.errors[-1])
        if self.of_classes:
            ax.step(C, 100.0 * errors, where="post", color=style.colour(1), linewidth=1.6)
            ax.set_ylabel("errors, other rows (%)")
        else:
            ax.plot(C, errors, color=style.colour(1), linewidth=1.6)
            ax.set_ylabel("MAE, other rows")
        best, ends = self.best_C_, self.best_range_
        assert best is not None
        assert ends is not None
        factor = 100.0 if self.of_classes else 1.0
        least = factor * float(self.errors.min())
        if ends[1] > ends[0]:
            ax.axvspan(*ends, color=style.grid, linewidth=0, zorder=0)
        ax.plot(best, least, marker="*", markersize=11, color=style.ink, linestyle="none", zorder=5)
        unit = " %" if self.of_classes else ""
        text = f"Least: {least:.3g}{unit} at C = {best:.3g}"
        ax.set_title(text, fontsize=9, loc="left", color=style.ink)


def _follow_errors(path: PenaltyPath, rows: Array, is_second: Array) -> tuple[Array, Array]:
    """Values of C at which the share of errors changes, the first of the path being one, and the
    share from there on."""
    starts, changes_at, changes = 0, [], []
    height = max(1, _MOST_VALUES // len(path.C))
    for first in range(0, len(rows), height):
        part = slice(first, first + height)
        values, positive = path.decision_function(rows[part]), is_second[part]
        above = values > 0.0
        starts += int((above[0] != positive).sum())
        k, j = np.nonzero(above[1:] != above[:-1])
        here, there = values[k, j], values[k + 1, j]
        share = here / (here - there)
        changes_at.append(path.C[k] + share * (path.C[k + 1] - path.C[k]))
        changes.append(np.where(above[k + 1, j] == positive[j], -1, 1))
    C, steps = np.concatenate(changes_at), np.concatenate(changes)
    order = np.argsort(C, kind="stable")
    C, total = C[order], starts + np.cumsum(steps[order])
    last = np.append(C[1:] != C[:-1], [True]) if len(C) else np.empty(0, dtype=bool)
    C, total = np.append(path.C[:1], C[last]), np.append(starts, total[last])
    return C, total / len(rows)


def _follow_deviations(path: PenaltyPath, rows: Array, targets: Array) -> tuple[Array, Array]:
    """Values of C, breakpoints among them, and the mean absolute error at each."""
    between = np.geomspace(path.C[0], path.C[-1], _BETWEEN)
    C = np.unique(np.concatenate([path.C, between]).clip(path.C[0], path.C[-1]))
    k = np.searchsorted(path.C, C, side="right").clip(1, len(path.C) - 1)
    span = path.C[k] - path.C[k - 1]
    share = np.where(span > 0.0, (C - path.C[k - 1]) / np.where(span > 0.0, span, 1.0), 1.0)
    total = np.zeros(len(C))
    height = max(1, _MOST_VALUES // (len(path.C) + len(C)))
    for first in range(0, len(rows), height):
        part = slice(first, first + height)
        values = path.decision_function(rows[part])
        found = values[k - 1] + share[:, None] * (values[k] - values[k - 1])
        total += np.abs(found - targets[part]).sum(axis=1)
    return C, total / len(rows)
