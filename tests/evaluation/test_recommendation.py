"""Which machine is taken, on comparisons with given scores."""

from dataclasses import replace

import numpy as np
import pytest

from lindero.evaluation import Comparison, MachineResult


def compared(n_rows=1000, constant=0.5, complete=True, log_loss=None, answers=None, **errors):
    """A comparison with these errors; simplicity follows the order of the names. Rows that one
    machine has wrong the others have right, as far as there are enough."""
    machines, start = [], 0
    for place, (name, scores) in enumerate(errors.items()):
        values = np.array(scores, dtype=float)
        size = n_rows // len(values)
        given = np.zeros(n_rows, dtype=int)
        for fold, wrong in enumerate(np.rint(values * size).astype(int)):
            given[fold * size + (start + np.arange(wrong)) % size] = 1
        start += int(values.max() * size)
        machines.append(
            MachineResult(
                name=name,
                machine=name,
                simplicity=place + 1,
                advantage=f"{name} is simple",
                scores={
                    "error": values,
                    "log_loss": values
                    if log_loss is None
                    else np.full(len(values), log_loss[name]),
                },
                seconds_learning=np.ones(len(values)),
                seconds_predicting=np.zeros(len(values)),
                parameters=[{"C": 1.0}] * len(values),
                answers=given if answers is None else answers.get(name, given),
                probabilities=None,
            )
        )
    n_folds = len(values)
    return Comparison(
        task="classification", measure="error", data="", target="y", classes=np.array([0, 1]),
        costs=None, n_rows=n_rows, fold_sizes=((n_rows * 4 // 5, n_rows // 5),) * n_folds,
        time_respecting=False, truth=np.zeros(n_rows, dtype=int), machines=tuple(machines),
        baseline=constant, notes=(), seconds=1.0, complete=complete, tuning_rows=2000,
        random_state=0,
    )  # fmt: skip


GOOD = [0.10, 0.12, 0.08, 0.11, 0.09]


def test_the_simplest_of_equals_is_taken():
    result = compared(10_000, simple=[0.101, 0.12, 0.08, 0.11, 0.09], clever=GOOD)
    assert result.best.name == "clever"
    assert result.recommended.name == "simple"
    words = result.recommendation()
    assert "clever has 10.0 %, the test rows do not tell the two apart" in words
    assert (
        "It gives away 0.02 points of error (0.067 standard errors), and simple is simple" in words
    )


def with_losses(result, **chances):
    """The comparison with probabilities: of the true class of a row that a machine has right, and
    of one that it has wrong."""
    machines = []
    for machine in result.machines:
        right, wrong = chances[machine.name]
        own = np.where(machine.answers == result.truth, right, wrong)
        losses = ((1 - own) ** 2).reshape(len(result.fold_sizes), -1).mean(axis=1)
        scores = machine.scores | {"brier": losses}
        tables = np.column_stack([own, 1 - own])  # the true class is the first one
        machines.append(replace(machine, scores=scores, probabilities=tables))
    return replace(result, machines=tuple(machines))


def test_machines_as_good_by_their_answers_are_told_apart_by_the_brier_score():
    errors = {"simple": [0.11, 0.12, 0.09, 0.10, 0.09], "clever": GOOD}
    errors["sharp"] = [0.11, 0.12, 0.09, 0.11, 0.09]
    result = compared(**errors)
    told = with_losses(result, simple=(0.6, 0.4), clever=(0.65, 0.3), sharp=(0.95, 0.4))
    assert told.best.name == "clever"
    assert told.recommended.name == "sharp"
    words = told.recommendation()
    assert "It gives away 0.4 points of error (0.42 standard errors)" in words
    assert "has the better probabilities (Brier score 0.0" in words
    assert "sharp is simple" not in words  # it is not
    # Where it says the same of all, the simplest is taken.
    level = with_losses(result, simple=(0.905, 0.3), clever=(0.9, 0.3), sharp=(0.9, 0.3))
    assert level.recommended.name == "simple"
    # What is worse by its answers stays worse, whatever its probabilities.
    worse = compared(simple=GOOD, sharp=[0.2, 0.21, 0.22, 0.2, 0.2])
    told = with_losses(worse, simple=(0.6, 0.4), sharp=(0.99, 0.4))
    assert told.recommended.name == "simple"


def test_a_simple_machine_that_is_worse_is_not_taken():
    result = compared(simple=[0.30, 0.33, 0.29, 0.31, 0.30], clever=GOOD)
    assert result.recommended.name == "clever"
    assert "worse than the best by more than chance" in result.recommendation()


@pytest.mark.parametrize("n_rows", [500, 1000, 10_000])
def test_a_simpler_machine_gives_away_half_a_standard_error_at_most(n_rows):
    """25.7 % was once taken for 22.3 %, as simpler."""
    best = np.full(5, 0.22)
    error = np.sqrt(0.22 * 0.78 / n_rows)
    for points in (0.0, 0.01, 0.02, 0.03, 0.05):
        result = compared(n_rows, simple=best + points, clever=best)
        lost = result.recommended.mean("error") - 0.22
        assert lost <= 0.5 * error + 1e-12
        assert result.standard_error == pytest.approx(error, rel=1e-6)


def test_rows_tell_apart_what_folds_do_not():
    """None against 33 errors of 990 rows, on five folds of which one has most of them."""
    result = compared(990, simple=[26 / 198, 2 / 198, 2 / 198, 2 / 198, 1 / 198], clever=[0.0] * 5)
    test = result.against_best["simple"]
    assert test.distinguishable
    assert (test.test, result.recommended.name) == ("McNemar's test", "clever")
    assert result.verdict(result["simple"]) == ("0.000", "worse")


def test_many_folds_are_compared_fold_by_fold():
    result = compared(6000, simple=GOOD * 6, clever=GOOD * 6)
    assert result.against_best["clever"].test == "corrected resampled t-test"


# -- the same answer for all ----------------------------------------------------------------------


def test_the_baseline_is_not_recommended_while_another_has_a_better_proper_score():
    errors = {"baseline": [0.02] * 5, "logistic": [0.03] * 5}
    answers = {"baseline": np.zeros(1000, dtype=int)}
    result = compared(answers=answers, log_loss={"baseline": 0.1, "logistic": 0.08}, **errors)
    assert result.ranked[0].name == "baseline"
    assert result.best.name == result.recommended.name == "logistic"
    assert "baseline gives the same answer to all rows" in result.recommendation()
    assert result.verdict(result["baseline"])[1] == "baseline"
    result = compared(answers=answers, log_loss={"baseline": 0.1, "logistic": 0.12}, **errors)
    assert result.best.name == result.recommended.name == "baseline"


def test_a_machine_that_never_predicts_a_class_is_not_recommended_either():
    answers = {"svc": np.zeros(1000, dtype=int)}
    errors = {"svc": [0.02] * 5, "logistic": [0.03] * 5}
    result = compared(answers=answers, log_loss={"svc": 0.1, "logistic": 0.08}, **errors)
    assert result.recommended.name == "logistic"


def test_where_all_predict_the_same_class_the_best_probabilities_are_taken():
    same = np.zeros(1000, dtype=int)
    errors = {"baseline": [0.02] * 5, "svc": [0.02] * 5, "logistic": [0.02] * 5}
    losses = {"baseline": 0.1, "svc": 0.095, "logistic": 0.08}
    result = compared(answers=dict.fromkeys(errors, same), log_loss=losses, **errors)
    assert result.recommended.name == "logistic"
    result = compared(constant=0.02, answers=dict.fromkeys(errors, same), log_loss=losses, **errors)
    assert "may say nothing" not in result.recommendation()
    assert "does as well by error (2.0 %), which says little" in result.recommendation()
    assert "finds '0' the likeliest class of every row" in result.recommendation()


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
    by_losses = replace(compared(only=[0.5, 0.5, 0.6, 0.5, 0.5]), measure="log_loss")
    assert "baseline, the shares of the classes for every row, does" in by_losses.recommendation()


@pytest.mark.parametrize(("n_rows", "warned"), [(100, True), (1000, False)])
def test_few_rows_are_warned_of(n_rows, warned):
    words = compared(n_rows=n_rows, simple=GOOD, clever=GOOD).recommendation()
    assert (f"with {n_rows} rows" in words) == warned


def test_a_cut_is_said():
    words = compared(simple=[0.1, 0.2], clever=[0.2, 0.2], complete=False).recommendation()
    assert "cut short" in words
    assert "cut short" not in compared(simple=GOOD, clever=GOOD).recommendation()


def test_the_baseline_is_not_recommended_while_another_ranks_the_rows():
    """From few rows, probabilities may be worse than the shares of the classes, and still rank."""
    random = np.random.default_rng(0)
    truth = (np.arange(1000) % 20 == 0).astype(int)
    losses = {"baseline": 0.1, "logistic": 0.12}
    for lift, taken in ((1.0, "logistic"), (0.0, "baseline")):
        shifted = 1 / (1 + np.exp(1 - lift * truth - random.normal(size=1000)))
        tables = {"baseline": np.full(1000, 0.05), "logistic": shifted}
        made = compared(
            answers=dict.fromkeys(losses, np.zeros(1000, dtype=int)), log_loss=losses,
            baseline=[0.05] * 5, logistic=[0.06] * 5,
        )  # fmt: skip
        machines = tuple(
            replace(
                machine,
                scores={**machine.scores, "roc_auc": np.full(5, 0.62)},
                probabilities=np.column_stack([1 - tables[machine.name], tables[machine.name]]),
            )
            for machine in made.machines
        )
        result = replace(made, truth=truth, machines=machines, measure="log_loss", baseline=0.1)
        assert result.ranked[0].name == "baseline"
        assert result.recommended.name == taken


def test_sentences_are_about_the_folds_that_all_machines_have_done():
    """ "Its error is 50.4 %, and though the other has 50.9 %": these were of different folds."""
    result = compared(4000, simple=[0.30, 0.30], clever=[0.2995, 0.31])
    simple, clever = result.machines
    late = np.array([1.0, np.nan])
    simple = replace(
        simple, seconds_learning=late, scores={k: v * late for k, v in simple.scores.items()}
    )
    result = replace(result, machines=(simple, clever), complete=False)
    assert result.best.name == "clever"
    words = result.recommendation()
    assert "its error is 30.0 %, and though clever has 29.9 %" in words
    assert "from the 1 of 2 folds that all machines have done" in words
    assert "folds that all" not in compared(simple=GOOD, clever=GOOD).recommendation()
