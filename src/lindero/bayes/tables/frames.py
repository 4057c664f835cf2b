"""Which kind of dataframe to make where a user names none, and names of its columns."""

from __future__ import annotations

from collections.abc import Container
from importlib.util import find_spec
from typing import Any

_BACKENDS = ("pandas", "polars", "pyarrow")


def frame_backend(backend: str | None) -> Any:
    """The backend asked for, or the first that is installed."""
    if backend is not None:
        if backend not in _BACKENDS:
            raise ValueError(f"backend={backend!r} is none of {list(_BACKENDS)}.")
        return backend
    for name in _BACKENDS:
        if find_spec(name) is not None:
            return name
    raise ImportError(f"A dataframe needs one of {list(_BACKENDS)}: install pandas, for example.")


def free_name(name: str, taken: Container[str]) -> str:
    """The name, with as many underscores after it as it takes to be none of those taken."""
    while name in taken:
        name += "_"
    return name
