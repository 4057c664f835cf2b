"""Public names of a package that are loaded on first use.

Importing a package must not import everything in it: a command that prints its help would wait for
compiled code that it never calls.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def load_lazily(
    package: str, homes: Mapping[str, str], others: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of `package`.

    `homes` maps each name to the module that defines it, as seen from the package
    (``".svc"``) or absolute, with ``"module:name"`` where it is called differently there. `others`
    are public names that the package defines itself.
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, renamed = homes[name].partition(":")
        value = getattr(import_module(module, package), renamed or name)
        setattr(sys.modules[package], name, value)  # found without this function from now on
        return value

    def names() -> list[str]:
        return sorted((*homes, *others))

    return load, names
