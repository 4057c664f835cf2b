"""Fits of every machine to tables of extreme numbers.

A fit ends with a model whose answers are numbers, or is refused by a ValueError. What is called
optimal is optimal by `certify`, and recomputed in extended precision from the coefficients alone.
What was fitted can be saved, and answers as before when it is loaded.
"""

from __future__ import annotations

import os
import tempfile

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from lindero import bayes, persist, svm
from tests.fuzz.broken import Broken
from tests.naive import extended

#: What an optimal gap may be above tol, for the rounding of tol itself.
SLACK = 1.02


def make_table(rng: np.random.Generator) -> np.ndarray:
    """A table of few rows whose columns differ in scale by many orders of magnitude."""
    n, d = int(rng.integers(2, 60)), int(rng.integers(1, 6))
    if rng.random() < 0.02:
        n = int(rng.integers(401, 700))  # beyond what is solved in one block
    elif rng.random() < 0.01:
        n = int(rng.integers(1001, 2500))  # in single precision, where that will do
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


def laplacian(X, Z):
    """A callable that is a kernel."""
    return np.exp(-cdist(_dense(X), _dense(Z), "cityblock"))


def nearness(X, Z):
    """A callable that is positive semi-definite only where coefficients sum to zero."""
    return -cdist(_dense(X), _dense(Z))


def _dense(X):
    X = X.toarray() if sp.issparse(X) else X
    return np.clip(np.asarray(X, dtype=float), -1e100, 1e100)


def make_matrix(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """A kernel matrix: of rows in units of their own, of another kernel, or of none."""
    own = np.nan_to_num(X.astype(float) / max(np.abs(X).max(), 1e-300))
    matrix = own @ own.T
    way = rng.integers(4)
    if way == 0:
        matrix = laplacian(own, own)
    elif way == 1:
        matrix = np.tanh(matrix - 1.0)
    elif way == 2:
        matrix = nearness(own, own)
    if rng.random() < 0.5:
        matrix = matrix * 10.0 ** (
            rng.uniform(-140, 140) if rng.random() < 0.2 else rng.uniform(-6, 6)
        )
    return (
        matrix.astype(np.float32) if rng.random() < 0.2 and np.abs(matrix).max() < 1e30 else matrix
    )


def make_weights(rng: np.random.Generator, n: int) -> np.ndarray | None:
    """Weights of rows: none, moderate, extreme, some of them zero."""
    if rng.random() < 0.7:
        return None
    spread = float(rng.choice([1, 3, 10, 300], p=[0.4, 0.3, 0.2, 0.1]))
    weights = 10.0 ** (rng.uniform(-spread, spread, n) + rng.choice([0.0, rng.uniform(-9, 9)]))
    weights = np.clip(weights, 0.0, 1e305)
    if rng.random() < 0.3:
        weights[rng.random(n) < 0.3] = 0.0
    return weights


def make_estimator(rng: np.random.Generator, name: str) -> object:
    options = kernel_options(rng)
    if name in JUDGED and rng.random() < 0.15:
        options["kernel"] = [laplacian, nearness, "precomputed", "precomputed"][rng.integers(4)]
    C = extreme(rng, 1.0, -6, 10)
    if name in ("SVC", "CostSensitiveSVC", "IncrementalSVC", "SVR", "IncrementalSVR", "RankSVM"):
        options["C"] = C
    if name in ("SVR", "IncrementalSVR"):
        options["epsilon"] = extreme(rng, 0.1, -6, 2)
    if name in ("NuSVC", "NuSVR", "OneClassSVM", "IncrementalOneClassSVM"):
        options["nu"] = float(rng.uniform(0.01, 0.99) if rng.random() < 0.6 else 0.1)
    if name == "NuSVR":
        options["C"] = C
    if name in ("SVC", "NuSVC"):
        options["multiclass"] = str(rng.choice(["ovo", "ovr"]))
    if name == "SVC" and rng.random() < 0.15:
        options["class_weight"] = (
            "balanced" if rng.random() < 0.5 else {0: extreme(rng, 3.0, -6, 6)}
        )
    if name in JUDGED and rng.random() < 0.05:
        options |= {"time_limit": float(rng.choice([1e-6, 1e-3, 1e-2])), "warm_start": True}
    if name in ("AdaptiveSVC", "AdaptiveSVR"):
        options = {"C": C, "kernel": str(rng.choice(["linear", "rbf"])), "coupling": 1e3}
        if rng.random() < 0.3:
            options["coupling"] = extreme(rng, 1.0, -4, 8)
    if name in BAYESIAN:
        options = {"alpha": extreme(rng, 1.0, -3, 3)} if rng.random() < 0.5 else {}
    if name in LINEAR:
        options = linear_options(rng, name)
    owner = bayes if name in BAYESIAN else svm
    return getattr(owner, name)(**options)


def linear_options(rng: np.random.Generator, name: str) -> dict:
    """Parameters of linear machines, of all kinds."""
    options = {
        "C": extreme(rng, 1.0, -6, 6),
        "fit_intercept": bool(rng.random() < 0.6),
        "max_iter": int(rng.choice([-1, 300], p=[0.2, 0.8])),
        "time_limit": 2.0,
    }
    if name == "LinearSVR":
        losses = ["epsilon_insensitive", "squared_epsilon_insensitive"]
        return options | {"loss": str(rng.choice(losses)), "epsilon": extreme(rng, 0.1, -6, 2)}
    way = rng.integers(4)
    if way == 0:
        return options | {"penalty": "l1"}
    if way == 1:
        return options | {"multi_class": "crammer_singer"}
    return options | {"loss": str(rng.choice(["hinge", "squared_hinge"]))}


BAYESIAN = ("NaiveBayes", "TAN", "AODE", "KDB")
LINEAR = ("LinearSVC", "LinearSVR")
REGRESSIONS = ("LinearSVR", "SVR", "NuSVR", "IncrementalSVR", "AdaptiveSVR")
WITHOUT_TARGETS = ("OneClassSVM", "IncrementalOneClassSVM")
#: Those with `certify`, and a gap that is known in extended precision.
JUDGED = ("SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM")
MACHINES = (
    "SVC", "SVC", "SVC", "SVR", "SVR", "NuSVC", "NuSVC", "NuSVR", "NuSVR", "OneClassSVM",
    "OneClassSVM", "CostSensitiveSVC",
    "RankSVM", "IncrementalSVC", "IncrementalSVC", "IncrementalSVR", "IncrementalOneClassSVM",
    "AdaptiveSVC", "AdaptiveSVR", "LinearSVC", "LinearSVC", "LinearSVR", *BAYESIAN,
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
    if name == "RankSVM":  # whose pairs are as many as squares of rows
        X = X[:1000]
    estimator = make_estimator(rng, name)
    y = make_targets(rng, name, X)
    kernel = getattr(estimator, "kernel", None)
    if isinstance(kernel, str) and kernel == "precomputed":
        X = make_matrix(rng, X)
    table = X
    if rng.random() < 0.1 and name not in BAYESIAN and kernel not in ("precomputed", laplacian):
        table = sp.csr_array(X)
    weights = None if name == "RankSVM" else make_weights(rng, len(X))
    data = (table,) if name in WITHOUT_TARGETS else (table, y)
    options = {} if weights is None else {"sample_weight": weights}
    try:
        estimator.fit(*data, **options)
    except ValueError as refused:
        if len(str(refused)) < 20 or hasattr(estimator, "classes_"):
            raise Broken(f"{name} refused with {refused!r}") from refused
        return f"{name}: refused"
    limited = getattr(estimator, "warm_start", False) and name in JUDGED
    if limited and rng.random() < 0.7:
        estimator.time_limit, limited = None, False
        estimator.fit(*data, **options)
    try:
        answers = estimator.predict(table)
    except ValueError as refused:
        raise Broken(f"{name} was fitted, but predicts not: {refused}") from refused
    if answers.dtype.kind == "f" and not np.isfinite(answers).all():
        raise Broken(f"{name} answers {answers[~np.isfinite(answers)][0]}")
    check_saved(estimator, name, table, answers)
    certificate = getattr(estimator, "certificate_", None)
    if certificate is None:
        return f"{name}: fitted"
    optimal = certificate.status.startswith("Optimal")
    if optimal and not np.isfinite(certificate.kkt_gap):
        raise Broken(f"{name} is called optimal with a gap of {certificate.kkt_gap}")
    check_gap(estimator, name, data, y, weights, optimal, limited)
    return f"{name}: {'optimal' if optimal else 'said to be unfinished'}"


def check_saved(estimator, name: str, table, answers: np.ndarray) -> None:
    """Save and load, which must give the same answers; functions cannot be saved."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.lin")
        try:
            persist.save(estimator, path)
        except TypeError as refused:
            if callable(getattr(estimator, "kernel", None)):
                return
            raise Broken(f"{name} was fitted, but cannot be saved: {refused}") from refused
        again = persist.load(path).predict(table)
    if not np.array_equal(again, answers):
        raise Broken(f"{name} answers otherwise after loading")


def check_gap(
    estimator, name: str, data: tuple, y: np.ndarray, weights, optimal: bool, limited: bool
) -> None:
    """Compare the status with `certify`, and with the gap in extended precision where known."""
    if name in (*JUDGED, *LINEAR, "CostSensitiveSVC"):
        told = estimator.certify(*data, sample_weight=weights)
        agreed = told.status.endswith("gap is within tol.")
        pulled_both_ways = name == "NuSVR" and estimator.epsilon_ <= estimator.tol
        limited = limited or name in LINEAR
        if optimal != agreed and not (limited and agreed) and not pulled_both_ways:
            raise Broken(f"{name}: {estimator.certificate_} but certify says {told}")
    if name not in (*JUDGED, "IncrementalSVC", "IncrementalSVR") or not optimal:
        return
    X = data[0].toarray() if sp.issparse(data[0]) else data[0]
    z = estimator.dual_coef_
    z = z.toarray() if sp.issparse(z) else z
    if name.startswith("Incremental") and (
        z.shape[0] != 1 or len(getattr(estimator, "classes_", (0, 1))) != 2
    ):
        return
    K = find_kernel_matrix(estimator, X)
    factors = np.ones(len(X)) if weights is None else weights
    middle = X.mean(axis=0, dtype=np.float64)[None]
    found = find_gap(estimator, name, K, y, factors, z, middle)
    if name.startswith("Incremental") and estimator.kernel == "linear":
        # The origin is that of the first rows. It would not matter if coefficients summed to zero
        # to the last digit; with rows of 1e18 among others, it does.
        shift = estimator._machine.kernel.shift
        rows = X.astype(extended.REAL) - (0.0 if shift is None else shift)
        found = min(found, find_gap(estimator, name, rows @ rows.T, y, factors, z, middle))
    elif estimator.kernel == "linear" and name != "OneClassSVM":
        # The same of those whose origin was not moved.
        rows = X.astype(extended.REAL)
        found = min(found, find_gap(estimator, name, rows @ rows.T, y, factors, z, 0.0 * middle))
    promised = SLACK * promised_gap(estimator, y)
    if estimator.kernel not in ("linear", "rbf", "poly"):
        # Sums in extended precision are not to be had there: rounding is said besides.
        promised += estimator.certificate_.accuracy
    if not found <= promised:
        raise Broken(
            f"{name} is called optimal, but the gap is {found:.3g}: {estimator.certificate_}"
        )


def find_kernel_matrix(estimator, X: np.ndarray) -> np.ndarray:
    """Kernel values of the training rows in extended precision; those of a callable as it says."""
    kernel = estimator.kernel
    if callable(kernel):
        return kernel(X, X).astype(extended.REAL)
    if kernel == "precomputed":
        return X.astype(extended.REAL)
    if kernel == "linear" and isinstance(estimator, svm.OneClassSVM):
        return X.astype(extended.REAL) @ X.astype(extended.REAL).T
    gamma = 1.0 if kernel == "linear" else estimator.__lindero_kernel__().gamma
    return extended.kernel_matrix(X, kernel, gamma, estimator.degree, estimator.coef0)


def find_gap(estimator, name: str, K: np.ndarray, y, weights: np.ndarray, joined, middle) -> float:
    """The largest gap of a machine in extended precision. A broken sum is an infinite gap."""
    if hasattr(estimator, "classes_"):
        return find_classifier_gap(estimator, name, K, y, weights, joined)
    z = np.zeros(len(K))
    z[estimator.support_] = joined[0]
    kept = np.flatnonzero(weights > 0)
    K, z, weights = K[np.ix_(kept, kept)], z[kept], weights[kept]
    if name == "OneClassSVM":
        found = extended.novelty_gap(K, weights, estimator.nu, z)
    elif name == "NuSVR":
        intercept = float(estimator.intercept_[0])
        if estimator.kernel == "linear":  # K is that of centred rows
            intercept = float(estimator.predict(middle)[0])
        bounds = estimator.C * weights
        found = extended.nu_regression_gap(K, y[kept], bounds, estimator.nu, z, intercept)
    else:
        bounds = estimator.C * weights
        found = extended.regression_gap(K, y[kept], bounds, estimator.epsilon, z), find_excess(z)
    return add_missing(found)


def find_classifier_gap(estimator, name: str, K, y, weights: np.ndarray, joined) -> float:
    classes = estimator.classes_
    codes = np.searchsorted(classes, y)
    if name == "SVC":
        weights = weights * estimator.class_weight_[codes]
    parts = list(
        extended.classifier_machines(
            codes, len(classes), getattr(estimator, "multiclass", "ovo"), estimator.support_,
            joined, weights,
        )
    )  # fmt: skip
    gaps = []
    for machine, (rows, signs, z) in enumerate(parts):
        among = K[np.ix_(rows, rows)]
        if name == "NuSVC":
            rho = estimator.rho_[machine]
            mean = weights[weights > 0].mean()
            found = extended.nu_classification_gap(
                among, signs, weights[rows] / mean, estimator.nu, rho / mean, z
            )
        else:
            bounds = estimator.C * weights[rows]
            found = extended.classification_gap(among, signs, bounds, z), find_excess(z)
        gaps.append(add_missing(found))
    return max(gaps)


def find_excess(z: np.ndarray) -> float:
    """What is missing to a sum of zero, as a share of all coefficients."""
    return abs(z.sum()) / max(np.abs(z).sum(), 1e-300)


def add_missing(found: tuple[float, float]) -> float:
    gap, missing = found
    return gap if missing <= 1e-6 else np.inf


def promised_gap(estimator, y: np.ndarray) -> float:
    """The gap that the word "Optimal" stands for: `tol`; or, of incremental machines, which have
    none, 1e-5 beside the margin or the largest target."""
    if hasattr(estimator, "tol"):
        return estimator.tol
    targets = 0.0 if hasattr(estimator, "classes_") else np.abs(y).max() + estimator.epsilon
    return 1e-5 * max(1.0, targets)
