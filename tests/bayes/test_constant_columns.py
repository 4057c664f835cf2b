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
