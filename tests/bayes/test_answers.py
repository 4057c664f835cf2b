"""What classifiers answer, against counting rows by hand and against pyAgrum and pgmpy."""

import numpy as np
import pgmpy.inference
import pgmpy.readwrite
import pyagrum
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from lindero.bayes import AODE, KDB, TAN, NaiveBayes, NetworkClassifier
from tests.bayes.mixed_tables import MAKERS, NETWORKS, categories, numbers
from tests.naive.counted_rows import joint, stars_joint

#: Columns that do not depend on the class, in `MAKERS["NetworkClassifier"]`.
ALONE = {"NetworkClassifier": (3,)}


def positions(arcs):
    return [(int(a[1:]), int(b[1:])) for a, b in arcs if a != "class"]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("alpha", [1.0, 0.3, 0.0])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_against_counting_by_hand(name, alpha, seed):
    X, y = categories(seed, 60, missing=0.2)
    new, _ = categories(seed + 100, 25, missing=0.4)
    model = MAKERS[name](alpha=alpha).fit(X, y)
    arcs = positions(model.network_.arcs)
    expected = joint(X, y, arcs, new, alpha, ALONE.get(name, ()))
    assert_allclose(np.exp(model.predict_joint_log_proba(new)), expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_the_average_of_networks_against_counting_by_hand(alpha, seed):
    X, y = categories(seed, 60, missing=0.2)
    new, _ = categories(seed + 100, 25, missing=0.4)
    found = AODE(alpha=alpha).fit(X, y).predict_joint_log_proba(new)
    assert_allclose(np.exp(found), stars_joint(X, y, new, alpha), rtol=1e-12)


@pytest.mark.parametrize("name", NETWORKS)
def test_new_values_against_counting_by_hand(name):
    X, y = categories(5, 60, missing=0.1)
    new, _ = categories(6, 20, missing=0.2)
    new[np.random.default_rng(0).random(new.shape) < 0.3] = "new"
    model = MAKERS[name]().fit(X, y)
    arcs = positions(model.network_.arcs)
    expected = joint(X, y, arcs, new, 1.0, ALONE.get(name, ()))
    assert_allclose(np.exp(model.predict_joint_log_proba(new)), expected, rtol=1e-12)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_new_values_as_missing_ones_and_as_errors(make):
    X, y = categories(7)
    rows, blank = np.array(X[:8]), np.array(X[:8])
    rows[::2, 1], blank[::2, 1] = "new", None
    model = make(unseen="missing").fit(X, y)
    assert_array_equal(model.predict_proba(rows), model.predict_proba(blank))
    smooth = make().fit(X, y)
    assert np.abs(smooth.predict_proba(rows) - smooth.predict_proba(blank)).max() > 1e-3
    strict = make(unseen="error").fit(X, y)
    with pytest.raises(ValueError, match=r"Row 0 of column 1 holds 'new'.*known are 'v0'"):
        strict.predict(rows)
    assert_array_equal(strict.partial_fit(rows, y[:8]).predict(rows).shape, (8,))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "model",
    [TAN(), KDB(2), KDB(3), NetworkClassifier([(0, 1), (0, 2), (1, 3), (2, 3)], without_class=[2])],
    ids=["TAN", "KDB(2)", "KDB(3)", "diamond"],
)
def test_pyagrum_agrees(model, seed, tmp_path):
    X, y = categories(8 + seed, n_values=2 + seed % 3, missing=0.15)
    new, _ = categories(9 + seed, 20, n_values=2 + seed % 3, missing=0.3)
    network = model.fit(X, y).network_
    path = tmp_path / "network.bifxml"  # it reads numbers of BIF in single precision
    path.write_text(network.to_xmlbif(), encoding="utf-8")
    inference = pyagrum.LazyPropagation(pyagrum.loadBN(str(path)))
    for row, expected in zip(new, model.predict_proba(new), strict=True):
        inference.setEvidence({f"x{j}": v for j, v in enumerate(row) if v is not None})
        assert_allclose(inference.posterior("class").tolist(), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "model", [TAN(), KDB(2), NetworkClassifier([(0, 1), (0, 2), (1, 3), (2, 3)])]
)
def test_pgmpy_agrees(model):
    X, y = categories(8, missing=0.15)
    new, _ = categories(9, 5, missing=0.3)
    text = model.fit(X, y).network_.to_bif()
    inference = pgmpy.inference.VariableElimination(
        pgmpy.readwrite.BIFReader(string=text).get_model()
    )
    for row, expected in zip(new, model.predict_proba(new), strict=True):
        evidence = {f"x{j}": v for j, v in enumerate(row) if v is not None}
        found = inference.query(["class"], evidence=evidence, show_progress=False)
        assert found.state_names["class"] == ["no", "perhaps", "yes"]
        assert_allclose(found.values, expected, rtol=1e-9)


@pytest.mark.parametrize("prior", [{}, {"fit_prior": False}, {"class_prior": [0.5, 0.2, 0.3]}])
def test_scikit_learns_naive_bayes_of_categories(prior):
    random = np.random.default_rng(10)
    X, y = random.integers(0, 4, (200, 5)), random.integers(0, 3, 200)
    ours = NaiveBayes(alpha=0.7, categorical_features="all", **prior).fit(X, y)
    theirs = CategoricalNB(alpha=0.7, **prior).fit(X, y)
    assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-12)


def test_scikit_learns_naive_bayes_of_numbers():
    X, y = numbers(11, 200)
    X /= 10.0 ** np.linspace(-12, 12, 3)  # which theirs needs
    ours, theirs = NaiveBayes().fit(X, y), GaussianNB(var_smoothing=0.0).fit(X, y)
    assert_allclose(ours.theta_, theirs.theta_, rtol=1e-12)
    n = theirs.class_count_[:, None]
    assert_allclose(ours.scale_**2, theirs.var_ * n / (n - 1), rtol=1e-12)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_answers_belong_together(make):
    X, y = categories(12, missing=0.2)
    model = make().fit(X, y)
    joint_log = model.predict_joint_log_proba(X)
    log_proba, proba = model.predict_log_proba(X), model.predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert_allclose(np.exp(log_proba), proba, rtol=1e-12)
    assert_allclose(joint_log - joint_log[:, :1], log_proba - log_proba[:, :1], atol=1e-10)
    assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])
    assert model.score(X, y) > 0.5
    assert_allclose(np.exp(model.class_log_prior_), model.class_count_ / 120, rtol=1e-14)


@pytest.mark.parametrize("make", [NaiveBayes, TAN, KDB, AODE])
def test_rows_that_are_impossible_under_every_class(make):
    X = np.array([["a", "p"], ["b", "q"]] * 3 + [["b", "q"]], dtype=object)
    model = make(alpha=0.0).fit(X, ["one", "two"] * 3 + ["two"])
    rows = [["a", "q"], ["a", "p"]]
    assert np.isneginf(model.predict_joint_log_proba(rows)[0]).all()
    assert_allclose(model.predict_proba(rows), [[3 / 7, 4 / 7], [1.0, 0.0]], rtol=1e-12)
    assert model.predict(rows).tolist() == ["two", "one"]


def test_one_class_may_be_absent():
    X, y = categories(13)
    for make in MAKERS.values():
        model = make().partial_fit(X, y, classes=["aaa", "no", "perhaps", "yes"])
        assert_array_equal(model.predict_proba(X)[:, 0], 0.0)
        assert model.class_count_[0] == 0
        even = make(class_prior=[0.25] * 4).partial_fit(X, y, classes=model.classes_)
        assert (even.predict_proba(X)[:, 0] > 0).all()
        assert np.isfinite(even.predict_joint_log_proba(X)).all()
