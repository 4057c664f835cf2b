"""Whether one machine is better than another by more than chance.

d_1 … d_J are the differences between two machines on the same J folds, of n₂ test rows and n₁
training rows each. Folds share most of their training rows, so that their differences are not
independent and the plain t-test finds too much. Nadeau and Bengio's corrected resampled t-test
puts the overlap into the variance:

    t = d̄ / √((1/J + n₂/n₁) s²),    J − 1 degrees of freedom

Wilcoxon's signed-rank test asks for less, the signs and ranks of the differences only, but with
five folds it cannot go below p = 1/16. Where several machines are held against the best, p-values
of the t-test are adjusted by Holm's rule, so that all verdicts together are wrong with the
probability of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from lindero.runtime.arrays import Array

#: Below this p-value a difference is more than chance.
LEVEL = 0.05


@dataclass(frozen=True)
class PairedTest:
    """A machine against the best one, on the same folds.

    Attributes
    ----------
    difference : float
        How much worse it is on average.
    p_value : float
        Of the corrected resampled t-test, without the adjustment; NaN with a single fold.
    adjusted : float
        The same, adjusted for all machines that are held against the best (Holm).
    wilcoxon : float
        p-value of the signed-rank test.

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

    @property
    def distinguishable(self) -> bool:
        """Whether it is worse than the best by more than chance."""
        return bool(self.adjusted < LEVEL)

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
    best: Array, others: Sequence[Array], test_to_train: float
) -> list[PairedTest]:
    """Every other machine's scores, where less is better, against those of the best."""
    differences = [scores - best for scores in others]
    p_values = [corrected_t_test(d, test_to_train) for d in differences]
    return [
        PairedTest(float(np.mean(d)), p, fair, signed_rank_test(d))
        for d, p, fair in zip(differences, p_values, adjust_p_values(p_values), strict=True)
    ]
