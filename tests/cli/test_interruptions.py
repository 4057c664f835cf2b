"""Ctrl-C, as a real signal to a process of its own: exit code 130, and what is done is kept."""

import json
import os
import re
import subprocess
import sys

import pytest

# The signal comes when a method of naive Bayes is called for the so-manieth time.
PROGRAM = """
import functools, os, signal, sys
from lindero.bayes import NaiveBayes
from lindero.cli.main import main

signal.signal(signal.SIGINT, signal.default_int_handler)
name, last, calls = sys.argv.pop(1), int(sys.argv.pop(1)), []
method = getattr(NaiveBayes, name)

@functools.wraps(method)
def counted(*args, **options):
    calls.append(1)
    if len(calls) == last:
        os.kill(os.getpid(), signal.SIGINT)
    return method(*args, **options)

setattr(NaiveBayes, name, counted)
main()
"""


def interrupted(method, calls, *arguments, folder):
    """What a command says that is interrupted at the so-manieth call of a method."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, method, str(calls), *arguments],
        cwd=folder, capture_output=True, text=True, timeout=120, env=dict(os.environ),
    )  # fmt: skip
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    return done


BAYES = ["-m", "naive-bayes"]


@pytest.mark.parametrize(
    ("method", "calls", "arguments"),
    [
        ("fit", 1, ["train", "flowers.csv", *BAYES, "-o", "old.lin", "--force"]),
        ("fit", 5, ["train", "flowers.csv", *BAYES, "--tune", "-o", "old.lin", "--force"]),
        ("fit", 1, ["cv", "flowers.csv", *BAYES]),
        ("predict", 1, ["predict", "old.lin", "flowers.csv", "-o", "out.csv"]),
        ("fit", 3, ["demo"]),
    ],
)
def test_what_was_not_finished_leaves_nothing_behind(here, flowers, method, calls, arguments):
    here.run("train", flowers, *BAYES, "-o", "old.lin")
    before = (here.folder / "old.lin").read_bytes()
    done = interrupted(method, calls, *arguments, folder=here.folder)
    told = [line for line in done.stderr.splitlines() if line and not re.match(r"\d+ s: ", line)]
    assert (done.stdout, told) == ("", ["Interrupted: nothing was saved."])
    assert (here.folder / "old.lin").read_bytes() == before
    files = [path.name for path in here.folder.rglob("*") if path.is_file()]
    assert sorted(files) == ["flowers.csv", "old.lin"]


def test_folds_that_were_done_are_shown(here, flowers):
    whole = here.json("cv", flowers, *BAYES)
    done = interrupted("fit", 4, "cv", flowers, *BAYES, "--json", folder=here.folder)
    told = json.loads(done.stdout)
    assert told["folds"]["accuracy"] == whole["folds"]["accuracy"][:3]
    assert (whole["complete"], told["complete"]) == (True, False)
    text = interrupted("fit", 4, "cv", flowers, *BAYES, folder=here.folder).stdout
    assert text.startswith("naive-bayes, 3 folds of 60 rows")
    assert "Interrupted" in text


def test_points_that_were_done_are_shown_and_nothing_is_saved(here, flowers):
    search = ["tune", flowers, *BAYES, "--folds", "3", "-o", "best.lin"]
    done = interrupted("fit", 11, *search, "--json", folder=here.folder)
    told = json.loads(done.stdout)
    assert (len(told["trials"]), told["complete"]) == (3, False)
    assert told["best"] == told["trials"][0]
    assert here.names() == ["flowers.csv"]


def test_a_stream_keeps_its_snapshots_and_its_curve(here, flowers):
    stream = ["stream", flowers, *BAYES, "--warm-up", "10", "--save-every", "10"]
    done = interrupted("partial_fit", 30, *stream, folder=here.folder)
    assert "Interrupted after row" in done.stdout
    assert "Last snapshot" in done.stdout
    resumed = here.json("stream", flowers, "--resume", "snapshots")
    assert resumed["complete"]
