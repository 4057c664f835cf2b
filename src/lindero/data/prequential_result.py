"""What a test-then-train evaluation found, as figures and as curves.

Of n rows tested, with h of them predicted right, t_k of class k and p_k predicted to be,

    accuracy = h/n        κ = (accuracy − e)/(1 − e),   e = Σ_k t_k p_k/n²

κ is 0 for answers that are right no more often than by chance, which accuracy hides where one class
is common. Curves are both figures over the last `window` rows, from differences of running sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lindero.runtime.arrays import Array


@dataclass(frozen=True, repr=False)
class PrequentialResult:
    """What came out of :func:`prequential`.

    Attributes
    ----------
    model : object
        The model, which has learned all rows (up to the last batch, if not `complete`).
    classes : ndarray of shape (n_classes,)
        The classes, in order.
    rows : ndarray of shape (n_tested,)
        Which rows of the stream were tested.
    truth, answers : ndarray of shape (n_tested,)
        Positions among `classes` of the true class and of the predicted one; −1 where the model
        gave no answer, which counts as wrong.
    window : int
        Rows that a point of the curves is about.
    seconds_predicting, seconds_learning : float
        Time spent in the model's methods; learning includes the first rows, which are not tested.
    complete : bool
        Whether the stream was seen to its end.
    accuracy, kappa : float
        Over all tested rows; NaN where undefined: nothing tested, or, for κ, one class only both
        in truth and in answers.
    predictions : ndarray of shape (n_tested,)
        Predicted labels (an array of objects with None where there was no answer).
    correct : ndarray of bool of shape (n_tested,)
        Which answers were right.
    curve_accuracy, curve_kappa : ndarray of shape (n_tested,)
        The figures over the last `window` tested rows, at each of `rows`; the first points are
        about fewer.
    """

    model: Any
    classes: Array
    rows: Array
    truth: Array
    answers: Array
    window: int
    seconds_predicting: float
    seconds_learning: float
    complete: bool

    def __repr__(self) -> str:
        ended = "" if self.complete else ", cut short"
        return (
            f"PrequentialResult({type(self.model).__name__}: accuracy {self.accuracy:.4f}, "
            f"kappa {self.kappa:.4f} on {len(self.rows)} rows{ended})"
        )

    @property
    def correct(self) -> Array:
        right: Array = self.truth == self.answers
        return right

    @property
    def accuracy(self) -> float:
        return float(self.correct.mean()) if len(self.rows) else float("nan")

    @cached_property
    def kappa(self) -> float:
        return float(self._curves(max(1, len(self.rows)))[1][-1]) if len(self.rows) else np.nan

    @property
    def predictions(self) -> Array:
        labels = self.classes[np.maximum(self.answers, 0)]
        if (self.answers < 0).any():
            labels = labels.astype(object)
            labels[self.answers < 0] = None
        return labels

    @property
    def curve_accuracy(self) -> Array:
        return self._curve[0]

    @property
    def curve_kappa(self) -> Array:
        return self._curve[1]

    @cached_property
    def _curve(self) -> tuple[Array, Array]:
        return self._curves(self.window)

    def _curves(self, window: int) -> tuple[Array, Array]:
        count = np.minimum(np.arange(1, len(self.rows) + 1), window)
        right = _in_window(self.correct, window)
        # In whole numbers, so that 1 − e is 0 exactly where there is nothing to compare with.
        chance = np.zeros(len(self.rows), dtype=np.int64)
        for code in range(len(self.classes)):
            true = _in_window(self.truth == code, window)
            chance += true * _in_window(self.answers == code, window)
        with np.errstate(invalid="ignore", divide="ignore"):
            kappa = (count * right - chance) / (count * count - chance)
        return right / count, kappa


def _in_window(event: Array, window: int) -> Array:
    """How many of the last `window` entries are true, at each entry."""
    total = np.cumsum(event, dtype=np.int64)
    in_window: Array = total.copy()
    in_window[window:] -= total[:-window]
    return in_window
