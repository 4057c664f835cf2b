"""Cut points that turn a column of numbers into few values.

A column with cuts t₁ < … < t_m has m + 1 values: x has the value 1 + #{k : t_k < x}, so that a
number equal to a cut lies on its left. Missing numbers (NaN) have the code 0.

**MDL** (Fayyad and Irani, 1993). Of all ways to cut a set S of N labelled numbers in two, take the
one of least class entropy (N₁/N) Ent(S₁) + (N₂/N) Ent(S₂); accept it if naming the cut and the
classes of both sides takes fewer bits than naming the classes of S:

    Ent(S) − (N₁/N) Ent(S₁) − (N₂/N) Ent(S₂)  >  (log₂(N − 1) + Δ) / N,
    Δ = log₂(3^k − 2) − k Ent(S) + k₁ Ent(S₁) + k₂ Ent(S₂),

with k, k₁, k₂ the numbers of classes present; then cut S₁ and S₂ in the same way. The best cut is
never between numbers that are all of one class, so only the other places are tried. Times N, every
entropy is a difference of terms h(x) = x log₂ x:  N Ent(S) = h(N) − Σ_c h(N_c).

Weights count rows: N and N_c are sums of weights. Less than the weight of two rows is never cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from lindero.runtime.compilation import EXACT

Floats = NDArray[np.float64]

#: Sums that differ by less, relative to h(N), are the same but for rounding: the first cut is kept.
_ROUNDING = 1e-12


def mdl_cuts(
    values: Floats, y: NDArray[Any], n_classes: int, weights: Floats | None = None
) -> Floats:
    """Cuts that separate the classes, as many as their description length pays for.

    Parameters
    ----------
    values : array of shape (n_rows,)
        One column; NaN is ignored.
    y : array of shape (n_rows,)
        Class codes 0 … n_classes − 1.
    n_classes : int
        How many classes there are.
    weights : array of shape (n_rows,), optional
        How many rows each row stands for; rows of weight 0 are ignored.

    Returns
    -------
    array
        Ascending cuts, each the midpoint of two neighbouring distinct numbers; empty where no cut
        pays.
    """
    seen = ~np.isnan(values)
    if weights is None:
        weights = np.ones(len(values))
    else:
        seen &= weights > 0
    if not seen.all():
        values, y, weights = values[seen], y[seen], weights[seen]
    order = np.argsort(values)
    cuts: Floats = _accepted_cuts(
        values[order], y[order].astype(np.intp, copy=False), weights[order], n_classes
    )
    return cuts


def quantile_cuts(values: Floats, n_bins: int, weights: Floats | None = None) -> Floats:
    """Cuts into `n_bins` values that as equally many rows have as ties allow.

    Cut k follows the smallest number that has at least the share k / n_bins of the (weighted) rows
    at or below it. Cuts that fall together count once, so a column of few distinct numbers gets
    fewer values. NaN is ignored.
    """
    seen = ~np.isnan(values)
    if weights is None:
        distinct, mass = np.unique(values[seen], return_counts=True)
    else:
        seen &= weights > 0
        distinct, which = np.unique(values[seen], return_inverse=True)
        mass = np.bincount(which, weights[seen], len(distinct))
    if len(distinct) < 2:
        return np.empty(0)
    below = np.cumsum(mass, dtype=np.float64)
    shares = below[-1] * (np.arange(1, n_bins) / n_bins)
    last = np.searchsorted(below, shares - _ROUNDING * below[-1])
    last = np.unique(last[last < len(distinct) - 1])
    return _between(distinct[last], distinct[last + 1])


def uniform_cuts(values: Floats, n_bins: int) -> Floats:
    """Cuts into `n_bins` values of equal width between the least and the largest number.

    A column without two different numbers gets no cut. NaN is ignored.
    """
    seen = values[~np.isnan(values)]
    if not seen.size:
        return np.empty(0)
    least, most = float(seen.min()), float(seen.max())
    share = np.arange(1, n_bins) / n_bins
    cuts = np.unique(least * (1.0 - share) + most * share)  # their difference may overflow
    return cuts[(least <= cuts) & (cuts < most)]


def encoded(values: Floats, cuts: Floats, out: NDArray[Any]) -> NDArray[Any]:
    """Write the code of every number into `out`, and return it.

    Parameters
    ----------
    values : array of shape (n_rows,)
        One column; NaN gets the code 0.
    cuts : array
        Ascending cuts.
    out : array of shape (n_rows,)
        Integers of a type that holds ``len(cuts) + 2``, the code of values never seen.
    """
    largest = len(cuts) + 2
    if largest > np.iinfo(out.dtype).max:
        raise ValueError(
            f"{len(cuts)} cuts need codes up to {largest}, more than {out.dtype} holds. Give `out` "
            "a wider type, or ask for fewer bins."
        )
    if out.shape != values.shape:
        raise ValueError(f"`out` has shape {out.shape}, but the values have {values.shape}.")
    _encode(values, cuts, out)
    return out


def _between(left: Floats, right: Floats) -> Floats:
    """A number t with left ≤ t < right: the midpoint, unless rounding leaves none between them."""
    middle = 0.5 * left + 0.5 * right
    return np.where((left <= middle) & (middle < right), middle, left)


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def _encode(values, cuts, out):  # type: ignore[no-untyped-def]
    for i in range(values.size):
        if np.isnan(values[i]):
            out[i] = 0
            continue
        # Halving without branches: numbers come in no order that could be predicted.
        first, length = 0, cuts.size
        while length > 1:
            half = length // 2
            first += half if cuts[first + half - 1] < values[i] else 0
            length -= half
        out[i] = 1 + first + (1 if length == 1 and cuts[first] < values[i] else 0)


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def _accepted_cuts(values, y, weights, n_classes):  # type: ignore[no-untyped-def]
    """All accepted cuts of sorted values, ascending."""
    ends = _boundaries(values, y)
    starts = np.concatenate((np.zeros(1, np.intp), ends[:-1]))
    found = np.empty(ends.size)
    n_found = 0
    # Blocks not yet looked at, the leftmost on top. Two sides wait for each cut at most.
    stack = np.empty((ends.size + 2, 2), np.intp)
    stack[0] = 0, ends.size
    height = 1
    while height:
        height -= 1
        first, last = stack[height]
        best = _best_cut(starts[first:last], ends[first:last], y, weights, n_classes)
        if best >= 0:
            stop = ends[first + best]
            left, right = values[stop - 1], values[stop]
            middle = 0.5 * left + 0.5 * right
            found[n_found] = middle if left <= middle < right else left
            n_found += 1
            stack[height] = first + best + 1, last
            stack[height + 1] = first, first + best + 1
            height += 2
    return np.sort(found[:n_found])


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def _boundaries(values, y):  # type: ignore[no-untyped-def]
    """Ends of the blocks of rows between which a cut may be best: equal numbers stay together,
    and so do neighbouring ones all of the same class."""
    n = values.size
    ends = np.empty(n, np.intp)
    n_ends, start, previous = 0, 0, -2  # −1: several classes
    while start < n:
        stop, own = start + 1, y[start]
        while stop < n and values[stop] == values[start]:
            own = own if y[stop] == own else -1
            stop += 1
        if own < 0 or own != previous:
            n_ends += 1
        ends[n_ends - 1] = stop
        start, previous = stop, own
    return ends[:n_ends].copy()


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def _best_cut(starts, ends, y, weights, n_classes):  # type: ignore[no-untyped-def]
    """The block after which to cut, −1 where no cut is accepted."""
    if ends.size < 2:
        return -1
    total, rows = np.zeros(n_classes), np.zeros(n_classes, np.intp)
    for i in range(starts[0], ends[-1]):
        total[y[i]] += weights[i]
        rows[y[i]] += 1
    n = total.sum()
    if n < 2.0:
        return -1

    # The terms h of both sides; only those of the classes that a block holds change with it.
    left, left_rows = np.zeros(n_classes), np.zeros(n_classes, np.intp)
    left_terms, right_terms = np.zeros(n_classes), np.zeros(n_classes)
    changed = np.zeros(n_classes, np.bool_)
    for c in range(n_classes):
        right_terms[c] = _h(total[c])
    whole = _h(n) - right_terms.sum()
    best, least, margin, named = -1, np.inf, _ROUNDING * _h(n), 0.0
    for block in range(ends.size - 1):
        for i in range(starts[block], ends[block]):
            left[y[i]] += weights[i]
            left_rows[y[i]] += 1
            changed[y[i]] = True
        n_left, sum_left, sum_right = 0.0, 0.0, 0.0
        for c in range(n_classes):
            if changed[c]:
                # A class that has no rows left has no weight left either, whatever rounding says.
                rest = total[c] - left[c] if left_rows[c] < rows[c] else 0.0
                left_terms[c], right_terms[c] = _h(left[c]), _h(rest)
                changed[c] = False
            n_left += left[c]
            sum_left += left_terms[c]
            sum_right += right_terms[c]
        on_left, on_right = _h(n_left) - sum_left, _h(n - n_left) - sum_right
        if on_left + on_right < least - margin:
            best, least = block, on_left + on_right
            named = np.sum(left_rows > 0) * on_left / n_left
            named += np.sum(left_rows < rows) * on_right / (n - n_left)
    k = np.sum(rows > 0)
    delta = _log2_of_labellings(k) - k * whole / n + named
    return best if whole - least > np.log2(n - 1.0) + delta else -1


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def _h(x):  # type: ignore[no-untyped-def]
    return x * np.log2(x) if x > 0.0 else 0.0


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def _log2_of_labellings(k):  # type: ignore[no-untyped-def]
    """log₂(3^k − 2), also where 3^k overflows."""
    return k * np.log2(3.0) + np.log1p(-2.0 * 3.0 ** (-k)) / np.log(2.0)
