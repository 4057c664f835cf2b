"""The house stays as small as it was made: files, importers, classes, and the walks of calls."""

import inspect
import re

import pytest

import lindero
from tests.conventions import layout

#: Files that each call entered when the layout was last changed on purpose. A walk may grow by a
#: quarter before somebody has to think about it.
WALKED = {
    "SVC.fit": 15,
    "IncrementalSVC.partial_fit": 9,
    "AdaptiveSVC.fit": 15,
    "TAN.fit": 12,
    "TAN.predict_proba": 9,
    "lindero compare": 25,
}

MOST_FILES = 425
MOST_ONLY_FOR_A_NEIGHBOUR = 39
LONGEST_FILE = 500


def estimators():
    named = [getattr(lindero, name) for name in lindero.__all__]
    return [thing for thing in named if inspect.isclass(thing)]


@pytest.fixture(scope="module")
def walks():
    return {name: layout.walk(name) for name in WALKED}


@pytest.mark.parametrize("name", WALKED)
def test_a_walk_does_not_grow_by_a_quarter(name, walks):
    files = [file for file, _ in walks[name]]
    assert len(files) > 3
    assert len(files) <= 1.25 * WALKED[name], files


def test_the_page_about_the_architecture_shows_the_walks_as_they_are(walks):
    page = layout.PAGE.read_text(encoding="utf-8")
    for name, steps in walks.items():
        section = page.partition(f"### `{name}`")[2].partition("###")[0]
        assert re.findall(r"^\d+\. `([^`]+)`", section, re.M) == [file for file, _ in steps], (
            "run: python tests/conventions/layout.py --write"
        )


def test_there_are_not_many_files():
    assert 100 < len(layout.source_files()) <= MOST_FILES


def test_few_modules_are_there_for_a_neighbour_only():
    assert len(layout.only_for_a_neighbour()) <= MOST_ONLY_FOR_A_NEIGHBOUR


@pytest.mark.parametrize("cls", estimators(), ids=lambda cls: cls.__name__)
def test_no_estimator_is_deeper_than_two_levels_below_scikit_learns(cls):
    assert 1 <= layout.depth_below_base_estimator(cls) <= 2


def test_no_estimator_inherits_from_another():
    public = set(estimators())
    for cls in public:
        assert not public & set(cls.__mro__[1:]), cls


def test_a_class_name_is_used_once():
    assert layout.classes_named_alike() == {}


def test_a_long_file_says_why_it_is_one():
    silent = []
    for path in layout.source_files():
        text = path.read_text(encoding="utf-8")
        docstring = text.split('"""')[1] if '"""' in text else ""
        if len(text.splitlines()) > LONGEST_FILE and "one file" not in docstring:
            silent.append(layout.module_name(path))
    assert silent == []
