"""Test, then train: how well a model does on a stream while it learns from it.

Each batch of rows is first predicted and then learned, so that every answer is about rows the model
has not seen, and all rows but the first few are both test and training data.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from lindero.data.prequential_result import PrequentialResult
from lindero.data.stream_input import class_codes, stream_labels, stream_times, whole_number
from lindero.data.stream_models import StreamTable, stream_model, untrained
from lindero.data.stream_progress import StreamCallback, StreamProgress, reporting


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
        The rows in the order in which they arrive. river models get dictionaries from the names of
        columns (or their numbers, where they have no names) to values.
    y : array-like of shape (n_rows,)
        Their classes.
    times : array-like of shape (n_rows,) or None, default=None
        When they arrived, never decreasing, for models whose methods take `times`.
    batch_size : int, default=1
        Rows that are predicted together, before any of them is learned.
    warm_up : int or None, default=None
        Rows at the beginning that are learned, in one call, without being tested. None is one
        batch, or `refit_every` rows where that is given. Adaptive machines with
        ``coupling="auto"`` are fitted to them, which needs 12 rows and all classes among them.
    window : int, default=1000
        Rows that a point of the curves is about.
    classes : array-like or None, default=None
        All classes that may occur. None is those of a model that knows them, else those in `y`.
    refit_every : int or None, default=None
        Instead of `partial_fit`, call `fit` once this many rows have come in since it was called
        last.
    refit_on : int or None, default=None
        The number of rows, the latest ones, that `fit` is then called with; None is all so far.
    fresh : bool, default=True
        Evaluate an untrained copy of the model. False goes on with the object itself and what it
        has learned; with ``warm_up=0`` the first row is tested too.
    verbose : bool, default=False
        Show a progress bar if it takes long.
    callback : callable or None, default=None
        Called with a :class:`StreamProgress` after each batch; returning True ends the evaluation,
        and what was done is returned.

    Returns
    -------
    result : PrequentialResult
        Accuracy, Cohen's κ, their curves, all answers, and times. Its `model` is the trained one.

    Notes
    -----
    Ctrl-C ends the evaluation with a KeyboardInterrupt whose attribute `result` holds what was
    done until then, with ``complete=False``.

    Examples
    --------
    >>> from sklearn.linear_model import SGDClassifier
    >>> from lindero.data import make_rotating, prequential
    >>> X, y = make_rotating(1000, random_state=0)
    >>> result = prequential(SGDClassifier(random_state=0), X, y, window=100)
    >>> len(result.rows), round(result.accuracy, 2)
    (999, 0.99)
    """
    table = StreamTable(X)
    batch_size = whole_number(batch_size, 1, "batch_size")
    window = whole_number(window, 1, "window")
    if refit_every is not None:
        refit_every = whole_number(refit_every, 1, "refit_every")
    if refit_on is not None:
        refit_on = whole_number(refit_on, 1, "refit_on")
    warm_up = whole_number(
        (refit_every or batch_size) if warm_up is None else warm_up, 0, "warm_up"
    )
    if warm_up >= table.n_rows:
        raise ValueError(
            f"X has {table.n_rows} rows, and the first warm_up={warm_up} are not tested: none are "
            "left. Lower warm_up, or pass more rows."
        )
    labels = stream_labels(y, table.n_rows)
    instants = None if times is None else stream_times(times, table.n_rows)
    model = untrained(model) if fresh else model
    known = getattr(model, "classes_", None) if classes is None else classes
    names = np.unique(labels if known is None else column_or_1d(known))
    truth = class_codes(labels, names)
    code_of = {label: code for code, label in enumerate(names.tolist())}
    learner = stream_model(model, table, labels, instants, names, refit_every, refit_on)

    answers = np.full(table.n_rows, -1)
    seconds = {"predicting": 0.0, "learning": 0.0}
    tested, right, begun = warm_up, 0, time.perf_counter()

    def result(complete: bool) -> PrequentialResult:
        rows = np.arange(warm_up, tested)
        return PrequentialResult(
            learner.model, names, rows, truth[rows], answers[rows], window,
            seconds["predicting"], seconds["learning"], complete,
        )  # fmt: skip

    try:
        with reporting(verbose, callback) as report:
            if warm_up:
                with _timed(seconds, "learning", 0, warm_up):
                    learner.learn(0, warm_up)
            for start in range(warm_up, table.n_rows, batch_size):
                stop = min(start + batch_size, table.n_rows)
                with _timed(seconds, "predicting", start, stop):
                    given = learner.predict(start, stop)
                answers[start:stop] = _coded(given, code_of, start, stop)
                right += int((answers[start:stop] == truth[start:stop]).sum())
                tested = stop
                with _timed(seconds, "learning", start, stop):
                    learner.learn(start, stop)
                done, total = stop - warm_up, table.n_rows - warm_up
                now = time.perf_counter() - begun
                if report(StreamProgress(done, total, right / done, now)):
                    return result(complete=stop == table.n_rows)
    except KeyboardInterrupt as interrupt:
        interrupt.result = result(complete=False)  # type: ignore[attr-defined]
        raise
    return result(complete=True)


@contextmanager
def _timed(seconds: dict[str, float], doing: str, start: int, stop: int) -> Iterator[None]:
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


def _coded(given: list[Any], code_of: dict[Any, int], start: int, stop: int) -> list[int]:
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
