"""Folds of rows in partitions: those of the whole table.

The i-th row of a class is in fold i mod 5, wherever it is. How many rows of each class stand in the
partitions before tells which number the first of a partition has; the survey counts them. Where
fold h is held out beforehand, the others are numbered anew: row i is i − ⌊(i + 4 − h) / 5⌋ then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lindero.bayes.discriminative.learning import N_FOLDS
from lindero.runtime.arrays import Array


def rank_in_class(y: Array) -> Array:
    """Which row of its class each row is, from 0 on."""
    order = np.argsort(y, kind="stable")
    sorted_y = y[order]
    starts = np.searchsorted(sorted_y, sorted_y)
    ranks = np.empty(len(y), dtype=np.int64)
    ranks[order] = np.arange(len(y)) - starts
    return ranks


@dataclass(frozen=True, eq=False)
class FoldPlan:
    """Rows of each class in the partitions before each (n_partitions, K), and in all of them."""

    before: Array
    of_class: Array

    @classmethod
    def of(
        cls, found: tuple[tuple[int, Array, Array], ...], classes: Array, n_parts: int
    ) -> FoldPlan:
        """From the number of each partition, its classes and how many rows each has."""
        counts = np.zeros((n_parts, len(classes)), dtype=np.int64)
        for part, own, n_rows in found:
            counts[part, np.searchsorted(classes, own)] = n_rows
        ends = np.cumsum(counts, axis=0)
        return cls(ends - counts, counts.sum(axis=0))

    def number(self, part: int | Array, y: Array, ranks: Array | None = None) -> Array:
        """Which of its class each row of a partition is, or rows with their ranks in theirs."""
        ranks = rank_in_class(y) if ranks is None else ranks
        numbers: Array = self.before[part, y] + ranks
        return numbers

    def leave_out(self, held: int | None) -> FoldPlan:
        """Of the rows that are left without a fold."""
        if held is None:
            return self
        return replace(self, of_class=self.of_class - _count_before(self.of_class, held))

    def count_held(self, fold: int) -> int:
        """How many rows are in a fold."""
        return int(_count_before(self.of_class, fold).sum())


@dataclass(frozen=True)
class Selection:
    """Which rows, by their numbers: without the fold that is held out beforehand; of the others
    those outside of a fold, or only those in one."""

    held: int | None = None
    without: int | None = None
    only: int | None = None

    @property
    def takes_all(self) -> bool:
        return self.held is None and self.without is None and self.only is None

    def choose(self, numbers: Array) -> Array:
        """The places of the rows."""
        chosen = np.arange(len(numbers))
        if self.held is not None:
            chosen = np.flatnonzero(numbers % N_FOLDS != self.held)
            numbers = numbers[chosen] - _count_before(numbers[chosen], self.held)
        if self.without is not None:
            chosen = chosen[numbers % N_FOLDS != self.without]
        return chosen if self.only is None else chosen[numbers % N_FOLDS == self.only]


def _count_before(numbers: Array, fold: int) -> Array:
    """How many rows of a fold there are among the first so many of a class."""
    return np.asarray((numbers + N_FOLDS - 1 - fold) // N_FOLDS)
