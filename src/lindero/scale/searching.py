"""Arcs for rows in partitions: what structural TM asks of rows, by passes.

Parameters of a candidate are learned as those of a network that is given (`conditional`): rows that
agree in the few attributes that are in the network are taken together in each partition, and one
pass is one iteration, of all candidates of a round side by side. What screening promises of
candidates is summed up by their cells, for all of them in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.discriminative.cells import FamilyCells
from lindero.bayes.discriminative.learning import N_FOLDS
from lindero.bayes.discriminative.objective import ConditionalProblem
from lindero.bayes.networks.network import FamilyCounts, Network
from lindero.bayes.structure_search.structure import Arc, GrowingStructure
from lindero.bayes.structure_search.table import (
    compute_posteriors,
    judge_rows,
    sum_gain_cells,
    sum_gains,
)
from lindero.runtime.arrays import Array
from lindero.scale.conditional import KeptPart, RowPasses, Sums
from lindero.scale.folds import FoldPlan, Selection

#: Candidates whose parameters are learned side by side.
_AT_ONCE = 16


@dataclass(frozen=True, eq=False)
class AskFamilies:
    """The counts of a structure's families, over its members."""

    attributes: Attributes
    members: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    selection: Selection

    def answer(self, part: KeptPart) -> FamilyCounts | None:
        rows = part.code(self.attributes, self.selection, self.members)
        if rows is None:
            return None
        return FamilyCounts.count(self.parents, (True,) * len(self.parents), rows)


@dataclass(frozen=True, eq=False)
class AskPredictions:
    """What a network makes of the rows of a fold; see `SearchTable.judge`."""

    attributes: Attributes
    network: Network
    members: tuple[int, ...]
    criterion: str
    selection: Selection

    def answer(self, part: KeptPart) -> Sums | None:
        rows = part.code(self.attributes, self.selection)
        if rows is None:
            return None
        return Sums((judge_rows(self.network, rows, self.members, self.criterion),))


@dataclass(frozen=True, eq=False)
class GainSums:
    """Of each arc the cells that rows have, in order, and sums of each."""

    of_arcs: tuple[tuple[Array, ...], ...]

    def merge(self, other: GainSums) -> GainSums:
        merged = []
        for one, two in zip(self.of_arcs, other.of_arcs, strict=True):
            cells = np.union1d(one[0], two[0])
            sums = [np.zeros((len(cells), *part.shape[1:])) for part in one[1:]]
            for own in (one, two):
                places = np.searchsorted(cells, own[0])
                for total, part in zip(sums, own[1:], strict=True):
                    total[places] += part
            merged.append((cells, *sums))
        return GainSums(tuple(merged))


@dataclass(frozen=True, eq=False)
class AskGains:
    """What arcs promise to a structure with a network."""

    attributes: Attributes
    network: Network
    structure: GrowingStructure
    arcs: tuple[Arc, ...]
    selection: Selection

    def answer(self, part: KeptPart) -> GainSums | None:
        rows = part.code(self.attributes, self.selection)
        if rows is None:
            return None
        posterior = compute_posteriors(self.network, rows, self.structure)
        return GainSums(
            tuple(sum_gain_cells(rows, posterior, self.structure, arc) for arc in self.arcs)
        )


@dataclass(frozen=True, eq=False)
class PartitionedSearch:
    """Rows in partitions as `structure_search.table.SearchTable`."""

    passes: RowPasses
    attributes: Attributes
    cards: Array
    n_classes: int
    total_weight: float
    folds: FoldPlan
    held: int | None

    def find_folds(self) -> list[int]:
        """Folds that have rows, and do not have all."""
        folds = self.folds.leave_out(self.held)
        total = int(folds.of_class.sum())
        return [fold for fold in range(N_FOLDS) if 0 < folds.count_held(fold) < total]

    def pose(
        self, cells: FamilyCells, members: tuple[int, ...], without: int | None = None
    ) -> ConditionalProblem:
        """The problem of a structure's members, of all rows or of those outside of a fold."""
        selection = Selection(self.held, without=without)
        families: FamilyCounts = self.passes.ask(
            AskFamilies(self.attributes, members, cells.parents, selection)
        )
        return self.passes.pose(
            self.attributes, families, None, 1.0, members=members, selection=selection
        )

    def judge(self, network: Network, members: tuple[int, ...], fold: int, criterion: str) -> float:
        """The weight of the rows of a fold that a network predicts, or minus what they lose."""
        selection = Selection(self.held, only=fold)
        question = AskPredictions(self.attributes, network, members, criterion, selection)
        return float(self.passes.ask(question).values[0])

    def promise(
        self, network: Network, structure: GrowingStructure, arcs: Iterable[Arc]
    ) -> list[float]:
        """What one pass over the rows promises of arcs, to a structure with a network."""
        chosen = tuple(arcs)
        if not chosen:
            return []
        question = AskGains(self.attributes, network, structure, chosen, Selection(self.held))
        found: GainSums = self.passes.ask(question)
        return [sum_gains(*sums) for _, *sums in found.of_arcs]

    def open_pool(self, n_jobs: int | None) -> AbstractContextManager[Callable[..., list[Any]]]:
        """Side by side, whatever `n_jobs` is: partitions are what is shared out."""
        return nullcontext(self._run)

    def _run(self, calls: Iterable[tuple[Callable[..., Any], Any, Any]]) -> list[Any]:
        tasks = [partial(call, *args, **options) for call, args, options in calls]
        found: list[Any] = []
        for first in range(0, len(tasks), _AT_ONCE):
            found += self.passes.run_side_by_side(tasks[first : first + _AT_ONCE])
        return found


@dataclass(frozen=True)
class AskWeight:
    """The weight of the rows."""

    selection: Selection

    def answer(self, part: KeptPart) -> Sums | None:
        sample = part.select(self.selection)
        if sample is None:
            return None
        weight = float(sample.n_rows) if sample.weights is None else float(sample.weights.sum())
        return Sums((weight,))
