"""How well a machine does on rows that it has not seen."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from lindero.errors import count_alike, warn_user
from lindero.evaluation.build import fit_machine, make_machine, require_target, scale_to_target
from lindero.evaluation.fold_scores import FoldJudge, FoldRecord
from lindero.evaluation.folds import Split, make_splits
from lindero.evaluation.measures import average_folds, measure_spread, put_costs_inside
from lindero.evaluation.registry import CLUSTERING, MachineSpec, find_machine
from lindero.evaluation.rows import EvaluationRows, drop_unlabelled, warn_of_order
from lindero.runtime.compilation import CompilationClock

#: Called with the number of fits done, and of all.
FitsDone = Callable[[int, int], None]


@dataclass(frozen=True)
class CrossValidation:
    """Scores of a machine on each fold, from :func:`cross_validate`.

    Attributes
    ----------
    machine : str
        Its name.
    params : dict
        Parameters that were set.
    measure : str
        The measure that machines are chosen by.
    scores : dict of str to list of float
        Every measure, fold by fold; the one that machines are chosen by first, and two others that
        are shown beside it.
    seconds : list of float
        Time of each fit.
    reason : str
        Why it is this measure.

    See Also
    --------
    cross_validate : Where it comes from.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lindero.evaluation import cross_validate
    >>> result = cross_validate("naive-bayes", *load_iris(return_X_y=True))
    >>> result.measure, result.measures
    ('accuracy', ('accuracy', 'log_loss', 'roc_auc'))
    """

    machine: str
    params: dict[str, Any]
    measure: str
    scores: dict[str, list[float]]
    seconds: list[float]
    reason: str = ""

    @property
    def measures(self) -> tuple[str, ...]:
        """What is shown: the measure first, and two others."""
        return tuple(self.scores)[:3]

    def mean(self, measure: str | None = None) -> float:
        """Mean of a measure, by default the principal one, over the folds that could be judged."""
        return average_folds(self.scores[measure or self.measure])

    def std(self, measure: str | None = None) -> float:
        """Its standard deviation over the folds."""
        return measure_spread(self.scores[measure or self.measure])

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "machine": self.machine,
            "params": self.params,
            "measure": self.measure,
            "reason": self.reason,
            "mean": {name: self.mean(name) for name in self.scores},
            "std": {name: self.std(name) for name in self.scores},
            "folds": self.scores,
            "seconds": self.seconds,
        }


def cross_validate(
    machine: str | MachineSpec,
    X: Any,
    y: Any = None,
    *,
    params: Mapping[str, Any] | None = None,
    measure: str | None = None,
    costs: Any = None,
    times: Any = None,
    qid: Any = None,
    weights: Any = None,
    positions: Any = None,
    folds: int = 5,
    random_state: int = 0,
    progress: FitsDone | None = None,
) -> CrossValidation:
    """Cross-validate a machine: train it on all folds but one, test it on that one, and so on.

    Scales and categories are learned anew in each fold. Rows of a query stay together. Where rows
    have times, or the machine takes times and no positions are given, each fold is tested after
    training on earlier rows.
    Where C and epsilon of a regression are not set, they are in units of the target's standard
    deviation.

    Parameters
    ----------
    machine : str or MachineSpec
        Its name, one of :data:`~lindero.evaluation.MACHINES`.
    X, y : table and array-like
        Rows and their targets; rows without one are left out.
    params : dict or None, default=None
        Parameters of the machine.
    measure : str or None, default=None
        What the machine is to be good at, one of :data:`~lindero.evaluation.MEASURES`. None is cost
        where there are costs, log-loss where a class is rare (below 20 % of the rows and below half
        of an equal share), accuracy for other classes, R² for numbers.
    costs : mapping or array-like of shape (n_classes, n_classes), default=None
        Cost of predicting the class of a column where that of a row is true; or a mapping from
        (true, predicted), other errors costing 1. Answers are then those of least expected cost.
    times, qid, weights : array-like or None, default=None
        Time, query and weight of each row.
    positions : array-like of shape (n_samples, n_coordinates) or None, default=None
        Where each row is, for adaptive machines. Test rows have training rows beside them, so that
        the score is one of places in between.
    folds : int, default=5
        Number of folds.
    random_state : int, default=0
        Seed of the shuffling.
    progress : callable or None, default=None
        Called with the number of fits done and the number of all.

    Returns
    -------
    result : CrossValidation

    See Also
    --------
    tune : Chooses parameters by cross-validation.
    compare : Many machines on the same folds.

    Notes
    -----
    Ctrl-C ends it with a KeyboardInterrupt whose attribute `result` holds the folds done until
    then; it has none before the first.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lindero.evaluation import cross_validate
    >>> X, y = load_iris(return_X_y=True)
    >>> result = cross_validate("svc", X, y, params={"C": 10})
    >>> result.mean() > 0.9, len(result.scores["accuracy"])
    (True, 5)
    """
    rows = EvaluationRows(X, y, times, qid, weights, positions)
    found, rows, splits = prepare_folds(machine, rows, folds, random_state)
    if found.task == CLUSTERING:
        raise ValueError(
            f"{found.name} finds groups without a target, so no fold says how good they are."
        )
    given = put_costs_inside(found, params or {}, costs, rows.y)
    model = make_machine(found, given, random_state=random_state)
    judge = FoldJudge.plan(found, model, rows, measure, costs)
    result = CrossValidation(found.name, given, judge.measure, {}, [], judge.reason)
    records: list[FoldRecord] = []

    def sum_up() -> CrossValidation:
        return replace(result, scores=judge.score_folds(records))

    try:
        with WarnOnce():
            for done, (train, test) in enumerate(splits, start=1):
                seen, unseen = rows.take(train), rows.take(test)
                begun = time.perf_counter()
                with CompilationClock() as clock:
                    fitted = fit_machine(clone(model), seen.X, **seen.roles())
                seconds = time.perf_counter() - begun - clock.seconds
                records.append(judge.watch(fitted, unseen))
                result.seconds.append(seconds)
                if progress is not None:
                    progress(done, len(splits))
    except KeyboardInterrupt as interrupt:
        if records:
            interrupt.result = sum_up()  # type: ignore[attr-defined]
        raise
    return sum_up()


def prepare_folds(
    machine: str | MachineSpec, rows: EvaluationRows, folds: int, random_state: int
) -> tuple[MachineSpec, EvaluationRows, list[Split]]:
    """A machine in the unit of the target, the rows that have one, and their folds."""
    found = find_machine(machine) if isinstance(machine, str) else machine
    if found.has_target:
        rows = drop_unlabelled(rows)
        found = scale_to_target(found, rows.y)
        require_target(found, rows.y)
    if rows.qid is None:
        warn_of_order(rows)
    placed = found if rows.positions is None else replace(found, takes_times=False)
    splits = make_splits(
        placed, _num_samples(rows.X), rows.y, times=rows.times, qid=rows.qid, folds=folds,
        random_state=random_state,
    )  # fmt: skip
    return found, rows, splits


class WarnOnce:
    """Warnings of what is inside ``with``, once each at its end with how many there were, instead
    of once a fit. Filters of the user hold: what is an error or ignored is that at once."""

    def __enter__(self) -> Self:
        self._catcher = warnings.catch_warnings(record=True)
        self._caught = self._catcher.__enter__()
        warnings.simplefilter("always", append=True)
        return self

    def __exit__(self, *error: Any) -> None:
        self._catcher.__exit__(*error)
        by_category: dict[type[Warning], list[str]] = {}
        for warning in self._caught or ():
            by_category.setdefault(warning.category, []).append(str(warning.message))
        for category, messages in by_category.items():
            for message in count_alike(messages):
                warn_user(message, category)
