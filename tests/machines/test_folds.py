"""Folds: classes in equal shares, queries together, and never the future."""

import numpy as np
import pytest

from lindero.machines import MACHINES
from lindero.machines.folds import forward_folds, splits_for


def test_every_row_is_judged_once_and_classes_keep_their_shares():
    y = np.array([0] * 40 + [1] * 10)
    splits = splits_for(MACHINES["svc"], 50, y, folds=5)
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(50))
    assert all((y[test] == 1).sum() == 2 for _, test in splits)


def test_rows_of_a_query_stay_together():
    qid = np.repeat(np.arange(10), 3)
    for train, test in splits_for(MACHINES["rank-svm"], 30, None, qid=qid, folds=5):
        assert set(qid[train]) & set(qid[test]) == set()


@pytest.mark.parametrize("name", ["svc", "adaptive-svc"])
def test_with_times_the_future_is_judged_by_the_past(name):
    times = np.random.default_rng(0).permutation(30)
    splits = splits_for(MACHINES[name], 30, np.arange(30) % 2, times=times, folds=4)
    assert len(splits) == 4
    assert all(times[train].max() < times[test].min() for train, test in splits)


def test_too_little_for_the_folds_is_said():
    with pytest.raises(ValueError, match="3 queries, too few for 5 folds"):
        splits_for(MACHINES["rank-svm"], 9, None, qid=np.repeat([1, 2, 3], 3))
    with pytest.raises(ValueError, match="2 rows of any class"):
        splits_for(MACHINES["svc"], 6, np.array([0, 0, 1, 1, 2, 2]))


def test_time_folds_never_train_on_the_future():
    random = np.random.default_rng(0)
    times = random.permutation(np.repeat(np.arange(30), 3))
    y = random.integers(0, 2, size=90)
    splits, notes = forward_folds(times, 5, y)
    assert (len(splits), notes) == (5, [])
    for train, test in splits:
        assert times[train].max() < times[test].min()
    tested = np.concatenate([test for _, test in splits])
    assert len(set(tested)) == len(tested)
    assert times[tested].max() == 29


def test_time_folds_without_two_classes_to_learn_from_are_left_out():
    y = np.array([0] * 60 + [0, 1] * 15)
    splits, notes = forward_folds(np.arange(90), 5, y)
    assert len(splits) == 1
    assert "1 fold along time instead of 5" in notes[0]
    with pytest.raises(ValueError, match="No fold can be made along time"):
        forward_folds(np.zeros(90), 5, y)


@pytest.mark.parametrize("name", ["svc", "svr", "adaptive-svc"])
def test_rows_of_one_time_are_on_one_side_and_fewer_folds_are_told_of(name):
    times = np.repeat([2024, 2025, 2026], 20)
    with pytest.warns(UserWarning, match="2 folds along time instead of 5: rows of one time stay"):
        splits = splits_for(MACHINES[name], 60, np.arange(60) % 2, times=times)
    assert [set(times[test].tolist()) for _, test in splits] == [{2025}, {2026}]
    assert [set(times[train].tolist()) for train, _ in splits] == [{2024}, {2024, 2025}]
