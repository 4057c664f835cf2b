"""How strongly to hold on to the generative estimate: chosen by cross-validation.

Small tables of many parameters want a strong `penalty`, large ones next to none, and rows that have
not been learned from tell which. For every strength of a fixed row of them, and for every fold, the
graph is learned from the other folds and judged by the log-loss of the fold's rows. Of the
strengths, the largest is taken whose loss is above the least one by no more than the standard error
of the difference: where rows cannot tell two apart, the one nearer to the generative estimate is
safer. Cut points and the graph are those of all rows.

The i-th row of a class is in fold i mod 5: nothing is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lindero.bayes.columns.moments import Moments
from lindero.bayes.conditional.discriminative import conditionally_learned
from lindero.bayes.conditional.early_stopping import row_losses
from lindero.bayes.networks.families import FamilyCounts
from lindero.kernels.functions import Array

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
        sample = (self.codes, families.cards, self.y, n_classes, self.weights)
        names = [str(i) for i in range(len(families.parents))]
        counts = FamilyCounts.of(families.parents, families.with_class, sample, names)
        return counts, Moments.of(self.numbers, self.y, n_classes, self.weights)


def folds_of(y: Array) -> Array:
    """The fold of each row, classes being spread evenly."""
    fold = np.empty(len(y), dtype=np.int64)
    for c in np.unique(y):
        own = np.flatnonzero(y == c)
        fold[own] = np.arange(len(own)) % N_FOLDS
    return fold


def chosen_penalty(
    families: FamilyCounts,
    rows: LearningRows,
    alpha: float,
    prior: Array | None = None,
    **options: Any,
) -> tuple[float, dict[float, float]]:
    """The strength to take, and the cross-validated log-loss of each.

    Parameters
    ----------
    families : FamilyCounts
        The graph.
    rows : LearningRows
        What is to be learned from.
    alpha : float
        Pseudo-counts of the generative estimate.
    prior : array of shape (K,), optional
        Probabilities of the classes to begin with.
    **options
        Of `conditionally_learned`.
    """
    fold = folds_of(rows.y)
    losses, weights = np.zeros((len(STRENGTHS), len(rows.y))), rows.total
    for k in range(N_FOLDS):
        held = np.flatnonzero(fold == k)
        others = rows.of(np.flatnonzero(fold != k))
        if not len(held) or not others.total.sum() > 0:
            continue
        held_rows = rows.of(held)
        counts, moments = others.counted(families)
        learn = partial(
            conditionally_learned, counts, others.codes, others.y, others.weights,
            numbers=others.numbers, moments=moments, alpha=alpha, prior=prior,
            tolerance=_TOLERANCE, **options,
        )  # fmt: skip
        for at, strength in enumerate(STRENGTHS):
            found = learn(penalty=strength)
            losses[at, held] = row_losses(
                found.network, found.mean, found.sd, held_rows.codes, held_rows.y, held_rows.numbers
            )
    mean = losses @ weights / weights.sum()
    chosen = STRENGTHS[_safest(losses, weights)]
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
