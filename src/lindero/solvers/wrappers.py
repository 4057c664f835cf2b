"""Solvers that wrap the general one: hard margins, small scales, a kernel matrix at hand.

Hard margins (`HardMarginSolver`): the largest margin, or a proof that there is none; for a tube the
flattest function inside, or the samples that the largest bound leaves outside.
With u = ∞ the dual problem is unbounded exactly when no boundary separates the classes, and an
iteration towards infinity is a poor way to find that out. So the bound is made finite and grown: as
soon as all a_i stay below it, it plays no part, and the solution is that of the hard margin.

* A kernel matrix of full rank meets any labelling: separable, and solved with u = ∞ at once.
* One of low rank is K = ZZᵀ with few columns (Z = X for the linear kernel). Interior points solve
  that with any bound; if some a_i is at the largest, a linear program over the columns of Z, each
  scaled to size 1, decides: the least Σξ with y_i(w·z_i + b) ≥ 1 − ξ_i is zero exactly if a
  boundary separates, and otherwise names the samples with ξ_i ≥ 1, which are not on their side.
  It may ask for margins of 1 whatever Ω is: a boundary that separates meets any, scaled up.
  What they find of some hundred samples, one more face makes exact (`solvers.small`).
* Otherwise decomposition solves the bounded problems, and an optimum with samples on the wrong side
  and the largest bound met is taken as the answer.

Small scales (`ScaledSolver`): tolerances for problems whose scale depends on their sums.
Where p = 0 (ν-classification, novelty) all of v = K z is proportional to K and to the sums δ that
z must have. With small data or a small ν these are small, a gap of 1e-3 is then no precision at
all, and the first feasible point passes for a solution. So a gap is asked for that is small beside
them too. And what a ν-classifier is about is its margin ρ, which divides everything in the end:
the gap is made smaller than that, unless a hundredth of `tol` does not suffice.

A matrix at hand (`PathSolver`): decomposition, and the active set by linear systems.
Where kernels are smooth and C is large, many variables are free and decomposition is slow. Then it
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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse
from scipy.linalg import lapack

from lindero.errors import NotSeparableError
from lindero.kernels.operator import ProductKernel
from lindero.kernels.special import MatrixKernel
from lindero.problems.dual_qp import DualQP
from lindero.problems.margin import margin_of
from lindero.runtime.arrays import Array
from lindero.runtime.threads import single_threaded_blas
from lindero.solvers.choose import GeneralSolver
from lindero.solvers.interior_point import InteriorPointSolver
from lindero.solvers.small import (
    MOST_VARIABLES,
    judge_anew,
    kernel_features,
    linear_features,
    polish,
)
from lindero.solvers.solution import Limits, Solution, Solver, Start, Status

# -- hard margins ----------------------------------------------------------------------------------

#: Bounds tried in turn, in units of max Ω_i / mean K_ii, where Ω = −p are the margins asked for (of
#: a tube: the spread of the targets). A margin that needs more than the last is smaller than 1e-4
#: of the data's own size.
_BOUNDS = (1e2, 1e5, 1e8)

#: A KKT gap of this share of the margins asked for (of a tube: of the targets' spread) leaves no
#: doubt that they can be had, even where rounding keeps it from being within `tol`.
_CLEAR = 1e-6

#: Kernel matrices of at most this many samples are factored, to find their rank.
_LARGEST_FACTORED = 2_000

#: Interior points and the linear program are used up to this many columns.
_MOST_FEATURES = 400

#: How many samples a message lists.
_NAMED = 10


class HardMarginSolver(Solver):
    """Solves a `DualQP` whose u is infinite, or raises `NotSeparableError`."""

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        kernel = problem.kernel.astype(np.float64)
        solver: Solver = GeneralSolver(self.tol, self.cache_size, self.n_threads)
        features = kernel if 0 < linear_features(kernel) <= _MOST_FEATURES else None
        if features is None and kernel.n_samples <= _LARGEST_FACTORED:
            factor, rank = kernel_features(kernel)
            if rank == kernel.n_samples:
                return solver.solve(problem, start, limits, number)
            features = factor if rank <= _MOST_FEATURES else None
        if features is not None:
            kernel = features
            solver = InteriorPointSolver(self.tol, n_threads=self.n_threads)

        typical = max(float(np.mean(kernel.diagonal())), np.finfo(np.float64).tiny)
        in_tube = problem.sample_of is not None
        if not in_tube:
            unit = -float(problem.p.min())
        elif problem.has_bias:  # which takes whatever targets have in common
            unit = float(np.ptp(problem.q))
        else:
            unit = float(np.abs(problem.p).max())
        unit = unit or 1.0  # all targets are the same
        clear = max(self.tol, _CLEAR * unit)
        spent, best, least = 0, None, np.inf
        for bound in _BOUNDS:
            u = np.full(problem.n_variables, bound * unit / typical)
            bounded = replace(problem, kernel=kernel, u=u)
            solution = solver.solve(bounded, start, limits.deduct(spent), number)
            spent += solution.n_iter
            start = solution
            # A larger bound costs digits: its solution need not be the better one.
            anew = judge_anew(problem, solution)
            gap = problem.certify(anew.a, anew.bias, self.tol, anew.f).kkt_gap
            if best is None or gap < least:
                best, least = anew, gap
            best = replace(best, status=solution.status, n_iter=spent)
            below = bool(solution.a.max() < 0.999 * u[0])
            unsettled = solution.status is Status.OPTIMAL and not below
            near = below and gap <= clear
            if not unsettled and (near or solution.status is not Status.PRECISION):
                return self._make_exact(problem, best, limits, number)
        assert best is not None
        best = self._make_exact(problem, replace(best, status=Status.PRECISION), limits, number)
        # Whom the largest bound leaves on the wrong side is in the way, unless nobody has to be.
        if in_tube:
            wrong = _outside_the_tube(problem, best, clear)
            if len(wrong):
                wrong = _outside_the_tube(problem, solution, clear)
        elif isinstance(features, ProductKernel):
            wrong = _not_on_their_side(problem, features)
        else:
            wrong = np.flatnonzero(problem.s * (solution.f + solution.bias) <= 0)
        if len(wrong):
            raise NotSeparableError(not_separable_message(wrong), wrong.tolist())
        return best

    def _make_exact(
        self, problem: DualQP, solution: Solution, limits: Limits, number: int
    ) -> Solution:
        """A solution of few samples moved to the optimum of the face it is near."""
        if problem.n_variables > MOST_VARIABLES:
            return solution
        return polish(problem, solution, limits, self.tol, number)


def _outside_the_tube(problem: DualQP, solution: Solution, tol: float) -> Array:
    """Samples farther than ε and `tol` from the function. Of each two variables one is at −p."""
    assert problem.sample_of is not None
    beyond = -problem.p - problem.s * (solution.f[problem.sample_of] + solution.bias)
    return np.unique(problem.sample_of[beyond > tol])


def _not_on_their_side(problem: DualQP, features: ProductKernel) -> Array:
    """Samples with ξ_i ≥ 1 at the least Σξ; none if and only if a boundary separates."""
    from scipy.optimize import linprog  # slow to import, and rarely needed

    Z = np.empty((features.n_samples, features.products.n_features))
    features.products.fill_rows(Z)
    Z = Z - Z.mean(axis=0)
    scale = np.abs(Z).max(axis=0)
    Z = Z[:, scale > 0] / scale[scale > 0]
    n, d = Z.shape
    rows = np.hstack([problem.s[:, None] * np.hstack([Z, np.ones((n, 1))]), np.eye(n)])
    program = linprog(
        np.concatenate([np.zeros(d + 1), np.ones(n)]),
        A_ub=-scipy.sparse.csr_array(rows),
        b_ub=-np.ones(n),
        bounds=[(None, None)] * (d + 1) + [(0.0, None)] * n,
        method="highs",
    )
    if program.x is None:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(program.x[d + 1 :] >= 1.0 - 1e-6)


def not_separable_message(samples: Array, has_classes: bool = True) -> str:
    """What a user reads; `samples` are rows of the training data."""
    listed = ", ".join(str(i) for i in samples[:_NAMED])
    more = f" and {len(samples) - _NAMED} more" if len(samples) > _NAMED else ""
    word = "row" if len(samples) == 1 else "rows"
    if not has_classes:
        return (
            "C=inf has no solution: no function of this kernel is within epsilon of all targets. "
            f"The best one found leaves {len(samples)} {word} outside: {word} {listed}{more}. Use "
            "a finite C to allow that, a larger epsilon, or a richer kernel."
        )
    return (
        "The hard margin (C=inf) has no solution: no boundary of this kernel separates the "
        f"classes. The best one found leaves {len(samples)} {word} on the wrong side: {word} "
        f"{listed}{more}. Use a finite C to allow errors, or a richer kernel, or look at these "
        "rows and their near neighbours of the other class."
    )


# -- small scales ----------------------------------------------------------------------------------

#: The gap may be this share of the margin; finer than this share of `tol` is not asked for.
_SHARE = 0.1
_FINEST = 0.01


@dataclass(frozen=True)
class ScaledSolver(Solver):
    """Solves a `DualQP` with p = 0 to a KKT gap of `tol`, or less where the scale is small; solvers
    that `base` makes do it."""

    base: Callable[..., Solver] = GeneralSolver

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        tol = self._find_tol(problem)
        return self._refine(
            problem, self._to(tol).solve(problem, start, limits, number), tol, limits, number
        )

    def solve_all(
        self, problems: Sequence[DualQP], starts: Sequence[Start], limits: Limits
    ) -> list[Solution]:
        """The solution of each problem: those to one gap at once, where `base` can do that. What is
        then too far off for the margin it led to goes on alone."""
        tols = [self._find_tol(problem) for problem in problems]
        solved: dict[int, Solution] = {}
        for tol in sorted(set(tols)):
            alike = [number for number, own in enumerate(tols) if own == tol]
            together = getattr(self._to(tol), "solve_all", None)
            if together is not None:
                found = together([problems[k] for k in alike], [starts[k] for k in alike], limits)
                solved |= dict(zip(alike, found, strict=True))
        return [
            self._refine(problem, solved[number], tols[number], limits, number)
            if number in solved
            else self.solve(problem, starts[number], limits, number)
            for number, problem in enumerate(problems)
        ]

    def _find_tol(self, problem: DualQP) -> float:
        """The gap that the scale of a problem asks for."""
        scale = float(np.abs(problem.delta).max() * np.abs(problem.kernel.diagonal()).mean())
        return self.tol * (min(1.0, scale) if scale > 0 else 1.0)

    def _refine(
        self, problem: DualQP, solution: Solution, tol: float, limits: Limits, number: int
    ) -> Solution:
        """To smaller gaps, as long as the margin asks for that."""
        finest = _FINEST * tol
        while problem.group_sizes is not None and solution.status is Status.OPTIMAL:
            gap = problem.judge(solution.a, solution.f, solution.bias).kkt_gap
            wanted = _SHARE * margin_of(solution.bias)[1]
            if gap <= wanted or tol <= finest:
                break
            tol = max(finest, min(0.5 * wanted, 0.1 * tol))
            spent = solution.n_iter
            solution = self._to(tol).solve(problem, solution, limits.deduct(spent), number)
            solution = replace(solution, n_iter=spent + solution.n_iter)
        return solution

    def _to(self, tol: float) -> Solver:
        return self.base(tol, self.cache_size, self.n_threads)


# -- a matrix at hand ------------------------------------------------------------------------------

#: Steps of decomposition before the first guess: most problems need fewer in all.
_FIRST_STEPS = 20_000

#: Multiplications of |F|³ in the time of one step of decomposition.
_CUBES_PER_STEP = 25_000

#: Rounds after which a guess is given up.
_MOST_ROUNDS = 10


class PathSolver(Solver):
    """Solves a `DualQP` over a `MatrixKernel` to a KKT gap of `tol`, often to rounding."""

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        begun = time.perf_counter()
        decomposition = GeneralSolver(self.tol, cache_size=0.0, n_threads=1)
        spent, steps = 0, _FIRST_STEPS
        with single_threaded_blas:
            while True:
                stretch = limits.deduct(spent)
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
    """The exact solution, if the active set of `guess` leads to it; None if not. There is no
    safeguard on the way: a guess far off may lead round in circles, and moves that are kept within
    the box instead were found to gain nothing over steps of decomposition."""
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
        found = _solve_free(problem, kernel, free, v[free], problem.delta - z.sum())
        if found is None:
            return None
        z[free], bias = found
        f = kernel.times(problem.at_samples(z))
        residual = problem.scores(f) + bias
        above, below = z > upper, z < lower
        rising, falling = high & (residual > close), low & (residual < -close)
        if not (above | below | rising | falling).any():
            a = problem.snap(problem.s * z)
            bias = problem.bias(a, f)
            if not problem.judge(a, f, bias).kkt_gap <= tol:
                return None
            return replace(guess, a=a, f=f, bias=bias, status=Status.OPTIMAL)
        high, low = (high & ~rising) | above, (low & ~falling) | below
    return None


def _solve_free(
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
    try:
        factor = np.linalg.cholesky(K + constant)
    except np.linalg.LinAlgError:
        return None
    sides = np.column_stack([-v, np.ones(len(free))])
    solved, _ = lapack.dpotrs(factor.T, sides, lower=0)
    moved = (solved[:, 0].sum() - total) / solved[:, 1].sum()
    z = solved[:, 0] - moved * solved[:, 1]
    return z, float(moved + constant * total)
