"""lindero: decision boundaries that learn, adapt and explain themselves."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from lindero.svm import SVC as SVC

#: Public names and the modules they are loaded from, on first use.
_HOMES = {"SVC": "lindero.svm"}

__all__ = ["SVC", "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'lindero' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
