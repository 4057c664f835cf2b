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

from lindero.kernels.functions import KernelFunction
from lindero.kernels.operator import KernelOperator, ProductKernel
from lindero.kernels.products import DenseProducts
from lindero.problems.dual_qp import DualQP
from lindero.solvers.interior_point import InteriorPointSolver, takes
from lindero.solvers.limits import Limits
from lindero.solvers.one_block import OneBlockSolver
from lindero.solvers.solution import Solution, Status

#: Problems up to this size are taken as small.
MOST_VARIABLES = 400

#: Rounds of the first method.
_ROUNDS = 8

#: Linear problems of more numbers than this go straight to interior points, whose steps are small.
_MOST_NUMBERS = 3_000


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
        if not takes(problem):
            return OneBlockSolver(self.tol).solve(problem, start, limits, number)
        n_features = _linear_features(kernel)
        if kernel.n_samples * n_features > _MOST_NUMBERS:
            return PolishedInteriorPointSolver(self.tol, 1).solve(problem, start, limits, number)
        first = OneBlockSolver(self.tol, _ROUNDS).solve(problem, start, limits, number)
        stuck = first.status in (Status.PRECISION, Status.ITERATION_LIMIT)
        if not stuck or limits.steps_left(first.n_iter, 1) == 0:
            return first
        rest = limits.after(first.n_iter)
        linear = problem if n_features else replace(problem, kernel=kernel_features(kernel)[0])
        inner = InteriorPointSolver(self.tol, 1).solve(linear, start, rest, number)
        second = _polished(problem, inner, rest, self.tol, number)
        best = _better(problem, first, second, self.tol)
        return replace(best, n_iter=first.n_iter + second.n_iter)


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
    best = _better(problem, inner, last, tol)
    return replace(best, n_iter=inner.n_iter + last.n_iter)


def _linear_features(kernel: KernelOperator) -> int:
    """The number of features of a linear kernel, 0 for any other."""
    if isinstance(kernel, ProductKernel) and kernel.function.name == "linear":
        return int(kernel.products.n_features)
    return 0


def _better(problem: DualQP, one: Solution, other: Solution, tol: float) -> Solution:
    """The one of less gap, if that is within tol; else the one of less objective, computed in
    extended precision since large kernel values may have hidden it from both methods."""
    gaps = [problem.judge(each.a, each.f, each.bias).kkt_gap for each in (one, other)]
    if min(gaps) <= tol:
        return replace(one if gaps[0] <= gaps[1] else other, status=Status.OPTIMAL)
    rows = np.arange(problem.n_variables) if problem.sample_of is None else problem.sample_of
    K = problem.kernel.astype(np.float64).matrix(rows, len(rows)).astype(np.longdouble)
    values = []
    for each in (one, other):
        z = (problem.s * each.a).astype(np.longdouble)
        values.append(z @ (K @ z) / 2 + problem.q @ z)
    return replace(one if values[0] <= values[1] else other, status=Status.PRECISION)


def kernel_features(kernel: KernelOperator) -> tuple[ProductKernel, int]:
    """Z with K = ZZᵀ to rounding, by pivoted Cholesky, as a linear kernel; and its rank."""
    n = kernel.n_samples
    matrix = kernel.astype(np.float64).matrix(np.arange(n), n)
    factor, order, rank, _ = lapack.dpstrf(matrix, lower=1)
    Z = np.empty((n, rank))
    Z[order - 1] = np.tril(factor)[:, :rank]
    return ProductKernel(DenseProducts(Z, np.float64), KernelFunction("linear")), int(rank)
