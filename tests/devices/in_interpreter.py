"""Modules of these tests that run in Triton's interpreter, each in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


def run_interpreted(name):
    """What the module of that name prints."""
    pytest.importorskip("triton", reason="Triton is not installed")
    done = subprocess.run(
        [sys.executable, "-m", f"tests.devices.{name}"],
        env=os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
