"""Bounds on errors from a solution alone, beside leaving each row out, and beside a slow twin."""

import numpy as np
import pytest
import scipy.sparse as sp
from clouds import four_clouds, two_clouds
from tests.naive.functions import kernel_matrix

from lindero.solvers.xi_alpha import find_width
from lindero.svm import SVC

MACHINES = [
    {"kernel": "linear", "C": 0.1},
    {"kernel": "linear", "C": 10.0},
    {"kernel": "rbf", "gamma": 0.02, "C": 0.5},
    {"kernel": "rbf", "gamma": 1.0, "C": 10.0},
    {"kernel": "poly", "gamma": 0.3, "degree": 2, "coef0": 1.0, "C": 0.05},
]


def data(apart, share=0.5, seed=0):
    X, y = two_clouds(80, apart=apart, seed=seed)
    rng = np.random.default_rng(seed)
    kept = (y == 1) | (rng.random(len(y)) < share)
    return X[kept], np.where(y[kept] == 1, "yes", "no")


def naive_estimates(model, X, y, rho):
    """By loops over all rows."""
    name = model.kernel
    given = {"gamma": model._gamma, "degree": model.degree, "coef0": model.coef0}
    K = kernel_matrix(name, X, X, **given)
    width = K.max() - K.min()
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.abs(np.asarray(model.dual_coef_)[0])
    wrong = []
    for i, value in enumerate(model.decision_function(X)):
        sign = 1 if y[i] == model.classes_[1] else -1
        if rho * alpha[i] * width + max(0.0, 1.0 - sign * value) >= 1.0:
            wrong.append(i)
    positive = np.flatnonzero(y == model.classes_[1])
    missed = len(np.intersect1d(wrong, positive))
    alarms = len(wrong) - missed
    told = len(positive) - missed + alarms
    precision = (len(positive) - missed) / told if told else np.nan
    return len(wrong) / len(y), 1 - missed / len(positive), precision, wrong


@pytest.mark.parametrize("rho", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("params", MACHINES, ids=str)
def test_estimates_are_those_of_loops(params, rho):
    X, y = data(2.0, share=0.6)
    model = SVC(**params, tol=1e-8).fit(X, y)
    found = model.estimate_xi_alpha(X, y, rho=rho)
    # The width of a linear kernel is that of its values around another origin.
    if params["kernel"] != "linear":
        error, recall, precision, wrong = naive_estimates(model, X, y, rho)
        assert (found.error, found.recall) == pytest.approx((error, recall))
        np.testing.assert_allclose(found.precision, precision)
        assert found.suspects.tolist() == wrong
    table = model.estimate_xi_alpha(sp.csr_array(X) if sp.issparse(X) else X.tolist(), y, rho=rho)
    assert table.suspects.tolist() == found.suspects.tolist()
    assert (found.rho, len(found.suspects) / len(y)) == (rho, found.error)


@pytest.mark.parametrize("apart", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("params", MACHINES, ids=str)
def test_they_are_bounds_of_leaving_one_out(params, apart):
    X, y = data(apart)
    model = SVC(**params, tol=1e-6).fit(X, y)
    found = model.estimate_xi_alpha(X, y)
    positive, told = y == "yes", model.leave_one_out(X, y) > 0
    wrong = np.flatnonzero(told != positive)
    assert set(wrong) <= set(found.suspects)
    assert found.error >= len(wrong) / len(y)
    assert found.recall <= told[positive].mean()
    if told.any() and not np.isnan(found.precision):
        assert found.precision <= positive[told].mean()
    nearer = model.estimate_xi_alpha(X, y, rho=1.0)
    assert set(nearer.suspects) <= set(found.suspects)


def test_they_say_much_where_the_margin_is_wide():
    X, y = data(8.0)
    model = SVC(kernel="linear", C=0.01).fit(X, y)
    found = model.estimate_xi_alpha(X, y)
    assert found.error < 0.25
    assert "recall >=" in str(found)


def test_rows_of_no_weight_are_not_counted():
    X, y = data(1.0)
    weights = np.ones(len(y))
    weights[::7] = 0.0
    model = SVC(gamma=0.1, tol=1e-8).fit(X, y, weights)
    found = model.estimate_xi_alpha(X, y, weights)
    kept = np.flatnonzero(weights)
    without = SVC(gamma=0.1, tol=1e-8).fit(X[kept], y[kept]).estimate_xi_alpha(X[kept], y[kept])
    assert found.error == pytest.approx(without.error)
    np.testing.assert_array_equal(found.suspects, kept[without.suspects])


def test_what_is_refused():
    X, y = data(1.0)
    model = SVC().fit(X, y)
    for rho in (0.0, -1.0, 2.5, "two"):
        with pytest.raises(ValueError, match="rho must be"):
            model.estimate_xi_alpha(X, y, rho=rho)
    with pytest.raises(ValueError, match="data given to fit"):
        model.estimate_xi_alpha(X[:-1], y[:-1])
    X, y = four_clouds(40)
    with pytest.raises(ValueError, match="two classes, and there are 4"):
        SVC().fit(X, y).estimate_xi_alpha(X, y)


def test_the_width_is_that_of_all_pairs(monkeypatch):
    from lindero.kernels.operator import KernelFunction, kernel_operator
    from lindero.solvers import xi_alpha

    X = np.random.default_rng(0).standard_normal((50, 3))
    monkeypatch.setattr(xi_alpha, "_VALUES_AT_ONCE", 333)
    K = X @ X.T
    found = find_width(kernel_operator(X, KernelFunction("linear")))
    assert found == pytest.approx(K.max() - K.min())
