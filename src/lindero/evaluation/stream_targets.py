"""Targets of a stream, classes or numbers: what is learned, what answers mean, what they lose."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from lindero.errors import warn_user
from lindero.evaluation.measures import read_costs
from lindero.evaluation.registry import CLASSIFICATION, REGRESSION
from lindero.evaluation.stream_models import find_model_task, learns_new_classes
from lindero.runtime.arrays import Array
from lindero.validation import encode_labels, require_labels, require_one_each


@dataclass(frozen=True)
class ClassTarget:
    """Classes of the rows: labels as they are learned, and their positions among all classes."""

    labels: Array
    classes: Array
    truth: Array
    code_of: dict[Any, int]

    def make_answers(self, n_rows: int) -> Array:
        return np.full(n_rows, -1)

    def read_costs(self, costs: Any) -> Array | None:
        return read_costs(costs, self.classes)

    def read_answers(self, given: list[Any], start: int, stop: int) -> list[int]:
        """Positions of predicted labels among the classes; −1 for None."""
        _require_all(given, start, stop)
        codes = [-1 if label is None else self.code_of.get(label) for label in given]
        if None in codes:
            place = codes.index(None)
            raise ValueError(
                f"The model predicted {given[place]!r} for row {start + place}, which is none of "
                f"the classes {list(self.code_of)}. Some models answer True and False whatever the "
                "labels are: pass y as they expect it, such as y == 1."
            )
        return codes  # type: ignore[return-value]

    def add_losses(self, answers: Array, rows: slice) -> float:
        return int(np.count_nonzero(answers != self.truth[rows]))

    def name_loss(self, loss: float, n_rows: int) -> dict[str, float]:
        return {"accuracy": (n_rows - loss) / n_rows}

    def warn_of_gaps(self, answers: Array, start: int, stop: int) -> None:
        """Rows without an answer are wrong, which needs no words."""


@dataclass(frozen=True)
class NumberTarget:
    """Numbers of the rows."""

    labels: Array
    truth: Array
    classes: None = None

    def make_answers(self, n_rows: int) -> Array:
        return np.full(n_rows, np.nan)

    def read_costs(self, costs: Any) -> None:
        if costs is not None:
            raise ValueError("costs are for classes, but y holds numbers: leave them out.")

    def read_answers(self, given: list[Any], start: int, stop: int) -> list[float]:
        """Predicted numbers; NaN for None."""
        _require_all(given, start, stop)
        try:
            return [math.nan if value is None else float(value) for value in given]
        except (TypeError, ValueError):
            raise ValueError(
                f"The model predicted {given[0]!r} for row {start}, which is no number: pass "
                f"task={CLASSIFICATION!r} if y holds classes."
            ) from None

    def add_losses(self, answers: Array, rows: slice) -> float:
        return float(np.abs(answers - self.truth[rows]).sum())

    def name_loss(self, loss: float, n_rows: int) -> dict[str, float]:
        return {"accuracy": math.nan, "mae": loss / n_rows}

    def warn_of_gaps(self, answers: Array, start: int, stop: int) -> None:
        """Say where the model gave no number."""
        gaps = np.flatnonzero(~np.isfinite(answers[start:stop]))
        if len(gaps):
            warn_user(
                f"The model gave no finite number for {len(gaps)} rows, the first of them row "
                f"{start + int(gaps[0])}, so that measures of these are no numbers. Models that "
                "diverge often need columns on one scale.",
                UserWarning,
            )


def _require_all(given: list[Any], start: int, stop: int) -> None:
    if len(given) != stop - start:
        raise ValueError(
            f"The model gave {len(given)} predictions for the {stop - start} rows from row {start}."
        )


def read_target(
    y: Any,
    n_rows: int,
    model: Any,
    task: str | None = None,
    classes: Any = None,
    advice: str = "Pass all that occur as classes=.",
) -> ClassTarget | NumberTarget:
    """The targets of a stream, as the model, the user or their own look says."""
    if y is None:
        raise ValueError("y is needed: the class or the number of each row.")
    require_labels(y)
    labels: Array = column_or_1d(y)
    require_one_each("y", labels, n_rows)
    name, own = type(model).__name__, find_model_task(model)
    if task is not None and own not in (None, task):
        raise ValueError(f"{name} is for {own}, but task={task!r}: leave task out.")
    if (task or own or _guess_task(labels)) == REGRESSION:
        return _read_numbers(labels, name, classes)
    try:
        check_classification_targets(labels)
    except ValueError as error:
        raise ValueError(
            f"{name} predicts classes, so y must hold classes. {error} For numbers pass a "
            f"regressor, or task={REGRESSION!r} if the model is one."
        ) from None
    known = getattr(model, "classes_", None) if classes is None else classes
    if known is None:
        known = np.unique(labels)
    elif classes is None and learns_new_classes(model):
        known = np.unique(np.concatenate([np.asarray(known), labels]))
    names = np.unique(column_or_1d(known))
    truth = encode_labels(labels, names, advice)
    code_of = {label: code for code, label in enumerate(names.tolist())}
    return ClassTarget(labels, names, truth, code_of)


def _guess_task(labels: Array) -> str:
    """Numbers with fractions are a regression."""
    fractions = labels.dtype.kind == "f" and bool(np.any(labels % 1.0 != 0.0))
    return REGRESSION if fractions else CLASSIFICATION


def _read_numbers(labels: Array, name: str, classes: Any) -> NumberTarget:
    if classes is not None:
        raise ValueError(f"{name} predicts numbers: leave classes out.")
    if labels.dtype.kind not in "biuf":
        held = labels.tolist()[0]
        raise ValueError(
            f"{name} predicts numbers, but y holds {held!r}: pass a classifier, or numbers."
        )
    numbers = labels.astype(np.float64)
    if not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers)))
        raise ValueError(f"y[{row}] is {numbers[row]}: every row needs a finite number.")
    return NumberTarget(numbers, numbers)
