"""The rows of a coupled problem on the way to its optimum.

A row has the multiplier a, β = u − a, and the slacks t, ξ ≥ 0 with s x̃·θ + p + ξ − t = 0 in the
end (see `solvers.interior_point`). In terms of f = x̃·θ and of the change df that a Newton
system answers with, a move towards a t = κ, β ξ = λ is

    da = σ (−p − s f − λ/β + κ/a − s df),    dt = κ/a − t − (t/a) da,    dξ = λ/β − ξ + (ξ/β) da

with σ = 1/(ξ/β + t/a). The predictor has κ = λ = 0; nothing of it is kept, since it is cheap to
find again. The corrector has κ = target − da dt and λ = target − dβ dξ of the predictor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindero.problems.coupled import CoupledProblem
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads
from lindero.solvers.row_passes import advance, conclude, correct, look, predict

#: Nodes in one piece of work.
_RANGE = 2**15

#: How much of the way to the boundary of the positive orthant a step may go.
_TO_BOUNDARY = 0.995


def node_ranges(n_nodes: int) -> list[tuple[int, int]]:
    """Fixed ranges of nodes, so that sums do not depend on the number of threads."""
    return [(start, min(start + _RANGE, n_nodes)) for start in range(0, n_nodes, _RANGE)]


class InteriorRows:
    """Multipliers and slacks strictly inside their bounds: `state` is (a, β, t, ξ).

    `weights` (σ) and `pull` (Σ s (a + σ r)), sums over the rows of each node, are what the Newton
    system is to be prepared with and what it is to solve for.
    """

    def __init__(self, problem: CoupledProblem, threads: TileThreads) -> None:
        self._threads = threads
        self._ranges = node_ranges(problem.n_nodes)
        self._rows = (problem.s, problem.p, problem.u)
        u = problem.u
        self.size = float(np.abs(problem.p[u > 0]).max(initial=0.0)) or 1.0
        self.n_products = 2 * int(np.count_nonzero(u))
        slack = np.full_like(u, self.size)
        self.state: tuple[Array, ...] = (0.5 * u, 0.5 * u, slack, slack.copy())
        self.weights, self.pull = np.empty(problem.n_nodes), np.empty(problem.n_nodes)
        self._sigma = np.zeros_like(u)
        self._moves = tuple(np.zeros_like(u) for _ in range(3))

    def _map(self, work: Callable[[int, int], Any]) -> Array:
        """`work` on every range of nodes; what it returns, one row for each."""
        parts: list[Any] = [None] * len(self._ranges)

        def run(item: tuple[int, tuple[int, int]]) -> None:
            k, bounds = item
            parts[k] = work(*bounds)

        self._threads.map(run, enumerate(self._ranges))
        return np.array(parts)

    def look(self, f: Array) -> tuple[float, float, float]:
        """Prepare the predictor; Σ a t + β ξ, Σ losses, and Σ a r + losses, the duality gap if θ
        were the one that belongs to a. Not finite where a bound has been met."""
        rows, state = self._rows, self.state
        products, losses, gap = self._map(
            lambda i, j: look(rows, state, f, i, j, self._sigma, self.weights, self.pull)
        ).sum(axis=0)
        return float(products), float(losses), float(gap)

    def correct(self, f: Array, df: Array, mu: float) -> None:
        """Prepare the corrector, from where the predictor's df would lead."""
        rows, state, sigma, moves = self._rows, self.state, self._sigma, self._moves
        found = self._map(lambda i, j: predict(rows, state, f, df, i, j, sigma))
        length = _longest(found[:, 0].max())
        share = 1.0 - length + length**2 * found[:, 1].sum() / (mu * self.n_products)
        target = mu * min(1.0, max(share, 0.0)) ** 3
        self._map(lambda i, j: correct(rows, state, f, df, target, i, j, sigma, moves, self.pull))

    def move(self, df: Array) -> float:
        """Go as far as the corrector's df allows: the share of the way."""
        rows, state, sigma, moves = self._rows, self.state, self._sigma, self._moves
        found = self._map(lambda i, j: conclude(rows, state, df, i, j, sigma, moves))
        length = _longest(found.max())
        if np.isfinite(length):
            self._map(lambda i, j: advance(state, moves, length, i, j))
        return length

    def settled(self, share: float) -> Array:
        """Multipliers, those nearer to a bound than `share` of their slack, each beside its scale,
        put on it."""
        a, b, t, x = self.state
        u = self._rows[2]
        low = a * self.size < share * t * np.minimum(u, a.max())
        high = b * self.size < share * x * u
        return np.where(low, 0.0, np.where(high, u, a))


def _longest(steepest: Any) -> float:
    if np.isnan(steepest):
        return np.nan
    return float(min(1.0, _TO_BOUNDARY / steepest)) if steepest > 0.0 else 1.0
