"""Fits of every machine to tables of extreme numbers.

A fit ends with a model whose answers are numbers, or is refused by a ValueError; and what is called
optimal is optimal, recomputed in extended precision from the coefficients alone.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from lindero import bayes, svm
from tests.fuzz.broken import Broken
from tests.naive import extended

#: What an optimal gap may be above tol, for the rounding of tol itself.
SLACK = 1.02


def make_table(rng: np.random.Generator) -> np.ndarray:
    """A table of few rows whose columns differ in scale by many orders of magnitude."""
    n, d = int(rng.integers(2, 60)), int(rng.integers(1, 6))
    if rng.random() < 0.02:
        n = int(rng.integers(401, 700))  # beyond what is solved in one block
    X = rng.normal(size=(n, d))
    for change in rng.random(10) < 0.25:
        way = int(rng.integers(10))
        if not change:
            continue
        if way == 0:
            X = X * 10.0 ** rng.uniform(-6, 8, d)
        elif way == 1:
            X = X + 10.0 ** rng.uniform(0, 9)
        elif way == 2:
            X[rng.integers(0, n, n // 2)] = X[0]
        elif way == 3:
            X = np.round(X)
        elif way == 4:
            X = X * 10.0 ** rng.uniform(-300, 300)
        elif way == 5:
            X[:, rng.integers(d)] = 0.0
        elif way == 6:
            X = np.clip(X * 10.0 ** rng.uniform(-20, 20, d), -1e300, 1e300)
        elif way == 7:
            X[rng.integers(n), rng.integers(d)] = rng.choice([1e300, -1e300, 1e-300, 1e18, 5e-324])
        elif way == 8:
            X = np.asarray(X, dtype=np.float32)
        else:
            X = X * 10.0 ** rng.choice([-5, 5, 160])
        with np.errstate(all="ignore"):
            X = np.nan_to_num(X, nan=0.0, posinf=1e300, neginf=-1e300)
    return X


def extreme(rng: np.random.Generator, usual: float, low: float, high: float) -> float:
    """A positive parameter: usual, unusual or absurd."""
    way = rng.random()
    if way < 0.4:
        return usual
    return float(10.0 ** (rng.uniform(-300, 300) if way > 0.95 else rng.uniform(low, high)))


def kernel_options(rng: np.random.Generator) -> dict:
    gamma = str(rng.choice(["scale", "auto"])) if rng.random() < 0.5 else extreme(rng, 1.0, -6, 3)
    return {
        "kernel": str(rng.choice(["linear", "rbf", "poly", "sigmoid"], p=[0.35, 0.35, 0.2, 0.1])),
        "gamma": gamma,
        "degree": int(rng.choice([0, 1, 2, 3, 5, 8, 20])),
        "coef0": float(rng.choice([0.0, 1.0, -1.0, 1e300], p=[0.5, 0.24, 0.24, 0.02])),
    }


def make_estimator(rng: np.random.Generator, name: str) -> object:
    options = kernel_options(rng)
    C = extreme(rng, 1.0, -6, 10)
    if name in ("SVC", "CostSensitiveSVC", "IncrementalSVC", "SVR", "IncrementalSVR", "RankSVM"):
        options["C"] = C
    if name in ("SVR", "IncrementalSVR"):
        options["epsilon"] = extreme(rng, 0.1, -6, 2)
    if name in ("NuSVC", "NuSVR", "OneClassSVM", "IncrementalOneClassSVM"):
        options["nu"] = float(rng.uniform(0.01, 0.99))
    if name == "NuSVR":
        options["C"] = C
    if name in ("AdaptiveSVC", "AdaptiveSVR"):
        options = {"C": C, "kernel": str(rng.choice(["linear", "rbf"]))}
        if rng.random() < 0.3:
            options["coupling"] = extreme(rng, 1.0, -4, 8)
    if name in BAYESIAN:
        options = {"alpha": extreme(rng, 1.0, -3, 3)} if rng.random() < 0.5 else {}
    owner = bayes if name in BAYESIAN else svm
    return getattr(owner, name)(**options)


BAYESIAN = ("NaiveBayes", "TAN", "AODE", "KDB")
REGRESSIONS = ("SVR", "NuSVR", "IncrementalSVR", "AdaptiveSVR")
WITHOUT_TARGETS = ("OneClassSVM", "IncrementalOneClassSVM")
MACHINES = (
    "SVC", "SVC", "SVC", "SVR", "SVR", "NuSVC", "NuSVR", "OneClassSVM", "CostSensitiveSVC",
    "RankSVM", "IncrementalSVC", "IncrementalSVC", "IncrementalSVR", "IncrementalOneClassSVM",
    "AdaptiveSVC", "AdaptiveSVR", *BAYESIAN,
)  # fmt: skip


def make_targets(rng: np.random.Generator, name: str, X: np.ndarray) -> np.ndarray:
    n = len(X)
    if name in REGRESSIONS:
        y = rng.normal(size=n) * extreme(rng, 1.0, -8, 8)
        return np.nan_to_num(np.where(rng.random(n) < 0.5, y, y[0]), posinf=1e300, neginf=-1e300)
    n_classes = int(rng.choice([1, 2, 2, 2, 3, 5]))
    if rng.random() < 0.5:
        column = X[:, 0].astype(float)
        cuts = np.quantile(column, np.linspace(0, 1, n_classes + 1)[1:-1])
        return np.digitize(column, np.maximum.accumulate(np.nan_to_num(cuts)))
    return rng.integers(0, n_classes, n)


def play(seed: int) -> str:
    rng = np.random.default_rng(seed)
    name = str(rng.choice(MACHINES))
    X = make_table(rng)
    estimator = make_estimator(rng, name)
    y = make_targets(rng, name, X)
    table = sp.csr_array(X) if rng.random() < 0.1 and name not in BAYESIAN else X
    try:
        estimator.fit(table) if name in WITHOUT_TARGETS else estimator.fit(table, y)
    except ValueError as refused:
        if len(str(refused)) < 20 or hasattr(estimator, "classes_"):
            raise Broken(f"{name} refused with {refused!r}") from refused
        return f"{name}: refused"
    try:
        answers = estimator.predict(table)
    except ValueError as refused:
        raise Broken(f"{name} was fitted, but predicts not: {refused}") from refused
    if answers.dtype.kind == "f" and not np.isfinite(answers).all():
        raise Broken(f"{name} answers {answers[~np.isfinite(answers)][0]}")
    certificate = getattr(estimator, "certificate_", None)
    if certificate is None:
        return f"{name}: fitted"
    optimal = certificate.status.startswith("Optimal")
    if optimal and not np.isfinite(certificate.kkt_gap):
        raise Broken(f"{name} is called optimal with a gap of {certificate.kkt_gap}")
    check_gap(estimator, name, X, y, optimal)
    return f"{name}: {'optimal' if optimal else 'said to be unfinished'}"


def check_gap(estimator, name: str, X: np.ndarray, y: np.ndarray, optimal: bool) -> None:
    """Compare the status with `certify`, and with the gap in extended precision where known."""
    if name in ("SVC", "SVR"):
        told = estimator.certify(X, y)
        if optimal != told.status.endswith("the KKT gap is within tol."):
            raise Broken(f"{name}: {estimator.certificate_} but certify says {told}")
    if name not in ("SVC", "SVR", "IncrementalSVC", "IncrementalSVR"):
        return
    if estimator.kernel == "sigmoid" or np.asarray(estimator.dual_coef_.shape)[0] != 1:
        return
    if hasattr(estimator, "classes_") and len(estimator.classes_) != 2:
        return
    gamma = 1.0 if estimator.kernel == "linear" else estimator.__lindero_kernel__().gamma
    K = extended.kernel_matrix(X, estimator.kernel, gamma, estimator.degree, estimator.coef0)
    z = np.zeros(len(X))
    coefficients = estimator.dual_coef_
    z[estimator.support_] = (coefficients.toarray() if sp.issparse(coefficients) else coefficients)[
        0
    ]
    found = find_gap(estimator, name, K, y, z)
    if name.startswith("Incremental") and estimator.kernel == "linear":
        # The origin is that of the first rows. It would not matter if coefficients summed to zero
        # to the last digit; with rows of 1e18 among others, it does.
        shift = estimator._machine.kernel.shift
        rows = X.astype(extended.REAL) - (0.0 if shift is None else shift)
        found = min(found, find_gap(estimator, name, rows @ rows.T, y, z))
    if optimal and not found <= SLACK * promised_gap(estimator, y):
        raise Broken(
            f"{name} is called optimal, but the gap is {found:.3g}: {estimator.certificate_}"
        )


def find_gap(estimator, name: str, K: np.ndarray, y: np.ndarray, z: np.ndarray) -> float:
    """The gap in extended precision."""
    if name.endswith("SVR"):
        return extended.regression_gap(K, y, estimator.C, estimator.epsilon, z)
    signs = np.where(y == estimator.classes_[1], 1.0, -1.0)
    return extended.classification_gap(K, signs, estimator.C, z)


def promised_gap(estimator, y: np.ndarray) -> float:
    """The gap that the word "Optimal" stands for: `tol`; or, of incremental machines, which have
    none, 1e-5 beside the margin or the largest target."""
    if hasattr(estimator, "tol"):
        return estimator.tol
    targets = 0.0 if hasattr(estimator, "classes_") else np.abs(y).max() + estimator.epsilon
    return 1e-5 * max(1.0, targets)
