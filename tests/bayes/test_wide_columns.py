"""Columns with too many values, and classes that miss a parent: networks learn all the same."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lindero import persist
from lindero.bayes import AODE, KDB, TAN, NaiveBayes
from lindero.bayes.networks.network import share_missing_parents
from lindero.bayes.tables.schema import Schema, UserTable

MAKERS = [NaiveBayes, TAN, KDB, AODE]


def scattered(n_rows=1200, n_values=400, seed=0):
    """Eight columns, four of which tell of the class; and a postcode, a name and a number."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, n_rows)
    columns = {
        f"a{j}": [f"v{int(v)}" for v in 3 * random.random(n_rows) + (y if j < 4 else 0)]
        for j in range(8)
    }
    places = random.permutation(n_rows) % n_values
    ids = {"customerID": np.arange(n_rows), "name": [f"n{k}" for k in range(n_rows)]}
    return pd.DataFrame({**columns, "place": [f"p{k}" for k in places], **ids}), y


@pytest.mark.parametrize("make", MAKERS)
def test_such_columns_change_nothing(make):
    X, y = scattered()
    train, test = slice(0, 800), slice(800, None)
    with pytest.warns(UserWarning, match="eft out") as told:
        model = make().fit(X[train], y[train])
    said = " ".join(str(one.message) for one in told)
    assert "Left out: 'customerID', 'name'" in said
    assert "'place' is left out" in said
    plain = X.drop(columns=["place", "customerID", "name"])
    alone = make().fit(plain[train], y[train])
    assert_allclose(model.predict_proba(X[test]), alone.predict_proba(plain[test]), rtol=1e-9)
    assert len(np.unique(model.predict(X[test]))) == 2


@pytest.mark.parametrize("make", MAKERS)
def test_rare_values_are_one(make, tmp_path):
    X, y = scattered(n_values=3)
    far = [f"far {k % 400}" for k in range(1200)]
    X["place"] = np.where(np.arange(1200) % 4 == 0, far, X.place)
    X = X.drop(columns=["customerID", "name"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = make().fit(X, y)
    joined = X.assign(place=X.place.where(~X.place.str.startswith("far"), "other"))
    expected = make().fit(joined, y)
    assert_allclose(model.predict_proba(X), expected.predict_proba(joined), rtol=1e-9)
    assert_allclose(model.predict_proba(X.assign(place="new")),
                    expected.predict_proba(X.assign(place="other")), rtol=1e-9)  # fmt: skip
    persist.save(model, tmp_path / "m.lin")
    again = persist.load(tmp_path / "m.lin")
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    if make is not AODE:
        again.partial_fit(X.assign(place="even newer"), y)
        assert again.predict_proba(X).shape == (1200, 2)


def test_columns_left_out_are_saved(tmp_path):
    X, y = scattered()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TAN().fit(X, y)
    persist.save(model, tmp_path / "m.lin")
    again = persist.load(tmp_path / "m.lin")
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_user_may_say_that_they_are_categories():
    X, y = scattered(200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = NaiveBayes(categorical_features=["name"]).fit(X[["a0", "name"]], y)
    assert len(model.network_.values[1]) == 200


def test_texts_are_left_out():
    texts = [f"a text of several words, number {k // 2}" for k in range(80)]
    X = pd.DataFrame({"note": texts, "a": ["u", "v"] * 40})
    with pytest.warns(UserWarning, match="'note' is left out: it holds texts"):
        model = TAN().fit(X, [0, 1] * 40)
    assert (model.predict(X) == [0, 1] * 40).all()


def test_all_columns_are_never_left_out():
    names = pd.DataFrame({"name": [f"n{k}" for k in range(60)]})
    schema = Schema.learn(names)
    assert schema.tidy(UserTable.of(names))[0] == schema


# -- a parent that is missing ----------------------------------------------------------------------


def test_a_class_that_misses_a_parent_knows_its_children():
    """Classes b and c never have the first column. The second one tells them apart."""
    random = np.random.default_rng(1)
    y = np.repeat(["a", "b", "c"], 100)
    first = np.where(y == "a", random.choice(["x", "y"], 300), None)
    copied = np.where(y == "a", np.where(first == "x", "u", "v"), np.where(y == "b", "u", "v"))
    noise = random.choice(["m", "n"], 300)
    X = np.column_stack([first, copied, noise]).astype(object)
    model = TAN(root=0).fit(X, y)
    assert ("x0", "x1") in model.network_.arcs
    new = X[100:]
    assert (model.predict(new) == y[100:]).mean() > 0.95
    proba = TAN(root=0, missing="em").fit(X, y).predict_proba(new)
    assert_allclose(model.predict_proba(new), proba, atol=0.02)


def test_shares_keep_the_rows():
    table = np.random.default_rng(0).integers(0, 5, (4, 3, 5, 2)).astype(float)
    shared = share_missing_parents(table)
    assert_allclose(shared.sum(axis=(1, 2)), table.sum(axis=(1, 2)))
    assert not shared[:, 0].any()
    assert not shared[:, :, 0].any()
    whole = table.copy()
    whole[:, 0] = whole[:, :, 0] = 0
    assert share_missing_parents(whole) is whole


# -- values with a few rows ------------------------------------------------------------------------


def test_naive_bayes_learns_from_values_that_trees_pool():
    """Each of 300 shops has twelve rows, nine of which are of its class."""
    random = np.random.default_rng(0)
    shop = random.permutation(np.repeat(np.arange(300), 12))
    flipped = random.random(len(shop)) < 0.2
    y = (shop % 2 == 1) ^ flipped
    X = pd.DataFrame({"shop": [f"s{k}" for k in shop], "a": random.normal(size=len(shop))})
    train, test = slice(0, 2400), slice(2400, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = NaiveBayes().fit(X[train], y[train])
    assert len(model.network_.values[0]) > 200
    assert (model.predict(X[test]) == y[test]).mean() > 0.7
    with pytest.warns(UserWarning, match="'shop' is left out"):
        TAN().fit(X[train], y[train])


@pytest.mark.parametrize("make", MAKERS)
def test_a_text_that_is_all_there_is_is_told(make):
    X = pd.DataFrame({"note": [f"a text of several words, number {k}" for k in range(80)]})
    with pytest.warns(UserWarning, match="'note' has 80 different values.*counts the words"):
        make().fit(X, [0, 1] * 40)
