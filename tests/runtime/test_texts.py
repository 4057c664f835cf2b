"""Texts that are shortened for a message."""

import subprocess
from pathlib import Path

import lindero
from lindero.runtime.texts import shorten


def test_long_texts_end_early_on_one_line():
    assert shorten("one\n two", 10) == "one two"
    assert shorten("a" * 11, 10) == "a" * 9 + "…"
    assert shorten(b"\xff" + b"b" * 1000, 8) == "\\xffbbb…"
    assert shorten(12, 5) == "12"


def test_there_is_one_such_function():
    root = Path(lindero.__file__).parent
    found = subprocess.run(
        ["grep", "-rnE", r"^def _?shorten", str(root)], capture_output=True, text=True, check=True
    )
    assert len(found.stdout.splitlines()) == 1, found.stdout
