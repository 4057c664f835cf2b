"""A uniform sample of rows that are seen part by part, and how far their numbers spread.

Every row draws a number, and those with the smallest numbers are the sample: samples of parts merge
into one of the whole, whatever the parts are. If there are no more rows than the sample may have,
it has all of them. The draws of a part depend on its place alone, so that the same partitions give
the same sample wherever they are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

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
        kept = np.arange(len(self.draws))
        if self.most < len(kept):
            kept = np.sort(np.argpartition(self.draws, self.most)[: self.most])
        order = kept[np.argsort(self.draws[kept], kind="stable")]
        columns = tuple(column[order] for column in self.columns)
        return DrawnRows(columns, self.draws[order], self.most)


#: Rows whose numbers are looked at together.
_BLOCK_ROWS = 4_096


@dataclass(frozen=True)
class Spread:
    """Weight, mean and sum of squared distances from it of all numbers of some rows."""

    weight: float
    mean: float
    squares: float

    @classmethod
    def of(cls, X: Any, weights: Array) -> Spread:
        """Of rows of these weights, the zeros of sparse ones among them."""
        total = cls(0.0, 0.0, 0.0)
        for start in range(0, X.shape[0], _BLOCK_ROWS):
            block, own = X[start : start + _BLOCK_ROWS], weights[start : start + _BLOCK_ROWS]
            weight = float(own.sum()) * X.shape[1]
            if not weight > 0:
                continue
            mean = float(own @ np.asarray(block.sum(axis=1, dtype=np.float64)).ravel()) / weight
            if sp.issparse(block):
                squares = np.asarray(block.multiply(block).sum(axis=1, dtype=np.float64)).ravel()
                spread = float(own @ squares) - weight * mean * mean
            else:
                apart = block - mean
                spread = float(own @ np.einsum("ij,ij->i", apart, apart))
            total = total.merge(cls(weight, mean, max(0.0, spread)))
        return total

    def merge(self, other: Spread) -> Spread:
        """Of the rows of both."""
        weight = self.weight + other.weight
        if not weight > 0:
            return self
        step, share = other.mean - self.mean, other.weight / weight
        between = step * step * self.weight * share
        return Spread(weight, self.mean + step * share, self.squares + other.squares + between)

    @property
    def variance(self) -> float:
        return self.squares / self.weight if self.weight > 0 else 0.0


@dataclass(frozen=True)
class ColumnMoments:
    """Rows, and the mean and the sum of squared distances from it of each column."""

    n_rows: int
    mean: Array
    squares: Array

    @classmethod
    def of(cls, X: Any) -> ColumnMoments:
        """Of some rows."""
        total = cls(0, np.zeros(X.shape[1]), np.zeros(X.shape[1]))
        for start in range(0, X.shape[0], _BLOCK_ROWS):
            block = X[start : start + _BLOCK_ROWS]
            block = (block.toarray() if sp.issparse(block) else block).astype(np.float64)
            mean = block.mean(axis=0)
            block -= mean
            total = total.merge(cls(len(block), mean, np.einsum("ij,ij->j", block, block)))
        return total

    def merge(self, other: ColumnMoments) -> ColumnMoments:
        """Of the rows of both."""
        n_rows = self.n_rows + other.n_rows
        if n_rows == 0:
            return self
        step, share = other.mean - self.mean, other.n_rows / n_rows
        between = step * step * (self.n_rows * share)
        mean, squares = self.mean + share * step, self.squares + other.squares + between
        return ColumnMoments(n_rows, mean, squares)
