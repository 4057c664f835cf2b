"""Where EM begins: rows shared out among a few of them that are far apart.

The first of K rows is drawn by weight, each further one by weight times its distance from the
nearest of those before (k-means++). Every row then goes to the nearest of the K, in equal parts
where several are equally near. With numbers in units of their columns, the distance of two rows is

    Σ_numbers min(½ (x − x')², 4) + Σ_categories 1[x ≠ x'],

taken over the columns that neither has missing, and scaled up to all columns.

Rows are drawn in an order that only their values decide, so that neither the order in which they
come nor whether they come twice or with a weight of 2 makes a difference.
"""

from __future__ import annotations

import numpy as np

from lindero.bayes.latent.latent_rows import LatentRows
from lindero.runtime.arrays import Array

#: No number is farther from another than this.
_FARTHEST = 4.0

#: The logarithm of the share that a row has in clusters that are not its nearest.
_LITTLE = -50.0

#: Multipliers that mix bits (splitmix64).
_MIX = np.array([0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)


class Starts:
    """Rows to begin from, in the order of their values.

    Parameters
    ----------
    rows : LatentRows
        The rows.
    numbers : array of shape (n_numbers, n_rows)
        Its numbers in the units of the table, where what is the same is the same to the last bit.

    Attributes
    ----------
    n_distinct : int
        How many different rows there are.
    """

    def __init__(self, rows: LatentRows, numbers: Array) -> None:
        self.rows = rows
        keys = row_keys(rows.codes, numbers)
        self._order = np.argsort(keys, kind="stable")
        ranked = keys[self._order]
        self.n_distinct = 1 + int(np.count_nonzero(ranked[1:] != ranked[:-1]))

    def log_shares(self, n_clusters: int, random: np.random.Generator) -> Array:
        """A start, for `LatentRows.shared_out`."""
        n_rows = self.rows.n_rows
        distances = np.empty((n_rows, n_clusters))
        nearest = np.full(n_rows, np.inf)
        mass = self.rows.row_weights
        for z in range(n_clusters):
            distances[:, z] = self._distances(self._drawn(mass, random))
            np.minimum(nearest, distances[:, z], out=nearest)
            if nearest.max() > 0.0:
                mass = self.rows.row_weights * nearest
        # Distances that differ by rounding only are the same.
        near = distances <= nearest[:, None] + 1e-9
        return np.where(near, 0.0, _LITTLE)

    def _drawn(self, mass: Array, random: np.random.Generator) -> int:
        below = np.cumsum(mass[self._order])
        place = int(np.searchsorted(below, random.random() * below[-1], side="right"))
        return int(self._order[min(place, len(below) - 1)])

    def _distances(self, row: int) -> Array:
        """Of all rows from one."""
        codes, numbers = self.rows.codes, self.rows.gaussian.numbers
        total, shared = np.zeros(self.rows.n_rows), np.zeros(self.rows.n_rows)
        for column in codes:
            if column[row] != 0:
                seen = column != 0
                total += seen & (column != column[row])
                shared += seen
        for column in numbers:
            if not np.isnan(column[row]):
                away = np.fmin(0.5 * (column - column[row]) ** 2, _FARTHEST)
                seen = ~np.isnan(column)
                total += np.where(seen, away, 0.0)
                shared += seen
        scale = (len(codes) + len(numbers)) / np.maximum(shared, 1.0)
        distances: Array = total * scale
        return distances


def row_keys(codes: Array, numbers: Array) -> Array:
    """A number for each row that is the same for rows of the same values, and hardly for others."""
    keys = np.full(codes.shape[1], 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in codes:
        keys = _mixed(keys ^ column.astype(np.uint64))
    for column in numbers:
        plain = np.where(np.isnan(column), np.nan, column + 0.0)  # one NaN, and no −0
        keys = _mixed(keys ^ plain.view(np.uint64))
    return keys


def _mixed(keys: Array) -> Array:
    for multiplier, shift in zip(_MIX, (30, 27), strict=True):
        keys = (keys ^ (keys >> np.uint64(shift))) * multiplier
    mixed: Array = keys ^ (keys >> np.uint64(31))
    return mixed
