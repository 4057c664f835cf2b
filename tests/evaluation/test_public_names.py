"""Public names of evaluation and report: found, documented, and with examples that run."""

import doctest
import inspect

import pytest

import lindero.data
import lindero.evaluation
import lindero.report

PACKAGES = (lindero.evaluation, lindero.report)
NAMES = [(package, name) for package in PACKAGES for name in package.__all__]
DOCUMENTED = [(package, name) for package, name in NAMES if callable(getattr(package, name))]


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_every_name_resolves_twice_to_the_same_thing(package, name):
    # A module of the same name would take its place once it is imported.
    first = getattr(package, name)
    assert getattr(package, name) is first
    assert not inspect.ismodule(first)
    assert name in dir(package)


@pytest.mark.parametrize(("package", "name"), DOCUMENTED)
def test_every_docstring_says_what_else_to_look_at(package, name):
    text = inspect.getdoc(getattr(package, name))
    assert "See Also\n--------" in text or name == "Trial"


@pytest.mark.parametrize(("package", "name"), DOCUMENTED)
def test_examples_run(package, name):
    thing = getattr(package, name)
    runner = doctest.DocTestRunner(verbose=False)
    for example in doctest.DocTestFinder(recurse=False).find(thing, name, globs={}):
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("name", ["prequential", "PrequentialResult", "StreamProgress"])
def test_what_was_in_data_says_where_it_is_now(name):
    with pytest.raises(AttributeError, match=rf"moved to lindero\.evaluation\.{name}"):
        getattr(lindero.data, name)
    assert not hasattr(lindero.data, name)
    assert hasattr(lindero.evaluation, name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        lindero.data.nonsense  # noqa: B018
