"""Graphs whose nodes carry hyperplanes: a chain, or any symmetric table of weights.

A chain may be one of times. Its links then weigh 1, or unit/gap where gaps count, the unit being
the median of the gaps that are not zero. No link weighs more than `MOST_WEIGHT`, which is also what
a gap of zero gets, or less than `LEAST_WEIGHT`.

With L the Laplacian of the weights, (Lθ)_i = Σ_j weight_ij (θ_i − θ_j), a graph offers

    energy(θ)         θᵀLθ = Σ weight ‖θ_i − θ_j‖² over the links
    components        the connected component of each node, counted from 0
    solve(...)        (ridge_k I + scale L + ground e₀e₀ᵀ) x_k = r_k for the columns k of r

Without ridge and ground the last is singular, once in each component. Where r sums to zero there
it has solutions that differ by a constant; any of them may be returned.

Elimination along a chain is written in sums of positive terms: what the nodes before a link weigh,
t, is worth t·c/(t + c) behind a link of weight c. No digits are lost however strong the links are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from lindero.errors import SolverError
from lindero.graphs.multigrid import UNIT_ROUNDING, GraphLevels, conjugate_gradients
from lindero.runtime.arrays import Array
from lindero.runtime.cached import cached_property
from lindero.runtime.compilation import EXACT, FAST, compiled

#: Up to this many nodes a graph's equations are solved by elimination, beyond by iteration.
MOST_ELIMINATED_NODES = 3000

#: The error at which the iteration ends, beside the solution, in the norm of the matrix; and the
#: most steps it may take. Errors of a dual objective are squares of this one.
_SOLVED = 1e-8
_MOST_STEPS = 300

#: Share of the diagonal that stands for a missing ridge in the preconditioner.
_HELD = 1e-10

#: How symmetric matrices of graphs are eliminated.
_ELIMINATION: dict[str, Any] = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0}

#: The most that a link over a short gap may weigh, beside one over the median gap.
MOST_WEIGHT = 1e3

#: The least that a link over a long gap may weigh. Kernels hold 1/weight beside values of the order
#: of 1, and with less than this their digits would be lost.
LEAST_WEIGHT = 1e-9


@dataclass(frozen=True)
class Chain:
    """Nodes in a row, each linked to the next: `links` holds n − 1 weights ≥ 0 (0 cuts it)."""

    links: Array

    def __post_init__(self) -> None:
        links = np.ascontiguousarray(self.links, dtype=np.float64)
        bad = np.flatnonzero(~(np.isfinite(links) & (links >= 0.0)))
        if len(bad):
            raise SolverError(
                "Weights of a chain must be finite and not negative; link "
                f"{bad[0]} is {links[bad[0]]}."
            )
        object.__setattr__(self, "links", links)

    @property
    def n_nodes(self) -> int:
        return len(self.links) + 1

    @cached_property
    def components(self) -> Array:
        return np.concatenate([[0], np.cumsum(self.links == 0.0)])

    def energy(self, theta: Array) -> float:
        return float(sum_chain_energy(self.links, theta))

    def subset(self, nodes: Array) -> Chain:
        """The chain of some of the nodes, in order; those not adjacent are not linked."""
        adjacent = np.diff(nodes) == 1
        return Chain(np.where(adjacent, self.links[nodes[:-1].clip(max=self.n_nodes - 2)], 0.0))

    def solve(
        self, r: Array, ridge: Array, scale: float, ground: float, near: Array | None = None
    ) -> Array:
        """See the module; `near` is of no use to elimination."""
        x = np.empty_like(r)
        for k in range(r.shape[1]):
            eliminate_chain(r[:, k], ridge[k], scale * self.links, ground, x[:, k])
        return x


@dataclass(frozen=True)
class Graph:
    """Any graph, as the symmetric sparse matrix of its weights ≥ 0; the diagonal is ignored."""

    weights: Any

    def __post_init__(self) -> None:
        weights = sp.csr_array(self.weights, dtype=np.float64, copy=True)
        if weights.shape[0] != weights.shape[1]:
            raise SolverError(
                f"A graph needs a square matrix of weights; this one is {weights.shape}."
            )
        weights.sum_duplicates()
        _require_sound_table(weights)
        weights.setdiag(0.0)
        weights.eliminate_zeros()
        weights.sort_indices()
        object.__setattr__(self, "weights", weights)

    @property
    def n_nodes(self) -> int:
        return int(self.weights.shape[0])

    @cached_property
    def degrees(self) -> Array:
        return np.asarray(self.weights.sum(axis=1)).ravel()

    @cached_property
    def components(self) -> Array:
        labels: Array = connected_components(self.weights, directed=False)[1]
        return labels.astype(np.int64)

    def laplacian(self, theta: Array) -> Array:
        """L θ, column by column."""
        result = np.empty_like(theta)
        weights = self.weights
        apply_laplacian(weights.indptr, weights.indices, weights.data, theta, result)
        return result

    def energy(self, theta: Array) -> float:
        weights = self.weights
        return float(sum_graph_energy(weights.indptr, weights.indices, weights.data, theta))

    def subset(self, nodes: Array) -> Graph:
        return Graph(self.weights[nodes][:, nodes])

    def solve(
        self, r: Array, ridge: Array, scale: float, ground: float, near: Array | None = None
    ) -> Array:
        """See the module; where it pays, by an iteration that starts at `near`."""
        if self.n_nodes > MOST_ELIMINATED_NODES:
            found = self._iterate(r, ridge, scale, ground, near)
            if found is not None:
                return found
        x = np.empty_like(r)
        for value in np.unique(ridge):
            columns = np.flatnonzero(ridge == value)
            diagonal = scale * self.degrees + value
            diagonal[0] += ground
            if value == 0.0:
                # Where the sum of r is zero, a weight on one node puts a zero there, no more.
                held = np.unique(self.components, return_index=True)[1]
                held = held if ground == 0.0 else held[self.components[held] != self.components[0]]
                diagonal[held] += np.where(diagonal[held] > 0.0, diagonal[held], 1.0)
            matrix = sp.csc_array(sp.diags_array(diagonal) - scale * self.weights)
            x[:, columns] = _eliminate(matrix, diagonal, np.ascontiguousarray(r[:, columns]))
        return x

    def _iterate(
        self, r: Array, ridge: Array, scale: float, ground: float, near: Array | None
    ) -> Array | None:
        """By conjugate gradients on all columns at once; None where they do not get there."""
        p = r.shape[1]
        diagonal = np.cumsum(np.arange(1, p + 1)) - 1
        blocks = np.zeros((self.n_nodes, p * (p + 1) // 2))
        # The preconditioner needs a little of what the matrix may lack.
        blocks[:, diagonal] = np.maximum(ridge, _HELD * (ridge.max() + scale * self.degrees.mean()))
        blocks[0, diagonal] += ground
        levels = GraphLevels(sp.csr_array(scale * self.weights), p)
        levels.factor(blocks)

        def times(x: Array) -> Array:
            product: Array = scale * self.laplacian(x) + ridge * x
            product[0] += ground * x[0]
            return product

        return conjugate_gradients(times, levels, r, near, _SOLVED, _MOST_STEPS)


def _eliminate(matrix: sp.csc_array, diagonal: Array, r: Array) -> Array:
    """matrix⁻¹ r; not a number where weights are so different that rounding leaves no inverse."""
    try:
        return np.asarray(splu(matrix, **_ELIMINATION).solve(r))
    except RuntimeError:  # exactly singular: once more with a diagonal of ones and what rounding is
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            scaling = 1.0 / np.sqrt(diagonal)
            scaled = sp.diags_array(scaling) @ matrix @ sp.diags_array(scaling)
        scaled = sp.csc_array(scaled + UNIT_ROUNDING * sp.eye_array(len(scaling)))
    try:
        found = splu(scaled, **_ELIMINATION).solve(scaling[:, None] * r)
        return np.asarray(scaling[:, None] * found)
    except RuntimeError:
        return np.full_like(r, np.nan)


def find_typical_gap(times: Array) -> float:
    """The median of the gaps between sorted times that are not zero; 0 where there are none."""
    gaps = np.diff(times)
    gaps = gaps[gaps > 0.0]
    return float(np.median(gaps)) if len(gaps) else 0.0


def link_times(times: Array, unit: float | None) -> Array:
    """Weights of the links between sorted times: 1, or unit/gap where there is a `unit`."""
    gaps = np.diff(times)
    if unit is None or not unit > 0.0:
        return np.ones(len(gaps))
    with np.errstate(divide="ignore", over="ignore"):
        weights: Array = np.clip(unit / gaps, LEAST_WEIGHT, MOST_WEIGHT)
    return weights


def _require_sound_table(weights: sp.csr_array) -> None:
    """Refuse weights that are negative or not finite, and those that differ there and back."""
    entries = weights.tocoo()
    bad = np.flatnonzero(~(np.isfinite(entries.data) & (entries.data >= 0.0)))
    if len(bad):
        row, column = int(entries.row[bad[0]]), int(entries.col[bad[0]])
        raise SolverError(
            f"graph must hold finite weights that are not negative, but that of rows {row} and "
            f"{column} is {entries.data[bad[0]]:g}. Leave such links out, or turn distances into "
            "weights, as by 1/distance."
        )
    difference = (weights - weights.T).tocoo()
    differing = np.flatnonzero(difference.data)
    if len(differing):
        row, column = int(difference.row[differing[0]]), int(difference.col[differing[0]])
        raise SolverError(
            f"graph must be symmetric, but the weight from row {row} to row {column} is "
            f"{weights[row, column]:g} and back it is {weights[column, row]:g}. Pass "
            "graph.maximum(graph.T), or (graph + graph.T) / 2."
        )


# -- passes over the links, compiled --------------------------------------------------------------


@compiled(FAST)
def sum_chain_energy(links, theta):  # type: ignore[no-untyped-def]
    """Σ links_i ‖θ_{i+1} − θ_i‖²."""
    total = 0.0
    for i in range(links.size):
        square = 0.0
        for k in range(theta.shape[1]):
            square += (theta[i + 1, k] - theta[i, k]) ** 2
        total += links[i] * square
    return total


@compiled(EXACT)
def eliminate_chain(r, ridge, links, ground, x):  # type: ignore[no-untyped-def]
    """(ridge I + L + ground e₀e₀ᵀ) x = r along one column, a zero where a component floats."""
    n = r.size
    weight = np.empty(n)
    behind = ground
    for i in range(n):
        own = ridge + behind
        after = links[i] if i < n - 1 else 0.0
        weight[i] = own + after
        behind = own * (after / weight[i]) if after > 0.0 else 0.0
        x[i] = r[i] + (links[i - 1] * x[i - 1] if i > 0 else 0.0)
        x[i] = x[i] / weight[i] if weight[i] > 0.0 else 0.0
    for i in range(n - 2, -1, -1):
        if links[i] > 0.0:
            x[i] += links[i] / weight[i] * x[i + 1]


@compiled(EXACT)
def apply_laplacian(starts, neighbours, weights, theta, out):  # type: ignore[no-untyped-def]
    """out_i = Σ_j weight_ij (θ_i − θ_j)."""
    for i in range(theta.shape[0]):
        target, own = out[i], theta[i]
        target[:] = 0.0
        for e in range(starts[i], starts[i + 1]):
            weight, other = weights[e], theta[neighbours[e]]
            for k in range(target.size):
                target[k] += weight * (own[k] - other[k])


@compiled(FAST)
def sum_graph_energy(starts, neighbours, weights, theta):  # type: ignore[no-untyped-def]
    """Σ weight_ij ‖θ_i − θ_j‖² over the links, each counted once."""
    total = 0.0
    for i in range(theta.shape[0]):
        for e in range(starts[i], starts[i + 1]):
            j = neighbours[e]
            if j < i:
                square = 0.0
                for k in range(theta.shape[1]):
                    square += (theta[i, k] - theta[j, k]) ** 2
                total += weights[e] * square
    return total
