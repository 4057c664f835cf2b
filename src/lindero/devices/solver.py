"""Which solver for which problem on a device.

    Newton's method          Gaussian kernels with a bulk (`newton.LEAST_BULK`), thousands of rows
    decomposition            everything else
    many problems at once    decomposition of all of them side by side (`many`)

What Newton's method does not finish decomposition goes on with. The bulk is
seen at the landmarks, before anything is solved.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lindero.devices.kernel import DeviceKernel
from lindero.devices.many import ManyProblems
from lindero.devices.memory import NewtonPlan, plan_newton
from lindero.devices.newton import LEAST_BULK, Newton
from lindero.devices.preconditioner import Landmarks, measure_bulk
from lindero.devices.problem import DeviceProblem
from lindero.devices.sample_problem import SampleProblem, fold, unfold
from lindero.devices.side_by_side import MOST_WHOLE
from lindero.devices.working_set import DeviceDescent
from lindero.problems.dual_qp import DualQP
from lindero.runtime.cached import cached_property
from lindero.solvers.solution import Limits, Progress, Solution, Solver, Start, Status

#: Rows from which Newton's method pays.
FEWEST_NEWTON = 6_000

#: The gap up to which the best point of Newton's method is gone on from.
_WORTH_KEEPING = 0.5


@dataclass(frozen=True)
class _NewtonWatch:
    """Reports steps of Newton's method, and says when to stop."""

    limits: Limits
    tol: float
    number: int
    begun: float
    before: int = 0

    def __call__(self, steps: int, gap: float) -> bool:
        seconds = time.perf_counter() - self.begun
        report = Progress(self.before + steps, gap, self.tol, seconds, self.number)
        return self.limits.check(report) is not None


class DeviceSolver(Solver):
    """Solves any `DualQP` with a bias whose kernel is a `DeviceKernel`, on the device of that."""

    #: "auto", or one of the two methods alone, to compare them.
    method = "auto"

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        begun = time.perf_counter()
        kernel = problem.kernel
        assert isinstance(kernel, DeviceKernel)
        on_device = DeviceProblem(problem, kernel)
        counted: dict[str, Any] = {}
        folded = fold(on_device) if np.isfinite(problem.u).all() else None
        n_iter = 0
        z = f = None
        plan = None
        if start is None and folded is not None and self._suits_newton(kernel, counted):
            plan = plan_newton(kernel)
        if folded is not None and plan is not None:
            watch = _NewtonWatch(limits, self.tol, number, begun)
            newton, order = self._run_newton(folded, plan, watch, counted)
            n_iter = newton.steps
            if newton.best is not None:
                gap, beta, at_rows = newton.best
                back = torch.empty_like(order)
                back[order] = torch.arange(len(order), device=order.device)
                z, f = unfold(on_device, beta[back]), at_rows[back]
                if gap <= self.tol:
                    return self._solution(
                        on_device, z, f, Status.OPTIMAL, n_iter, begun, newton.blur, counted
                    )
                if gap > _WORTH_KEEPING:
                    z = f = None
            del newton
        if z is None and start is None and problem.starts_at_zero:
            z, f = torch.zeros_like(on_device.q), kernel.nothing()
        elif z is None:
            z = on_device.signed(problem.start(start.a if start else None))
            f = None
        descent = DeviceDescent(on_device, self.tol, z, f)
        status = descent.run(limits.deduct(n_iter), number, begun)
        counted |= {"outer": descent.outer, "refreshed": descent.refreshed}
        return self._solution(
            on_device,
            descent.z,
            descent.f,
            status,
            n_iter + descent.n_iter,
            begun,
            descent.blur,
            counted,
        )

    def _suits_newton(self, kernel: DeviceKernel, counted: dict[str, Any]) -> bool:
        if self.method != "auto":
            return self.method == "newton"
        fits = kernel.device.type == "cuda" and kernel.is_fused and kernel.factor == 1.0
        if not fits or kernel.n_samples < FEWEST_NEWTON:
            return False
        counted["bulk"] = measure_bulk(kernel)
        return bool(counted["bulk"] >= LEAST_BULK)

    def _run_newton(
        self,
        folded: SampleProblem,
        plan: NewtonPlan,
        watch: _NewtonWatch,
        counted: dict[str, Any],
    ) -> tuple[Newton, Tensor]:
        """Newton's method on rows in random order."""
        n, device = folded.kernel.n_samples, folded.kernel.device
        generator = torch.Generator(device).manual_seed(0)
        order = torch.randperm(n, device=device, generator=generator)
        kernel = folded.kernel.subset(order)
        landmarks = Landmarks(kernel, plan)
        price = None if folded.price is None else folded.price[order]
        shuffled = SampleProblem(
            kernel, folded.q[order], folded.lower[order], folded.upper[order], price, folded.delta
        )
        newton = Newton(shuffled, self.tol)
        newton.run_nested(landmarks, watch)
        counted |= {"newton": newton.steps, "cg": newton.cg_steps}
        return newton, order

    def _solution(
        self, problem: DeviceProblem, z: Tensor, f: Tensor, status: Status, n_iter: int,
        begun: float, blur: float, counted: dict[str, Any],
    ) -> Solution:  # fmt: skip
        host = problem.host
        if problem.n_groups == 1:  # put right there, in a fraction of the time
            there = problem.snap(problem.s * z)
            feasible = problem.nearest_feasible(there)
            a = (there if feasible is None else feasible).cpu().numpy()
        else:
            a = host.snap(host.s * z.cpu().numpy())
            nearest = host.nearest_feasible(a)
            a = a if nearest is None else nearest
        values = f.cpu().numpy()
        bias, seconds = host.bias(a, values), time.perf_counter() - begun
        return Solution(a, values, bias, status, n_iter, seconds, blur=blur, statistics=counted)

    def solve_all(
        self, problems: Sequence[DualQP], starts: Sequence[Start], limits: Limits
    ) -> list[Solution]:
        """The solutions of several problems, side by side where that is possible. Their kernels'
        tables are kept for the next call, while it asks for the same kernels."""
        if len(problems) == 1 and problems[0].n_variables > MOST_WHOLE:  # which has no table
            return [self.solve(problems[0], starts[0], limits)]
        kernels = [problem.kernel for problem in problems]
        kept = self._kept
        if not kept or not kept[0].covers(kernels):
            kept.clear()
            kept.append(ManyProblems(kernels, self))
        return kept[0].solve(problems, starts, limits)

    @cached_property
    def _kept(self) -> list[ManyProblems]:
        return []
