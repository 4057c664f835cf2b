"""Numbers summed up by class, and the normal densities that follow from the sums.

Of every column j and class c three sums are kept: the weight n of the rows where the column is not
missing, their mean m, and their sum of squares about it, S = Σ w (x − m)²; and the largest |x| of
the column. Two parts of a table merge exactly (Chan, Golub and LeVeque): with δ = m_b − m_a,

    n = n_a + n_b,   m = m_a + δ n_b / n,   S = S_a + S_b + δ² n_a n_b / n.

The same relations give the moments of one part from those of the other and of the whole: with
d = m_b − m,

    m_a = m − d n_b / n_a,   S_a = S − S_b − d² n n_b / n_a.

Rounding leaves an error of some ε S, so that a part is taken away only where S_a stands above it.

Nothing else is learned from the rows, so variances and their floors are the same whether the rows
came at once or in batches. The variance of a class is S / (n − 1): weights count rows.

* A class with fewer than two rows in a column takes the column's pooled variance within classes,
  Σ_c S_c / Σ_c (n_c − 1) over the classes with two or more; without any such class, the variance
  of the whole column. A class without rows takes the mean and the variance of the whole column.
* No variance is below 1e-9 times that of the whole column, nor below (100 ε max |x|)², ε being the
  spacing of numbers at 1: what differs by less may differ by rounding only.
* A column whose variance as a whole is not above the latter is constant: all classes have its mean
  and the variance 1e-9 max(1, m²) there, so that no later number in it tells anything.

Means are taken from each class's first number on, so that rounding leaves a constant column one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lindero.runtime.compilation import EXACT, FAST, compiled
from lindero.runtime.threads import TileThreads

Floats = NDArray[np.float64]

#: Least variance, relative to that of the whole column.
_FLOOR = 1e-9

#: Least standard deviation, relative to the largest number of the column.
_ROUNDING = 100.0 * float(np.finfo(np.float64).eps)

#: Largest squared distance in standard deviations. Rows farther out than numbers can tell are
#: equally far from all classes, instead of at a density of zero under every one of them.
_FARTHEST = 1e300

#: What is left of a weight when rows are taken away, relative to what it was, and is 0.
_LEFT_BY_ROUNDING = 1e-12

#: Relative error that rounding may leave in a sum of squares when rows are taken away.
_DIGITS = 1e-6

_NOT_LEARNED = (
    "X holds rows that were not learned: their numbers in column {} are not among those that were. "
    "Pass rows as they were given to fit or partial_fit, with their classes and weights."
)
_TOO_FAR = (
    "Rows cannot be forgotten exactly: their numbers in column {} lie so far from all others that "
    "rounding has left too few digits of the rest. Call fit without these rows."
)

#: Rows worked on at once, whose densities under all classes stay in the processor's cache.
_BLOCK = 512

#: Rows of a thread's share.
_TILE = 32 * _BLOCK


@dataclass(frozen=True)
class Moments:
    """What is kept of columns of numbers: three sums by class that merge, and the largest size."""

    count: Floats  # weight of the rows in which the column is not missing, (n_numbers, n_classes)
    mean: Floats  # their mean; 0 where there are none
    squares: Floats  # their sum of squares about the mean
    largest: Floats  # the largest absolute value in the column, (n_numbers,); 0 where there is none
    names: tuple[str, ...] = ()  # of the columns, for messages

    @classmethod
    def of(
        cls,
        numbers: Floats,
        y: NDArray[Any],
        n_classes: int,
        weights: Floats | None = None,
        names: tuple[str, ...] = (),
    ) -> Moments:
        """The moments of a table: `numbers` has a column of it in each row, NaN being missing; `y`
        holds class codes, and `weights` how many rows each row stands for."""
        n_numbers, n_rows = numbers.shape
        y = np.asarray(y, dtype=np.intp)
        weights = np.ones(n_rows) if weights is None else weights
        count, mean, squares = np.zeros((3, n_numbers, n_classes))
        largest = np.zeros(n_numbers)

        def sum_up(j: int) -> None:
            largest[j] = _sum_up(numbers[j], y, weights, count[j], mean[j], squares[j])

        with TileThreads(None if numbers.size > _TILE else 1) as threads:
            threads.map(sum_up, range(n_numbers))
        return cls._build(count, mean, squares, largest, names)

    @classmethod
    def _build(
        cls, count: Floats, mean: Floats, squares: Floats, largest: Floats, names: tuple[str, ...]
    ) -> Moments:
        too_large = np.flatnonzero(~np.isfinite(squares).all(axis=1))
        if too_large.size:
            column = names[too_large[0]] if names else f"number {too_large[0]} of the numeric ones"
            raise ValueError(
                f"The numbers of column {column} are too large: their squares "
                "overflow. Divide the column by a constant, or take logarithms."
            )
        return cls(count, mean, squares, largest, names)

    def merge(self, other: Moments) -> Moments:
        """The moments of both tables' rows."""
        if self.count.shape != other.count.shape:
            raise ValueError(
                "Moments of tables with different columns or classes do not merge: "
                f"{self.count.shape} and {other.count.shape} (columns, classes)."
            )
        count = self.count + other.count
        share = np.divide(other.count, count, out=np.zeros_like(count), where=count > 0)
        step = other.mean - self.mean
        # An empty side leaves the other's mean as it is, to the last bit.
        mean = np.where(self.count > 0, self.mean + step * share, other.mean)
        with np.errstate(over="ignore", invalid="ignore"):
            between = np.where(self.count > 0, step * step * (self.count * share), 0.0)
            squares = self.squares + other.squares + between
        largest = np.maximum(self.largest, other.largest)
        return self._build(count, mean, squares, largest, self.names)

    def subtract(self, other: Moments) -> Moments:
        """The moments of the rows that are left without those of the other. Refused where these
        were not among the rows, or where rounding would leave too few digits of the rest."""
        count = self.count - other.count
        count[np.abs(count) <= _LEFT_BY_ROUNDING * self.count] = 0.0
        self._require((count >= 0.0) & (other.largest <= self.largest)[:, None], _NOT_LEARNED)
        left, gone = count > 0.0, other.count > 0.0
        share = np.divide(other.count, count, out=np.zeros_like(count), where=left & gone)
        step = other.mean - self.mean
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.where(left, self.mean - step * share, 0.0)
            between = np.where(left & gone, step * step * (self.count * share), 0.0)
            squares = self.squares - other.squares - between
            noise = self.squares + other.squares + between
            noise += np.abs(step) * self.largest[:, None] * (self.count * share)
        noise = np.where(gone, 16.0 * np.finfo(np.float64).eps * noise, 0.0)
        self._require((squares >= -noise) | ~left, _NOT_LEARNED)
        squares = np.where(left & (squares > noise), squares, 0.0)
        # The largest number may be one of those that are gone: then what the sums say of the rest.
        most = np.where(left, np.abs(mean) + np.sqrt(squares), 0.0).max(axis=1, initial=0.0)
        largest = np.where(other.largest < self.largest, self.largest, most)
        rest = self._build(count, mean, squares, largest, self.names)
        least = np.maximum(count - 1.0, 1.0) * rest._least_variance()
        self._require((noise <= np.maximum(_DIGITS * squares, least)) | ~left, _TOO_FAR)
        return rest

    def _require(self, good: NDArray[np.bool_], why: str) -> None:
        bad = np.flatnonzero(~good.all(axis=1))
        if bad.size:
            column = self.names[bad[0]] if self.names else f"number {bad[0]} of the numeric ones"
            raise ValueError(why.format(column))

    def _least_variance(self) -> Floats:
        """The least that a variance is taken to be, for each column."""
        column = self.of_columns()
        whole = column.squares / np.maximum(column.count, np.finfo(np.float64).tiny)
        return np.maximum(_FLOOR * whole, (_ROUNDING * self.largest[:, None]) ** 2)

    def with_empty(self, places: list[int], names: tuple[str, ...]) -> Moments:
        """With further columns, without any value so far, at ascending `places` among all."""
        old = np.delete(np.arange(len(self.count) + len(places)), places)
        count, mean, squares = np.zeros((3, len(old) + len(places), self.count.shape[1]))
        count[old], mean[old], squares[old] = self.count, self.mean, self.squares
        largest = np.zeros(len(count))
        largest[old] = self.largest
        return Moments(count, mean, squares, largest, names)

    def normals(self) -> tuple[Floats, Floats]:
        """Mean and standard deviation of each column under each class, of shape (n_numbers,
        n_classes): finite, and deviations above 0, also for constant columns or without rows."""
        column = self.of_columns()
        whole = np.divide(
            column.squares, column.count, out=np.zeros_like(column.mean), where=column.count > 0
        )
        several = self.count >= 2
        freedom = np.sum(self.count - 1, axis=1, where=several, keepdims=True)
        within = np.sum(self.squares, axis=1, where=several, keepdims=True)
        pooled = np.divide(within, freedom, out=whole.copy(), where=freedom > 0)

        variance = np.divide(
            self.squares, self.count - 1, out=np.zeros_like(self.mean), where=several
        )
        variance = np.where(several, variance, np.where(self.count > 0, pooled, whole))
        # As deviations: squares of large numbers would overflow.
        rounding = _ROUNDING * self.largest[:, None]
        is_constant = ~self.varying[:, None]
        least = np.sqrt(np.maximum(_FLOOR * whole, np.finfo(np.float64).tiny))
        varying = np.maximum(np.sqrt(variance), np.maximum(least, rounding))
        constant = np.sqrt(_FLOOR) * np.maximum(1.0, np.abs(column.mean))
        mean = np.where(is_constant | (self.count == 0), column.mean, self.mean)
        return mean, np.where(is_constant, constant, varying)

    @property
    def varying(self) -> NDArray[np.bool_]:
        """Which columns vary by more than rounding, all classes taken together."""
        column = self.of_columns()
        spread = np.sqrt(column.squares / np.maximum(column.count, np.finfo(np.float64).tiny))
        varying: NDArray[np.bool_] = spread[:, 0] > _ROUNDING * self.largest
        return varying

    def of_columns(self) -> Moments:
        """The moments of whole columns: all classes merged into one."""
        count = self.count.sum(axis=1, keepdims=True)
        # From a mean that is there: the mean of a constant column is then that constant.
        at = np.argmax(self.count > 0, axis=1)[:, None]
        base = np.take_along_axis(self.mean, at, axis=1)
        steps = np.where(self.count > 0, self.mean - base, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            step = np.divide(
                (self.count * steps).sum(axis=1, keepdims=True), count,
                out=np.zeros_like(count), where=count > 0,
            )  # fmt: skip
            apart = np.where(self.count > 0, steps - step, 0.0)
            squares = (self.squares + self.count * apart * apart).sum(axis=1, keepdims=True)
        return self._build(count, base + step, squares, self.largest, self.names)


def add_log_densities(numbers: Floats, mean: Floats, sd: Floats, out: Floats) -> None:
    """Add Σ_j log N(x_j; mean_jc, sd_jc) to `out`, for every row and class, without what is missing
    (NaN): what integrating over it gives. `numbers` has a column of the table in each row."""
    n_rows = numbers.shape[1]
    scale, height = np.sqrt(0.5) / sd, -np.log(sd) - 0.5 * np.log(2.0 * np.pi)
    with TileThreads(None if n_rows > _TILE else 1) as threads:
        threads.map(
            lambda start: _add_log_densities(
                numbers, mean, scale, height, start, min(start + _TILE, n_rows), out
            ),
            range(0, n_rows, _TILE),
        )


@compiled(EXACT)
def _sum_up(x, y, weights, count, mean, squares):  # type: ignore[no-untyped-def]
    """Moments of one column, in two passes: means first. Returns its largest absolute value."""
    n_classes, largest = count.size, 0.0
    first, total = np.zeros(n_classes), np.zeros(n_classes)
    for i in range(x.size):
        c = y[i]
        if not np.isnan(x[i]) and weights[i] > 0.0:
            if count[c] == 0.0:
                first[c] = x[i]
            count[c] += weights[i]
            total[c] += weights[i] * (x[i] - first[c])
            largest = max(largest, abs(x[i]))
    for c in range(n_classes):
        mean[c] = first[c] + (total[c] / count[c] if count[c] > 0.0 else 0.0)
        total[c] = 0.0
    for i in range(x.size):
        if not np.isnan(x[i]) and weights[i] > 0.0:
            away = x[i] - mean[y[i]]
            total[y[i]] += weights[i] * away
            squares[y[i]] += weights[i] * (away * away)
    for c in range(n_classes):
        # What rounding left of the mean's error.
        if count[c] > 0.0:
            squares[c] = max(0.0, squares[c] - total[c] * total[c] / count[c])
    return largest


@compiled(FAST)
def _add_log_densities(numbers, mean, scale, height, start, stop, out):  # type: ignore[no-untyped-def]
    n_numbers, n_classes = mean.shape
    sums = np.empty((n_classes, _BLOCK))
    for begin in range(start, stop, _BLOCK):
        size = min(_BLOCK, stop - begin)
        sums[:] = 0.0
        for j in range(n_numbers):
            x = numbers[j, begin : begin + size]
            for c in range(n_classes):
                row = sums[c, :size]
                m, s, h = mean[j, c], scale[j, c], height[j, c]
                for i in range(size):
                    away = (x[i] - m) * s
                    away = away * away
                    away = away if away < _FARTHEST else _FARTHEST
                    row[i] += 0.0 if np.isnan(x[i]) else h - away
        block = out[begin : begin + size]
        for i in range(size):
            for c in range(n_classes):
                block[i, c] += sums[c, i]
