"""Twins of inference in networks: everything is enumerated, one row and one class at a time."""

from itertools import product

import numpy as np


def factor(network, i, state, c):
    """P(x_i | x_pa(i), c) at one code per attribute, new values included."""
    r = int(network.cards[i])
    above = tuple(int(state[p]) - 1 for p in network.parents[i])
    known = all(0 <= x < network.cards[p] for x, p in zip(above, network.parents[i], strict=True))
    c = c if network.with_class[i] else 0
    if r == 0 or not known:
        return 1 / max(r, 1)
    if state[i] > r:
        return np.exp(network.unseen[i][(*above, c)])
    return np.exp(network.log_tables[i][(*above, int(state[i]) - 1, c)])


def completions(network, row):
    """All rows that agree with this one where it is observed."""
    if network.unseen is None:
        row = np.where(row > network.cards, 0, row)
    options = [
        range(1, r + 1) if x == 0 and r > 0 else [int(x)]
        for x, r in zip(row, network.cards, strict=True)
    ]
    return [np.array(state) for state in product(*options)]


def probability(network, state, c):
    return np.prod([factor(network, i, state, c) for i in range(len(state))])


def log_joint(network, codes):
    with np.errstate(divide="ignore"):
        return network.log_prior + np.log(
            [
                [
                    sum(probability(network, state, c) for state in completions(network, row))
                    for c in range(network.n_classes)
                ]
                for row in codes.T
            ]
        )


def expected_counts(network, codes, y, weights):
    families = [(i, *parents) for i, parents in enumerate(network.parents)]
    counts = [
        np.zeros([*(int(network.cards[j]) + 1 for j in family), network.n_classes])
        for family in families
    ]
    for row, c, weight in zip(codes.T, y, weights, strict=True):
        states = completions(network, row)
        shares = np.array([probability(network, state, c) for state in states])
        if shares.sum() == 0:
            states, shares = [row], np.ones(1)
        for state, share in zip(states, shares / shares.sum(), strict=True):
            for family, table in zip(families, counts, strict=True):
                table[(*(state[j] for j in family), c)] += weight * share
    return counts
