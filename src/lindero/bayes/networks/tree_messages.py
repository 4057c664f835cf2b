"""Trees with missing attributes: one pass up for the joint, one down for expected counts.

Let λ_i(x_i) be the probability of everything observed below attribute i, given x_i and the class.
A missing attribute sends its parent the message

    μ_i(x_p) = Σ_x P(x | x_p, c) λ_i(x),

an observed one P(x_i | x_p, c), and λ_p is the product of the messages of the children. Where the
parent is observed or there is none, the message is a factor of the answer. λ is kept as a logarithm
until all children have sent theirs, so that hundreds of them do not underflow, and then divided by
its largest. An attribute with a new value is to its children as if missing, and its message also
has the probability of a new value.

Going down again, P(x_i | x_p, observed, c) ∝ P(x_i | x_p, c) λ_i(x_i) for a missing attribute,
which times the distribution of x_p is that of the pair: what a row adds to the expected counts.
"""

from __future__ import annotations

import numpy as np

from lindero.runtime.compilation import EXACT, compiled


@compiled(EXACT)
def tree_log_joint(flat, log_prior, codes, rows, out):  # type: ignore[no-untyped-def]
    """log P(c, observed) of chosen rows, into their rows of `out`."""
    d, K = codes.shape[0], flat.n_classes
    parent, first = _parents(flat), _first_states(flat.cards)
    below = np.empty((first[-1], K))
    told, state = np.empty(d, dtype=np.bool_), np.empty(d, dtype=np.int64)
    for row in rows:
        for i in range(d):
            state[i] = min(np.int64(codes[i, row]), flat.cards[i] + 1)
        for c in range(K):
            out[row, c] = log_prior[c]
        _upwards(flat, parent, first, state, 0, K, below, told, out[row])


@compiled(EXACT)
def tree_expected_counts(  # type: ignore[no-untyped-def]
    flat, codes, y, weights, rows, cells, counts
):
    """Add the expected counts of each attribute with its parent, in chosen rows, to `counts`."""
    d = codes.shape[0]
    parent, first = _parents(flat), _first_states(flat.cards)
    below, belief = np.empty((first[-1], 1)), np.empty(first[-1])
    told, state = np.empty(d, dtype=np.bool_), np.empty(d, dtype=np.int64)
    joint = np.zeros(1)
    for row in rows:
        for i in range(d):
            state[i] = codes[i, row]
        c, weight = y[row], weights[row]
        _upwards(flat, parent, first, state, c, 1, below, told, joint)
        for k in range(d):
            i = flat.order[k]
            p = parent[i]
            above_stride = cells.parent_stride[flat.parent_start[i]] if p >= 0 else 0
            at = cells.start[i] + c
            if (state[i] == 0 and flat.cards[i] > 0) or (
                p >= 0 and state[p] == 0 and flat.cards[p] > 0
            ):
                strides = (cells.own_stride[i], above_stride)
                _count_pair(
                    flat, i, p, first, state, c, weight, below, told, belief, at, strides, counts
                )
            else:
                slot = state[p] if p >= 0 else 0
                counts[at + state[i] * cells.own_stride[i] + slot * above_stride] += weight


@compiled(EXACT)
def _parents(flat):  # type: ignore[no-untyped-def]
    """The parent of each attribute, or -1."""
    parent = np.full(flat.cards.size, -1, dtype=np.int64)
    for i in range(parent.size):
        if flat.parent_start[i] < flat.parent_start[i + 1]:
            parent[i] = flat.parent_of[flat.parent_start[i]]
    return parent


@compiled(EXACT)
def _first_states(cards):  # type: ignore[no-untyped-def]
    """Where each attribute's values begin when all are put side by side."""
    first = np.zeros(cards.size + 1, dtype=np.int64)
    for i in range(cards.size):
        first[i + 1] = first[i] + cards[i]
    return first


@compiled(EXACT)
def _upwards(flat, parent, first, state, c0, n, below, told, joint):  # type: ignore[no-untyped-def]
    """Add the messages of all attributes to `joint`, for n classes from c0 on.

    Afterwards `told` says which missing or new attributes have something observed below, and
    `below` holds their λ, divided by its largest.
    """
    cards, log_values, values, K = flat.cards, flat.log_values, flat.values, flat.n_classes
    told[:] = False
    for k in range(state.size - 1, -1, -1):
        i = flat.order[k]
        p, r, code = parent[i], cards[i], state[i]
        if code == 0 and not told[i]:
            continue  # nothing is observed here or below: it sums to one
        at, width = flat.table_start[i] + c0, (r + 2) * K
        config, n_configs = 0, 1
        to_parent = p >= 0 and (state[p] == 0 or state[p] > cards[p]) and cards[p] > 0
        if p >= 0:
            if to_parent:
                n_configs = cards[p]
                if not told[p]:
                    told[p] = True
                    below[first[p] : first[p + 1]] = 0.0
            else:
                config = max(state[p] - 1, 0) if cards[p] > 0 else 0
        for c in range(n):
            shift = _lift(below, first[i], first[i + 1], c) if told[i] else 0.0
            for g in range(n_configs):
                cell = at + (config + g) * width + c
                message = log_values[cell + code * K]  # 0 if missing
                if told[i]:
                    total = 0.0
                    for x in range(r):
                        total += values[cell + (x + 1) * K] * below[first[i] + x, c]
                    message += np.log(total) + shift
                if to_parent:
                    below[first[p] + g, c] += message
                else:
                    joint[c] += message


@compiled(EXACT)
def _lift(below, start, stop, c):  # type: ignore[no-untyped-def]
    """Turn logarithms into values with largest 1; the logarithm that was taken off."""
    shift = -np.inf
    for x in range(start, stop):
        shift = max(shift, below[x, c])
    if shift == -np.inf:
        shift = 0.0
    for x in range(start, stop):
        below[x, c] = np.exp(below[x, c] - shift)
    return shift


@compiled(EXACT)
def _count_pair(  # type: ignore[no-untyped-def]
    flat, i, p, first, state, c, weight, below, told, belief, at, strides, counts
):
    """Add the distribution of i and its parent p, one of them missing, to the counts at `at`."""
    r, K = flat.cards[i], flat.n_classes
    own_stride, above_stride = strides
    hidden = state[i] == 0 and r > 0
    hidden_above = p >= 0 and state[p] == 0 and flat.cards[p] > 0
    if hidden:
        belief[first[i] : first[i + 1]] = 0.0
    for g in range(flat.cards[p] if hidden_above else 1):
        above, config, slot = 1.0, 0, 0
        if hidden_above:
            above, config, slot = belief[first[p] + g], g, g + 1
        elif p >= 0:
            slot = state[p]
            config = slot - 1 if slot > 0 else 0
        if above == 0.0:
            continue
        cell = at + slot * above_stride
        if not hidden:
            counts[cell + state[i] * own_stride] += weight * above
            continue
        source = flat.table_start[i] + config * (r + 2) * K + c
        total = 0.0
        for x in range(r):
            total += flat.values[source + (x + 1) * K] * (
                below[first[i] + x, 0] if told[i] else 1.0
            )
        for x in range(r):
            part = flat.values[source + (x + 1) * K] * (below[first[i] + x, 0] if told[i] else 1.0)
            part *= above / total
            belief[first[i] + x] += part
            counts[cell + (x + 1) * own_stride] += weight * part
