"""The certificate of a fit, and its recomputation from the coefficients alone."""

import numpy as np
import pytest
import scipy.sparse as sp
from clouds import four_clouds, slow_problem, two_clouds
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

from lindero.svm import SVC

OPTIMAL = "Optimal: the KKT gap is within tol."

SETTINGS = [
    {},
    {"kernel": "linear"},
    {"kernel": "linear", "solver": "interior_point"},
    {"kernel": "poly", "C": 5.0},
    {"class_weight": "balanced", "multiclass": "ovr"},
    {"class_weight": {0: 3.0}},
]


@pytest.mark.parametrize("params", SETTINGS, ids=str)
@pytest.mark.parametrize("clouds", [two_clouds, four_clouds])
def test_the_certificate_of_a_finished_fit_is_within_tol(params, clouds):
    certificate = SVC(**params).fit(*clouds()).certificate_
    assert 0 <= certificate.kkt_gap <= 1e-3
    assert certificate.primal >= certificate.dual - 1e-9
    assert certificate.duality_gap == certificate.primal - certificate.dual
    assert certificate.duality_gap <= 1e-2 * certificate.primal
    assert certificate.infeasibility <= 1e-9
    assert certificate.n_iter > 0
    assert certificate.seconds > 0
    assert certificate.status == OPTIMAL


@pytest.mark.parametrize("params", SETTINGS, ids=str)
@pytest.mark.parametrize("clouds", [two_clouds, four_clouds])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_certify_agrees_with_the_certificate(params, clouds, form):
    X, y = clouds()
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = SVC(**params).fit(form(X), y, weights)
    again = model.certify(form(X), y, weights)
    assert_allclose(again.kkt_gap, model.certificate_.kkt_gap, atol=1e-9)
    assert_allclose(again.primal, model.certificate_.primal, rtol=1e-9)
    assert_allclose(again.dual, model.certificate_.dual, rtol=1e-9)
    assert "within tol" in again.status


def test_certify_agrees_where_rows_were_computed_in_single_precision():
    X, y = two_clouds(n_samples=1500)
    model = SVC(C=10).fit(X, y)
    again = model.certify(X, y)
    assert again.kkt_gap <= 1e-3
    assert_allclose(again.dual, model.certificate_.dual, rtol=1e-6)
    assert_allclose(again.primal, model.certificate_.primal, rtol=1e-4)


def test_certify_agrees_for_a_precomputed_kernel():
    X, y = four_clouds()
    K = rbf_kernel(X)
    model = SVC(kernel="precomputed").fit(K, y)
    assert_allclose(model.certify(K, y).dual, model.certificate_.dual, rtol=1e-9)


def test_objective_values_are_those_of_the_primal_problem():
    X, y = two_clouds()
    model = SVC(kernel="linear", C=0.7, tol=1e-9).fit(X, y)
    signs = np.where(y == 1, 1, -1)
    losses = np.maximum(0, 1 - signs * model.decision_function(X))
    primal = 0.5 * np.sum(model.coef_**2) + 0.7 * losses.sum()
    assert_allclose(model.certificate_.primal, primal, rtol=1e-9)
    assert_allclose(model.certificate_.dual, primal, rtol=1e-7)


def test_the_parts_of_several_problems_add_up():
    model = SVC().fit(*four_clouds())
    certificate = model.certificate_
    assert len(certificate.parts) == 6
    assert certificate.kkt_gap == max(part.kkt_gap for part in certificate.parts)
    assert_allclose(certificate.dual, sum(part.dual for part in certificate.parts))
    assert certificate.n_iter == model.n_iter_.sum()


@pytest.mark.parametrize("clouds", [two_clouds, four_clouds])
@pytest.mark.parametrize("factor", [0.5, 0.0, -1.0, 1.5])
def test_certify_detects_a_changed_coefficient(clouds, factor):
    X, y = clouds()
    model = SVC().fit(X, y)
    line, column = np.unravel_index(np.argmax(np.abs(model.dual_coef_)), model.dual_coef_.shape)
    model.dual_coef_[line, column] *= factor
    again = model.certify(X, y)
    assert again.kkt_gap > model.tol or again.infeasibility > 1e-3
    assert "within tol" not in again.status


def test_certify_detects_a_changed_intercept():
    X, y = two_clouds()
    model = SVC().fit(X, y)
    model.intercept_ += 1.0
    assert model.certify(X, y).duality_gap > 10 * model.certificate_.duality_gap


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_certify_says_so_of_a_fit_that_was_stopped():
    X, y = slow_problem(n_samples=500)
    model = SVC(C=100, max_iter=20).fit(X, y)
    again = model.certify(X, y)
    assert again.kkt_gap > model.tol
    assert_allclose(again.kkt_gap, model.certificate_.kkt_gap, rtol=1e-6)
    assert "above tol" in again.status


def test_certify_of_rows_in_another_order_does_not_pass():
    X, y = two_clouds()
    model = SVC().fit(X, y)
    again = model.certify(X[::-1], y[::-1])
    assert "within tol" not in again.status


@pytest.mark.parametrize("clouds", [two_clouds, four_clouds])
def test_certify_needs_the_rows_given_to_fit(clouds):
    X, y = clouds()
    model = SVC().fit(X, y)
    with pytest.raises(ValueError, match=r"data given to fit.*rows"):
        model.certify(X[:-1], y[:-1])
    with pytest.raises(ValueError, match=r"data given to fit.*rows"):
        model.certify(X, y[:-1])
    with pytest.raises(ValueError, match="features"):
        model.certify(X[:, :-1], y)


def test_certify_needs_the_labels_given_to_fit():
    X, y = two_clouds()
    model = SVC().fit(X, y)
    with pytest.raises(ValueError, match=r"y .*not in the data given to fit"):
        model.certify(X, y + 1)
    with pytest.raises(ValueError, match=r"y .*not in the data given to fit"):
        model.certify(X, np.where(y == 1, 0.5, 0))
    with pytest.raises(ValueError, match=r"y .*not in the data given to fit"):
        model.certify(X, np.where(y == 1, "yes", "no"))


def test_certify_needs_a_fitted_estimator():
    with pytest.raises(NotFittedError):
        SVC().certify(*two_clouds())
