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
    scale_to_target,
    tune,
)
from lindero.persist import load as load_model
from tests.cli.running import Here

MACHINES = {
    "churn": ["naive-bayes", "svc-linear"],
    "rent": ["svr-linear", "nu-svr"],
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
    assert all(min(own[found.measure]) > 0 for own in scores(told).values())


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


def test_a_data_set_is_compared_like_its_table(files, table, targets):
    data = load(files / "rent.csv", target="rent")
    with pytest.warns(UserWarning, match="Left out: 'customer'"):
        found = compare(data, machines=["svr-linear"], folds=3)
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
def test_tuning(files, table, targets, target):
    name = {"churn": "svc", "rent": "svr"}[target]
    told = typed("tune", files / f"{target}.csv", "-m", name, "--folds", "3")
    found = tune(name, table, targets[target], folds=3)
    assert told["trials"] == [trial.to_dict() for trial in found.trials]
    assert told["params"] == found.params


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
    model = fit_machine(make_machine(machine), table, targets["rent"])
    np.testing.assert_array_equal(load_model(path).predict(table), model.predict(table))


def test_only_regressions_have_a_unit(targets):
    assert scale_to_target("svc", targets["churn"]).preset == {}
    assert scale_to_target("svr", None).preset == {}
    assert scale_to_target("svr", [3.0, 3.0]).preset == {}
    scaled = scale_to_target("svr", [0.0, 200.0])
    assert scaled.preset == {"C": 100.0, "epsilon": 10.0}
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
