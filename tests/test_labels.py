"""Labels as users pass them: missing ones are named by their row, known ones get their codes."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from lindero.svm import SVC, SVCCV, AdaptiveSVC, CostSensitiveSVC, IncrementalSVC, NuSVC
from lindero.validation import (
    encode_known_labels,
    encode_labels,
    find_missing,
    read_declared_classes,
    require_labels,
)

TEXT = ["ill", "fine", "ill", "fine", "ill", "fine"]


# -- missing labels -------------------------------------------------------------------------------

#: Row 3 of each has no label.
WITH_A_GAP = {
    "list with None": [*TEXT[:3], None, *TEXT[4:]],
    "list with NaN": [*TEXT[:3], float("nan"), *TEXT[4:]],
    "objects with None": np.array([*TEXT[:3], None, *TEXT[4:]], dtype=object),
    "objects with NaN": np.array([*TEXT[:3], np.nan, *TEXT[4:]], dtype=object),
    "objects with NA": np.array([*TEXT[:3], pd.NA, *TEXT[4:]], dtype=object),
    "objects with NaT": np.array([*TEXT[:3], pd.NaT, *TEXT[4:]], dtype=object),
    "column": np.array([*TEXT[:3], None, *TEXT[4:]], dtype=object)[:, None],
    "series": pd.Series([*TEXT[:3], None, *TEXT[4:]]),
    "series of text": pd.Series([*TEXT[:3], None, *TEXT[4:]], dtype="string"),
    "categories": pd.Series([*TEXT[:3], None, *TEXT[4:]], dtype="category"),
    "floats": np.array([0.0, 1.0, 0.0, np.nan, 0.0, 1.0]),
    "integers of pandas": pd.Series([0, 1, 0, None, 0, 1], dtype="Int64"),
    "numbers and None": [0, 1, 0, None, 0, 1],
}


@pytest.mark.parametrize("y", WITH_A_GAP.values(), ids=WITH_A_GAP)
def test_the_row_without_a_label_is_named(y):
    with pytest.raises(ValueError, match=r"y has no label in row 3: .*Input y contains NaN"):
        require_labels(y)


@pytest.mark.parametrize(
    "y",
    [
        TEXT,
        np.array(TEXT),
        np.array(TEXT, dtype=object),
        pd.Series(TEXT, dtype="string"),
        pd.Series(TEXT, dtype="category"),
        ["nan", "None", "NaN"],
        np.array(["nan", "None"]),
        [1, "a"],
        [True, False],
        np.array([0.0, 1.0]),
        None,
        [[1, 2], [3]],
        np.zeros((3, 2)),
        "text",
    ],
    ids=str,
)
def test_whole_labels_pass_and_what_is_no_vector_is_left_to_later_checks(y):
    require_labels(y)


@pytest.mark.parametrize(
    "machine", [SVC, NuSVC, CostSensitiveSVC, IncrementalSVC, AdaptiveSVC, SVCCV]
)
@pytest.mark.parametrize("gap", ["list with NaN", "objects with None", "series of text"])
def test_every_classifier_names_the_row_without_a_label(machine, gap):
    X = np.random.default_rng(0).normal(size=(6, 2))
    with pytest.raises(ValueError, match="y has no label in row 3"):
        machine().fit(X, WITH_A_GAP[gap])


@pytest.mark.parametrize("machine", [IncrementalSVC, AdaptiveSVC])
@pytest.mark.parametrize("gap", ["list with NaN", "objects with None", "series of text"])
def test_a_label_that_is_missing_later_changes_nothing(machine, gap):
    X = np.random.default_rng(0).normal(size=(6, 2))
    model = machine().fit(X, TEXT)
    with pytest.raises(ValueError, match="y has no label in row 3"):
        model.partial_fit(X, WITH_A_GAP[gap])
    assert model.shape_fit_[0] == 6
    assert model.classes_.tolist() == ["fine", "ill"]


def test_a_label_cannot_be_replaced_by_none():
    X = np.random.default_rng(0).normal(size=(6, 2))
    model = IncrementalSVC().fit(X, TEXT)
    with pytest.raises(ValueError, match="y has no label in row 1"):
        model.replace([0, 2], y=["ill", None])


@pytest.mark.parametrize("machine", [SVC, CostSensitiveSVC, IncrementalSVC, AdaptiveSVC])
def test_text_among_numbers_is_refused_by_row(machine):
    X = np.random.default_rng(0).normal(size=(4, 2))
    with pytest.raises(ValueError, match=r"y mixes text.*row 2 holds 'a', row 0 holds 1"):
        machine().fit(X, np.array([1, 1, "a", "a"], dtype=object))


def test_arrays_among_labels_are_not_missing():
    odd = np.empty(2, dtype=object)
    odd[:] = [np.arange(2), None]
    assert_array_equal(find_missing(odd), [False, True])


@pytest.mark.parametrize("classes", [["a", None], ["a", np.nan], np.array([0.0, np.nan])])
def test_classes_are_labels_too(classes):
    with pytest.raises(ValueError, match=r"classes=\[.*missing value"):
        read_declared_classes(classes)


# -- codes of labels ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [str, object])
@pytest.mark.parametrize("known", [str, object])
def test_the_same_text_has_the_same_code_in_any_array(kind, known):
    classes = np.array(["fine", "ill"], dtype=known)
    assert_array_equal(encode_labels(np.array(TEXT, dtype=kind), classes, ""), [1, 0, 1, 0, 1, 0])


@pytest.mark.parametrize("y", [[True, False], [1.0, 0.0], np.array([1, 0], dtype=object)])
def test_the_same_number_has_the_same_code_in_any_array(y):
    assert_array_equal(encode_labels(np.asarray(y), np.array([0, 1]), ""), [1, 0])


@pytest.mark.parametrize("kind", [str, object])
def test_an_unknown_label_is_named_with_its_row_and_what_to_do(kind):
    y = np.array(["fine", "worse", "zzz"], dtype=kind)
    with pytest.raises(ValueError, match=r"label 'worse' in row 1.*\['fine', 'ill'\]\. Do this\."):
        encode_labels(y, np.array(["fine", "ill"], dtype=object), "Do this.")


def test_text_for_numbers_is_refused_and_only_that():
    with pytest.raises(ValueError, match=r"labels like '0'.*like 0: text and numbers"):
        encode_labels(np.array(["0", "1"], dtype=object), np.array([0, 1]), "")
    with pytest.raises(ValueError, match=r"labels like 0.*like 'a': text and numbers"):
        encode_labels(np.array([0, 1]), np.array(["a", "b"], dtype=object), "")


def test_labels_of_a_fitted_model_may_come_in_another_array():
    classes = np.array(["fine", "ill"])
    assert_array_equal(
        encode_known_labels(pd.Series(TEXT, dtype="category"), classes), [1, 0, 1, 0, 1, 0]
    )
    with pytest.raises(ValueError, match="y has no label in row 3"):
        encode_known_labels(WITH_A_GAP["series"], classes)


def test_dates_and_numbers_are_not_mixed():
    X, dates = np.arange(4.0)[:, None], np.array(["2024-01-01"] * 4, dtype="datetime64[s]")
    machine = IncrementalSVC().partial_fit(X, dates)
    with pytest.raises(ValueError, match="numbers and dates cannot be mixed"):
        machine.partial_fit(X, [0, 1, 0, 1])
