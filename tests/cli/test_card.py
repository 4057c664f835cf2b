"""``lindero info --card``: what a card says, of which data, and of which groups."""

import hashlib

import numpy as np
import pytest

from lindero.evaluation import measure_groups
from tests.cli.conftest import flower_rows


@pytest.fixture
def tests(here):
    here.write("tests.csv", flower_rows(300, seed=5))
    return "tests.csv"


def test_a_card_has_data_date_hash_columns_and_limits(here, model, flowers):
    text = here.run("info", model, "--card").stdout
    digest = hashlib.sha256((here.folder / flowers).read_bytes()).hexdigest()
    for words in (
        "# Model card: model", "| Machine | svc", "| Classes | lily, rose |", "| Date | 20",
        f"`{digest}`", "60 rows", "| petal | number |", "| colour | category | 3 |",
        "None are stored", "## Limits", "*to be filled in*", "not tested on other data",
    ):  # fmt: skip
        assert words in text, words


def test_measures_come_from_given_data_or_from_training(here, flowers, model, tests):
    found = here.json("info", model, "--card", "--data", tests)
    scored = here.json("predict", model, tests, "-o", "p.csv")["scores"]
    assert scored.items() <= found["scores"].items()
    assert f"| accuracy | {scored['accuracy']:.4g} |" in found["card"]
    assert here.run("train", flowers, "--tune", "-o", "tuned.lin").exit_code == 0
    assert "Cross-validated" in here.run("info", "tuned.lin", "--card").stdout


def write_churn(here, name, n_rows, seed):
    random = np.random.default_rng(seed)
    x = random.normal(size=(n_rows, 2))
    late = x[:, 0] + 0.4 * random.normal(size=n_rows) > 1.7
    rows = [f"{a:.3f},{b:.3f},{'yes' if y else 'no'}" for (a, b), y in zip(x, late, strict=True)]
    here.write(name, "\n".join(["a,b,churn", *rows]) + "\n")


def test_a_card_says_how_the_model_decides(here):
    write_churn(here, "churn.csv", 400, 0)
    said = "no probabilities"
    for asked, words, absent in (
        ([], ["| Probabilities | no, decision values only |", said], "Calibration"),
        (["--proba"], ["| Calibration | sigmoid |", "| Probabilities | yes, calibrated |"], said),
        (["-m", "naive-bayes"], ["| Probabilities | yes, its own |"], said),
        (["--set", "probability=true"], ["| Probabilities | yes, calibrated |"], said),
        (
            ["--cost", "yes:no=10"],
            ["| Costs | yes:no=10 |", "| Decision threshold | 0.", "(probability of yes)"],
            said,
        ),
        (["--threshold", "0.25"], ["| Decision threshold | 0.25 (probability of yes) |"], said),
    ):
        assert here.run("train", "churn.csv", *asked, "--force").exit_code == 0
        text = here.run("info", "model.lin", "--card").stdout
        for each in words:
            assert each in text, (asked, each)
        assert absent not in text, asked


@pytest.mark.parametrize("asked", [["--proba"], [], ["--cost", "yes:no=10"], ["-m", "tan"]])
def test_a_rare_class_has_measures_that_see_it(here, asked):
    write_churn(here, "churn.csv", 400, 0)
    write_churn(here, "tests.csv", 300, 1)
    assert here.run("train", "churn.csv", *asked).exit_code == 0
    found = here.json("info", "model.lin", "--card", "--data", "tests.csv")
    card, scores, baseline = found["card"], found["scores"], found["baseline"]
    rows = here.read("tests.csv").split()[1:]
    share = np.mean([row.endswith("yes") for row in rows])
    assert baseline["average_precision"] == pytest.approx(share)
    assert (baseline["roc_auc"], baseline["accuracy"]) == (0.5, pytest.approx(1 - share))
    assert scores["roc_auc"] > 0.7
    assert scores["average_precision"] > 2 * share
    assert ("log_loss" in scores) == (asked != [])
    assert ("cost" in scores) == ("--cost" in asked)
    first = card.partition("| Measure | Model | Baseline |")[2].splitlines()[2]
    wanted = "cost" if "--cost" in asked else "log-loss" if asked else "ROC AUC"
    assert first.startswith(f"| {wanted} | ")
    assert "### Confusion matrix" in card
    assert sum(map(sum, found["confusion"])) == 300
    right = sum(row[k] for k, row in enumerate(found["confusion"]))
    assert right / 300 == pytest.approx(scores["accuracy"])
    assert ("few errors" in card) == ("--cost" not in asked)


def test_a_regression_is_beside_the_mean(here):
    random = np.random.default_rng(0)
    rows = [f"{a:.3f},{2 * a:.3f}" for a in random.normal(size=80)]
    here.write("old.csv", "\n".join(["a,price", *rows[:40]]) + "\n")
    here.write("new.csv", "\n".join(["a,price", *rows[40:]]) + "\n")
    assert here.run("train", "old.csv").exit_code == 0
    found = here.json("info", "model.lin", "--card", "--data", "new.csv")
    assert found["baseline"]["r2"] == pytest.approx(0.0, abs=1e-9)
    assert found["scores"]["rmse"] < found["baseline"]["rmse"]
    assert "| RMSE | " in found["card"]
    assert "Confusion" not in found["card"]


def test_data_of_training_are_told(here, model, flowers):
    result = here.run("info", model, "--card", "--data", flowers)
    assert "trained with: measures on them are too good" in result.stderr


def test_groups_have_counts_rates_and_intervals(here, model, tests):
    found = here.json("info", model, "--card", "--data", tests, "--group", "colour")
    groups = found["groups"]["colour"]
    assert sum(each["n_rows"] for each in groups) == 300
    for each in groups:
        error = each["rates"]["error"]
        assert error["low"] <= error["value"] <= error["high"]
        assert error["n_rows"] == each["n_rows"]
    assert "### By colour" in found["card"]
    assert "selection rate: lowest" in found["card"]


def test_a_group_may_be_a_column_that_the_model_does_not_know(here, model):
    lines = flower_rows(80, seed=3).splitlines()
    named = [f"{line},{'old' if k % 3 else 'young'}" for k, line in enumerate(lines[1:])]
    here.write("aged.csv", "\n".join([f"{lines[0]},age", *named]) + "\n")
    found = here.json("info", model, "--card", "--data", "aged.csv", "--group", "age")
    assert [each["group"] for each in found["groups"]["age"]] == ["old", "young"]


@pytest.mark.parametrize(
    "options",
    ["--drop sex", "--only petal", "--id sex", "--weight sex", "--drop sex --drop born", ""],
)
def test_a_group_may_be_a_column_that_was_no_feature(here, options):
    lines = flower_rows(80, seed=3).splitlines()
    more = [f"{line},{1 + k % 3 // 2},{1950 + k % 50}-03-0{1 + k % 9},r{k}"
            for k, line in enumerate(lines[1:])]  # fmt: skip
    for name, rows in (("old.csv", more[:60]), ("new.csv", more[60:])):
        here.write(name, "\n".join([f"{lines[0]},sex,born,plant", *rows]) + "\n")
    result = here.run("train", "old.csv", "--target", "class", *options.split())
    assert result.exit_code == 0, result.stderr
    asked = [word for name in ("sex", "born", "plant", "class") for word in ("--group", name)]
    found = here.json("info", "model.lin", "--card", "--data", "new.csv", *asked)["groups"]
    assert [(each["group"], each["n_rows"]) for each in found["sex"]] == [("1", 14), ("2", 6)]
    assert sum(each["n_rows"] for each in found["born"]) == 20
    assert sum(each["n_rows"] for each in found["plant"]) == 20
    assert [each["group"] for each in found["class"]] == ["lily", "rose"]


def test_cards_go_to_files(here, model, tests):
    assert here.run("info", model, "--card", "-o", "card.md").exit_code == 0
    assert here.read("card.md").startswith("# Model card")
    assert here.run("info", model, "--card", "-o", "card.md").exit_code == 2
    assert here.run("info", model, "--card", "-o", model, "--force").exit_code == 2


def test_a_regression_has_bias_by_group(here):
    random = np.random.default_rng(0)
    rows = [f"{a:.3f},{'xy'[k % 2]},{2 * a:.3f}" for k, a in enumerate(random.normal(size=80))]
    here.write("old.csv", "\n".join(["a,kind,price", *rows[:40]]) + "\n")
    here.write("new.csv", "\n".join(["a,kind,price", *rows[40:]]) + "\n")
    assert here.run("train", "old.csv").exit_code == 0
    found = here.json("info", "model.lin", "--card", "--data", "new.csv", "--group", "kind")
    assert set(found["groups"]["kind"][0]["rates"]) == {"bias", "mean absolute error"}


def test_updates_are_on_the_card(here, flowers, tests):
    here.run("train", flowers, "-m", "naive-bayes")
    here.run("update", "model.lin", tests, "--in-place")
    text = here.run("info", "model.lin", "--card").stdout
    assert "## Updates" in text
    assert "| tests.csv | 300 | 0 |" in text


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--data", "tests.csv"], 2, "add --card"),
        (["--card", "--group", "colour"], 2, "--data"),
        (["--card", "--data", "tests.csv", "--group", "color"], 1, "colour"),
        (["--card", "--data", "none.csv"], 1, "none.csv"),
    ],
)
def test_what_is_missing_is_said(here, model, tests, arguments, code, words):
    result = here.run("info", model, *arguments)
    assert result.exit_code == code
    assert words in result.stderr


def test_control_characters_and_tables_stay_in_their_cells(here):
    lines = ["a|b,class"] + [f"{k},{'x' if k % 2 else '<b>'}" for k in range(20)]
    here.write("odd.csv", "\n".join(lines) + "\n")
    assert here.run("train", "odd.csv", "-m", "naive-bayes").exit_code == 0
    text = here.run("info", "model.lin", "--card").stdout
    assert "a\\|b" in text
    assert "<b>" not in text


def test_rates_of_groups():
    truth = np.array(["n", "y", "y", "n", "y", "n"])
    answers = np.array(["n", "y", "n", "y", "y", "n"])
    groups = np.array(["a", "a", "a", "b", "b", None], dtype=object)
    found = {g.group: g for g in measure_groups(truth, answers, groups, classes=["n", "y"])}
    assert found["a"].rates["error"].value == pytest.approx(1 / 3)
    assert found["a"].rates["true positive rate"].value == 0.5
    assert found["b"].rates["false positive rate"].value == 1.0
    assert found["(missing)"].n_rows == 1
    low, high = found["a"].rates["error"].low, found["a"].rates["error"].high
    # Wilson's interval solves (p − q)² = z² q (1 − q) / n.
    for q in (low, high):
        assert (1 / 3 - q) ** 2 == pytest.approx(1.959963985**2 * q * (1 - q) / 3)


def test_many_numbers_are_cut_into_quarters():
    numbers = np.arange(100.0)
    found = measure_groups(numbers, numbers, numbers)
    assert sorted(each.n_rows for each in found) == [25, 25, 25, 25]
    assert all(each.rates["bias"].value == 0 for each in found)


def test_large_numbers_have_no_exponents_and_guests_are_named(here):
    random = np.random.default_rng(0)
    x = random.normal(size=120)
    prices = 400_000 + 90_000 * x + 30_000 * random.normal(size=120)
    lines = [f"{a:.3f},{b:.0f}" for a, b in zip(x, prices, strict=True)]
    here.write("prices.csv", "\n".join(["size,price", *lines]) + "\n")
    assert here.run("train", "prices.csv", "-m", "ridge").exit_code == 0
    card = here.run("info", "model.lin", "--card", "--data", "prices.csv").stdout
    assert "| Machine | ridge: " in card
    said = here.run("predict", "model.lin", "prices.csv", "-o", "p.csv").output
    for text in (card, said):
        assert "e+0" not in text
        assert "RMSE" in text
    rmse = here.json("predict", "model.lin", "prices.csv", "-o", "q.csv")["scores"]["rmse"]
    assert f"{rmse:,.0f}" in said
