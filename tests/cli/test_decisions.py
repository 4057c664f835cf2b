"""Costs, probabilities and thresholds, from training to prediction."""

import csv
import io
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from lindero.cli.output import Output
from lindero.data import load
from lindero.evaluation import fit_machine, make_decision_machine
from lindero.persist import load as load_model


@pytest.fixture
def churn(here):
    """Two classes, one of them rare."""
    rng = np.random.default_rng(0)
    lines = ["use,plan,churn"]
    for _ in range(400):
        use, plan = rng.normal(), rng.choice(["a", "b"])
        odds = np.exp(-2.5 - 1.5 * use + (plan == "b"))
        lines.append(f"{use:.3f},{plan},{'yes' if rng.random() < odds / (1 + odds) else 'no'}")
    return here.write("churn.csv", "\n".join(lines) + "\n")


@pytest.fixture
def sizes(here):
    rng = np.random.default_rng(1)
    lines = ["x,z,class"]
    for row in range(150):
        size = row % 3
        lines.append(f"{rng.normal(size):.3f},{rng.normal(-size):.3f},{['l', 'm', 's'][size]}")
    return here.write("sizes.csv", "\n".join(lines) + "\n")


def predicted(here, *arguments):
    """Columns that predict writes."""
    result = here.run("predict", *arguments)
    assert result.exit_code == 0, result.stderr
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_a_calibrated_machine_from_training_to_probabilities(here, churn):
    told = here.json("train", churn, "--proba")
    assert told["calibration"] == "sigmoid"
    columns = predicted(here, "model.lin", churn, "--proba")
    second = np.array(columns["P(yes)"], dtype=float)
    answers = np.array(columns["prediction"])
    assert ((second > 0.5) == (answers == "yes")).all()
    assert "sigmoid calibration" in here.run("info", "model.lin").stdout


def test_the_command_line_and_python_give_the_same(here, churn):
    here.json("train", churn, "--cost", "yes:no=8", "-m", "svc")
    data = load(churn)
    model = make_decision_machine("svc", y=data.y, costs={("yes", "no"): 8.0}, random_state=0)
    fit_machine(model, data.X, data.y)
    saved = load_model("model.lin")
    assert saved.threshold_ == model.threshold_
    assert predicted(here, "model.lin", churn)["prediction"] == model.predict(data.X).tolist()


@pytest.mark.parametrize("machine", ["svc", "naive-bayes", "cost-sensitive-svc"])
def test_costs_of_training_are_those_of_prediction(here, churn, machine):
    here.json("train", churn, "-m", machine, "--proba", "-o", "plain.lin")
    here.json("train", churn, "-m", machine, "--proba", "--cost", "yes:no=9", "-o", "costly.lin")
    plain, costly = (
        predicted(here, name, churn)["prediction"].count("yes")
        for name in ("plain.lin", "costly.lin")
    )
    assert costly > 1.5 * plain
    shown = here.run("info", "costly.lin").stdout
    assert "yes:no=9" in shown
    scores = here.json("predict", "costly.lin", churn, "-o", "p.csv")["scores"]
    assert scores["cost"] > 0
    # Other costs, which are those of plain errors.
    back = predicted(here, "costly.lin", churn, "--cost", "yes:no=1")["prediction"].count("yes")
    assert back < costly


def test_a_threshold_is_kept_and_can_be_overridden(here, churn):
    here.json("train", churn, "--threshold", "0.2")
    columns = predicted(here, "model.lin", churn, "--proba")
    second = np.array(columns["P(yes)"], dtype=float)
    assert ((second >= 0.2) == (np.array(columns["prediction"]) == "yes")).all()
    for text in ("0.05", "yes=0.05", "no=0.95"):
        other = predicted(here, "model.lin", churn, "--threshold", text)["prediction"]
        sure = np.abs(second - 0.05) > 1e-9
        assert ((second >= 0.05) == (np.array(other) == "yes"))[sure].all()
    shown = here.run("info", "model.lin").stdout
    assert "Answers yes from a probability of 0.2 on" in shown


def test_the_first_class_can_be_answered_always(here, churn):
    assert here.json("train", churn, "--threshold", "no=0")["threshold"] == 1.0
    assert set(predicted(here, "model.lin", churn)["prediction"]) == {"no"}


@pytest.mark.parametrize("option", [["--threshold", "f1"], ["--measure", "f1"]])
def test_a_threshold_is_tuned_for_a_measure(here, churn, option):
    told = here.json("train", churn, "-m", "naive-bayes", *option)
    assert 0 < told["threshold"] < 0.5
    assert "F1" in told["reason"]


def test_a_measure_of_probabilities_gives_some(here, churn):
    assert here.json("train", churn, "--measure", "log-loss")["calibration"] == "sigmoid"
    assert "calibration" not in here.json("train", churn, "-o", "plain.lin")


def test_costs_of_three_classes_are_told_in_a_sentence(here, sizes):
    result = here.run("train", sizes, "--cost", "l:s=9")
    assert result.exit_code == 0, result.stderr
    assert "a row on the rows left out, against" in result.stdout
    counts = predicted(here, "model.lin", sizes)["prediction"]
    assert counts.count("s") < 50


def test_tuning_with_costs_saves_them(here, churn):
    told = here.json(
        "tune", churn, "--grid", "C=1,10", "--cost", "yes:no=9", "--folds", "2", "-o", "t.lin"
    )
    assert told["measure"] == "cost"
    assert load_model("t.lin").costs_.tolist() == [[0.0, 1.0], [9.0, 0.0]]
    told = here.json("train", churn, "--tune", "--cost", "yes:no=9", "--folds", "2", "-m", "tan")
    assert told["costs"] == [[0.0, 1.0], [9.0, 0.0]]
    assert here.json("cv", churn, "--cost", "yes:no=9", "--folds", "2")["measure"] == "cost"


def test_tuning_says_the_threshold_that_it_saves(here, churn):
    grid = ["-m", "naive-bayes", "--grid", "alpha=1,2", "--folds", "7", "--measure", "f1"]
    result = here.run("tune", churn, *grid, "-o", "t.lin")
    said = re.findall(r"from a probability of ([\d.]+) on", result.stdout)
    saved = load_model("t.lin").threshold_
    assert said
    assert {f"{float(number):.3g}" for number in said} == {f"{saved:.3g}"}
    here.json("train", churn, "--tune", *grid[:2], *grid[4:], "--threshold", "0.3", "-o", "u.lin")
    assert load_model("u.lin").threshold_ == 0.3


def test_tuning_for_a_rare_class_saves_probabilities(here, churn, monkeypatch):
    lines = here.read(churn).splitlines()
    stay, leave = ([line for line in lines if line.endswith(end)] for end in ("no", "yes"))
    here.write(churn, "\n".join([lines[0], *stay, *leave[::3]]) + "\n")
    grid = ["--grid", "C=1,10", "--folds", "2"]
    told = here.json("tune", churn, *grid, "-o", "t.lin")
    assert told["measure"] == "log_loss"
    assert "P(yes)" in predicted(here, "t.lin", churn, "--proba")
    notes = []
    monkeypatch.setattr(Output, "advise", lambda output, text: notes.append(text))
    here.json("tune", churn, *grid)
    words = shlex.split(notes[-1].removeprefix("Next: lindero "))
    assert here.json(*words, "-o", "u.lin")["calibration"] == "sigmoid"
    both = [predicted(here, name, churn, "--proba") for name in ("t.lin", "u.lin")]
    assert both[0] == both[1]


def test_tuning_for_a_rare_class_leaves_a_machine_that_can_be_updated(here, churn):
    lines = here.read(churn).splitlines()
    stay, leave = ([line for line in lines if line.endswith(end)] for end in ("no", "yes"))
    here.write("old.csv", "\n".join([lines[0], *stay[10:], *leave[10::3]]) + "\n")
    here.write("new.csv", "\n".join([lines[0], *stay[:10], *leave[:10]]) + "\n")
    grid = ["-m", "incremental-svc", "--grid", "C=1,10", "--folds", "2"]
    assert here.json("tune", "old.csv", *grid, "-o", "t.lin")["measure"] == "log_loss"
    result = here.run("update", "t.lin", "new.csv", "-o", "u.lin")
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize("command", ["train", "cv", "tune", "compare"])
def test_negative_costs_are_refused_in_a_sentence(here, churn, command):
    said = here.refused(command, churn, "--cost", "yes:no=-3")
    assert "must not be negative" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "churn.csv", "--threshold", "1.2"], "from 0 to 1"),
        (["train", "churn.csv", "--threshold", "roc-auc"], "does not depend on a threshold"),
        (["train", "churn.csv", "--threshold", "perhaps=0.2"], "none of the classes no, yes"),
        (["train", "churn.csv", "--threshold", "0.2", "--cost", "yes:no=2"], "there are costs"),
        (["train", "churn.csv", "--target", "use", "--proba"], "does not predict classes"),
        (["train", "churn.csv", "--target", "use", "--cost", "a:b=1"], "is for classes"),
        (["train", "sizes.csv", "--threshold", "0.2"], "for two classes, and there are 3"),
        (["predict", "plain.lin", "churn.csv", "--threshold", "0.2"], "train it with --proba"),
        (["predict", "plain.lin", "churn.csv", "--cost", "yes:no=2"], "train it with --proba"),
        (["predict", "plain.lin", "churn.csv", "--proba"], "train with --proba"),
        (["predict", "proba.lin", "churn.csv", "--threshold", "f1"], "from 0 to 1"),
        (["predict", "proba.lin", "churn.csv", "--cost", "yes:no=-2"], "negative"),
        (["predict", "proba.lin", "churn.csv", "--cost", "a:b=2"], "two of the classes no, yes"),
    ],
)
def test_what_has_no_meaning_is_refused_in_a_sentence(here, churn, sizes, arguments, words):
    if arguments[0] == "predict":
        here.json("train", churn, "-o", "plain.lin")
        here.json("train", churn, "--proba", "-o", "proba.lin")
    assert words in here.refused(*arguments)


def test_a_threshold_and_costs_exclude_each_other(here, churn):
    here.json("train", churn, "--proba")
    result = here.run("predict", "model.lin", churn, "--threshold", "0.2", "--cost", "yes:no=2")
    assert result.exit_code == 2


def test_other_commands_see_the_machine_inside(here, churn):
    here.json("train", churn, "--threshold", "0.1", "-m", "svc")
    columns = predicted(here, "model.lin", churn, "--explain", "--decision")
    assert [why.partition(",")[0] for why in columns["why"]] == columns["prediction"]
    assert "decision" in columns
    assert here.run("scale", churn, "--like", "model.lin").exit_code == 0


def test_models_of_python_are_applied(here, churn):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from lindero.persist import save
    from lindero.svm import SVC, calibrate

    rows = load(churn)
    X = np.column_stack([rows.X["use"].to_numpy()])
    here.write("use.csv", "use\n" + "\n".join(f"{value}" for value in X[:, 0]) + "\n")
    model = calibrate(make_pipeline(StandardScaler(), SVC()), cv=2).fit(X, rows.y)
    save(model, "python.lin")
    columns = predicted(here, "python.lin", "use.csv", "--proba")
    np.testing.assert_allclose(
        np.array(columns["P(yes)"], dtype=float), model.predict_proba(X)[:, 1]
    )
    assert "sigmoid calibration" in here.run("info", "python.lin").stdout


def test_the_commands_of_the_page_run(here):
    page = Path(__file__).resolve().parents[2] / "docs" / "command-line.md"
    section = page.read_text(encoding="utf-8").split("## Costs, probabilities")[1]
    blocks = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    rng = np.random.default_rng(0)
    ill = rng.random(200) < 0.25
    rows = [f"{rng.normal(2 * k):.3f},{rng.normal():.3f}" for k in ill]
    labelled = [f"{row},{'ill' if k else 'healthy'}" for row, k in zip(rows, ill, strict=True)]
    here.write("heart.csv", "a,b,class\n" + "\n".join(labelled) + "\n")
    here.write("new.csv", "a,b\n" + "\n".join(rows) + "\n")
    commands = [line for block in blocks for line in block.splitlines()]
    assert len(commands) == 9
    for line in commands:
        program, *arguments = shlex.split(line)
        result = here.run(*arguments)
        assert (program, result.exit_code) == ("lindero", 0), (line, result.stderr)
