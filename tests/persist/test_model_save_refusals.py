"""What cannot be saved says why, and leaves the file that was there."""

import os

import numpy as np
import pytest

from lindero.evaluation import TableEncoder
from lindero.persist import load, save
from lindero.svm import SVC, SVCCV
from tests.persist.model_bank import TABLE, Y2, X


class Label(str):
    """A label of a user's own."""

    __slots__ = ()


class OwnSVC(SVC):
    """A machine of a user's own."""


def product(X, Z):
    return X @ Z.T


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: SVC(kernel=product).fit(X, Y2), "parameter 'kernel' is a function"),
        (lambda: SVC(callback=print).fit(X, Y2), "parameter 'callback' is a function"),
        (lambda: SVC(random_state=np.random.RandomState(0)), "parameter 'random_state'"),
        (lambda: SVCCV(scoring=print), "parameter 'scoring' is a function"),
        (lambda: SVC(class_weight={Label("a"): 1.0}), "a key of parameter 'class_weight'"),
        (lambda: OwnSVC(), "OwnSVC"),
        (lambda: "no estimator", "builtins.str"),
        (lambda: SVC, "type"),
    ],
)
def test_what_cannot_be_saved_says_why(make, reason, tmp_path):
    path = tmp_path / "model.lin"
    path.write_text("what was there")
    with pytest.raises(TypeError, match=reason):
        save(make(), path)
    assert path.read_text() == "what was there"
    assert os.listdir(tmp_path) == ["model.lin"]


def test_labels_of_a_users_own_are_refused_by_name(tmp_path):
    model = SVC().fit(X, Y2)
    model.classes_ = np.array([Label("a"), Label("b")], dtype=object)
    with pytest.raises(TypeError, match=r"classes_\[0\] is a .*Label"):
        save(model, tmp_path / "model.lin")


def test_a_model_that_was_changed_by_hand_is_not_saved(tmp_path):
    model = SVC().fit(X, Y2)
    model.support_ = model.support_[:-1]
    with pytest.raises(TypeError, match=r"could not be loaded again.*support"):
        save(model, tmp_path / "model.lin")
    assert os.listdir(tmp_path) == []


def test_parameters_that_fit_would_refuse_are_not_saved(tmp_path):
    with pytest.raises(TypeError, match="'C' parameter of SVC"):
        save(SVC(C=-1.0), tmp_path / "model.lin")


def test_other_pipelines_are_refused(tmp_path):
    from sklearn.pipeline import Pipeline

    for steps in ([("machine", SVC())], [("table", SVC()), ("machine", SVC())]):
        with pytest.raises(TypeError, match="cannot be saved"):
            save(Pipeline(steps), tmp_path / "model.lin")
    with pytest.raises(TypeError, match="memory"):
        save(Pipeline([("table", TableEncoder()), ("machine", SVC())], memory="x"), tmp_path / "m")


def test_an_encoder_alone_can_be_saved(tmp_path):
    encoder = TableEncoder().fit(TABLE)
    save(encoder, tmp_path / "model.lin")
    np.testing.assert_array_equal(
        load(tmp_path / "model.lin").transform(TABLE), encoder.transform(TABLE)
    )


@pytest.mark.parametrize(
    ("summary", "reason"),
    [
        ([1], "must be a dict"),
        ({1: 2}, "names must be text"),
        ({"a": [np.float64(1.0)]}, r"summary\['a'\]\[0\]"),
        ({"a": float("nan")}, "finite"),
        ({"a": object()}, "a note is text"),
    ],
)
def test_notes_are_plain(summary, reason, tmp_path):
    with pytest.raises(TypeError, match=reason):
        save(SVC(), tmp_path / "model.lin", summary=summary)


def test_notes_that_are_nested_too_deep_are_refused(tmp_path):
    deep = {}
    for _ in range(12):
        deep = {"a": deep}
    with pytest.raises(TypeError, match="too deep"):
        save(SVC(), tmp_path / "model.lin", summary=deep)
