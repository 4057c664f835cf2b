"""Counts of families: every attribute with its parents and the class, for arcs that are known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lindero.bayes.counts.counts import count_families
from lindero.bayes.networks.expectation import expected_counts
from lindero.bayes.networks.network import Network, estimated
from lindero.errors import warn_user
from lindero.runtime.arrays import Array

#: Rounds of expectation and estimation, and the change of a probability below which they end.
_MOST_ROUNDS = 200
_CHANGE = 1e-5


@dataclass(frozen=True)
class FamilyCounts:
    """`tables[i]`, of shape (r_i + 1, r_p1 + 1, …, K), counts attribute i (first axis) with its
    parents and the class, slot 0 being for missing values; `of_class` counts the classes."""

    parents: tuple[tuple[int, ...], ...]
    with_class: tuple[bool, ...]
    of_class: Array
    tables: tuple[Array, ...]

    @classmethod
    def of(
        cls,
        parents: tuple[tuple[int, ...], ...],
        with_class: tuple[bool, ...],
        sample: tuple[Array, Array, Array, int, Array | None],
        names: list[str],
    ) -> FamilyCounts:
        """Count a sample: codes, cards, classes, their number, and weights or None. Names are for
        messages."""
        codes, cards, y, n_classes, weights = sample
        families = [(i, *above) for i, above in enumerate(parents)]
        of_class = np.bincount(y, weights=weights, minlength=n_classes).astype(np.float64)
        tables = count_families(codes, cards, y, n_classes, families, weights, names=names)
        return cls(parents, with_class, of_class, tuple(tables))

    def merge(self, other: FamilyCounts) -> FamilyCounts:
        """The counts of both; attributes may have got more values."""
        tables = tuple(_sum(one, two) for one, two in zip(self.tables, other.tables, strict=True))
        return replace(self, of_class=self.of_class + other.of_class, tables=tables)

    @property
    def cards(self) -> Array:
        """How many values each attribute has."""
        return np.array([len(table) - 1 for table in self.tables], dtype=np.int64)

    def network(self, alpha: float, prior: Array | None) -> Network:
        """The network of smoothed relative counts."""
        return estimated(
            self.tables, self.parents, self.with_class, self.cards, self.of_class, alpha, prior
        )

    def completed(
        self, codes: Array, y: Array, weights: Array | None, alpha: float
    ) -> FamilyCounts:
        """Missing values counted by their expectation, given all that is known of their rows and
        the network that these counts make (the EM algorithm)."""
        if codes.size == 0 or codes.min() > 0:
            return self
        families = [(i, *above) for i, above in enumerate(self.parents)]
        counts, network = self, self.network(alpha, None)
        for _ in range(_MOST_ROUNDS):
            tables = tuple(expected_counts(network, codes, y, weights, families))
            counts, before = replace(counts, tables=tables), network
            network = counts.network(alpha, None)
            change = _largest_change(before, network)
            if change <= _CHANGE:
                return counts
        warn_user(
            f"missing='em' has not settled in {_MOST_ROUNDS} rounds: the last one changed a "
            f"probability by {change:.1g}. Columns with few values present settle slowly; a larger "
            "alpha helps, or missing='available'.",
            ConvergenceWarning,
        )
        return counts


def _largest_change(one: Network, two: Network) -> float:
    """The largest difference of the networks' probabilities."""
    pairs = zip(one.log_tables, two.log_tables, strict=True)
    return max(float(np.abs(np.exp(b) - np.exp(a)).max(initial=0.0)) for a, b in pairs)


def _sum(one: Array, two: Array) -> Array:
    total = np.zeros(np.maximum(one.shape, two.shape))
    total[tuple(slice(n) for n in one.shape)] += one
    total[tuple(slice(n) for n in two.shape)] += two
    return total
