"""The hyperplanes of an adaptive machine over time: weights, offset, drift, and the coupling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lindero.plot.curves import CurveChart, draw_curves
from lindero.plot.style import find_style, take_panels
from lindero.runtime.arrays import Array

#: Weights that a panel shows unless more are asked for.
_MOST = 6


def describe_weights(
    places: Array,
    weights: Array,
    names: Sequence[str],
    most: int,
    axis: str = "time",
    dates: bool = False,
) -> CurveChart:
    """What is drawn of weights over time, of shape (n_places, n_features), on pages and by
    displays: those that moved most."""
    shown = np.argsort(-np.ptp(weights, axis=0), kind="stable")[:most]
    left = f", the {len(shown)} of {len(names)} that move most" if len(shown) < len(names) else ""
    curves = {names[j]: (places, weights[:, j]) for j in shown.tolist()}
    return CurveChart(f"Weights over time{left}", curves, "weight", axis, dates=dates)


@dataclass(repr=False)
class PathDisplay:
    """How the hyperplane of an adaptive machine moved: w(t), b(t), drift and coupling.

    Create it with :meth:`from_estimator`; :meth:`plot` draws it again elsewhere.

    Parameters
    ----------
    charts : list of CurveChart
        Weights, offset, drift; on a stream also the rows that mattered, by the coupling that was
        chosen.

    Attributes
    ----------
    axes_ : tuple of matplotlib Axes
        The axes of the last plot, one for each chart.
    figure_ : matplotlib Figure
        Their figure.
    lines_ : list of list of matplotlib Line2D
        The curves of each chart.

    See Also
    --------
    lindero.svm.AdaptiveSVC : The machine; its `coef_`, `intercept_`, `drift_` and `history_`.
    EvolutionDisplay : The boundary at several instants.
    StreamDisplay : Speed and loss of a stream.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.plot import PathDisplay
    >>> from lindero.svm import AdaptiveSVC
    >>> X = np.tile([[-1.0], [1.0]], (40, 1))
    >>> y = np.repeat([1, -1], 40) * X[:, 0]
    >>> display = PathDisplay.from_estimator(AdaptiveSVC(coupling=10.0).fit(X, y))
    >>> [chart.beside for chart in display.charts]
    ['weight', 'b', 'drift']
    """

    charts: list[CurveChart]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        of: Any = None,
        names: Sequence[str] | None = None,
        most: int = _MOST,
        axes: Any = None,
        theme: str | None = None,
    ) -> PathDisplay:
        """Draw the path of a fitted machine.

        Parameters
        ----------
        estimator : AdaptiveSVC or AdaptiveSVR
            Fitted, with the linear kernel, along time; or a pipeline that ends in one.
        of : label, optional
            With more than two classes: whose machine to draw, the last class by default.
        names : sequence of str, optional
            Names of the features; those of the table by default.
        most : int, default=6
            How many weights to draw at most, those that move most.
        axes : sequence of matplotlib Axes, optional
            The axes to draw on; new ones by default.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        display : PathDisplay
        """
        last = estimator[-1] if hasattr(estimator, "steps") else estimator
        if not hasattr(last, "drift_"):
            raise ValueError(
                f"{type(last).__name__} has no path over time: PathDisplay draws AdaptiveSVC and "
                "AdaptiveSVR, fitted along time with the linear kernel."
            )
        weights, offsets, title = _choose_machine(last, of)
        times = np.asarray(last.times_)
        axis, dates = "time", times.dtype.kind == "M"
        places = times.astype("datetime64[ns]").astype(np.int64) if dates else times
        if not dates and np.array_equal(times, np.arange(len(times))):
            axis = "row"
        # On a stream planes are kept at some instants, and drift with them.
        places, weights = places[-len(weights) :], weights[-len(places) :]
        order = np.argsort(places, kind="stable")
        places, weights, offsets = places[order], weights[order], offsets[-len(order) :][order]
        known = getattr(estimator, "feature_names_in_", None)
        labels = names if names is not None else known
        listed = [f"x{j}" for j in range(weights.shape[1])]
        if labels is not None:
            listed = [str(label) for label in labels]
        if len(listed) != weights.shape[1]:
            raise ValueError(f"names has {len(listed)} names for {weights.shape[1]} features.")
        drift = np.asarray(last.drift_)[-len(order) :][order]
        moved = describe_weights(places, weights, listed, most, axis, dates)
        charts = [
            CurveChart(moved.title + title, moved.curves, moved.beside, axis, dates=dates),
            CurveChart("Offset over time", {"b": (places, offsets)}, "b", axis, dates=dates),
            CurveChart(
                "How far the hyperplane is from the one before", {"drift": (places, drift)},
                "drift", axis, least=0.0, dates=dates,
            ),
        ]  # fmt: skip
        charts += _describe_coupling(last, places, dates)
        return cls(charts).plot(axes=axes, theme=theme)

    def plot(self, *, axes: Any = None, theme: str | None = None) -> PathDisplay:
        """Draw the charts one below another.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, optional
            The axes to draw on, one for each chart; new ones by default.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        self : PathDisplay
        """
        style = find_style(theme)
        panels = take_panels(axes, [2.4, *[1.5] * (len(self.charts) - 1)])
        self.lines_ = []
        for k, (ax, chart) in enumerate(zip(panels, self.charts, strict=True)):
            self.lines_.append(draw_curves(ax, chart, style, first=max(0, k)))
            if axes is None and ax is not panels[-1]:
                ax.set_xlabel("")
        self.axes_, self.figure_ = tuple(panels), panels[0].figure
        return self


def _choose_machine(machine: Any, of: Any) -> tuple[Array, Array, str]:
    """Weights (n_instants, n_features) and offsets of one hyperplane, and of which, in words."""
    weights, offsets = np.asarray(machine.coef_), np.asarray(machine.intercept_)
    if weights.ndim == 2:
        if of is not None:
            raise ValueError("of chooses among more than two classes, and there is one machine.")
        return weights, offsets, ""
    classes = np.asarray(machine.classes_).tolist()
    chosen = classes[-1] if of is None else of
    if chosen not in classes:
        raise ValueError(f"of={of!r} is not a class; the classes are {classes}.")
    k = classes.index(chosen)
    return weights[k], offsets[k], f", class {chosen} against the rest"


def _describe_coupling(machine: Any, places: Array, dates: bool) -> list[CurveChart]:
    """The rows that mattered, where a machine chose that along the way."""
    try:
        history = machine.history_
    except AttributeError:  # of a path: one coupling for all
        return []
    if len(history.rows) < 2:
        return []
    times = np.asarray(history.times)
    when = times.astype("datetime64[ns]").astype(np.int64) if times.dtype.kind == "M" else times
    marks = np.interp([change.row for change in history.changes], history.rows, when)
    return [
        CurveChart(
            "Rows that matter, by the coupling that is chosen; dashed: changes noticed",
            {"rows that matter": (when, np.sqrt(history.coupling))},
            "rows", "time", marks=marks.tolist(), logarithmic=True, dates=dates,
        )
    ]  # fmt: skip
