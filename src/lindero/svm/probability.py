"""Probabilities of `SVC(probability=True)` and `NuSVC(probability=True)`.

The values f of a machine become probabilities by Platt's curve,

    P(y = +1 | f) = 1 / (1 + exp(A f + B)),    A ≤ 0

fitted to values of rows left out (`lindero.models.probabilities`): five folds, each judged by
machines that have not seen it (Platt, 1999).

With several classes the machines of pairs say r_ij = P(i | i or j), and p minimises
Σ_{i<j} (r_ji p_i − r_ij p_j)² with Σp = 1: a linear system for each row (Wu, Lin and Weng, 2004).
Machines of one class against the rest have their own p_i, divided by their sum.

The most probable class is always the one that `predict` answers. Where the curve puts the even
chance elsewhere than the boundary, log-odds of the wrong sign become (nearly) even; with several
classes the nearest probabilities in which the answer is no less likely than any other class.

Models that LIBSVM has trained with -b 1 have its curves, and probabilities as it computes them: not
bent towards the prediction, and with several classes where an iteration for the same p ends, which
depends on the order of its classes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from lindero.devices.homes import to_host
from lindero.errors import warn_user
from lindero.models.probabilities import fit_sigmoid
from lindero.runtime.arrays import Array
from lindero.solvers.solution import Limits
from lindero.svm.calibration import CALIBRATION
from lindero.svm.fitted_machines import adopt_solutions
from lindero.svm.fitting import TrainingSet, cut_rows, fit_machines
from lindero.svm.following import answering_at_home
from lindero.transaction import unfitted_copy

if TYPE_CHECKING:
    from lindero.svm.kernel_estimator import KernelEstimator

DEPRECATED = (
    "The `probability` parameter is deprecated, as in scikit-learn. For probabilities wrap the "
    "estimator instead: lindero.svm.calibrate(estimator) is a calibrated classifier, without a "
    "second set of fits inside each fit."
)

#: Folds of the values that curves are fitted to.
N_FOLDS = 5

#: Log-odds beyond these are as good as certain.
_MOST_ODDS = 30.0

#: Slope, as a share of the curve's, of log-odds that would contradict the prediction: rows keep
#: their order there, too.
_SLIGHT = 1e-3

#: What log-odds, or a probability, is ahead of even ones.
_AHEAD = 1e-9

#: Of LIBSVM: probabilities of pairs are not nearer to 0 or 1, and its iteration ends, for K
#: classes, at so large an error over K, or after so many steps (K if that is more).
_LEAST_PAIR, _LIBSVM_ERROR, _LIBSVM_STEPS = 1e-7, 0.005, 100

#: Numbers in the systems of linear equations that are solved at once.
_CHUNK = 2**20


# -- curves ---------------------------------------------------------------------------------------


def fit_rising_curve(values: Array, positive: Array, weights: Array) -> tuple[float, float]:
    """A and B of the curve for values of these rows. Where larger values do not mean more
    positives, the curve is flat."""
    slope, offset = fit_sigmoid(values, positive, weights)
    if slope > 0.0:
        return -slope, -offset
    high, low = float(weights[positive].sum()), float(weights[~positive].sum())
    return 0.0, float(np.log((low + 1.0) / (high + 1.0)))


def split_rows(codes: Array, random_state: Any) -> list[tuple[Array, Array]]:
    """Training and validation rows of each fold, with equal shares of classes; none where a class
    has a single row."""
    from sklearn.model_selection import StratifiedKFold  # slow to import, and rarely needed

    n_folds = min(N_FOLDS, int(np.bincount(codes).min()))
    if n_folds < 2:
        return []
    seed = 0 if random_state is None else random_state
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros((len(codes), 1)), codes))


def fit_curves(estimator: KernelEstimator, training: TrainingSet, limits: Limits) -> None:
    """Platt's curve of each machine, from the values of rows left out."""
    assert training.codes is not None
    options, rows = estimator._options(), np.flatnonzero(training.bounds > 0)
    splits = split_rows(training.codes[rows], options.random_state)
    if not splits:
        warn_user(
            "A class has a single row, which no fold can leave out: the probabilities are "
            "those of values of the training rows themselves, and too sure.",
            UserWarning,
        )
    if splits and not limits.interrupted:
        values = np.zeros((len(training.weights), len(training.tasks)))
        for left, out in splits:
            values[rows[out]] = evaluate_without(estimator, training, rows[left], rows[out], limits)
    else:
        values = np.asarray(to_host(estimator._evaluate(training.X)))
    counts = training.weights / estimator.class_weight_[training.codes]
    curves = [
        fit_rising_curve(values[task.rows, k], task.targets > 0, counts[task.rows])
        for k, task in enumerate(training.tasks)
    ]
    estimator._probA, estimator._probB = (np.array(part) for part in zip(*curves, strict=True))


def evaluate_without(
    estimator: KernelEstimator, training: TrainingSet, train: Array, test: Array, limits: Limits
) -> Array:
    """The outputs for some rows of machines fitted to others."""
    X_train, X_test = cut_rows(training.X, train, test, estimator.kernel)
    assert training.codes is not None
    part = TrainingSet.of(
        training.formulation, X_train, training.function, training.weights[train],
        training.codes[train], training.n_classes, training.scheme,
    )  # fmt: skip
    part, model = estimator._make_feasible(part), unfitted_copy(estimator)
    make_solver = part.choose_solver(estimator._options().solver)
    tol = estimator.tol * part.formulation.unit
    [solved] = fit_machines([part], make_solver, tol, estimator.cache_size, limits)
    adopt_solutions(model, part, solved)
    return np.asarray(to_host(model._evaluate(X_test)))


# -- from values to probabilities -----------------------------------------------------------------


def compute_probabilities(
    values: Array, curves: tuple[Array, Array], codes: Array, n_classes: int, scheme: str
) -> Array:
    """The probability of each class for each row: `values` of all machines, the A and B of their
    curves, and the predicted classes."""
    odds = np.clip(-(values * curves[0] + curves[1]), -_MOST_ODDS, _MOST_ODDS)
    if n_classes == 2:
        f, answer = values[:, 0], codes == 1
        slight = (_SLIGHT * -float(curves[0][0])) * np.clip(f, -1e3, 1e3)
        log_odds = np.where(answer, np.maximum(odds[:, 0], 0.0), np.minimum(odds[:, 0], 0.0))
        log_odds = log_odds + slight + np.where(answer, _AHEAD, -_AHEAD)
        return np.column_stack([expit(-log_odds), expit(log_odds)])
    own = expit(odds)
    if scheme == "ovr":
        probabilities = own / own.sum(axis=1, keepdims=True)
    else:
        probabilities = couple_pairs(own, n_classes)
    return put_first(probabilities, codes)


def compute_as_libsvm(values: Array, curves: tuple[Array, Array], place: Array) -> Array:
    """The same as LIBSVM has it, of machines of pairs; `place` is where each class is in
    its file."""
    pairs = np.clip(expit(-(values * curves[0] + curves[1])), _LEAST_PAIR, 1.0 - _LEAST_PAIR)
    K = len(place)
    if K == 2:
        return np.column_stack([1.0 - pairs[:, 0], pairs[:, 0]])
    r = np.zeros((len(pairs), K, K))
    for k, (i, j) in enumerate(combinations(range(K), 2)):
        r[:, place[i], place[j]], r[:, place[j], place[i]] = pairs[:, k], 1.0 - pairs[:, k]
    return iterate_coupling(r)[:, place]


def iterate_coupling(r: Array) -> Array:
    """p of least Σ_{i<j} (r_ji p_i − r_ij p_j)² for each row, one class after another: the second
    algorithm of Wu, Lin and Weng, with LIBSVM's start and end. With Q_tt = Σ_j r_jt² and Q_tj =
    −r_jt r_tj, the condition is that all (Qp)_t are pᵀQp."""
    n_rows, K, _ = r.shape
    turned = r.transpose(0, 2, 1)
    Q = -turned * r
    diagonal = np.arange(K)
    Q[:, diagonal, diagonal] = (r**2).sum(axis=1)
    p, left = np.full((n_rows, K), 1.0 / K), np.arange(n_rows)
    for _ in range(max(_LIBSVM_STEPS, K)):
        part, q = Q[left], p[left]
        Qp = np.einsum("ntj,nj->nt", part, q)
        pQp = np.einsum("nt,nt->n", q, Qp)
        open_ = np.abs(Qp - pQp[:, None]).max(axis=1) >= _LIBSVM_ERROR / K
        left, part, q, Qp, pQp = left[open_], part[open_], q[open_], Qp[open_], pQp[open_]
        if len(left) == 0:
            break
        for t in range(K):
            own = part[:, t, t]
            step = (pQp - Qp[:, t]) / own
            q[:, t] += step
            pQp = (pQp + step * (step * own + 2.0 * Qp[:, t])) / (1.0 + step) ** 2
            Qp = (Qp + step[:, None] * part[:, t]) / (1.0 + step)[:, None]
            q /= (1.0 + step)[:, None]
        p[left] = q
    return p


def couple_pairs(pairs: Array, n_classes: int) -> Array:
    """Probabilities of classes from those of the first class in each pair (i, j), i < j."""
    n_rows, K = len(pairs), n_classes
    coupled = np.empty((n_rows, K))
    height = max(1, _CHUNK // (K + 1) ** 2)
    for start in range(0, n_rows, height):
        part = pairs[start : start + height]
        r = np.zeros((len(part), K, K))
        for k, (i, j) in enumerate(combinations(range(K), 2)):
            r[:, i, j], r[:, j, i] = part[:, k], 1.0 - part[:, k]
        system = np.ones((len(part), K + 1, K + 1))
        system[:, :K, :K] = -r * r.transpose(0, 2, 1)
        diagonal = np.arange(K)
        system[:, diagonal, diagonal] = (r**2).sum(axis=1)
        system[:, K, K] = 0.0
        wanted = np.zeros((len(part), K + 1, 1))
        wanted[:, K] = 1.0
        coupled[start : start + height] = np.linalg.solve(system, wanted)[:, :K, 0]
    coupled = np.maximum(coupled, np.exp(-_MOST_ODDS))  # they are positive but for rounding
    return np.asarray(coupled / coupled.sum(axis=1, keepdims=True))


def put_first(probabilities: Array, codes: Array) -> Array:
    """The nearest probabilities in which no class is likelier than the one of `codes`: it is
    averaged with the classes above it, the most likely ones first, until none is left above."""
    rows = np.flatnonzero(probabilities.argmax(axis=1) != codes)
    if len(rows) == 0:
        return probabilities
    found = probabilities.copy()
    part, own = found[rows], codes[rows]
    at = np.arange(len(rows))
    mine = part[at, own]
    part[at, own] = -1.0
    order = np.argsort(-part, axis=1)[:, :-1]  # the others, the most likely first
    others = np.take_along_axis(part, order, axis=1)
    means = (mine[:, None] + np.cumsum(others, axis=1)) / np.arange(2, others.shape[1] + 2)
    above = np.column_stack([others[:, 1:] > means[:, :-1], np.zeros(len(rows), dtype=bool)])
    n_pooled = np.argmin(above, axis=1) + 1
    pooled = means[at, n_pooled - 1]
    inside = np.arange(others.shape[1]) < n_pooled[:, None]
    others = np.where(inside, (pooled - _AHEAD)[:, None], others)
    np.put_along_axis(part, order, others, axis=1)
    part[at, own] = pooled + _AHEAD * n_pooled
    found[rows] = part / part.sum(axis=1, keepdims=True)
    return found


# -- methods of estimators -------------------------------------------------------------------------


class ProbabilityMethod:
    """A method that is there with ``probability=True`` only, and says what to use instead."""

    def __init__(self, function: Callable[..., Array]) -> None:
        self.function = function
        update_wrapper(self, function)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self.function
        if instance.probability in (False, "deprecated"):
            name = self.function.__name__
            raise AttributeError(
                f"{owner.__name__} has no {name}: {name} is not available when "
                f"probability=False. {CALIBRATION}"
            )
        return self.function.__get__(instance, owner)


@ProbabilityMethod
@answering_at_home
def predict_proba(self: KernelEstimator, X: Any) -> Array:
    """The probability of each class, with ``probability=True`` only.

    The most probable class is the one that `predict` answers. (Of a model of LIBSVM that was loaded
    they are LIBSVM's, where it may be another one.)

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows; of shape (n_samples, n_training_rows) if the kernel is precomputed.

    Returns
    -------
    probabilities : ndarray of shape (n_samples, n_classes)
        In the order of `classes_`.
    """
    check_is_fitted(self)
    if not hasattr(self, "_probA"):
        raise NotFittedError(
            "predict_proba is not available when fitted with probability=False: fit again."
        )
    values, curves = self._values(X), (self._probA, self._probB)
    n_classes, scheme = len(self.classes_), self._machines_.scheme
    if hasattr(self, "_libsvm_order"):  # a model that LIBSVM trained
        return compute_as_libsvm(values, curves, self._libsvm_order)
    return compute_probabilities(values, curves, self._pick(values), n_classes, scheme)


@ProbabilityMethod
@answering_at_home
def predict_log_proba(self: KernelEstimator, X: Any) -> Array:
    """The logarithms of the probabilities, with ``probability=True`` only.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows; of shape (n_samples, n_training_rows) if the kernel is precomputed.

    Returns
    -------
    log_probabilities : ndarray of shape (n_samples, n_classes)
        In the order of `classes_`.
    """
    return np.asarray(np.log(predict_proba.function(self, X)))


def _get_curve_part(self: KernelEstimator, name: str) -> Array:
    """What scikit-learn deprecates together with `probability`."""
    check_is_fitted(self)
    warn_user(f"Attribute `{name}` was deprecated with `probability`. {CALIBRATION}", FutureWarning)
    return np.asarray(getattr(self, f"_{name.rstrip('_')}", np.empty(0)))


def _get_prob_a(self: KernelEstimator) -> Array:
    """A of each machine in ``1 / (1 + exp(A * value + B))``, empty without probabilities."""
    return _get_curve_part(self, "probA_")


def _get_prob_b(self: KernelEstimator) -> Array:
    """B of each machine in ``1 / (1 + exp(A * value + B))``, empty without probabilities."""
    return _get_curve_part(self, "probB_")


prob_a, prob_b = property(_get_prob_a), property(_get_prob_b)


# -- for model files -------------------------------------------------------------------------------


def adopt_curves(estimator: Any, curves: tuple[Array, Array], order: Array) -> None:
    """Give a classifier the probabilities of one that LIBSVM has trained; `order` is where each
    class was in its file."""
    estimator.probability = True
    estimator._probA, estimator._probB = curves
    estimator._libsvm_order = order


def find_curves(estimator: Any) -> tuple[Array, Array] | None:
    """A and B of the probabilities of each machine; None of an estimator without any."""
    if not hasattr(estimator, "_probA"):
        return None
    return np.asarray(estimator._probA), np.asarray(estimator._probB)
