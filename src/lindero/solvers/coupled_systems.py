"""What the coupled interior-point solver asks of a graph, and who answers."""

from __future__ import annotations

from typing import Protocol

from lindero.problems.coupled import CoupledProblem
from lindero.problems.node_graphs import Chain
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads
from lindero.solvers.chain_system import ChainSystem
from lindero.solvers.graph_system import GraphSystem


class CoupledSystem(Protocol):
    """H + Σ σ_i x̃_i x̃_iᵀ over all hyperplanes, kept as (nodes, parameters).

    residual(θ, z)    Σ z_i x̃_i less the gradient of the penalty at θ
    factor(σ)         prepare the matrix; LinAlgError where rounding has spoiled it
    solve(r)          apply the inverse of what was prepared
    sharpen()         solve more exactly from now on; False where that cannot be
    """

    def residual(self, theta: Array, z: Array) -> Array: ...
    def factor(self, sigma: Array) -> None: ...
    def solve(self, r: Array) -> Array: ...
    def sharpen(self) -> bool: ...


def coupled_system(problem: CoupledProblem, threads: TileThreads) -> CoupledSystem:
    """The system that suits the problem's graph."""
    if isinstance(problem.graph, Chain):
        return ChainSystem(problem, threads)
    return GraphSystem(problem)
