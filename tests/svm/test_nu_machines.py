"""What ν promises: at most that share of errors, at least that share of support vectors."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from clouds import four_clouds, two_clouds
from tests.refusals import refused

from lindero.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

SHARES = [0.05, 0.2, 0.5, 0.8]


def curve(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("n", [120, 1500])
@pytest.mark.parametrize("nu", SHARES)
class TestShares:
    def test_of_a_classifier(self, nu, n):
        X, y = two_clouds(n, apart=3.0)
        model = NuSVC(nu=nu, gamma=0.5).fit(X, y)
        margins = np.where(y == 1, 1, -1) * model.decision_function(X)
        slack = model.certificate_.kkt_gap / model.rho_[0] + 1e-9
        assert np.mean(margins < 1 - slack) <= nu <= len(model.support_) / n
        assert len(model.bounded_support_) / n <= nu

    def test_of_a_regression(self, nu, n):
        X, y = curve(n)
        model = NuSVR(nu=nu, C=5.0, gamma=0.5).fit(X, y)
        errors = np.abs(model.predict(X) - y)
        slack = model.certificate_.kkt_gap + 1e-9
        assert np.mean(errors > model.epsilon_ + slack) <= nu <= len(model.support_) / n
        assert model.epsilon_ > 0

    def test_of_a_region_without_any_slack(self, nu, n):
        X, _ = two_clouds(n)
        model = OneClassSVM(nu=nu, gamma=0.5).fit(X)
        assert np.mean(model.predict(X) == -1) <= nu <= len(model.support_) / n


@pytest.mark.parametrize("n", [60, 700, 4500])
@pytest.mark.parametrize("nu", [1e-8, 1e-4])
def test_a_region_for_a_tiny_share_keeps_all_training_rows(n, nu):
    X, _ = two_clouds(n, n_features=2)
    assert (OneClassSVM(nu=nu, gamma=0.5).fit(X).predict(X) == 1).all()


@pytest.mark.parametrize("n", [120, 900])
def test_nu_svc_is_svc_with_the_reciprocal_of_its_margin(n):
    X, y = two_clouds(n)
    model = NuSVC(nu=0.3, gamma=0.5, tol=1e-8).fit(X, y)
    same = SVC(C=1 / model.rho_[0], gamma=0.5, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("n", [120, 900])
def test_nu_svr_is_svr_with_the_tube_that_it_found(n):
    X, y = curve(n)
    model = NuSVR(nu=0.3, C=2.0, gamma=0.5, tol=1e-8).fit(X, y)
    same = SVR(epsilon=model.epsilon_, C=2.0, gamma=0.5, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.predict(X), same.predict(X), atol=1e-4)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_an_infeasible_nu_is_refused_before_any_kernel_work(multiclass):
    X, y = four_clouds(200)
    keep = (y != 3) | (np.arange(200) < 40)

    def kernel(A, B):
        raise AssertionError("kernel values were asked for")

    few, others = int((y[keep] == 3).sum()), 50
    largest = 2 * few / (few + others) if multiclass == "ovo" else 2 * few / (few + 150)
    model = NuSVC(nu=0.9, kernel=kernel, multiclass=multiclass)
    with pytest.raises(ValueError, match=r"nu=0.9 is infeasible.*largest feasible nu is") as said:
        model.fit(X[keep], y[keep])
    stated = float(re.search(r"largest feasible nu is ([\d.e-]+);", str(said.value))[1])
    assert largest - 1e-5 < stated <= largest
    NuSVC(nu=stated, multiclass=multiclass).fit(X[keep], y[keep])  # what is said is true


def test_the_largest_feasible_nu_is_feasible_and_a_little_more_is_not():
    X, y = two_clouds(100)
    y[np.flatnonzero(y == 1)[30:]] = 0
    weights = np.random.default_rng(0).uniform(0.1, 3, 100)
    largest = 2 * min(weights[y == 1].sum(), weights[y == 0].sum()) / weights.sum()
    NuSVC(nu=largest).fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="infeasible"):
        NuSVC(nu=largest * 1.001).fit(X, y, sample_weight=weights)


def test_a_share_of_errors_that_no_boundary_can_reach_is_said():
    X, y = two_clouds(200, apart=0.1)
    with pytest.warns(UserWarning, match=r"no margin at nu=0.05.*Raise nu"):
        NuSVC(nu=0.05, kernel="linear").fit(X, y)


def test_a_margin_smaller_than_the_tolerance_is_made_certain_or_said():
    X, y = two_clouds(600)
    model = NuSVC(nu=0.1, gamma=0.5).fit(X, y)
    assert model.certificate_.kkt_gap < 0.1 * model.rho_[0] < 0.1 * model.tol
    with pytest.warns(UserWarning, match="lower tol"):
        NuSVC(nu=0.05, gamma=0.5, tol=0.1).fit(X, y)


@pytest.mark.parametrize("machine", [NuSVC, NuSVR, OneClassSVM])
@pytest.mark.parametrize("nu", [0.0, -0.1, 1.1, float("nan"), "half"])
def test_nu_outside_its_range_is_refused(machine, nu):
    X, y = two_clouds()
    model = machine(nu=nu)
    with refused(model, ValueError, "'nu' parameter"):
        model.fit(X, y)


@pytest.mark.parametrize("n", [150, 900])
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_certificates_are_those_of_the_fitted_coefficients(n, multiclass):
    X, y = four_clouds(n, apart=3.0)
    model = NuSVC(nu=0.3, multiclass=multiclass).fit(X, y)
    again = model.certify(X, y)
    assert again.kkt_gap <= model.tol
    assert again.kkt_gap == pytest.approx(model.certificate_.kkt_gap, abs=1e-4)
    assert again.dual == pytest.approx(model.certificate_.dual, rel=1e-6)
    region = OneClassSVM(nu=0.3).fit(X)
    assert region.certify(X).kkt_gap <= region.tol
    tube = NuSVR(nu=0.3).fit(*curve(n))
    assert tube.certify(*curve(n)).kkt_gap <= tube.tol


@pytest.mark.parametrize("params", [{"nu": 1.0}, {"C": 1e4}, {"nu": 0.5, "C": 100.0, "gamma": 1.0}])
@pytest.mark.parametrize("target", ["constant", "a feature", "noise"])
def test_a_tube_of_no_width_is_certified_too(params, target):
    X, noise = curve(60)
    y = {"constant": np.full(60, 3.0), "a feature": X[:, 0], "noise": noise}[target]
    model = NuSVR(**params).fit(X, y)
    again = model.certify(X, y)
    assert model.epsilon_ >= 0
    assert again.infeasibility <= 1e-9 * model.C * 60
    assert "within tol" in again.status or model.fit_status_ == 1


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_a_linear_region_does_not_depend_on_the_scale_of_the_data(scale):
    X = np.random.default_rng(0).normal(3.0, 1.0, (700, 3))
    expected = OneClassSVM(kernel="linear", nu=0.2, tol=1e-6).fit(X).predict(X)
    found = OneClassSVM(kernel="linear", nu=0.2, tol=1e-6).fit(scale * X).predict(scale * X)
    assert np.mean(found != expected) <= 0.005


@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_region_through_the_origin_keeps_its_training_rows_too(kernel, kind):
    X = kind(np.random.default_rng(0).normal(size=(300, 3)))
    assert (OneClassSVM(kernel=kernel, nu=1e-4).fit(X).predict(X) == 1).all()


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_the_scale_of_weights_changes_nothing_but_the_margin(factor):
    X, y = two_clouds(300, apart=3.0)
    weights = np.random.default_rng(1).uniform(0.5, 2, 300)
    one = NuSVC(nu=0.3, tol=1e-6).fit(X, y, sample_weight=weights)
    other = NuSVC(nu=0.3, tol=1e-6).fit(X, y, sample_weight=factor * weights)
    np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(other.rho_, factor * one.rho_, rtol=1e-6)


@pytest.mark.parametrize("machine", [NuSVC, NuSVR, OneClassSVM])
def test_weights_whose_sum_overflows_are_refused(machine):
    X, y = two_clouds(20)
    model = machine(nu=0.2)
    with refused(model, ValueError, "overflows"):
        model.fit(X, y, sample_weight=np.full(20, 1e308))
