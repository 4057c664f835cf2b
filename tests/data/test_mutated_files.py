"""Thousands of damaged files: each is loaded or refused, soon, and in little memory.

`python -m tests.data.mutated_files 50000` damages any number.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.data.files import loaded
from tests.data.mutated_files import SOUND, mutated

_EACH = 1500
_MOST_MEGABYTES = 1024


@pytest.mark.parametrize("form", SOUND)
def test_files_that_are_not_damaged_load(tmp_path, form):
    for text in SOUND[form]:
        data = loaded(tmp_path, text)
        assert data.n_rows >= 3
        assert data.y is not None


@pytest.mark.parametrize("form", SOUND)
def test_damaged_files_are_loaded_or_refused(form):
    # A process of its own, so that its memory is that of loading.
    done = subprocess.run(
        [sys.executable, "-m", "tests.data.mutated_files", str(_EACH), "--format", form],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    result = json.loads(done.stdout)
    assert result["faults"] == []
    assert result["loaded"] + result["refused"] == _EACH
    assert min(result["loaded"], result["refused"]) > _EACH // 50
    assert result["megabytes"] < _MOST_MEGABYTES


@pytest.mark.parametrize("form", SOUND)
def test_damage_is_the_same_in_every_run_and_differs_from_file_to_file(form):
    assert mutated(form, 7) == mutated(form, 7)
    assert len({mutated(form, number) for number in range(200)}) > 150
