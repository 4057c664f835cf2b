"""Folds: classes in equal shares, queries together, and never the future."""

import warnings

import numpy as np
import pandas as pd
import pytest

from lindero.evaluation import MACHINES, compare, cross_validate, tune
from lindero.evaluation.folds import (
    make_class_folds,
    make_forward_folds,
    make_inner_folds,
    make_number_folds,
    make_splits,
    sample_rows,
)


def test_every_row_is_judged_once_and_classes_keep_their_shares():
    y = np.array([0] * 40 + [1] * 10)
    splits = make_splits(MACHINES["svc"], 50, y, folds=5)
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(50))
    assert all((y[test] == 1).sum() == 2 for _, test in splits)


def test_rows_of_a_query_stay_together():
    qid = np.repeat(np.arange(10), 3)
    for train, test in make_splits(MACHINES["rank-svm"], 30, None, qid=qid, folds=5):
        assert set(qid[train]) & set(qid[test]) == set()


@pytest.mark.parametrize("name", ["svc", "adaptive-svc"])
def test_with_times_the_future_is_judged_by_the_past(name):
    times = np.random.default_rng(0).permutation(30)
    splits = make_splits(MACHINES[name], 30, np.arange(30) % 2, times=times, folds=4)
    assert len(splits) == 4
    assert all(times[train].max() < times[test].min() for train, test in splits)


def test_too_little_for_the_folds_is_said():
    with pytest.raises(ValueError, match="3 queries, too few for 5 folds"):
        make_splits(MACHINES["rank-svm"], 9, None, qid=np.repeat([1, 2, 3], 3))
    with pytest.raises(ValueError, match="2 rows of any class"):
        make_splits(MACHINES["svc"], 6, np.array([0, 0, 1, 1, 2, 2]))


def test_time_folds_never_train_on_the_future():
    random = np.random.default_rng(0)
    times = random.permutation(np.repeat(np.arange(30), 3))
    y = random.integers(0, 2, size=90)
    splits, notes = make_forward_folds(times, 5, y)
    assert (len(splits), notes) == (5, [])
    for train, test in splits:
        assert times[train].max() < times[test].min()
    tested = np.concatenate([test for _, test in splits])
    assert len(set(tested)) == len(tested)
    assert times[tested].max() == 29


def test_time_folds_without_two_classes_to_learn_from_are_left_out():
    y = np.array([0] * 60 + [0, 1] * 15)
    splits, notes = make_forward_folds(np.arange(90), 5, y)
    assert len(splits) == 1
    assert "1 fold along time instead of 5" in notes[0]
    with pytest.raises(ValueError, match="No fold can be made along time"):
        make_forward_folds(np.zeros(90), 5, y)


@pytest.mark.parametrize("name", ["svc", "svr", "adaptive-svc"])
def test_rows_of_one_time_are_on_one_side_and_fewer_folds_are_told_of(name):
    times = np.repeat([2024, 2025, 2026], 20)
    with pytest.warns(UserWarning, match="2 folds along time instead of 5: rows of one time stay"):
        splits = make_splits(MACHINES[name], 60, np.arange(60) % 2, times=times)
    assert [set(times[test].tolist()) for _, test in splits] == [{2025}, {2026}]
    assert [set(times[train].tolist()) for train, _ in splits] == [{2024}, {2024, 2025}]


# -- folds of a comparison ------------------------------------------------------------------------


def test_every_row_is_tested_once_a_round_and_classes_keep_their_shares():
    y = np.repeat(["a", "b"], [30, 60])
    splits, notes = make_class_folds(y, 5, 2, 0)
    assert notes == []
    assert len(splits) == 10
    for first in (0, 5):
        tested = np.concatenate([test for _, test in splits[first : first + 5]])
        assert sorted(tested) == list(range(90))
    assert {(y[test] == "a").sum() for _, test in splits} == {6}
    assert all(set(train) | set(test) == set(range(90)) for train, test in splits)
    assert all(not set(train) & set(test) for train, test in splits)


def test_rounds_differ_and_seeds_repeat():
    y = np.arange(60) % 2
    splits, _ = make_class_folds(y, 3, 2, 7)
    again, _ = make_class_folds(y, 3, 2, 7)
    assert all((one[1] == other[1]).all() for one, other in zip(splits, again, strict=True))
    assert any((splits[k][1] != splits[k + 3][1]).any() for k in range(3))


def test_a_rare_class_reduces_the_folds_and_is_named():
    y = np.array(["common"] * 40 + ["rare"] * 3)
    splits, notes = make_class_folds(y, 5, 1, 0)
    assert len(splits) == 3
    assert notes == ["3 folds instead of 5: class 'rare' has 3 rows only."]


def test_a_class_of_one_row_does_not_take_the_folds_away():
    y = np.array(["a"] * 20 + ["b"] * 20 + ["single"])
    splits, notes = make_class_folds(y, 4, 1, 0)
    assert len(splits) == 4
    assert len(notes) == 1
    assert "class 'single' has one row only" in notes[0]


def test_names_of_rows_are_no_classes():
    with pytest.raises(ValueError, match=r"has one row only.*task='regression'"):
        make_class_folds(np.arange(20), 5, 1, 0)


def test_numbers_fewer_than_folds():
    splits, notes = make_number_folds(np.arange(3.0), 5, 1, 0)
    assert len(splits) == 3
    assert "3 folds instead of 5" in notes[0]


def test_inner_folds_along_time_know_all_classes_or_shuffle_the_past():
    late = np.array([0, 1] * 30 + [2] * 10)
    for train, _ in make_inner_folds(late, np.arange(70), 3, True, 0):
        assert set(late[train]) == {0, 1, 2}


def test_samples_keep_shares_and_order():
    y = np.repeat([0, 1, 2], [1000, 100, 3])
    some = sample_rows(y, 200, True, 0)
    assert (np.diff(some) > 0).all()
    counts = np.bincount(y[some])
    assert counts[2] == 2
    assert counts[0] / counts[1] == pytest.approx(10, rel=0.1)
    assert len(sample_rows(y, 5000, True, 0)) == len(y)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("day", np.datetime64("2024-01-01") + np.arange(60) // 2),
        ("year", 1950 + np.arange(60)),
        ("model_year", 1970 + np.arange(60) // 6),
        ("meter", 7 * np.arange(60) ** 2),
        ("day", np.datetime64("2024-01-01") - np.arange(60)),
    ],
)
def test_rows_in_the_order_of_time_are_warned_of_once(name, values):
    random = np.random.default_rng(0)
    X = pd.DataFrame({name: values, "a": random.normal(size=60)})
    y = np.arange(60) % 2
    words = rf"in the order of column '{name}'.*--time {name}"
    runs = {
        "compare": lambda X, **k: compare(X, y, machines=["baseline"], folds=2, **k),
        "cv": lambda X, **k: cross_validate("svc", X[["a", name]], y, folds=2, **k),
        "tune": lambda X, **k: tune("svc", X[["a", name]], y, grid={"C": [1, 2]}, folds=2, **k),
    }
    if X[name].dtype.kind == "M":  # files have made numbers of dates
        days = (X[name] - X[name].min()).dt.days.astype(float)
        runs["cv"] = lambda X, **k: cross_validate(
            "svc", pd.DataFrame({f"{name} days": days}), y, **k
        )
        del runs["tune"]
    for run in runs.values():
        with pytest.warns(UserWarning, match=words) as caught:
            run(X)
        assert len([one for one in caught if "in the order" in str(one.message)]) == 1
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*in the order")
            run(X, times=np.arange(60))


@pytest.mark.parametrize("target", ["numbers", "classes"])
def test_a_target_that_follows_the_order_of_the_rows_is_said(target):
    """A table sorted by price, with a column that counts upwards, tells each price by its place."""
    X = pd.DataFrame({"place": 3 * np.arange(60) ** 2, "a": np.random.default_rng(0).random(60)})
    y = np.arange(60.0) ** 2 if target == "numbers" else np.where(np.arange(60) < 30, "a", "b")
    with pytest.warns(UserWarning, match="target follows that order.*leave it out"):
        compare(X, y, machines=["baseline"], folds=2)
    with pytest.warns(UserWarning, match=r"in the order") as caught:
        compare(X, np.arange(60) % 2, machines=["baseline"], folds=2)
    assert not any("follows" in str(one.message) for one in caught)


def test_rows_in_no_order_are_not_warned_of():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": np.sort(random.normal(size=60)), "n": np.arange(60) // 2})
    X["day"] = np.datetime64("2024-01-01") + random.permutation(60)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*in the order")
        compare(X, np.arange(60) % 2, machines=["baseline"], folds=2)
