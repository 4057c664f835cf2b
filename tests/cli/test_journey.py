"""The whole way, on five tables: compare, train, predict, explain, update, export.

Every command that lindero prints after ``Next:`` is run as it is printed, in a copy of the folder;
NEW_DATA stands for a file of new rows, and a model in the way of another one is taken away first.
"""

import re
import shlex
import shutil

import numpy as np
import pytest

from lindero.cli.main import cli
from lindero.cli.output import Output
from tests.cli.running import Here

# -- five tables -----------------------------------------------------------------------------------


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


#: A maker, options of the data, and a machine that can be updated.
TABLES = {
    "loans": (make_loans, ["--id", "number"], "incremental-svc"),
    "flowers": (make_flowers, [], "naive-bayes"),
    "votes": (make_votes, [], "tan"),
    "churn": (make_churn, [], "incremental-svc"),
    "prices": (make_prices, [], "incremental-svr"),
}


# -- commands --------------------------------------------------------------------------------------


@pytest.fixture
def noted(monkeypatch):
    """What is printed on a terminal only."""
    said = []
    monkeypatch.setattr(Output, "note", lambda self, text: said.append(text))
    return said


def find_next_commands(said):
    """The commands of ``Next:``, and those in the lines below it, without what they are for."""
    commands = []
    for text in said:
        for line in re.findall(r"^(?:Next: |      )(lindero .*)$", text, re.M):
            commands.append(re.sub(r"\s{2,}\(.*\)$", "", line))
    return list(dict.fromkeys(commands))


def has_option(command, option):
    return any(option in parameter.opts for parameter in cli.get_command(None, command).params)


def run(here, *arguments):
    result = here.run(*arguments)
    assert result.exit_code == 0, (arguments, result.stdout, result.stderr)
    assert "Traceback" not in result.stderr
    return result.stdout


def run_as_printed(here, command, folder, new, monkeypatch):
    """A printed command, in a copy of the folder."""
    shutil.copytree(here.folder, folder)
    words = [new if word == "NEW_DATA" else word for word in shlex.split(command)]
    assert words.pop(0) == "lindero"
    copy = Here(folder)
    with monkeypatch.context() as patch:
        patch.chdir(folder)
        if words[0] in ("train", "tune") and "-o" not in words:
            (folder / "model.lin").unlink(missing_ok=True)
        if words[0] == "compare" and has_option("compare", "--time-budget"):
            words += ["--time-budget", "10"] if "--time-budget" not in words else []
        run(copy, *words)


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
def test_from_a_table_to_production(here, noted, monkeypatch, tmp_path_factory, name):
    maker, options, machine = TABLES[name]
    random = np.random.default_rng(7)
    for file, n_rows in (("table.csv", 120), ("more.csv", 30), ("new.csv", 40)):
        write_table(here, file, maker(random, n_rows))

    # compare → train, as printed
    limits = ["--time-budget", "15"] if has_option("compare", "--time-budget") else []
    found = here.json("compare", "table.csv", *options, "--folds", "3", *limits)
    printed = find_next_commands(noted)
    assert found["next"] in printed or not printed
    words = shlex.split(found["next"])
    assert words[:2] == ["lindero", "train"]
    run(here, *words[1:])
    (here.folder / "model.lin").rename(here.folder / "best.lin")

    # train a machine that learns further rows → predict → explain
    run(here, "train", "table.csv", *options, "-m", machine)
    for model in ("best.lin", "model.lin"):
        answers = here.json("predict", model, "new.csv")
        assert len(answers["predictions"]) == 40
        assert answers["scores"]
    assert run(here, "explain", "model.lin", "new.csv", "--row", "1").startswith("Row 1")
    run(here, "explain", "model.lin", "new.csv", "-o", "why.csv")

    # update → card
    updated = here.json("update", "model.lin", "more.csv", "-o", "updated.lin")
    assert (updated["rows_before"], updated["rows_after"]) == (120, 150)
    assert updated["scores_before"]
    if options:
        here.write("gone.csv", here.read("more.csv"))
        less = here.json("update", "updated.lin", "--forget", "gone.csv", "-o", "less.lin")
        assert less["rows_after"] == 120
    run(here, "info", "updated.lin", "--card", "--data", "new.csv", "-o", "card.md")

    # export
    pytest.importorskip("onnx")
    run(here, "convert", "updated.lin", "model.onnx")
    from lindero.data import load

    kept = {"id": options[1]} if options else {}
    given = predict_with_onnx("model.onnx", load("new.csv", **kept).X)
    answers = here.json("predict", "updated.lin", "new.csv")["predictions"]
    expected = [row["prediction"] for row in answers]
    if name == "prices":
        np.testing.assert_allclose(given, expected, rtol=1e-5)
    else:
        assert given == expected

    # every command that was printed on the way, as printed
    commands = find_next_commands(noted)
    assert any(" cv " in command for command in commands)
    assert any(" predict " in command for command in commands)
    for number, command in enumerate(commands):
        folder = tmp_path_factory.mktemp(f"{name}{number}") / "copy"
        run_as_printed(here, command, folder, "new.csv", monkeypatch)
