"""warm_start=True goes on from the last fit, and never changes what is found."""

import warnings

import numpy as np
import pytest
from clouds import four_clouds, slow_problem, two_clouds
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from lindero.svm import SVC

KERNELS = [{"kernel": "rbf"}, {"kernel": "linear"}, {"kernel": "linear", "solver": "working_set"}]


def stopped(X, y, max_iter, **params):
    model = SVC(warm_start=True, max_iter=max_iter, **params)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.fit(X, y)
    return model.set_params(max_iter=-1)


@pytest.mark.parametrize(
    ("params", "max_iter"),
    [
        ({"kernel": "rbf", "C": 10}, 2000),
        ({"kernel": "linear"}, 5),
        ({"kernel": "linear", "solver": "interior_point"}, 5),
        ({"kernel": "linear", "solver": "working_set"}, 1000),
    ],
    ids=str,
)
def test_a_stopped_fit_is_resumed_and_takes_fewer_steps_than_a_new_one(params, max_iter):
    X, y = two_clouds(n_samples=900, apart=1.0)
    new = SVC(**params).fit(X, y)
    model = stopped(X, y, max_iter, **params)
    model.fit(X, y)
    assert model.certificate_.kkt_gap <= model.tol
    assert 0 < model.n_iter_[0] < new.n_iter_[0]
    assert_allclose(model.certificate_.dual, new.certificate_.dual, rtol=1e-4)


@pytest.mark.parametrize(("kernel", "max_iter"), [("rbf", 1000), ("linear", 5)])
def test_a_stopped_fit_of_several_classes_is_resumed(kernel, max_iter):
    X, y = four_clouds(n_samples=1800, apart=0.8)
    new = SVC(kernel=kernel, C=10).fit(X, y)
    model = stopped(X, y, max_iter, kernel=kernel, C=10)
    model.fit(X, y)
    assert model.certificate_.kkt_gap <= model.tol
    assert model.n_iter_.sum() < new.n_iter_.sum()


@pytest.mark.parametrize("params", KERNELS, ids=str)
@pytest.mark.parametrize("n_samples", [150, 700])
def test_a_finished_fit_needs_no_more_than_a_few_steps(params, n_samples):
    X, y = two_clouds(n_samples=n_samples)
    model = SVC(warm_start=True, **params).fit(X, y)
    first = model.n_iter_[0]
    before = model.decision_function(X)
    model.fit(X, y)
    assert model.n_iter_[0] < first
    assert_allclose(model.decision_function(X), before, atol=2e-3)


@pytest.mark.parametrize("params", KERNELS, ids=str)
@pytest.mark.parametrize("n_samples", [150, 700])
@pytest.mark.parametrize(
    "change",
    [{"C": 3.0}, {"C": 0.01}, {"gamma": 0.9}, {"class_weight": {0: 4.0}}, {"tol": 1e-6}],
    ids=str,
)
def test_after_a_change_of_parameters_the_result_is_that_of_a_new_fit(params, n_samples, change):
    X, y = two_clouds(n_samples=n_samples)
    model = SVC(warm_start=True, **params).fit(X, y)
    model.set_params(**change).fit(X, y)
    new = SVC(**{**params, **change}).fit(X, y)
    assert model.certify(X, y).kkt_gap <= model.tol
    assert_allclose(model.certificate_.dual, new.certificate_.dual, rtol=2e-3)
    assert_allclose(model.decision_function(X), new.decision_function(X), atol=2e-2)


@pytest.mark.parametrize("params", KERNELS, ids=str)
@pytest.mark.parametrize("clouds", [two_clouds, four_clouds])
def test_after_a_change_of_weights_the_result_is_that_of_a_new_fit(params, clouds):
    X, y = clouds(n_samples=240)
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    model = SVC(warm_start=True, tol=1e-6, **params).fit(X, y)
    for given in (np.where(weights == 0, 0.5, weights), weights, None):
        model.fit(X, y, given)
        new = SVC(tol=1e-6, **params).fit(X, y, given)
        assert_allclose(model.decision_function(X), new.decision_function(X), atol=1e-4)


def test_a_larger_c_takes_fewer_steps_than_a_new_fit():
    X, y = two_clouds(n_samples=900, apart=1.0)
    model = SVC(warm_start=True, C=10).fit(X, y)
    model.set_params(C=12).fit(X, y)
    assert model.n_iter_[0] < SVC(C=12).fit(X, y).n_iter_[0]


def other_numbers(X, y):
    return two_clouds(n_samples=len(y), seed=7)


def fewer_rows(X, y):
    return X[:-11], y[:-11]


def fewer_features(X, y):
    return X[:, :2], y


def other_labels(X, y):
    return X, 1 - y


def more_classes(X, y):
    return four_clouds(n_samples=len(y))


@pytest.mark.parametrize("params", KERNELS, ids=str)
@pytest.mark.parametrize("n_samples", [150, 700])
@pytest.mark.parametrize(
    "changed", [other_numbers, fewer_rows, fewer_features, other_labels, more_classes]
)
def test_other_data_are_fitted_as_if_for_the_first_time(params, n_samples, changed):
    X, y = two_clouds(n_samples=n_samples)
    model = SVC(warm_start=True, tol=1e-5, **params).fit(X, y)
    X, y = changed(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
    new = SVC(tol=1e-5, **params).fit(X, y)
    assert_array_equal(model.classes_, new.classes_)
    assert_allclose(model.decision_function(X), new.decision_function(X), atol=1e-3)


def test_a_change_of_kernel_is_a_new_problem():
    X, y = two_clouds(n_samples=700)
    model = SVC(warm_start=True, kernel="linear").fit(X, y)
    model.set_params(kernel="rbf").fit(X, y)
    model.set_params(kernel="linear").fit(X, y)
    new = SVC(kernel="linear").fit(X, y)
    assert_allclose(model.decision_function(X), new.decision_function(X), atol=5e-3)


def test_without_warm_start_every_fit_is_new():
    X, y = two_clouds(n_samples=700)
    model = SVC().fit(X, y)
    first = model.n_iter_[0]
    assert model.fit(X, y).n_iter_[0] == first


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_gap_shrinks_from_stop_to_stop():
    X, y = slow_problem(n_samples=800)
    model = SVC(C=10, warm_start=True, max_iter=300)
    duals = [model.fit(X, y).certificate_.dual for _ in range(4)]
    assert (np.diff(duals) > 0).all()
