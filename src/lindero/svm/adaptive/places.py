"""Places as a user gives them, and the rows nearest to them.

A place is a row of numbers: of a plane, a building, or latitude and longitude in degrees, between
which distances are measured along the great circle. They may be the features themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from lindero.graphs.graph import Graph
from lindero.runtime.arrays import Array

METRICS = ("euclidean", "great-circle")

#: What the columns of places on the globe are, and between which numbers.
_GLOBE = (("latitude", -90.0, 90.0), ("longitude", -180.0, 360.0))


@dataclass(frozen=True)
class Places:
    """Where rows are, `given` as users have them: (n_rows, n_columns)."""

    given: Array
    metric: str = "euclidean"

    def __len__(self) -> int:
        return len(self.given)

    def take(self, rows: Array) -> Places:
        return Places(self.given[rows], self.metric)

    @property
    def measured(self) -> Array:
        """As what distances are computed of."""
        return np.radians(self.given) if self.metric == "great-circle" else self.given

    def finder(self, n_neighbors: int) -> NearestNeighbors:
        """What finds the nearest of these."""
        if self.metric == "great-circle":
            finder = NearestNeighbors(
                n_neighbors=n_neighbors, metric="haversine", algorithm="ball_tree"
            )
        else:
            finder = NearestNeighbors(n_neighbors=n_neighbors)
        return finder.fit(self.measured)

    def link(self, n_neighbors: int) -> Graph:
        """Symmetric nearest neighbours: i ~ j where either is among the nearest of the other."""
        if n_neighbors >= len(self):
            raise ValueError(
                f"n_neighbors={n_neighbors} is too many for n_samples = {len(self)}: a row has at "
                f"most {len(self) - 1} others to be linked to. Lower n_neighbors, or use "
                "graph='time'."
            )
        nearest = self.finder(n_neighbors).kneighbors_graph()
        return Graph(nearest.maximum(nearest.T))

    def read_more(self, positions: Any, n_rows: int) -> Places:
        """Places of other rows, of the same kind."""
        places = read_places(positions, n_rows, self.metric)
        if places.given.shape[1] != self.given.shape[1]:
            raise ValueError(
                f"positions has {places.given.shape[1]} columns, but those given to fit had "
                f"{self.given.shape[1]}."
            )
        return places


def read_places(positions: Any, n_rows: int, metric: str) -> Places:
    """Positions of rows as numbers that distances can be computed of."""
    names = [str(name) for name in getattr(positions, "columns", ())]
    try:
        if np.iscomplexobj(positions):  # NumPy would drop a part of each, with a warning
            raise TypeError("they are complex")
        given = np.array(positions, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"positions must be numbers, but cannot be read: {error}") from None
    if given.ndim == 1:
        given = given[:, None]
    if given.ndim != 2 or len(given) != n_rows or not given.shape[1]:
        raise ValueError(
            f"positions has shape {np.shape(positions)}, but X has {n_rows} rows: pass one row of "
            "coordinates for each."
        )
    globe = metric == "great-circle"
    if globe and given.shape[1] != 2:
        raise ValueError(
            f"metric='great-circle' needs two columns of positions, latitude and longitude in "
            f"degrees; there are {given.shape[1]}."
        )
    sound = find_sound(given, metric)
    if not sound.all():
        row, column = (int(at[0]) for at in np.nonzero(~sound))
        title = f"column {column} ({names[column]!r})" if names else f"column {column}"
        wanted = "a number whose square is finite"
        advice = "Leave such rows out, or give them a place."
        if globe:
            name, least, most = _GLOBE[column]
            wanted = f"a {name} between {least:g} and {most:g} degrees"
            advice = "The columns are latitude and longitude, in this order."
        raise ValueError(
            f"positions must have {wanted} in {title}, but row {row} has {given[row, column]:g}. "
            + advice
        )
    return Places(given, metric)


def find_sound(given: Array, metric: str) -> Array:
    """Which of these numbers distances can be computed of."""
    if metric == "great-circle":
        sides = [
            (least <= v) & (v <= most) for v, (_, least, most) in zip(given.T, _GLOBE, strict=True)
        ]
        return np.column_stack(sides)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.isfinite(4.0 * given.shape[1] * given * given))


def is_sound(given: Array, metric: str) -> bool:
    """Whether all of them are, in as many columns as the metric has."""
    if metric == "great-circle" and given.shape[1] != len(_GLOBE):
        return False
    return bool(find_sound(given, metric).all())
