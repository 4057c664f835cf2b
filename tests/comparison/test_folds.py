"""Folds: the same shares of classes, never the future, and few rows told of."""

import numpy as np
import pytest

from lindero.comparison.folds import class_folds, inner_folds, number_folds, sample_of


def test_every_row_is_tested_once_a_round_and_classes_keep_their_shares():
    y = np.repeat(["a", "b"], [30, 60])
    splits, notes = class_folds(y, 5, 2, 0)
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
    splits, _ = class_folds(y, 3, 2, 7)
    again, _ = class_folds(y, 3, 2, 7)
    assert all((one[1] == other[1]).all() for one, other in zip(splits, again, strict=True))
    assert any((splits[k][1] != splits[k + 3][1]).any() for k in range(3))


def test_a_rare_class_reduces_the_folds_and_is_named():
    y = np.array(["common"] * 40 + ["rare"] * 3)
    splits, notes = class_folds(y, 5, 1, 0)
    assert len(splits) == 3
    assert notes == ["3 folds instead of 5: class 'rare' has 3 rows only."]


def test_a_class_of_one_row_does_not_take_the_folds_away():
    y = np.array(["a"] * 20 + ["b"] * 20 + ["single"])
    splits, notes = class_folds(y, 4, 1, 0)
    assert len(splits) == 4
    assert len(notes) == 1
    assert "class 'single' has one row only" in notes[0]


def test_names_of_rows_are_no_classes():
    with pytest.raises(ValueError, match=r"has one row only.*task='regression'"):
        class_folds(np.arange(20), 5, 1, 0)


def test_numbers_fewer_than_folds():
    splits, notes = number_folds(np.arange(3.0), 5, 1, 0)
    assert len(splits) == 3
    assert "3 folds instead of 5" in notes[0]


def test_inner_folds_along_time_know_all_classes_or_shuffle_the_past():
    late = np.array([0, 1] * 30 + [2] * 10)
    for train, _ in inner_folds(late, np.arange(70), 3, 3, 0):
        assert set(late[train]) == {0, 1, 2}


def test_samples_keep_shares_and_order():
    y = np.repeat([0, 1, 2], [1000, 100, 3])
    some = sample_of(y, 200, True, 0)
    assert (np.diff(some) > 0).all()
    counts = np.bincount(y[some])
    assert counts[2] == 2
    assert counts[0] / counts[1] == pytest.approx(10, rel=0.1)
    assert len(sample_of(y, 5000, True, 0)) == len(y)
