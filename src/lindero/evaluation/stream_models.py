"""Models of lindero, scikit-learn and river behind a few verbs: predict rows of a stream, say how
probable their true classes were, learn them.

A model is known by its methods: `learn_one` and `predict_one` (river, which is not imported here),
`partial_fit` and `predict` (scikit-learn and lindero), or `fit` and `predict`, which is fitted
again from time to time.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor

from lindero.evaluation.registry import CLASSIFICATION, REGRESSION
from lindero.evaluation.rows import read_table
from lindero.runtime.arrays import Array


class StreamTable:
    """The rows of X, an array, a sparse matrix or a dataframe, in the order they arrive."""

    def __init__(self, X: Any) -> None:
        self._rows = read_table(X)
        frame = nw.from_native(X, pass_through=True, eager_only=True)
        self._frame = frame if isinstance(frame, nw.DataFrame) else None
        self.n_rows = int(self._rows.shape[0])

    def rows(self, start: int, stop: int) -> Any:
        """Rows of the same kind as X."""
        if self._frame is not None:
            return self._frame[start:stop].to_native()
        return self._rows[start:stop]

    def dicts(self, start: int, stop: int) -> Iterator[dict[Any, Any]]:
        """Rows as dictionaries from columns, by name or number, to plain values; those of a
        sparse matrix hold what is stored."""
        if self._frame is not None:
            yield from self._frame[start:stop].iter_rows(named=True)
        elif sp.issparse(self._rows):
            of = self._rows[start:stop]
            for first, last in zip(of.indptr[:-1], of.indptr[1:], strict=True):
                pair = of.indices[first:last].tolist(), of.data[first:last].tolist()
                yield dict(zip(*pair, strict=True))
        else:
            for values in self._rows[start:stop].tolist():
                yield dict(enumerate(values))


@dataclass
class RiverModel:
    """A river model: a row is a dictionary, and there may be no answer yet (None)."""

    model: Any
    table: StreamTable
    y: list[Any]

    def predict(self, start: int, stop: int) -> list[Any]:
        return [self.model.predict_one(x) for x in self.table.dicts(start, stop)]

    def rate_truth(self, start: int, stop: int) -> list[float] | None:
        """The probability that the true class of each row has by the model; None if it gives
        none."""
        rows, labels = self.table.dicts(start, stop), self.y[start:stop]
        try:
            return [
                self.model.predict_proba_one(x).get(label, 0.0)
                for x, label in zip(rows, labels, strict=True)
            ]
        except (AttributeError, NotImplementedError):
            return None

    def learn(self, start: int, stop: int) -> None:
        for x, label in zip(self.table.dicts(start, stop), self.y[start:stop], strict=True):
            self.model.learn_one(x, label)


@dataclass
class _BatchModel(ABC):
    """A model that predicts and learns batches of rows, with times where it takes them."""

    model: Any
    table: StreamTable
    y: Array
    times: Array | None

    def _at(self, start: int, stop: int) -> dict[str, Any]:
        return {} if self.times is None else {"times": self.times[start:stop]}

    def predict(self, start: int, stop: int) -> list[Any]:
        answer = self.model.predict(self.table.rows(start, stop), **self._at(start, stop))
        labels: list[Any] = np.asarray(answer).ravel().tolist()
        return labels

    def rate_truth(self, start: int, stop: int) -> list[float] | None:
        """The probability that the true class of each row has by the model; None if it gives
        none."""
        try:
            ask = self.model.predict_proba
        except (AttributeError, NotImplementedError, ValueError):  # machines that say why not
            return None
        at = self._at(start, stop) if self.times is not None and _takes(ask, "times") else {}
        given = np.asarray(ask(self.table.rows(start, stop), **at))
        place = {label: code for code, label in enumerate(self.model.classes_.tolist())}
        codes = [place.get(label) for label in self.y[start:stop].tolist()]
        return [
            0.0 if code is None else float(row[code])
            for row, code in zip(given, codes, strict=True)
        ]

    @abstractmethod
    def learn(self, start: int, stop: int) -> None: ...


@dataclass
class PartialFitModel(_BatchModel):
    """A model with `partial_fit`; one that has to see some rows before it can begin, such as an
    adaptive machine that chooses its coupling, is fitted to the first ones."""

    #: For the first call: most models want to know all classes then.
    declared: dict[str, Any]

    def learn(self, start: int, stop: int) -> None:
        rows, labels = self.table.rows(start, stop), self.y[start:stop]
        if getattr(self.model, "_begins_with_fit", False):
            self.model.fit(rows, labels, **self._at(start, stop))
        else:
            self.model.partial_fit(rows, labels, **self.declared, **self._at(start, stop))
        self.declared = {}


@dataclass
class RefittedModel(_BatchModel):
    """Any model with `fit`, fitted again to the last `last` rows (all, if None) once `every` rows
    have come in."""

    every: int
    last: int | None
    fitted_at: int | None = None

    def learn(self, start: int, stop: int) -> None:
        if self.fitted_at is not None and stop - self.fitted_at < self.every:
            return
        first = 0 if self.last is None else max(0, stop - self.last)
        rows, labels = self.table.rows(first, stop), self.y[first:stop]
        self.model.fit(rows, labels, **self._at(first, stop))
        self.fitted_at = stop


def adapt_model(
    model: Any,
    table: StreamTable,
    y: Array,
    times: Array | None,
    classes: Array | None,
    refit_every: int | None,
    refit_on: int | None,
) -> RiverModel | PartialFitModel | RefittedModel:
    """The adapter for a model, or an error that says which method is missing; `classes` are those
    that it is told of beforehand."""
    name = type(model).__name__
    if is_river(model):
        if refit_every is not None or refit_on is not None:
            raise ValueError(
                f"refit_every and refit_on are for models that are fitted again; {name} learns row "
                "by row: leave them out."
            )
        if times is not None:
            raise ValueError(f"times was given, but {name} takes no times: leave them out.")
        return RiverModel(model, table, y.tolist())
    if not hasattr(model, "predict"):
        raise ValueError(
            f"{name} has neither predict nor predict_one: pass a model of lindero, scikit-learn or "
            "river."
        )
    if refit_every is not None:
        _require_times(model, times, "fit")
        return RefittedModel(model, table, y, times, refit_every, refit_on)
    if refit_on is not None:
        raise ValueError("refit_on says what to fit again, but refit_every, how often, is missing.")
    if not hasattr(model, "partial_fit"):
        raise ValueError(
            f"{name} has no partial_fit, so it cannot learn as the stream goes on. Pass "
            "refit_every= to have it fitted again every so many rows."
        )
    _require_times(model, times, "partial_fit")
    untold = classes is not None and not hasattr(model, "classes_")
    declared = {"classes": classes} if untold and _takes(model.partial_fit, "classes") else {}
    return PartialFitModel(model, table, y, times, declared)


def is_river(model: Any) -> bool:
    """Whether a model learns and predicts one row at a time."""
    return hasattr(model, "learn_one") and hasattr(model, "predict_one")


def find_model_task(model: Any) -> str | None:
    """Whether a model predicts classes or numbers; None if it does not say."""
    if is_river(model):
        while hasattr(model, "_last_step"):  # of a pipeline
            model = model._last_step
        kinds = {k.__name__ for k in type(model).__mro__ if k.__module__.startswith("river.")}
        return REGRESSION if "Regressor" in kinds else CLASSIFICATION if kinds else None
    if not hasattr(model, "__sklearn_tags__"):
        return None
    if is_regressor(model):
        return REGRESSION
    return CLASSIFICATION if is_classifier(model) else None


def learns_new_classes(model: Any) -> bool:
    """Whether a model takes labels that it was not told of beforehand."""
    return is_river(model) or bool(getattr(model, "accepts_new_classes", False))


def scales_inside(machine: Any) -> bool:
    """Whether a machine brings columns to one scale itself, as it goes through a stream row by
    row; adaptive machines do if they follow it by filters."""
    parameters = machine.get_params(deep=False) if hasattr(machine, "get_params") else {}
    scaled = parameters.get("scale", False) not in (False, None)
    return scaled and bool(getattr(machine, "_follows_stream", True))


def copy_untrained(model: Any) -> Any:
    """A copy with the same parameters that has learned nothing."""
    if isinstance(model, type):
        raise ValueError(
            f"model is the class {model.__name__}: pass an object, {model.__name__}()."
        )
    if is_river(model) and hasattr(model, "clone"):
        return model.clone()
    if hasattr(model, "get_params"):
        return clone(model)
    raise ValueError(
        f"{type(model).__name__} has neither clone nor get_params, so no untrained copy of it can "
        "be made. Pass fresh=False to evaluate the object itself."
    )


def _takes(method: Any, name: str) -> bool:
    return name in inspect.signature(method).parameters


def _require_times(model: Any, times: Array | None, learn: str) -> None:
    if times is None:
        return
    for method in (learn, "predict"):
        if not _takes(getattr(model, method), "times"):
            raise ValueError(
                f"times was given, but {method} of {type(model).__name__} takes no times: leave "
                "them out."
            )
