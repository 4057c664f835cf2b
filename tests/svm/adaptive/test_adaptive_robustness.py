"""Data that throw rounding or tolerances off, and parameters that change between calls."""

import warnings

import numpy as np
import pytest
from drifting import planes, turning
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from lindero.svm import AdaptiveSVC, AdaptiveSVR


def test_a_step_that_rounding_has_ruined_is_taken_back():
    random = np.random.default_rng(17)
    X = random.normal(size=(60, 2))
    y = X.sum(axis=1) + 0.1 * random.normal(size=60)
    model = AdaptiveSVR(epsilon=0.0, C=1e5, coupling=10.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        certificate = model.fit(X, y).certificate_
    assert certificate.duality_gap < 1e-3 * certificate.primal
    assert np.abs(model.coef_).max() < 2.0


@pytest.mark.parametrize("seed", range(5))
def test_tubes_without_width_are_solved(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(60, 2))
    y = X.sum(axis=1) + 0.1 * random.normal(size=60)
    assert AdaptiveSVR(epsilon=0.0, C=1e3, coupling=1.0).fit(X, y).fit_status_ == 0


@pytest.mark.parametrize("far", [1e6, 1e9])
def test_a_target_beyond_all_others_hides_nothing(far):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 2))
    y = X @ [1.0, 2.0] + 0.1 * random.normal(size=200)
    y[100] = far
    exact = AdaptiveSVR(coupling=1e4, n_scale=200, tol=1e-13).fit(X, y)
    usual = AdaptiveSVR(coupling=1e4, n_scale=200).fit(X, y)
    stream = AdaptiveSVR(coupling=1e4, n_scale=200)
    for row in range(200):
        stream.partial_fit(X[row : row + 1], y[row : row + 1])
    for model in (usual, stream):
        assert_allclose(planes(model), planes(exact), atol=2e-3 * np.abs(planes(exact)).max())


@pytest.mark.parametrize("n_scale", [None, 128.0])
def test_a_doubling_does_not_throw_a_horizon_off(n_scale):
    X, y = turning(260, noise=0.3)
    y[:2] = [1, -1]
    model = AdaptiveSVC(coupling=1e3, horizon=60, n_scale=n_scale).partial_fit(X[:2], y[:2])
    off = []
    for row in range(2, 260):
        model.partial_fit(X[row : row + 1], y[row : row + 1])
        if row + 1 in (255, 256, 257):
            whole = AdaptiveSVC(coupling=1e3, n_scale=model.n_scale_, tol=1e-10)
            last = planes(whole.fit(X[: row + 1], y[: row + 1]))[-1]
            off.append(np.linalg.norm(planes(model)[-1] - last) / np.linalg.norm(last))
    assert max(off) < 1e-3


def test_n_stays_given_if_it_was_given_first():
    X, y = turning(100)
    model = AdaptiveSVC(coupling=1e3, n_scale=300.0).fit(X[:40], y[:40])
    model.set_params(n_scale=None).partial_fit(X[40:], y[40:])
    assert model.n_scale_ == 300.0
