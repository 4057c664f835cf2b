"""Twin of Bayesian classifiers: P(c, x) straight from the rows of a table of text.

Nothing is coded; every probability counts rows anew, and missing values are summed out by trying
all values. So are new ones, which have the probability of a value without counts besides.
"""

from itertools import product

import numpy as np


def share_gaps(states):
    """Weights of (values of a family, class), a child and its parents: where a parent is missing,
    its values get shares (N_v + P(v)) / (N + 1), one parent after another."""
    n_parents = len(next(iter(states))[0]) - 1
    for k in range(1, n_parents + 1):
        values = sorted({family[k] for family, _ in states} - {None})
        shared = {}
        for (family, c), weight in states.items():
            if family[k] is not None or not values:
                shared[family, c] = shared.get((family, c), 0.0) + weight
                continue
            in_class = {
                v: sum(w for (f, label), w in states.items() if f[k] == v and label == c)
                for v in values
            }
            known = sum(in_class.values())
            alike = {v: states.get(((*family[:k], v, *family[k + 1 :]), c), 0.0) for v in values}
            for v in values:
                usual = in_class[v] / known if known else 1 / len(values)
                share = (alike[v] + usual) / (sum(alike.values()) + 1)
                state = (*family[:k], v, *family[k + 1 :]), c
                shared[state] = shared.get(state, 0.0) + weight * share
        states = shared
    return states


def joint(X, y, arcs, rows, alpha, without_class=(), shares=True):
    """P(c, x) of each row and class; `arcs` are (parent, child) pairs of columns. Rows that miss a
    parent are left out, or shared among its values."""
    d, classes = X.shape[1], sorted(set(y))
    values = [sorted({v for v in X[:, j] if v is not None}) for j in range(d)]
    parents = [[a for a, b in arcs if b == j] for j in range(d)]

    def count_states(j):
        states = {}
        for row, label in zip(X, y, strict=True):
            state = (row[j], *(row[p] for p in parents[j])), label
            states[state] = states.get(state, 0.0) + 1.0
        return share_gaps(states) if shares else states

    counted = [count_states(j) for j in range(d)]

    def probability(j, x, c):
        above = tuple(x[p] for p in parents[j])
        seen = dict.fromkeys(values[j], 0.0)
        for (family, label), weight in counted[j].items():
            if (j in without_class or label == c) and family[1:] == above and family[0] in seen:
                seen[family[0]] += weight
        total = sum(seen.values())
        if total + alpha == 0:
            return 1 / len(values[j])
        return (seen.get(x[j], 0.0) + alpha) / (total + alpha * len(values[j]))

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
    stars = ([(i, j) for j in range(d) if j != i] for i in range(d))
    each = [joint(X, y, arcs, rows, alpha, shares=False) for arcs in stars]
    return np.mean(each, axis=0)
