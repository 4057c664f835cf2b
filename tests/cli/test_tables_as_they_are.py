"""Names of rows, dates, prices and chosen columns, from the table to predictions."""

import csv
import shlex

import numpy as np
import pytest

from lindero.cli.options import DataSource
from lindero.data import load
from lindero.evaluation import compare, fit_machine, make_machine


@pytest.fixture
def orders(here):
    """A table of orders, as they are exported."""
    random = np.random.default_rng(0)
    lines = ["orderID;customer;ordered;price;share;colour;class"]
    for k in range(120):
        day = np.datetime64("2023-12-01") + int(random.integers(0, 60))
        price = f"{1 + k % 7}.{random.integers(100, 999)},50"
        late = k % 7 > 3
        lines.append(f"{5000 + k};C{k:04};{day};{price} €;{k % 9} %;{'rgb'[k % 3]};")
        lines[-1] += "late" if late else "ok"
    here.write("orders.csv", "\n".join(lines) + "\n")
    return "orders.csv"


NEW = "orderID;customer;ordered;price;share;colour\n1;C9;2024-02-01;1.883 €;5 %;r\n2;C8;2024-02-03;6.100,00 €;7 %;g\n"  # noqa: E501


@pytest.mark.parametrize("machine", ["svc", "tan", "naive-bayes"])
def test_new_rows_are_read_as_the_training_rows(here, orders, machine):
    trained = here.run("train", orders, "-m", machine)
    assert trained.exit_code == 0
    assert "Left out: 'orderID', 'customer'" in trained.stderr
    told = here.json("predict", "model.lin", here.write("new.csv", NEW))
    assert [row["prediction"] for row in told["predictions"]] == ["ok", "late"]
    quiet = here.run("predict", "model.lin", "new.csv")
    assert quiet.stderr == ""


def test_predictions_carry_all_names_of_rows(here, orders):
    here.run("train", orders, "-m", "svc")
    here.write("new.csv", NEW)
    result = here.run("predict", "model.lin", "new.csv", "--id", "orderID", "--id", "customer")
    rows = list(csv.DictReader(result.stdout.splitlines()))
    assert [list(row.values()) for row in rows] == [["1", "C9", "ok"], ["2", "C8", "late"]]
    single = here.run("predict", "model.lin", "new.csv", "--id", "customer")
    assert [row["id"] for row in csv.DictReader(single.stdout.splitlines())] == ["C9", "C8"]


def test_ids_of_training_are_those_of_prediction(here, orders):
    here.run("train", orders, "-m", "svc", "--id", "orderID", "--id", "customer")
    here.write("new.csv", NEW)
    rows = list(csv.DictReader(here.run("predict", "model.lin", "new.csv").stdout.splitlines()))
    assert list(rows[0]) == ["orderID", "customer", "prediction"]


def test_dropped_and_chosen_columns(here, orders):
    chosen = ["--only", "price", "--only", "colour"]
    told = here.json("train", orders, "-m", "tan", *chosen)
    assert told["columns"] == 2
    assert here.json("cv", orders, "-m", "tan", "--drop", "ordered", "--drop", "share")["complete"]
    here.write("new.csv", NEW)
    assert here.run("predict", "model.lin", "new.csv").exit_code == 0
    failed = here.run("train", orders, "--drop", "colr", "--force")
    assert failed.exit_code == 1
    assert "Did you mean 'colour'?" in failed.stderr


def test_the_next_command_keeps_them():
    chosen = {"target": "y", "drop": ("share", "my colour"), "only": (), "dates": False}
    data = DataSource("orders.csv", {**chosen, "keep_row_names": True, "decimal": ","})
    assert data.suggest("train", "tan", {}) == (
        "lindero train orders.csv -m tan --target y --drop share --drop 'my colour' --no-dates "
        "--keep-row-names --decimal ,"
    )


def test_switches_keep_columns_as_they_are(here, orders):
    plain = here.json("train", orders, "-m", "svc", "--keep-row-names", "--no-dates")
    assert plain["columns"] == 6
    assert plain["left_out"] == []
    assert here.json("predict", "model.lin", orders)["scores"]["accuracy"] > 0.9


def test_every_command_leaves_out_the_same_columns(here, orders):
    compared = here.json("compare", orders, "-m", "naive-bayes", "-m", "tan", "--folds", "2")
    trained = here.json("train", orders, "-m", "tan")
    assert compared["left_out"] == trained["left_out"] == ["orderID", "customer"]
    streamed = here.run("stream", orders, "-m", "naive-bayes")
    assert "Left out: 'orderID', 'customer'" in streamed.stderr
    with pytest.warns(UserWarning, match="Left out: 'orderID', 'customer'"):
        data = load(orders)
    found = compare(data, machines=["naive-bayes"], folds=2)
    assert list(found.left_out) == ["orderID", "customer"]


@pytest.mark.filterwarnings("ignore:Left out")
def test_python_gives_the_same_predictions(here, orders):
    here.run("train", orders, "-m", "svc")
    told = here.json("predict", "model.lin", here.write("new.csv", NEW), "--decision")
    data = load(orders)
    model = fit_machine(make_machine("svc", random_state=0), data.X, data.y)
    new = load("new.csv", like=data)
    decisions = [row["decision"] for row in told["predictions"]]
    assert model.decision_function(new.X) == pytest.approx(decisions)


@pytest.mark.filterwarnings("ignore:Left out")
def test_dataframes_with_dates_are_compared(here, orders):
    table = load(orders, dates=False).X.to_pandas()
    table["ordered"] = table["ordered"].astype("datetime64[us]")
    result = compare(table, load(orders).y, machines=["naive-bayes", "svc-linear"], folds=2)
    assert [machine.failure for machine in result.machines] == [None, None]


def test_signs_of_numbers(here):
    text = "a;class\n" + "".join(f"{1 + k % 2}.{100 + k};{'uv'[k % 2]}\n" for k in range(20))
    here.write("t.csv", text)
    assert "ambiguous" in here.run("train", "t.csv", "-m", "svc").stderr
    told = here.run("train", "t.csv", "-m", "svc", "--thousands", ".", "--force")
    assert "ambiguous" not in told.stderr
    here.write("new.csv", "a\n1.500\n")
    assert here.json("predict", "model.lin", "new.csv")["predictions"] == [{"prediction": "u"}]


def test_data_are_converted_as_they_are(here, orders):
    assert here.run("convert", orders, "orders.parquet").exit_code == 0
    names = load("orders.parquet", keep_row_names=True, dates=False).X.column_names
    assert names == ["orderID", "customer", "ordered", "price", "share", "colour"]


@pytest.mark.parametrize("machine", ["naive-bayes", "tan", "svc"])
@pytest.mark.parametrize("how", ["--keep-row-names", "--only customer --only colour"])
def test_names_of_rows_are_kept_by_every_machine(here, orders, machine, how):
    done = here.run("train", orders, "-m", machine, *how.split())
    assert done.exit_code == 0
    assert "Left out" not in done.stderr
    told = here.run("info", "model.lin").stdout
    assert "customer (left out)" not in told
    assert "customer (120 values)" in told
    done = here.run("compare", orders, "-m", machine, "--folds", "2", *how.split())
    assert done.exit_code == 0
    assert "Left out" not in done.stderr
    words = next(line for line in done.stderr.splitlines() if line.startswith("Next: "))
    assert here.run(*shlex.split(words)[2:]).exit_code == 0
