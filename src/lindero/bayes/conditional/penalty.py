"""A Dirichlet prior towards the generative estimate.

Discriminative parameters of large tables follow their rows too closely. With ρ pseudo-counts for
every value, shared out as the generative estimate θ̂ is, the objective is

    J(θ) = CLL(θ) + ρ Σ_i Σ_{pa,c} r_i Σ_x θ̂(x | pa, c) log [θ(x | pa, c) / θ̂(x | pa, c)],

in which every column of a table counts ρ r_i rows more that are distributed as θ̂ says: columns of
parents that occur in few rows hardly move, those of many rows go where CLL wants them. A column of
numbers counts ρ rows of each class with the generative mean m̂ and deviation ŝ,

    −ρ Σ_j Σ_c [ log (s_jc / ŝ_jc) + (ŝ_jc² + (m̂_jc − m_jc)²) / 2 s_jc² − ½ ].

The probabilities of the classes are a column like the others, of ρ K pseudo-counts: left free, they
would follow few rows where all else is held. At the generative estimate the penalty is zero,
elsewhere negative. As no θ̂ is zero, J has a finite maximum, also where classes are separable; for
ρ → ∞ the generative estimate comes back.

J need not be concave in free weights: what makes the columns of a table probabilities is moved into
other tables, on which the penalty acts, too. An optimum is therefore one of the neighbourhood of
the generative estimate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lindero.bayes.conditional.conditional import Evaluation, Parameters
from lindero.bayes.conditional.conditional_gaussian import natural, statistics_of
from lindero.bayes.conditional.family_cells import FamilyCells
from lindero.runtime.arrays import Array


@dataclass(frozen=True, eq=False)
class Penalty:
    """Pseudo-counts of tables (size, K) and statistics of numbers (3, n_numbers, K)."""

    cells: Array
    moments: Array
    generative: Parameters

    @classmethod
    def towards(cls, cells: FamilyCells, generative: Parameters, strength: float) -> Penalty:
        """Of `strength` pseudo-counts for every value, and of as many rows for every number."""
        pseudo = np.zeros_like(generative.logs)
        for i, tells in enumerate(cells.with_class):
            shares = np.exp(cells.seen(generative.logs, i))
            share = strength * int(cells.cards[i]) / (1 if tells else cells.n_classes)
            cells.seen(pseudo, i)[...] = share * shares
        pseudo[-1] = strength * cells.n_classes * np.exp(generative.logs[-1])
        rows = np.full(generative.mean.shape, strength)
        return cls(pseudo, statistics_of(rows, generative.mean, generative.sd), generative)

    def added(self, found: Evaluation, at: Parameters) -> Evaluation:
        """J and its derivative, from CLL and its derivative; tables are normalised."""
        start = self.generative
        of_numbers = natural(at.mean, at.sd) - natural(start.mean, start.sd)
        of_tables = np.vdot(self.cells, at.logs - start.logs)
        return replace(
            found,
            objective=found.objective + float(of_tables + np.vdot(self.moments, of_numbers)),
            cells=found.cells + self.cells,
            moments=found.moments + self.moments,
        )
