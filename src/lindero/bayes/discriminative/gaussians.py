"""Numbers with a normal density in each class, as a part of the conditional likelihood.

Column j adds log N(x; m_jc, s_jc) to the score of class c. Its statistics are three sums by class,

    n = Σ w,   S₁ = Σ w x,   S₂ = Σ w x²          (rows in which the column is not missing)

from which the density of largest likelihood has m = S₁ / n and s² = S₂ / n − m². They are moved
just as counts are. With standard deviations of their own for each class, scores are quadratic in x:
the optimum is that of logistic regression on x and x².

Columns are standardised to mean 0 and variance 1 first: otherwise rounding would hide how squares
of years or prices differ. No variance is below 1e-9 in these units, as in `moments`.
"""

from __future__ import annotations

import numpy as np

from lindero.bayes.columns.moments import Moments, add_log_densities
from lindero.bayes.discriminative.posteriors import RowThreads, split_rows
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import FAST, compiled

#: Least variance of a column within a class, in units of the whole column's variance.
LEAST_VARIANCE = 1e-9


class GaussianColumns:
    """Columns of numbers (n_numbers, n_rows), NaN being missing, in units of their own: centre and
    scale of these rows, or of the whole table that they are a part of."""

    def __init__(
        self,
        numbers: Array,
        weights: Array | None = None,
        units: tuple[Array, Array] | None = None,
    ) -> None:
        self.centre, self.scale = units or self._find_units(numbers, weights)
        self.numbers = np.ascontiguousarray((numbers - self.centre) / self.scale)

    @staticmethod
    def _find_units(numbers: Array, weights: Array | None) -> tuple[Array, Array]:
        one_class = np.zeros(numbers.shape[1], dtype=np.intp)
        whole = Moments.of(np.ascontiguousarray(numbers), one_class, 1, weights)
        return find_units(whole)

    def standardise(self, mean: Array, sd: Array) -> tuple[Array, Array]:
        """Means and standard deviations in the units of these columns."""
        least = np.sqrt(LEAST_VARIANCE)
        return (mean - self.centre) / self.scale, np.maximum(sd / self.scale, least)

    def unstandardise(self, mean: Array, sd: Array) -> tuple[Array, Array]:
        """Means and standard deviations in the units of the table."""
        return mean * self.scale + self.centre, sd * self.scale

    def add_scores(self, mean: Array, sd: Array, out: Array, n_rows: int | None = None) -> None:
        """Add log-densities of all rows, or the first, to `out` (n_rows, K), up to a constant."""
        numbers = self.numbers if n_rows is None else np.ascontiguousarray(self.numbers[:, :n_rows])
        add_log_densities(numbers, mean, sd, out)
        # The constant ½ log 2π of each column is the same for all classes, and drops out.

    def sum_shares(self, shares: Array, threads: RowThreads) -> Array:
        """n, S₁, S₂ of rows weighted by `shares` (n_rows, K), maybe negative: (3, n_numbers, K)."""
        (n_numbers, n_rows), K = self.numbers.shape, shares.shape[1]
        if not n_numbers:
            return np.zeros((3, 0, K))
        ends = split_rows(n_rows, 3 * n_numbers * K)
        sums = np.zeros((len(ends) - 1, 3, n_numbers, K))

        def add(part: int, start: int, stop: int) -> None:
            _add_sums(self.numbers, shares, start, stop, sums[part])

        threads.run(add, ends, n_rows * n_numbers)
        total: Array = sums.sum(axis=0)
        return total


def find_units(whole: Moments) -> tuple[Array, Array]:
    """Centre and scale of columns, from their moments with all rows in one class."""
    scale = np.ones_like(whole.mean)
    seen = (whole.count > 0) & (whole.squares > 0)
    np.sqrt(np.divide(whole.squares, whole.count, where=seen, out=scale), out=scale)
    scale[~seen] = 1.0
    return whole.mean, scale


def compute_statistics(count: Array, mean: Array, sd: Array) -> Array:
    """The sums of which a mean and a standard deviation are those of largest likelihood."""
    return np.stack([count, count * mean, count * (sd**2 + mean**2)])


def estimate_normals(sums: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of largest likelihood."""
    count, first, second = sums
    mean = first / count
    return mean, np.sqrt(np.maximum(second / count - mean**2, LEAST_VARIANCE))


def to_natural(mean: Array, sd: Array) -> Array:
    """What multiplies 1, x and x² in the log-density: (3, n_numbers, K)."""
    precision = 1.0 / sd**2
    return np.stack([-np.log(sd) - 0.5 * mean**2 * precision, mean * precision, -0.5 * precision])


def differentiate(surplus: Array, mean: Array, sd: Array) -> tuple[Array, Array]:
    """Derivatives by mean and log sd of a function with derivative `surplus` by natural ones."""
    count, first, second = surplus
    about = second - 2.0 * mean * first + mean**2 * count
    return (first - mean * count) / sd**2, about / sd**2 - count


def compute_normal_rate(sums: Array, change: Array) -> float:
    """The slope of the function with derivative `change` along it: means move by slope · s² / n,
    log sd by slope / 2n."""
    mean, sd = estimate_normals(sums)
    by_mean, by_log_sd = differentiate(change, mean, sd)
    return float(((by_mean**2 * sd**2 + 0.5 * by_log_sd**2) / sums[0]).sum())


def find_largest_step(sums: Array, change: Array) -> float:
    """The largest λ up to which sums + λ change have rows and variances above the least.

    n > 0 is linear in λ, and (S₂ − least · n) n − S₁² > 0 quadratic: the smallest positive root.
    """
    if not sums.size:
        return np.inf
    (n, first, second), (dn, dfirst, dsecond) = sums, change
    above, dabove = second - LEAST_VARIANCE * n, dsecond - LEAST_VARIANCE * dn
    steps = [np.inf]
    falls = dn < 0
    steps.extend(n[falls] / -dn[falls])
    a = dabove * dn - dfirst**2
    b = above * dn + dabove * n - 2.0 * first * dfirst
    c = np.maximum(above * n - first**2, 0.0)
    inside = b * b - 4.0 * a * c
    real = inside >= 0
    a, b, c, root = a[real], b[real], c[real], np.sqrt(inside[real])
    # The form of the roots that loses no digits: q / a and c / q.
    q = -0.5 * (b + np.where(b >= 0, root, -root))
    with np.errstate(divide="ignore", invalid="ignore"):
        roots = np.concatenate([q / a, c / q])
    steps.extend(roots[np.isfinite(roots) & (roots > 0)])
    return float(min(steps))


@compiled(FAST)
def _add_sums(numbers, shares, start, stop, out):  # type: ignore[no-untyped-def]
    for j in range(numbers.shape[0]):
        x = numbers[j, start:stop]
        for c in range(shares.shape[1]):
            share = shares[start:stop, c]
            count, first, second = 0.0, 0.0, 0.0
            for k in range(x.size):
                part = 0.0 if np.isnan(x[k]) else share[k]
                value = 0.0 if np.isnan(x[k]) else x[k]
                count += part
                first += part * value
                second += part * value * value
            out[0, j, c] += count
            out[1, j, c] += first
            out[2, j, c] += second
