"""Machines without an intercept: boundaries and functions through the origin.

The problems of `margin`, `tube` and `squared` without b. In the dual problem no sum of the
variables is asked for; all else is as it was. The origin of the rows means something here, so that
it is not moved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from lindero.kernels.operator import KernelOperator
from lindero.problems.dual_qp import DualQP
from lindero.problems.margin import Margin
from lindero.problems.squared import SquaredMargin, SquaredTube
from lindero.problems.tube import Tube
from lindero.runtime.arrays import Array


@dataclass(frozen=True)
class OriginMargin(Margin):
    """The margin of `Margin`, without an intercept."""

    has_bias: ClassVar[bool] = False
    movable_origin: ClassVar[bool] = False

    def state(self, kernel: KernelOperator, targets: Array, bounds: Array) -> DualQP:
        return replace(super().state(kernel, targets, bounds), has_bias=False)


@dataclass(frozen=True)
class SquaredOriginMargin(SquaredMargin):
    """The margin of `SquaredMargin`, without an intercept."""

    has_bias: ClassVar[bool] = False
    movable_origin: ClassVar[bool] = False

    def state(self, kernel: KernelOperator, targets: Array, bounds: Array) -> DualQP:
        return replace(super().state(kernel, targets, bounds), has_bias=False)


@dataclass(frozen=True)
class OriginTube(Tube):
    """The tube of `Tube`, without an intercept."""

    has_bias: ClassVar[bool] = False
    movable_origin: ClassVar[bool] = False

    def state(self, kernel: KernelOperator, targets: Array, bounds: Array) -> DualQP:
        return replace(super().state(kernel, targets, bounds), has_bias=False)


@dataclass(frozen=True)
class SquaredOriginTube(SquaredTube):
    """The tube of `SquaredTube`, without an intercept."""

    has_bias: ClassVar[bool] = False
    movable_origin: ClassVar[bool] = False

    def state(self, kernel: KernelOperator, targets: Array, bounds: Array) -> DualQP:
        return replace(super().state(kernel, targets, bounds), has_bias=False)
