"""Whatever happens while a model is saved, the old file or the new one is there, whole."""

import errno
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from lindero.persist import load, save
from lindero.svm import SVC
from tests.persist.model_bank import Y2, X

REPOSITORY = Path(__file__).parents[2]
N_KILLED = 60


def test_processes_killed_while_they_save_leave_the_old_file_or_the_new_one():
    done = subprocess.run(
        [sys.executable, "-m", "tests.persist.killed_saves", str(N_KILLED)],
        capture_output=True, text=True, cwd=REPOSITORY, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert sum(told["found"].values()) == N_KILLED
    # Both were there, and some were killed in the middle of a file: else nothing was tested.
    assert len(told["found"]) == 2
    assert told["unfinished"] > 0


@pytest.fixture
def saved(tmp_path):
    """A saved model and a larger one to be saved in its place."""
    path = tmp_path / "model.lin"
    old = SVC(C=1.0).fit(X[:8], Y2[:8])
    save(old, path)
    return path, path.read_bytes(), SVC(C=9.0).fit(X, Y2)


def assert_untouched(path, before):
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]
    assert load(path).C == 1.0


def test_a_disk_that_is_full_leaves_the_old_file(saved):
    path, before, model = saved
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            save(model, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert_untouched(path, before)
    save(model, path)
    assert load(path).C == 9.0


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_an_error_at_any_step_leaves_the_old_file(saved, monkeypatch, step, error):
    path, before, model = saved

    def fail(*_):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(os, step, fail)
        with pytest.raises(type(error)):
            save(model, path)
    assert_untouched(path, before)


def test_the_file_and_then_its_folder_are_brought_to_the_disk(saved, monkeypatch):
    path, _, model = saved
    steps = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(number):
        steps.append("folder" if os.path.isdir(f"/proc/self/fd/{number}") else "file")
        fsync(number)

    def noted_replace(source, target):
        steps.append("replace")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    save(model, path)
    assert steps == ["file", "replace", "folder"]
