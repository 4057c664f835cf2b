"""The tables of a network in one array, as compiled code reads them.

Attribute i has one block of r + 2 slots and K classes for each configuration of its parents, and
one block more. Slot 0 (missing) holds 0, the logarithm of one, so that a missing attribute without
observed children drops out by itself; slot r + 1 holds the value for what was not seen before. The
block more, at configuration `n_configs`, is taken when a parent has no value among 1…r: uniform.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from lindero.kernels.compilation import EXACT
from lindero.kernels.functions import Array

if TYPE_CHECKING:
    from lindero.bayes.network import Network


class FlatTables(NamedTuple):
    """Arrays over attributes, their parents, and the cells of their tables."""

    n_classes: int
    order: Array  # attributes, parents first
    cards: Array
    parent_start: Array  # parents of i are parent_of[parent_start[i]:parent_start[i + 1]]
    parent_of: Array
    parent_stride: Array  # in configurations
    n_configs: Array
    table_start: Array
    log_values: Array  # [table_start[i] + (configuration * (r + 2) + slot) * K + c]
    values: Array  # their exponentials


class CountCells(NamedTuple):
    """Where counts of families lie side by side, each (r + 1, r_p1 + 1, …, K), slot 0 missing."""

    start: Array  # of each attribute's counts
    own_stride: Array
    parent_stride: Array  # beside `parent_of`
    size: int


def count_cells(network: Network) -> CountCells:
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


def flattened(network: Network) -> FlatTables:
    """The tables of `network`, side by side."""
    K, cards = network.n_classes, np.asarray(network.cards, dtype=np.int64)
    blocks, strides, n_configs = [], [], []
    for i, (parents, log_table) in enumerate(zip(network.parents, network.log_tables, strict=True)):
        r, around = int(cards[i]), cards[list(parents)]
        n = int(np.prod(around))
        block = np.zeros((n + 1, r + 2, K))
        block[:n, 1 : r + 1] = log_table.reshape(n, r, log_table.shape[-1])
        if network.unseen is not None:
            block[:n, r + 1] = network.unseen[i].reshape(n, log_table.shape[-1])
        block[n, 1:] = -np.log(max(r, 1))
        blocks.append(block.ravel())
        strides.append(np.append(np.cumprod(around[:0:-1])[::-1], 1)[: len(parents)])
        n_configs.append(n)
    sizes = [block.size for block in blocks]
    log_values = np.concatenate(blocks) if blocks else np.zeros(0)
    return FlatTables(
        K,
        np.array(network.order, dtype=np.int64),
        cards,
        np.cumsum([0, *map(len, network.parents)], dtype=np.int64),
        np.array([p for family in network.parents for p in family], dtype=np.int64),
        np.concatenate([*strides, np.zeros(0)]).astype(np.int64),
        np.array(n_configs, dtype=np.int64),
        np.cumsum([0, *sizes], dtype=np.int64)[:-1],
        log_values,
        np.exp(log_values),
    )


@njit(cache=True, nogil=True, fastmath=EXACT)
def place(flat, i, state):  # type: ignore[no-untyped-def]
    """Where the classes of attribute i begin in `log_values`, for one code per attribute."""
    config = 0
    for e in range(flat.parent_start[i], flat.parent_start[i + 1]):
        code = state[flat.parent_of[e]]
        if code < 1 or code > flat.cards[flat.parent_of[e]]:
            config = flat.n_configs[i]
            break
        config += (code - 1) * flat.parent_stride[e]
    width = flat.cards[i] + 2
    slot = min(state[i], width - 1)
    return flat.table_start[i] + (config * width + slot) * flat.n_classes


@njit(cache=True, nogil=True, fastmath=EXACT)
def count_cell(flat, cells, i, state):  # type: ignore[no-untyped-def]
    """Where the classes begin in the counts of attribute i, for one code per attribute."""
    at = cells.start[i] + state[i] * cells.own_stride[i]
    for e in range(flat.parent_start[i], flat.parent_start[i + 1]):
        at += state[flat.parent_of[e]] * cells.parent_stride[e]
    return at
