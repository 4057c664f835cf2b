"""``lindero stream``: test, then train; and snapshots that go on as if nothing had happened."""

import csv

import numpy as np
import pytest

from lindero.data import make_rotating
from tests.cli.test_as_a_user import in_a_terminal

#: What a resumed run does not share with an uninterrupted one.
_ITS_OWN = {"seconds_learning", "seconds_predicting", "snapshots", "resumed_from"}


def drifting_rows(n_rows=160, seed=0):
    """Lines of a CSV file: two clouds that turn, in another order than that of time."""
    X, y = make_rotating(n_rows, step=np.pi / n_rows, noise=0.5, random_state=seed)
    order = np.random.default_rng(seed).permutation(n_rows)
    rows = [f"{i},{X[i, 0]:.4f},{X[i, 1]:.4f},{'up' if y[i] > 0 else 'down'}\n" for i in order]
    return "day,a,b,kind\n" + "".join(rows)


@pytest.fixture
def drifting(here):
    here.write("drift.csv", drifting_rows())
    return "drift.csv"


def shared(data):
    return {name: value for name, value in data.items() if name not in _ITS_OWN}


@pytest.mark.parametrize(
    "arguments",
    [
        ("-m", "adaptive-svc"),
        ("-m", "naive-bayes", "--batch-size", "4"),
        ("-m", "incremental-svc", "--set", "C=2"),
        ("-m", "svc", "--refit-every", "10", "--refit-on", "40", "--batch-size", "3"),
    ],
)
def test_a_resumed_stream_ends_as_an_uninterrupted_one(here, drifting, arguments):
    options = ("stream", drifting, "--time", "day")
    whole = here.json(*options, *arguments, "-o", "whole.lin")
    assert whole["complete"]
    assert whole["tested"] == 160 - 32
    saved = here.json(*options, *arguments, "--save-every", "40", "-o", "saved.lin")["snapshots"]
    assert len(saved) >= 2
    resumed = here.json(*options, "--resume", saved[0], "-o", "resumed.lin")
    assert resumed["resumed_from"] == saved[0]
    assert shared(resumed) == {**shared(whole), "model": "resumed.lin"}
    names = ("whole.lin", "saved.lin", "resumed.lin")
    predicted = {here.run("predict", name, drifting).stdout for name in names}
    assert len(predicted) == 1
    assert len(predicted.pop().splitlines()) >= 160


def test_rows_come_in_the_order_of_time(here, drifting):
    here.json("stream", drifting, "--time", "day", "--save-every", "64")
    answers = list(csv.DictReader(here.read("snapshots/answers.csv").splitlines()))
    of_day = {row["day"]: row["kind"] for row in csv.DictReader(here.read(drifting).splitlines())}
    for answer in answers:
        assert answer["true"] == of_day[str(int(answer["row"]) - 1)]


def test_following_helps_where_things_move(here, drifting):
    adaptive = here.json("stream", drifting, "--time", "day")
    plain = here.json("stream", drifting, "--time", "day", "-m", "svc", "--refit-every", "10")
    assert adaptive["machine"] == "adaptive-svc"
    assert adaptive["error"] < plain["error"]
    assert len(adaptive["curve"]["error"]) == len(adaptive["curve"]["row"]) == 128
    assert adaptive["curve"]["row"][-1] == 160


def test_data_that_have_grown_are_gone_on_with(here, drifting):
    lines = here.read(drifting).splitlines(keepends=True)
    in_order = [lines[0], *sorted(lines[1:], key=lambda line: int(line.split(",")[0]))]
    here.write("short.csv", "".join(in_order[:101]))
    here.write("long.csv", "".join(in_order))
    options = ("--time", "day", "-m", "naive-bayes", "--warm-up", "20", "--window", "20")
    here.json("stream", "short.csv", *options, "--save-every", "40")
    grown = here.json(
        "stream", "long.csv", "--time", "day", "--window", "20", "--resume", "snapshots"
    )
    assert shared(grown) == shared(here.json("stream", "long.csv", *options))


def test_the_text_has_a_curve(here, drifting):
    result = here.run("stream", drifting, "--time", "day", "--report", "page.html")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith("adaptive-svc: 128 rows, each predicted before it was learned")
    assert "% errors, kappa" in lines[1]
    assert set(lines[3].split()[0]) <= set("▁▂▃▄▅▆▇█")
    page = here.read("page.html")
    assert page.count("<svg") == 4  # errors and weights, in two widths
    assert "Weights over time" in page
    assert "hash of the data" in page


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-m", "svc"], "svc cannot learn row by row: use --refit-every 100"),
        (["-m", "svr"], "svr is for regression, but the target holds classes"),
        (["-m", "one-class-svm"], "a stream is for classification or regression"),
        (["--target", "a", "-m", "naive-bayes"], "for classification, but the target is a number"),
        (["--target", "a", "--cost", "up:down=3"], "--cost is for classes"),
        (["--cost", "up:down"], "has no '='"),
        (["--measure", "cost"], "needs costs"),
        (["--measure", "roc-auc"], "take one of error, accuracy, balanced-accuracy, kappa"),
        (["--target", "a", "--measure", "error"], "take one of mae, rmse, r2"),
        (["--delay", "150"], "wait for labels: none are left"),
        (["--warm-up", "160"], "none are left"),
        (["--refit-on", "50"], "--refit-every"),
        (["--set", "c=1"], "did you mean 'C'"),
        (["--resume", "."], "There are no snapshots in '.'"),
        (["-o", "nowhere/m.lin"], "does not exist"),
    ],
)
def test_mistakes_are_one_sentence(here, drifting, arguments, words):
    assert words in here.refused("stream", drifting, *arguments)


def test_what_does_not_belong_to_a_snapshot_is_refused(here, drifting):
    here.json("stream", drifting, "--time", "day", "--save-every", "40", "-m", "naive-bayes")
    resume = ("--resume", "snapshots")
    result = here.run("stream", drifting, *resume, "-m", "tan")
    assert result.exit_code == 2
    assert "--machine is fixed by the snapshot" in result.stderr
    said = here.refused("stream", drifting, *resume)  # not in the order of time
    assert "has another class than when the snapshot was taken" in said
    here.write("few.csv", "".join(here.read(drifting).splitlines(keepends=True)[:60]))
    assert "the data have only 59" in here.refused("stream", "few.csv", "--time", "day", *resume)
    here.write("snapshots/answers.csv", "row,true\n1,up\n")
    assert "damaged" in here.refused("stream", drifting, "--time", "day", *resume)
    (here.folder / "snapshots" / "answers.csv").unlink()
    assert "is not a snapshot" in here.refused("stream", drifting, "--time", "day", *resume)
    assert here.run("train", drifting, "-o", "plain.lin").exit_code == 0
    assert "is not a snapshot" in here.refused("stream", drifting, "--resume", "plain.lin")


def test_a_terminal_shows_the_curve_as_it_grows(here):
    here.write("drift.csv", drifting_rows(600))
    code, printed, shown = in_a_terminal("stream", "drift.csv", "--time", "day", folder=here.folder)
    assert code == 0
    assert "errors in the last" in shown
    assert "adaptive-svc: 500 rows" in printed
