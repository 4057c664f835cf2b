"""What someone meets who has read no page: names, targets, units, folders."""

import json

import numpy as np
import pytest

from tests.cli.conftest import flower_rows


def churn(here):
    """Rows with a number of the customer, and a column that tells of the class."""
    random = np.random.default_rng(0)
    rows = ["customer,calls,plan,left"]
    for i in range(120):
        calls = random.integers(0, 9)
        rows.append(f"c{i:04d},{calls},{random.choice(['a', 'b'])},{'yes' if calls > 5 else 'no'}")
    here.write("churn.csv", "\n".join(rows) + "\n")
    return "churn.csv"


def houses(here, unit):
    """Prices in some unit, nearly linear in the rest."""
    random = np.random.default_rng(1)
    rows = ["area,rooms,price"]
    for _ in range(150):
        area, rooms = random.uniform(40, 200), random.integers(1, 6)
        rows.append(f"{area:.2f},{rooms},{unit * (area + 20 * rooms + random.normal()):.6g}")
    here.write("houses.csv", "\n".join(rows) + "\n")
    return "houses.csv"


@pytest.mark.parametrize(("name", "kernel"), [("svc-linear", "linear"), ("svc-gaussian", "rbf")])
def test_machines_are_trained_by_the_names_that_comparisons_give_them(here, flowers, name, kernel):
    done = here.run("train", flowers, "-m", name, "--json")
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert told["machine"] == name
    shown = json.loads(here.run("info", "model.lin", "--json").stdout)
    assert shown["parameters"]["kernel"] == kernel
    assert here.run("predict", "model.lin", flowers, "-o", "out.csv").exit_code == 0


def test_training_says_what_it_predicts(here, flowers):
    assert "on 60 rows, to predict 'class'" in here.run("train", flowers).stdout


def test_the_unit_of_the_target_makes_no_difference(here):
    scores = []
    for unit in (1.0, 1e6):
        done = here.run("cv", houses(here, unit), "--json")
        scores.append(json.loads(done.stdout)["mean"]["r2"])
    assert scores[0] > 0.9
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-3)


def test_columns_that_name_the_rows_are_left_out_of_a_comparison(here):
    done = here.run("compare", churn(here), "-m", "naive-bayes", "--folds", "3")
    assert done.exit_code == 0
    assert "Left out: 'customer'" in done.stderr
    assert "120 rows, 2 columns" in done.stdout


def test_snapshots_of_two_runs_do_not_mix(here, flowers):
    first = here.run("stream", flowers, "-m", "naive-bayes", "--save-every", "20")
    assert first.exit_code == 0
    again = here.run("stream", flowers, "-m", "naive-bayes", "--save-every", "20")
    assert again.exit_code == 1
    assert "holds snapshots of another run: continue it (--resume snapshots)" in again.stderr
    other = ["stream", flowers, "-m", "naive-bayes", "--save-every", "20", "--snapshots", "other"]
    assert here.run(*other).exit_code == 0
    assert here.run("stream", flowers, "--resume", "snapshots").exit_code == 0


def test_labels_of_another_coding_are_noticed(here, model, flowers):
    here.write("coded.csv", flower_rows().replace("rose", "1").replace("lily", "0"))
    done = here.run("predict", model, "coded.csv", "-o", "out.csv")
    assert done.exit_code == 0
    assert "Not scored: no label of the data" in done.stderr
    assert "accuracy" not in done.stdout + done.stderr
