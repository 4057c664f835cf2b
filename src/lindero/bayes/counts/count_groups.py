"""Which attributes are counted together, and where tables of counts lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class Group:
    """Attributes of few values, whose values are mixed into one number below `slots`."""

    members: Array
    lowest: Array
    places: Array
    slots: int

    @classmethod
    def of(cls, members: Sequence[int], lowest: Array, radix: Array) -> Group:
        chosen = np.asarray(members, dtype=np.int64)
        ends = np.cumprod(radix[chosen])
        return cls(chosen, lowest[chosen], ends // radix[chosen], int(ends[-1]))

    def codes(self, radix: Array) -> Array:
        """The code of every member (row) at every mixed number (column)."""
        digits = np.arange(self.slots) // self.places[:, None] % radix[self.members, None]
        codes: Array = self.lowest[:, None] + digits
        return codes


@dataclass(frozen=True, eq=False)
class Layout:
    """Where tables begin in their flat arrays, and how far one code of i steps in that of (i, j).

    The table of a pair i < j has the shape (r_i + 1, r_j + 1, K). Without pairs, what is told of
    them is empty.
    """

    single_starts: Array
    pair_starts: Array
    strides: Array
    single_cells: int
    pair_cells: int

    @classmethod
    def of(cls, cards: Array, n_classes: int, with_pairs: bool) -> Layout:
        slots = np.asarray(cards, dtype=np.int64) + 1
        singles = np.cumsum(slots * n_classes)
        single_cells = int(singles[-1]) if len(slots) else 0
        d = len(slots) if with_pairs else 0
        first, second = np.triu_indices(d, 1)
        ends = np.cumsum(slots[first] * slots[second] * n_classes)
        starts = np.zeros((d, d), dtype=np.int64)
        starts[first, second] = starts[second, first] = np.concatenate([[0], ends])[:-1]
        strides = np.full_like(starts, n_classes)
        strides[first, second] = slots[second] * n_classes
        return cls(
            singles - slots * n_classes,
            starts,
            strides,
            single_cells,
            int(ends[-1]) if len(ends) else 0,
        )


def grouped(lowest: Array, radix: Array, most: int) -> tuple[list[Group], Array]:
    """Groups of at most `most` mixed numbers, attributes of few values first; and the wide ones."""
    groups: list[Group] = []
    waiting: list[int] = []
    size = 1
    for i in np.argsort(radix, kind="stable"):
        if radix[i] > most:
            break
        if size * radix[i] > most:
            groups.append(Group.of(waiting, lowest, radix))
            waiting, size = [], 1
        waiting.append(int(i))
        size *= int(radix[i])
    if waiting:
        groups.append(Group.of(waiting, lowest, radix))
    return groups, np.flatnonzero(radix > most)
