"""How a fit came to its optimum: the gap over time, as the solver reported it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.plot.curves import thin_curve
from lindero.plot.style import dress, find_style, take_axes
from lindero.solvers.solution import Certificate, Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Problems with a line and a name of their own; of more, lines alone.
_MOST_NAMED = 6


class GapRecorder:
    """A callback that keeps what a running fit reports.

    Parameters
    ----------
    callback : callable or None, default=None
        Another one, which is called with each report; returning True stops the fit.

    Attributes
    ----------
    records : list of Progress
        The reports, in order.

    See Also
    --------
    CertificateDisplay : Draws them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lindero.plot import GapRecorder
    >>> from lindero.svm import SVC
    >>> recorder = GapRecorder()
    >>> model = SVC(callback=recorder).fit(*load_iris(return_X_y=True))
    >>> recorder.records[-1].n_problems
    3
    """

    def __init__(self, callback: Callable[[Progress], bool | None] | None = None) -> None:
        self.callback = callback
        self.records: list[Progress] = []

    def __call__(self, report: Progress) -> bool | None:
        """Keep a report."""
        self.records.append(report)
        return None if self.callback is None else self.callback(report)


@dataclass(repr=False)
class CertificateDisplay:
    """The optimality gap of a fit against time, down to its certificate.

    Create it with :meth:`from_estimator` or :meth:`from_recorder`; :meth:`plot` draws it again
    elsewhere. The last point of a line is the gap of the certificate, computed anew from the
    coefficients. A fit to several classes solves several problems, each with a line.

    Parameters
    ----------
    records : list of Progress
        What the solver reported.
    certificate : Certificate or None, default=None
        How near the optimum the fit came; None is not drawn.
    name : str, default=""
        Of the machine.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.
    lines_ : list of matplotlib Line2D
        The gap of each problem that the fit solved.

    See Also
    --------
    GapRecorder : The callback that keeps the reports.
    lindero.svm.SVC : Its `certificate_`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lindero.plot import CertificateDisplay
    >>> from lindero.svm import SVC
    >>> X, y = load_digits(return_X_y=True)
    >>> display = CertificateDisplay.from_estimator(SVC(C=10), X, y == 8)
    >>> display.certificate.kkt_gap <= 1e-3, len(display.lines_)
    (True, 1)
    """

    records: list[Progress]
    certificate: Certificate | None = None
    name: str = field(default="")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        ax: Axes | None = None,
        theme: str | None = None,
        **fit_params: Any,
    ) -> CertificateDisplay:
        """Fit an untrained copy of a machine, and draw how its gap went down.

        Parameters
        ----------
        estimator : estimator
            Any that takes a `callback` and has a `certificate_`: SVC, SVR, LinearSVC and so on.
        X, y : array-like
            What it is fitted to.
        ax : matplotlib Axes, optional
            The axes to draw on; by default the current ones if they are empty, else new ones.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.
        **fit_params : dict
            Further arguments of `fit`.

        Returns
        -------
        display : CertificateDisplay
        """
        from sklearn.base import clone

        params = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
        if "callback" not in params:
            raise ValueError(
                f"{type(estimator).__name__} reports no progress, having no parameter callback: "
                "CertificateDisplay draws SVC, SVR, LinearSVC and the like, by themselves and not "
                "in a pipeline."
            )
        recorder = GapRecorder(params["callback"])
        copy = clone(estimator).set_params(callback=recorder)
        copy.fit(X, **fit_params) if y is None else copy.fit(X, y, **fit_params)
        name = type(estimator).__name__
        return cls.from_recorder(recorder, copy.certificate_, name=name, ax=ax, theme=theme)

    @classmethod
    def from_recorder(
        cls,
        recorder: GapRecorder,
        certificate: Any = None,
        *,
        name: str = "",
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> CertificateDisplay:
        """Draw what a recorder has kept.

        Parameters
        ----------
        recorder : GapRecorder
            The callback of a fit.
        certificate : Certificate, optional
            `certificate_` of the machine.
        name : str, default=""
            Of the machine.
        ax : matplotlib Axes, optional
            The axes to draw on; by default the current ones if they are empty, else new ones.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        display : CertificateDisplay
        """
        if not recorder.records:
            raise ValueError(
                "The fit reported nothing: it was over before the first report, or the recorder "
                "was not its callback."
            )
        known = certificate if isinstance(certificate, Certificate) else None
        return cls(list(recorder.records), known, name).plot(ax=ax, theme=theme)

    def plot(self, *, ax: Axes | None = None, theme: str | None = None) -> CertificateDisplay:
        """Draw the gaps on a logarithmic axis; the dashed line is the tolerance.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; by default the current ones if they are empty, else new ones.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        self : CertificateDisplay
        """
        style, ax = find_style(theme), take_axes(ax)
        problems = sorted({record.problem for record in self.records})
        named = len(problems) <= _MOST_NAMED
        # Gaps of zero are drawn at the bottom.
        gaps = [record.gap for record in self.records if 0.0 < record.gap < np.inf]
        tolerances = sorted({record.tol for record in self.records})
        ends: tuple[Certificate, ...] = ()
        if self.certificate is not None:
            ends = self.certificate.parts or (self.certificate,)
        reached = [end.kkt_gap for end in ends if end.kkt_gap > 0.0]
        floor = 0.3 * min([*gaps, *reached, *tolerances])
        self.lines_ = []
        for k, problem in enumerate(problems):
            own = [record for record in self.records if record.problem == problem]
            seconds = np.array([record.seconds for record in own])
            values = np.array([max(record.gap, floor) for record in own])
            end = ends[problem] if problem < len(ends) else None
            if end is not None:
                seconds = np.append(seconds, max(end.seconds, float(seconds[-1])))
                values = np.append(values, max(end.kkt_gap, floor))
            seconds, values = thin_curve(seconds, values)
            label = f"problem {problem + 1}" if len(problems) > 1 else "KKT gap"
            looks = {"color": style.colour(k), "linestyle": style.line(k), "linewidth": 1.6}
            if not named:
                looks = {"color": style.colour(0), "linestyle": "-", "linewidth": 0.9, "alpha": 0.6}
                label = f"{len(problems)} problems" if k == 0 else f"_problem {problem + 1}"
            (line,) = ax.plot(
                seconds, values, label=label, marker=style.marker(k) if named else "o",
                markersize=3.5 if len(values) < 60 else 0, **looks,
            )  # fmt: skip
            self.lines_.append(line)
        for tol in tolerances[-1:]:
            ax.axhline(tol, color=style.muted, linewidth=1.0, linestyle="--", label=f"tol, {tol:g}")
        ax.set_yscale("log")
        ax.set_xlim(left=0.0)
        longest = max(float(np.max(line.get_xdata())) for line in self.lines_)
        if longest > 0.0:
            ax.set_xlim(right=1.06 * longest)
        ax.set(
            xlabel="seconds since each problem was begun" if len(problems) > 1 else "seconds",
            ylabel="KKT gap",
        )
        told = self.name
        if self.certificate is not None:
            found = self.certificate
            told += f": gap {found.kkt_gap:.2g}, {found.n_iter:,} steps, {found.seconds:.2g} s"
        ax.set_title(told.removeprefix(": "), fontsize=10, loc="left", color=style.ink)
        ax.grid(visible=True, color=style.grid, linewidth=0.6)
        ax.set_axisbelow(True)
        ax.legend(
            fontsize=8, facecolor=style.paper, edgecolor="none", framealpha=0.85,
            ncols=2 if 3 < len(problems) <= _MOST_NAMED else 1,
        )  # fmt: skip
        dress(ax, style)
        self.ax_, self.figure_ = ax, ax.figure
        return self
