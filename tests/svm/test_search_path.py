"""The path along C: warm starts, the exact end, and the same result however it is computed."""

import numpy as np
import pytest
from clouds import four_clouds, two_clouds
from numpy.testing import assert_allclose, assert_array_equal

from lindero.kernels.operator import KernelFunction
from lindero.kernels.special import RowMatrix, side_by_side
from lindero.svm import SVC
from lindero.svm.search.svc_cv import SVCCV
from lindero.svm.search.svr_cv import SVRCV
from lindero.svm.svr import SVR

#: Megabytes too few for any matrix: kernels are then computed block by block.
NO_MATRIX = 1e-3


class Keep:
    """A scorer that keeps the models it is shown, with their validation rows."""

    def __init__(self):
        self.shown = []

    def __call__(self, estimator, X, y):
        self.shown.append((estimator, X))
        return 0.0


def shown(search, X, y, **fit):
    keep = Keep()
    search.set_params(scoring=keep, refit=False).fit(X, y, **fit)
    return keep.shown


def one_split(n_rows):
    rows = np.random.default_rng(0).permutation(n_rows)
    return rows[: 3 * n_rows // 4], rows[3 * n_rows // 4 :]


@pytest.mark.parametrize("cache_size", [1000, NO_MATRIX])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
@pytest.mark.parametrize("n_samples", [160, 1400])
def test_every_model_of_a_path_is_certified_and_knows_its_rows(
    cache_size, kernel, multiclass, n_samples
):
    X, y = four_clouds(n_samples=n_samples, apart=1.0)
    train, test = one_split(n_samples)
    params = {"kernel": kernel, "multiclass": multiclass, "cache_size": cache_size}
    params |= {} if kernel == "linear" else {"gammas": [0.1]}
    models = shown(SVCCV(Cs=[0.1, 1.0, 10.0], cv=[(train, test)], **params), X, y)
    assert [model.C for model, _ in models] == [0.1, 1.0, 10.0]
    for model, rows in models:
        assert isinstance(model, SVC)
        assert_array_equal(rows, X[test])
        assert model.certificate_.kkt_gap <= model.tol
        assert model.certify(X[train], y[train]).kkt_gap <= 1.01 * model.tol
        assert_allclose(
            model.decision_function(rows), model.decision_function(rows.copy()), atol=1e-9
        )
        new = SVC(C=model.C, gamma=model.gamma, kernel=kernel, multiclass=multiclass).fit(
            X[train], y[train]
        )
        assert_allclose(model.certificate_.dual, new.certificate_.dual, rtol=2e-3)
        assert_array_equal(model.classes_, new.classes_)
        assert model.n_features_in_ == new.n_features_in_


@pytest.mark.parametrize("cache_size", [1000, NO_MATRIX])
@pytest.mark.parametrize("n_samples", [160, 900])
def test_every_regressor_of_a_path_is_certified_and_knows_its_rows(cache_size, n_samples):
    X, y = two_clouds(n_samples=n_samples)
    y = np.sin(X[:, 1]) + y
    train, test = one_split(n_samples)
    weights = np.random.default_rng(0).integers(0, 3, n_samples)
    search = SVRCV(Cs=[0.1, 1.0, 10.0], gammas=[0.1], epsilon=0.1, cv=[(train, test)])
    search.set_params(cache_size=cache_size)
    for model, rows in shown(search, X, y, sample_weight=weights):
        assert isinstance(model, SVR)
        assert model.certify(X[train], y[train], weights[train]).kkt_gap <= 1.01 * model.tol
        assert_allclose(model.predict(rows), model.predict(rows.copy()), atol=1e-9)
        new = SVR(C=model.C, gamma=0.1).fit(X[train], y[train], weights[train])
        assert_allclose(model.certificate_.dual, new.certificate_.dual, rtol=2e-3)


def test_where_no_bound_acts_larger_cs_cost_nothing_and_are_exact():
    X, y = two_clouds(n_samples=900)
    Cs = 2.0 ** np.arange(-3, 12, 2)
    split = one_split(900)
    models = [m for m, _ in shown(SVCCV(Cs=Cs, gammas=[10.0], cv=[split]), X, y)]
    free = [len(model.bounded_support_) == 0 for model in models]
    assert not free[0]
    assert sum(free) > 2
    end = free.index(True)
    assert all(model.n_iter_[0] > 0 for model in models[: end + 1])
    for model in models[end + 1 :]:
        assert model.n_iter_[0] == 0
        assert_array_equal(model.dual_coef_, models[end].dual_coef_)
        assert model.certify(X[split[0]], y[split[0]]).kkt_gap <= 1.01 * model.tol
        new = SVC(C=model.C, gamma=10.0).fit(X[split[0]], y[split[0]])
        assert_allclose(model.dual_coef_.sum(), new.dual_coef_.sum(), atol=1e-2)


def test_a_path_takes_fewer_steps_than_separate_fits():
    X, y = two_clouds(n_samples=900, apart=1.0)
    train, test = one_split(900)
    Cs = [1.0, 1.2, 1.44, 1.7]
    models = [m for m, _ in shown(SVCCV(Cs=Cs, gammas=[0.3], cv=[(train, test)]), X, y)]
    for model in models[1:]:
        new = SVC(C=model.C, gamma=0.3).fit(X[train], y[train])
        assert model.n_iter_[0] < 0.8 * new.n_iter_[0]


@pytest.mark.parametrize("clouds", [two_clouds, four_clouds])
@pytest.mark.parametrize("n_samples", [160, 1200])
def test_with_and_without_a_matrix_scores_are_the_same(clouds, n_samples):
    X, y = clouds(n_samples=n_samples, apart=1.0)
    grid = {"Cs": [0.1, 1.0, 10.0], "gammas": [0.1, 1.0], "cv": 3, "tol": 1e-6}
    with_matrix = SVCCV(**grid).fit(X, y)
    without = SVCCV(**grid, cache_size=NO_MATRIX).fit(X, y)
    assert_array_equal(with_matrix.scores_, without.scores_)


def test_the_matrix_holds_what_the_kernels_say():
    X, _ = two_clouds(n_samples=60)
    rows, others = np.array([3, 50, 7]), np.array([9, 3])
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    for gamma in (0.1, 2.0**29):
        function = KernelFunction("rbf", gamma=gamma)
        matrix = RowMatrix(X + 100.0, KernelFunction("rbf", gamma=1.0))
        expected = np.exp(-gamma * distances)
        assert_allclose(matrix.among(rows, function), expected[np.ix_(rows, rows)], atol=1e-9)
        assert_allclose(matrix.between(rows, others, function)[:, 0], expected[rows, 9], atol=1e-9)
        assert_array_equal(matrix.among(rows, function).diagonal(), 1.0)
    linear = RowMatrix(X, KernelFunction("linear"))
    expected = X[rows] @ X[others].T
    assert_allclose(linear.between(rows, others, KernelFunction("linear")), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("megabytes", "expected"), [(1000, 8), (32 + 3 * 18 * 3.5, 3), (32 + 53, 0), (1, 0)]
)
def test_as_many_matrices_as_fit(megabytes, expected):
    assert side_by_side(2048, 1536, megabytes, at_most=8) == expected
