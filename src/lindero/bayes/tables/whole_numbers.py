"""Categories that are small whole numbers: found and coded by looking up, without sorting.

A column of whole numbers v with low ≤ v ≤ high, high − low < `WIDEST`, needs one table of
high − low + 1 places, and its codes are ``table[v − low]``. Users' arrays lie row by row, are of
any type and may be read-only; they are taken in blocks that fit into the cache, each turned into
64-bit integers, column by column, so that one compiled version of every loop serves all of them
and no copy of the whole is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numba import njit

from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT

#: What stands for a missing value in a block.
MISSING = np.iinfo(np.int64).min
#: Columns whose values span more than this are not looked up.
WIDEST = 2**16
_BLOCK_VALUES = 2**17
#: Columns whose values are searched for together: 4 MiB of ticks.
_COLUMNS_AT_ONCE = 64
_LARGEST = np.iinfo(np.int64).max
#: Floats from here on are too coarse to tell neighbouring whole numbers apart.
_COARSE = 2.0**53


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of rows, so that a block of that many columns stays in the cache."""
    height = max(1, _BLOCK_VALUES // max(1, n_columns))
    for start in range(0, n_rows, height):
        yield slice(start, min(start + height, n_rows))


def distinct_whole(values: Array, missing: Array | None, which: Array) -> list[list[int] | None]:
    """The distinct values of some columns, in order; None where they are not small whole numbers.

    `values` has shape (n_rows, n_columns) and a real dtype, `missing` is a mask of that shape.
    """
    groups = range(0, len(which), _COLUMNS_AT_ONCE)
    return [
        found
        for start in groups
        for found in _distinct(values, missing, which[start : start + _COLUMNS_AT_ONCE])
    ]


def _distinct(values: Array, missing: Array | None, which: Array) -> list[list[int] | None]:
    low = np.full(len(which), _LARGEST)
    high = np.full(len(which), MISSING)
    usable = np.ones(len(which), dtype=bool)
    # Numbers that span no more than WIDEST differ by their remainder, so that where the span
    # begins need not be known before.
    seen = np.zeros((len(which), WIDEST), dtype=np.uint8)
    for _, block in _whole_blocks(values, missing, which, usable):
        _mark(block, low, high, seen)
    found: list[list[int] | None] = [None] * len(which)
    for j in np.flatnonzero(usable):
        span = int(high[j]) - int(low[j]) + 1  # Python's integers: the difference may overflow
        if span <= WIDEST:
            candidates = low[j] + np.arange(max(0, span))
            found[j] = candidates[seen[j, candidates & (WIDEST - 1)] > 0].tolist()
    return found


def code_whole(
    values: Array,
    missing: Array | None,
    which: Array,
    code_of: Sequence[dict[Any, int]],
    unseen: Sequence[int],
    out: Array,
) -> Array:
    """Write the codes of some columns to the rows of `out`, and say for which this was possible.

    It is not for a column with other than whole numbers, or whose known values span too much.
    """
    usable = np.ones(len(which), dtype=bool)
    tables = [_table(known, code) for known, code in zip(code_of, unseen, strict=True)]
    usable[[table is None for table in tables]] = False
    rows = np.flatnonzero(usable)
    kept = [table for table in tables if table is not None]
    if not kept:
        return usable
    low = np.array([first for first, _ in kept], dtype=np.int64)
    begin = np.concatenate([[0], np.cumsum([len(codes) for _, codes in kept])])
    table = np.concatenate([codes for _, codes in kept])
    other = np.array([unseen[row] for row in rows.tolist()], dtype=np.int32)
    whole = np.ones(len(rows), dtype=bool)
    for block_rows, block in _whole_blocks(values, missing, which[rows], whole):
        _look_up(block, low, begin, table, other, rows, block_rows.start, out)
    usable[rows] = whole
    return usable


def _table(code_of: dict[Any, int], unseen: int) -> tuple[int, Array] | None:
    """The first whole number among the known values, and the codes of those from there on."""
    known = {int(value): code for value, code in code_of.items() if _is_whole(value)}
    known = {value: code for value, code in known.items() if MISSING < value <= _LARGEST}
    if not known:
        return 0, np.zeros(0, dtype=np.int32)
    first, last = min(known), max(known)
    if last - first >= WIDEST:
        return None
    codes = np.full(last - first + 1, unseen, dtype=np.int32)
    codes[np.array(list(known)) - first] = list(known.values())
    return first, codes


def _is_whole(value: Any) -> bool:
    return value.is_integer() if isinstance(value, float) else not isinstance(value, str)


def _whole_blocks(
    values: Array, missing: Array | None, which: Array, usable: Array
) -> Iterator[tuple[slice, Array]]:
    """Rows, and their values as 64-bit integers, column by column.

    Columns where that is not possible lose their place in `usable`; what is in their blocks then
    means nothing.
    """
    every = len(which) == values.shape[1] and bool((which == np.arange(len(which))).all())
    kind, size = values.dtype.kind, values.dtype.itemsize
    for rows in row_blocks(len(values), len(which)):
        part = values[rows] if every else values[rows][:, which]
        block = np.empty((len(which), len(part)), dtype=np.int64)
        if kind == "f":
            with np.errstate(over="ignore"):  # infinite then, which is refused elsewhere
                _to_whole(np.ascontiguousarray(part.T, dtype=np.float64), block, usable)
        else:
            np.copyto(block, part.T, casting="unsafe")
            if kind == "u" and size == 8:
                usable &= block.min(axis=1) >= 0  # larger than a signed integer can be
            elif size == 8:
                usable &= block.min(axis=1) != MISSING  # a value that only looks missing
            if missing is not None:
                gaps = missing[rows] if every else missing[rows][:, which]
                block[gaps.T] = MISSING
        yield rows, block


@njit(cache=True, nogil=True, fastmath=EXACT)
def _to_whole(numbers, block, usable):  # type: ignore[no-untyped-def]
    """Floats to integers, NaN to `MISSING`."""
    for j in range(numbers.shape[0]):
        good = usable[j]
        for i in range(numbers.shape[1]):
            value = numbers[j, i]
            if np.isnan(value):
                block[j, i] = MISSING
            elif abs(value) < _COARSE and value == np.floor(value):
                block[j, i] = np.int64(value)
            else:
                block[j, i] = MISSING
                good = False
        usable[j] = good


@njit(cache=True, nogil=True, fastmath=EXACT)
def _mark(block, low, high, seen):  # type: ignore[no-untyped-def]
    """Tick off the values that occur, by remainder, and keep the least and the largest so far."""
    for j in range(block.shape[0]):
        least, largest = low[j], high[j]
        column, ticks = block[j], seen[j]
        for i in range(column.shape[0]):
            value = column[i]
            largest = max(largest, value)  # a missing value is the least of all
            least = min(least, value if value != MISSING else _LARGEST)
        for i in range(column.shape[0]):
            if column[i] != MISSING:
                ticks[column[i] & (WIDEST - 1)] = 1
        low[j], high[j] = least, largest


@njit(cache=True, nogil=True, fastmath=EXACT)
def _look_up(block, low, begin, table, unseen, out_rows, start, out):  # type: ignore[no-untyped-def]
    """Codes of a block, to the rows of `out` that its columns have."""
    for j in range(block.shape[0]):
        codes = table[begin[j] : begin[j + 1]]
        first, last = low[j], low[j] + codes.shape[0] - 1
        written = out[out_rows[j], start : start + block.shape[1]]
        for i in range(block.shape[1]):
            value = block[j, i]
            if value == MISSING:
                written[i] = 0
            elif first <= value <= last:
                written[i] = codes[value - first]
            else:
                written[i] = unseen[j]
