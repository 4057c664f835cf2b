"""Networks of any shape with missing attributes: which are summed out together, and their sums.

Missing attributes that meet in the same factor P(x_i | x_pa(i), c) form a group; groups are
independent given what is observed, so that

    P(c, observed) = P(c) Π_{factors without missing ones} Π_{groups} Σ_{states} Π_{its factors}.

An attribute with a new value is to its children as if missing; its factor then holds what a new
value has besides, P(x_i | x_pa(i), c) P(new | x_pa(i), c).

With a tenth of all values missing, groups hold a few attributes and their states are few: they are
enumerated. The members of a group are sorted into levels, parents first, and each factor belongs to
the level of its last member, so that changing the last members only, as enumeration mostly does,
leaves the product of the other factors as it is.

Rows with a group of more states than a limit are marked and left out. Many rows that miss the same
attributes are better served by `elimination`, which prepares for a pattern once; patterns of few
rows are worth enumerating up to many states.
"""

from __future__ import annotations

import numpy as np

from lindero.bayes.networks.flat_tables import count_cell, place
from lindero.runtime.compilation import EXACT, compiled


@compiled(EXACT)
def mark_needed(flat, state, needed):  # type: ignore[no-untyped-def]
    """Attributes that are observed or have an observed descendant; the others sum to one."""
    for i in range(state.size):
        needed[i] = state[i] != 0 or flat.cards[i] == 0
    for k in range(state.size - 1, -1, -1):
        i = flat.order[k]
        if needed[i]:
            for e in range(flat.parent_start[i], flat.parent_start[i + 1]):
                needed[flat.parent_of[e]] = True


@compiled(EXACT)
def hide_new(flat, needed, state, new):  # type: ignore[no-untyped-def]
    """Mark new values above something needed, which are summed out like missing ones."""
    new[:] = False
    for i in range(state.size):
        if needed[i]:
            for e in range(flat.parent_start[i], flat.parent_start[i + 1]):
                parent = flat.parent_of[e]
                new[parent] |= flat.cards[parent] > 0 and state[parent] > flat.cards[parent]
    for i in range(state.size):
        if new[i]:
            state[i] = 0


@compiled(EXACT)
def _root(group, i):  # type: ignore[no-untyped-def]
    while group[i] != i:
        i = group[i]
    return i


@compiled(EXACT)
def find_groups(flat, state, may_join, needed, group):  # type: ignore[no-untyped-def]
    """The group of each missing attribute that may join one, named by its first member; others -1.

    The factors of all that are `needed` bring together what they hold.
    """
    for i in range(state.size):
        hidden = may_join[i] and state[i] == 0 and flat.cards[i] > 0
        group[i] = i if hidden else -1
    for i in range(state.size):
        if not needed[i]:
            continue
        joined = _root(group, i) if group[i] >= 0 else -1
        for e in range(flat.parent_start[i], flat.parent_start[i + 1]):
            parent = flat.parent_of[e]
            if group[parent] >= 0:
                other = _root(group, parent)
                if joined >= 0:
                    group[max(joined, other)] = min(joined, other)
                    joined = min(joined, other)
                else:
                    joined = other
    for i in range(state.size):
        if group[i] >= 0:
            group[i] = _root(group, i)


@compiled(EXACT)
def most_states(flat, group):  # type: ignore[no-untyped-def]
    """The number of states of the largest group."""
    most = 0.0
    for g in range(group.size):
        if group[g] == g:
            states = 1.0
            for i in range(g, group.size):
                if group[i] == g:
                    states *= flat.cards[i]
            most = max(most, states)
    return most


@compiled(EXACT)
def group_of_factor(flat, i, group):  # type: ignore[no-untyped-def]
    """The group that the factor of attribute i belongs to, or -1."""
    if group[i] >= 0:
        return group[i]
    for e in range(flat.parent_start[i], flat.parent_start[i + 1]):
        if group[flat.parent_of[e]] >= 0:
            return group[flat.parent_of[e]]
    return -1


@compiled(EXACT)
def sort_into_levels(  # type: ignore[no-untyped-def]
    flat, g, group, needed, members, factors, level_start
):
    """The members of group g, one per level, and the factors of each; how many levels there are.

    The factors of level k are factors[level_start[k]:level_start[k + 1]].
    """
    n_levels = 0
    for k in range(group.size):
        if group[flat.order[k]] == g:
            members[n_levels] = flat.order[k]
            n_levels += 1
    n_factors = 0
    for level in range(n_levels):
        level_start[level] = n_factors
        for i in range(group.size):
            if needed[i] and group_of_factor(flat, i, group) == g:
                last = _last_level(flat, i, members, n_levels)
                if last == level:
                    factors[n_factors] = i
                    n_factors += 1
    level_start[n_levels] = n_factors
    return n_levels


@compiled(EXACT)
def _last_level(flat, i, members, n_levels):  # type: ignore[no-untyped-def]
    """The last level whose member is attribute i or a parent of it."""
    for level in range(n_levels - 1, -1, -1):
        if members[level] == i:
            return level
        for e in range(flat.parent_start[i], flat.parent_start[i + 1]):
            if members[level] == flat.parent_of[e]:
                return level
    return -1


# -- sums over the states of groups ---------------------------------------------------------------

#: States of a group that are enumerated in any row.
STATE_LIMIT = 1024

#: The same in rows whose pattern of missing attributes is rare.
RARE_STATE_LIMIT = 2**16

#: Rows of a rare pattern; more than these are eliminated together in less time.
RARE_ROWS = 64


@compiled(EXACT)
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


@compiled(EXACT)
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


@compiled(EXACT)
def _begin(members, n, state):  # type: ignore[no-untyped-def]
    """The first state of a group."""
    for level in range(n):
        state[members[level]] = 1


@compiled(EXACT)
def _next_state(cards, members, n, state):  # type: ignore[no-untyped-def]
    """Count on, last member fastest. The first level that changed; -1 after the last state."""
    for level in range(n - 1, -1, -1):
        if state[members[level]] < cards[members[level]]:
            state[members[level]] += 1
            return level
        state[members[level]] = 1
    return -1


@compiled(EXACT)
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


@compiled(EXACT)
def _normalise(share, weight):  # type: ignore[no-untyped-def]
    """Logarithms into parts of `weight`."""
    best, total = share.max(), 0.0
    for s in range(share.size):
        share[s] = np.exp(share[s] - best)
        total += share[s]
    for s in range(share.size):
        share[s] *= weight / total


@compiled(EXACT)
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


@compiled(EXACT)
def _add_mass(flat, cells, i, state, c, mass, counts):  # type: ignore[no-untyped-def]
    """Add to the counts of attribute i with its parents, whose values are known in `state`."""
    cell = count_cell(flat, cells, i, state) + c
    if state[i] > 0 or flat.cards[i] == 0:
        counts[cell] += mass
        return
    at = place(flat, i, state, state[i]) + c
    for x in range(1, flat.cards[i] + 1):
        counts[cell + x * cells.own_stride[i]] += mass * flat.values[at + x * flat.n_classes]
