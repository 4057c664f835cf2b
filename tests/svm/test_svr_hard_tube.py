"""SVR(C=inf): no target outside the tube, or an error that names those that are."""

import numpy as np
import pytest
import sklearn.svm
from numpy.testing import assert_allclose

from lindero.errors import NotSeparableError
from lindero.svm import SVR


def waves(n_samples=60, n_features=2, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(-2, 2, size=(n_samples, n_features))
    return X, np.sin(2 * X[:, 0]) + X[:, -1]


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_all_targets_are_inside_and_the_function_is_that_of_a_large_c(kernel):
    X, y = waves()
    params = {"kernel": kernel, "epsilon": 0.4, "degree": 7, "coef0": 1.0, "tol": 1e-5}
    model = SVR(C=np.inf, **params).fit(X, y)
    assert np.abs(model.predict(X) - y).max() <= 0.4 + 1e-4
    assert_allclose(model.predict(X), SVR(C=1e10, **params).fit(X, y).predict(X), atol=1e-3)
    assert model.certificate_.kkt_gap <= 1e-5
    assert model.certify(X, y).kkt_gap <= 1e-5
    assert np.isfinite(model.certificate_.dual)
    assert len(model.bounded_support_) == 0


def test_it_is_the_function_of_scikit_learn():
    X, y = waves()
    ours = SVR(C=np.inf, epsilon=0.1, gamma=2.0).fit(X, y).predict(X)
    theirs = sklearn.svm.SVR(C=np.inf, epsilon=0.1, gamma=2.0).fit(X, y).predict(X)
    assert_allclose(ours, theirs, atol=1e-2)


@pytest.mark.parametrize("n_samples", [40, 2500])
def test_a_linear_function_inside(n_samples):
    X = np.random.default_rng(0).normal(size=(n_samples, 3))
    y = X @ [1.0, -2.0, 0.5] + 3.0
    model = SVR(C=np.inf, kernel="linear", epsilon=0.05).fit(X, y)
    assert np.abs(model.predict(X) - y).max() <= 0.052
    assert model.fit_status_ == 0


@pytest.mark.parametrize("n_samples", [40, 2500])
def test_where_there_is_none_rows_are_named(n_samples):
    X = np.random.default_rng(0).normal(size=(n_samples, 3))
    y = X @ [1.0, -2.0, 0.5]
    y[7] += 50.0
    model = SVR(C=np.inf, kernel="linear", epsilon=0.05)
    with pytest.raises(NotSeparableError, match=r"within epsilon.*finite C") as found:
        model.fit(X, y)
    assert 7 in found.value.samples
    assert not hasattr(model, "support_")


def test_a_constant_inside_the_tube_needs_no_support():
    X, y = waves()
    model = SVR(C=np.inf, epsilon=10.0).fit(X, y)
    assert len(model.support_) == 0
    assert np.abs(model.predict(X) - y).max() <= 10.0


def test_more_rows_than_are_factored():
    X, y = waves(2300, 1)
    model = SVR(C=np.inf, epsilon=1.0, gamma=1.0).fit(X, y)
    assert np.abs(model.predict(X) - y).max() <= 1.01


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("offset", [0.0, 1e5])
@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-9, 1e-11, 1e-13, 1e-14])
def test_a_tube_that_holds_all_targets_is_found_whatever_tol_is(tol, offset):
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3))
    y = X @ [1.0, -2.0, 0.5] + offset + random.uniform(-0.04, 0.04, size=40)
    model = SVR(C=np.inf, kernel="linear", epsilon=0.05, tol=tol).fit(X, y)
    assert np.abs(model.predict(X) - y).max() <= 0.05 + 1e-10
    assert model.certify(X, y).kkt_gap <= 1e-10


def test_targets_that_are_all_the_same_need_no_tube():
    X, _ = waves()
    model = SVR(C=np.inf, kernel="linear", epsilon=0.0).fit(X, np.full(len(X), 7.0))
    assert_allclose(model.predict(X), 7.0)


def test_twice_the_same_row_with_different_targets():
    X = [[0.0], [0.0], [1.0]]
    with pytest.raises(NotSeparableError) as found:
        SVR(C=np.inf, epsilon=0.1).fit(X, [0.0, 1.0, 0.0])
    assert set(found.value.samples) <= {0, 1}
