"""Which samples of an adaptive machine are neighbours, from what a user says of time and space.

    time      each instant is linked to the next; a link over a gap weighs 1, or unit/gap
    space     i ~ j where either is among the k nearest of the other, links of weight 1
    given     any symmetric matrix of weights ≥ 0; its diagonal is ignored

Samples of the same time follow each other in the order given. Where links are weighed by gaps, the
unit is the median of the gaps that are not zero, and no link weighs more than `MOST_WEIGHT`, which
is also what a gap of zero gets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import column_or_1d

from lindero.kernels.functions import Array
from lindero.problems.node_graphs import Graph

#: The most that a link over a short gap may weigh, beside one over the median gap.
MOST_WEIGHT = 1e3

_SECOND = np.timedelta64(1, "s")


@dataclass(frozen=True)
class TimeAxis:
    """How times are read as numbers: `origin` is None where rows are merely counted, a date where
    times are dates (then in seconds from it), and the number zero, or no duration, otherwise."""

    origin: Any

    @classmethod
    def of(cls, times: Any) -> TimeAxis:
        """The axis that the times of a first call lie on."""
        if times is None:
            return cls(None)
        values = _plain_times(times)
        if values.dtype.kind == "M":
            _require_all(np.isnat(values), "NaT")
            fine = values.astype(np.promote_types(values.dtype, "datetime64[us]"))
            return cls(fine.min() if fine.size else np.datetime64(0, "us"))
        return cls(np.timedelta64(0, "us") if values.dtype.kind == "m" else 0.0)

    @property
    def counts_rows(self) -> bool:
        return self.origin is None

    @property
    def dtype(self) -> Any:
        """What times are kept as: dates to a microsecond, or finer if the first ones were."""
        return np.asarray(0.0 if self.origin is None else self.origin).dtype

    def read(self, times: Any, n_rows: int, first: int = 0) -> tuple[Array, Array]:
        """Times of rows as numbers, and as they are kept; rows are counted from `first` where
        there are none."""
        if times is None and self.counts_rows:
            numbers = np.arange(float(first), first + n_rows)
            return numbers, numbers
        if times is None:
            raise ValueError("times are needed: one for each row, as in the first call.")
        numbers = self.numbers(times, n_rows)
        return numbers, numbers if self.dtype.kind == "f" else _plain_times(times)

    def numbers(self, times: Any, n_rows: int, one_for_all: bool = False) -> Array:
        """Times of rows as numbers, all of them finite."""
        values = _plain_times(times)
        if values.ndim == 0 and one_for_all:
            values = np.full(n_rows, values)
        if values.shape != (n_rows,):
            raise ValueError(
                f"times has shape {values.shape}, but X has {n_rows} rows: pass one for each row"
                + (", or a single one." if one_for_all else ".")
            )
        self._require_kind(values)
        if values.dtype.kind in "mM":
            _require_all(np.isnat(values), "NaT")
            numbers: Array = (values - self.origin) / _SECOND
            return numbers
        numbers = values.astype(np.float64)
        _require_all(~np.isfinite(numbers), "NaN or infinite")
        return numbers

    def _require_kind(self, values: Array) -> None:
        known = self.dtype.kind
        kind = values.dtype.kind if values.dtype.kind in "mM" else "f"
        if kind != known:
            names = {"M": "dates", "m": "durations", "f": "numbers"}
            raise ValueError(
                f"times are {names[kind]}, but those given first were {names[known]}"
                + (" (rows were counted)." if self.origin is None else ".")
                + " Use the same kind."
            )


def _plain_times(times: Any) -> Array:
    """Times as an array of numbers, dates or durations, of any shape."""
    values = np.asarray(times)
    if values.dtype.kind not in "biufmM":
        try:
            # Dates with a zone, dates as text, and dates of Python itself.
            values = np.asarray(times, dtype="datetime64[us]")
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"times must be numbers or dates, but are of type {values.dtype} ({error}). Turn "
                "them into numbers, or into datetime64."
            ) from None
    return values if values.ndim == 0 else np.asarray(column_or_1d(values))


def _require_all(bad: Array, what: str) -> None:
    if np.any(bad):
        row = int(np.flatnonzero(np.atleast_1d(bad))[0])
        raise ValueError(
            f"times must all be known, but that of row {row} is {what}. Leave such rows out, or "
            "give them a time."
        )


def gap_unit(times: Array) -> float:
    """The median of the gaps between sorted times that are not zero; 0 where there are none."""
    gaps = np.diff(times)
    gaps = gaps[gaps > 0.0]
    return float(np.median(gaps)) if len(gaps) else 0.0


def time_links(times: Array, unit: float | None) -> Array:
    """Weights of the links between sorted times: 1, or unit/gap where there is a `unit`."""
    gaps = np.diff(times)
    if unit is None or not unit > 0.0:
        return np.ones(len(gaps))
    weights: Array = unit / np.maximum(gaps, unit / MOST_WEIGHT)
    return weights


def neighbour_graph(X: Array, n_neighbors: int) -> Graph:
    """Symmetric nearest neighbours: i ~ j where either is among the nearest of the other."""
    n_rows = X.shape[0]
    if n_neighbors >= n_rows:
        raise ValueError(
            f"n_neighbors={n_neighbors} is too many for n_samples = {n_rows}: a row has at most "
            f"{n_rows - 1} others to be linked to. Lower n_neighbors, or use graph='time'."
        )
    nearest = NearestNeighbors(n_neighbors=n_neighbors).fit(X).kneighbors_graph()
    return Graph(nearest.maximum(nearest.T))


def given_graph(graph: Any, n_rows: int) -> Graph:
    """A matrix of weights as a graph over the rows of X."""
    try:
        weights = sp.coo_array(graph, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"graph must be 'time', 'space' or a matrix of weights, but cannot be read: {error}"
        ) from None
    if weights.ndim != 2 or weights.shape != (n_rows, n_rows):
        raise ValueError(
            f"graph has shape {weights.shape}, but X has {n_rows} rows: pass a square matrix with "
            "the weight of the link between each two rows."
        )
    weights = weights.tocsr().tocoo()  # entries given twice are added up
    bad = np.flatnonzero(~(np.isfinite(weights.data) & (weights.data >= 0.0)))
    if len(bad):
        row, column = int(weights.row[bad[0]]), int(weights.col[bad[0]])
        raise ValueError(
            f"graph must hold finite weights that are not negative, but that of rows {row} and "
            f"{column} is {weights.data[bad[0]]:g}. Leave such links out, or turn distances into "
            "weights, as by 1/distance."
        )
    difference = (weights - weights.T).tocoo()
    if (difference.data != 0.0).any():
        at = int(np.flatnonzero(difference.data)[0])
        row, column = int(difference.row[at]), int(difference.col[at])
        of = weights.tocsr()
        raise ValueError(
            f"graph must be symmetric, but the weight from row {row} to row {column} is "
            f"{of[row, column]:g} and back it is {of[column, row]:g}. Pass graph.maximum(graph.T), "
            "or (graph + graph.T) / 2."
        )
    return Graph(weights)
