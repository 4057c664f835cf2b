"""Look-ups: the whole answer for rows whose missing attributes have no observed descendant.

Such attributes sum to one and drop out, and what is left of the joint distribution is a product of
one entry per attribute. Rows are taken in blocks that stay in the cache. Rows that need more, those
in which an observed attribute has a parent that is missing or new, are marked on the way.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lindero.runtime.compilation import EXACT

_BLOCK = 512

#: Attributes whose values are added in one go.
_TOGETHER = 4


@njit(cache=True, nogil=True, fastmath=EXACT)
def add_lookups(flat, codes, start, stop, out, incomplete):  # type: ignore[no-untyped-def]
    """Add the look-ups of all attributes to rows start…stop of `out` (n_rows, K)."""
    d = codes.shape[0]
    index = np.empty((_TOGETHER, _BLOCK), dtype=np.int64)
    for begin in range(start, stop, _BLOCK):
        end = min(begin + _BLOCK, stop)
        for i in range(0, d, _TOGETHER):
            for a in range(_TOGETHER):
                if i + a < d:
                    _places(flat, codes, i + a, begin, end, index[a], incomplete)
                else:
                    index[a] = flat.table_start[0]  # slot 0: nothing to add
            _add_together(flat.log_values, index, out[begin:end])


@njit(cache=True, nogil=True, fastmath=EXACT)
def lookup_terms(flat, codes, start, stop, out, incomplete):  # type: ignore[no-untyped-def]
    """Add each attribute's look-ups to its own rows of `out` (n_attributes, n_rows, K)."""
    index = np.empty(_BLOCK, dtype=np.int64)
    for begin in range(start, stop, _BLOCK):
        end = min(begin + _BLOCK, stop)
        for i in range(codes.shape[0]):
            _places(flat, codes, i, begin, end, index, incomplete)
            _add(flat.log_values, index, out[i, begin:end])


@njit(cache=True, nogil=True, fastmath=EXACT)
def _places(flat, codes, i, begin, end, index, incomplete):  # type: ignore[no-untyped-def]
    """Where the classes of attribute i begin, for each row of a block."""
    K, width, at = flat.n_classes, flat.cards[i] + 2, flat.table_start[i]
    first, last = flat.parent_start[i], flat.parent_start[i + 1]
    own = codes[i, begin:end]
    if first == last:
        for k in range(own.size):
            index[k] = at + min(np.int64(own[k]), width - 1) * K
        return
    marks = incomplete[begin:end]
    for k in range(own.size):
        index[k] = 0
    for e in range(first, last):
        r, stride = flat.cards[flat.parent_of[e]], flat.parent_stride[e]
        above = codes[flat.parent_of[e], begin:end]
        for k in range(own.size):
            code = np.int64(above[k])
            # A parent without a value among 1…r leads anywhere: the row is marked, or slot 0 taken.
            outside = (code == 0) | (code > r)
            index[k] += 0 if outside else (code - 1) * stride
            marks[k] |= outside & (r > 0) & (own[k] != 0)
    for k in range(own.size):
        slot = min(np.int64(own[k]), width - 1)
        index[k] = at + (index[k] * width + slot) * K


@njit(cache=True, nogil=True, fastmath=EXACT)
def _add_together(log_values, index, out):  # type: ignore[no-untyped-def]
    """Add the values of several attributes, reading and writing `out` once.

    Two classes at a time: loops over few classes inside that over rows would cost twice as much.
    """
    first, second, third, fourth = index[0], index[1], index[2], index[3]
    K = out.shape[1]
    for j in range(0, K - 1, 2):
        for k in range(out.shape[0]):
            a, b, c, d = first[k] + j, second[k] + j, third[k] + j, fourth[k] + j
            out[k, j] += (log_values[a] + log_values[b]) + (log_values[c] + log_values[d])
            a, b, c, d = a + 1, b + 1, c + 1, d + 1
            out[k, j + 1] += (log_values[a] + log_values[b]) + (log_values[c] + log_values[d])
    if K % 2:
        j = K - 1
        for k in range(out.shape[0]):
            a, b, c, d = first[k] + j, second[k] + j, third[k] + j, fourth[k] + j
            out[k, j] += (log_values[a] + log_values[b]) + (log_values[c] + log_values[d])


@njit(cache=True, nogil=True, fastmath=EXACT)
def _add(log_values, index, out):  # type: ignore[no-untyped-def]
    for k in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[k, j] += log_values[index[k] + j]
