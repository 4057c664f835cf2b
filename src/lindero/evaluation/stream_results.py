"""What an evaluation on a stream found: measures over all tested rows, and along the stream.

Of classes, with h of n rows predicted right, t_k of class k and p_k predicted to be,

    accuracy = h/n        κ = (accuracy − e)/(1 − e),   e = Σ_k t_k p_k/n²
    log-loss = −mean log P(true class)        cost = mean of costs[true class, predicted class]

κ is 0 for answers that are right no more often than by chance, which accuracy hides where one class
is common. Of numbers, with errors e_i,

    MAE = mean |e_i|      RMSE = √mean e_i²      R² = 1 − Σ e_i²/Σ (y_i − mean y)²

Curves are the same over the last `window` tested rows. Sums over windows are made of sums of
beginnings and ends of blocks. Nothing is subtracted, so a huge error spoils no later window.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lindero.evaluation.build import TABLE_STEP, unwrap_machine
from lindero.evaluation.registry import CLASSIFICATION, REGRESSION
from lindero.runtime.arrays import Array

#: Measures that streams have, by task. The first one is shown unless another is asked for.
STREAM_MEASURES = {
    CLASSIFICATION: ("error", "accuracy", "balanced_accuracy", "kappa", "log_loss", "cost"),
    REGRESSION: ("mae", "rmse", "r2"),
}


def _make_score(name: str) -> Any:
    """A property of a result: a measure over all tested rows."""
    return property(lambda result: result._find_score(name))


def _make_curve(name: str) -> Any:
    """A property of a result: a measure along the stream."""
    return property(lambda result: result._find_curve(name))


@dataclass(frozen=True, repr=False)
class PrequentialResult:
    """Measures and predictions along a stream, from :func:`prequential`.

    Attributes
    ----------
    model : object
        The model, which has learned all rows but the last `delay` (up to the last batch, if not
        `complete`).
    classes : ndarray of shape (n_classes,) or None
        The classes, in order; None where targets are numbers.
    rows : ndarray of shape (n_tested,)
        Which rows of the stream were tested.
    truth, answers : ndarray of shape (n_tested,)
        Positions among `classes` of the true class and of the predicted one; −1 where the model
        gave no answer, which counts as wrong. Of a regression the numbers themselves, NaN for no
        answer.
    window : int
        Rows that a point of the curves is about.
    seconds_predicting, seconds_learning : float
        Time spent in `predict` and in learning, with the first rows, which are not tested.
    complete : bool
        Whether the stream was seen to its end.
    times : ndarray of shape (n_tested,) or None
        When the tested rows arrived, to draw curves over; None where no times were given.
    delay : int
        Rows after which a label became known.
    costs : ndarray of shape (n_classes, n_classes) or None
        Of predicting the class of a column where that of a row is true.
    log_losses : ndarray of shape (n_tested,) or None
        −log of the probability that was given to the true class, at most 34.5; None for a model
        without probabilities.
    task : {"classification", "regression"}
        What the targets are.
    scores : dict of str to float
        Every measure there is, by name, over all tested rows: error, accuracy, balanced_accuracy,
        kappa, and log_loss and cost if known; or mae, rmse and r2.
    accuracy, kappa : float
        Over all tested rows; NaN without any, and κ with one class only in truth and answers.
    log_loss, cost : float or None
        Means over all tested rows; None without probabilities, or without costs.
    mae, rmse, r2 : float
        Of a regression; R² is NaN where all targets are the same.
    predictions : ndarray of shape (n_tested,)
        Predicted labels (an array of objects with None where there was no answer), or numbers.
    correct : ndarray of bool of shape (n_tested,)
        Which answers were right; for classes only.
    curve_accuracy, curve_kappa, curve_log_loss, curve_cost : ndarray of shape (n_tested,)
        The same over the last `window` tested rows (fewer at first), at each of `rows`.
    curve_mae, curve_rmse, curve_r2 : ndarray of shape (n_tested,)
        The same of a regression.
    drift : list of str
        How the boundary moved, in sentences, as far as the model can say.
    warning : str or None
        Why the model should not be relied on now, if it says so.

    See Also
    --------
    prequential : Where it comes from.
    """

    model: Any
    classes: Array | None
    rows: Array
    truth: Array
    answers: Array
    window: int
    seconds_predicting: float
    seconds_learning: float
    complete: bool
    times: Array | None = None
    delay: int = 0
    costs: Array | None = None
    log_losses: Array | None = None

    accuracy, curve_accuracy = _make_score("accuracy"), _make_curve("accuracy")
    kappa, curve_kappa = _make_score("kappa"), _make_curve("kappa")
    log_loss, curve_log_loss = _make_score("log_loss"), _make_curve("log_loss")
    cost, curve_cost = _make_score("cost"), _make_curve("cost")
    mae, curve_mae = _make_score("mae"), _make_curve("mae")
    rmse, curve_rmse = _make_score("rmse"), _make_curve("rmse")
    r2, curve_r2 = _make_score("r2"), _make_curve("r2")

    def __repr__(self) -> str:
        ended = "" if self.complete else ", cut short"
        shown = ("accuracy", "kappa") if self.task == CLASSIFICATION else ("mae", "r2")
        words = ", ".join(f"{name} {self._find_score(name):.4f}" for name in shown)
        return (
            f"PrequentialResult({type(self.model).__name__}: {words} on {len(self.rows)} "
            f"rows{ended})"
        )

    @property
    def task(self) -> str:
        return REGRESSION if self.classes is None else CLASSIFICATION

    @property
    def scores(self) -> dict[str, float]:
        found = {name: self._find_score(name) for name in STREAM_MEASURES[self.task]}
        return {name: value for name, value in found.items() if value is not None}

    def curve(self, measure: str) -> Array:
        """A measure along the stream.

        Parameters
        ----------
        measure : str
            One of the names in `scores`.

        Returns
        -------
        values : ndarray of shape (n_tested,)
            Over the last `window` tested rows (fewer at first), at each of `rows`.
        """
        if measure not in STREAM_MEASURES[self.task] or not self._measures.has(measure):
            known = [name for name in STREAM_MEASURES[self.task] if self._measures.has(name)]
            raise ValueError(f"There is no curve of {measure!r}: take one of {', '.join(known)}.")
        return self._measures.follow(measure, self.window)

    @property
    def predictions(self) -> Array:
        if self.classes is None:
            return self.answers
        labels = self.classes[np.maximum(self.answers, 0)]
        if (self.answers < 0).any():
            labels = labels.astype(object)
            labels[self.answers < 0] = None
        return labels

    @property
    def correct(self) -> Array:
        if self.classes is None:
            raise AttributeError("correct is for classes, and the targets are numbers.")
        right: Array = self.truth == self.answers
        return right

    @property
    def drift(self) -> list[str]:
        machine = unwrap_machine(self.model)
        if not hasattr(machine, "describe_drift"):
            return []
        steps, named = getattr(self.model, "named_steps", {}), {}
        if TABLE_STEP in steps and _takes(machine.describe_drift, "feature_names"):
            named["feature_names"] = steps[TABLE_STEP].get_feature_names_out().tolist()
        try:
            return list(machine.describe_drift(**named))
        except AttributeError:  # one that did not learn row by row
            return []

    @property
    def warning(self) -> str | None:
        machine = unwrap_machine(self.model)
        said: str | None = (
            machine.warn_unreliable() if hasattr(machine, "warn_unreliable") else None
        )
        return said

    @cached_property
    def _measures(self) -> ClassMeasures | NumberMeasures:
        if self.classes is None:
            return NumberMeasures(self.truth, self.answers)
        n_classes = len(self.classes)
        return ClassMeasures(self.truth, self.answers, n_classes, self.costs, self.log_losses)

    def _find_score(self, name: str) -> float | None:
        self._require(name)
        if not self._measures.has(name):
            return None
        n_tested = len(self.rows)
        return float(self._measures.follow(name, n_tested)[-1]) if n_tested else math.nan

    def _find_curve(self, name: str) -> Array | None:
        self._require(name)
        return self._measures.follow(name, self.window) if self._measures.has(name) else None

    def _require(self, name: str) -> None:
        if name not in STREAM_MEASURES[self.task]:
            what = "numbers" if self.task == REGRESSION else "classes"
            raise AttributeError(
                f"There is no {name}: the targets of this stream are {what}. The measures are "
                f"{', '.join(STREAM_MEASURES[self.task])}."
            )


def _takes(method: Any, name: str) -> bool:
    return name in inspect.signature(method).parameters


# -- measures -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClassMeasures:
    """Measures of predicted classes in windows of a stream."""

    truth: Array
    answers: Array
    n_classes: int
    costs: Array | None
    log_losses: Array | None

    def has(self, name: str) -> bool:
        """Whether what a measure needs is known."""
        missing = {"cost": self.costs, "log_loss": self.log_losses}
        return name not in missing or missing[name] is not None

    def follow(self, name: str, window: int) -> Array:
        """A measure of the last `window` rows, at each row."""
        count = _count_rows(len(self.truth), window)
        if name == "log_loss":
            return np.asarray(sum_in_window(self.log_losses, window) / count)
        if name == "cost":
            return np.asarray(sum_in_window(self._find_costs(), window) / count)
        right = sum_in_window(self.truth == self.answers, window)
        if name == "accuracy":
            return np.asarray(right / count)
        if name == "error":
            return np.asarray(1.0 - right / count)
        if name == "balanced_accuracy":
            return self._average_recalls(window)
        # In whole numbers, so that 1 − e is 0 exactly where there is nothing to compare with.
        chance = np.zeros(len(self.truth), dtype=np.int64)
        for code in range(self.n_classes):
            true = sum_in_window(self.truth == code, window)
            chance += true * sum_in_window(self.answers == code, window)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((count * right - chance) / (count * count - chance))

    def _average_recalls(self, window: int) -> Array:
        total, n_present = np.zeros(len(self.truth)), np.zeros(len(self.truth))
        for code in range(self.n_classes):
            own = self.truth == code
            true = sum_in_window(own, window)
            total += sum_in_window(own & (self.answers == code), window) / np.maximum(true, 1)
            n_present += true > 0
        return np.asarray(total / n_present)

    def _find_costs(self) -> Array:
        """What each answer costs; none at all costs as much as the dearest one."""
        assert self.costs is not None
        dearest = self.costs.max(axis=1)
        own = self.costs[self.truth, np.maximum(self.answers, 0)]
        return np.where(self.answers < 0, dearest[self.truth], own)


@dataclass(frozen=True)
class NumberMeasures:
    """Measures of predicted numbers in windows of a stream."""

    truth: Array
    answers: Array

    def has(self, name: str) -> bool:
        """Whether what a measure needs is known: always."""
        return True

    def follow(self, name: str, window: int) -> Array:
        """A measure of the last `window` rows, at each row."""
        count = _count_rows(len(self.truth), window)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            off = self.truth - self.answers
            if name == "mae":
                return np.asarray(sum_in_window(np.abs(off), window) / count)
            squares = sum_in_window(off * off, window)
            if name == "rmse":
                return np.asarray(np.sqrt(squares / count))
            return np.asarray(1.0 - squares / _find_spread(self.truth, window))


def sum_in_window(values: Any, window: int) -> Array:
    """Sums of the last `window` values, at each value; of fewer at first."""
    n = len(values)
    size = max(1, min(window, n))
    kind: Any = np.int64 if np.asarray(values).dtype.kind in "biu" else np.float64
    padded = np.zeros(-(-n // size) * size, dtype=kind)
    padded[:n] = values
    blocks = padded.reshape(-1, size)
    sums: Array = np.cumsum(blocks, axis=1)
    sums[1:, :-1] += np.cumsum(blocks[:-1, :0:-1], axis=1)[:, ::-1]
    return np.asarray(sums.ravel()[:n])


def _count_rows(n_rows: int, window: int) -> Array:
    return np.minimum(np.arange(1, n_rows + 1), window)


def _find_spread(values: Array, window: int) -> Array:
    """Squared deviations from their mean of the last `window` values; NaN where all are equal."""
    n = len(values)
    if n == 0:
        return values
    size = min(window, n)
    blocks = np.pad(values, (0, -n % size), mode="edge").reshape(-1, size)
    # A window is the end of one block and the beginning of the next, each about its own centre.
    centre = blocks.mean(axis=1, keepdims=True)
    off = blocks - centre
    count, total = np.arange(1, size + 1), np.cumsum(off, axis=1)
    mean, spread = centre + total / count, np.cumsum(off**2, axis=1) - total**2 / count
    off = off[:-1, :0:-1]
    before, total = np.arange(size - 1, 0, -1), np.cumsum(off, axis=1)[:, ::-1]
    own = np.cumsum(off**2, axis=1)[:, ::-1] - total**2 / before
    apart = centre[:-1] + total / before - mean[1:, :-1]
    spread[1:, :-1] += own + apart**2 * before * count[:-1] / size
    places = np.arange(n)
    changed = np.append(True, values[1:] != values[:-1])
    since = np.maximum.accumulate(np.where(changed, places, 0))
    constant = since <= places + 1 - np.minimum(places + 1, size)
    return np.where(constant, np.nan, np.maximum(spread.ravel()[:n], 0.0))
