"""What answers cost for every ratio of costs and shares of classes: cost curves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.evaluation.measures import read_costs
from lindero.plot.style import dress, find_style, put_legend_below, take_axes
from lindero.runtime.arrays import Array
from lindero.runtime.texts import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Points along the axis.
_POINTS = 201


@dataclass(repr=False)
class CostDisplay:
    """Cost curves: the expected cost of answers over how much the positive class matters.

    Create it with :meth:`from_estimator` or :meth:`from_predictions`; :meth:`plot` draws it again
    elsewhere, also on the axes of another model. The axis is the positive class's part in what is
    at stake: its share times the cost of missing it, over that plus the share of the rest times the
    cost of a false alarm. Costs are as a part of what the worst classifier costs. A threshold is a
    line; the curve takes the best threshold for each place. Answers as they are have a dashed line
    of their own, and where costs are given a mark.

    Parameters
    ----------
    share : ndarray of shape (n_points,)
        Places along the axis, from 0 to 1.
    least : ndarray of shape (n_points,) or None
        Normalised cost with the best threshold for each; None for a model without scores.
    rates : tuple of float
        Share of negatives answered as positive, and of positives missed, by the model's answers.
    stake : float or None, default=None
        Where the costs given, and the classes of the rows, are on the axis.
    positive : str, default=""
        The positive class.
    name : str, default=""
        Of the model.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        Their figure.
    lines_ : list of matplotlib Line2D
        The curve, if there is one, and the line of the answers.

    See Also
    --------
    lindero.svm.CostSensitiveSVC : A machine with costs inside the margin.
    lindero.evaluation.DecisionClassifier : Thresholds and costs around any classifier.

    References
    ----------
    .. [1] Drummond, C., Holte, R. (2006). Cost curves: an improved method for visualizing
       classifier performance. Machine Learning 65, 95-130.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from lindero.bayes import NaiveBayes
    >>> from lindero.plot import CostDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = NaiveBayes().fit(X[:300], y[:300])
    >>> display = CostDisplay.from_estimator(model, X[300:], y[300:], pos_label=0)
    >>> bool(display.least.max() < 0.1)
    True
    """

    share: Array
    least: Array | None
    rates: tuple[float, float]
    stake: float | None = None
    positive: str = ""
    name: str = field(default="")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        pos_label: Any = None,
        costs: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> CostDisplay:
        """Judge a fitted classifier on rows it has not learned, and draw its curve.

        Parameters
        ----------
        estimator : fitted classifier
            With `predict_proba` or `decision_function` for the curve; its answers alone have a
            line.
        X, y : array-like
            Rows and their labels.
        pos_label : label, optional
            The positive class, the second of two by default; of more than two it must be named,
            and is held against the rest.
        costs : array-like of shape (n_classes, n_classes) or mapping, optional
            Cost of answering the class of a column where that of a row is true, to mark where it
            is on the axis. For two classes.
        name : str, optional
            In the legend; the class of the estimator by default.
        ax : matplotlib Axes, optional
            The axes to draw on; by default the current ones if they are empty, else new ones.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        display : CostDisplay
        """
        if not hasattr(estimator, "classes_"):
            raise ValueError(
                f"{type(estimator).__name__} is no classifier with classes_: cost curves are about "
                "errors on two classes."
            )
        classes = np.asarray(estimator.classes_)
        if pos_label is None:
            if len(classes) != 2:
                raise ValueError(
                    f"There are {len(classes)} classes, and a cost curve is about one of them "
                    "against the rest: name it, as pos_label."
                )
            pos_label = classes[1]
        if pos_label not in classes.tolist():
            raise ValueError(f"pos_label={pos_label!r} is not one of {classes.tolist()}.")
        k = classes.tolist().index(pos_label)
        scores = None
        for method in ("predict_proba", "decision_function"):
            if hasattr(estimator, method):
                found = np.asarray(getattr(estimator, method)(X))
                if found.ndim == 1:
                    scores = found if k == 1 else -found
                elif found.shape[1] == len(classes):
                    scores = found[:, k]
                if scores is not None:
                    break
        if name is None:
            last = estimator[-1] if hasattr(estimator, "steps") else estimator
            name = type(last).__name__
        return cls.from_predictions(
            y, estimator.predict(X), scores, pos_label=pos_label,
            costs=read_costs(costs, classes), classes=classes, name=name, ax=ax, theme=theme,
        )  # fmt: skip

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        answers: Any,
        scores: Any = None,
        *,
        pos_label: Any,
        costs: Any = None,
        classes: Any = None,
        name: str = "",
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> CostDisplay:
        """Draw the curve of predictions.

        Parameters
        ----------
        y, answers : array-like of shape (n_rows,)
            True labels and predicted ones.
        scores : array-like of shape (n_rows,), optional
            The larger, the more likely the positive class.
        pos_label : label
            The positive class; all others are negative.
        costs : array-like of shape (2, 2), optional
            Cost of answering the class of a column where that of a row is true.
        classes : array-like of shape (2,), optional
            The order of `costs`; that of the labels by default.
        name : str, default=""
            In the legend.
        ax : matplotlib Axes, optional
            The axes to draw on; by default the current ones if they are empty, else new ones.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        display : CostDisplay
        """
        positive, said = np.asarray(y) == pos_label, np.asarray(answers) == pos_label
        if positive.shape != said.shape or positive.ndim != 1:
            raise ValueError(f"y has shape {positive.shape}, and answers {said.shape}.")
        if positive.all() or not positive.any():
            raise ValueError(
                f"y holds {'only' if positive.all() else 'no'} rows of {pos_label!r}: cost curves "
                "need rows of both kinds."
            )
        share = np.linspace(0.0, 1.0, _POINTS)
        false_alarms, missed = float(said[~positive].mean()), float((~said[positive]).mean())
        least = None
        if scores is not None:
            from sklearn.metrics import roc_curve

            up, found, _ = roc_curve(positive, np.asarray(scores))
            # Thresholds a part at a time: there may be as many as rows.
            least = np.full(_POINTS, np.inf)
            for start in range(0, len(up), 2000):
                part = slice(start, start + 2000)
                lines = np.outer(share, 1.0 - found[part]) + np.outer(1.0 - share, up[part])
                least = np.minimum(least, lines.min(axis=1))
        stake = None
        if costs is not None:
            known = np.unique(np.asarray(y)) if classes is None else np.asarray(classes)
            if len(known) != 2:
                raise ValueError(
                    f"costs are for two classes, and there are {len(known)}: leave them out."
                )
            k = known.tolist().index(pos_label)
            table = np.asarray(costs, dtype=np.float64)
            miss, alarm = table[k, 1 - k] - table[k, k], table[1 - k, k] - table[1 - k, 1 - k]
            of_positives = float(positive.mean()) * miss
            stake = float(of_positives / (of_positives + (1.0 - positive.mean()) * alarm))
        display = cls(share, least, (false_alarms, missed), stake, str(pos_label), name)
        return display.plot(ax=ax, theme=theme)

    @property
    def answered(self) -> Array:
        """Normalised cost of the model's answers, for each place along the axis."""
        false_alarms, missed = self.rates
        return self.share * missed + (1.0 - self.share) * false_alarms

    def plot(self, *, ax: Axes | None = None, theme: str | None = None) -> CostDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on, perhaps those of another model; new ones by default.
        theme : {"light", "dark"}, optional
            Colours; those of :func:`~lindero.plot.use_theme` by default.

        Returns
        -------
        self : CostDisplay
        """
        style, ax = find_style(theme), take_axes(ax)
        known = [line.get_label() for line in ax.lines]
        trivial = "always the same answer"
        k = sum(str(label).endswith("its answers") for label in known)
        if trivial not in known:
            ax.fill_between(
                self.share, np.minimum(self.share, 1.0 - self.share), 0.5, color=style.grid,
                linewidth=0, alpha=0.5, zorder=0,
            )  # fmt: skip
            ax.plot(
                self.share, np.minimum(self.share, 1.0 - self.share), color=style.muted,
                linewidth=1.2, linestyle=":", label=trivial,
            )  # fmt: skip
        name = shorten(self.name or "model", 28)
        self.lines_ = []
        if self.least is not None:
            (curve,) = ax.plot(
                self.share, self.least, color=style.colour(k), linewidth=2.0,
                label=f"{name}, best threshold", marker=style.marker(k), markevery=(20 + 5 * k, 40),
                markersize=5,
            )  # fmt: skip
            self.lines_.append(curve)
        (answers,) = ax.plot(
            self.share, self.answered, color=style.colour(k), linewidth=1.3, linestyle="--",
            label=f"{name}, its answers", marker=style.marker(k), markevery=(20 + 5 * k, 40),
            markersize=4, markerfacecolor="none",
        )  # fmt: skip
        self.lines_.append(answers)
        if self.stake is not None and "costs given" not in known:
            ax.axvline(self.stake, color=style.ink, linewidth=1.0, linestyle="-.",
                       label="costs given")  # fmt: skip
        of = shorten(self.positive, 20)
        ax.set(
            xlim=(0.0, 1.0), ylim=(0.0, 0.5),
            xlabel=f"part of {of} in what is at stake (its share × cost of missing it)",
            ylabel="cost, as part of the worst",
        )  # fmt: skip
        put_legend_below(ax)
        dress(ax, style)
        self.ax_, self.figure_ = ax, ax.figure
        return self
