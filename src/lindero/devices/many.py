"""Many problems on a device, whatever they are: pairs of classes, folds, points of a grid.

Those whose kernel values fit into memory together go side by side (`side_by_side`), alike ones in
one batch; the rest, and what is not within tol after that, one after the other by the solver for
single problems. `ManyProblems` keeps the tables of its kernels, for a path along which the same
kernels are asked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lindero.devices.kernel import DeviceKernel
from lindero.devices.side_by_side import MOST_WHOLE, Found, ManyDescents
from lindero.devices.tables import KernelTables, TablePlan
from lindero.kernels.operator import KernelOperator
from lindero.problems.dual_qp import DualQP
from lindero.solvers.solution import (
    LEAST_KERNEL,
    MOST_KERNEL,
    Limits,
    Solution,
    Solver,
    Start,
    Status,
)

#: The least width that problems are padded to (widths are powers of two from here on), and the
#: variables of a batch.
_LEAST_WIDTH, _MOST_NUMBERS = 1024, 2**26


class ManyProblems:
    """Solves problems over any of these kernels, by `solver` where it is one of them alone."""

    def __init__(self, kernels: Sequence[KernelOperator], solver: Solver) -> None:
        self.solver = solver
        on_device = [kernel for kernel in kernels if isinstance(kernel, DeviceKernel)]
        self.plan = TablePlan.of(on_device)

    def covers(self, kernels: Sequence[KernelOperator]) -> bool:
        known = {*self.plan.alone, *(k for tables in self.plan.batches for k in tables.place_of)}
        return known.issuperset(kernels)

    def solve(
        self, problems: Sequence[DualQP], starts: Sequence[Start], limits: Limits
    ) -> list[Solution]:
        """The solution of each problem."""
        solved: dict[int, Solution] = {}
        for tables in self.plan.batches:
            batch = {}
            for number, problem in enumerate(problems):
                if problem.kernel in tables.place_of and self._suits(problem, len(problems)):
                    batch[number] = problem.within_reach()
            solved |= self._solve_batch(tables, batch, starts, limits)
            if len(self.plan.batches) > 1:
                tables.forget()
        for number, problem in enumerate(problems):
            if number not in solved:
                solved[number] = self.solver.solve(problem, starts[number], limits, number)
        return [solved[number] for number in range(len(problems))]

    def _suits(self, problem: DualQP, n_problems: int) -> bool:
        if n_problems == 1 and problem.n_variables > MOST_WHOLE:
            return False
        return LEAST_KERNEL <= problem.kernel.largest() <= MOST_KERNEL

    def _solve_batch(
        self,
        tables: KernelTables,
        problems: dict[int, DualQP],
        starts: Sequence[Start],
        limits: Limits,
    ) -> dict[int, Solution]:
        alike: dict[tuple[int, int], list[int]] = {}
        for number, problem in problems.items():
            width = max(_LEAST_WIDTH, 1 << (problem.n_variables - 1).bit_length())
            alike.setdefault((width, problem.n_groups), []).append(number)
        solved: dict[int, Solution] = {}
        batches = [
            numbers[start : start + _MOST_NUMBERS // width]
            for (width, _), numbers in alike.items()
            for start in range(0, len(numbers), _MOST_NUMBERS // width)
        ]
        for numbers in batches:
            stated = [problems[number] for number in numbers]
            begun = [starts[number] for number in numbers]
            near = [None if start is None else start.a for start in begun]
            descents = ManyDescents(stated, near, numbers, tables, self.solver.tol)
            for number, found in zip(numbers, descents.run(limits), strict=True):
                solved[number] = self._finish(problems[number], found, limits, number)
        return solved

    def _finish(self, problem: DualQP, found: Found, limits: Limits, number: int) -> Solution:
        counted = {"outer": found.outer, "judged": found.judged}
        solution = Solution(
            found.a, found.f, problem.bias(found.a, found.f), found.status or Status.STALLED,
            found.n_iter, found.seconds, statistics=counted,
        )  # fmt: skip
        if found.status is not None:
            return solution
        rest = self.solver.solve(problem, solution, limits.deduct(found.n_iter), number)
        return replace(
            rest,
            n_iter=found.n_iter + rest.n_iter,
            seconds=found.seconds + rest.seconds,
            statistics={**counted, **rest.statistics},
        )
