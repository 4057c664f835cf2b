"""Columns of a stream on one scale, as far as it is known so far.

A stream cannot be standardised beforehand. Column j of a row becomes

    z = (x − mean)/deviation, cut off at ±5,

with mean and deviation of the rows *before* it: running averages over all rows, and from 10 000
rows on over about as many (a row's weight is 1/min(n, 10 000)). Both are robust: once ten values
are known, one enters the averages as no more than four deviations from the mean. So a spike of any
size moves them by as much as a value four deviations away does, and up to 6 % of spikes do no harm,
unless they are among the very first values.

* A missing value (NaN) becomes 0, the mean, and changes nothing.
* A column that has been constant so far is 0; a first other value becomes ±1.
* 25 values in a row beyond the cut-off are no outliers: the column has another unit or level from
  there on. Its averages begin anew with these 25, and the change is reported.
* The same holds for 100 values in a row which all are below 0.5 % of |mean| + deviation, and most
  of which differ: the unit has become larger, or the averages come from a spike that was there
  before ten values were known. They begin anew with the last 25.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from lindero.runtime.arrays import Array
from lindero.runtime.compilation import FAST, compiled

CUT_OFF = 5.0

#: Rows that the averages are over in the long run.
_MEMORY = 10_000

#: Deviations that a value counts as at most, and values before which it counts as it is.
_MOST_DEVIATIONS = 4.0
_FEW = 10

#: Values in a row beyond the cut-off that are a new scale.
IN_A_ROW = 25

#: A value is small below this share of |mean| + deviation; so many of them are a new scale, too.
_SMALL = 0.005
SMALL_IN_A_ROW = 100

#: Values are cut off here before anything is computed: squares stay finite.
_MOST = 1e140

#: Changes of scale that are kept until they are fetched.
ROOM = 64


class RunningScale(NamedTuple):
    """What is known of the columns, as compiled loops take it.

    `beyond` counts values in a row beyond the cut-off, or, as a negative number, small ones;
    `recent` (IN_A_ROW, columns) holds the last of them.
    `changes` (ROOM, 4) has row, column, deviation before and after; `n_changes` their number.
    """

    counts: Array
    means: Array
    squares: Array
    beyond: Array
    recent: Array
    changes: Array
    n_changes: Array

    @classmethod
    def begin(cls, n_columns: int) -> RunningScale:
        return cls(
            np.zeros(n_columns, dtype=np.int64),
            np.zeros(n_columns),
            np.zeros(n_columns),
            np.zeros(n_columns, dtype=np.int64),
            np.zeros((IN_A_ROW, n_columns)),
            np.zeros((ROOM, 4)),
            np.zeros(1, dtype=np.int64),
        )

    def copy(self) -> RunningScale:
        return RunningScale(*(array.copy() for array in self))

    @property
    def deviations(self) -> Array:
        """Standard deviations so far; 1 where a column is constant."""
        deviations = np.sqrt(self.squares)
        return np.where(deviations > 0.0, deviations, 1.0)


@compiled(FAST)
def scale_value(value, count, mean, square):  # type: ignore[no-untyped-def]
    """A value on the scale, not cut off."""
    if value != value or count == 0:
        return 0.0
    value = min(max(value, -_MOST), _MOST)
    deviation = sqrt(square)
    if deviation > 0.0 and abs(value - mean) < 1e100 * deviation:
        return (value - mean) / deviation
    if value > mean:
        return 1.0 if deviation == 0.0 else 1e100
    return 0.0 if value == mean else (-1.0 if deviation == 0.0 else -1e100)


@compiled(FAST)
def scale_row(row, scale, scaled):  # type: ignore[no-untyped-def]
    """A row as it is seen by hyperplanes, into `scaled`; the scale stays as it is."""
    for j in range(row.size):
        z = scale_value(row[j], scale.counts[j], scale.means[j], scale.squares[j])
        scaled[j] = min(max(z, -CUT_OFF), CUT_OFF)


@compiled(FAST)
def learn_scale(row, scale, at):  # type: ignore[no-untyped-def]
    """Let the scale know a row, number `at` of the stream."""
    for j in range(row.size):
        value = row[j]
        if value != value:
            continue
        value = min(max(value, -_MOST), _MOST)
        count, mean, square = scale.counts[j], scale.means[j], scale.squares[j]
        z = scale_value(value, count, mean, square)
        if count >= _FEW and square > 0.0:
            run = scale.beyond[j]
            if abs(z) > CUT_OFF:
                run = max(run, 0) + 1
                scale.recent[(run - 1) % IN_A_ROW, j] = value
                scale.beyond[j] = run
                if run >= IN_A_ROW:
                    begin_again(scale, j, at)
                    continue
            elif abs(value) < _SMALL * (abs(mean) + sqrt(square)):
                run = max(-run, 0) + 1
                scale.recent[(run - 1) % IN_A_ROW, j] = value
                scale.beyond[j] = -run
                if run >= SMALL_IN_A_ROW:
                    scale.beyond[j] = 0
                    if differ_mostly(scale, j):
                        begin_again(scale, j, at)
                        continue
            else:
                scale.beyond[j] = 0
            if abs(z) > _MOST_DEVIATIONS:
                value = mean + (_MOST_DEVIATIONS if z > 0.0 else -_MOST_DEVIATIONS) * sqrt(square)
        share = 1.0 / min(count + 1, _MEMORY)
        off = value - mean
        scale.means[j] = mean + share * off
        scale.squares[j] = (1.0 - share) * (square + share * off * off)
        scale.counts[j] = count + 1


@compiled(FAST)
def differ_mostly(scale, j):  # type: ignore[no-untyped-def]
    """Whether most of the recent values of a column differ from the one before."""
    n_different = 0
    for k in range(1, IN_A_ROW):
        if scale.recent[k, j] != scale.recent[k - 1, j]:
            n_different += 1
    return 2 * n_different > IN_A_ROW


@compiled(FAST)
def begin_again(scale, j, at):  # type: ignore[no-untyped-def]
    """Let the averages of a column begin with its recent values; note the change."""
    mean, square = 0.0, 0.0
    for k in range(IN_A_ROW):
        mean += scale.recent[k, j] / IN_A_ROW
    for k in range(IN_A_ROW):
        off = scale.recent[k, j] - mean
        square += off * off / IN_A_ROW
    place = scale.n_changes[0] % ROOM
    scale.changes[place, 0] = at
    scale.changes[place, 1] = j
    scale.changes[place, 2] = sqrt(scale.squares[j])
    scale.changes[place, 3] = sqrt(square)
    scale.n_changes[0] += 1
    scale.means[j], scale.squares[j] = mean, square
    scale.counts[j], scale.beyond[j] = IN_A_ROW, 0
