"""What a Bayesian classifier keeps of its samples: counts, or the samples while that is undecided.

Counts add up, so that batches need not be kept. But where numbers are cut, or which attributes
depend on which, may have to be learned from samples first: these are kept then, until there are
enough of them, and everything is counted anew with each batch. So batches make the same model as
all samples at once as long as samples are kept, and from then on with cuts and arcs as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.columns.moments import Moments
from lindero.bayes.counts.counts import Counts
from lindero.bayes.networks.network import FamilyCounts
from lindero.bayes.tables.schema import Schema, Table
from lindero.runtime.arrays import Array

#: Of attributes alone or in pairs; or of attributes with their parents.
AnyCounts = Counts | FamilyCounts


@dataclass(frozen=True)
class Sample:
    """Rows as they were read, their classes and weights."""

    table: Table
    y: Array
    weights: Array | None

    @property
    def n_rows(self) -> int:
        return len(self.y)

    def copy(self) -> Sample:
        """The same in memory of its own: numbers and weights may be arrays of the user's."""
        weights = None if self.weights is None else self.weights.copy()
        table = replace(self.table, numbers=self.table.numbers.copy())
        return Sample(table, self.y, weights)

    def take(self, rows: Array) -> Sample:
        """Some of the rows."""
        table = replace(
            self.table,
            codes=np.ascontiguousarray(self.table.codes[:, rows]),
            numbers=np.ascontiguousarray(self.table.numbers[:, rows]),
            n_rows=len(rows),
        )
        weights = None if self.weights is None else self.weights[rows]
        return Sample(table, self.y[rows], weights)

    def settle_kinds(self, old: Schema, new: Schema) -> Sample:
        """Read by a schema that knows the kinds of columns which had no values so far."""
        if old.number_columns == new.number_columns:
            return self
        codes = self.table.codes[[old.category_columns.index(k) for k in new.category_columns]]
        cards = self.table.cards[[old.category_columns.index(k) for k in new.category_columns]]
        numbers = np.full((len(new.number_columns), self.n_rows), np.nan)
        for at, column in enumerate(new.number_columns):
            if column in old.number_columns:
                numbers[at] = self.table.numbers[old.number_columns.index(column)]
        table = replace(self.table, codes=codes, cards=cards, numbers=numbers)
        return replace(self, table=table)

    def append(self, other: Sample) -> Sample:
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
            weights = np.concatenate([_fill_weights(self), _fill_weights(other)])
        return Sample(table, np.concatenate([self.y, other.y]), weights)


def _fill_weights(sample: Sample) -> Array:
    return np.ones(sample.n_rows) if sample.weights is None else sample.weights


@dataclass(frozen=True)
class Evidence:
    """Attributes with their cuts, counts as the structure chose, and sums of Gaussian columns."""

    attributes: Attributes
    counts: AnyCounts
    moments: Moments

    def settle_kinds(self, new: Attributes) -> Evidence:
        """What would have been counted if the kinds of columns without values had been known:
        Gaussian ones, which had the slot of missing values only, are no attributes."""
        if not self.attributes.plans:  # all kinds were known
            return self
        before: list[int] = self.attributes.coded_columns.tolist()
        after: list[int] = new.coded_columns.tolist()
        gone = sorted(set(before).difference(after))
        if not gone:
            return self
        counts = self.counts.keep([i for i, column in enumerate(before) if column not in gone])
        places = [new.gaussian_columns.tolist().index(k) for k in gone]
        names = tuple(new.schema.title(int(k)) for k in new.gaussian_columns)
        return Evidence(new, counts, self.moments.with_empty(places, names))

    def merge(self, other: Evidence) -> Evidence:
        """Of both; the other one has the later attributes."""
        counts = self.counts.merge(other.counts)  # type: ignore[arg-type]  # of one structure
        return Evidence(other.attributes, counts, self.moments.merge(other.moments))
