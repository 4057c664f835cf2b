"""Counts of a table's values with the class: all that fitting needs to see of the rows.

Counting and estimating are separate verbs. Counts add up: those of two parts of a table merge into
those of the whole, bit for bit, since float64 holds whole numbers exactly. Parameters are derived
from counts, whoever made them.

Codes of an attribute with r values are 0 (missing) and 1 … r; a table of counts has a slot for
each, and the class last:

    single(i)[x, c]         rows of class c with x_i = x
    pair(i, j)[x, y, c]     rows of class c with x_i = x and x_j = y

Structures are found from mutual information. With counts n of the rows in which all attributes
concerned are observed, and N their sum,

    I(X_i; C)       = Σ n(x, c) / N · log [n(x, c) N / (n(x) n(c))]
    I(X_i; X_j | C) = Σ n(x, y, c) / N · log [n(x, y, c) n(c) / (n(x, c) n(y, c))]

are the information of an attribute about the class, and of two about each other given the class, in
nats. Where values are missing, N is less than the weight W of all rows, and the information of few
rows is mostly chance: N rows of independent attributes show (r_i − 1)(r_j − 1) K / 2N nats on
average. Attributes are compared by their information over all rows, less the chance that comes of
missing ones,

    N / W · I(X_i; X_j | C) − (1 − N / W) (r_i − 1)(r_j − 1) K / 2W,

and likewise for I(X_i; C) with (r_i − 1)(K − 1). With nothing missing this is I itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from lindero.bayes.counts.counting import (
    COUNT_ROUNDING,
    CodedRows,
    CountLayout,
    count_family_tables,
    count_tables,
)
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, compiled


@dataclass(frozen=True, eq=False)
class Counts:
    """Weights of rows by class, attribute and pair of attributes i < j, table after table."""

    n_classes: int  # K
    cards: Array  # number r of values of each attribute
    of_class: Array  # weight of the rows of each class
    singles: Array
    pairs: Array | None = None  # None where pairs were not counted

    @cached_property
    def layout(self) -> CountLayout:
        """Where each table begins."""
        return CountLayout.of(self.cards, self.n_classes, self.pairs is not None)

    @property
    def n_attributes(self) -> int:
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

    def grow(self, cards: Array) -> Counts:
        """A copy of these counts with room for more values of some attributes, `cards` of each."""
        cards = np.asarray(cards, dtype=np.int64)
        if cards.shape != self.cards.shape or np.any(cards < self.cards):
            raise ValueError(
                f"Attributes of {self.cards.tolist()} values cannot grow to {cards.tolist()}: "
                "give a number of values for each attribute, none smaller than before."
            )
        layout = CountLayout.of(cards, self.n_classes, self.pairs is not None)
        pairs = None if self.pairs is None else np.zeros(layout.pair_cells)
        singles, of_class = np.zeros(layout.single_cells), np.zeros(self.n_classes)
        new = Counts(self.n_classes, cards, of_class, singles, pairs)
        new._add(self)
        return new

    def keep(self, attributes: list[int]) -> Counts:
        """The counts of some attributes, in this order."""
        singles = _concatenate([self.single(i) for i in attributes])
        pairs = None
        if self.pairs is not None:
            pairs = _concatenate([self.pair(i, j) for i, j in combinations(attributes, 2)])
        return Counts(self.n_classes, self.cards[attributes], self.of_class, singles, pairs)

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

    def subtract(self, other: Counts) -> Counts:
        """Counts of the rows that are left without those of the other, of the same values: as of
        counting only these, bit for bit if weights are whole numbers. Refused, with the place,
        where fewer were counted."""
        pairs = None
        if self.pairs is not None and other.pairs is not None:
            pairs = subtract_counts(self.pairs, other.pairs)
        return Counts(
            self.n_classes, self.cards, subtract_counts(self.of_class, other.of_class),
            subtract_counts(self.singles, other.singles), pairs,
        )  # fmt: skip

    def seen_values(self, i: int) -> Array:
        """Which of its values attribute i has in some row."""
        return np.asarray(self.single(i)[1:].any(axis=1))

    def keep_values(self, kept: list[Array]) -> Counts:
        """Without values that no row has; `kept` are the slots of each attribute to be kept."""
        singles = _concatenate([self.single(i)[own] for i, own in enumerate(kept)])
        pairs = None
        if self.pairs is not None:
            places = combinations(range(self.n_attributes), 2)
            pairs = _concatenate([self.pair(i, j)[np.ix_(kept[i], kept[j])] for i, j in places])
        cards = np.array([len(own) - 1 for own in kept], dtype=np.int64)
        return Counts(self.n_classes, cards, self.of_class, singles, pairs)

    def merge(self, other: Counts) -> Counts:
        """Counts of the rows of both, as of counting all rows at once. Attributes may have more or
        fewer values in the other, as long as codes mean the same."""
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
            room = self.pairs.nbytes + other.pairs.nbytes
            check_pair_memory(cards, self.n_classes, room=room)
        total = self.grow(cards)
        total._add(other)
        return total


#: Beyond, float64 does not hold all whole numbers.
_MOST_EXACT = 2.0**53


def subtract_counts(one: Array, two: Array) -> Array:
    """one − two, never negative: whole numbers exactly; else a rest that may be rounding is 0."""
    rest = one - two
    whole = bool(np.all(one % 1.0 == 0.0) and np.all(two % 1.0 == 0.0))
    if not whole or one.max(initial=0.0) >= _MOST_EXACT:
        rest[(two > 0.0) & (np.abs(rest) <= COUNT_ROUNDING * one)] = 0.0
    if (rest < 0.0).any():
        raise ValueError(
            "X holds rows that were not learned: fewer rows with their values and classes were "
            "counted than are to be forgotten. Pass rows as they were given to fit or partial_fit, "
            "with their classes and weights."
        )
    return rest


def _concatenate(tables: list[Array]) -> Array:
    return np.concatenate([np.empty(0), *(table.ravel() for table in tables)])


# -- from rows to counts ---------------------------------------------------------------------------


def count_singles(rows: CodedRows, n_threads: int | None = None) -> Counts:
    """Count every attribute by class; the number of threads does not change the result."""
    _ = rows.ranges  # checked
    if len(rows.cards) == 0:
        return Counts(rows.n_classes, rows.cards, rows.count_classes(), np.zeros(0))
    of_class, singles, _ = count_tables(rows, n_threads, with_pairs=False)
    return Counts(rows.n_classes, rows.cards, of_class, singles)


def count_pairs(
    rows: CodedRows,
    n_threads: int | None = None,
    names: Sequence[str] | None = None,
    room: float = 0.0,
) -> Counts:
    """Count every attribute and every pair by class, in one pass over the rows. Tables that would
    not fit, with `room` bytes for what is made of them, are refused. Names are for messages."""
    check_pair_memory(rows.cards, rows.n_classes, names, room)
    of_class, singles, pairs = count_tables(rows, n_threads, with_pairs=True)
    return Counts(rows.n_classes, rows.cards, of_class, singles, pairs)


def count_families(
    rows: CodedRows,
    families: Sequence[Sequence[int]],
    n_threads: int | None = None,
    names: Sequence[str] | None = None,
) -> list[Array]:
    """Count chosen sets of attributes by class, a child and its parents, into a table of shape
    (r_child + 1, r_parent + 1, …, K) for each. Tables that would not fit are refused."""
    _ = rows.ranges  # checked
    chosen = [np.asarray(family, dtype=np.int64) for family in families]
    check_family_memory(chosen, rows.cards, rows.n_classes, names)
    return count_family_tables(rows, chosen, n_threads)


# -- tables must fit into memory -------------------------------------------------------------------

#: Most bytes that tables of counts, and those made of them, may take together.
MOST_BYTES = 2 * 2**30

#: How often a network holds what was counted of its families: logarithms of probabilities, the same
#: as compiled code reads them, and their exponentials.
TABLES_OF_A_NETWORK = 3


def find_pair_bytes(cards: Array, n_classes: int) -> float:
    """The size of tables of all pairs."""
    slots = np.asarray(cards, dtype=np.float64) + 1.0
    return float(8 * n_classes * (slots.sum() ** 2 - (slots**2).sum()) / 2)


def find_tree_bytes(cards: Array, n_classes: int) -> float:
    """The most that tables of the pairs along a tree take: all with the largest attribute."""
    slots = np.asarray(cards, dtype=np.float64) + 1.0
    largest = slots.max(initial=0.0)
    return float(8 * n_classes * largest * (slots.sum() - largest))


def check_pair_memory(
    cards: Array, n_classes: int, names: Sequence[str] | None = None, room: float = 0.0
) -> None:
    """Refuse to count all pairs if their tables, and `room` bytes beside them, would not fit."""
    size = find_pair_bytes(cards, n_classes)
    if size + room > MOST_BYTES:
        largest = np.argsort(-np.asarray(cards), kind="stable")[:2]
        beside = f" and what belongs to them another {_show_bytes(room)}" if room else ""
        raise ValueError(
            f"Counts of all pairs of columns would take {_show_bytes(size)}{beside}, more than "
            f"{_show_bytes(MOST_BYTES)}; the largest table is that of "
            f"{_describe(largest, cards, names)}. Join rare values, or leave such columns out."
        )


def check_family_memory(
    families: Sequence[Array], cards: Array, n_classes: int, names: Sequence[str] | None = None
) -> None:
    """Refuse to count families if their tables, and those of their network, would not fit."""
    slots = np.asarray(cards, dtype=np.float64) + 1.0
    sizes = [8 * n_classes * float(np.prod(slots[family])) for family in families]
    room = TABLES_OF_A_NETWORK * sum(sizes)
    if sum(sizes) + room > MOST_BYTES:
        largest = families[int(np.argmax(sizes))]
        raise ValueError(
            f"Counts of all families would take {_show_bytes(sum(sizes))} and their network "
            f"another {_show_bytes(room)}, more than {_show_bytes(MOST_BYTES)}; the largest table "
            f"is that of {_describe(largest, cards, names)}. Allow fewer parents, join rare "
            "values, or leave such columns out."
        )


def _describe(attributes: Array, cards: Array, names: Sequence[str] | None) -> str:
    """Columns with their numbers of values."""
    named = [f"column {i}" if names is None else repr(names[i]) for i in attributes]
    texts = [f"{name} ({cards[i]} values)" for name, i in zip(named, attributes, strict=True)]
    return " and ".join(texts)


def _show_bytes(size: float) -> str:
    return f"{size / 2**30:.3g} GiB"


# -- information about the class, and of attributes about each other ------------------------------

#: Decimals of information, in nats, by which attributes are compared.
_DECIMALS = 10


def find_observed(counts: Counts) -> Array:
    """Which attributes some row has, of shape (n_attributes,)."""
    return np.array([counts.single(i)[1:].any() for i in range(counts.n_attributes)], dtype=bool)


def measure_relevance(counts: Counts) -> Array:
    """The information of each attribute about the class over all rows, to compare them by; see the
    module. Equal where only rounding differs, so that ties stay ties."""
    freedom = np.maximum(counts.cards - 1, 0) * (counts.n_classes - 1)
    return _weigh(counts, *measure_information(counts), freedom)


def measure_dependence(counts: Counts) -> Array:
    """The information of each two attributes about each other, given the class, over all rows, to
    compare them by; see the module. Symmetric; the diagonal means nothing."""
    less = np.maximum(counts.cards - 1, 0)
    freedom = np.outer(less, less) * counts.n_classes
    return _weigh(counts, *measure_conditional_information(counts), freedom)


def measure_information(counts: Counts) -> tuple[Array, Array]:
    """I(X_i; C) of each attribute, and the weight of the rows that it is from."""
    found = np.zeros((2, counts.n_attributes))
    for i in range(counts.n_attributes):
        found[:, i] = measure_pair(counts.single(i)[1:, :, None])
    return found[0], found[1]


def measure_conditional_information(counts: Counts) -> tuple[Array, Array]:
    """I(X_i; X_j | C) of each two attributes, zero on the diagonal, and the weight of its rows."""
    d = counts.n_attributes
    found = np.zeros((2, d, d))
    for i in range(d):
        for j in range(i + 1, d):
            found[:, i, j] = found[:, j, i] = measure_pair(counts.pair(i, j)[1:, 1:])
    return found[0], found[1]


def _weigh(counts: Counts, information: Array, weight: Array, freedom: Array) -> Array:
    """Information from rows of a weight, as all rows see it, less chance."""
    total = max(float(counts.of_class.sum()), np.finfo(np.float64).tiny)
    share = weight / total
    weighed: Array = share * information - (1.0 - share) * freedom / (2.0 * total)
    # Sums taken in another order, as when values came in another order, differ in the last bits.
    return np.round(weighed, _DECIMALS)


def require_comparable(values: Array, name: str) -> Array:
    """Numbers by which attributes are compared; NaN is refused."""
    values = np.asarray(values, dtype=np.float64)
    if np.isnan(values).any():
        at = np.argwhere(np.isnan(values))[0].tolist()
        raise ValueError(f"{name} must be numbers that can be compared, but is NaN at {at}.")
    return values


@compiled(EXACT, error_model="numpy")
def measure_pair(table):  # type: ignore[no-untyped-def]
    """Σ p(x, y, c) log [p(x, y, c) p(c) / (p(x, c) p(y, c))] of counts [x, y, c], and their sum."""
    n_left, n_right, n_classes = table.shape
    left, right = np.zeros((n_left, n_classes)), np.zeros((n_right, n_classes))
    by_class = np.zeros(n_classes)
    for x in range(n_left):
        for y in range(n_right):
            for c in range(n_classes):
                count = table[x, y, c]
                left[x, c] += count
                right[y, c] += count
                by_class[c] += count
    total, information = 0.0, 0.0
    for c in range(n_classes):
        total += by_class[c]
    for x in range(n_left):
        for y in range(n_right):
            for c in range(n_classes):
                count = table[x, y, c]
                if count > 0.0:
                    ratio = count * by_class[c] / (left[x, c] * right[y, c])
                    information += count * math.log(ratio)
    # Information is never negative; what rounding leaves below zero is independence.
    return (max(information / total, 0.0) if total > 0.0 else 0.0), total
