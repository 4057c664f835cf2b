"""Tables from files of many formats, published data sets, and generators of streams."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lindero.data.dataset import Dataset
from lindero.data.generators import (
    load_tax_table,
    make_rotating,
    make_sigmoid,
    make_sigmoid_grid,
    make_xor,
)
from lindero.errors import warn_user
from lindero.lazy import load_lazily

if TYPE_CHECKING:
    from lindero.data.fetching import fetch, list_published
    from lindero.data.loading import load

__all__ = [
    "Dataset",
    "fetch",
    "list_published",
    "load",
    "load_tax_table",
    "make_rotating",
    "make_sigmoid",
    "make_sigmoid_grid",
    "make_xor",
]

_LAZY = {"fetch": ".fetching", "list_published": ".fetching", "load": ".loading"}
_RENAMED = {
    "published": "list_published",
    "sigmoid_grid": "make_sigmoid_grid",
    "tax_table": "load_tax_table",
}
_MOVED = ("PrequentialResult", "StreamProgress", "prequential")

_load, __dir__ = load_lazily(__name__, _LAZY, tuple({*__all__} - {*_LAZY}))


def __getattr__(name: str) -> Any:
    if name in _MOVED:
        raise AttributeError(f"lindero.data.{name} has moved to lindero.evaluation.{name}.")
    if name not in _RENAMED:
        return _load(name)
    warn_user(f"lindero.data.{name} is now called {_RENAMED[name]}.", FutureWarning)
    return getattr(import_module(__name__), _RENAMED[name])
