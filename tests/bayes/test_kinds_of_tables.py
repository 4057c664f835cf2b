"""The same rows in any kind of table make the same model."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lindero.bayes import TAN, NaiveBayes, NetworkClassifier
from tests.bayes.mixed_tables import MAKERS, mixed


def without_nan(X):
    return X.astype(object).where(X.notna(), None)


TABLES = {
    "pandas": lambda X: X,
    "pandas objects": without_nan,
    "pandas categories": lambda X: X.astype({"colour": "category", "shape": "category"}),
    "pandas nullable": lambda X: X.convert_dtypes(),
    "polars": lambda X: pl.from_pandas(without_nan(X)),
    "polars categories": lambda X: pl.from_pandas(without_nan(X)).with_columns(
        pl.col("colour").cast(pl.Categorical), pl.col("shape").cast(pl.Enum(["v0", "v1", "v2"]))
    ),
    "pyarrow": lambda X: pa.Table.from_pandas(X),
    "lists": lambda X: without_nan(X).to_numpy().tolist(),
    "array of objects": lambda X: X.to_numpy(dtype=object),
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_every_kind_of_table(make, kind):
    X, y = mixed(0, missing=0.15)
    expected = make().fit(X, y).predict_proba(X)
    table = TABLES[kind](X)
    model = make().fit(table, y)
    assert_array_equal(model.predict_proba(table), expected)
    named = kind not in ("lists", "array of objects")
    assert list(getattr(model, "feature_names_in_", [])) == list(X.columns) * named
    assert model.n_features_in_ == 4


@pytest.mark.parametrize("learned", ["pandas", "polars", "pyarrow", "lists"])
@pytest.mark.parametrize("asked", ["pandas categories", "polars", "pyarrow", "lists"])
def test_learned_from_one_kind_and_asked_by_another(learned, asked):
    X, y = mixed(1, missing=0.15)
    model = TAN().fit(TABLES[learned](X), y)
    assert_array_equal(
        model.predict_proba(TABLES[asked](X)), model.predict_proba(TABLES[learned](X))
    )


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_columns_in_another_order(kind):
    X, y = mixed(2, missing=0.15)
    turned = TABLES[kind](X[["weight", "shape", "colour", "length"]])
    model = TAN().fit(TABLES[kind](X), y)
    assert_array_equal(model.predict_proba(turned), model.predict_proba(X))
    assert_array_equal(
        model.partial_fit(turned, y).predict_proba(X),
        TAN(numeric=cuts_of(model)).fit(pd.concat([X, X]), np.append(y, y)).predict_proba(X),
    )
    assert_array_equal(model.explain(turned).terms, model.explain(X).terms)


def cuts_of(model):
    return dict(zip(["length", "weight"], model._attributes.cuts, strict=True))


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float32, np.float64, bool])
def test_arrays_of_any_number_type(dtype):
    random = np.random.default_rng(3)
    X, y = random.integers(0, 2, (80, 5)).astype(dtype), random.integers(0, 2, 80)
    expected = TAN(categorical_features="all").fit(X.astype(int), y).predict_proba(X)
    assert_array_equal(TAN(categorical_features="all").fit(X, y).predict_proba(X), expected)
    turned = np.asfortranarray(X)
    assert_array_equal(
        TAN(categorical_features="all").fit(turned, y).predict_proba(turned), expected
    )


def test_the_table_is_not_changed():
    X, y = mixed(4, missing=0.2)
    before, weights = X.copy(), np.ones(len(y))
    for make in MAKERS.values():
        model = make().fit(X, y, sample_weight=weights).partial_fit(X, y)
        model.explain(X)
    pd.testing.assert_frame_equal(X, before)
    array = np.random.default_rng(0).normal(size=(60, 3))
    array.flags.writeable = False
    NaiveBayes().fit(array, np.arange(60) % 2).predict(array)


def test_columns_by_name_and_by_position():
    X, y = mixed(5)
    by_name = NetworkClassifier(
        [("colour", "weight")], without_class=["shape"], numeric={"length": [0.5]}
    )
    by_place = NetworkClassifier([(0, 3)], without_class=[2], numeric={1: [0.5]})
    expected = by_name.fit(X, y).predict_proba(X)
    assert_array_equal(by_place.fit(X, y).predict_proba(X), expected)
    rows = X.to_numpy(dtype=object)
    by_title = NetworkClassifier([("x0", "x3")], without_class=["x2"], numeric={"x1": [0.5]})
    for model in (by_place, by_title):
        assert_array_equal(model.fit(rows, y).predict_proba(rows), expected)


def test_classes_of_any_kind():
    X, y = mixed(6, n_classes=2)
    code = (y == "no").astype(int)
    expected = NaiveBayes().fit(X, code).predict_proba(X)
    for labels in (code == 1, code * 2.0 - 1.0, code.astype(str)):
        model = NaiveBayes().fit(X, labels)
        assert_allclose(model.predict_proba(X), expected, rtol=1e-12)
        assert set(model.predict(X)) <= set(labels)
        assert model.network_.table("class").shape == (1, 2)
    as_frame = NaiveBayes().fit(X, pl.Series(y))
    assert_array_equal(as_frame.classes_, ["no", "perhaps"])
