"""SVR, NuSVC, NuSVR and OneClassSVM give what those of scikit-learn give."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from clouds import four_clouds, two_clouds
from numpy.testing import assert_allclose, assert_array_equal

import lindero.svm

CLOSE = {"rtol": 1e-4, "atol": 1e-4}

#: Parameters of each machine at which its solution is unique.
MACHINES = {
    "SVR": {"C": 2.0, "epsilon": 0.2},
    "NuSVR": {"C": 2.0, "nu": 0.43},
    "OneClassSVM": {"nu": 0.23},
    "NuSVC": {"nu": 0.43},
}

KERNELS = [
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.2},
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": "auto"},
]

ATTRIBUTES = ["support_", "support_vectors_", "dual_coef_", "intercept_", "n_support_"]


def sample(name, seed=0):
    if name == "NuSVC":
        return four_clouds(seed=seed, apart=3.0)
    X, _ = two_clouds(seed=seed)
    X += 3.0 * (name == "OneClassSVM")  # a linear region has the origin outside
    noise = np.random.default_rng(seed).standard_normal(len(X))
    return X, X[:, 0] - np.sin(2 * X[:, 1]) + 0.3 * noise


def values_of(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def both(name, X, y, sample_weight=None, **params):
    params = {"tol": 1e-8, **MACHINES[name], **params}
    ours = getattr(lindero.svm, name)(**params).fit(X, y, sample_weight=sample_weight)
    theirs = getattr(sklearn.svm, name)(**params).fit(X, y, sample_weight=sample_weight)
    return ours, theirs


@pytest.mark.parametrize("name", MACHINES)
def test_the_parameters_of_scikit_learn_have_the_same_defaults(name):
    theirs = inspect.signature(getattr(sklearn.svm, name)).parameters
    ours = inspect.signature(getattr(lindero.svm, name)).parameters
    missing = {"class_weight"} if name == "NuSVC" else set()
    assert theirs.keys() - ours.keys() == missing
    for parameter in theirs.keys() & ours.keys():
        assert ours[parameter].default == theirs[parameter].default


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("name", MACHINES)
def test_values_agree_on_new_rows(name, kernel):
    X, y = sample(name)
    ours, theirs = both(name, X, y, **kernel)
    new, _ = sample(name, seed=1)
    assert_allclose(values_of(ours, new), values_of(theirs, new), **CLOSE)
    assert ours.certificate_.kkt_gap <= 1e-8


@pytest.mark.parametrize("name", ["SVR", "NuSVR", "OneClassSVM"])
def test_attributes_agree(name):
    X, y = sample(name)
    ours, theirs = both(name, X, y, gamma=0.3)
    assert_array_equal(ours.support_, theirs.support_)
    for attribute in ATTRIBUTES:
        assert_allclose(getattr(ours, attribute), getattr(theirs, attribute), **CLOSE)
        assert getattr(ours, attribute).shape == getattr(theirs, attribute).shape


def test_scores_of_a_one_class_machine_differ_from_decisions_by_its_offset():
    X, _ = sample("OneClassSVM")
    ours, theirs = both("OneClassSVM", X, None, gamma=0.3)
    assert_allclose(ours.offset_, theirs.offset_, **CLOSE)
    assert_allclose(ours.score_samples(X), theirs.score_samples(X), **CLOSE)
    assert_allclose(ours.decision_function(X) + ours.offset_, ours.score_samples(X))


@pytest.mark.parametrize("name", MACHINES)
def test_sample_weights_agree(name):
    X, y = sample(name)
    weights = np.random.default_rng(2).uniform(0.5, 2, len(X))
    ours, theirs = both(name, X, y, sample_weight=weights, gamma=0.3)
    assert_allclose(values_of(ours, X), values_of(theirs, X), **CLOSE)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_weights_are_repeated_rows_and_zero_weights_are_missing_rows(name, kernel):
    X, y = sample(name)
    machine = getattr(lindero.svm, name)
    times = np.random.default_rng(3).integers(0, 3, len(X))
    params = {**MACHINES[name], "kernel": kernel, "tol": 1e-9}
    weighted = machine(**params).fit(X, y, sample_weight=times.astype(float))
    repeated = machine(**params).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_allclose(values_of(weighted, X), values_of(repeated, X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", MACHINES)
def test_sparse_data_and_kernel_matrices_give_the_same_machine(name):
    X, y = sample(name)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    machine = getattr(lindero.svm, name)(**MACHINES[name], gamma=0.3, tol=1e-8)
    expected = values_of(machine.fit(X, y), X)
    assert_allclose(values_of(machine.fit(sp.csr_array(X), y), sp.csr_array(X)), expected, **CLOSE)
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))
    machine.set_params(kernel="precomputed").fit(K, y)
    assert_allclose(values_of(machine, K), expected, **CLOSE)


@pytest.mark.parametrize("name", ["SVR", "NuSVR", "OneClassSVM", "NuSVC"])
def test_weights_of_a_linear_machine_are_its_function(name):
    X, y = sample(name)
    if name == "NuSVC":
        y = y % 2
    model = getattr(lindero.svm, name)(**MACHINES[name], kernel="linear").fit(X + 50.0, y)
    assert_allclose(values_of(model, X), X @ model.coef_[0] + model.intercept_[0], atol=1e-9)
