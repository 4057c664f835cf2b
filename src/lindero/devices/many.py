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

#: The least width that problems are padded to: widths are powers of two from here on.
_LEAST_WIDTH = 1024


class ManyProblems:
    """Solves problems over these kernels, by `solver` where it is one of them alone."""

    def __init__(self, kernels: Sequence[DeviceKernel], solver: Solver) -> None:
        self.solver = solver
        self.plan = TablePlan.of(kernels)

    def solve(
        self, problems: Sequence[DualQP], starts: Sequence[Start], limits: Limits
    ) -> list[Solution]:
        """The solution of each problem; problem i is one over kernel i."""
        solver, solved = self.solver, dict[int, Solution]()
        problems = list(problems)
        alone = list(self.plan.alone)
        for tables in self.plan.batches:
            batch = []
            for place in tables.places:
                problem = problems[place]
                largest = problem.kernel.largest()
                single = len(problems) == 1 and problem.n_variables > MOST_WHOLE
                if single or not LEAST_KERNEL <= largest <= MOST_KERNEL:
                    alone.append(place)
                    continue
                problems[place] = problem.within_reach()
                batch.append(place)
            solved |= self._solve_batch(tables, batch, problems, starts, limits)
            if len(self.plan.batches) > 1:
                vars(tables).pop("matrix", None)
        for place in alone:
            solved[place] = solver.solve(problems[place], starts[place], limits, place)
        return [solved[place] for place in range(len(problems))]

    def _solve_batch(
        self,
        tables: KernelTables,
        places: list[int],
        problems: Sequence[DualQP],
        starts: Sequence[Start],
        limits: Limits,
    ) -> dict[int, Solution]:
        alike: dict[tuple[int, int], list[int]] = {}
        for place in places:
            problem = problems[place]
            width = max(_LEAST_WIDTH, 1 << (problem.n_variables - 1).bit_length())
            alike.setdefault((width, problem.n_groups), []).append(place)
        solved: dict[int, Solution] = {}
        for some in alike.values():
            stated = [problems[place] for place in some]
            begun = [starts[place] for place in some]
            near = [None if start is None else start.a for start in begun]
            descents = ManyDescents(stated, near, some, some, tables, self.solver.tol)
            for place, found in zip(some, descents.run(limits), strict=True):
                solved[place] = self._finish(problems[place], found, limits, place)
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


def solve_all(
    solver: Solver, problems: Sequence[DualQP], starts: Sequence[Start], limits: Limits
) -> list[Solution]:
    """The solutions of problems whose kernels lie on one device."""
    kernels = []
    for problem in problems:
        assert isinstance(problem.kernel, DeviceKernel)
        kernels.append(problem.kernel)
    return ManyProblems(kernels, solver).solve(problems, starts, limits)
