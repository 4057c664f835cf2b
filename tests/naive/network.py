"""Twins of inference in networks: everything is enumerated, one row and one class at a time."""

from itertools import product

import numpy as np


def factor(network, i, state, c):
    """P(x_i | x_pa(i), c) at one value per attribute; parents without any value are none."""
    r = int(network.cards[i])
    if r == 0:
        return 1.0
    parents = network.parents[i]
    above = tuple(int(state[p]) - 1 if network.cards[p] else 0 for p in parents)
    tables = network.log_tables[i], None if network.unseen is None else network.unseen[i]
    if any(network.cards[p] == 0 for p in parents):
        tables = network.without_empty[i]
    c = c if network.with_class[i] else 0
    if state[i] > r:
        return np.exp(tables[1][(*above, c)])
    return np.exp(tables[0][(*above, int(state[i]) - 1, c)])


def completions(network, row):
    """All rows of values that agree with this one where it has values."""
    options = [
        range(1, r + 1) if not 1 <= x <= r and r > 0 else [int(x)]
        for x, r in zip(row, network.cards, strict=True)
    ]
    return [np.array(state) for state in product(*options)]


def probability(network, state, c):
    return np.prod([factor(network, i, state, c) for i in range(len(state))])


def probability_of_new(network, row, state, c):
    """Of the new values of a row, given its completion."""
    if network.unseen is None:
        return 1.0
    new = np.flatnonzero(row > network.cards)
    return np.prod(
        [factor(network, i, np.where(i == np.arange(len(row)), row, state), c) for i in new]
    )


def log_joint(network, codes):
    with np.errstate(divide="ignore"):
        return network.log_prior + np.log(
            [
                [
                    sum(
                        probability(network, state, c) * probability_of_new(network, row, state, c)
                        for state in completions(network, row)
                    )
                    for c in range(network.n_classes)
                ]
                for row in codes.T
            ]
        )


def expect_counts(network, codes, y, weights):
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
