"""The whole way, on seven tables: compare, train, predict, explain, update, export.

Every command that lindero prints after ``Next:`` or ``Or, …:`` is run as it is printed; of one
table a shell, which all are written for, runs the first of each kind. NEW_DATA stands for a file of
new rows, and a model in the way of another one is taken away first.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pytest

from lindero.cli.output import Output
from tests.cli.running import Here

# -- tables ----------------------------------------------------------------------------------------


def write_table(here, name, columns):
    """A CSV file of columns; None is an empty cell."""
    lines = [",".join(columns)]
    for row in zip(*columns.values(), strict=True):
        lines.append(",".join("" if value is None else str(value) for value in row))
    here.write(name, "\n".join(lines) + "\n")


def drop(random, values, share):
    return [None if random.random() < share else value for value in values]


def make_loans(random, n):
    """Two classes, numbers and categories, missing values, and an id of each row."""
    income, job = random.normal(30, 8, n).round(2), random.choice(["none", "part", "full"], n)
    score = (income - 30) / 8 + (job == "full") - (job == "none") + random.normal(size=n) / 2
    paid = np.where(score > 0, "yes", "no")
    first = int(random.integers(10**6))
    return {
        "number": [f"L{first + k}" for k in range(n)],
        "income": drop(random, income, 0.1), "job": drop(random, job, 0.1), "paid": paid,
    }  # fmt: skip


def make_flowers(random, n):
    """Three classes of numbers."""
    kind = random.integers(0, 3, n)
    return {
        "petal": (2.0 * kind + random.normal(size=n)).round(3),
        "sepal": (5.0 - kind + random.normal(size=n)).round(3),
        "class": np.array(["iris", "lily", "rose"])[kind],
    }


def make_votes(random, n):
    """Categories only."""
    party = random.integers(0, 2, n)
    columns = {
        f"vote {k}": np.where(random.random(n) < np.where(party, 0.8, 0.3), "aye", "nay")
        for k in range(6)
    }
    return {**columns, "party": np.array(["blue", "red"])[party]}


def make_churn(random, n):
    """A rare class."""
    usage, plan = random.normal(size=n).round(3), random.choice(["basic", "plus", "max"], n)
    gone = random.random(n) < 1 / (1 + np.exp(2.8 + 1.5 * usage - (plan == "basic")))
    gone[:4] = True
    return {"usage": usage, "plan": plan, "years": random.integers(0, 20, n), "churn": gone * 1}


def make_prices(random, n):
    """Numbers to predict, in tens of thousands."""
    size, town = random.normal(80, 20, n).round(1), random.choice(["A", "B", "C"], n)
    price = 3000 * size + 40_000 * (town == "A") + random.normal(0, 9000, n)
    return {"size": size, "town": town, "rooms": random.integers(1, 6, n), "price": price.round()}


#: A maker, options of the data, machines to compare, and what is trained: a machine that can be
#: updated, or one that decides by probabilities.
TABLES = {
    "loans": (make_loans, "--id number", "-m svc -m logistic-regression", "-m incremental-svc"),
    "flowers": (make_flowers, "", "-m naive-bayes -m svc-linear", "-m naive-bayes"),
    "votes": (make_votes, "", "-m logistic-regression -m tan", "-m tan"),
    "churn": (make_churn, "", "-m logistic-regression -m naive-bayes", "-m incremental-svc"),
    "prices": (make_prices, "", "-m ridge -m svr", "-m incremental-svr"),
    "costs": (make_flowers, "", "-m svc --cost iris:rose=9", "-m svc --cost iris:rose=9"),
    "chances": (make_loans, "--id number", "-m svc --measure log-loss", "-m svc --proba"),
}

#: The table whose commands are run by a shell, the first of each kind; all others in this process,
#: which takes a tenth of the time.
BY_SHELL = "loans"


# -- commands --------------------------------------------------------------------------------------

#: A command before what it is for: after a word, or in a line below such a one.
PRINTED = re.compile(r"^(?:Next: |Or, [^:]*: |      )(\S.*?)(?:\s{2,}\([^()]*\))?$", re.M)

#: ``lindero`` with the lines that are printed on a terminal only.
TOOL = """
import sys
from lindero.cli.main import main
from lindero.cli.output import Output

Output.note = Output.advise = lambda self, text: print(text, file=sys.stderr)
main()
"""


@pytest.fixture
def noted(monkeypatch):
    """Notes and commands that are printed."""
    said = []
    for way in ("note", "advise"):
        monkeypatch.setattr(Output, way, lambda self, text: said.append(text))
    return said


def find_commands(said):
    """The commands in lines that were printed, without what they are for."""
    return list(dict.fromkeys(PRINTED.findall("\n".join(said))))


@pytest.fixture
def shell(tmp_path_factory):
    """A function that lets a shell run a line in a folder, and returns what was printed."""
    tools = tmp_path_factory.mktemp("tools")
    script = tools / "run_lindero.py"
    script.write_text(TOOL, encoding="utf-8")
    words = {"lindero": [sys.executable, str(script)], "python": [sys.executable]}
    for name, own in words.items():
        (tools / name).write_text(f'#!/bin/sh\nexec {shlex.join(own)} "$@"\n', encoding="utf-8")
        (tools / name).chmod(0o755)
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"

    def run_line(line, folder):
        if os.name == "nt":  # lines are written for a POSIX shell
            first, *others = shlex.split(line)
            line = [*words[first], *others]
        done = subprocess.run(
            line, shell=os.name != "nt", cwd=folder, env={**os.environ, "PATH": path},
            capture_output=True, text=True, encoding="utf-8", timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stderr

    return run_line


def run(here, *arguments):
    result = here.run(*arguments)
    assert result.exit_code == 0, (arguments, result.stdout, result.stderr)
    assert "Traceback" not in result.stderr
    return result.stdout


@pytest.fixture
def invoke(shell, monkeypatch):
    """The same in this process, where a line runs lindero and needs nothing of a shell."""

    def run_line(line, folder):
        first, *words = shlex.split(line)
        if first != "lindero" or re.search(r"[$`*?;&|<>~#!(){}\[\]\\]", line):
            return shell(line, folder)
        said = []
        with monkeypatch.context() as patch:
            patch.setattr(Output, "note", lambda self, text: said.append(text))
            patch.chdir(folder)
            run(Here(folder), *words)
        return "\n".join(said)

    return run_line


def run_as_printed(command, folder, here, run_line):
    """A printed command, in a copy of the folder."""
    shutil.copytree(here.folder, folder)
    if re.match(r"lindero (train|tune) (?!.*-o )", command):
        (folder / "model.lin").unlink(missing_ok=True)
    return run_line(command.replace("NEW_DATA", "new.csv"), folder)


def predict_with_onnx(path, table):
    """The first output of a graph for a table with the names of its inputs."""
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feeds = {}
    for wanted in session.get_inputs():
        values = table[wanted.name].to_pylist()
        if wanted.type == "tensor(string)":
            column = np.array(["" if value is None else value for value in values], dtype=object)
        else:
            column = np.array([np.nan if value is None else float(value) for value in values])
        feeds[wanted.name] = column[:, None]
    return session.run(None, feeds)[0].tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TABLES)
def test_from_a_table_to_production(here, noted, shell, invoke, tmp_path_factory, name):
    maker, columns, compared, trained = TABLES[name]
    options, verbs = columns.split(), set()

    def run_line(line, folder):
        verb = shlex.split(line)[1]
        is_known, run = verb in verbs, shell if name == BY_SHELL else invoke
        verbs.add(verb)
        return (invoke if is_known else run)(line, folder)

    random = np.random.default_rng(7)
    for file, n_rows in (("table.csv", 120), ("more.csv", 30), ("new.csv", 40)):
        write_table(here, file, maker(random, n_rows))

    # compare → train, as printed: one model, or that of a guest and of the best of our own
    found = here.json("compare", "table.csv", *options, "--folds", "3", *compared.split())
    printed = find_commands(noted)
    assert found["next"] in printed
    noted += [run_line(command, here.folder) for command in printed]
    (here.folder / "model.lin").rename(here.folder / "best.lin")

    # train another one → predict → explain
    run(here, "train", "table.csv", *options, *trained.split())
    for model in ("best.lin", "model.lin"):
        answers = here.json("predict", model, "new.csv", "--explain")
        assert len(answers["predictions"]) == 40
        assert answers["scores"]
        assert all(row["why"] for row in answers["predictions"])
        assert run(here, "explain", model, "new.csv", "--row", "1").startswith("Row 1")
    run(here, "explain", "best.lin", "new.csv", "-o", "why.csv")
    odds = [row["why"] for row in answers["predictions"] if " to 1" in row["why"]]
    assert odds or name not in ("costs", "chances")

    # update → card
    last = "model.lin"
    if name in ("costs", "chances"):
        assert here.refused("update", "model.lin", "more.csv", "-o", "updated.lin")
    else:
        last = "updated.lin"
        updated = here.json("update", "model.lin", "more.csv", "-o", last)
        assert (updated["rows_before"], updated["rows_after"]) == (120, 150)
        assert updated["scores_before"]
        if options:
            here.write("gone.csv", here.read("more.csv"))
            less = here.json("update", last, "--forget", "gone.csv", "-o", "less.lin")
            assert less["rows_after"] == 120
    run(here, "info", last, "--card", "--data", "new.csv", "-o", "card.md")

    # every command that was printed on the way, as printed
    commands = [command for command in find_commands(noted) if command not in printed]
    assert any(" cv " in command for command in commands)
    assert any(" predict " in command for command in commands)
    folders = [tmp_path_factory.mktemp(f"{name}{k}") / "copy" for k in range(len(commands))]
    for command, folder in zip(commands, folders, strict=True):
        run_as_printed(command, folder, here, run_line)

    # export
    pytest.importorskip("onnx")
    run(here, "convert", last, "model.onnx")
    from lindero.data import load

    kept = {"id": options[1]} if options else {}
    given = predict_with_onnx("model.onnx", load("new.csv", **kept).X)
    answers = here.json("predict", last, "new.csv")["predictions"]
    expected = [row["prediction"] for row in answers]
    if name == "prices":
        np.testing.assert_allclose(given, expected, rtol=1e-5)
    else:
        assert given == expected
