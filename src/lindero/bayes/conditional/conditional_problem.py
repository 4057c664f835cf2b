"""What is to be learned, from which estimate on, and what is told of the way.

The start is the generative estimate: tables of smoothed relative counts and, for numbers, the
normals of their moments. In the form of counts it is W · P̂(x_i, pa_i, c), the joint counts that W
rows of the generative network have: all above zero, all consistent with one another, and with the
generative tables as their estimate. Pseudo-counts are thereby in the statistics that are moved and
in what they are held against alike, and drop out of the difference of the two: they decide where
learning begins and how the attributes are distributed, but not where the optimum of P(c | x) is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from lindero.bayes.columns.moments import Moments
from lindero.bayes.conditional.conditional import ConditionalRows, Evaluation, Parameters
from lindero.bayes.conditional.conditional_gaussian import normals_of, statistics_of
from lindero.bayes.conditional.input_margins import joint_counts
from lindero.bayes.conditional.logistic import free_cells, is_global
from lindero.bayes.conditional.penalty import Penalty
from lindero.bayes.networks.network import FamilyCounts, Network
from lindero.runtime.arrays import Array

#: Least weight of a class, as a share of all rows: scores of a class without rows stay finite.
_LEAST_SHARE = 1e-9

CONVERGED = "Converged: a further pass would improve the objective by less than the tolerance."
UNATTAINED = (
    "The conditional likelihood has no maximum, because {reason}: it comes ever closer to its "
    "supremum while parameters grow. Learning ended when passes improved it by less than the "
    "tolerance. A penalty above 0, or early stopping, gives a maximum."
)
NO_MORE_PASSES = (
    "Stopped after {passes} passes, the most that were allowed; the objective was still improving. "
    "Allow more passes, or a larger tolerance."
)
BUT_UNATTAINED = (
    " There is no maximum to be reached, because {reason}; a penalty above 0 gives one."
)
STALLED = (
    "Stalled: counts close to zero allow only steps so small that the objective hardly moves. "
    'solver="accelerated" goes on from there, a penalty above 0 or a larger alpha keeps counts '
    "away from zero."
)
NOT_GLOBAL = (
    " It is the optimum next to the generative estimate, and there may be a better one, because "
    "{reason}."
)
TOLD_APART = (
    " All rows are told apart without error: a penalty above 0 keeps probabilities from coming "
    "closer to 0 and 1 than so few rows can tell."
)
ROUNDED = (
    "Stopped: steps still improve the objective, but rounding hides by how much. Numbers that "
    "hardly vary within a class do that; a larger penalty keeps away from such parameters."
)
STOPPED_EARLY = (
    "Stopped early: the rows that are watched had their least log-loss after step {best}, whose "
    "parameters these are; further steps did not improve it."
)


@dataclass(frozen=True)
class Pass:
    """What a pass over the rows came to: the conditional log-likelihood, the penalised objective,
    and the step λ that led there (0 for the generative estimate)."""

    log_likelihood: float
    objective: float
    step: float


class Watch(Protocol):
    """Told of every pass; ends learning by answering True."""

    def __call__(self, network: Network, mean: Array, sd: Array) -> bool: ...


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, the penalty, and the generative start; statistics are counts and sums of numbers."""

    rows: ConditionalRows
    penalty: Penalty | None
    counts: Array
    sums: Array
    alpha: float

    @classmethod
    def of(
        cls,
        rows: ConditionalRows,
        families: FamilyCounts,
        alpha: float,
        moments: Moments | None = None,
        prior: Array | None = None,
        penalty: float = 0.0,
    ) -> Problem:
        """From the counts of the same rows, or of more.

        Parameters
        ----------
        rows : ConditionalRows
            The rows to learn from.
        families : FamilyCounts
            Counts for the generative estimate.
        alpha : float
            Pseudo-counts, above 0.
        moments : Moments, optional
            Of the columns of numbers.
        prior : array of shape (K,), optional
            Probabilities of the classes to begin with, in place of their shares.
        penalty : float
            Pseudo-counts of every value, shared out as the generative estimate is; 0 is none.
        """
        if not alpha > 0:
            raise ValueError(
                f"alpha is {alpha}: conditional learning moves counts, and a count of zero cannot "
                "be moved. Use alpha above 0."
            )
        if not penalty >= 0 or not np.isfinite(penalty):
            raise ValueError(
                f"penalty is {penalty}: it must be a number of pseudo-counts, 0 or more."
            )
        cells, total = rows.cells, rows.total_weight
        if not total > 0:
            raise ValueError("All rows have weight 0: there is nothing to learn from.")
        counted = cells.joined(families.tables, families.of_class)
        # Families without the class have the same pseudo-counts, all classes together.
        counted += np.where(cells.telling, alpha, alpha / cells.n_classes)[:, None]
        prior = families.of_class if prior is None else np.asarray(prior, dtype=np.float64)
        counted[-1] = np.maximum(prior, _LEAST_SHARE * prior.sum())
        counts = joint_counts(cells, cells.log_estimates(counted), total, counted)
        sums = np.zeros((3, 0, cells.n_classes))
        if moments is not None and len(moments.count):
            normals = rows.gaussian.inwards(*moments.normals())
            least = np.maximum(moments.count, _LEAST_SHARE * total)
            sums = statistics_of(least, *normals)
        start = cls(rows, None, counts, sums, alpha)
        if penalty > 0:
            generative = start.parameters(counts, sums)
            start = replace(start, penalty=Penalty.towards(cells, generative, penalty))
        return start

    @cached_property
    def is_free(self) -> bool:
        """Whether any weights are those of a network, and as good as its probabilities: the
        objective is concave in them, and every way uphill leads to the one optimum."""
        cells = self.rows.cells
        concave = self.rows.is_complete and is_global(cells.parents, cells.with_class)
        return concave and self.penalty is None

    def why_not_global(self) -> str | None:
        """Why there may be optima beside the one that is found."""
        if self.is_free:
            return None
        cells = self.rows.cells
        if not is_global(cells.parents, cells.with_class):
            return "some attributes have parents that are not parents of one another"
        if not self.rows.is_complete:
            return "rows have missing values"
        return "a penalty need not be concave"

    def parameters(self, counts: Array, sums: Array) -> Parameters:
        """Tables and normals of largest likelihood."""
        return Parameters(self.rows.cells.log_estimates(counts), *normals_of(sums))

    def evaluate(self, parameters: Parameters) -> Evaluation:
        """One pass over the rows."""
        found = self.rows.evaluate(parameters)
        return found if self.penalty is None else self.penalty.added(found, parameters)

    def network(self, parameters: Parameters) -> Network:
        """The network of normalised parameters; a new value has α beside the counts of the start,
        which are those of the rows."""
        cells = self.rows.cells
        unseen = []
        for i, tells in enumerate(cells.with_class):
            of_parents = cells.seen(self.counts, i).sum(axis=0)
            if not tells:
                of_parents = of_parents.sum(axis=-1, keepdims=True)
            r = int(cells.cards[i])
            unseen.append(
                np.log(self.alpha / (of_parents + self.alpha * r)) if r else 0 * of_parents
            )
        return cells.network(parameters.logs, tuple(unseen))

    def no_maximum(self, parameters: Parameters) -> str | None:
        """Why the objective has no maximum, where that is certain."""
        rows, counts = self.rows, self.rows.labels.cells
        if self.penalty is not None or not rows.is_complete:
            return None
        unmet = (counts.sum(axis=1) > 0) & (counts == 0).any(axis=1)
        if (free_cells(rows.cells) & unmet).any():
            return "some values never occur with some class"
        if self.is_free and rows.separates(parameters):
            return "the classes can be told apart without error"
        return None

    def told_apart(self, parameters: Parameters) -> bool:
        """Whether nothing but normalisation may keep parameters from growing: no row is wrong."""
        return not self.is_free and self.penalty is None and self.rows.separates(parameters)


def ending(problem: Problem, parameters: Parameters) -> str:
    """The sentences for learning that came to rest."""
    reason, beside = problem.no_maximum(parameters), problem.why_not_global()
    if reason is not None:
        return UNATTAINED.format(reason=reason)
    status = CONVERGED if beside is None else CONVERGED + NOT_GLOBAL.format(reason=beside)
    return status + TOLD_APART if problem.told_apart(parameters) else status


def out_of_passes(problem: Problem, parameters: Parameters, max_passes: int) -> str:
    """The sentence for learning that was cut off."""
    reason = problem.no_maximum(parameters)
    end = "" if reason is None else BUT_UNATTAINED.format(reason=reason)
    return NO_MORE_PASSES.format(passes=max_passes) + end
