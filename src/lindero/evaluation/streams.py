"""Test, then train: how well a model does on a stream while it learns from it (prequential
evaluation).

Each batch of rows is first predicted and then learned, so that every answer is about rows the model
has not seen, and all rows but the first few are both test and training data.

**Delayed labels.** With a delay of k, the label of row t comes after row t + k was predicted, so
that the model has learned rows 0 to t − k − 1 and no others when it predicts row t:

    rows        0 … w−1        w … w+k−1                w+k …
                learned first  wait for their labels,   predicted, one batch after another; then
                               not tested               rows whose labels have come are learned

where w is the warm-up. Labels of the last k rows do not come, and those rows are not learned.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lindero.evaluation.measures import LEAST_PROBABILITY
from lindero.evaluation.rows import read_times, require_count
from lindero.evaluation.stream_models import (
    StreamTable,
    adapt_model,
    copy_untrained,
    learns_new_classes,
)
from lindero.evaluation.stream_results import PrequentialResult
from lindero.evaluation.stream_targets import ClassTarget, NumberTarget, read_target
from lindero.runtime.arrays import Array
from lindero.svm.progress import ProgressBar

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
        Share of the rows tested so far that were predicted right; NaN for numbers.
    seconds : float
        Time since the evaluation was begun.
    mae : float, default=nan
        Mean absolute error of the rows tested so far; NaN for classes.

    See Also
    --------
    prequential : Its parameter `callback`.
    """

    n_done: int
    n_total: int
    accuracy: float
    seconds: float
    mae: float = math.nan


#: Called with each report; returning True ends the evaluation with the rows tested so far.
StreamCallback = Callable[[StreamProgress], bool | None]


def prequential(
    model: Any,
    X: Any,
    y: Any,
    *,
    times: Any = None,
    batch_size: int = 1,
    warm_up: int | None = None,
    delay: int = 0,
    window: int = 1000,
    task: str | None = None,
    classes: Any = None,
    costs: Any = None,
    probabilities: bool = True,
    refit_every: int | None = None,
    refit_on: int | None = None,
    fresh: bool = True,
    verbose: bool = False,
    callback: StreamCallback | None = None,
) -> PrequentialResult:
    """Evaluate a model on a stream: test each batch, then train on it.

    Parameters
    ----------
    model : object
        A classifier or regressor of lindero or scikit-learn with `partial_fit`, one without it (see
        `refit_every`), or a river model with `learn_one` and `predict_one`.
    X : array-like, sparse matrix or dataframe of shape (n_rows, n_features)
        The rows as they arrive; river models get dictionaries by column name or number.
    y : array-like of shape (n_rows,)
        Their classes, or numbers for a regressor.
    times : array-like of shape (n_rows,) or None, default=None
        When they arrived, numbers or dates, never decreasing, for models whose methods take
        `times`. Rows may share a time.
    batch_size : int, default=1
        Rows that are predicted together, before any of them is learned.
    warm_up : int or None, default=None
        First rows, which are learned in one call and not tested; None is one batch, or
        `refit_every`. With 0 the model has to be able to predict already (``fresh=False``).
        Adaptive machines with ``coupling="auto"`` and ``online="exact"`` choose their coupling by
        these: at least 12 rows of all classes, or it is 1000.
    delay : int, default=0
        Labels come this many rows later: row t is learned only after row t + delay was predicted.
        The `delay` rows after the warm-up are not tested, and the last `delay` are not learned.
    window : int, default=1000
        Rows that a point of the curves is about.
    task : {"classification", "regression"} or None, default=None
        What y is. None is what the model predicts; if it does not say, numbers with fractions are
        a regression, and all else are classes.
    classes : array-like or None, default=None
        All classes that may occur, which the model is told of beforehand. None is those of a model
        that knows them, else those in `y`. A model that takes new classes as they appear (it has
        ``accepts_new_classes = True``, or is river's) is told of none.
    costs : array-like of shape (n_classes, n_classes), mapping or None, default=None
        What errors cost, for the measure `cost`: ``costs[i][j]`` of predicting class j where class
        i is true, or a mapping from (true class, predicted class).
    probabilities : bool, default=True
        Whether to ask models that have probabilities for them, too, for the log-loss. False saves
        the time.
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
        Accuracy, Cohen's κ, log-loss and cost, or MAE, RMSE and R²; their curves, all answers, and
        times. Its `model` is the trained one.

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
    >>> from sklearn.linear_model import SGDClassifier, SGDRegressor
    >>> from lindero.data import make_rotating
    >>> from lindero.evaluation import prequential
    >>> X, y = make_rotating(1000, random_state=0)
    >>> result = prequential(SGDClassifier(random_state=0), X, y, window=100)
    >>> len(result.rows), round(result.accuracy, 2)
    (999, 0.99)

    The same where labels come 50 rows later, and a regression:

    >>> late = prequential(SGDClassifier(random_state=0), X, y, delay=50)
    >>> late.accuracy < result.accuracy
    True
    >>> result = prequential(SGDRegressor(random_state=0), X, 2 * X[:, 0] + 1)
    >>> result.task, round(result.mae, 1), len(result.curve_r2)
    ('regression', 0.8, 999)
    """
    table = StreamTable(X)
    require_count("batch_size", batch_size, 1)
    require_count("window", window, 1)
    for name, value in (("refit_every", refit_every), ("refit_on", refit_on)):
        if value is not None:
            require_count(name, value, 1)
    warm_up = (refit_every or batch_size) if warm_up is None else warm_up
    require_count("warm_up", warm_up, 0)
    require_count("delay", delay, 0)
    model = copy_untrained(model) if fresh else model
    target = read_target(y, table.n_rows, model, task, classes)
    instants = None if times is None else read_stream_times(times, table.n_rows)
    told = target.classes if classes is not None or not learns_new_classes(model) else None
    evaluation = StreamEvaluation(
        adapt_model(model, table, target.labels, instants, told, refit_every, refit_on),
        target,
        StreamSchedule(table.n_rows, batch_size, warm_up, delay),
        times=instants,
        costs=target.read_costs(costs),
        asks_probabilities=probabilities,
    )
    try:
        with _report_progress(verbose, evaluation, callback) as report:
            evaluation.run(table.n_rows, report)
    except KeyboardInterrupt as interrupt:
        interrupt.result = evaluation.make_result(window)  # type: ignore[attr-defined]
        raise
    return evaluation.make_result(window)


@dataclass(frozen=True)
class StreamSchedule:
    """Which rows are learned and tested when."""

    n_rows: int
    batch_size: int = 1
    warm_up: int = 1
    delay: int = 0

    def __post_init__(self) -> None:
        if self.first_tested >= self.n_rows:
            names, value = "warm_up", f"{self.first_tested}"
            if self.delay and self.warm_up:
                names, value = "warm_up + delay", f"{self.warm_up} + {self.delay}"
            raise ValueError(
                f"X has {self.n_rows} rows, and the first {names}={value} are not tested: none are "
                f"left. Lower {names.replace('+', 'or')}, or pass more rows."
            )

    @property
    def first_tested(self) -> int:
        """The first row that is predicted. Without a warm-up the model can answer at once."""
        return self.warm_up + self.delay if self.warm_up else 0

    def count_learned(self, n_seen: int) -> int:
        """How many rows have been learned once so many have been predicted."""
        return max(self.warm_up, n_seen - self.delay)


@dataclass
class StreamEvaluation:
    """A model on its way through a stream: what was seen, predicted and learned so far.

    `answers` and `log_losses` have a place for each row; those from `schedule.first_tested` to
    `n_seen` are filled. `loss` is the number of wrong answers, or the sum of absolute errors.
    """

    learner: Any
    target: ClassTarget | NumberTarget
    schedule: StreamSchedule
    times: Array | None = None
    costs: Array | None = None
    asks_probabilities: bool = True
    n_seen: int = 0
    loss: float = 0.0
    seconds_predicting: float = 0.0
    seconds_learning: float = 0.0
    answers: Array = field(init=False)
    log_losses: Array | None = field(init=False)

    def __post_init__(self) -> None:
        n_rows = self.schedule.n_rows
        self.answers = self.target.make_answers(n_rows)
        asked = self.asks_probabilities and isinstance(self.target, ClassTarget)
        self.log_losses = np.full(n_rows, np.nan) if asked else None

    @property
    def tested(self) -> slice:
        """The rows tested so far."""
        return slice(self.schedule.first_tested, max(self.n_seen, self.schedule.first_tested))

    @property
    def n_tested(self) -> int:
        return max(self.n_seen - self.schedule.first_tested, 0)

    @property
    def n_to_test(self) -> int:
        """Rows that are tested in all."""
        return self.schedule.n_rows - self.schedule.first_tested

    def restore(self, n_seen: int, answers: Array, log_losses: Array | None) -> None:
        """Go on behind rows that were predicted and learned before, with these answers."""
        self.n_seen = n_seen
        self.answers[self.tested] = answers
        if self.log_losses is None or log_losses is None:
            self.log_losses = None
        else:
            self.log_losses[self.tested] = log_losses
        self.loss = self.target.add_losses(answers, self.tested)
        if hasattr(self.learner, "fitted_at"):
            self.learner.fitted_at = self.schedule.count_learned(n_seen)

    def run(self, stop: int, report: StreamCallback) -> None:
        """Predict and learn until `stop` rows have been seen, or `report` returns True."""
        begun, plan, learner = time.perf_counter(), self.schedule, self.learner
        if self.n_seen < plan.first_tested:
            with self._time("learning", 0, plan.warm_up):
                learner.learn(0, plan.warm_up)
            self.n_seen = plan.first_tested
        tested, learned = self.n_seen, plan.count_learned(self.n_seen)
        for start in range(self.n_seen, stop, plan.batch_size):
            end = min(start + plan.batch_size, stop)
            rows = slice(start, end)
            with self._time("predicting", start, end):
                given = learner.predict(start, end)
            self.answers[rows] = self.target.read_answers(given, start, end)
            self._rate_truth(start, end)
            self.loss += self.target.add_losses(self.answers[rows], rows)
            self.n_seen = end
            known = plan.count_learned(end)
            if known > learned:
                with self._time("learning", learned, known):
                    learner.learn(learned, known)
                learned = known
            done, now = end - plan.first_tested, time.perf_counter() - begun
            measured = self.target.name_loss(self.loss, done)
            if report(StreamProgress(done, self.n_to_test, seconds=now, **measured)):
                break
        self.target.warn_of_gaps(self.answers, tested, self.n_seen)

    def _rate_truth(self, start: int, stop: int) -> None:
        if self.log_losses is None:
            return
        try:
            found = self.learner.rate_truth(start, stop)
        except Exception as error:
            error.add_note(
                f"This was while asking for probabilities of rows {start} to {stop - 1}."
            )
            error.add_note("Pass probabilities=False to do without them, and the log-loss.")
            raise
        if found is None:
            self.log_losses = None
            return
        # What is no number is no probability either, and counts as 0.
        own = np.fmax(np.array(found, dtype=np.float64), LEAST_PROBABILITY)
        self.log_losses[start:stop] = 0.0 - np.log(own)

    @contextmanager
    def _time(self, doing: str, start: int, stop: int) -> Iterator[None]:
        """Add the time it takes; say which rows an error of the model is about."""
        begun = time.perf_counter()
        try:
            yield
        except Exception as error:
            error.add_note(f"This was while {doing} rows {start} to {stop - 1} of the stream.")
            if start == 0 or doing == "predicting":
                error.add_note(
                    "A larger warm_up lets the model learn more rows before it is asked."
                )
            raise
        finally:
            seconds = time.perf_counter() - begun
            if doing == "learning":
                self.seconds_learning += seconds
            else:
                self.seconds_predicting += seconds

    def make_result(self, window: int, model: Any = None) -> PrequentialResult:
        """What was found so far; `model` is what the learner is a part of, if it is."""
        tested, losses = self.tested, self.log_losses
        return PrequentialResult(
            self.learner.model if model is None else model,
            self.target.classes,
            np.arange(tested.start, tested.stop),
            self.target.truth[tested],
            self.answers[tested],
            window,
            self.seconds_predicting,
            self.seconds_learning,
            self.n_seen == self.schedule.n_rows,
            None if self.times is None else self.times[tested],
            self.schedule.delay,
            self.costs,
            None if losses is None else losses[tested],
        )


def read_stream_times(times: Any, n_rows: int) -> Array:
    """times as a vector that never decreases."""
    instants = read_times(times, n_rows)
    back = np.flatnonzero(instants[1:] < instants[:-1])
    if len(back):
        row = int(back[0]) + 1
        raise ValueError(
            f"A stream goes forward in time, but times[{row}] is before times[{row - 1}] "
            f"({instants[row]} < {instants[row - 1]}). Sort the rows by time first, for example by "
            "np.argsort(times, kind='stable')."
        )
    return instants


@contextmanager
def _report_progress(
    verbose: bool, evaluation: StreamEvaluation, callback: StreamCallback | None
) -> Iterator[StreamCallback]:
    """The user's callback, with a progress bar added when `verbose`."""
    total = evaluation.n_to_test
    bar, drawn = ProgressBar("testing", total, remaining=True) if verbose else None, 0.0

    def report(progress: StreamProgress) -> bool | None:
        nonlocal drawn
        now, ended = time.perf_counter(), progress.n_done == progress.n_total
        if bar is not None and (ended or now - drawn > _PAUSE_SECONDS):
            right = f"{progress.accuracy:.1%} right"
            found = right if math.isnan(progress.mae) else f"MAE {progress.mae:.3g}"
            bar.show(progress.n_done, f"{progress.n_done} of {progress.n_total} rows, {found}")
            drawn = now
        return callback(progress) if callback is not None else None

    try:
        yield report
    finally:
        if bar is not None:
            bar.close()
