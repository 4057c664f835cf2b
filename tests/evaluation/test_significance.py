"""Paired tests over folds, against scipy and against cases worked by hand."""

import numpy as np
import pytest
from scipy import stats

from lindero.evaluation import MEASURES, score
from lindero.evaluation.significance import (
    PooledRows,
    adjust_p_values,
    compare_rows,
    compare_with_best,
    corrected_t_test,
    estimate_error,
    estimate_row_error,
    flip_signs,
    mcnemar_test,
    rank_test,
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


# -- tests of pooled rows -------------------------------------------------------------------------


def test_errors_of_33_rows_against_none_are_told_apart():
    """988 rows, five folds: the rows are certain, the folds alone are not."""
    truth = np.zeros(988, dtype=int)
    best, other = truth.copy(), truth.copy()
    other[:: 988 // 33][:33] = 1
    found = compare_rows(PooledRows(MEASURES["error"], truth), (best, None), (other, None))
    assert found.name == "McNemar's test"
    assert found.p_value < 1e-8
    assert 0.004 < found.standard_error < 0.007
    (told,) = compare_with_best(np.zeros(5), [np.array([0.1, 0, 0.02, 0.04, 0])], 0.25)
    assert not told.distinguishable
    (told,) = compare_with_best(np.zeros(5), [np.array([0.1, 0, 0.02, 0.04, 0])], 0.25, [found])
    assert told.distinguishable
    assert told.test == "McNemar's test"


def test_mid_p_is_the_exact_test_less_half_of_what_was_seen():
    differences = np.array([1] * 8 + [-1] * 2 + [0] * 50)
    exact = stats.binomtest(2, 10).pvalue
    assert mcnemar_test(differences) == pytest.approx(exact - stats.binom.pmf(2, 10, 0.5))
    assert mcnemar_test(np.array([1, -1, 0])) == mcnemar_test(np.zeros(4)) == 1.0


def test_flipped_signs_against_scipy_and_beyond_its_reach():
    differences = np.random.default_rng(2).normal(0.4, 1.0, size=12)
    exact = stats.permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=np.inf
    ).pvalue
    assert flip_signs(differences) == pytest.approx(exact, abs=0.02)
    many = np.random.default_rng(3).normal(0.05, 1.0, size=3000)
    assert flip_signs(many) == pytest.approx(stats.ttest_1samp(many, 0).pvalue, abs=0.002)
    assert flip_signs(np.zeros(7)) == 1.0


def two_machines(n_rows=600, n_classes=2, better=0.5, seed=0):
    """True classes, and the predictions of a machine and of a worse one with the same noise."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, n_classes, n_rows)
    hot = truth[:, None] == np.arange(n_classes)
    shared, own = random.normal(size=(2, n_rows, n_classes))
    machines = []
    for signal, noise in ((1.0 + better, shared), (1.0, 0.9 * shared + 0.44 * own)):
        values = signal * hot + noise
        table = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
        machines.append((table.argmax(axis=1), table))
    return truth, machines


#: All measures of classes but cost, which is tested with its matrix.
OF_CLASSES = [m.name for m in MEASURES.values() if m.task == "classification" and m.name != "cost"]


@pytest.mark.parametrize("measure", OF_CLASSES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_better_machine_is_told_from_a_worse_one_by_every_measure(measure, n_classes, weighted):
    truth, machines = two_machines(n_classes=n_classes)
    weights = np.random.default_rng(5).uniform(0.5, 1.5, len(truth)) if weighted else None
    rows = PooledRows(MEASURES[measure], truth, weights)
    found = compare_rows(rows, *machines)
    assert found.p_value < 0.01
    own = estimate_row_error(rows, machines[0])
    difference = abs(np.subtract(*(score(measure, truth, *m, weights=weights) for m in machines)))
    assert 0 < own < difference * 2
    assert found.standard_error < difference
    same = compare_rows(rows, machines[0], machines[0])
    assert same.p_value == 1.0


@pytest.mark.parametrize("measure", ["error", "log_loss", "roc_auc", "average_precision", "f1"])
def test_false_alarms_are_as_rare_as_promised(measure):
    """Two machines that are equally good on average are told apart in some 5 % of the tables."""
    n_rounds, alarms = 40, 0
    for seed in range(n_rounds):
        truth, machines = two_machines(200, better=0.0, seed=seed)
        alarms += compare_rows(PooledRows(MEASURES[measure], truth), *machines).p_value < 0.05
    assert alarms / n_rounds < 0.15


def test_areas_by_delong_and_by_the_bootstrap_have_the_same_error():
    truth, machines = two_machines(400)
    plain = compare_rows(PooledRows(MEASURES["roc_auc"], truth), *machines)
    drawn = compare_rows(PooledRows(MEASURES["roc_auc"], truth, np.ones(400)), *machines)
    assert (plain.name, drawn.name) == ("DeLong's test", "paired bootstrap")
    assert plain.standard_error == pytest.approx(drawn.standard_error, rel=0.15)


@pytest.mark.parametrize("measure", ["rmse", "mae", "r2", "pinball"])
def test_numbers_are_compared_row_by_row(measure):
    random = np.random.default_rng(0)
    truth = random.normal(size=500)
    machines = [(truth + spread * random.normal(size=500), None) for spread in (0.5, 0.7)]
    rows = PooledRows(MEASURES[measure], truth)
    found = compare_rows(rows, *machines)
    values = [score(measure, truth, answers) for answers, _ in machines]
    assert found.p_value < 0.01
    assert abs(values[0] - values[1]) / found.standard_error > 3
    # The error is that of fresh noise.
    noise = 0.5 * random.normal(size=(200, 500))
    fresh = [score(measure, truth, truth + off) for off in noise]
    assert estimate_row_error(rows, machines[0]) == pytest.approx(np.std(fresh), rel=0.3)


def test_rows_without_probabilities_are_not_compared_by_them():
    truth, machines = two_machines(50)
    rows = PooledRows(MEASURES["log_loss"], truth)
    assert compare_rows(rows, machines[0], (machines[1][0], None)) is None
    assert np.isnan(estimate_row_error(rows, (machines[0][0], None)))


def test_ranks_are_tested_class_by_class():
    random = np.random.default_rng(1)
    truth = np.repeat([0, 1, 2], 40)
    noise = random.dirichlet(np.ones(3), size=120)
    assert rank_test(truth, noise) > 0.05
    told = noise + 0.5 * np.eye(3)[truth]
    assert rank_test(truth, told / told.sum(axis=1, keepdims=True)) < 1e-6
    assert rank_test(truth, np.full((120, 3), 1 / 3)) == 1.0
    assert rank_test(np.zeros(10, dtype=int), np.full((10, 2), 0.5)) == 1.0
