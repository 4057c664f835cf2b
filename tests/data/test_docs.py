"""The examples in the page about loading run, and its figures are those of the code."""

import doctest
import inspect
import re
from pathlib import Path

import pytest

import lindero.data
from lindero.data import content, csv_files, declared_files, loading, tables

PAGE = Path(__file__).parents[2] / "docs" / "data.md"


def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert result.attempted > 10
    assert result.failed == 0


def test_words_and_limits_are_those_of_the_code():
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    for word in csv_files.MISSING[1:]:
        assert f"`{word}`" in text
    assert f"at most {tables.MOST_CLASSES} different ones" in text
    assert (content.MOST_UNPACKED, content.MOST_GROWTH) == (128 * 2**20, 100)
    assert f"at most {csv_files.MOST_COLUMNS:,} columns".replace(",", " ") in text
    assert f"at most {loading.LARGEST_INDEX:,},".replace(",", " ").strip() in text
    assert (loading._COLUMN_BYTES, declared_files._FILLED_BYTES) == (128, 4)


#: Public names that are defined here.
NAMES = lindero.data.__all__


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_documented_and_its_example_runs(name):
    thing = getattr(lindero.data, name)
    text = inspect.getdoc(thing)
    for section in ("See Also", "Examples"):
        assert re.search(rf"^{section}\n-+$", text, re.M), section
    if parameters := list(inspect.signature(thing).parameters):
        body = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", text, re.S | re.M)[1]
        heads = re.findall(r"^(\w[\w, ]*?) :", body, re.M)
        assert [each.strip() for head in heads for each in head.split(",")] == parameters
    runner = doctest.DocTestRunner(verbose=False)
    for example in doctest.DocTestFinder(recurse=False).find(thing, name, globs={}):
        runner.run(example)
    assert runner.summarize(verbose=False).attempted > 0
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("published", "list_published"),
        ("sigmoid_grid", "make_sigmoid_grid"),
        ("tax_table", "load_tax_table"),
    ],
)
def test_old_names_still_work_and_warn(old, new):
    with pytest.warns(FutureWarning, match=f"lindero.data.{old} is now called {new}"):
        found = getattr(lindero.data, old)
    assert found is getattr(lindero.data, new)
    assert old not in dir(lindero.data)


def test_names_that_never_were_are_missing():
    with pytest.raises(AttributeError, match="has no attribute 'lode'"):
        _ = lindero.data.lode
