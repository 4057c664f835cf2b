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
from scipy.linalg import lapack

from lindero.kernels.products import DenseProducts, SparseProducts
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads

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
        penalty = np.ones(self.n_parameters)
        penalty[-1] = 0.0
        self._factor = _scaled_cholesky(partial.sum(axis=0), penalty)

    def solve(self, r: Array) -> Array:
        return _scaled_solve(self._factor, r)


class SmallNewtonSystem:
    """The same system for data small enough to hold as one float64 array."""

    def __init__(self, products: DenseProducts | SparseProducts) -> None:
        self.n_samples = products.n_samples
        self.n_parameters = products.n_features + 1
        self._A = np.ones((self.n_samples, self.n_parameters))
        products.fill_rows(self._A[:, :-1])
        self._unit = np.ones(self.n_parameters)
        self._unit[-1] = 0.0

    def forward(self, theta: Array) -> Array:
        return self._A @ theta

    def adjoint(self, c: Array) -> Array:
        return c @ self._A

    def penalty(self, theta: Array) -> Array:
        return self._unit * theta

    def factor(self, weights: Array) -> None:
        matrix = self._A.T @ (self._A * weights[:, None])
        self._factor = _scaled_cholesky(matrix, self._unit)

    def solve(self, r: Array) -> Array:
        return _scaled_solve(self._factor, r)


def _scaled_cholesky(matrix: Array, penalty: Array) -> tuple[Array, Array]:
    """Cholesky factor of matrix + diag(penalty), brought to unit diagonal first: features of very
    different scale would otherwise cost digits. Where rounding made it singular it gets the least
    ridge that helps. Only the lower triangle of `matrix` is read."""
    matrix.flat[:: len(matrix) + 1] += penalty
    scale = np.sqrt(matrix.diagonal())
    if not (scale > 0).all():
        raise np.linalg.LinAlgError("The Newton system has lost a parameter.")
    scaling = 1.0 / scale
    matrix *= scaling[:, None]
    matrix *= scaling
    ridge = 0.0
    while True:
        factor, failed = lapack.dpotrf(matrix, lower=1)
        if not failed:
            return factor, scaling
        ridge = max(1e-15, 10 * ridge)
        if not ridge < 1e-3:
            raise np.linalg.LinAlgError("The Newton system is not positive definite.")
        matrix.flat[:: len(matrix) + 1] += ridge


def _scaled_solve(factor: tuple[Array, Array], r: Array) -> Array:
    triangle, scaling = factor
    solution, _ = lapack.dpotrs(triangle, scaling * r, lower=1)
    solved: Array = scaling * solution
    return solved
