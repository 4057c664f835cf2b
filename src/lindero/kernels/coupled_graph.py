"""The coupled kernel of any connected graph: that of `kernels.coupled`, with both inverses formed.

    K_ij = n (I + C₂L)⁻¹_ij k(x_i, x_j) + (n/C₂) L⁺_ij

L has the eigenvalue zero with the vector of ones, and no other: the graph is connected. With
J = 11ᵀ/m over its m nodes, and t of the size of L's diagonal, L + tJ has an inverse, of a good
condition however large C₂ is, and

    L⁺ = (L + tJ)⁻¹ − J/t,      (I + C₂L)⁻¹ = (I + C₂(L + tJ))⁻¹ + (1 − 1/(1 + C₂t)) J

That takes 16 m² bytes, and time that grows with m³: `MOST_PLACES` is where hyperplanes, which need
neither, are the better machines.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from lindero.errors import KernelError
from lindero.kernels.coupled import NodeKernel
from lindero.kernels.operator import ROUNDING_UNITS, KernelOperator
from lindero.runtime.arrays import Array

#: The most nodes of one part: 1 GB for both matrices.
MOST_PLACES = 8_000


class GraphKernel(NodeKernel):
    """`base` over samples, coupled by the graph whose weights are the symmetric matrix `weights`:
    sample i is at node i, and all nodes are connected."""

    def __init__(
        self, base: KernelOperator, weights: Any, coupling: float, n_scale: float | None = None
    ) -> None:
        n = base.n_samples
        if weights.shape != (n, n):
            raise KernelError(
                f"A coupled kernel needs a node for each sample: there are {n} samples, and "
                f"weights of shape {weights.shape}."
            )
        scale = float(n if n_scale is None else n_scale)
        self.flows = scale / coupling * find_flows(weights)
        self._set(base, scale * find_shares(weights, coupling), np.arange(n))

    def _set(self, base: KernelOperator, shares: Array, nodes: Array) -> None:
        self.base = base
        self.shares = shares
        self.nodes = nodes
        self.n_samples = base.n_samples
        self.dtype = base.dtype

    def _like(self, base: KernelOperator, nodes: Array) -> GraphKernel:
        other = GraphKernel.__new__(GraphKernel)
        other.flows = self.flows
        other._set(base, self.shares, nodes)
        return other

    @property
    def component(self) -> Array:
        """The part of the graph that each sample is in: there is one."""
        return np.zeros(len(self.nodes), dtype=np.int64)

    def diagonal(self) -> Array:
        own: Array = np.diagonal(self.shares)[self.nodes] * self.base.diagonal()
        return np.asarray(own + np.diagonal(self.flows)[self.nodes])

    def rounding(self) -> float:
        share, flow = self._most()
        return share * self.base.rounding() + flow

    def error(self) -> float:
        share, flow = self._most()
        base = self.base.error() + ROUNDING_UNITS * self.base.largest()
        return share * base + ROUNDING_UNITS * flow

    def _most(self) -> tuple[float, float]:
        """The largest entries of both matrices: on the diagonal, as they are positive
        semi-definite."""
        return float(np.diagonal(self.shares).max()), float(np.diagonal(self.flows).max())

    def _couple(self, left: Array, right: Array, values: Array) -> None:
        block = np.ix_(left, right)
        values *= self.shares[block]
        values += self.flows[block]

    def offsets(self, z: Array) -> Array:
        """(n/C₂) L⁺z at every node, from coefficients z of the samples."""
        return np.asarray(self.flows @ np.bincount(self.nodes, z, len(self.flows)))


def find_shares(weights: Any, coupling: float) -> Array:
    """(I + C₂L)⁻¹ of a connected graph, formed."""
    m = weights.shape[0]
    if m == 1:
        return np.ones((1, 1))
    A, t = _ground(weights)
    A *= coupling
    A[np.diag_indices(m)] += 1.0
    return np.asarray(_invert(A) + (1.0 - 1.0 / (1.0 + coupling * t)) / m)


def find_flows(weights: Any) -> Array:
    """L⁺ of a connected graph, formed."""
    m = weights.shape[0]
    if m == 1:
        return np.zeros((1, 1))
    A, t = _ground(weights)
    return np.asarray(_invert(A) - 1.0 / (t * m))


def _ground(weights: Any) -> tuple[Array, float]:
    """L + tJ, and t."""
    m = weights.shape[0]
    if m > MOST_PLACES:
        raise KernelError(
            f"A kernel on a graph holds 16 bytes for each pair of linked rows, and {m} rows are "
            f"linked, directly or through others: more than {MOST_PLACES}. Use kernel='linear', on "
            "features of sklearn.kernel_approximation.Nystroem where boundaries are curved, or "
            "fewer rows."
        )
    W = weights.toarray() if sp.issparse(weights) else np.array(weights, dtype=np.float64)
    np.fill_diagonal(W, 0.0)
    degrees = W.sum(axis=1)
    t = float(degrees.mean())
    return np.diag(degrees) - W + t / m, t


def _invert(A: Array) -> Array:
    """The inverse of a positive definite matrix, symmetric to the last bit."""
    try:
        factor = scipy.linalg.cholesky(A, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        raise KernelError(
            "Links of the graph are so different in weight that rounding leaves no inverse. Bring "
            "their weights nearer to each other."
        ) from None
    inverse, _ = scipy.linalg.lapack.dpotri(factor, lower=1)
    lower = np.tril(inverse, -1)
    return np.asarray(lower + lower.T + np.diag(np.diagonal(inverse)))
