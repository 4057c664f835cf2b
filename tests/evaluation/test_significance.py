"""Paired tests over folds, against scipy and against cases worked by hand."""

import numpy as np
import pytest
from scipy import stats

from lindero.evaluation.significance import (
    adjust_p_values,
    compare_with_best,
    corrected_t_test,
    estimate_error,
    signed_rank_test,
)

DIFFERENCES = np.array([0.05, 0.01, -0.01, 0.03, 0.04, 0.02])


def test_without_overlap_it_is_the_paired_t_test():
    expected = stats.ttest_1samp(DIFFERENCES, 0.0).pvalue
    assert corrected_t_test(DIFFERENCES, 0.0) == pytest.approx(expected, rel=1e-12)


def test_overlap_widens_the_error_as_nadeau_and_bengio_say():
    plain = DIFFERENCES.std(ddof=1) / np.sqrt(6)
    assert estimate_error(DIFFERENCES, 0.2) == pytest.approx(plain * np.sqrt(1 + 6 * 0.2))
    t = DIFFERENCES.mean() / (plain * np.sqrt(1 + 6 * 0.2))
    assert corrected_t_test(DIFFERENCES, 0.2) == pytest.approx(2 * stats.t.sf(t, 5))
    assert corrected_t_test(DIFFERENCES, 0.2) > corrected_t_test(DIFFERENCES, 0.0)


def test_differences_without_spread():
    assert corrected_t_test(np.zeros(5), 0.25) == 1.0
    assert corrected_t_test(np.full(5, 0.1), 0.25) == 0.0
    assert np.isnan(corrected_t_test(np.array([0.1]), 0.25))
    assert signed_rank_test(np.zeros(5)) == 1.0


def test_five_folds_cannot_convince_the_signed_rank_test():
    assert signed_rank_test(np.array([0.1, 0.2, 0.3, 0.4, 0.5])) == pytest.approx(1 / 16)


def test_holm_by_hand():
    assert adjust_p_values([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert adjust_p_values([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert adjust_p_values([]) == []
    adjusted = adjust_p_values([0.01, float("nan"), 0.02])
    assert adjusted[::2] == pytest.approx([0.02, 0.02])
    assert np.isnan(adjusted[1])


def test_false_alarms_of_the_corrected_test_are_rarer_on_overlapping_folds():
    """Means of folds that share a part: the plain t-test finds too much, the corrected one not."""
    random = np.random.default_rng(0)
    found = {0.0: 0, 0.25: 0}
    n_rounds, n_folds = 400, 10
    for _ in range(n_rounds):
        shared = random.normal() * 0.5  # what all folds have in common
        differences = shared + random.normal(size=n_folds)
        for ratio in found:
            found[ratio] += corrected_t_test(differences, ratio) < 0.05
    assert found[0.0] / n_rounds > 0.15
    assert found[0.25] / n_rounds < 0.08


def test_verdicts():
    best = np.array([0.10, 0.11, 0.09, 0.10, 0.10])
    noise = np.array([0.01, -0.01, 0, 0.01, 0])
    same, worse = compare_with_best(best, [best + noise, best + 0.3 + 0.1 * best], 0.25)
    assert same.verdict == "not distinguishable from the best"
    assert worse.verdict == "worse than the best"
    assert worse.difference == pytest.approx(0.31)
