"""Hard margins: the largest margin, or a proof that there is none.

With u = ∞ the dual problem is unbounded exactly when no boundary separates the classes, and an
iteration towards infinity is a poor way to find that out. So the bound is made finite and grown: as
soon as all a_i stay below it, it plays no part, and the solution is that of the hard margin.

* A kernel matrix of full rank meets any labelling: separable, and solved with u = ∞ at once.
* One of low rank is K = ZZᵀ with few columns (Z = X for the linear kernel). Interior points solve
  that with any bound; if some a_i is at the largest, a linear program over the columns of Z, each
  scaled to size 1, decides: the least Σξ with y_i(w·z_i + b) ≥ 1 − ξ_i is zero exactly if a
  boundary separates, and otherwise names the samples with ξ_i ≥ 1, which are not on their side.
  It may ask for margins of 1 whatever Ω is: a boundary that separates meets any, scaled up.
* Otherwise decomposition solves the bounded problems, and an optimum with samples on the wrong side
  and the largest bound met is taken as the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.optimize
import scipy.sparse

from lindero.errors import NotSeparableError
from lindero.kernels.operator import KernelOperator, ProductKernel
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array
from lindero.solvers.interior_point import InteriorPointSolver
from lindero.solvers.limits import Limits
from lindero.solvers.small import kernel_features
from lindero.solvers.solution import Solution, Solver, Status
from lindero.solvers.working_set import WorkingSetSolver

#: Bounds tried in turn, in units of max Ω_i / mean K_ii, where Ω = −p are the margins asked for. A
#: margin that needs more than the last is smaller than 1e-4 of the data's own size.
_BOUNDS = (1e2, 1e5, 1e8)

#: Kernel matrices of at most this many samples are factored, to find their rank.
_LARGEST_FACTORED = 2_000

#: Interior points and the linear program are used up to this many columns.
_MOST_FEATURES = 400

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
        solver: Solver = WorkingSetSolver(self.tol, self.cache_size, self.n_threads)
        features = kernel if _has_features(kernel) else None
        if features is None and kernel.n_samples <= _LARGEST_FACTORED:
            factor, rank = kernel_features(kernel)
            if rank == kernel.n_samples:
                return solver.solve(problem, start, limits, number)
            features = factor if rank <= _MOST_FEATURES else None
        if features is not None:
            kernel = features
            solver = InteriorPointSolver(self.tol, self.n_threads)

        typical = max(float(np.mean(kernel.diagonal())), np.finfo(np.float64).tiny)
        largest_margin = float(-problem.p.min())
        spent = 0
        for bound in _BOUNDS:
            u = np.full(problem.n_variables, bound * largest_margin / typical)
            bounded = replace(problem, kernel=kernel, u=u)
            solution = solver.solve(bounded, start, limits.after(spent), number)
            spent += solution.n_iter
            solution = replace(solution, n_iter=spent)
            below = bool(solution.a.max() < 0.999 * u[0])
            if solution.status not in (Status.OPTIMAL, Status.PRECISION):
                return solution
            if solution.status is Status.OPTIMAL and below:
                return solution
            start = solution
        if isinstance(features, ProductKernel):
            wrong = _not_on_their_side(problem, features)
        else:
            wrong = np.flatnonzero(problem.s * (solution.f + solution.bias) <= 0)
        if len(wrong):
            raise NotSeparableError(not_separable_message(wrong), wrong.tolist())
        return replace(solution, status=Status.PRECISION)


def _has_features(kernel: KernelOperator) -> bool:
    return (
        isinstance(kernel, ProductKernel)
        and kernel.function.name == "linear"
        and kernel.products.n_features <= _MOST_FEATURES
    )


def _not_on_their_side(problem: DualQP, features: ProductKernel) -> Array:
    """Samples with ξ_i ≥ 1 at the least Σξ; none if and only if a boundary separates."""
    Z = np.empty((features.n_samples, features.products.n_features))
    features.products.fill_rows(Z)
    Z = Z - Z.mean(axis=0)
    scale = np.abs(Z).max(axis=0)
    Z = Z[:, scale > 0] / scale[scale > 0]
    n, d = Z.shape
    rows = np.hstack([problem.s[:, None] * np.hstack([Z, np.ones((n, 1))]), np.eye(n)])
    program = scipy.optimize.linprog(
        np.concatenate([np.zeros(d + 1), np.ones(n)]),
        A_ub=-scipy.sparse.csr_array(rows),
        b_ub=-np.ones(n),
        bounds=[(None, None)] * (d + 1) + [(0.0, None)] * n,
        method="highs",
    )
    if program.x is None:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(program.x[d + 1 :] >= 1.0 - 1e-6)


def not_separable_message(samples: Array) -> str:
    """What a user reads; `samples` are rows of the training data."""
    listed = ", ".join(str(i) for i in samples[:_NAMED])
    more = f" and {len(samples) - _NAMED} more" if len(samples) > _NAMED else ""
    word = "row" if len(samples) == 1 else "rows"
    return (
        "The hard margin (C=inf) has no solution: no boundary of this kernel separates the "
        f"classes. The best one found leaves {len(samples)} {word} on the wrong side: {word} "
        f"{listed}{more}. Use a finite C to allow errors, or a richer kernel, or look at these "
        "rows and their near neighbours of the other class."
    )
