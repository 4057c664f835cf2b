"""One update of an incremental machine: which samples changed their set, and by how much."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.plot.curves import CurveChart, draw_curves
from lindero.plot.style import Style, dress, find_style, take_panels
from lindero.runtime.arrays import Array
from lindero.runtime.texts import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Where a sample is: not held, held without weight, on the margin, at its bound.
ABSENT, RESERVE, MARGIN, BOUND = "not held", "reserve", "margin", "at its bound"
_SETS = (ABSENT, RESERVE, MARGIN, BOUND)

#: Samples with a line of their own.
_MOST = 24


@dataclass(frozen=True)
class SetChange:
    """A sample that changed its set.

    Attributes
    ----------
    sample : int or str
        Its id.
    before, after : str
        "not held", "reserve", "margin" or "at its bound".
    coefficient_before, coefficient_after : float
        Its signed coefficients.
    """

    sample: Any
    before: str
    after: str
    coefficient_before: float
    coefficient_after: float


@dataclass(repr=False)
class UpdateDisplay:
    """The samples that change sets in one update, their coefficients, and all updates so far.

    Create it with :meth:`from_estimator`; :meth:`plot` draws it again elsewhere. Samples whose
    coefficient is zero are the reserve; those on the margin have one below their bound.

    Parameters
    ----------
    title : str
        What was done.
    changes : list of SetChange
        Samples that changed their set, the largest change of a coefficient first.
    sizes : dict of str to (int, int)
        How many samples each set held before and after.
    log : ndarray
        `updates_` of the machine after the update.

    Attributes
    ----------
    axes_ : tuple of two matplotlib Axes
        The axes of the last plot: coefficients, and the log.
    figure_ : matplotlib Figure
        Their figure.
    arrows_ : list of matplotlib Line2D
        A line for each sample drawn, from its coefficient before to the one after.

    See Also
    --------
    lindero.svm.IncrementalSVC : Its `partial_fit`, `forget` and `updates_`.
    CPathDisplay : What a change of C does.

    References
    ----------
    .. [1] Cauwenberghs, G., Poggio, T. (2001). Incremental and decremental support vector machine
       learning. Advances in Neural Information Processing Systems 13.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from lindero.plot import UpdateDisplay
    >>> from lindero.svm import IncrementalSVC
    >>> X, y = make_moons(60, noise=0.3, random_state=0)
    >>> model = IncrementalSVC().fit(X, y)
    >>> display = UpdateDisplay.from_estimator(model, forget=int(model.support_[0]))
    >>> display.sizes["not held"]
    (0, 1)
    >>> len(model.sample_ids_)  # the machine itself stays as it was
    60
    """

    title: str
    changes: list[SetChange]
    sizes: dict[str, tuple[int, int]]
    log: Array

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        forget: Any = None,
        axes: Any = None,
        theme: str | None = None,
    ) -> UpdateDisplay:
        """Try an update on a copy of a machine, and draw what it changes.

        Parameters
        ----------
        estimator : IncrementalSVC, IncrementalSVR or IncrementalOneClassSVM
            Fitted. It stays as it is.
        X : array-like of shape (n_rows, n_features), optional
            Rows to learn.
        y : array-like of shape (n_rows,), optional
            Their labels or targets; none for a one-class machine.
        forget : id or array-like of these, optional
            Samples to forget, in place of rows to learn.
        axes : sequence of two matplotlib Axes, optional
            The axes to draw on; new ones by default.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        display : UpdateDisplay
        """
        if not hasattr(estimator, "updates_"):
            raise ValueError(
                f"{type(estimator).__name__} does not learn sample by sample: UpdateDisplay draws "
                "IncrementalSVC, IncrementalSVR and IncrementalOneClassSVM."
            )
        if (X is None) == (forget is None):
            raise ValueError("Pass rows to learn (X and y), or the ids of samples to forget.")
        changed = deepcopy(estimator)
        n_before = len(estimator.updates_)
        if forget is not None:
            changed.forget(forget)
            count = np.size(np.asarray(forget, dtype=object))
            what = f"{count} sample{'s' * (count > 1)} forgotten"
        else:
            changed.partial_fit(X) if y is None else changed.partial_fit(X, y)
            count = len(X)
            what = f"{count} row{'s' * (count > 1)} learned"
        before, after = _read_sets(estimator), _read_sets(changed)
        absent = (ABSENT, 0.0)
        moves = []
        for sample in {**before, **after}:
            was, now = before.get(sample, absent), after.get(sample, absent)
            if was[0] != now[0]:
                moves.append(SetChange(sample, was[0], now[0], was[1], now[1]))
        moves.sort(key=lambda move: -abs(move.coefficient_after - move.coefficient_before))
        everyone = {**before, **after}
        sizes = {
            name: (
                sum(before.get(sample, absent)[0] == name for sample in everyone),
                sum(after.get(sample, absent)[0] == name for sample in everyone),
            )
            for name in _SETS
        }
        log = changed.updates_
        steps = int(log["iterations"][n_before:].max(initial=0)) if len(log) > n_before else 0
        if count == 1 and len(log) > n_before and not log["from_scratch"][-1]:
            what += f" in {steps} step{'s' * (steps != 1)}"
            corrections = int(log["corrections"][-1])
            if corrections:
                what += f" and {corrections} correction{'s' * (corrections != 1)} of rounding"
        return cls(what, moves, sizes, log).plot(axes=axes, theme=theme)

    def plot(self, *, axes: Any = None, theme: str | None = None) -> UpdateDisplay:
        """Draw the samples that changed sets, and the log of updates.

        Parameters
        ----------
        axes : sequence of two matplotlib Axes, optional
            The axes to draw on; new ones by default.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        self : UpdateDisplay
        """
        style = find_style(theme)
        shown = self.changes[:_MOST]
        above, below = take_panels(axes, [max(1.3, 0.9 + 0.24 * len(shown)), 1.5], share=False)
        self.arrows_: list[Any] = []
        self._draw_changes(above, style, shown)
        counts = self.log["set_changes"][~self.log["from_scratch"]]
        chart = CurveChart(
            "Set changes of single updates, the latest last",
            {"set changes": (np.arange(1, len(counts) + 1), counts)},
            "set changes",
            "update",
            least=0.0,
        )
        draw_curves(below, chart, style, first=2)
        for axis in (below.xaxis, below.yaxis):
            locator: Any = axis.get_major_locator()
            locator.set_params(integer=True)
        if len(counts) == 1:  # else axes without a whole number
            below.set(xlim=(0.5, 1.5), ylim=(0.0, max(1.0, 1.1 * counts[0])), xticks=[1])
        if len(counts) == 0:
            below.text(
                0.5, 0.5, "all samples were learned at once", transform=below.transAxes,
                ha="center", va="center", color=style.muted,
            )  # fmt: skip
        self.axes_, self.figure_ = (above, below), above.figure
        return self

    def _draw_changes(self, ax: Axes, style: Style, shown: list[SetChange]) -> None:
        looks = {
            ABSENT: ("X", style.muted), RESERVE: ("o", style.colour(2)),
            MARGIN: ("s", style.colour(0)), BOUND: ("D", style.colour(1)),
        }  # fmt: skip
        ax.axvline(0.0, color=style.muted, linewidth=0.8, linestyle=":", zorder=1)
        for row, move in enumerate(shown):
            ends = move.coefficient_before, move.coefficient_after
            (line,) = ax.plot(ends, [row, row], color=style.muted, linewidth=1.6, zorder=2)
            self.arrows_.append(line)
            marker, colour = looks[move.before]
            ax.plot(ends[0], row, marker=marker, markersize=7, markerfacecolor=style.paper,
                    markeredgecolor=colour, markeredgewidth=1.3, zorder=3)  # fmt: skip
            marker, colour = looks[move.after]
            ax.plot(ends[1], row, marker=marker, markersize=7, color=colour, zorder=4)
        names = [f"#{shorten(move.sample, 14)}  {move.before} → {move.after}" for move in shown]
        ax.set_yticks(range(len(shown)), names, fontsize=8)
        ax.set_ylim(max(len(shown), 1) - 0.4, -0.6)
        ax.set_xlabel("coefficient; hollow: before, filled: after")
        if not shown:
            ax.text(
                0.5, 0.5, "no sample changed its set", transform=ax.transAxes, ha="center",
                va="center", color=style.muted,
            )  # fmt: skip
        for name in _SETS:
            if any(name in (move.before, move.after) for move in shown):
                marker, colour = looks[name]
                was, now = self.sizes[name]
                told = name if name == ABSENT else f"{name}, {was} → {now}"
                ax.plot([], [], marker=marker, color=colour, linestyle="none", label=told)
        if shown:
            ax.legend(
                loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, fontsize=8, frameon=False,
                handletextpad=0.2, columnspacing=1.0,
            )  # fmt: skip
        more = len(self.changes) - len(shown)
        count = len(self.changes)
        title = f"{self.title}: {count} change{'s' * (count != 1)} of sets"
        title += f", the {len(shown)} largest drawn" if more else ""
        ax.set_title(title, fontsize=10, loc="left", color=style.ink, pad=22 if shown else 6)
        dress(ax, style)


def _read_sets(machine: Any) -> dict[Any, tuple[str, float]]:
    """The set and the coefficient of each sample held, by its id."""
    ids = machine.sample_ids_.tolist()
    found = dict.fromkeys(ids, (RESERVE, 0.0))
    coefficients = machine.dual_coef_
    if hasattr(coefficients, "toarray"):
        coefficients = coefficients.toarray()
    bounded = set(machine.bounded_support_.tolist())
    for place, value in zip(machine.support_.tolist(), np.ravel(coefficients), strict=True):
        found[ids[place]] = (BOUND if place in bounded else MARGIN, float(value))
    return found
