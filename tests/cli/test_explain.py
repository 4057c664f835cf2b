"""``lindero explain``: sentences on the screen, and in files."""

import json

import pytest

from lindero.data import load as load_data
from lindero.evaluation import explain_rows
from lindero.persist import load


def test_the_first_rows_are_explained(here, model, flowers):
    result = here.run("explain", model, flowers)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].startswith("Row 1: ")
    assert sum(line.startswith("Row ") for line in lines) == 10


def test_sentences_are_those_of_python(here, model, flowers):
    found = here.json("explain", model, flowers, "--row", "3", "--row", "1", "--most", "2")
    assert [each["row"] for each in found["explanations"]] == [3, 1]
    X = load_data(flowers).X
    expected = explain_rows(load(model), X.take([2, 0]), most=2)
    assert [each["why"] for each in found["explanations"]] == expected


@pytest.mark.parametrize("machine", ["naive-bayes", "tan", "incremental-svc", "one-class-svm"])
def test_every_kind_of_machine(here, flowers, machine):
    assert here.run("train", flowers, "-m", machine, "-o", "m.lin").exit_code == 0
    result = here.run("explain", "m.lin", flowers, "--row", "2")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("Row 2: ")


@pytest.mark.parametrize(
    "options",
    ["--proba", "--threshold 0.2", "--threshold f1", "--measure f1", "--cost rose:lily=5",
     "--proba -m naive-bayes", "--cost rose:lily=5 -m tan"],
)  # fmt: skip
def test_models_that_decide_by_probabilities(here, flowers, options):
    result = here.run("train", flowers, "-o", "m.lin", *options.split())
    assert result.exit_code == 0, result.stderr
    why = [each["why"] for each in here.json("explain", "m.lin", flowers)["explanations"]]
    rows = here.json("predict", "m.lin", flowers, "--explain")["predictions"]
    assert [row["why"] for row in rows[:10]] == why
    assert all(row["why"].startswith(f"{row['prediction']}, ") for row in rows)


def test_files_have_all_rows(here, model, flowers):
    assert here.run("explain", model, flowers, "-o", "why.csv").exit_code == 0
    lines = here.read("why.csv").splitlines()
    assert lines[0] == "row,why"
    assert len(lines) == 61
    assert here.run("explain", model, flowers, "-o", "why.md", "--row", "2").exit_code == 0
    assert here.read("why.md").startswith("- **Row 2**: ")
    assert here.run("explain", model, flowers, "-o", "why.csv").exit_code == 2
    assert here.run("explain", model, flowers, "-o", flowers, "--force").exit_code == 2


def test_ids_name_the_rows(here):
    lines = ["plant,petal,class"] + [f"p{k},{k % 2 + k / 100},{'ab'[k % 2]}" for k in range(30)]
    here.write("rows.csv", "\n".join(lines) + "\n")
    assert here.run("train", "rows.csv", "--id", "plant").exit_code == 0
    assert here.run("explain", "model.lin", "rows.csv").stdout.startswith("Row 1 (p0): ")
    shown = json.loads(here.run("explain", "model.lin", "rows.csv", "--json").stdout)
    assert shown["explanations"][1]["id"] == "p1"


def test_rows_beyond_the_end_are_refused(here, model, flowers):
    said = here.refused("explain", model, flowers, "--row", "61")
    assert "has 60 rows, counted from 1" in said
    assert here.run("explain", model, flowers, "--row", "0").exit_code == 2
