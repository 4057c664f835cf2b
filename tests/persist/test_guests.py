"""scikit-learn's machines in model files: they answer as they did, or are refused."""

import numpy as np
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multioutput import MultiOutputClassifier

from lindero.errors import ModelFileError
from lindero.evaluation import fit_machine, make_decision_machine, make_machine
from lindero.evaluation.registry import GUESTS, identify_machine
from lindero.persist import inspect, load, save
from lindero.persist.registry import kind_of

random = np.random.default_rng(0)
X = random.normal(size=(150, 4))
X_MISSING = np.where(random.random(X.shape) < 0.1, np.nan, X)
NUMBERS = X[:, 0] ** 2 + X[:, 1]
TWO = np.where(NUMBERS > 1, "yes", "no")
THREE = np.digitize(NUMBERS, [0.0, 1.0])

CLASSIFIERS = [
    LogisticRegression(),
    RandomForestClassifier(7, random_state=0, max_depth=4, oob_score=True, n_jobs=1),
    RandomForestClassifier(3, random_state=0, max_leaf_nodes=6, class_weight="balanced"),
    HistGradientBoostingClassifier(max_iter=7, random_state=0),
    HistGradientBoostingClassifier(max_iter=20, early_stopping=True, random_state=0),
]
REGRESSORS = [
    Ridge(),
    RandomForestRegressor(7, random_state=0),
    HistGradientBoostingRegressor(max_iter=7, random_state=0),
    HistGradientBoostingRegressor(loss="poisson", max_iter=7, random_state=0),
]


def forge(model, field, place, value):
    """The model of a file in which one number of a field is another."""
    kind = kind_of(model)
    state = kind.state(model)
    state[field] = state[field].copy()
    state[field][place] = value
    return kind.make_with({}, state)


def again(model, path):
    save(model, path)
    return load(path)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("machine", CLASSIFIERS, ids=str)
def test_classifiers_answer_as_they_did(machine, y, tmp_path):
    rows = X if isinstance(machine, LogisticRegression) else X_MISSING
    model = machine.fit(rows, y)
    found = again(model, tmp_path / "m.lin")
    np.testing.assert_array_equal(found.predict_proba(rows), model.predict_proba(rows))
    assert found.predict(rows).tolist() == model.predict(rows).tolist()
    assert found.classes_.tolist() == model.classes_.tolist()
    assert found.get_params() == model.get_params()
    twice = again(found, tmp_path / "n.lin")
    np.testing.assert_array_equal(twice.predict_proba(rows), model.predict_proba(rows))


@pytest.mark.parametrize("machine", REGRESSORS, ids=str)
def test_regressors_answer_as_they_did(machine, tmp_path):
    model = machine.fit(X, np.abs(NUMBERS))
    found = again(model, tmp_path / "m.lin")
    np.testing.assert_array_equal(found.predict(X), model.predict(X))
    if hasattr(model, "feature_importances_"):
        np.testing.assert_array_equal(found.feature_importances_, model.feature_importances_)
        assert [t.get_depth() for t in found.estimators_] == [
            t.get_depth() for t in model.estimators_
        ]


@pytest.mark.parametrize("machine", [*CLASSIFIERS, *REGRESSORS], ids=str)
def test_unfitted_ones_stay_so(machine, tmp_path):
    found = again(type(machine)(), tmp_path / "m.lin")
    assert not hasattr(found, "n_features_in_")
    assert type(found.fit(X, THREE)) is type(machine)


@pytest.mark.parametrize("task", GUESTS)
def test_guests_are_saved_with_what_is_around_them(task, tmp_path):
    table = [["abc"[k % 3], value] for k, value in enumerate(X[:, 0])]
    y = TWO if task == "classification" else NUMBERS
    for name, spec in GUESTS[task].items():
        if name == "baseline":
            continue
        model = fit_machine(make_machine(spec, {}, random_state=0), table, y)
        path = tmp_path / f"{name}.lin"
        found = again(model, path)
        assert found.predict(table).tolist() == model.predict(table).tolist()
        assert identify_machine(found) == spec
        assert inspect(path).estimator == f"sklearn.{spec.class_name}"
        if task == "classification":
            rule = {"costs": {("yes", "no"): 9}, "y": y, "random_state": 0}
            decides = fit_machine(make_decision_machine(spec, {}, **rule), table, y)
            held = again(decides, path)
            assert held.predict(table).tolist() == decides.predict(table).tolist()


FORGED = [
    ("left", 0, 10**6, "behind"), ("left", 0, -5, "given as"), ("right", 0, 10**12, "behind"),
    ("feature", 0, 4, "columns"), ("feature", 0, -3, "columns"), ("sizes", 0, 10**9, "sizes|left"),
    ("sizes", 0, 0, "below"), ("threshold", 0, np.nan, "numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "place", "value", "words"), FORGED)
@pytest.mark.parametrize(
    "machine",
    [RandomForestClassifier(2, random_state=0), HistGradientBoostingClassifier(max_iter=2)],
    ids=["forest", "boosting"],
)
def test_trees_that_lead_elsewhere_are_refused(machine, field, place, value, words):
    with pytest.raises(ModelFileError, match=words):
        forge(machine.fit(X, THREE), field, place, value)


def test_cycles_are_refused():
    with pytest.raises(ModelFileError, match="behind"):
        forge(RandomForestRegressor(1, random_state=0).fit(X, NUMBERS), "left", 2, 1)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n_features_in_", 3), ("n_features_in_", 0), ("classes_", np.array([2, 1, 0])),
        ("classes_", np.array([0, 1])), ("values", np.zeros((2, 3))), ("values", None),
    ],
)  # fmt: skip
def test_other_fields_that_do_not_fit_are_refused(field, value):
    model = RandomForestClassifier(2, random_state=0).fit(X, THREE)
    kind = kind_of(model)
    with pytest.raises(ModelFileError):
        kind.make_with({}, {**kind.state(model), field: value})


@pytest.mark.parametrize(
    "machine",
    [
        RandomForestClassifier(1), RandomForestRegressor(1),
        HistGradientBoostingClassifier(max_iter=1), HistGradientBoostingRegressor(max_iter=1),
    ],
    ids=lambda machine: type(machine).__name__,
)  # fmt: skip
def test_columns_that_a_file_claims_cost_nothing(machine):
    """A file of 3 kB that claims 400 000 columns took minutes to load, or gigabytes."""
    kind = kind_of(machine.fit(X, THREE))
    found = kind.make_with({}, {**kind.state(machine), "n_features_in_": 10**9})
    with pytest.raises(ValueError, match="expecting 1000000000 features"):
        found.predict(X)


HUGE = 1.7e308


@pytest.mark.parametrize(
    ("machine", "field"),
    [
        (LogisticRegression(), "coef_"), (Ridge(), "coef_"),
        (RandomForestClassifier(2), "values"), (RandomForestRegressor(2), "values"),
        (HistGradientBoostingClassifier(max_iter=2), "value"),
        (HistGradientBoostingRegressor(max_iter=2), "value"),
    ],
    ids=lambda given: type(given).__name__,
)  # fmt: skip
def test_numbers_whose_sums_are_infinite_are_refused(machine, field):
    with pytest.raises(ModelFileError, match=r"smaller numbers|below"):
        forge(machine.fit(X, THREE), field, slice(None), HUGE)


def test_threads_that_a_file_claims_are_bounded(capsys):
    kind = kind_of(machine := RandomForestClassifier(2).fit(X, THREE))
    many = {"n_estimators": 10**6, "n_jobs": 10**6}
    with pytest.raises(ModelFileError, match="n_jobs"):
        kind.make_with(many, kind.state(machine))
    kind.make_with({"verbose": 3}, kind.state(machine))
    assert capsys.readouterr().out == ""


def test_classes_whose_square_would_fill_memory_are_refused():
    kind = kind_of(machine := HistGradientBoostingClassifier(max_iter=1).fit(X, THREE))
    state = kind.state(machine)
    n = 3000
    state |= {
        name: np.resize(state[name], n * len(state[name]) // 3)
        for name in state
        if name
        in (
            "left",
            "right",
            "feature",
            "threshold",
            "missing_left",
            "value",
            "n_rows",
            "gain",
            "depth",
            "sizes",
        )
    }
    state |= {"classes_": np.arange(n), "start": np.zeros(n)}
    with pytest.raises(ModelFileError, match="1000 classes"):
        kind.make_with({}, state)


def test_what_files_do_not_hold_is_said(tmp_path):
    both = np.column_stack([THREE, THREE])
    with pytest.raises(TypeError, match="several targets"):
        save(RandomForestClassifier(2).fit(X, both), tmp_path / "m.lin")
    boosting = HistGradientBoostingClassifier(max_iter=2, categorical_features=[0])
    with pytest.raises(TypeError, match="TableEncoder"):
        save(boosting.fit(np.round(np.abs(X)), THREE), tmp_path / "m.lin")
    with pytest.raises(TypeError, match="A model file holds"):
        save(MultiOutputClassifier(LogisticRegression()), tmp_path / "m.lin")
