"""Where judgements are written down as they come in, in whatever order."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lindero.comparison.contenders import Contender
from lindero.comparison.results import Comparison, MachineResult
from lindero.machines.folds import Split
from lindero.runtime.arrays import Array


@dataclass(frozen=True)
class Judgement:
    """A machine on one fold: its scores and answers, or why there are none."""

    scores: dict[str, float] = field(default_factory=dict)
    seconds_learning: float = 0.0
    seconds_predicting: float = 0.0
    parameters: dict[str, Any] | None = None
    answers: Array | None = None
    probabilities: Array | None = None
    warnings: tuple[str, ...] = ()
    failure: str | None = None


@dataclass
class Scoreboard:
    """Judgements by machine and fold, and all that is known of the comparison."""

    contenders: Sequence[Contender]
    splits: Sequence[Split]
    n_first_round: int
    truth: Array
    classes: Array | None
    costs: Array | None
    data: str
    target: str
    time_respecting: bool
    baseline: float
    notes: tuple[str, ...]
    tuning_rows: int
    random_state: int
    begun: float
    failures: dict[str, str] = field(default_factory=dict)
    _entries: dict[tuple[str, int], Judgement] = field(default_factory=dict)

    def contender(self, name: str) -> Contender:
        return next(contender for contender in self.contenders if contender.name == name)

    def enter(self, name: str, fold: int, judgement: Judgement) -> None:
        """Write a judgement down; a machine that fails is out of the running."""
        if judgement.failure is not None:
            self.failures.setdefault(name, f"fold {fold + 1}: {judgement.failure}")
        self._entries[name, fold] = judgement

    @property
    def n_total(self) -> int:
        """Fits in all."""
        return len(self.contenders) * len(self.splits)

    @property
    def n_done(self) -> int:
        """Fits done, those that a failure makes needless among them."""
        running = sum(name not in self.failures for name, _ in self._entries)
        return running + len(self.failures) * len(self.splits)

    def comparison(self, *, complete: bool) -> Comparison:
        """What is known by now."""
        regression = self.classes is None
        measure = "rmse" if regression else "error" if self.costs is None else "cost"
        return Comparison(
            task="regression" if regression else "classification",
            measure=measure,
            data=self.data,
            target=self.target,
            classes=self.classes,
            costs=self.costs,
            n_rows=len(self.truth),
            fold_sizes=tuple((len(train), len(test)) for train, test in self.splits),
            time_respecting=self.time_respecting,
            truth=self.truth,
            machines=tuple(self._result(contender) for contender in self.contenders),
            baseline=self.baseline,
            notes=self.notes,
            seconds=time.perf_counter() - self.begun,
            complete=complete,
            tuning_rows=self.tuning_rows,
            random_state=self.random_state,
        )

    def _result(self, contender: Contender) -> MachineResult:
        n_folds, name = len(self.splits), contender.name
        measures = ("rmse", "mae") if self.classes is None else ("error", "log_loss", "cost")
        scores = {measure: np.full(n_folds, np.nan) for measure in measures}
        seconds = np.full((2, n_folds), np.nan)
        parameters: list[dict[str, Any] | None] = [None] * n_folds
        said: dict[str, None] = {}
        for fold in range(n_folds):
            entry = self._entries.get((name, fold))
            if entry is None or entry.failure is not None:
                continue
            for measure, value in entry.scores.items():
                scores[measure][fold] = value
            seconds[:, fold] = entry.seconds_learning, entry.seconds_predicting
            parameters[fold] = entry.parameters
            said.update(dict.fromkeys(entry.warnings))
        answers, probabilities = self._out_of_fold(name)
        return MachineResult(
            name=name,
            machine=contender.machine,
            simplicity=contender.simplicity,
            virtue=contender.virtue,
            scores=scores,
            seconds_learning=seconds[0],
            seconds_predicting=seconds[1],
            parameters=parameters,
            answers=answers,
            probabilities=probabilities,
            failure=self.failures.get(name),
            warnings=tuple(said),
        )

    def _out_of_fold(self, name: str) -> tuple[Array, Array | None]:
        """Answers and probabilities of the rows tested in the first round."""
        n_rows = len(self.truth)
        classes = self.classes
        answers = np.full(n_rows, np.nan) if classes is None else np.full(n_rows, -1)
        found = None if classes is None else np.full((n_rows, len(classes)), np.nan)
        known = False
        for fold, (_, test) in enumerate(self.splits[: self.n_first_round]):
            entry = self._entries.get((name, fold))
            if entry is None or entry.answers is None:
                continue
            answers[test] = entry.answers
            if found is not None and entry.probabilities is not None:
                found[test], known = entry.probabilities, True
        return answers, found if known else None
