"""Which samples of an adaptive machine are neighbours, from what a user says of time and space.

    time      each instant is linked to the next; a link over a gap weighs 1, or unit/gap
    space     i ~ j where either is among the k nearest of the other, links of weight 1
    given     any symmetric matrix of weights ≥ 0; its diagonal is ignored

Samples of the same time follow each other in the order given. Where links are weighed by gaps, the
unit is the median of the gaps that are not zero. No link weighs more than `MOST_WEIGHT`, which is
also what a gap of zero gets, or less than `LEAST_WEIGHT`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from lindero.problems.node_graphs import Graph
from lindero.runtime.arrays import Array

#: The most that a link over a short gap may weigh, beside one over the median gap.
MOST_WEIGHT = 1e3

#: The least that a link over a long gap may weigh. Kernels hold 1/weight beside values of the order
#: of 1, and with less than this their digits would be lost.
LEAST_WEIGHT = 1e-9


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
    with np.errstate(divide="ignore", over="ignore"):
        weights: Array = np.clip(unit / gaps, LEAST_WEIGHT, MOST_WEIGHT)
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
