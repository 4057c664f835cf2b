"""No command writes over what it reads, and other files are replaced only with --force."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import lindero as lindero_package
from tests.cli.conftest import flower_rows
from tests.cli.running import lindero

#: Commands that would replace their own input, which stands for both X's.
OWN_INPUT = {
    "train": ["train", "flowers.csv", "-m", "naive-bayes", "-o", "X"],
    "train --tune": ["train", "flowers.csv", "-m", "naive-bayes", "--tune", "-o", "X"],
    "tune": ["tune", "flowers.csv", "-m", "naive-bayes", "-o", "X"],
    "scale": ["scale", "flowers.csv", "-o", "X"],
    "predict": ["predict", "model.lin", "flowers.csv", "-o", "X"],
    "convert": ["convert", "flowers.csv", "X"],
    "update": ["update", "model.lin", "flowers.csv", "-o", "X"],
    "update --forget": ["update", "model.lin", "--forget", "flowers.csv", "-o", "X"],
    "explain": ["explain", "model.lin", "flowers.csv", "-o", "X"],
    "info --card": ["info", "model.lin", "--card", "--data", "flowers.csv", "-o", "X"],
    "scale --like": ["scale", "other.csv", "--like", "flowers.csv", "-o", "X"],
    "compare": ["compare", "flowers.csv", "-m", "naive-bayes", "--report", "X"],
    "stream": ["stream", "flowers.csv", "-m", "naive-bayes", "-o", "X"],
    "stream --report": ["stream", "flowers.csv", "-m", "naive-bayes", "--report", "X"],
}


def make_names(folder):
    """Other names of the same file."""
    (folder / "link.csv").symlink_to("flowers.csv")
    os.link(folder / "flowers.csv", folder / "hard.csv")
    return ["flowers.csv", "./flowers.csv", str(folder / "flowers.csv"), "link.csv", "hard.csv"]


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("name", OWN_INPUT)
def test_no_command_writes_over_its_input(here, flowers, name, force):
    here.write("model.lin", "")
    before = here.read(flowers)
    for path in make_names(here.folder):
        arguments = [path if word == "X" else word for word in OWN_INPUT[name]]
        result = here.run(*arguments, *force)
        assert result.exit_code == 2
        assert "is read by this command" in result.stderr
        assert here.read(flowers) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "model.lin", "flowers.csv", "-o", "model.lin", "--force"],
        ["scale", "flowers.csv", "--like", "model.lin", "-o", "model.lin", "--force"],
        ["convert", "model.lin", "model.lin", "--force"],
        ["update", "model.lin", "flowers.csv", "-o", "model.lin", "--force"],
        ["explain", "model.lin", "flowers.csv", "-o", "model.lin", "--force"],
        ["info", "model.lin", "--card", "-o", "model.lin", "--force"],
        ["stream", "flowers.csv", "--resume", "model.lin", "-o", "model.lin", "--force"],
        ["stream", "flowers.csv", "--resume", "model.lin", "--report", "model.lin", "--force"],
    ],
)
def test_models_are_inputs_too(here, model, arguments):
    before = (here.folder / model).read_bytes()
    assert here.run(*arguments).exit_code == 2
    assert (here.folder / model).read_bytes() == before


def test_standard_input_is_a_file_too(tmp_path):
    (tmp_path / "d.csv").write_text(flower_rows())
    with open(tmp_path / "d.csv") as file:
        done = lindero("scale", "-", "-o", "d.csv", "--force", folder=tmp_path, stdin=file)
    assert done.returncode == 2
    assert "standard input" in done.stderr
    assert (tmp_path / "d.csv").read_text() == flower_rows()


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "flowers.csv", "-m", "naive-bayes", "-o", "old"],
        ["tune", "flowers.csv", "-m", "naive-bayes", "-o", "old"],
        ["scale", "flowers.csv", "-o", "old.csv"],
        ["predict", "model.lin", "flowers.csv", "-o", "old.csv"],
        ["convert", "flowers.csv", "old.arff"],
        ["compare", "flowers.csv", "-m", "naive-bayes", "--folds", "2", "--report", "old"],
        ["stream", "flowers.csv", "-m", "naive-bayes", "--report", "old"],
    ],
)
def test_files_that_exist_are_replaced_only_by_force(here, model, arguments):
    old = arguments[-1]
    here.write(old, "precious")
    result = here.run(*arguments)
    assert result.exit_code == 2
    assert f"'{old}' exists already. Use --force to replace it, or " in result.stderr
    assert here.read(old) == "precious"
    assert here.run(*arguments, "--force").exit_code == 0
    assert (here.folder / old).read_bytes() != b"precious"


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "flowers.csv", "--tune", "-o", "old"],
        ["update", "model.lin", "flowers.csv", "-o", "old"],
        ["update", "model.lin", "--forget", "flowers.csv", "-o", "old"],
        ["explain", "model.lin", "flowers.csv", "-o", "old"],
        ["info", "model.lin", "--card", "-o", "old"],
        ["stream", "flowers.csv", "-o", "old"],
        ["stream", "flowers.csv", "--save-every", "20", "--report", "old"],
        ["convert", "model.lin", "old"],
        ["data", "fetch", "heart", "-o", "old"],
    ],
)
def test_no_other_command_replaces_a_file_unasked(here, flowers, arguments):
    """Before anything is read."""
    here.write("model.lin", "")
    here.write("old", "precious")
    result = here.run(*arguments)
    assert result.exit_code == 2
    assert "'old' exists already. Use --force to replace it, or " in result.stderr
    assert here.read("old") == "precious"


@pytest.mark.parametrize("option", ["-o", "--report"])
def test_a_stream_does_not_write_over_its_answers(here, flowers, option):
    (here.folder / "snapshots").mkdir()
    path = "./snapshots/answers.csv"
    result = here.run("stream", flowers, "--save-every", "20", option, path, "--force")
    assert result.exit_code == 2
    assert "written twice" in result.stderr


def test_a_stream_does_not_write_two_things_to_one_file(here, flowers):
    result = here.run("stream", flowers, "-m", "naive-bayes", "-o", "x", "--report", "./x")
    assert result.exit_code == 2
    assert "twice" in result.stderr


def test_snapshots_do_not_replace_other_files(here, flowers):
    here.write("answers.csv", flower_rows())
    stream = ["stream", "-m", "naive-bayes", "--save-every", "20", "--snapshots", "."]
    assert here.run(*stream, "answers.csv").exit_code == 2
    assert "answers.csv" in here.refused(*stream, flowers)
    assert here.read("answers.csv") == flower_rows()


def test_a_stream_goes_on_in_its_own_folder_but_in_no_other(here, flowers):
    stream = ["stream", flowers, "-m", "naive-bayes", "--save-every", "20"]
    assert here.run(*stream, "--warm-up", "10").exit_code == 0
    assert here.run(*stream, "--snapshots", "other").exit_code == 0
    again = ["stream", flowers, "--save-every", "20"]
    assert here.run(*again, "--resume", "snapshots").exit_code == 0
    assert "another run" in here.refused(*again, "--resume", "other")
    snapshot = sorted((here.folder / "snapshots").glob("row-*.lin"))[-1]
    result = here.run(*again, "--resume", "snapshots", "-o", str(snapshot), "--force")
    assert result.exit_code == 2


def test_a_page_that_is_no_demo_stays(here):
    from lindero.cli.demo import _is_demo_page

    (here.folder / "demo").mkdir()
    page = here.folder / "demo" / "report.html"
    page.write_text("my own report")
    result = here.run("demo")
    assert result.exit_code == 2
    assert page.read_text() == "my own report"
    page.write_text("<head>\n<title>What lindero can do</title>")
    assert _is_demo_page(page)


@pytest.mark.parametrize(
    "arguments",
    [
        ["train"],
        ["train", "none.csv"],
        ["train", "none.csv", "--nonsense"],
        ["train", "flowers.csv", "-o", "flowers.csv"],
        ["train", "flowers.csv", "-o", "none/m.lin"],
        ["cv", "flowers.csv", "--folds", "1"],
        ["cv", "flowers.csv", "-m", "scv"],
        ["scale", "flowers.csv"],
        ["predict", "flowers.csv", "flowers.csv"],
        ["info", "flowers.csv"],
        ["nonsense"],
        ["train", "flowers.csv", "--set", "C=-1", "--debug"],
        [],
    ],
)
def test_every_failure_is_told_in_json(here, flowers, arguments):
    result = here.run(*arguments, "--json")
    assert result.exit_code != 0
    assert json.loads(result.stdout)["error"]


def test_an_interruption_and_a_defect_are_told_in_json(here, flowers, monkeypatch):
    from lindero.svm import SVC

    for raised, words in ((KeyboardInterrupt, "Interrupted"), (KeyError, "itself failed")):

        def fail(*_, raised=raised, **__):
            raise raised

        monkeypatch.setattr(SVC, "fit", fail)
        result = here.run("train", flowers, "--json")
        assert words in json.loads(result.stdout)["error"]


def test_a_saving_that_is_interrupted_leaves_nothing(tmp_path):
    program = (
        "import os, signal, sys\n"
        "from lindero.persist.safe_file import write_whole\n"
        "def lines():\n"
        "    yield 'a'\n"
        "    print([oct(os.stat(n).st_mode & 0o777) for n in os.listdir('.')], flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    yield 'b'\n"
        "write_whole('model', lines())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode in (130, -signal.SIGINT, 1)
    assert done.stdout == "['0o600']\n"
    assert os.listdir(tmp_path) == []


def test_every_file_is_written_whole_or_not_at_all():
    """By `lindero.persist.safe_file` alone; examples in docstrings and standard streams aside."""
    folder = Path(lindero_package.__file__).parent
    writes = re.compile(r"""\bopen\([^)\n]*["'][wax]b?["']|\.write_(text|bytes)\(|to_csv\(""")
    example = re.compile(r"\s*(>>>|\.\.\.) ")
    found = [
        f"{path.relative_to(folder)}: {line.strip()}"
        for path in sorted(folder.rglob("*.py"))
        # Workers have a folder of their own, and a run that goes on has a journal.
        if path.name not in ("safe_file.py", "workers.py")
        and path != folder / "reproduce" / "runner.py"
        for line in path.read_text(encoding="utf-8").splitlines()
        if writes.search(line) and not example.match(line) and "os.devnull" not in line
    ]
    assert found == []


def test_what_names_another_file_is_an_option_that_there_is(here, flowers):
    here.write("there.txt", "hello")
    said = here.run("convert", flowers, "there.txt").stderr
    assert "OUT to choose another" in said
    assert "-o to choose another" in here.run("scale", flowers, "-o", "there.txt").stderr
