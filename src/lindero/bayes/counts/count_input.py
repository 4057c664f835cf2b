"""What is checked before counting: compiled loops look at no bounds, and tables must fit memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lindero.bayes.counts.count_groups import Array

#: Most bytes that tables of counts, and those made of them, may take together.
MOST_BYTES = 2 * 2**30

#: How often a network holds what was counted of its families: logarithms of probabilities, the same
#: as compiled code reads them, and their exponentials.
TABLES_OF_A_NETWORK = 3


@dataclass(frozen=True, eq=False)
class Rows:
    """Coded rows whose codes and classes are known to lie in their tables.

    `lowest` and `highest` are the codes that occur of each attribute.
    """

    codes: Array
    cards: Array
    y: Array
    n_classes: int
    weights: Array | None
    lowest: Array
    highest: Array

    @classmethod
    def checked(
        cls, codes: Array, cards: Array, y: Array, n_classes: int, weights: Array | None
    ) -> Rows:
        """The rows, or a ValueError that says which attribute or class has no place."""
        codes, cards = np.ascontiguousarray(codes), np.asarray(cards, dtype=np.int64)
        y = np.asarray(y)
        n_attributes, n_rows = codes.shape
        lengths = {"cards": (len(cards), n_attributes), "y": (len(y), n_rows)}
        if weights is not None:
            lengths["weights"] = (len(weights), n_rows)
        for name, (length, expected) in lengths.items():
            if length != expected:
                raise ValueError(
                    f"{name} has {length} entries where codes of shape {codes.shape} need "
                    f"{expected}: codes have a row for each attribute."
                )
        lowest, highest = _range_of(codes)
        outside = np.flatnonzero((lowest < 0) | (highest > cards))
        if len(outside):
            i = int(outside[0])
            raise ValueError(
                f"Attribute {i} has codes from {lowest[i]} to {highest[i]}, outside of 0 (missing) "
                f"to {cards[i]}: values that were never seen cannot be counted."
            )
        first, last = _range_of(y[None, :])
        if first[0] < 0 or last[0] >= n_classes:
            raise ValueError(
                f"y has classes from {first[0]} to {last[0]}, outside of 0 to {n_classes - 1}."
            )
        return cls(codes, cards, y, n_classes, weights, lowest, highest)


def _range_of(codes: Array) -> tuple[Array, Array]:
    """Least and greatest entry of every row; 0 where there are none."""
    if codes.shape[1] == 0:
        return np.zeros(len(codes), dtype=np.int64), np.zeros(len(codes), dtype=np.int64)
    return codes.min(axis=1).astype(np.int64), codes.max(axis=1).astype(np.int64)


def pair_bytes(cards: Array, n_classes: int) -> float:
    """The size of tables of all pairs."""
    slots = np.asarray(cards, dtype=np.float64) + 1.0
    return float(8 * n_classes * (slots.sum() ** 2 - (slots**2).sum()) / 2)


def tree_bytes(cards: Array, n_classes: int) -> float:
    """The most that tables of the pairs along a tree take: all with the largest attribute."""
    slots = np.asarray(cards, dtype=np.float64) + 1.0
    largest = slots.max(initial=0.0)
    return float(8 * n_classes * largest * (slots.sum() - largest))


def check_pair_memory(
    cards: Array, n_classes: int, names: Sequence[str] | None = None, room: float = 0.0
) -> None:
    """Refuse to count all pairs if their tables would not fit, with `room` bytes for what is there
    beside them; the largest is named."""
    size = pair_bytes(cards, n_classes)
    if size + room > MOST_BYTES:
        largest = np.argsort(-np.asarray(cards), kind="stable")[:2]
        beside = f" and what belongs to them another {_gibibytes(room)}" if room else ""
        raise ValueError(
            f"Counts of all pairs of columns would take {_gibibytes(size)}{beside}, more than "
            f"{_gibibytes(MOST_BYTES)}; the largest table is that of "
            f"{_described(largest, cards, names)}. Join rare values, or leave such columns out."
        )


def check_family_memory(
    families: Sequence[Array], cards: Array, n_classes: int, names: Sequence[str] | None = None
) -> None:
    """Refuse to count families if their tables, and those of the network that is made of them,
    would not fit; the largest is named."""
    slots = np.asarray(cards, dtype=np.float64) + 1.0
    sizes = [8 * n_classes * float(np.prod(slots[family])) for family in families]
    room = TABLES_OF_A_NETWORK * sum(sizes)
    if sum(sizes) + room > MOST_BYTES:
        largest = families[int(np.argmax(sizes))]
        raise ValueError(
            f"Counts of all families would take {_gibibytes(sum(sizes))} and their network another "
            f"{_gibibytes(room)}, more than {_gibibytes(MOST_BYTES)}; the largest table is that of "
            f"{_described(largest, cards, names)}. Allow fewer parents, join rare values, or "
            "leave such columns out."
        )


def _described(attributes: Array, cards: Array, names: Sequence[str] | None) -> str:
    """Columns with their numbers of values."""
    named = [f"column {i}" if names is None else repr(names[i]) for i in attributes]
    texts = [f"{name} ({cards[i]} values)" for name, i in zip(named, attributes, strict=True)]
    return " and ".join(texts)


def _gibibytes(size: float) -> str:
    return f"{size / 2**30:.3g} GiB"
