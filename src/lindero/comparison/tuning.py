"""What it takes to choose parameters inside training rows, and what comes of it.

Nothing here sees a test row: parameters are chosen by inner folds (forward chaining where rows have
times) of at most `tuning_rows` of the training rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from lindero.comparison.folds import inner_folds, of_several, sample_of
from lindero.comparison.probabilities import ProbabilityCurve, fitted_curve
from lindero.comparison.rows import Rows
from lindero.machines import TableEncoder
from lindero.machines.building import MACHINE_STEP, TABLE_STEP
from lindero.machines.fitting import decision_values, predictions
from lindero.machines.folds import Split, rows_of
from lindero.machines.scoring import codes_of, least_cost
from lindero.runtime.arrays import Array

_LINEAR = "linear"


@dataclass(frozen=True)
class Setting:
    """What every machine is told of the comparison."""

    classes: Array | None
    costs: Array | None
    inner_folds: int
    tuning_rows: int
    random_state: int

    def sample(self, rows: Rows) -> tuple[Array, list[Split]]:
        """Rows to choose parameters by, and their folds."""
        some = sample_of(rows.y, self.tuning_rows, self.classes is not None, self.random_state)
        if self.classes is not None:
            some = of_several(rows.y, some)
        times = None if rows.times is None else rows.times[some]
        n_classes = None if self.classes is None else len(self.classes)
        splits = inner_folds(rows.y[some], times, self.inner_folds, n_classes, self.random_state)
        return some, splits


@dataclass(frozen=True)
class Learned:
    """A machine with its chosen parameters, fitted to training rows."""

    model: Any
    parameters: dict[str, Any]
    curve: ProbabilityCurve | None = None
    #: Whether costs are in the machine, or are for its probabilities to be weighed by.
    knows_costs: bool = False

    def answers(self, X: Any, times: Array | None, setting: Setting) -> tuple[Array, Array | None]:
        """Numbers; or positions among all classes, with probabilities of all of them."""
        if setting.classes is None:
            return predictions(self.model, X, times=times), None
        probabilities = self._probabilities(X, times, setting.classes)
        if setting.costs is not None and probabilities is not None and not self.knows_costs:
            return least_cost(probabilities, setting.costs), probabilities
        return codes_of(predictions(self.model, X, times=times), setting.classes), probabilities

    def _probabilities(self, X: Any, times: Array | None, classes: Array) -> Array | None:
        if hasattr(self.model, "predict_proba"):
            given, known = self.model.predict_proba(X), self.model.classes_
        elif self.curve is not None:
            values = decision_values(self.model, X, times=times)
            assert values is not None
            given, known = self.curve(values, self.model.classes_), self.curve.classes
        else:
            return None
        spread = np.zeros((len(given), len(classes)))
        spread[:, np.searchsorted(classes, known)] = given
        return spread


def best_point(
    points: Sequence[dict[str, Any]],
    fit: Callable[[dict[str, Any], Array], Any],
    judge: Callable[[Any, Array], float],
    splits: Sequence[Split],
) -> dict[str, Any]:
    """The point of least mean score over the folds, of equals the first; nothing, which is the
    defaults of the machine, where rows are too few for folds.

    Points that cannot be fitted are passed over; if none can, the first one's error is raised.
    """
    if not splits:
        return {}
    if len(points) == 1:
        return points[0]
    failure: Exception | None = None
    best, least = None, np.inf
    for point in points:
        try:
            with warnings.catch_warnings():
                # What a point is worth its score says; the chosen one may speak for itself.
                warnings.simplefilter("ignore")
                scores = [judge(fit(point, train), test) for train, test in splits]
        except (ValueError, TypeError) as error:
            failure = failure or error
            continue
        mean = float(np.mean(scores))
        if best is None or mean < least:
            best, least = point, mean
    if best is None:
        assert failure is not None
        raise failure
    return best


def encoded(rows: Rows) -> tuple[TableEncoder, Rows]:
    encoder = TableEncoder().fit(rows.X)
    return encoder, Rows(encoder.transform(rows.X), rows.y, rows.times, rows.weights)


def piped(encoder: TableEncoder, machine: Any) -> Pipeline:
    return Pipeline([(TABLE_STEP, encoder), (MACHINE_STEP, machine)])


def gamma_values(X: Any, fixed: dict[str, Any], factors: Sequence[float]) -> list[float] | None:
    """Multiples of gamma="scale" of these rows; None for a kernel without gamma."""
    if fixed.get("kernel") == _LINEAR:
        return None
    squares = X.power(2).mean() if hasattr(X, "power") else float(np.mean(X * X))
    variance = float(squares - X.mean() ** 2)
    return [factor / (X.shape[1] * variance if variance > 0 else 1.0) for factor in factors]


def curve_of(
    fit: Callable[[Array], Any], sample: Rows, splits: Sequence[Split], training: Array
) -> ProbabilityCurve | None:
    """Probabilities from decisions of machines fitted to the inner folds of a sample; `training`
    are the classes of all training rows."""

    def decide(train: Array, test: Array) -> tuple[Array, Array] | None:
        if len(np.unique(sample.y[train])) < 2:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fit(train)
        times = None if sample.times is None else sample.times[test]
        values = decision_values(model, rows_of(sample.X, test), times=times)
        return None if values is None else (values, model.classes_)

    return fitted_curve(decide, sample.y, sample.weights, list(splits), training)


def deviation(y: Array) -> float:
    return float(np.std(y)) or 1.0


def without(params: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in params.items() if key != name}
