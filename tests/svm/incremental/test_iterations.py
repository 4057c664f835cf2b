"""Updates take the iterations that the published algorithm takes, and lead to the same model."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import pairwise_kernels

from lindero.reproduce.icssvm import PublishedUpdates
from lindero.svm import IncrementalSVC

COSTS = {"C": 10.0, "cost_positive": 1.0, "cost_negative": 2.0}

KERNELS = {
    "rbf": {"kernel": "rbf", "gamma": 0.25},
    "poly": {"kernel": "poly", "degree": 2, "gamma": 2.0, "coef0": 1.0},
}


def stream(seed, n_start, n_added):
    X, y = make_classification(
        n_start + n_added, 8, n_informative=5, weights=[0.8], flip_y=0.1, random_state=seed
    )
    return (X - X.min(axis=0)) / np.ptp(X, axis=0), y


def twin_of(model, X, y, n, parameters):
    """The published algorithm, at the optimum over the first n rows, about to learn the others."""
    K = pairwise_kernels(X, metric=parameters["kernel"], **{
        name: value for name, value in parameters.items() if name != "kernel"
    })  # fmt: skip
    positive = y == 1
    penalty = np.where(positive, 10.0, 10.0 * (2 * 2.0 - 1))
    margin = np.where(positive, 1.0, 1 / (2 * 2.0 - 1))
    twin = PublishedUpdates(K, np.where(positive, 1.0, -1.0), penalty, margin)
    twin.start(coefficients(model, n), float(model.intercept_[0]))
    return twin


def coefficients(model, n):
    alpha = np.zeros(n)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    return alpha


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("seed", range(3))
def test_iterations_are_those_of_the_published_algorithm(kernel, seed):
    n_start, n_added = 120, 80
    X, y = stream(seed, n_start, n_added)
    model = IncrementalSVC(**COSTS, **KERNELS[kernel]).fit(X[:n_start], y[:n_start])
    twin = twin_of(model, X, y, n_start, KERNELS[kernel])
    counted = [twin.add(c) for c in range(n_start, n_start + n_added)]
    for c in range(n_start, n_start + n_added):
        model.partial_fit(X[c : c + 1], y[c : c + 1])
    assert model.updates_["iterations"][n_start:].tolist() == counted
    assert 0 in counted  # samples beyond their margin change nothing
    assert max(counted) > 8
    np.testing.assert_allclose(
        coefficients(model, len(y)), twin.alpha, atol=1e-7 * twin.bounds.max()
    )
    assert model.intercept_[0] == pytest.approx(twin.b, abs=1e-7)


def test_fetching_a_column_is_no_iteration():
    X, y = stream(4, 150, 1)
    y[150] = 1 - y[150]  # on the wrong side
    counts = []
    for add_first in (False, True):
        model = IncrementalSVC(**COSTS, **KERNELS["rbf"]).fit(X[:150], y[:150])
        if add_first:  # what it needed is then at hand
            model.partial_fit(X[150:], y[150:])
            model.forget([150])
        model.partial_fit(X[150:], y[150:])
        counts.append(int(model.updates_["iterations"][-1]))
    assert counts[0] == counts[1] > 1
