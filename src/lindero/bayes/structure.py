"""Which attribute depends on which: structures found from counts.

With counts n of the rows in which all attributes concerned are observed, and N their sum,

    I(X_i; C)       = Σ n(x, c) / N · log [n(x, c) N / (n(x) n(c))]
    I(X_i; X_j | C) = Σ n(x, y, c) / N · log [n(x, y, c) n(c) / (n(x, c) n(y, c))]

are what an attribute tells about the class, and what two tell about each other once the class is
known, in nats. A tree over the attributes, each of them with the class as a further parent, has the
greatest likelihood if its edges have the greatest sum of I(X_i; X_j | C) (Chow and Liu 1968;
Friedman, Geiger and Goldszmidt 1997). With up to k parents (Sahami 1996) attributes are taken in
order of I(X_i; C), and each chooses the k of those before it of which it knows most.

Parents are given as a tuple for each attribute. Ties are broken by position, so that the same
counts give the same structure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

import numpy as np
import scipy.sparse as sp
from numba import njit
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from lindero.bayes.count_groups import Array
from lindero.bayes.counts import Counts
from lindero.kernels.compilation import EXACT

#: Decimals of information, in nats, that `told_apart` leaves.
_DECIMALS = 10

#: The attributes that each attribute depends on.
Parents = tuple[tuple[int, ...], ...]


def mutual_information(counts: Counts) -> Array:
    """What each attribute tells about the class, in nats, from the rows that have it.

    Parameters
    ----------
    counts : Counts
        Counts of single attributes.

    Returns
    -------
    ndarray of shape (n_attributes,)
        Zero for attributes that no row has.
    """
    information = np.zeros(counts.n_attributes)
    for i in range(counts.n_attributes):
        observed = counts.single(i)[1:]
        information[i] = pair_information(observed[:, :, None], 0.0)
    return information


def conditional_mutual_information(counts: Counts, alpha: float = 0.0) -> Array:
    """What each two attributes tell about each other given the class, in nats.

    Parameters
    ----------
    counts : Counts
        Counts with pairs.
    alpha : float, default=0.0
        Added to the count of every combination of two values and a class.

    Returns
    -------
    ndarray of shape (n_attributes, n_attributes)
        Symmetric, with zeros on the diagonal, each entry from the rows that have both attributes.
    """
    d = counts.n_attributes
    information = np.zeros((d, d))
    for i in range(d):
        for j in range(i + 1, d):
            information[i, j] = pair_information(counts.pair(i, j)[1:, 1:], alpha)
    return information + information.T


def told_apart(information: Array) -> Array:
    """Information without what rounding adds: sums taken in another order, as when values came in
    another order, are equal, and ties stay ties."""
    return np.round(information, _DECIMALS)


def tree(weights: Array, root: int | None = None, relevance: Array | None = None) -> Parents:
    """The spanning tree of the greatest sum of weights, directed away from its root.

    Parameters
    ----------
    weights : ndarray of shape (n_attributes, n_attributes)
        Symmetric weights of edges; the diagonal is not looked at.
    root : int, optional
        The attribute without a parent. By default the most relevant one, the first of several.
    relevance : ndarray of shape (n_attributes,), optional
        What each attribute tells about the class; without it the default root is attribute 0.

    Returns
    -------
    tuple of tuples of int
        The parent of each attribute, none for the root. Of edges of equal weight the one first in
        order of its attributes is preferred.
    """
    weights = _comparable(weights, "weights")
    d = len(weights)
    if d == 0:
        return ()
    if root is None:
        root = 0 if relevance is None else int(np.argmax(_comparable(relevance, "relevance")))
    if not 0 <= root < d:
        raise ValueError(f"root must be one of the {d} attributes, 0 to {d - 1}, got {root}.")
    first, second = np.triu_indices(d, 1)
    # Which edges are chosen depends on their order only. Places in it, from 1, are distinct, and
    # are costs that a sparse graph can hold, where a weight of zero would be no edge.
    places = np.empty(len(first))
    places[np.argsort(-weights[first, second], kind="stable")] = np.arange(1, len(first) + 1)
    chosen = minimum_spanning_tree(sp.csr_array((places, (first, second)), shape=(d, d)))
    _, parent = breadth_first_order(chosen, root, directed=False)
    return tuple(() if i == root else (int(parent[i]),) for i in range(d))


def k_dependence(relevance: Array, weights: Array, k: int) -> Parents:
    """Up to k parents for each attribute, among those that tell more about the class.

    Parameters
    ----------
    relevance : ndarray of shape (n_attributes,)
        What each attribute tells about the class, I(X_i; C); of equals the first comes first.
    weights : ndarray of shape (n_attributes, n_attributes)
        What each two tell about each other, I(X_i; X_j | C).
    k : int
        Most parents of an attribute. With 0 there are none, which is naive Bayes.

    Returns
    -------
    tuple of tuples of int
        Parents of each attribute, that of the greatest weight first; of equals the more relevant.
    """
    if k < 0:
        raise ValueError(f"k must be 0 or more, got {k}.")
    weights = _comparable(weights, "weights")
    order = np.argsort(-_comparable(relevance, "relevance"), kind="stable")
    parents: list[tuple[int, ...]] = [()] * len(order)
    for place, i in enumerate(order):
        before = order[:place]
        strongest = np.argsort(-weights[i, before], kind="stable")[:k]
        parents[i] = tuple(int(j) for j in before[strongest])
    return tuple(parents)


def ordered(
    parents: Sequence[Sequence[int]], names: Sequence[str] | None = None
) -> tuple[int, ...]:
    """All attributes, each after its parents.

    Parameters
    ----------
    parents : sequence of sequences of int
        Parents of each attribute.
    names : sequence of str, optional
        Names of the attributes, for messages.

    Returns
    -------
    tuple of int
        The same order whenever parents are the same.

    Raises
    ------
    ValueError
        If a parent is not an attribute, or attributes depend on each other in a cycle, which is
        named.
    """
    for i, own in enumerate(parents):
        for parent in own:
            if not 0 <= parent < len(parents):
                raise ValueError(
                    f"{_named(i, names)} has the parent {parent}, but there are only attributes "
                    f"0 to {len(parents) - 1}."
                )
    try:
        return tuple(TopologicalSorter(dict(enumerate(parents))).static_order())
    except CycleError as error:
        cycle = " → ".join(_named(i, names) for i in error.args[1])
        raise ValueError(
            f"Attributes depend on each other in a cycle, {cycle}: take one of these edges away."
        ) from None


def _named(i: int, names: Sequence[str] | None) -> str:
    return f"attribute {i}" if names is None else repr(names[i])


def _comparable(values: Array, name: str) -> Array:
    values = np.asarray(values, dtype=np.float64)
    if np.isnan(values).any():
        at = np.argwhere(np.isnan(values))[0].tolist()
        raise ValueError(f"{name} must be numbers that can be compared, but is NaN at {at}.")
    return values


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False, error_model="numpy")
def pair_information(table, alpha):  # type: ignore[no-untyped-def]
    """Σ p(x, y, c) log [p(x, y, c) p(c) / (p(x, c) p(y, c))] of a table of counts [x, y, c]."""
    n_left, n_right, n_classes = table.shape
    left, right = np.zeros((n_left, n_classes)), np.zeros((n_right, n_classes))
    by_class = np.zeros(n_classes)
    for x in range(n_left):
        for y in range(n_right):
            for c in range(n_classes):
                count = table[x, y, c] + alpha
                left[x, c] += count
                right[y, c] += count
                by_class[c] += count
    total, information = 0.0, 0.0
    for c in range(n_classes):
        total += by_class[c]
    for x in range(n_left):
        for y in range(n_right):
            for c in range(n_classes):
                count = table[x, y, c] + alpha
                if count > 0.0:
                    ratio = count * by_class[c] / (left[x, c] * right[y, c])
                    information += count * math.log(ratio)
    # Information is never negative; what rounding leaves below zero is independence.
    return max(information / total, 0.0) if total > 0.0 else 0.0
