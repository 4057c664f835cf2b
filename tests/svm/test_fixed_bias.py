"""SVC and SVR whose constant is fixed at zero, beside a general solver of their dual problems."""

import numpy as np
import pytest
import scipy.sparse as sp
from clouds import four_clouds, two_clouds
from scipy.optimize import minimize
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.naive.functions import kernel_matrix

from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.kernels.special import BorderedKernel
from lindero.persist import load, save, save_libsvm
from lindero.svm import SVC, SVR

KERNELS = [
    {"kernel": "linear"},
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "poly", "gamma": 0.3, "degree": 2, "coef0": 1.0},
]


def least_dual(K, linear, low, high):
    """min ½ zᵀKz + linear(z) over a box, by a general method; z and its value."""

    def value(z):
        return 0.5 * z @ K @ z + linear @ z, K @ z + linear

    found = minimize(
        value, np.zeros(len(K)), jac=True, bounds=list(zip(low, high, strict=True)),
        method="L-BFGS-B", options={"maxiter": 20_000, "ftol": 1e-15, "gtol": 1e-9},
    )  # fmt: skip
    return found.x, found.fun


def gram(params, X):
    given = {"gamma": 1.0, "degree": 3, "coef0": 0.0, **params}
    return kernel_matrix(given.pop("kernel"), X, X, **given)


@pytest.mark.parametrize("n", [40, 500])  # solved at once, and by decomposition
@pytest.mark.parametrize("params", KERNELS, ids=str)
def test_classes_without_a_constant_are_the_dual_optimum(params, n):
    X, codes = two_clouds(n, apart=1.5)
    X, y = X + 0.4, np.where(codes == 1, 1.0, -1.0)
    K = gram(params, X)
    bounds = np.where(y > 0, 2.0, 0.0), np.where(y > 0, 0.0, -2.0)
    z, value = least_dual(K, -y, bounds[1], bounds[0])
    model = SVC(C=2.0, fit_intercept=False, tol=1e-5, **params).fit(X, codes)
    assert model.certificate_.status.startswith("Optimal")
    assert model.certificate_.dual == pytest.approx(-value, rel=1e-4)
    assert model.certificate_.primal == pytest.approx(-value, rel=1e-4)
    np.testing.assert_allclose(model.decision_function(X), K @ z, atol=0.02)
    assert not model.intercept_.any()
    again = model.certify(X, codes)
    assert again.kkt_gap <= 1.1e-5
    assert again.dual == pytest.approx(model.certificate_.dual)


@pytest.mark.parametrize("params", KERNELS, ids=str)
def test_values_without_a_constant_are_the_dual_optimum(params):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (60, 2))
    y = np.sin(X[:, 0]) + 0.5 + 0.1 * rng.standard_normal(60)
    K = gram(params, X)
    double, linear = np.block([[K, -K], [-K, K]]), np.append(0.1 - y, 0.1 + y)
    a, value = least_dual(double, linear, np.zeros(120), np.full(120, 3.0))
    model = SVR(C=3.0, epsilon=0.1, fit_intercept=False, tol=1e-5, **params).fit(X, y)
    assert model.certificate_.dual == pytest.approx(-value, rel=1e-4)
    np.testing.assert_allclose(model.predict(X), K @ (a[:60] - a[60:]), atol=0.01)
    assert not model.intercept_.any()
    assert model.certify(X, y).kkt_gap <= 1.1e-5


@pytest.mark.parametrize("params", KERNELS, ids=str)
def test_leaving_out_files_and_several_classes(params, tmp_path):
    X, y = two_clouds(40)
    model = SVC(fit_intercept=False, tol=1e-6, **params).fit(X, y)
    values = model.leave_one_out(X, y)
    for row in (0, int(model.support_[0]), int(model.support_[-1])):
        left = np.arange(40) != row
        without = SVC(fit_intercept=False, tol=1e-9, **params).fit(X[left], y[left])
        assert values[row] == pytest.approx(without.decision_function(X[[row]])[0], abs=1e-4)
    bound = model.estimate_xi_alpha(X, y)
    assert set(np.flatnonzero((values > 0) != (y == 1))) <= set(bound.suspects)
    save(model, tmp_path / "own.lin")
    again = load(tmp_path / "own.lin")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.certify(X, y).dual == pytest.approx(model.certificate_.dual)
    save_libsvm(model, tmp_path / "theirs")
    assert "rho 0\n" in (tmp_path / "theirs").read_text().replace("-0", "0")
    X, y = four_clouds(60)
    for scheme in ("ovo", "ovr"):
        several = SVC(fit_intercept=False, multiclass=scheme, **params).fit(X, y)
        assert several.score(X, y) > 0.5
        assert not several.intercept_.any()


def test_a_warm_start_goes_on_and_weights_count():
    X, y = two_clouds(500)
    model = SVC(gamma=0.3, fit_intercept=False, warm_start=True).fit(X, y)
    first = int(model.n_iter_[0])
    model.fit(X, y)
    assert model.n_iter_[0] < 0.2 * first
    for fixed in (True, False):  # the other problem begins where this one ended
        other = model.set_params(fit_intercept=fixed).fit(X, y)
        fresh = SVC(gamma=0.3, fit_intercept=fixed).fit(X, y)
        assert other.certificate_.dual == pytest.approx(fresh.certificate_.dual, rel=1e-3)
        assert other.certificate_.infeasibility < 1e-9
    weights = np.random.default_rng(0).integers(0, 3, 500)
    weighted = SVC(gamma=0.3, fit_intercept=False, tol=1e-6).fit(X, y, weights)
    rows = np.repeat(np.arange(500), weights)
    repeated = SVC(gamma=0.3, fit_intercept=False, tol=1e-6).fit(X[rows], y[rows])
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-3
    )


def test_the_hard_margin_needs_its_constant():
    X, y = two_clouds(20)
    with pytest.raises(ValueError, match="fit_intercept=True"):
        SVC(C=float("inf"), fit_intercept=False).fit(X, y)
    with pytest.raises(ValueError, match="fit_intercept=True"):
        SVR(C=float("inf"), fit_intercept=False).fit(X, y)


def test_the_bordered_kernel_is_a_matrix_with_zeros():
    X = np.random.default_rng(0).standard_normal((6, 2))
    base = kernel_operator(X, KernelFunction("rbf", gamma=0.5))
    kernel = BorderedKernel(base, np.array([2, -1, 0, 1, 2]))
    expected = np.zeros((5, 5))
    known = np.array([0, 2, 3, 4])
    K = base.matrix(np.arange(6), 6)
    expected[np.ix_(known, known)] = K[np.ix_([2, 0, 1, 2], [2, 0, 1, 2])]
    np.testing.assert_allclose(kernel.matrix(np.arange(5), 5), expected)
    np.testing.assert_allclose(kernel.diagonal(), np.diagonal(expected))
    block = np.empty((2, 3))
    kernel.block(kernel.probe(np.array([1, 4])), 2, 5, block)
    np.testing.assert_allclose(block, expected[[1, 4], 2:5])
    part = kernel.subset(np.array([3, 1]))
    np.testing.assert_allclose(part.matrix(np.arange(2), 2), expected[np.ix_([3, 1], [3, 1])])
    kernel.block(kernel.probe_of(X[:2]), 0, 3, block)
    np.testing.assert_allclose(block, np.column_stack([K[:2, 2], [0, 0], K[:2, 0]]))
    assert kernel.astype(np.float32).dtype == np.float32


@parametrize_with_checks([SVC(fit_intercept=False)])
def test_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def test_sparse_rows_are_the_same():
    X, y = two_clouds(450)
    X[np.abs(X) < 0.5] = 0.0
    dense = SVC(gamma=0.2, fit_intercept=False, tol=1e-6).fit(X, y).decision_function(X)
    table = sp.csr_array(X)
    sparse = SVC(gamma=0.2, fit_intercept=False, tol=1e-6).fit(table, y).decision_function(table)
    np.testing.assert_allclose(sparse, dense, atol=1e-3)
