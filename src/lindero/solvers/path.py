"""Problems whose kernel matrix is at hand: decomposition, and the active set by linear systems.

Where kernels are smooth and C is large, many variables are free and decomposition creeps. Then it
is only used to find a fair guess of who is at which bound; from there

    repeat   the free variables F solve   v_F + b = 0,  Σz = δ     (one Cholesky factor of K_FF)
             free ones that left the box go to the bound they crossed
             those at a bound whose v + b has the wrong sign become free
    until    nobody moves: then all conditions hold, and z is exact to rounding

which is Newton's method on the conditions, a system of piecewise linear equations. From a fair
guess it takes some 3 to 8 rounds; where it finds no end, decomposition goes on from its own point
and the next guess is a better one. A factor of |F| variables costs |F|³/3 multiplications, so as
many steps of decomposition are made first as take about that time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from lindero.kernels.row_matrix import MatrixKernel
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array
from lindero.runtime.threads import single_threaded_blas
from lindero.solvers.limits import Limits
from lindero.solvers.solution import Solution, Status
from lindero.solvers.working_set import WorkingSetSolver

#: Steps of decomposition before the first guess: most problems need fewer in all.
_FIRST_STEPS = 20_000

#: Multiplications of |F|³ in the time of one step of decomposition.
_CUBES_PER_STEP = 25_000

#: Rounds after which a guess is given up.
_MOST_ROUNDS = 10


@dataclass(frozen=True)
class PathSolver:
    """Solves a `DualQP` over a `MatrixKernel` to a KKT gap of `tol`, often to rounding."""

    tol: float = 1e-3

    def solve(
        self,
        problem: DualQP,
        start: Solution | None = None,
        limits: Limits | None = None,
        number: int = 0,
    ) -> Solution:
        """The solution, from the feasible point nearest to `start` (zeros without one)."""
        with single_threaded_blas:
            return self._solve(problem, start, limits or Limits(), number)

    def _solve(
        self, problem: DualQP, start: Solution | None, limits: Limits, number: int
    ) -> Solution:
        begun = time.perf_counter()
        decomposition = WorkingSetSolver(self.tol, cache_size=0.0, n_threads=1)
        spent, steps = 0, _FIRST_STEPS
        while True:
            stretch = limits.after(spent)
            stretch.max_iter = stretch.steps_left(0, steps)
            solution = decomposition.solve(problem, start, stretch, number)
            spent += solution.n_iter
            unfinished = solution.status is Status.ITERATION_LIMIT
            if unfinished and limits.steps_left(spent, 1) > 0:
                start = solution
                steps *= 2
                n_free = int(np.count_nonzero((solution.a > 0) & (solution.a < problem.u)))
                if n_free**3 > _CUBES_PER_STEP * spent:
                    continue
                exact = on_active_set(problem, solution, self.tol)
                if exact is None:
                    continue
                solution = exact
            return replace(solution, n_iter=spent, seconds=time.perf_counter() - begun)


def on_active_set(problem: DualQP, guess: Solution, tol: float) -> Solution | None:
    """The exact solution, if the active set of `guess` leads to it; None if not.

    There is no safeguard on the way: a guess far off may lead round in circles, and moves that are
    kept within the box instead were found to gain nothing over steps of decomposition.
    """
    kernel = problem.kernel
    assert isinstance(kernel, MatrixKernel)
    assert problem.group_sizes is None
    lower, upper = problem.lower, problem.upper
    z = problem.s * guess.a
    high, low = z >= upper, z <= lower
    close = 0.01 * tol
    for _ in range(_MOST_ROUNDS):
        free = np.flatnonzero(~(high | low))
        z = np.where(high, upper, np.where(low, lower, 0.0))
        v = problem.scores(kernel.times(problem.at_samples(z)))
        found = _free_optimum(problem, kernel, free, v[free], problem.delta - z.sum())
        if found is None:
            return None
        z[free], bias = found
        f = kernel.times(problem.at_samples(z))
        residual = problem.scores(f) + bias
        above, below = z > upper, z < lower
        rising, falling = high & (residual > close), low & (residual < -close)
        if not (above | below | rising | falling).any():
            a = problem.snapped(problem.s * z)
            bias = problem.bias(a, f)
            if not problem.judge(a, f, bias).kkt_gap <= tol:
                return None
            return replace(guess, a=a, f=f, bias=bias, status=Status.OPTIMAL)
        high, low = (high & ~rising) | above, (low & ~falling) | below
    return None


def _free_optimum(
    problem: DualQP, kernel: MatrixKernel, free: Array, v: Array, total: float
) -> tuple[Array, float] | None:
    """z_F and b with K_FF z_F + v + b = 0 and Σz_F = total; None where K_FF is singular."""
    if len(free) == 0:
        return None
    samples = free if problem.sample_of is None else problem.sample_of[free]
    K = kernel.matrix(samples, len(samples))
    # Σz_F is known, so a constant may be added to K: it moves b only. It makes K definite where
    # the centred matrix is.
    constant = float(K.diagonal().max())
    K += constant
    try:
        factor = np.linalg.cholesky(K)
    except np.linalg.LinAlgError:
        return None
    sides = np.column_stack([-v, np.ones(len(free))])
    solved, _ = lapack.dpotrs(factor.T, sides, lower=0)
    moved = (solved[:, 0].sum() - total) / solved[:, 1].sum()
    z = solved[:, 0] - moved * solved[:, 1]
    return z, float(moved + constant * total)
