"""The kernel over rows on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lindero.devices.prediction import kernel_values
from lindero.kernels.operator import ROUNDING_UNITS, KernelFunction, KernelOperator
from lindero.kernels.products import Probe
from lindero.runtime.arrays import Array

if TYPE_CHECKING:
    from torch import Tensor


class DeviceKernel(KernelOperator):
    """A named kernel over rows on a device."""

    def __init__(self, values: Tensor, function: KernelFunction) -> None:
        self.values = values
        self.function = function
        self.n_samples = values.shape[0]
        self.dtype = np.dtype(np.float64)

    def diagonal(self) -> Array:
        if self.function.name == "rbf":
            return np.ones(self.n_samples)
        squares = (self.values.double() ** 2).sum(1).cpu().numpy()
        return self.function.diagonal(squares)

    def error(self) -> float:
        return ROUNDING_UNITS * max(1.0, self.largest())

    def probe(self, rows: Array) -> Probe:
        return Probe(self.values[np.asarray(rows)], np.zeros(len(rows)))

    def probe_of(self, Z: Any) -> Probe:
        return Probe(Z.values, np.zeros(len(Z)))

    def block(self, probe: Probe, start: int, stop: int, out: Array) -> None:
        values = kernel_values(probe.rows, self.values[start:stop], self.function)
        out[...] = values.cpu().numpy()

    def cross(self, probe: Probe, other: Probe) -> Array:
        found: Array = kernel_values(probe.rows, other.rows, self.function).cpu().numpy()
        return found

    def sums(self, z: Array) -> Array:
        import torch

        given = torch.from_numpy(z).to(self.values.device)
        found = kernel_values(self.values, self.values, self.function) @ given
        return np.asarray(found.cpu().numpy())

    def times(self, z: Array) -> Array | None:
        return self.sums(z)

    def subset(self, rows: Array) -> DeviceKernel:
        return DeviceKernel(self.values[np.asarray(rows)], self.function)

    def astype(self, dtype: Any) -> DeviceKernel:
        return self
