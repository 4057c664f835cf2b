"""Explanations: terms that sum up to the log-odds, as dataframes and as sentences."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lindero.bayes import KDB, TAN, Explanation, NaiveBayes
from tests.bayes.mixed_tables import COMPLETING, MAKERS, categories, mixed


def assert_sums_up(model, explanation, X):
    joint = model.predict_joint_log_proba(X)
    of = np.searchsorted(model.classes_, explanation.of)
    against = np.searchsorted(model.classes_, explanation.against)
    rows = np.arange(len(X))
    assert (of != against).all()
    total = explanation.prior + explanation.terms.sum(axis=1)
    assert_allclose(total, explanation.log_odds, rtol=1e-10, atol=1e-10)
    odds = joint[rows, of] - joint[rows, against]
    assert_allclose(explanation.log_odds, odds, rtol=1e-10, atol=1e-10)
    prior = model.class_log_prior_[of] - model.class_log_prior_[against]
    assert_allclose(explanation.prior, prior, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("missing", [0.0, 0.35])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_terms_sum_up(make, n_classes, missing):
    X, y = categories(0, n_classes=n_classes, missing=missing)
    model = make().fit(X, y)
    new, _ = categories(1, missing=missing)
    new[::7, 1], new[::5, 2] = "new", "new"
    assert_sums_up(model, model.explain(new), new)


@pytest.mark.parametrize("numeric", ["mdl", "quantile", {"length": "gaussian"}, "gaussian"])
@pytest.mark.parametrize("make", [NaiveBayes, TAN, KDB, MAKERS["AODE"]])
def test_terms_of_a_mixed_table_sum_up(make, numeric):
    X, y = mixed(2, missing=0.2)
    model = make(numeric=numeric).fit(X, y)
    explanation = model.explain(X)
    assert_sums_up(model, explanation, X)
    assert explanation.names == ["colour", "length", "shape", "weight"]
    assert_array_equal(explanation.terms[X.isna().to_numpy()], 0.0)
    assert (np.abs(explanation.terms).max(axis=0) > 0.1).all()


@pytest.mark.parametrize("name", COMPLETING)
def test_terms_of_completed_networks_sum_up(name):
    X, y = categories(3, missing=0.3)
    model = MAKERS[name](missing="em").fit(X, y)
    assert_sums_up(model, model.explain(X), X)


def test_the_two_classes():
    X, y = categories(4)
    model = TAN().fit(X, y)
    log_proba = model.predict_log_proba(X)
    ranked = np.argsort(-log_proba, axis=1, kind="stable")
    usual = model.explain(X)
    assert_array_equal(usual.of, model.classes_[ranked[:, 0]])
    assert_array_equal(usual.against, model.classes_[ranked[:, 1]])
    assert (usual.log_odds >= 0).all()

    of = model.explain(X, of="yes")
    best_other = np.where(ranked[:, 0] == 2, ranked[:, 1], ranked[:, 0])
    assert set(of.of) == {"yes"}
    assert_array_equal(of.against, model.classes_[best_other])
    against = model.explain(X, against="yes")
    assert_array_equal(against.of, of.against)
    assert_allclose(against.terms, -of.terms, atol=1e-12)

    both = model.explain(X, of="no", against="perhaps")
    assert_allclose(both.log_odds, log_proba[:, 0] - log_proba[:, 1], atol=1e-10)
    for given in (of, against, both):
        assert_sums_up(model, given, X)


def test_two_classes_are_the_second_against_the_first():
    X, y = categories(5, n_classes=2)
    explanation = NaiveBayes().fit(X, y).explain(X)
    assert set(explanation.of) == {"perhaps"}
    assert set(explanation.against) == {"no"}
    assert explanation.log_odds.min() < 0 < explanation.log_odds.max()


def test_classes_that_are_none():
    X, y = categories(6)
    model = NaiveBayes().fit(X, y)
    with pytest.raises(
        ValueError, match=r"of='maybe' is not a class; the classes are \['no', 'perh"
    ):
        model.explain(X, of="maybe")
    with pytest.raises(ValueError, match="against=3 is not a class"):
        model.explain(X, against=3)
    with pytest.raises(ValueError, match=r"of=array.* is not a class"):
        model.explain(X, of=np.array(["no", "yes"]))
    with pytest.raises(ValueError, match="of and against are both 'no'"):
        model.explain(X, of="no", against="no")


def test_terms_of_naive_bayes_are_ratios_of_probabilities():
    X, y = categories(7)
    model = NaiveBayes().fit(X, y)
    table = model.network_.table("x1").set_index("class")
    explanation = model.explain([[None, "v2", None, None]], of="yes", against="no")
    expected = np.log(table.loc["yes", "v2"] / table.loc["no", "v2"])
    assert_allclose(explanation.terms, [[0.0, expected, 0.0, 0.0]], rtol=1e-12)


@pytest.mark.parametrize("make", [NaiveBayes, TAN, KDB, MAKERS["AODE"]])
def test_what_is_impossible(make):
    X = np.array([["a", "p"], ["b", "q"], ["c", "r"]] * 2, dtype=object)
    model = make(alpha=0.0).fit(X, [0, 1, 2] * 2)
    rows = [["a", "p"], ["b", "q"], ["c", None], ["a", "q"]]
    explanation = model.explain(rows)
    assert explanation.of.tolist() == [0, 1, 2, 0]
    assert explanation.against.tolist() == [1, 0, 0, 1]
    assert_array_equal(explanation.log_odds, [np.inf, np.inf, np.inf, np.nan])


def test_a_class_that_was_never_there():
    X, y = categories(8)
    model = NaiveBayes().partial_fit(X, y, classes=["aaa", "no", "perhaps", "yes", "zzz"])
    assert_array_equal(model.explain(X, against="aaa").prior, np.inf)
    assert np.isnan(model.explain(X, of="zzz", against="aaa").prior).all()
    assert not set(model.explain(X).of) & {"aaa", "zzz"}


@pytest.mark.parametrize(
    ("backend", "kind"),
    [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)],
)
def test_dataframes(backend, kind):
    X, y = mixed(9)
    explanation = TAN().fit(X, y).explain(X)
    frame = explanation.to_frame(backend)
    assert isinstance(frame, kind)
    names = list(frame.column_names if backend == "pyarrow" else frame.columns)
    assert names == ["of", "against", "prior", "log_odds", *X.columns]
    assert_array_equal(np.asarray(frame["weight"]), explanation.terms[:, 3])
    assert list(np.asarray(frame["of"])) == explanation.of.tolist()


def test_dataframes_without_a_name_and_with_a_wrong_one():
    X, y = mixed(10)
    explanation = NaiveBayes().fit(X, y).explain(X)
    assert isinstance(explanation.to_frame(), pd.DataFrame)
    with pytest.raises(ValueError, match="backend='arrow' is none of"):
        explanation.to_frame("arrow")


def test_columns_named_like_parts_of_an_explanation():
    X, y = categories(11)
    table = pd.DataFrame(X, columns=["of", "of_", "log_odds", "prior"])
    explanation = NaiveBayes().fit(table, y).explain(table)
    frame = explanation.to_frame()
    assert list(frame.columns) == [
        *("of__", "against", "prior_", "log_odds_"),
        *("of", "of_", "log_odds", "prior"),
    ]
    assert_array_equal(frame["log_odds"], explanation.terms[:, 2])
    assert_array_equal(frame["log_odds_"], explanation.log_odds)


def test_sentences():
    explanation = Explanation(
        np.array([0.5, -1.0]),
        np.array([-1.0, -1.0]),
        np.array([[2.0, -0.25, 0.0, -0.25], [0.0, 0.0, 0.0, 0.0]]),
        np.array(["yes", "yes"]),
        np.array(["no", "no"]),
        ["a", "b", "c", "d"],
    )
    start = "yes rather than no: log-odds"
    assert explanation.sentence(0) == f"{start} +0.50 = before -1.00, a +2.00, b -0.25, d -0.25"
    assert explanation.sentence(0, 1) == f"{start} +0.50 = before -1.00, a +2.00, all others -0.50"
    assert explanation.sentence(1) == "no rather than yes: log-odds +1.00 = before +1.00"


def test_more_rows_than_are_taken_apart_at_once():
    X, y = mixed(12, 5000, missing=0.1)
    model = KDB().fit(X[:500], y[:500])
    whole = model.explain(X)
    assert_sums_up(model, whole, X)
    last = model.explain(X[-10:])
    assert_allclose(whole.terms[-10:], last.terms, rtol=1e-12, atol=1e-12)
