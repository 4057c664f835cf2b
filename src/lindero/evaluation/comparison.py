"""One comparison: the same folds for all machines, each tuned inside its training rows.

Folds are taken one after the other, all machines on each, so that a comparison that is cut short
still compares. A machine that fails is left out of the folds to come, and says why. Beside the
machines of this package run guests, scikit-learn's; they are judged, and recommended, like all
others. Which fit comes when, and who is dropped for want of time, is the matter of `race`.
"""

from __future__ import annotations

import math
import pickle
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from lindero.errors import warn_user
from lindero.evaluation.folds import Split, make_outer_folds, sample_rows
from lindero.evaluation.learning import ComparisonPlan, train_machine
from lindero.evaluation.measures import (
    average_folds,
    choose_measure,
    find_measure,
    find_positive,
    read_costs,
    score_all,
)
from lindero.evaluation.race import (
    FIRST_ROWS,
    FIRST_TESTED,
    FoldResult,
    PlannedFit,
    Race,
    Scoreboard,
)
from lindero.evaluation.registry import (
    BASELINE,
    CLASSIFICATION,
    GUESTS,
    MachineSpec,
    choose_contenders,
    has_many_columns,
)
from lindero.evaluation.results import Comparison
from lindero.evaluation.rows import EvaluationRows, read_comparison, require_count
from lindero.runtime.arrays import Array, write_plain
from lindero.runtime.compilation import CompilationClock
from lindero.runtime.workers import Inline, WorkerPool, count_workers
from lindero.validation import find_classes

if TYPE_CHECKING:
    from lindero.runtime.cluster_pool import ClusterPool

    Pool = Inline | WorkerPool | ClusterPool

#: Tables of fewer cells than this are compared in this process, if nothing else is asked for:
#: others take longer to start than fits to them.
_FEW_CELLS = 20_000

#: Seconds between two reports of progress.
_HEARTBEAT = 0.5


@dataclass(frozen=True)
class ComparisonProgress:
    """The progress of a comparison, given to the callback before each fit and at the end, and twice
    a second where other processes fit.

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
    first_scores : mapping of str to float
        With a time budget: the score of each machine's first answer, from a few rows.
    active : tuple of str
        The machines that are being fitted, each with its fold, "tan (fold 2)".
    is_compiling : bool
        Whether loops are being compiled, which happens once on a machine.

    See Also
    --------
    compare : Its parameter `progress`.
    """

    n_done: int
    n_total: int
    running: tuple[str, int] | None
    seconds: float
    comparison: Comparison
    first_scores: Mapping[str, float] = field(default_factory=dict)
    active: tuple[str, ...] = ()
    is_compiling: bool = False


#: Called with each report; returning True ends the comparison with what is known by then.
ComparisonCallback = Callable[[ComparisonProgress], bool | None]


def compare(
    X: Any,
    y: Any = None,
    *,
    machines: Sequence[Any] | None = None,
    baselines: bool = True,
    measure: str | None = None,
    costs: Any = None,
    times: Any = None,
    sample_weight: Any = None,
    task: str | None = None,
    folds: int = 5,
    repeats: int = 1,
    inner_folds: int = 3,
    tuning_rows: int = 2000,
    time_budget: float | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: ComparisonCallback | None = None,
) -> Comparison:
    """Compare all machines that suit the data by nested cross-validation.

    Every machine sees the same folds: stratified, or, where rows have times, always trained on
    earlier rows. Parameters, and curves from decision values of support vector machines to
    probabilities, are fitted to inner folds of the training rows alone. C and epsilon of
    regressions are tried in units of the target's standard deviation. Rows without a target are
    left out, and from 50 rows on columns of text that differ in most rows (`left_out`); both warn.

    Beside the machines of this package run logistic or ridge regression, a random forest and
    gradient boosting of scikit-learn, and a baseline that looks at no column. They are
    recommended where they are better.

    Where the measure looks at answers of two classes (F1, balanced accuracy, costs and others, but
    not the error), the probability from which on a class is answered is tuned for it inside the
    training rows.

    Parameters
    ----------
    X : Dataset, dataframe, array-like or sparse matrix of shape (n_rows, n_features)
        A :class:`lindero.data.Dataset`, which brings targets, times and weights; or features.
    y : array-like of shape (n_rows,), default=None
        Classes or numbers.
    machines : list or None, default=None
        Names from :data:`lindero.evaluation.CONTENDERS`, :data:`lindero.evaluation.MACHINES` or
        :data:`lindero.evaluation.GUESTS`; scikit-learn estimators; pairs of a name and an
        estimator. None, and "auto" in the list, is all that suit the data: of text, and of sparse
        tables of very many columns, those whose answers are weighted sums. Before an estimator
        comes a :class:`TableEncoder`, unless it is a pipeline or takes tables itself.
    baselines : bool, default=True
        Whether guests and the baseline run beside the machines that suit the data.
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
    time_budget : float or None, default=None
        Seconds that the comparison may take; None is no limit. First answers of all machines come
        from a few rows within seconds; then the better ones are fitted to all rows, and machines
        that time does not suffice for are dropped, with a sentence. Time in which loops are
        compiled, once on a machine, is given back, up to as much again.
    random_state : int, default=0
        Seed of the shuffling.
    n_jobs : int or None, default=None
        Processes that fit at the same time; -1 is one for each core. None is that too, as far as
        memory suffices, for all but small tables, which are compared in this process. Within
        ``joblib.parallel_config(backend="dask")`` the workers of that cluster fit, all of them.
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
    of what was done until then, with ``complete=False``. Time in which loops are compiled is no
    part of the times of fits. With a time budget, and where slow machines are dropped because
    others are better beyond doubt, which machines are dropped may differ from run to run; scores
    do not.

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
    _require_budget(time_budget)
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
        wide=has_many_columns(rows.X), baselines=baselines,
    )  # fmt: skip
    positive = find_positive(truth) if classes is not None and len(classes) == 2 else None
    plan = ComparisonPlan(
        classes, matrix, inner_folds, tuning_rows, random_state, chosen, positive,
        keep_row_names=data.keep_row_names,
    )  # fmt: skip
    arena = Arena(rows, truth, tuple(splits), plan, {m.name: m for m in contenders})
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
        baseline=_score_baseline(arena),
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
    pool = _open_pool(arena, n_jobs, time_budget)
    try:
        _run(board, pool, Race(board, pool.n_workers, time_budget), progress)
    except KeyboardInterrupt as interrupt:
        interrupt.result = board.sum_up(complete=False)  # type: ignore[attr-defined]
        raise
    finally:
        pool.close()
    return board.sum_up()


def _require_budget(seconds: Any) -> None:
    if seconds is None:
        return
    number = isinstance(seconds, (int, float, np.integer, np.floating))
    if isinstance(seconds, bool) or not number or not seconds > 0:
        raise ValueError(
            f"time_budget must be a number of seconds above 0, or None for no limit; it is "
            f"{seconds!r}."
        )


@dataclass(frozen=True)
class Arena:
    """What all fits of a comparison share, in whichever process."""

    rows: EvaluationRows
    truth: Array
    splits: tuple[Split, ...]
    plan: ComparisonPlan
    machines: Mapping[str, MachineSpec]


def _open_pool(arena: Arena, n_jobs: int | None, budget: float | None) -> Pool:
    """Processes to fit in; none where that is enough. Only a process can be stopped in time."""
    cells = math.prod(arena.rows.X.shape)
    if "distributed" in sys.modules:  # else there is no cluster
        from lindero.runtime.cluster_pool import ClusterPool, find_dask_client

        client = find_dask_client()
        if client is not None:
            return ClusterPool(client, arena)
    if budget is None and (n_jobs == 1 or (n_jobs is None and cells < _FEW_CELLS)):
        return Inline(arena)
    if n_jobs is None:
        n_workers = count_workers(8 * cells)
    else:
        from joblib import effective_n_jobs

        n_workers = int(effective_n_jobs(n_jobs))
    try:
        return WorkerPool(n_workers, arena)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        warn_user(
            f"Machines are fitted in this process, where none can be stopped in time: what they "
            f"need cannot be sent to another one ({error}).",
            UserWarning,
        )
        return Inline(arena)


def _run(board: Scoreboard, pool: Pool, race: Race, progress: ComparisonCallback | None) -> None:
    """Fill the board, fit by fit."""
    active: dict[PlannedFit, None] = {}

    def report(running: PlannedFit | None) -> bool:
        if progress is None:
            return False
        return bool(
            progress(
                ComparisonProgress(
                    board.n_done,
                    board.n_total,
                    None if running is None else (running.name, running.fold),
                    time.perf_counter() - board.begun,
                    board.sum_up(),
                    board.first_scores,
                    tuple(_write_fit(fit) for fit in active),
                    pool.is_compiling,
                )
            )
        )

    while not race.is_over:
        while pool.n_free:
            step = race.next()
            if step is None:
                break
            fit, seconds = step
            if report(fit):
                return
            active[fit] = None
            race.begin(fit)
            pool.start(fit, judge_fit, fit, seconds)
        if not active:
            break
        began, compiling = time.perf_counter(), pool.is_compiling
        ended = pool.wait(_HEARTBEAT)
        if compiling:
            race.give_back(time.perf_counter() - began)
        for outcome in ended:
            del active[outcome.key]
            race.end(outcome)
        if not isinstance(pool, Inline) and report(next(iter(active), None)):
            return
    active.clear()
    race.finish()
    report(None)


def _write_fit(fit: PlannedFit) -> str:
    return f"{fit.name} ({'first answer' if fit.is_first else f'fold {fit.fold + 1}'})"


def judge_fit(arena: Arena, fit: PlannedFit) -> FoldResult:
    """One fit of a comparison; a first answer is fitted to a few rows, with usual parameters."""
    machine, split, plan = arena.machines[fit.name], arena.splits[fit.fold], arena.plan
    begun = np.array([time.perf_counter(), time.process_time()])
    if not fit.is_first:
        found = judge_machine(machine, arena.rows, arena.truth, split, plan, fit.fold)
        ended = np.array([time.perf_counter(), time.process_time()])
        return replace(found, effort=float((ended - begun).min()))
    (train, test), y, classes = split, arena.rows.y, plan.classes is not None
    train = train[sample_rows(y[train], FIRST_ROWS, classes, plan.random_state)]
    test = test[sample_rows(y[test], FIRST_TESTED, classes, plan.random_state)]
    quick = replace(plan, tunes=False, tuning_rows=FIRST_ROWS)
    found = judge_machine(machine, arena.rows, arena.truth, (train, test), quick, fit.fold)
    return replace(found, is_first=True, tested=test)


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
    with warnings.catch_warnings(record=True) as caught, CompilationClock() as compiling:
        warnings.simplefilter("always")
        try:
            instants = [time.perf_counter()]
            trained = train_machine(machine, rows.take(train), plan)
            instants.append(time.perf_counter() - compiling.seconds)
            tested = rows.take(test)
            answers, probabilities = trained.answer(tested.X, tested.times, plan)
            instants.append(time.perf_counter() - compiling.seconds)
        except Exception as error:
            failure = f"{error}".split("\n")[0] or type(error).__name__
            return FoldResult(machine.name, fold, failure=failure)
    learning, predicting = np.diff(instants)
    seconds = {"seconds_learning": float(learning), "seconds_predicting": float(predicting)}
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


def _score_baseline(arena: Arena) -> float:
    """The mean score of the baseline, which looks at no column: the shares of the classes, the
    class of least cost, or the mean."""
    machine, rows = GUESTS[arena.plan.task][BASELINE], arena.rows
    plain = replace(rows, X=np.zeros((len(arena.truth), 1)))
    found = [judge_machine(machine, plain, arena.truth, s, arena.plan) for s in arena.splits]
    return average_folds([result.scores[arena.plan.measure] for result in found])


def _describe(rows: EvaluationRows, classes: Array | None, truth: Array) -> str:
    """Rows, columns and target in a line."""
    size = f"{len(truth)} rows, {rows.X.shape[1]} columns"
    if classes is None:
        return f"{size}; target from {write_plain(truth.min(), 4)} to {write_plain(truth.max(), 4)}"
    counts = np.bincount(truth, minlength=len(classes))
    shown = ", ".join(f"{c} {n}" for c, n in zip(classes[:6].tolist(), counts, strict=False))
    more = f" and {len(classes) - 6} more classes" if len(classes) > 6 else ""
    return f"{size}; target: {shown}{more}"
