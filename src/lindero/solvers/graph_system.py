"""The Newton system of hyperplanes on any graph.

Graphs of neighbours in space fill in when they are eliminated, so that memory ends it long before
time does. Conjugate gradients, with the levels of the graph (`problems.graph_levels`) for a
preconditioner, need blocks of (d + 1)(d + 2)/2 numbers at each node and some ten to a hundred
iterations. What they do not finish, which takes weights of very different size, is eliminated after
all: graphs with a few strong links among weak ones are nearly trees, and fill in little.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numba import njit

from lindero.problems.coupled import CoupledProblem
from lindero.problems.graph_levels import GraphLevels, conjugate_gradients
from lindero.problems.node_graphs import Graph
from lindero.problems.node_rows import pulls
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT
from lindero.solvers.graph_elimination import GraphElimination

#: Up to this many unknowns elimination is the faster way.
MOST_ELIMINATED_UNKNOWNS = 1500

#: The error of a step, in the norm of the system, beside the step itself: at first, and each time
#: that a judged point is not what it should be. And the most iterations.
_SHARES = (1e-3, 1e-6, 1e-9, 1e-12)
_MOST_STEPS = 300


class GraphSystem:
    """H + Σ σ_i x̃_i x̃_iᵀ for a graph; see `coupled_systems.CoupledSystem`."""

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
        result: Array = pulls(problem.X, z)
        result -= problem.link_scale * self.graph.laplacian(theta)
        result -= problem.ridge * theta
        result[0] -= problem.ground * (theta[0] - problem.origin)
        return result

    def factor(self, sigma: Array) -> None:
        problem, p = self.problem, self.problem.n_parameters
        self._blocks = np.empty((problem.n_nodes, p * (p + 1) // 2))
        packed_blocks(problem.X, sigma, problem.ridge, self._blocks)
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


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def packed_blocks(X, sigma, ridge, blocks):  # type: ignore[no-untyped-def]
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
