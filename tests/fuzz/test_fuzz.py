"""Some of the cases in every run of the suite; `make fuzz` plays any number, and `make bounds`
plays them with every index checked.

Model files have their own in `tests/persist/test_damaged_model_files.py`.
"""

import json
import subprocess
import sys

import pytest

#: Cases of each kind: as many as take a few seconds.
CASES = {"fits": 200, "streams": 100, "tables": 1000, "bayes": 100, "adaptive": 100, "filters": 150}


def play(kind, cases):
    """What became of some cases, in processes of their own."""
    options = f"--kinds {kind} --cases {cases} --processes 1 --longest 600"
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", *options.split()],
        capture_output=True, text=True,
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
