"""Which columns a user has said to be categories."""

from __future__ import annotations

from typing import Any

import numpy as np

_FORMS = (
    "categorical_features must be None, 'all', a list of names or positions of columns, or a mask "
    "with one truth value for each column"
)


def chosen_columns(chosen: Any, names: tuple[str, ...] | None, n_columns: int) -> set[int]:
    """Positions of the columns that `categorical_features` names."""
    if chosen is None:
        return set()
    if isinstance(chosen, str):
        if chosen == "all":
            return set(range(n_columns))
        raise ValueError(f"{_FORMS}; it is {chosen!r}. One column is a list too: [{chosen!r}].")
    entries = np.asarray(chosen)
    if entries.ndim != 1:
        raise ValueError(f"{_FORMS}; it is {chosen!r}.")
    if len(entries) == 0:
        return set()
    if entries.dtype.kind == "b":
        if len(entries) != n_columns:
            raise ValueError(
                f"categorical_features is a mask of {len(entries)} truth values, but X has "
                f"{n_columns} columns."
            )
        return set(np.flatnonzero(entries).tolist())
    if entries.dtype.kind in "iu":
        return {_position(int(entry), n_columns) for entry in entries}
    if all(isinstance(entry, str) for entry in entries.tolist()):
        return {_position_of(str(entry), names) for entry in entries}
    raise ValueError(f"{_FORMS}; it is {chosen!r}.")


def _position(entry: int, n_columns: int) -> int:
    if not -n_columns <= entry < n_columns:
        raise ValueError(
            f"categorical_features names column {entry}, but X has {n_columns} columns: positions "
            f"are 0 to {n_columns - 1}."
        )
    return entry % n_columns


def _position_of(entry: str, names: tuple[str, ...] | None) -> int:
    if names is None:
        raise ValueError(
            f"categorical_features names column {entry!r}, but the columns of X have no names. "
            "Give their positions instead."
        )
    if entry not in names:
        raise ValueError(
            f"categorical_features names column {entry!r}, but the columns of X are {list(names)}."
        )
    return names.index(entry)
