"""Discriminative learning with numbers that make trouble."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from lindero.bayes import TAN, NaiveBayes

SOLVERS = pytest.mark.parametrize("solver", ["tm", "accelerated"])


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def likelihood(model, X, y):
    return -log_loss(y, model.predict_proba(X), normalize=False)


def test_a_column_of_the_same_moments_in_all_classes_is_learned_from():
    random = np.random.default_rng(0)
    y = np.tile([0, 1], 300)
    noise = np.repeat([-1.0, 0, 1, 2, -2, 0], 100)
    X = np.column_stack([y + noise + 0.7 * random.normal(size=600), noise])
    model = fitted(NaiveBayes(learning="discriminative", penalty=0), X, y)
    Z = StandardScaler().fit_transform(np.column_stack([X, X**2]))
    best = LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000).fit(Z, y)
    assert_allclose(model.convergence_.log_likelihood[-1], likelihood(best, Z, y), rtol=1e-6)


@SOLVERS
def test_rows_that_are_certain_and_wrong_have_a_finite_likelihood(solver):
    random = np.random.default_rng(2)
    n = 3000
    a = random.integers(0, 3, n)
    y = random.integers(0, 2, n)
    table = pd.DataFrame(
        {
            "a": a.astype(str),
            "b": ((a + (random.random(n) < 0.2)) % 3).astype(str),
            "g": y + random.normal(size=n) * 1e-3,
        }
    )
    table.loc[0, "a"] = None
    table.loc[1, "b"] = None
    table.loc[[0, 1], "g"] = 1.0 - y[:2]
    model = TAN(
        learning="discriminative", numeric={"g": "gaussian"}, penalty=1.0, solver=solver,
        max_iter=300,
    )  # fmt: skip
    found = fitted(model, table, y).convergence_
    assert np.isfinite(found.objective).all()
    assert found.log_likelihood[0] < -1000
    assert found.objective[-1] > found.objective[0] + 100
    rows = model.predict_log_proba(table)[np.arange(n), y]
    assert_allclose(rows.sum(), found.log_likelihood[-1], rtol=1e-6)


def test_learning_does_not_end_in_the_middle():
    random = np.random.default_rng(0)
    n = 300
    a = random.integers(0, 3, n)
    b = (a + random.integers(0, 2, n)) % 3
    y = random.integers(0, 2, n)
    table = pd.DataFrame({
        "a": a.astype(str), "b": b.astype(str), "g": y + random.normal(size=n) * 0.01
    })  # fmt: skip
    table.loc[random.random(n) < 0.3, "a"] = None
    table.loc[random.random(n) < 0.3, "b"] = None
    rows = np.flatnonzero((table.a.isna() | table.b.isna()) & (y == 0))[:2]
    table.loc[rows, "g"] = 1.0
    ends = [
        fitted(
            TAN(
                learning="discriminative", numeric={"g": "gaussian"}, penalty=1.0, solver=solver,
                max_iter=5000,
            ), table, y,
        ).convergence_.objective[-1]
        for solver in ("accelerated", "tm")
    ]  # fmt: skip
    assert_allclose(ends[0], ends[1], rtol=1e-3)


@pytest.mark.parametrize("learning", ["generative", "discriminative"])
@pytest.mark.parametrize(("centre", "spread"), [(0.0, 1.0), (1e8, 1.0), (1e6, 1e-3)])
def test_the_logistic_form_of_columns_far_from_zero(learning, centre, spread):
    random = np.random.default_rng(3)
    y = random.integers(0, 3, 200)
    X = centre + spread * (y[:, None] + random.normal(size=(200, 2)))
    model = fitted(NaiveBayes(learning=learning, penalty=5.0), X, y)
    form = model.to_logistic()
    told = softmax(form.transform(X) @ form.coef.T + form.intercept, axis=1)
    assert_allclose(told, model.predict_proba(X), atol=1e-9)


@SOLVERS
def test_no_likelihood_is_above_zero(solver):
    random = np.random.default_rng(11)
    X = random.normal(size=(300, 4))
    y = (X[:, 0] + random.normal(size=300) > 0).astype(int)
    X[y == 1, 3] = np.nan
    for data, classes in ((X, y), ([[1.0], [2.0], [3.0]], [0, 1, 2])):
        model = NaiveBayes(learning="discriminative", penalty=0, solver=solver)
        found = fitted(model, data, classes).convergence_
        assert found.log_likelihood.max() <= 0
        assert np.abs(model.theta_).max() < 1e5 > model.scale_.max()
        assert np.isfinite(model.predict_log_proba(data)).all()


def test_what_is_told_of_early_stopping_is_of_the_model_that_is_kept():
    random = np.random.default_rng(4)
    X = random.normal(size=(200, 6))
    y = (X[:, 0] + 2 * random.normal(size=200) > 0).astype(int)
    model = fitted(NaiveBayes(learning="discriminative", early_stopping=True), X, y)
    seen = np.zeros(200, dtype=int)
    for label in (0, 1):
        seen[y == label] = np.arange((y == label).sum()) % 5
    learned = seen != 1
    found = model.convergence_
    assert_allclose(found.log_likelihood[-1], likelihood(model, X[learned], y[learned]), rtol=1e-9)
    assert len(found.validation_losses) > len(found.log_likelihood)
    assert found.validation_losses.argmin() == len(found.log_likelihood) - 1
    assert not found.is_global
    assert model.class_count_.sum() == learned.sum()


def test_rows_that_are_watched_choose_no_cuts():
    random = np.random.default_rng(5)
    y = random.integers(0, 2, 300)
    X = y[:, None] + random.normal(size=(300, 20))
    model = fitted(NaiveBayes(numeric="mdl", learning="discriminative", early_stopping=True), X, y)
    watched = np.zeros(300, dtype=bool)
    for label in (0, 1):
        watched[np.flatnonzero(y == label)[1::5]] = True
    part = fitted(NaiveBayes(numeric="mdl"), X[~watched], y[~watched])
    assert model._attributes.values() == part._attributes.values()
    whole = fitted(NaiveBayes(numeric="mdl"), X, y)
    assert model._attributes.values() != whole._attributes.values()
