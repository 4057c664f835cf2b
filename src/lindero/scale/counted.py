"""Bayesian classifiers over rows in partitions: counts add up.

    first pass    kinds of columns, their values, classes, and a sample of rows for cut points
    second pass   the counts, by a schema that is the same for all partitions
    third pass    for a `KDB` alone, whose arcs follow from the counts of pairs: its families

The schema is that of the whole table, so that codes mean the same everywhere, and counts are those
of the whole table bit for bit (whole numbers in float64, whose order of addition does not matter).
Means and variances of Gaussian columns merge exactly but for rounding.

Cut points depend on all rows. They are learned from a uniform sample, which has all rows while
these have no more than `_SAMPLED_NUMBERS` numbers: the cuts are then those of the whole table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from lindero.bayes.classifier import (
    adopt_counts,
    find_usual_numeric,
    prepare_counting,
    require_countable,
)
from lindero.bayes.columns.attributes import GAUSSIAN, Attributes
from lindero.bayes.counts.counting import CodedRows
from lindero.bayes.counts.counts import Counts, count_pairs
from lindero.bayes.evidence import AnyCounts, Evidence, Sample
from lindero.bayes.kdb import KDependence
from lindero.bayes.learner import Learner
from lindero.bayes.networks.network import FamilyCounts
from lindero.bayes.reading import (
    choose_prior,
    read_count_weights,
    tidy_columns,
    warn_of_codes,
)
from lindero.bayes.tables.schema import Schema, Table, UserTable, choose_columns
from lindero.bayes.tables.summed_columns import SummedColumn, merge_columns
from lindero.runtime.arrays import Array
from lindero.scale.partitions import Rows, Source
from lindero.scale.runner import Runner
from lindero.scale.sampling import DrawnRows
from lindero.scale.targets import ClassTotals, encode_part, read_labels

#: Numbers in the sample that cut points are learned from; rows of one that only warnings need.
_SAMPLED_NUMBERS = 2**23
_FEW_ROWS = 1_000


@dataclass(frozen=True)
class LabelledTable:
    """A partition whose rows of weight 0 are gone; without a table if none is left."""

    part: int
    label: str
    table: UserTable | None
    labels: Array
    weights: Array | None


def read_labelled_part(number: int, label: str, rows: Rows) -> LabelledTable:
    """A partition as a table of columns, checked."""
    n_rows = rows.n_rows
    labels, X, weights = read_labels(rows.y, n_rows, label), rows.X, None
    try:
        if rows.weights is not None and n_rows:
            weights = read_count_weights(np.asarray(rows.weights), n_rows)
            held = np.flatnonzero(weights > 0)
            if len(held) < n_rows:
                X, labels, weights = _take(X, held), labels[held], weights[held]
        if not len(labels):
            return LabelledTable(number, label, None, labels, None)
        return LabelledTable(number, label, UserTable.of(X), labels, weights)
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None


def _take(X: Any, rows: Array) -> Any:
    if isinstance(X, np.ndarray):
        return X[rows]
    if isinstance(X, pa.Table):
        return X.take(pa.array(rows))
    return nw.from_native(X, eager_only=True)[rows.tolist()].to_native()


# -- the first pass -------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableSurvey:
    """What partitions say of their columns; nothing (None) if they have no rows."""

    n_rows: int
    columns: tuple[SummedColumn, ...] | None
    totals: ClassTotals
    sample: DrawnRows | None

    def merge(self, other: TableSurvey) -> TableSurvey:
        if self.columns is None or other.columns is None:
            return other if self.columns is None else self
        assert self.sample is not None
        assert other.sample is not None
        return TableSurvey(
            self.n_rows + other.n_rows,
            merge_columns(self.columns, other.columns),
            self.totals.merge(other.totals),
            self.sample.merge(other.sample),
        )


def _survey(part: LabelledTable, *, names: Any, categorical: Any, most: int) -> TableSurvey:
    table, weights = part.table, part.weights
    counted = np.ones(len(part.labels)) if weights is None else weights
    totals = ClassTotals.of(part.labels, counted)
    if table is None:
        return TableSurvey(0, None, totals, None)
    try:
        chosen = choose_columns(categorical, names, table.n_columns)
        columns, numbers = [], np.full((table.n_columns, table.n_rows), np.nan)
        for at in range(table.n_columns):
            own, place = table.place(at)
            assert not isinstance(own, SummedColumn)
            name = at if table.names is None else table.names[at]
            columns.append(SummedColumn.of(own, place, name, at in chosen))
            if columns[-1].value_kind == "number" and not columns[-1].listed:
                own.write_numbers(np.array([place]), numbers[at : at + 1])
    except ValueError as error:
        raise ValueError(f"{part.label}: {error}") from None
    sample = DrawnRows.draw((numbers.T, part.labels, counted), most, part.part)
    return TableSurvey(table.n_rows, tuple(columns), totals, sample)


def _plan_columns(model: Any, found: TableSurvey, source: Source) -> Attributes:
    """The schema of the whole table, and what is made of its columns."""
    assert found.columns is not None
    columns: Any = found.columns  # which have no rows to read, but all that a schema asks for
    table = UserTable(columns, source.names, found.n_rows)
    schema = Schema.learn(table, model.categorical_features)
    if model.categorical_features is None:
        given = model.numeric if isinstance(model.numeric, Mapping) else {}
        keep = {at for at in range(schema.n_columns) if at in given or schema.title(at) in given}
        schema = tidy_columns(schema, table, keep)
    return Attributes.plan(schema, model.numeric, find_usual_numeric(model))


def _make_sample(attributes: Attributes, found: TableSurvey, weighted: bool) -> Sample:
    """The numbers of the sampled rows, for cut points and warnings."""
    assert found.sample is not None
    numbers, labels, weights = found.sample.columns
    columns = list(attributes.schema.number_columns)
    held = np.ascontiguousarray(numbers.T[columns])
    codes = np.zeros((len(attributes.schema.category_columns), len(labels)), np.uint8)
    cards = np.zeros(len(codes), np.int64)
    y = encode_part(labels, found.totals.classes, "The sample")
    return Sample(Table(codes, cards, held, len(labels)), y, weights if weighted else None)


# -- the passes that count ------------------------------------------------------------------------


@dataclass(frozen=True)
class CountingPlan:
    """How the rows of a partition are counted: `known` has the arcs of a `KDB` once they are."""

    learner: Learner
    attributes: Attributes
    classes: Array
    known: AnyCounts | None = None

    def count(self, part: LabelledTable) -> Evidence | None:
        """The counts of a partition; None if it has no rows."""
        if part.table is None:
            return None
        try:
            table = self.attributes.schema.read(part.table, unseen="error")
        except ValueError as error:
            raise ValueError(f"{part.label}: {error}") from None
        y = encode_part(part.labels, self.classes, part.label)
        sample = Sample(table, y, part.weights)
        structure = self.learner.structure
        if isinstance(structure, KDependence) and self.known is None:
            return self._count_pairs(sample)
        return self.learner.count(self.attributes, sample, self.known)

    def _count_pairs(self, sample: Sample) -> Evidence:
        codes, cards = self.attributes.encode(sample.table)
        rows = CodedRows(codes, cards, sample.y, self.learner.n_classes, sample.weights)
        pairs = count_pairs(rows, names=self.attributes.titles)
        return Evidence(self.attributes, pairs, self.learner.sum_numbers(self.attributes, sample))


def _count(part: LabelledTable, *, plan: CountingPlan) -> Evidence | None:
    return plan.count(part)


def _merge_surveys(one: TableSurvey, other: TableSurvey) -> TableSurvey:
    return one.merge(other)


def _merge_evidence(one: Evidence | None, other: Evidence | None) -> Evidence | None:
    if one is None or other is None:
        return other if one is None else one
    return one.merge(other)


def fit_counts(model: Any, source: Source, runner: Runner) -> None:
    """Set all fitted attributes of a Bayesian classifier."""
    require_countable(model)
    gaussian = find_usual_numeric(model) if isinstance(model.numeric, Mapping) else model.numeric
    cuts = isinstance(model.numeric, Mapping) or gaussian != GAUSSIAN
    most = max(_FEW_ROWS, _SAMPLED_NUMBERS // source.n_columns) if cuts else _FEW_ROWS
    first = partial(_survey, names=source.names, categorical=model.categorical_features, most=most)
    found: TableSurvey = runner.reduce(read_labelled_part, first, _merge_surveys)
    if found.columns is None:
        raise ValueError("X has no rows with a positive weight: there is nothing to learn from.")
    found.totals.require_several()
    model.classes_ = found.totals.classes
    choose_prior(model.class_prior, model.fit_prior, len(model.classes_))
    model.n_features_in_ = source.n_columns
    if source.names is not None:
        model.feature_names_in_ = np.asarray(source.names, dtype=object)
    attributes = _plan_columns(model, found, source)
    learner = prepare_counting(model, attributes)
    weighted = bool((found.totals.weights != found.totals.counts).any())
    sample = _make_sample(attributes, found, weighted)
    attributes = learner.learn_cuts(attributes, sample)
    plan = CountingPlan(learner, attributes, model.classes_)
    evidence = runner.reduce(read_labelled_part, partial(_count, plan=plan), _merge_evidence)
    structure = learner.structure
    if isinstance(structure, KDependence):
        assert isinstance(evidence.counts, Counts)
        parents = structure.find_arcs(evidence.counts)
        arcs = FamilyCounts(parents, (True,) * len(parents), evidence.counts.of_class, ())
        plan = replace(plan, known=arcs)
        evidence = runner.reduce(read_labelled_part, partial(_count, plan=plan), _merge_evidence)
    warn_of_codes(attributes, sample, evidence.moments)
    adopt_counts(model, learner, evidence)
