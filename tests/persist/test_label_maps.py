"""Labels that are not integers go through files of LIBSVM with a label map beside them."""

import hashlib
import json

import numpy as np
import pytest

from lindero.errors import ModelFileError
from lindero.persist import load_libsvm, save_libsvm
from lindero.persist.text.label_maps import read_label_map
from lindero.svm import SVC, SVR, NuSVC
from tests.svm.test_twins import make_rows

LABELS = {
    "text": np.array(["apple", "bär", "cat"]),
    "flags": np.array([False, True]),
    "large integers": np.array([10**12, 2 * 10**12, 3 * 10**12]),
}


def fit(labels, cls=SVC):
    X, y = make_rows(n_classes=len(labels))
    return X, cls().fit(X, labels[y])


@pytest.mark.parametrize("cls", [SVC, NuSVC])
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_a_round_trip_keeps_labels_and_decisions(tmp_path, labels, cls):
    X, model = fit(labels, cls)
    path = tmp_path / "m.model"
    with pytest.warns(UserWarning, match="is 0"):
        save_libsvm(model, path)
    again = load_libsvm(path)
    assert again.classes_.tolist() == labels.tolist()
    assert again.predict(X).tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-9)


@pytest.mark.filterwarnings("ignore:LIBSVM has integers")
def test_libsvm_itself_reads_the_model(tmp_path):
    svmutil = pytest.importorskip("libsvm.svmutil")
    X, model = fit(LABELS["text"])
    save_libsvm(model, tmp_path / "m.model")
    theirs = svmutil.svm_load_model(str(tmp_path / "m.model"))
    found, _, _ = svmutil.svm_predict([], X.tolist(), theirs, "-q")
    content = json.loads((tmp_path / "m.model.labels").read_text())
    names = dict(content["labels"])
    assert [names[int(code)] for code in found] == model.predict(X).tolist()


@pytest.mark.filterwarnings("ignore:LIBSVM has integers")
def test_a_map_may_be_elsewhere_or_unwanted(tmp_path):
    _, model = fit(LABELS["text"])
    path = tmp_path / "m.model"
    save_libsvm(model, path)
    (tmp_path / "m.model.labels").rename(tmp_path / "names.json")
    assert load_libsvm(path).classes_.tolist() == [0, 1, 2]
    named = load_libsvm(path, labels=tmp_path / "names.json")
    assert named.classes_.tolist() == LABELS["text"].tolist()
    assert load_libsvm(path, labels=None).classes_.tolist() == [0, 1, 2]


@pytest.mark.filterwarnings("ignore:LIBSVM has integers")
def test_a_map_of_another_model_is_ignored_with_a_warning(tmp_path):
    _, model = fit(LABELS["text"])
    path = tmp_path / "m.model"
    save_libsvm(model, path)
    X, y = make_rows(n_classes=3)
    save_libsvm(SVC(C=5.0).fit(X, y), path)
    with pytest.warns(UserWarning, match="belongs to another model"):
        assert load_libsvm(path).classes_.tolist() == [0, 1, 2]


@pytest.mark.filterwarnings("ignore:LIBSVM has integers")
@pytest.mark.parametrize(
    "labels",
    [None, [[0, "a"]], [[0, []], [1, 2], [2, 3]], [[0, "a"], [1, "a"], [2, "b"]], [["x", "a"]]],
    ids=str,
)
def test_maps_of_other_labels_are_refused(tmp_path, labels):
    _, model = fit(LABELS["text"])
    save_libsvm(model, tmp_path / "m.model")
    content = {"format": "lindero label map", "model_sha256": "", "labels": labels}
    (tmp_path / "names").write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match="is no label map of"):
        load_libsvm(tmp_path / "m.model", labels=tmp_path / "names")


@pytest.mark.filterwarnings("ignore:LIBSVM has integers")
@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff\xfe", b"[" * 100_000])
def test_damaged_maps_are_refused(tmp_path, content):
    _, model = fit(LABELS["text"])
    save_libsvm(model, tmp_path / "m.model")
    (tmp_path / "names").write_bytes(content)
    with pytest.raises(ModelFileError, match="is no label map of"):
        load_libsvm(tmp_path / "m.model", labels=tmp_path / "names")


def test_a_model_without_classes_has_no_use_for_a_map(tmp_path):
    X, _ = make_rows()
    save_libsvm(SVR().fit(X, X[:, 0]), tmp_path / "m.model")
    assert not (tmp_path / "m.model.labels").exists()
    with pytest.raises(ValueError, match="no use for a label map"):
        load_libsvm(tmp_path / "m.model", labels=tmp_path / "names")


def test_integer_labels_are_written_as_they_are(tmp_path):
    X, y = make_rows(n_classes=2)
    save_libsvm(SVC().fit(X, np.where(y == 1, 7, -3)), tmp_path / "m.model")
    assert not (tmp_path / "m.model.labels").exists()
    assert load_libsvm(tmp_path / "m.model").classes_.tolist() == [-3, 7]


@pytest.mark.parametrize(
    "labels",
    [
        '[[Infinity, "a"], [1, "b"]]',
        "[[0, 1], [1, 1e400]]",
        f"[[0, 1], [1, {10**40}]]",
        '[[0, "a\\u0000"], [1, "a"]]',  # the same text to NumPy
        f'[[0, "{"a" * 2**24}"], [1, "b"]]',
    ],
    ids=lambda labels: labels[:24],
)
def test_maps_that_cannot_be_meant_are_refused(tmp_path, labels):
    model, path = tmp_path / "model", tmp_path / "model.labels"
    model.write_bytes(b"x")
    digest = hashlib.sha256(b"x").hexdigest()
    path.write_text(
        f'{{"format": "lindero label map", "model_sha256": "{digest}", "labels": {labels}}}'
    )
    with pytest.raises(ModelFileError, match="no label map of"):
        read_label_map(str(path), str(model), np.array([0, 1]), must_fit=True)
