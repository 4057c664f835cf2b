"""Discriminative parameters from rows in partitions: as in memory, one pass an iteration.

Cross-validation of the penalty needs the folds of the whole table (`folds`), cut points, arcs and
counts of its own for each, and then 6 · 5 problems, which are solved side by side. What a fold's
rows lose under each strength never leaves the partitions. The choice asks for means and variances
of differences; with ℓ_s the loss of a row under strength s, each pair has

    W = Σ w,   m_st = Σ w (ℓ_s − ℓ_t) / W,   S_st = Σ w (ℓ_s − ℓ_t − m_st)²,

which merge as the moments of columns do (`bayes.columns.moments`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.counts.counts import Counts
from lindero.bayes.discriminative.gaussians import GaussianColumns
from lindero.bayes.discriminative.learning import (
    FOLD_TOLERANCE,
    N_FOLDS,
    SOLVERS,
    STRENGTHS,
    DiscriminativeFit,
    EarlyStopping,
    choose_safest,
    compute_row_losses,
    drop_unseen_parents,
    require_options,
    restore_network,
    solve_problem,
)
from lindero.bayes.discriminative.objective import ConditionalProblem
from lindero.bayes.evidence import AnyCounts, Evidence, Sample
from lindero.bayes.kdb import KDependence
from lindero.bayes.learner import (
    DiscriminativeParameters,
    GivenFamilies,
    Learner,
    select_columns,
)
from lindero.bayes.networks.network import FamilyCounts, Network
from lindero.runtime.arrays import Array
from lindero.scale.conditional import KeptPart, RowPasses, Sums, count_side_by_side
from lindero.scale.folds import FoldPlan, Selection
from lindero.scale.grown import count_sample

# -- questions ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AskEvidence:
    """The counts of some rows; `known` has the arcs that they are to keep."""

    learner: Learner
    attributes: Attributes
    selection: Selection
    known: AnyCounts | None = None

    def answer(self, part: KeptPart) -> Evidence | None:
        sample = part.select(self.selection)
        if sample is None:
            return None
        return count_sample(self.learner, self.attributes, sample, self.known)


@dataclass(frozen=True, eq=False)
class FoldModel:
    """A network that rows are judged by, and what it knows of numbers."""

    network: Network
    mean: Array
    sd: Array

    def compute_losses(self, attributes: Attributes, varying: Array, sample: Sample) -> Array:
        """−log P(y | x) of every row."""
        codes, _ = attributes.encode(sample.table)
        numbers = np.ascontiguousarray(attributes.select_gaussian(sample.table)[varying])
        return compute_row_losses(self.network, self.mean, self.sd, codes, sample.y, numbers)


@dataclass(frozen=True, eq=False)
class AskLoss:
    """The log-loss of the rows of a fold, and their weight."""

    judged: FoldModel
    attributes: Attributes
    varying: Array
    only: int

    def answer(self, part: KeptPart) -> Sums | None:
        sample = part.select(Selection(only=self.only))
        if sample is None:
            return None
        losses = self.judged.compute_losses(self.attributes, self.varying, sample)
        weights = np.ones(len(losses)) if sample.weights is None else sample.weights
        return Sums((float(weights @ losses), float(weights.sum())))


@dataclass(frozen=True, eq=False)
class LossPairs:
    """Weight of rows, mean losses under each strength, and of differences of each two strengths
    mean and sum of squares about it; see the module."""

    weight: float
    losses: Array
    apart: Array
    squares: Array

    @classmethod
    def of(cls, losses: Array, weights: Array) -> LossPairs:
        """From the losses of rows, (n_strengths, n_rows)."""
        total = float(weights.sum())
        apart = losses[:, None] - losses[None]
        mean = apart @ weights / total
        squares = ((apart - mean[..., None]) ** 2) @ weights
        return cls(total, losses @ weights / total, mean, squares)

    def merge(self, other: LossPairs) -> LossPairs:
        total = self.weight + other.weight
        share, step = other.weight / total, other.apart - self.apart
        return LossPairs(
            total,
            self.losses + share * (other.losses - self.losses),
            self.apart + share * step,
            self.squares + other.squares + step * step * (self.weight * share),
        )


@dataclass(frozen=True, eq=False)
class AskLosses:
    """What the rows of a fold lose under each strength."""

    judged: tuple[FoldModel, ...]
    attributes: Attributes
    varying: Array
    only: int

    def answer(self, part: KeptPart) -> LossPairs | None:
        sample = part.select(Selection(only=self.only))
        if sample is None:
            return None
        losses = np.stack(
            [one.compute_losses(self.attributes, self.varying, sample) for one in self.judged]
        )
        return LossPairs.of(losses, np.ones(sample.n_rows) if sample.weights is None
                            else sample.weights)  # fmt: skip


# -- learning -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PartitionedTable:
    """Rows in partitions as `learner.LearningTable`. `sampled` are rows that cut points are learned
    from, with their folds; `held` is the fold that early stopping watches."""

    passes: RowPasses
    parameters: DiscriminativeParameters
    learner: Learner
    evidence: Evidence
    sampled: Sample
    sampled_folds: Array | None
    folds: FoldPlan
    held: int | None

    def watch(self, varying: Array, patience: int) -> EarlyStopping:
        """Early stopping by the rows that are held out; each look at them is a pass."""
        attributes, held = self.evidence.attributes, self.held
        assert held is not None

        def measure(network: Network, mean: Array, sd: Array) -> float:
            question = AskLoss(FoldModel(network, mean, sd), attributes, varying, held)
            loss, weight = self.passes.ask(question).values
            return float(loss / weight)

        return EarlyStopping.by(measure, patience)

    def learn(
        self,
        families: FamilyCounts,
        varying: Array,
        penalty: float,
        stopping: EarlyStopping | None,
    ) -> DiscriminativeFit:
        """Learn from the rows that are not held out."""
        options = self.parameters.options
        require_options(options["solver"], options["max_iter"])
        problem = self._pose(
            families, self.evidence, varying, Selection(held=self.held)
        ).with_penalty(penalty)
        return solve_problem(
            problem, families, tolerance=self.parameters.tol, stopping=stopping, **options
        )

    def _pose(
        self, families: FamilyCounts, evidence: Evidence, varying: Array, selection: Selection
    ) -> ConditionalProblem:
        moments = select_columns(evidence.moments, varying)
        return self.passes.pose(
            evidence.attributes, drop_unseen_parents(families), moments, self.learner.alpha,
            varying=varying, selection=selection,
        )  # fmt: skip

    def choose_penalty(self, families: FamilyCounts) -> tuple[float, dict[float, float]]:
        """By cut points, arcs and parameters of each fold, as in memory."""
        known = families if self.learner.structure.keeps_arcs else None
        total = int(self.folds.of_class.sum())
        sizes = {fold: self.folds.count_held(fold) for fold in range(N_FOLDS)}
        chosen = [fold for fold, n_held in sizes.items() if 0 < n_held < total]
        if not chosen:
            return STRENGTHS[-1], {}
        if self.learner.structure.is_time_up():
            chosen = chosen[:1]
        parts = self._count_folds(chosen, known)
        problems, tasks = [], []
        for fold, (evidence, own) in zip(chosen, parts, strict=True):
            outside = Selection(without=fold)
            problems.append(self._pose(own, evidence, evidence.moments.varying, outside))
            tasks += [partial(self._solve, problems[-1], own, weight) for weight in STRENGTHS]
        at_once = min(map(count_side_by_side, problems))
        found: list[FoldModel] = []
        for first in range(0, len(tasks), at_once):
            found += self.passes.run_side_by_side(tasks[first : first + at_once])
        n = len(STRENGTHS)
        questions = [
            AskLosses(
                tuple(found[n * k : n * k + n]), evidence.attributes, evidence.moments.varying, fold
            )
            for k, (fold, (evidence, _)) in enumerate(zip(chosen, parts, strict=True))
        ]
        answers = self.passes.ask_all(questions)
        pairs: LossPairs = answers[0]
        for more in answers[1:]:
            pairs = pairs.merge(more)
        best = int(np.argmin(pairs.losses))
        variance = pairs.squares[:, best] / pairs.weight
        safest = choose_safest(best, pairs.apart[:, best], variance, pairs.weight)
        return STRENGTHS[safest], dict(zip(STRENGTHS, pairs.losses.tolist(), strict=True))

    def _solve(
        self, problem: ConditionalProblem, families: FamilyCounts, strength: float
    ) -> FoldModel:
        """The parameters that learning with a penalty comes to."""
        options = self.parameters.options
        posed = problem.with_penalty(strength)
        found = SOLVERS[options["solver"]](
            posed, options["max_iter"], FOLD_TOLERANCE, None
        ).parameters
        units: GaussianColumns = problem.rows.gaussian
        network = restore_network(posed.build_network(found), families)
        return FoldModel(network, *units.unstandardise(found.mean, found.sd))

    def _count_folds(
        self, folds: list[int], known: FamilyCounts | None
    ) -> list[tuple[Evidence, FamilyCounts]]:
        """Counts and families of the rows outside of each fold, by cut points of their own."""
        assert self.sampled_folds is not None
        attributes = []
        for fold in folds:
            own = self.sampled.take(np.flatnonzero(self.sampled_folds != fold))
            attributes.append(self.learner.learn_cuts(self.evidence.attributes, own))
        found = count_selected(
            self.passes, self.learner, attributes, [Selection(without=k) for k in folds], known
        )
        structure = self.learner.structure
        return [(one, structure.find_families(one.counts, one.attributes)) for one in found]


def count_selected(
    passes: RowPasses,
    learner: Learner,
    attributes: list[Attributes],
    selections: list[Selection],
    known: AnyCounts | None = None,
) -> list[Evidence]:
    """The counts of several selections of the rows in one pass; in two for a `KDB`, whose arcs
    follow from pairs."""
    if known is not None:
        learner = replace(learner, structure=GivenFamilies())
    make: Callable[..., AskEvidence] = partial(AskEvidence, learner)
    found: list[Evidence] = passes.ask_all(
        [make(own, some, known) for own, some in zip(attributes, selections, strict=True)]
    )
    structure = learner.structure
    if not isinstance(structure, KDependence) or known is not None:
        return found
    questions = []
    for own, some, one in zip(attributes, selections, found, strict=True):
        assert isinstance(one.counts, Counts)
        questions.append(make(own, some, structure.name_arcs(one.counts)))
    return passes.ask_all(questions)
