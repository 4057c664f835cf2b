"""All classes that a model file can hold, by what files call them and by where they are.

They are listed in modules, one for each part of the library, which are loaded one after another
until a class is found: those of the usual machines come first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

from lindero.errors import ModelFileError
from lindero.persist.kinds import Kind

_MODULES = ("svm", "sklearn", "counts", "bayes", "active_set", "incremental", "adaptive")


def all_kinds() -> Iterator[Kind]:
    """Every kind, in a fixed order."""
    for module in _MODULES:
        yield from _listed(module)


@cache
def _listed(module: str) -> tuple[Kind, ...]:
    kinds: tuple[Kind, ...] = import_module(f"lindero.persist.kinds_{module}").KINDS
    return kinds


@lru_cache(maxsize=512)  # a file may hold any name
def _with_name(name: str) -> Kind | None:
    return next((kind for kind in all_kinds() if kind.name == name), None)


@lru_cache(maxsize=512)
def _with_home(home: str) -> Kind | None:
    return next((kind for kind in all_kinds() if kind.home == home), None)


def kind_of(thing: Any) -> Kind | None:
    """The kind of an object; None where files cannot hold it."""
    return _with_home(f"{type(thing).__module__}:{type(thing).__qualname__}")


def kind_named(name: Any) -> Kind:
    """The kind of a name that a file gives."""
    kind = _with_name(name) if isinstance(name, str) else None
    if kind is None:
        raise ModelFileError(
            f"it holds a {str(name)[:60]!r}, which this version of lindero does not know. Was it "
            "written by a later one?"
        )
    return kind
