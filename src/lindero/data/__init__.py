"""Tables from files of many formats, published data sets, and generators of streams."""

from __future__ import annotations

from typing import NoReturn

from lindero.data.dataset import Dataset
from lindero.data.fetching import fetch, published
from lindero.data.generators import make_rotating, make_sigmoid, sigmoid_grid
from lindero.data.loading import load
from lindero.data.worked_cases import make_xor, tax_table

__all__ = [
    "Dataset",
    "fetch",
    "load",
    "make_rotating",
    "make_sigmoid",
    "make_xor",
    "published",
    "sigmoid_grid",
    "tax_table",
]

_MOVED = ("PrequentialResult", "StreamProgress", "prequential")


def __getattr__(name: str) -> NoReturn:
    if name in _MOVED:
        raise AttributeError(f"lindero.data.{name} has moved to lindero.evaluation.{name}.")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
