"""`persist` stores what others say their state is: it touches no private name of another module.

A private name starts with one underscore. A module may use those that it defines itself.
"""

import ast
from pathlib import Path

import pytest

import lindero.persist

FOLDER = Path(lindero.persist.__file__).parent
MODULES = sorted(FOLDER.rglob("*.py"))

#: Public in spite of their names, which are kept apart from the fields of named tuples.
OF_NAMED_TUPLES = {"_asdict", "_fields", "_make", "_replace"}

BY_NAME = {"getattr", "setattr", "hasattr", "delattr"}


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name not in OF_NAMED_TUPLES


def own_names(tree):
    """Private names that a module defines: of functions, classes and constants, and on `self`."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name


def touched_names(node):
    """Names that an expression asks of something else, as an attribute or by their text."""
    match node:
        case ast.Attribute(attr=name):
            return [name]
        case ast.ImportFrom(names=aliases):
            return [alias.name for alias in aliases]
        case ast.Call(func=ast.Name(id=function), args=[_, ast.Constant(value=str(name)), *_]):
            return [name] if function in BY_NAME else []
        case ast.Subscript(
            value=ast.Attribute(attr="__dict__") | ast.Call(func=ast.Name(id="vars")),
            slice=ast.Constant(value=str(name)),
        ):
            return [name]
    return []


def foreign_private_names(source):
    """Lines and private names of other modules that a module touches."""
    tree = ast.parse(source)
    own = set(own_names(tree))
    return [
        (node.lineno, name)
        for node in ast.walk(tree)
        for name in touched_names(node)
        if is_private(name) and name not in own
    ]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_no_private_name_of_another_module_is_touched(path):
    assert foreign_private_names(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "engine._factor",
        "engine._factor = None",
        "engine._factor.R[:3]",
        "getattr(engine, '_factor')",
        "setattr(engine, '_factor', None)",
        "hasattr(engine, '_factor')",
        "vars(engine)['_factor']",
        "engine.__dict__['_factor']",
        "from lindero.solvers import _factor",
        "estimator._get_param_names()",
    ],
)
def test_what_is_forbidden_is_found(source):
    assert len(foreign_private_names(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "class A:\n    def __init__(self):\n        self._x = 1\n    def y(self, other):\n"
        "        return self._x + other._x",
        "class _Header:\n    def _read(self): ...\nreaders = [_Header._read]",
        "_LIMIT = 3\nprint(_LIMIT)",
        "values['_weights']",
        "pair._asdict()",
        "type(thing).__name__",
    ],
)
def test_what_is_allowed_is_not(source):
    assert foreign_private_names(source) == []
