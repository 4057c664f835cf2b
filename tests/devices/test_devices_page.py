"""The code of the page about GPUs runs without a card, where it does not ask for one."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "devices.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_there_is_code_for_the_card_and_for_the_cpu():
    assert len(BLOCKS) == 4
    assert sum('device="cuda")\n' in block for block in BLOCKS) >= 1


def test_the_code_of_the_page_runs():
    """In a process of its own, since one block sets what must be set before SciPy is loaded."""
    torch = pytest.importorskip("torch", reason="torch is not installed (lindero[gpu])")
    there = torch.cuda.is_available()
    blocks = [block for block in BLOCKS if there or "torch.randn(100_000" not in block]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "\n".join(blocks)],
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
