"""Counts without some attributes that were missing in every row.

A column of which no value has been seen is counted as an attribute without values, since it may
turn out to hold categories. Where it turns out to hold numbers with a density, it is taken out
again: its only slot is that of missing values, so nothing is lost.
"""

from __future__ import annotations

from itertools import combinations
from typing import TypeVar

import numpy as np

from lindero.bayes.counts.counts import Counts
from lindero.bayes.networks.families import FamilyCounts
from lindero.runtime.arrays import Array

AnyCounts = TypeVar("AnyCounts", Counts, FamilyCounts)


def without_attributes(counts: AnyCounts, gone: list[int]) -> AnyCounts:
    """The same counts without attributes that have no values."""
    left = [i for i in range(len(counts.cards)) if i not in gone]
    if isinstance(counts, Counts):
        return _of_tables(counts, left)
    return _of_families(counts, left)


def _of_tables(counts: Counts, left: list[int]) -> Counts:
    singles = _in_a_row([counts.single(i) for i in left])
    pairs = None
    if counts.pairs is not None:
        pairs = _in_a_row([counts.pair(i, j) for i, j in combinations(left, 2)])
    return Counts(counts.n_classes, counts.cards[left], counts.of_class, singles, pairs)


def _in_a_row(tables: list[Array]) -> Array:
    return np.concatenate([np.empty(0), *(table.ravel() for table in tables)])


def _of_families(counts: FamilyCounts, left: list[int]) -> FamilyCounts:
    place = {i: at for at, i in enumerate(left)}
    parents, tables = [], []
    for i in left:
        # The axes of parents that are gone have one slot.
        whole = tuple(slice(None) if p in place else 0 for p in counts.parents[i])
        tables.append(counts.tables[i][(slice(None), *whole)])
        parents.append(tuple(place[p] for p in counts.parents[i] if p in place))
    with_class = tuple(counts.with_class[i] for i in left)
    return FamilyCounts(tuple(parents), with_class, counts.of_class, tuple(tables))
