"""Twins in scikit-learn answer as the machines they were made of."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import lindero.svm as svm

KERNELS = [
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0},
    {"kernel": "rbf"},
    {"kernel": "sigmoid", "gamma": 0.02, "coef0": 0.1},
]


def make_rows(n_rows=90, n_classes=3, seed=0):
    random = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    X = random.normal(size=(n_rows, 4)) + 1.2 * y[:, None] * np.array([1.0, -1.0, 0.5, 0.0])
    return X, y


def assert_same_decisions(model, twin, Z):
    np.testing.assert_allclose(
        twin.decision_function(Z), model.decision_function(Z), rtol=1e-6, atol=1e-7
    )
    assert twin.predict(Z).tolist() == model.predict(Z).tolist()


@pytest.mark.parametrize("params", KERNELS, ids=lambda params: params["kernel"])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
def test_classifiers(name, n_classes, params):
    X, y = make_rows(n_classes=n_classes)
    labels = np.array(["a", "b", "c", "d", "e"])[y]
    more = {"nu": 0.5} if name == "NuSVC" else {"C": 2.0}
    model = getattr(svm, name)(**params, **more).fit(X, labels)
    twin = model.to_sklearn()
    assert type(twin).__module__.startswith("sklearn.")
    Z, _ = make_rows(seed=1)
    assert_same_decisions(model, twin, Z)
    assert twin.get_params()["kernel"] == params["kernel"]
    if params["kernel"] == "linear":
        np.testing.assert_allclose(twin.coef_, model.coef_, atol=1e-9)


@pytest.mark.parametrize("params", KERNELS, ids=lambda params: params["kernel"])
@pytest.mark.parametrize("name", ["SVR", "NuSVR"])
def test_regressors(name, params):
    X, _ = make_rows()
    y = X @ [1.0, 2.0, -1.0, 0.0] + 5.0
    model = getattr(svm, name)(**params).fit(X, y)
    Z, _ = make_rows(seed=1)
    np.testing.assert_allclose(model.to_sklearn().predict(Z), model.predict(Z), rtol=1e-6)


@pytest.mark.parametrize("params", KERNELS, ids=lambda params: params["kernel"])
def test_novelty_detection(params):
    X, _ = make_rows()
    model = svm.OneClassSVM(nu=0.2, **params).fit(X + 6.0)
    twin, Z = model.to_sklearn(), make_rows(seed=1)[0] + 6.0
    assert_same_decisions(model, twin, Z)
    np.testing.assert_allclose(twin.score_samples(Z), model.score_samples(Z), rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_rows(n_classes):
    X, y = make_rows(n_classes=n_classes)
    X = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    model = svm.SVC().fit(X, y)
    assert_same_decisions(model, model.to_sklearn(), X)


def test_a_precomputed_kernel():
    X, y = make_rows(n_classes=2)
    model = svm.SVC(kernel="precomputed").fit(X @ X.T, y)
    assert_same_decisions(model, model.to_sklearn(), X @ X.T)


def test_machines_with_costs_and_incremental_ones():
    X, y = make_rows(n_classes=2)
    random = np.random.default_rng(3).permutation(len(y))
    X, y = X[random], y[random]
    Z, _ = make_rows(seed=1)
    for model in (
        svm.CostSensitiveSVC(cost_positive=4.0, cost_negative=2.0).fit(X, y),
        svm.IncrementalSVC().fit(X, y),
        svm.IncrementalSVC(kernel="linear").fit(X, y).forget([0, 1]),
        svm.IncrementalOneClassSVM(nu=0.3).fit(X),
    ):
        assert_same_decisions(model, model.to_sklearn(), Z)
    model = svm.IncrementalSVR().fit(X, X[:, 0])
    np.testing.assert_allclose(model.to_sklearn().predict(Z), model.predict(Z), rtol=1e-6)


def test_a_twin_can_be_cloned_and_fitted_again():
    from sklearn.base import clone

    X, y = make_rows()
    twin = svm.SVC(C=3.0).fit(X, y).to_sklearn()
    again = clone(twin).fit(X, y)
    np.testing.assert_allclose(again.decision_function(X), twin.decision_function(X), atol=5e-2)


def test_one_machine_for_each_class_is_refused():
    X, y = make_rows()
    with pytest.raises(ValueError, match="multiclass='ovo'"):
        svm.SVC(multiclass="ovr").fit(X, y).to_sklearn()


def test_an_unfitted_machine_is_refused():
    from sklearn.exceptions import NotFittedError

    for model in (svm.SVC(), svm.IncrementalSVC()):
        with pytest.raises(NotFittedError):
            model.to_sklearn()


def test_scikit_learns_machines_are_imported_only_when_asked_for():
    code = "import sys, lindero.svm.svc; print('sklearn.svm' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert found.stdout.strip() == "False", found.stderr
