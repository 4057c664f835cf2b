"""The joint distribution of a network at what rows have observed, missing attributes summed out.

Most rows need look-ups only. The others, in which something observed hangs below something missing
or new, are summed by messages in trees, and otherwise by enumerating small groups of missing
attributes (`group_sums`) or eliminating them (`elimination`). Each row is computed by itself:
threads change no bit of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lindero.bayes.networks.elimination import eliminate, find_rare_patterns, group_patterns
from lindero.bayes.networks.group_sums import (
    RARE_ROWS,
    RARE_STATE_LIMIT,
    STATE_LIMIT,
    groups_log_joint,
)
from lindero.bayes.networks.tree_messages import tree_log_joint
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, compiled
from lindero.runtime.threads import TileThreads

if TYPE_CHECKING:
    from lindero.bayes.networks.network import Network


class JointModel(Protocol):
    """What has a joint distribution over coded attributes and a class: a network, or an average."""

    @property
    def log_prior(self) -> Array: ...
    def log_joint(self, codes: Array) -> Array: ...
    def log_terms(self, codes: Array) -> Array: ...


#: A model of the coded attributes, and means and standard deviations of the Gaussian columns.
Estimate = tuple[JointModel, Array, Array]

_TILE_ROWS = 8192

#: Fewer look-ups than this take less time than starting threads.
_THREAD_WORK = 2_000_000

#: How many look-ups an attribute costs, at least, in a row that is summed.
_SUM_STEPS = 8


def compute_log_joint(
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

    run_in_tiles(look_up, n_rows, codes.size, n_threads)
    rows = np.flatnonzero(incomplete)
    if len(rows):
        _sum_out(network, codes, rows, out, n_threads, numbers)
    return out


def compute_log_terms(network: Network, codes: Array, n_threads: int | None = None) -> Array:
    """What each attribute adds to the joint distribution; see `Network.log_terms`."""
    codes = read_codes(codes, network.cards, network.unseen is not None)
    terms = np.zeros((*codes.shape, network.n_classes))
    incomplete = np.zeros(codes.shape[1], dtype=bool)
    flat = network.flat_logs

    def look_up(part: slice) -> None:
        lookup_terms(flat, codes, part.start, part.stop, terms, incomplete)

    run_in_tiles(look_up, codes.shape[1], codes.size, n_threads)
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
        before = compute_log_joint(network, known[:, below], n_threads, rows[below])
        known[i] = codes[i, rows]
        after = compute_log_joint(network, known[:, below], n_threads, rows[below])
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


def run_in_tiles(
    work: Callable[[slice], None],
    n_rows: int,
    n_steps: int,
    n_threads: int | None,
    step: int = _TILE_ROWS,
) -> None:
    """Run `work` on ranges of rows, in threads where there is enough to do."""
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
    run_in_tiles(work, len(rows), _SUM_STEPS * len(rows) * len(codes), n_threads)
    if not large.any():
        return
    rare = find_rare_patterns(network, codes, np.flatnonzero(large))
    large[rare] = False

    def enumerate_many_states(part: slice) -> None:
        groups_log_joint(flat, log_prior, codes, rare[part], RARE_STATE_LIMIT, out, large)

    run_in_tiles(enumerate_many_states, len(rare), len(rare) * STATE_LIMIT, n_threads, RARE_ROWS)
    for alike, hidden in group_patterns(network, codes, np.flatnonzero(large)):
        number = int(alike[0] if numbers is None else numbers[alike[0]])
        values, log_scale = eliminate(network, codes[:, alike], hidden, (), number=number)
        with np.errstate(divide="ignore"):
            out[alike] = log_prior + log_scale + np.log(values)


# -- look-ups -------------------------------------------------------------------------------------
#
# The whole answer for rows whose missing attributes have no observed descendant: such attributes
# sum to one and drop out, and what is left of the joint distribution is a product of one entry per
# attribute. Rows are taken in blocks that stay in the cache. Rows in which an observed attribute
# has a parent that is missing or new are marked on the way.

_BLOCK = 512

#: Attributes whose values are added in one go.
_TOGETHER = 4


@compiled(EXACT)
def add_lookups(flat, codes, start, stop, out, incomplete):  # type: ignore[no-untyped-def]
    """Add the look-ups of all attributes to rows start…stop of `out` (n_rows, K)."""
    d = codes.shape[0]
    index = np.empty((_TOGETHER, _BLOCK), dtype=np.int64)
    for begin in range(start, stop, _BLOCK):
        end = min(begin + _BLOCK, stop)
        for i in range(0, d, _TOGETHER):
            for a in range(_TOGETHER):
                if i + a < d:
                    _places(flat, codes, i + a, begin, end, index[a], incomplete)
                else:
                    index[a] = flat.table_start[0]  # slot 0: nothing to add
            _add_together(flat.log_values, index, out[begin:end])


@compiled(EXACT)
def lookup_terms(flat, codes, start, stop, out, incomplete):  # type: ignore[no-untyped-def]
    """Add each attribute's look-ups to its own rows of `out` (n_attributes, n_rows, K)."""
    index = np.empty(_BLOCK, dtype=np.int64)
    for begin in range(start, stop, _BLOCK):
        end = min(begin + _BLOCK, stop)
        for i in range(codes.shape[0]):
            _places(flat, codes, i, begin, end, index, incomplete)
            _add(flat.log_values, index, out[i, begin:end])


@compiled(EXACT)
def _places(flat, codes, i, begin, end, index, incomplete):  # type: ignore[no-untyped-def]
    """Where the classes of attribute i begin, for each row of a block."""
    K, width, at = flat.n_classes, flat.cards[i] + 2, flat.table_start[i]
    first, last = flat.parent_start[i], flat.parent_start[i + 1]
    own = codes[i, begin:end]
    if first == last:
        for k in range(own.size):
            index[k] = at + min(np.int64(own[k]), width - 1) * K
        return
    marks = incomplete[begin:end]
    for k in range(own.size):
        index[k] = 0
    for e in range(first, last):
        r, stride = flat.cards[flat.parent_of[e]], flat.parent_stride[e]
        above = codes[flat.parent_of[e], begin:end]
        for k in range(own.size):
            code = np.int64(above[k])
            # A parent without a value among 1…r leads anywhere: the row is marked, or slot 0 taken.
            outside = (code == 0) | (code > r)
            index[k] += 0 if outside else (code - 1) * stride
            marks[k] |= outside & (r > 0) & (own[k] != 0)
    for k in range(own.size):
        slot = min(np.int64(own[k]), width - 1)
        index[k] = at + (index[k] * width + slot) * K


@compiled(EXACT)
def _add_together(log_values, index, out):  # type: ignore[no-untyped-def]
    """Add the values of several attributes, reading and writing `out` once.

    Two classes at a time: loops over few classes inside that over rows would cost twice as much.
    """
    first, second, third, fourth = index[0], index[1], index[2], index[3]
    K = out.shape[1]
    for j in range(0, K - 1, 2):
        for k in range(out.shape[0]):
            a, b, c, d = first[k] + j, second[k] + j, third[k] + j, fourth[k] + j
            out[k, j] += (log_values[a] + log_values[b]) + (log_values[c] + log_values[d])
            a, b, c, d = a + 1, b + 1, c + 1, d + 1
            out[k, j + 1] += (log_values[a] + log_values[b]) + (log_values[c] + log_values[d])
    if K % 2:
        j = K - 1
        for k in range(out.shape[0]):
            a, b, c, d = first[k] + j, second[k] + j, third[k] + j, fourth[k] + j
            out[k, j] += (log_values[a] + log_values[b]) + (log_values[c] + log_values[d])


@compiled(EXACT)
def _add(log_values, index, out):  # type: ignore[no-untyped-def]
    for k in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[k, j] += log_values[index[k] + j]


# -- from log P(c, x) to P(c | x) ------------------------------------------------------------------
#
# A row that is impossible under every class says nothing of the classes: they keep the
# probabilities that they have without it.


def to_log_posterior(joint: Array, log_prior: Array) -> Array:
    """log P(c | x), in the place of log P(c, x), of shape (n_rows, K)."""
    _normalise(joint, np.ascontiguousarray(log_prior), True)
    return joint


def to_posterior(joint: Array, log_prior: Array) -> Array:
    """P(c | x), in the place of log P(c, x)."""
    _normalise(joint, np.ascontiguousarray(log_prior), False)
    return joint


def find_most_probable(joint: Array, log_prior: Array) -> Array:
    """The code of the most probable class of each row."""
    codes: Array = np.argmax(joint, axis=1)
    impossible = np.isneginf(joint[np.arange(len(joint)), codes])
    codes[impossible] = np.argmax(log_prior)
    return codes


@compiled(EXACT)
def _normalise(joint, log_prior, in_logs):  # type: ignore[no-untyped-def]
    """Each row less the logarithm of its sum, or its shares."""
    n, n_classes = joint.shape
    for i in range(n):
        row = joint[i]
        largest = -np.inf
        for c in range(n_classes):
            largest = max(largest, row[c])
        if largest == -np.inf:
            for c in range(n_classes):
                row[c] = log_prior[c]
                largest = max(largest, row[c])
        total = 0.0
        for c in range(n_classes):
            row[c] -= largest
            # The largest is the usual case, and costs no exponential.
            share = 1.0 if row[c] == 0.0 else np.exp(row[c])
            total += share
            if not in_logs:
                row[c] = share
        if in_logs:
            less = np.log(total)
            for c in range(n_classes):
                row[c] -= less
        else:
            for c in range(n_classes):
                row[c] /= total


def find_informative(mean: Array, sd: Array) -> Array:
    """Gaussian columns that are not the same under all classes."""
    different: Array = ((mean != mean[:, :1]) | (sd != sd[:, :1])).any(axis=1)
    return different
