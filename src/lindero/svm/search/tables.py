"""The table of a search: the scales of its features, and a sample of its rows.

Features are standardised: by mean and deviation, or sparse ones by their largest values. Features
that have much the same range, as pixels have, may all be in one unit, which that would hide: then a
search tries the table as it is, too, and takes the better one. Scales know nothing of the target,
so that those of all rows may be used in every fold; then folds share kernel values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.devices.rows import DeviceRows
from lindero.runtime.arrays import Array
from lindero.svm.fitting import cut_rows
from lindero.svm.search.folds import Split

#: Ranges of features that differ by no more than this factor may be in one unit.
_ONE_UNIT = 100.0

#: Rows, rows of each class and folds that coarse points are tried on where there are twice as many.
_SAMPLE_ROWS = 1000
_SAMPLE_OF_CLASS = 40
_SAMPLE_FOLDS = 3

# -- scales ---------------------------------------------------------------------------------------


def find_scales(X: Any, weights: Array) -> tuple[Array | None, Array]:
    """What to subtract from each feature (None: nothing) and what to divide it by: mean and
    deviation of the rows, counted by weight; of sparse rows the largest absolute value."""
    rows = weights > 0
    if isinstance(X, DeviceRows):
        return _find_scales_there(X[rows], weights[rows])
    if sp.issparse(X):
        largest = np.asarray(abs(X[rows]).max(axis=0).todense(), dtype=np.float64).ravel()
        return None, np.where(largest > 0, largest, 1.0)
    X, weights = X[rows].astype(np.float64), weights[rows] / weights.sum()
    with np.errstate(over="ignore", invalid="ignore"):
        center = weights @ X
        X -= center
        largest = np.abs(X).max(axis=0)
        # A column that is constant but for rounding stays as it is.
        varies = np.isfinite(largest) & (largest > 1e-12 * np.abs(center))
        unit = np.where(varies, largest, 1.0)
        deviation = unit * np.sqrt(weights @ (X / unit) ** 2)
    return np.where(np.isfinite(center), center, 0.0), np.where(varies, deviation, 1.0)


def _find_scales_there(X: DeviceRows, weights: Array) -> tuple[Array, Array]:
    """The same on a device."""
    center, variance = X.moments(weights)
    largest = np.maximum(X.max(axis=0) - center, center - X.min(axis=0))
    varies = np.isfinite(largest) & (largest > 1e-12 * np.abs(center))
    return center, np.where(varies, np.sqrt(variance), 1.0)


def scale_rows(scaler: Any, X: Any) -> Any:
    """What a scaler makes of rows, where they are."""
    if isinstance(X, DeviceRows):
        return X.scale(scaler.mean_, scaler.scale_)
    return scaler.transform(X)


def make_scaler(center: Array | None, scale: Array) -> Any:
    """A StandardScaler that knows these numbers."""
    from sklearn.preprocessing import StandardScaler  # slow to import

    scaler = StandardScaler(with_mean=center is not None)
    scaler.mean_, scaler.scale_, scaler.var_ = center, scale, scale**2
    scaler.n_features_in_, scaler.n_samples_seen_ = len(scale), 1
    return scaler


def put_together(scaler: Any, machine: Any, names: Any) -> Any:
    """A fitted pipeline of the two, for features of these names (None: of none)."""
    from sklearn.pipeline import Pipeline

    if names is not None:
        scaler.feature_names_in_ = names
    return Pipeline([("scaler", scaler), (type(machine).__name__.lower(), machine)])


def may_be_in_one_unit(X: Any) -> bool:
    """Whether the ranges of all features that vary are much the same."""
    if sp.issparse(X):
        ranges = np.asarray(abs(X).max(axis=0).todense(), dtype=np.float64).ravel()
    else:
        with np.errstate(over="ignore"):
            ranges = X.max(axis=0).astype(np.float64) - X.min(axis=0).astype(np.float64)
    ranges = ranges[ranges > 0]
    return len(ranges) > 1 and bool(ranges.max() <= _ONE_UNIT * ranges.min())


# -- samples --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowSample:
    """Some rows of a table, and folds of them."""

    rows: Array
    splits: list[Split]

    def take(self, X: Any, kernel: Any) -> Any:
        return cut_rows(X, self.rows, self.rows, kernel)[0]


def draw_sample(
    y: Array | None, splits: list[Split], weights: Array, n_rows: int
) -> RowSample | None:
    """Rows for coarse points, each class with its share, or a few rows more; None where all rows
    are to be used. The draw is always the same."""
    codes = np.zeros(n_rows, dtype=np.intp)
    if y is not None:
        codes = np.unique(y, return_inverse=True)[1]
    members = [np.flatnonzero((codes == c) & (weights > 0)) for c in range(codes.max() + 1)]
    share, random = _SAMPLE_ROWS / n_rows, np.random.default_rng(0)
    sizes = [max(round(share * len(m)), min(_SAMPLE_OF_CLASS, len(m))) for m in members]
    if 2 * sum(sizes) > n_rows:
        return None
    rows = np.sort(np.concatenate([
        random.choice(m, size, replace=False) for m, size in zip(members, sizes, strict=True)
    ]))  # fmt: skip
    place = np.full(n_rows, -1)
    place[rows] = np.arange(len(rows))
    kept = []
    for number, train, test in splits[:_SAMPLE_FOLDS]:
        train, test = place[train], place[test]
        train, test = train[train >= 0], test[test >= 0]
        if len(test) == 0 or len(np.unique(codes[rows[train]])) < len(members):
            return None
        kept.append((number, train, test))
    return RowSample(rows, kept)
