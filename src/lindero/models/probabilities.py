"""From decision values to probabilities of classes.

Two classes, f the decision value for the second (Platt's sigmoid):

    P(second | f) = 1 / (1 + exp(−(s f + o)))

More classes, f_k the decision value for class k (one temperature for all):

    P(k | f) = exp(s f_k) / Σ_j exp(s f_j)

s and o minimise the log-loss, weighted by rows. With two classes the targets are not 0 and 1 but
1/(n₋ + 2) and (n₊ + 1)/(n₊ + 2), the estimates of a uniform prior, so that separated values do not
give an infinite slope. The temperature has no such prior: its slope is bounded instead.

A sigmoid for each of many classes, then divided by their sum, would be far too timid; one
temperature leaves the differences between classes their meaning.

Decision values must be of rows that the machine was not fitted to: its own are too far apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lindero.runtime.arrays import Array

#: Bounds of log(slope · spread of the values) of a temperature.
_LEAST_LOG_SLOPE, _MOST_LOG_SLOPE = -7.0, 7.0

_MOST_STEPS = 100
_SMALL_STEP = 1e-10

_MOST_PRODUCT = 1e300

#: What is added to curvatures, so that Newton's step exists on constant values.
_RIDGE = 1e-12


@dataclass(frozen=True)
class ProbabilityCurve:
    """Probabilities of `classes` from decision values about those of them that are `seen`.

    Attributes
    ----------
    classes : ndarray
        All classes of the training rows, sorted.
    seen : ndarray of bool
        Those among the rows that the curve was fitted to. The others have the probability of
        their share, whatever the decision.
    shares : ndarray of float64
        The share of each class of the training rows.
    slope, offset : float
        s and o; o is 0 for more than two classes.
    """

    classes: Array
    seen: Array
    shares: Array
    slope: float
    offset: float

    def __call__(self, values: Array, known: Array | None = None) -> Array:
        """Probabilities, a column for each of `classes`, of decisions about the `known` ones, or
        about all."""
        seen = self.classes[self.seen]
        columns = arrange_by_class(values, self.classes if known is None else known, seen)
        given = np.tile(self.shares, (len(columns), 1))
        given[:, self.seen] = self.shares[self.seen].sum() * self._spread(columns)
        return given

    def _spread(self, columns: Array) -> Array:
        if columns.shape[1] == 2:
            second = apply_sigmoid(_difference(columns), self.slope, self.offset)
            return np.column_stack([1.0 - second, second])
        return apply_temperature(columns, self.slope)


def fit_curve(values: Array, y: Array, weights: Array | None, training: Array) -> ProbabilityCurve:
    """The curve of decision values of rows that were left out, a column for each class among
    their labels `y`; `training` are the labels of all rows."""
    classes, counts = np.unique(training, return_counts=True)
    labels, codes = np.unique(y, return_inverse=True)
    slope, offset = _fit_numbers(values, codes, weights)
    return ProbabilityCurve(classes, np.isin(classes, labels), counts / counts.sum(), slope, offset)


def fit_column_curve(values: Array, codes: Array, weights: Array | None) -> ProbabilityCurve:
    """The curve of decision values with a column for each class, also for classes without rows;
    `codes` are the columns of the true ones, and rows where they are negative are left out."""
    known, n_classes = codes >= 0, values.shape[1]
    mass = None if weights is None else np.asarray(weights)[known]
    slope, offset = _fit_numbers(values[known], codes[known], mass)
    shares = np.full(n_classes, 1.0 / n_classes)
    return ProbabilityCurve(
        np.arange(n_classes), np.ones(n_classes, dtype=bool), shares, slope, offset
    )


def _fit_numbers(values: Array, codes: Array, weights: Array | None) -> tuple[float, float]:
    """Slope and offset."""
    rows = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
    if values.shape[1] == 2:
        return fit_sigmoid(_difference(values), codes == 1, rows)
    return fit_temperature(values, codes, rows), 0.0


def arrange_by_class(values: Array, known: Array, classes: Array) -> Array:
    """Decision values with a column for each of `classes`. Classes that the machine does not know
    are less likely than any it knows; others that it knows are left out."""
    columns = values if values.ndim == 2 else np.column_stack([-values, values])
    spread = np.full((len(columns), len(classes)), columns.min(initial=0.0) - 1.0)
    shared = np.isin(known, classes)
    spread[:, np.searchsorted(classes, known[shared])] = columns[:, shared]
    return spread


def _difference(columns: Array) -> Array:
    """The decision value for the second of two classes."""
    half: Array = columns[:, 1] / 2 - columns[:, 0] / 2
    return half


def fit_sigmoid(f: Array, positive: Array, weights: Array) -> tuple[float, float]:
    """s and o by Newton's method, each step halved until the log-loss falls; `f` are decision
    values for the rows that are `positive`, and against the others."""
    unit = float(np.abs(f).max(initial=0.0)) or 1.0
    x = f / unit
    n_positive = float(weights[positive].sum())
    n_negative = float(weights[~positive].sum())
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    slope, offset = 0.0, math.log((n_positive + 1) / (n_negative + 1))

    def loss(slope: float, offset: float) -> float:
        z = slope * x + offset
        return float(weights @ (np.logaddexp(0.0, z) - target * z))

    best = loss(slope, offset)
    for _ in range(_MOST_STEPS):
        p = _sigmoid(slope * x + offset)
        miss, curve = weights * (p - target), weights * p * (1.0 - p)
        g_slope, g_offset = float(miss @ x), float(miss.sum())
        a, b, c = float(curve @ x**2) + _RIDGE, float(curve @ x), float(curve.sum()) + _RIDGE
        determinant = max(a * c - b * b, _RIDGE * a * c)
        step_slope = (c * g_slope - b * g_offset) / determinant
        step_offset = (a * g_offset - b * g_slope) / determinant
        share = 1.0
        while share > _SMALL_STEP:
            tried = loss(slope - share * step_slope, offset - share * step_offset)
            if tried < best:
                break
            share /= 2
        else:
            break
        slope, offset = slope - share * step_slope, offset - share * step_offset
        if best - tried <= _SMALL_STEP * abs(best):
            break
        best = tried
    return slope / unit, offset


def fit_temperature(values: Array, codes: Array, weights: Array) -> float:
    """s of least log-loss, which is convex in s: `values` has a column for each class, `codes` are
    the columns of the true ones."""
    from scipy.optimize import minimize_scalar

    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    x = values / largest  # squares of large values overflow
    unit = float(x.std()) or 1.0
    x = (x - x.max(axis=1, keepdims=True)) / unit
    own = x[np.arange(len(x)), codes]

    def loss(log_slope: float) -> float:
        slope = math.exp(log_slope)
        return float(weights @ (np.log(np.exp(slope * x).sum(axis=1)) - slope * own))

    found = minimize_scalar(loss, bounds=(_LEAST_LOG_SLOPE, _MOST_LOG_SLOPE), method="bounded")
    return math.exp(float(found.x)) / unit / largest


def apply_sigmoid(f: Array, slope: float, offset: float) -> Array:
    """The probability of the second of two classes."""
    return _sigmoid(_multiply(slope, f) + offset)


def apply_temperature(columns: Array, slope: float) -> Array:
    """The probability of the class of each column."""
    z = _multiply(slope, columns)
    raised = np.exp(z - z.max(axis=1, keepdims=True))
    shares: Array = raised / raised.sum(axis=1, keepdims=True)
    return shares


def _sigmoid(z: Array) -> Array:
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + np.exp(-z))


def _multiply(slope: float, values: Array) -> Array:
    """The product, finite where it overflows."""
    with np.errstate(over="ignore"):
        return np.clip(slope * values, -_MOST_PRODUCT, _MOST_PRODUCT)
