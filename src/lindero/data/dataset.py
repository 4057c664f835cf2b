"""A table with its target, and the time, weight, query or sequence, and name of each row."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from lindero.runtime.arrays import Array, write_plain
from lindero.runtime.texts import shorten
from lindero.validation import find_missing

if TYPE_CHECKING:
    import pyarrow as pa


#: The largest classes that the summary lists.
_LISTED = 6
_PLURALS = {"number": "numbers", "category": "categories", "empty": "empty"}


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows to learn from: features, target, and what else is known of each row.

    `load` and `fetch` return one.

    Parameters
    ----------
    X : pyarrow.Table or scipy.sparse.csr_array
        Features: a table, in which null is missing, or a sparse array.
    y : ndarray of shape (n_rows,) or None
        Target: text, booleans or integers for classes, else float64; None or NaN where missing.
    target : str or None
        Name of the target's column.
    kinds : dict
        Kind of each column of `X`: "number", "category", or "empty" if all values are missing.
        Empty for a sparse array, which holds numbers only.
    source : str
        Where the data come from.
    times, weights, qid, ids : ndarray of shape (n_rows,) or None, default=None
        Time, weight, query or sequence, and name of each row; with several columns of names, `ids`
        has one column for each.
    left_out : tuple of str, default=()
        Columns of the file that name rows, and are not in `X` therefore.
    notes : tuple of str, default=()
        What was made of columns, in sentences: dates, and numbers with separators and units.
    reading : Reading, default=None
        How the columns were read; ``load(path, like=data)`` reads another file like this.
    positions : ndarray of shape (n_rows, n_coordinates) or None, default=None
        Where each row is.

    See Also
    --------
    load : Read a file.
    fetch : Get a published data set.

    Examples
    --------
    >>> from lindero.bayes import NaiveBayes
    >>> from lindero.data import load_tax_table
    >>> data = load_tax_table()
    >>> data.summary().partition("; ")[2]
    "target 'evade': No 7, Yes 3"
    >>> model = NaiveBayes().fit(data.X, data.y)
    """

    X: pa.Table | Any
    y: Array | None
    target: str | None
    kinds: dict[str, str]
    source: str
    times: Array | None = None
    weights: Array | None = None
    qid: Array | None = None
    ids: Array | None = None
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reading: Any = None
    positions: Array | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns of `X`."""
        return int(self.X.shape[1])

    @property
    def task(self) -> str:
        """ "classification", "regression", "ranking" (rows have queries), "tagging" (they have
        sequences, and classes as targets) or "unlabelled"."""
        if self.y is None:
            return "unlabelled"
        if self.qid is not None:
            return "ranking" if self.y.dtype.kind in "biuf" else "tagging"
        return "regression" if self.y.dtype.kind == "f" else "classification"

    @property
    def lengths(self) -> Array | None:
        """Rows of each sequence, or of each query; None where there are none."""
        from lindero.svm.sequences import count_runs

        return None if self.qid is None else count_runs(self.qid)

    def summary(self) -> str:
        """Describe the data in one line.

        Returns
        -------
        line : str
            Rows, columns and their kinds, missing values, and the target.
        """
        from lindero.data.tables import count_missing

        name = os.path.basename(self.source) or self.source
        line = f"{name}: {_count(self.n_rows, 'row')}, {_count(self.n_features, 'column')}"
        if sp.issparse(self.X):
            line += f" (sparse, {self.X.nnz / max(1, self.n_rows):.3g} values a row)"
            missing, cells = int(np.isnan(self.X.data).sum()), self.X.nnz
        else:
            count = Counter(self.kinds.values())
            kinds = [
                f"{count[kind]} {kind if count[kind] == 1 else plural}"
                for kind, plural in _PLURALS.items()
                if count[kind]
            ]
            line += f" ({', '.join(kinds)})" if kinds else ""
            missing, cells = sum(map(count_missing, self.X.columns)), self.n_rows * self.n_features
        line += f", {_describe_missing(missing, cells)}"
        if self.target is None:
            return line + "; no target"
        line += f"; target {self.target!r}: {_describe_target(self.y)}"
        if self.qid is not None:
            names = ("sequence", None) if self.task == "tagging" else ("query", "queries")
            line += f"; {_count(len(np.unique(self.qid)), *names)}"
        return line

    def rows(self, indices: Any) -> Dataset:
        """Select rows, with everything that belongs to them.

        Parameters
        ----------
        indices : array-like of int or of bool, or slice
            Positions, or one boolean for each row.

        Returns
        -------
        data : Dataset
            Those rows, in that order.
        """
        if not isinstance(indices, slice):
            indices = np.asarray(indices)
            indices = indices if indices.size else indices.astype(np.intp)
        places = np.arange(self.n_rows)[indices]
        kept: dict[str, Any] = {
            name: None if (values := getattr(self, name)) is None else values[places]
            for name in ("y", "times", "weights", "qid", "ids", "positions")
        }
        X = self.X.take(places) if hasattr(self.X, "schema") else self.X[places]
        return replace(self, X=X, **kept)

    def without_target(self) -> Dataset:
        """Drop the target, as for prediction.

        Returns
        -------
        data : Dataset
            The features, and what else is known of each row.
        """
        return replace(self, y=None, target=None)


def _describe_target(y: Array | None) -> str:
    """Classes and how many rows each has, or the range of numbers."""
    if y is None:
        return "no values"
    missing = find_missing(y)
    values, unknown = y[~missing], f", {missing.sum()} missing" if missing.any() else ""
    if y.dtype.kind == "f":
        with np.errstate(all="ignore"):  # infinite ones have no mean
            mean = values.mean()
        least, most, middle = (
            write_plain(value, 4) if np.isfinite(value) else f"{value:g}"
            for value in (values.min(), values.max(), mean)
        )
        return f"{least} to {most}, mean {middle}{unknown}"
    count = Counter(values.tolist())
    largest = sorted(count, key=lambda label: (-count[label], str(label)))
    listed = ", ".join(f"{shorten(label, 30)} {count[label]}" for label in largest[:_LISTED])
    more = len(count) - _LISTED
    rest = f" and {_count(more, 'more class', 'more classes')}" if more > 0 else ""
    return listed + rest + unknown


def _count(n: int, what: str, several: str | None = None) -> str:
    """A number and its noun, singular or plural."""
    return f"{n} {what if n == 1 else several or what + 's'}"


def _describe_missing(missing: int, cells: int) -> str:
    if not missing:
        return "none missing"
    share = 100 * missing / max(1, cells)
    return f"{share:.1f} % missing" if share >= 0.1 else f"{_count(missing, 'value')} missing"
