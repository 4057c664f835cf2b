"""The machines that run on devices, small tables for them, and what a fit and its answers show."""

from __future__ import annotations

import numpy as np

from lindero.svm import SVC, SVR, CostSensitiveSVC, NuSVC, NuSVR, OneClassSVM

_random = np.random.default_rng(20)
X = _random.standard_normal((90, 3))
BINARY = (X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.3).astype(np.int64)
THREE = np.array([2, 5, 9])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.3)]
WORDS = np.array(["low", "mid", "top"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.3)]
NUMBERS = X[:, 0] ** 2 - X[:, 2]
WEIGHTS = _random.uniform(0.5, 2.0, len(X))

#: Name → estimator and targets.
MACHINES = {
    "SVC": (SVC(), BINARY),
    "SVC, pairs": (SVC(C=2.0), THREE),
    "SVC, one against the rest": (SVC(multiclass="ovr"), THREE),
    "SVC, words": (SVC(decision_function_shape="ovo"), WORDS),
    "SVC, linear": (SVC(kernel="linear"), THREE),
    "SVC, poly": (SVC(kernel="poly", degree=2, coef0=1.0), BINARY),
    "NuSVC, pairs": (NuSVC(nu=0.3), THREE),
    "NuSVC, one against the rest": (NuSVC(nu=0.2, multiclass="ovr"), THREE),
    "SVR": (SVR(C=5.0), NUMBERS),
    "NuSVR": (NuSVR(C=5.0), NUMBERS),
    "OneClassSVM": (OneClassSVM(nu=0.2), None),
    "CostSensitiveSVC": (CostSensitiveSVC(cost_positive=3, cost_negative=1.5), BINARY),
}

#: Fitted attributes that are arrays of X's kind.
ATTRIBUTES = (
    "support_", "support_vectors_", "dual_coef_", "intercept_", "free_support_",
    "bounded_support_", "n_support_",
)  # fmt: skip


def answers_of(model, rows):
    """What a model says of rows, by the names of its methods."""
    names = ("predict", "decision_function", "score_samples")
    return {name: getattr(model, name)(rows) for name in names if hasattr(model, name)}


def scale_of(certificate):
    return max(1.0, abs(certificate.primal), abs(certificate.dual))
