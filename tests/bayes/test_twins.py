"""Naive Bayes as scikit-learn's, with the same probabilities."""

import numpy as np
import pytest

from lindero.bayes import NaiveBayes


def test_gaussian_columns():
    random = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = random.normal(size=(60, 4)) * [1, 5, 1e-3, 100] + y[:, None] * [1, 2, 1e-3, 0]
    model = NaiveBayes().fit(X, y)
    twin = model.to_sklearn()
    assert type(twin).__name__ == "GaussianNB"
    np.testing.assert_allclose(twin.predict_proba(X), model.predict_proba(X), rtol=1e-7)
    assert twin.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("learning", ["generative", "discriminative"])
def test_categories(learning):
    random = np.random.default_rng(1)
    X = np.array(
        [random.choice(list("abc"), 80), random.choice(["red", "blue"], 80)], dtype=object
    ).T
    y = np.where(random.random(80) < np.where(X[:, 0] == "a", 0.8, 0.3), "yes", "no")
    model = NaiveBayes(learning=learning, penalty=1.0).fit(X, y)
    twin = model.to_sklearn()
    np.testing.assert_allclose(twin.predict_proba(X), model.predict_proba(X), rtol=1e-7)
    assert twin.predict(X).tolist() == model.predict(X).tolist()


def test_numbers_that_are_categories():
    random = np.random.default_rng(2)
    X = random.integers(0, 4, size=(80, 3)).astype(float)
    y = (X[:, 0] > 1).astype(int)
    model = NaiveBayes(categorical_features="all", fit_prior=False).fit(X, y)
    np.testing.assert_allclose(
        model.to_sklearn().predict_proba(X), model.predict_proba(X), rtol=1e-7
    )


def test_a_dataframe():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(
        {"sky": ["sun", "rain"] * 10, "wind": ["low", "low", "high"] * 6 + ["high"] * 2}
    )
    model = NaiveBayes().fit(table, [0, 1] * 10)
    np.testing.assert_allclose(
        model.to_sklearn().predict_proba(table), model.predict_proba(table), rtol=1e-7
    )


@pytest.mark.parametrize(
    ("X", "numeric", "named"),
    [
        ([["a", 1.0], ["b", 2.0], ["a", 3.0], ["b", 5.0]], "gaussian", "Gaussian columns and cat"),
        ([[1.0], [2.0], [3.0], [5.0]], "mdl", "numbers that are cut"),
        ([["a", None], ["b", None], ["a", None], ["b", None]], "gaussian", "without any value"),
    ],
)
def test_what_scikit_learn_does_not_have_is_refused(X, numeric, named):
    model = NaiveBayes(numeric=numeric).fit(X, [0, 0, 1, 1])
    with pytest.raises(ValueError, match=named):
        model.to_sklearn()
