"""Ranking of extreme numbers ends within seconds, with a status that is true."""

from __future__ import annotations

import time

import numpy as np
import pytest
from tests.naive import extended

from lindero.svm import RankSVM

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def find_primal(model, X, y):
    """½‖f‖² + C Σ max(0, 1 − f_i + f_j) in extended precision."""
    X = X.astype(np.longdouble)
    if model.kernel == "linear":
        w = model.coef_.astype(np.longdouble)
        f, square = (X - X.mean(axis=0)) @ w, w @ w
    else:
        gamma = model._function.gamma
        K = extended.kernel_matrix(X, model.kernel, gamma, model.degree, model.coef0)
        c = np.zeros(len(X), dtype=np.longdouble)
        c[model.support_] = model.dual_coef_[0]
        f, square = K @ c, c @ K @ c
    more, less = np.nonzero(y[:, None] > y)
    return square / 2 + model.C * np.maximum(0, 1 - f[more] + f[less]).sum()


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid"])
@pytest.mark.parametrize("scale", [1e-300, 1e-100, 1e-5, 1.0, 1e5, 1e9, 1e20, 1e70, 1e100, 1e160])
@pytest.mark.parametrize("C", [1e-300, 1e-6, 1.0, 1e8, 1e142, 1e300])
def test_every_fit_ends_with_a_true_status(kernel, scale, C):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=20), [-0.5, 0.5])
    X *= scale
    begun, refusal = time.perf_counter(), None
    model = RankSVM(kernel=kernel, C=C)
    try:
        model.fit(X, y)
    except ValueError as error:
        refusal = str(error)
    assert time.perf_counter() - begun < 15.0
    if refusal is not None:
        assert len(refusal) > 20
        assert not hasattr(model, "certificate_")
        return
    assert np.isfinite(model.predict(X)).all()
    certificate = model.certificate_
    assert model.fit_status_ == (not certificate.status.startswith("Optimal"))
    if model.fit_status_ == 0 and kernel != "sigmoid":
        primal = find_primal(model, X, y)
        gap = float(primal - certificate.dual)
        assert gap <= 1.1 * model.tol * float(primal)


@pytest.mark.parametrize("spread", [1e8, 1e16, 1e60])
def test_columns_of_different_size(spread):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 2)) * [1.0 / spread, spread]
    y = rng.integers(0, 3, 12)
    for C in (1e-8, 1.0, 1e8):
        model = RankSVM(C=C).fit(X, y)
        assert np.isfinite(model.predict(X)).all()
        if model.fit_status_ == 0:
            primal = find_primal(model, X, y)
            assert float(primal - model.certificate_.dual) <= 1.1 * model.tol * float(primal)
