"""An average of star networks: each attribute in turn is the parent of all others.

    P(c, x) = 1/|S| Σ_{i ∈ S} P(c) P(x_i | c) Π_{j ≠ i} P(x_j | x_i, c)

S are the attributes that may be centres in a row. A star whose centre is missing is summed over the
centre's values, missing leaves drop out, and new values are treated as in `network`; so each term
is exactly what the star's own network gives. All of this needs counts of pairs only.

The table of centre i holds, for each of its values and once for a new one, the leaves side by
side, each with its slots 0…r + 1 and K classes: the leaves of a row are found in one short stretch
of memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from lindero.bayes.inference import in_tiles, read_codes
from lindero.bayes.network import Network, estimated
from lindero.kernels.compilation import EXACT
from lindero.kernels.functions import Array

_BLOCK = 64


class StarTables(NamedTuple):
    """The tables of all stars, as compiled code reads them."""

    n_classes: int
    cards: Array
    leaf_start: Array  # slots of each attribute, put side by side
    centre_start: Array  # where each attribute's slots begin in `centres`, in classes
    centres: Array  # log P(c, x_i): slots 0…r + 1 of all attributes, and K classes
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

    def log_joint(
        self, codes: Array, may_be_centre: Array | None = None, n_threads: int | None = None
    ) -> Array:
        """log P(c, observed attributes), averaged over stars; see `log_joint_of_stars`."""
        return log_joint_of_stars(self, codes, may_be_centre, n_threads)


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
    centres, leaves = [], []
    for i in range(d):
        network = star_network(i, cards, class_counts, single, pair, alpha, prior)
        flat, r = network.flat, int(cards[i])
        blocks = np.split(flat.log_values, flat.table_start[1:])
        centres.append(network.log_prior + blocks[i].reshape(2, r + 2, K)[0])
        stretches = [blocks[j].reshape(r + 1, -1) for j in range(d) if j != i]
        leaves.append(np.concatenate([np.zeros((r + 1, 0)), *stretches], axis=1).ravel())
    starts = np.cumsum([0, *slots], dtype=np.int64)
    tables = StarTables(
        K,
        cards,
        starts[:-1],
        starts[:-1] * K,
        np.concatenate(centres).ravel(),
        np.cumsum([0, *map(len, leaves)], dtype=np.int64)[:-1],
        np.concatenate(leaves),
    )
    return Stars(cards, K, network.log_prior, alpha > 0, tables)


def log_joint_of_stars(
    stars: Stars, codes: Array, may_be_centre: Array | None = None, n_threads: int | None = None
) -> Array:
    """log P(c, observed attributes), averaged over the stars that count in each row.

    Parameters
    ----------
    stars : Stars
        From `estimated_stars`.
    codes : integer array of shape (n_attributes, n_rows)
        0 missing, 1…r values, r + 1 new.
    may_be_centre : bool array of length Σ (r + 2), optional
        For the codes 0…r + 1 of all attributes, one attribute after the other, whether a row with
        that code counts the attribute's star. All of them do by default.
    n_threads : int or None
        Threads over rows; None takes all that are allowed. The result is always the same.

    Returns
    -------
    array of shape (n_rows, K)
        NaN in rows without a star.
    """
    codes = read_codes(codes, stars.cards, stars.unseen)
    n_slots = int((stars.cards + 2).sum())
    if may_be_centre is None:
        may_be_centre = np.ones(n_slots, dtype=bool)
    may_be_centre = np.ascontiguousarray(may_be_centre, dtype=bool)
    if may_be_centre.shape != (n_slots,):
        raise ValueError(
            f"may_be_centre has shape {may_be_centre.shape}; the codes of all attributes are "
            f"{n_slots}."
        )
    n_rows = codes.shape[1]
    out = np.empty((n_rows, stars.n_classes))

    def average(part: slice) -> None:
        _average(stars.tables, codes, part.start, part.stop, may_be_centre, out)

    in_tiles(average, n_rows, codes.size * stars.n_attributes, n_threads)
    return out


@njit(cache=True, nogil=True, fastmath=EXACT)
def _average(tables, codes, start, stop, may_be_centre, out):  # type: ignore[no-untyped-def]
    """Rows start…stop, a block at a time, so that one centre's table serves many of them."""
    d, K, cards = codes.shape[0], tables.n_classes, tables.cards
    slots = np.empty((_BLOCK, d), dtype=np.int64)
    stars, n_stars = np.empty((_BLOCK, d, K)), np.empty(_BLOCK, dtype=np.int64)
    inner = np.empty((cards.max(), K))
    for begin in range(start, stop, _BLOCK):
        n = min(_BLOCK, stop - begin)
        n_stars[:] = 0
        for i in range(d):
            for k in range(n):
                slots[k, i] = (
                    tables.leaf_start[i] + min(np.int64(codes[i, begin + k]), cards[i] + 1)
                ) * K
        for i in range(d):
            r, first = cards[i], tables.centre_start[i]
            width = (tables.leaf_start[d - 1] + cards[d - 1] - r) * K
            for k in range(n):
                code = slots[k, i] // K - tables.leaf_start[i]
                if not may_be_centre[tables.leaf_start[i] + code]:
                    continue
                star = stars[k, n_stars[k]]
                n_stars[k] += 1
                if code > 0 or r == 0:
                    star[:] = tables.centres[first + code * K : first + (code + 1) * K]
                    at = tables.table_start[i] + max(code - 1, 0) * width
                    _add_leaves(tables.leaves, at, slots[k], i, (r + 2) * K, star)
                    continue
                for x in range(r):
                    inner[x] = tables.centres[first + (x + 1) * K : first + (x + 2) * K]
                    at = tables.table_start[i] + x * width
                    _add_leaves(tables.leaves, at, slots[k], i, (r + 2) * K, inner[x])
                _log_sum(inner[:r], star)
        for k in range(n):
            # A row without a star has log 0 − log 0, not a number.
            _log_sum(stars[k, : n_stars[k]], out[begin + k])
            for c in range(K):
                out[begin + k, c] -= np.log(n_stars[k])


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
