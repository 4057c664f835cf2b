"""The family on public data against LIBSVM's own package: objectives and predictions.

LIBSVM computes kernel values in float32; its solutions are judged here from their coefficients.
"""

import numpy as np
import pytest
from libsvm.svmutil import svm_predict, svm_train
from sklearn.metrics.pairwise import rbf_kernel

from lindero.svm import SVR, NuSVC, NuSVR, OneClassSVM

GAMMA = 0.1


@pytest.fixture(scope="module")
def cpusmall(real_data):
    """1500 rows for training and 500 more, everything standardised."""
    table = np.genfromtxt(real_data("reg_cpusmall.csv.gz"), delimiter=",", skip_header=1)[:2000]
    table = (table - table.mean(axis=0)) / table.std(axis=0)
    return table[:, :-1], table[:, -1]


@pytest.fixture(scope="module")
def cod_rna(real_data):
    with np.load(real_data("cod_rna.npz")) as held:
        rows = np.random.default_rng(0).permutation(len(held["y"]))[:2000]
        return held["X"][rows].astype(float), held["y"][rows].astype(float)


def libsvm_coefficients(model, n):
    z = np.zeros(n)
    z[np.array(model.get_sv_indices()) - 1] = np.array(model.get_sv_coef())[:, 0]
    return z


def coefficients(model, n):
    z = np.zeros(n)
    z[model.support_] = model.dual_coef_[0]
    return z


def quadratic(z, X):
    return 0.5 * z @ rbf_kernel(X, gamma=GAMMA) @ z


@pytest.mark.parametrize("machine", ["ε", "ν"])
def test_regression_on_cpusmall(cpusmall, machine):
    X, y = cpusmall[0][:1500], cpusmall[1][:1500]
    if machine == "ε":
        ours = SVR(C=5.0, epsilon=0.05, gamma=GAMMA).fit(X, y)
        theirs = svm_train(y, X, f"-q -s 3 -t 2 -c 5 -p 0.05 -g {GAMMA}")
        price = 0.05
    else:
        ours = NuSVR(C=5.0, nu=0.3, gamma=GAMMA).fit(X, y)
        theirs = svm_train(y, X, f"-q -s 4 -t 2 -c 5 -n 0.3 -g {GAMMA}")
        price = 0.0

    def objective(z):
        return quadratic(z, X) - z @ y + price * np.abs(z).sum()

    best = objective(libsvm_coefficients(theirs, 1500))
    assert objective(coefficients(ours, 1500)) <= best + 1e-5 * abs(best)
    new = cpusmall[0][1500:]
    expected = np.array(svm_predict([], new, theirs, "-q")[0])
    np.testing.assert_allclose(ours.predict(new), expected, atol=5e-3)


@pytest.mark.parametrize("nu", [0.1, 0.4])
def test_nu_classification_of_cod_rna(cod_rna, nu):
    X, y = cod_rna[0][:1500], cod_rna[1][:1500]
    ours = NuSVC(nu=nu, gamma=GAMMA).fit(X, y)
    theirs = svm_train(y, X, f"-q -s 1 -t 2 -n {nu} -g {GAMMA}")

    def objective(z):
        # both were divided by their margins: back to coefficients that sum to ν n
        return quadratic(z * nu * len(X) / np.abs(z).sum(), X)

    best = objective(libsvm_coefficients(theirs, 1500))
    assert objective(coefficients(ours, 1500)) <= best + 1e-5 * abs(best)
    new = cod_rna[0][1500:]
    expected = np.array(svm_predict([], new, theirs, "-q")[0])
    assert np.mean(ours.predict(new) == expected) >= 0.99


@pytest.mark.parametrize("nu", [0.05, 0.5])
def test_the_region_of_cod_rna(cod_rna, nu):
    X = cod_rna[0][:1500]
    ours = OneClassSVM(nu=nu, gamma=GAMMA).fit(X)
    theirs = svm_train(np.ones(1500), X, f"-q -s 2 -t 2 -n {nu} -g {GAMMA}")
    best = quadratic(libsvm_coefficients(theirs, 1500), X)
    assert quadratic(coefficients(ours, 1500), X) <= best + 1e-5 * abs(best)
    new = cod_rna[0][1500:]
    expected = np.array(svm_predict([], new, theirs, "-q")[0])
    assert np.mean(ours.predict(new) == expected) >= 0.99
