"""Tables from files of many formats, published data sets, and generators of streams."""

from typing import Any

from lindero.data.dataset import Dataset
from lindero.data.fetching import fetch, list_published
from lindero.data.generators import (
    load_tax_table,
    make_rotating,
    make_sigmoid,
    make_sigmoid_grid,
    make_xor,
)
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

_RENAMED = {
    "published": list_published,
    "sigmoid_grid": make_sigmoid_grid,
    "tax_table": load_tax_table,
}

_MOVED = ("PrequentialResult", "StreamProgress", "prequential")


def __getattr__(name: str) -> Any:
    if name in _MOVED:
        raise AttributeError(f"lindero.data.{name} has moved to lindero.evaluation.{name}.")
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lindero.errors import warn_user

    new = _RENAMED[name]
    warn_user(f"lindero.data.{name} is now called {new.__name__}.", FutureWarning)
    return new
