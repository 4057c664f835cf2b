"""What a machine says of each sample when it is trained without it.

Leaving out a sample that is not a support vector leaves the solution as it is. Its bias too, unless
no variable is free: then it is the middle of an interval whose ends may be that sample. For a
support vector the problem is solved again without it, from the solution that is known. Nothing is
approximated.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lindero.kernels.special import MatrixKernel
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads
from lindero.solvers.choose import GeneralSolver
from lindero.solvers.solution import Limits, Solution, Solver, Status
from lindero.solvers.wrappers import HardMarginSolver, PathSolver

#: Up to this many samples the kernel matrix is computed once for all solutions.
_MOST_SAMPLES = 5_000

#: Solutions start so near to their ends that `tol` itself would be met at once.
_SHARE_OF_TOL = 1e-3


def left_out_values(
    problem: DualQP,
    a: Array,
    make_solver: Callable[..., Solver],
    tol: float,
    cache_size: float,
    limits: Limits,
) -> Array:
    """The output at each sample of the machine trained without it; `a` is the solution with all of
    them, or nearly, and `make_solver` the constructor of the solver that found it."""
    tol = _SHARE_OF_TOL * tol
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
        left_out = sample_of == support[number]
        if by_decomposition:
            absent = replace(problem, u=np.where(left_out, 0.0, problem.u))
            solution = solver.solve(absent, _at(np.where(left_out, 0.0, known.a)), limits, number)
            values[support[number]] = solution.f[support[number]] + solution.bias
        else:
            values[support[number]], solution = _trained_without(
                problem, support[number], left_out, known.a, solver, limits, number
            )
        unfinished.append(solution.status is not Status.OPTIMAL)

    with TileThreads() as threads:
        try:
            threads.map(work, range(len(support)))
        except KeyboardInterrupt:
            limits.interrupt()
    if limits.interrupted:
        raise KeyboardInterrupt
    if any(unfinished):
        warnings.warn(
            f"{sum(unfinished)} of {len(unfinished)} solutions of leave_one_out stopped before "
            f"their KKT gaps were within {tol:.0e}: their values are approximate. Raise max_iter "
            "or time_limit, or scale the features (sklearn.preprocessing.StandardScaler).",
            ConvergenceWarning,
            stacklevel=3,
        )
    return values


def _trained_without(
    problem: DualQP,
    sample: int,
    left_out: Array,
    a: Array,
    solver: Solver,
    limits: Limits,
    number: int,
) -> tuple[float, Solution]:
    """The output at a sample of the machine over all others, for solvers that need u > 0."""
    others = np.delete(np.arange(problem.kernel.n_samples), sample)
    sample_of = None
    if problem.sample_of is not None:
        kept = problem.sample_of[~left_out]
        sample_of = kept - (kept > sample)
    rest = replace(
        problem,
        kernel=problem.kernel.subset(others),
        p=problem.p[~left_out],
        s=problem.s[~left_out],
        u=problem.u[~left_out],
        sample_of=sample_of,
    )
    solution = solver.solve(rest, _at(a[~left_out]), limits, number)
    z = rest.at_samples(rest.s * solution.a)
    held = np.flatnonzero(z)
    kernel = problem.kernel.astype(np.float64)
    row = kernel.cross(kernel.probe(np.array([sample])), kernel.probe(others[held]))
    return float(row[0] @ z[held]) + float(solution.bias), solution


def _at(a: Array) -> Solution:
    """A point to start from."""
    return Solution(a, np.empty(0), 0.0, Status.OPTIMAL, 0, 0.0)
