"""The tables of a network in one array, as compiled code reads them.

Attribute i has one block of r + 2 slots and K classes for each configuration of its parents. Slot 0
(missing) holds 0, the logarithm of one, so that a missing attribute without observed children drops
out by itself; slot r + 1 holds the value for what was not seen before. A parent without any value
(r = 0) has one configuration. Other parents that are missing or new are summed out: their children
have no block for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, compiled

if TYPE_CHECKING:
    from lindero.bayes.networks.network import Network


class FlatTables(NamedTuple):
    """Arrays over attributes, their parents, and the cells of their tables."""

    n_classes: int
    order: Array  # attributes, parents first
    cards: Array
    parent_start: Array  # parents of i are parent_of[parent_start[i]:parent_start[i + 1]]
    parent_of: Array
    parent_stride: Array  # in configurations
    table_start: Array
    log_values: Array  # [table_start[i] + (configuration * (r + 2) + slot) * K + c]
    values: Array  # their exponentials, which only sums need: empty where there are none


class CountCells(NamedTuple):
    """Where counts of families lie side by side, each (r + 1, r_p1 + 1, …, K), slot 0 missing."""

    start: Array  # of each attribute's counts
    own_stride: Array
    parent_stride: Array  # beside `parent_of`
    size: int


def lay_out_counts(network: Network) -> CountCells:
    """Room for the counts of each attribute of `network` with its parents."""
    starts: list[int] = []
    own: list[int] = []
    around: list[int] = []
    size = 0
    for i, parents in enumerate(network.parents):
        widths = [int(network.cards[j]) + 1 for j in (i, *parents)]
        strides = network.n_classes * np.append(np.cumprod(widths[:0:-1])[::-1], 1)
        starts.append(size)
        own.append(strides[0])
        around.extend(strides[1:])
        size += int(strides[0]) * widths[0]
    start, own_stride, parent_stride = (np.array(p, dtype=np.int64) for p in (starts, own, around))
    return CountCells(start, own_stride, parent_stride, size)


def flatten(network: Network) -> FlatTables:
    """The tables of `network`, side by side, without their exponentials."""
    K, cards = network.n_classes, np.asarray(network.cards, dtype=np.int64)
    configs = [np.maximum(cards[list(parents)], 1) for parents in network.parents]
    n_configs = np.array([np.prod(around) for around in configs], dtype=np.int64)
    starts = np.cumsum([0, *(n_configs * (cards + 2) * K)], dtype=np.int64)
    log_values = np.zeros(starts[-1])
    strides = [np.zeros(0, dtype=np.int64)]
    for i, around in enumerate(configs):
        n, r = int(n_configs[i]), int(cards[i])
        block = log_values[starts[i] : starts[i + 1]].reshape(n, r + 2, K)
        log_table, unseen = network.tables_of(i)
        block[:, 1 : r + 1] = log_table.reshape(n, r, log_table.shape[-1])
        if unseen is not None:
            block[:, r + 1] = unseen.reshape(n, unseen.shape[-1])
        strides.append(np.append(np.cumprod(around[:0:-1])[::-1], 1)[: len(around)])
    return FlatTables(
        K,
        np.array(network.order, dtype=np.int64),
        cards,
        np.cumsum([0, *map(len, network.parents)], dtype=np.int64),
        np.array([p for family in network.parents for p in family], dtype=np.int64),
        np.concatenate(strides).astype(np.int64),
        starts[:-1],
        log_values,
        np.zeros(0),
    )


@compiled(EXACT)
def place(flat, i, state, own):  # type: ignore[no-untyped-def]
    """Where the classes of attribute i begin in `log_values`, for its code `own` and the codes of
    its parents in `state`, which have a value or have none at all."""
    config = 0
    for e in range(flat.parent_start[i], flat.parent_start[i + 1]):
        config += max(state[flat.parent_of[e]] - 1, 0) * flat.parent_stride[e]
    width = flat.cards[i] + 2
    return flat.table_start[i] + (config * width + min(own, width - 1)) * flat.n_classes


@compiled(EXACT)
def count_cell(flat, cells, i, state):  # type: ignore[no-untyped-def]
    """Where the classes begin in the counts of attribute i, for one code per attribute."""
    at = cells.start[i] + state[i] * cells.own_stride[i]
    for e in range(flat.parent_start[i], flat.parent_start[i + 1]):
        at += state[flat.parent_of[e]] * cells.parent_stride[e]
    return at
