"""Where to start when zero is not feasible: the solution over some of the samples.

One-class and ν-machines fix the sum of their variables, a share of all bounds. Whichever feasible
point a solver starts from, it has to compute the kernel rows of that share of the samples. So it
pays to guess which they will be: the problem over a thousand samples, its bounds scaled up to the
same sums, is solved in a moment. Its v at all samples says which variables gain most; they are
raised to their bounds until the sums are met.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array
from lindero.solvers.limits import Limits
from lindero.solvers.solution import Solver

#: Samples of the small problem; problems less than four times as large are not worth one.
COARSE_SAMPLES = 1_000


def coarse_start(problem: DualQP, solver: Solver, limits: Limits, number: int) -> Array:
    """A feasible point near the optimum of a problem whose sums δ are not zero. An interruption on
    the way is kept in `limits`, for the solver to see."""
    n_samples = problem.kernel.n_samples
    if n_samples < 4 * COARSE_SAMPLES:
        return problem.start(None)
    rows = np.random.default_rng(0).choice(n_samples, COARSE_SAMPLES, replace=False)
    taken = np.zeros(n_samples, dtype=bool)
    taken[rows] = True
    variables = np.flatnonzero(taken if problem.sample_of is None else taken[problem.sample_of])
    coarse = over_some(problem, np.flatnonzero(taken), variables)
    if coarse is None:
        return problem.start(None)
    a = np.zeros(problem.n_variables)
    a[variables] = solver.solve(coarse, None, limits, number).a
    if limits.stopped:
        return problem.start(None)
    return problem.filled(problem.scores(problem.kernel_sums(a)))


def over_some(problem: DualQP, samples: Array, variables: Array) -> DualQP | None:
    """The problem over these samples and their variables, with bounds scaled up so that each
    group has as much room as in the whole; None if a group is left without any."""
    u = problem.u[variables].copy()
    sizes = []
    for members, _ in problem.groups:
        inside = np.arange(problem.n_variables)[members]
        held = np.isin(variables, inside, assume_unique=True)
        room = u[held].sum()
        if room <= 0:
            return None
        u[held] *= problem.u[members].sum() / room
        sizes.append(int(held.sum()))
    sample_of = None
    if problem.sample_of is not None:
        sample_of = np.searchsorted(samples, problem.sample_of[variables])
    return replace(
        problem,
        kernel=problem.kernel.subset(samples),
        p=problem.p[variables],
        s=problem.s[variables],
        u=u,
        sample_of=sample_of,
        group_sizes=None if problem.group_sizes is None else tuple(sizes),
    )
