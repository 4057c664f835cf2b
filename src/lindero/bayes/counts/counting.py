"""Counting coded rows: one pass that counts all attributes, or all pairs of them, with the class.

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
out between them, never the rows of one table: sums do not depend on the number of threads. The
compiled loops stand below, in the same file, since they mean nothing without the pass that calls
them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, compiled
from lindero.runtime.threads import TileThreads

#: What is left of a count of weights when rows are taken away, relative to what it was, and may be
#: rounding only. Whole numbers have none.
COUNT_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows of coded attributes with their classes and weights: all that counting looks at."""

    codes: Array  # (n_attributes, n_rows): 0 is missing, 1 … r are values
    cards: Array  # number r of values of each attribute
    y: Array  # classes 0 … K − 1
    n_classes: int  # K
    weights: Array | None = None  # how many rows each row stands for; None counts each once

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "codes", np.ascontiguousarray(self.codes))
        set_field(self, "cards", np.asarray(self.cards, dtype=np.int64))
        set_field(self, "y", np.asarray(self.y))

    @property
    def n_rows(self) -> int:
        return int(self.codes.shape[1])

    @property
    def total_weight(self) -> float:
        """How many rows they count for."""
        return float(len(self.y)) if self.weights is None else float(self.weights.sum())

    def take(self, rows: Array) -> CodedRows:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return CodedRows(self.codes[:, rows], self.cards, self.y[rows], self.n_classes, weights)

    def count_classes(self) -> Array:
        """The weight of the rows of each class."""
        counts = np.bincount(self.y, weights=self.weights, minlength=self.n_classes)
        return counts.astype(np.float64)

    @cached_property
    def ranges(self) -> tuple[Array, Array]:
        """The least and the largest code of each attribute. Compiled loops do not check bounds:
        a ValueError says which attribute or class has no place in its table."""
        codes, cards = self.codes, self.cards
        n_attributes, n_rows = codes.shape
        lengths = {"cards": (len(cards), n_attributes), "y": (len(self.y), n_rows)}
        if self.weights is not None:
            lengths["weights"] = (len(self.weights), n_rows)
        for name, (length, expected) in lengths.items():
            if length != expected:
                raise ValueError(
                    f"{name} has {length} entries where codes of shape {codes.shape} need "
                    f"{expected}: codes have a row for each attribute."
                )
        lowest, highest = _find_ranges(codes)
        outside = np.flatnonzero((lowest < 0) | (highest > cards))
        if len(outside):
            i = int(outside[0])
            raise ValueError(
                f"Attribute {i} has codes from {lowest[i]} to {highest[i]}, outside of 0 (missing) "
                f"to {cards[i]}: values that were never seen cannot be counted."
            )
        first, last = _find_ranges(self.y[None, :])
        if first[0] < 0 or last[0] >= self.n_classes:
            raise ValueError(
                f"y has classes from {first[0]} to {last[0]}, outside of 0 to {self.n_classes - 1}."
            )
        return lowest, highest


def _find_ranges(codes: Array) -> tuple[Array, Array]:
    """Least and greatest entry of every row; 0 where there are none."""
    if codes.shape[1] == 0:
        return np.zeros(len(codes), dtype=np.int64), np.zeros(len(codes), dtype=np.int64)
    return codes.min(axis=1).astype(np.int64), codes.max(axis=1).astype(np.int64)


# -- which attributes are counted together, and where tables lie in memory -------------------------


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

    def codes(self, radix: Array, numbers: Array | None = None) -> Array:
        """The code of every member (row) at some mixed numbers (columns), by default at all."""
        wanted = np.arange(self.slots) if numbers is None else numbers.astype(np.int64)
        digits = wanted // self.places[:, None] % radix[self.members, None]
        codes: Array = self.lowest[:, None] + digits
        return codes


@dataclass(frozen=True, eq=False)
class CountLayout:
    """Where tables begin in their flat arrays, and how far one code of i steps in that of (i, j).

    The table of a pair i < j has the shape (r_i + 1, r_j + 1, K); without pairs, theirs are empty.
    """

    single_starts: Array
    pair_starts: Array
    strides: Array
    single_cells: int
    pair_cells: int

    @classmethod
    def of(cls, cards: Array, n_classes: int, with_pairs: bool) -> CountLayout:
        slots = np.asarray(cards, dtype=np.int64) + 1
        singles = np.cumsum(slots * n_classes)
        d = len(slots) if with_pairs else 0
        first, second = np.triu_indices(d, 1)
        ends = np.cumsum(slots[first] * slots[second] * n_classes)
        starts = np.zeros((d, d), dtype=np.int64)
        starts[first, second] = starts[second, first] = np.concatenate([[0], ends])[:-1]
        strides = np.full_like(starts, n_classes)
        strides[first, second] = slots[second] * n_classes
        single_cells, pair_cells = int(singles.max(initial=0)), int(ends.max(initial=0))
        return cls(singles - slots * n_classes, starts, strides, single_cells, pair_cells)


def group_attributes(lowest: Array, radix: Array, most: int) -> tuple[list[Group], Array]:
    """Groups of at most `most` mixed numbers, attributes of few values first; and the wide ones."""
    members: list[list[int]] = []
    size = most + 1  # of the last group: the first attribute begins one
    for i in np.argsort(radix, kind="stable"):
        if radix[i] > most:
            break
        if size * radix[i] > most:
            members.append([])
            size = 1
        members[-1].append(int(i))
        size *= int(radix[i])
    return [Group.of(own, lowest, radix) for own in members], np.flatnonzero(radix > most)


# -- one pass over the rows -----------------------------------------------------------------------

#: Most cells of a joint table. Two of uint32, for even and odd rows, then take 64 KiB, and adding
#: is as fast as in tables of a few cells; with ten times as many it is not.
_CELLS = 2**13

#: Joint tables may take twice the memory of those of the pairs, or this.
_JOINT_BYTES = 8 * 2**20

#: Rows of a block, at most, and numbers of groups that are kept for all its rows.
_BLOCK_ROWS, _BLOCK_NUMBERS = 2**16, 2**20

#: Additions that are worth starting a thread for.
_THREAD_WORK = 2**20


#: Calls a function on each of some items, in threads or not.
Runner = Callable[[Callable[[Any], Any], Iterable[Any]], Any]


class CountingPass:
    """A pass over the rows: what is counted of a block, and how tables are added up at the end."""

    def __init__(self, rows: CodedRows, with_pairs: bool) -> None:
        self.rows, self.with_pairs = rows, with_pairs
        self.layout = CountLayout.of(rows.cards, rows.n_classes, with_pairs)
        self.lowest, highest = rows.ranges
        self.radix = highest - self.lowest + 1
        self.singles = np.zeros(self.layout.single_cells)
        self.pairs = np.zeros(self.layout.pair_cells)
        whole = np.uint32 if rows.n_rows < 2**32 else np.uint64  # holds the count of all rows
        self.unit = whole if rows.weights is None else np.float64
        self.groups, self.wide = self._plan_groups()
        self.slots = np.array([group.slots for group in self.groups], dtype=np.int64)
        self.narrow = np.setdiff1d(np.arange(len(self.radix)), self.wide)
        self.alone = [np.zeros((2, size), dtype=self.unit) for size in self.slots * rows.n_classes]
        self.joint_sizes = _joint_sizes(self.groups, rows.n_classes, with_pairs)
        self.joint: list[Array] = [
            np.zeros((2, int(sizes.sum())), dtype=self.unit) for sizes in self.joint_sizes
        ]
        most = _BLOCK_NUMBERS // max(1, len(self.groups))
        self.block_rows = min(_BLOCK_ROWS, max(2**12, most), rows.n_rows)
        self.mixed = np.empty((len(self.groups), self.block_rows), dtype=np.uint16)

    def _plan_groups(self) -> tuple[list[Group], Array]:
        """Groups as large as caches, rows and memory let them be, and the wide attributes."""
        n_classes = self.rows.n_classes
        cells = min(_CELLS, max(self.rows.n_rows // 4, 2**7))
        allowed = max(_JOINT_BYTES, 2 * self.pairs.nbytes)
        cell_bytes = 2 * np.dtype(self.unit).itemsize
        while True:
            most = math.isqrt(cells // n_classes) if self.with_pairs else cells // n_classes
            groups, wide = group_attributes(self.lowest, self.radix, most)
            sizes = _joint_sizes(groups, n_classes, self.with_pairs)
            if cell_bytes * sum(int(size.sum()) for size in sizes) <= allowed:
                return groups, wide
            cells //= 2

    def additions(self) -> int:
        """How many there will be, of rows to tables."""
        n_groups, n_wide = len(self.groups), len(self.wide)
        tables = n_groups + n_wide
        if self.with_pairs:
            tables += math.comb(n_groups, 2) + n_wide * len(self.narrow) + math.comb(n_wide, 2)
        return tables * self.rows.n_rows

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


def count_tables(
    rows: CodedRows, n_threads: int | None, with_pairs: bool
) -> tuple[Array, Array, Array]:
    """Weight of each class, and the flat tables of attributes and of pairs (empty if not asked)."""
    work = CountingPass(rows, with_pairs)
    of_class = np.zeros(rows.n_classes)

    def count(run: Runner) -> None:
        for start in range(0, rows.n_rows, max(1, work.block_rows)):
            labels, increments = _block_input(rows, start, work.block_rows)
            of_class[:] += np.bincount(labels, weights=increments, minlength=rows.n_classes)
            for stage in work.stages(start, labels, increments):
                run(operator.call, stage)
        run(work.spread, range(len(work.groups)))

    _run_in_threads(count, work.additions(), n_threads)
    return of_class, work.singles, work.pairs


def count_family_tables(
    rows: CodedRows, families: list[Array], n_threads: int | None
) -> list[Array]:
    """A table for each family, of the shape of its attributes' slots and the classes."""
    _ = rows.ranges  # checked
    shapes = [(*(rows.cards[family] + 1), rows.n_classes) for family in families]
    tables = [np.zeros(shape) for shape in shapes]

    def count(run: Runner) -> None:
        for start in range(0, rows.n_rows, _BLOCK_ROWS):
            labels, increments = _block_input(rows, start, _BLOCK_ROWS)
            tasks = []
            for family, table in zip(families, tables, strict=True):
                strides = np.array(table.strides[:-1], dtype=np.int64) // table.itemsize
                given = (family, strides, labels, increments, table.reshape(-1))
                tasks.append(partial(add_family, rows.codes, start, *given))
            run(operator.call, tasks)

    _run_in_threads(count, rows.n_rows * sum(len(shape) for shape in shapes), n_threads)
    return tables


def _run_in_threads(count: Callable[[Runner], None], additions: int, n_threads: int | None) -> None:
    """With as many threads as asked for or available, but none for little work."""
    if additions < _THREAD_WORK:
        count(lambda work, items: [work(item) for item in items])
        return
    with TileThreads(n_threads) as threads:
        count(threads.map)


def _block_input(rows: CodedRows, start: int, block_rows: int) -> tuple[Array, Array]:
    """Classes and increments of the rows of a block."""
    labels = rows.y[start : start + block_rows].astype(np.int32)
    if rows.weights is None:
        return labels, np.ones(len(labels), dtype=np.uint32)
    return labels, np.array(rows.weights[start : start + block_rows], dtype=np.float64)


def _joint_sizes(groups: list[Group], n_classes: int, with_pairs: bool) -> list[Array]:
    """Cells of the joint tables of each group with all later ones."""
    slots = np.array([group.slots for group in groups], dtype=np.int64)
    last = len(slots) if with_pairs else 0
    return [slots[k] * n_classes * slots[k + 1 : last] for k in range(len(slots))]


# -- compiled loops -------------------------------------------------------------------------------
#
# Every loop adds `increments`, one for each row: ones of uint32 where rows count once, else their
# weights. Where the same cell is hit again and again, as in columns that are nearly constant, an
# addition would wait for the one before it; so even and odd rows are added to tables of their own.


@compiled(EXACT)
def mix_codes(codes, start, stop, members, lowest, places, out):  # type: ignore[no-untyped-def]
    """out_r = Σ_m (codes[m, start + r] − lowest_m) · place_m: one number for a group's values."""
    for r in range(out.size):
        out[r] = 0
    for k in range(members.size):
        column = codes[members[k], start:stop]
        low, place = np.uint16(lowest[k]), np.uint16(places[k])
        for r in range(column.size):
            out[r] += np.uint16(column[r] - low) * place


@compiled(EXACT)
def count_group(mixed, group, labels, n_classes, slots, increments, alone, starts, joint):  # type: ignore[no-untyped-def]
    """Count a group's values by class into `alone`, and with each later group into `joint`."""
    own = mixed[group, : labels.size]
    left = np.empty(labels.size, np.uint16)
    for r in range(labels.size):
        left[r] = own[r] * n_classes + labels[r]
    add_rows(left, np.zeros(labels.size, np.uint16), 1, increments, alone)
    for k in range(starts.size):
        other = group + 1 + k
        cells = slots[group] * n_classes * slots[other]
        tables = joint[:, starts[k] : starts[k] + cells]
        add_rows(left, mixed[other, : labels.size], slots[other], increments, tables)


@compiled(EXACT)
def add_rows(left, right, width, increments, tables):  # type: ignore[no-untyped-def]
    """tables[r mod 2, left_r · width + right_r] += increment_r."""
    even, odd = tables[0], tables[1]
    n_even = left.size // 2 * 2
    for r in range(0, n_even, 2):
        even[np.intp(left[r]) * width + right[r]] += increments[r]
        odd[np.intp(left[r + 1]) * width + right[r + 1]] += increments[r + 1]
    if n_even < left.size:
        even[np.intp(left[n_even]) * width + right[n_even]] += increments[n_even]


@compiled(EXACT)
def spread_joint(tables, left, right, left_codes, right_codes, n_classes, starts, strides, pairs):  # type: ignore[no-untyped-def]
    """Add a table of two groups up into those of all pairs of an attribute of each.

    left_codes[k, v] is the code that attribute left_k has where its group has the value v: all the
    lowest codes at the first value, all the highest at the last. Sums over values of the right
    group are made once for all attributes of the left one.
    """
    width, most = right_codes.shape[1], 0
    for m in range(right.size):
        most = max(most, right_codes[m, width - 1])
    line = np.empty(width, tables.dtype)
    sums = np.zeros(most + 1, tables.dtype)
    for v in range(left_codes.shape[1]):
        for c in range(n_classes):
            begin = (v * n_classes + c) * width
            for w in range(width):
                line[w] = tables[0, begin + w] + tables[1, begin + w]
            for m in range(right.size):
                j, codes = right[m], right_codes[m]
                for w in range(width):
                    sums[codes[w]] += line[w]
                for x in range(codes[0], codes[width - 1] + 1):
                    for k in range(left.size):
                        i = left[k]
                        at = starts[i, j] + left_codes[k, v] * strides[i, j] + x * strides[j, i]
                        pairs[at + c] += sums[x]
                    sums[x] = 0


@compiled(EXACT)
def spread_alone(tables, members, codes, n_classes, single_starts, singles):  # type: ignore[no-untyped-def]
    """Add a group's own table up into those of its attributes."""
    for v in range(codes.shape[1]):
        for c in range(n_classes):
            count = tables[0, v * n_classes + c] + tables[1, v * n_classes + c]
            for k in range(members.size):
                singles[single_starts[members[k]] + codes[k, v] * n_classes + c] += count


@compiled(EXACT)
def spread_within(tables, members, codes, n_classes, starts, strides, pairs):  # type: ignore[no-untyped-def]
    """Add a group's own table up into those of all pairs of its attributes."""
    for v in range(codes.shape[1]):
        for c in range(n_classes):
            count = tables[0, v * n_classes + c] + tables[1, v * n_classes + c]
            for k in range(members.size):
                for m in range(k + 1, members.size):
                    i, j = members[k], members[m]
                    at = starts[i, j] + codes[k, v] * strides[i, j] + codes[m, v] * strides[j, i]
                    pairs[at + c] += count


@compiled(EXACT)
def add_single(codes, start, i, labels, n_classes, increments, table):  # type: ignore[no-untyped-def]
    """Count one attribute by class, straight into its table."""
    column = codes[i, start : start + labels.size]
    for r in range(labels.size):
        table[np.intp(column[r]) * n_classes + labels[r]] += increments[r]


@compiled(EXACT)
def add_pairs(codes, start, i, partners, labels, increments, starts, strides, pairs):  # type: ignore[no-untyped-def]
    """Count one attribute with each of its partners by class, straight into their tables."""
    column = codes[i, start : start + labels.size]
    for k in range(partners.size):
        j = partners[k]
        partner = codes[j, start : start + labels.size]
        table, by_own, by_partner = pairs[starts[i, j] :], strides[i, j], strides[j, i]
        for r in range(labels.size):
            at = np.intp(column[r]) * by_own + np.intp(partner[r]) * by_partner + labels[r]
            table[at] += increments[r]


@compiled(EXACT)
def add_family(codes, start, family, strides, labels, increments, table):  # type: ignore[no-untyped-def]
    """Count the values of a whole family by class: table[Σ_k code_k · stride_k + class] += 1."""
    at = np.empty(labels.size, np.int64)
    for r in range(labels.size):
        at[r] = labels[r]
    for k in range(family.size):
        column, stride = codes[family[k], start : start + labels.size], strides[k]
        for r in range(labels.size):
            at[r] += column[r] * stride
    for r in range(labels.size):
        table[at[r]] += increments[r]
