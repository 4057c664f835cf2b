"""Problems of a few hundred variables: three methods, each for what the others are bad at.

1. A round or a few of SMO steps and faces (`OneBlockSolver`) solve most of them in a millisecond.
2. Their steps grow with C and with badly scaled data without limit. Those of interior points do
   not, and any kernel matrix is linear in the features Z of its factor K = ZZᵀ.
3. From there one more face makes the solution exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from lindero.kernels.blocks import kernel_among
from lindero.kernels.functions import KernelFunction
from lindero.kernels.operator import KernelOperator, ProductKernel
from lindero.kernels.products import DenseProducts
from lindero.kernels.threads import TileThreads
from lindero.problems.dual_qp import DualQP
from lindero.solvers.interior_point import InteriorPointSolver, takes
from lindero.solvers.limits import Limits
from lindero.solvers.one_block import OneBlockSolver
from lindero.solvers.solution import Solution, Status

#: Problems up to this size are taken as small.
MOST_VARIABLES = 400

#: Rounds of the first method: faces of a linear kernel are mostly singular, and then of little use.
_ROUNDS = 8
_ROUNDS_LINEAR = 1


@dataclass(frozen=True)
class SmallSolver:
    """Solves any small `DualQP`, mostly to rounding; `tol` is the gap that must be reached."""

    tol: float = 1e-3

    def solve(
        self,
        problem: DualQP,
        start: Solution | None = None,
        limits: Limits | None = None,
        number: int = 0,
    ) -> Solution:
        """The solution of the first method that gets there."""
        limits = limits or Limits()
        kernel = problem.kernel
        linear = isinstance(kernel, ProductKernel) and kernel.function.name == "linear"
        if not takes(problem):
            return OneBlockSolver(self.tol).solve(problem, start, limits, number)
        rounds = _ROUNDS_LINEAR if linear else _ROUNDS
        first = OneBlockSolver(self.tol, rounds).solve(problem, start, limits, number)
        stuck = first.status in (Status.PRECISION, Status.ITERATION_LIMIT)
        if not stuck or limits.steps_left(first.n_iter, 1) == 0:
            return first
        rest = limits.after(first.n_iter)
        if linear:
            second = PolishedInteriorPointSolver(self.tol, 1).solve(problem, start, rest, number)
            return replace(second, n_iter=first.n_iter + second.n_iter)
        features = replace(problem, kernel=kernel_features(kernel)[0])
        inner = InteriorPointSolver(self.tol, 1).solve(features, start, rest, number)
        second = _polished(problem, inner, rest, self.tol, number)
        second = replace(second, n_iter=first.n_iter + second.n_iter)
        return min(first, second, key=lambda one: _merit(problem, one, self.tol))


@dataclass(frozen=True)
class PolishedInteriorPointSolver:
    """`InteriorPointSolver`, with small problems made exact at its end."""

    tol: float = 1e-3
    n_threads: int | None = None

    def solve(
        self,
        problem: DualQP,
        start: Solution | None = None,
        limits: Limits | None = None,
        number: int = 0,
    ) -> Solution:
        """The solution, to rounding if the problem is small."""
        limits = limits or Limits()
        solution = InteriorPointSolver(self.tol, self.n_threads).solve(
            problem, start, limits, number
        )
        if problem.n_variables > MOST_VARIABLES:
            return solution
        return _polished(problem, solution, limits, self.tol, number)


def _polished(
    problem: DualQP, inner: Solution, limits: Limits, tol: float, number: int
) -> Solution:
    """An interior-point solution moved to the optimum of the face it is near."""
    finished = inner.status in (Status.OPTIMAL, Status.PRECISION)
    if not finished or limits.steps_left(inner.n_iter, 1) == 0:
        return inner
    rest = limits.after(inner.n_iter)
    last = OneBlockSolver(tol, rounds=1).solve(problem, inner, rest, number)
    if last.status is not Status.OPTIMAL and inner.status is Status.OPTIMAL:
        return inner
    status = last.status if last.status is Status.OPTIMAL else Status.PRECISION
    return replace(last, n_iter=inner.n_iter + last.n_iter, status=status)


def _merit(problem: DualQP, solution: Solution, tol: float) -> tuple[float, float]:
    """The gap where it is within tol, else the objective: less is better."""
    judgement = problem.judge(solution.a, solution.f, solution.bias)
    gap = judgement.kkt_gap
    return (gap if gap <= tol else np.inf, -judgement.dual)


def kernel_features(kernel: KernelOperator) -> tuple[ProductKernel, int]:
    """Z with K = ZZᵀ to rounding, by pivoted Cholesky, as a linear kernel; and its rank."""
    n = kernel.n_samples
    with TileThreads() as threads:
        matrix = kernel_among(kernel.astype(np.float64), np.arange(n), None, threads)
    factor, order, rank, _ = lapack.dpstrf(matrix, lower=1)
    Z = np.empty((n, rank))
    Z[order - 1] = np.tril(factor)[:, :rank]
    return ProductKernel(DenseProducts(Z, np.float64), KernelFunction("linear")), int(rank)
