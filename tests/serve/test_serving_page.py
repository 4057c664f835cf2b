"""docs/serving.md says what the server does: its commands run, its tables are those of the code."""

import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from lindero.serve import Client, OnlineStore
from lindero.serve.limits import RequestLimits
from lindero.serve.operations import OPERATIONS
from lindero.serve.rights import Tokens
from lindero.svm import IncrementalSVC
from tests.serve.running import serving

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")


def block(starting):
    """A block of code of the page, by how it begins."""
    found = [
        text for text in re.findall(r"```\w*\n(.*?)```", PAGE, re.S) if text.startswith(starting)
    ]
    assert len(found) == 1
    return found[0]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_commands_of_the_quick_start_run(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal(50, 20):.1f},{k % 24},ok,c{k}" for k in range(20)]
    lines += [f"{rng.normal(900, 50):.1f},{k % 5},fraud,f{k}" for k in range(20)]
    (tmp_path / "cases.csv").write_text("\n".join(["amount,hour,label,card", *lines]) + "\n")
    (tmp_path / "new.csv").write_text("hour,amount\n12,30\n3,920\n")
    store = OnlineStore(
        tmp_path / "fraud.db", IncrementalSVC(), name="fraud", classes=["fraud", "ok"]
    )
    with serving(store) as server:
        text = block("curl localhost:8000/v1/models/fraud/learn")
        script = text.replace("localhost:8000", urlsplit(server.url).netloc).replace(
            "curl ", "curl -sSf "
        )
        script = script.replace("\n", "; echo\n").replace("\\; echo\n", "\\\n")
        done = subprocess.run(
            ["bash", "-e", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.count('"kind":"learn"') == 2
        assert done.stdout.count('"kind":"forget"') == 1
        assert '"predictions":["fraud"]' in done.stdout
        assert "prediction\nok\nfraud\n" in done.stdout
        with Client(server.url) as client:
            assert client.sequence_of() == 4


def test_every_operation_stands_in_the_table_with_its_rights():
    table = PAGE.partition("### What can be asked")[2].partition("Bodies are JSON")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    told = {}
    for row in rows:
        paths, rights = row.strip("|").split("|")[:2]
        for path in re.findall(r"(/[\w/{}.]+)", paths):
            method = re.search(r"(GET|POST)", paths)[1]
            told[method, path] = (
                set() if rights.strip() == "none" else set(rights.strip().split(", "))
            )
    for operation in OPERATIONS:
        if operation.name == "copy":
            continue  # on the page about followers
        assert told.get((operation.method, operation.path)) == set(operation.rights), operation


def test_limits_are_those_of_the_code():
    limits = RequestLimits()
    said = PAGE.partition("| limit | usual |")[2].partition("###")[0].replace(" ", "")
    for value in (limits.rows, limits.columns, limits.waiting, limits.connections, limits.entries):
        assert f"{value}" in said
    assert f"{limits.megabytes:g}MB" in said
    assert f"|{limits.seconds:g}|" in said


def test_the_file_of_tokens_on_the_page_can_be_read():
    text = block("# name    rights").replace("…", "sha256:" + "0" * 64)
    tokens = Tokens.parse(text)
    assert tokens.find(b"Bearer 1sQ0hJ2y4y7CqXj0mZr9tVb3nWd5kLfA").name == "board"
    assert tokens.find(b"Bearer test") is None
