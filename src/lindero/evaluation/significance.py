"""Whether one machine is better than another by more than chance.

**Rows.** All machines of a comparison predict the same rows, which they were not trained on. Where
folds are few, the pooled rows tell machines apart that a handful of means cannot:

    error, accuracy   McNemar's test: of the rows that one machine has right and the other wrong, is
                      the split that of a fair coin? With the mid-p value, as the exact one is timid
                      (Fagerland, Lydersen, Laake 2013)
    means over rows   d_i are the differences of their losses: the signs of d_i are flipped at
                      random, which leaves a mean as large as theirs how often? (permutation test;
                      beyond 2000 rows its normal limit, z = Σ d_i / √Σ d_i²)
    ROC AUC           of two classes: DeLong's variance of the difference of two areas
    others            rows are drawn again with replacement, the same for both machines; z is the
                      difference over its standard deviation among the draws (paired bootstrap)

These tests take the trained machines as given; they say nothing of how other training rows would
have changed them.

**Folds.** d_1 … d_J are the differences between two machines on the same J folds, of n₂ test rows
and n₁ training rows each. Folds share most of their training rows, so that their differences are
not independent and the plain t-test finds too much. Nadeau and Bengio's corrected resampled t-test
puts the overlap into the variance:

    t = d̄ / √((1/J + n₂/n₁) s²),    J − 1 degrees of freedom

It is the test where folds are many (`MANY_FOLDS`): with five it misses almost everything.
Wilcoxon's signed-rank test asks for less, the signs and ranks of the differences only, but with
five folds it cannot go below p = 1/16.

Where several machines are held against the best, p-values are adjusted by Holm's rule, so that all
verdicts together are wrong with the probability of one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from lindero.evaluation.measures import (
    LABELS,
    PROBABILITIES,
    Measure,
    average_rows,
    find_positive,
    find_row_losses,
    score_confusions,
)
from lindero.runtime.arrays import Array

#: Below this p-value a difference is more than chance.
LEVEL = 0.05

#: From this many folds on machines are held against each other fold by fold.
MANY_FOLDS = 30

#: Up to this many rows signs are flipped at random, this often.
_FEW_ROWS, _FLIPS = 2000, 2000

#: Draws of a bootstrap, and the most work (draws × rows × classes) that is put into it.
_DRAWS, _FEWEST_DRAWS, _MOST_WORK = 500, 100, 2 * 10**7


@dataclass(frozen=True)
class PairedTest:
    """A machine against the best one, on the same folds and rows.

    Attributes
    ----------
    difference : float
        How much worse it is on average over the folds.
    p_value : float
        Of the test, without the adjustment; NaN where there is a single fold and no row.
    adjusted : float
        The same, adjusted for all machines that are held against the best (Holm).
    wilcoxon : float
        p-value of the signed-rank test over the folds.
    standard_error : float, default=nan
        Of the difference.
    test : str, default="corrected resampled t-test"
        Which test it was.

    See Also
    --------
    corrected_t_test : The test.

    References
    ----------
    .. [1] Holm, S.: A simple sequentially rejective multiple test procedure. Scandinavian Journal
       of Statistics 6, 65–70 (1979).
    """

    difference: float
    p_value: float
    adjusted: float
    wilcoxon: float
    standard_error: float = math.nan
    test: str = "corrected resampled t-test"

    @property
    def distinguishable(self) -> bool:
        """Whether it is worse than the best by more than chance."""
        return bool(self.adjusted < LEVEL and self.difference >= 0.0)

    @property
    def verdict(self) -> str:
        """The same in words."""
        if self.distinguishable:
            return "worse than the best"
        return "not distinguishable from the best"


def estimate_error(differences: Array, test_to_train: float) -> float:
    """Standard error of a mean over folds that share training rows."""
    n_folds = len(differences)
    if n_folds < 2:
        return float("nan")
    spread = np.var(differences, ddof=1)
    return float(np.sqrt((1.0 / n_folds + test_to_train) * spread))


def corrected_t_test(differences: Array, test_to_train: float) -> float:
    """Two-sided p-value of Nadeau and Bengio's corrected resampled t-test.

    Parameters
    ----------
    differences : ndarray of shape (n_folds,)
        Of the two machines, fold by fold.
    test_to_train : float
        Test rows for each training row, n₂/n₁.

    Returns
    -------
    p_value : float
        NaN for a single fold; 1 where all differences are 0.

    See Also
    --------
    scipy.stats.ttest_rel : The test without the correction.

    References
    ----------
    .. [1] Nadeau, C., Bengio, Y.: Inference for the generalization error. Machine Learning 52,
       239–281 (2003).

    Examples
    --------
    >>> import numpy as np
    >>> from lindero.evaluation import corrected_t_test
    >>> differences = np.array([0.02, 0.04, 0.03, 0.05, 0.01])
    >>> round(corrected_t_test(differences, 1 / 4), 3)
    0.047
    """
    if len(differences) < 2:
        return float("nan")
    mean, error = float(np.mean(differences)), estimate_error(differences, test_to_train)
    if error <= 1e-12 * abs(mean) or error == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    return float(2.0 * stats.t.sf(abs(mean / error), len(differences) - 1))


def signed_rank_test(differences: Array) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test; 1 where all differences are 0."""
    if not np.any(differences):
        return 1.0
    return float(stats.wilcoxon(differences).pvalue)


def adjust_p_values(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted by Holm's step-down rule; NaN stays NaN and is not counted."""
    given = np.asarray(p_values, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(given))
    order = known[np.argsort(given[known], kind="stable")]
    scaled = np.minimum(1.0, np.arange(len(order), 0, -1) * given[order])
    adjusted = np.full(len(given), np.nan)
    adjusted[order] = np.maximum.accumulate(scaled)
    return adjusted.tolist()


def compare_with_best(
    best: Array,
    others: Sequence[Array],
    test_to_train: float,
    rows: Sequence[RowTest | None] | None = None,
) -> list[PairedTest]:
    """Every other machine's scores, where less is better, against those of the best; by the tests
    of their rows, where there are some, else by the folds."""
    differences = [scores - best for scores in others]
    found = [
        row or RowTest(corrected_t_test(d, test_to_train), estimate_error(d, test_to_train))
        for d, row in zip(differences, rows or [None] * len(differences), strict=True)
    ]
    adjusted = adjust_p_values([test.p_value for test in found])
    return [
        PairedTest(
            float(np.mean(d)), test.p_value, fair, signed_rank_test(d), test.standard_error,
            test.name,
        )
        for d, test, fair in zip(differences, found, adjusted, strict=True)
    ]  # fmt: skip


# -- tests of rows --------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowTest:
    """The p-value of two machines' predictions of the same rows, the standard error of their
    difference, and the name of the test."""

    p_value: float
    standard_error: float
    name: str = "corrected resampled t-test"


@dataclass(frozen=True)
class PooledRows:
    """Rows that machines have predicted: true classes or numbers, weights, and the measure."""

    measure: Measure
    truth: Array
    weights: Array | None = None
    costs: Array | None = None
    positive: int | None = None

    def take(self, rows: Array) -> PooledRows:
        """Some of them."""
        weights = None if self.weights is None else self.weights[rows]
        return PooledRows(self.measure, self.truth[rows], weights, self.costs, self.positive)

    def find_losses(self, answers: Array, probabilities: Array | None) -> Array:
        """Losses of the rows, where the measure is a mean over them."""
        return find_row_losses(self.measure, self.truth, answers, probabilities, self.costs)

    def scale_error(self, error: float, mean: float) -> float:
        """A standard error of mean losses in the unit of the measure."""
        if self.measure.name == "rmse":
            return error / (2.0 * math.sqrt(mean)) if mean > 0 else math.nan
        if self.measure.name == "r2":
            spread = average_rows(
                (self.truth - np.average(self.truth, weights=self.weights)) ** 2, self.weights
            )
            return error / spread if spread > 0 else math.nan
        return error


#: Answers and probabilities of some rows.
Predictions = tuple[Array, Array | None]


def compare_rows(rows: PooledRows, best: Predictions, other: Predictions) -> RowTest | None:
    """Hold predictions of the same rows against each other; None where they cannot be measured."""
    measure, n_rows = rows.measure, len(rows.truth)
    if n_rows < 2:
        return None
    if measure.needs == PROBABILITIES and (best[1] is None or other[1] is None):
        return None
    if not measure.by_rows:
        return _compare_whole(rows, best, other)
    losses = rows.find_losses(*best), rows.find_losses(*other)
    factors = np.ones(n_rows) if rows.weights is None else rows.weights / np.mean(rows.weights)
    differences = factors * (losses[1] - losses[0])
    if not np.isfinite(differences).all():
        return None
    mean = float(np.mean(factors * (losses[0] + losses[1]) / 2.0))
    error = rows.scale_error(float(np.std(differences) / math.sqrt(n_rows)), mean)
    if measure.name in ("error", "accuracy") and rows.weights is None:
        return RowTest(mcnemar_test(differences), error, "McNemar's test")
    return RowTest(flip_signs(differences), error, "permutation test")


def mcnemar_test(differences: Array) -> float:
    """The mid-p value of McNemar's test of errors, 1 where only one machine is wrong, −1 where only
    the other is, and 0 else."""
    one, other = int(np.sum(differences > 0)), int(np.sum(differences < 0))
    if one == other:
        return 1.0
    coin = stats.binom(one + other, 0.5)
    fewer = min(one, other)
    return float(min(1.0, 2.0 * coin.cdf(fewer) - coin.pmf(fewer)))


def flip_signs(differences: Array, random_state: int = 0) -> float:
    """Two-sided p-value of the permutation test that flips signs of paired differences."""
    told = differences[differences != 0.0]
    if not len(told):
        return 1.0
    total, spread = abs(float(told.sum())), float(np.sqrt(np.sum(told * told)))
    if len(told) > _FEW_ROWS:
        return float(2.0 * stats.norm.sf(total / spread))
    random, reached = np.random.default_rng(random_state), 0
    for _ in range(0, _FLIPS, 100):
        signs = random.integers(0, 2, size=(100, len(told))) * 2.0 - 1.0
        reached += int(np.sum(np.abs(signs @ told) >= total * (1.0 - 1e-12)))
    return (reached + 1) / (_FLIPS + 1)


def estimate_row_error(rows: PooledRows, predictions: Predictions) -> float:
    """Standard error of the measure of one machine, from the rows; NaN where it is not known."""
    measure, n_rows = rows.measure, len(rows.truth)
    if n_rows < 2 or (measure.needs == PROBABILITIES and predictions[1] is None):
        return math.nan
    if measure.by_rows:
        losses = rows.find_losses(*predictions)
        factors = np.ones(n_rows) if rows.weights is None else rows.weights / np.mean(rows.weights)
        mean = float(np.mean(factors * losses))
        error = float(np.std(factors * (losses - mean)) / math.sqrt(n_rows))
        return rows.scale_error(error, mean)
    if _can_use_delong(rows, predictions):
        return math.sqrt(_place_areas(rows, [predictions])[1][0, 0])
    return float(np.std(_draw_scores(rows, [predictions])[0]))


def rank_test(truth: Array, probabilities: Array) -> float:
    """p-value of the hypothesis that probabilities rank no class above the others (Mann and
    Whitney's test, one-sided; the least one over the classes, times their number)."""
    n_classes = probabilities.shape[1]
    p_values = []
    for k in [1] if n_classes == 2 else range(n_classes):
        own, others = probabilities[truth == k, k], probabilities[truth != k, k]
        if len(own) and len(others):
            test = stats.mannwhitneyu(own, others, alternative="greater", method="asymptotic")
            p_values.append(float(test.pvalue))
    known = [value for value in p_values if not math.isnan(value)]  # NaN where all are equal
    return min(1.0, len(p_values) * min(known)) if known else 1.0


def _compare_whole(rows: PooledRows, best: Predictions, other: Predictions) -> RowTest:
    """Measures that are no means over rows: DeLong's test of two areas, or a bootstrap."""
    if _can_use_delong(rows, best):
        areas, covariance = _place_areas(rows, [best, other])
        spread = covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1]
        difference, error = areas[0] - areas[1], math.sqrt(max(spread, 0.0))
        return RowTest(_judge_ratio(difference, error), error, "DeLong's test")
    drawn = _draw_scores(rows, [best, other], with_whole=True)
    differences = drawn[0] - drawn[1]
    error = float(np.nanstd(differences[1:]))
    return RowTest(_judge_ratio(float(differences[0]), error), error, "paired bootstrap")


def _judge_ratio(difference: float, error: float) -> float:
    """Two-sided p-value of a difference with this standard error."""
    if error <= 1e-12 * abs(difference) or error == 0.0:
        return 1.0 if difference == 0.0 else 0.0
    return float(2.0 * stats.norm.sf(abs(difference) / error))


def _can_use_delong(rows: PooledRows, predictions: Predictions) -> bool:
    two = predictions[1] is not None and predictions[1].shape[1] == 2
    return rows.measure.name == "roc_auc" and two and rows.weights is None


def _place_areas(rows: PooledRows, machines: Sequence[Predictions]) -> tuple[Array, Array]:
    """Areas below ROC curves of two classes, and the covariance of their estimates, by the ranks of
    rows among their own class and among all (Sun and Xu's way to DeLong's formula)."""
    own, others = rows.truth == 1, rows.truth != 1
    n_own, n_others = int(own.sum()), int(others.sum())
    if min(n_own, n_others) < 2:
        return np.full(len(machines), np.nan), np.full((len(machines),) * 2, np.nan)
    placed_own, placed_others = [], []
    for _, probabilities in machines:
        assert probabilities is not None
        values = probabilities[:, 1]
        ranks = stats.rankdata(values)
        placed_own.append((ranks[own] - stats.rankdata(values[own])) / n_others)
        placed_others.append(1.0 - (ranks[others] - stats.rankdata(values[others])) / n_own)
    covariance = np.atleast_2d(np.cov(placed_own)) / n_own
    covariance = covariance + np.atleast_2d(np.cov(placed_others)) / n_others
    return np.mean(placed_own, axis=1), covariance


def _draw_scores(
    rows: PooledRows, machines: Sequence[Predictions], *, with_whole: bool = False
) -> list[Array]:
    """A measure of each machine on the same bootstrap resamples of the rows; the first is of the
    rows themselves, if asked for."""
    n_rows = len(rows.truth)
    tables = [table for _, table in machines if table is not None]
    n_classes = tables[0].shape[1] if tables else 1 + int(max(rows.truth.max(), 1))
    work = n_rows * (1 if rows.measure.needs == LABELS else n_classes)
    n_draws = int(np.clip(_MOST_WORK // max(work, 1), _FEWEST_DRAWS, _DRAWS))
    random = np.random.default_rng(0)
    factors = np.ones(n_rows) if rows.weights is None else rows.weights
    evaluate = [_prepare_score(rows, machine, n_classes) for machine in machines]
    found: list[list[float]] = [[] for _ in machines]
    for draw in range(n_draws + with_whole):
        drawn = factors
        if draw or not with_whole:
            drawn = factors * np.bincount(random.integers(0, n_rows, n_rows), minlength=n_rows)
        for values, compute in zip(found, evaluate, strict=True):
            values.append(compute(drawn))
    return [np.array(values) for values in found]


def _prepare_score(
    rows: PooledRows, machine: Predictions, n_classes: int
) -> Callable[[Array], float]:
    """A function from weights of the rows to the measure: what does not change is done once."""
    truth, name = rows.truth, rows.measure.name
    positive = rows.positive
    if positive is None and n_classes == 2:
        positive = find_positive(truth)
    if rows.measure.needs == LABELS:
        places = np.where(truth < 0, n_classes, truth) * (n_classes + 1) + machine[0]
        size = n_classes + 1

        def count(weights: Array) -> float:
            counts = np.bincount(places, weights=weights, minlength=size * size)
            matrix = counts.reshape(size, size)
            return float(score_confusions(name, matrix, None, positive))

        return count
    values: Any = machine[1]
    curves = []
    for code in [positive] if n_classes == 2 else range(n_classes):
        order = np.argsort(-values[:, code], kind="stable")
        ends = np.append(np.flatnonzero(np.diff(values[order, code])), len(order) - 1)
        curves.append((order, ends, (truth == code)[order]))

    def integrate(weights: Array) -> float:
        areas = [_integrate_curve(name, weights[order], *more) for order, *more in curves]
        known = [area for area in areas if not math.isnan(area)]
        return float(np.mean(known)) if known else math.nan

    return integrate


def _integrate_curve(name: str, weights: Array, ends: Array, own: Array) -> float:
    """The area below the ROC curve, or the average precision, of rows in falling order."""
    found = np.cumsum(np.where(own, weights, 0.0))[ends]
    alarms = np.cumsum(np.where(own, 0.0, weights))[ends]
    if found[-1] <= 0.0 or alarms[-1] <= 0.0:
        return math.nan
    if name == "roc_auc":
        area = np.trapezoid(np.append(0.0, found), np.append(0.0, alarms))
        return float(area / (found[-1] * alarms[-1]))
    steps = np.diff(found, prepend=0.0)
    taken = np.maximum(found + alarms, np.finfo(np.float64).tiny)
    return float(np.sum(steps * found / taken) / found[-1])
