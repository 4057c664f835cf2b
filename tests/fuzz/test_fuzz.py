"""Some of the cases in every run of the suite; `python -m tests.fuzz` plays any number.

Model files have their own in `tests/persist/test_damaged_model_files.py`.
"""

import json
import os
import subprocess
import sys

import pytest

#: Cases of each kind: as many as take some seconds each.
CASES = {"fits": 400, "streams": 200, "tables": 4000, "bayes": 200, "adaptive": 200, "filters": 300}

#: Cases with checked indices: what they need is compiled anew, which takes longer than they do.
CHECKED_CASES = 60


def play(kind, cases, **environment):
    """What became of some cases, in processes of their own."""
    options = f"--kinds {kind} --cases {cases} --processes 1 --longest 600"
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", *options.split()],
        env=os.environ | environment, capture_output=True, text=True,
    )  # fmt: skip
    found = json.loads(done.stdout[: done.stdout.rindex("}") + 1])
    assert found["cases"] == cases
    assert found["broken"] == []
    assert done.returncode == 0
    return found["outcomes"]


@pytest.mark.parametrize("kind", CASES)
def test_nothing_that_must_not_happen_happens(kind):
    outcomes = play(kind, CASES[kind])
    # Not all of them refused: that would be no test.
    assert sum(n for how, n in outcomes.items() if "refused" not in how) > CASES[kind] // 10


@pytest.mark.parametrize("kind", ["fits", "filters"])
def test_no_index_leaves_its_array(kind, tmp_path):
    play(kind, CHECKED_CASES, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path))


def test_what_must_not_happen_is_found():
    """A case that crashes its process, one without an end and one that lies are named."""
    code = (
        "import os, sys, types, time, json\n"
        "import tests.fuzz.__main__ as runner\n"
        "kind = types.ModuleType('tests.fuzz.mine')\n"
        "def play(seed):\n"
        "    if seed == 3: os.abort()\n"
        "    if seed == 5: raise AssertionError('a lie')\n"
        "    if seed == 7: time.sleep(60)\n"
        "    return 'fine'\n"
        "kind.play = play\n"
        "sys.modules['tests.fuzz.mine'] = kind\n"
        "print(json.dumps(runner.run('mine', 0, 10, 2, time.time() + 100, 1.0)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert [seed for seed, _ in found["broken"]] == [3, 5, 7]
    assert found["cases"] == 10
    assert found["outcomes"]["fine"] == 7
