"""A uniform sample of rows that are seen part by part.

Every row draws a number, and those with the smallest numbers are the sample: samples of parts merge
into one of the whole, whatever the parts are. If there are no more rows than the sample may have,
it has all of them. The draws of a part depend on its place alone, so that the same partitions give
the same sample wherever they are read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lindero.runtime.arrays import Array

_SEED = 20_240_229


@dataclass(frozen=True)
class DrawnRows:
    """Some rows as columns of arrays, in the order of their draws, and no more than `most`."""

    columns: tuple[Array, ...]
    draws: Array
    most: int

    @classmethod
    def draw(cls, columns: tuple[Array, ...], most: int, part: int) -> DrawnRows:
        """The sample of one part."""
        random = np.random.default_rng([_SEED, max(part, 0)])
        draws = random.random(len(columns[0]))
        return cls(columns, draws, most)._cut()

    @property
    def n_rows(self) -> int:
        return len(self.draws)

    def merge(self, other: DrawnRows) -> DrawnRows:
        """The sample of both parts."""
        pairs = zip(self.columns, other.columns, strict=True)
        columns = tuple(np.concatenate(pair) for pair in pairs)
        draws = np.concatenate([self.draws, other.draws])
        return DrawnRows(columns, draws, max(self.most, other.most))._cut()

    def _cut(self) -> DrawnRows:
        order = np.argsort(self.draws, kind="stable")[: self.most]
        columns = tuple(column[order] for column in self.columns)
        return DrawnRows(columns, self.draws[order], self.most)
