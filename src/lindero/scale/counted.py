"""Bayesian classifiers over rows in partitions: counts add up.

    first pass    kinds of columns, their values, classes, a sample of rows for cut points; and the
                  counts, in codes that grow with the values seen (`grown`), where that is possible
    second pass   the counts, where cut points were to be learned first, or values were too many
    one more      for a `KDB` alone, whose arcs follow from the counts of pairs: its families

In the end the schema is that of the whole table, and counts are those of the whole table bit for
bit (whole numbers in float64, whose order of addition does not matter). Means and variances of
Gaussian columns merge exactly but for rounding.

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
    prepare_first_pass,
    require_countable,
)
from lindero.bayes.columns.attributes import GAUSSIAN, Attributes
from lindero.bayes.counts.counts import Counts
from lindero.bayes.discriminative.learning import N_FOLDS
from lindero.bayes.evidence import AnyCounts, Evidence, Sample
from lindero.bayes.kdb import KDependence
from lindero.bayes.learner import HELD_FOLD, DiscriminativeParameters, Learner, require_held
from lindero.bayes.networks.network import FamilyCounts
from lindero.bayes.reading import (
    choose_prior,
    read_count_weights,
    tidy_columns,
    warn_of_codes,
)
from lindero.bayes.structural_tm import GrownStructure
from lindero.bayes.tables.schema import Schema, Table, UserTable
from lindero.bayes.tables.summed_columns import SummedColumn, merge_columns
from lindero.runtime.arrays import Array
from lindero.scale.conditional import KeptPart, RowPasses
from lindero.scale.discriminative import PartitionedTable, count_selected
from lindero.scale.folds import FoldPlan, Selection, rank_in_class
from lindero.scale.grown import ColumnPlan, GrownCounts, count_sample
from lindero.scale.partitions import Rows, Source
from lindero.scale.runner import Runner
from lindero.scale.sampling import DrawnRows
from lindero.scale.searching import AskWeight, PartitionedSearch
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
    """What partitions say of their columns, and their counts, where one pass is enough for these;
    nothing (None) if they have no rows."""

    n_rows: int
    columns: tuple[SummedColumn, ...] | None
    totals: ClassTotals
    sample: DrawnRows | None
    parts: tuple[tuple[int, Array, Array], ...] = ()  # number, classes and their rows
    grown: GrownCounts | None = None

    def merge(self, other: TableSurvey, plan: ColumnPlan) -> TableSurvey:
        if self.columns is None or other.columns is None:
            return other if self.columns is None else self
        assert self.sample is not None
        assert other.sample is not None
        columns, grown = merge_columns(self.columns, other.columns), None
        totals = self.totals.merge(other.totals)
        if self.grown is not None and other.grown is not None:
            grown = self.grown.merge(other.grown, columns, totals.classes, plan)
        n_rows, sample = self.n_rows + other.n_rows, self.sample.merge(other.sample)
        return TableSurvey(n_rows, columns, totals, sample, self.parts + other.parts, grown)


def _survey(
    part: LabelledTable, *, plan: ColumnPlan, most: int, learner: Learner | None
) -> TableSurvey:
    table, weights = part.table, part.weights
    counted = np.ones(len(part.labels)) if weights is None else weights
    totals = ClassTotals.of(part.labels, counted)
    if table is None:
        return TableSurvey(0, None, totals, None)
    try:
        chosen = plan.choose_categories(table.n_columns)
        columns, numbers = [], np.full((table.n_columns, table.n_rows), np.nan)
        for at in range(table.n_columns):
            own, place = table.place(at)
            assert not isinstance(own, SummedColumn)
            name = at if table.names is None else table.names[at]
            columns.append(SummedColumn.of(own, place, name, at in chosen))
            if columns[-1].value_kind == "number" and not columns[-1].listed:
                own.write_numbers(np.array([place]), numbers[at : at + 1])
        found, grown = tuple(columns), None
        if learner is not None:
            grown = GrownCounts.of(table, found, part.labels, weights, plan, learner)
    except ValueError as error:
        raise ValueError(f"{part.label}: {error}") from None
    ranks = rank_in_class(np.unique(part.labels, return_inverse=True)[1])
    number = np.full(table.n_rows, part.part)
    # Cut points need no rows of a partition that has been counted as a whole.
    few = most if grown is None or grown.uncounted else min(most, _FEW_ROWS)
    drawn = DrawnRows.draw((numbers.T, part.labels, counted, number, ranks), few, part.part)
    parts = ((part.part, totals.classes, totals.counts),)
    return TableSurvey(table.n_rows, found, totals, drawn, parts, grown)


def _plan_columns(model: Any, found: TableSurvey, source: Source) -> Attributes:
    """The schema of the whole table, and what is made of its columns."""
    assert found.columns is not None
    columns: Any = found.columns  # which have no rows to read, but all that a schema asks for
    table = UserTable(columns, source.names, found.n_rows)
    schema = Schema.learn(table, model.categorical_features)
    if model.categorical_features is None:
        given = model.numeric if isinstance(model.numeric, Mapping) else {}
        keep = {at for at in range(schema.n_columns) if at in given or schema.title(at) in given}
        schema = tidy_columns(schema, table, keep, model._least_rows)
    return Attributes.plan(schema, model.numeric, find_usual_numeric(model))


def _make_sample(attributes: Attributes, found: TableSurvey, weighted: bool) -> Sample:
    """The numbers of the sampled rows, for cut points and warnings."""
    assert found.sample is not None
    numbers, labels, weights, *_ = found.sample.columns
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
        sample = read_coded_part(part, self.attributes, self.classes)
        if sample is None:
            return None
        return count_sample(self.learner, self.attributes, sample, self.known)


def read_coded_part(part: LabelledTable, attributes: Attributes, classes: Array) -> Sample | None:
    """The rows of a partition in the code of the whole table; None if it has none."""
    if part.table is None:
        return None
    try:
        table = attributes.schema.read(part.table, unseen="error")
    except ValueError as error:
        raise ValueError(f"{part.label}: {error}") from None
    return Sample(table, encode_part(part.labels, classes, part.label), part.weights)


def _read_kept_part(
    number: int,
    label: str,
    rows: Rows,
    *,
    attributes: Attributes,
    classes: Array,
    folds: FoldPlan | None,
) -> KeptPart:
    sample = read_coded_part(read_labelled_part(number, label, rows), attributes, classes)
    numbers = None if sample is None or folds is None else folds.number(number, sample.y)
    return KeptPart(sample, numbers, len(classes))


def _count(part: LabelledTable, *, plan: CountingPlan) -> Evidence | None:
    return plan.count(part)


def _merge_surveys(one: TableSurvey, other: TableSurvey, *, plan: ColumnPlan) -> TableSurvey:
    return one.merge(other, plan)


def _merge_evidence(one: Evidence | None, other: Evidence | None) -> Evidence | None:
    if one is None or other is None:
        return other if one is None else one
    return one.merge(other)


def _count_all(plan: CountingPlan, runner: Runner) -> Evidence:
    """The counts of all partitions, in one pass."""
    work = partial(_count, plan=plan)
    evidence: Evidence = runner.reduce(read_labelled_part, work, _merge_evidence)
    return evidence


def fit_counts(model: Any, source: Source, runner: Runner) -> None:
    """Set all fitted attributes of a Bayesian classifier."""
    require_countable(model)
    gaussian = find_usual_numeric(model) if isinstance(model.numeric, Mapping) else model.numeric
    cuts = isinstance(model.numeric, Mapping) or gaussian != GAUSSIAN
    most = max(_FEW_ROWS, _SAMPLED_NUMBERS // source.n_columns) if cuts else _FEW_ROWS
    plan = ColumnPlan(
        source.names, model.categorical_features, model.numeric, find_usual_numeric(model)
    )
    first = partial(_survey, plan=plan, most=most, learner=prepare_first_pass(model))
    found: TableSurvey = runner.reduce(
        read_labelled_part, first, partial(_merge_surveys, plan=plan)
    )
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
    if isinstance(learner.parameters, DiscriminativeParameters):
        _fit_discriminative(model, learner, attributes, found, sample, source, runner)
        return
    attributes = learner.learn_cuts(attributes, sample)
    evidence = _count_generative(learner, attributes, model.classes_, found, runner)
    warn_of_codes(attributes, sample, evidence.moments)
    adopt_counts(model, learner, evidence, (learner.estimate(evidence), None))


def _count_generative(
    learner: Learner, attributes: Attributes, classes: Array, found: TableSurvey, runner: Runner
) -> Evidence:
    """What the first pass counted, or else a second one."""
    counting = CountingPlan(learner, attributes, classes)
    evidence = None
    if found.grown is not None:
        evidence = found.grown.recode(attributes, classes)
    if evidence is None:
        evidence = _count_all(counting, runner)
    structure = learner.structure
    if isinstance(structure, KDependence):
        assert isinstance(evidence.counts, Counts)
        arcs = structure.name_arcs(evidence.counts)
        evidence = _count_all(replace(counting, known=arcs), runner)
    return evidence


def _fit_discriminative(
    model: Any,
    learner: Learner,
    attributes: Attributes,
    found: TableSurvey,
    sample: Sample,
    source: Source,
    runner: Runner,
) -> None:
    """Counts of the rows to be learned from, and parameters by passes over these."""
    parameters, structure, classes = learner.parameters, learner.structure, model.classes_
    assert isinstance(parameters, DiscriminativeParameters)
    assert found.sample is not None
    parameters.require_alpha(learner)
    folds = FoldPlan.of(found.parts, classes, source.n_partitions)
    *_, parts, ranks = found.sample.columns
    numbers = folds.number(parts, sample.y, ranks)
    held = HELD_FOLD if parameters.early_stopping else None
    chosen = sample
    if held is not None:
        require_held(folds.count_held(held) > 0)
        chosen = sample.take(Selection(held).choose(numbers))
    attributes = learner.learn_cuts(attributes, chosen)
    has_folds = held is not None or parameters.penalty == "auto"
    has_folds = has_folds or isinstance(structure, GrownStructure)
    read = partial(
        _read_kept_part, attributes=attributes, classes=classes,
        folds=folds if has_folds else None,
    )  # fmt: skip
    passes = RowPasses(runner, read, found.n_rows, _find_row_bytes(attributes, has_folds))
    evidence = None
    if found.grown is not None and not isinstance(structure, KDependence):
        evidence = found.grown.recode(attributes, classes)
    if evidence is None:
        known = None
        if isinstance(structure, GrownStructure):
            known = _search(structure, attributes, passes, folds, held)
        (evidence,) = count_selected(passes, learner, [attributes], [Selection(held)], known)
    warn_of_codes(attributes, chosen, evidence.moments)
    table = PartitionedTable(
        passes, parameters, learner, evidence, sample, numbers % N_FOLDS, folds, held
    )
    adopt_counts(model, learner, evidence, parameters.learn_from(table, learner, evidence))


def _search(
    structure: GrownStructure,
    attributes: Attributes,
    passes: RowPasses,
    folds: FoldPlan,
    held: int | None,
) -> FamilyCounts:
    """The arcs that a search finds, as families that are still to be counted."""
    cards = np.array([len(values) for values in attributes.values()], dtype=np.int64)
    weight = float(passes.ask(AskWeight(Selection(held))).values[0])
    n_classes = len(folds.of_class)
    table = PartitionedSearch(passes, attributes, cards, n_classes, weight, folds, held)
    parents, with_class = structure.search(table, attributes)
    return FamilyCounts(parents, with_class, np.zeros(n_classes), ())


def _find_row_bytes(attributes: Attributes, has_folds: bool) -> float:
    """What a row takes as it is kept: as it was read, and prepared, for five folds or once."""
    n_numbers, n_coded = len(attributes.methods), len(attributes.coded_columns)
    prepared = 3.0 * n_coded + 8.0 * len(attributes.gaussian) + 24.0
    return 8.0 * n_numbers + n_coded + 24.0 + (6 if has_folds else 1) * prepared
