"""Guests run beside our machines, are judged like them, and win where they are better."""

import shlex

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from lindero.evaluation import GUESTS, compare, find_machine, fit_machine, make_machine
from lindero.persist import load
from tests.cli.running import Here
from tests.evaluation.tables import clouds, mixed_table

NAMES = {
    "classification": {"baseline", "logistic-regression", "random-forest", "gradient-boosting"},
    "regression": {"baseline", "ridge", "random-forest", "gradient-boosting"},
}


def steps(n_rows=240, seed=0):
    """Classes that only a tree finds: squares of a chequered board, and columns of noise."""
    random = np.random.default_rng(seed)
    X = random.uniform(0, 4, (n_rows, 6))
    return X, (np.floor(X[:, 0]) + np.floor(X[:, 1])).astype(int) % 2


def test_the_list_names_four_of_each_task():
    assert {task: set(guests) for task, guests in GUESTS.items()} == NAMES
    assert all(guest.is_guest for guests in GUESTS.values() for guest in guests.values())


@pytest.mark.parametrize("task", NAMES)
def test_guests_run_by_default_and_can_be_left_out(task):
    X, y = clouds(40)
    target = y if task == "classification" else X[:, 0]
    begun = {"progress": lambda state: True}
    names = {machine.name for machine in compare(X, target, **begun).machines}
    assert names > NAMES[task]
    plain = {machine.name for machine in compare(X, target, baselines=False, **begun).machines}
    assert names - plain == NAMES[task]


def test_guests_take_tables_with_words_and_gaps():
    result = compare(*mixed_table(), machines=sorted(NAMES["classification"]), folds=3)
    assert [machine.failure for machine in result.machines] == [None] * 4
    assert result["baseline"].mean("error") == pytest.approx(0.5)
    assert result["baseline"].mean("error") == pytest.approx(result.baseline)
    assert result["logistic-regression"].mean("error") < 0.25


def test_a_guest_that_is_better_is_recommended():
    machines = ["naive-bayes", "svc-linear", "random-forest"]
    result = compare(*steps(600), machines=machines, folds=3)
    assert result.best.name == result.recommended.name == "random-forest"
    assert "Take random-forest" in result.recommendation()


def test_the_baseline_is_not_recommended_beside_another():
    X, y = clouds(120, distance=1.0)
    result = compare(X, y, machines=["baseline", "naive-bayes"], folds=3)
    assert result.recommended.name == "naive-bayes"


def test_estimators_and_pairs_are_compared():
    X, y = clouds(90)
    given = ["naive-bayes", LogisticRegression(), ("trees", ExtraTreesClassifier(20)), LinearSVC()]
    result = compare(X, y, machines=given, folds=3)
    names = [machine.name for machine in result.machines]
    assert names == ["naive-bayes", "LogisticRegression", "trees", "LinearSVC"]
    for machine in result.machines:
        assert machine.failure is None
        assert machine.mean("error") < 0.2
        np.testing.assert_allclose(machine.probabilities.sum(axis=1), 1.0)


def test_estimators_get_numbers_of_tables_and_pipelines_get_tables():
    seen = []

    def look(table):
        seen.append(type(table).__name__)
        return np.asarray(table.column("petal").fill_null(0.0))[:, None]

    own = make_pipeline(FunctionTransformer(look), LogisticRegression())
    result = compare(*mixed_table(), machines=[LogisticRegression(), ("own", own)], folds=3)
    assert [machine.failure for machine in result.machines] == [None, None]
    assert set(seen) == {"Table"}


def test_auto_stands_for_all_that_suit_the_data():
    X, y = clouds(40)
    begun = {"progress": lambda state: True}
    usual = [machine.name for machine in compare(X, y, **begun).machines]
    with_own = compare(X, y, machines=["auto", LinearSVC()], **begun)
    assert [machine.name for machine in with_own.machines] == [*usual, "LinearSVC"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (LinearRegression(), "LinearRegression is for regression, and the target asks for cl"),
        (("trees", LinearRegression()), "trees is for regression"),
        (5, "machines holds 5: it takes names of machines, estimators"),
        ((LogisticRegression(), "name"), "it takes names of machines"),
        ("random-forests", "did you mean 'random-forest'"),
        ("ridge", "ridge is for regression, and the target asks for classification"),
    ],
)
def test_what_cannot_be_compared_says_why(given, words):
    with pytest.raises(ValueError, match=words):
        compare(*clouds(40), machines=[given])


def test_two_of_a_name_are_told_apart_or_refused():
    X, y = clouds(40)
    begun = {"progress": lambda state: True}
    pair = compare(X, y, machines=[LinearSVC(), LinearSVC(C=10)], **begun)
    assert [machine.name for machine in pair.machines] == ["LinearSVC", "LinearSVC-2"]
    with pytest.raises(ValueError, match="two of the name 'one'"):
        compare(X, y, machines=[("one", LinearSVC()), ("one", LinearSVC())])


def test_weights_reach_guests_and_are_refused_where_they_would_be_ignored():
    from sklearn.neighbors import KNeighborsClassifier

    X, y = clouds(60)
    machines = ["logistic-regression", KNeighborsClassifier()]
    result = compare(X, y, machines=machines, folds=2, sample_weight=np.ones(60))
    assert result["logistic-regression"].failure is None
    assert "takes no weights" in result["KNeighborsClassifier"].failure


def test_a_guest_is_found_by_name_and_task():
    assert find_machine("random-forest").class_name == "RandomForestClassifier"
    assert find_machine("random-forest", "regression").class_name == "RandomForestRegressor"
    model = make_machine("logistic-regression", {"C": 5.0})
    assert model.fit(*mixed_table()).score(*mixed_table()) > 0.8


@pytest.mark.parametrize("command", ["train", "cv", "tune"])
def test_commands_take_guests_like_other_machines(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = "".join(f"{k % 7},{'x' if k % 7 < 3 else 'y'}\n" for k in range(60))
    (tmp_path / "t.csv").write_text("a,class\n" + lines, encoding="utf-8")
    done = Here(tmp_path).run(command, "t.csv", "-m", "random-forest")
    assert done.exit_code == 0, done.stderr
    assert "random-forest" in done.stdout


def test_the_next_command_of_a_guest_works_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here = Here(tmp_path)
    X, y = steps(700)
    lines = [",".join([*(f"{v:.3f}" for v in row), str(c)]) for row, c in zip(X, y, strict=True)]
    text = "\n".join(["a,b,c,d,e,f,class", *lines])
    (tmp_path / "steps.csv").write_text(text + "\n", encoding="utf-8")
    machines = ["-m", "naive-bayes", "-m", "random-forest"]
    result = here.json("compare", "steps.csv", "--folds", "3", *machines)
    assert result["recommended"] == "random-forest"
    words = shlex.split(result["next"])
    assert words[:5] == ["lindero", "train", "steps.csv", "-m", "random-forest"]
    assert here.run(*words[1:]).exit_code == 0
    assert load(tmp_path / "model.lin").classes_.tolist() == [0, 1]
    assert shlex.split(result["next_own"])[:5] == [
        "lindero", "train", "steps.csv", "-m", "naive-bayes",
    ]  # fmt: skip


def test_boosting_does_not_diverge_where_classes_are_rare():
    random = np.random.default_rng(2)
    X = random.integers(0, 40, size=(4000, 3)).astype(float)
    y = np.where(X[:, 0] > 12, 2, np.where(X[:, 1] > 30, 1, 0))
    y[(X[:, 0] == 3) & (X[:, 2] < 8)] = 3
    y[(X[:, 1] == 33) & (X[:, 0] == 8)] = 4
    seen = random.random(4000) < 0.7
    model = fit_machine(make_machine("gradient-boosting", random_state=0), X[seen], y[seen])
    chances = model.predict_proba(X[~seen])[np.arange((~seen).sum()), y[~seen]]
    assert -np.log(np.maximum(chances, 1e-15)).mean() < 0.05
