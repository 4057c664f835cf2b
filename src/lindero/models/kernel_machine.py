"""What remains of a fit: support vectors, coefficients, intercepts, and how to evaluate them.

A machine has one or several outputs  f_k(x) = Σ_j c_kj k(x, x_j) + b_k  over shared support
vectors. For one-vs-one classification the coefficients are stored as LIBSVM stores them: support
vectors are grouped by class, and for the pair (i, j), i < j, those of class i have their
coefficient in row j − 1 and those of class j in row i. Each group then needs one product with
classes − 1 columns, from which all pairs are put together.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from lindero.kernels.operator import KernelOperator
from lindero.kernels.products import Probe
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads

#: Kernel values computed at once by each thread: some 2 MB, which stay in cache.
_TILE_VALUES = 2**18

#: Sums of such coefficients times kernel values are still finite.
LARGEST_COEFFICIENT = 1e290

#: Products of fewer numbers are not worth a second thread, to BLAS itself neither.
_ONE_THREAD_NUMBERS = 4096

#: Rows evaluated at once. Sparse ones are spread out first, side by side: not a power of two of
#: them, since values 4096 bytes apart get in each other's way in the CPU's cache.
_MOST_ROWS = 256
_MOST_SPARSE_ROWS = 392


@dataclass(frozen=True)
class KernelMachine:
    """Outputs over support vectors; `group_sizes` says that rows are one-vs-one pairs."""

    kernel: KernelOperator
    coefficients: Array
    intercepts: Array
    group_sizes: tuple[int, ...] | None = None

    def decision_values(self, Z: Any) -> Array:
        """f_k(z) for each row of Z: (n_rows, n_outputs)."""
        n_rows = Z.shape[0]
        values = np.empty((n_rows, len(self.intercepts)))
        with TileThreads(1 if n_rows * self.kernel.n_samples < 2**17 else None) as threads:
            # Enough chunks for all threads, none so small that products lose their speed.
            most = _MOST_SPARSE_ROWS if sp.issparse(Z) else _MOST_ROWS
            height = max(1, min(most, -(-n_rows // threads.n_threads)))

            def work(start: int) -> None:
                probe = self.kernel.probe_of(Z[start : start + height])
                _require_finite(probe, start)
                values[start : start + height] = self._evaluate(probe) + self.intercepts

            threads.map(work, range(0, n_rows, height))
        return values

    def _evaluate(self, probe: Probe) -> Array:
        """Σ_j c_kj k(·, x_j) over each group of support vectors, then put together."""
        width = max(256, _TILE_VALUES // max(1, len(probe)))
        sums = []
        for first, last in groups_of(self.kernel.n_samples, self.group_sizes):
            total = np.zeros((len(self.coefficients), len(probe)))
            for start in range(first, last, width):
                stop = min(start + width, last)
                tile = np.empty((stop - start, len(probe)), dtype=self.kernel.dtype)
                self.kernel.columns(probe, start, stop, tile)
                total += self.coefficients[:, start:stop] @ tile
            sums.append(total.T)
        return outputs_of(sums)


def _require_finite(probe: Probe, start: int) -> None:
    """Refuse rows whose squared norms overflow; `start` is the number of the first."""
    if np.maximum.reduce(probe.squares, initial=0.0) < np.inf:
        return
    overflowing = np.flatnonzero(~np.isfinite(probe.squares))
    raise ValueError(
        f"Row {start + overflowing[0]} holds values too large to compute a kernel with: their "
        "squares overflow. Scale the features as those of the training data."
    )


def groups_of(n_vectors: int, group_sizes: tuple[int, ...] | None) -> list[tuple[int, int]]:
    """First and last support vector of each group; one group without `group_sizes`."""
    if group_sizes is None:
        return [(0, n_vectors)]
    ends = np.cumsum(group_sizes)
    return [(int(first), int(last)) for first, last in zip([0, *ends[:-1]], ends, strict=True)]


def outputs_of(sums: list[Array]) -> Array:
    """Columns of outputs from the sums over each group: of all pairs if there are several."""
    if len(sums) == 1:
        return sums[0]
    pairs = combinations(range(len(sums)), 2)
    return np.column_stack([sums[i][:, j - 1] + sums[j][:, i] for i, j in pairs])


def linear_weights(vectors: Any, coefficients: Array, group_sizes: tuple[int, ...] | None) -> Array:
    """w_k = Σ_j c_kj x_j of each output, for a machine with the linear kernel."""
    groups = groups_of(vectors.shape[0], group_sizes)
    sums = [_weigh(vectors[a:b], coefficients[:, a:b]) for a, b in groups]
    return np.ascontiguousarray(outputs_of(sums).T)


def _weigh(vectors: Any, coefficients: Array) -> Array:
    """Σ_j c_kj x_j, a column for each k; rows on a device do it there."""
    if hasattr(vectors, "weighted_sums"):
        return np.asarray(vectors.weighted_sums(coefficients))
    return np.asarray(vectors.T.astype(np.float64) @ coefficients.T)


def linear_values(Z: Any, weights: Array, intercepts: Array) -> Array:
    """w_k·z + b_k for each row of Z: (n_rows, n_outputs)."""
    # Of sparse rows the entries count: a tile of wide ones would be a single row.
    width = 1 + Z.nnz // max(1, Z.shape[0]) if sp.issparse(Z) else Z.shape[1]
    height = max(1, _TILE_VALUES // max(1, width))
    if Z.shape[0] * width < _ONE_THREAD_NUMBERS or (sp.issparse(Z) and Z.shape[0] <= height):
        return np.asarray(Z @ weights.T + intercepts, dtype=np.float64)
    values = np.empty((Z.shape[0], len(intercepts)))
    with TileThreads(1 if Z.shape[0] <= height else None) as threads:

        def work(start: int) -> None:
            rows = slice(start, start + height)
            values[rows] = Z[rows] @ weights.T + intercepts

        threads.map(work, range(0, Z.shape[0], height))
    return values
