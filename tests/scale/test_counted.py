"""Bayesian classifiers counted in partitions are those of the whole table, bit for bit."""

import warnings

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from lindero import scale
from lindero.bayes import AODE, KDB, TAN, NaiveBayes, NetworkClassifier
from lindero.bayes.counts.counts import Counts
from lindero.scale import grown
from lindero.scale.runner import ThreadRunner
from tests.scale.tables import mixed_table, write_parts

CLASSIFIERS = [
    NaiveBayes(),
    NaiveBayes(numeric="mdl"),
    TAN(),
    TAN(numeric="quantile", n_bins=4),
    KDB(),
    AODE(numeric="uniform"),
    NetworkClassifier(arcs=[("colour", "flag")]),
]


def numbers_of(counts):
    """All numbers of counts."""
    if isinstance(counts, Counts):
        pairs = () if counts.pairs is None else (counts.pairs,)
        return counts.of_class, counts.singles, *pairs
    return counts.of_class, *counts.tables


def fit_quietly(fit, *arguments, **options):
    """A fitted classifier, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fit(*arguments, **options)
    return model, [str(warning.message) for warning in caught]


def require_same(model, whole, rows):
    assert model._attributes.schema == whole._attributes.schema
    for one, other in zip(model._attributes.cuts, whole._attributes.cuts, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(
        numbers_of(model._evidence.counts), numbers_of(whole._evidence.counts), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(
        model.predict_log_proba(rows), whole.predict_log_proba(rows), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_counts_are_those_of_the_whole_table(classifier, tmp_path):
    table = mixed_table()
    rows = table.drop(columns="label")
    whole, said = fit_quietly(type(classifier)(**classifier.get_params()).fit, rows, table.label)
    folder = write_parts(table, tmp_path, [0, 1, 500, 1200])
    for source in (folder, dd.from_pandas(table, npartitions=5, sort=False)):
        model = type(classifier)(**classifier.get_params())
        model, told = fit_quietly(scale.fit, model, source, "label")
        require_same(model, whole, rows)
        assert told == said
        assert model.feature_names_in_.tolist() == list(rows.columns)
    assert scale.score(model, folder, "label") == pytest.approx(whole.score(rows, table.label))


@pytest.fixture
def passes(monkeypatch):
    """What each pass asks, as a list that grows."""
    asked, reduce = [], ThreadRunner.reduce

    def note(self, prepare, work, merge):
        asked.append(work)
        return reduce(self, prepare, work, merge)

    monkeypatch.setattr(ThreadRunner, "reduce", note)
    return asked


@pytest.mark.parametrize(
    ("classifier", "n_passes"),
    [
        (NaiveBayes(), 1),
        (TAN(numeric={"height": [0.5, 1.5], "gaps": "gaussian"}), 1),
        (KDB(numeric="gaussian"), 2),
        (NetworkClassifier(arcs=[("colour", "flag")], numeric="gaussian"), 1),
        (TAN(), 2),
    ],
    ids=str,
)
def test_one_pass_where_no_cut_points_are_learned(classifier, n_passes, passes, tmp_path):
    table = mixed_table().sort_values(["label", "rare"], ignore_index=True)  # one by one
    if isinstance(classifier, NetworkClassifier):  # arcs might name a column that is left out
        table = table.drop(columns="id")
    table["flag"] = table.flag.astype(object).where(np.arange(1200) > 200, None)
    rows = table.drop(columns="label")
    whole, said = fit_quietly(clone(classifier).fit, rows, table.label)
    folder = write_parts(table, tmp_path, [0, 1, 500, 1200], 150)
    model, told = fit_quietly(scale.fit, clone(classifier), folder, "label")
    assert len(passes) == n_passes
    assert told == said
    require_same(model, whole, rows)


def test_columns_of_many_values_take_a_second_pass(passes, monkeypatch, tmp_path):
    monkeypatch.setattr(grown, "_MOST_CODED", 10)
    table = mixed_table()[["colour", "rare", "flag", "label"]]
    rows = table.drop(columns="label")
    folder = write_parts(table, tmp_path, [500, 1200])
    model, _ = fit_quietly(scale.fit, TAN(), folder, "label")
    whole, _ = fit_quietly(TAN().fit, rows, table.label)
    assert len(passes) == 2
    require_same(model, whole, rows)
    named = table.assign(name=[f"n{k}" for k in range(1200)])  # which is left out
    folder = write_parts(named.drop(columns="rare"), tmp_path, [500, 1200])
    scale.fit(NaiveBayes(), folder, "label")
    assert len(passes) == 3


def test_weights_count_rows_and_rows_without_weight_bring_no_values(tmp_path):
    table = mixed_table(600)
    table["weight"] = np.arange(600) % 3
    table.loc[table.weight == 0, "colour"] = "never seen"
    rows = table.drop(columns=["label", "weight", "id"])
    whole, _ = fit_quietly(TAN().fit, rows, table.label, table.weight)
    folder = write_parts(table.drop(columns="id"), tmp_path, [200, 600], 70)
    model, _ = fit_quietly(scale.fit, TAN(), folder, "label", sample_weight="weight")
    require_same(model, whole, rows)
    assert "never seen" not in model._attributes.schema.columns[0].values


def test_one_class_and_one_kind_of_value_in_a_partition():
    table = mixed_table(600).drop(columns="id").sort_values(["label", "colour"])
    frame = dd.from_pandas(table, npartitions=6, sort=False)
    rows = table.drop(columns="label")
    whole, _ = fit_quietly(KDB().fit, rows, table.label)
    model, _ = fit_quietly(KDB().fit, frame.drop(columns="label"), frame.label)
    require_same(model, whole, rows)
    answers = model.predict_proba(frame.drop(columns="label"))
    np.testing.assert_array_equal(answers.compute(), model.predict_proba(rows))


def test_a_column_without_values_in_a_partition(tmp_path):
    table = pd.DataFrame(
        {
            "empty first": [None] * 40 + ["a", "b"] * 20,
            "always empty": [np.nan] * 80,
            "whole": pd.array([1, 2, None, 4] * 20, dtype="Int64"),
            "label": ["x", "y", "y", "x"] * 20,
        }
    )
    rows = table.drop(columns="label")
    whole, _ = fit_quietly(TAN(categorical_features=["whole"]).fit, rows, table.label)
    folder = write_parts(table, tmp_path, [40, 80])
    model, _ = fit_quietly(scale.fit, TAN(categorical_features=["whole"]), folder, "label")
    require_same(model, whole, rows)


def test_a_classifier_goes_on_in_memory_afterwards(tmp_path):
    table = mixed_table(700).drop(columns="id")
    rows = table.drop(columns="label")
    model, _ = fit_quietly(scale.fit, TAN(), write_parts(table, tmp_path, [300, 700]), "label")
    model.partial_fit(rows[:50], table.label[:50]).forget(rows[:50], table.label[:50])
    whole, _ = fit_quietly(TAN().fit, rows, table.label)
    for one, other in zip(
        numbers_of(model._evidence.counts), numbers_of(whole._evidence.counts), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_cut_points_of_many_rows_come_from_a_sample(tmp_path, monkeypatch):
    from lindero.scale import counted

    monkeypatch.setattr(counted, "_SAMPLED_NUMBERS", 3000)
    monkeypatch.setattr(counted, "_FEW_ROWS", 100)
    table = mixed_table(3000)[["height", "gaps", "label"]]
    model = scale.fit(TAN(), write_parts(table, tmp_path, [1000, 3000]), "label")
    whole = TAN().fit(table[["height", "gaps"]], table.label)
    assert model.class_count_.tolist() == whole.class_count_.tolist()
    assert model.score(table[["height", "gaps"]], table.label) > 0.9 * whole.score(
        table[["height", "gaps"]], table.label
    )
