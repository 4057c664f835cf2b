"""WANBIA-C against sums over single rows, and a minimiser that knows no derivative."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from lindero.bayes import NaiveBayes
from lindero.reproduce.tm import WeightedNaiveBayes, learn_weights


def posterior(weights, terms, log_prior, t):
    logs = [
        log_prior[c] + sum(w * terms[j][t][c] for j, w in enumerate(weights))
        for c in range(len(log_prior))
    ]
    odds = [np.exp(value - max(logs)) for value in logs]
    return [value / sum(odds) for value in odds]


def measure(weights, terms, log_prior, y):
    return -sum(np.log(posterior(weights, terms, log_prior, t)[c]) for t, c in enumerate(y))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_the_best_within_their_bounds(n_classes):
    random = np.random.default_rng(n_classes)
    y = random.integers(0, n_classes, 60)
    terms = np.log(random.dirichlet(np.ones(4), (3, 60, n_classes))[..., 0])
    terms[1, np.arange(60), y] += 1.0  # tells the class
    terms[2] = 3.0 * terms[1]  # too sure of itself
    log_prior = np.log(random.dirichlet(np.ones(n_classes)))
    found = learn_weights(terms, log_prior, y)
    assert ((found >= 0) & (found <= 1)).all()
    best = minimize(
        measure, np.full(3, 0.5), (terms, log_prior, y), "Nelder-Mead", bounds=[(0, 1)] * 3,
        options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 5000, "maxfev": 5000},
    )  # fmt: skip
    assert measure(found, terms, log_prior, y) <= best.fun + 1e-7


def test_weights_of_one_are_naive_bayes():
    X = np.random.default_rng(0).integers(0, 3, (80, 3))
    y = (X[:, 0] > 1).astype(int)
    model = WeightedNaiveBayes(categorical_features="all").fit(X, y)
    model.weights_ = np.ones(3)
    plain = NaiveBayes(categorical_features="all").fit(X, y)
    assert_allclose(model.predict_proba(X), plain.predict_proba(X), rtol=1e-12)


def test_it_predicts_no_worse_than_naive_bayes_on_its_own_rows():
    random = np.random.default_rng(1)
    table = [[("red", "blue")[v % 2], float(v) if v % 5 else None] for v in range(100)]
    y = np.array(["no", "yes"])[(np.arange(100) // 3 + random.integers(0, 2, 100)) % 2]
    model = WeightedNaiveBayes().fit(table, y)
    plain = NaiveBayes(numeric="mdl").fit(table, y)
    own = np.searchsorted(model.classes_, y)
    rows = np.arange(100)
    weighted, naive = (np.log(m.predict_proba(table)[rows, own]).sum() for m in (model, plain))
    assert weighted >= naive
