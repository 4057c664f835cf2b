"""Machines compared, cross-validated and tuned by every measure."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_regression
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from lindero.evaluation import MEASURES, compare, cross_validate, make_machine, score, tune
from lindero.evaluation.measures import list_measures
from lindero.models.probabilities import fit_column_curve, fit_curve
from tests.evaluation.tables import clouds, rare_table

QUICK = ["naive-bayes", "svc-linear"]
OF_CLASSES, OF_NUMBERS = list_measures("classification"), list_measures("regression")


@pytest.fixture(scope="module")
def rare():
    return rare_table()


@pytest.fixture(scope="module")
def compared(rare):
    """One comparison for each measure, made when it is asked for."""
    made = {}

    def make(measure):
        if measure not in made:
            made[measure] = compare(*rare, machines=QUICK, folds=3, measure=measure)
        return made[measure]

    return make


# -- comparisons ----------------------------------------------------------------------------------


def test_a_rare_class_is_ranked_by_log_loss_and_it_is_said(compared):
    result = compared(None)
    assert result.measure == "log_loss"
    assert result.measures == ("log_loss", "roc_auc", "average_precision")
    assert "Ranked by log-loss: class 'yes' has" in result.recommendation()
    assert result.recommended.mean("roc_auc") > 0.8
    told = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert (told["measure"], told["measures"]) == ("log_loss", list(result.measures))
    assert "class 'yes'" in told["reason"]
    assert set(told["machines"][0]["mean"]) == set(OF_CLASSES)


def test_support_vector_machines_say_something_of_a_rare_class(compared):
    """The hinge loss is least for the same answer everywhere, unless classes are weighed."""
    result = compared(None)["svc-linear"]
    assert result.mean("roc_auc") > 0.85
    assert result.parameters[0]["class_weight"] == "balanced"
    right = result.probabilities.argmax(axis=1)
    assert (result.answers == right).all()
    assert "class_weight" not in compared("error")["svc-linear"].parameters[0]


def test_common_classes_are_ranked_by_error():
    result = compare(*clouds(60), machines=["naive-bayes"], folds=2)
    assert (result.measure, result.measures) == ("error", ("error", "log_loss", "roc_auc"))


@pytest.mark.parametrize("measure", OF_CLASSES)
def test_every_measure_ranks_machines(compared, measure):
    result = compared(measure)
    assert (result.measure, result.measures[0], len(set(result.measures))) == (measure, measure, 3)
    means = [m.mean(measure) for m in result.ranked]
    if measure not in ("error", "accuracy"):  # by these the same answer for all may come first
        assert means == sorted(means, reverse=MEASURES[measure].greater_is_better)
    assert all(0 <= test.p_value <= 1 for test in result.against_best.values())
    for machine in result.machines:
        given = result.truth, machine.answers, machine.probabilities
        pooled = score(measure, *given, positive=1)
        assert machine.mean(measure) == pytest.approx(pooled, abs=0.12)
    json.dumps(result.to_dict(), allow_nan=False)
    assert "Take " in result.recommendation()


@pytest.mark.parametrize("measure", ["f1", "balanced_accuracy", "kappa"])
def test_thresholds_are_tuned_for_the_measure(compared, measure):
    usual, tuned = compared("log_loss"), compared(measure)
    for name in QUICK:
        assert tuned[name].mean(measure) > usual[name].mean(measure)
    # The probabilities are the same.
    one, other = (result["naive-bayes"].probabilities for result in (usual, tuned))
    np.testing.assert_array_equal(one, other)


def test_thresholds_know_no_test_row(rare):
    """Other labels of test rows change scores, and nothing else."""
    from lindero.evaluation.comparison import judge_machine
    from lindero.evaluation.learning import ComparisonPlan
    from lindero.evaluation.registry import find_contenders
    from lindero.evaluation.rows import EvaluationRows

    X, y = rare
    train, test = np.arange(300), np.arange(300, 400)
    other = y.copy()
    other[test] = np.where(y[test] == "yes", "no", "yes")
    classes = np.array(["no", "yes"])
    plan = ComparisonPlan(classes, None, 3, 2000, 0, "f1", 1)
    (machine,) = find_contenders("naive-bayes")
    one, two = (
        judge_machine(machine, EvaluationRows(X, labels), np.searchsorted(classes, labels),
                      (train, test), plan)
        for labels in (y, other)
    )  # fmt: skip
    assert one.failure is None
    assert one.answers.tolist() == two.answers.tolist()
    assert 0 < one.answers.sum() < 100
    assert (one.answers != (one.probabilities[:, 1] >= 0.5)).any()


def test_costs_move_answers_and_are_ranked_by(rare):
    costs = {("yes", "no"): 20}
    result = compare(*rare, machines=QUICK, folds=3, costs=costs)
    assert result.measures == ("cost", "error", "log_loss")
    for machine in result.machines:
        assert machine.mean("cost") < result.baseline
        assert machine.answers.sum() > (machine.probabilities[:, 1] > 0.5).sum()
    other = compare(*rare, machines=["naive-bayes"], folds=3, costs=costs, measure="roc_auc")
    assert (other.measure, other.measures[0]) == ("roc_auc", "roc_auc")
    assert other["naive-bayes"].mean("cost") < result.baseline


@pytest.mark.parametrize("measure", [*OF_NUMBERS, "pinball@0.9"])
def test_every_measure_of_numbers_ranks_machines(measure):
    X, y = make_regression(60, 3, noise=10.0, random_state=0)
    result = compare(X, y, machines=["svr-linear", "svr-gaussian"], folds=2, measure=measure)
    assert result.measures[0] == result.measure == measure
    means = [m.mean(measure) for m in result.ranked]
    assert means == sorted(means, reverse=measure == "r2")
    json.dumps(result.to_dict(), allow_nan=False)


def test_more_classes_than_two():
    result = compare(*load_iris(return_X_y=True), machines=QUICK, folds=3, measure="f1")
    truth, best = result.truth, result.best
    assert result.best.mean("f1") > 0.9
    pooled = f1_score(truth, best.answers, average="macro")
    assert score("f1", truth, best.answers, best.probabilities) == pytest.approx(pooled)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"measure": "rmse"}, "rmse is for regression, and the task is classification"),
        ({"measure": "roc"}, "There is no measure 'roc': did you mean 'roc_auc'"),
        ({"measure": "cost"}, "The measure cost needs costs"),
    ],
)
@pytest.mark.parametrize("function", [compare, cross_validate, tune])
def test_measures_that_make_no_sense(rare, function, options, words):
    arguments = rare if function is compare else ("naive-bayes", *rare)
    with pytest.raises(ValueError, match=words):
        function(*arguments, **options)


def test_measures_are_for_machines_with_a_target():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match="one-class-svm is for novelty: it has its own measure"):
        cross_validate("one-class-svm", X, measure="f1")
    with pytest.raises(ValueError, match="costs are for classes"):
        cross_validate("svr", X, X[:, 0], costs=[[0, 1], [1, 0]])


# -- cross-validation and tuning ------------------------------------------------------------------


def test_scores_of_decision_values_are_those_of_scikit_learn(rare):
    X, y = rare
    found = cross_validate("svc", X, y, measure="roc_auc", folds=3)
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    model = make_machine("svc")
    values = cross_val_predict(model, X, y, cv=cv, method="decision_function")
    expected = [roc_auc_score(y[test] == "yes", values[test]) for _, test in cv.split(X, y)]
    assert found.scores["roc_auc"] == pytest.approx(expected)
    precision = [
        average_precision_score(y[test] == "yes", values[test]) for _, test in cv.split(X, y)
    ]
    assert found.scores["average_precision"] == pytest.approx(precision)
    assert found.measures == ("roc_auc", "log_loss", "average_precision")


def test_a_rare_class_is_judged_by_log_loss_with_probabilities_or_without(rare):
    shares = np.mean(rare[1] == "yes")
    entropy = -shares * np.log(shares) - (1 - shares) * np.log(1 - shares)
    for name, params in (("naive-bayes", {}), ("svc-linear", {"class_weight": "balanced"})):
        found = cross_validate(name, *rare, params=params)
        assert found.measure == "log_loss"
        assert "class 'yes' has" in found.reason
        assert found.mean() < entropy
        assert found.to_dict()["measure"] == "log_loss"
    assert tune("naive-bayes", *rare, folds=3).measure == "log_loss"


@pytest.mark.parametrize("name", ["svc", "naive-bayes"])
def test_thresholds_come_from_the_other_folds(rare, name):
    usual, tuned = (cross_validate(name, *rare, measure=m) for m in ("error", "f1"))
    assert tuned.mean("f1") > usual.mean("f1") + 0.05
    assert tuned.mean("roc_auc") == usual.mean("roc_auc")


def test_costs_in_cross_validation_and_tuning(rare):
    costs = {("yes", "no"): 20}
    plain, found = (cross_validate("naive-bayes", *rare, costs=c) for c in (None, costs))
    assert found.measure == "cost"
    assert found.mean() < 20 * np.mean(rare[1] == "yes")
    assert found.mean("log_loss") == plain.mean("log_loss")
    tuned = tune("kdb", *rare, costs=costs, grid={"k": [0, 1]}, folds=3)
    assert tuned.measure == "cost"
    assert tuned.best.mean == min(trial.mean for trial in tuned.trials)
    assert 0.0 < tuned.threshold < 0.2
    several = cross_validate("naive-bayes", *load_iris(return_X_y=True), costs=1 - np.eye(3))
    assert several.mean("cost") == pytest.approx(several.mean("error"))


@pytest.mark.parametrize("measure", ["log_loss", "roc_auc", "error", "f1", "average_precision"])
def test_the_shared_search_and_the_plain_one_rank_points_alike(rare, measure):
    grid = {"C": [0.01, 1.0], "gamma": [0.01, 0.3]}
    shared = tune("svc", *rare, grid=grid, measure=measure, folds=3)
    plain = tune("incremental-svc", *rare, grid=grid, measure=measure, folds=3)
    assert shared.measure == plain.measure == measure
    values = [trial.mean for trial in shared.trials]
    assert values == sorted(values, reverse=MEASURES[measure].greater_is_better)
    for trial in plain.trials:
        (same,) = (t for t in shared.trials if t.params == trial.params)
        assert same.mean == pytest.approx(trial.mean, abs=0.02)
    assert (shared.threshold is None) == (measure != "f1")


def test_tuning_weighs_classes_where_one_is_rare(rare):
    found = tune("svc", *rare, folds=3)
    assert found.params["class_weight"] == "balanced"
    assert len(found.trials) == 25
    best = cross_validate("svc", *rare, params=found.params, folds=3)
    assert best.mean("roc_auc") > 0.85
    assert "class_weight" not in tune("svc", *rare, folds=3, measure="error").params
    assert "class_weight" not in tune("svc", *clouds(60), folds=3).params
    own = tune("svc", *rare, folds=3, params={"class_weight": None}, grid={"C": [1.0]})
    assert own.params["class_weight"] is None


@pytest.mark.parametrize("measure", OF_NUMBERS)
def test_numbers_are_tuned_by_any_measure(measure):
    X, y = make_regression(60, 3, noise=10.0, random_state=0)
    found = tune("svr", X, y, grid={"C": [1.0, 1000.0]}, measure=measure, folds=3)
    assert found.params["C"] == 1000.0
    one = cross_validate("svr", X, y, params=found.params, measure=measure, folds=3)
    assert one.mean() == pytest.approx(found.best.mean, rel=0.1)


# -- curves ---------------------------------------------------------------------------------------


def test_a_sigmoid_is_that_of_platt():
    from sklearn.calibration import _sigmoid_calibration

    random = np.random.default_rng(0)
    truth = random.integers(0, 2, 300)
    values = 2.0 * truth + random.normal(size=300)
    weights = random.uniform(0.5, 2.0, 300)
    a, b = _sigmoid_calibration(values, truth, weights)
    table = fit_column_curve(np.column_stack([-values, values]), truth, weights)(
        np.column_stack([-values, values])
    )
    np.testing.assert_allclose(table[:, 1], 1 / (1 + np.exp(a * values + b)), atol=1e-4)


def test_curves_of_values_that_say_all_or_nothing():
    truth = np.arange(40) % 2
    for values in (np.zeros(40), truth * 2.0 - 1.0, 1e9 * (truth - 0.5)):
        table = fit_column_curve(np.column_stack([-values, values]), truth, None)(
            np.column_stack([-values, values])
        )
        assert np.isfinite(table).all()
        assert (table > 0).all()
        right = table[np.arange(40), truth]
        assert (right > 0.9).all() if values.any() else right == pytest.approx(0.5)


def test_a_temperature_makes_probabilities_of_several_classes_honest():
    random = np.random.default_rng(1)
    table = random.dirichlet(np.ones(4), size=2000)
    truth = (table.cumsum(axis=1) > random.random((2000, 1))).argmax(axis=1)
    again = fit_column_curve(7.0 * np.log(table), truth, None)(7.0 * np.log(table))
    np.testing.assert_allclose(again, table, atol=0.05)


def test_folds_and_models_share_one_curve():
    random = np.random.default_rng(2)
    truth = np.arange(90) % 3
    values = random.normal(size=(90, 3)) + 2.0 * np.eye(3)[truth]
    ours, theirs = fit_column_curve(values, truth, None), fit_curve(values, truth, None, truth)
    np.testing.assert_array_equal(ours(values), theirs(values, np.arange(3)))
    lost = np.where(truth == 2, -1, truth)  # a class that no row is known of has a column still
    assert fit_column_curve(values, lost, None)(values).shape == (90, 3)
