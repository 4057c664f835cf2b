"""Columns whose first rows are all missing: the first value tells what they hold."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lindero.bayes import AODE, KDB, TAN, NaiveBayes, NetworkClassifier
from lindero.bayes.tables.schema import Schema
from tests.bayes.mixed_tables import MAKERS, mixed

#: What a column without values looks like in a first batch.
EMPTY = {"objects": (None, object), "floats": (np.nan, float), "nullable": (pd.NA, "Int64")}


def late(seed=0, missing=0.1):
    """A table in whose first 40 rows two columns, of numbers and of text, are missing."""
    X, y = mixed(seed, missing=missing)
    X.loc[:39, ["length", "colour"]] = None
    return X.astype({"length": object, "colour": object}), y


def typed(X, kind):
    value, dtype = EMPTY[kind]
    for name in ("length", "colour"):
        if X[name].isna().all():
            X = X.assign(**{name: pd.Series([value] * len(X), dtype=dtype, index=X.index)})
    return X


def in_batches(model, X, y, kind, sizes=(20, 20, 30, 50)):
    ends = np.cumsum([0, *sizes])
    for start, stop in pairwise(ends):
        model.partial_fit(typed(X[start:stop], kind), y[start:stop], classes=np.unique(y))
    return model


@pytest.mark.parametrize("kind", EMPTY)
@pytest.mark.parametrize(
    "numeric", ["gaussian", "mdl", {"length": [0.0, 1.0], "weight": "gaussian"}]
)
@pytest.mark.parametrize("make", [NaiveBayes, TAN, KDB, AODE, NetworkClassifier])
def test_batches_are_as_a_fit_of_everything(make, numeric, kind):
    given = {"arcs": [("shape", "colour")]} if make is NetworkClassifier else {}
    X, y = late()
    whole = make(numeric=numeric, **given).fit(X, y)
    parts = in_batches(make(numeric=numeric, **given), X, y, kind)
    assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    assert_allclose(parts.theta_, whole.theta_, rtol=1e-9)
    assert_allclose(parts.explain(X).terms, whole.explain(X).terms, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", EMPTY)
@pytest.mark.parametrize("name", ["NaiveBayes", "TAN", "KDB", "AODE"])
def test_values_that_come_after_a_fit(name, kind):
    """Counts are there already: the column leaves the network for a density, or is cut anew."""
    X, y = late(1)
    make = MAKERS[name]
    model = make(numeric="gaussian").fit(typed(X[:40], kind), y[:40])
    model.partial_fit(X[40:], y[40:])
    if name == "KDB":  # whose arcs are of the first rows
        assert model.theta_.shape == (3, 2)
        assert "length" not in model.network_.names
        return
    whole = make(numeric="gaussian").fit(X, y)
    assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    cut = make(numeric={"weight": [0.0], "length": "quantile"}, n_bins=3)
    cut.fit(typed(X[:40], kind), y[:40]).partial_fit(X[40:], y[40:])
    points = cut._attributes.cuts[cut._attributes.schema.number_columns.index(1)]
    again = make(numeric={"weight": [0.0], "length": points}).fit(X, y)
    assert len(points) == 2
    assert_allclose(cut.predict_proba(X), again.predict_proba(X), rtol=1e-9)


def test_nulls_of_polars_before_numbers_and_before_text():
    first = pl.DataFrame({"a": [None, None], "b": [None, None], "c": ["x", "y"]})
    then = pl.DataFrame({"a": [1.5, 2.5, 3.5], "b": ["p", None, "q"], "c": ["x", "y", "y"]})
    model = NaiveBayes().partial_fit(first, [0, 1]).partial_fit(then, [0, 1, 1])
    whole = NaiveBayes().fit(pl.concat([first, then], how="vertical_relaxed"), [0, 1, 0, 1, 1])
    assert_array_equal(model.predict_proba(then), whole.predict_proba(then))
    assert model.theta_.tolist() == [[1.5], [3.0]]


@pytest.mark.parametrize("empty", [[None, None], [np.nan, np.nan]])
def test_the_kind_of_a_column(empty):
    schema = Schema.learn(pd.DataFrame({"v": empty}))
    assert schema.columns[0].kind == "unknown"
    assert schema.read(pd.DataFrame({"v": empty})).codes.tolist() == [[0, 0]]
    assert schema.extend(pd.DataFrame({"v": empty})).columns[0].kind == "unknown"
    assert schema.extend(pd.DataFrame({"v": [2, None]})).columns[0].kind == "number"
    text = schema.extend(pd.DataFrame({"v": ["b", "a"]}))
    assert text.columns[0].values == ("a", "b")
    with pytest.raises(
        ValueError, match=r"held text when the model was made, but row 0 holds 2\.0"
    ):
        text.extend(pd.DataFrame({"v": [2.0]}))
    chosen = Schema.learn(pd.DataFrame({"v": empty}), ["v"])
    assert chosen.extend(pd.DataFrame({"v": [2.0, 1.0]})).columns[0].values == (1.0, 2.0)


@pytest.mark.parametrize("unseen", ["smooth", "missing", "error"])
@pytest.mark.parametrize("later", [7.0, "text"])
def test_what_comes_only_in_predicting_says_nothing(unseen, later):
    X, y = mixed(2)
    for make in (NaiveBayes, TAN):
        expected = make().fit(X, y).predict_proba(X)
        model = make(unseen=unseen).fit(X.assign(empty=np.nan), y)
        assert_allclose(model.predict_proba(X.assign(empty=later)), expected, rtol=1e-12)


def test_a_plan_for_a_column_without_values_is_kept():
    X, y = late(3)
    model = NaiveBayes(numeric={"length": [0.5]}).partial_fit(X[:40], y[:40], classes=np.unique(y))
    model.set_params(numeric="gaussian").partial_fit(X[40:], y[40:])
    assert model.network_.names == ["colour", "length", "shape"]
    assert model.network_.table("length").shape == (3, 3)
