"""All tables of a network in one array, a row for each cell and a column for each class.

The cells of attribute i are its values with those of its parents, slot 0 being for missing ones, in
C order of the shape (r + 1, r_p1 + 1, …); they follow those of attribute i − 1. One row more, the
last, is for the class itself. Counts, logarithms of probabilities, and derivatives of a function by
them all have this form, so that a step from one to the next is plain arithmetic of arrays.

**Cells that rows have.** A table of a column of 300 values and a parent of 200 has 60 000 cells,
of which a few thousand rows have a few thousand. No row tells anything of the others:

- a column P(· | pa, c) whose parents occur in no row stays as it was at the start;
- of the values that no row has with these parents, only the sum of their probabilities matters to
  the rows. The penalty is largest where they share it as in the generative estimate, and moving
  counts keeps their shares by itself. So they are one cell, the *rest* of their column,

      θ(x | pa, c) = θ_rest(pa, c) θ̂(x | pa, c) / θ̂_rest(pa, c),   pseudo-counts and counts summed,

  with the same objective and the same optimum. Free weights have no normaliser, and need no rest.

`SeenCells` are these: an iteration costs by what rows have, not by the product of sizes. They are
for rows whose families are looked up; where a missing parent is summed out, all its values count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter

import numpy as np

from lindero.bayes.networks.network import Network
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, compiled


@dataclass(frozen=True, eq=False)
class FamilyCells:
    """Where the cells of each family lie."""

    parents: tuple[tuple[int, ...], ...]  # the attributes that are parents of each attribute
    with_class: tuple[bool, ...]  # whether the class is a parent too
    cards: Array  # how many values each attribute has
    n_classes: int  # K

    @property
    def n_attributes(self) -> int:
        return len(self.parents)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """All attributes, parents before their children."""
        return tuple(TopologicalSorter(dict(enumerate(self.parents))).static_order())

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Slots of each attribute and of its parents."""
        return tuple(
            tuple(int(self.cards[j]) + 1 for j in (i, *above))
            for i, above in enumerate(self.parents)
        )

    @cached_property
    def starts(self) -> Array:
        """The first cell of each attribute, and the row of the class."""
        return np.cumsum([0, *(int(np.prod(shape)) for shape in self.shapes)], dtype=np.int64)

    @property
    def size(self) -> int:
        return int(self.starts[-1]) + 1

    @cached_property
    def used(self) -> Array:
        """Rows that hold probabilities: no member of the family is missing."""
        rows = np.zeros((self.size, 1), dtype=bool)
        for i in range(self.n_attributes):
            self.view_seen(rows, i)[...] = True
        rows[-1] = True
        return rows[:, 0]

    @cached_property
    def informative(self) -> Array:
        """Used rows whose family has the class in it: the others say the same of all classes."""
        rows = self.used.copy()
        for i, tells in enumerate(self.with_class):
            if not tells:
                rows[self.starts[i] : self.starts[i + 1]] = False
        return rows

    @cached_property
    def connected(self) -> Array:
        """Attributes with an arc from or to anything: the others say nothing of the class."""
        linked = [*map(bool, self.parents)]
        chosen: Array = np.logical_or(self.with_class, linked).astype(bool)
        chosen[[p for above in self.parents for p in above]] = True
        return chosen

    def view_table(self, values: Array, i: int) -> Array:
        """The cells of attribute i, a view of shape (r + 1, r_p1 + 1, …, columns)."""
        cells = values[self.starts[i] : self.starts[i + 1]]
        return cells.reshape(*self.shapes[i], values.shape[1])

    def view_seen(self, values: Array, i: int) -> Array:
        """The same without slots of missing values: (r, r_p1, …, columns)."""
        table = self.view_table(values, i)
        return table[(slice(1, None),) * (table.ndim - 1)]

    def join(self, tables: Sequence[Array], of_class: Array) -> Array:
        """Join tables of shape (r + 1, r_p1 + 1, …, K), and one of the class, to one array."""
        parts = [np.asarray(t, dtype=np.float64).reshape(-1, self.n_classes) for t in tables]
        return np.concatenate([*parts, np.asarray(of_class, dtype=np.float64)[None]])

    def split(self, values: Array) -> tuple[Array, ...]:
        """The tables that were joined, as views, without that of the class."""
        return tuple(self.view_table(values, i) for i in range(self.n_attributes))

    def estimate_logs(self, counts: Array) -> Array:
        """log P(x | pa, c) and log P(c) of largest likelihood, from counts (size, K) that are above
        zero in all used rows; 0 in cells of missing values."""
        logs = np.zeros_like(counts)
        for i, tells in enumerate(self.with_class):
            table = self.view_seen(counts, i)
            if not tells:
                table = table.sum(axis=-1, keepdims=True)
            self.view_seen(logs, i)[...] = np.log(table / table.sum(axis=0))
        logs[-1] = np.log(counts[-1] / counts[-1].sum())
        return logs

    def normalise(self, logs: Array) -> Array:
        """Tables that are each divided by their sums, so that they are probabilities."""
        new = np.zeros_like(logs)
        for i, tells in enumerate(self.with_class):
            table = self.view_seen(logs, i)
            if not tells:
                table = table[..., :1]
            if table.size:
                self.view_seen(new, i)[...] = table - log_sum(table)
        new[-1] = logs[-1] - log_sum(logs[-1])
        return new

    def project_slope(self, slope: Array, logs: Array) -> Array:
        """The derivative by tables that are then normalised, from that by their logarithms:
        Δ(x, pa, c) − P(x | pa, c) Σ_x Δ(x, pa, c)."""
        new = slope.copy()
        for i, tells in enumerate(self.with_class):
            table = self.view_seen(new, i)
            if not tells:  # the first class's column stands for all
                table[..., 0] = table.sum(axis=-1)
                table[..., 1:] = 0.0
            table -= np.exp(self.view_seen(logs, i)) * table.sum(axis=0)
        new[-1] -= np.exp(logs[-1]) * new[-1].sum()
        return new

    def to_network(self, logs: Array, unseen: tuple[Array, ...] | None = None) -> Network:
        """The network of normalised tables."""
        tables = []
        for i, tells in enumerate(self.with_class):
            table = np.moveaxis(self.view_seen(logs, i), 0, -2)
            tables.append(np.ascontiguousarray(table if tells else table[..., :1]))
        graph = (self.cards, self.n_classes, self.parents, self.with_class)
        return Network(*graph, logs[-1].copy(), tuple(tables), unseen)

    @classmethod
    def from_network(cls, network: Network) -> tuple[FamilyCells, Array]:
        """The cells of a network, and its tables in them."""
        cells = cls(network.parents, network.with_class, network.cards, network.n_classes)
        logs = np.zeros((cells.size, cells.n_classes))
        for i, table in enumerate(network.log_tables):
            cells.view_seen(logs, i)[...] = np.moveaxis(table, -2, 0)
        logs[-1] = network.log_prior
        return cells, logs


class SeenCells:
    """The cells of `whole` that rows have, column by column, and the rest of each; see the module.

    `seen` (whole.size,) are cells of families with the class that rows look up. Two rows are last:
    an empty one, for families with a missing member, and that of the class.
    """

    def __init__(self, whole: FamilyCells, seen: Array, has_rests: bool) -> None:
        self.whole, self.seen, self.n_classes = whole, seen & whole.informative, whole.n_classes
        self.seen[-1] = False
        cells = np.flatnonzero(self.seen)
        family = np.searchsorted(whole.starts, cells, side="right") - 1
        n_configs = np.array([int(np.prod(shape[1:])) for shape in whole.shapes], dtype=np.int64)
        # A column has the number of the cell with its parents and no value.
        number = whole.starts[family] + (cells - whole.starts[family]) % n_configs[family]
        order = np.argsort(number, kind="stable")
        cells, number, family = cells[order], number[order], family[order]
        columns, first, length = np.unique(number, return_index=True, return_counts=True)
        family_of_column = family[first] if len(cells) else family
        partial = (length < whole.cards[family_of_column]) & has_rests
        shift: Array = np.cumsum(partial) - partial
        at = np.arange(len(cells)) + np.repeat(shift, length)
        n_cells = len(cells) + int(partial.sum())
        self.size = n_cells + 2
        #: Where columns begin, and where the last ends.
        self.starts = np.append(first + shift, n_cells).astype(np.int64)
        self._rests = self.starts[1:][partial] - 1
        family_of_rest = family_of_column[partial]
        self._rest_columns = (
            columns[partial],
            n_configs[family_of_rest],
            whole.cards[family_of_rest],
        )
        self._at, self._cells = at, cells
        #: The place of every cell of the whole; cells that no row has are in the empty one.
        self.place = np.full(whole.size, n_cells, dtype=np.int64)
        self.place[cells] = at
        self.place[-1] = n_cells + 1
        self.used = np.ones(self.size, dtype=bool)
        self.used[n_cells] = False
        self.informative = self.used

    def gather_sums(self, values: Array) -> Array:
        """Counts or pseudo-counts (whole.size, K) of these cells."""
        small = self._gather(values)
        small[self._rests] = sum_absent(values, self.seen, *self._rest_columns, False)
        return small

    def gather_logs(self, logs: Array) -> Array:
        """Logarithms of tables (whole.size, K) in these cells."""
        small = self._gather(logs)
        small[self._rests] = sum_absent(logs, self.seen, *self._rest_columns, True)
        return small

    def expand_logs(self, logs: Array, start: Array) -> Array:
        """Tables of the whole: cells that no row has keep their shares of `start` (whole.size, K),
        whose `gather_logs` were the start of `logs`."""
        new = start.copy()
        new[self._cells] = logs[self._at]
        new[-1] = logs[-1]
        before = sum_absent(start, self.seen, *self._rest_columns, True)
        shift_absent(new, self.seen, *self._rest_columns, logs[self._rests] - before)
        return new

    def _gather(self, values: Array) -> Array:
        small = np.zeros((self.size, values.shape[1]))
        small[self._at] = values[self._cells]
        small[-1] = values[-1]
        return small

    # -- what solvers ask for -------------------------------------------------------------------

    def normalise(self, logs: Array) -> Array:
        """As `FamilyCells.normalise`."""
        new = np.zeros_like(logs)
        normalise_columns(logs, self.starts, new)
        new[-1] = logs[-1] - log_sum(logs[-1])
        return new

    def project_slope(self, slope: Array, logs: Array) -> Array:
        """As `FamilyCells.project_slope`."""
        new = np.zeros_like(slope)
        project_columns(slope, logs, self.starts, new)
        new[-1] = slope[-1] - np.exp(logs[-1]) * slope[-1].sum()
        return new


@compiled(EXACT)
def sum_absent(values, seen, columns, strides, cards, of_logs):  # type: ignore[no-untyped-def]
    """Sums of the cells of each column that no row has, there being one; of logarithms
    log Σ exp. The cell of value x is at column + x · stride."""
    sums = np.zeros((columns.size, values.shape[1]))
    for g in range(columns.size):
        for c in range(values.shape[1]):
            largest = -np.inf if of_logs else 0.0
            for x in range(1, cards[g] + 1):
                cell = columns[g] + x * strides[g]
                if of_logs and not seen[cell]:
                    largest = max(largest, values[cell, c])
            for x in range(1, cards[g] + 1):
                cell = columns[g] + x * strides[g]
                if not seen[cell]:
                    value = values[cell, c]
                    sums[g, c] += np.exp(value - largest) if of_logs else value
            if of_logs:
                sums[g, c] = largest + np.log(sums[g, c])
    return sums


@compiled(EXACT)
def shift_absent(values, seen, columns, strides, cards, change):  # type: ignore[no-untyped-def]
    """Add a change to all cells of each column that no row has."""
    for g in range(columns.size):
        for x in range(1, cards[g] + 1):
            cell = columns[g] + x * strides[g]
            if not seen[cell]:
                for c in range(values.shape[1]):
                    values[cell, c] += change[g, c]


@compiled(EXACT)
def normalise_columns(logs, starts, out):  # type: ignore[no-untyped-def]
    """out = logs − log Σ exp(logs), the sum over cells starts[g]…starts[g + 1], class by class."""
    for g in range(starts.size - 1):
        for c in range(logs.shape[1]):
            largest = -np.inf
            for x in range(starts[g], starts[g + 1]):
                largest = max(largest, logs[x, c])
            total = 0.0
            for x in range(starts[g], starts[g + 1]):
                total += np.exp(logs[x, c] - largest)
            shift = largest + np.log(total)
            for x in range(starts[g], starts[g + 1]):
                out[x, c] = logs[x, c] - shift


@compiled(EXACT)
def project_columns(slope, logs, starts, out):  # type: ignore[no-untyped-def]
    """out = slope − exp(logs) Σ slope, with the same sums."""
    for g in range(starts.size - 1):
        for c in range(logs.shape[1]):
            total = 0.0
            for x in range(starts[g], starts[g + 1]):
                total += slope[x, c]
            for x in range(starts[g], starts[g + 1]):
                out[x, c] = slope[x, c] - np.exp(logs[x, c]) * total


def log_sum(logs: Array) -> Array:
    """log Σ exp over the first axis, which has an entry at least."""
    largest = logs.max(axis=0)
    total: Array = largest + np.log(np.exp(logs - largest).sum(axis=0))
    return total
