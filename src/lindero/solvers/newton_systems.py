"""Newton systems for the interior-point solver.

A system knows the parameters θ of the primal model, its quadratic penalty ½ θᵀHθ, and the linear
map θ → x̃_i·θ to the samples. The solver asks it to

    forward(θ)        x̃_i·θ for each sample
    adjoint(c)        Σ c_i x̃_i
    penalty(θ)        H θ
    factor(weights)   prepare H + Σ weights_i x̃_i x̃_iᵀ, weights > 0
    solve(r)          apply the inverse of what was prepared

and needs to know nothing else, so that other structures (a chain of hyperplanes, a graph,
partitions on many machines) are other systems under the same loop.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy.linalg

from lindero.kernels.functions import Array
from lindero.kernels.products import DenseProducts, SparseProducts
from lindero.kernels.threads import TileThreads

#: Numbers in a row block: it should stay in a core's own cache while it is used.
_BLOCK_ELEMENTS = 2**17

_PARTIAL_SUMS = 4


class NewtonSystem(Protocol):
    """What the interior-point solver asks of a model that is linear in its parameters."""

    n_samples: int
    n_parameters: int

    def forward(self, theta: Array) -> Array: ...
    def adjoint(self, c: Array) -> Array: ...
    def penalty(self, theta: Array) -> Array: ...
    def factor(self, weights: Array) -> None: ...
    def solve(self, r: Array) -> Array: ...


class DenseNewtonSystem:
    """One hyperplane θ = (w, b), x̃ = (x, 1), penalty ½‖w‖²: the bias is free.

    The matrix is (d+1) × (d+1); the data are read in row blocks, without temporaries of their size.
    """

    def __init__(self, products: DenseProducts | SparseProducts, threads: TileThreads) -> None:
        self.products = products
        self.threads = threads
        self.n_samples = products.n_samples
        self.n_features = products.n_features
        self.n_parameters = self.n_features + 1
        height = max(256, _BLOCK_ELEMENTS // max(1, self.n_features))
        self._blocks = [
            (start, min(start + height, self.n_samples))
            for start in range(0, self.n_samples, height)
        ]

    def forward(self, theta: Array) -> Array:
        result = np.empty(self.n_samples)

        def work(block: tuple[int, int]) -> None:
            self.products.times(theta[:-1], *block, out=result[slice(*block)])

        self.threads.map(work, self._blocks)
        result += theta[-1]
        return result

    def adjoint(self, c: Array) -> Array:
        parts = np.empty((len(self._blocks), self.n_features))

        def work(item: tuple[int, tuple[int, int]]) -> None:
            k, block = item
            self.products.transposed_times(c[slice(*block)], *block, out=parts[k])

        self.threads.map(work, enumerate(self._blocks))
        return np.append(parts.sum(axis=0), c.sum())

    def penalty(self, theta: Array) -> Array:
        return np.append(theta[:-1], 0.0)

    def factor(self, weights: Array) -> None:
        # A few partial sums, each over a fixed share of the blocks: the order of additions, and so
        # the result, does not depend on the number of threads.
        shares = [self._blocks[k::_PARTIAL_SUMS] for k in range(_PARTIAL_SUMS)]
        partial = np.zeros((_PARTIAL_SUMS, self.n_parameters, self.n_parameters))

        def work(item: tuple[int, list[tuple[int, int]]]) -> None:
            k, blocks = item
            for block in blocks:
                self.products.add_weighted_gram(weights[slice(*block)], *block, out=partial[k])

        self.threads.map(work, enumerate(shares))
        matrix = partial.sum(axis=0)
        features = np.arange(self.n_features)
        matrix[features, features] += 1.0
        # Unit diagonal first: features of very different scale would otherwise cost digits.
        self._scaling = 1.0 / np.sqrt(np.diagonal(matrix))
        matrix *= self._scaling[:, None] * self._scaling
        self._factor = _cholesky(matrix)

    def solve(self, r: Array) -> Array:
        solution: Array = scipy.linalg.cho_solve(self._factor, self._scaling * r)
        solution *= self._scaling
        return solution


def _cholesky(matrix: Array) -> tuple[Array, bool]:
    """The Cholesky factor; a matrix made singular by rounding gets the least ridge that helps."""
    ridge = 0.0
    diagonal = np.arange(len(matrix))
    while True:
        try:
            factor: tuple[Array, bool] = scipy.linalg.cho_factor(matrix, lower=True)
            return factor
        except np.linalg.LinAlgError:
            ridge = max(1e-15, 10 * ridge)
            matrix[diagonal, diagonal] += ridge
