"""Which columns a machine needs: how much worse its predictions get when one is shuffled.

    importance_j = loss(rows with column j shuffled) − loss(rows)

on rows that the machine was not fitted to, the mean over a few shuffles (Breiman 2001). A column
whose news another column brings too has little importance, though it may be a good one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.evaluation.build import (
    choose_table_parameters,
    fit_machine,
    make_machine,
    predict_rows,
)
from lindero.evaluation.folds import take_rows
from lindero.evaluation.measures import PROBABILITIES, code_labels, find_measure, score
from lindero.evaluation.registry import MACHINES, find_machine
from lindero.evaluation.results import Comparison, MachineResult
from lindero.evaluation.rows import EvaluationRows, read_comparison
from lindero.runtime.arrays import Array

#: Rows to fit on and to judge by, at most.
_MOST_TRAINING, _MOST_TESTED = 5000, 1000

#: Shuffles of a column, and seconds for all of them.
_MOST_SHUFFLES, _SECONDS = 10, 20.0

#: A quarter of the rows is held out; up to so many rows each quarter in turn.
_FOLDS, _FEW_ROWS = 4, 2000


@dataclass(frozen=True)
class Importance:
    """Permutation importance of columns.

    Attributes
    ----------
    names : tuple of str
        Columns.
    means, spreads : ndarray of shape (n_columns,)
        What the measure loses when a column is shuffled: mean and standard deviation over the
        shuffles. NaN for columns that the time did not suffice for.
    measure : str
        The measure.
    n_rows, n_shuffles : int
        Rows that were held out, and shuffles of each column.
    model : object
        The model that was asked.
    rows : table
        The rows that were held out.

    See Also
    --------
    measure_importance : Makes one.

    References
    ----------
    .. [1] Breiman, L.: Random forests. Machine Learning 45 (2001).
    """

    names: tuple[str, ...]
    means: Array
    spreads: Array
    measure: str
    n_rows: int
    n_shuffles: int
    model: Any = None
    rows: Any = None

    def list_examples(self, most: int = 2) -> list[Any]:
        """Tables of one row each, of the held-out ones, that get different predictions.

        Parameters
        ----------
        most : int, default=2
            How many.
        """
        answers = np.asarray(self.model.predict(self.rows))
        if answers.dtype.kind == "f":
            order = np.argsort(answers, kind="stable")
            places = order[[len(order) // 10, -1 - len(order) // 10]][:most].tolist()
        else:
            places = [int(np.argmax(answers == label)) for label in np.unique(answers)[:most]]
        return [take_rows(self.rows, np.array([place])) for place in places]

    def rank(self, most: int | None = None) -> list[int]:
        """Columns from the most important on.

        Parameters
        ----------
        most : int or None, default=None
            How many; None is all that were shuffled.
        """
        order = np.argsort(-np.nan_to_num(self.means, nan=-np.inf), kind="stable")
        return [int(j) for j in order if not np.isnan(self.means[j])][:most]


def measure_importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    measure: str = "error",
    times: Any = None,
    weights: Any = None,
    costs: Any = None,
    seconds: float = _SECONDS,
    random_state: int = 0,
) -> Importance:
    """Permutation importance of the columns of a table.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted.
    X : table
        Rows that it was not fitted to.
    y : array-like of shape (n_rows,)
        Their classes or targets.
    measure : str, default="error"
        What is measured, one of :data:`~lindero.evaluation.MEASURES`; the error instead of one of
        probabilities where the model has none.
    times, weights : array-like or None, default=None
        Time and weight of each row.
    costs : ndarray of shape (n_classes, n_classes) or None, default=None
        Of errors, for the measure "cost".
    seconds : float, default=20.0
        Time limit (about): there are fewer shuffles then, and columns may be left out.
    random_state : int, default=0
        Seed of the shuffles.

    Returns
    -------
    importance : Importance

    See Also
    --------
    explain : What columns say about one row.

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.evaluation import make_machine, measure_importance
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = (X[:, 1] > 0).astype(int)
    >>> model = make_machine("svc").fit(X[:100], y[:100])
    >>> measure_importance(model, X[100:], y[100:]).rank(1)
    [1]
    """
    begun = time.perf_counter()
    judge = _Judge(model, np.asarray(y), measure, times, weights, costs)
    base = judge.find_loss(X)
    each = time.perf_counter() - begun
    columns = _Columns(X)
    count = int(np.clip(seconds / max(1e-9, each * columns.n_columns), 1, _MOST_SHUFFLES))
    sample = np.random.default_rng(random_state)
    losses = np.full((columns.n_columns, count), np.nan)
    for column in range(columns.n_columns):
        if time.perf_counter() - begun > seconds and column:
            break
        for shuffle in range(count):
            losses[column, shuffle] = judge.find_loss(columns.shuffle(column, sample)) - base
    return Importance(
        columns.names, losses.mean(axis=1), losses.std(axis=1), judge.measure, columns.n_rows,
        count, model, X,
    )  # fmt: skip


def measure_recommended(
    comparison: Comparison, data: Any, y: Any = None, *, times: Any = None, weights: Any = None
) -> Importance | None:
    """Importance for the recommended machine of a comparison: refitted, with the parameters that
    were chosen most often, to three quarters of the rows (at most 5000) and judged on the others
    (at most 1000; with times, the latest; of few rows all quarters in turn). None where it cannot
    be made by its name."""
    taken = comparison.recommended
    if taken is None or taken.machine not in MACHINES:
        return None
    found = read_comparison(data, y, times=times, sample_weight=weights, task=comparison.task)
    rows = found.rows
    if sp.issparse(rows.X):
        return None
    begun, parts = time.perf_counter(), []
    for train, test in _split(rows, comparison):
        model = _refit(taken, rows.take(train), comparison, found.keep_row_names)
        own = rows.take(test)
        # Probabilities tell more than answers do, where there are any.
        measure = comparison.measure
        if comparison.costs is None and hasattr(model, "predict_proba"):
            measure = "log_loss"
        left = _SECONDS - (time.perf_counter() - begun)
        parts.append(
            measure_importance(
                model, own.X, own.y, measure=measure, times=own.times, weights=own.weights,
                costs=comparison.costs, seconds=max(1.0, left / 2),
                random_state=comparison.random_state,
            )
        )  # fmt: skip
        if 2 * (time.perf_counter() - begun) > _SECONDS:
            break
    means = np.mean([part.means for part in parts], axis=0)
    spreads = np.mean([part.spreads for part in parts], axis=0)
    spreads = np.hypot(spreads, np.std([part.means for part in parts], axis=0))
    n_rows = sum(part.n_rows for part in parts)
    return replace(parts[0], means=means, spreads=spreads, n_rows=n_rows)


def _split(rows: EvaluationRows, comparison: Comparison) -> list[tuple[Array, Array]]:
    """Training and test rows: of few rows all are tested in turn, of many a part."""
    n_rows = len(rows.y)
    if rows.times is not None:
        order = np.argsort(np.asarray(rows.times), kind="stable")
        n_test = max(1, n_rows // _FOLDS)
        return [(order[:-n_test][-_MOST_TRAINING:], order[-n_test:][:_MOST_TESTED])]
    order = np.random.default_rng(comparison.random_state).permutation(n_rows)
    folds = np.array_split(order, _FOLDS)
    splits = [
        (np.concatenate([*folds[:k], *folds[k + 1 :]])[:_MOST_TRAINING], folds[k][:_MOST_TESTED])
        for k in range(_FOLDS)
    ]
    return splits if n_rows <= _FEW_ROWS else splits[:1]


def _refit(
    taken: MachineResult, rows: EvaluationRows, comparison: Comparison, keep_row_names: bool
) -> Any:
    machine = find_machine(taken.machine, comparison.task)
    params = {**choose_table_parameters(machine, keep_row_names, rows.X), **taken.usual_parameters}
    model = make_machine(machine, params, random_state=comparison.random_state)
    return fit_machine(model, rows.X, rows.y, times=rows.times, weights=rows.weights)


class _Judge:
    """What a model loses on rows; less is better."""

    def __init__(
        self, model: Any, y: Array, measure: str, times: Any, weights: Any, costs: Any
    ) -> None:
        found = find_measure(measure)
        has_chances = hasattr(model, "predict_proba")
        if found.needs == PROBABILITIES and not has_chances:
            found = find_measure("error")
        self.measure = found.name
        self._found, self._model = found, model
        self._times, self._weights, self._costs = times, weights, costs
        classes = getattr(model, "classes_", None)
        is_number = classes is None or found.needs == "numbers"
        self._classes = None if is_number else np.asarray(classes)
        self._truth = y if is_number else code_labels(y, np.asarray(classes))

    def find_loss(self, X: Any) -> float:
        """The loss on these rows."""
        answers = predict_rows(self._model, X, times=self._times)
        chances = None
        if self._classes is not None:
            answers = code_labels(np.asarray(answers), self._classes)
            if self._found.needs == PROBABILITIES:
                chances = self._model.predict_proba(X)
        value = score(self._found.name, self._truth, answers, chances, self._costs, self._weights)
        return float(self._found.orient(value))


class _Columns:
    """Columns of a table, of which one can be shuffled."""

    def __init__(self, X: Any) -> None:
        import narwhals as nw

        self._frame = None
        if hasattr(X, "columns") or hasattr(X, "column_names"):
            self._frame = nw.from_native(X, eager_only=True)
            self.names = tuple(str(name) for name in self._frame.columns)
            self.n_rows = len(self._frame)
        else:
            self._array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
            self.names = tuple(f"x{j}" for j in range(self._array.shape[1]))
            self.n_rows = len(self._array)

    @property
    def n_columns(self) -> int:
        """How many there are."""
        return len(self.names)

    def shuffle(self, column: int, sample: np.random.Generator) -> Any:
        """The table with one column in another order."""
        order = sample.permutation(self.n_rows)
        if self._frame is None:
            changed = self._array.copy()
            changed[:, column] = changed[order, column]
            return changed
        native = self._frame.to_native()
        own = self._frame.columns[column]
        shuffled = take_rows(native, order)
        import narwhals as nw

        values = nw.from_native(shuffled, eager_only=True)[own]
        return self._frame.with_columns(values.alias(own)).to_native()
