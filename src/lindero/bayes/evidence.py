"""What a Bayesian classifier keeps of its samples: counts, or the samples while that is undecided.

Counts add up, so that batches need not be kept. But where numbers are cut, or which attributes
depend on which, may have to be learned from samples first: these are kept then, until there are
enough of them, and everything is counted anew with each batch. So batches make the same model as
all samples at once as long as samples are kept, and from then on with cuts and arcs as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lindero.bayes.attributes import Attributes
from lindero.bayes.moments import Moments
from lindero.bayes.table import Table
from lindero.kernels.functions import Array


@dataclass(frozen=True)
class Sample:
    """Rows as they were read, their classes and weights."""

    table: Table
    y: Array
    weights: Array | None

    @property
    def n_rows(self) -> int:
        return len(self.y)

    def kept(self) -> Sample:
        """The same in memory of its own: numbers and weights may be arrays of the user's."""
        weights = None if self.weights is None else self.weights.copy()
        table = replace(self.table, numbers=self.table.numbers.copy())
        return Sample(table, self.y, weights)

    def with_more(self, other: Sample) -> Sample:
        """Both, one after the other; `other` may know more values of the same columns."""
        one, two = self.table, other.table
        table = replace(
            two,
            codes=np.concatenate([one.codes, two.codes], axis=1),
            numbers=np.concatenate([one.numbers, two.numbers], axis=1),
            n_rows=one.n_rows + two.n_rows,
        )
        weights = None
        if self.weights is not None or other.weights is not None:
            weights = np.concatenate([_weights(self), _weights(other)])
        return Sample(table, np.concatenate([self.y, other.y]), weights)


def _weights(sample: Sample) -> Array:
    return np.ones(sample.n_rows) if sample.weights is None else sample.weights


@dataclass(frozen=True)
class Evidence:
    """What was counted: `counts` are of a kind that the classifier chose, and can `merge`."""

    attributes: Attributes
    counts: Any
    moments: Moments

    def merge(self, other: Evidence) -> Evidence:
        """Of both; the other one has the later attributes."""
        return Evidence(
            other.attributes,
            self.counts.merge(other.counts),
            self.moments.merge(other.moments),
        )
