"""Coarser and coarser pictures of a graph, on which smooth errors are removed.

Blocks E_i at nodes and links of weight c make up A,  θᵀAθ = Σ θ_iᵀE_iθ_i + Σ c‖θ_i − θ_j‖². Where
neighbours hold together, an error that all of them share is hardly seen by one of them alone.
So nodes are gathered into groups that move as one: their blocks add up, links between groups add
up, links within vanish, and the result is a matrix of the same kind over fewer nodes. A cycle is

    sweep over the nodes, solving for each in turn       removes what neighbours disagree about
    solve for a common move of each group, likewise      removes what they share
    sweep over the nodes in reverse order                makes the whole symmetric

which is a preconditioner for conjugate gradients. Groups depend on the graph only; for each new set
of blocks there is but a sum over groups and a small factorisation at each node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from lindero.problems.graph_sweeps import (
    groups_of_nodes,
    inverse_factors,
    product,
    summed,
    sweep_back,
    sweep_first,
)
from lindero.runtime.arrays import Array

#: Unknowns of a level that is solved outright.
_OUTRIGHT = 600

#: A level that has more than this share of the nodes of the one before is not worth having.
_WORTH = 0.8

#: Finest levels whose groups are corrected twice in a cycle.
_TWICE = 3

#: Links weaker than this share of a node's strongest do not bring it into a group.
_STRONG = 0.1


#: Added to a matrix of unit diagonal, this is rounding, and keeps it positive definite.
ROUNDING = 1e-14


@dataclass(frozen=True)
class _Links:
    """Links of one level by node, and the group of each node in the next level (None: the last)."""

    starts: Array
    neighbours: Array
    weights: Array
    degrees: Array
    group_of: Array | None

    @property
    def n_nodes(self) -> int:
        return len(self.degrees)


class GraphLevels:
    """The levels of a graph with links of given weights and blocks of `n_parameters`."""

    def __init__(self, weights: sp.csr_array, n_parameters: int) -> None:
        self.n_parameters = n_parameters
        self.links: list[_Links] = []
        while True:
            weights.sort_indices()
            n = weights.shape[0]
            degrees = np.asarray(weights.sum(axis=1)).ravel()
            parts = weights.indptr, weights.indices, weights.data, degrees
            group_of, n_groups = groups_of_nodes(*parts[:3], _STRONG)
            small = n * n_parameters <= _OUTRIGHT
            if small or n_groups > _WORTH * n:
                self.links.append(_Links(*parts, None))
                return
            self.links.append(_Links(*parts, group_of))
            shape = n, n_groups
            gather = sp.csr_array((np.ones(n), group_of, np.arange(n + 1)), shape=shape)
            weights = sp.csr_array(gather.T @ weights @ gather)
            weights.setdiag(0.0)
            weights.eliminate_zeros()

    def factor(self, blocks: Array) -> None:
        """Prepare cycles for blocks E_i (nodes, p(p+1)/2), packed by rows of the lower triangle."""
        self._blocks, self._inverses = [blocks], []
        for links in self.links:
            inverses = np.empty_like(blocks)
            if not inverse_factors(blocks, links.degrees, self.n_parameters, inverses):
                raise np.linalg.LinAlgError("The Newton system is not positive definite.")
            self._inverses.append(inverses)
            if links.group_of is not None:
                n_groups = int(links.group_of.max()) + 1
                blocks = summed(blocks, links.group_of, n_groups)
                self._blocks.append(blocks)
        last = self.links[-1]
        self._outright = None
        if last.n_nodes * self.n_parameters <= _OUTRIGHT:
            matrix = self._dense(last, blocks)
            self._scaling = 1.0 / np.sqrt(matrix.diagonal())
            matrix *= self._scaling[:, None] * self._scaling
            matrix.flat[:: len(matrix) + 1] += ROUNDING
            self._outright = cho_factor(matrix, lower=True)

    def _dense(self, links: _Links, blocks: Array) -> Array:
        p, n = self.n_parameters, links.n_nodes
        weights = sp.csr_array((links.weights, links.neighbours, links.starts), shape=(n, n))
        matrix = np.kron(np.diag(links.degrees) - weights.toarray(), np.eye(p))
        lower = np.zeros((n, p, p))
        lower[:, *np.tril_indices(p)] = blocks
        own = lower + np.tril(lower, -1).transpose(0, 2, 1)
        for i in range(n):
            matrix[i * p : (i + 1) * p, i * p : (i + 1) * p] += own[i]
        return matrix

    def times(self, x: Array, level: int = 0) -> Array:
        """A x."""
        links, out = self.links[level], np.empty_like(x)
        product(links.starts, links.neighbours, links.weights, self._blocks[level], x, out)
        return out

    def cycle(self, r: Array, level: int = 0) -> Array:
        """An approximate solution of A x = r."""
        if level == len(self.links) - 1 and self._outright is not None:
            x: Array = self._scaling * cho_solve(self._outright, self._scaling * r.ravel())
            return x.reshape(r.shape)
        links, inverses = self.links[level], self._inverses[level]
        parts = links.starts, links.neighbours, links.weights, inverses
        x, rest = np.empty_like(r), np.empty_like(r)
        sweep_first(*parts, r, x, rest)
        if links.group_of is not None:
            shared = summed(rest, links.group_of, self.links[level + 1].n_nodes)
            common = self.cycle(shared, level + 1)
            if level < _TWICE and level + 2 < len(self.links):
                shared -= self.times(common, level + 1)
                common += self.cycle(shared, level + 1)
            x += common[links.group_of]
        sweep_back(*parts, r, x)
        return x


def conjugate_gradients(
    times: Callable[[Array], Array],
    levels: GraphLevels,
    r: Array,
    near: Array | None,
    share: float,
    most_steps: int,
) -> Array | None:
    """The solution of A x = r from `near` on, A given by its products, to an error of `share` in
    the norm xᵀAx; None where that takes more than `most_steps`."""
    x = np.zeros_like(r) if near is None else near.copy()
    rest = r - times(x) if x.any() else r.copy()
    z = levels.cycle(rest)
    direction = z.copy()
    size = float(np.vdot(rest, z))
    for _ in range(most_steps):
        # At the solution xᵀr is xᵀAx, and restᵀz is about the square of the error.
        if size <= share**2 * abs(float(np.vdot(x, r))) or not rest.any():
            return x
        along = times(direction)
        curvature = float(np.vdot(direction, along))
        if not (size > 0.0 and curvature > 0.0):
            return None
        length = size / curvature
        x += length * direction
        rest -= length * along
        z = levels.cycle(rest)
        before, size = size, float(np.vdot(rest, z))
        direction *= size / before
        direction += z
    return None
