"""Models of SVMlight, evaluated by the definition of its format."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.svm import LinearSVC

from lindero.errors import ModelFileError
from lindero.persist import load_libsvm, load_svmlight, save_libsvm, save_svmlight
from lindero.svm import SVC, SVR, OneClassSVM
from tests.persist.damage import svmlight_text
from tests.persist.foreign import classes_of, table, targets_of

X, NEW = table() - [0, 0, 0, 2], table(50, seed=7) - [0, 0, 0, 2]
KERNELS = {"linear": 0, "poly": 1, "rbf": 2, "sigmoid": 3}
PARAMETERS = {"degree": 2, "gamma": 0.3, "factor": 0.4, "constant": 0.7}

same = {"rtol": 1e-10, "atol": 1e-10}


def value(text, x):
    """f(x) of a model, read and computed word by word."""
    lines = text.splitlines()
    head = [line.partition("#")[0].strip() for line in lines[1:11]]
    kind, degree = int(head[0]), int(head[1])
    gamma, factor, constant, threshold = (float(head[i]) for i in (2, 3, 4, 9))
    total = 0.0
    for line in lines[11:]:
        words = line.partition("#")[0].split()
        v = np.zeros(len(x))
        for word in words[1:]:
            index, _, entry = word.partition(":")
            v[int(index) - 1] = float(entry)
        dot = x @ v
        kernels = [
            lambda dot, v: dot,
            lambda dot, v: (factor * dot + constant) ** degree,
            lambda dot, v: np.exp(-gamma * ((x - v) ** 2).sum()),
            lambda dot, v: np.tanh(factor * dot + constant),
        ]
        total += float(words[0]) * kernels[kind](dot, v)
    assert len(lines) - 11 == int(head[8]) - 1
    return total - threshold


def values(text, rows):
    return np.array([value(text, row) for row in rows])


def vectors_of(n=12):
    coefficients = np.random.default_rng(5).normal(size=n)
    return list(zip(coefficients, X[:n], strict=True))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_model_of_svm_learn_says_what_its_format_means(tmp_path, kernel, form):
    text = svmlight_text(KERNELS[kernel], vectors_of(), **PARAMETERS)
    (tmp_path / "model").write_text(text)
    expected = values(text, NEW)
    assert np.any(expected > 0)
    assert np.any(expected < 0)
    classifier = load_svmlight(tmp_path / "model")
    assert type(classifier) is SVC
    np.testing.assert_allclose(classifier.decision_function(form(NEW)), expected, **same)
    np.testing.assert_array_equal(classifier.predict(form(NEW)), np.where(expected >= 0, 1, -1))
    regressor = load_svmlight(tmp_path / "model", estimator="regressor")
    assert type(regressor) is SVR
    np.testing.assert_allclose(regressor.predict(form(NEW)), expected, **same)


def test_attributes_of_a_loaded_classifier(tmp_path):
    vectors = vectors_of()
    (tmp_path / "model").write_text(svmlight_text(2, vectors, **PARAMETERS))
    model = load_svmlight(tmp_path / "model")
    negative = sum(coefficient < 0 for coefficient, _ in vectors)
    np.testing.assert_array_equal(model.classes_, [-1, 1])
    np.testing.assert_array_equal(model.n_support_, [negative, len(vectors) - negative])
    assert (np.sign(model.dual_coef_ @ np.eye(len(vectors)))[0, :negative] == -1).all()
    assert (model.kernel, model.gamma, model.n_features_in_) == ("rbf", 0.3, X.shape[1])
    np.testing.assert_array_equal(model.intercept_, [-0.25])
    np.testing.assert_array_equal(model.support_, np.arange(len(vectors)))
    assert not hasattr(model, "certificate_")


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_saved_classifier_means_the_same_and_comes_back(tmp_path, kernel, form):
    y = classes_of(X, [-1, 1])
    model = SVC(kernel=kernel, degree=2, gamma=0.3, coef0=0.7).fit(form(X), y)
    path = tmp_path / "model"
    save_svmlight(model, path)
    expected = model.decision_function(form(NEW))
    np.testing.assert_allclose(values(path.read_text(), NEW), expected, **same)
    again = load_svmlight(path)
    np.testing.assert_allclose(again.decision_function(form(NEW)), expected, **same)
    np.testing.assert_array_equal(again.predict(form(NEW)), model.predict(form(NEW)))


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_saved_regressor_means_the_same_and_comes_back(tmp_path, kernel):
    model = SVR(kernel=kernel, degree=2, gamma=0.3, coef0=0.7).fit(X, targets_of(X))
    path = tmp_path / "model"
    save_svmlight(model, path)
    np.testing.assert_allclose(values(path.read_text(), NEW), model.predict(NEW), **same)
    again = load_svmlight(path, estimator="regressor")
    np.testing.assert_allclose(again.predict(NEW), model.predict(NEW), **same)


def test_novelty_detection_is_a_function_too(tmp_path):
    model = OneClassSVM(gamma=0.3).fit(X)
    save_svmlight(model, tmp_path / "model")
    text = (tmp_path / "model").read_text()
    np.testing.assert_allclose(values(text, NEW), model.decision_function(NEW), **same)


def test_anything_linear_is_saved_as_its_weights(tmp_path):
    model = LinearSVC().fit(X, classes_of(X, [-1, 1]))
    save_svmlight(model, tmp_path / "model")
    text = (tmp_path / "model").read_text()
    np.testing.assert_allclose(values(text, NEW), model.decision_function(NEW), **same)
    assert len(text.splitlines()) == 12


class Ranking(BaseEstimator):
    """What a linear ranking has: weights, and no constant."""

    def fit(self, X, y):
        self.coef_ = np.linspace(-1, 1, X.shape[1])
        return self


def test_a_ranking_is_saved_and_comes_back_as_its_value(tmp_path):
    save_svmlight(Ranking().fit(X, None), tmp_path / "model")
    again = load_svmlight(tmp_path / "model", estimator="regressor")
    np.testing.assert_allclose(again.predict(NEW), NEW @ np.linspace(-1, 1, 4), **same)


def test_other_labels_are_written_as_minus_one_and_one_with_a_warning(tmp_path):
    y = np.array(["cat", "dog"])[(classes_of(X, [0, 1]))]
    model = SVC().fit(X, y)
    with pytest.warns(UserWarning, match="cat is written as -1, and dog as 1"):
        save_svmlight(model, tmp_path / "model")
    again = load_svmlight(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(NEW) == 1, model.predict(NEW) == "dog")


def test_what_the_header_may_look_like(tmp_path):
    text = svmlight_text(2, vectors_of(), **PARAMETERS)
    expected = values(text, NEW)
    path = tmp_path / "model"
    ranked = text.replace("V6.02", "V6.20").replace(" 1:", " qid:3 1:").replace("#\n", "# doc 7\n")
    blank = text.replace("\n", "\n\n")
    bare = "\n".join(
        line.partition("#")[0] + "#" if 0 < i < 11 else line
        for i, line in enumerate(text.splitlines())
    )
    for variant in (ranked, blank, bare, text.replace("\n", "\r\n"), text.replace(" ", "\t", 40)):
        path.write_bytes(variant.encode("ascii"))
        np.testing.assert_allclose(load_svmlight(path).decision_function(NEW), expected, **same)


def test_a_model_without_vectors_is_its_constant(tmp_path):
    (tmp_path / "model").write_text(svmlight_text(2, [], b=-1.5))
    model = load_svmlight(tmp_path / "model", n_features=4, estimator="regressor")
    np.testing.assert_array_equal(model.predict(NEW), np.full(len(NEW), 1.5))


def test_models_go_from_one_program_to_the_other(tmp_path):
    model = SVC(gamma=0.3).fit(X, classes_of(X, [-1, 1]))
    save_svmlight(model, tmp_path / "light")
    save_libsvm(load_svmlight(tmp_path / "light"), tmp_path / "lib")
    np.testing.assert_allclose(
        load_libsvm(tmp_path / "lib").decision_function(NEW), model.decision_function(NEW), **same
    )


def test_several_classes_cannot_be_saved(tmp_path):
    model = SVC().fit(X, classes_of(X, [1, 2, 3]))
    with pytest.raises(ValueError, match=r"one function, but this model has 3.*save_libsvm"):
        save_svmlight(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_precomputed_or_callable_kernel_cannot_be_saved(tmp_path):
    y = classes_of(X, [-1, 1])
    with pytest.raises(ValueError, match=r"precomputed.*Use save_libsvm"):
        save_svmlight(SVC(kernel="precomputed").fit(X @ X.T, y), tmp_path / "model")
    with pytest.raises(ValueError, match=r"cannot hold a callable.*named kernel"):
        save_svmlight(SVC(kernel=lambda A, B: A @ B.T).fit(X, y), tmp_path / "model")


def test_something_else_cannot_be_saved(tmp_path):
    from sklearn.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier().fit(X, classes_of(X, [-1, 1]))
    with pytest.raises(TypeError, match="KNeighborsClassifier is not a machine of lindero"):
        save_svmlight(model, tmp_path / "model")


BAD_FILES = {
    "another version line": (1, ("SVM-light", "SVM-heavy"), "begins with 'SVM-light Version"),
    "a kernel of its user": (2, ("2 # kernel type", "4 # kernel type"), "compiled with"),
    "lines in another order": (2, ("# kernel type", "# highest feature index"), "expected"),
    "a negative width": (4, ("0.3 #", "-0.3 #"), "width -g must not be negative"),
    "an index above the highest": (12, ("4 # highest", "3 # highest"), "from 1 to 3"),
    "too many vectors": (10, ("13 # number", "999999 # number"), "can hold"),
    "one vector missing": (24, ("13 # number", "14 # number"), "support vector 13 of 13"),
    "one vector too many": (23, ("13 # number", "12 # number"), "file goes on"),
    "a threshold that is none": (11, ("0.25 #", "nan #"), "threshold b must be a finite number"),
    "no number of vectors": (10, ("13 # number", "zero # number"), "from 1 to 2147483647"),
    "a value that is none": (12, ("1:", "1:x"), "a value must be a finite number"),
    "no colon": (12, ("1:", "1 "), "expected index:value"),
    "an index of zero": (12, ("1:", "0:"), "from 1 to 4 .the highest feature index"),
}


@pytest.mark.parametrize(("line", "change", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_is_refused_by_its_line(tmp_path, line, change, message):
    path = tmp_path / "model"
    text = svmlight_text(2, vectors_of(), **PARAMETERS)
    assert change[0] in text
    path.write_text(text.replace(*change, 1))
    with pytest.raises(ModelFileError, match=message) as caught:
        load_svmlight(path)
    assert caught.value.line == line
    assert caught.value.path == str(path)


def test_what_the_model_is_for_must_be_known(tmp_path):
    with pytest.raises(ValueError, match="'classifier' or 'regressor', not 'ranker'"):
        load_svmlight(tmp_path / "model", estimator="ranker")
