"""Nyström features of rows on a device: what `kernels.nystrom` does, on tensors.

    φ(x) = Tᵀ (k(x, l_1), …, k(x, l_m))        K_mm = k(l_i, l_j),  T Tᵀ = K_mm⁺

The mathematics, and what the approximation costs, stand in `kernels.nystrom`. A kernel seen through
landmarks is a linear kernel over the columns of Φ, which a machine is solved on as on any
(`linear`). Kernel values and features are computed in float64, a block of rows at a time.

Φ of n rows is kept where a card has room: in float64, or rounded once to float32, or, where even
that is more than a share of the free memory, not at all: then each pass over the rows computes its
blocks anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lindero.devices.kernel import DeviceKernel
from lindero.devices.memory import free_bytes
from lindero.devices.rows import DeviceRows, place_rows
from lindero.kernels.nystrom import LEAST_EIGENVALUE, SOUND
from lindero.kernels.operator import ROUNDING_UNITS, KernelFunction
from lindero.runtime.arrays import Array

#: Shares of the free memory that features may take in float64, and in float32.
_DOUBLE_SHARE, _SINGLE_SHARE = 0.15, 0.5

#: Kernel values computed at once.
_BLOCK_VALUES = 2**25

_LINEAR = KernelFunction("linear")


class DeviceNystromMap:
    """φ for these landmarks. `negative` is the share of the eigenvalues of K_mm, by size, that are
    negative beyond rounding."""

    def __init__(self, landmarks: DeviceRows, function: KernelFunction) -> None:
        self.function = function
        self.landmarks = landmarks
        self.kernel = DeviceKernel(landmarks.values, function)
        everything = slice(None)
        matrix = self.kernel.block_of(self.kernel, everything)
        self.root, self.negative = take_root(0.5 * (matrix + matrix.T))

    @property
    def n_features(self) -> int:
        return int(self.root.shape[1])

    def make(self, values: Tensor) -> Tensor:
        """φ of each row, in float64."""
        rows = DeviceKernel(values, self.function, self.kernel.shift)
        return self.kernel.block_of(rows, slice(None)) @ self.root

    def compute(self, X: DeviceRows) -> Array:
        """φ of a few rows, for the CPU."""
        found: Array = self.make(X.values).cpu().numpy()
        return found

    def expand(self, weights: Array) -> Array:
        """Coefficients of the landmarks for weights of the features."""
        wide = torch.as_tensor(weights, device=self.root.device)
        found: Array = (wide @ self.root.T).cpu().numpy()
        return found

    def make_kernel(self, X: DeviceRows) -> DeviceKernel:
        """K̃ over rows, whose features are kept where there is room."""
        n, m = len(X), self.n_features
        room = free_bytes(X.values.device)
        dtype = torch.float64 if 8 * n * m <= _DOUBLE_SHARE * room else torch.float32
        if dtype is torch.float32 and 4 * n * m > _SINGLE_SHARE * room:
            return FeatureKernel(X.values, self)
        kept = torch.empty(n, m, dtype=dtype, device=X.values.device)
        for part in self.blocks(n):
            kept[part] = self.make(X.values[part])
        return DeviceKernel(kept, _LINEAR)

    def blocks(self, n: int) -> Iterator[slice]:
        """Rows whose kernel values are computed at once."""
        height = max(64, _BLOCK_VALUES // max(self.kernel.n_samples, self.kernel.n_features))
        for start in range(0, n, height):
            yield slice(start, min(start + height, n))

    def sum_kernel(self, drawn: DeviceRows, X: DeviceRows, support: Array, z: Array) -> Array:
        """Σ_j z_j k(x, x_j), of the exact kernel, for each row drawn, over rows `support` of X."""
        kernel = DeviceKernel(drawn.values, self.function)
        sums = torch.zeros(len(drawn), dtype=torch.float64, device=drawn.values.device)
        places = torch.as_tensor(support, device=sums.device)
        factors = torch.as_tensor(z, dtype=torch.float64, device=sums.device)
        height = max(64, _BLOCK_VALUES // max(1, len(drawn), kernel.n_features))
        for part, weights in zip(places.split(height), factors.split(height), strict=True):
            rows = DeviceKernel(X.values[part], self.function, kernel.shift)
            sums += weights @ kernel.block_of(rows, slice(None))
        found: Array = sums.cpu().numpy()
        return found


class FeatureKernel(DeviceKernel):
    """K̃ over rows of a table whose features are computed where they are looked at."""

    def __init__(self, table: Tensor, features: DeviceNystromMap, factor: float = 1.0) -> None:
        self.table, self.features = table, features
        self.function, self.device, self.factor = _LINEAR, table.device, factor
        self.n_samples, self.n_features = len(table), features.n_features
        self.dtype, self.shift = np.dtype(np.float64), None

    def exact_rows(self, rows: Any) -> Tensor:
        chosen = self.table[rows]
        parts = [self.features.make(chosen[part]) for part in self.features.blocks(len(chosen))]
        return torch.cat(parts) if parts else chosen.new_zeros((0, self.n_features)).double()

    @property
    def values(self) -> Tensor:
        return self.exact_rows(slice(None))

    def single_block(self, rows: Tensor, columns: Tensor) -> Tensor:
        """The features of all rows, of which the single precision of others is a copy, are not
        kept here."""
        return self.precise_block(rows, columns).float()

    def subset(self, rows: Array | Tensor, values: Tensor | None = None) -> FeatureKernel:
        index = torch.as_tensor(rows, device=self.device)
        return FeatureKernel(self.table[index], self.features, self.factor)

    def scaled(self, factor: float) -> FeatureKernel:
        return FeatureKernel(self.table, self.features, self.factor * factor)

    def diagonal_values(self) -> Tensor:
        parts = [
            self.exact_rows(part).square().sum(1) for part in self.features.blocks(self.n_samples)
        ]
        return self.factor * torch.cat(parts)

    def _find_largest(self) -> float:
        # φ(x)·φ(x) ≤ k(x, x) wherever the kernel is positive semi-definite.
        own = DeviceKernel(self.table, self.features.function).diagonal()
        return self.factor * float(np.abs(own).max(initial=0.0))

    def error(self) -> float:
        return ROUNDING_UNITS * self.largest()


def take_root(matrix: Tensor) -> tuple[Tensor, float]:
    """T for this K_mm, and the share of eigenvalues that are negative."""
    lower, failed = torch.linalg.cholesky_ex(matrix)
    if not int(failed):
        eye = torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)
        inverse = torch.linalg.solve_triangular(lower, eye, upper=False)
        if float(matrix.trace()) * float(inverse.square().sum()) <= SOUND:
            return inverse.T.contiguous(), 0.0
    values, vectors = torch.linalg.eigh(matrix)
    largest = float(values.abs().max())
    counted = values > LEAST_EIGENVALUE * largest
    root = vectors[:, counted] / values[counted].sqrt()
    if not bool(counted.any()):  # a kernel that is zero among them: one feature that says nothing
        root = matrix.new_zeros((len(matrix), 1))
    below = values[values < -LEAST_EIGENVALUE * len(values) * largest]
    total = float(values.abs().sum())
    return root.contiguous(), -float(below.sum()) / total if total else 0.0


def make_map(X: DeviceRows, landmarks: Any, function: KernelFunction) -> DeviceNystromMap:
    """Features for rows on a device, for landmarks that are there, or in the CPU's memory."""
    if not isinstance(landmarks, DeviceRows):
        landmarks = place_rows(landmarks, X.card)
    return DeviceNystromMap(landmarks, function)
