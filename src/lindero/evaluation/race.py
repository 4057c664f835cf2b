"""The race between the machines of a comparison: what is known, what is fitted next, who drops out.

Without a time budget every machine is fitted to every fold. Only machines that take long, and are
worse than another by far more than chance on the rows of a fold, are not fitted to the others.

With a time budget a comparison is a race by successive halving:

1. First answers: every machine with its usual parameters on a few rows. Slow ones are stopped.
   scikit-learn's come first: nothing of theirs has to be compiled.
2. The first fold, all of its rows: the fastest machines first. A machine may take an equal share of
   the time that is left to those which wait, and is stopped after it.
3. Further folds. Where time does not suffice for three folds of all machines, the slowest of the
   worse half is dropped, until it does. More folds are done as long as there is time.

Time in which loops are compiled, which happens once on a machine, is given back, up to as much as
the budget itself: else the first comparison of all would judge compilers.

A machine that drops out says why. Where time is over before anyone has done a fold, first answers
are all there is, and the result says so.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lindero.evaluation.folds import Split
from lindero.evaluation.learning import ComparisonPlan
from lindero.evaluation.measures import find_measure, find_row_losses, list_measures
from lindero.evaluation.registry import BASELINE, MachineSpec
from lindero.evaluation.results import Comparison, MachineResult, write_score
from lindero.runtime.arrays import Array
from lindero.runtime.workers import Outcome

#: Rows of first answers, and rows that these are judged on.
FIRST_ROWS, FIRST_TESTED = 500, 1000

#: A machine that takes fewer seconds a fold than this is never dropped for being worse.
_SLOW = 5.0

#: Standard errors by which a slow machine is worse than another beyond doubt.
_BEYOND_DOUBT = 3.0

#: The share of time that is planned with: fits differ, and the last ones end at different times.
_PLANNED = 0.85

#: Of a time budget, what first answers may take in all, and the first fold of a single machine.
_FOR_FIRST, _FOR_ONE = 0.25, 0.3

#: Folds of all machines that are worth dropping a machine for.
_FEWEST_FOLDS = 3

#: Seconds that any fit may take, unless time is over.
_LEAST = 4.0


@dataclass(frozen=True)
class PlannedFit:
    """A machine on a fold; `is_first` for a first answer, on a few rows of the first fold."""

    name: str
    fold: int
    is_first: bool = False


@dataclass(frozen=True)
class FoldResult:
    """A machine on one fold: its scores, times and predictions, or why there are none. `tested` are
    the rows of a first answer."""

    name: str
    fold: int
    scores: dict[str, float] = field(default_factory=dict)
    parameters: dict[str, Any] | None = None
    answers: Array | None = None
    probabilities: Array | None = None
    warnings: tuple[str, ...] = ()
    failure: str | None = None
    is_first: bool = False
    tested: Array | None = None
    #: Seconds of the processor, or by the clock if fewer: other work hardly changes them.
    effort: float = 0.0


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
    notes: list[str] = field(default_factory=list)
    first: dict[str, FoldResult] = field(default_factory=dict)
    _entries: list[FoldResult] = field(default_factory=list)

    def enter(self, result: FoldResult) -> None:
        """Add a result; a machine that fails is out of the running. It may fail on a few rows, and
        not on all."""
        if result.is_first:
            if result.failure is None:
                self.first[result.name] = result
            return
        if result.failure is not None:
            self.failures.setdefault(result.name, f"fold {result.fold + 1}: {result.failure}")
        self._entries.append(result)

    def find(self, name: str) -> dict[int, FoldResult]:
        """What a machine has done, by fold."""
        return {e.fold: e for e in self._entries if e.name == name and e.failure is None}

    @property
    def first_scores(self) -> dict[str, float]:
        """Scores of first answers, by machine."""
        return {name: found.scores[self.plan.measure] for name, found in self.first.items()}

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
        whole = any(entry.failure is None for entry in self._entries)
        notes = [] if whole or not self.first else [
            f"No machine has done a fold: the scores are of first answers, from {FIRST_ROWS} rows "
            "and with usual parameters."
        ]  # fmt: skip
        if complete is None:
            complete = self.n_done == self.n_total and not notes
        return replace(
            self.start,
            machines=tuple(self._collect(machine, whole) for machine in self.contenders),
            seconds=time.perf_counter() - self.begun,
            complete=complete,
            notes=(*self.start.notes, *self.notes, *notes),
        )

    def _collect(self, machine: MachineSpec, whole: bool) -> MachineResult:
        name, classes, folds = machine.name, self.plan.classes, range(len(self.splits))
        own, failure = self.find(name), self.failures.get(name)
        if not whole and name in self.first:
            own, failure = {0: self.first[name]}, None

        def by_fold(measure: str) -> Array:
            scores = (own[fold].scores if fold in own else {} for fold in folds)
            return np.array([found.get(measure, np.nan) for found in scores])

        measures = list_measures(self.plan.task, self.plan.costs is not None)
        measures += [self.plan.measure] if self.plan.measure not in measures else []
        # Answers and probabilities of the rows tested in the first round.
        n_rows, probabilities = self.start.n_rows, None
        answers = np.full(n_rows, np.nan) if classes is None else np.full(n_rows, -1)
        for fold, (_, rows) in enumerate(self.splits[: self.n_first_round]):
            if fold not in own:
                continue
            tested = own[fold].tested
            test = rows if tested is None else tested
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
            failure=failure,
            warnings=tuple(dict.fromkeys(w for fold in sorted(own) for w in own[fold].warnings)),
        )


class Race:
    """Which fit comes next, how long it may take, and which machines drop out.

    `budget` is in seconds from the beginning of the comparison, None for no limit.
    """

    def __init__(self, board: Scoreboard, n_workers: int, budget: float | None) -> None:
        self._board, self._n_workers, self._budget = board, n_workers, budget
        self._names = [machine.name for machine in board.contenders]
        self._seconds: dict[str, float] = {}  # of a fold, or of the first answer
        self._effort: dict[str, float] = {}
        self._running: set[PlannedFit] = set()
        self._begun: set[PlannedFit] = set()
        self._given_back = 0.0  # seconds of compiling
        self._settled = 0  # folds after which it was decided who goes on

    # -- what comes next ---------------------------------------------------------------------------

    def next(self) -> tuple[PlannedFit, float | None] | None:
        """The next fit, and the seconds it may take; None where there is none, or none yet."""
        if self._budget is None:
            fit = self._pick_fold(self._rank_by_time)
            return None if fit is None else (fit, None)
        left = self._time_left()
        if left <= 0.0:
            return None
        # Guests have nothing to compile: they are known, whatever happens to the others.
        simple = sorted(
            self._board.contenders,
            key=lambda m: (not m.is_guest or m.estimator is not None, m.simplicity),
        )
        first = [PlannedFit(machine.name, 0, is_first=True) for machine in simple]
        waiting = [fit for fit in first if fit not in self._begun]
        if waiting:
            share = _FOR_FIRST * self._budget * self._n_workers / len(first)
            return waiting[0], min(left, max(_LEAST, share))
        if any(fit in self._running for fit in first):
            return None
        waiting = [fit for fit in self._list_fold(0) if fit not in self._begun]
        if waiting:
            fit = min(waiting, key=lambda fit: self._seconds.get(fit.name, math.inf))
            share = _PLANNED * left * self._n_workers / len(waiting)
            return fit, min(left, max(_LEAST, min(share, _FOR_ONE * self._budget)))
        fit = self._pick_fold(self._rank_by_score)
        return None if fit is None else (fit, left)

    def begin(self, fit: PlannedFit) -> None:
        """Note that a fit has begun."""
        self._running.add(fit)
        self._begun.add(fit)

    def end(self, outcome: Outcome) -> None:
        """Note how a fit has ended."""
        fit: PlannedFit = outcome.key
        self._running.discard(fit)
        if outcome.value is not None:
            self._board.enter(outcome.value)
            if outcome.value.failure is None:
                self._seconds[fit.name] = outcome.seconds
                self._effort[fit.name] = outcome.value.effort
        elif outcome.lost:
            why = "its process was ended by the system; perhaps there is too little memory."
            self._board.enter(FoldResult(fit.name, fit.fold, failure=why, is_first=fit.is_first))
        elif not fit.is_first and self._time_left() > 0.5:
            self.drop(fit.name, f"not done in {outcome.seconds:.0f} s, its share of the time")

    def give_back(self, seconds: float) -> None:
        """Lengthen the time by seconds in which loops were compiled."""
        if self._budget is not None:
            self._given_back = min(self._budget, self._given_back + seconds)

    @property
    def is_over(self) -> bool:
        """Whether time is over."""
        return self._time_left() <= 0.0

    def _time_left(self) -> float:
        if self._budget is None:
            return math.inf
        return self._board.begun + self._budget + self._given_back - time.perf_counter()

    def _list_fold(self, fold: int) -> list[PlannedFit]:
        left = (name for name in self._names if name not in self._board.failures)
        return [PlannedFit(name, fold) for name in left]

    def _pick_fold(self, rank: Any) -> PlannedFit | None:
        """A fit of the first fold that has any left, the first by rank."""
        for fold in range(len(self._board.splits)):
            if fold > self._settled and not self._settle(fold):
                # Some are still at a fold before. The best will surely go on.
                leaders = [fit for fit in self._list_leaders(fold) if fit not in self._begun]
                if leaders:
                    return rank(leaders)  # type: ignore[no-any-return]
                continue
            waiting = [fit for fit in self._list_fold(fold) if fit not in self._begun]
            if waiting:
                return rank(waiting)  # type: ignore[no-any-return]
        return None

    def _rank_by_time(self, fits: list[PlannedFit]) -> PlannedFit:
        """The slowest first, so that no one waits for it in the end; as listed if unknown."""
        if self._n_workers == 1:
            return fits[0]
        return max(fits, key=lambda fit: self._seconds.get(fit.name, math.inf))

    def _rank_by_score(self, fits: list[PlannedFit]) -> PlannedFit:
        return min(fits, key=lambda fit: self._loss(fit.name))

    def _list_leaders(self, fold: int) -> list[PlannedFit]:
        if self._budget is None:
            return self._list_fold(fold)
        known = [fit for fit in self._list_fold(fold) if self._board.find(fit.name)]
        ordered = sorted(known, key=lambda fit: self._loss(fit.name))
        return ordered[: max(1, len(self._names) // 3)]

    # -- who drops out -----------------------------------------------------------------------------

    def drop(self, name: str, why: str) -> None:
        """Take a machine out of the running, with a sentence."""
        done = self._board.find(name)
        where = f"after fold {max(done) + 1}" if done else "at fold 1"
        said = f"dropped {where}: {why}"
        if not done and name in self._board.first:
            measure = self._board.plan.measure
            own = write_score(measure, self._board.first_scores[name])
            said += f"; from {FIRST_ROWS} rows its {find_measure(measure).title} was {own}"
        self._board.failures.setdefault(name, f"{said}.")

    def _settle(self, fold: int) -> bool:
        """Decide who goes on to a fold; False while the one before is not done by all."""
        if any(fit.fold < fold for fit in self._running):
            return False
        self._settled = fold
        self._drop_hopeless()
        if self._budget is not None:
            self._drop_slow(max(1, min(_FEWEST_FOLDS, len(self._board.splits)) - fold))
        return True

    def _drop_hopeless(self) -> None:
        """Drop slow machines that are worse than another beyond doubt, by the rows of a fold."""
        board = self._board
        for machine in board.contenders:
            name, seconds = machine.name, self._seconds.get(machine.name, 0.0)
            if name in board.failures or self._effort.get(name, 0.0) < _SLOW:
                continue
            for other in self._names:
                if other not in board.failures and self._is_beyond_doubt(name, other):
                    measure = board.plan.measure
                    own, better = self._mean(name), self._mean(other)
                    self.drop(
                        name,
                        f"{find_measure(measure).title} {write_score(measure, own)} against "
                        f"{write_score(measure, better)} of {other}, and {seconds:.0f} s a fold",
                    )
                    break

    def _is_beyond_doubt(self, name: str, other: str) -> bool:
        board = self._board
        worse, better = board.find(name), board.find(other)
        if not worse or self._loss(other) >= self._loss(name):
            return False
        measure = find_measure(board.plan.measure)
        differences = []
        for fold in worse.keys() & better.keys():
            truth, pair = board.start.truth[board.splits[fold][1]], (worse[fold], better[fold])
            if not measure.by_rows:
                known = all(entry.probabilities is not None for entry in pair)
                measure = find_measure("log_loss" if known else "error")
            losses = [
                find_row_losses(measure, truth, e.answers, e.probabilities, board.plan.costs)
                for e in pair
            ]
            differences.append(losses[0] - losses[1])
        if not differences:
            return False
        every = np.concatenate(differences)
        error = float(np.std(every)) / math.sqrt(len(every))
        return bool(np.mean(every) > _BEYOND_DOUBT * error)

    def _drop_slow(self, n_folds: int) -> None:
        """Drop the slowest of the worse half until the time that is left suffices."""
        board = self._board
        left = [name for name in self._names if name not in board.failures and name != BASELINE]
        allowed = _PLANNED * self._time_left() * self._n_workers
        while len(left) > 2:
            needed = n_folds * sum(self._seconds.get(name, 0.0) for name in left)
            if needed <= allowed:
                return
            ordered = sorted(left, key=self._loss)
            worse = ordered[max(1, len(ordered) // 2) :]
            slowest = max(worse, key=lambda name: self._seconds.get(name, 0.0))
            measure, leader = board.plan.measure, ordered[0]
            self.drop(
                slowest,
                f"{self._seconds.get(slowest, 0.0):.1f} s a fold are too many for the time left, "
                f"and its {find_measure(measure).title} is "
                f"{write_score(measure, self._mean(slowest))} against "
                f"{write_score(measure, self._mean(leader))} of {leader}",
            )
            left.remove(slowest)

    def _mean(self, name: str) -> float:
        found = [
            entry.scores[self._board.plan.measure] for entry in self._board.find(name).values()
        ]
        return float(np.mean(found)) if found else math.nan

    def _loss(self, name: str) -> float:
        """The mean score so far, or that of the first answer, less being better."""
        value = self._mean(name)
        if math.isnan(value):
            value = self._board.first_scores.get(name, math.nan)
        oriented = float(find_measure(self._board.plan.measure).orient(value))
        return math.inf if math.isnan(oriented) else oriented

    def finish(self) -> None:
        """Say of each machine what became of it, once there is nothing more to do."""
        board = self._board
        late = [name for name in self._names if not board.find(name)]
        if self._budget is None or not (board.first or self.is_over):
            return
        if self._given_back > 1.0:
            board.notes.append(
                f"Loops were compiled for {self._given_back:.0f} s, which happens once on a "
                "machine and is no part of the time budget."
            )
        if len(late) < len(self._names):
            for name in late:
                self.drop(name, "not done when time was over")
        if board.n_done < board.n_total or len(late) == len(self._names):
            board.notes.append(
                f"The time budget of {self._budget:g} s was over before all folds were done: a "
                "longer one (time_budget=, --time-budget) makes scores more certain."
            )
