"""Files of LIBSVM that cannot be read, and models that cannot be written."""

import os
import pickle
import threading

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import lindero.persist.text.lines
from lindero.errors import ModelFileError
from lindero.persist import load_libsvm, save_libsvm
from lindero.svm import SVC
from tests.persist.foreign import classes_of, table, trained, written

X = table()

SOUND = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 3
rho 0.25
label 1 -1
nr_sv 1 2
SV
1.5 1:0.5 3:1
-1 1:0.25
-0.5 2:1 3:-1
"""

BAD_FILES = {
    "another file": (1, ("svm_type c_svc", "a letter to you"), "'a' is not a line that LIBSVM"),
    "an unknown type": (1, ("c_svc", "d_svc"), "svm_type must be one of c_svc"),
    "an unknown kernel": (2, ("rbf", "laplace"), "kernel_type must be one of linear"),
    "a line twice": (3, ("gamma 0.5", "svm_type c_svc"), "svm_type is given twice"),
    "a negative gamma": (3, ("0.5", "-0.5"), "gamma must not be negative"),
    "an endless gamma": (3, ("0.5", "inf"), "gamma must be a finite number, not 'inf'"),
    "two gammas": (3, ("0.5", "0.5 0.5"), "gamma needs 1 values, but more"),
    "one class": (4, ("nr_class 2", "nr_class 1"), "one class only"),
    "a huge number of classes": (6, ("nr_class 2", "nr_class 2000000000"), "rho needs 199"),
    "a class too many": (6, ("nr_class 2", "nr_class 3"), "rho needs 3 values, but only 1"),
    "a huge number of vectors": (5, ("total_sv 3", "total_sv 2000000"), "can hold"),
    "a negative number": (5, ("total_sv 3", "total_sv -3"), "from 0 to 2147483647, not '-3'"),
    "rho before the classes": (4, ("nr_class 2\n", "rho 0.25\n"), "rho must come after nr_class"),
    "a label twice": (7, ("1 -1", "1 1"), "a label is given twice"),
    "a label that is no integer": (7, ("1 -1", "1 -1.5"), "a label must be an integer"),
    "numbers that do not add up": (9, ("nr_sv 1 2", "nr_sv 1 1"), "adds up to 2, but total_sv is"),
    "half a curve": (10, ("nr_sv 1 2", "probA -1\nnr_sv 1 2"), "only one is given"),
    "a curve too many": (8, ("nr_sv 1 2", "probA -1 2\nnr_sv 1 2"), "probA needs 1 values"),
    "a curve that is none": (9, ("nr_sv", "probA -1\nprobB nan\nnr_sv"), "probB must be"),
    "no rho": (8, ("rho 0.25\n", ""), "lacks rho"),
    "no gamma": (8, ("gamma 0.5\n", ""), "lacks gamma"),
    "more on the line SV": (9, ("SV\n1.5", "SV 3\n1.5"), "the line SV needs 0 values"),
    "classes of a regression": (9, ("c_svc", "nu_svr"), "nu_svr has no classes"),
    "a coefficient that is none": (10, ("1.5 1:0.5", "x 1:0.5"), "a coefficient must be"),
    "no coefficient": (10, ("1.5 1:0.5", "1:0.5"), "a coefficient must be .* not '1:0.5'"),
    "an underscore": (10, ("1.5", "1_5"), "finite number, not '1_5'"),
    "indices that fall": (10, ("1:0.5 3:1", "3:0.5 1:1"), "must ascend"),
    "an index twice": (10, ("1:0.5 3:1", "3:0.5 3:1"), "must ascend"),
    "an index of zero": (10, ("1:0.5", "0:0.5"), "from 1 to 2147483647, not '0'"),
    "an index beyond": (10, ("3:1", "3000000000:1"), "not '3000000000'"),
    "an index that is none": (10, ("3:1", "1e3:1"), "not '1e3'"),
    "digits of another script": (10, ("3:1", "３:1"), r"not '\\\\xef\\\\xbc\\\\x93'"),
    "NaN": (11, ("1:0.25", "1:nan"), "a value must be a finite number, not 'nan'"),
    "a number too large": (11, ("1:0.25", "1:1e400"), "a value must be a finite number"),
    "a number too long": (11, ("1:0.25", "1:0." + "1" * 500), "finite number, not '0.11111"),
    "no vector": (12, ("-0.5 2:1 3:-1\n", ""), "support vector 3 of 3"),
    "another vector": (13, ("3:-1\n", "3:-1\n1 1:1\n"), "the file goes on"),
}


@pytest.mark.parametrize(("line", "change", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_is_refused_by_its_line(tmp_path, line, change, message):
    path = tmp_path / "model"
    assert change[0] in SOUND
    path.write_bytes(SOUND.replace(*change, 1).encode("utf-8"))
    with pytest.raises(ModelFileError, match=message) as caught:
        load_libsvm(path)
    assert caught.value.line == line
    assert caught.value.path == str(path)
    assert str(path) in str(caught.value)


def test_the_file_of_these_tests_is_sound(tmp_path):
    (tmp_path / "model").write_text(SOUND)
    model = load_libsvm(tmp_path / "model")
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.classes_, [-1, 1])
    np.testing.assert_array_equal(model.n_support_, [2, 1])


@pytest.mark.parametrize("ending", ["\r\n", " \n", "\n\n", "\t\n"])
def test_blanks_and_ends_of_lines_do_not_matter(tmp_path, ending):
    (tmp_path / "sound").write_text(SOUND)
    (tmp_path / "model").write_bytes(SOUND.replace("\n", ending).encode("ascii"))
    expected = load_libsvm(tmp_path / "sound").decision_function(X[:, :3])
    values = load_libsvm(tmp_path / "model").decision_function(X[:, :3])
    np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("piece", [16, 17, 23, 64])
def test_lines_longer_than_a_piece_are_read_whole(tmp_path, monkeypatch, piece):
    labels = [2, 8, -3, 5, 4]
    path = written(trained("c_svc", "rbf", X, classes_of(X, labels)), tmp_path / "theirs")
    expected = load_libsvm(path).decision_function(X)
    monkeypatch.setattr(lindero.persist.text.lines, "PIECE", piece)
    np.testing.assert_array_equal(load_libsvm(path).decision_function(X), expected)


@pytest.mark.parametrize("piece", range(6, 30))
def test_indices_must_ascend_from_piece_to_piece(tmp_path, monkeypatch, piece):
    (tmp_path / "model").write_text(SOUND.replace("1:0.5 3:1", "1:0.5 4:1 3:1 5:1"))
    monkeypatch.setattr(lindero.persist.text.lines, "PIECE", piece)
    with pytest.raises(ModelFileError, match="must ascend") as caught:
        load_libsvm(tmp_path / "model")
    assert caught.value.line == 10


def test_an_endless_word_is_refused(tmp_path):
    (tmp_path / "model").write_text(SOUND.replace("-1 1:", "-1 1" + "0" * 200_000 + ":"))
    with pytest.raises(ModelFileError, match="a word of more than") as caught:
        load_libsvm(tmp_path / "model")
    assert caught.value.line == 11


def test_an_error_survives_pickling(tmp_path):
    error = ModelFileError("model, line 3: no.", "model", 3)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.path, again.line) == (str(error), "model", 3)


def test_a_missing_file_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_libsvm(tmp_path / "missing")


def test_too_few_features_are_refused_by_the_line(tmp_path):
    (tmp_path / "model").write_text(SOUND)
    with pytest.raises(ModelFileError, match=r"from 1 to 2 \(n_features\), not '3'") as caught:
        load_libsvm(tmp_path / "model", n_features=2)
    assert caught.value.line == 10


@pytest.mark.parametrize(
    ("n_features", "error"),
    [(0, ValueError), (-1, ValueError), (2**31, ValueError), (2.5, TypeError), (True, TypeError)],
)
def test_a_number_of_features_that_is_none_is_refused(tmp_path, n_features, error):
    (tmp_path / "model").write_text(SOUND)
    with pytest.raises(error, match="n_features must be"):
        load_libsvm(tmp_path / "model", n_features=n_features)


def test_weights_of_a_linear_machine_are_made_only_for_features_one_vouches_for(tmp_path):
    text = SOUND.replace("rbf\ngamma 0.5", "linear").replace("3:-1", "3000000:-1")
    (tmp_path / "model").write_text(text)
    with pytest.raises(ModelFileError, match="load it with n_features=3000000"):
        load_libsvm(tmp_path / "model")
    assert load_libsvm(tmp_path / "model", n_features=3_000_000).coef_.shape == (1, 3_000_000)


def test_weights_that_would_not_be_finite_are_refused(tmp_path):
    text = SOUND.replace("rbf\ngamma 0.5", "linear").replace("1.5 1:0.5", "1e300 1:1e300")
    (tmp_path / "model").write_text(text)
    with pytest.raises(ModelFileError, match="would not be finite"):
        load_libsvm(tmp_path / "model")


# -- writing ----------------------------------------------------------------------------------

UNSAVEABLE = {
    "one against the rest": (SVC(multiclass="ovr"), [1, 2, 3], "pairs of classes only.*'ovo'"),
    "a callable": (SVC(kernel=lambda A, B: A @ B.T), [1, 2], "cannot hold a callable"),
}


@pytest.mark.parametrize(("model", "labels", "message"), UNSAVEABLE.values(), ids=UNSAVEABLE)
def test_a_model_that_libsvm_cannot_express_is_refused(tmp_path, model, labels, message):
    path = tmp_path / "model"
    path.write_text("what was there")
    model.fit(X, np.array(labels)[classes_of(X, np.arange(len(labels)))])
    with pytest.raises(ValueError, match=message):
        save_libsvm(model, path)
    assert path.read_text() == "what was there"
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def test_a_model_that_is_not_fitted_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        save_libsvm(SVC(), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_another_estimator_is_refused(tmp_path):
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(TypeError, match=r"no model for sklearn.*LogisticRegression.*SVC, NuSVC"):
        save_libsvm(LogisticRegression(), tmp_path / "model")


def test_two_classes_one_against_the_rest_are_saved(tmp_path):
    model = SVC(multiclass="ovr").fit(X, classes_of(X, [1, 2]))
    save_libsvm(model, tmp_path / "model")
    loaded = load_libsvm(tmp_path / "model")
    np.testing.assert_allclose(
        loaded.decision_function(X), model.decision_function(X), rtol=1e-10, atol=1e-10
    )


def test_a_pipe_is_read_too(tmp_path):
    (tmp_path / "model").write_text(SOUND)
    expected = load_libsvm(tmp_path / "model").decision_function(X[:, :3])
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(SOUND,))
    writer.start()
    model = load_libsvm(tmp_path / "pipe")
    writer.join()
    np.testing.assert_array_equal(model.decision_function(X[:, :3]), expected)
