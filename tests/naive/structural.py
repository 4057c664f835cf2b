"""Twin of the search for arcs: every candidate scored by logistic regression on its indicators.

A structure is a dict from the columns that are in, in the order they came, to their parents.
"""

from graphlib import CycleError, TopologicalSorter
from itertools import product

import numpy as np
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

CLASS = -1


def count_parameters(structure, cards, n_classes):
    """(r_C − 1) [1 + Σ (r_i − 1) q_i]."""
    tables = sum((cards[i] - 1) * np.prod(cards[list(above)]) for i, above in structure.items())
    return int((n_classes - 1) * (1 + tables))


def indicators(codes, structure):
    """A column for every family and every state of it that occurs."""
    columns = [np.zeros(codes.shape[1])]
    for i, above in structure.items():
        rows = codes[[i, *above]].T
        columns += [(rows == state).all(axis=1).astype(float) for state in np.unique(rows, axis=0)]
    return np.array(columns).T


def log_likelihood(codes, y, structure, weights=None):
    """The largest Σ w log P(y | x)."""
    X, weights = indicators(codes, structure), np.ones(len(y)) if weights is None else weights
    with threadpool_limits(1):  # products this small take longer in several threads
        model = LogisticRegression(C=np.inf, tol=1e-9, max_iter=20_000).fit(X, y, weights)
    return weights @ model.predict_log_proba(X)[np.arange(len(y)), y]


def bicd(codes, cards, y, structure, weights=None):
    d = count_parameters(structure, cards, int(y.max()) + 1)
    n = len(y) if weights is None else weights.sum()
    return log_likelihood(codes, y, structure, weights) - np.log(n) / 2 * d


def add_arc(structure, parent, child):
    if parent == CLASS:
        return {**structure, child: ()}
    return {**structure, child: (*structure[child], parent)}


def list_candidates(structure, cards, max_parents):
    """All arcs that may be added: every pair of columns is tried."""
    members, answers = list(structure), set()
    for child in range(len(cards)):
        if child not in structure and cards[child] > 1:
            answers.add((CLASS, child))
    for parent, child in product(members, members):
        if parent == child or parent in structure[child]:
            continue
        larger = add_arc(structure, parent, child)
        try:
            tuple(TopologicalSorter(larger).static_order())
        except CycleError:
            continue
        if len(larger[child]) > max_parents:
            continue
        # Between two without parents both directions say the same; the older one is the parent.
        alone = not structure[parent] and not structure[child]
        if alone and members.index(parent) > members.index(child):
            continue
        answers.add((parent, child))
    return answers


def grow_structure(codes, cards, y, max_parents):
    """Structures of all rounds with their scores: in each the best candidate is added."""
    structure = {}
    rounds = [(structure, bicd(codes, cards, y, structure))]
    while True:
        arcs = list_candidates(structure, cards, max_parents)
        larger = [add_arc(structure, *arc) for arc in arcs]
        scores = [bicd(codes, cards, y, other) for other in larger]
        if not scores or max(scores) <= rounds[-1][1]:
            return rounds
        structure = larger[int(np.argmax(scores))]
        rounds.append((structure, max(scores)))
