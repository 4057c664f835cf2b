"""What tests of devices share."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

with suppress(ImportError):
    import torch

    # Tables are small here: threads would wait for each other most of the time.
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def in_interpreter():
    """What the loops for the card made of everything, in Triton's interpreter."""
    pytest.importorskip("triton", reason="Triton is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "tests.devices.in_interpreter"],
        env=os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
