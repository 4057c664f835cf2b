"""Agreement with scikit-learn on public data, where the files are at hand."""

import numpy as np
import pytest
import sklearn.svm
from sklearn.metrics.pairwise import pairwise_kernels

from lindero.svm import SVC


def dual_objective(model, X, y, gamma):
    """Σa − ½ aᵀQa of a binary machine, from scikit-learn's attributes."""
    coefficients = np.asarray(model.dual_coef_.sum(axis=0)).ravel()
    K = pairwise_kernels(X[model.support_], metric="rbf", gamma=gamma)
    return np.abs(coefficients).sum() - 0.5 * coefficients @ K @ coefficients


def test_a9a_has_the_objective_and_accuracy_of_scikit_learn(a9a):
    X, y = a9a
    params = {"C": 1.0, "gamma": 1 / 123}
    ours = SVC(**params).fit(X[:3000], y[:3000])
    theirs = sklearn.svm.SVC(**params).fit(X[:3000], y[:3000])
    reference = dual_objective(theirs, X[:3000], y[:3000], 1 / 123)
    assert ours.certificate_.dual == pytest.approx(reference, rel=1e-4)
    assert ours.certificate_.primal == pytest.approx(reference, rel=1e-3)
    assert np.mean(ours.predict(X[3000:]) == theirs.predict(X[3000:])) > 0.998
    assert ours.score(X[3000:], y[3000:]) > 0.83


def test_a9a_linear_has_the_weights_of_scikit_learn(a9a):
    X, y = a9a
    ours = SVC(kernel="linear", C=0.1, tol=1e-6).fit(X[:2000], y[:2000])
    theirs = sklearn.svm.SVC(kernel="linear", C=0.1, tol=1e-6).fit(X[:2000], y[:2000])
    np.testing.assert_allclose(ours.coef_.toarray(), theirs.coef_.toarray(), atol=1e-4)
    assert ours.score(X[3000:], y[3000:]) > 0.83


def test_letter_has_the_decisions_of_scikit_learn(letter):
    X, y = letter
    params = {"C": 10.0, "gamma": 4.0, "decision_function_shape": "ovo"}
    ours = SVC(**params).fit(X[:2000], y[:2000])
    theirs = sklearn.svm.SVC(**params).fit(X[:2000], y[:2000])
    assert len(ours.classes_) == 26
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    np.testing.assert_allclose(
        ours.decision_function(X[2000:2500]), theirs.decision_function(X[2000:2500]), atol=2e-2
    )
    assert np.mean(ours.predict(X[2000:]) == theirs.predict(X[2000:])) > 0.998
    assert ours.score(X[2000:], y[2000:]) > 0.85


def test_mnist_pixels_have_the_predictions_of_scikit_learn(mnist):
    X, y = mnist
    ours = SVC(C=5.0).fit(X[:1500], y[:1500])
    theirs = sklearn.svm.SVC(C=5.0).fit(X[:1500], y[:1500])
    assert ours.support_vectors_.dtype == np.uint8
    assert np.mean(ours.predict(X[1500:2500]) == theirs.predict(X[1500:2500])) > 0.998
    assert ours.score(X[1500:2500], y[1500:2500]) > 0.92


def test_a_pair_of_mnist_digits_has_the_objective_of_scikit_learn(mnist):
    X, y = mnist
    chosen = np.isin(y, (4, 9))
    X, y = X[chosen], y[chosen]
    gamma = 1 / (784 * X.var())
    ours = SVC(gamma=gamma).fit(X, y)
    theirs = sklearn.svm.SVC(gamma=gamma).fit(X, y)
    reference = dual_objective(theirs, X.astype(float), y, gamma)
    assert ours.certificate_.dual == pytest.approx(reference, rel=1e-4)
    assert ours.certify(X, y).kkt_gap <= 1e-3
