"""Data that can be learned from, but probably not as it was meant: the user is told."""

import warnings

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from lindero.bayes import AODE, KDB, TAN, NaiveBayes, NetworkClassifier
from lindero.bayes.counts.counting import CodedRows
from lindero.bayes.networks import network as families
from tests.bayes.mixed_tables import categories, mixed

MAKERS = [NaiveBayes, TAN, KDB, AODE, NetworkClassifier]
X, Y = load_iris(return_X_y=True)


@pytest.fixture
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# -- weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", MAKERS)
def test_weights_that_are_shares(make):
    shares = np.full(150, 1 / 150)
    with pytest.warns(UserWarning, match="class 0 a weight of 0.333 .*multiply them by n/Σw") as w:
        make().fit(X, Y, sample_weight=shares)
    assert [one.filename for one in w] == [__file__]
    with pytest.warns(UserWarning, match="Weights count rows") as w:
        make().partial_fit(X, Y, sample_weight=shares)
    assert len(w) == 1


def test_one_class_without_weight_to_speak_of():
    with pytest.warns(UserWarning, match="the 50 rows of class 2 a weight of 0.5"):
        NaiveBayes().fit(X, Y, sample_weight=np.where(Y == 2, 0.01, 1.0))


@pytest.mark.usefixtures("no_warnings")
@pytest.mark.parametrize("make", MAKERS)
def test_weights_that_count_rows(make):
    weights = np.random.default_rng(0).random(150)
    make().fit(X, Y, sample_weight=weights)
    model = make().partial_fit(X, Y)
    model.partial_fit(X[:1], Y[:1], sample_weight=[0.5])  # one row may well count half
    model.partial_fit(X[::50], Y[::50], sample_weight=[1, 1, 1])


def test_shares_times_the_number_of_rows_are_as_no_weights():
    weighted = TAN().fit(X, Y, sample_weight=np.full(150, 1 / 150) * 150)
    assert_array_equal(weighted.predict(X), TAN().fit(X, Y).predict(X))


# -- codes that are taken as numbers --------------------------------------------------------------


@pytest.mark.parametrize("values", [(0, 1), (-3, 7)])
def test_two_whole_numbers(values):
    table, y = mixed(0)
    table["code"] = np.where(np.arange(120) % 3 == 0, *values)
    with pytest.warns(UserWarning, match=r"columns \['code'\] hold two whole numbers") as w:
        NaiveBayes().fit(table, y)
    assert [one.filename for one in w] == [__file__]


def test_a_number_that_is_constant_in_one_class():
    with pytest.warns(UserWarning, match=r"\['x1'\].*categorical_features"):
        NaiveBayes().fit(np.column_stack([X[:, 0], np.where(Y == 1, 2.5, X[:, 1])]), Y)


def test_many_such_columns_are_not_all_named():
    codes = np.random.default_rng(0).integers(0, 2, (150, 8))
    with pytest.warns(UserWarning, match=r"'x4'\] and 3 more"):
        NaiveBayes().fit(codes, Y)


@pytest.mark.usefixtures("no_warnings")
def test_usual_tables_are_not_doubted():
    for load in (load_iris, load_breast_cancer, load_wine):
        for make in MAKERS:
            make().fit(*load(return_X_y=True))
    codes = np.random.default_rng(0).integers(0, 2, (150, 8))
    NaiveBayes(categorical_features="all").fit(codes, Y)
    NaiveBayes(numeric="uniform").fit(codes, Y)
    NaiveBayes().fit(np.column_stack([X, np.full(150, 3.0), codes[:, 0] + 0.5]), Y)


# -- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ask", ["predict", "predict_log_proba", "explain"])
def test_an_array_where_columns_had_names(ask):
    table, y = mixed(1)
    model = TAN().fit(table, y)
    words = "X does not have valid feature names, but TAN was fitted with feature names"
    with pytest.warns(UserWarning, match=words) as w:
        getattr(model, ask)(table.to_numpy())
    assert [one.filename for one in w] == [__file__]
    with pytest.warns(UserWarning, match=words):
        model.partial_fit(table.to_numpy(), y)


@pytest.mark.usefixtures("no_warnings")
def test_any_dataframe_has_names():
    table, y = mixed(1)
    model = TAN().fit(table, y)
    model.predict(pl.from_pandas(table))


# -- tables without rows --------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 1.0, 2.0]])
def test_a_lazy_table(weights):
    lazy = pl.DataFrame({"a": ["x", "y", "x", "y"]}).lazy()
    for learn in (NaiveBayes().fit, NaiveBayes().partial_fit):
        with pytest.raises(TypeError, match=r"lazy table \(LazyFrame\).*collect\(\)"):
            learn(lazy, [0, 1, 0, 1], sample_weight=weights)


# -- the EM algorithm -----------------------------------------------------------------------------


def test_em_that_has_not_settled(monkeypatch):
    table, y = categories(3, missing=0.3)
    monkeypatch.setattr(families, "_MOST_ROUNDS", 2)
    with pytest.warns(ConvergenceWarning, match="not settled in 2 rounds.*probability by") as w:
        TAN(missing="em").fit(table, y)
    assert w[0].filename == __file__


def test_em_ends_by_its_probabilities_whatever_the_other_rows():
    """A class of few rows must settle however many rows another one has."""
    table, y = categories(4, 60, n_classes=2, missing=0.4)
    rare = y == y[0]
    table[~rare] = "v1"
    weights = np.where(rare, 1.0, 1e6)
    model = TAN(missing="em", alpha=0.1).fit(table, y, sample_weight=weights)
    counts = model._evidence.counts
    codes, _ = model._attributes.encode(model._attributes.schema.read(table))
    labels = np.searchsorted(model.classes_, y)
    further = counts.complete(CodedRows(codes, counts.cards, labels, 2, weights), 0.1)
    pairs = zip(counts.estimate(0.1).log_tables, further.estimate(0.1).log_tables, strict=True)
    assert max(np.abs(np.exp(old) - np.exp(new)).max() for old, new in pairs) < 2e-5


def test_numbers_read_as_text_and_names_of_rows_are_noticed():
    y = ["p", "q"] * 30
    numbers = [[str(k / 10), "x"] for k in range(59)] + [["?", "x"]]
    with pytest.warns(UserWarning, match=r"'x0' is text, but nearly all .*the others are \['\?'\]"):
        NaiveBayes().fit(numbers, y)
    ids = [[f"u{k}", "x"] for k in range(60)]
    with pytest.warns(UserWarning, match="Left out: 'x0'.*name it in categorical_features"):
        NaiveBayes().fit(ids, y)
    with pytest.warns(UserWarning, match="'x0' has 40 different values in 40 rows"):
        NaiveBayes().fit(ids[:40], y[:40])
    words = [[f"w{k % 20}", "x"] for k in range(60)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NaiveBayes().fit(words, y)
        NaiveBayes(categorical_features="all").fit(ids, y)


@pytest.mark.parametrize("ask", ["predict", "predict_log_proba", "explain"])
def test_names_where_columns_had_none(ask):
    table, y = mixed(1)
    model = TAN().fit(table.to_numpy(), y)
    words = "X has feature names, but TAN was fitted without .* in the order in which they stand"
    with pytest.warns(UserWarning, match=words) as w:
        getattr(model, ask)(table)
    assert [one.filename for one in w] == [__file__]
