"""The Newton system of hyperplanes along a chain: block tridiagonal, O(n d³) time, O(n d²) memory.

See `chain_elimination` for the method. Everything that grows with n is compiled and split into two
halves, or into fixed ranges of nodes, for threads: results do not depend on their number.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lindero.problems.coupled import CoupledProblem
from lindero.problems.node_graphs import Chain
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT
from lindero.runtime.threads import TileThreads
from lindero.solvers.chain_elimination import (
    eliminate_half,
    eliminate_middle,
    solve_middle,
    sweep_in,
    sweep_out,
)
from lindero.solvers.coupled_rows import node_ranges


class ChainSystem:
    """H + Σ σ_i x̃_i x̃_iᵀ for a chain; see `coupled_systems.CoupledSystem`."""

    def __init__(self, problem: CoupledProblem, threads: TileThreads) -> None:
        assert isinstance(problem.graph, Chain)
        self.threads = threads
        self._X = problem.X
        self._links = problem.link_scale * problem.graph.links
        self._ridge = problem.ridge
        self._ground = problem.ground
        self._origin = problem.origin
        n, p = problem.n_nodes, problem.n_parameters
        self._ranges = node_ranges(n)
        self._W = np.empty((n, p * (p + 1) // 2))
        self._known = np.empty((2, p, p))
        middle = n // 2
        self._middle = middle
        self._inwards = [(0, 0, middle, 1), (1, n - 1, middle, -1)]
        self._outwards = [(middle - 1, -1, -1), (middle + 1, n, 1)]

    def residual(self, theta: Array, z: Array) -> Array:
        """Σ z_i x̃_i less the gradient of the penalty."""
        out = np.empty_like(theta)

        def work(bounds: tuple[int, int]) -> None:
            chain_residual(
                self._X,
                self._links,
                self._ridge,
                self._ground,
                self._origin,
                theta,
                z,
                *bounds,
                out,
            )

        self.threads.map(work, self._ranges)
        return out

    def factor(self, sigma: Array) -> None:
        sound = [True, True]

        def work(half: tuple[int, int, int, int]) -> None:
            side, start, stop, step = half
            sound[side] = eliminate_half(
                self._X, sigma, self._ridge, self._links, self._ground,
                start, stop, step, self._W, self._known[side],
            )  # fmt: skip

        self.threads.map(work, self._inwards)
        left, right = self._known
        if not all(sound) or not eliminate_middle(
            self._X, sigma, self._ridge, self._ground, self._middle, left, right, self._W
        ):
            raise np.linalg.LinAlgError("The Newton system is not positive definite.")

    def sharpen(self) -> bool:
        return False

    def solve(self, r: Array) -> Array:
        x = np.empty_like(r)
        W, links = self._W, self._links
        self.threads.map(lambda half: sweep_in(W, links, r, *half[1:], x), self._inwards)
        solve_middle(W, links, r, self._middle, x)
        self.threads.map(lambda half: sweep_out(W, links, *half, x), self._outwards)
        return x


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def chain_residual(X, links, ridge, ground, origin, theta, z, start, stop, out):  # type: ignore[no-untyped-def]
    """z_i x̃_i − (Hθ)_i for nodes start..stop. The flow over a link is computed alike from both of
    its ends, so that flows cancel exactly in sums over nodes."""
    n, p = theta.shape
    for i in range(start, stop):
        for k in range(p):
            pull = z[i] * X[i, k] if k < p - 1 else z[i]
            total = pull - ridge[k] * theta[i, k]
            if i > 0:
                total -= links[i - 1] * (theta[i, k] - theta[i - 1, k])
            else:
                total -= ground * (theta[0, k] - origin[k])
            if i < n - 1:
                total += links[i] * (theta[i + 1, k] - theta[i, k])
            out[i, k] = total
