"""How strongly to hold on to the generative estimate: chosen by cross-validation.

Small tables of many parameters want a strong `penalty`, large ones next to none, and rows that have
not been learned from tell which. For every strength of a fixed row of them, and for every fold,
parameters are learned from the other folds (so are cut points and arcs, by whoever makes the folds)
and judged by the log-loss of the fold's rows. Of the strengths, the largest is taken whose loss is
above the least one by no more than the standard error of the difference: where rows cannot tell two
apart, the one nearer to the generative estimate is safer.

The i-th row of a class is in fold i mod 5: nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lindero.bayes.columns.moments import Moments
from lindero.bayes.conditional.discriminative import conditionally_learned
from lindero.bayes.conditional.early_stopping import row_losses
from lindero.bayes.counts.counting import CodedRows
from lindero.bayes.networks.network import FamilyCounts
from lindero.runtime.arrays import Array

#: Pseudo-counts of every value that are tried.
STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)

N_FOLDS = 5

#: Relative improvement at which learning ends here; no finer one changes a choice.
_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class LearningRows:
    """Coded rows, their classes, weights and numbers."""

    codes: Array
    y: Array
    weights: Array | None
    numbers: Array

    def of(self, chosen: Array) -> LearningRows:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[chosen]
        codes = np.ascontiguousarray(self.codes[:, chosen])
        return LearningRows(
            codes, self.y[chosen], weights, np.ascontiguousarray(self.numbers[:, chosen])
        )

    @property
    def total(self) -> Array:
        """Weights, 1 where none are given."""
        return np.ones(len(self.y)) if self.weights is None else self.weights

    def counted(self, families: FamilyCounts) -> tuple[FamilyCounts, Moments]:
        """Counts of the same families, and moments of the numbers, of these rows."""
        n_classes = len(families.of_class)
        rows = CodedRows(self.codes, families.cards, self.y, n_classes, self.weights)
        counts = FamilyCounts.count(families.parents, families.with_class, rows)
        return counts, Moments.of(self.numbers, self.y, n_classes, self.weights)


def folds_of(y: Array) -> Array:
    """The fold of each row, classes being spread evenly."""
    fold = np.empty(len(y), dtype=np.int64)
    for c in np.unique(y):
        own = np.flatnonzero(y == c)
        fold[own] = np.arange(len(own)) % N_FOLDS
    return fold


@dataclass(frozen=True, eq=False)
class Fold:
    """What is learned from, with the counts of it, and the rows held out, with their places."""

    families: FamilyCounts
    moments: Moments
    rows: LearningRows
    held: LearningRows
    places: Array


def chosen_penalty(
    folds: Iterable[Fold], weights: Array, alpha: float, **options: Any
) -> tuple[float, dict[float, float]]:
    """The strength to take, and the cross-validated log-loss of each.

    Parameters
    ----------
    folds : iterable of Fold
        Every row is held out once, at most.
    weights : array of shape (n_rows,)
        How often each row counts.
    alpha : float
        Pseudo-counts of the generative estimate.
    **options
        Of `conditionally_learned`.
    """
    losses, judged = np.zeros((len(STRENGTHS), len(weights))), np.zeros(len(weights))
    for fold in folds:
        rows, held = fold.rows, fold.held
        judged[fold.places] = weights[fold.places]
        for at, strength in enumerate(STRENGTHS):
            found = conditionally_learned(
                fold.families, rows.codes, rows.y, rows.weights, numbers=rows.numbers,
                moments=fold.moments, alpha=alpha, penalty=strength, tolerance=_TOLERANCE,
                **options,
            )  # fmt: skip
            losses[at, fold.places] = row_losses(
                found.network, found.mean, found.sd, held.codes, held.y, held.numbers
            )
    if not judged.any():  # no class has two rows
        return STRENGTHS[-1], {}
    mean = losses @ judged / judged.sum()
    chosen = STRENGTHS[_safest(losses, judged)]
    return chosen, dict(zip(STRENGTHS, mean.tolist(), strict=True))


def _safest(losses: Array, weights: Array) -> int:
    """The strongest whose loss is within a standard error of the least; see the module."""
    total = weights.sum()
    best = int(np.argmin(losses @ weights))
    apart = losses - losses[best]
    mean = apart @ weights / total
    spread = np.sqrt(((apart - mean[:, None]) ** 2) @ weights / total)
    near = mean <= spread / np.sqrt(total)
    near[: best + 1] = False
    near[best] = True
    return int(np.flatnonzero(near)[-1])
