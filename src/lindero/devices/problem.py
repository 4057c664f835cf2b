"""A `DualQP` as a device sees it: its vectors as tensors beside the kernel over its samples.

In signed variables, min ½ zᵀK z + qᵀz with Σz = δ in each group and lower ≤ z ≤ upper; several
variables may belong to a sample. The problem itself, its objective and its certificate stay those
of `problems.dual_qp`: nothing is stated twice.

Solvers of linear machines work in unsigned variables, and judge points on their way: `snap`,
`nearest_feasible`, `bias` and `kkt_gap` are those of `DualQP`, on tensors, for one group.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from lindero.devices.kernel import DeviceKernel
from lindero.problems.dual_qp import NOTHING, ROUNDING, DualQP
from lindero.runtime.cached import cached_property

#: Variables that take up what a sum is off.
_SHARING = 2048

#: Programs of `descend` hold at most this many groups.
MOST_GROUPS = 2


class DeviceProblem:
    """Vectors of length `n_variables` are float64; `sample_of` is None where each sample has one
    variable."""

    def __init__(self, problem: DualQP, kernel: DeviceKernel) -> None:
        self.host = problem
        self.kernel = kernel
        self.device = kernel.device
        self.q = self._move(problem.q)
        self.lower = self._move(problem.lower)
        self.upper = self._move(problem.upper)
        self.n_variables = problem.n_variables
        self.n_groups = problem.n_groups
        self.sample_of = None
        if problem.sample_of is not None:
            self.sample_of = self._move(problem.sample_of.astype(np.int64))
        if self.n_groups == 1:
            self.group_of = torch.zeros(self.n_variables, dtype=torch.int32, device=self.device)
        else:
            self.group_of = self._move(problem.group_of.astype(np.int32))
        self.delta = problem.delta

    @cached_property
    def diagonal(self) -> Tensor:
        """K_ii of each variable."""
        diagonal = self.kernel.diagonal_values()
        return diagonal if self.sample_of is None else diagonal[self.sample_of]

    def _move(self, values: Any) -> Tensor:
        return torch.as_tensor(values, device=self.device)

    def signed(self, a: Any) -> Tensor:
        """z of dual variables on the host."""
        return self._move(self.host.s * a)

    def samples(self, variables: Tensor) -> Tensor:
        return variables if self.sample_of is None else self.sample_of[variables]

    def at_samples(self, z: Tensor) -> Tensor:
        """Variables summed over the samples they belong to."""
        if self.sample_of is None:
            return z
        sums = torch.zeros(self.kernel.n_samples, dtype=z.dtype, device=self.device)
        return sums.index_add_(0, self.sample_of, z)

    def scores(self, f: Tensor) -> Tensor:
        """v = K z + q of each variable, from f = K z of each sample."""
        return (f if self.sample_of is None else f[self.sample_of]) + self.q

    def sums(self, z: Tensor, precise: bool) -> Tensor:
        """f = K z from scratch."""
        at_samples = self.at_samples(z)
        support = at_samples.nonzero().squeeze(1)
        return self.kernel.product(None, support, at_samples[support], precise)

    def excess(self, z: Tensor) -> float:
        """What the sum of a group is off, at the most."""
        off = [
            (torch.where(self.group_of == group, z, 0.0).sum() if self.n_groups > 1 else z.sum())
            - delta
            for group, (_, delta) in enumerate(self.host.groups)
        ]
        return float(torch.stack(off).abs().max())

    def balance(self, z: Tensor) -> Tensor:
        """The change of z that puts the sum of each group right: the same for many of the variables
        that are farthest from their bounds. What they have no room for is left."""
        change = torch.zeros_like(z)
        room = torch.minimum(z - self.lower, self.upper - z)
        for group, (_, delta) in enumerate(self.host.groups):
            inside = self.group_of == group
            excess = torch.where(inside, z, 0.0).sum() - delta
            spare = torch.where(inside, room, 0.0)
            farthest = torch.topk(spare, min(_SHARING, len(spare)))
            able = farthest.values > 0.5 * farthest.values[0]
            shift = torch.where(able, -excess / able.sum(), 0.0)
            limit = torch.where(able, farthest.values, 0.0)
            change.index_add_(
                0, farthest.indices, torch.maximum(torch.minimum(shift, limit), -limit)
            )
        return change

    def ends(self, v: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        """In each group, the least v of those that rise, and the largest of those that fall."""
        rising = torch.where(z < self.upper, v, torch.inf)
        falling = torch.where(z > self.lower, v, -torch.inf)
        if self.n_groups == 1:
            return rising.amin()[None], falling.amax()[None]
        members = [self.group_of == group for group in range(self.n_groups)]
        least = [torch.where(inside, rising, torch.inf).amin() for inside in members]
        most = [torch.where(inside, falling, -torch.inf).amax() for inside in members]
        return torch.stack(least), torch.stack(most)

    # -- unsigned variables -------------------------------------------------------------------

    @cached_property
    def p(self) -> Tensor:
        return self._move(self.host.p)

    @cached_property
    def s(self) -> Tensor:
        return self._move(self.host.s)

    @cached_property
    def u(self) -> Tensor:
        return torch.maximum(self.upper, -self.lower)

    def snap(self, a: Tensor) -> Tensor:
        """Coefficients within rounding of a bound, exactly on it."""
        if not len(a):
            return a
        a = torch.where(a <= NOTHING * a.amax(), 0.0, a)
        return torch.where(a >= (1.0 - ROUNDING) * self.u, self.u, a)

    def nearest_feasible(self, a: Tensor) -> Tensor | None:
        """`a` put into the box, then moved in proportion to its room until sᵀa = δ; None if that
        cannot be."""
        a = torch.minimum(a.clamp(min=0.0), self.u)
        if not self.host.has_bias:
            return self.snap(a)
        excess = float(self.s @ a) - float(self.delta)
        if excess == 0.0:
            return a
        falls, size = self.s * excess > 0, abs(excess)
        room = torch.where(falls, a, torch.minimum(self.u - a, a.clamp(min=size)))
        for movable in (room * ((a > 0) & (a < self.u)), room):
            total = float(movable.sum())
            if total >= size * (1.0 - ROUNDING):
                move = movable * min(1.0, size / total)
                moved = torch.where(falls, a - move, a + move).clamp(min=0.0)
                return self.snap(torch.minimum(moved, self.u))
        return a if size <= ROUNDING * float(a.sum()) else None

    def bias(self, a: Tensor, f: Tensor) -> float:
        """−mean of v over the free variables; without any, the middle of what KKT leaves open."""
        if not self.host.has_bias:
            return 0.0
        v = self.scores(f)
        free = (a > 0) & (a < self.u)
        n_free = int(free.sum())
        if n_free:
            return -float(torch.where(free, v, 0.0).sum()) / n_free
        least, most = (float(end[0]) for end in self.ends(v, self.s * a))
        if least == float("inf"):
            return 0.0 if most == -float("inf") else -most
        return -least if most == -float("inf") else -0.5 * (least + most)

    def kkt_gap(self, a: Tensor, f: Tensor, wanted: float | None = None) -> float:
        """The KKT gap of a feasible point with its own bias."""
        v, z = self.scores(f), self.s * a
        if not self.host.has_bias:
            falling = torch.where(z > self.lower, v, 0.0).amax()
            rising = torch.where(z < self.upper, v, 0.0).amin()
            gap = float(torch.maximum(falling, -rising))
        else:
            least, most = self.ends(v, z)
            gap = float((most - least)[0])
        return float("inf") if gap != gap else max(0.0, gap)
