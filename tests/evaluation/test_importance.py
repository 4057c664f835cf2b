"""Columns that a machine needs."""

import time

import numpy as np
import pandas as pd
import pytest

from lindero.evaluation import compare, fit_machine, make_machine, measure_importance
from lindero.evaluation.importance import measure_recommended

rng = np.random.default_rng(0)
X = pd.DataFrame(
    {"noise": rng.normal(size=200), "colour": rng.choice(["red", "blue"], 200),
     "size": rng.normal(size=200)},
    index=np.arange(500, 700),
)  # fmt: skip
Y = np.where(X["size"] + (X["colour"] == "red") > 0.5, "yes", "no")


def test_shuffled_columns_that_matter_cost_most():
    model = fit_machine(make_machine("svc"), X[:120], Y[:120])
    found = measure_importance(model, X[120:], Y[120:])
    assert found.names == ("noise", "colour", "size")
    assert found.rank() == [2, 1, 0]
    assert abs(found.means[0]) < 0.1 < found.means[2]


def test_it_is_what_shuffling_does():
    model = fit_machine(make_machine("naive-bayes"), X[:120], Y[:120])
    tested, y = X[120:], Y[120:]
    found = measure_importance(model, tested, y, random_state=3)
    base = (model.predict(tested) != y).mean()
    sample = np.random.default_rng(3)
    losses = []
    for _ in range(found.n_shuffles):
        changed = tested.copy()
        changed["noise"] = changed["noise"].to_numpy()[sample.permutation(80)]
        losses.append((model.predict(changed) != y).mean() - base)
    assert found.means[0] == pytest.approx(np.mean(losses))


@pytest.mark.parametrize("measure", ["log_loss", "roc_auc", "error"])
def test_measures_of_either_direction(measure):
    model = fit_machine(make_machine("tan"), X[:120], Y[:120])
    found = measure_importance(model, X[120:], Y[120:], measure=measure)
    assert found.measure == measure
    assert found.means[2] > 0


def test_machines_without_probabilities_are_judged_by_answers():
    model = fit_machine(make_machine("svc"), X[:120], Y[:120])
    if not hasattr(model, "predict_proba"):
        assert measure_importance(model, X[120:], Y[120:], measure="log_loss").measure == "error"


def test_numbers_and_arrays():
    table = rng.normal(size=(100, 3))
    model = fit_machine(make_machine("svr"), table[:70], table[:70, 1])
    found = measure_importance(model, table[70:], table[70:, 1], measure="rmse")
    assert found.rank(1) == [1]


def test_time_is_bounded():
    class Slow:
        classes_ = np.array(["no", "yes"])

        def predict(self, X):
            time.sleep(0.05)
            return np.full(len(X), "no")

    begun = time.perf_counter()
    found = measure_importance(Slow(), np.zeros((10, 200)), ["no"] * 10, seconds=0.5)
    assert time.perf_counter() - begun < 3
    assert np.isnan(found.means).any()
    assert len(found.rank()) < 200


def test_the_recommended_machine_is_fitted_once_more():
    result = compare(X, Y, machines=["naive-bayes"], folds=2)
    found = measure_recommended(result, X, Y)
    assert found.rank(1) == [2]
    assert found.n_rows == 200  # few rows: each in turn
    assert len(found.list_examples()) == 2
