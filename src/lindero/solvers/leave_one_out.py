"""What a machine says of each sample that it was not trained with.

Leaving out a sample that is not a support vector leaves the solution as it is. Its bias too, unless
no variable is free: then it is the middle of an interval whose ends may be that sample. For a
support vector the problem is solved again without it, from the solution that is known. Nothing is
approximated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from lindero.kernels.special import MatrixKernel
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads
from lindero.solvers.choose import GeneralSolver
from lindero.solvers.solution import Limits, Solution, Solver, Status
from lindero.solvers.wrappers import HardMarginSolver, PathSolver

#: Up to this many samples the kernel matrix is computed once for all solutions without one of them.
_MOST_SAMPLES = 5_000


def solve_without_each(
    problem: DualQP,
    a: Array,
    make_solver: Callable[..., Solver],
    tol: float,
    cache_size: float,
    limits: Limits,
) -> tuple[Array, list[bool]]:
    """The output at each sample of the machine trained without it, and which of the solutions were
    not finished; `a` is the solution with all samples, or nearly, and `make_solver` the constructor
    of the solver that found it."""
    by_decomposition = make_solver in (GeneralSolver, HardMarginSolver)
    solver: Solver = GeneralSolver(tol, cache_size, n_threads=1)
    if not by_decomposition:
        solver = make_solver(tol=tol, cache_size=cache_size, n_threads=1)
    elif problem.kernel.n_samples <= _MOST_SAMPLES:
        rows = np.arange(problem.kernel.n_samples)
        matrix = problem.kernel.astype(np.float64).matrix(rows, len(rows))
        problem = replace(problem, kernel=MatrixKernel(matrix))
        solver = PathSolver(tol)
    # First with all samples: what the fit left open within its tolerance would otherwise be done
    # over and over again.
    known = solver.solve(problem, _at(a), limits)
    if limits.interrupted:
        raise KeyboardInterrupt
    sample_of = np.arange(len(a)) if problem.sample_of is None else problem.sample_of
    support = np.unique(sample_of[known.a > 0])
    values: Array = known.f + known.bias
    if not ((known.a > 0) & (known.a < problem.u)).any():
        for sample in np.setdiff1d(sample_of, support):
            absent = replace(problem, u=np.where(sample_of == sample, 0.0, problem.u))
            values[sample] = known.f[sample] + absent.bias(known.a, known.f)
    unfinished = [known.status is not Status.OPTIMAL]

    def work(number: int) -> None:
        sample = support[number]
        left_out = sample_of == sample
        if by_decomposition:
            absent = replace(problem, u=np.where(left_out, 0.0, problem.u))
            solution = solver.solve(absent, _at(np.where(left_out, 0.0, known.a)), limits, number)
            values[sample] = solution.f[sample] + solution.bias
        else:
            rest = _remove_sample(problem, sample, left_out)
            solution = solver.solve(rest, _at(known.a[~left_out]), limits, number)
            values[sample] = _value_at(problem, sample, rest, solution)
        unfinished.append(solution.status is not Status.OPTIMAL)

    with TileThreads() as threads:
        try:
            threads.map(work, range(len(support)))
        except KeyboardInterrupt:
            limits.interrupt()
    if limits.interrupted:
        raise KeyboardInterrupt
    return values, unfinished


def _remove_sample(problem: DualQP, sample: int, left_out: Array) -> DualQP:
    """The problem of all other samples, for solvers that need u > 0."""
    sample_of = None
    if problem.sample_of is not None:
        kept = problem.sample_of[~left_out]
        sample_of = kept - (kept > sample)
    return replace(
        problem,
        kernel=problem.kernel.subset(np.delete(np.arange(problem.kernel.n_samples), sample)),
        p=problem.p[~left_out],
        s=problem.s[~left_out],
        u=problem.u[~left_out],
        sample_of=sample_of,
    )


def _value_at(problem: DualQP, sample: int, rest: DualQP, solution: Solution) -> float:
    """The output at a sample of the machine over all others."""
    z = rest.at_samples(rest.s * solution.a)
    held = np.flatnonzero(z)
    others = np.delete(np.arange(problem.kernel.n_samples), sample)
    kernel = problem.kernel.astype(np.float64)
    row = kernel.cross(kernel.probe(np.array([sample])), kernel.probe(others[held]))
    return float(row[0] @ z[held]) + float(solution.bias)


def _at(a: Array) -> Solution:
    """A point to start from."""
    return Solution(a, np.empty(0), 0.0, Status.OPTIMAL, 0, 0.0)
