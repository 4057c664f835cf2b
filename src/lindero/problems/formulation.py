"""A formulation: how data become a dual problem, its solution a machine, and a machine a solution.

Every support vector machine here is one `DualQP`, stated in its own way. A formulation knows that
way and the way back, and nothing of solvers, kernels or estimators:

    state     targets and bounds of the samples  →  the problem
    recover   problem and solution               →  f(x) = Σ c_i k(x_i, x) + b
    restore   problem and that function          →  dual variables and bias, to be judged
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from lindero.kernels.operator import KernelOperator
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array


class DualPoint(Protocol):
    """What a solution says of its problem: dual variables, f = K z at the samples, and the bias
    (one for each group where there are several)."""

    @property
    def a(self) -> Array: ...
    @property
    def f(self) -> Array: ...
    @property
    def bias(self) -> Any: ...


@dataclass(frozen=True)
class Task:
    """One problem of a fit: its rows of the training data, and the target of each."""

    rows: Array
    targets: Any
    in_order: bool = True

    def sort_by_sign(self) -> Task:
        """The same with its positive rows first."""
        order = np.argsort(-self.targets, kind="stable")
        return Task(self.rows[order], self.targets[order], in_order=False)


@dataclass(frozen=True)
class KernelExpansion:
    """f(x) = Σ c_i k(x_i, x) + b over the samples of a problem. `width` is what a ν-machine found
    besides: the margin ρ before it was scaled to 1, or the half-width ε of its tube."""

    coefficients: Array
    intercept: float
    width: float = 0.0


@dataclass(frozen=True)
class Formulation(ABC):
    """Abstract. Fields are the parameters that the problem depends on."""

    #: Dual variables of each sample.
    per_sample: ClassVar[int] = 1

    #: Whether samples of positive sign must come first.
    positives_first: ClassVar[bool] = False

    #: Whether p = 0: a solution is then as large as its sums, and gaps must be small against them.
    scale_free: ClassVar[bool] = False

    #: Whether the origin of a linear kernel may be moved: where Σ c_i = 0, it changes b alone.
    movable_origin: ClassVar[bool] = True

    #: Whether losses are squared: the kernel then has a ridge, and variables have no bounds.
    squared: ClassVar[bool] = False

    #: Whether there is a bias; without one, no sum of the variables is asked for.
    has_bias: ClassVar[bool] = True

    #: Whether weights are no sum of rows: solutions then hold them as their `f`.
    keeps_weights: ClassVar[bool] = False

    #: What gaps in the optimality conditions are measured in.
    unit: ClassVar[float] = 1.0

    @property
    def hard(self) -> bool:
        """Whether errors are forbidden altogether."""
        return False

    @abstractmethod
    def bounds(self, weights: Array) -> Array:
        """Upper bounds of the dual variables for samples of these weights."""

    @abstractmethod
    def state(self, kernel: KernelOperator, targets: Any, bounds: Array) -> DualQP:
        """The problem of samples with these targets and bounds."""

    @abstractmethod
    def recover(self, problem: DualQP, point: DualPoint, tol: float) -> KernelExpansion:
        """The function that a solution stands for; `tol` is the KKT gap it was asked for."""

    @abstractmethod
    def restore(self, problem: DualQP, function: KernelExpansion) -> tuple[Array, Any]:
        """Dual variables and bias of a function that `recover` gave."""
