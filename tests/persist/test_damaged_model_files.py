"""Four thousand damaged model files: each is refused, or answers and learns, and costs little.

The cases are those of `tests.fuzz.files`, which run in processes of their own, so that a crash or a
case without an end is a failure and not the end of all tests. `make fuzz` plays any number of them.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.fuzz import files
from tests.fuzz.broken import Broken
from tests.persist.model_damage import BYTES, MEANINGS

REPOSITORY = Path(__file__).parents[2]
N_FILES = 4_000


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "--kinds", "files", "--cases", str(N_FILES)],
        capture_output=True,
        text=True,
        cwd=tmp_path_factory.mktemp("damaged"),
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "src")]),
        },
        timeout=600,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
    return json.loads(done.stdout.rpartition("}")[0] + "}")


def test_damaged_files_are_refused_or_predict(told):
    by_kind = {}
    for name, count in told["outcomes"].items():
        kind, _, result = name.partition(": ")
        by_kind.setdefault(kind, Counter())[result.partition(":")[0].partition(",")[0]] += count
    assert sum(results.total() for results in by_kind.values()) == N_FILES
    assert set(by_kind) == {*BYTES, *MEANINGS}
    for kind, results in by_kind.items():
        assert set(results) <= {"refused", "answered", "answered and learned", "loaded"}, kind
        assert results["refused"] > 0, kind
    # Some changes of meaning make other sound models: else predicting would not be tested.
    assert sum(by_kind[kind]["answered"] for kind in MEANINGS) > N_FILES // 20
    assert sum(by_kind[kind]["answered and learned"] for kind in MEANINGS) > N_FILES // 200


def test_damaged_files_cost_little(told):
    # A case that takes much memory is broken.
    assert told["broken"] == []
    assert told["slowest"]["seconds"] < 2.0


def test_a_case_without_an_end_is_broken(monkeypatch):
    def wait(*_):
        while True:
            try:
                sum(range(10_000))
            except Exception:
                return

    monkeypatch.setattr(files, "MOST_SECONDS", 0.2)
    monkeypatch.setattr(files, "_try_file", wait)
    with pytest.raises(Broken, match="no end"):
        files.play(1)
