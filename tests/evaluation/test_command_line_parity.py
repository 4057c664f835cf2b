"""The command line and Python give the same numbers for the same table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lindero.data import load
from lindero.evaluation import (
    compare,
    cross_validate,
    fit_machine,
    make_machine,
    parse_settings,
    scale_to_target,
    tune,
)
from lindero.evaluation.registry import choose_contenders, choose_machine
from lindero.evaluation.rows import load_for_machine
from lindero.evaluation.stream_runs import Stream, StreamSettings
from lindero.persist import load as load_model
from tests.cli.running import Here

MACHINES = {
    "churn": ["naive-bayes", "svc-linear"],
    "rent": ["svr-linear", "svr-gaussian"],
}


def shop(n_rows=90, seed=0):
    """Customers with an id, words, numbers and gaps; whether they left, and what they pay."""
    random = np.random.default_rng(seed)
    left = np.arange(n_rows) % 3 == 0
    visits = random.normal(np.where(left, 1.0, 4.0)).round(3)
    table = pd.DataFrame(
        {
            "customer": [f"K{number:05d}" for number in random.permutation(n_rows)],
            "town": random.choice(["Ulm", "Bonn", "Jena"], n_rows),
            "age": random.integers(18, 80, n_rows),
            "visits": np.where(random.random(n_rows) < 0.1, np.nan, visits),
        }
    )
    rent = 50_000.0 * (visits + (table["town"] == "Ulm") + 0.1 * random.normal(size=n_rows))
    return table, np.where(left, "gone", "here"), rent.to_numpy().round(1)


@pytest.fixture(scope="module")
def table():
    return shop()[0]


@pytest.fixture(scope="module")
def targets():
    return dict(zip(("churn", "rent"), shop()[1:], strict=True))


@pytest.fixture(scope="module")
def files(table, targets, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    for name, values in targets.items():
        table.assign(**{name: values}).to_csv(folder / f"{name}.csv", index=False)
    return folder


def typed(*words):
    """The JSON that a command prints."""
    return Here(".").json(*map(str, words))


def scores(told):
    return {machine["name"]: machine["scores"] for machine in told["machines"]}


@pytest.mark.parametrize("target", MACHINES)
def test_a_comparison(files, table, targets, target):
    named = [word for name in MACHINES[target] for word in ("-m", name)]
    told = typed("compare", files / f"{target}.csv", "--folds", "3", *named)
    with pytest.warns(UserWarning, match="Left out: 'customer'"):
        found = compare(table, targets[target], machines=MACHINES[target], folds=3)
    assert told["left_out"] == list(found.left_out) == ["customer"]
    assert scores(told) == scores(found.to_dict())
    assert told["baseline"] == found.baseline
    assert told["recommended"] == found.recommended.name
    assert all(max(own[found.measure]) > 0 for own in scores(told).values())


@pytest.mark.parametrize(
    ("target", "measure"),
    [("churn", "roc-auc"), ("churn", "f1"), ("churn", "brier"), ("rent", "mae")],
)
@pytest.mark.filterwarnings("ignore:Left out")
def test_a_comparison_by_any_measure(files, table, targets, target, measure):
    named = [word for name in MACHINES[target] for word in ("-m", name)]
    path = files / f"{target}.csv"
    told = typed("compare", path, "--folds", "3", *named, "--measure", measure)
    name = measure.replace("-", "_")
    found = compare(table, targets[target], machines=MACHINES[target], folds=3, measure=name)
    assert told["measure"] == found.measure == name
    assert scores(told) == scores(found.to_dict())
    assert (told["baseline"], told["recommended"]) == (found.baseline, found.recommended.name)
    assert told["recommendation"] == found.recommendation()


@pytest.mark.filterwarnings("ignore:Left out")
def test_costs_of_a_comparison(files, table, targets):
    named = [word for name in MACHINES["churn"] for word in ("-m", name)]
    told = typed("compare", files / "churn.csv", "--folds", "3", *named, "--cost", "gone:here=7")
    costs = {("gone", "here"): 7}
    found = compare(table, targets["churn"], machines=MACHINES["churn"], folds=3, costs=costs)
    assert told["measure"] == found.measure == "cost"
    assert scores(told) == scores(found.to_dict())


@pytest.mark.parametrize(
    "convert", [pl.from_pandas, pd.DataFrame.to_numpy, lambda table: table.to_numpy().tolist()]
)
@pytest.mark.filterwarnings("ignore:Left out")
def test_tables_of_other_kinds_are_compared_alike(convert, table, targets):
    options = {"machines": ["naive-bayes"], "folds": 3}
    one = compare(table, targets["churn"], **options)
    other = compare(convert(table), targets["churn"], **options)
    assert len(other.left_out) == 1
    assert scores(one.to_dict()) == scores(other.to_dict())


@pytest.fixture(scope="module")
def with_gaps(table, targets, tmp_path_factory):
    """Files whose target is missing in every seventh row, and their targets."""
    folder = tmp_path_factory.mktemp("gaps")
    gaps = {
        name: pd.Series(values).mask(np.arange(len(values)) % 7 == 0)
        for name, values in targets.items()
    }
    for name, values in gaps.items():
        table.assign(**{name: values}).to_csv(folder / f"{name}.csv", index=False)
    return folder, gaps


missing_targets = pytest.warns(UserWarning, match="13 of 90 rows are left out: they have no value")


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.filterwarnings("ignore:Left out")
def test_rows_without_a_target_are_left_out_of_a_comparison(with_gaps, table, targets, target):
    folder, gaps = with_gaps
    named = [word for name in MACHINES[target] for word in ("-m", name)]
    told = typed("compare", folder / f"{target}.csv", "--folds", "3", *named)
    options = {"machines": MACHINES[target], "folds": 3}
    with missing_targets:
        found = compare(table, gaps[target], **options)
    with missing_targets:
        of_data = compare(load(folder / f"{target}.csv", target=target), **options)
    known = gaps[target].notna().to_numpy()
    plain = compare(table[known], targets[target][known], **options)
    assert found.n_rows == told["n_rows"] == 77
    for other in (found, of_data, plain):
        assert scores(told) == scores(other.to_dict())


@pytest.mark.parametrize("convert", [list, np.asarray, pl.Series])
@pytest.mark.filterwarnings("ignore:Left out")
def test_missing_targets_of_any_kind_are_left_out(with_gaps, table, convert):
    y = with_gaps[1]["churn"]
    with missing_targets:
        found = compare(table, convert(y), machines=["naive-bayes"], folds=3)
    assert found.classes.tolist() == ["gone", "here"]


def test_a_data_set_is_compared_like_its_table(files, table, targets):
    with pytest.warns(UserWarning, match="Left out: 'customer'"):
        data = load(files / "rent.csv", target="rent")
    found = compare(data, machines=["svr-linear"], folds=3)
    assert found.left_out == ("customer",)
    with pytest.warns(UserWarning, match="Left out"):
        plain = compare(table, targets["rent"], machines=["svr-linear"], folds=3)
    assert "3 columns" in found.data
    assert scores(found.to_dict()) == scores(plain.to_dict())


def test_few_rows_or_no_other_column_leave_nothing_out(table, targets):
    few = compare(table[:40], targets["churn"][:40], machines=["naive-bayes"], folds=2)
    only = compare(table[["customer"]], targets["churn"], machines=["naive-bayes"], folds=2)
    assert (few.left_out, only.left_out) == ((), ())


#: Cross-validation and tuning take all columns, and say what is odd about one.
names_rows = pytest.mark.filterwarnings("ignore:Column 'customer' has")


@names_rows
@pytest.mark.parametrize("name", ["svr", "nu-svr", "svr-linear"])
def test_cross_validation_of_numbers_in_their_own_unit(files, table, targets, name):
    told = typed("cv", files / "rent.csv", "-m", name, "--folds", "3")
    found = cross_validate(name, table, targets["rent"], folds=3)
    assert told["folds"] == found.scores
    assert found.mean("r2") > 0.3  # C = 1 could not follow numbers of this size


@names_rows
@pytest.mark.parametrize("target", ["churn", "rent"])
def test_rows_without_a_target_are_left_out_of_folds(with_gaps, table, targets, target):
    folder, gaps = with_gaps
    name = {"churn": "svc", "rent": "svr"}[target]
    told = typed("cv", folder / f"{target}.csv", "-m", name, "--folds", "3")
    tried = typed("tune", folder / f"{target}.csv", "-m", name, "--folds", "3", "--grid", "C=1,9")
    with missing_targets:
        found = cross_validate(name, table, gaps[target], folds=3)
    with missing_targets:
        tuned = tune(name, table, gaps[target], grid={"C": [1, 9]}, folds=3)
    assert told["folds"] == found.scores
    assert tried["trials"] == [trial.to_dict() for trial in tuned.trials]


def test_rows_without_a_target_are_no_matter_where_none_is_needed(with_gaps, table):
    y = with_gaps[1]["churn"]
    found = cross_validate("one-class-svm", table[["age"]], y, folds=3)
    assert found.scores == cross_validate("one-class-svm", table[["age"]], folds=3).scores


@pytest.mark.parametrize("target", ["churn", "rent"])
def test_the_usual_machine(files, targets, target):
    told = typed("cv", files / f"{target}.csv", "--folds", "2", "--target", target)
    assert told["machine"] == choose_machine("auto", load(files / f"{target}.csv")).name


@names_rows
def test_class_weights_as_they_are_typed(tmp_path, table, targets):
    y = (targets["churn"] == "gone").astype(int)
    path = tmp_path / "codes.csv"
    table.assign(churn=y).to_csv(path, index=False)
    typed_weights = 'class_weight={"0": 1, "1": 9}'
    told = typed("cv", path, "-m", "svc", "--folds", "3", "--set", typed_weights)
    params = parse_settings([typed_weights], "svc", y)
    assert params == {"class_weight": {0: 1, 1: 9}}
    assert told["folds"] == cross_validate("svc", table, y, params=params, folds=3).scores


def test_a_column_with_the_name_of_a_target_is_left_out_of_novelty_detection(files, tmp_path):
    path = tmp_path / "labelled.csv"
    pd.DataFrame({"x": np.arange(30.0), "Label": [0, 1] * 15, "z": np.ones(30)}).to_csv(path)
    told = typed("cv", path, "-m", "one-class-svm", "--folds", "3", "--id", "0")
    with pytest.warns(UserWarning, match="column 'Label' is left out"):
        data = load_for_machine(path, "one-class-svm", id=0)
    assert data.X.column_names == ["x", "z"]
    assert data.y is None
    assert told["folds"] == cross_validate("one-class-svm", data.X, folds=3).scores


@pytest.mark.parametrize("typed_options", [(), ("-m", "svc", "--refit-every", "10")])
def test_a_stream(tmp_path, typed_options):
    random = np.random.default_rng(0)
    day = random.permutation(60)
    y = np.where((day // 20 + np.arange(60)) % 2 == 0, "up", "down")
    table = pd.DataFrame({"day": day, "a": random.normal(size=60), "b": (y == "up") * 1.0, "y": y})
    table.loc[[3, 40], "y"] = None
    path = tmp_path / "stream.csv"
    table.to_csv(path, index=False)
    told = typed("stream", path, "--time", "day", *typed_options, "--warm-up", "20")
    data = load(path, time="day")
    name, every = (typed_options[1], 10) if typed_options else ("auto", None)
    machine = choose_machine(name, data, on_stream=True).name
    with pytest.warns(UserWarning, match="2 of 60 rows are left out"):
        run = Stream.begin(data, StreamSettings(machine, {}, warm_up=20, refit_every=every))
    run.run(lambda done, right: None)
    found = run.build_result(None)
    assert told["machine"] == run.settings.machine == (name if typed_options else "adaptive-svc")
    assert (told["accuracy"], told["tested"]) == (found.accuracy, 38)
    assert told["curve"]["error"] == (1.0 - found.curve_accuracy).tolist()


@names_rows
@pytest.mark.parametrize("target", ["churn", "rent"])
def test_tuning(files, table, targets, target):
    name = {"churn": "svc", "rent": "svr"}[target]
    told = typed("tune", files / f"{target}.csv", "-m", name, "--folds", "3")
    found = tune(name, table, targets[target], folds=3)
    assert told["trials"] == [trial.to_dict() for trial in found.trials]
    assert told["params"] == found.params


@names_rows
@pytest.mark.parametrize(
    ("options", "keywords"),
    [
        (["--measure", "log-loss"], {"measure": "log_loss"}),
        (["--measure", "f1"], {"measure": "f1"}),
        (["--cost", "gone:here=7"], {"costs": {("gone", "here"): 7}}),
    ],
)
@pytest.mark.parametrize("name", ["svc", "naive-bayes"])
def test_measures_and_costs_of_one_machine(files, table, targets, name, options, keywords):
    path, y = files / "churn.csv", targets["churn"]
    told = typed("cv", path, "-m", name, "--folds", "3", *options)
    found = cross_validate(name, table, y, folds=3, **keywords)
    assert (told["measure"], told["folds"]) == (found.measure, found.scores)
    grid = {"C": [1, 9]} if name == "svc" else {"alpha": [0.5, 1]}
    (parameter, values), *_ = grid.items()
    words = ["--grid", f"{parameter}={values[0]},{values[1]}"]
    told = typed("tune", path, "-m", name, "--folds", "3", *words, *options)
    tuned = tune(name, table, y, grid=grid, folds=3, **keywords)
    assert told["trials"] == [trial.to_dict() for trial in tuned.trials]
    assert (told["measure"], told["threshold"]) == (tuned.measure, tuned.threshold)


@names_rows
def test_parameters_that_are_not_searched_are_in_the_unit_of_the_target(table, targets):
    y = targets["rent"]
    found = tune("svr", table, y, grid={"C": [10_000.0, 100_000.0]}, folds=3)
    epsilon = make_machine(scale_to_target("svr", y))["machine"].epsilon
    assert found.model["machine"].epsilon == epsilon > 1000
    same = tune("svr", table, y, params={"epsilon": epsilon}, grid={"C": [1e4, 1e5]}, folds=3)
    assert [trial.mean for trial in found.trials] == [trial.mean for trial in same.trials]


@names_rows
def test_training(files, table, targets):
    path = files / "model.lin"
    typed("train", files / "rent.csv", "-m", "svr", "-o", path)
    machine = scale_to_target("svr", targets["rent"])
    with pytest.warns(UserWarning, match="Left out: 'customer'"):
        model = fit_machine(make_machine(machine), table, targets["rent"])
    features = table.drop(columns="customer")  # of the file these alone were read
    np.testing.assert_array_equal(load_model(path).predict(features), model.predict(table))


def test_only_regressions_have_a_unit(targets):
    assert scale_to_target("svc", targets["churn"]).preset == {}
    assert scale_to_target("svr", None).preset == {}
    assert scale_to_target("svr", [3.0, 3.0]).preset == {}
    scaled = scale_to_target("svr", [0.0, 200.0])
    assert scaled.preset == {"C": 100.0, "epsilon": 10.0, "tol": 0.1}
    assert scaled.grid["C"] == (10.0, 100.0, 1000.0, 10000.0, 100000.0)


@pytest.mark.parametrize("n_values", [2, 20, 21, 60])
def test_whole_numbers_are_classes_or_not_as_in_files(tmp_path, n_values):
    y = np.arange(120) % n_values
    path = tmp_path / "whole.csv"
    pd.DataFrame({"x": np.arange(120.0) ** 0.5, "y": y}).to_csv(path, index=False)
    begun = {"progress": lambda state: True}
    found = compare(np.arange(120.0)[:, None] ** 0.5, y, **begun)
    assert found.task == load(path).task == compare(load(path), **begun).task
    assert any("whole numbers" in note for note in found.notes) == (n_values > 20)


def test_an_epsilon_that_was_chosen_sharpens_the_tolerance_of_the_target():
    prices = np.exp(12.0 + np.random.default_rng(0).standard_normal(200))
    spec = scale_to_target("svr", prices)
    usual, chosen = (make_machine(spec, given)["machine"] for given in ({}, {"epsilon": 100.0}))
    assert usual.tol == spec.preset["tol"] > 100.0
    assert chosen.tol == pytest.approx(1.0)
    assert make_machine(spec, {"epsilon": 0.0})["machine"].tol == 1e-3
    assert make_machine(spec, {"epsilon": 1.0, "tol": 7.0})["machine"].tol == 7.0


def test_targets_beyond_all_units_are_left_as_they_are():
    assert scale_to_target("svr", np.array([1e200, -1e200, 3e200])).preset == {}


def test_machines_that_are_named_beside_auto_are_not_told_as_left_out():
    chosen, notes = choose_contenders(
        ["auto", "svc-gaussian"], "classification", n_classes=2, has_costs=False,
        has_times=False, sparse=True, wide=True,
    )  # fmt: skip
    assert "svc-gaussian" in [machine.name for machine in chosen]
    assert not any("svc-gaussian" in note for note in notes)
    assert any("Left out" in note for note in notes)
