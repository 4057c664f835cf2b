"""Missing values: summed out in predicting, left out or expected in learning."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lindero.bayes import KDB, TAN, NaiveBayes, NetworkClassifier
from lindero.bayes.networks import network as families
from lindero.bayes.networks.network import estimate_network
from lindero.bayes.reading import read_new_rows
from tests.bayes.mixed_tables import COMPLETING, MAKERS, NETWORKS, categories, mixed
from tests.naive import network as naive


def completed(name, **given):
    return MAKERS[name](missing="em", **given)


def coded(model, X):
    return model._attributes.encode(read_new_rows(model, model._attributes, X))[0]


def penalised_likelihood(model, X, y):
    """What EM climbs: the likelihood of the rows, with the pseudo-counts' share."""
    network = model._get_estimate()[0]
    code = np.searchsorted(model.classes_, y)
    of_rows = naive.log_joint(network, coded(model, X))[np.arange(len(y)), code].sum()
    return of_rows + model.alpha * sum(table.sum() for table in network.log_tables)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_row_without_any_value_says_nothing(make):
    X, y = categories(0, missing=0.1)
    for model in (make().fit(X, y), make(class_prior=[0.1, 0.2, 0.7]).fit(X, y)):
        log_proba = model.predict_log_proba([[None] * 4])[0]
        assert_allclose(log_proba, model.class_log_prior_, rtol=1e-12)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_rows_without_any_value_teach_the_prior_only(make):
    X, y = categories(1)
    more = make().fit(np.vstack([X, np.full((9, 4), None)]), np.append(y, ["yes"] * 9))
    model = make(class_prior=np.exp(more.class_log_prior_)).fit(X, y)
    assert_allclose(more.predict_joint_log_proba(X), model.predict_joint_log_proba(X), rtol=1e-12)


@pytest.mark.parametrize("kind", [object, float])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_column_that_is_missing_throughout_says_nothing(name, kind):
    X, y = categories(2)
    make = MAKERS[name]
    table = pd.DataFrame(X, columns=list("abcd"))
    table["e"] = np.full(len(y), np.nan, dtype=kind)
    with_it = make().fit(table, y)
    without = make().fit(table[list("abcd")], y)
    assert_allclose(
        with_it.predict_proba(table), without.predict_proba(table[list("abcd")]), rtol=1e-12
    )
    table["e"] = {object: "now", float: 1.5}[kind]
    assert_allclose(
        with_it.predict_proba(table), without.predict_proba(table[list("abcd")]), rtol=1e-12
    )


@pytest.mark.parametrize("name", COMPLETING)
def test_a_missing_column_with_expectations(name):
    X, y = categories(3, missing=0.2)
    X[:, 1] = None
    model = completed(name).fit(X, y)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_every_way_to_say_missing():
    X, y = categories(4, missing=0.2)
    expected = TAN().fit(X, y).predict_proba(X)
    gap = np.equal(X, None)
    for value in (np.nan, pd.NA, pd.NaT):
        other = np.where(gap, value, X)
        assert_array_equal(TAN().fit(other, y).predict_proba(other), expected)
    for table in (pd.DataFrame(X, dtype="string"), pl.DataFrame(X.tolist(), orient="row")):
        assert_array_equal(TAN().fit(table, y).predict_proba(table), expected)


@pytest.mark.parametrize("name", COMPLETING)
def test_expectations_without_missing_values_change_nothing(name):
    X, y = mixed(5)
    assert_array_equal(
        completed(name).fit(X, y).predict_proba(X), MAKERS[name]().fit(X, y).predict_proba(X)
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [1.0, 0.2])
@pytest.mark.parametrize("name", COMPLETING)
def test_expectations_against_enumeration(name, alpha, weighted, monkeypatch):
    monkeypatch.setattr(families, "_MOST_ROUNDS", 6)
    X, y = categories(6, 80, missing=0.25)
    weights = np.random.default_rng(0).random(80) + 0.1 if weighted else np.ones(80)
    model = completed(name, alpha=alpha).fit(X, y, sample_weight=weights)
    codes, code = coded(model, X), np.searchsorted(model.classes_, y)
    start = MAKERS[name](alpha=alpha).fit(X, y, sample_weight=weights)._get_estimate()[0]
    twin = start
    for _ in range(6):
        counts = naive.expect_counts(twin, codes, code, weights)
        twin = estimate_network(
            counts, twin.parents, twin.with_class, twin.cards, model.class_count_, alpha
        )
    network = model._get_estimate()[0]
    assert network.parents == start.parents
    tables = zip(network.log_tables, twin.log_tables, start.log_tables, strict=True)
    for table, expected, at_first in tables:
        assert_allclose(table, expected, rtol=1e-10, atol=1e-12)
        assert np.abs(np.exp(table) - np.exp(at_first)).max() > 1e-3  # it has moved


@pytest.mark.parametrize("alpha", [1.0, 0.1])
@pytest.mark.parametrize("name", COMPLETING)
def test_no_round_makes_the_rows_less_probable(name, alpha, monkeypatch):
    X, y = categories(7, 80, missing=0.3)
    reached = []
    for rounds in range(1, 12):
        monkeypatch.setattr(families, "_MOST_ROUNDS", rounds)
        reached.append(penalised_likelihood(completed(name, alpha=alpha).fit(X, y), X, y))
    assert np.diff(reached).min() > -1e-9
    assert reached[-1] > reached[0] + 1e-3


def test_expectations_find_what_available_pairs_cannot_tell():
    """Column 1 repeats column 0, and is missing where column 0 is 1 with probability 3/4."""
    random = np.random.default_rng(8)
    y = random.integers(0, 2, 4000)
    first = (random.random(4000) < np.where(y == 1, 0.7, 0.3)).astype(int)
    second = np.where(random.random(4000) < 0.1, 1 - first, first).astype(float)
    second[(first == 1) & (random.random(4000) < 0.75)] = np.nan
    X = np.column_stack([first, second])
    arcs = [(0, 1)]
    model = NetworkClassifier(arcs, missing="em", categorical_features="all").fit(X, y)
    alone = model.predict_proba([[np.nan, 1.0]])[0, 1]
    assert abs(alone - (0.7 * 0.9 + 0.3 * 0.1) / (0.9 + 0.1)) < 0.03


def test_numbers_are_cut_and_then_expected():
    X, y = mixed(9, 200, missing=0.2)
    for model in (TAN(missing="em"), KDB(missing="em"), TAN(missing="em", numeric="gaussian")):
        assert_allclose(model.fit(X, y).predict_proba(X).sum(axis=1), 1.0)
        assert model.score(X, y) > 0.6


def test_expectations_need_all_rows():
    model = TAN(missing="em")
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as raised:
        _ = model.partial_fit
    assert "call fit with all of them" in str(raised.value.__cause__)


def test_densities_leave_missing_numbers_out():
    X, y = mixed(11, missing=0.3)
    model = NaiveBayes().fit(X, y)
    for at, name in enumerate(["length", "weight"]):
        for c, label in enumerate(model.classes_):
            known = X.loc[y == label, name].dropna()
            assert_allclose(model.theta_[c, at], known.mean(), rtol=1e-12)
            assert_allclose(model.scale_[c, at], known.std(), rtol=1e-12)
