"""Columns that are missing throughout, or nearly: others must not depend on them."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lindero.bayes import AODE, KDB, TAN, NaiveBayes, NetworkClassifier
from tests.bayes.mixed_tables import categories

NAMES = list("abcd")


def with_arcs(**given):
    """Every column depends on another, and on one called "empty" where it is there."""
    arcs = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")]
    return NetworkClassifier(given.pop("more_arcs", []) + arcs, **given)


CLASSIFIERS = {
    "NaiveBayes": NaiveBayes,
    "TAN": TAN,
    "KDB": KDB,
    "AODE": AODE,
    "NetworkClassifier": with_arcs,
}
KINDS = {"object": np.full(300, None), "float": np.full(300, np.nan)}


def table_with(place, column, **given):
    X, y = categories(2, 300, **given)
    table = pd.DataFrame(X, columns=NAMES)
    table.insert(place, "empty", column)
    return table, y


def assert_empty_says_nothing(make, table, y, numeric, **given):
    model = make(numeric=numeric, **given).fit(table, y)
    expected = make().fit(table[NAMES], y).predict_proba(table[NAMES])
    assert_allclose(model.predict_proba(table), expected, rtol=0, atol=1e-12)
    now = table.assign(empty=1.5 if table["empty"].dtype == float else "now")
    assert_allclose(model.predict_proba(now), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("place", [0, 2, 4])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_an_empty_column_changes_nothing(name, kind, place, missing):
    table, y = table_with(place, KINDS[kind], missing=missing)
    for numeric in ["mdl", {"empty": [0.0, 1.0]}] if kind == "float" else ["mdl"]:
        assert_empty_says_nothing(CLASSIFIERS[name], table, y, numeric)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [TAN, KDB, AODE])
def test_an_empty_column_is_no_parent_where_no_column_tells_more_by_itself(make, kind):
    """The class is the parity of three columns: all of them tell as little of it as nothing."""
    X = np.array(list(product("ab", repeat=3)) * 10, dtype=object)
    y = (X == "b").sum(axis=1) % 2
    table = pd.DataFrame(X, columns=list("pqr"))
    expected = make().fit(table, y).predict_proba(table)
    table.insert(0, "empty", KINDS[kind][:80])
    assert_allclose(make().fit(table, y).predict_proba(table), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("more_arcs", [[("empty", "a"), ("empty", "c")], [("d", "empty")]])
def test_an_empty_column_with_arcs_changes_nothing(kind, more_arcs):
    table, y = table_with(0, KINDS[kind], missing=0.2)
    for numeric in ["mdl", {"empty": [0.0, 1.0]}] if kind == "float" else ["mdl"]:
        assert_empty_says_nothing(with_arcs, table, y, numeric, more_arcs=more_arcs)


def test_two_empty_parents_change_nothing():
    table, y = table_with(0, KINDS["object"], missing=0.2)
    table["void"] = KINDS["object"]
    arcs = [("empty", "a"), ("void", "a"), ("d", "a"), ("empty", "void")]
    model = NetworkClassifier(arcs).fit(table, y)
    expected = NetworkClassifier([("d", "a")]).fit(table[NAMES], y).predict_proba(table[NAMES])
    assert_allclose(model.predict_proba(table), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("make", [TAN, KDB])
def test_an_empty_column_is_alone_in_the_network(make):
    table, y = table_with(0, KINDS["object"])
    network = make().fit(table, y)._get_estimate()[0]
    assert network.parents[0] == ()
    assert all(0 not in above for above in network.parents)
    expected = TAN().fit(table, y).predict_proba(table)
    assert_array_equal(TAN(root="empty").fit(table, y).predict_proba(table), expected)


def test_a_column_that_is_no_longer_empty_takes_part():
    X, y = categories(5, 300)
    table = pd.DataFrame(X, columns=NAMES)
    first = table[:100].assign(a=None)
    model = (
        TAN().partial_fit(first, y[:100], classes=np.unique(y)).partial_fit(table[100:], y[100:])
    )
    at_once = TAN().fit(pd.concat([first, table[100:]]), y)
    assert_allclose(model.predict_proba(table), at_once.predict_proba(table), rtol=0, atol=1e-12)
    parents = model._get_estimate()[0].parents
    assert parents[0] or any(0 in above for above in parents)


def test_only_columns_that_are_empty_or_normal():
    random = np.random.default_rng(0)
    X, y = random.random((40, 3)), np.arange(40) % 2
    model = AODE(numeric="gaussian").fit(X, y)
    assert_allclose(model.predict_proba(X), NaiveBayes().fit(X, y).predict_proba(X), rtol=1e-12)
    empty = np.full((40, 2), None)
    assert_allclose(AODE().fit(empty, y).predict_proba(empty), 0.5, rtol=1e-12)


def chained(fill, n_rows=6000):
    """Eight columns along a chain, and one of noise that few rows have."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, n_rows)
    columns, above = [], y
    for _ in range(8):
        noise = random.integers(0, 3, n_rows) * (random.random(n_rows) < 0.5)
        above = (above + noise + y * (random.random(n_rows) < 0.25)) % 3
        columns.append(above)
    noise = random.integers(0, 5, n_rows).astype(float)
    noise[random.random(n_rows) >= fill] = np.nan
    return np.column_stack([*columns, noise]), y


@pytest.mark.parametrize("fill", [0.005, 0.02, 0.05])
@pytest.mark.parametrize("make", [TAN, KDB])
def test_a_nearly_empty_column_of_noise_is_no_hub(make, fill):
    X, y = chained(fill)
    model = make(categorical_features="all").fit(X[:2000], y[:2000])
    assert all(8 not in above for above in model._get_estimate()[0].parents)
    without = make(categorical_features="all").fit(X[:2000, :8], y[:2000])
    lost = without.score(X[2000:, :8], y[2000:]) - model.score(X[2000:], y[2000:])
    assert lost < 0.01


@pytest.mark.parametrize("name", ["TAN", "KDB", "AODE", "NetworkClassifier"])
def test_a_new_value_leaves_what_the_class_tells_of_other_columns(name):
    """All columns but one have new values: that one still tells of the class."""
    X, y = categories(7, 400)
    model = CLASSIFIERS[name]().fit(pd.DataFrame(X, columns=NAMES), y)
    others = np.where(np.eye(4, dtype=bool), None, "never before")
    both = np.where(np.eye(4, dtype=bool), "v0", "never before")
    of_others, together = (
        model.predict_joint_log_proba(pd.DataFrame(rows, columns=NAMES)) for rows in (others, both)
    )
    assert np.ptp(together - of_others, axis=1).min() > 0.02
