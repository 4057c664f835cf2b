"""How good a structure is, with its parameters learned for prediction.

    bicd        Σ log P(y | x) − (log N / 2) d, of the rows that parameters are learned from
    cll         mean log P(y | x) of rows that parameters are not learned from (five folds)
    accuracy    the share of such rows whose class is predicted

Parameters are those of largest conditional likelihood (without a penalty), climbed to from those of
the structure before: a new arc's table says at first what the old one did, so that climbing begins
at the likelihood that is to be improved. Only members of the structure matter, and rows with the
same values and class are taken as one with their weight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lindero.bayes.conditional.accelerated import ascended
from lindero.bayes.conditional.conditional import ConditionalRows, Parameters
from lindero.bayes.conditional.conditional_problem import Problem
from lindero.bayes.conditional.early_stopping import row_losses
from lindero.bayes.conditional.family_cells import FamilyCells
from lindero.bayes.conditional.logistic import absorbed
from lindero.bayes.conditional.penalty_choice import N_FOLDS, folds_of
from lindero.bayes.counts.counting import CodedRows
from lindero.bayes.networks.network import FamilyCounts, Network
from lindero.bayes.structural.arcs import CLASS, Arc, Structure
from lindero.runtime.arrays import Array

SCORES = ("bicd", "cll", "accuracy")

#: Relative improvement that ends learning from the rows of four folds.
_TOLERANCE_OF_FOLDS = 1e-7

#: Cells of joint values of which more are not counted in one number.
_MOST_KEYS = 2**62


@dataclass(frozen=True, eq=False)
class SearchRows:
    """Coded rows, their classes and weights."""

    codes: Array
    cards: Array
    y: Array
    n_classes: int
    weights: Array | None

    def of(self, chosen: Array) -> SearchRows:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[chosen]
        return replace(self, codes=self.codes[:, chosen], y=self.y[chosen], weights=weights)

    @property
    def total_weight(self) -> float:
        """How many rows they stand for."""
        return float(len(self.y)) if self.weights is None else float(self.weights.sum())

    def merged(self, members: tuple[int, ...]) -> SearchRows:
        """Rows of some attributes, the same ones taken together."""
        codes, cards = self.codes[list(members)], self.cards[list(members)]
        keys, size = self.y.astype(np.int64), self.n_classes
        for column, r in zip(codes, cards, strict=True):
            size *= int(r) + 1
            if size > _MOST_KEYS:
                return SearchRows(codes, cards, self.y, self.n_classes, self.weights)
            keys = keys * (int(r) + 1) + column
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        weights = np.bincount(which, weights=self.weights).astype(np.float64)
        return SearchRows(codes[:, first], cards, self.y[first], self.n_classes, weights)


@dataclass(frozen=True, eq=False)
class Scored:
    """A structure, its score and the conditional log-likelihood, and weights to go on from."""

    structure: Structure
    score: float
    log_likelihood: float
    logs: Array


def empty(rows: SearchRows, score: str, max_passes: int, tolerance: float) -> Scored:
    """The structure without arcs: P(c | x) is P(c)."""
    cells = FamilyCells((), (), np.empty(0, dtype=np.int64), rows.n_classes)
    return _scored(Structure(), cells, None, rows, score, max_passes, tolerance)


def extended(
    before: Scored, arc: Arc, rows: SearchRows, score: str, max_passes: int, tolerance: float
) -> Scored:
    """The structure with one arc more."""
    structure = before.structure.with_arc(arc)
    cells = _cells(structure, rows)
    old = _cells(before.structure, rows)
    logs = np.zeros((cells.size, rows.n_classes))
    logs[-1] = before.logs[-1]
    for at in range(old.n_attributes):
        table = old.table(before.logs, at)
        if arc.parent != CLASS and structure.members[at] == arc.child:
            table = table[..., None, :]  # the same for all values of the new parent
        cells.table(logs, at)[...] = table
    return _scored(structure, cells, logs, rows, score, max_passes, tolerance)


def network_of(found: Scored, rows: SearchRows) -> Network:
    """The network over the members, in their order, with the posterior that was learned."""
    return _cells(found.structure, rows).network(found.logs)


def _cells(structure: Structure, rows: SearchRows) -> FamilyCells:
    members = list(structure.members)
    return FamilyCells(
        structure.places(), (True,) * len(members), rows.cards[members], rows.n_classes
    )


def _scored(
    structure: Structure,
    cells: FamilyCells,
    logs: Array | None,
    rows: SearchRows,
    score: str,
    max_passes: int,
    tolerance: float,
) -> Scored:
    likelihood, learned = _learned(
        cells, logs, rows.merged(structure.members), max_passes, tolerance
    )
    if score == "bicd":
        d = structure.n_parameters(rows.cards, rows.n_classes)
        bicd = likelihood - 0.5 * float(np.log(rows.total_weight)) * d
        return Scored(structure, bicd, likelihood, learned)
    held = _held_out(structure, cells, rows, score, max_passes)
    return Scored(structure, held, likelihood, learned)


def _learned(
    cells: FamilyCells, logs: Array | None, rows: SearchRows, max_passes: int, tolerance: float
) -> tuple[float, Array]:
    """The largest conditional likelihood, and tables that have it; climbed to from some tables, or
    from the generative ones."""
    coded = CodedRows(rows.codes, rows.cards, rows.y, rows.n_classes, rows.weights)
    families = FamilyCounts.count(cells.parents, cells.with_class, coded)
    prepared = ConditionalRows(cells, rows.codes, rows.y, rows.weights, n_threads=1)
    problem = Problem.of(prepared, families, 1.0)
    start = problem.parameters(problem.counts, problem.sums)
    if logs is not None:
        logs = logs if problem.is_free else cells.normalised(logs)
        start = Parameters(logs, start.mean, start.sd)
    way = ascended(problem, start, max_passes, tolerance)
    found = way.parameters.logs
    if problem.is_free:
        found = absorbed(cells, found)
    return way.trace[-1].log_likelihood, found


def _held_out(
    structure: Structure,
    cells: FamilyCells,
    rows: SearchRows,
    score: str,
    max_passes: int,
) -> float:
    """The score of rows that parameters were not learned from; nor does climbing start from any
    that were."""
    fold, total = folds_of(rows.y), 0.0
    members, numbers = list(structure.members), np.empty((0, 0))
    for k in range(N_FOLDS):
        others, held = rows.of(np.flatnonzero(fold != k)), rows.of(np.flatnonzero(fold == k))
        if not len(held.y) or not len(others.y):
            continue
        merged = others.merged(structure.members)
        _, learned = _learned(cells, None, merged, max_passes, _TOLERANCE_OF_FOLDS)
        network = cells.network(learned)
        codes = np.ascontiguousarray(held.codes[members])
        weights = np.ones(len(held.y)) if held.weights is None else held.weights
        if score == "accuracy":
            total += float(weights @ (network.log_joint(codes).argmax(axis=1) == held.y))
        else:
            total -= float(weights @ row_losses(network, numbers, numbers, codes, held.y, numbers))
    return total / rows.total_weight
