"""The page on unlabelled rows: its examples run, and its figures are those of a benchmark."""

import doctest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "unlabelled.md"


def test_the_examples_run_as_they_stand():
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted > 10
    assert found.failed == 0
