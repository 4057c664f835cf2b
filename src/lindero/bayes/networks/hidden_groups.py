"""Networks of any shape with missing attributes: which of these must be summed out together.

Missing attributes that meet in the same factor P(x_i | x_pa(i), c) form a group; groups are
independent given what is observed, so that

    P(c, observed) = P(c) Π_{factors without missing ones} Π_{groups} Σ_{states} Π_{its factors}.

An attribute with a new value is to its children as if missing; its factor then holds what a new
value has besides, P(x_i | x_pa(i), c) P(new | x_pa(i), c).

With a tenth of all values missing, groups hold a few attributes and their states are few: they are
enumerated (`group_sums`). The members of a group are sorted into levels, parents first, and each
factor belongs to the level of its last member, so that changing the last members only, as
enumeration mostly does, leaves the product of the other factors as it is.
"""

from __future__ import annotations

from numba import njit

from lindero.runtime.compilation import EXACT


@njit(cache=True, nogil=True, fastmath=EXACT)
def mark_needed(flat, state, needed):  # type: ignore[no-untyped-def]
    """Attributes that are observed or have an observed descendant; the others sum to one."""
    for i in range(state.size):
        needed[i] = state[i] != 0 or flat.cards[i] == 0
    for k in range(state.size - 1, -1, -1):
        i = flat.order[k]
        if needed[i]:
            for e in range(flat.parent_start[i], flat.parent_start[i + 1]):
                needed[flat.parent_of[e]] = True


@njit(cache=True, nogil=True, fastmath=EXACT)
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


@njit(cache=True, nogil=True, fastmath=EXACT)
def _root(group, i):  # type: ignore[no-untyped-def]
    while group[i] != i:
        i = group[i]
    return i


@njit(cache=True, nogil=True, fastmath=EXACT)
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


@njit(cache=True, nogil=True, fastmath=EXACT)
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


@njit(cache=True, nogil=True, fastmath=EXACT)
def group_of_factor(flat, i, group):  # type: ignore[no-untyped-def]
    """The group that the factor of attribute i belongs to, or -1."""
    if group[i] >= 0:
        return group[i]
    for e in range(flat.parent_start[i], flat.parent_start[i + 1]):
        if group[flat.parent_of[e]] >= 0:
            return group[flat.parent_of[e]]
    return -1


@njit(cache=True, nogil=True, fastmath=EXACT)
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


@njit(cache=True, nogil=True, fastmath=EXACT)
def _last_level(flat, i, members, n_levels):  # type: ignore[no-untyped-def]
    """The last level whose member is attribute i or a parent of it."""
    for level in range(n_levels - 1, -1, -1):
        if members[level] == i:
            return level
        for e in range(flat.parent_start[i], flat.parent_start[i + 1]):
            if members[level] == flat.parent_of[e]:
                return level
    return -1
