"""Sums over the states of groups of missing attributes, row by row; see `hidden_groups`.

Rows with a group of more states than a limit are marked and left out. Many rows that miss the same
attributes are better served by `elimination`, which prepares for a pattern once; patterns of few
rows are worth enumerating up to many states.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lindero.bayes.networks.flat_tables import count_cell, place
from lindero.bayes.networks.hidden_groups import (
    find_groups,
    group_of_factor,
    hide_new,
    mark_needed,
    most_states,
    sort_into_levels,
)
from lindero.runtime.compilation import EXACT

#: States of a group that are enumerated in any row.
STATE_LIMIT = 1024

#: The same in rows whose pattern of missing attributes is rare.
RARE_STATE_LIMIT = 2**16

#: Rows of a rare pattern; more than these are eliminated together in less time.
RARE_ROWS = 64


@njit(cache=True, nogil=True, fastmath=EXACT)
def groups_log_joint(flat, log_prior, codes, rows, limit, out, large):  # type: ignore[no-untyped-def]
    """log P(c, observed) of chosen rows, into their rows of `out`; `large` marks those left out."""
    K, d = flat.n_classes, codes.shape[0]
    needed, new = np.empty(d, dtype=np.bool_), np.empty(d, dtype=np.bool_)
    group, state = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
    members, factors = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
    level_start, partial = np.empty(d + 1, dtype=np.int64), np.empty((d + 1, K))
    best, total = np.empty(K), np.empty(K)
    for row in rows:
        for i in range(d):
            state[i] = min(np.int64(codes[i, row]), flat.cards[i] + 1)
        mark_needed(flat, state, needed)
        hide_new(flat, needed, state, new)
        find_groups(flat, state, needed, needed, group)
        if most_states(flat, group) > limit:
            large[row] = True
            continue
        for c in range(K):
            out[row, c] = log_prior[c]
        for i in range(d):
            if needed[i] and group_of_factor(flat, i, group) < 0:
                at = place(flat, i, state, state[i])
                for c in range(K):
                    out[row, c] += flat.log_values[at + c]
        for g in range(d):
            if group[g] != g:
                continue
            n = sort_into_levels(flat, g, group, needed, members, factors, level_start)
            _begin(members, n, state)
            best[:], total[:], partial[0] = -np.inf, 0.0, 0.0
            level = 0
            while level >= 0:
                _log_products(flat, factors, level_start, level, n, state, new, 0, partial)
                for c in range(K):
                    value = partial[n, c]
                    if value > best[c]:
                        total[c] = total[c] * np.exp(best[c] - value) + 1.0
                        best[c] = value
                    elif value > -np.inf:
                        total[c] += np.exp(value - best[c])
                level = _next_state(flat.cards, members, n, state)
            for c in range(K):
                out[row, c] += best[c] + (np.log(total[c]) if total[c] > 0.0 else 0.0)


@njit(cache=True, nogil=True, fastmath=EXACT)
def groups_expected_counts(  # type: ignore[no-untyped-def]
    flat, codes, y, weights, rows, limit, cells, counts, large
):
    """Add what chosen rows tell of each attribute with its parents to `counts`.

    A missing attribute without children joins no group: it follows its parents' distribution.
    """
    d = codes.shape[0]
    needed, has_children = np.ones(d, dtype=np.bool_), np.zeros(d, dtype=np.bool_)
    new = np.zeros(d, dtype=np.bool_)
    has_children[flat.parent_of] = True
    group, state = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
    members, factors = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
    level_start, partial = np.empty(d + 1, dtype=np.int64), np.zeros((d + 1, 1))
    share = np.empty(limit)
    for row in rows:
        for i in range(d):
            state[i] = codes[i, row]
        find_groups(flat, state, has_children, needed, group)
        if most_states(flat, group) > limit:
            large[row] = True
            continue
        c = y[row]
        for i in range(d):
            if group_of_factor(flat, i, group) < 0:
                _add_mass(flat, cells, i, state, c, weights[row], counts)
        for g in range(d):
            if group[g] != g:
                continue
            n = sort_into_levels(flat, g, group, needed, members, factors, level_start)
            _begin(members, n, state)
            n_states, level = 0, 0
            while level >= 0:
                _log_products(flat, factors, level_start, level, n, state, new, c, partial)
                share[n_states] = partial[n, 0]
                n_states += 1
                level = _next_state(flat.cards, members, n, state)
            _normalise(share[:n_states], weights[row])
            _add_shares(
                flat, cells, c, members, n, factors, level_start, share, state, partial, counts
            )


@njit(cache=True, nogil=True, fastmath=EXACT)
def _begin(members, n, state):  # type: ignore[no-untyped-def]
    """The first state of a group."""
    for level in range(n):
        state[members[level]] = 1


@njit(cache=True, nogil=True, fastmath=EXACT)
def _next_state(cards, members, n, state):  # type: ignore[no-untyped-def]
    """Count on, last member fastest. The first level that changed; -1 after the last state, with
    all members back at their first values."""
    for level in range(n - 1, -1, -1):
        if state[members[level]] < cards[members[level]]:
            state[members[level]] += 1
            return level
        state[members[level]] = 1
    return -1


@njit(cache=True, nogil=True, fastmath=EXACT)
def _log_products(  # type: ignore[no-untyped-def]
    flat, factors, level_start, level, n, state, new, c0, partial
):
    """partial[k] holds the logarithm of the product of all factors below level k; renewed from
    `level` on, for as many classes as it has columns, from c0 on."""
    for k in range(level, n):
        for c in range(partial.shape[1]):
            partial[k + 1, c] = partial[k, c]
        for f in range(level_start[k], level_start[k + 1]):
            i = factors[f]
            at = place(flat, i, state, state[i]) + c0
            for c in range(partial.shape[1]):
                partial[k + 1, c] += flat.log_values[at + c]
            if new[i]:
                at = place(flat, i, state, flat.cards[i] + 1) + c0
                for c in range(partial.shape[1]):
                    partial[k + 1, c] += flat.log_values[at + c]


@njit(cache=True, nogil=True, fastmath=EXACT)
def _normalise(share, weight):  # type: ignore[no-untyped-def]
    """Logarithms into parts of `weight`."""
    best, total = share.max(), 0.0
    for s in range(share.size):
        share[s] = np.exp(share[s] - best)
        total += share[s]
    for s in range(share.size):
        share[s] *= weight / total


@njit(cache=True, nogil=True, fastmath=EXACT)
def _add_shares(  # type: ignore[no-untyped-def]
    flat, cells, c, members, n, factors, level_start, share, state, partial, counts
):
    """Add the shares of a group's states, in the order of enumeration, to its factors' counts.

    A factor sees the members up to its level: what the states that agree on these have together
    is added when the member of that level moves on. `partial` is room, left with zeros at 0.
    """
    partial[: n + 1] = 0.0
    at = 0
    level = n - 1
    while level >= 0:
        partial[n, 0] = share[at]
        at += 1
        level = n - 1
        while level >= 0:
            mass = partial[level + 1, 0]
            partial[level + 1, 0] = 0.0
            partial[level, 0] += mass
            for f in range(level_start[level], level_start[level + 1]):
                _add_mass(flat, cells, factors[f], state, c, mass, counts)
            member = members[level]
            if state[member] < flat.cards[member]:
                state[member] += 1
                break
            state[member] = 1
            level -= 1
    partial[0, 0] = 0.0


@njit(cache=True, nogil=True, fastmath=EXACT)
def _add_mass(flat, cells, i, state, c, mass, counts):  # type: ignore[no-untyped-def]
    """Add to the counts of attribute i with its parents, whose values are known in `state`."""
    cell = count_cell(flat, cells, i, state) + c
    if state[i] > 0 or flat.cards[i] == 0:
        counts[cell] += mass
        return
    at = place(flat, i, state, state[i]) + c
    for x in range(1, flat.cards[i] + 1):
        counts[cell + x * cells.own_stride[i]] += mass * flat.values[at + x * flat.n_classes]
