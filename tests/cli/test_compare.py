"""``lindero compare``, inside this process and as a user runs it."""

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from lindero.cli.compare import describe_progress, suggest_own_command
from lindero.cli.options import make_source
from lindero.data import load
from lindero.evaluation import compare
from lindero.persist import inspect
from lindero.persist import load as read_model
from tests.cli.running import lindero
from tests.cli.test_as_a_user import in_a_terminal

QUICK = ("-m", "naive-bayes", "-m", "svc-linear", "--folds", "3")


def rows_in_time(n_rows=80, seed=0):
    """Lines of a CSV file with days, not in their order."""
    random = np.random.default_rng(seed)
    lines = ["day,size,kind"]
    for day in random.permutation(n_rows):
        kind = "big" if day % 2 else "small"
        size = random.normal(2.0 if kind == "big" else 0.0)
        lines.append(f"2024-{1 + day // 28:02d}-{1 + day % 28:02d},{size:.3f},{kind}")
    return "\n".join(lines) + "\n"


def leave_out_progress(said):
    """What was said, without the lines that a slow machine has time for: how far it is."""
    return re.sub(r"^\d+ s: .*\n", "", said, flags=re.MULTILINE)


def test_the_result_is_a_table_and_a_recommendation(here, flowers):
    result = here.run("compare", flowers, *QUICK)
    assert result.exit_code == 0
    assert leave_out_progress(result.stderr).startswith("Next: lindero train flowers.csv -m ")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("flowers.csv: 60 rows, 3 columns")
    assert lines[1].startswith("3 folds, ")
    assert lines[3].split()[:3] == ["machine", "error", "log-loss"]
    assert {line.split()[0] for line in lines[4:6]} == {"naive-bayes", "svc-linear"}
    assert "Take " in result.stdout
    assert "with 60 rows" in result.stdout or "60 rows are few" in result.stdout


def test_json_says_the_same_and_what_to_type_next(here, flowers):
    data = here.json("compare", flowers, *QUICK, "--target", "class", "--seed", "3")
    assert data["n_rows"] == 60
    assert [machine["failure"] for machine in data["machines"]] == [None, None]
    assert data["recommended"] in ("naive-bayes", "svc-linear")
    assert data["random_state"] == 3
    following = data["next"].split()
    assert following[:4] == ["lindero", "train", "flowers.csv", "-m"]
    assert following[-2:] == ["--target", "class"]
    assert following[following.index("--seed") + 1] == "3"
    again = here.run(*following[1:])
    assert again.exit_code == 0, again.stderr


def test_costs_are_ranked_by(here, flowers):
    costs = ("--cost", "rose:lily=8", "--cost", "lily:rose=1")
    data = here.json("compare", flowers, "-m", "cost-sensitive-svc-linear", *QUICK, *costs)
    assert data["measure"] == "cost"
    assert data["costs"] == [[0, 1], [8, 0]]
    assert all(machine["failure"] is None for machine in data["machines"])


def rare_rows(n_rows=200):
    """Lines of a CSV file with customers, of whom few leave."""
    random = np.random.default_rng(0)
    lines = ["customer,calls,months,left"]
    for number, calls in enumerate(random.normal(size=n_rows)):
        left = "yes" if calls + 0.7 * random.normal() > 1.8 else "no"
        lines.append(f"K{number:04d}x,{calls:.3f},{random.integers(1, 40)},{left}")
    return "\n".join(lines) + "\n"


def test_the_measure_stands_first_and_two_others_beside_it(here):
    here.write("rare.csv", rare_rows())
    result = here.run("compare", "rare.csv", *QUICK)
    titles = re.split(r"  +", result.stdout.splitlines()[3])
    assert titles[:4] == ["machine", "log-loss", "ROC AUC", "average precision"]
    assert "Ranked by log-loss: class 'yes' has 7 %" in result.stdout
    result = here.run("compare", "rare.csv", *QUICK, "--measure", "Balanced-Accuracy")
    titles = re.split(r"  +", result.stdout.splitlines()[3])
    assert titles[:4] == ["machine", "balanced accuracy", "log-loss", "ROC AUC"]
    assert "Ranked by" not in result.stdout


def test_what_to_type_next_has_columns_costs_measure_and_parameters(here):
    here.write("rare.csv", rare_rows())
    costs = ("--cost", "yes:no=9")
    told = here.json("compare", "rare.csv", "-m", "svc-linear", "--folds", "3", *costs)
    words = shlex.split(told["next"])
    assert words[:5] == ["lindero", "train", "rare.csv", "-m", "svc"]
    assert "kernel=linear" in words
    assert words[words.index("--id") + 1] == "customer"
    assert words[words.index("--cost") + 1] == "yes:no=9"
    assert "--measure" not in words  # costs are what training takes by itself
    told = here.json("compare", "rare.csv", *QUICK, "--measure", "f1", "--seed", "4")
    words = shlex.split(told["next"])
    assert words[words.index("--measure") + 1] == "f1"
    assert words[words.index("--seed") + 1] == "4"


def test_a_machine_is_trained_as_it_was_compared(here, flowers):
    """The command that is advised has no option that training does not know."""
    told = here.json("compare", flowers, *QUICK, "--measure", "roc-auc")
    words = shlex.split(told["next"])
    done = here.run(*words[1:])
    assert done.exit_code == 0, done.stderr


def test_a_rare_class_is_answered_as_it_was_compared(here):
    here.write("rare.csv", rare_rows())
    told = here.json("compare", "rare.csv", "-m", "svc", "--folds", "3", "--no-baselines")
    (machine,) = (m for m in told["machines"] if m["name"] == told["recommended"])
    words = shlex.split(told["next"])
    assert "class_weight=balanced" in words
    assert words[words.index("--measure") + 1] == "log-loss"
    assert here.run(*words[1:]).exit_code == 0
    scores = here.json("predict", "model.lin", "rare.csv", "--proba", "-o", "p.csv")["scores"]
    assert 1 - scores["accuracy"] <= np.mean(machine["scores"]["error"]) + 0.02


@pytest.mark.parametrize(
    ("asked", "decided"),
    [
        (["--cost", "yes:no=9"], {"costs": [[0.0, 1.0], [9.0, 0.0]], "threshold": "cost"}),
        (["--measure", "balanced-accuracy"], {"costs": None, "threshold": "balanced_accuracy"}),
    ],
)
def test_a_guest_is_trained_as_it_was_compared(here, asked, decided):
    here.write("rare.csv", rare_rows())
    options = ["--no-baselines", "--folds", "3", "--drop", "months", "--seed", "3", *asked]
    told = here.json("compare", "rare.csv", "-m", "logistic-regression", *options)
    words = shlex.split(told["next"])
    assert words[:5] == ["lindero", "train", "rare.csv", "-m", "logistic-regression"]
    assert words[words.index("--seed") + 1] == "3"
    trained = here.json(*words[1:])
    model = read_model("model.lin")
    assert model.feature_names_in_.tolist() == ["calls"]
    assert (
        model.costs_ is None
        if decided["costs"] is None
        else model.costs_.tolist() == decided["costs"]
    )
    assert model.threshold_ == trained["threshold"]
    assert here.run("predict", "model.lin", "rare.csv", "--proba", "--explain").exit_code == 0


def test_classes_with_colons_can_be_named(here):
    here.write(
        "a.csv", "x,class\n" + "".join(f"{k % 2},{'a:b' if k % 2 else 'c'}\n" for k in range(40))
    )
    data = here.json("compare", "a.csv", "-m", "naive-bayes", "--folds", "2", "--cost", "a:b:c=3")
    assert data["costs"] == [[0, 3], [1, 0]]


def test_times_go_forward(here):
    here.write("days.csv", rows_in_time())
    data = here.json("compare", "days.csv", *QUICK, "-m", "adaptive-svc", "--time", "day")
    assert data["time_respecting"]
    assert {machine["name"] for machine in data["machines"]} >= {"adaptive-svc"}
    assert all(machine["failure"] is None for machine in data["machines"])


def test_numbers_are_a_regression(here):
    random = np.random.default_rng(0)
    rows = "".join(f"{a:.3f},{2 * a + 0.1:.3f}\n" for a in random.normal(size=40))
    here.write("numbers.csv", "a,price\n" + rows)
    data = here.json("compare", "numbers.csv", "-m", "svr-linear", "--folds", "2")
    assert data["measure"] == "rmse"
    assert data["machines"][0]["mean"]["rmse"] < data["baseline"]
    options = ["-m", "svr-linear", "--folds", "2", "--measure", "pinball@0.9"]
    result = here.run("compare", "numbers.csv", *options, "--report", "r.html")
    assert "pinball loss at 0.9" in result.stdout.splitlines()[3]
    assert "pinball loss at 0.9" in here.read("r.html")


def test_the_page_escapes_what_the_table_holds(here):
    rows = "".join(f"{k % 2},{'<script>' if k % 2 else '&amp;'}\n" for k in range(40))
    here.write("evil.csv", "<b>x</b>,<script>alert(1)</script>\n" + rows)
    done = here.run(
        "compare", "evil.csv", "-m", "naive-bayes", "--folds", "2", "--report", "r.html"
    )
    assert done.exit_code == 0, done.stderr
    page = here.read("r.html")
    assert "<script" not in page
    assert "<b>x" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "r.html" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--target", "nosuch"], "nosuch"),
        (["--cost", "rose:lily"], "has no '='"),
        (["--cost", "rose:lily=much"], "'much' is not a number"),
        (["--cost", "rose:tulip=3"], "does not name two of the classes lily, rose"),
        (["--no-target"], "no target"),
        (["--measure", "rmse"], "rmse is for regression, and the task is classification"),
        (["--measure", "cost"], "The measure cost needs costs"),
        (["-m", "adaptive-svc"], "adaptive-svc needs times"),
        (["-m", "cost-sensitive-svc"], "needs costs"),
        (["-m", "svr-linear"], "svr-linear is for regression"),
        (["--task", "regression"], "needs numbers as targets"),
        (["--report", "nowhere/r.html"], "does not exist"),
    ],
)
def test_mistakes_are_one_sentence(here, flowers, arguments, words):
    before = here.names()
    assert words in here.refused("compare", flowers, *arguments)
    assert here.names() == before


def test_what_to_type_next_has_the_options_of_the_data(here):
    rows = "".join(f"{k % 7};{k % 3};{'a' if k % 7 > 3 else 'b'};{k}\n" for k in range(60))
    here.write("my rows.csv", rows)
    options = ["--no-header", "--target", "x2", "--id", "x3", "--delimiter", ";"]
    told = here.json("compare", "my rows.csv", "-m", "naive-bayes", "--folds", "2", *options)
    words = shlex.split(told["next"])
    assert words[:5] == ["lindero", "train", "my rows.csv", "-m", "naive-bayes"]
    assert here.run(*words[1:]).exit_code == 0
    assert inspect("model.lin").summary["roles"] == {"target": "x2", "id": "x3"}


@pytest.mark.parametrize(
    "arguments", [["-m", "svc-liner"], ["--folds", "1"], ["--jobs", "0"], ["--measure", "f2"]]
)
def test_what_is_typed_wrongly_is_a_usage_error(here, flowers, arguments):
    result = here.run("compare", flowers, *arguments)
    assert result.exit_code == 2
    assert "Usage: lindero compare" in result.stderr


def test_a_terminal_shows_a_table_that_fills(here, flowers):
    code, printed, shown = in_a_terminal("compare", flowers, *QUICK, folder=here.folder)
    assert code == 0
    assert "naive-bayes" in shown
    assert re.search(r"[1-6] of 6 fits", shown)
    assert "Next: lindero train flowers.csv -m " in shown
    assert "fits" not in printed
    assert "Take " in printed


def test_a_narrow_terminal_shows_whole_names_and_one_measure(here, flowers):
    _, _, shown = in_a_terminal(
        "compare", flowers, *QUICK, folder=here.folder, env={"COLUMNS": "44"}
    )
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert re.search(r"naive-bayes +\d/3 +\d", shown)
    assert "…" not in shown
    assert "log-loss" not in shown


def test_with_quiet_a_terminal_shows_nothing(here, flowers):
    code, _, shown = in_a_terminal(
        "compare", flowers, "-m", "naive-bayes", "--folds", "2", "--quiet", folder=here.folder
    )
    assert (code, shown) == (0, "")


def test_an_interruption_shows_what_is_known(here):
    """Ctrl-C in a terminal after a few fits: a table, a page, exit code 130."""
    here.write("days.csv", rows_in_time(400))
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "lindero", "compare", "days.csv", "-m", "naive-bayes", "-m",
         "svc-gaussian", "-m", "tan", "--folds", "60", "--report", "r.html"],
        cwd=here.folder, stdout=subprocess.PIPE, stderr=theirs, text=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(theirs)
    shown = ""
    while not re.search(r"([3-9]|\d\d) of 180 fits", shown):
        shown += os.read(ours, 4096).decode("utf-8", errors="replace")
    process.send_signal(signal.SIGINT)
    try:
        while os.read(ours, 4096):
            pass
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    printed = process.stdout.read()
    process.stdout.close()
    assert process.wait(timeout=120) == 130
    assert "cut short" in printed
    assert "naive-bayes" in printed
    assert "<svg" in here.read("r.html")


def test_as_a_script_only_the_result_is_printed(here, flowers):
    done = lindero(
        "compare", flowers, "-m", "naive-bayes", "--folds", "2", "--report", "r.html", "--json",
        folder=here.folder,
    )  # fmt: skip
    assert (done.returncode, leave_out_progress(done.stderr)) == (0, "")
    assert json.loads(done.stdout)["report"] == "r.html"
    assert "lindero compare flowers.csv -m naive-bayes" in here.read("r.html")


def test_the_next_command_is_printed_in_scripts_too(here, flowers):
    done = here.run("compare", flowers, "-m", "naive-bayes", "--folds", "2")
    assert "Next: lindero train flowers.csv -m naive-bayes " in done.stderr
    assert " -o " not in done.stderr
    here.write("model.lin", "precious")
    done = here.run("compare", flowers, "-m", "naive-bayes", "--folds", "2")
    assert " -o model-2.lin\n" in done.stderr
    quiet = here.run("compare", flowers, "-m", "naive-bayes", "--folds", "2", "--quiet")
    assert quiet.stderr == ""


def test_predictions_of_the_next_command_name_their_rows(here):
    rows = "".join(f"C{k},{k % 9},{'uv'[k % 2]}\n" for k in range(60))
    here.write("table.csv", "customer,n,class\n" + rows)
    told = here.json("compare", "table.csv", "-m", "naive-bayes", "--folds", "2")
    assert "--id customer" in told["next"]
    assert here.run(*shlex.split(told["next"])[1:]).exit_code == 0
    answers = here.json("predict", "model.lin", "table.csv")["predictions"]
    assert [row["id"] for row in answers[:2]] == ["C0", "C1"]


def test_progress_names_measures_as_the_table_does(here):
    here.write("table.csv", "a,class\n" + "".join(f"{k % 7},{k % 9 == 0}\n" for k in range(90)))
    states = []
    data = load(here.folder / "table.csv")
    compare(data, machines=["baseline"], folds=2, measure="log_loss", progress=states.append)
    assert "best so far baseline (log-loss 0." in describe_progress(states[-1], 3.0)


class Judged:
    """A machine of a comparison, with its score."""

    is_judged, usual_parameters = True, {}

    def __init__(self, machine, score):
        self.machine, self._score = machine, score

    def mean(self, measure):
        return self._score


@pytest.mark.parametrize(("score", "is_offered"), [(3.0, True), (4.0, False), (5.0, False)])
def test_a_machine_that_is_no_better_than_the_baseline_is_not_offered(here, score, is_offered):
    guest = Judged("ridge", 2.0)
    ranked = [
        guest,
        *sorted([Judged("svr", score), Judged("baseline", 4.0)], key=lambda m: m.mean("")),
    ]
    comparison = SimpleNamespace(
        recommended=guest,
        ranked=ranked,
        measure="rmse",
        task="regression",
        left_out=(),
        reason="usual",
    )
    offered = suggest_own_command(comparison, make_source("table.csv"))
    assert (offered is not None) == is_offered
