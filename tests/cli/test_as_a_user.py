"""The command as a user runs it: a process of its own, files in a folder, a terminal."""

import importlib
import json
import os
import pty
import resource
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from lindero.cli.main import COMMANDS, main
from tests.cli.conftest import flower_rows
from tests.cli.running import lindero

REPOSITORY = Path(__file__).resolve().parents[2]
HEAVY = {"numpy", "scipy", "sklearn", "numba", "pyarrow", "pandas", "rich", "matplotlib"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with data and a model."""
    folder = tmp_path_factory.mktemp("user")
    (folder / "flowers.csv").write_text(flower_rows())
    done = lindero("train", "flowers.csv", "-m", "svc", folder=folder)
    assert done.returncode == 0
    assert done.stderr.startswith("Next: lindero cv flowers.csv -m svc")
    assert "Optimal" in done.stdout
    return folder


def in_a_terminal(*arguments, folder, env=None):
    """Exit code, standard output, and what a terminal of 100 columns shows of standard error."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "lindero", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "NO_COLOR": "", **(env or {})},
        text=True,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    printed = process.stdout.read()
    process.stdout.close()
    return process.wait(timeout=120), printed, shown.decode("utf-8", errors="replace")


def test_help_names_every_command_in_groups_with_a_line_each(tmp_path):
    done = lindero("--help", folder=tmp_path)
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert len(lines) <= len(COMMANDS) + 18
    assert max(map(len, lines)) <= 80
    assert all(any(line.split()[:1] == [name] for line in lines) for name in COMMANDS)


def test_the_entry_point_is_the_command():
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    module, _, name = settings["project"]["scripts"]["lindero"].partition(":")
    assert getattr(importlib.import_module(module), name) is main


def test_help_of_every_command_imports_nothing_heavy(tmp_path):
    program = (
        "import sys\n"
        "from lindero.cli.main import COMMANDS, cli\n"
        "cli.main(['info'], standalone_mode=False)\n"
        "for name in COMMANDS:\n"
        "    cli.main([name, '--help'], standalone_mode=False)\n"
        "print('modules', *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    loaded = {name.partition(".")[0] for name in done.stdout.rpartition("modules")[2].split()}
    assert "click" in loaded
    assert loaded & HEAVY == set()


def test_predictions_go_through_pipes_and_are_nothing_but_rows(folder):
    rows = "petal,width,colour\n5.0,0.1,red\n2.0,0.1,blue\n"
    done = lindero("predict", "model.lin", "-", folder=folder, input=rows)
    assert (done.returncode, done.stdout, done.stderr) == (0, "prediction\nrose\nlily\n", "")


def test_a_reader_that_has_had_enough_is_no_error(folder):
    command = f"{sys.executable} -m lindero predict model.lin flowers.csv --quiet | head -1"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert (done.stdout, done.stderr) == ("prediction\n", "")


def test_standard_output_that_is_closed_is_no_defect(folder):
    command = f"{sys.executable} -m lindero info model.lin >&-"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_json_for_scripts(folder):
    done = lindero("cv", "flowers.csv", "-m", "naive-bayes", "--json", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["machine"] == "naive-bayes"


def test_one_sentence_for_a_mistake_and_a_traceback_with_debug(folder):
    done = lindero("train", "none.csv", "-o", "none.lin", folder=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: There is no file none.csv.")
    assert done.stderr.count("\n") == 1
    done = lindero("train", "none.csv", "-o", "none.lin", "--debug", folder=folder)
    assert done.returncode == 1
    assert "Traceback" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "model.lin", "flowers.csv", "--quiet"],
        ["train", "flowers.csv", "-o", "other.lin"],
    ],
)
def test_standard_output_on_a_full_disk(folder, arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "lindero", *arguments],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )
    assert done.returncode == 1
    assert done.stderr == (
        "Error: The result could not be written to standard output: there is no space left on the "
        "disk.\n"
    )


def test_a_model_that_does_not_fit_on_the_disk_leaves_the_old_one(folder, tmp_path):
    old = (folder / "model.lin").read_bytes()
    (tmp_path / "model.lin").write_bytes(old)

    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    data = str(folder / "flowers.csv")
    # Compiled functions would be written to numba's cache, which is no part of this.
    train = ["train", data, "-m", "tan", "--force"]
    done = lindero(*train, folder=tmp_path, preexec_fn=little_room)
    assert done.returncode == 1
    assert "nothing was changed" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["model.lin"]
    assert (tmp_path / "model.lin").read_bytes() == old


def test_a_terminal_shows_progress_and_what_to_do_next(folder):
    code, printed, shown = in_a_terminal("cv", "flowers.csv", "-m", "tan", folder=folder)
    assert code == 0
    assert "fitting tan" in shown
    assert "5/5" in shown
    assert "Next: lindero tune flowers.csv -m tan" in shown
    assert printed.startswith("tan, 5 folds")
    assert "fitting" not in printed


def test_a_terminal_shows_in_colour_what_to_do_after_training(folder):
    code, printed, shown = in_a_terminal("train", "flowers.csv", "-o", "new.lin", folder=folder)
    assert code == 0
    assert "lindero predict new.lin" in shown
    assert "60 rows, 3 columns" in shown
    assert "saved as new.lin" in printed
    assert "\x1b[2m" in shown


def test_colours_are_left_out_where_they_are_not_wanted(folder):
    train = ["train", "flowers.csv", "-m", "naive-bayes", "-o", "b.lin", "--force"]
    shown = in_a_terminal(*train, folder=folder, env={"NO_COLOR": "1"})[2]
    assert "Next:" in shown
    assert "\x1b[2m" not in shown


def test_quiet_is_quiet_in_a_terminal_too(folder):
    code, printed, shown = in_a_terminal("cv", "flowers.csv", "-m", "tan", "--quiet", folder=folder)
    assert (code, shown) == (0, "")
    assert "accuracy" in printed


def test_the_shell_is_told_which_machines_there_are(folder):
    words = {"_LINDERO_COMPLETE": "bash_complete", "COMP_WORDS": "lindero train d.csv -m struct"}
    program = "from lindero.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **words, "COMP_CWORD": "4"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.split() == ["plain,structured-svc", "plain,structural-tm"]
