"""Linear machines over rows on a device: the methods of the CPU, on tensors.

What is solved, and how, is written in `solvers.interior_point` (hinge losses and tubes) and in
`solvers.squared_newton` (their squares): both follow few parameters θ = (w, b), and see the rows
through the five verbs of a `NewtonSystem` only. Here are these verbs for rows on a device, a block
of rows at a time, in float64:

    x̃·θ     Σ c x̃     H θ     H + Σ σ x̃ x̃ᵀ  and its factor of Cholesky     the solution of a system

A step costs n·d² multiplications, which a card is made for: a million rows of a hundred features
are 10¹⁰, some milliseconds in all. Vectors as long as the rows stay on the device between steps.

Rows are taken relative to their mean where there is a bias and δ = 0, as on the CPU: then features
that lie far from zero cost no digits.

**Many features.** Beyond `MOST_DIRECT` the matrix itself is too large. With squared losses systems
are then solved by conjugate gradients with the diagonal for a preconditioner, each product two
passes over the rows; a step of Newton's method bears an inexact solution, since it is judged by how
far the objective falls. With plain losses interior points would need systems that get harder
without end, and decomposition (`solver`) does it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lindero.devices.kernel import DeviceKernel
from lindero.devices.memory import free_bytes
from lindero.devices.problem import DeviceProblem
from lindero.errors import SolverError
from lindero.kernels.special import RidgedKernel
from lindero.problems.dual_qp import DualQP
from lindero.solvers.interior_point import STOPPED, PrimalPath
from lindero.solvers.solution import Limits, Solution, Solver, Start
from lindero.solvers.squared_newton import NewtonDescent

#: Features up to which a step keeps and factors a matrix of features × features.
MOST_DIRECT = 8_192

#: Numbers of a block of rows in float64.
_BLOCK_NUMBERS = 2**24

#: Share of a card's free memory up to which all rows are kept in float64 during a solution.
_KEPT_SHARE = 0.25

#: Where a conjugate gradient ends: the residual as a share of the right side, and iterations.
_CG_SHARE, _MOST_CG = 1e-10, 2_000


class DeviceNewtonSystem:
    """The verbs of `solvers.interior_point.NewtonSystem` over the rows of a linear kernel. Without
    a bias x̃ = (x, 0), and the last parameter has a penalty, so that it stays zero."""

    arrays = torch

    def __init__(self, kernel: DeviceKernel, has_bias: bool, centred: bool) -> None:
        self.kernel = kernel
        self.has_bias = has_bias
        self.device = kernel.device
        self.n_samples, self.n_features = kernel.n_samples, kernel.n_features
        self.n_parameters = self.n_features + 1
        self._height = max(256, _BLOCK_NUMBERS // max(1, self.n_features))
        self._scale = math.sqrt(kernel.factor)
        self._kept: Tensor | None = None
        #: What the mean of the rows is, where they are taken relative to it.
        self.center: Tensor | None = None
        if centred and self.n_samples:
            sums = sum(rows.sum(0) for _, rows in self._blocks())
            self.center = torch.as_tensor(sums) / self.n_samples
        if 8 * self.n_samples * self.n_features <= _KEPT_SHARE * free_bytes(self.device):
            self._kept = torch.cat([rows for _, rows in self._blocks()])
        self._unit = torch.ones(self.n_parameters, dtype=torch.float64, device=self.device)
        if has_bias:
            self._unit[-1] = 0.0

    def _blocks(self) -> Iterator[tuple[slice, Tensor]]:
        """Slices of the samples, and their rows in float64; nobody writes into these."""
        for start in range(0, self.n_samples, self._height):
            part = slice(start, min(start + self._height, self.n_samples))
            if self._kept is not None:
                yield part, self._kept[part]
                continue
            rows = self.kernel.exact_rows(part)
            if self._scale != 1.0:
                rows = rows * self._scale
            yield part, rows if self.center is None else rows - self.center

    def nothing(self) -> Tensor:
        return torch.zeros(self.n_parameters, dtype=torch.float64, device=self.device)

    def forward(self, theta: Tensor) -> Tensor:
        out = torch.empty(self.n_samples, dtype=torch.float64, device=self.device)
        for part, rows in self._blocks():
            torch.mv(rows, theta[:-1], out=out[part])
        return out.add_(theta[-1]) if self.has_bias else out

    def adjoint(self, c: Tensor) -> Tensor:
        sums = self.nothing()
        for part, rows in self._blocks():
            sums[:-1].addmv_(rows.T, c[part])
        if self.has_bias:
            sums[-1] = c.sum()
        return sums

    def penalty(self, theta: Tensor) -> Tensor:
        # One that is the bias has none, and one that is no parameter at all stays zero.
        return theta * self._unit

    def factor(self, weights: Tensor) -> None:
        d = self.n_features
        matrix = torch.zeros(d + 1, d + 1, dtype=torch.float64, device=self.device)
        for part, rows in self._blocks():
            own = weights[part]
            held = own.nonzero().squeeze(1)
            if 2 * len(held) < len(own):  # rows of no weight add nothing
                rows, own = rows[held], own[held]
            roots = own.sqrt()
            wide = rows * roots[:, None]
            matrix[:d, :d].addmm_(wide.T, wide)
            if self.has_bias:
                matrix[d, :d].addmv_(wide.T, roots)
        if self.has_bias:
            matrix[:d, d] = matrix[d, :d]
            matrix[d, d] = weights.sum()
        self._factor, self._scaling = scaled_cholesky(matrix, self._unit)

    def solve(self, r: Tensor) -> Tensor:
        found = torch.cholesky_solve((self._scaling * r)[:, None], self._factor)
        return self._scaling * found[:, 0]


class WideNewtonSystem(DeviceNewtonSystem):
    """The same, without a matrix: conjugate gradients. Without a bias no vector in them has a last
    entry."""

    def factor(self, weights: Tensor) -> None:
        self._weights = weights
        diagonal = self._unit.clone()
        for part, rows in self._blocks():
            diagonal[:-1].addmv_(rows.square().T, weights[part])
        if self.has_bias:
            diagonal[-1] += weights.sum()
        self._diagonal = diagonal

    def _times(self, p: Tensor) -> Tensor:
        return self.penalty(p) + self.adjoint(self._weights * self.forward(p))

    def solve(self, r: Tensor) -> Tensor:
        x, rest = torch.zeros_like(r), r.clone()
        z = rest / self._diagonal
        p, along = z.clone(), rest @ z
        goal = _CG_SHARE**2 * float(rest @ rest)
        for _ in range(_MOST_CG):
            q = self._times(p)
            length = along / (p @ q)
            x = x + length * p
            rest = rest - length * q
            if not float(rest @ rest) > goal:  # also where nothing was asked, and 0 / 0 came of it
                break
            z = rest / self._diagonal
            before, along = along, rest @ z
            p = z + (along / before) * p
        if not torch.isfinite(x).all():
            return torch.zeros_like(r)
        return x


def scaled_cholesky(matrix: Tensor, penalty: Tensor) -> tuple[Tensor, Tensor]:
    """`solvers.interior_point.scaled_cholesky` on a device: the factor of matrix + diag(penalty)
    brought to unit diagonal, with the least ridge that helps where rounding made it singular."""
    matrix.diagonal().add_(penalty)
    scale = matrix.diagonal().sqrt()
    if not bool((scale > 0).all()):
        raise np.linalg.LinAlgError("The Newton system has lost a parameter.")
    scaling = 1.0 / scale
    matrix.mul_(scaling[:, None]).mul_(scaling)
    ridge = 0.0
    while True:
        factor, failed = torch.linalg.cholesky_ex(matrix)
        if not int(failed):
            return factor, scaling
        ridge = max(1e-15, 10 * ridge)
        if not ridge < 1e-3:
            raise np.linalg.LinAlgError("The Newton system is not positive definite.")
        matrix.diagonal().add_(ridge)


class DeviceLinearSolver(Solver):
    """Solves a linear `DualQP` over rows on a device, with finite bounds or with ridges and none,
    to a KKT gap of `tol`."""

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        begun = time.perf_counter()
        ridged, kernel, ridge = problem.kernel, problem.kernel, None
        if isinstance(ridged, RidgedKernel):
            kernel, ridge = ridged.base, ridged.ridge
        if not (isinstance(kernel, DeviceKernel) and kernel.function.name == "linear"):
            raise SolverError("Linear machines on a device need a linear kernel over rows there.")
        if problem.group_sizes is not None:
            raise SolverError("Linear machines on a device need a single sum.")
        if ridge is None and not (np.isfinite(problem.u).all() and problem.u.min() > 0.0):
            raise SolverError("Linear machines on a device need finite positive bounds.")
        on_device = DeviceProblem(problem, kernel)
        wide = kernel.n_features > MOST_DIRECT
        make_system = WideNewtonSystem if wide else DeviceNewtonSystem
        centred = problem.has_bias and problem.starts_at_zero
        system = make_system(kernel, problem.has_bias, centred)
        near = None if start is None else _move_start(start, kernel.device)
        walk: PrimalPath | NewtonDescent
        if ridge is None:
            walk = PrimalPath(on_device, system, self.tol, near)
        else:
            ridges = torch.as_tensor(ridge, device=kernel.device)
            walk = NewtonDescent(on_device, system, ridges, self.tol, near)
        status = walk.run(limits, number, begun)
        weights = system.adjoint(on_device.at_samples(on_device.s * walk.best_a))[:-1]
        f = walk.best_f
        if system.center is not None:  # Σz = 0, so that this is all that the mean does
            f = f + system.center @ weights
        a, f = walk.best_a.cpu().numpy(), f.cpu().numpy()
        interior = None
        if isinstance(walk, PrimalPath) and status in STOPPED:
            interior = tuple(part.cpu().numpy() for part in walk.state)
        return Solution(
            a, f, problem.bias(a, f), status, walk.n_iter, time.perf_counter() - begun,
            interior, weights=weights.cpu().numpy() if kernel.factor == 1.0 else None,
        )  # fmt: skip


def _move_start(start: Solution, device: Any) -> Solution:
    """A start whose vectors are tensors."""

    def move(values: Any) -> Any:
        return torch.as_tensor(np.asarray(values), dtype=torch.float64, device=device)

    interior = None if start.interior is None else tuple(map(move, start.interior))
    return replace(start, a=move(start.a), interior=interior)
