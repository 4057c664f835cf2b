"""The Newton system of hyperplanes on any graph.

Graphs of neighbours in space fill in when they are eliminated, so that memory ends it long before
time does. Conjugate gradients, with the levels of the graph (`graphs.multigrid`) for a
preconditioner, need blocks of (d + 1)(d + 2)/2 numbers at each node and some ten to a hundred
iterations. What they do not finish, which takes weights of very different size, is eliminated after
all: graphs with a few strong links among weak ones are nearly trees, and fill in little.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from lindero.graphs.graph import Graph
from lindero.graphs.multigrid import UNIT_ROUNDING, GraphLevels, conjugate_gradients
from lindero.problems.coupled import CoupledProblem, compute_pulls
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, compiled

#: Up to this many unknowns elimination is the faster way.
MOST_ELIMINATED_UNKNOWNS = 1500

#: The error of a step beside it, smaller each time `sharpen` is called; and the most iterations.
_SHARES = (1e-3, 1e-6, 1e-9, 1e-12)
_MOST_STEPS = 300


class GraphSystem:
    """H + Σ σ_i x̃_i x̃_iᵀ for a graph; see `interior_point.CoupledSystem`."""

    def __init__(
        self, problem: CoupledProblem, most_eliminated: int = MOST_ELIMINATED_UNKNOWNS
    ) -> None:
        assert isinstance(problem.graph, Graph)
        self.problem = problem
        self.graph = problem.graph
        self._weights = sp.csr_array(problem.link_scale * problem.graph.weights)
        self._shares: tuple[float, ...] = _SHARES
        self._levels: GraphLevels | None = None
        self._elimination: GraphElimination | None = None
        if problem.n_nodes * problem.n_parameters <= most_eliminated:
            self._elimination = GraphElimination(self._weights, problem.n_parameters)
        else:
            self._levels = GraphLevels(self._weights, problem.n_parameters)

    def residual(self, theta: Array, z: Array) -> Array:
        """Σ z_i x̃_i less the gradient of the penalty."""
        problem = self.problem
        result: Array = compute_pulls(problem.X, z)
        result -= problem.link_scale * self.graph.laplacian(theta)
        result -= problem.ridge * theta
        result[0] -= problem.ground * (theta[0] - problem.origin)
        return result

    def factor(self, sigma: Array) -> None:
        problem, p = self.problem, self.problem.n_parameters
        self._blocks = np.empty((problem.n_nodes, p * (p + 1) // 2))
        pack_blocks(problem.X, sigma, problem.ridge, self._blocks)
        self._blocks[0, np.cumsum(np.arange(1, p + 1)) - 1] += problem.ground
        (self._elimination or self._levels).factor(self._blocks)  # type: ignore[union-attr]

    def sharpen(self) -> bool:
        if self._levels is None or len(self._shares) == 1:
            return False
        self._shares = self._shares[1:]
        return True

    def solve(self, r: Array) -> Array:
        if self._levels is not None:
            levels = self._levels
            x = conjugate_gradients(levels.times, levels, r, None, self._shares[0], _MOST_STEPS)
            if x is not None:
                return x
            self._levels = None
            self._elimination = GraphElimination(self._weights, self.problem.n_parameters)
            self._elimination.factor(self._blocks)
        assert self._elimination is not None
        return self._elimination.solve(r)


@compiled(EXACT)
def pack_blocks(X, sigma, ridge, blocks):  # type: ignore[no-untyped-def]
    """diag(ridge) + σ_i x̃_i x̃_iᵀ of each node, packed by rows of the lower triangle."""
    n, d = X.shape
    for i in range(n):
        at, weight, block = 0, sigma[i], blocks[i]
        for k in range(d):
            factor = weight * X[i, k]
            for q in range(k + 1):
                block[at + q] = factor * X[i, q]
            at += k + 1
            block[at - 1] += ridge[k]
        for q in range(d):
            block[at + q] = weight * X[i, q]
        block[at + d] = weight + ridge[d]


class GraphElimination:
    """One sparse matrix, eliminated in an order of nodes found once: A, with
    θᵀAθ = Σ θ_iᵀE_iθ_i + Σ c_ij‖θ_i − θ_j‖², links of weight c and blocks E at nodes."""

    def __init__(self, weights: sp.csr_array, n_parameters: int) -> None:
        n, p = weights.shape[0], n_parameters
        laplacian = sp.csr_array(sp.diags_array(weights.sum(axis=1)) - weights)
        # The order is that of the matrix over nodes, where blocks stay together.
        pattern = weights.copy()
        pattern.data[:] = 1.0  # weights of very different size could make it singular
        unit = sp.csc_array(sp.diags_array(pattern.sum(axis=1) + 1.0) - pattern)
        order = np.argsort(splu(unit, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0).perm_c)
        self._order = (order[:, None] * p + np.arange(p)).ravel()
        place = np.empty(n, dtype=np.int64)
        place[order] = np.arange(n)
        links = sp.coo_array(sp.kron(laplacian[order][:, order], sp.eye_array(p)))
        row, column = np.tril_indices(p)
        rows = (place[:, None] * p + row).ravel()
        columns = (place[:, None] * p + column).ravel()
        self._below = np.tile(row != column, n)
        i = np.concatenate([links.coords[0], rows, columns[self._below]])
        j = np.concatenate([links.coords[1], columns, rows[self._below]])
        # Entries of links and blocks may share a place: `where` is the place of each.
        size = n * p
        places, where = np.unique(j.astype(np.int64) * size + i, return_inverse=True)
        self._where = where[len(links.data) :]
        self._links = np.bincount(where[: len(links.data)], links.data, len(places))
        self._rows = places % size
        self._columns = places // size
        self._starts = np.searchsorted(self._columns, np.arange(size + 1))

    def factor(self, blocks: Array) -> None:
        """Prepare `solve` for blocks E_i, packed by rows of the lower triangle."""
        entries = blocks.ravel()
        entries = np.concatenate([entries, entries[self._below]])
        values = self._links + np.bincount(self._where, entries, len(self._links))
        # Brought to unit diagonal: rows of very different weight would otherwise cost digits.
        scaling = np.empty(len(self._order))
        diagonal = self._rows == self._columns
        with np.errstate(divide="ignore", invalid="ignore"):
            scaling[self._rows[diagonal]] = 1.0 / np.sqrt(values[diagonal])
        values *= scaling[self._rows] * scaling[self._columns]
        values[diagonal] += UNIT_ROUNDING
        shape = len(scaling), len(scaling)
        matrix = sp.csc_array((values, self._rows, self._starts), shape=shape)
        try:
            self._factor = splu(
                matrix, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
            )
        except RuntimeError as error:
            raise np.linalg.LinAlgError("The Newton system is singular.") from error
        self._scaling = scaling

    def solve(self, r: Array) -> Array:
        """A⁻¹r."""
        x = np.empty(r.size)
        x[self._order] = self._scaling * self._factor.solve(self._scaling * r.ravel()[self._order])
        return x.reshape(r.shape)
