"""Twenty thousand damaged model files: each is loaded or refused, and costs little.

In a process of its own, so that a crash is a failure and not the end of all tests.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.persist.model_damage import BYTES, MEANINGS

REPOSITORY = Path(__file__).parents[2]
N_FILES = 20_000


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    done = subprocess.run(
        [sys.executable, "-m", "tests.persist.fuzz_model_files", str(N_FILES)],
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
    return json.loads(done.stdout.splitlines()[-1])


def test_damaged_files_are_refused_or_predict(told):
    by_kind = {}
    for name, count in told["outcomes"].items():
        kind, _, result = name.partition(": ")
        by_kind.setdefault(kind, Counter())[result.partition(":")[0]] += count
    assert sum(results.total() for results in by_kind.values()) == N_FILES
    assert set(by_kind) == {*BYTES, *MEANINGS}
    for kind, results in by_kind.items():
        assert set(results) <= {"refused", "answered", "loaded"}, kind
        assert results["refused"] > 0, kind
    # Some changes of meaning make other sound models: else predicting would not be tested.
    assert sum(by_kind[kind]["answered"] for kind in MEANINGS) > 1000


def test_damaged_files_cost_little(told):
    assert told["slowest"] < 2.0
    assert told["megabytes"] < 300
