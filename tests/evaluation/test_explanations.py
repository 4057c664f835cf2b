"""Predictions taken apart: sums that add up, Shapley values by definition, and sentences."""

import itertools
import math
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lindero.evaluation import (
    DecisionClassifier,
    TableEncoder,
    explain,
    explain_rows,
    fit_machine,
    make_machine,
)
from lindero.evaluation.explanations import write_factor, write_odds, write_signed
from lindero.runtime.arrays import write_plain
from lindero.svm import SVC, IncrementalSVC


def shapley_by_definition(value, row, background):
    """Mean marginal worth over all orders, one after the other."""
    d = len(row)

    def worth(joined):
        rows = background.copy()
        rows[:, list(joined)] = row[list(joined)]
        return value(rows).mean()

    terms = np.zeros(d)
    for order in itertools.permutations(range(d)):
        for place, player in enumerate(order):
            terms[player] += worth(order[: place + 1]) - worth(order[:place])
    return terms / math.factorial(d)


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 4)) * [1, 10, 0.1, 1] + [0, 50, 0, 3]
    y = np.where(X[:, 0] * X[:, 2] + X[:, 1] / 50 + 0.2 * rng.normal(size=80) > 1, "yes", "no")
    return X, y


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 80, 120).astype(float),
            "sex": rng.choice(["male", "female"], 120),
            "income": rng.normal(30_000, 8_000, 120).round(),
        }
    )
    frame.loc[::17, "age"] = np.nan
    chance = frame["age"].fillna(50) / 80 + (frame["sex"] == "male") * 0.5 + rng.normal(0, 0.2, 120)
    return frame, np.where(chance > 1, "ill", "well"), (frame["income"] * 2.5).to_numpy()


def assert_adds_up(found):
    for one in found:
        total = one.baseline + one.contributions.sum() + one.remainder
        assert_allclose(total, one.value, rtol=1e-12, atol=1e-12)
        assert abs(one.remainder) <= 1e-6 * (1 + abs(one.value))


# -- numbers ----------------------------------------------------------------------------------


def test_terms_of_a_linear_machine_are_its_weights_times_the_values(numbers):
    X, y = numbers
    model = fit_machine(make_machine("svc", {"kernel": "linear"}), X, y)
    encoded, sign = model[0].transform(X), np.where(model.predict(X) == "yes", 1.0, -1.0)
    found = explain(model, X)
    assert_adds_up(found)
    assert "exact" in found[0].method
    assert_allclose([one.value for one in found], sign * model.decision_function(X), atol=1e-9)
    terms = sign[:, None] * model[1].coef_.ravel() * encoded
    assert_allclose([one.contributions for one in found], terms, atol=1e-8)
    assert (np.array([one.value for one in found]) > 0).all()


@pytest.mark.parametrize("machine", ["svc", "incremental-svc"])
def test_gaussian_machines_have_exact_shapley_values(numbers, machine):
    X, y = numbers
    model = fit_machine(make_machine(machine), X, y)
    background = X[:7]
    found = explain(model, X[10:13], background=background)
    assert_adds_up(found)
    assert "Gaussian" in found[0].method
    for row, one in zip(X[10:13], found, strict=True):
        sign = 1.0 if one.label == "yes" else -1.0
        naive = shapley_by_definition(lambda r: model.decision_function(r), row, background)
        assert_allclose(one.contributions, sign * naive, atol=1e-8)
        assert_allclose(one.baseline, sign * model.decision_function(background).mean(), atol=1e-8)


def test_gaussian_machines_of_many_columns_are_exact_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 30))
    model = fit_machine(make_machine("svr"), X, X[:, 0] * X[:, 1])
    found = explain(model, X[:3])
    assert_adds_up(found)
    assert "exact" in found[0].method


def test_other_kernels_and_several_classes_have_shapley_values_by_definition(numbers):
    X, y = numbers
    several = np.where(X[:, 3] > 3.8, "maybe", y)
    for params, target in (({"kernel": "poly"}, y), ({}, several)):
        model = fit_machine(make_machine("svc", params), X, target)
        found = explain(model, X[:2], background=X[20:25])
        assert_adds_up(found)
        assert found[0].method == "exact Shapley values"
        classes = model.classes_.tolist()
        for row, one in zip(X[:2], found, strict=True):
            of, against = classes.index(one.label), classes.index(one.against)

            def value(rows, of=of, against=against, model=model):
                scores = model.decision_function(rows)
                if scores.ndim == 1:
                    return scores if of == 1 else -scores
                return scores[:, of] - scores[:, against]

            assert_allclose(one.contributions, shapley_by_definition(value, row, X[20:25]), 1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("curve", [False, True])
def test_one_function_for_each_class_is_exact_for_many_columns(kernel, curve):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 14))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.5, 0.5])]
    model = make_machine("svc", {"multiclass": "ovr", "kernel": kernel, "gamma": 0.1})
    if curve:
        model = DecisionClassifier(model, calibration="always").fit(X, y)
        inner, slope = model.estimator_, model.curve_.slope
    else:
        inner, slope = fit_machine(model, X, y), 1.0
        model = inner
    background = X[50:53]
    found = explain(model, X[:3], background=background)
    assert_adds_up(found)
    classes = model.classes_.tolist()
    for row, one in zip(X[:3], found, strict=True):
        assert one.method.startswith("exact")
        assert one.remainder == pytest.approx(0.0, abs=1e-9)
        of, against = classes.index(one.label), classes.index(one.against)

        def value(rows, of=of, against=against):
            scores = inner.decision_function(rows)
            return slope * (scores[:, of] - scores[:, against])

        assert_allclose(one.baseline, value(background).mean(), atol=1e-8)
        if kernel == "linear":
            weights = slope * (inner[1].coef_[of] - inner[1].coef_[against])
            gone = inner[0].transform([row]) - inner[0].transform(background).mean(axis=0)
            assert_allclose(one.contributions, (weights * gone).ravel(), atol=1e-8)
        else:
            mixed = explain(model, [row], background=with_rest(background[:, :4], row))[0]
            pair = classes.index(mixed.label), classes.index(mixed.against)  # of ties either
            worth = partial(value_with_rest, value, row, pair)
            few = shapley_by_definition(worth, row[:4], background[:, :4])
            assert_allclose(mixed.contributions[:4], few, atol=1e-8)


def with_rest(rows, row):
    """Rows of the first columns, with the others as a row has them."""
    return np.column_stack([rows, np.tile(row[4:], (len(rows), 1))])


def value_with_rest(value, row, pair, rows):
    return value(with_rest(rows, row), *pair)


def test_what_is_sampled_says_its_error():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 14))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.5, 0.5])
    model = fit_machine(make_machine("svc"), X, y)
    draws = [explain(model, X[:1], random_state=seed)[0] for seed in range(12)]
    said = [float(one.method.rpartition("at most ")[2].rstrip(")")) for one in draws]
    spread = np.std([one.contributions for one in draws], axis=0).max()
    assert 0.3 * np.mean(said) < spread < 2.0 * np.mean(said)
    assert_adds_up(draws)


def test_many_columns_are_sampled_by_a_fixed_seed_and_still_add_up():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 20))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    model = fit_machine(make_machine("svc", {"kernel": "poly"}), X, y)
    found, again = explain(model, X[:2]), explain(model, X[:2])
    assert_adds_up(found)
    assert "approximated by 64 orders" in found[0].method
    assert_allclose(found[0].contributions, again[0].contributions, atol=0)


def test_categories_and_missing_values_are_one_column_each(table):
    X, y, _ = table
    for machine in ("svc", "naive-bayes", "tan"):
        found = explain(fit_machine(make_machine(machine), X, y), X[:20])
        assert_adds_up(found)
        assert found[0].names == ("age", "sex", "income")
        assert found[0].values[0] is None
        assert "age = missing" in found[0].sentence() or found[0].contributions[0] == 0
        assert found[1].values == tuple(X.iloc[1].tolist())


def test_columns_of_a_table_may_come_in_any_order(table):
    X, y, _ = table
    for machine in ("svc", "naive-bayes"):
        model = fit_machine(make_machine(machine), X, y)
        turned = explain_rows(model, X[["income", "sex", "age"]][:5])
        assert turned == explain_rows(model, X[:5])


def test_plain_machines_name_the_columns_of_any_table(numbers):
    X, y = numbers[:2]
    names = [f"column {j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    model = IncrementalSVC(kernel="linear").partial_fit(frame, y)
    told = explain_rows(model, frame[:3])
    assert "column 0 = " in told[0]
    assert explain_rows(model, pa.Table.from_pandas(frame)[:3]) == told


def test_bayesian_classifiers_tell_their_own_log_odds(table):
    X, y, _ = table
    model = fit_machine(make_machine("naive-bayes"), X, y)
    found, odds = explain(model, X), model.predict_log_proba(X)
    own = np.abs(odds[:, 1] - odds[:, 0])
    assert_allclose([one.value for one in found], own, rtol=1e-9, atol=1e-9)
    assert [one.label for one in found] == model.predict(X).tolist()


def test_sparse_rows_are_explained_like_dense_ones():
    X = np.abs(np.random.default_rng(0).normal(size=(40, 4)))
    y = (X[:, 0] > X[:, 1]).astype(int)
    model = fit_machine(make_machine("svc"), sp.csr_array(X), y)
    found = explain(model, sp.csr_array(X))
    assert_adds_up(found)
    assert found[0].names[0] == "feature 1"
    assert sum(one.rank(1)[0] in (0, 1) for one in found) > 30


def test_machines_with_probabilities_tell_odds(numbers):
    X, y = numbers
    for machine in (LogisticRegression(), RandomForestClassifier(20, random_state=0)):
        model = make_pipeline(TableEncoder(), machine)
        model.steps[0] = ("table", model.steps[0][1])
        model.fit(X, y)
        found = explain(model, X[:4])
        assert_adds_up(found)
        assert found[0].unit == "log-odds"
        assert " to " in found[0].sentence()
    linear = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    one = explain(linear, X[:1], background=X)[0]
    centre = linear[:-1].transform(X[:1])[0] * linear[-1].coef_[0]  # the background's mean is 0
    assert_allclose(np.abs(one.contributions), np.abs(centre), atol=1e-8)


def test_a_plain_machine_is_held_against_its_support_vectors_or_a_background(numbers):
    X, y = numbers
    scaled = StandardScaler().fit_transform(X)
    assert_adds_up(explain(SVC().fit(scaled, y), scaled[:3]))
    with pytest.raises(ValueError, match="pass background="):
        explain(LogisticRegression().fit(scaled, y), scaled[:3])
    with pytest.raises(ValueError, match="columns of numbers"):
        explain(SVC().fit(scaled, y), [["a", "b", "c", "d"]])


@pytest.mark.parametrize("machine", ["svc", "svc-linear", "naive-bayes", "logistic-regression"])
@pytest.mark.parametrize(
    "params",
    [
        {"calibration": "always"},
        {"threshold": 0.1},
        {"threshold": 0.1, "calibration": "always"},
        {"threshold": "f1"},
        {"threshold": "cost", "costs": {("ill", "well"): 9}},
        {"costs": {("ill", "well"): 9}},
    ],
    ids=str,
)
def test_curves_and_thresholds_around_a_machine_are_explained(table, machine, params):
    X, y, _ = table
    settings = {"kernel": "linear"} if machine == "svc-linear" else None
    inner = make_machine(machine.removesuffix("-linear"), settings)
    model = DecisionClassifier(inner, **params).fit(X, y)
    found = explain(model, X)
    assert_adds_up(found)
    chances = model.predict_proba(X)
    odds = np.log(chances[:, 1] / chances[:, 0])
    sign = np.where(model.predict(X) == model.classes_[1], 1.0, -1.0)
    assert [one.label for one in found] == model.predict(X).tolist()
    assert_allclose([one.value for one in found], sign * odds, rtol=1e-6, atol=1e-6)
    for one in found:  # an answer that is the less likely one says why
        assert (one.value < -1e-9) == ("by the model's threshold or costs" in one.sentence())
    assert {one.unit for one in found} == {"log-odds"}
    assert "exact" in found[0].method
    assert_allclose(explain(model, X[:1])[0].contributions, found[0].contributions, atol=1e-6)
    if params.get("threshold") == 0.1:
        assert any(one.value < 0 for one in found)
        assert any(", 1 to " in one.sentence() for one in found)


@pytest.mark.parametrize(
    ("machine", "has_costs", "margins"),
    [
        ("svc", False, "never"), ("svc", True, "never"), ("svc", True, "always"),
        ("naive-bayes", False, "never"), ("naive-bayes", True, "never"),
        ("random-forest", True, "never"),
    ],
)  # fmt: skip
def test_decisions_between_several_classes_are_explained(numbers, machine, has_costs, margins):
    X, y = numbers
    several = np.where(X[:, 3] > 3.8, "maybe", y)
    costs = [[0, 1, 2], [5, 0, 1], [1, 9, 0]] if has_costs else None
    model = DecisionClassifier(
        make_machine(machine), costs=costs, margins=margins, calibration="always"
    ).fit(X, several)
    assert (model.rule_ == "margins") == (margins == "always")
    found = explain(model, X[:10])
    assert_adds_up(found)
    classes, chances = model.classes_.tolist(), np.log(np.maximum(model.predict_proba(X), 1e-12))
    assert [one.label for one in found] == model.predict(X[:10]).tolist()
    for one, logs in zip(found, chances, strict=False):
        own = logs[classes.index(one.label)] - logs[classes.index(one.against)]
        assert_allclose(one.value, own, rtol=1e-6, atol=1e-6)


def test_decisions_of_a_machine_that_moves_are_those_at_the_time(numbers):
    X, y = numbers
    times = np.arange(80)
    model = DecisionClassifier(make_machine("adaptive-svc"), threshold=0.2)
    model = fit_machine(model, X, y, times=times)
    found = explain(model, X[:20], times=times[:20])
    assert_adds_up(found)
    assert [one.label for one in found] == model.predict(X[:20], times=times[:20]).tolist()
    assert any(one.value < 0 for one in found)


def test_machines_of_several_folds_are_explained_together(numbers):
    X, y = numbers
    model = CalibratedClassifierCV(SVC(), cv=3).fit(X, y)
    chances = model.predict_proba(X[:3])
    odds = np.abs(np.log(chances[:, 1] / chances[:, 0]))
    found = explain(model, X[:3], background=X[:9])
    assert_adds_up(found)
    assert_allclose([one.value for one in found], odds, rtol=1e-6)


def test_times_are_those_of_the_row(numbers):
    X, y = numbers
    times = np.arange(80)
    model = fit_machine(make_machine("adaptive-svc"), X, y, times=times)
    assert_adds_up(explain(model, X[5:8], times=times[5:8]))


# -- words ------------------------------------------------------------------------------------


def test_sentences_carry_values_and_odds(table):
    X, y, _ = table
    sentence = explain_rows(fit_machine(make_machine("naive-bayes"), X, y), X)[1]
    row = X.iloc[1]
    assert f"age = {row['age']:g}" in sentence
    assert f"sex = {row['sex']}" in sentence
    assert "(odds ×" in sentence
    head = sentence.split(" (")[0]
    assert head.startswith(("ill, ", "well, "))
    assert " to 1" in head


def test_what_is_not_named_is_summed_up(table):
    X, _, prices = table
    found = explain(fit_machine(make_machine("svr"), X, prices), X)[1]
    sentence = found.sentence(1)
    assert sentence.startswith(f"{write_plain(found.value)} (before: ")
    assert "2 other columns together" in sentence
    assert write_signed(found.sum_others(found.rank(1))) in sentence
    assert "e+" not in sentence
    assert "it by" in sentence


def test_machines_without_probabilities_tell_decision_values(numbers):
    X, y = numbers
    sentences = explain_rows(fit_machine(make_machine("svc"), X, y), X[:5])
    assert all("decision value +" in sentence for sentence in sentences)
    several = np.digitize(X[:, 3], [2.5, 3.5])
    sentences = explain_rows(fit_machine(make_machine("svc"), X, several), X)
    assert {sentence.partition(" ")[0] for sentence in sentences} == {"0", "1", "2"}
    assert all(" rather than " in sentence for sentence in sentences)


def test_an_explanation_is_plain_values_too(table):
    X, y, _ = table
    found = explain(fit_machine(make_machine("tan"), X, y), X[:1])[0].to_dict()
    assert found["columns"][0] == {
        "name": "age", "value": None, "contribution": found["columns"][0]["contribution"],
    }  # fmt: skip
    assert found["sentence"]
    assert found["unit"] == "log-odds"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (312_412.0, "312,412"), (1_234.5, "1234"), (0.000123, "0.000123"), (12.3456, "12.3"),
        (0.0, "0"), (-5.0, "−5"), (99.96, "100"), (1e-20, "0"), (float("nan"), "—"),
    ],
)  # fmt: skip
def test_numbers_have_no_exponents(value, text):
    assert write_plain(value) == text


def test_odds_are_said_as_people_bet():
    assert write_odds(math.log(4)) == "4 to 1"
    assert write_odds(-math.log(3)) == "1 to 3"
    assert write_odds(0.0) == "1 to 1"
    assert write_odds(math.log(1.53)) == "1.5 to 1"
    assert write_odds(50.0) == "over 1,000,000 to 1"
    assert write_factor(math.log(2.31)) == "2.3"
    assert (write_factor(800.0), write_factor(-800.0)) == (">1,000,000", "<0.000001")
