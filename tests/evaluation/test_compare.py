"""The comparison: fair, nested, and never stopped by one machine."""

import json

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from lindero.bayes import TAN
from lindero.data import load, make_rotating
from lindero.data.generators import load_tax_table
from lindero.evaluation import CONTENDERS, compare, fit_machine, make_machine
from lindero.evaluation.comparison import judge_machine
from lindero.evaluation.folds import make_class_folds
from lindero.evaluation.importance import measure_recommended
from lindero.evaluation.learning import ComparisonPlan, find_last_rows
from lindero.evaluation.registry import find_contenders
from lindero.evaluation.rows import EvaluationRows
from lindero.svm import SVC
from tests.evaluation.tables import clouds, mixed_table

QUICK = ["naive-bayes", "svc-linear"]


@pytest.fixture(scope="module")
def mixed():
    """A comparison of several machines on a table with words and gaps."""
    machines = ["naive-bayes", "tan", "svc-linear", "svc-gaussian"]
    return compare(*mixed_table(), machines=machines, folds=3)


def test_probabilities_of_several_classes_are_not_timid():
    """Ten classes that are told apart with few errors are told apart with confidence."""
    X, y = load_digits(return_X_y=True)
    result = compare(X[:400], y[:400], machines=["svc-linear"], folds=3)["svc-linear"]
    right = np.mean(result.answers == y[:400])
    assert right > 0.95
    assert np.mean(result.probabilities.max(axis=1)) == pytest.approx(right, abs=0.05)


def test_every_machine_answers_every_row_with_probabilities(mixed):
    assert mixed.complete
    for machine in mixed.machines:
        assert machine.failure is None, machine.name
        assert (machine.answers >= 0).all()
        np.testing.assert_allclose(machine.probabilities.sum(axis=1), 1.0)
        assert machine.mean("error") < 0.25
        assert machine.mean("log_loss") < np.log(2)
        assert machine.mean("error") < mixed.baseline


def test_scores_are_those_of_the_answers(mixed):
    for machine in mixed.machines:
        wrong = machine.answers != mixed.truth
        sizes = [test for _, test in mixed.fold_sizes]
        assert np.average(machine.scores["error"], weights=sizes) == pytest.approx(wrong.mean())


def test_default_machines_suit_the_data():
    X, y = clouds(40)
    names = {m.name for m in _begun(X, y).machines}
    assert names == {
        "naive-bayes", "naive-bayes-tm", "tan", "tan-tm", "structural-tm", "svc-linear",
        "svc-gaussian",
    }  # fmt: skip
    assert "adaptive-svc" in {m.name for m in _begun(X, y, times=np.arange(40)).machines}
    with_costs = {m.name for m in _begun(X, y, costs=[[0, 1], [5, 0]]).machines}
    assert {"cost-sensitive-svc-linear", "cost-sensitive-svc-gaussian"} < with_costs
    several = _begun(*clouds(60, 3), costs=1 - np.eye(3))
    assert not any(name.startswith("cost") for name in (m.name for m in several.machines))
    assert any("for two classes, and there are 3" in note for note in several.notes)
    sparse = _begun(sp.csr_array(X), y)
    assert {m.name for m in sparse.machines} == {"svc-linear", "svc-gaussian"}
    assert any("sparse" in note for note in sparse.notes)


def test_text_and_wide_sparse_tables_get_machines_that_are_sums():
    y = clouds(80)[1]
    wide = sp.csr_array((np.ones(80), (np.arange(80), np.arange(80))), shape=(80, 1200))
    begun = _begun(wide, y)
    assert [m.name for m in begun.machines] == ["svc-linear", "linear-svc"]
    assert any("Left out" in note and "svc-gaussian" in note for note in begun.notes)
    texts = pa.table(
        {"text": [f"one of {k} fine {'good' if c else 'bad'} days" for k, c in enumerate(y)]}
    )
    begun = compare(texts, y, progress=lambda state: True)
    names = {m.name for m in begun.machines}
    assert names == {"svc-linear", "linear-svc", "logistic-regression", "baseline"}
    assert any("they do not read texts" in note for note in begun.notes)
    asked = compare(texts, y, machines=["auto", "naive-bayes"], progress=lambda state: True)
    assert {m.name for m in asked.machines} == names | {"naive-bayes"}
    numbers = _begun(wide, np.arange(80) / 7.0)
    assert [m.name for m in numbers.machines] == ["svr-linear", "linear-svr"]


def _begun(X, y, **options):
    """A comparison of our machines that is ended before its first fit."""
    return compare(X, y, progress=lambda state: True, baselines=False, **options)


@pytest.mark.parametrize("name", ["naive-bayes", "svc-gaussian", "adaptive-svc", "aode"])
def test_labels_of_test_rows_change_nothing_but_the_scores(name):
    """Nothing of the tuning, the fit or the probabilities has seen a test row."""
    X, y = clouds(80, distance=1.5)
    times = np.arange(80.0) if name == "adaptive-svc" else None
    train, test = np.arange(60), np.arange(60, 80)
    other = y.copy()
    other[test] = 1 - other[test]
    plan = ComparisonPlan(np.array([0, 1]), None, 3, 2000, 0)
    (contender,) = find_contenders(name)
    found = [
        judge_machine(contender, EvaluationRows(X, labels, times), labels, (train, test), plan)
        for labels in (y, other)
    ]
    assert found[0].failure is None
    assert (found[0].answers == found[1].answers).all()
    assert (found[0].probabilities == found[1].probabilities).all()
    assert found[0].parameters == found[1].parameters
    assert found[0].scores["error"] == pytest.approx(1 - found[1].scores["error"])


def test_features_of_test_rows_change_no_other_answer():
    """Scales and categories come from the training rows only."""
    X, y = clouds(60)
    train, test = np.arange(45), np.arange(45, 60)
    moved = X.copy()
    moved[50] *= 1e6
    plan = ComparisonPlan(np.array([0, 1]), None, 3, 2000, 0)
    contender = CONTENDERS["svc-linear"]
    one, other = (
        judge_machine(contender, EvaluationRows(table, y), y, (train, test), plan)
        for table in (X, moved)
    )
    same = np.arange(45, 60) != 50
    assert (one.probabilities[same] == other.probabilities[same]).all()


def test_the_same_seed_gives_the_same_result_in_one_process_or_two():
    X, y = clouds(60)
    one = compare(X, y, machines=QUICK, folds=3, random_state=5)
    two = compare(X, y, machines=QUICK, folds=3, random_state=5, n_jobs=2)
    for name in QUICK:
        assert one[name].scores["log_loss"].tolist() == two[name].scores["log_loss"].tolist()
        assert one[name].parameters == two[name].parameters
    assert one.recommendation() == two.recommendation()


def test_a_machine_that_fails_says_why_and_the_others_go_on(monkeypatch):
    def fails(self, X, y):
        raise MemoryError("no room for 10 000 columns")

    monkeypatch.setattr(TAN, "fit", fails)
    result = compare(*clouds(60), machines=["tan", *QUICK], folds=3)
    assert result.complete
    assert result["tan"].failure == "fold 1: no room for 10 000 columns"
    assert result.ranked[-1].name == "tan"
    assert result.best.name in QUICK
    assert set(result.against_best) < set(QUICK)


def test_nothing_is_recommended_where_all_fail(monkeypatch):
    def fails(self, X, y):
        raise ValueError("no")

    monkeypatch.setattr(TAN, "fit", fails)
    result = compare(*clouds(40), machines=["tan"], folds=2)
    assert (result.best, result.recommended, result.against_best) == (None, None, {})
    assert "nothing to recommend" in result.recommendation()
    json.dumps(result.to_dict(), allow_nan=False)


def test_costs_move_decisions_and_the_ranking():
    X, y = clouds(120, distance=1.0)
    machines = ["naive-bayes", "svc-linear", "cost-sensitive-svc-linear"]
    result = compare(X, y, machines=machines, costs={(1, 0): 10.0}, folds=3)
    assert result.measure == "cost"
    for machine in result.machines:
        assert machine.failure is None
        misses = ((result.truth == 1) & (machine.answers == 0)).sum()
        alarms = ((result.truth == 0) & (machine.answers == 1)).sum()
        assert misses < alarms
        assert machine.mean("cost") == pytest.approx((10 * misses + alarms) / 120)


def test_drift_is_for_the_machine_that_follows_it():
    X, y = make_rotating(240, step=np.pi / 240, noise=0.3, random_state=0)
    order = np.random.default_rng(0).permutation(240)
    machines = ["naive-bayes", "svc-linear", "adaptive-svc"]
    result = compare(X[order], y[order], times=order, machines=machines, folds=4)
    assert result.time_respecting
    assert result.best.name == "adaptive-svc"
    assert result["adaptive-svc"].mean("error") < 0.6 * result["svc-linear"].mean("error")
    untested = (result["adaptive-svc"].answers < 0).sum()
    assert untested == result.fold_sizes[0][0]


def test_a_window_is_of_the_last_rows_in_time():
    X, y = make_rotating(240, step=np.pi / 120, noise=0.1, random_state=0)
    order = np.random.default_rng(0).permutation(240)
    result = compare(
        X[order], y[order], times=order, machines=["window-svc", "svc-linear"], folds=4
    )
    window = result["window-svc"]
    assert window.machine == "incremental-svc"
    assert window.mean("error") < 0.8 * result["svc-linear"].mean("error")
    # A machine trained by the parameters that were found is that of the last rows.
    chosen = window.parameters[-1]
    model = fit_machine(make_machine("incremental-svc", chosen), X[order], y[order], times=order)
    numbers = model.steps[0][1].transform(X)
    last = slice(240 - chosen["window"], 240)
    known = SVC(kernel="linear", C=chosen["C"], tol=1e-6).fit(numbers[last], y[last])
    expected = known.decision_function(numbers)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-2)


def test_a_window_of_one_class_reaches_back_to_the_other():
    times, y = np.arange(10)[::-1], np.array([1, 1, 1, 1, 1, 1, 0, 0, 1, 0])
    rows = EvaluationRows(np.zeros((10, 1)), y, times, None, None)
    assert find_last_rows(rows, 3.0, True).tolist() == [6, 5, 4, 3, 2, 1, 0]
    assert find_last_rows(rows, 3.0, False).tolist() == [2, 1, 0]
    assert find_last_rows(rows, 99.0, True).tolist() == list(range(9, -1, -1))


def test_regression_along_time():
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 2))
    slope = np.linspace(-2, 2, 150)
    y = 1000 * (slope * X[:, 0] + 0.1 * random.normal(size=150))
    result = compare(X, y, times=np.arange(150), folds=4, baselines=False)
    names = {"svr-linear", "svr-gaussian", "adaptive-svr", "window-svr"}
    assert {m.name for m in result.machines} == names
    assert result.measure == "rmse"
    window = result["window-svr"]
    assert window.mean("rmse") < result["svr-linear"].mean("rmse")
    assert all(parameters["window"] < 120 for parameters in window.parameters)
    assert result.best.name == "adaptive-svr"


def test_units_of_the_target_do_not_matter():
    X, _ = clouds(60)
    target = X[:, 0] + 0.2 * X[:, 1] ** 2
    small, large = (compare(X, u * target, folds=3, baselines=False) for u in (1e-4, 1e5))
    for name in ("svr-linear", "svr-gaussian"):
        np.testing.assert_allclose(
            small[name].scores["rmse"] * 1e9, large[name].scores["rmse"], rtol=0.02
        )


def test_rare_and_single_classes_are_told_of_and_do_not_stop_anything():
    X, y = clouds(63, 3)
    y = np.array([*np.array(["a", "b", "c"])[y[:60]], "rare", "rare", "single"])
    result = compare(X, y, machines=["naive-bayes", "svc-linear", "svc-gaussian"], folds=5)
    assert len(result.fold_sizes) == 2
    assert [machine.failure for machine in result.machines] == [None] * 3
    assert any("'single' has one row only" in note for note in result.notes)
    assert any("2 folds instead of 5: class 'rare'" in note for note in result.notes)


def test_weights_count_in_scores_and_in_fits():
    X, y = clouds(90, distance=0.5)
    weights = np.where(y == 1, 5.0, 1.0)
    plain = compare(X, y, machines=QUICK, folds=3)
    weighted = compare(X, y, machines=QUICK, folds=3, sample_weight=weights)
    splits, _ = make_class_folds(y, 3, 1, 0)
    for machine in weighted.machines:
        wrong = machine.answers != y
        expected = [np.average(wrong[test], weights=weights[test]) for _, test in splits]
        np.testing.assert_allclose(machine.scores["error"], expected)
        assert machine.answers.sum() > 1.3 * plain[machine.name].answers.sum()


def test_a_dataset_brings_its_target_and_is_described():
    result = compare(load_tax_table(), machines=["naive-bayes"], folds=2)
    assert result.target == "evade"
    assert result.data.startswith("tax table: 10 rows, 3 columns")
    assert "10 rows" in result.recommendation()


def test_columns_that_name_rows_reach_the_machines_where_they_are_kept(tmp_path):
    """Numbers that tell the class, under a name of ids."""
    noise = np.random.default_rng(0).normal(size=120)
    lines = [f"{k},{x:.3f},{'new' if k >= 60 else 'old'}" for k, x in enumerate(noise)]
    path = tmp_path / "orders.csv"
    path.write_text("\n".join(["order_id,noise,class", *lines]) + "\n")
    data = load(path, keep_row_names=True)
    machines = ["svc-linear", "logistic-regression", ("given", LogisticRegression())]
    result = compare(data, machines=machines, folds=3)
    for machine in result.machines:
        assert machine.mean("error") < 0.1, machine.name
    found = measure_recommended(compare(data, machines=["svc-linear"], folds=3), data)
    assert found.means[found.names.index("order_id")] > 0.1


def test_an_interruption_keeps_what_was_done():
    def interrupt(state):
        if state.n_done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        compare(*clouds(60), machines=QUICK, folds=3, progress=interrupt)
    result = caught.value.result
    assert not result.complete
    assert [int(result[name].done.sum()) for name in QUICK] == [2, 1]
    assert result.best is not None
    assert "cut short" in result.recommendation()


def test_progress_counts_to_the_end():
    seen = []
    compare(*clouds(60), machines=QUICK, folds=2, progress=lambda state: seen.append(state))
    assert [state.n_done for state in seen] == [0, 1, 2, 3, 4]
    assert seen[0].running == ("naive-bayes", 0)
    assert seen[-1].running is None
    assert seen[-1].comparison.complete


def test_json_holds_everything(mixed):
    data = json.loads(json.dumps(mixed.to_dict(), allow_nan=False))
    assert [m["name"] for m in data["machines"]] == [m.name for m in mixed.ranked]
    assert data["machines"][0]["against_best"] is None
    assert data["machines"][1]["against_best"]["verdict"].startswith("not distinguishable")
    assert len(data["machines"][0]["scores"]["error"]) == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"machines": ["svr-linear"]}, "svr-linear is for regression, and the target asks for cl"),
        ({"machines": ["nosuch"]}, "There is no machine 'nosuch'"),
        ({"machines": ["svc-liner"]}, "did you mean 'svc-linear'"),
        ({"machines": ["rank-svm"]}, "rank-svm is for ranking, which is not compared"),
        ({"machines": []}, "machines is empty"),
        ({"machines": ["cost-sensitive-svc"]}, "needs costs"),
        ({"machines": ["adaptive-svc"]}, "needs times"),
        ({"machines": ["window-svc"]}, "needs times"),
        ({"folds": 1}, "folds must be a whole number of at least 2; it is 1"),
        ({"repeats": 2, "times": np.arange(40)}, "repeats=2 has no meaning along time"),
        ({"times": np.arange(3)}, "times has 3 values, but X has 40 rows"),
        ({"times": [np.nan] * 40}, "times\\[0\\] is missing"),
        ({"sample_weight": -np.ones(40)}, "sample_weight must be finite and not negative"),
        ({"task": "clustering"}, "classification or regression; the task is 'clustering'"),
    ],
)
def test_what_makes_no_sense_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        compare(*clouds(40), **options)


def test_targets_that_make_no_sense_are_refused():
    X, y = clouds(40)
    with pytest.raises(ValueError, match="The target 'y' is missing in all rows"):
        compare(X, np.full(40, np.nan))
    with pytest.raises(ValueError, match="only one class"):
        compare(X, np.zeros(40, dtype=int))
    with pytest.raises(ValueError, match="y has 39 values, but X has 40 rows"):
        compare(X, y[:39])
    with pytest.raises(ValueError, match="y is needed"):
        compare(X)
    with pytest.raises(ValueError, match="needs numbers as targets"):
        compare(X, np.where(y, "a", "b"), task="regression")
    with pytest.raises(ValueError, match="costs are for classes"):
        compare(X, X[:, 0], costs=[[0, 1], [1, 0]])
