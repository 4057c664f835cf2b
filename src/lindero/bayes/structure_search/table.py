"""The rows of a search for arcs, in memory or elsewhere, and what it asks of them.

**Screening**: the gain of a candidate, estimated by one pass over the rows. At the parameters of
the current structure, a candidate's table would begin at no change. By its cells, the conditional
likelihood has the derivative and, within a cell, the negative curvature

    g(cell, c) = Σ_{rows in cell} w (1[y = c] − P(c | x)),
    H(cell)    = Σ_{rows in cell} w (diag P(· | x) − P(· | x) P(· | x)ᵀ),

so that a Newton step of this table alone would gain about ½ Σ_cells gᵀ H⁻¹ g. Other tables would
move along and gain more, so this is too little rather than too much; but no cell can gain more than
its rows lack, −Σ w log P(y | x). Rows in which a member of the family is missing are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from joblib import Parallel

from lindero.bayes.counts.counting import CodedRows
from lindero.bayes.discriminative.cells import FamilyCells
from lindero.bayes.discriminative.learning import (
    N_FOLDS,
    assign_folds,
    compute_log_posteriors,
    compute_row_losses,
)
from lindero.bayes.discriminative.objective import ConditionalProblem, ConditionalRows
from lindero.bayes.networks.network import FamilyCounts, Network
from lindero.bayes.structure_search.structure import CLASS, Arc, GrowingStructure
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, compiled

#: Joint states of which more are not counted in one number.
_MOST_KEYS = 2**62

#: Curvature that is added, as a share of a row: cells in which all is certain have none.
_RIDGE = 1e-6


def merge_rows(rows: CodedRows, members: tuple[int, ...]) -> CodedRows:
    """Rows of some attributes, the same ones taken together."""
    codes, cards = rows.codes[list(members)], rows.cards[list(members)]
    keys, size = rows.y.astype(np.int64), rows.n_classes
    for column, r in zip(codes, cards, strict=True):
        size *= int(r) + 1
        if size > _MOST_KEYS:
            return CodedRows(codes, cards, rows.y, rows.n_classes, rows.weights)
        keys = keys * (int(r) + 1) + column
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    weights = np.bincount(which, weights=rows.weights).astype(np.float64)
    return CodedRows(codes[:, first], cards, rows.y[first], rows.n_classes, weights)


class SearchTable(Protocol):
    """The rows that arcs are searched for, wherever they are."""

    @property
    def cards(self) -> Array:
        """How many values each attribute has."""

    @property
    def n_classes(self) -> int: ...

    @property
    def total_weight(self) -> float: ...

    def pose(
        self, cells: FamilyCells, members: tuple[int, ...], without: int | None = None
    ) -> ConditionalProblem:
        """The problem of a structure's members, of all rows or of those outside of a fold."""

    def find_folds(self) -> list[int]:
        """Folds that have rows, and do not have all."""

    def judge(self, network: Network, members: tuple[int, ...], fold: int, criterion: str) -> float:
        """The weight of the rows of a fold that a network predicts, or minus what they lose."""

    def promise(
        self, network: Network, structure: GrowingStructure, arcs: Iterable[Arc]
    ) -> list[float]:
        """What one pass over the rows promises of arcs, to a structure with a network."""

    def open_pool(self, n_jobs: int | None) -> AbstractContextManager[Callable[..., list[Any]]]:
        """What calls functions that joblib has delayed."""


@dataclass(frozen=True, eq=False)
class CodedTable:
    """Rows in memory."""

    rows: CodedRows

    @property
    def cards(self) -> Array:
        return self.rows.cards

    @property
    def n_classes(self) -> int:
        return self.rows.n_classes

    @property
    def total_weight(self) -> float:
        return self.rows.total_weight

    @cached_property
    def _folds(self) -> Array:
        return assign_folds(self.rows.y)

    def find_folds(self) -> list[int]:
        sizes = np.bincount(self._folds, minlength=N_FOLDS)
        return np.flatnonzero((sizes > 0) & (sizes < len(self._folds))).tolist()

    def pose(
        self, cells: FamilyCells, members: tuple[int, ...], without: int | None = None
    ) -> ConditionalProblem:
        rows = self.rows
        if without is not None:
            rows = rows.take(np.flatnonzero(self._folds != without))
        rows = merge_rows(rows, members)
        families = FamilyCounts.count(cells.parents, cells.with_class, rows)
        prepared = ConditionalRows(cells, rows.codes, rows.y, rows.weights, n_threads=1)
        return ConditionalProblem.of(prepared, families, 1.0)

    def judge(self, network: Network, members: tuple[int, ...], fold: int, criterion: str) -> float:
        held = self.rows.take(np.flatnonzero(self._folds == fold))
        return judge_rows(network, held, members, criterion)

    def promise(
        self, network: Network, structure: GrowingStructure, arcs: Iterable[Arc]
    ) -> list[float]:
        posterior = compute_posteriors(network, self.rows, structure)
        return [estimate_gain(self.rows, posterior, structure, arc) for arc in arcs]

    def open_pool(self, n_jobs: int | None) -> AbstractContextManager[Callable[..., list[Any]]]:
        pool: AbstractContextManager[Callable[..., list[Any]]] = Parallel(n_jobs=n_jobs)
        return pool


#: Rows in memory may be given as they are.
SearchedRows = SearchTable | CodedRows


def as_table(rows: SearchedRows) -> SearchTable:
    return CodedTable(rows) if isinstance(rows, CodedRows) else rows


def judge_rows(
    network: Network, held: CodedRows, members: tuple[int, ...], criterion: str
) -> float:
    """The weight of rows that a network predicts, or minus what they lose."""
    codes = np.ascontiguousarray(held.codes[list(members)])
    weights = np.ones(len(held.y)) if held.weights is None else held.weights
    if criterion == "accuracy":
        return float(weights @ (network.log_joint(codes).argmax(axis=1) == held.y))
    numbers = np.empty((0, 0))
    return -float(weights @ compute_row_losses(network, numbers, numbers, codes, held.y, numbers))


def compute_posteriors(network: Network, rows: CodedRows, structure: GrowingStructure) -> Array:
    """P(c | x) of rows, (n_rows, K)."""
    codes, none = np.ascontiguousarray(rows.codes[list(structure.members)]), np.empty((0, 0))
    posterior: Array = np.exp(compute_log_posteriors(network, none, none, codes, none))
    return posterior


# -- screening ------------------------------------------------------------------------------------


def estimate_gain(
    rows: CodedRows, posterior: Array, structure: GrowingStructure, arc: Arc
) -> float:
    """Estimate how much the conditional likelihood gains by an arc, one of the candidates of a
    structure whose P(c | x) is given, (n_rows, K)."""
    return sum_gains(*sum_gain_cells(rows, posterior, structure, arc)[1:])


def sum_gain_cells(
    rows: CodedRows, posterior: Array, structure: GrowingStructure, arc: Arc
) -> tuple[Array, Array, Array, Array]:
    """The cells that rows have, and g, H and −Σ w log P(y | x) of each."""
    family = [arc.child]
    if arc.parent != CLASS:
        family += [*structure.parents_of(arc.child), arc.parent]
    shape = tuple(int(rows.cards[j]) for j in family)
    known = (rows.codes[family] > 0).all(axis=0)
    codes = rows.codes[family].astype(np.int64) - 1
    if not known.all():
        codes, posterior = codes[:, known], posterior[known]
    y = rows.y[known]
    w = np.ones(len(y)) if rows.weights is None else rows.weights[known]
    cell = np.ravel_multi_index(tuple(codes), shape)
    n_cells, n_free = int(np.prod(shape)), rows.n_classes - 1
    present = np.arange(n_cells if n_cells <= len(y) else 0)
    if n_cells > len(y):  # most cells have no row
        present, cell = np.unique(cell, return_inverse=True)
        n_cells = len(present)
    # Weights of the last class are zero: only differences matter.
    g, H = np.zeros((n_cells, n_free)), np.zeros((n_cells, n_free, n_free))
    lacking = np.zeros(n_cells)
    sum_derivatives(cell, y, w, np.ascontiguousarray(posterior), g, H, lacking)
    return present, g, H, lacking


def sum_gains(g: Array, H: Array, lacking: Array) -> float:
    """What cells gain by a Newton step, and no more than their rows lack."""
    H = H + _RIDGE * np.eye(g.shape[1])
    gains = 0.5 * np.einsum("kc,kc->k", g, np.linalg.solve(H, g[..., None])[..., 0])
    return float(np.minimum(gains, lacking).sum())


@compiled(EXACT)
def sum_derivatives(cell, y, weights, posterior, g, H, lacking):  # type: ignore[no-untyped-def]
    """Add g, H and −Σ w log P(y | x) of rows to those of their cells."""
    n_free = g.shape[1]
    for r in range(y.size):
        at, weight, shares = cell[r], weights[r], posterior[r]
        lacking[at] -= weight * np.log(max(shares[y[r]], 2.3e-308))
        for a in range(n_free):
            part = weight * shares[a]
            g[at, a] += (weight if y[r] == a else 0.0) - part
            H[at, a, a] += part
            for b in range(a):
                H[at, a, b] -= part * shares[b]
            H[at, a, a] -= part * shares[a]
    for at in range(g.shape[0]):
        for a in range(n_free):
            for b in range(a):
                H[at, b, a] = H[at, a, b]
