"""One comparison: the same folds for all machines, each tuned inside its training rows.

Folds are taken one after the other, all machines on each, so that a comparison that is cut short
still compares. A machine that fails is left out of the folds to come, and says why.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.evaluation.folds import Split, make_outer_folds, take_rows
from lindero.evaluation.learning import ComparisonPlan, train_machine
from lindero.evaluation.measures import (
    average_folds,
    choose_least_cost,
    choose_measure,
    find_measure,
    find_positive,
    list_measures,
    read_costs,
    score,
    score_all,
)
from lindero.evaluation.registry import CLASSIFICATION, MachineSpec, choose_contenders
from lindero.evaluation.results import Comparison, MachineResult
from lindero.evaluation.rows import EvaluationRows, read_comparison, require_count
from lindero.runtime.arrays import Array, write_plain
from lindero.validation import find_classes


@dataclass(frozen=True)
class ComparisonProgress:
    """The progress of a comparison, given to the callback before each fit and at the end.

    Attributes
    ----------
    n_done, n_total : int
        Fits of machines to folds, done and in all.
    running : tuple of (str, int) or None
        The machine that begins now, and its fold from 0 on; None at the end, or with `n_jobs`.
    seconds : float
        Time since the comparison was begun.
    comparison : Comparison
        What is known so far.

    See Also
    --------
    compare : Its parameter `progress`.
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
    measure: str | None = None,
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
    """Compare all machines that suit the data by nested cross-validation.

    Every machine sees the same folds: stratified, or, where rows have times, always trained on
    earlier rows. Parameters, and curves from decision values of support vector machines to
    probabilities, are fitted to inner folds of the training rows alone. C and epsilon of
    regressions are tried in units of the target's standard deviation. Rows without a target are
    left out, and from 50 rows on columns of text that differ in most rows (`left_out`); both warn.

    Where the measure looks at answers of two classes (F1, balanced accuracy, costs and others, but
    not the error), the probability from which on a class is answered is tuned for it inside the
    training rows.

    Parameters
    ----------
    X : Dataset, dataframe, array-like or sparse matrix of shape (n_rows, n_features)
        A :class:`lindero.data.Dataset`, which brings targets, times and weights; or features.
    y : array-like of shape (n_rows,), default=None
        Classes or numbers.
    machines : list of str or None, default=None
        Names from :data:`lindero.evaluation.CONTENDERS` or :data:`lindero.evaluation.MACHINES`;
        None is all that suit the data.
    measure : str or None, default=None
        What machines are tuned for and ranked by, one of :data:`lindero.evaluation.MEASURES`. None
        is cost where there are costs, log-loss where a class is rare (below 20 % of the rows and
        below half of an equal share), error for other classes, and RMSE for numbers.
    costs : mapping or array-like of shape (n_classes, n_classes), default=None
        Cost of predicting the class of a column where that of a row is true; or a mapping from
        (true, predicted), other errors costing 1. Machines with probabilities predict the class of
        least expected cost.
    times : array-like of shape (n_rows,), default=None
        When each row was seen. Folds then go forward in time, and adaptive machines take part.
    sample_weight : array-like of shape (n_rows,), default=None
        How much each row counts, in fitting and in scores.
    task : {"classification", "regression"} or None, default=None
        What y is; None takes numbers with fractions, or of more than 20 values, for a regression.
    folds : int, default=5
        Folds, fewer where the rarest class has fewer rows; with times, blocks to be predicted.
    repeats : int, default=1
        Rounds of folds, each shuffled anew; 1 where rows have times.
    inner_folds : int, default=3
        Folds inside the training rows, to choose parameters by.
    tuning_rows : int, default=2000
        Parameters are chosen by at most this many training rows; all are then fitted to.
    random_state : int, default=0
        Seed of the shuffling.
    n_jobs : int, default=1
        Processes that fit at the same time. Times of fits are longer with more of them.
    progress : callable or None, default=None
        Called with a :class:`ComparisonProgress`; returning True ends the comparison.

    Returns
    -------
    comparison : Comparison

    See Also
    --------
    cross_validate : One machine with given parameters.
    lindero.report.write_report : The result as a page.

    Notes
    -----
    Ctrl-C ends the comparison with a KeyboardInterrupt whose attribute `result` is the comparison
    of what was done until then, with ``complete=False``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lindero.evaluation import compare
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
    data = read_comparison(X, y, times=times, sample_weight=sample_weight, task=task)
    rows = data.rows
    classes, truth, matrix = None, rows.y, None
    if data.task == CLASSIFICATION:
        classes, truth = find_classes(rows.y)
        matrix = read_costs(costs, classes)
    elif costs is not None:
        raise ValueError("costs are for classes, and the target is a number: leave them out.")
    chosen, reason = choose_measure(data.task, rows.y, matrix, rows.weights)
    if measure is not None:
        chosen, reason = find_measure(measure, data.task).name, ""
        if chosen == "cost" and matrix is None:
            raise ValueError("The measure cost needs costs: say what errors cost, or leave it out.")
    has_times = rows.times is not None
    splits, notes = make_outer_folds(
        rows.y, rows.times, classes=classes is not None, folds=folds, repeats=repeats,
        random_state=random_state,
    )  # fmt: skip
    contenders, more = choose_contenders(
        machines, data.task, n_classes=0 if classes is None else len(classes),
        has_costs=matrix is not None, has_times=has_times, sparse=sp.issparse(rows.X),
    )  # fmt: skip
    positive = find_positive(truth) if classes is not None and len(classes) == 2 else None
    plan = ComparisonPlan(classes, matrix, inner_folds, tuning_rows, random_state, chosen, positive)
    start = Comparison(
        task=data.task,
        measure=chosen,
        data=data.summary or _describe(rows, classes, truth),
        target=data.target,
        classes=classes,
        costs=matrix,
        n_rows=len(truth),
        fold_sizes=tuple((len(train), len(test)) for train, test in splits),
        time_respecting=has_times,
        truth=truth,
        machines=(),
        baseline=_score_baseline(rows, truth, splits, plan),
        notes=(*data.notes, *notes, *more),
        seconds=0.0,
        complete=False,
        tuning_rows=tuning_rows,
        random_state=random_state,
        left_out=data.left_out,
        weights=rows.weights,
        reason=reason,
    )
    n_first_round = len(splits) // (1 if has_times else repeats)
    board = Scoreboard(start, contenders, splits, n_first_round, plan, begun)
    try:
        _run(board, rows, n_jobs, progress)
    except KeyboardInterrupt as interrupt:
        interrupt.result = board.sum_up(complete=False)  # type: ignore[attr-defined]
        raise
    return board.sum_up()


def _run(
    board: Scoreboard, rows: EvaluationRows, n_jobs: int, progress: ComparisonCallback | None
) -> None:
    """Fill the board, fold by fold."""

    def report(running: tuple[str, int] | None) -> bool:
        if progress is None:
            return False
        now = time.perf_counter() - board.begun
        state = ComparisonProgress(board.n_done, board.n_total, running, now, board.sum_up())
        return bool(progress(state))

    def tasks() -> Iterator[tuple[Any, ...]]:
        for fold, split in enumerate(board.splits):
            for machine in board.contenders:
                if machine.name not in board.failures:
                    yield machine, rows, board.start.truth, split, board.plan, fold

    if n_jobs == 1:
        for task in tasks():
            if report((task[0].name, task[-1])):
                return
            board.enter(judge_machine(*task))
    else:
        from joblib import Parallel, delayed

        report(None)
        work = (delayed(judge_machine)(*task) for task in tasks())
        for result in Parallel(n_jobs, return_as="generator_unordered")(work):
            board.enter(result)
            if board.n_done < board.n_total and report(None):
                return
    report(None)


def judge_machine(
    machine: MachineSpec,
    rows: EvaluationRows,
    truth: Array,
    split: Split,
    plan: ComparisonPlan,
    fold: int = 0,
) -> FoldResult:
    """Train a machine on the training rows of a fold, and judge it on the test rows."""
    train, test = split
    begun = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            trained = train_machine(machine, rows.take(train), plan)
            between = time.perf_counter()
            tested = rows.take(test)
            answers, probabilities = trained.answer(tested.X, tested.times, plan)
        except Exception as error:
            failure = f"{error}".split("\n")[0] or type(error).__name__
            return FoldResult(machine.name, fold, failure=failure)
    ended = time.perf_counter()
    seconds = {"seconds_learning": between - begun, "seconds_predicting": ended - between}
    scores = score_all(
        plan.task, truth[test], answers, probabilities, plan.costs, tested.weights,
        positive=plan.positive, more=plan.measure,
    )  # fmt: skip
    return FoldResult(
        machine.name,
        fold,
        scores={**scores, **seconds},
        parameters=trained.parameters,
        answers=answers,
        probabilities=probabilities,
        warnings=tuple(dict.fromkeys(str(warning.message) for warning in caught)),
    )


@dataclass(frozen=True)
class FoldResult:
    """A machine on one fold: its scores, times and predictions, or why there are none."""

    name: str
    fold: int
    scores: dict[str, float] = field(default_factory=dict)
    parameters: dict[str, Any] | None = None
    answers: Array | None = None
    probabilities: Array | None = None
    warnings: tuple[str, ...] = ()
    failure: str | None = None


@dataclass
class Scoreboard:
    """Results by machine and fold, in any order; `start` is the comparison without any."""

    start: Comparison
    contenders: Sequence[MachineSpec]
    splits: Sequence[Split]
    n_first_round: int
    plan: ComparisonPlan
    begun: float
    failures: dict[str, str] = field(default_factory=dict)
    _entries: list[FoldResult] = field(default_factory=list)

    def enter(self, result: FoldResult) -> None:
        """Add a result; a machine that fails is out of the running."""
        if result.failure is not None:
            self.failures.setdefault(result.name, f"fold {result.fold + 1}: {result.failure}")
        self._entries.append(result)

    @property
    def n_total(self) -> int:
        """Fits in all."""
        return len(self.contenders) * len(self.splits)

    @property
    def n_done(self) -> int:
        """Fits done, those that a failure makes needless among them."""
        running = sum(entry.name not in self.failures for entry in self._entries)
        return running + len(self.failures) * len(self.splits)

    def sum_up(self, *, complete: bool | None = None) -> Comparison:
        """The comparison as known by now."""
        return replace(
            self.start,
            machines=tuple(self._collect(machine) for machine in self.contenders),
            seconds=time.perf_counter() - self.begun,
            complete=self.n_done == self.n_total if complete is None else complete,
        )

    def _collect(self, machine: MachineSpec) -> MachineResult:
        name, classes, folds = machine.name, self.plan.classes, range(len(self.splits))
        own = {e.fold: e for e in self._entries if e.name == name and e.failure is None}

        def by_fold(measure: str) -> Array:
            scores = (own[fold].scores if fold in own else {} for fold in folds)
            return np.array([found.get(measure, np.nan) for found in scores])

        measures = list_measures(self.plan.task, self.plan.costs is not None)
        measures += [self.plan.measure] if self.plan.measure not in measures else []
        # Answers and probabilities of the rows tested in the first round.
        n_rows, probabilities = self.start.n_rows, None
        answers = np.full(n_rows, np.nan) if classes is None else np.full(n_rows, -1)
        for fold, (_, test) in enumerate(self.splits[: self.n_first_round]):
            if fold not in own:
                continue
            answers[test] = own[fold].answers
            if classes is not None and own[fold].probabilities is not None:
                if probabilities is None:
                    probabilities = np.full((n_rows, len(classes)), np.nan)
                probabilities[test] = own[fold].probabilities
        return MachineResult(
            name=name,
            machine=machine.variant_of or name,
            simplicity=machine.simplicity,
            advantage=machine.advantage,
            scores={measure: by_fold(measure) for measure in measures},
            seconds_learning=by_fold("seconds_learning"),
            seconds_predicting=by_fold("seconds_predicting"),
            parameters=[own[fold].parameters if fold in own else None for fold in folds],
            answers=answers,
            probabilities=probabilities,
            failure=self.failures.get(name),
            warnings=tuple(dict.fromkeys(w for fold in sorted(own) for w in own[fold].warnings)),
        )


def _score_baseline(
    rows: EvaluationRows, truth: Array, splits: Sequence[Split], plan: ComparisonPlan
) -> float:
    """The score of the baseline, which looks at no column: the commonest class, the class of least
    cost, or the mean."""
    reached = []
    for train, test in splits:
        weights, own = take_rows(rows.weights, test), take_rows(rows.weights, train)
        probabilities: Array | None = None
        if plan.classes is None:
            answers = np.full(len(test), np.average(truth[train], weights=own))
        else:
            shares = np.bincount(truth[train], weights=own, minlength=len(plan.classes))
            costs = 1.0 - np.eye(len(shares)) if plan.costs is None else plan.costs
            answers = np.repeat(choose_least_cost(shares[None, :], costs), len(test))
            probabilities = np.tile(shares / shares.sum(), (len(test), 1))
        given = truth[test], answers, probabilities, plan.costs, weights
        reached.append(score(plan.measure, *given, positive=plan.positive))
    return average_folds(reached)


def _describe(rows: EvaluationRows, classes: Array | None, truth: Array) -> str:
    """Rows, columns and target in a line."""
    size = f"{len(truth)} rows, {rows.X.shape[1]} columns"
    if classes is None:
        return f"{size}; target from {write_plain(truth.min(), 4)} to {write_plain(truth.max(), 4)}"
    counts = np.bincount(truth, minlength=len(classes))
    shown = ", ".join(f"{c} {n}" for c, n in zip(classes[:6].tolist(), counts, strict=False))
    more = f" and {len(classes) - 6} more classes" if len(classes) > 6 else ""
    return f"{size}; target: {shown}{more}"
