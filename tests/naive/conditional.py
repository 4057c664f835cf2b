"""Twin of conditional likelihoods: every row, class and completion by itself."""

import numpy as np

from tests.naive.network import completions, probability


def posterior(network, normals, codes, numbers):
    """P(c | x) of every row."""
    mean, sd = normals
    answers = []
    for row, x in zip(codes.T, numbers.T, strict=True):
        seen = ~np.isnan(x)
        joint = []
        for c in range(network.n_classes):
            away = (x[seen] - mean[seen, c]) / sd[seen, c]
            density = np.prod(np.exp(-0.5 * away**2) / sd[seen, c])
            discrete = sum(probability(network, state, c) for state in completions(network, row))
            joint.append(np.exp(network.log_prior[c]) * density * discrete)
        answers.append(np.array(joint) / np.sum(joint))
    return np.array(answers)


def surplus(network, codes, numbers, residuals):
    """Σ_rows Σ_c residual · E[statistics | x, c]: tables by family, of the class, and of numbers.

    With residuals 1[c = y] − P(c | x) it is the derivative of the conditional likelihood.
    """
    families = [(i, *parents) for i, parents in enumerate(network.parents)]
    tables = [np.zeros([*(network.cards[list(f)] + 1), network.n_classes]) for f in families]
    of_class, moments = np.zeros(network.n_classes), np.zeros((3, len(numbers), network.n_classes))
    for row, x, residual in zip(codes.T, numbers.T, residuals, strict=True):
        states, seen = completions(network, row), ~np.isnan(x)
        for c in range(network.n_classes):
            shares = np.array([probability(network, state, c) for state in states])
            for state, share in zip(states, shares / shares.sum(), strict=True):
                for family, table in zip(families, tables, strict=True):
                    table[(*state[list(family)], c)] += residual[c] * share
            of_class[c] += residual[c]
            moments[:, seen, c] += residual[c] * np.array([x[seen] ** 0, x[seen], x[seen] ** 2])
    return tables, of_class, moments


def slopes(network, tables):
    """Derivatives by the logarithms of unnormalised tables, (r, r_p1, …, K or 1)."""
    answers = []
    for table, log_table, tells in zip(tables, network.log_tables, network.with_class, strict=True):
        seen = table[(slice(1, None),) * (table.ndim - 1)]
        if not tells:
            seen = seen.sum(axis=-1, keepdims=True)
        answers.append(seen - np.exp(np.moveaxis(log_table, -2, 0)) * seen.sum(axis=0))
    return answers
