"""Texts that are shortened for a message."""

import subprocess
from pathlib import Path

import lindero
from lindero.runtime.texts import shorten, shorten_name


def test_long_texts_end_early_on_one_line():
    assert shorten("one\n two", 10) == "one two"
    assert shorten("a" * 11, 10) == "a" * 9 + "…"
    assert shorten(b"\xff" + b"b" * 1000, 8) == "\\xffbbb…"
    assert shorten(12, 5) == "12"


def test_there_is_one_such_function():
    root = Path(lindero.__file__).parent
    found = subprocess.run(
        ["grep", "-rnE", r"^def _?shorten\(", str(root)], capture_output=True, text=True, check=True
    )
    assert len(found.stdout.splitlines()) == 1, found.stdout


def test_a_value_is_shown_even_if_its_column_has_a_long_name():
    assert shorten_name("area_of_the_whole_living_space = 56.4", 36).endswith("… = 56.4")
    assert len(shorten_name("area_of_the_whole_living_space = 56.4", 36)) == 36
    assert shorten_name("age = 63", 36) == "age = 63"
    assert shorten_name("not explained", 36) == "not explained"
    assert len(shorten_name(f"note = {'long ' * 20}", 36)) <= 36
