"""Columns that are constant, or of a constant kind: they tell nothing, whatever comes later."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lindero.bayes import NaiveBayes
from tests.bayes.mixed_tables import MAKERS, mixed


@pytest.mark.parametrize("constant", [0.0, 5.0, -1e-30, 1e100, np.nan])
@pytest.mark.parametrize("later", [0.0, 6.0, -1e9, 1e250])
def test_a_number_far_from_a_constant_says_nothing(constant, later):
    X, y = mixed(0, missing=0.1)
    expected = NaiveBayes().fit(X, y).predict_proba(X)
    table = X.assign(constant=constant)
    model = NaiveBayes().fit(table, y)
    for value in (constant, later):
        rows = X.assign(constant=value)
        assert_allclose(model.predict_proba(rows), expected, rtol=1e-12)
        assert_allclose(model.explain(rows).terms[:, -1], 0.0, atol=0)


@pytest.mark.parametrize("name", ["NaiveBayes", "TAN", "KDB", "NetworkClassifier"])
@pytest.mark.parametrize("constant", [1.0, "always"])
def test_a_constant_that_is_coded_says_nothing(name, constant):
    X, y = mixed(1, missing=0.1)
    cuts = {"length": [0.0, 1.0], "weight": [-1e6]}
    expected = MAKERS[name](numeric=cuts).fit(X, y).predict_proba(X)
    table = X.assign(constant=constant)
    plan = {**cuts, **({"constant": "mdl"} if constant == 1.0 else {})}
    model = MAKERS[name](numeric=plan).fit(table, y)
    assert_allclose(model.predict_proba(table), expected, rtol=1e-12)
    assert model.network_.table("constant").shape[1] >= 2


def test_only_constant_columns():
    X, y = np.ones((30, 2)), np.arange(30) % 3
    for make in (NaiveBayes, MAKERS["TAN"], MAKERS["KDB"], MAKERS["AODE"]):
        assert_allclose(make().fit(X, y).predict_proba(X + 7.0), 1 / 3, rtol=1e-12)


@pytest.mark.parametrize("scale", [1.0, -1e-200, 1e140, 1e14])
@pytest.mark.parametrize("batches", [1, 4])
def test_what_differs_by_rounding_is_constant(scale, batches):
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 200)
    useful = random.normal(3.0 * y)
    nearly = np.full(200, 0.3 * scale)
    nearly[0] = (0.1 + 0.2) * scale
    nearly[50:53] = np.nextafter(nearly[1], np.inf)
    expected = NaiveBayes().fit(useful[:, None], y).predict_proba(useful[:, None])
    X, model = np.column_stack([useful, nearly]), NaiveBayes()
    for rows in np.array_split(np.arange(200), batches):
        model.partial_fit(X[rows], y[rows])
    assert_allclose(model.predict_proba(X), expected, rtol=1e-9)
    assert_allclose(model.explain(X).terms[:, 1], 0.0, atol=0)
    assert len(np.unique(model.theta_[:, 1])) == 1


def test_a_class_is_not_narrower_than_rounding():
    y = np.arange(100) % 2
    column = np.where(y == 0, 0.3, 0.3 + np.linspace(0.0, 1e-12, 100))
    column[0] = 0.1 + 0.2
    model = NaiveBayes().fit(column[:, None], y)
    assert_allclose(model.scale_[0], 100 * np.finfo(float).eps * column.max(), rtol=1e-9)
    assert (model.theta_[0] != model.theta_[1]).all()
