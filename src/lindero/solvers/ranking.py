"""Ranking: Newton steps on a smoothed hinge for linear kernels, pairs for any other.

Linear kernels (`RankingNewtonSolver`): about twenty Newton steps, n log n each.
The problem is  min P(w) = ½‖w‖² + C Σ h(m_ij),  m_ij = 1 − (t_i − t_j),  t = Xw,  h(m) = max(0, m),
over pairs i, j of a query, i the more relevant. With the hinge rounded off within μ/2 of its kink,

    h_μ(m) = max(0, m) outside,   (m + μ/2)² / 2μ inside       (convex, with the ramp a(m) as slope)

the smoothed problem P_μ has

    gradient   w − v,   v = C Xᵀc,   c_i = Σ_j a(m_ij) − Σ_j a(m_ji)
    Hessian    H = I + (C/μ) XᵀAX,   A = Σ (e_i − e_j)(e_i − e_j)ᵀ  over pairs inside the band

The multipliers C a(m_ij) are feasible for the dual problem at any w, so the duality gap is known,
and splits into what smoothing costs and what is left to do at this μ:

    P(w) − D = C Σ (h(m) − m a(m)) + ½‖w − v‖²

    repeat   stop when P − D ≤ tol · P (and, if a few steps can do it, Xw and Xv agree to some μ)
             if the second part is the smaller one: shrink μ
             else: p = −H⁻¹(w − v);  w += s p, with s where the slope of P_μ along p vanishes

P_μ is piecewise quadratic and convex, so that Newton's steps with a search on the line end at its
optimum. Where rounding keeps them from it, neither P nor ‖w − v‖ falls any more: after `_PATIENT`
such steps μ shrinks, and below `_LEAST_WIDTH` there is nothing left to do.

At the optimum of P_μ the first part is at most C μ/16 for each pair inside the band, whose number
shrinks with μ too: the gap falls as μ² where pairs are many, and some five values of μ suffice.

Along a line t changes by a multiple of Xp: a try of s takes n log n, without any product with X.
H is formed for up to `MOST_DIRECT` features; beyond, conjugate gradients multiply by it.

A is the Laplacian of the graph of all pairs inside the band of width μ. With S_i the sum of x_j
over the documents j of lower level in the band of i, and D the degrees,

    XᵀAX = XᵀDX − XᵀS − SᵀX

so that the symmetric part of Xᵀ(DX − 2S) is all that is needed: one sweep of n log n vectors and
one matrix product. Products A v alone, for conjugate gradients, take n log n numbers.

Sparse rows of very many columns (`RankingDescentSolver`): coordinate descent over pairs.
Of text no two documents have much in common, conjugate gradients take long, and one pass over the
differences x_i − x_j costs no more than that many rows. So they are listed where they are not too
many, and `LinearDescentSolver` has them. Its KKT gap is lowered as below. What it cannot finish
Newton's steps do.

Any kernel (`RankingPairsSolver`): Newton steps over documents, or decomposition over pairs.
With K = ZZᵀ over documents any kernel is linear in the features Z, if K is small enough to be
factored, and positive semi-definite. The model is then the one of the multipliers, c = Σ ±a, with
weights v = Zᵀc. Where pairs are many this is far faster: 1 000 documents of one query have half a
million pairs.

Otherwise pairs are the variables. `GeneralSolver` stops by the KKT gap, which bounds the duality
gap by C times the gap for each pair that is not settled. Ranking is asked for a share of the
objective instead, so the KKT gap is lowered, each time from the last solution, until that is met;
most often the first one does. Its steps grow without limit where the kernel is badly conditioned,
which Newton's do not mind: they take over where decomposition needs too many.

Each is the other's way out, so that both are in one file.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from lindero.errors import warn_user
from lindero.kernels.operator import KernelOperator
from lindero.problems.dual_qp import Judgement, find_reach
from lindero.problems.pair_sums import half_laplacian_rows, laplacian_times
from lindero.problems.ranking import (
    LinearRanking,
    Queries,
    RankingPoint,
    certify_documents,
    difference_problem,
    document_coefficients,
    pair_problem,
)
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads
from lindero.solvers.choose import MOST_FEATURES, GeneralSolver
from lindero.solvers.linear_descent import LinearDescentSolver
from lindero.solvers.small import kernel_features
from lindero.solvers.solution import Limits, Progress, Status

# -- linear kernels --------------------------------------------------------------------------------

#: H is formed for at most this many features.
MOST_DIRECT = 300

#: At this width all pairs are in the band at w = 0, where m = 1: the first step is least squares.
_FIRST_WIDTH = 4.0

#: Below this width, sums of scores of size 1 have no digits left.
_LEAST_WIDTH = 1e-12

#: The part of the gap that Newton steps can close, in proportion to the other, at which μ shrinks.
_CONTENT = 0.2

#: Steps that may be spent on the scores Xv of the multipliers once the gap is within tol. They
#: converge quadratically there, so that one or two are the rule.
_FINISHING_STEPS = 3

#: The same where the multipliers are the model: a dozen are seldom needed.
_FINISHING_DIRECTLY = 100

#: Newton steps in a row without progress, and those altogether, after which μ shrinks.
_PATIENT, _MOST_STEPS = 20, 500

#: Shares by which the gradient, or else the objective, falls in a step that is progress.
_FALL, _SMALL_FALL = 0.1, 1e-6

#: Slope along a line, in proportion to the first, at which the search on it ends.
_FLAT = 0.1
_MOST_TRIES = 25

#: Fits of fewer documents are over before threads have started.
_THREADS_FROM = 5_000

#: Differences of pairs are listed up to so many entries (12 bytes each).
_MOST_LISTED_ENTRIES = 20_000_000

#: Trees over more levels than this are filled for so many features at a time, to stay in cache.
_MANY_LEVELS = 256
_FEATURES_AT_ONCE = 16

#: Conjugate gradients stop at this share of the first residual, or after so many steps.
_CG_SHARE = 0.05
_CG_STEPS = 200


@dataclass(frozen=True)
class RankingSolution:
    """Coefficients c of the documents in f = Σ c_i k(·, x_i), and how good the solution is. Linear
    ranking is judged by the weights `w` of the features instead. Its c are those of the multipliers
    of the pairs: Xᵀc is near w, and no part of the primal objective."""

    c: Array
    judgement: Judgement
    status: Status
    n_iter: int
    w: Array | None = None


@dataclass(frozen=True)
class RankingNewtonSolver:
    """Solves linear ranking to a duality gap of `tol` times the primal objective."""

    tol: float = 1e-4
    n_threads: int | None = None
    most_direct: int = MOST_DIRECT
    finishing: int = _FINISHING_STEPS

    def solve(
        self,
        X: Any,
        queries: Queries,
        C: float,
        shift: Array | None = None,
        limits: Limits | None = None,
    ) -> RankingSolution:
        """The solution; `shift` moves the origin of dense rows, see `LinearRanking`."""
        begun = time.perf_counter()
        with TileThreads(1 if len(queries.level) < _THREADS_FROM else self.n_threads) as threads:
            problem = LinearRanking(X, queries, C, threads, shift)
            descent = _RankingDescent(problem, self.most_direct, self.finishing)
            with np.errstate(over="ignore", invalid="ignore"):  # such points are found out
                status = descent.run(self.tol, limits or Limits(), begun)
                point = descent.best
                c = descent.coefficients()
                judgement = problem.certify(point, c, descent.dual)
        status = _certify(status, judgement, self.tol)
        return RankingSolution(c, judgement, status, descent.n_iter, point.w)


@dataclass(frozen=True)
class RankingDescentSolver:
    """Solves linear ranking over sparse rows to a duality gap of `tol` times the primal objective,
    by listing its pairs; others, and what takes too long, are left to Newton's steps."""

    tol: float = 1e-4
    n_threads: int | None = None

    def solve(
        self,
        X: Any,
        queries: Queries,
        C: float,
        shift: Array | None = None,
        limits: Limits | None = None,
    ) -> RankingSolution:
        """The solution; `shift` is for Newton's steps."""
        limits, spent = limits or Limits(), 0
        if _is_wide(X, queries):
            solution = self._descend(X, queries, C, limits)
            if solution.status not in (Status.STALLED, Status.PRECISION):
                return solution
            spent = solution.n_iter
        newton = RankingNewtonSolver(self.tol, self.n_threads)
        solution = newton.solve(X, queries, C, shift, limits.deduct(spent))
        return replace(solution, n_iter=spent + solution.n_iter)

    def _descend(self, X: Any, queries: Queries, C: float, limits: Limits) -> RankingSolution:
        problem = difference_problem(X, queries, C)
        kkt_tol, spent, solution = _FIRST * self.tol, 0, None
        with TileThreads(self.n_threads) as threads:
            ranking = LinearRanking(X, queries, C, threads)
            while True:
                solver = LinearDescentSolver(kkt_tol)
                solution = solver.solve(problem, solution, limits.deduct(spent))
                spent += solution.n_iter
                kkt_gap = problem.judge(solution.a, solution.f, 0.0).kkt_gap
                w = solution.weights
                if w is None:  # solved in other units
                    w = problem.kernel.products.source.T @ solution.a  # type: ignore[attr-defined]
                judgement = ranking.certify_pairs(w, solution.a, kkt_gap)
                status = solution.status
                if _meets(judgement, self.tol) and not limits.interrupted:
                    status = Status.OPTIMAL
                elif status is Status.OPTIMAL and kkt_tol < _LEAST:
                    status = Status.PRECISION
                elif status is Status.OPTIMAL:
                    kkt_tol *= _LOWER
                    continue
                c = document_coefficients(queries, solution.a)
                return RankingSolution(
                    c, judgement, _certify(status, judgement, self.tol), spent, w
                )


def _is_wide(X: Any, queries: Queries) -> bool:
    """Whether rows are sparse, have very many columns, and not too many pairs."""
    if not sp.issparse(X) or X.shape[1] <= MOST_FEATURES:
        return False
    entries = 2.0 * X.nnz / max(1, X.shape[0]) * queries.n_pairs
    return bool(entries <= _MOST_LISTED_ENTRIES)


class _RankingDescent:
    """The iterate, the best weights so far and the best dual objective so far."""

    def __init__(self, problem: LinearRanking, most_direct: int, finishing: int) -> None:
        self.problem = problem
        self.most_direct = most_direct
        self.finishing = finishing
        self.n_iter = 0
        w, t = np.zeros(problem.n_features), np.zeros(problem.queries.n_documents)
        # At w = 0 every pair costs 1, and no multipliers at all are worth 0.
        primal = problem.C * problem.queries.n_pairs
        self.best = RankingPoint(w, t, w, _FIRST_WIDTH, primal, 0.0)
        self.dual = 0.0

    def run(self, tol: float, limits: Limits, begun: float) -> Status:
        """Improve until the gap is within tol or a limit is reached."""
        problem, finishing, progress = self.problem, self.finishing, _StepProgress()
        try:
            point = problem.point(self.best.w, self.best.t, _FIRST_WIDTH)
            while True:
                if not np.isfinite(point.gap):
                    return Status.PRECISION
                self.dual = max(self.dual, point.dual)
                if point.primal <= self.best.primal:
                    self.best = point
                gap = self.best.primal - self.dual
                done = gap <= tol * self.best.primal
                if done and (finishing == 0 or problem.kkt_gap(point) <= 4.0 * point.width):
                    return self._end(point, tol)
                seconds = time.perf_counter() - begun
                share = gap / self.best.primal
                reason = limits.check(Progress(self.n_iter, share, tol, seconds))
                if reason is not None:
                    met = done and reason is not Status.INTERRUPTED
                    return self._end(point, tol) if met else reason
                moved = None
                if done or not (self._content(point) or progress.has_ended(point)):
                    moved = newton_step(problem, point, self.most_direct)
                    self.n_iter += 1
                if done:
                    finishing -= 1
                    if moved is None:
                        return self._end(point, tol)
                elif moved is None:
                    # The gap falls as μ²: this brings it to half of what is asked for.
                    wanted = 0.5 * tol * point.primal / point.gap
                    width = point.width * float(np.clip(wanted**0.5, 0.1, 0.5))
                    if width < _LEAST_WIDTH:
                        return Status.PRECISION
                    moved, progress = problem.point(point.w, point.t, width), _StepProgress()
                point = moved
        except KeyboardInterrupt:
            limits.interrupt()
            return Status.INTERRUPTED

    def coefficients(self) -> Array:
        """c of each document at the best point."""
        t = self.best.t
        net, _ = self.problem.multipliers(t, self.problem.sort(t), self.best.width)
        return self.problem.C * net

    def _end(self, point: RankingPoint, tol: float) -> Status:
        """Prefer the last point, of which the multipliers are known best, where it is as good."""
        if point.primal - self.dual <= tol * point.primal:
            self.best = point
        return Status.OPTIMAL

    def _content(self, point: RankingPoint) -> bool:
        unsettled = point.unsettled
        return unsettled <= _CONTENT * max(point.gap - unsettled, 0.0)


class _StepProgress:
    """Whether Newton steps at one width still get anywhere."""

    def __init__(self) -> None:
        self._unsettled = self._primal = np.inf
        self._in_vain = self._steps = 0

    def has_ended(self, point: RankingPoint) -> bool:
        """Note the point before the next step."""
        self._steps += 1
        self._in_vain += 1
        if point.unsettled < (1.0 - _FALL) * self._unsettled:
            self._unsettled, self._in_vain = point.unsettled, 0
        if point.primal < (1.0 - _SMALL_FALL) * self._primal:
            self._primal, self._in_vain = point.primal, 0
        return self._in_vain > _PATIENT or self._steps > _MOST_STEPS


def newton_step(
    problem: LinearRanking, point: RankingPoint, most_direct: int = MOST_DIRECT
) -> RankingPoint | None:
    """The point after one step, or None where rounding leaves nothing to gain."""
    gradient = point.w - point.v
    order = problem.sort(point.t)
    if problem.n_features <= most_direct:
        step = direct_step(problem, point, order, gradient)
    else:
        step = iterative_step(problem, point, order, gradient)
    slope = float(step @ gradient)
    if not (slope < 0 and np.isfinite(step).all()):
        return None
    along = problem.scores(step)
    w_slope, p_slope = float(point.w @ step), float(step @ step)

    def slope_at(s: float) -> float:
        t = point.t + s * along
        if not np.isfinite(t).all():
            return np.inf
        net, _ = problem.multipliers(t, problem.sort(t), point.width)
        return w_slope + s * p_slope - problem.C * float(net @ along)

    s = flat_point(slope_at, slope)
    if s == 0.0:
        return None
    return problem.point(point.w + s * step, point.t + s * along, point.width)


def flat_point(slope_at: Callable[[float], float], first: float) -> float:
    """Where a rising function, `first` < 0 at 0, is nearly zero; tried at 1 first. Regula falsi
    with halving of the end that stays (Illinois), doubling until there are two ends."""
    lower, below = 0.0, first
    upper, above = np.inf, np.inf
    s = 1.0
    for _ in range(_MOST_TRIES):
        slope = slope_at(s)
        if abs(slope) <= _FLAT * abs(first):
            return s
        if slope < 0:
            if np.isinf(upper) and slope > 0.5 * first:
                return s  # most of the way, and the next step will know the curvature there
            lower, below = s, slope
            above *= 0.5
        else:
            upper, above = s, slope
            below *= 0.5 if lower > 0 else 1.0
        if np.isinf(upper):
            s *= 2.0
        else:
            share = below / (below - above)
            s = lower + (upper - lower) * min(max(share, 0.01), 0.99)
    return lower


def direct_step(
    problem: LinearRanking, point: RankingPoint, order: Array, gradient: Array
) -> Array:
    """−H⁻¹ gradient by Cholesky, with H scaled to a diagonal of ones."""
    H = hessian(problem, point.t, order, point.width)
    scale = 1.0 / np.sqrt(np.diagonal(H))
    H *= scale[:, None] * scale
    if not np.isfinite(H).all():
        return np.full_like(gradient, np.nan)
    for ridge in (0.0, 1e-14, 1e-12, 1e-10):
        try:
            factor = scipy.linalg.cho_factor(H + ridge * np.eye(len(H)), check_finite=False)
        except scipy.linalg.LinAlgError:
            continue
        return np.asarray(-scale * scipy.linalg.cho_solve(factor, scale * gradient))
    return np.full_like(gradient, np.nan)


def hessian(problem: LinearRanking, t: Array, order: Array, width: float) -> Array:
    """H = I + (C/μ) XᵀAX."""
    d, queries = problem.n_features, problem.queries
    levels = (queries.starts, queries.level, queries.n_levels)
    parts = np.empty((len(problem.parts), d, d))

    def work(number: int) -> None:
        part = problem.parts[number]
        start, stop = problem.rows(part)
        rows = problem.table(start, stop)
        many = queries.n_levels[part[0] : part[1]].max() > _MANY_LEVELS
        at_once = _FEATURES_AT_ONCE if many else d
        for first in range(0, d, at_once):
            some = np.ascontiguousarray(rows[:, first : first + at_once])
            sums = np.empty_like(some)
            half_laplacian_rows(t, order, *levels, width, *part, some, start, sums)
            parts[number, :, first : first + at_once] = rows.T @ sums

    problem.threads.map(work, range(len(problem.parts)))
    total = parts.sum(axis=0)
    H = (0.5 * problem.C / width) * (total + total.T)
    H[np.diag_indices(d)] += 1.0
    return np.asarray(H)


def iterative_step(
    problem: LinearRanking, point: RankingPoint, order: Array, gradient: Array
) -> Array:
    """−H⁻¹ gradient by conjugate gradients, preconditioned by 1 + (C/μ) Σ_i A_ii x_ik²."""
    queries, factor = problem.queries, problem.C / point.width
    levels = (queries.starts, queries.level, queries.n_levels)
    degree, product = np.empty(queries.n_documents), np.empty(queries.n_documents)

    def laplacian(v: Array) -> Array:
        def work(part: tuple[int, int]) -> None:
            laplacian_times(point.t, order, *levels, point.width, *part, v, degree, product)

        problem.threads.map(work, problem.parts)
        return product

    laplacian(point.t)  # for the degrees
    diagonal = 1.0 + factor * squared_sums(problem, degree)
    step = np.zeros_like(gradient)
    residual = -gradient
    scaled = residual / diagonal
    direction, height = scaled, float(residual @ scaled)
    enough = _CG_SHARE**2 * height
    for _ in range(_CG_STEPS):
        curved = direction + factor * problem.weights(laplacian(problem.scores(direction)))
        length = height / float(direction @ curved)
        step = step + length * direction
        residual = residual - length * curved
        scaled = residual / diagonal
        before, height = height, float(residual @ scaled)
        if not height > enough:
            break
        direction = scaled + (height / before) * direction
    return step


def squared_sums(problem: LinearRanking, degree: Array) -> Array:
    """Σ_i degree_i x_ik² for each feature k."""
    if sp.issparse(problem.X):
        X = problem.X.astype(np.float64)
        return np.asarray(X.multiply(X).T @ degree)
    total = np.zeros(problem.n_features)
    for part in problem.parts:
        start, stop = problem.rows(part)
        rows = problem.table(start, stop)
        total += degree[start:stop] @ (rows * rows)
    return total


# -- any kernel ------------------------------------------------------------------------------------

#: The first KKT gap, in units of the share of the objective.
_FIRST = 10.0

#: The factor by which it falls. Lower ones than the second are beyond rounding.
_LOWER, _LEAST = 0.1, 1e-12

#: Steps of decomposition for each pair after which Newton's take over: a few are the rule.
_PATIENCE = 50

#: Pairs for each document up to which they are the variables.
_FEW_PAIRS = 2

#: Pairs that are tried where documents end in rounding.
_MOST_PAIRS = 20_000

#: Pairs whose decomposition takes about half a minute where nothing else is left to try.
_SLOW_PAIRS = 100_000

#: Where nothing else is left to try: steps for each pair; or altogether, and these times pairs
#: (a minute or so).
_STEPS_EACH, _MOST_PAIR_STEPS, _MOST_WORK = 2, 10**7, 10**11

#: Kernel matrices over at most this many documents are factored.
_MOST_DOCUMENTS = 2_000


@dataclass(frozen=True)
class RankingPairsSolver:
    """Solves ranking over any kernel to a duality gap of `tol` times the primal objective."""

    tol: float = 1e-4
    cache_size: float = 200.0
    patience: int = _PATIENCE

    def solve(
        self, kernel: KernelOperator, queries: Queries, C: float, limits: Limits | None = None
    ) -> RankingSolution:
        """The solution of the method that gets there."""
        limits = limits or Limits()
        n_documents = kernel.n_samples
        if n_documents > _MOST_DOCUMENTS:
            return self._by_pairs(kernel, queries, C, limits, None)
        first = None
        if queries.n_pairs <= _FEW_PAIRS * n_documents:
            first = self._by_pairs(kernel, queries, C, limits, self.patience)
            if not _needs_more(first, limits):
                return first
        Z = exact_factor(kernel)
        if Z is None:
            return self._by_pairs(kernel, queries, C, limits, None)
        spent = 0 if first is None else first.n_iter
        second = self._by_documents(kernel, Z, queries, C, limits.deduct(spent))
        second = replace(second, n_iter=spent + second.n_iter)
        # Pairs may get beyond rounding; more of them would take minutes.
        if first is None and second.status is Status.PRECISION and queries.n_pairs <= _MOST_PAIRS:
            third = self._by_pairs(kernel, queries, C, limits.deduct(second.n_iter), self.patience)
            if third.judgement.duality_gap < second.judgement.duality_gap:
                return replace(third, n_iter=second.n_iter + third.n_iter)
        return second

    def _by_pairs(
        self,
        kernel: KernelOperator,
        queries: Queries,
        C: float,
        limits: Limits,
        patience: int | None,
    ) -> RankingSolution:
        """Decomposition, of at most `patience` steps a pair."""
        problem, limits = pair_problem(kernel, queries, C), limits.deduct(0)
        if patience is not None:
            limits.max_iter = limits.steps_left(0, patience * problem.n_variables)
        elif limits.max_iter is None and limits.time_limit is None:
            n_pairs = queries.n_pairs
            few = min(_MOST_PAIR_STEPS, _MOST_WORK // n_pairs)
            limits.max_iter = max(_STEPS_EACH * n_pairs, few)
            if n_pairs >= _SLOW_PAIRS:
                warn_user(
                    f"There are {n_pairs} pairs of documents to rank one by one, since the "
                    "kernel is not positive semi-definite or there are more than "
                    f"{_MOST_DOCUMENTS} documents: this may take minutes. It ends after "
                    f"{limits.max_iter} steps at the latest; max_iter or time_limit end it at "
                    "others, with the best model so far. kernel='linear', smaller queries (qid) or "
                    "fewer documents take less time.",
                    UserWarning,
                )
        kkt_tol, spent, solution = _FIRST * self.tol, 0, None
        while True:
            solver = GeneralSolver(kkt_tol, self.cache_size)
            solution = solver.solve(problem, solution, limits.deduct(spent))
            spent += solution.n_iter
            # The problem forces the bias to zero: it is taken as exactly that.
            with np.errstate(over="ignore", invalid="ignore"):  # no solution then
                judgement = problem.judge(solution.a, solution.f, 0.0)
            status = solution.status
            if _meets(judgement, self.tol) and not limits.interrupted:
                status = Status.OPTIMAL
            elif status is Status.OPTIMAL and kkt_tol < _LEAST:
                status = Status.PRECISION
            elif status is Status.OPTIMAL:
                kkt_tol *= _LOWER
                continue
            c = document_coefficients(queries, solution.a[:-2])
            total = float(solution.a[:-2].sum())
            with np.errstate(over="ignore", invalid="ignore"):
                judgement = certify_documents(kernel, queries, C, c, total, judgement.kkt_gap)
            return RankingSolution(c, judgement, _certify(status, judgement, self.tol), spent)

    def _by_documents(
        self, kernel: KernelOperator, Z: Array, queries: Queries, C: float, limits: Limits
    ) -> RankingSolution:
        """Newton steps over the features Z of a kernel: cheap ones first; then, where their
        multipliers are not near enough to the weights, exact ones until they are."""
        C_within, spent = min(C, find_reach(kernel.largest())), 0
        ways = [(MOST_DIRECT, _FINISHING_STEPS), (Z.shape[1], _FINISHING_DIRECTLY)]
        for most_direct, finishing in ways[Z.shape[1] <= MOST_DIRECT :]:
            solver = RankingNewtonSolver(0.5 * self.tol, None, most_direct, finishing)
            found = solver.solve(Z, queries, C_within, limits=limits.deduct(spent))
            spent += found.n_iter
            # The dual objective of the multipliers, whose sum it tells.
            with np.errstate(over="ignore", invalid="ignore"):
                v = Z.T @ found.c
                total = found.judgement.dual + 0.5 * float(v @ v)
                kkt_gap = found.judgement.kkt_gap
                judgement = certify_documents(kernel, queries, C, found.c, total, kkt_gap)
            status = _certify(found.status, judgement, self.tol)
            if status is not Status.PRECISION:
                break
        return RankingSolution(found.c, judgement, status, spent)


def _needs_more(solution: RankingSolution, limits: Limits) -> bool:
    """Whether patience with decomposition has ended, and nothing else."""
    ended = solution.status is Status.ITERATION_LIMIT
    return ended and limits.steps_left(solution.n_iter, 1) > 0


def _meets(judgement: Judgement, tol: float) -> bool:
    return judgement.duality_gap <= tol * abs(judgement.primal)


def _certify(status: Status, judgement: Judgement, tol: float) -> Status:
    """The status that a judgement from scratch leaves of one that a solver found."""
    if status is not Status.OPTIMAL:
        return status
    if not (_meets(judgement, tol) and np.isfinite(judgement.primal)):
        return Status.PRECISION
    return Status.OPTIMAL if judgement.accuracy <= tol * abs(judgement.primal) else Status.UNPROVEN


def exact_factor(kernel: KernelOperator) -> Array | None:
    """Z with K = ZZᵀ, or None where there is none: the kernel is not positive semi-definite."""
    features, _ = kernel_features(kernel)
    Z = np.empty((kernel.n_samples, features.products.n_features))
    features.products.fill_rows(Z)
    rows = np.arange(kernel.n_samples)
    K = kernel.astype(np.float64).matrix(rows, len(rows))
    close = np.abs(Z @ Z.T - K).max() <= 1e-8 * max(float(np.abs(np.diagonal(K)).max()), 1e-300)
    return Z if close else None
