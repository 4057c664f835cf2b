"""Twin of Bayesian classifiers: P(c, x) straight from the rows of a table of text.

Nothing is coded; every probability counts rows anew, and missing values are summed out by trying
all values. So are new ones, which have the probability of a value without counts besides.
"""

from itertools import product

import numpy as np


def joint(X, y, arcs, rows, alpha, without_class=()):
    """P(c, x) of each row and class; `arcs` are (parent, child) pairs of columns."""
    d, classes = X.shape[1], sorted(set(y))
    values = [sorted({v for v in X[:, j] if v is not None}) for j in range(d)]
    parents = [[a for a, b in arcs if b == j] for j in range(d)]

    def probability(j, x, c):
        here = [] if j in without_class else [c]
        seen = [
            row[j]
            for row, label in zip(X, y, strict=True)
            if here in ([], [label])
            and row[j] is not None
            and all(row[p] == x[p] for p in parents[j])
        ]
        if len(seen) + alpha == 0:
            return 1 / len(values[j])
        return (seen.count(x[j]) + alpha) / (len(seen) + alpha * len(values[j]))

    known = {}

    def kept(j, x, c):
        key = (j, x[j], tuple(x[p] for p in parents[j]), c)
        if key not in known:
            known[key] = probability(j, x, c)
        return known[key]

    def of_row(row, c):
        new = [j for j in range(d) if alpha > 0 and row[j] not in (None, *values[j])]
        options = [[row[j]] if row[j] in values[j] else values[j] for j in range(d)]
        return sum(
            np.prod([kept(j, x, c) for j in range(d)])
            * np.prod([kept(j, (*x[:j], row[j], *x[j + 1 :]), c) for j in new])
            for x in product(*options)
        )

    prior = [np.mean(np.asarray(y) == c) for c in classes]
    return np.array(
        [[p * of_row(row, c) for p, c in zip(prior, classes, strict=True)] for row in rows]
    )


def stars_joint(X, y, rows, alpha):
    """The average over networks in which one column is the parent of all others."""
    d = X.shape[1]
    each = [joint(X, y, [(i, j) for j in range(d) if j != i], rows, alpha) for i in range(d)]
    return np.mean(each, axis=0)
