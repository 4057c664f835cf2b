"""The examples in the page about loading run, and its figures are those of the code."""

import doctest
from pathlib import Path

from lindero.data import content, csv_dialect, declared_files, row_values, svmlight_files

PAGE = Path(__file__).parents[2] / "docs" / "data.md"


def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert result.attempted > 10
    assert result.failed == 0


def test_words_and_limits_are_those_of_the_code():
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    for word in csv_dialect.MISSING[1:]:
        assert f"`{word}`" in text
    assert f"at most {row_values.MOST_CLASSES} different ones" in text
    assert (content.MOST_UNPACKED, content.MOST_GROWTH) == (2**30, 200)
    assert f"at most {csv_dialect.MOST_COLUMNS:,} columns".replace(",", " ") in text
    assert f"at most {svmlight_files.LARGEST_INDEX:,},".replace(",", " ").strip() in text
    assert declared_files.MOST_FILLED == 100 * 10**6
