"""Twin of what structures are found by: sums over single values, and all trees there are."""

from itertools import product
from math import log

import numpy as np


def mutual_information(table):
    """Of a table [x, c] of counts, without the missing ones."""
    p = table / table.sum()
    return sum(p[x, c] * log(p[x, c] / (p[x].sum() * p[:, c].sum())) for x, c in np.argwhere(p > 0))


def conditional_mutual_information(table):
    """Of a table [x, y, c] of counts: the mutual information in each class, averaged."""
    shares = table.sum(axis=(0, 1)) / table.sum()
    present = np.flatnonzero(shares)
    return sum(shares[c] * mutual_information(table[:, :, c]) for c in present)


def spanning_trees(n):
    """Edges of every tree over n nodes, each from its Prüfer sequence."""
    for sequence in product(range(n), repeat=n - 2):
        degree = [1 + sequence.count(node) for node in range(n)]
        edges = []
        for node in sequence:
            leaf = degree.index(1)
            edges.append((leaf, node))
            degree[leaf] -= 1
            degree[node] -= 1
        edges.append(tuple(node for node in range(n) if degree[node] == 1))
        yield edges


def greatest_tree_weight(weights):
    """The greatest sum of weights over all spanning trees."""
    return max(sum(weights[i, j] for i, j in edges) for edges in spanning_trees(len(weights)))


def find_k_parents(relevance, weights, k):
    """Sahami's steps as he lists them: take the most relevant attribute left, then its parents."""
    left, taken, parents = list(range(len(relevance))), [], {}
    while left:
        new = max(left, key=lambda i: (relevance[i], -i))
        rank = sorted(taken, key=lambda j: (-weights[new, j], taken.index(j)))
        parents[new] = tuple(rank[:k])
        taken.append(new)
        left.remove(new)
    return tuple(parents[i] for i in range(len(relevance)))
