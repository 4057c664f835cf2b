"""Rows of a table under a mixture: expected counts, likelihood, and the estimates that follow.

The class z of a row is not known. Given it, columns are independent of each other:

    P(x) = Σ_z P(z) Π_j P(x_j | z),     L(θ) = Σ_rows w log P(x; θ)

with a table P(x_j | z) for each column of categories and a normal density for each one of numbers.
A missing value drops out of its row, which is what summing over it gives. What is maximised is

    J(θ) = L(θ) + α Σ_j Σ_z Σ_x log P(x_j = x | z),     every s_jz ≥ σ · (the whole column's s_j),

L and the logarithm of a Dirichlet prior of α pseudo-counts of each value in each cluster. The
bound of s_jz is needed for a maximum: a cluster that shrinks to one row, or to one number that many
rows have, has a density as large as one likes. One iteration of EM is

    E   P(z | x; θ) of every row, and from it  N(x_j, z), n_jz, S₁, S₂  (sums of 1, x and x²)
    M   P(z) = N(z) / W,   P(x_j | z) = (N(x_j, z) + α) / (N_j(z) + α r_j),
        m = S₁ / n,   s² = S₂ / n − m², or the least that is allowed

J never falls: with Q the expectation of log P(x, z; θ) under the E step's P(z | x; θ_r),
J(θ) − J(θ_r) ≥ Q(θ) + prior(θ) − Q(θ_r) − prior(θ_r) (Jensen), and the M step is the maximum of the
right side, also under the bound, since it has one peak in s. L itself may fall where the prior
gains more.

Numbers are in units of their column here, with mean 0 and variance 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lindero.bayes.columns.moments import Moments, add_log_densities
from lindero.bayes.discriminative.cells import FamilyCells
from lindero.bayes.discriminative.gaussians import GaussianColumns
from lindero.bayes.discriminative.posteriors import (
    PART_ROWS,
    FamilyGroups,
    RowThreads,
    sum_posteriors,
)
from lindero.bayes.networks.network import FamilyCounts
from lindero.runtime.arrays import Array

#: Least probability of a cluster, whose logarithm is to be finite.
_LEAST_SHARE = 1e-12


@dataclass(frozen=True, eq=False)
class Mixture:
    """Clusters: tables as of `FamilyCells`, the last row being log P(z), and normals of columns."""

    logs: Array
    mean: Array
    sd: Array

    @property
    def weights(self) -> Array:
        """P(z)."""
        weights: Array = np.exp(self.logs[-1])
        return weights

    def reorder(self, order: Array) -> Mixture:
        """The same with its clusters in another order."""
        return Mixture(
            np.ascontiguousarray(self.logs[:, order]),
            np.ascontiguousarray(self.mean[:, order]),
            np.ascontiguousarray(self.sd[:, order]),
        )


@dataclass(frozen=True, eq=False)
class Expectation:
    """What a mixture expects: counts and sums as in the module, with L and J."""

    log_likelihood: float
    objective: float
    counts: Array  # (size, K), the last row being N(z)
    sums: Array  # (3, n_numbers, K)

    def reorder(self, order: Array) -> Expectation:
        """The same with its clusters in another order."""
        counts, sums = self.counts[:, order], self.sums[:, :, order]
        return replace(self, counts=np.ascontiguousarray(counts), sums=np.ascontiguousarray(sums))


class LatentRows:
    """Rows prepared for many iterations with any number of clusters.

    Codes (n_attributes, n_rows) are 0 for missing, 1…r for values, r being the `cards`. Numbers
    (n_numbers, n_rows) have NaN for missing; none of these columns is constant. `alpha` are
    pseudo-counts and `min_scale` is the least standard deviation in a cluster, as a share of the
    column's; both are above 0.
    """

    def __init__(
        self,
        codes: Array,
        cards: Array,
        numbers: Array,
        weights: Array | None,
        alpha: float,
        min_scale: float,
    ) -> None:
        self.codes, self.cards = np.ascontiguousarray(codes), np.asarray(cards, dtype=np.int64)
        self.weights, self.alpha, self.min_scale = weights, alpha, min_scale
        self.n_rows = codes.shape[1]
        self.row_weights = np.ones(self.n_rows) if weights is None else weights
        self.total_weight = float(self.row_weights.sum())
        self.gaussian = GaussianColumns(numbers, weights)
        self.threads = RowThreads(None if self.n_rows >= 2 * PART_ROWS else 1, least_work=0)
        self._groups: tuple[int, FamilyGroups] | None = None  # of a number of clusters
        seen = [float(self.row_weights[~np.isnan(column)].sum()) for column in numbers]
        # Densities of numbers in the units of the table have this factor.
        self._log_units = float(np.dot(seen, np.log(self.gaussian.scale[:, 0])))
        self.slots = np.concatenate([[0], np.cumsum(self.cards + 1)])  # where tables begin
        self._used = np.ones((int(self.slots[-1]) + 1, 1))
        self._used[self.slots] = 0.0  # slots of missing values, and the row of the clusters
        self._table_of = np.repeat(np.arange(len(self.cards)), self.cards + 1)
        self._values = np.zeros(len(self._used))
        for i, column in enumerate(self.codes):
            counted = np.bincount(column, self.row_weights, int(self.cards[i]) + 1)
            self._values[self.slots[i] : self.slots[i + 1]] = counted
        self._values[-1] = self.total_weight
        self._values[self.slots[:-1]] = 0.0

    @property
    def n_numbers(self) -> int:
        return len(self.gaussian.numbers)

    def count_parameters(self, n_clusters: int) -> int:
        """Free parameters of a mixture: of its tables, its normals and its weights."""
        of_tables = int(np.maximum(self.cards - 1, 0).sum())
        return n_clusters * (of_tables + 2 * self.n_numbers) + n_clusters - 1

    # -- E and M ------------------------------------------------------------------------------

    def expect(self, mixture: Mixture) -> Expectation:
        """The E step."""
        shift = np.zeros((self.n_rows if self.n_numbers else 0, mixture.logs.shape[1]))
        of_last = 0.0
        if self.n_numbers:
            add_log_densities(self.gaussian.numbers, mixture.mean, mixture.sd, shift)
            of_last = float(self.row_weights @ shift[:, -1])
        log_sums, counts, sums = self._compute_posteriors(mixture.logs, shift)
        of_tables = float(self._values @ mixture.logs[:, -1])
        log_likelihood = log_sums + of_last + of_tables - self._log_units
        log_prior = self.alpha * float((mixture.logs[:-1] * self._used[:-1]).sum())
        return Expectation(log_likelihood, log_likelihood + log_prior, counts, sums)

    def share_out(self, log_shares: Array) -> Expectation:
        """The E step of given shares, (n_rows, K), not normalised; L and J are not known."""
        logs = np.zeros((len(self._used), log_shares.shape[1]))
        _, counts, sums = self._compute_posteriors(logs, log_shares)
        return Expectation(np.nan, np.nan, counts, sums)

    def estimate(self, found: Expectation) -> Mixture:
        """The M step."""
        counts = found.counts[:-1] + self.alpha * self._used[:-1]
        logs = np.zeros_like(found.counts)
        if len(counts):
            totals = np.add.reduceat(counts, self.slots[:-1], axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                logs[:-1] = np.log(counts) - np.log(totals)[self._table_of]
            logs[self.slots[:-1]] = 0.0
        shares = np.maximum(found.counts[-1] / self.total_weight, _LEAST_SHARE)
        logs[-1] = np.log(shares / shares.sum())
        n, first, second = found.sums
        mean = np.divide(first, n, out=np.zeros_like(n), where=n > 0)
        square = np.divide(second, n, out=np.ones_like(n), where=n > 0)
        sd = np.sqrt(np.maximum(square - mean**2, self.min_scale**2))
        return Mixture(logs, mean, sd)

    def _compute_posteriors(self, logs: Array, shift: Array) -> tuple[float, Array, Array]:
        """Σ w log Σ_z exp(score_z − score of the last), counts, and sums."""
        posterior = np.empty((self.n_rows if self.n_numbers else 0, logs.shape[1]))
        groups, no_classes = self._prepare_groups(logs.shape[1]), np.empty(0, dtype=np.int64)
        total, counts = sum_posteriors(
            groups, logs, shift, self.weights, no_classes, posterior, self.threads
        )
        counts[self.slots[:-1]] = 0.0
        return total, counts, self.gaussian.sum_shares(posterior, self.threads)

    def _prepare_groups(self, n_clusters: int) -> FamilyGroups:
        if self._groups is None or self._groups[0] != n_clusters:
            d = len(self.cards)
            cells = FamilyCells(((),) * d, (True,) * d, self.cards, n_clusters)
            with self.threads.keep() as threads:
                self._groups = n_clusters, FamilyGroups.of(cells, self.codes, threads)
        return self._groups[1]

    # -- for what comes after -----------------------------------------------------------------

    def to_families(self, found: Expectation) -> FamilyCounts:
        """Expected counts as those of a naive Bayes network."""
        d = len(self.cards)
        tables = tuple(found.counts[self.slots[i] : self.slots[i + 1]] for i in range(d))
        return FamilyCounts(((),) * d, (True,) * d, found.counts[-1], tables)

    def value_counts(self) -> list[Array]:
        """Of each attribute, the weight of each of its values in all rows."""
        return [
            self._values[start + 1 : stop]
            for start, stop in zip(self.slots[:-1], self.slots[1:], strict=True)
        ]

    def normals(self, mixture: Mixture) -> tuple[Array, Array]:
        """Means and standard deviations in the units of the table."""
        return self.gaussian.unstandardise(mixture.mean, mixture.sd)


def gather_moments(numbers: Array, weights: Array | None, names: tuple[str, ...]) -> Moments:
    """Moments of whole columns of numbers; `varying` are those that are not constant."""
    one_cluster = np.zeros(numbers.shape[1], np.intp)
    return Moments.of(np.ascontiguousarray(numbers), one_cluster, 1, weights, names)
