"""Hard margins: separability decided first, then the largest margin.

With u = ∞ the dual problem is unbounded exactly when no boundary separates the classes, and an
iteration towards infinity is a poor way to find that out. Two facts decide it instead:

* If the kernel matrix has full rank, any labelling of the samples can be met: separable.
* If it has rank r < n, then K = ZZᵀ with r columns, and the problem is a linear one in Z. Solved
  with a finite bound C by interior points (which do not mind how large C is), either all a_i < C,
  and the bound plays no part: this is the hard margin. Or some a_i = C however large C is made: no
  boundary separates, and the samples on the wrong side of the best one are named.

Linear kernels over features take the second way at once, with Z = X.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lindero.errors import NotSeparableError
from lindero.kernels.functions import Array
from lindero.kernels.operator import KernelOperator, ProductKernel
from lindero.problems.dual_qp import DualQP
from lindero.solvers.interior_point import InteriorPointSolver
from lindero.solvers.limits import Limits
from lindero.solvers.small import kernel_features
from lindero.solvers.solution import Solution, Solver, Status
from lindero.solvers.working_set import WorkingSetSolver

#: Bounds tried in turn, in units of 1 / mean K_ii. A margin that needs more than the last is
#: smaller than 1e-5 of the data's own size, which double precision cannot tell from none.
_BOUNDS = (1e2, 1e5, 1e8, 1e11)

#: Above this many samples a kernel matrix is not factored; growing bounds decide by themselves.
_LARGEST_FACTORED = 5_000

#: Interior points are used up to this many features.
_MOST_FEATURES = 2_000

#: How many samples a message lists.
_NAMED = 10


@dataclass(frozen=True)
class HardMarginSolver:
    """Solves a `DualQP` whose u is infinite, or raises `NotSeparableError`."""

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
        """The solution, or `NotSeparableError` with the samples on the wrong side."""
        limits = limits or Limits()
        kernel = problem.kernel.astype(np.float64)
        decomposition = WorkingSetSolver(self.tol, self.cache_size, self.n_threads)
        if _has_features(kernel):
            solver: Solver = InteriorPointSolver(self.tol, self.n_threads)
        elif kernel.n_samples > _LARGEST_FACTORED:
            solver = decomposition
        else:
            features, rank = kernel_features(kernel)
            if rank == kernel.n_samples:
                return decomposition.solve(problem, start, limits, number)
            kernel = features
            solver = InteriorPointSolver(self.tol, self.n_threads)

        typical = max(float(np.mean(kernel.diagonal())), np.finfo(np.float64).tiny)
        for bound in _BOUNDS:
            u = np.full(problem.n_variables, bound / typical)
            solution = solver.solve(replace(problem, kernel=kernel, u=u), start, limits, number)
            inside = solution.a.max() < 0.999 * u[0]
            if solution.status is not Status.PRECISION and (
                inside or solution.status is not Status.OPTIMAL
            ):
                return solution
            start = solution
        # Rounding may have kept all of them from the gap asked for. Who is where decides.
        wrong = np.flatnonzero(problem.s * (solution.f + solution.bias) <= 0)
        if len(wrong) == 0:
            return solution
        raise NotSeparableError(not_separable_message(wrong), wrong.tolist())


def _has_features(kernel: KernelOperator) -> bool:
    return (
        isinstance(kernel, ProductKernel)
        and kernel.function.name == "linear"
        and kernel.products.n_features <= _MOST_FEATURES
    )


def not_separable_message(samples: Array) -> str:
    """What a user reads; `samples` are rows of the training data."""
    listed = ", ".join(str(i) for i in samples[:_NAMED])
    more = f" and {len(samples) - _NAMED} more" if len(samples) > _NAMED else ""
    return (
        "The hard margin (C=inf) has no solution: no boundary of this kernel separates the "
        f"classes. The best one found leaves {len(samples)} sample(s) on the wrong side: rows "
        f"{listed}{more}. Use a finite C to allow errors, a richer kernel, or correct these rows."
    )
