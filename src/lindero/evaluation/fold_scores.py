"""Scores of the folds of one machine: what it said of the test rows, and what that is worth.

Scores of a fold are those of its own rows; whatever has to be fitted to say them comes from the
other folds. Support vector machines have decision values, not probabilities: a curve from the ones
to the others is fitted to the decisions of all other folds, a sigmoid for two classes (Platt), a
temperature for more. So is the threshold from which on a class is answered, where a measure or
costs ask for one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lindero.evaluation.build import compute_decisions, predict_rows, unwrap_machine
from lindero.evaluation.decisions import decide_classes
from lindero.evaluation.measures import (
    LABELS,
    PROBABILITIES,
    choose_measure,
    choose_others,
    choose_threshold,
    code_labels,
    count_confusions,
    find_measure,
    find_positive,
    has_probabilities,
    list_measures,
    make_cost_matrix,
    measure_machine,
    read_costs,
    score,
)
from lindero.evaluation.registry import (
    CLASSIFICATION,
    NOVELTY,
    REGRESSION,
    TAGGING,
    MachineSpec,
    Strategy,
)
from lindero.evaluation.rows import EvaluationRows
from lindero.models.probabilities import ProbabilityCurve, arrange_by_class, fit_column_curve
from lindero.runtime.arrays import Array


@dataclass(frozen=True)
class FoldRecord:
    """What a machine said of the test rows of a fold: positions of true and predicted classes, and
    probabilities or decision values, a column for each class; or scores that need nothing else."""

    truth: Array
    answers: Array
    probabilities: Array | None = None
    decisions: Array | None = None
    weights: Array | None = None
    scores: dict[str, float] | None = None


@dataclass(frozen=True)
class FoldJudge:
    """Which measures are told of a machine, and how: the one that it is to be good at first."""

    machine: MachineSpec
    measure: str
    names: tuple[str, ...]
    reason: str = ""
    classes: Array | None = None
    costs: Array | None = None
    #: Whether the machine has the costs inside, so that its answers are to stay as they are.
    knows_costs: bool = False
    positive: int | None = None

    @classmethod
    def plan(
        cls, machine: MachineSpec, model: Any, rows: EvaluationRows, measure: str | None, costs: Any
    ) -> FoldJudge:
        """What to tell of an unfitted model on these rows."""
        if machine.task not in (CLASSIFICATION, REGRESSION):
            if measure is not None or costs is not None:
                raise ValueError(f"{machine.name} is for {machine.task}: it has its own measure.")
            own = {NOVELTY: "outlier_share", TAGGING: "token_accuracy"}.get(machine.task, "ndcg@10")
            return cls(machine, own, (own,))
        if machine.task != CLASSIFICATION:
            if costs is not None:
                raise ValueError(
                    "costs are for classes, and the target is a number: leave them out."
                )
            chosen = "r2" if measure is None else find_measure(measure, machine.task).name
            names = [chosen, *(n for n in ("r2", "rmse", "mae") if n != chosen)]
            names += [n for n in list_measures(machine.task) if n not in names]
            return cls(machine, chosen, tuple(names))
        y = np.asarray(rows.y)
        classes = np.unique(y)
        matrix = read_costs(costs, classes)
        own_costs = make_cost_matrix(unwrap_machine(model), classes) if matrix is None else None
        given = matrix if matrix is not None else own_costs
        usual, reason = choose_measure(machine.task, y, given, rows.weights)
        if usual == "error":
            usual, reason = "accuracy", ""
        chosen = usual
        if measure is not None:
            chosen, reason = find_measure(measure, machine.task).name, ""
            if chosen == "cost" and given is None:
                raise ValueError("The measure cost needs costs: say what errors cost.")
        shown = choose_others(chosen, machine.task, y, given, rows.weights)
        shown = tuple("accuracy" if n == "error" and chosen != "error" else n for n in shown)
        shown = tuple(dict.fromkeys(shown))
        others = [n for n in list_measures(machine.task, given is not None) if n not in shown]
        positive = None
        if len(classes) == 2:
            positive = find_positive(code_labels(y, classes))
        inside = matrix is not None and machine.strategy is Strategy.COSTS and len(classes) == 2
        knows_costs = own_costs is not None or inside
        return cls(
            machine, chosen, (*shown, *others), reason, classes, given, knows_costs, positive
        )

    @property
    def aim(self) -> str:
        """What answers are to be good at."""
        return self.measure if self.costs is None else "cost"

    @property
    def tunes_threshold(self) -> bool:
        """Whether a threshold between two classes is tuned."""
        if self.classes is None or len(self.classes) != 2 or self.knows_costs:
            return False
        return find_measure(self.aim).needs == LABELS and self.aim not in ("error", "accuracy")

    @property
    def asks_for(self) -> str | None:
        """What a machine that is fitted to all rows must be good at beside its costs."""
        return None if self.classes is None or self.measure == "cost" else self.measure

    def weighs_classes(self, rows: EvaluationRows) -> bool:
        """Whether a class is rare, and something else than the error counts."""
        if self.classes is None or self.aim in ("error", "accuracy"):
            return False
        return choose_measure(CLASSIFICATION, rows.y, None, rows.weights)[0] == "log_loss"

    def watch(self, model: Any, part: EvaluationRows) -> FoldRecord:
        """What a fitted model says of some rows."""
        if self.classes is None:
            if self.machine.task == REGRESSION:
                answers = predict_rows(model, part.X, times=part.times, positions=part.positions)
                return FoldRecord(np.asarray(part.y), answers, weights=part.weights)
            scores = measure_machine(self.machine, model, part.X, **part.roles())
            return FoldRecord(np.empty(0), np.empty(0), scores=scores)
        truth = code_labels(np.asarray(part.y), self.classes)
        where = {"times": part.times, "positions": part.positions}
        answers = code_labels(predict_rows(model, part.X, **where), self.classes)
        probabilities = decisions = None
        if has_probabilities(model):
            probabilities = np.zeros((len(truth), len(self.classes)))
            columns = np.searchsorted(self.classes, model.classes_)
            probabilities[:, columns] = model.predict_proba(part.X)
        else:
            values = compute_decisions(model, part.X, **where)
            if values is not None:
                decisions = arrange_by_class(values, model.classes_, self.classes)
        return FoldRecord(truth, answers, probabilities, decisions, part.weights)

    def score_folds(
        self, records: Sequence[FoldRecord], names: Sequence[str] | None = None
    ) -> dict[str, list[float]]:
        """Scores of each fold, by measure; measures that are known of no fold are left out."""
        found: dict[str, list[float]] = {}
        for place, record in enumerate(records):
            if record.scores is not None:
                scores = record.scores
            else:
                others = [other for other in records if other is not record]
                scores = self._score_fold(record, others, names or self.names)
            for name, value in scores.items():
                found.setdefault(name, [math.nan] * place).append(value)
        return {name: told for name, told in found.items() if not np.isnan(told).all()}

    def score_measure(self, records: Sequence[FoldRecord]) -> list[float]:
        """The measure alone, fold by fold."""
        unknown = [math.nan] * len(records)
        return self.score_folds(records, [self.measure]).get(self.measure, unknown)

    def _score_fold(
        self, record: FoldRecord, others: Sequence[FoldRecord], names: Sequence[str]
    ) -> dict[str, float]:
        if self.classes is None:
            return {n: score(n, record.truth, record.answers, None, None, record.weights)
                    for n in names}  # fmt: skip
        deciding = self.tunes_threshold or (self.costs is not None and not self.knows_costs)
        told = {name: find_measure(name) for name in names}
        wants_curve = deciding or any(
            m.needs == PROBABILITIES and not m.by_order for m in told.values()
        )
        curve = None
        if record.decisions is not None and wants_curve:
            curve = self._fit_curve(others)
        answers, probabilities = record.answers, record.probabilities
        if curve is not None:
            assert record.decisions is not None
            probabilities = curve(record.decisions)
        if deciding and probabilities is not None:
            answers = self._decide(answers, probabilities, others, curve)
        scores = {}
        for name, measure in told.items():
            plain = measure.by_order and record.probabilities is None
            table = record.decisions if plain else probabilities
            given = record.truth, answers, table, self.costs, record.weights
            scores[name] = score(name, *given, positive=self.positive)
        return scores

    def _decide(
        self, answers: Array, probabilities: Array, others: Sequence[FoldRecord], curve: Any
    ) -> Array:
        """Answers by the threshold that is best for the other folds, or of least cost."""
        if self.tunes_threshold:
            return decide_classes(probabilities, self._choose_threshold(others, curve))
        return decide_classes(probabilities, costs=self.costs)

    def _choose_threshold(self, records: Sequence[FoldRecord], curve: Any = None) -> float | None:
        tables = [
            r.probabilities if r.probabilities is not None else curve(r.decisions)
            for r in records
            if r.probabilities is not None or (curve is not None and r.decisions is not None)
        ]
        if not tables or len(tables) != len(records):
            return None
        weights = None
        if all(r.weights is not None for r in records):
            weights = np.concatenate([np.asarray(r.weights) for r in records])
        truth = np.concatenate([r.truth for r in records])
        given = truth, np.concatenate(tables), self.aim, self.costs, weights
        return choose_threshold(*given, positive=self.positive)

    def _fit_curve(self, records: Sequence[FoldRecord]) -> ProbabilityCurve | None:
        known = [r for r in records if r.decisions is not None]
        if not known:
            return None
        values = np.concatenate([np.asarray(r.decisions) for r in known])
        truth = np.concatenate([r.truth for r in known])
        weights = None
        if all(r.weights is not None for r in known):
            weights = np.concatenate([np.asarray(r.weights) for r in known])
        if len(np.unique(truth[truth >= 0])) < 2:
            return None
        return fit_column_curve(values, truth, weights)


@dataclass(frozen=True)
class ModelScores:
    """How good a fitted model is on rows it was not trained with, beside a baseline that looks at
    no column: the shares of the classes of these rows, or their mean.

    `model` and `baseline` are scores by the name of the measure, the one that machines would be
    ranked by on these rows first; `reason` is why accuracy says little, if it does. `confusion`
    has a row for each true class among `labels` and a column for each predicted one.
    """

    model: dict[str, float]
    baseline: dict[str, float]
    reason: str = ""
    labels: tuple[Any, ...] = ()
    confusion: Array | None = None


def judge_model(machine: MachineSpec, model: Any, rows: EvaluationRows) -> ModelScores:
    """All measures of a fitted classifier or regression on some rows."""
    y, weights = np.asarray(rows.y), rows.weights
    if machine.task == REGRESSION:
        told = ("rmse", "mae", "r2")
        record = FoldJudge(machine, "rmse", told).watch(model, rows)
        usual = np.full(len(y), np.average(y, weights=weights))
        own = {n: score(n, y, record.answers, None, None, weights) for n in told}
        return ModelScores(own, {n: score(n, y, usual, None, None, weights) for n in told})
    classes = np.asarray(model.classes_)
    costs = getattr(model, "costs_", None)
    if costs is None:
        costs = make_cost_matrix(unwrap_machine(model), classes)
    chosen, reason = choose_measure(CLASSIFICATION, y, costs, weights)
    shown = choose_others(chosen, CLASSIFICATION, y, costs, weights)
    listed = (*shown, *list_measures(CLASSIFICATION, costs is not None))
    names = tuple(dict.fromkeys("accuracy" if name == "error" else name for name in listed))
    record = FoldJudge(machine, chosen, names, classes=classes).watch(model, rows)
    truth = record.truth
    counts = np.bincount(truth[truth >= 0], minlength=len(classes))
    shares = counts / max(1, int(counts.sum()))
    table = np.tile(shares, (len(truth), 1))
    positive = find_positive(truth) if len(classes) == 2 else None
    found: list[dict[str, float]] = []
    for answers, probabilities, decisions in (
        (record.answers, record.probabilities, record.decisions),
        (decide_classes(table, costs=costs), table, None),
    ):
        scores = {}
        for name in names:
            by_order = find_measure(name).by_order and probabilities is None
            values = decisions if by_order else probabilities
            value = score(name, truth, answers, values, costs, weights, positive=positive)
            if not math.isnan(value):
                scores[name] = value
        found.append(scores)
    labels = (*classes.tolist(), *(("(others)",) if (truth < 0).any() else ()))
    confusion = count_confusions(truth, record.answers, len(classes), weights)
    reason = reason.partition(": ")[2] if chosen == "log_loss" else ""
    return ModelScores(found[0], found[1], reason, labels, confusion)
