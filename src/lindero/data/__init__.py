"""Tables from files of many formats, published data sets, and streams to evaluate models on."""

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
from lindero.data.prequential import prequential
from lindero.data.prequential_result import PrequentialResult
from lindero.data.stream_progress import StreamProgress

__all__ = [
    "Dataset",
    "PrequentialResult",
    "StreamProgress",
    "fetch",
    "list_published",
    "load",
    "load_tax_table",
    "make_rotating",
    "make_sigmoid",
    "make_sigmoid_grid",
    "make_xor",
    "prequential",
]

_RENAMED = {
    "published": list_published,
    "sigmoid_grid": make_sigmoid_grid,
    "tax_table": load_tax_table,
}


def __getattr__(name: str) -> Any:
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lindero.errors import warn_user

    new = _RENAMED[name]
    warn_user(f"lindero.data.{name} is now called {new.__name__}.", FutureWarning)
    return new
