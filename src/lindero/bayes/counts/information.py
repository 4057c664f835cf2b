"""What attributes tell about the class and about each other, from counts.

With counts n of the rows in which all attributes concerned are observed, and N their sum,

    I(X_i; C)       = Σ n(x, c) / N · log [n(x, c) N / (n(x) n(c))]
    I(X_i; X_j | C) = Σ n(x, y, c) / N · log [n(x, y, c) n(c) / (n(x, c) n(y, c))]

are what an attribute tells about the class, and what two tell about each other once the class is
known, in nats.

Where values are missing, N is less than the weight W of all rows, and what few rows tell is little
and mostly chance: N rows show (r_i − 1)(r_j − 1) K / 2N nats on average where there is nothing to
tell. Attributes are compared by what is told over all rows, less that chance as far as rows lack,

    N / W · I(X_i; X_j | C) − (1 − N / W) (r_i − 1)(r_j − 1) K / 2W,

and likewise for I(X_i; C) with (r_i − 1)(K − 1). With nothing missing this is I itself.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from lindero.bayes.counts.count_groups import Array
from lindero.bayes.counts.counts import Counts
from lindero.runtime.compilation import EXACT

#: Decimals of information, in nats, by which attributes are compared.
_DECIMALS = 10


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
    return _told_of_class(counts)[0]


def conditional_mutual_information(counts: Counts) -> Array:
    """What each two attributes tell about each other given the class, in nats.

    Parameters
    ----------
    counts : Counts
        Counts with pairs.

    Returns
    -------
    ndarray of shape (n_attributes, n_attributes)
        Symmetric, with zeros on the diagonal, each entry from the rows that have both attributes.
    """
    return _told_of_each_other(counts)[0]


def observed(counts: Counts) -> Array:
    """Which attributes some row has, of shape (n_attributes,)."""
    return np.array([counts.single(i)[1:].any() for i in range(counts.n_attributes)], dtype=bool)


def relevance(counts: Counts) -> Array:
    """What each attribute tells about the class over all rows, to compare them by; see the module.

    Parameters
    ----------
    counts : Counts
        Counts of single attributes.

    Returns
    -------
    ndarray of shape (n_attributes,)
        Equal where only rounding differs, so that ties stay ties.
    """
    freedom = np.maximum(counts.cards - 1, 0) * (counts.n_classes - 1)
    return _over_all_rows(counts, *_told_of_class(counts), freedom)


def dependence(counts: Counts) -> Array:
    """What each two attributes tell about each other, given the class, over all rows, to compare
    them by; see the module.

    Parameters
    ----------
    counts : Counts
        Counts with pairs.

    Returns
    -------
    ndarray of shape (n_attributes, n_attributes)
        Symmetric, equal where only rounding differs; the diagonal means nothing.
    """
    less = np.maximum(counts.cards - 1, 0)
    freedom = np.outer(less, less) * counts.n_classes
    return _over_all_rows(counts, *_told_of_each_other(counts), freedom)


def _told_of_class(counts: Counts) -> tuple[Array, Array]:
    """I(X_i; C), and the weight of the rows that it is from."""
    told = np.zeros((2, counts.n_attributes))
    for i in range(counts.n_attributes):
        told[:, i] = pair_information(counts.single(i)[1:, :, None])
    return told[0], told[1]


def _told_of_each_other(counts: Counts) -> tuple[Array, Array]:
    """I(X_i; X_j | C), and the weight of the rows that it is from."""
    d = counts.n_attributes
    told = np.zeros((2, d, d))
    for i in range(d):
        for j in range(i + 1, d):
            told[:, i, j] = told[:, j, i] = pair_information(counts.pair(i, j)[1:, 1:])
    return told[0], told[1]


def _over_all_rows(counts: Counts, information: Array, weight: Array, freedom: Array) -> Array:
    """Information from rows of a weight, as all rows see it, less chance."""
    total = max(float(counts.of_class.sum()), np.finfo(np.float64).tiny)
    share = weight / total
    told: Array = share * information - (1.0 - share) * freedom / (2.0 * total)
    # Sums taken in another order, as when values came in another order, differ in the last bits.
    return np.round(told, _DECIMALS)


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False, error_model="numpy")
def pair_information(table):  # type: ignore[no-untyped-def]
    """Σ p(x, y, c) log [p(x, y, c) p(c) / (p(x, c) p(y, c))] of a table of counts [x, y, c], and
    the sum of these."""
    n_left, n_right, n_classes = table.shape
    left, right = np.zeros((n_left, n_classes)), np.zeros((n_right, n_classes))
    by_class = np.zeros(n_classes)
    for x in range(n_left):
        for y in range(n_right):
            for c in range(n_classes):
                count = table[x, y, c]
                left[x, c] += count
                right[y, c] += count
                by_class[c] += count
    total, information = 0.0, 0.0
    for c in range(n_classes):
        total += by_class[c]
    for x in range(n_left):
        for y in range(n_right):
            for c in range(n_classes):
                count = table[x, y, c]
                if count > 0.0:
                    ratio = count * by_class[c] / (left[x, c] * right[y, c])
                    information += count * math.log(ratio)
    # Information is never negative; what rounding leaves below zero is independence.
    return (max(information / total, 0.0) if total > 0.0 else 0.0), total
