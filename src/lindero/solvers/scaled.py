"""Tolerances for problems whose scale depends on their sums.

Where p = 0 (ν-classification, novelty) all of v = K z is proportional to K and to the sums δ that
z must have. With small data or a small ν these are small, a gap of 1e-3 is then no precision at
all, and the first feasible point passes for a solution. So a gap is asked for that is small beside
them too. And what a ν-classifier is about is its margin ρ, which divides everything in the end:
the gap is made smaller than that, unless a hundredth of `tol` does not suffice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lindero.problems.dual_qp import DualQP
from lindero.problems.margin import margin_of
from lindero.solvers.limits import Limits
from lindero.solvers.solution import Solution, Status
from lindero.solvers.working_set import WorkingSetSolver

#: The gap may be this share of the margin; finer than this share of `tol` is not asked for.
_SHARE = 0.1
_FINEST = 0.01


@dataclass(frozen=True)
class ScaledSolver:
    """Solves a `DualQP` with p = 0 to a KKT gap of `tol`, or less where the scale is small."""

    tol: float = 1e-3
    cache_size: float = 200.0
    n_threads: int | None = None

    def solve(
        self,
        problem: DualQP,
        start: Solution | None = None,
        limits: Limits | None = None,
        number: int = 0,
    ) -> Solution:
        """The solution, with the steps of all attempts."""
        limits = limits or Limits()
        scale = float(np.abs(problem.delta).max() * np.abs(problem.kernel.diagonal()).mean())
        tol = self.tol * (min(1.0, scale) if scale > 0 else 1.0)
        finest = _FINEST * tol
        solution = self._to(tol).solve(problem, start, limits, number)
        while problem.group_sizes is not None and solution.status is Status.OPTIMAL:
            gap = problem.judge(solution.a, solution.f, solution.bias).kkt_gap
            wanted = _SHARE * margin_of(solution.bias)[1]
            if gap <= wanted or tol <= finest:
                break
            tol = max(finest, min(0.5 * wanted, 0.1 * tol))
            spent = solution.n_iter
            solution = self._to(tol).solve(problem, solution, limits.after(spent), number)
            solution = replace(solution, n_iter=spent + solution.n_iter)
        return solution

    def _to(self, tol: float) -> WorkingSetSolver:
        return WorkingSetSolver(tol, self.cache_size, self.n_threads)
