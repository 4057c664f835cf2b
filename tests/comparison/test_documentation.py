"""The page about comparing does what it says."""

import doctest
from pathlib import Path

from lindero.comparison import CONTENDERS
from lindero.comparison.learning import _CS, _GAMMAS, _TUBE
from lindero.comparison.significance import LEVEL

PAGE = Path(__file__).resolve().parents[2] / "docs" / "comparing.md"


def test_the_example_runs():
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert (failed, tried > 5) == (0, True)


def test_every_machine_and_value_is_as_written():
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in CONTENDERS if f"`{name}`" not in text] == []
    assert (min(_CS), max(_CS)) == (2.0**-5, 2.0**9)
    assert (min(_GAMMAS), max(_GAMMAS), _TUBE, LEVEL) == (1 / 16, 4, 0.1, 0.05)
