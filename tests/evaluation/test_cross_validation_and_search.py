"""Fitting, cross-validation, tuning and explanations by name."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

from lindero.evaluation import (
    MACHINES,
    cross_validate,
    find_machine,
    fit_machine,
    make_machine,
    tune,
)
from lindero.evaluation.measures import measure_machine
from lindero.evaluation.rows import EvaluationRows
from lindero.evaluation.search import try_points
from lindero.svm import SVC, NuSVC, costs_from_matrix


@pytest.fixture(scope="module")
def clouds():
    random = np.random.default_rng(0)
    y = np.arange(90) % 2
    return random.normal(size=(90, 3)) + 0.9 * y[:, None], y


# -- cross-validation -------------------------------------------------------------------------


def test_scores_are_those_of_scikit_learn(clouds):
    X, y = clouds
    found = cross_validate("svc", X, y, params={"C": 3}, random_state=1)
    folds = StratifiedKFold(5, shuffle=True, random_state=1)
    expected = cross_val_score(make_machine("svc", {"C": 3}), X, y, cv=folds)
    assert found.scores["accuracy"] == expected.tolist()
    assert found.mean() == pytest.approx(expected.mean())
    assert found.std() == pytest.approx(expected.std())


def test_weights_count_in_fitting_and_in_judging(clouds):
    X, y = clouds
    weights = np.where(np.arange(90) < 45, 1.0, 0.0)
    weighted = cross_validate("naive-bayes", X, y, weights=weights + 1e-9)
    assert weighted.scores != cross_validate("naive-bayes", X, y).scores


@pytest.mark.parametrize(("dear", "margin_ratio"), [(0, None), (1, None), (1, 1.0), (0, 4.0)])
def test_the_cost_is_that_of_the_matrix_whatever_the_margins(clouds, dear, margin_ratio):
    X, y = clouds
    matrix = [[0, 1], [1, 0]]
    matrix[dear][1 - dear] = 10
    params = costs_from_matrix(matrix, [0, 1], margin_ratio=margin_ratio)._asdict()
    model = fit_machine(make_machine("cost-sensitive-svc", params), X, y)
    found = measure_machine(MACHINES["cost-sensitive-svc"], model, X, y)
    expected = np.array(matrix)[y, model.predict(X)].mean()
    assert expected > 0
    assert found["cost"] == pytest.approx(expected)


def test_equal_costs_are_no_measure_of_their_own(clouds):
    params = costs_from_matrix([[0, 7], [7, 0]])._asdict()
    found = cross_validate("cost-sensitive-svc", *clouds, params=params, folds=2)
    assert found.measure == "accuracy"
    assert "cost" not in found.scores


def test_points_that_disagree_on_costs_are_not_compared(clouds):
    grid = {"cost_positive": [1.0, 5.0]}
    with pytest.raises(ValueError, match=r"differ in what errors cost.*costs_from_matrix"):
        tune("cost-sensitive-svc", *clouds, grid=grid)
    same = {"cost_positive": [5.0], "C": [1.0]}
    assert tune("cost-sensitive-svc", *clouds, grid=same, folds=2).measure == "cost"


def test_a_class_that_was_never_seen_is_an_error_and_no_infinity(clouds):
    X, y = clouds
    later = np.where(np.arange(90) < 9, 2, y)
    model = fit_machine(make_machine("naive-bayes"), X, y)
    found = measure_machine(MACHINES["naive-bayes"], model, X, later)
    assert found["accuracy"] == pytest.approx((model.predict(X) == later).mean())
    log_proba = model.predict_log_proba(X)[np.arange(90), y]
    rest = -log_proba[9:].sum()
    assert found["log_loss"] == pytest.approx((rest - 9 * np.log(1e-15)) / 90)
    text = measure_machine(MACHINES["naive-bayes"], model, X, y.astype(str))
    assert text["accuracy"] == 0.0


def test_progress_counts_up_to_all(clouds):
    seen = []
    cross_validate("naive-bayes", *clouds, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(k, 5) for k in range(1, 6)]


def interrupted_after(kind, fits, monkeypatch):
    """Have Ctrl-C come when a machine is fitted for the so-manieth time."""
    fit, seen = kind.fit, []

    def counted(self, *args, **options):
        seen.append(1)
        if len(seen) > fits:
            raise KeyboardInterrupt
        return fit(self, *args, **options)

    # Parameters that a machine takes are looked up.
    counted.__signature__ = inspect.signature(fit)
    monkeypatch.setattr(kind, "fit", counted)


def test_an_interrupted_cross_validation_keeps_the_folds_done(clouds, monkeypatch):
    whole = cross_validate("svc", *clouds)
    interrupted_after(SVC, 3, monkeypatch)
    with pytest.raises(KeyboardInterrupt) as ended:
        cross_validate("svc", *clouds)
    found = ended.value.result
    assert found.scores["accuracy"] == whole.scores["accuracy"][:3]
    assert len(found.seconds) == 3
    interrupted_after(SVC, 0, monkeypatch)
    with pytest.raises(KeyboardInterrupt) as ended:
        cross_validate("svc", *clouds)
    assert not hasattr(ended.value, "result")


def test_an_interrupted_search_keeps_the_points_done(clouds, monkeypatch):
    grid = {"nu": [0.3, 0.6], "gamma": [0.1, 1.0]}
    whole = tune("nu-svc", *clouds, grid=grid, folds=3)
    interrupted_after(NuSVC, 8, monkeypatch)
    with pytest.raises(KeyboardInterrupt) as ended:
        tune("nu-svc", *clouds, grid=grid, folds=3)
    found = ended.value.result
    assert len(found.trials) == 2
    assert found.model is None
    assert all(trial in whole.trials for trial in found.trials)
    assert found.best.mean == max(trial.mean for trial in found.trials)


def test_machines_that_nothing_says_right_or_wrong_of():
    with pytest.raises(ValueError, match="without a target"):
        cross_validate("tm-clustering", np.zeros((9, 2)))
    X = np.random.default_rng(0).normal(size=(60, 2))
    found = cross_validate("one-class-svm", X, params={"nu": 0.2})
    assert 0.05 < found.mean("outlier_share") < 0.5


# -- tuning -----------------------------------------------------------------------------------


def test_the_quick_search_agrees_with_the_plain_one(clouds):
    X, y = clouds
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}
    found = tune("svc", X, y, grid=grid)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(SVC(), grid, cv=folds).fit(X, y)
    assert found.best.mean == pytest.approx(search.best_score_)
    expected = sorted(search.cv_results_["mean_test_score"], reverse=True)
    assert [trial.mean for trial in found.trials] == pytest.approx(expected)


def test_points_are_tried_one_by_one_for_other_machines(clouds):
    found = tune("nu-svc", *clouds, grid={"nu": [0.3, 0.6], "kernel": ["linear"]}, folds=3)
    assert len(found.trials) == 2
    assert found.params == found.best.params
    assert found.model[-1].nu == found.params["nu"]
    assert found.trials[0].mean >= found.trials[1].mean


@pytest.mark.parametrize(
    ("category", "shown"), [(RuntimeWarning, True), (FutureWarning, True), (UserWarning, False)]
)
def test_points_warn_of_what_is_wrong_but_not_of_themselves(category, shown, clouds):
    def fit(point, rows):
        warnings.warn("of a point", category, stacklevel=1)

    rows = EvaluationRows(*clouds)
    split = (np.arange(4), np.arange(4, 8))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (trial,) = try_points([{"C": 1.0}], fit, lambda model, rows: 0.5, rows, [split])
    assert trial.mean == 0.5
    assert [w.category for w in caught] == [category] * shown


def test_regression_tunes_the_tube_as_well():
    x = np.linspace(-2, 2, 50)
    grid = {"C": [0.01, 10], "gamma": [1.0], "epsilon": [0.01, 1.0]}
    found = tune("svr", x[:, None], np.sin(3 * x), folds=3, grid=grid)
    assert found.measure == "r2"
    assert found.params == {"C": 10.0, "gamma": 1.0, "epsilon": 0.01}


def test_less_cost_is_better(clouds):
    params = {"cost_positive": 50.0, "kernel": "linear"}
    found = tune("cost-sensitive-svc", *clouds, params=params, folds=3)
    assert found.measure == "cost"
    means = [trial.mean for trial in found.trials]
    assert means == sorted(means)


TUNABLE = [
    n
    for n, machine in MACHINES.items()
    if machine.grid and machine.task not in ("ranking", "tagging")
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", TUNABLE)
def test_the_first_point_of_every_grid_can_be_fitted(name, clouds):
    X, y = clouds
    machine = MACHINES[name]
    target = X[:, 0] if machine.task == "regression" else y
    grid = {parameter: values[:1] for parameter, values in machine.grid.items()}
    found = tune(name, X[:, 1:], target, grid=grid, folds=2)
    assert np.isfinite(found.best.mean)


def test_rankings_are_tuned_by_ndcg():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int) + (X[:, 0] > 1)
    found = tune("rank-svm", X, y, qid=np.repeat(np.arange(12), 5), folds=3)
    assert found.measure == "ndcg@10"
    assert found.best.mean > 0.9


# -- fitting ----------------------------------------------------------------------------------


def test_what_a_machine_would_ignore_is_refused(clouds):
    X, y = clouds
    with pytest.raises(ValueError, match="takes no weights"):
        fit_machine(make_machine("rank-svm"), X, y, qid=np.zeros(90), weights=np.ones(90))
    with pytest.raises(ValueError, match="have none"):
        fit_machine(make_machine("svc"), X)
    with pytest.raises(ValueError, match="one value only"):
        fit_machine(make_machine("svc"), X, np.ones(90))


def test_folds_without_any_order_are_left_out_of_the_mean():
    X, qid = np.arange(30.0)[:, None] % 3, np.repeat(np.arange(10), 3)
    y = np.where(qid < 4, np.arange(30) % 3, 1)  # the other queries have no order
    found = cross_validate("rank-svm", X, y, qid=qid, folds=5)
    scores = np.array(found.scores["ndcg@10"])
    assert np.isnan(scores).any()
    assert found.mean() == pytest.approx(np.nanmean(scores))
    assert found.std() == pytest.approx(np.nanstd(scores))


def test_warnings_of_folds_are_said_once_with_a_count(clouds):
    X, y = clouds
    with pytest.warns(UserWarning, match="Stopped") as caught:
        cross_validate("svc", 1e6 * X, y, params={"max_iter": 2}, folds=3)
    told = [str(warning.message) for warning in caught if "Stopped" in str(warning.message)]
    assert len(told) == 1
    assert "(3 warnings like this)" in told[0]
    assert caught[0].filename == __file__


def test_warnings_that_are_errors_to_the_user_are_raised(clouds):
    X, y = clouds
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            cross_validate("svc", 1e6 * X, y, params={"max_iter": 2}, folds=3)


@pytest.fixture(scope="module")
def rare():
    return make_classification(600, 6, weights=[0.9], class_sep=0.7, random_state=0)


def test_the_model_of_a_search_answers_by_its_threshold(rare):
    X, y = rare
    result = tune("naive-bayes", X, y, grid={"alpha": [1.0]}, measure="f1", folds=3)
    assert result.threshold is not None
    second = result.model.predict_proba(X)[:, 1] >= result.threshold
    np.testing.assert_array_equal(result.model.predict(X), second.astype(int))


def test_the_usual_grid_is_pruned_where_a_class_is_rare(rare):
    result = tune("svc", *rare, folds=3)
    assert result.params["class_weight"] == "balanced"
    grid = find_machine("svc").grid
    assert len(result.trials) < len(grid["C"]) * len(grid["gamma"])
