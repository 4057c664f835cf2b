"""Graphs whose nodes carry hyperplanes: a chain, or any symmetric table of weights.

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
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from lindero.errors import SolverError
from lindero.problems.graph_levels import GraphLevels, conjugate_gradients
from lindero.problems.link_passes import (
    chain_energy,
    eliminate_chain,
    graph_energy,
    graph_laplacian,
)
from lindero.runtime.arrays import Array

#: Up to this many nodes a graph's equations are solved by elimination, beyond by iteration.
MOST_ELIMINATED_NODES = 3000

#: The error at which the iteration ends, beside the solution, in the norm of the matrix; and the
#: most steps it may take. Errors of a dual objective are squares of this one.
_SOLVED = 1e-8
_MOST_STEPS = 300

#: Share of the diagonal that stands for a missing ridge in the preconditioner.
_HELD = 1e-10


@dataclass(frozen=True)
class Chain:
    """Nodes in a row, each linked to the next: `links` holds n − 1 weights ≥ 0 (0 cuts it)."""

    links: Array

    def __post_init__(self) -> None:
        links = np.ascontiguousarray(self.links, dtype=np.float64)
        _check_weights(links, "link")
        object.__setattr__(self, "links", links)

    @classmethod
    def of(cls, n_nodes: int) -> Chain:
        """The chain whose links all weigh 1."""
        return cls(np.ones(max(0, n_nodes - 1)))

    @property
    def n_nodes(self) -> int:
        return len(self.links) + 1

    @cached_property
    def components(self) -> Array:
        return np.concatenate([[0], np.cumsum(self.links == 0.0)])

    def energy(self, theta: Array) -> float:
        total: float = chain_energy(self.links, theta)
        return total

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
        weights.setdiag(0.0)
        weights.eliminate_zeros()
        weights.sort_indices()
        _check_weights(weights.data, "entry")
        if abs(weights - weights.T).max() > 0.0:
            raise SolverError(
                "The matrix of a graph's weights must be symmetric; take the maximum, or the mean, "
                "of the matrix and its transpose."
            )
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
        graph_laplacian(weights.indptr, weights.indices, weights.data, theta, result)
        return result

    def energy(self, theta: Array) -> float:
        weights = self.weights
        total: float = graph_energy(weights.indptr, weights.indices, weights.data, theta)
        return total

    def subset(self, nodes: Array) -> Graph:
        return Graph(self.weights[nodes][:, nodes])

    def solve(
        self, r: Array, ridge: Array, scale: float, ground: float, near: Array | None = None
    ) -> Array:
        """See the module; where it pays, by an iteration that starts at `near`."""
        if self.n_nodes > MOST_ELIMINATED_NODES:
            found = self._iterated(r, ridge, scale, ground, near)
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
            factor = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0)
            x[:, columns] = factor.solve(np.ascontiguousarray(r[:, columns]))
        return x

    def _iterated(
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


def _check_weights(weights: Array, what: str) -> None:
    if not np.isfinite(weights).all() or (weights < 0.0).any():
        place = int(np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))[0])
        raise SolverError(
            f"Weights of a graph must be finite and not negative; {what} {place} is "
            f"{weights[place]}."
        )
