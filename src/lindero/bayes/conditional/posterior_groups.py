"""Families put together so that one look-up in a row serves several of them.

A group is a set of attributes whose values are mixed into one number, as in `counting`. Every
family lies within a group, so that the sum of the group's families is one entry of a table that is
made anew for each pass over the rows, while the mixed numbers stay. For 30 columns of five values a
pass looks up 8 numbers of a row for naive Bayes, and about 10 for a tree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lindero.bayes.conditional.family_cells import FamilyCells
from lindero.bayes.conditional.posterior_loops import add_up, mixed_values, spread
from lindero.bayes.counts.counting import Group
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads

#: Most entries of a group's tables: scores and sums of it then stay in a core's first cache.
_ENTRIES = 1024


@dataclass(frozen=True, eq=False)
class FamilyGroups:
    """Groups of families, and the mixed number of each group (row) in each row of a table."""

    starts: Array  # entries of group g are starts[g] … starts[g + 1]
    family_starts: Array  # its families are family_starts[g] … family_starts[g + 1]
    cells: Array  # of each family (row), the cell at each mixed number
    mixed: Array

    @classmethod
    def of(cls, cells: FamilyCells, codes: Array, threads: TileThreads) -> FamilyGroups:
        """Groups of the families that have the class in them."""
        families = [i for i in cells.order if cells.with_class[i]]
        n_rows = codes.shape[1]
        lowest = codes.min(axis=1).astype(np.int64) if n_rows else np.zeros(len(codes), np.int64)
        highest = codes.max(axis=1).astype(np.int64) if n_rows else lowest
        radix = highest - lowest + 1
        # Tables that are larger than the number of rows makes worth while only cost time.
        most = min(_ENTRIES // max(1, cells.n_classes - 1), max(n_rows // 8, 16))
        planned = _planned(families, cells.parents, radix, most)
        groups = [Group.of(members, lowest, radix) for members, _ in planned]
        sizes = [group.slots for group in groups]
        at = np.zeros((len(families), max(sizes, default=0)), dtype=np.int64)
        row = 0
        for group, (_, inside) in zip(groups, planned, strict=True):
            value = dict(zip(group.members.tolist(), group.codes(radix), strict=True))
            for i in inside:
                strides = np.append(np.cumprod(cells.shapes[i][:0:-1])[::-1], 1)
                at[row, : group.slots] = cells.starts[i] + sum(
                    value[j] * stride
                    for j, stride in zip((i, *cells.parents[i]), strides, strict=True)
                )
                row += 1
        kind = np.uint16 if max(sizes, default=0) <= 2**16 else np.int64
        mixed = np.empty((len(groups), n_rows), dtype=kind)

        def mix(g: int) -> None:
            group = groups[g]
            mixed_values(codes, group.members, group.lowest, group.places, mixed[g])

        threads.map(mix, range(len(groups)))
        return cls(
            np.cumsum([0, *sizes], dtype=np.int64),
            np.cumsum([0, *(len(inside) for _, inside in planned)], dtype=np.int64),
            at,
            mixed,
        )

    @property
    def n_entries(self) -> int:
        """Entries of all groups together."""
        return int(self.starts[-1])

    def scores(self, logs: Array) -> Array:
        """What each entry adds to the scores of all classes but the last."""
        out = np.empty((self.n_entries, logs.shape[1] - 1))
        add_up(logs, self.starts, self.family_starts, self.cells, out)
        return out

    def spread(self, sums: Array, counts: Array) -> None:
        """Add sums by entry to the cells of families."""
        spread(sums, self.starts, self.family_starts, self.cells, counts)


def _planned(
    families: list[int], parents: tuple[tuple[int, ...], ...], radix: Array, most: int
) -> list[tuple[list[int], list[int]]]:
    """Members and families of each group: a family joins where it makes the table grow least."""
    members: list[list[int]] = []
    inside: list[list[int]] = []
    sizes: list[int] = []
    for i in families:
        family = (i, *parents[i])
        best, best_growth = -1, 0
        for g, known in enumerate(members):
            growth = 1
            for j in family:
                growth *= 1 if j in known else int(radix[j])
            if sizes[g] * growth <= max(most, sizes[g]) and (best < 0 or growth < best_growth):
                best, best_growth = g, growth
        if best < 0:
            best = len(members)
            members.append([])
            inside.append([])
            sizes.append(1)
        for j in family:
            if j not in members[best]:
                members[best].append(j)
                sizes[best] *= int(radix[j])
        inside[best].append(i)
    return list(zip(members, inside, strict=True))
