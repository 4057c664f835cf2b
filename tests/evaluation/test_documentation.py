"""The pages about comparing and explaining do what they say."""

import doctest
from pathlib import Path

from lindero.evaluation import CONTENDERS
from lindero.evaluation.significance import LEVEL

PAGE = Path(__file__).resolve().parents[2] / "docs" / "comparing.md"


def test_the_examples_of_explanations_run():
    page = PAGE.with_name("explaining.md")
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert (failed, tried > 5) == (0, True)


def test_the_example_runs():
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert (failed, tried > 5) == (0, True)


def test_every_machine_and_value_is_as_written():
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in CONTENDERS if f"`{name}`" not in text] == []
    grid = CONTENDERS["svr-gaussian"].inner_grid
    assert (min(grid["C"]), max(grid["C"])) == (2.0**-5, 2.0**9)
    assert (min(grid["gamma"]), max(grid["gamma"])) == (1 / 16, 4)
    assert (grid["epsilon"], LEVEL) == ((0.1,), 0.05)
