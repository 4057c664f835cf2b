"""Which machine is taken, on comparisons with given scores."""

import numpy as np
import pytest

from lindero.evaluation import Comparison, MachineResult


def compared(n_rows=1000, baseline=0.5, complete=True, **errors):
    """A comparison with these errors; simplicity follows the order of the names."""
    machines = []
    for place, (name, scores) in enumerate(errors.items()):
        values = np.array(scores, dtype=float)
        machines.append(
            MachineResult(
                name=name,
                machine=name,
                simplicity=place + 1,
                advantage=f"{name} is simple",
                scores={"error": values, "log_loss": values},
                seconds_learning=np.ones(len(values)),
                seconds_predicting=np.zeros(len(values)),
                parameters=[{"C": 1.0}] * len(values),
                answers=np.zeros(n_rows, dtype=int),
                probabilities=None,
            )
        )
    n_folds = len(values)
    return Comparison(
        task="classification", measure="error", data="", target="y", classes=np.array([0, 1]),
        costs=None, n_rows=n_rows, fold_sizes=((n_rows * 4 // 5, n_rows // 5),) * n_folds,
        time_respecting=False, truth=np.zeros(n_rows, dtype=int), machines=tuple(machines),
        baseline=baseline, notes=(), seconds=1.0, complete=complete, tuning_rows=2000,
        random_state=0,
    )  # fmt: skip


GOOD = [0.10, 0.12, 0.08, 0.11, 0.09]


def test_the_simplest_of_equals_is_taken():
    result = compared(simple=[0.11, 0.11, 0.10, 0.10, 0.10], clever=GOOD)
    assert result.best.name == "clever"
    assert result.recommended.name == "simple"
    assert "clever has 10.0 %, the folds do not tell the two apart" in result.recommendation()
    assert "simple is simple" in result.recommendation()


def test_a_simple_machine_that_is_worse_is_not_taken():
    result = compared(simple=[0.30, 0.33, 0.29, 0.31, 0.30], clever=GOOD)
    assert result.recommended.name == "clever"
    assert "worse than the best by more than chance" in result.recommendation()


def test_one_that_is_beyond_a_standard_error_is_not_taken_however_noisy_it_is():
    result = compared(simple=[0.05, 0.60, 0.10, 0.40, 0.05], clever=GOOD)
    assert not result.against_best["simple"].distinguishable
    assert result.recommended.name == "clever"


def test_of_equal_scores_the_simpler_is_the_best():
    result = compared(simple=GOOD, clever=GOOD)
    assert result.best.name == "simple"
    assert result.against_best["clever"].adjusted == 1.0


def test_a_machine_no_better_than_a_constant_is_warned_of():
    assert (
        "the baseline, always predicting the same class, does as well"
        in compared(only=[0.5, 0.5, 0.6, 0.5, 0.5]).recommendation()
    )
    assert "always" not in compared(only=GOOD).recommendation()


@pytest.mark.parametrize(("n_rows", "warned"), [(100, True), (1000, False)])
def test_few_rows_are_warned_of(n_rows, warned):
    words = compared(n_rows=n_rows, simple=GOOD, clever=GOOD).recommendation()
    assert (f"with {n_rows} rows" in words) == warned


def test_few_folds_and_a_cut_are_warned_of():
    words = compared(simple=[0.1, 0.2], clever=[0.2, 0.2], complete=False).recommendation()
    assert "with 2 folds hardly any difference" in words
    assert "cut short" in words
    assert "with 2 folds" not in compared(simple=GOOD, clever=GOOD).recommendation()
