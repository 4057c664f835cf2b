"""``lindero reproduce``, as a user calls it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from lindero.cli.reproduce import describe_progress
from lindero.reproduce.runner import ReproductionProgress
from tests.cli.running import Here


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Here(tmp_path)


def test_reports_are_written_and_summed_up(here):
    arguments = ("reproduce", "lectures", "--quick", "--seeds", "1", "--jobs", "1", "--out", "got")
    done = here.run(*arguments)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("lectures: 21 published, 20 agree, 1 differ")
    assert "tanh(x·y − 1), negative eigenvalues: published none, ours 18" in done.stdout
    assert (here.folder / "got" / "report.html").exists()
    held = here.json(*arguments)  # again, from what was kept
    assert held["complete"]
    assert held["papers"]["lectures"]["published"] == 21
    assert "lectures-5-lift" in held["figures"]


def test_a_folder_that_holds_other_reports_is_refused(here):
    (here.folder / "got").mkdir()
    here.write("got/report.html", "mine")
    done = here.run("reproduce", "lectures", "--quick", "--out", "got")
    assert done.exit_code == 2
    assert "Use --force to replace it, or --out" in done.stderr
    assert here.read("got/report.html") == "mine"


def test_a_paper_that_does_not_exist_is_a_wrong_usage(here):
    done = here.run("reproduce", "avsm")
    assert done.exit_code == 2
    assert "'asvm', 'icssvm', 'tm', 'lectures', 'svm-tutorial', 'all'" in done.stderr


def test_progress_is_a_line_with_the_time_left():
    tell = describe_progress
    assert tell(ReproductionProgress(0, 9, None)) == "0 of 9 works done"
    assert tell(ReproductionProgress(2, 9, 42.4)) == "2 of 9 works done, about 42 seconds left"
    assert tell(ReproductionProgress(2, 9, 400.0)) == "2 of 9 works done, about 7 minutes left"
    assert tell(ReproductionProgress(9, 9, 0.0)) == "9 of 9 works done"


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_ctrl_c_writes_what_is_there_and_says_how_to_go_on(tmp_path):
    command = [sys.executable, "-m", "lindero", "reproduce", "svm-tutorial", "--jobs", "1"]
    out = tmp_path / "got"
    process = subprocess.Popen(
        [*command, "--seeds", "400", "--out", str(out)], text=True, env={**os.environ},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    path, until = out / "finished.jsonl", time.monotonic() + 120
    while not (path.exists() and path.stat().st_size) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said, told = process.communicate(timeout=120)
    assert process.returncode == 130, told
    assert said.startswith("svm-tutorial: ")
    assert "Interrupted: the same command goes on where it stopped." in told
    assert "Not computed yet: the run was interrupted." in (out / "report.md").read_text("utf-8")
