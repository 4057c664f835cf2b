"""Twin of EM over a latent class: every row, cluster and column by itself."""

import numpy as np


def log_joint(weights, tables, mean, sd, codes, numbers):
    """log P(z, x) of every row; tables are P(x | z), of shape (r, K)."""
    answers = []
    for row, x in zip(codes.T, numbers.T, strict=True):
        joint = np.log(weights)
        for code, table in zip(row, tables, strict=True):
            if code > 0:
                joint = joint + np.log(table[code - 1])
        for value, m, s in zip(x, mean, sd, strict=True):
            if not np.isnan(value):
                joint = joint - 0.5 * ((value - m) / s) ** 2 - np.log(s * np.sqrt(2 * np.pi))
        answers.append(joint)
    return np.array(answers)


def shares(joint):
    """P(z | x)."""
    odds = np.exp(joint - joint.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def log_likelihood(joint, row_weights):
    """Σ w log P(x)."""
    return float(row_weights @ np.logaddexp.reduce(joint, axis=1))


def log_prior(tables, alpha):
    """The logarithm of the prior that pseudo-counts stand for, but for a constant."""
    return alpha * sum(float(np.log(table).sum()) for table in tables)


def estimate(shares, row_weights, codes, cards, numbers, alpha, least_sd):
    """Weights, tables, means and standard deviations of largest expected likelihood and prior."""
    counted = shares * row_weights[:, None]
    tables, means, sds = [], [], []
    for column, r in zip(codes, cards, strict=True):
        values = [counted[column == value].sum(axis=0) for value in range(1, r + 1)]
        table = np.reshape(values, (r, shares.shape[1]))
        tables.append((table + alpha) / (table + alpha).sum(axis=0))
    for column, least in zip(numbers, least_sd, strict=True):
        seen = ~np.isnan(column)
        part = counted[seen] / counted[seen].sum(axis=0)
        mean = part.T @ column[seen]
        variance = (part * (column[seen, None] - mean) ** 2).sum(axis=0)
        means.append(mean)
        sds.append(np.maximum(np.sqrt(variance), least))
    K = shares.shape[1]
    weights = counted.sum(axis=0) / row_weights.sum()
    return weights, tables, np.reshape(means, (-1, K)), np.reshape(sds, (-1, K))
