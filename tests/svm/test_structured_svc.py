"""StructuredSVC: classes with costs, hierarchies, any model; what it refuses."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.naive import structured as naive
from tests.refusals import refused

from lindero.errors import SolverError
from lindero.svm import ChainSVC, HierarchyModel, MulticlassModel, StructuredSVC

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
TWO = (X[:, 0] + 0.7 * RNG.normal(size=40) > 0).astype(int)
THREE = np.array(["ash", "elm", "oak"])[np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.5, 0.5])]
COSTS = [[0, 1, 4], [2, 0, 1], [3, 0.5, 0]]


@parametrize_with_checks([StructuredSVC(max_iter=200)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_two_classes_are_the_machine_of_one_boundary():
    """Both classes share the boundary, so its penalty is half, and C counts twice."""
    model = StructuredSVC(C=0.5, tol=1e-7).fit(X, TWO)
    ones = np.hstack([X, np.ones((40, 1))])
    plain = LinearSVC(C=1.0, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=10**6)
    plain.fit(ones, TWO)
    difference = np.append(model.coef_[1] - model.coef_[0], np.diff(model.intercept_))
    np.testing.assert_allclose(difference, plain.coef_[0], atol=2e-3)
    np.testing.assert_array_equal(model.predict(X), plain.predict(ones))


@pytest.mark.parametrize("costs", [None, COSTS])
def test_classes_are_those_of_the_qp(costs):
    model = StructuredSVC(MulticlassModel(costs), C=0.3, tol=1e-8).fit(X, THREE)
    matrix = MulticlassModel(costs).make_costs(model.classes_)
    ones = np.hstack([X, np.ones((40, 1))])[:, None, :]
    answers = [(int(k),) for k in np.searchsorted(model.classes_, THREE)]
    twin = naive.ChainModel(4, matrix, linked=False)
    w, objective = naive.solve_structured(twin, ones, answers, 0.3)
    assert model.certificate_.primal == pytest.approx(objective, rel=1e-6)
    np.testing.assert_allclose(model.coef_, w.reshape(4, 3)[:3].T, atol=1e-3)
    np.testing.assert_allclose(model.decision_function(X[:5]).sum(axis=1), 0, atol=1e-6)


def test_chains_of_length_one_are_classes():
    """First and last labels weigh together as a constant feature of the square root of two."""
    chain = ChainSVC(C=0.3, tol=1e-8).fit(X, THREE, lengths=np.ones(40, dtype=int))
    wide = np.hstack([X, np.full((40, 1), np.sqrt(2.0) - 1.0)])
    model = StructuredSVC(C=0.3, tol=1e-8).fit(X, THREE)
    del wide
    alone = ChainSVC(C=0.3, tol=1e-8, transitions=False)
    alone.fit(np.hstack([X, np.ones((40, 1))]), THREE, lengths=np.ones(40, dtype=int))
    assert alone.certificate_.primal == pytest.approx(model.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(alone.coef_[:, :3], model.coef_, atol=1e-4)
    doubled = ChainSVC(C=0.3, tol=1e-8, transitions=False)
    doubled.fit(
        np.hstack([X, np.full((40, 1), np.sqrt(2.0))]), THREE, lengths=np.ones(40, dtype=int)
    )
    assert chain.certificate_.primal == pytest.approx(doubled.certificate_.primal, rel=1e-6)


def test_a_hierarchy_costs_what_its_tree_says():
    tree = HierarchyModel({"ash": "wood", "elm": "wood", "wood": "plant", "oak": "plant"})
    costs = tree.make_costs(np.array(["ash", "elm", "oak"]))
    np.testing.assert_array_equal(costs, [[0, 1, 1.5], [1, 0, 1.5], [1.5, 1.5, 0]])
    model = StructuredSVC(tree, tol=1e-6).fit(X, THREE)
    same = StructuredSVC(MulticlassModel(costs), tol=1e-6).fit(X, THREE)
    np.testing.assert_array_equal(model.coef_, same.coef_)
    found = model.predict(X)
    place = {label: k for k, label in enumerate(model.classes_)}
    losses = [costs[place[a], place[b]] for a, b in zip(THREE, found, strict=True)]
    assert model.score(X, THREE) == pytest.approx(1.0 - np.mean(losses))


def test_sparse_rows_and_dataframes_give_the_same_machine():
    pandas = pytest.importorskip("pandas")
    dense = StructuredSVC(tol=1e-6).fit(X, THREE)
    sparse = StructuredSVC(tol=1e-6).fit(sp.csr_array(X), THREE)
    np.testing.assert_array_equal(dense.coef_, sparse.coef_)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    named = StructuredSVC(tol=1e-6).fit(frame, THREE)
    np.testing.assert_array_equal(named.predict(frame), dense.predict(X))
    assert named.feature_names_in_.tolist() == ["a", "b", "c"]


def make_subsets(**broken):
    """A model of subsets, with some methods replaced."""

    class Subsets:
        def joint_feature(self, x, y):
            return sum((x[k] for k in y), np.zeros(x.shape[1]))

        def loss(self, y, answer):
            return len(set(y) ^ set(answer))

        def argmax(self, w, x):
            return {k for k in range(len(x)) if x[k] @ w > 0}

        def loss_augmented_argmax(self, w, x, y):
            return {k for k in range(len(x)) if x[k] @ w + (-1 if k in y else 1) > 0}

    for name, method in broken.items():
        setattr(Subsets, name, method)
    return Subsets()


CASES = RNG.normal(size=(10, 4, 3))
SETS = [{k for k in range(4) if case[k, 0] > case[k, 1]} for case in CASES]


def test_any_model_is_learned():
    model = StructuredSVC(make_subsets(), C=5.0).fit(CASES, SETS)
    assert model.predict(CASES) == SETS
    assert model.score(CASES, SETS) == 1.0
    assert model.certificate_.duality_gap <= 1e-3 * model.certificate_.primal
    with pytest.raises(AttributeError, match="ready models"):
        model.decision_function(CASES)
    sparse = make_subsets(
        joint_feature=lambda self, x, y: sp.csr_array([sum((x[k] for k in y), np.zeros(3))])
    )
    same = StructuredSVC(sparse, C=5.0).fit(CASES, SETS)
    np.testing.assert_allclose(same.coef_, model.coef_)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ({"joint_feature": lambda self, x, y: "text"}, "must return a vector of numbers"),
        ({"joint_feature": lambda self, x, y: np.full(3, np.nan)}, "NaN or infinity"),
        ({"joint_feature": lambda self, x, y: np.ones(1 + len(y))}, "vectors of one length"),
        ({"loss": lambda self, y, answer: -1.0}, "at least 0"),
        ({"loss": lambda self, y, answer: 1.0}, "0 for the right answer"),
        ({"loss": lambda self, y, answer: None}, "must be a number"),
    ],
)
def test_models_that_are_wrong_are_found_out(broken, words):
    model = StructuredSVC(make_subsets()).fit(CASES, SETS)
    model.model = make_subsets(**broken)
    with refused(model, SolverError, words):
        model.fit(CASES, SETS)


@pytest.mark.parametrize(
    ("params", "given", "words"),
    [
        ({"model": object()}, (CASES, SETS), "must have the methods"),
        ({"model": make_subsets()}, (CASES, SETS[:3]), "10 cases, but y has 3"),
        ({"model": make_subsets()}, ([], []), "no cases"),
        ({"model": MulticlassModel([[0, 1], [1, 0]])}, (X, THREE), "shape \\(3, 3\\)"),
        ({"model": MulticlassModel([[0, 1], [-1, 0]])}, (X, TWO), "at least 0"),
        ({"model": MulticlassModel([[1, 1], [1, 0]])}, (X, TWO), "costs nothing"),
        ({"model": MulticlassModel([[0, 0], [0, 0]])}, (X, TWO), "nothing would be learned"),
        ({"model": MulticlassModel("x")}, (X, TWO), "matrix of numbers"),
        ({"model": HierarchyModel({"ash": "wood"})}, (X, THREE), "'elm' is not in the tree"),
        ({"model": HierarchyModel({"ash": "elm", "elm": "ash"})}, (X, THREE), "circle"),
        ({"model": HierarchyModel(3)}, (X, THREE), "must be a mapping"),
        ({"C": 0.0}, (X, TWO), "'C' parameter"),
        ({"tol": 0.0}, (X, TWO), "'tol' parameter"),
        ({}, (X * 1e100, TWO), "too large in row 0"),
    ],
)
def test_what_is_refused(params, given, words):
    model = StructuredSVC().fit(X, TWO)
    model.set_params(**params)
    with refused(model, ValueError, words):
        model.fit(*given)


def test_limits_and_callbacks_end_a_fit_with_a_warning():
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = StructuredSVC(C=100.0, tol=1e-9, max_iter=1).fit(X, THREE)
    assert model.fit_status_ == 1
    assert model.n_iter_ == 1
    reports = []
    with pytest.warns(ConvergenceWarning, match="callback"):
        StructuredSVC(
            C=100.0, tol=1e-9, callback=lambda report: reports.append(report) or len(reports) > 2
        ).fit(X, THREE)
    assert len(reports) == 3


def test_ctrl_c_leaves_the_best_model_so_far():
    def stop(report):
        raise KeyboardInterrupt

    model = StructuredSVC(make_subsets(), tol=1e-9, callback=stop)
    with pytest.raises(KeyboardInterrupt, match="best model so far"):
        model.fit(CASES, SETS)
    assert "Interrupted" in model.certificate_.status
    assert model.certificate_.infeasibility < 1e-9
    model.predict(CASES)


def test_the_model_of_the_page_is_learned(capsys):
    page = Path(__file__).parents[2] / "docs" / "structured.md"
    part = page.read_text(encoding="utf-8").partition("<!-- own model -->")[2]
    code = part.partition("```python\n")[2].partition("```")[0]
    exec(compile(code, str(page), "exec"), {})
    printed = capsys.readouterr().out
    assert printed.startswith("Optimal")
    assert float(printed.split()[-1]) > 0.9
