"""Linear ranking by Newton steps on a smoothed hinge, some twenty of them, n log n each.

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

At the optimum of P_μ the first part is at most C μ/16 for each pair inside the band, whose number
shrinks with μ too: the gap falls as μ² where pairs are many, and some five values of μ suffice.

Along a line t changes by a multiple of Xp: a try of s takes n log n, without any product with X.
H is formed for up to `MOST_DIRECT` features; beyond, conjugate gradients multiply by it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lindero.problems.dual_qp import Judgement
from lindero.problems.ranking import LinearRanking, Queries, RankingPoint
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads
from lindero.solvers.limits import Limits
from lindero.solvers.ranking_systems import direct_step, iterative_step
from lindero.solvers.solution import Progress, Status

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

#: Slope along a line, in proportion to the first, at which the search on it ends.
_FLAT = 0.1
_MOST_TRIES = 25

#: Fits of fewer documents are over before threads have started.
_THREADS_FROM = 5_000


@dataclass(frozen=True)
class RankingSolution:
    """Weights w of the features, and how good they are. `c` are coefficients of the documents,
    from the multipliers of their pairs: Xᵀc is near w, and no part of the primal objective."""

    w: Array
    c: Array
    judgement: Judgement
    status: Status
    n_iter: int
    seconds: float


@dataclass(frozen=True)
class RankingNewtonSolver:
    """Solves linear ranking to a duality gap of `tol` times the primal objective."""

    tol: float = 1e-4
    n_threads: int | None = None
    most_direct: int = MOST_DIRECT

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
            descent = _Descent(problem, self.most_direct)
            with np.errstate(over="ignore", invalid="ignore"):  # such points are found out
                status = descent.run(self.tol, limits or Limits(), begun)
            point = descent.best
            gap = problem.kkt_gap(point)
            c = descent.coefficients()
        return RankingSolution(
            w=point.w,
            c=c,
            judgement=Judgement(gap, point.primal, descent.dual, 0.0),
            status=status,
            n_iter=descent.n_iter,
            seconds=time.perf_counter() - begun,
        )


class _Descent:
    """The iterate, the best weights so far and the best dual objective so far."""

    def __init__(self, problem: LinearRanking, most_direct: int) -> None:
        self.problem = problem
        self.most_direct = most_direct
        self.n_iter = 0
        w, t = np.zeros(problem.n_features), np.zeros(problem.queries.n_documents)
        # At w = 0 every pair costs 1, and no multipliers at all are worth 0.
        primal = problem.C * problem.queries.n_pairs
        self.best = RankingPoint(w, t, w, _FIRST_WIDTH, primal, 0.0)
        self.dual = 0.0

    def run(self, tol: float, limits: Limits, begun: float) -> Status:
        """Improve until the gap is within tol or a limit is reached."""
        problem, finishing = self.problem, _FINISHING_STEPS
        try:
            point = problem.point(self.best.w, self.best.t, _FIRST_WIDTH)
            while True:
                if not np.isfinite(point.gap):
                    return Status.PRECISION
                self._keep(point)
                gap = self.best.primal - self.dual
                done = gap <= tol * self.best.primal
                if done and (finishing == 0 or self._settled(point)):
                    return self._end(point, tol)
                seconds = time.perf_counter() - begun
                report = Progress(self.n_iter, gap / self.best.primal, tol, seconds)
                reason = limits.reached(report)
                if reason is not None:
                    met = done and reason is not Status.INTERRUPTED
                    return self._end(point, tol) if met else reason
                moved = None
                if done or not self._content(point):
                    moved = newton_step(problem, point, self.most_direct)
                    self.n_iter += 1
                if done:
                    finishing -= 1
                    if moved is None:
                        return self._end(point, tol)
                elif moved is None:
                    width = point.width * self._shrinkage(point, tol)
                    if width < _LEAST_WIDTH:
                        return Status.PRECISION
                    moved = problem.point(point.w, point.t, width)
                point = moved
        except KeyboardInterrupt:
            limits.interrupt()
            return Status.INTERRUPTED

    def coefficients(self) -> Array:
        """c of each document at the best point."""
        t = self.best.t
        net, _ = self.problem.multipliers(t, self.problem.sorted(t), self.best.width)
        return self.problem.C * net

    def _settled(self, point: RankingPoint) -> bool:
        return self.problem.kkt_gap(point) <= 4.0 * point.width

    def _end(self, point: RankingPoint, tol: float) -> Status:
        """Prefer the last point, of which the multipliers are known best, where it is as good."""
        if point.primal - self.dual <= tol * point.primal:
            self.best = point
        return Status.OPTIMAL

    def _keep(self, point: RankingPoint) -> None:
        self.dual = max(self.dual, point.dual)
        if point.primal <= self.best.primal:
            self.best = point

    def _content(self, point: RankingPoint) -> bool:
        unsettled = 0.5 * float(np.sum((point.w - point.v) ** 2))
        return unsettled <= _CONTENT * max(point.gap - unsettled, 0.0)

    def _shrinkage(self, point: RankingPoint, tol: float) -> float:
        """The factor of μ that brings the gap to half of what is asked for, if it falls as μ²."""
        wanted = 0.5 * tol * point.primal / point.gap
        return float(np.clip(wanted**0.5, 0.1, 0.5))


def newton_step(
    problem: LinearRanking, point: RankingPoint, most_direct: int = MOST_DIRECT
) -> RankingPoint | None:
    """The point after one step, or None where rounding leaves nothing to gain."""
    gradient = point.w - point.v
    order = problem.sorted(point.t)
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
        net, _ = problem.multipliers(t, problem.sorted(t), point.width)
        return w_slope + s * p_slope - problem.C * float(net @ along)

    s = flat_point(slope_at, slope)
    if s == 0.0:
        return None
    return problem.point(point.w + s * step, point.t + s * along, point.width)


def flat_point(slope_at: Callable[[float], float], first: float) -> float:
    """Where a rising function, `first` < 0 at 0, is nearly zero; tried at 1 first.

    Regula falsi with halving of the end that stays (Illinois), doubling until there are two ends.
    """
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
