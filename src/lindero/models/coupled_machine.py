"""What remains of a coupled fit: one function for each node, and those between two nodes.

    f_i(x) = w_i·x + b_i                                      linear
    f_i(x) = n Σ_j (I + C₂L)⁻¹_ij z_j k(x_j, x) + b_i         any kernel, along a chain

Rows are evaluated at positions: node i at i, and between nodes i and i + 1 the function that is in
between, (1 − λ) f_i + λ f_{i+1} at i + λ. Before the first node and beyond the last, the nearest
one holds. Graphs that are not chains have only whole positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lindero.kernels.coupled import CoupledKernel
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads

#: Rows and support vectors of one piece of work: some 2 MB of kernel values.
_ROWS = 256
_VECTORS = 1024


def locate(positions: Any, n_nodes: int) -> tuple[Array, Array]:
    """The node before each position, and how far on the way to the next one it is."""
    within = np.clip(np.asarray(positions, dtype=np.float64), 0.0, n_nodes - 1.0)
    nodes = np.minimum(np.floor(within), max(0.0, n_nodes - 2.0)).astype(np.int64)
    return nodes, within - nodes


@dataclass(frozen=True)
class HyperplaneField:
    """A hyperplane at each node: `coef` (nodes, features), `intercepts` (nodes,)."""

    coef: Array
    intercepts: Array

    @property
    def n_nodes(self) -> int:
        return len(self.intercepts)

    def at(self, positions: Any) -> tuple[Array, Array]:
        """Coefficients and intercepts at positions."""
        nodes, share = locate(positions, self.n_nodes)
        after = np.minimum(nodes + 1, self.n_nodes - 1)
        coef = (1.0 - share)[:, None] * self.coef[nodes] + share[:, None] * self.coef[after]
        return coef, (1.0 - share) * self.intercepts[nodes] + share * self.intercepts[after]

    def decision_values(self, Z: Array, positions: Any) -> Array:
        """f at each row of Z, by the hyperplane at its position."""
        coef, intercepts = self.at(positions)
        return np.asarray(np.einsum("ij,ij->i", Z, coef) + intercepts)


@dataclass(frozen=True)
class CoupledKernelMachine:
    """Coefficients z of samples under a coupled kernel, and a bias for each component."""

    kernel: CoupledKernel
    z: Array
    biases: Array

    @property
    def n_nodes(self) -> int:
        return len(self.kernel.vectors.component)

    def decision_values(self, Z: Any, positions: Any) -> Array:
        """f at each row of Z, by the function at its position."""
        nodes, share = locate(positions, self.n_nodes)
        values = np.zeros(len(nodes))
        for at, weight in ((nodes, 1.0 - share), (np.minimum(nodes + 1, self.n_nodes - 1), share)):
            rows = np.flatnonzero(weight)
            if len(rows):
                values[rows] += weight[rows] * self._at_nodes(Z[rows], at[rows])
        return values

    def _at_nodes(self, Z: Any, nodes: Array) -> Array:
        values = self.biases[self.kernel.vectors.component[nodes]].astype(np.float64)
        n_vectors = len(self.z)

        def work(first: int) -> None:
            rows = slice(first, min(first + _ROWS, len(nodes)))
            probe = self.kernel.probe_of((Z[rows], nodes[rows]))
            for start in range(0, n_vectors, _VECTORS):
                stop = min(start + _VECTORS, n_vectors)
                tile = np.empty((len(probe), stop - start), dtype=self.kernel.dtype)
                self.kernel.block(probe, start, stop, tile)
                values[rows] += tile @ self.z[start:stop]

        with TileThreads(1 if len(nodes) * n_vectors < 2**17 else None) as threads:
            threads.map(work, range(0, len(nodes), _ROWS))
        return values
