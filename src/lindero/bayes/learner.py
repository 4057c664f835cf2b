"""How a classifier learns: table → attributes → counts → network.

A `Learner` holds two strategies. A `StructureLearner` says which attributes depend on which, and
what has to be counted to know; parameters of that graph are

    generative        θ maximises Σ log P(x, y; θ): shares of counts
    discriminative    θ maximises Σ log P(y | x; θ): counts moved by the TM algorithm
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.columns.moments import Moments
from lindero.bayes.counts.counting import CodedRows
from lindero.bayes.discriminative.convergence import Convergence
from lindero.bayes.discriminative.learning import (
    N_FOLDS,
    DiscriminativeFit,
    EarlyStopping,
    LearningRows,
    PenaltyFold,
    assign_folds,
    choose_penalty,
    learn_discriminatively,
)
from lindero.bayes.evidence import AnyCounts, Evidence, Sample
from lindero.bayes.networks.inference import Estimate, JointModel
from lindero.bayes.networks.network import FamilyCounts
from lindero.errors import warn_user
from lindero.runtime.arrays import Array

#: Iterations without improvement after which early stopping ends learning.
_PATIENCE = 5

#: The fold that early stopping watches.
HELD_FOLD = 1

#: Numbers times iterations: as much takes a minute or so.
_MUCH_WORK = 1e9


class StructureLearner(ABC):
    """Abstract. Which attributes depend on which, and what has to be counted to know."""

    #: Whether counts do not tell which arcs to have, so that rows are needed.
    needs_rows: ClassVar[bool] = False

    #: Whether parts of the rows have the arcs of all of them.
    keeps_arcs: ClassVar[bool] = False

    def require_columns(self, attributes: Attributes) -> None:  # noqa: B027
        """Refuse parameters that name columns which are not there."""

    def is_time_up(self) -> bool:
        """Whether finding arcs has taken all the time that there is for a fit."""
        return False

    @abstractmethod
    def count(self, rows: CodedRows, attributes: Attributes, known: AnyCounts | None) -> AnyCounts:
        """Count rows; `known` are counts of rows before, whose arcs are to be kept, or None."""

    def find_families(self, counts: AnyCounts, attributes: Attributes) -> FamilyCounts:
        """The families of the network that counts tell, with their counts."""
        assert isinstance(counts, FamilyCounts)
        return counts

    def is_completed(self, counts: AnyCounts) -> bool:
        """Whether missing values were counted by their expectation (EM): parts of rows, then,
        though there are whole rows of each class."""
        if not isinstance(counts, FamilyCounts) or (counts.of_class % 1.0).any():
            return False
        return any(bool((table % 1.0).any()) for table in counts.tables)

    def estimate(
        self, counts: AnyCounts, attributes: Attributes, alpha: float, prior: Array | None
    ) -> JointModel:
        """The model of smoothed relative counts."""
        return self.find_families(counts, attributes).estimate(alpha, prior)


class GivenFamilies(StructureLearner):
    """The arcs of counts that are known."""

    def count(self, rows: CodedRows, attributes: Attributes, known: AnyCounts | None) -> AnyCounts:
        assert isinstance(known, FamilyCounts)
        return FamilyCounts.count(known.parents, known.with_class, rows, attributes.titles)


@dataclass(eq=False)
class Learner:
    """A structure and a way to its parameters, with what both need to know: classes, parts that
    numbers are cut into, pseudo-counts, probabilities of the classes (None takes their shares),
    and whether missing values are counted by their expectation (EM)."""

    structure: StructureLearner
    parameters: GenerativeParameters | DiscriminativeParameters
    n_classes: int
    n_bins: int
    alpha: float
    prior: Array | None
    completes: bool

    def learn_cuts(
        self, attributes: Attributes, sample: Sample, places: list[int] | None = None
    ) -> Attributes:
        """Attributes with cut points; see `Attributes.learn_cuts`."""
        return attributes.learn_cuts(
            sample.table, sample.y, self.n_classes, sample.weights, self.n_bins, places
        )

    def count_first(self, attributes: Attributes, sample: Sample) -> Evidence:
        """Cuts, arcs and counts from one sample."""
        return self.count(self.learn_cuts(attributes, sample), sample, complete=self.completes)

    def count(
        self,
        attributes: Attributes,
        sample: Sample,
        known: AnyCounts | None = None,
        complete: bool = False,
    ) -> Evidence:
        """Counts and sums of a sample, with missing values by their expectation if asked."""
        codes, cards = attributes.encode(sample.table)
        rows = CodedRows(codes, cards, sample.y, self.n_classes, sample.weights)
        counts = self.structure.count(rows, attributes, known)
        if complete:
            families = self.structure.find_families(counts, attributes)
            counts = families.complete(rows, self.alpha)
        return Evidence(attributes, counts, self.sum_numbers(attributes, sample))

    def sum_numbers(self, attributes: Attributes, sample: Sample) -> Moments:
        """The moments of the Gaussian columns."""
        if not attributes.gaussian:
            nothing = np.zeros((0, self.n_classes))
            return Moments(nothing, nothing, nothing, np.zeros(0))
        numbers = attributes.select_gaussian(sample.table)
        titles = tuple(attributes.schema.title(int(k)) for k in attributes.gaussian_columns)
        return Moments.of(numbers, sample.y, self.n_classes, sample.weights, titles)

    def estimate(self, evidence: Evidence) -> Estimate:
        """The generative model of what was counted."""
        attributes, counts = evidence.attributes, evidence.counts
        model = self.structure.estimate(counts, attributes, self.alpha, self.prior)
        return model, *estimate_normals(evidence.moments)


def estimate_normals(moments: Moments) -> tuple[Array, Array]:
    """Means and standard deviations of the Gaussian columns."""
    return moments.normals() if len(moments.count) else (moments.mean, moments.squares)


@dataclass(frozen=True)
class GenerativeParameters:
    """Tables that make the rows most probable: smoothed shares of counts."""

    def choose_rows(self, learner: Learner, sample: Sample) -> Sample:
        """The rows of `fit` that are counted: all."""
        return sample

    def learn(
        self, learner: Learner, evidence: Evidence, sample: Sample
    ) -> tuple[Estimate, Convergence | None]:
        """The estimate from what `fit` has counted."""
        return learner.estimate(evidence), None


@dataclass(frozen=True)
class DiscriminativeParameters:
    """Tables that make the classes most probable given the rest of the row: the TM algorithm. The
    attributes are parameters of the classifiers."""

    solver: str
    penalty: float | str
    early_stopping: bool
    max_iter: int
    tol: float

    def choose_rows(self, learner: Learner, sample: Sample) -> Sample:
        """The rows of `fit` that are counted: those that early stopping does not watch."""
        self.require_alpha(learner)
        return self.split(sample)[0]

    def require_alpha(self, learner: Learner) -> None:
        """Refuse counts of zero."""
        if not learner.alpha > 0:
            raise ValueError(
                f"alpha is {learner.alpha}: learning='discriminative' moves counts, and a count of "
                "zero cannot be moved. Use alpha above 0."
            )

    def split(self, sample: Sample) -> tuple[Sample, Sample]:
        """The rows that are learned from, and those that early stopping watches."""
        if not self.early_stopping:
            return sample, sample.take(np.arange(0))
        held = assign_folds(sample.y) == HELD_FOLD  # the only row of a class is learned from
        require_held(bool(held.any()))
        return sample.take(np.flatnonzero(~held)), sample.take(np.flatnonzero(held))

    def learn(
        self, learner: Learner, evidence: Evidence, sample: Sample
    ) -> tuple[Estimate, Convergence | None]:
        """The estimate that predicts best from what `fit` has counted, and how it was found."""
        return self.learn_from(SampledTable(self, learner, evidence, sample), learner, evidence)

    def learn_from(
        self, table: LearningTable, learner: Learner, evidence: Evidence
    ) -> tuple[Estimate, Convergence | None]:
        """The same from rows that may be elsewhere."""
        families = learner.structure.find_families(evidence.counts, evidence.attributes)
        self._warn_of_work(families)
        mean, sd = estimate_normals(evidence.moments)
        # Columns that do not vary have nothing to learn from, and are left as they are.
        varying = evidence.moments.varying
        penalty, losses = self._choose_penalty(table, families)
        stopping = table.watch(varying, _PATIENCE) if self.early_stopping else None
        found = table.learn(families, varying, penalty, stopping)
        mean[varying], sd[varying] = found.mean, found.sd
        network = found.network
        if learner.prior is not None:
            with np.errstate(divide="ignore"):
                logs = network.log_prior + np.log(learner.prior * families.of_class.sum())
            logs -= np.log(families.of_class)
            network = replace(network, log_prior=logs - np.logaddexp.reduce(logs))
        likelihoods, objectives, steps = (
            np.array([getattr(step, name) for step in found.trace])
            for name in ("log_likelihood", "objective", "step")
        )
        convergence = Convergence(
            found.status, found.is_converged, found.is_global, likelihoods, objectives, steps,
            found.n_iter, self._solver, penalty, losses,
            np.array([] if stopping is None else stopping.losses),
        )  # fmt: skip
        if not convergence.is_converged:
            warn_user(convergence.status, ConvergenceWarning)
        return (network, mean, sd), convergence

    def _warn_of_work(self, families: FamilyCounts) -> None:
        """Say so before tables are learned that take minutes."""
        n_numbers = sum(table.size for table in families.tables)
        if n_numbers * self.max_iter <= _MUCH_WORK:
            return
        if self._solver == "accelerated" and not _has_unknown_parents(families):
            # Cells that no row has are not learned (`discriminative.cells`).
            seen = sum(2 * np.count_nonzero(table) for table in families.tables)
            if seen * self.max_iter <= _MUCH_WORK:
                return
        again = ", and that 31 times for penalty='auto'" if self.penalty == "auto" else ""
        warn_user(
            f"The tables of this network hold {n_numbers:.1e} numbers. Discriminative learning "
            f"changes all of them up to max_iter={self.max_iter} times, which may take minutes"
            f"{again}. Fewer parents, fewer values of columns (n_bins), or a lower max_iter make "
            "it shorter.",
            UserWarning,
        )

    @property
    def _solver(self) -> str:
        return "accelerated" if self.solver == "auto" else self.solver

    @property
    def options(self) -> dict[str, Any]:
        """What solvers are told."""
        return {"solver": self._solver, "max_iter": self.max_iter}

    def _choose_penalty(
        self, table: LearningTable, families: FamilyCounts
    ) -> tuple[float, dict[float, float]]:
        """Pseudo-counts of the penalty, and the losses by which they were chosen."""
        if self.penalty != "auto":
            return float(self.penalty), {}
        return (0.0, {}) if self.early_stopping else table.choose_penalty(families)


def require_held(are_there: bool) -> None:
    """Refuse early stopping without rows to watch."""
    if not are_there:
        raise ValueError(
            "early_stopping=True needs rows to hold out, besides those that it learns from: no "
            "class has two rows. Use early_stopping=False."
        )


class LearningTable(Protocol):
    """The rows that discriminative parameters are learned from, wherever they are."""

    def choose_penalty(self, families: FamilyCounts) -> tuple[float, dict[float, float]]:
        """Pseudo-counts that cross-validation chooses, and the losses by which it does."""

    def watch(self, varying: Array, patience: int) -> EarlyStopping:
        """Early stopping by the rows that are held out."""

    def learn(
        self,
        families: FamilyCounts,
        varying: Array,
        penalty: float,
        stopping: EarlyStopping | None,
    ) -> DiscriminativeFit:
        """Learn from the rows that are not held out; `varying` are Gaussian columns that vary."""


@dataclass(frozen=True)
class SampledTable:
    """Rows in memory."""

    parameters: DiscriminativeParameters
    learner: Learner
    evidence: Evidence
    sample: Sample

    def choose_penalty(self, families: FamilyCounts) -> tuple[float, dict[float, float]]:
        """By cut points, arcs and parameters of each fold; see `learning.choose_penalty`."""
        learner, sample, structure = self.learner, self.sample, self.learner.structure
        weights = np.ones(sample.n_rows) if sample.weights is None else sample.weights
        known = families if structure.keeps_arcs else None
        folds = _make_folds(learner, self.evidence.attributes, sample, known)
        options = self.parameters.options
        return choose_penalty(
            folds, weights, learner.alpha, **options, is_time_up=structure.is_time_up
        )

    def watch(self, varying: Array, patience: int) -> EarlyStopping:
        held = self._read(1, varying)
        return EarlyStopping(held.codes, held.y, held.weights, held.numbers, patience)

    def learn(
        self,
        families: FamilyCounts,
        varying: Array,
        penalty: float,
        stopping: EarlyStopping | None,
    ) -> DiscriminativeFit:
        rows, parameters = self._read(0, varying), self.parameters
        return learn_discriminatively(
            families, rows.codes, rows.y, rows.weights, numbers=rows.numbers,
            moments=select_columns(self.evidence.moments, varying), alpha=self.learner.alpha,
            penalty=penalty, tolerance=parameters.tol, stopping=stopping, **parameters.options,
        )  # fmt: skip

    def _read(self, part: int, varying: Array) -> LearningRows:
        """The rows that are learned from (part 0), or those that are held out."""
        sample = self.parameters.split(self.sample)[part]
        return _read_learning_rows(self.evidence.attributes, sample, varying)


def _has_unknown_parents(families: FamilyCounts) -> bool:
    """Whether rows miss the value of a parent, which is then summed out over all its values."""
    return any(
        bool(table[1:].take(0, axis=axis).any())
        for table, above in zip(families.tables, families.parents, strict=True)
        for axis in range(1, len(above) + 1)
    )


def _make_folds(
    learner: Learner, attributes: Attributes, sample: Sample, known: FamilyCounts | None
) -> Iterator[PenaltyFold]:
    """Parts to learn from, with cut points and arcs of their own, and rows to judge by."""
    fold = assign_folds(sample.y)
    for k in range(N_FOLDS):
        places = np.flatnonzero(fold == k)
        part, held = sample.take(np.flatnonzero(fold != k)), sample.take(places)
        if not held.n_rows or not part.n_rows:
            continue
        own = learner.learn_cuts(attributes, part)
        evidence = learner.count(own, part, known, learner.completes)
        varying = evidence.moments.varying
        yield PenaltyFold(
            learner.structure.find_families(evidence.counts, own),
            select_columns(evidence.moments, varying),
            _read_learning_rows(own, part, varying),
            _read_learning_rows(own, held, varying),
            places,
        )


def select_columns(moments: Moments, columns: Array) -> Moments:
    """Moments of some columns."""
    count, mean, squares = (m[columns] for m in (moments.count, moments.mean, moments.squares))
    return Moments(count, mean, squares, moments.largest[columns])


def _read_learning_rows(attributes: Attributes, sample: Sample, columns: Array) -> LearningRows:
    """Rows in the code of some attributes, with some of their Gaussian columns."""
    codes, _ = attributes.encode(sample.table)
    numbers = np.ascontiguousarray(attributes.select_gaussian(sample.table)[columns])
    return LearningRows(codes, sample.y, sample.weights, numbers)
