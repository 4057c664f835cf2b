"""Test, then train: how well a classifier does on a stream while it learns from it (prequential
evaluation).

Each batch of rows is first predicted and then learned, so that every answer is about rows the model
has not seen, and all rows but the first few are both test and training data. Of n rows tested, with
h of them predicted right, t_k of class k and p_k predicted to be,

    accuracy = h/n        κ = (accuracy − e)/(1 − e),   e = Σ_k t_k p_k/n²

κ is 0 for answers that are right no more often than by chance, which accuracy hides where one class
is common. Curves are both measures over the last `window` rows, from differences of running sums.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from lindero.evaluation.rows import read_times, require_count
from lindero.evaluation.stream_models import StreamTable, adapt_model, copy_untrained
from lindero.runtime.arrays import Array
from lindero.svm.progress import ProgressBar
from lindero.validation import encode_labels, require_labels, require_one_each

#: Bars are not drawn more often.
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True)
class StreamProgress:
    """The progress of an evaluation, given to the callback after each batch.

    Attributes
    ----------
    n_done, n_total : int
        Rows tested so far and in all.
    accuracy : float
        Share of the rows tested so far that were predicted right.
    seconds : float
        Time since the evaluation was begun.

    See Also
    --------
    prequential : Its parameter `callback`.
    """

    n_done: int
    n_total: int
    accuracy: float
    seconds: float


#: Called with each report; returning True ends the evaluation with the rows tested so far.
StreamCallback = Callable[[StreamProgress], bool | None]


@dataclass(frozen=True, repr=False)
class PrequentialResult:
    """Accuracy, κ and predictions along a stream, from :func:`prequential`.

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
        Time spent in the model's methods, with the first rows, which are not tested.
    complete : bool
        Whether the stream was seen to its end.
    accuracy, kappa : float
        Over all tested rows; NaN without any, and κ with one class only in truth and answers.
    predictions : ndarray of shape (n_tested,)
        Predicted labels (an array of objects with None where there was no answer).
    correct : ndarray of bool of shape (n_tested,)
        Which answers were right.
    curve_accuracy, curve_kappa : ndarray of shape (n_tested,)
        Both over the last `window` tested rows (fewer at first), at each of `rows`.

    See Also
    --------
    prequential : Where it comes from.
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
        right = _count_in_window(self.correct, window)
        # In whole numbers, so that 1 − e is 0 exactly where there is nothing to compare with.
        chance = np.zeros(len(self.rows), dtype=np.int64)
        for code in range(len(self.classes)):
            true = _count_in_window(self.truth == code, window)
            chance += true * _count_in_window(self.answers == code, window)
        with np.errstate(invalid="ignore", divide="ignore"):
            kappa = (count * right - chance) / (count * count - chance)
        return right / count, kappa


def _count_in_window(event: Array, window: int) -> Array:
    """How many of the last `window` entries are true, at each entry."""
    total = np.cumsum(event, dtype=np.int64)
    in_window: Array = total.copy()
    in_window[window:] -= total[:-window]
    return in_window


def prequential(
    model: Any,
    X: Any,
    y: Any,
    *,
    times: Any = None,
    batch_size: int = 1,
    warm_up: int | None = None,
    window: int = 1000,
    classes: Any = None,
    refit_every: int | None = None,
    refit_on: int | None = None,
    fresh: bool = True,
    verbose: bool = False,
    callback: StreamCallback | None = None,
) -> PrequentialResult:
    """Evaluate a classifier on a stream: test each batch, then train on it.

    Parameters
    ----------
    model : object
        A classifier of lindero or scikit-learn with `partial_fit`, one without it (see
        `refit_every`), or a river model with `learn_one` and `predict_one`.
    X : array-like, sparse matrix or dataframe of shape (n_rows, n_features)
        The rows as they arrive; river models get dictionaries by column name or number.
    y : array-like of shape (n_rows,)
        Their classes.
    times : array-like of shape (n_rows,) or None, default=None
        When they arrived, never decreasing, for models whose methods take `times`.
    batch_size : int, default=1
        Rows that are predicted together, before any of them is learned.
    warm_up : int or None, default=None
        First rows, which are learned in one call and not tested; None is one batch, or
        `refit_every`. Adaptive machines with ``coupling="auto"`` and ``online="exact"`` choose
        their coupling by these: at least 12 rows of all classes, or it is 1000.
    window : int, default=1000
        Rows that a point of the curves is about.
    classes : array-like or None, default=None
        All classes that may occur. None is those of a model that knows them, else those in `y`.
    refit_every : int or None, default=None
        Instead of `partial_fit`, call `fit` once this many rows have come in since the last time.
    refit_on : int or None, default=None
        The number of rows, the latest ones, that `fit` is then called with; None is all so far.
    fresh : bool, default=True
        Evaluate an untrained copy. False goes on with the object; ``warm_up=0`` tests all rows.
    verbose : bool, default=False
        Show a progress bar if it takes long.
    callback : callable or None, default=None
        Called with a :class:`StreamProgress` after each batch; returning True ends it early.

    Returns
    -------
    result : PrequentialResult
        Accuracy, Cohen's κ, their curves, all answers, and times. Its `model` is the trained one.

    See Also
    --------
    cross_validate : For rows without an order, or judged in a few blocks of time.

    Notes
    -----
    Ctrl-C ends the evaluation with a KeyboardInterrupt whose attribute `result` holds what was
    done until then, with ``complete=False``.

    References
    ----------
    .. [1] Gama, J., Sebastião, R., Rodrigues, P. P.: On evaluating stream learning algorithms.
       Machine Learning 90, 317–346 (2013).

    Examples
    --------
    >>> from sklearn.linear_model import SGDClassifier
    >>> from lindero.data import make_rotating
    >>> from lindero.evaluation import prequential
    >>> X, y = make_rotating(1000, random_state=0)
    >>> result = prequential(SGDClassifier(random_state=0), X, y, window=100)
    >>> len(result.rows), round(result.accuracy, 2)
    (999, 0.99)
    """
    table = StreamTable(X)
    require_count("batch_size", batch_size, 1)
    require_count("window", window, 1)
    for name, value in (("refit_every", refit_every), ("refit_on", refit_on)):
        if value is not None:
            require_count(name, value, 1)
    warm_up = (refit_every or batch_size) if warm_up is None else warm_up
    require_count("warm_up", warm_up, 0)
    if warm_up >= table.n_rows:
        raise ValueError(
            f"X has {table.n_rows} rows, and the first warm_up={warm_up} are not tested: none are "
            "left. Lower warm_up, or pass more rows."
        )
    labels = read_stream_labels(y, table.n_rows)
    instants = None if times is None else read_stream_times(times, table.n_rows)
    model = copy_untrained(model) if fresh else model
    known = getattr(model, "classes_", None) if classes is None else classes
    names = np.unique(labels if known is None else column_or_1d(known))
    truth = encode_labels(labels, names, "Pass all that occur as classes=.")
    code_of = {label: code for code, label in enumerate(names.tolist())}
    learner = adapt_model(model, table, labels, instants, names, refit_every, refit_on)

    answers = np.full(table.n_rows, -1)
    seconds = {"predicting": 0.0, "learning": 0.0}
    tested, right, begun = warm_up, 0, time.perf_counter()
    total = table.n_rows - warm_up

    def result(complete: bool) -> PrequentialResult:
        rows = np.arange(warm_up, tested)
        return PrequentialResult(
            learner.model, names, rows, truth[rows], answers[rows], window,
            seconds["predicting"], seconds["learning"], complete,
        )  # fmt: skip

    try:
        with _report_progress(verbose, total, callback) as report:
            if warm_up:
                with _time(seconds, "learning", 0, warm_up):
                    learner.learn(0, warm_up)
            for start in range(warm_up, table.n_rows, batch_size):
                stop = min(start + batch_size, table.n_rows)
                with _time(seconds, "predicting", start, stop):
                    given = learner.predict(start, stop)
                answers[start:stop] = _code_answers(given, code_of, start, stop)
                right += int((answers[start:stop] == truth[start:stop]).sum())
                tested = stop
                with _time(seconds, "learning", start, stop):
                    learner.learn(start, stop)
                done = stop - warm_up
                now = time.perf_counter() - begun
                if report(StreamProgress(done, total, right / done, now)):
                    return result(complete=stop == table.n_rows)
    except KeyboardInterrupt as interrupt:
        interrupt.result = result(complete=False)  # type: ignore[attr-defined]
        raise
    return result(complete=True)


@contextmanager
def _time(seconds: dict[str, float], doing: str, start: int, stop: int) -> Iterator[None]:
    """Add the time it takes; say which rows an error of the model is about."""
    begun = time.perf_counter()
    try:
        yield
    except Exception as error:
        error.add_note(f"This was while {doing} rows {start} to {stop - 1} of the stream.")
        if start == 0 or doing == "predicting":
            error.add_note("A larger warm_up lets the model learn more rows before it is asked.")
        raise
    finally:
        seconds[doing] += time.perf_counter() - begun


def _code_answers(given: list[Any], code_of: dict[Any, int], start: int, stop: int) -> list[int]:
    """Positions of predicted labels among the classes; −1 for None."""
    if len(given) != stop - start:
        raise ValueError(
            f"The model gave {len(given)} predictions for the {stop - start} rows from row {start}."
        )
    codes = [-1 if label is None else code_of.get(label) for label in given]
    if None in codes:
        place = codes.index(None)
        raise ValueError(
            f"The model predicted {given[place]!r} for row {start + place}, which is none of the "
            f"classes {list(code_of)}. Some models answer True and False whatever the labels are: "
            "pass y as they expect it, such as y == 1."
        )
    return codes  # type: ignore[return-value]


def read_stream_labels(y: Any, n_rows: int) -> Array:
    """y as a vector of classes, none missing."""
    if y is None:
        raise ValueError("y is needed: the class of each row.")
    require_labels(y)
    labels: Array = column_or_1d(y)
    require_one_each("y", labels, n_rows)
    try:
        check_classification_targets(labels)
    except ValueError as error:
        raise ValueError(f"prequential is for classifiers: y must hold classes. {error}") from None
    return labels


def read_stream_times(times: Any, n_rows: int) -> Array:
    """times as a vector that never decreases."""
    instants = read_times(times, n_rows)
    back = np.flatnonzero(instants[1:] < instants[:-1])
    if len(back):
        row = int(back[0]) + 1
        raise ValueError(
            f"A stream goes forward in time, but times[{row}] is before times[{row - 1}]. Sort the "
            "rows by time first."
        )
    return instants


@contextmanager
def _report_progress(
    verbose: bool, total: int, callback: StreamCallback | None
) -> Iterator[StreamCallback]:
    """The user's callback, with a progress bar added when `verbose`."""
    bar, drawn = ProgressBar("testing", total, remaining=True) if verbose else None, 0.0

    def report(progress: StreamProgress) -> bool | None:
        nonlocal drawn
        now, ended = time.perf_counter(), progress.n_done == progress.n_total
        if bar is not None and (ended or now - drawn > _PAUSE_SECONDS):
            text = f"{progress.n_done} of {progress.n_total} rows, {progress.accuracy:.1%} right"
            bar.show(progress.n_done, text)
            drawn = now
        return callback(progress) if callback is not None else None

    try:
        yield report
    finally:
        if bar is not None:
            bar.close()
