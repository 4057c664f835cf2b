"""The numbers of a partition, checked, and scaled where a scaler stands before the machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from lindero.runtime.arrays import Array
from lindero.scale.partitions import Rows, Source, find_float, refuse_column, require_numbers
from lindero.scale.runner import Runner
from lindero.scale.sampling import ColumnMoments
from lindero.scale.targets import read_labels, read_numbers, read_weights
from lindero.validation import require_sound_sparse


def read_matrix(rows: Rows, label: str, names: Sequence[str] | None, n_columns: int) -> Any:
    """The numbers of a partition, row by row, sparse ones as CSR; what is no number is refused, by
    row and column."""
    X = rows.X
    if sp.issparse(X):
        return _read_sparse(X, label, n_columns)
    if isinstance(X, pa.Table):
        matrix = np.empty((X.num_rows, X.num_columns), dtype=find_float(X.schema.types))
        for at, name in enumerate(X.column_names):
            column = X.column(at)
            require_numbers(name, column.type, label)
            matrix[:, at] = column.to_numpy()
    else:
        if hasattr(X, "to_numpy"):
            for name, kind in X.dtypes.items():
                if getattr(kind, "kind", "O") not in "biuf":
                    refuse_column(name, kind, label)
            single = all(kind == np.float32 for kind in X.dtypes)
            X = X.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)
        matrix = np.asarray(X)
        if matrix.dtype.kind not in "biuf":
            raise ValueError(f"{label} of X holds {matrix.dtype}, not numbers.")
        if matrix.dtype not in (np.float64, np.float32):
            matrix = matrix.astype(np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != n_columns:
        raise ValueError(
            f"{label} of X has shape {matrix.shape}, but {n_columns} columns were expected."
        )
    # A sum is finite if all numbers are, mostly; looking at each takes longer.
    if len(matrix) and not np.isfinite(matrix.sum(dtype=np.float64)):
        bad = ~np.isfinite(matrix)
        if bad.any():
            row, column = (int(place) for place in np.argwhere(bad)[0])
            named = column if names is None else names[column]
            raise ValueError(
                f"{label} of X holds {matrix[row, column]} in its row {row}, column {named!r}: "
                "leave such rows out, or fill them in first. (Input X contains NaN or infinity.)"
            )
    return np.ascontiguousarray(matrix)


def _read_sparse(X: Any, label: str, n_columns: int) -> sp.csr_array:
    """A sparse partition as CSR, each entry once."""
    try:
        require_sound_sparse(X)
    except ValueError as error:
        raise ValueError(f"{label} of X is no valid sparse matrix: {error}") from None
    matrix = sp.csr_array(X)
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"{label} of X holds {matrix.dtype}, not numbers.")
    if matrix.shape[1] != n_columns:
        raise ValueError(
            f"{label} of X has shape {matrix.shape}, but {n_columns} columns were expected."
        )
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if matrix.dtype not in (np.float64, np.float32):
        matrix = matrix.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if len(bad):
        entry = int(bad[0])
        row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
        raise ValueError(
            f"{label} of X holds {matrix.data[entry]} in its row {row}, column "
            f"{int(matrix.indices[entry])}: leave such rows out, or fill them in first. (Input X "
            "contains NaN or infinity.)"
        )
    return matrix


@dataclass(frozen=True)
class NumberRows:
    """A partition whose numbers were checked: targets are labels, or numbers of a regression."""

    part: int
    label: str
    X: Any
    targets: Array
    weights: Array | None


@dataclass(frozen=True)
class Reader:
    """How numbers are read: in which type (None: their own), and by which fitted scaler."""

    dtype: str | None = None
    scaler: Any = None

    def read(
        self, number: int, label: str, rows: Rows, *, names: Any, n_columns: int, classifies: bool
    ) -> NumberRows:
        """A partition as numbers, checked."""
        X = read_matrix(rows, label, names, n_columns)
        X = X if self.dtype is None else X.astype(self.dtype, copy=False)
        read = read_labels if classifies else read_numbers
        targets = read(rows.y, rows.n_rows, label)
        weights = read_weights(rows.weights, rows.n_rows, label)
        if self.scaler is not None and X.shape[0]:
            X = self.scaler.transform(X)
        return NumberRows(number, label, X, targets, weights)


def _read_alone(number: int, label: str, rows: Rows, *, names: Any, n_columns: int) -> Any:
    return read_matrix(rows, label, names, n_columns)


def fit_scaler(scaler: Any, source: Source, runner: Runner) -> None:
    """Set all fitted attributes of a `StandardScaler`: one pass."""
    read = partial(_read_alone, names=source.names, n_columns=source.n_columns)
    found: ColumnMoments = runner.reduce(read, ColumnMoments.of, _merge_moments)
    if found.n_rows == 0:
        raise ValueError("X has no rows: all of its partitions are empty.")
    scaler.mean_, scaler.n_samples_seen_ = found.mean, found.n_rows
    scaler.var_ = scaler.scale_ = None
    if scaler.with_std:
        scaler.var_ = found.squares / found.n_rows
        scaler.scale_ = np.sqrt(scaler.var_)
        # What rounding leaves of a column of one value is no spread.
        noise = found.n_rows * np.finfo(np.float64).eps
        constant = scaler.var_ <= noise * scaler.var_ + (noise * scaler.mean_) ** 2
        scaler.scale_[constant] = 1.0
    scaler.n_features_in_ = source.n_columns
    if source.names is not None:
        scaler.feature_names_in_ = np.asarray(source.names, dtype=object)


def _merge_moments(one: ColumnMoments, other: ColumnMoments) -> ColumnMoments:
    return one.merge(other)
