"""Callable kernels over text, sequences and other objects."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV, cross_val_score

from lindero import persist
from lindero.svm import (
    SVC,
    SVCCV,
    SVR,
    AdaptiveSVC,
    IncrementalSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    calibrate,
)

WORDS = ["aab", "aba", "aaaa", "abaa", "bbc", "cbb", "cc", "bcbc", "ccb", "baa", "caa", "bbbb"]
LABELS = ["a"] * 4 + ["c"] * 5 + ["a", "a", "c"]


def count(words):
    return np.array([[word.count(letter) for letter in "abc"] for word in words], dtype=float)


def text_kernel(left, right):
    assert all(isinstance(word, str) for word in (*left, *right))
    return count(left) @ count(right).T


@pytest.mark.parametrize("given", [list, np.array, tuple, lambda w: np.array(w, dtype=object)])
@pytest.mark.parametrize("machine", [SVC, NuSVC])
def test_classifiers_of_text_are_those_of_its_counts(machine, given):
    model = machine(kernel=text_kernel).fit(given(WORDS), LABELS)
    twin = machine(kernel="linear", **({"solver": "working_set"} if machine is SVC else {}))
    twin.fit(count(WORDS), LABELS)
    new = ["abcabc", "ccc", "a"]
    assert_array_equal(model.predict(new), twin.predict(count(new)))
    assert_allclose(model.decision_function(new), twin.decision_function(count(new)), atol=1e-3)
    assert_array_equal(model.support_, twin.support_)
    assert list(model.support_vectors_) == [WORDS[i] for i in model.support_]
    assert model.shape_fit_ == (len(WORDS),)
    assert not hasattr(model, "n_features_in_")
    assert model.certify(given(WORDS), LABELS).kkt_gap <= 1e-3
    assert model.score(WORDS, LABELS) > 0.8


@pytest.mark.parametrize("machine", [SVR, NuSVR])
def test_regression_of_text(machine):
    y = count(WORDS) @ [1.0, -2.0, 0.5]
    model = machine(kernel=text_kernel, C=100).fit(WORDS, y)
    twin = machine(kernel="linear", C=100).fit(count(WORDS), y)
    assert_allclose(model.predict(["abc"]), twin.predict(count(["abc"])), atol=1e-2)


def test_novelty_of_text():
    model = OneClassSVM(kernel=text_kernel, nu=0.3).fit(WORDS)
    twin = OneClassSVM(kernel="linear", nu=0.3).fit(count(WORDS))
    assert_array_equal(model.predict(WORDS), twin.predict(count(WORDS)))


def test_several_classes_probabilities_and_searches():
    labels = [word[0] for word in WORDS]
    with pytest.warns(FutureWarning, match="calibrate"):
        model = SVC(kernel=text_kernel, probability=True).fit(WORDS * 3, labels * 3)
    shares = model.predict_proba(WORDS)
    assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(WORDS))
    assert cross_val_score(SVC(kernel=text_kernel), WORDS * 3, labels * 3, cv=3).mean() > 0.5
    grid = GridSearchCV(SVC(kernel=text_kernel), {"C": [0.1, 1.0]}, cv=3).fit(WORDS, LABELS)
    search = SVCCV(kernel=text_kernel, Cs=[0.1, 1.0], cv=3).fit(WORDS, LABELS)
    assert search.best_score_ == grid.best_score_
    assert_array_equal(search.predict(WORDS), grid.predict(WORDS))
    assert calibrate(SVC(kernel=text_kernel), cv=2).fit(WORDS, LABELS).predict(["aaa"]) == ["a"]


def test_objects_that_are_neither_text_nor_numbers():
    sets = [frozenset(word) for word in WORDS]

    def overlap(left, right):
        return np.array([[len(a & b) for b in right] for a in left])

    assert SVC(kernel=overlap).fit(sets, LABELS).score(sets, LABELS) > 0.7
    signals = [np.arange(3.0), np.arange(5.0), -np.arange(4.0), -np.arange(2.0)]

    def compare_sums(left, right):
        return np.outer([part.sum() for part in left], [part.sum() for part in right])

    model = SVC(kernel=compare_sums).fit(signals, [1, 1, 0, 0])
    assert_array_equal(model.predict([np.ones(7), -np.ones(2)]), [1, 0])


def test_a_table_of_numbers_is_still_checked_as_one():
    model = SVC(kernel=lambda a, b: a @ b.T).fit([[0.0, 1], [1, 0]], [0, 1])
    assert model.n_features_in_ == 2
    with pytest.raises(ValueError, match="2 features"):
        model.predict([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="NaN"):
        SVC(kernel=lambda a, b: a @ b.T).fit([[0.0, np.nan], [1, 0]], [0, 1])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (WORDS, LABELS[:-1], "y has 11 values, but X has 12 rows"),
        ([], [], "at least one object"),
        ("abc", LABELS, "list or an array"),
        (WORDS, [None, *LABELS[1:]], "no label in row 0"),
        (WORDS, ["a"] * 12, "only one class"),
    ],
)
def test_what_is_wrong_is_said(X, y, message):
    with pytest.raises(ValueError, match=message):
        SVC(kernel=text_kernel).fit(X, y)


def test_kernels_that_need_numbers_say_so():
    with pytest.raises(ValueError, match="Expected 2D array"):
        SVC().fit(WORDS, LABELS)
    for machine in (IncrementalSVC(kernel=text_kernel), AdaptiveSVC(kernel=text_kernel)):
        with pytest.raises((ValueError, TypeError)):
            machine.fit(WORDS, LABELS)


def test_a_kernel_of_the_users_own_is_not_saved(tmp_path):
    model = SVC(kernel=text_kernel).fit(WORDS, LABELS)
    with pytest.raises((ValueError, TypeError), match="function"):
        persist.save(model, tmp_path / "model.lin")


def test_a_kernel_may_return_a_sparse_block():
    import scipy.sparse as sp

    X = sp.csr_array(count(WORDS))
    model = SVC(kernel=lambda a, b: a @ b.T).fit(X, LABELS)
    assert_array_equal(model.predict(X), SVC(kernel="linear").fit(X, LABELS).predict(X))
