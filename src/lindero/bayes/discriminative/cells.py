"""All tables of a network in one array, a row for each cell and a column for each class.

The cells of attribute i are its values with those of its parents, slot 0 being for missing ones, in
C order of the shape (r + 1, r_p1 + 1, …); they follow those of attribute i − 1. One row more, the
last, is for the class itself. Counts, logarithms of probabilities, and derivatives of a function by
them all have this form, so that a step from one to the next is plain arithmetic of arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter

import numpy as np

from lindero.bayes.networks.network import Network
from lindero.runtime.arrays import Array


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


def log_sum(logs: Array) -> Array:
    """log Σ exp over the first axis, which has an entry at least."""
    largest = logs.max(axis=0)
    total: Array = largest + np.log(np.exp(logs - largest).sum(axis=0))
    return total
