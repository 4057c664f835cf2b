"""What an adaptive machine holds: its samples in the order of its graph, and what was found.

Arrays grow by doubling, so that appending single samples costs no more than the samples do. Nothing
here solves anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindero.runtime.arrays import Array

_FIRST_ROOM = 64


class AdaptivePath:
    """Samples, and for each machine hyperplanes and multipliers: `theta` (machines, n, d + 1) and
    `a` (machines, sides, n). Node i is row `rows[i]` as the user counts them; its time is a number
    in `times`, and as it was given, of the dtype `times` of the constructor, in `given`."""

    def __init__(self, n_features: int, n_machines: int, n_sides: int, times: Any) -> None:
        self.n_nodes = 0
        self.in_order = True
        # The axis that grows, and the array.
        self._arrays: dict[str, tuple[int, Array]] = {
            "X": (0, np.empty((0, n_features))),
            "targets": (0, np.empty(0)),
            "factors": (0, np.empty(0)),
            "times": (0, np.empty(0)),
            "given": (0, np.empty(0, dtype=times)),
            "rows": (0, np.empty(0, dtype=np.int64)),
            "theta": (1, np.empty((n_machines, 0, n_features + 1))),
            "a": (2, np.empty((n_machines, n_sides, 0))),
        }

    def __getstate__(self) -> dict[str, Any]:
        # Room that is not used need not travel.
        used = {name: (axis, self._used(name).copy()) for name, (axis, _) in self._arrays.items()}
        return {**self.__dict__, "_arrays": used}

    def _used(self, name: str) -> Array:
        axis, array = self._arrays[name]
        used: Array = array[(slice(None),) * axis + (slice(0, self.n_nodes),)]
        return used

    X = property(lambda self: self._used("X"))
    targets = property(lambda self: self._used("targets"))
    factors = property(lambda self: self._used("factors"))
    times = property(lambda self: self._used("times"))
    given = property(lambda self: self._used("given"))
    rows = property(lambda self: self._used("rows"))
    theta = property(lambda self: self._used("theta"))
    a = property(lambda self: self._used("a"))

    def extend(
        self, X: Array, targets: Array, factors: Array, times: Array, rows: Array, given: Array
    ) -> None:
        """More samples, last in the graph, `rows` being where each stands in the table they came
        in; their hyperplanes and multipliers are set later."""
        n_new = len(targets)
        new = {"X": X, "targets": targets, "factors": factors, "times": times, "given": given}
        new["rows"] = self.n_nodes + rows
        in_order = n_new == 0 or bool(rows[0] == 0 and (np.diff(rows) > 0).all())
        self.in_order = self.in_order and in_order
        start, stop = self.n_nodes, self.n_nodes + n_new
        for name, (axis, array) in self._arrays.items():
            if stop > array.shape[axis]:
                shape = list(array.shape)
                shape[axis] = stop if start == 0 else max(_FIRST_ROOM, 2 * stop)
                longer = np.empty(shape, dtype=array.dtype)
                longer[(slice(None),) * axis + (slice(0, start),)] = self._used(name)
                self._arrays[name] = (axis, longer)
            if name in new:
                self._arrays[name][1][start:stop] = new[name]
        self.n_nodes = stop

    def by_row(self, values: Array, axis: int) -> Array:
        """Values of nodes along `axis`, in the order of the rows as the user gave them: a copy,
        which nothing that is learned later changes."""
        if self.in_order:
            return values.copy()
        place = np.empty(self.n_nodes, dtype=np.int64)
        place[self.rows] = np.arange(self.n_nodes)
        return np.take(values, place, axis=axis)
