"""A table with its target, and what goes with each row."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.data.row_values import taken
from lindero.data.summaries import one_line
from lindero.runtime.arrays import Array

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows to learn from: features, target, and what else is known of each row.

    Attributes
    ----------
    X : pyarrow.Table or scipy.sparse.csr_array
        Features: a table, in which null is missing, or a sparse array where the file was sparse.
    y : ndarray of shape (n_rows,) or None
        Target. Classes are text, truth values or whole numbers (int64); anything else is float64.
        A missing class is None, a missing number NaN.
    target : str or None
        Name of the column that `y` was.
    times, weights, qid, ids : ndarray of shape (n_rows,) or None
        Time, weight, query and name of each row.
    kinds : dict
        What each column of `X` is: "number", "category", or "empty" where it has no value at all.
        Without entries for a sparse array, which holds numbers only.
    source : str
        Where it came from.

    Examples
    --------
    >>> from lindero.bayes import NaiveBayes
    >>> from lindero.data import tax_table
    >>> data = tax_table()
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
        """What there is to learn: "classification", "regression", "ranking" where rows have
        queries, or "unlabelled"."""
        if self.y is None:
            return "unlabelled"
        if self.qid is not None:
            return "ranking"
        return "regression" if self.y.dtype.kind == "f" else "classification"

    def summary(self) -> str:
        """One line that says what the data are.

        Returns
        -------
        line : str
            Rows, columns and their kinds, missing values, and the target.
        """
        name = os.path.basename(self.source) or self.source
        return one_line(name, self.X, self.kinds, self.target, self.y, self.qid)

    def rows(self, indices: Any) -> Dataset:
        """Some of the rows.

        Parameters
        ----------
        indices : array-like of int or of bool, or slice
            Positions, or one truth value for each row.

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
            for name in ("y", "times", "weights", "qid", "ids")
        }
        return replace(self, X=taken(self.X, places), **kept)

    def without_target(self) -> Dataset:
        """The same rows with no target.

        Returns
        -------
        data : Dataset
            The features, and what else is known of each row.
        """
        return replace(self, y=None, target=None)
