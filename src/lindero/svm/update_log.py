"""A compact record of every update of an incremental machine."""

from __future__ import annotations

from array import array

import numpy as np

from lindero.runtime.arrays import Array

_KINDS = ("add", "forget", "replace")

#: The columns, and their types as arrays of the standard library.
_COLUMNS = {"_kinds": "b", "_batch": "b", "_ids": "q", "_steps": "q", "_changes": "q"}


class UpdateLog:
    """Five numbers an update, in growing arrays: streams are long."""

    def __init__(self) -> None:
        self._made: Array | None = None
        self._kinds, self._batch = array("b"), array("b")
        self._ids, self._steps, self._changes = array("q"), array("q"), array("q")

    def __getstate__(self) -> dict[str, Array]:
        """As arrays of NumPy, which every store knows."""
        return {name: np.array(getattr(self, name)) for name in _COLUMNS}

    def __setstate__(self, state: dict[str, Array]) -> None:
        self._made = None
        for name, code in _COLUMNS.items():
            setattr(self, name, array(code, state[name].tobytes()))

    def __len__(self) -> int:
        return len(self._kinds)

    def append(self, kind: str, sample_id: int, steps: int, changes: int, batch: bool) -> None:
        self._kinds.append(_KINDS.index(kind))
        self._ids.append(sample_id)
        self._steps.append(steps)
        self._changes.append(changes)
        self._batch.append(int(batch))

    def truncate(self, length: int) -> None:
        for column in (self._kinds, self._batch, self._ids, self._steps, self._changes):
            del column[length:]
        self._made = None

    def as_array(self) -> Array:
        """A structured array with a row for each update; made anew after each."""
        if self._made is not None and len(self._made) == len(self):
            return self._made
        fields = [
            ("kind", "U7"), ("id", np.int64), ("iterations", np.int64),
            ("set_changes", np.int64), ("from_scratch", bool),
        ]  # fmt: skip
        rows = np.empty(len(self), dtype=fields)
        rows["kind"] = np.array(_KINDS)[np.array(self._kinds, dtype=np.int64)]
        rows["id"], rows["iterations"] = self._ids, self._steps
        rows["set_changes"], rows["from_scratch"] = self._changes, self._batch
        self._made = rows
        return rows
