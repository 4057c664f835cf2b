"""Models go from LIBSVM to lindero and back, and say the same on both sides."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import lindero.svm
from lindero.persist import load, load_libsvm, save, save_libsvm
from tests.persist.foreign import (
    CLASSIFIERS,
    KERNELS,
    LABELS,
    TYPES,
    classes_of,
    has_single_winner,
    in_ascending_order,
    probable_by_libsvm,
    said_by_libsvm,
    table,
    target,
    targets_of,
    trained,
    with_serials,
    written,
)

X, NEW = table(), table(60, seed=7)
ESTIMATORS = dict(zip(TYPES, ["SVC", "NuSVC", "OneClassSVM", "SVR", "NuSVR"], strict=True))
OUR_KERNEL = {"polynomial": "poly"}
CASES = [(t, k, labels) for t in CLASSIFIERS for k in KERNELS for labels in LABELS]
CASES += [(t, k, "none") for t in TYPES[2:] for k in KERNELS]

same = {"rtol": 1e-10, "atol": 1e-10}


def rows_for(kernel, form):
    """New rows as lindero and as LIBSVM take them."""
    if kernel == "precomputed":
        return NEW @ X.T, with_serials(NEW @ X.T)
    return form(NEW), form(NEW)


def values_of(model, rows):
    """The decision values that both programs give, one column for each machine."""
    if hasattr(model, "classes_"):
        return model.set_params(decision_function_shape="ovo").decision_function(rows)
    if hasattr(model, "decision_function"):
        return model.decision_function(rows)
    return model.predict(rows)


def assert_same_machine(model, path, kernel, form):
    ours, theirs = rows_for(kernel, form)
    labels, predictions, values = said_by_libsvm(path, theirs)
    if not hasattr(model, "classes_"):
        np.testing.assert_allclose(values_of(model, ours), values[:, 0], **same)
        np.testing.assert_allclose(model.predict(ours), predictions, **same)
        return
    values = in_ascending_order(labels, values)
    np.testing.assert_allclose(values_of(model, ours), values, **same)
    # Where several classes have equally many votes, LIBSVM takes the first in its own order.
    same_order = labels == sorted(labels)
    decided = has_single_winner(values.reshape(len(values), -1), len(labels)) | same_order
    assert decided.mean() > 0.9
    np.testing.assert_array_equal(model.predict(ours)[decided], predictions[decided])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(("svm_type", "kernel", "labels"), CASES)
def test_a_model_of_libsvm_says_the_same_here(tmp_path, svm_type, kernel, labels, form):
    y = target(svm_type, X, labels)
    path = written(trained(svm_type, kernel, X, y), tmp_path / "theirs")
    width = len(X) if kernel == "precomputed" else X.shape[1]
    model = load_libsvm(path, n_features=width)
    assert type(model) is getattr(lindero.svm, ESTIMATORS[svm_type])
    assert len(model.support_) > 1
    assert_same_machine(model, path, kernel, form)
    # ... and so does what is saved again.
    save_libsvm(model, tmp_path / "again")
    assert_same_machine(model, tmp_path / "again", kernel, form)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(("svm_type", "kernel", "labels"), CASES)
def test_a_model_saved_here_says_the_same_in_libsvm(tmp_path, svm_type, kernel, labels, form):
    estimator = getattr(lindero.svm, ESTIMATORS[svm_type])(
        kernel=OUR_KERNEL.get(kernel, kernel), degree=2, gamma=0.25, coef0=0.5
    )
    rows = X @ X.T if kernel == "precomputed" else form(X)
    model = estimator.fit(rows, target(svm_type, X, labels))
    path = tmp_path / "ours"
    save_libsvm(model, path)
    assert_same_machine(model, path, kernel, form)
    again = load_libsvm(path, n_features=rows.shape[1])
    new, _ = rows_for(kernel, form)
    np.testing.assert_allclose(again.predict(new), model.predict(new), **same)
    np.testing.assert_allclose(values_of(again, new), values_of(model, new), **same)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
@pytest.mark.parametrize("labels", [*LABELS, "five"])
@pytest.mark.parametrize("svm_type", CLASSIFIERS)
def test_probabilities_are_those_of_libsvm(tmp_path, svm_type, labels, kernel):
    known = {**LABELS, "five": [4, 1, 9, -2, 0]}
    y = classes_of(X, known[labels])
    path = written(trained(svm_type, kernel, X, y, more="-b 1 -n 0.3"), tmp_path / "theirs")
    ours, theirs = rows_for(kernel, np.asarray)
    model = load_libsvm(path, n_features=ours.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = model.predict_proba(ours)
    np.testing.assert_allclose(found, probable_by_libsvm(path, theirs), atol=1e-9)
    np.testing.assert_allclose(np.log(found), model.predict_log_proba(ours))
    if labels != "five":  # where too many classes win equally many pairs
        assert_same_machine(model, path, kernel, np.asarray)
    # ... also of what is saved again, in both ways.
    save(model, tmp_path / "own.lin")
    np.testing.assert_array_equal(load(tmp_path / "own.lin").predict_proba(ours), found)
    save_libsvm(model, tmp_path / "again")
    again = load_libsvm(tmp_path / "again", n_features=ours.shape[1])
    assert "probA" in (tmp_path / "again").read_text()
    known = probable_by_libsvm(tmp_path / "again", theirs)
    np.testing.assert_allclose(again.predict_proba(ours), known, atol=1e-9)
    np.testing.assert_allclose(known, found, atol=0.01)  # its iteration depends on the order
    with pytest.warns(FutureWarning, match="deprecated"):
        model.fit(X @ X.T if kernel == "precomputed" else X, y)
    assert not hasattr(model, "_libsvm_order")


def test_curves_fitted_here_are_written(tmp_path):
    for labels in LABELS.values():
        y = classes_of(X, labels)
        with pytest.warns(FutureWarning, match="deprecated"):
            model = lindero.svm.SVC(probability=True, gamma=0.25).fit(X, y)
        save_libsvm(model, tmp_path / "ours")
        known = probable_by_libsvm(tmp_path / "ours", NEW)
        # Here the predicted class is always the most probable one.
        agreed = known.argmax(axis=1) == model.predict_proba(NEW).argmax(axis=1)
        assert agreed.mean() > 0.8
        np.testing.assert_allclose(model.predict_proba(NEW)[agreed], known[agreed], atol=0.02)


@pytest.mark.parametrize("svm_type", TYPES[2:])
def test_probabilities_of_others_are_left_out_with_a_warning(tmp_path, svm_type):
    model = trained(svm_type, "rbf", X, target(svm_type, X, "three"), more="-b 1")
    path = written(model, tmp_path / "theirs")
    assert "prob" in path.read_text()
    with pytest.warns(UserWarning, match="probability estimates .prob.* left out"):
        loaded = load_libsvm(path)
    assert_same_machine(loaded, path, "rbf", np.asarray)


def test_attributes_of_a_loaded_classifier(tmp_path):
    y = classes_of(X, [2, 8, -3])
    path = written(trained("c_svc", "rbf", X, y, "-g 0.25"), tmp_path / "theirs")
    model = load_libsvm(path)
    np.testing.assert_array_equal(model.classes_, [-3, 2, 8])
    assert model.n_features_in_ == X.shape[1]
    assert model.n_support_.sum() == model.support_vectors_.shape[0] == model.dual_coef_.shape[1]
    assert model.dual_coef_.shape[0] == 2
    assert model.intercept_.shape == (3,)
    np.testing.assert_array_equal(model.support_, np.arange(model.n_support_.sum()))
    assert (model.kernel, model.gamma) == ("rbf", 0.25)
    with pytest.raises(AttributeError, match="certificate_"):
        model.certificate_  # noqa: B018
    with pytest.raises(ValueError, match="read from a model file"):
        model.certify(X, y)
    # Vectors lie in blocks of their classes.
    vectors = model.support_vectors_
    vectors = vectors.toarray() if sp.issparse(vectors) else vectors
    rows = [np.flatnonzero(np.isclose(X, v, atol=1e-6).all(axis=1))[0] for v in vectors]
    np.testing.assert_array_equal(y[rows], np.repeat(model.classes_, model.n_support_))


def test_rows_of_a_precomputed_kernel_are_kept(tmp_path):
    y = classes_of(X, [8, -3])
    theirs = trained("c_svc", "precomputed", X, y)
    model = load_libsvm(written(theirs, tmp_path / "theirs"), n_features=len(X))
    serials = np.array(theirs.get_sv_indices())
    assert sorted(model.support_ + 1) == sorted(serials)
    np.testing.assert_array_equal(y[model.support_], np.repeat([-3, 8], model.n_support_))


@pytest.mark.parametrize("svm_type", TYPES)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_a_loaded_estimator_can_be_pickled_cloned_and_fitted_again(tmp_path, svm_type, kernel):
    y = target(svm_type, X, "three")
    path = written(trained(svm_type, kernel, X, y), tmp_path / "theirs")
    model = load_libsvm(path, n_features=len(X) if kernel == "precomputed" else None)
    new, _ = rows_for(kernel, np.asarray)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(new), model.predict(new))
    blank = clone(model)
    assert blank.get_params() == model.get_params()
    assert not hasattr(blank, "support_")
    model.fit(X @ X.T if kernel == "precomputed" else X, y)
    assert model.certificate_.status


@pytest.mark.parametrize("svm_type", TYPES[2:])
def test_attributes_of_other_loaded_machines(tmp_path, svm_type):
    y = targets_of(X)
    model = load_libsvm(written(trained(svm_type, "rbf", X, y), tmp_path / "theirs"))
    assert model.dual_coef_.shape == (1, model.support_vectors_.shape[0])
    assert model.n_support_.sum() == len(model.support_) == model.support_vectors_.shape[0]
    assert model.intercept_.shape == (1,)
    assert model.n_features_in_ == X.shape[1]
    assert not hasattr(model, "certificate_")
    assert not hasattr(model, "classes_")
    with pytest.raises(ValueError, match="read from a model file"):
        model.certify(X, *[y] * (svm_type != "one_class"))


def test_the_offset_of_a_loaded_novelty_detector(tmp_path):
    path = written(trained("one_class", "rbf", X, targets_of(X)), tmp_path / "theirs")
    model = load_libsvm(path)
    values = model.score_samples(NEW) - model.offset_
    np.testing.assert_allclose(values, model.decision_function(NEW), **same)
    assert model.offset_ == -model.intercept_[0]


def test_a_model_without_vectors_predicts_its_constant(tmp_path):
    path = written(trained("epsilon_svr", "rbf", X, targets_of(X), "-p 100"), tmp_path / "theirs")
    model = load_libsvm(path, n_features=X.shape[1])
    _, predictions, _ = said_by_libsvm(path, NEW)
    np.testing.assert_allclose(model.predict(NEW), predictions, **same)
    save_libsvm(model, tmp_path / "again")
    np.testing.assert_allclose(said_by_libsvm(tmp_path / "again", NEW)[1], predictions, **same)


def test_the_number_of_features_is_the_highest_index_unless_given(tmp_path):
    wide = np.column_stack([X, np.zeros(len(X))])
    path = written(trained("c_svc", "rbf", wide, classes_of(X, [1, 2])), tmp_path / "theirs")
    assert load_libsvm(path).n_features_in_ == X.shape[1]
    model = load_libsvm(path, n_features=wide.shape[1])
    assert model.predict(wide).shape == (len(X),)


@pytest.mark.parametrize("fill", [1.0, 0.1], ids=["full", "sparse"])
def test_vectors_are_kept_in_the_form_that_takes_less_memory(tmp_path, fill):
    rows = X * (np.random.default_rng(2).random(X.shape) < fill)
    rows[0] = 1.0
    rows[rows == 0] = {1.0: 0.5, 0.1: 0.0}[fill]
    path = written(trained("c_svc", "rbf", rows, classes_of(X, [1, 2])), tmp_path / "theirs")
    assert sp.issparse(load_libsvm(path).support_vectors_) == (fill < 1)


def test_float_labels_that_are_whole_numbers_are_saved(tmp_path):
    y = classes_of(X, [-1, 1]).astype(float)
    model = lindero.svm.SVC().fit(X, y)
    save_libsvm(model, tmp_path / "ours")
    np.testing.assert_array_equal(load_libsvm(tmp_path / "ours").predict(NEW), model.predict(NEW))


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, bool])
def test_vectors_of_any_type_are_saved(tmp_path, dtype):
    rows = np.abs(X * 3).astype(dtype)
    model = lindero.svm.SVC(gamma=0.1).fit(rows, classes_of(X, [1, 2]))
    save_libsvm(model, tmp_path / "ours")
    loaded = load_libsvm(tmp_path / "ours", n_features=X.shape[1])
    np.testing.assert_allclose(
        loaded.decision_function(rows), model.decision_function(rows), **same
    )


def test_of_a_search_the_best_machine_is_saved(tmp_path):
    X = table()
    y = classes_of(X, LABELS["two"])
    search = lindero.svm.SVCCV(Cs=[1.0, 10.0], gammas=[0.1], cv=2).fit(X, y)
    save_libsvm(search, tmp_path / "model")
    np.testing.assert_allclose(
        load_libsvm(tmp_path / "model").decision_function(X), search.decision_function(X)
    )


def test_a_missing_folder_is_named(tmp_path):
    X = table()
    model = lindero.svm.SVC().fit(X, classes_of(X, LABELS["two"]))
    with pytest.raises(FileNotFoundError, match=r"no folder.*nowhere"):
        save_libsvm(model, tmp_path / "nowhere" / "model")
