"""Counts whose code tables grow: one pass over a table whose values nobody knows yet.

Every partition is counted in the code of its own columns and classes, whose values it has seen. Two
such counts are brought into the code of the values of both, and added: with φ_i from the slots of
attribute i in one code to those in another, and the class likewise,

    N'(φ_i(x), φ_j(y), φ(c)) += N(x, y, c).

Values are in their own order in each code, so that the sum depends neither on how rows are cut into
partitions nor on which came first. At the end φ leads to the schema of the whole table, in which
rare values are pooled and columns may be left out: several slots are added up then, and those of a
column that is left out go to the slot of missing values. Whole numbers in float64: no bit is lost.

This is possible where nothing but values is unknown. It is not, and a second pass has to count,

- where cut points of numbers are learned: they depend on all rows;
- where columns have so many values that tables of all of them would not fit, though those of the
  values that are not rare may.

Columns that name rows take part in neither: they are expected to be left out, and counts are given
up at the end if they are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lindero.bayes.columns.attributes import GAUSSIAN, Attributes
from lindero.bayes.columns.moments import Moments
from lindero.bayes.counts.counting import CodedRows, CountLayout
from lindero.bayes.counts.counts import Counts, count_pairs, find_pair_bytes
from lindero.bayes.evidence import AnyCounts, Evidence, Sample
from lindero.bayes.kdb import KDependence
from lindero.bayes.learner import Learner
from lindero.bayes.networks.network import FamilyCounts
from lindero.bayes.tables.schema import (
    CATEGORY,
    LEFT_OUT,
    NUMBER,
    UNKNOWN,
    Column,
    Schema,
    UserTable,
    choose_columns,
)
from lindero.bayes.tables.summed_columns import SummedColumn
from lindero.runtime.arrays import Array

#: Columns of more values are not counted in the first pass.
_MOST_CODED = 4096

#: Tables of a partition, or of some together, take no more than this in the first pass.
_MOST_BYTES = 2**27

#: The attribute of the old code that one of the new is (None: none), and its slots there.
Places = list[tuple[int | None, Array]]


@dataclass(frozen=True)
class ColumnPlan:
    """What a user says of columns."""

    names: tuple[str, ...] | None
    categorical: Any
    numeric: Any
    usual_numeric: str

    def choose_categories(self, n_columns: int) -> set[int]:
        """Columns that are categories whatever they hold."""
        return choose_columns(self.categorical, self.names, n_columns)

    def names_column(self, at: int) -> bool:
        """Whether `numeric` says something of a column in particular."""
        given = self.numeric if isinstance(self.numeric, Mapping) else {}
        return at in given or (self.names is not None and self.names[at] in given)

    def plan(self, columns: tuple[SummedColumn, ...], left_out: frozenset[int]) -> Attributes:
        """The attributes that columns make, all of their values with a code of their own."""
        chosen = self.choose_categories(len(columns))
        made = []
        for at, column in enumerate(columns):
            kind = UNKNOWN if column.is_unknown(0) else column.kind(0)
            kind = LEFT_OUT if at in left_out else CATEGORY if at in chosen else kind
            values = tuple(column.values) if kind == CATEGORY else ()
            made.append(Column(None if self.names is None else self.names[at], kind, values))
        return Attributes.plan(Schema(tuple(made)), self.numeric, self.usual_numeric)


@dataclass(frozen=True)
class GrownCounts:
    """What was counted in the code of the values seen so far, and columns that were not."""

    evidence: Evidence
    classes: Array
    uncounted: frozenset[int]

    @classmethod
    def of(
        cls,
        table: UserTable,
        columns: tuple[SummedColumn, ...],
        labels: Array,
        weights: Array | None,
        plan: ColumnPlan,
        learner: Learner,
    ) -> GrownCounts | None:
        """Of the rows of a partition, which are not none; None where a second pass has to count."""
        wide = {at for at, column in enumerate(columns) if len(column.values) > _MOST_CODED}
        attributes = plan.plan(columns, frozenset(wide))
        learned = _find_learned(attributes)
        for at in learned:
            title = attributes.schema.title(at)
            if plan.names_column(at) or not columns[at].may_number_rows(title):
                return None
        uncounted = frozenset(wide.union(learned))
        attributes = plan.plan(columns, uncounted) if learned else attributes
        classes, y = np.unique(labels, return_inverse=True)
        learner = replace(learner, n_classes=len(classes))
        if find_pair_bytes(_find_cards(attributes), len(classes)) > _MOST_BYTES:
            return None
        sample = Sample(attributes.schema.read(table, unseen="error"), y, weights)
        try:
            evidence = count_sample(learner, attributes, sample)
        except ValueError:  # of parameters or memory: the second pass tells what of the whole table
            return None
        return cls(evidence, classes, uncounted)

    def merge(
        self,
        other: GrownCounts,
        columns: tuple[SummedColumn, ...],
        classes: Array,
        plan: ColumnPlan,
    ) -> GrownCounts | None:
        """Of the rows of both, whose columns and classes are given."""
        uncounted = self.uncounted | other.uncounted
        attributes = plan.plan(columns, uncounted)
        parts = [one.recode(attributes, classes) for one in (self, other)]
        if parts[0] is None or parts[1] is None:
            return None
        return GrownCounts(parts[0].merge(parts[1]), classes, uncounted)

    def recode(self, new: Attributes, classes: Array) -> Evidence | None:
        """The same counts in another code; None where they do not tell, or would not fit."""
        old = self.evidence.attributes
        if any(new.schema.columns[at].kind != LEFT_OUT for at in self.uncounted):
            return None
        if _find_learned(new):
            return None
        own = np.searchsorted(classes, self.classes)
        counts: AnyCounts | None = self.evidence.counts
        same = len(own) == len(classes)
        if not same or old.schema != new.schema:
            places, cards = _find_places(old, new), _find_cards(new)
            if find_pair_bytes(cards, len(classes)) > _MOST_BYTES:
                return None
            if isinstance(counts, FamilyCounts):
                counts = _recode_families(counts, places, cards, own, len(classes))
            else:
                assert counts is not None
                counts = _recode_counts(counts, places, cards, own, len(classes))
        if counts is None:
            return None
        return Evidence(new, counts, _recode_moments(self.evidence, new, own, len(classes)))


def count_sample(
    learner: Learner, attributes: Attributes, sample: Sample, known: AnyCounts | None = None
) -> Evidence:
    """The counts of some rows: of pairs for a `KDB`, as long as its arcs are not `known`."""
    if not isinstance(learner.structure, KDependence) or known is not None:
        return learner.count(attributes, sample, known)
    codes, cards = attributes.encode(sample.table)
    rows = CodedRows(codes, cards, sample.y, learner.n_classes, sample.weights)
    pairs = count_pairs(rows, names=attributes.titles)
    return Evidence(attributes, pairs, learner.sum_numbers(attributes, sample))


def _find_learned(attributes: Attributes) -> list[int]:
    """Columns of numbers whose cut points are learned."""
    numbers = zip(attributes.schema.number_columns, attributes.methods, strict=True)
    return [column for column, method in numbers if method not in (GAUSSIAN, None)]


def _find_cards(attributes: Attributes) -> Array:
    """How many values each coded attribute has."""
    return np.array([len(values) for values in attributes.values()], dtype=np.int64)


# -- from one code to another ---------------------------------------------------------------------


def _find_places(old: Attributes, new: Attributes) -> Places:
    """Of each attribute of the new code, the attribute of the old one, and the new slots of its
    slots. One that the old code does not have, a column of numbers that is left out now, has the
    slot of missing values only."""
    at_old = {int(column): at for at, column in enumerate(old.coded_columns)}
    places: Places = []
    for column in new.coded_columns.tolist():
        at, known = at_old.get(column), new.schema.columns[column]
        values = old.schema.columns[column].values
        if at is None or known.kind == LEFT_OUT:
            n_slots = 1 if at is None else len(values) + 1
            places.append((at, np.zeros(n_slots, dtype=np.int64)))
        elif known.kind == NUMBER:  # cut at given points, or without any number so far
            is_cut = old.schema.columns[column].kind == NUMBER
            cuts = new.cuts[new.schema.number_columns.index(column)]
            assert cuts is not None
            places.append((at, np.arange(len(cuts) + 2 if is_cut else 1)))
        else:
            code_of = {value: code for code, value in enumerate(known.values, start=1)}
            rest = 0 if known.other is None else code_of[known.other]
            own = [0, *(code_of.get(value, rest) for value in values)]
            places.append((at, np.array(own, dtype=np.int64)))
    return places


def _add(target: Array, places: list[Array], table: Array) -> None:
    """target[places] += table, axis by axis, where several places may be the same."""
    where = np.ix_(*places)
    if all(len(np.unique(own)) == len(own) for own in places):
        target[where] += table
    else:
        np.add.at(target, where, table)


def _recode_counts(
    counts: Counts, places: Places, cards: Array, classes: Array, n_classes: int
) -> Counts:
    with_pairs = counts.pairs is not None
    layout = CountLayout.of(cards, n_classes, with_pairs)
    of_class = np.zeros(n_classes)
    of_class[classes] = counts.of_class
    pairs = np.zeros(layout.pair_cells) if with_pairs else None
    new = Counts(n_classes, cards, of_class, np.zeros(layout.single_cells), pairs)

    def single(at: int | None) -> Array:
        return counts.of_class[None] if at is None else counts.single(at)

    for i, (at, own) in enumerate(places):
        _add(new.single(i), [own, classes], single(at))
        for j in range(i + 1, len(places) if with_pairs else 0):
            beside, others = places[j]
            if at is None:
                table = single(beside)[None]
            elif beside is None:
                table = single(at)[:, None]
            else:
                table = counts.pair(at, beside)
            _add(new.pair(i, j), [own, others, classes], table)
    return new


def _recode_families(
    counts: FamilyCounts, places: Places, cards: Array, classes: Array, n_classes: int
) -> FamilyCounts | None:
    at_new = {at: i for i, (at, _) in enumerate(places)}
    parents, tables, with_class = [], [], []
    for at, _ in places:
        if at is None or any(p not in at_new for p in counts.parents[at]):
            return None
        above = tuple(at_new[p] for p in counts.parents[at])
        family = (at_new[at], *above)
        shape = (*(int(cards[i]) + 1 for i in family), n_classes)
        if 8.0 * np.prod(shape, dtype=np.float64) > _MOST_BYTES:
            return None
        tables.append(np.zeros(shape))
        _add(tables[-1], [*(places[i][1] for i in family), classes], counts.tables[at])
        parents.append(above)
        with_class.append(counts.with_class[at])
    of_class = np.zeros(n_classes)
    of_class[classes] = counts.of_class
    return FamilyCounts(tuple(parents), tuple(with_class), of_class, tuple(tables))


def _recode_moments(evidence: Evidence, new: Attributes, classes: Array, n_classes: int) -> Moments:
    """Sums of the Gaussian columns of the new code; columns without any number so far have none."""
    old, columns = evidence.moments, new.gaussian_columns.tolist()
    before = evidence.attributes.gaussian_columns.tolist()
    held = [at for at, column in enumerate(columns) if column in before]
    taken = [before.index(columns[at]) for at in held]
    count, mean, squares = np.zeros((3, len(columns), n_classes))
    largest = np.zeros(len(columns))
    for made, known in ((count, old.count), (mean, old.mean), (squares, old.squares)):
        made[np.array(held, dtype=np.intp)[:, None], classes] = known[taken]
    largest[held] = old.largest[taken]
    names = tuple(new.schema.title(column) for column in columns)
    return Moments(count, mean, squares, largest, names)
