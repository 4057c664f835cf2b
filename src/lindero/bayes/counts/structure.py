"""Which attribute depends on which: structures found from what attributes tell (`information`).

A tree over the attributes, each of them with the class as a further parent, has the greatest
likelihood if its edges have the greatest sum of I(X_i; X_j | C) (Chow and Liu 1968; Friedman,
Geiger and Goldszmidt 1997). With up to k parents (Sahami 1996) attributes are taken in order of
I(X_i; C), and each chooses the k of those before it of which it knows most. Attributes that no row
has are to be left out.

Parents are given as a tuple for each attribute. Ties are broken by position, so that the same
counts give the same structure.
"""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from lindero.bayes.counts.count_groups import Array

#: The attributes that each attribute depends on.
Parents = tuple[tuple[int, ...], ...]


def tree(
    weights: Array,
    root: int | None = None,
    relevance: Array | None = None,
    among: Array | None = None,
) -> Parents:
    """The spanning tree of the greatest sum of weights, directed away from its root.

    Parameters
    ----------
    weights : ndarray of shape (n_attributes, n_attributes)
        Symmetric weights of edges; the diagonal is not looked at.
    root : int, optional
        The attribute without a parent. By default the most relevant one, the first of several.
    relevance : ndarray of shape (n_attributes,), optional
        What each attribute tells about the class; without it the default root is the first.
    among : bool array of shape (n_attributes,), optional
        The attributes that the tree spans, all by default; the others stay alone, be it the root.

    Returns
    -------
    tuple of tuples of int
        The parent of each attribute, none for the root. Of edges of equal weight the one first in
        order of its attributes is preferred.
    """
    weights = _comparable(weights, "weights")
    d = len(weights)
    if root is not None and not 0 <= root < d:
        raise ValueError(f"root must be one of the {d} attributes, 0 to {d - 1}, got {root}.")
    members = np.arange(d) if among is None else np.flatnonzero(among)
    if len(members) == 0:
        return ((),) * d
    if root is None or root not in members:
        first_best = 0
        if relevance is not None:
            first_best = int(np.argmax(_comparable(relevance, "relevance")[members]))
        root = int(members[first_best])
    first, second = (members[ends] for ends in np.triu_indices(len(members), 1))
    # Which edges are chosen depends on their order only. Places in it, from 1, are distinct, and
    # are costs that a sparse graph can hold, where a weight of zero would be no edge.
    places = np.empty(len(first))
    places[np.argsort(-weights[first, second], kind="stable")] = np.arange(1, len(first) + 1)
    chosen = minimum_spanning_tree(sp.csr_array((places, (first, second)), shape=(d, d)))
    _, parent = breadth_first_order(chosen, root, directed=False)
    return tuple((int(above),) if above >= 0 else () for above in parent)


def k_dependence(relevance: Array, weights: Array, k: int, among: Array | None = None) -> Parents:
    """Up to k parents for each attribute, among those that tell more about the class.

    Parameters
    ----------
    relevance : ndarray of shape (n_attributes,)
        What each attribute tells about the class, I(X_i; C); of equals the first comes first.
    weights : ndarray of shape (n_attributes, n_attributes)
        What each two tell about each other, I(X_i; X_j | C).
    k : int
        Most parents of an attribute. With 0 there are none, which is naive Bayes.
    among : bool array of shape (n_attributes,), optional
        The attributes that have or are parents, all by default; the others stay alone.

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
    if among is not None:
        order = order[np.asarray(among, dtype=bool)[order]]
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
            f"Attributes are each other's parents in a cycle, {cycle}: take one of these arcs away."
        ) from None


def _named(i: int, names: Sequence[str] | None) -> str:
    return f"attribute {i}" if names is None else repr(names[i])


def _comparable(values: Array, name: str) -> Array:
    values = np.asarray(values, dtype=np.float64)
    if np.isnan(values).any():
        at = np.argwhere(np.isnan(values))[0].tolist()
        raise ValueError(f"{name} must be numbers that can be compared, but is NaN at {at}.")
    return values
