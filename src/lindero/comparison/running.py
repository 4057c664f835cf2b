"""One comparison: the same folds for all machines, each tuned inside its training rows.

Folds are taken one after the other, all machines on each, so that a comparison that is cut short
still compares. A machine that fails is left out of the folds to come; its row says why.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lindero.comparison.contenders import Contender
from lindero.comparison.preparation import (
    baseline_of,
    contenders_for,
    described,
    outer_folds,
    require_comparable,
    require_count,
)
from lindero.comparison.results import Comparison
from lindero.comparison.rows import CLASSIFICATION, REGRESSION, Rows, rows_of, task_of
from lindero.comparison.scoreboard import Judgement, Scoreboard
from lindero.comparison.tuning import Setting
from lindero.machines.folds import Split
from lindero.machines.scoring import (
    class_scores,
    cost_matrix,
    number_scores,
)
from lindero.runtime.arrays import Array
from lindero.validation import class_labels


@dataclass(frozen=True)
class ComparisonProgress:
    """How far a comparison is, handed to the callback before and after each fit.

    Attributes
    ----------
    n_done, n_total : int
        Fits of machines to folds, done and in all.
    running : tuple of (str, int) or None
        The machine that begins now, and its fold, counted from 0; None when all is done, or where
        several processes are at work.
    seconds : float
        Time since the comparison was begun.
    comparison : Comparison
        What is known so far.
    """

    n_done: int
    n_total: int
    running: tuple[str, int] | None
    seconds: float
    comparison: Comparison


#: Called with each report; returning True ends the comparison with what is known by then.
ComparisonCallback = Callable[[ComparisonProgress], bool | None]


def compare(
    X: Any,
    y: Any = None,
    *,
    machines: Sequence[str] | None = None,
    costs: Any = None,
    times: Any = None,
    sample_weight: Any = None,
    task: str | None = None,
    folds: int = 5,
    repeats: int = 1,
    inner_folds: int = 3,
    tuning_rows: int = 2000,
    random_state: int = 0,
    n_jobs: int = 1,
    progress: ComparisonCallback | None = None,
) -> Comparison:
    """Compare all machines that suit the data, each tuned inside its training rows.

    Every machine sees the same folds: with equal shares of the classes, or, where rows have times,
    always trained on what was before. Parameters are chosen by further folds of the training rows
    alone, and so are the curves that turn decision values of support vector machines into
    probabilities (:func:`lindero.svm.calibrated` does the same for a single machine).

    Parameters
    ----------
    X : Dataset, dataframe, array-like or sparse matrix of shape (n_rows, n_features)
        A :class:`lindero.data.Dataset`, which brings targets, times and weights; or features.
    y : array-like of shape (n_rows,), default=None
        Classes or numbers.
    machines : list of str or None, default=None
        Names from :data:`lindero.comparison.CONTENDERS` or :data:`lindero.machines.MACHINES`; None
        is all that suit the data.
    costs : mapping or array-like of shape (n_classes, n_classes), default=None
        What it costs to predict the class of a column where that of a row is true, classes in
        order; or a mapping from (true, predicted), where errors that are not named cost 1. Machines
        are then ranked by cost, and those with probabilities answer with the class of least
        expected cost.
    times : array-like of shape (n_rows,), default=None
        When each row was seen. Folds then go forward in time, and adaptive machines take part.
    sample_weight : array-like of shape (n_rows,), default=None
        How much each row counts, in fitting and in scores.
    task : {"classification", "regression"} or None, default=None
        What y is; None is what it looks like: numbers with fractions, or with many different values
        of type float, are a regression.
    folds : int, default=5
        Folds; fewer where the rarest class has fewer rows. With times, blocks that are predicted.
    repeats : int, default=1
        Rounds of folds, each shuffled anew; 1 where rows have times.
    inner_folds : int, default=3
        Folds inside the training rows, to choose parameters by.
    tuning_rows : int, default=2000
        Parameters are chosen by at most so many of the training rows; the machine with the chosen
        ones is fitted to all of them.
    random_state : int, default=0
        Which rows come together.
    n_jobs : int, default=1
        Processes that fit at the same time. Times of fits are longer with more of them.
    progress : callable or None, default=None
        Called with a :class:`ComparisonProgress`; returning True ends the comparison.

    Returns
    -------
    comparison : Comparison

    Notes
    -----
    Ctrl-C ends the comparison with a KeyboardInterrupt whose attribute `result` is the comparison
    of what was done until then, with ``complete=False``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lindero.comparison import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> result = compare(X, y, machines=["naive-bayes", "svc-linear"], folds=3)
    >>> result["svc-linear"].mean("error") < 0.1
    True
    >>> result.recommended.name
    'naive-bayes'
    """
    begun = time.perf_counter()
    require_count("folds", folds, 2)
    require_count("repeats", repeats, 1)
    require_count("inner_folds", inner_folds, 2)
    require_count("tuning_rows", tuning_rows, 20)
    text = None
    target = "y"
    if y is None and hasattr(X, "summary") and hasattr(X, "target"):
        dataset = X
        require_comparable(dataset)
        X, y, text, target = dataset.X, dataset.y, dataset.summary(), dataset.target or "y"
        times = dataset.times if times is None else times
        sample_weight = dataset.weights if sample_weight is None else sample_weight
        task = dataset.task if task is None else task
    rows = rows_of(X, y, times, sample_weight)
    task = task_of(rows.y, task)
    classes, truth = None, np.asarray(rows.y)
    if task == CLASSIFICATION:
        classes, truth = class_labels(rows.y)
    else:
        rows = Rows(rows.X, rows.y.astype(np.float64), rows.times, rows.weights)
    if task == REGRESSION and costs is not None:
        raise ValueError("costs are for classes, and the target is a number: leave them out.")
    matrix = None if classes is None else cost_matrix(costs, classes)
    splits, notes = outer_folds(rows, task, classes, folds, repeats, random_state)
    contenders, more = contenders_for(machines, rows, task, classes, matrix)
    setting = Setting(classes, matrix, inner_folds, tuning_rows, random_state)
    board = Scoreboard(
        contenders=contenders,
        splits=splits,
        n_first_round=len(splits) // (1 if rows.times is not None else repeats),
        truth=truth,
        classes=classes,
        costs=matrix,
        data=text or described(rows, classes, truth),
        target=target,
        time_respecting=rows.times is not None,
        baseline=baseline_of(rows, truth, splits, setting),
        notes=(*notes, *more),
        tuning_rows=tuning_rows,
        random_state=random_state,
        begun=begun,
    )
    try:
        _run(board, rows, truth, splits, setting, n_jobs, progress)
    except KeyboardInterrupt as interrupt:
        interrupt.result = board.comparison(complete=False)  # type: ignore[attr-defined]
        raise
    return board.comparison(complete=board.n_done == board.n_total)


def _run(
    board: Scoreboard,
    rows: Rows,
    truth: Array,
    splits: Sequence[Split],
    setting: Setting,
    n_jobs: int,
    progress: ComparisonCallback | None,
) -> None:
    """Fill the board, fold by fold."""

    def report(running: tuple[str, int] | None) -> bool:
        if progress is None:
            return False
        now = time.perf_counter() - board.begun
        known = board.comparison(complete=board.n_done == board.n_total)
        state = ComparisonProgress(board.n_done, board.n_total, running, now, known)
        return bool(progress(state))

    def tasks() -> Iterator[tuple[str, int]]:
        for fold in range(len(splits)):
            for contender in board.contenders:
                if contender.name not in board.failures:
                    yield contender.name, fold

    if n_jobs == 1:
        for name, fold in tasks():
            if report((name, fold)):
                return
            contender = board.contender(name)
            board.enter(name, fold, judged(contender, rows, truth, splits[fold], setting))
    else:
        from joblib import Parallel, delayed

        report(None)
        work = (
            delayed(_judged_elsewhere)(
                (name, fold), board.contender(name), rows, truth, splits[fold], setting
            )
            for name, fold in tasks()
        )
        for (name, fold), judgement in Parallel(n_jobs, return_as="generator_unordered")(work):
            board.enter(name, fold, judgement)
            if board.n_done < board.n_total and report(None):
                return
    report(None)


def _judged_elsewhere(
    place: tuple[str, int],
    contender: Contender,
    rows: Rows,
    truth: Array,
    split: Split,
    setting: Setting,
) -> tuple[tuple[str, int], Judgement]:
    return place, judged(contender, rows, truth, split, setting)


def judged(
    contender: Contender, rows: Rows, truth: Array, split: Split, setting: Setting
) -> Judgement:
    """A machine learned from the training rows of a fold and judged on its test rows."""
    train, test = split
    begun = time.perf_counter()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            training = rows.take(train)
            learned = contender.learn(contender.machine, dict(contender.fixed), training, setting)
            between = time.perf_counter()
            tested = rows.take(test)
            answers, probabilities = learned.answers(tested.X, tested.times, setting)
        except Exception as error:
            return Judgement(failure=f"{error}".split("\n")[0] or type(error).__name__)
    ended = time.perf_counter()
    if setting.classes is None:
        scores = number_scores(truth[test], answers, tested.weights)
    else:
        scores = class_scores(truth[test], answers, probabilities, setting.costs, tested.weights)
    return Judgement(
        scores=scores,
        seconds_learning=between - begun,
        seconds_predicting=ended - between,
        parameters=learned.parameters,
        answers=answers,
        probabilities=probabilities,
        warnings=tuple(dict.fromkeys(str(warning.message) for warning in said)),
    )
