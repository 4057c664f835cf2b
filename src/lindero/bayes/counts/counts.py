"""Counts of a table's values with the class: all that fitting needs to see of the rows.

Counting and estimating are separate verbs. Counts add up: those of two parts of a table merge into
those of the whole, bit for bit, since float64 holds whole numbers exactly. Parameters are derived
from counts, whoever made them.

Codes of an attribute with r values are 0 (missing) and 1 … r; a table of counts has a slot for
each, and the class last:

    single(i)[x, c]         rows of class c with x_i = x
    pair(i, j)[x, y, c]     rows of class c with x_i = x and x_j = y
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lindero.bayes.counts.count_groups import Array, Layout
from lindero.bayes.counts.count_input import Rows, check_family_memory, check_pair_memory
from lindero.bayes.counts.counting import counted, counted_families


@dataclass(frozen=True, eq=False)
class Counts:
    """Weights of rows by class, attribute and pair of attributes.

    Parameters
    ----------
    n_classes : int
        Number K of classes.
    cards : ndarray of shape (n_attributes,)
        Number r of values of each attribute.
    of_class : ndarray of shape (n_classes,)
        Weight of the rows of each class.
    singles : ndarray
        The tables of all attributes, one after the other.
    pairs : ndarray or None
        The tables of all pairs i < j, one after the other; None where pairs were not counted.
    """

    n_classes: int
    cards: Array
    of_class: Array
    singles: Array
    pairs: Array | None = None

    @cached_property
    def layout(self) -> Layout:
        """Where each table begins."""
        return Layout.of(self.cards, self.n_classes, self.pairs is not None)

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return len(self.cards)

    def single(self, i: int) -> Array:
        """Counts of attribute i by class, a view of shape (r_i + 1, K); slot 0 is missing."""
        i = range(self.n_attributes)[i]
        start, slots = self.layout.single_starts[i], int(self.cards[i]) + 1
        return self.singles[start : start + slots * self.n_classes].reshape(slots, -1)

    def pair(self, i: int, j: int) -> Array:
        """Counts of attributes i and j by class, a view of shape (r_i + 1, r_j + 1, K)."""
        i, j = range(self.n_attributes)[i], range(self.n_attributes)[j]
        if self.pairs is None:
            raise ValueError("These counts hold no pairs of attributes: count with count_pairs.")
        if i == j:
            raise ValueError(f"A pair needs two different attributes, got {i} twice.")
        if i > j:
            return self.pair(j, i).transpose(1, 0, 2)
        shape = (int(self.cards[i]) + 1, int(self.cards[j]) + 1, self.n_classes)
        start = self.layout.pair_starts[i, j]
        return self.pairs[start : start + shape[0] * shape[1] * shape[2]].reshape(shape)

    def grown(self, cards: Array) -> Counts:
        """A copy of these counts, with room for more values of some attributes.

        Parameters
        ----------
        cards : ndarray of shape (n_attributes,)
            New numbers of values, none smaller than before.

        Returns
        -------
        Counts
            In memory of their own.
        """
        cards = np.asarray(cards, dtype=np.int64)
        if cards.shape != self.cards.shape or np.any(cards < self.cards):
            raise ValueError(
                f"Attributes of {self.cards.tolist()} values cannot grow to {cards.tolist()}: "
                "give a number of values for each attribute, none smaller than before."
            )
        layout = Layout.of(cards, self.n_classes, self.pairs is not None)
        pairs = None if self.pairs is None else np.zeros(layout.pair_cells)
        singles, of_class = np.zeros(layout.single_cells), np.zeros(self.n_classes)
        new = Counts(self.n_classes, cards, of_class, singles, pairs)
        new._add(self)
        return new

    def _add(self, other: Counts) -> None:
        """Add counts of no more values in place."""
        self.of_class[:] += other.of_class
        if np.array_equal(self.cards, other.cards):
            self.singles[:] += other.singles
            if self.pairs is not None:
                self.pairs[:] += other.pairs
            return
        for i in range(self.n_attributes):
            own = other.single(i)
            self.single(i)[: len(own)] += own
            for j in range(i + 1, self.n_attributes if self.pairs is not None else 0):
                table = other.pair(i, j)
                self.pair(i, j)[: table.shape[0], : table.shape[1]] += table

    def merge(self, other: Counts, names: Sequence[str] | None = None) -> Counts:
        """Counts of the rows of both; neither is changed.

        Parameters
        ----------
        other : Counts
            Counts of other rows of the same table. Attributes may have more or fewer values in
            them, as long as codes mean the same.
        names : sequence of str, optional
            Names of the attributes, for messages.

        Returns
        -------
        Counts
            The same as counting all rows at once: exactly if weights are whole numbers, to
            rounding otherwise.
        """
        if self.n_classes != other.n_classes or self.n_attributes != other.n_attributes:
            raise ValueError(
                f"Counts of {self.n_attributes} attributes and {self.n_classes} classes cannot be "
                f"merged with counts of {other.n_attributes} attributes and {other.n_classes} "
                "classes: they must be of the same table."
            )
        if (self.pairs is None) != (other.pairs is None):
            raise ValueError(
                "Counts with pairs of attributes cannot be merged with counts without: count both "
                "with count_pairs, or both with count_singles."
            )
        cards = np.maximum(self.cards, other.cards)
        if self.pairs is not None and other.pairs is not None:
            check_pair_memory(cards, self.n_classes, names, self.pairs.nbytes + other.pairs.nbytes)
        total = self.grown(cards)
        total._add(other)
        return total


def count_singles(
    codes: Array,
    cards: Array,
    y: Array,
    n_classes: int,
    weights: Array | None = None,
    n_threads: int | None = None,
) -> Counts:
    """Count every attribute by class.

    Parameters
    ----------
    codes : ndarray of shape (n_attributes, n_rows)
        Codes 0 (missing), 1 … r, each attribute contiguous.
    cards : array-like of shape (n_attributes,)
        Number r of values of each attribute.
    y : ndarray of shape (n_rows,)
        Classes 0 … K − 1.
    n_classes : int
        Number K of classes.
    weights : ndarray of shape (n_rows,), optional
        Weights of rows; by default each counts once.
    n_threads : int, optional
        Threads to use, by default all there are; counts do not depend on it.

    Returns
    -------
    Counts
        Without pairs.
    """
    rows = Rows.checked(codes, cards, y, n_classes, weights)
    if len(rows.cards) == 0:
        of_class = np.bincount(y, weights=weights, minlength=n_classes).astype(np.float64)
        return Counts(n_classes, rows.cards, of_class, np.zeros(0))
    of_class, singles, _ = counted(rows, n_threads, with_pairs=False)
    return Counts(n_classes, rows.cards, of_class, singles)


def count_pairs(
    codes: Array,
    cards: Array,
    y: Array,
    n_classes: int,
    weights: Array | None = None,
    n_threads: int | None = None,
    names: Sequence[str] | None = None,
    room: float = 0.0,
) -> Counts:
    """Count every attribute and every pair of attributes by class, in one pass over the rows.

    Parameters
    ----------
    codes, cards, y, n_classes, weights, n_threads
        As for `count_singles`.
    names : sequence of str, optional
        Names of the attributes, for messages.
    room : float, default=0.0
        Bytes that must be left for what is made of the counts.

    Returns
    -------
    Counts
        With pairs.

    Raises
    ------
    ValueError
        If the tables and that would take more than 2 GiB.
    """
    check_pair_memory(cards, n_classes, names, room)
    rows = Rows.checked(codes, cards, y, n_classes, weights)
    of_class, singles, pairs = counted(rows, n_threads, with_pairs=True)
    return Counts(n_classes, rows.cards, of_class, singles, pairs)


def count_families(
    codes: Array,
    cards: Array,
    y: Array,
    n_classes: int,
    families: Sequence[Sequence[int]],
    weights: Array | None = None,
    n_threads: int | None = None,
    names: Sequence[str] | None = None,
) -> list[Array]:
    """Count chosen sets of attributes by class.

    Parameters
    ----------
    codes, cards, y, n_classes, weights, n_threads
        As for `count_singles`.
    families : sequence of sequences of int
        Attributes that are counted together, a child and its parents.
    names : sequence of str, optional
        Names of the attributes, for messages.

    Returns
    -------
    list of ndarray
        For each family (child, parent, …) a table of shape (r_child + 1, r_parent + 1, …, K).

    Raises
    ------
    ValueError
        If the tables, and those of the network that is made of them, would take more than 2 GiB.
    """
    rows = Rows.checked(codes, cards, y, n_classes, weights)
    chosen = [np.asarray(family, dtype=np.int64) for family in families]
    check_family_memory(chosen, rows.cards, n_classes, names)
    return counted_families(rows, chosen, n_threads)
