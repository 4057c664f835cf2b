"""Expected counts of families when attributes are missing: the first half of a step of EM.

A row adds to each family (attribute, parents, class) the distribution of the family's missing
members given what the row has observed and its class, under the network as it stands:

    N(x_i, x_pa(i), c) = Σ_rows w P(x_i, x_pa(i) | observed, c).

`network.estimate_network` makes the next network of these counts. The distribution is exact, by the
same ways as in `inference`. A row that the network holds to be impossible tells nothing of its
missing values: it counts as it stands, with them in slot 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lindero.bayes.networks.elimination import eliminate, find_rare_patterns, group_patterns
from lindero.bayes.networks.flat_tables import CountCells, lay_out_counts
from lindero.bayes.networks.group_sums import RARE_STATE_LIMIT, STATE_LIMIT, groups_expected_counts
from lindero.bayes.networks.inference import read_codes
from lindero.bayes.networks.tree_messages import tree_expected_counts
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads

if TYPE_CHECKING:
    from lindero.bayes.networks.network import Network

#: Parts of the rows, whose counts are added up in order: the same sums for any number of threads.
_PARTS = 8

#: Counts of all parts together take no more numbers than this, or there is one part only.
_PART_CELLS = 2**24


def expect_counts(
    network: Network,
    codes: Array,
    y: Array,
    weights: Array | None = None,
    n_threads: int | None = None,
) -> list[Array]:
    """Expected counts of each attribute with its parents and the class: a table of shape
    (r + 1, r_p1 + 1, …, r_pm + 1, K) for each. Slot 0, missing, is empty but for impossible rows
    and attributes without values. `codes` hold no new values; threads change no bit."""
    codes, y = _check_rows(network, codes, y)
    n_rows = codes.shape[1]
    w = np.ones(n_rows) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    flat, cells = network.flat, lay_out_counts(network)
    possible = _find_possible(network, codes, y, n_threads)
    large = np.zeros(n_rows, dtype=bool)

    def count_parts(rows: Array, limit: int) -> Array:
        """The counts of rows, part by part; those left out are marked as large."""
        n_parts = _PARTS if cells.size * _PARTS <= _PART_CELLS and len(rows) >= _PARTS**2 else 1
        parts, counts = np.array_split(rows, n_parts), np.zeros((n_parts, cells.size))

        def count(k: int) -> None:
            if network.is_tree:
                tree_expected_counts(flat, codes, y, w, parts[k], cells, counts[k])
            else:
                groups_expected_counts(flat, codes, y, w, parts[k], limit, cells, counts[k], large)

        with TileThreads(n_threads if n_parts > 1 else 1) as threads:
            threads.map(count, range(n_parts))
        total: Array = counts.sum(axis=0)
        return total

    total = count_parts(np.flatnonzero(possible), STATE_LIMIT)
    if large.any():
        rare = find_rare_patterns(network, codes, np.flatnonzero(large))
        large[rare] = False
        total += count_parts(rare, RARE_STATE_LIMIT)
        for alike, hidden in group_patterns(network, codes, np.flatnonzero(large)):
            _add_eliminated(network, cells, codes[:, alike], y[alike], w[alike], hidden, total)
    if not possible.all():
        _add_as_they_stand(network, cells, codes[:, ~possible], y[~possible], w[~possible], total)
    ends = [*cells.start[1:], cells.size]
    return [
        total[cells.start[i] : ends[i]].reshape(*(network.cards[[i, *network.parents[i]]] + 1), -1)
        for i in range(network.n_attributes)
    ]


def _check_rows(network: Network, codes: Array, y: Array) -> tuple[Array, Array]:
    codes = np.asarray(codes)
    y = np.ascontiguousarray(y, dtype=np.int64)
    if codes.ndim == 2 and len(codes) == network.n_attributes:
        new = np.flatnonzero((codes > network.cards[:, None]).any(axis=1))
        if len(new):
            raise ValueError(
                f"Attribute {new[0]} has codes above its {network.cards[new[0]]} values: expected "
                "counts need codes of the values that the network knows."
            )
    codes = read_codes(codes, network.cards, takes_new_values=True)
    if y.shape != (codes.shape[1],):
        raise ValueError(f"y has shape {y.shape}; {codes.shape[1]} rows need one class each.")
    if len(y) and not 0 <= y.min() <= y.max() < network.n_classes:
        raise ValueError(f"y must hold classes from 0 to {network.n_classes - 1}.")
    return codes, y


def _find_possible(network: Network, codes: Array, y: Array, n_threads: int | None) -> Array:
    """Rows to which the network gives a probability above zero within their class."""
    if all(np.isfinite(table).all() for table in network.log_tables):
        return np.ones(codes.shape[1], dtype=bool)
    within_class = replace(network, log_prior=np.zeros(network.n_classes))
    log_values = within_class.log_joint(codes, n_threads)
    possible: Array = log_values[np.arange(len(y)), y] > -np.inf
    return possible


def _add_eliminated(
    network: Network,
    cells: CountCells,
    codes: Array,
    y: Array,
    weights: Array,
    hidden: set[int],
    total: Array,
) -> None:
    """Rows that all miss the same attributes, family by family."""
    for i, parents in enumerate(network.parents):
        missing = [j for j in (i, *parents) if j in hidden]
        share = np.ones(len(y))
        if missing:
            share = eliminate(network, codes, hidden, missing, y)[0][..., 0]
            share /= share.sum(axis=tuple(range(1, share.ndim)), keepdims=True)
        at = (cells.start[i] + y).reshape(-1, *[1] * len(missing))
        strides = cells.parent_stride[_parents_of(network, i)]
        for j, stride in zip((i, *parents), (cells.own_stride[i], *strides), strict=True):
            if j in missing:
                shape = [1] * (len(missing) + 1)
                shape[1 + missing.index(j)] = -1
                at = at + np.arange(1, network.cards[j] + 1).reshape(shape) * stride
            else:
                at = at + codes[j].astype(np.int64).reshape(-1, *[1] * len(missing)) * stride
        np.add.at(total, at, share * weights.reshape(-1, *[1] * len(missing)))


def _add_as_they_stand(
    network: Network, cells: CountCells, codes: Array, y: Array, weights: Array, total: Array
) -> None:
    """Rows with their missing values in slot 0."""
    for i, parents in enumerate(network.parents):
        at = cells.start[i] + y + codes[i].astype(np.int64) * cells.own_stride[i]
        for j, stride in zip(parents, cells.parent_stride[_parents_of(network, i)], strict=True):
            at += codes[j].astype(np.int64) * stride
        np.add.at(total, at, weights)


def _parents_of(network: Network, i: int) -> slice:
    return slice(int(network.flat.parent_start[i]), int(network.flat.parent_start[i + 1]))
