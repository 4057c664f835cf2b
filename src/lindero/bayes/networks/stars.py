"""An average of star networks: each attribute in turn is the parent of all others.

    P(c, x) = 1/|S| Σ_{i ∈ S} P(c) P(x_i | c) Π_{j ≠ i} P(x_j | x_i, c)

S are the attributes of which anything was observed. A star whose centre is missing or new is summed
over the centre's values, missing leaves drop out, and new values have their probability as in
`network`; so each term is exactly what the star's own network gives. All of this needs counts of
pairs only.

The table of centre i holds, for each of its values, the leaves side by side, each with its slots
0…r + 1 and K classes: the leaves of a row are found in one short stretch of memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from lindero.bayes.networks.inference import in_tiles, read_codes
from lindero.bayes.networks.network import Network, estimated
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT

_BLOCK = 64


class StarTables(NamedTuple):
    """The tables of all stars, as compiled code reads them."""

    n_classes: int
    cards: Array
    centre_of: Array  # the attributes that are centres
    leaf_start: Array  # slots of each attribute, put side by side
    centres: Array  # log P(x_i | c): slots 0…r + 1 of all attributes, and K classes
    table_start: Array
    leaves: Array  # [table_start[i] + ((value - 1) * width_i + slot of leaf) * K + c]


@dataclass(frozen=True, eq=False)
class Stars:
    """Star networks over the same attributes, made by `estimated_stars`.

    Parameters
    ----------
    cards : int array of shape (n_attributes,)
        How many values each attribute has.
    n_classes : int
        K.
    log_prior : array of shape (K,)
        log P(c).
    unseen : bool
        Whether new values have a probability; without, they count as missing.
    tables : StarTables
        Probabilities.
    """

    cards: Array
    n_classes: int
    log_prior: Array
    unseen: bool
    tables: StarTables

    @property
    def n_attributes(self) -> int:
        """How many attributes there are."""
        return len(self.cards)

    def log_joint(self, codes: Array, n_threads: int | None = None) -> Array:
        """log P(c, observed attributes), averaged over stars, of shape (n_rows, K).

        Parameters
        ----------
        codes : integer array of shape (n_attributes, n_rows)
            0 missing, 1…r values, r + 1 new.
        n_threads : int or None
            Threads over rows; None takes all that are allowed. The result is always the same.
        """
        codes = read_codes(codes, self.cards, self.unseen)
        n_rows, n_stars = codes.shape[1], len(self.tables.centre_of)
        out = np.zeros((n_rows, self.n_classes))

        def average(part: slice) -> None:
            _average(self.tables, codes, part.start, part.stop, out)

        if n_stars:  # without, nothing was observed that could tell anything
            in_tiles(average, n_rows, codes.size * n_stars, n_threads)
        out += self.log_prior
        return out


def star_network(
    i: int,
    cards: Array,
    class_counts: Array,
    single: Callable[[int], Array],
    pair: Callable[[int, int], Array],
    alpha: float,
    prior: Array | None = None,
) -> Network:
    """The network in which attribute i is the parent of all others.

    `single(i)` gives counts of shape (r_i + 1, K), `pair(j, i)` of shape (r_j + 1, r_i + 1, K).
    """
    d = len(cards)
    families = [single(j) if j == i else pair(j, i) for j in range(d)]
    parents = [() if j == i else (i,) for j in range(d)]
    return estimated(families, parents, [True] * d, cards, class_counts, alpha, prior)


def estimated_stars(
    cards: Array,
    class_counts: Array,
    single: Callable[[int], Array],
    pair: Callable[[int, int], Array],
    alpha: float,
    prior: Array | None = None,
) -> Stars:
    """All stars, with probabilities as in `network.estimated`; arguments as in `star_network`."""
    cards = np.asarray(cards, dtype=np.int64)
    K, d = len(class_counts), len(cards)
    slots = cards + 2
    starts = np.cumsum([0, *slots], dtype=np.int64)
    centre_of = [i for i in range(d) if np.any(single(i)[1:])]
    widths = np.zeros(d, dtype=np.int64)
    widths[centre_of] = (starts[-1] - slots[centre_of]) * cards[centre_of] * K
    table_start = np.cumsum([0, *widths], dtype=np.int64)
    centres, leaves = np.zeros((starts[-1], K)), np.empty(table_start[-1])
    for i in centre_of:
        network = star_network(i, cards, class_counts, single, pair, alpha, prior)
        own = centres[starts[i] : starts[i + 1]]
        _write_star(i, network, own, leaves[table_start[i] : table_start[i + 1]])
        del network  # before the next one is made
    log_prior = estimated([], [], [], cards[:0], class_counts, alpha, prior).log_prior
    tables = StarTables(
        K, cards, np.array(centre_of, dtype=np.int64), starts[:-1], centres.ravel(),
        table_start[:-1], leaves,
    )  # fmt: skip
    return Stars(cards, K, log_prior, alpha > 0, tables)


def _write_star(i: int, network: Network, centre: Array, leaves: Array) -> None:
    """The tables of the star of attribute i: its own slots, and leaves for each of its values."""
    flat, r = network.flat_logs, int(network.cards[i])
    blocks = np.split(flat.log_values, flat.table_start[1:])
    centre[:] = blocks[i].reshape(centre.shape)
    stretches = [block.reshape(r, -1) for j, block in enumerate(blocks) if j != i]
    if stretches:
        np.concatenate(stretches, axis=1, out=leaves.reshape(r, -1))


@njit(cache=True, nogil=True, fastmath=EXACT)
def _average(tables, codes, start, stop, out):  # type: ignore[no-untyped-def]
    """Rows start…stop, a block at a time, so that one centre's table serves many of them."""
    d, K, cards = codes.shape[0], tables.n_classes, tables.cards
    slots = np.empty((_BLOCK, d), dtype=np.int64)
    n_stars = tables.centre_of.size
    stars = np.empty((_BLOCK, n_stars, K))
    inner = np.empty((cards.max(), K))
    for begin in range(start, stop, _BLOCK):
        n = min(_BLOCK, stop - begin)
        for i in range(d):
            for k in range(n):
                slots[k, i] = (
                    tables.leaf_start[i] + min(np.int64(codes[i, begin + k]), cards[i] + 1)
                ) * K
        for s in range(n_stars):
            i = tables.centre_of[s]
            r, first = cards[i], tables.leaf_start[i] * K
            width = (tables.leaf_start[d - 1] + cards[d - 1] - r) * K
            for k in range(n):
                code = slots[k, i] // K - tables.leaf_start[i]
                star, own = stars[k, s], tables.centres[slots[k, i] : slots[k, i] + K]
                if 1 <= code <= r:
                    star[:] = own
                    at = tables.table_start[i] + (code - 1) * width
                    _add_leaves(tables.leaves, at, slots[k], i, (r + 2) * K, star)
                    continue
                for x in range(r):
                    inner[x] = tables.centres[first + (x + 1) * K : first + (x + 2) * K]
                    at = tables.table_start[i] + x * width
                    _add_leaves(tables.leaves, at, slots[k], i, (r + 2) * K, inner[x])
                _log_sum(inner[:r], star)
                for c in range(K):
                    star[c] += own[c]  # the probability of a new value; 0 if missing
        for k in range(n):
            _log_sum(stars[k], out[begin + k])
            for c in range(K):
                out[begin + k, c] -= np.log(n_stars)


@njit(cache=True, nogil=True, fastmath=EXACT)
def _add_leaves(leaves, at, slots, centre, gap, out):  # type: ignore[no-untyped-def]
    """Add the leaves of one row, whose stretch begins at `at` and has no slots for the centre."""
    K = out.size
    for c in range(0, K - 1, 2):
        one, two = out[c], out[c + 1]
        for j in range(centre):
            one += leaves[at + slots[j] + c]
            two += leaves[at + slots[j] + c + 1]
        for j in range(centre + 1, slots.size):
            one += leaves[at + slots[j] - gap + c]
            two += leaves[at + slots[j] - gap + c + 1]
        out[c], out[c + 1] = one, two
    if K % 2:
        c = K - 1
        one = out[c]
        for j in range(centre):
            one += leaves[at + slots[j] + c]
        for j in range(centre + 1, slots.size):
            one += leaves[at + slots[j] - gap + c]
        out[c] = one


@njit(cache=True, nogil=True, fastmath=EXACT)
def _log_sum(logs, out):  # type: ignore[no-untyped-def]
    """log Σ exp over the first axis, for each class."""
    for c in range(out.size):
        largest, total = -np.inf, 0.0
        for k in range(logs.shape[0]):
            largest = max(largest, logs[k, c])
        if largest > -np.inf:
            for k in range(logs.shape[0]):
                total += np.exp(logs[k, c] - largest)
            largest += np.log(total)
        out[c] = largest
