"""Which solver for which problem on a device, and many problems at once.

    one problem                  decomposition (`working_set`)
    many over few samples        side by side (`many`)
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from lindero.devices.kernel import DeviceKernel
from lindero.devices.many import solve_all
from lindero.devices.problem import DeviceProblem
from lindero.devices.working_set import DeviceDescent
from lindero.problems.dual_qp import DualQP
from lindero.solvers.solution import Limits, Solution, Solver, Start


class DeviceSolver(Solver):
    """Solves any `DualQP` with a bias whose kernel is a `DeviceKernel`, on the device of that."""

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        begun = time.perf_counter()
        kernel = problem.kernel
        assert isinstance(kernel, DeviceKernel)
        on_device = DeviceProblem(problem, kernel)
        z = on_device.signed(problem.start(start.a if start else None))
        descent = DeviceDescent(on_device, self.tol, z)
        status = descent.run(limits, number, begun)
        a = problem.snap(problem.s * descent.z.cpu().numpy())
        a = problem.nearest_feasible(a)
        f = descent.f.cpu().numpy()
        bias, seconds = problem.bias(a, f), time.perf_counter() - begun
        counted = {"outer": descent.outer, "refreshed": descent.refreshed}
        return Solution(
            a, f, bias, status, descent.n_iter, seconds, blur=descent.blur, statistics=counted
        )

    def solve_all(
        self, problems: Sequence[DualQP], starts: Sequence[Start], limits: Limits
    ) -> list[Solution]:
        """The solutions of several problems, side by side where that is possible."""
        return solve_all(self, problems, starts, limits)
