"""What a Bayesian classifier keeps of its samples: counts, or the samples while that is undecided.

Counts add up, so that batches need not be kept. But where numbers are cut, or which attributes
depend on which, may have to be learned from samples first: these are kept then, until there are
enough of them, and everything is counted anew with each batch. So batches make the same model as
all samples at once as long as samples are kept, and from then on with cuts and arcs as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from lindero.bayes.columns.attributes import Attributes
from lindero.bayes.columns.moments import Moments
from lindero.bayes.counts.counting import COUNT_ROUNDING
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

    def remove(self, other: Sample) -> Sample:
        """Without the rows of the other, by their values, classes and weights: a weight may take
        several rows, or a part of one. Refused where there are fewer such rows."""
        rows: dict[bytes, list[int]] = {}
        for row, key in enumerate(_make_keys(self)):
            rows.setdefault(key, []).append(row)
        whole, gone = _fill_weights(self), _fill_weights(other)
        left, weighted = whole.copy(), self.weights is not None or other.weights is not None
        for row, key in enumerate(_make_keys(other)):
            alike, wanted = rows.get(key, []), gone[row]
            if weighted:  # a row of just this weight comes first, and so stands last
                alike.sort(key=lambda at: -abs(left[at] - gone[row]))
            while alike and wanted > COUNT_ROUNDING * gone[row]:
                taken = min(left[alike[-1]], wanted)
                wanted -= taken
                left[alike[-1]] -= taken
                if left[alike[-1]] <= COUNT_ROUNDING * whole[alike[-1]]:
                    left[alike.pop()] = 0.0
            if wanted > COUNT_ROUNDING * gone[row]:
                raise ValueError(
                    f"Row {row} of X was not learned, or is forgotten already: there is no row "
                    "with its values and class, or not with its weight. Pass rows as they were "
                    "given to partial_fit."
                )
        rest = replace(self, weights=left) if weighted else self
        return rest.take(np.flatnonzero(left))

    def keep_values(self, kept: list[Array]) -> Sample:
        """With new codes, where some values are gone; see `Schema.keep_values`."""
        codes = np.empty_like(self.table.codes)
        for at, (own, r) in enumerate(zip(kept, self.table.cards, strict=True)):
            new = np.zeros(int(r) + 1, dtype=codes.dtype)
            new[own] = np.arange(len(own))
            codes[at] = new[self.table.codes[at]]
        cards = np.array([len(own) - 1 for own in kept], dtype=np.int64)
        return replace(self, table=replace(self.table, codes=codes, cards=cards))

    def seen_values(self, at: int) -> Array:
        """Which values of a category column some row has."""
        r = int(self.table.cards[at])
        return np.bincount(self.table.codes[at], minlength=r + 1)[1:] > 0


def _make_keys(sample: Sample) -> list[bytes]:
    """Of each row, what it is but for its weight: equal rows have equal keys."""
    table = sample.table
    # NaN is written in one way, and so is zero.
    numbers = np.where(np.isnan(table.numbers), np.nan, table.numbers) + 0.0
    codes = np.vstack([table.codes.astype(np.int64), sample.y[None].astype(np.int64)])
    whole = np.ascontiguousarray(np.vstack([codes, numbers.view(np.int64)]).T)
    return [row.tobytes() for row in whole]


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

    def subtract(self, other: Evidence) -> Evidence:
        """Without the rows of the other, which are read by the same attributes."""
        counts = self.counts.subtract(other.counts)  # type: ignore[arg-type]  # of one structure
        return Evidence(self.attributes, counts, self.moments.subtract(other.moments))

    def keep_values(self, schema: Schema, kept: list[Array]) -> Evidence:
        """Without some values of the category columns; see `Schema.keep_values`."""
        of_column = dict(zip(self.attributes.schema.category_columns, kept, strict=True))
        cards, columns = self.counts.cards.tolist(), self.attributes.coded_columns.tolist()
        slots = [of_column.get(k, np.arange(r + 1)) for k, r in zip(columns, cards, strict=True)]
        attributes = replace(self.attributes, schema=schema)
        return Evidence(attributes, self.counts.keep_values(slots), self.moments)

    def seen_values(self, at: int) -> Array:
        """Which values of a category column some row has."""
        column = self.attributes.schema.category_columns[at]
        return self.counts.seen_values(self.attributes.coded_columns.tolist().index(column))


Known = TypeVar("Known", Sample, Evidence)


def find_slots_left(
    before: Known, after: Known, declared: list[set[Any]], schema: Schema
) -> list[Array] | None:
    """The slots of each category column without those values that only forgotten rows had, and
    that no dtype declares; None where there are no such values."""
    kept, all_there = [], True
    for at, column in enumerate(schema.category_columns):
        values = schema.columns[column].values
        gone = before.seen_values(at) & ~after.seen_values(at)
        gone &= np.array([value not in declared[at] for value in values], dtype=bool)
        kept.append(np.append(0, 1 + np.flatnonzero(~gone)))
        all_there = all_there and not gone.any()
    return None if all_there else kept
