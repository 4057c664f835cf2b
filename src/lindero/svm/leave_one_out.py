"""What a machine says of each sample when it is trained without it.

Leaving out a sample that is not a support vector changes nothing: the solution without it is the
same. For a support vector the problem is solved again with its bounds at zero, starting from the
solution that is known. Nothing is approximated.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lindero.kernels.functions import Array
from lindero.kernels.row_matrix import MatrixKernel
from lindero.kernels.threads import TileThreads
from lindero.problems.dual_qp import DualQP
from lindero.solvers.limits import Limits
from lindero.solvers.solution import Solution, Status
from lindero.solvers.working_set import WorkingSetSolver

#: Up to this many samples the kernel matrix is computed once for all solutions.
_MOST_SAMPLES = 5_000

#: Solutions start so close to their ends that a loose tolerance would be met at once.
_TOL = 1e-8


def left_out_values(problem: DualQP, a: Array, cache_size: float) -> Array:
    """The output at each sample of the machine trained without it; `a` is the solution with all of
    them, or nearly."""
    if problem.kernel.n_samples <= _MOST_SAMPLES:
        rows = np.arange(problem.kernel.n_samples)
        matrix = problem.kernel.astype(np.float64).matrix(rows, len(rows))
        problem = replace(problem, kernel=MatrixKernel(matrix))
    solver = WorkingSetSolver(_TOL, cache_size, n_threads=1)
    # Exact before anything is left out: what the fit left open within its tolerance would be
    # done over and over again.
    known = solver.solve(problem, _at(a), Limits())
    sample_of = np.arange(len(a)) if problem.sample_of is None else problem.sample_of
    samples = np.unique(sample_of[known.a > 0])
    values: Array = known.f + known.bias
    limits = Limits()

    def work(number: int) -> None:
        left_out = sample_of == samples[number]
        without = replace(problem, u=np.where(left_out, 0.0, problem.u))
        start = np.where(left_out, 0.0, known.a)
        solution = solver.solve(without, _at(start), limits)
        values[samples[number]] = solution.f[samples[number]] + solution.bias

    with TileThreads() as threads:
        threads.map(work, range(len(samples)))
    if limits.interrupted:
        raise KeyboardInterrupt
    return values


def _at(a: Array) -> Solution:
    """A point to start from."""
    return Solution(a, np.empty(0), 0.0, Status.OPTIMAL, 0, 0.0)
