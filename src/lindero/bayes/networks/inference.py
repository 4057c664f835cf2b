"""The joint distribution of a network at what rows have observed, missing attributes summed out.

Most rows need look-ups only. The others, in which something observed hangs below something missing
or new, are summed by messages in trees, and otherwise by enumerating small groups of missing
attributes (`group_sums`) or eliminating them (`elimination`). Each row is computed by itself:
threads change no bit of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from lindero.bayes.networks.elimination import eliminated, of_rare_patterns, patterns
from lindero.bayes.networks.group_sums import (
    RARE_ROWS,
    RARE_STATE_LIMIT,
    STATE_LIMIT,
    groups_log_joint,
)
from lindero.bayes.networks.lookups import add_lookups, lookup_terms
from lindero.bayes.networks.tree_messages import tree_log_joint
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads

if TYPE_CHECKING:
    from lindero.bayes.networks.network import Network

_TILE_ROWS = 8192

#: Fewer look-ups than this take less time than starting threads.
_THREAD_WORK = 2_000_000

#: How many look-ups an attribute costs, at least, in a row that is summed.
_SUM_STEPS = 8


def log_joint(
    network: Network, codes: Array, n_threads: int | None = None, numbers: Array | None = None
) -> Array:
    """log P(c, observed attributes) of all rows; see `Network.log_joint`. `numbers` are those of
    the rows, for messages, where they are not counted from 0."""
    codes = read_codes(codes, network.cards, network.unseen is not None)
    n_rows = codes.shape[1]
    out = np.empty((n_rows, network.n_classes))
    out[:] = network.log_prior
    incomplete = np.zeros(n_rows, dtype=bool)
    flat = network.flat_logs

    def look_up(part: slice) -> None:
        add_lookups(flat, codes, part.start, part.stop, out, incomplete)

    in_tiles(look_up, n_rows, codes.size, n_threads)
    rows = np.flatnonzero(incomplete)
    if len(rows):
        _sum_out(network, codes, rows, out, n_threads, numbers)
    return out


def log_terms(network: Network, codes: Array, n_threads: int | None = None) -> Array:
    """What each attribute adds to the joint distribution; see `Network.log_terms`."""
    codes = read_codes(codes, network.cards, network.unseen is not None)
    terms = np.zeros((*codes.shape, network.n_classes))
    incomplete = np.zeros(codes.shape[1], dtype=bool)
    flat = network.flat_logs

    def look_up(part: slice) -> None:
        lookup_terms(flat, codes, part.start, part.stop, terms, incomplete)

    in_tiles(look_up, codes.shape[1], codes.size, n_threads)
    rows = np.flatnonzero(incomplete)
    if len(rows):
        _renew_terms(network, codes, rows, terms, n_threads)
    return terms


def _renew_terms(
    network: Network, codes: Array, rows: Array, terms: Array, n_threads: int | None
) -> None:
    """The terms of observed attributes below a missing or new parent: what knowing them changes."""
    known = np.zeros((len(codes), len(rows)), dtype=codes.dtype)
    for i in network.order:
        parents = [p for p in network.parents[i] if network.cards[p] > 0]
        outside = (known[parents] == 0) | (known[parents] > network.cards[parents][:, None])
        below = np.flatnonzero((codes[i, rows] != 0) & outside.any(axis=0))
        before = log_joint(network, known[:, below], n_threads, rows[below])
        known[i] = codes[i, rows]
        after = log_joint(network, known[:, below], n_threads, rows[below])
        # What is impossible already stays so, whatever comes.
        possible = before > -np.inf
        after[~possible] = before[~possible] = 0.0
        terms[i, rows[below]] = after - before


def read_codes(codes: Array, cards: Array, takes_new_values: bool) -> Array:
    """Codes as compiled code takes them; new values become missing where none are taken."""
    codes = np.asarray(codes)
    if codes.ndim != 2 or codes.shape[0] != len(cards):
        raise ValueError(
            f"codes have shape {codes.shape}; {len(cards)} attributes need ({len(cards)}, n_rows)."
        )
    if codes.dtype not in (np.uint8, np.uint16, np.int32):
        if codes.dtype.kind not in "iu":
            raise ValueError(f"codes must be integers; they are of type {codes.dtype}.")
        codes = codes.astype(np.int32)
    if codes.dtype.kind == "i" and codes.size and codes.min() < 0:
        raise ValueError("codes must not be negative: 0 is missing, and values count from 1.")
    codes = np.ascontiguousarray(codes)
    if not takes_new_values:
        new = codes > cards[:, None]
        if new.any():
            codes = np.where(new, codes.dtype.type(0), codes)
    return codes


def in_tiles(
    work: Callable[[slice], None],
    n_rows: int,
    n_steps: int,
    n_threads: int | None,
    tile_rows: int | None = None,
) -> None:
    """Run `work` on ranges of rows, in threads where there is enough to do."""
    step = _TILE_ROWS if tile_rows is None else tile_rows
    tiles = [slice(k, min(k + step, n_rows)) for k in range(0, n_rows, step)]
    if n_steps < _THREAD_WORK or n_threads == 1:
        for tile in tiles:
            work(tile)
        return
    with TileThreads(n_threads) as threads:
        threads.map(work, tiles)


def _sum_out(
    network: Network,
    codes: Array,
    rows: Array,
    out: Array,
    n_threads: int | None,
    numbers: Array | None,
) -> None:
    """The rows of `out` in which something missing or new must be summed out."""
    flat, log_prior = network.flat, np.ascontiguousarray(network.log_prior, dtype=np.float64)
    large = np.zeros(len(out), dtype=bool)

    def send_messages(part: slice) -> None:
        tree_log_joint(flat, log_prior, codes, rows[part], out)

    def enumerate_states(part: slice) -> None:
        groups_log_joint(flat, log_prior, codes, rows[part], STATE_LIMIT, out, large)

    work = send_messages if network.is_tree else enumerate_states
    in_tiles(work, len(rows), _SUM_STEPS * len(rows) * len(codes), n_threads)
    if not large.any():
        return
    rare = of_rare_patterns(network, codes, np.flatnonzero(large))
    large[rare] = False

    def enumerate_many_states(part: slice) -> None:
        groups_log_joint(flat, log_prior, codes, rare[part], RARE_STATE_LIMIT, out, large)

    in_tiles(enumerate_many_states, len(rare), len(rare) * STATE_LIMIT, n_threads, RARE_ROWS)
    for alike, hidden in patterns(network, codes, np.flatnonzero(large)):
        number = int(alike[0] if numbers is None else numbers[alike[0]])
        values, log_scale = eliminated(network, codes[:, alike], hidden, (), number=number)
        with np.errstate(divide="ignore"):
            out[alike] = log_prior + log_scale + np.log(values)
