"""Every public name exists, is documented, and its example runs."""

import doctest
import importlib
import inspect
import pkgutil
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from packaging.version import Version

import lindero

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(lindero.__path__, prefix="lindero.")
)


def public_classes():
    named = [getattr(lindero, name) for name in lindero.__all__]
    return [thing for thing in named if inspect.isclass(thing)]


def documented(cls, section):
    """Names that a numpydoc section of the docstring of `cls` explains."""
    text = inspect.getdoc(cls)
    body = re.search(rf"^{section}\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", text, re.S | re.M)[1]
    heads = re.findall(r"^(\w[\w, ]*?) :", body, re.M)
    return [name.strip() for head in heads for name in head.split(",")]


def test_there_are_public_classes_to_look_at():
    assert lindero.SVC in public_classes()


@pytest.mark.parametrize("name", lindero.__all__)
def test_every_public_name_resolves(name):
    assert getattr(lindero, name) is not None
    assert name in dir(lindero)


@pytest.mark.parametrize("package", ["lindero", "lindero.svm", "lindero.persist"])
def test_every_name_in_all_of_a_package_resolves_and_none_is_listed_twice(package):
    module = importlib.import_module(package)
    assert len(set(module.__all__)) == len(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)


def test_the_version_is_a_pep_440_version():
    assert str(Version(lindero.__version__)) == lindero.__version__


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
def test_the_example_in_the_docstring_runs(cls):
    examples = doctest.DocTestFinder(recurse=False).find(cls, cls.__name__, globs={})
    runner = doctest.DocTestRunner(verbose=False)
    for example in examples:
        runner.run(example)
    assert runner.summarize(verbose=False).attempted > 0
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
def test_the_docstring_explains_every_parameter_and_no_other(cls):
    explained = documented(cls, "Parameters")
    assert explained == list(inspect.signature(cls).parameters)


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
@pytest.mark.parametrize(
    "section", ["Parameters", "Attributes", "See Also", "References", "Examples"]
)
def test_the_docstring_has_every_section(cls, section):
    assert re.search(rf"^{section}\n-+$", inspect.getdoc(cls), re.M)


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
def test_defaults_in_the_docstring_are_those_of_the_signature(cls):
    text = inspect.getdoc(cls)
    stated = dict(re.findall(r"^(\w+) : .*?default=(\S+?)$", text, re.M))
    defaults = {name: p.default for name, p in inspect.signature(cls).parameters.items()}
    assert stated
    assert {name: eval(value) for name, value in stated.items()} == {
        name: defaults[name] for name in stated
    }


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
def test_every_public_method_has_a_docstring_of_its_own(cls):
    methods = [
        member
        for name, member in inspect.getmembers(cls, inspect.isfunction)
        if not name.startswith("_") and member.__module__.startswith("lindero")
    ]
    assert methods
    assert [method.__name__ for method in methods if not inspect.getdoc(method)] == []


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
def test_the_attributes_that_fit_sets_are_those_the_docstring_lists(cls):
    X, y = np.arange(12.0)[:, None] % 5, np.arange(12) % 2
    names = inspect.signature(cls).parameters
    # Landmarks are for curved kernels.
    linear = "kernel" in names and "landmarks" not in names
    params = {"kernel": "linear"} if linear else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cls(**params).fit(X, y)
    public = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    listed = set(documented(cls, "Attributes"))
    assert public - listed == set()
    # Names of features exist only where the table had any, coefficients of support vectors only
    # where a machine has some, an account of learning only where it was discriminative, and a
    # history only of streams.
    absent = {name for name in listed if not hasattr(model, name)}
    assert "feature_names_in_" in absent
    optional = {"dual_coef_", "support_", "support_vectors_", "convergence_", "history_"}
    assert absent <= {"feature_names_in_"} | optional


@pytest.mark.parametrize("name", MODULES)
def test_no_module_is_a_junk_drawer(name):
    assert not set(name.split(".")) & {"utils", "helpers", "core", "common", "misc", "util"}


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is_for(name):
    module = importlib.import_module(name)
    # A package without code of its own needs no words.
    source = Path(module.__file__).read_text(encoding="utf-8").strip()
    assert module.__doc__ or not source


def test_every_error_is_a_lindero_error():
    from lindero import errors

    defined = [
        thing
        for _, thing in inspect.getmembers(errors, inspect.isclass)
        if thing.__module__ == "lindero.errors"
    ]
    assert len(defined) > 1
    assert all(issubclass(thing, errors.LinderoError) for thing in defined)
    assert all(inspect.getdoc(thing) for thing in defined)
