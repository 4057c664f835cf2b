"""Answers by probabilities, thresholds and costs, which never contradict each other."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from lindero.bayes import NaiveBayes
from lindero.evaluation import (
    DecisionClassifier,
    explain_rows,
    fit_machine,
    identify_machine,
    make_decision_machine,
    make_machine,
)
from lindero.evaluation.build import unwrap_machine
from lindero.evaluation.decisions import CostMargins, decide_classes
from lindero.svm import SVC, AdaptiveSVC, CostSensitiveSVC, calibrate


@parametrize_with_checks(
    [
        DecisionClassifier(SVC()),
        DecisionClassifier(),
        DecisionClassifier(NaiveBayes()),
        DecisionClassifier(SVC(kernel="linear"), calibration="always", cv=2),
    ]
)
def test_it_keeps_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def rare():
    """Two classes, one of them rare, and rows to judge by."""
    X, y = make_classification(1200, 6, weights=[0.9], class_sep=0.7, random_state=0)
    return X[:600], np.where(y, "yes", "no")[:600], X[600:], np.where(y, "yes", "no")[600:]


@pytest.fixture(scope="module")
def three():
    X, y = make_classification(600, 6, n_informative=4, n_classes=3, class_sep=0.8, random_state=1)
    return X[:300], y[:300], X[300:], y[300:]


def test_probabilities_are_calibrated(rare):
    X, y, X_new, y_new = rare
    model = DecisionClassifier(SVC()).fit(X, y)
    peer = calibrate(SVC(), cv=3).fit(X, y)
    ours, theirs = (log_loss(y_new, m.predict_proba(X_new)) for m in (model, peer))
    shares = np.tile([np.mean(y == "no"), np.mean(y == "yes")], (len(y_new), 1))
    assert ours < theirs + 0.02
    assert ours < log_loss(y_new, shares) - 0.05
    np.testing.assert_allclose(
        np.exp(model.predict_log_proba(X_new)), model.predict_proba(X_new), rtol=1e-9
    )


@pytest.mark.parametrize(
    "params",
    [{}, {"threshold": 0.2}, {"threshold": "f1"}, {"costs": {("yes", "no"): 7.0}},
     {"costs": {("yes", "no"): 7.0}, "threshold": "cost"}],
)  # fmt: skip
@pytest.mark.parametrize("machine", [SVC(), NaiveBayes()], ids=["SVC", "NaiveBayes"])
def test_answers_follow_from_probabilities(rare, machine, params):
    X, y, X_new, _ = rare
    model = DecisionClassifier(machine, **params).fit(X, y)
    second = model.predict_proba(X_new)[:, 1]
    threshold = model.threshold_
    if threshold is None:
        threshold = 1 / 8 if "costs" in params else 0.5
    sure = np.abs(second - threshold) > 1e-9
    assert ((model.predict(X_new) == "yes") == (second > threshold))[sure].all()


def test_a_tuned_threshold_is_better_on_new_rows(rare):
    X, y, X_new, y_new = rare
    plain, tuned = (
        DecisionClassifier(SVC(), threshold=threshold).fit(X, y)
        for threshold in (None, "balanced_accuracy")
    )
    before, after = (balanced_accuracy_score(y_new, m.predict(X_new)) for m in (plain, tuned))
    assert after > before + 0.02
    assert tuned.rule_ == "threshold"
    assert "balanced accuracy" in tuned.reason_


def test_costs_are_saved_on_new_rows(rare):
    X, y, X_new, y_new = rare
    costs = {("yes", "no"): 10.0}

    def cost(model):
        found = model.predict(X_new)
        return np.mean(np.where(y_new == "yes", 10.0, 1.0) * (found != y_new))

    plain = DecisionClassifier(SVC()).fit(X, y)
    for params in ({}, {"threshold": "cost"}):
        assert cost(DecisionClassifier(SVC(), costs=costs, **params).fit(X, y)) < 0.8 * cost(plain)


def test_costs_of_three_classes_go_where_they_cost_less(three):
    X, y, X_new, y_new = three
    costs = np.array([[0, 1, 8], [1, 0, 1], [1, 4, 0]], dtype=float)

    def cost(model):
        return costs[y_new, model.predict(X_new)].mean()

    model = DecisionClassifier(SVC(), costs=costs).fit(X, y)
    never = DecisionClassifier(SVC(), costs=costs, margins="never").fit(X, y)
    always = DecisionClassifier(SVC(), costs=costs, margins="always").fit(X, y)
    assert never.reason_ == ""
    assert never.rule_ == "costs"
    assert always.rule_ == "margins"
    assert isinstance(always.estimator_, CostMargins)
    assert "a row on the rows left out, against" in model.reason_
    assert cost(model) in (cost(never), cost(always))
    assert cost(always) < cost(DecisionClassifier(SVC()).fit(X, y))
    # The most probable class is the answer.
    assert (always.predict_proba(X_new).argmax(axis=1) == always.predict(X_new)).all()


def test_a_machine_for_two_classes_takes_costs_of_three(three):
    X, y, X_new, _ = three
    machine = make_decision_machine("cost-sensitive-svc", y=y, costs={(0, 2): 8.0})
    assert set(fit_machine(machine, X, y).predict(X_new)) <= {0, 1, 2}


def test_margins_are_for_support_vector_machines(three):
    X, y, *_ = three
    with pytest.raises(ValueError, match="is for SVC and CostSensitiveSVC, not NaiveBayes"):
        DecisionClassifier(NaiveBayes(), costs=1 - np.eye(3), margins="always").fit(X, y)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"costs": {("yes", "no"): -1.0}}, "must not be negative.*no where yes is true"),
        ({"costs": {("yes", "no"): np.nan}}, "finite"),
        ({"costs": {("yes", "none"): 1.0}}, "none"),
        ({"costs": [[0, 1, 2]]}, "2 × 2"),
        ({"threshold": 1.5}, "threshold"),
        ({"threshold": True}, "neither a number from 0 to 1 nor the name of a measure"),
        ({"threshold": "log_loss"}, "threshold"),
        ({"threshold": 0.2, "costs": [[0, 1], [1, 0]]}, "there are costs"),
        ({"threshold": "cost"}, "no costs"),
        ({"calibration": "never"}, "no probabilities"),
    ],
)
def test_what_has_no_meaning_is_refused_and_changes_nothing(rare, params, reason):
    X, y, X_new, _ = rare
    model = DecisionClassifier(SVC()).fit(X, y)
    before = model.predict_proba(X_new)
    with pytest.raises(ValueError, match=reason):
        model.set_params(**params).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X_new), before)


def test_a_threshold_is_for_two_classes(three):
    with pytest.raises(ValueError, match="there are 3 classes"):
        DecisionClassifier(SVC(), threshold=0.3).fit(*three[:2])


def test_classes_of_one_row_have_their_share(three):
    X, y = three[0], three[1].copy()
    y[0] = 7
    found = DecisionClassifier(SVC()).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(found[:, 3], 1 / len(y))
    with pytest.raises(ValueError, match="can be left out"):
        DecisionClassifier(SVC()).fit(X[:3], [0, 1, 2])


def test_weights_count_in_the_machine_and_in_the_curve(rare):
    X, y, *_ = rare
    kept = np.arange(len(y)) % 3 > 0
    odd = np.where(np.arange(len(y)) % 3 > 0, 2.0, 1.0)
    plain, weighted = (
        DecisionClassifier(SVC(gamma=0.1)).fit(X, y, sample_weight=w) for w in (None, odd)
    )
    assert kept.any()
    assert plain.curve_.slope != weighted.curve_.slope


def test_a_machine_that_moves_is_asked_at_its_times():
    rng = np.random.default_rng(0)
    times = np.arange(200)
    X, angle = rng.normal(size=(200, 2)), 2 * times / 200
    y = (X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) > 0).astype(int)
    model = DecisionClassifier(AdaptiveSVC(coupling=5.0)).fit(X, y, times=times)
    early, late = model.predict(X, times=times[5]), model.predict(X, times=times[-1])
    assert (early != late).mean() > 0.3
    assert (model.predict(X, times=times) == y).mean() > 0.85


def test_other_tools_see_the_machine_inside(rare):
    X, y, *_ = rare
    model = DecisionClassifier(make_machine("svc", {"kernel": "linear"}), threshold=0.05).fit(X, y)
    assert identify_machine(model).name == "svc"
    assert isinstance(unwrap_machine(model), SVC)
    lines = explain_rows(model, X[:20])
    assert [line.partition(",")[0] for line in lines] == model.predict(X[:20]).tolist()
    wrapped = calibrate(make_machine("svc"), cv=2)
    assert identify_machine(wrapped).name == identify_machine(wrapped.fit(X, y)).name == "svc"


def test_a_machine_by_name_is_wrapped_only_where_it_must_be(rare):
    y = rare[1]
    costs = {("yes", "no"): 9.0}
    assert not isinstance(make_decision_machine("svc", y=y), DecisionClassifier)
    assert not isinstance(make_decision_machine("svc", y=y, measure="error"), DecisionClassifier)
    assert not isinstance(make_decision_machine("tan", y=y, proba=True), DecisionClassifier)
    assert isinstance(make_decision_machine("svc", y=y, proba=True), DecisionClassifier)
    assert isinstance(make_decision_machine("svc", y=y, measure="log_loss"), DecisionClassifier)
    assert make_decision_machine("tan", y=y, measure="f1").threshold == "f1"
    assert make_decision_machine("tan", y=y, costs=costs).threshold == "cost"
    inside = make_decision_machine("cost-sensitive-svc", y=y, costs=costs)
    assert isinstance(inside["machine"], CostSensitiveSVC)
    assert inside["machine"].cost_positive == 27.0
    with pytest.raises(ValueError, match="svr does not predict classes"):
        make_decision_machine("svr", y=[1.0, 2.0], proba=True)


def test_names_of_measures_may_have_hyphens(rare):
    X, y = rare[:2]
    for asked in ({"measure": "balanced-accuracy"}, {"threshold": "Balanced-Accuracy"}):
        model = make_decision_machine("naive-bayes", y=y, **asked)
        assert model.threshold == "balanced_accuracy"
        assert fit_machine(model, X, y).rule_ in ("threshold", "largest")


@pytest.mark.parametrize("asked", [{"measure": "f1"}, {"costs": {("yes", "no"): 9.0}}])
def test_measures_and_costs_need_classes(asked):
    with pytest.raises(ValueError, match="by y="):
        make_decision_machine("svc", **asked)
    assert not isinstance(make_decision_machine("svc", measure="error"), DecisionClassifier)


def test_decisions_of_given_probabilities():
    given = np.array([[0.9, 0.1], [0.6, 0.4]])
    assert decide_classes(given).tolist() == [0, 0]
    assert decide_classes(given, threshold=0.4).tolist() == [0, 1]
    assert decide_classes(given, costs=np.array([[0, 1], [20, 0]])).tolist() == [1, 1]


def test_a_threshold_by_which_all_rows_are_answered_alike_says_so():
    """Costs of 1 : 8 made one answer of all, and nothing told."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 2)), np.where(random.random(200) < 0.3, "ill", "well")
    costs = {("ill", "well"): 1000}
    model = DecisionClassifier(make_machine("naive-bayes"), threshold="cost", costs=costs).fit(X, y)
    assert set(model.predict(X)) == {"ill"}
    assert "All of these are answered ill" in model.reason_
    told = DecisionClassifier(make_machine("naive-bayes"), threshold="cost", costs=costs)
    assert "All of these" not in told.fit(X + 9.0 * (y == "ill")[:, None], y).reason_
