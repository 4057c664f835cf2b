"""One pass over the rows that counts all attributes, or all pairs of them, with the class.

Counting every pair by itself takes one addition for each pair and row. Attributes of few values
need far fewer: they are put into groups, the values of a group are mixed into one number,

    v = Σ_m (code_m − lowest_m) · place_m          (digits of mixed radix, one for each attribute)

and *groups* are counted in pairs. One addition for a pair of groups of m attributes then counts m²
pairs of attributes, and those inside a group come from the group's own table. At the end the joint
tables are added up into those of the pairs. For 30 columns of five values there are 105 pairs of
groups in place of 435 pairs, for 30 binary columns 10.

A joint table has to stay in a core's own cache, and must not be larger than the number of rows
makes worth while. Attributes of too many values for that are *wide*: they stay outside of groups
and are counted straight into the tables of their pairs.

Rows are taken in blocks, so that little memory is needed besides the tables. Threads share tables
out between them, never the rows of one table: sums do not depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from lindero.bayes.counts.count_groups import Array, Group, Layout, grouped
from lindero.bayes.counts.count_input import Rows
from lindero.bayes.counts.count_loops import (
    add_family,
    add_pairs,
    add_single,
    count_group,
    mix_codes,
    spread_alone,
    spread_joint,
    spread_within,
)
from lindero.runtime.threads import TileThreads

#: Most cells of a joint table. Two of uint32, for even and odd rows, then take 64 KiB, and adding
#: is as fast as in tables of a few cells; with ten times as many it is not.
_CELLS = 2**13

#: Joint tables may take twice the memory of those of the pairs, or this.
_JOINT_BYTES = 8 * 2**20

#: Rows of a block, at most, and numbers of groups that are kept for all its rows.
_BLOCK_ROWS, _BLOCK_NUMBERS = 2**16, 2**20

#: Additions that are worth starting a thread for.
_THREAD_WORK = 2**20


class Pass:
    """A pass over the rows: what is counted of a block, and how tables are added up at the end."""

    def __init__(self, rows: Rows, with_pairs: bool) -> None:
        self.rows, self.with_pairs = rows, with_pairs
        self.layout = Layout.of(rows.cards, rows.n_classes, with_pairs)
        self.radix = rows.highest - rows.lowest + 1
        self.singles = np.zeros(self.layout.single_cells)
        self.pairs = np.zeros(self.layout.pair_cells)
        self.unit = _exact_unit(rows) if rows.weights is None else np.float64
        self.groups, self.wide = self._planned()
        self.slots = np.array([group.slots for group in self.groups], dtype=np.int64)
        self.narrow = np.setdiff1d(np.arange(len(self.radix)), self.wide)
        self.alone = [np.zeros((2, size), dtype=self.unit) for size in self.slots * rows.n_classes]
        self.joint_sizes = _joint_sizes(self.groups, rows.n_classes, with_pairs)
        self.joint: list[Array] = [
            np.zeros((2, int(sizes.sum())), dtype=self.unit) for sizes in self.joint_sizes
        ]
        most = _BLOCK_NUMBERS // max(1, len(self.groups))
        self.block_rows = min(_BLOCK_ROWS, max(2**12, most), rows.codes.shape[1])
        self.mixed = np.empty((len(self.groups), self.block_rows), dtype=np.uint16)

    def _planned(self) -> tuple[list[Group], Array]:
        """Groups as large as caches, rows and memory let them be, and the wide attributes."""
        n_classes = self.rows.n_classes
        cells = min(_CELLS, max(self.rows.codes.shape[1] // 4, 2**7))
        allowed = max(_JOINT_BYTES, 2 * self.pairs.nbytes)
        cell_bytes = 2 * np.dtype(self.unit).itemsize
        while True:
            most = cells // n_classes
            if self.with_pairs:
                most = math.isqrt(most)
            groups, wide = grouped(self.rows.lowest, self.radix, most)
            sizes = _joint_sizes(groups, n_classes, self.with_pairs)
            if cell_bytes * sum(int(size.sum()) for size in sizes) <= allowed:
                return groups, wide
            cells //= 2

    def additions(self) -> int:
        """How many there will be, of rows to tables."""
        n_groups, n_wide = len(self.groups), len(self.wide)
        n_rows, tables = int(self.rows.codes.shape[1]), n_groups + n_wide
        if self.with_pairs:
            tables += n_groups * (n_groups - 1) // 2 + n_wide * len(self.narrow)
            tables += n_wide * (n_wide - 1) // 2
        return tables * n_rows

    def stages(self, start: int, labels: Array, increments: Array) -> list[list[Callable[[], Any]]]:
        """Work on the rows of a block; tasks of one stage may run at the same time."""
        codes, K, layout = self.rows.codes, self.rows.n_classes, self.layout
        stop = start + len(labels)
        mix: list[Callable[[], Any]] = []
        count: list[Callable[[], Any]] = []
        for k, group in enumerate(self.groups):
            out = self.mixed[k, : len(labels)]
            digits = (group.members, group.lowest, group.places)
            mix.append(partial(mix_codes, codes, start, stop, *digits, out))
            starts = np.cumsum(self.joint_sizes[k]) - self.joint_sizes[k]
            each = (labels, K, self.slots, increments)
            tables = (self.alone[k], starts, self.joint[k])
            count.append(partial(count_group, self.mixed, k, *each, *tables))
        places = (layout.pair_starts, layout.strides, self.pairs)
        for k, i in enumerate(self.wide):
            table = self.singles[layout.single_starts[i] :]
            count.append(partial(add_single, codes, start, i, labels, K, increments, table))
            if self.with_pairs:
                partners = np.concatenate([self.narrow, self.wide[k + 1 :]])
                given = (i, partners, labels, increments)
                count.append(partial(add_pairs, codes, start, *given, *places))
        return [mix, count]

    def spread(self, k: int) -> None:
        """Add the tables of group k, alone and with later ones, up into those of attributes."""
        layout, K = self.layout, self.rows.n_classes
        group, codes = self.groups[k], self.groups[k].codes(self.radix)
        own = (self.alone[k], group.members, codes, K)
        spread_alone(*own, layout.single_starts, self.singles)
        if not self.with_pairs:
            return
        places = (layout.pair_starts, layout.strides, self.pairs)
        spread_within(*own, *places)
        begin = 0
        for other, size in zip(self.groups[k + 1 :], self.joint_sizes[k], strict=True):
            tables = self.joint[k][:, begin : begin + size]
            both = (group.members, other.members, codes, other.codes(self.radix))
            spread_joint(tables, *both, K, *places)
            begin += int(size)


def counted(rows: Rows, n_threads: int | None, with_pairs: bool) -> tuple[Array, Array, Array]:
    """Weight of each class, and the flat tables of attributes and of pairs (empty if not asked)."""
    work = Pass(rows, with_pairs)
    of_class = np.zeros(rows.n_classes)
    with _threads_for(work.additions(), n_threads) as threads:
        for start in _block_starts(rows, work.block_rows):
            labels, increments = _block_input(rows, start, work.block_rows)
            of_class += np.bincount(labels, weights=increments, minlength=rows.n_classes)
            for stage in work.stages(start, labels, increments):
                threads.map(_run, stage)
        threads.map(work.spread, range(len(work.groups)))
    return of_class, work.singles, work.pairs


def counted_families(rows: Rows, families: list[Array], n_threads: int | None) -> list[Array]:
    """A table for each family, of the shape of its attributes' slots and the classes."""
    shapes = [(*(rows.cards[family] + 1), rows.n_classes) for family in families]
    tables = [np.zeros(shape) for shape in shapes]
    additions = rows.codes.shape[1] * sum(len(shape) for shape in shapes)
    with _threads_for(additions, n_threads) as threads:
        for start in _block_starts(rows, _BLOCK_ROWS):
            labels, increments = _block_input(rows, start, _BLOCK_ROWS)
            tasks = []
            for family, table in zip(families, tables, strict=True):
                strides = np.array(table.strides[:-1], dtype=np.int64) // table.itemsize
                given = (family, strides, labels, increments, table.reshape(-1))
                tasks.append(partial(add_family, rows.codes, start, *given))
            threads.map(_run, tasks)
    return tables


def _run(task: Callable[[], Any]) -> None:
    task()


def _threads_for(additions: int, n_threads: int | None) -> TileThreads:
    """As many threads as asked for or available, but one for little work."""
    return TileThreads(1 if additions < _THREAD_WORK else n_threads)


def _block_starts(rows: Rows, block_rows: int) -> range:
    return range(0, rows.codes.shape[1], max(1, block_rows))


def _block_input(rows: Rows, start: int, block_rows: int) -> tuple[Array, Array]:
    """Classes and increments of the rows of a block."""
    labels = rows.y[start : start + block_rows].astype(np.int32)
    if rows.weights is None:
        return labels, np.ones(len(labels), dtype=np.uint32)
    return labels, np.array(rows.weights[start : start + block_rows], dtype=np.float64)


def _exact_unit(rows: Rows) -> type:
    """Whole numbers that hold the count of all rows."""
    return np.uint32 if rows.codes.shape[1] < 2**32 else np.uint64


def _joint_sizes(groups: list[Group], n_classes: int, with_pairs: bool) -> list[Array]:
    """Cells of the joint tables of each group with all later ones."""
    slots = np.array([group.slots for group in groups], dtype=np.int64)
    after = [slots[k + 1 :] if with_pairs else slots[:0] for k in range(len(slots))]
    return [slots[k] * n_classes * others for k, others in enumerate(after)]
