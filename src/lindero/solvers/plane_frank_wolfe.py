"""Block-coordinate Frank-Wolfe over a model written in Python: planes are vectors.

What is done is what `lindero.solvers.frank_wolfe` does, and is explained there: visits with a
search, steps between pairs along the list of a case with exact line search, sweeps without
searches, cases drawn by their gaps, averages. Here an answer is known by its plane H(y; w) = loss −
⟨w, ψ⟩ only. As searches in Python are slow, each exact pass puts the planes that it found on the
lists.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from lindero.problems.dual_qp import Judgement
from lindero.problems.structured_model import ModelProblem, Plane
from lindero.runtime.arrays import Array
from lindero.solvers.frank_wolfe import (
    FAIR_SHARE,
    IDLE_PASSES,
    MOST_CACHED,
    MOST_SWEEPS,
    SEED,
    STEPS,
    SWEEPS_BETWEEN,
    StructuredSolution,
    has_progressed,
)
from lindero.solvers.solution import Limits, Progress, Status

#: Planes without α that a case keeps.
_MOST_IDLE = 20


@dataclass(frozen=True)
class PlaneFrankWolfeSolver:
    """Solves a `ModelProblem` until its duality gap is at most `tol` of the primal objective."""

    tol: float = 1e-3

    def solve(self, problem: ModelProblem, limits: Limits | None = None) -> StructuredSolution:
        """The best weights found; `n_iter` counts sweeps of as many searches as there are cases."""
        begun = time.perf_counter()
        descent = _PlaneDescent(problem, self.tol)
        status = descent.run(limits or Limits(), begun)
        seconds = time.perf_counter() - begun
        return StructuredSolution(descent.best_w, descent.best, status, descent.n_sweeps, seconds)


class _PlaneDescent:
    """The iterate, its average, and the best judged weights."""

    def __init__(self, problem: ModelProblem, tol: float) -> None:
        self.problem, self.tol = problem, tol
        n = len(problem.right)
        nothing = Plane(np.zeros(0, dtype=np.int64), np.zeros(0), 0.0)
        self.planes: list[list[Plane]] = [[nothing] for _ in range(n)]
        self.alpha: list[list[float]] = [[problem.C] for _ in range(n)]
        self.w, self.drift, self.scratch = np.zeros((3, problem.n_weights))
        self.gaps = np.full(n, np.inf)
        self.random = np.random.default_rng(SEED)
        self.gain, self.clock, self.weight, self.n_sweeps = 0.0, 0.0, 0.0, 0
        self.best_w = self.w
        self.best = Judgement(np.inf, np.inf, -np.inf, 0.0)

    def run(self, limits: Limits, begun: float) -> Status:
        """Sweeps and exact passes until the gap is within tol, or a limit is reached."""
        idle, since = 0, 0
        try:
            while True:
                status = self._sweep(limits, begun)
                since += 1
                fair, n_cached = FAIR_SHARE * self.gain, 0
                while status is None and n_cached < MOST_CACHED:
                    self.gain, n_cached = 0.0, n_cached + 1
                    for case, own in enumerate(self.planes):
                        if len(own) > 1:
                            self._improve(case)
                    if self.gain <= fair:
                        break
                near = self.gaps.sum() <= self.tol * max(self.best.primal, 0.0)
                if status is None and not near and since < SWEEPS_BETWEEN:
                    continue
                before, since = self.best, 0
                self._judge()
                if self.best.duality_gap <= self.tol * self.best.primal:
                    return Status.OPTIMAL
                if status is not None:
                    return status
                idle = 0 if has_progressed(before, self.best) else idle + 1
                if idle == IDLE_PASSES:
                    return Status.PRECISION
                if self.n_sweeps >= MOST_SWEEPS:
                    return Status.STALLED
        except KeyboardInterrupt:
            limits.interrupt()
            for shares in self.alpha:  # a step may have been half done
                shares[0] += self.problem.C - sum(shares)
            self._judge()
            return Status.INTERRUPTED

    def _sweep(self, limits: Limits, begun: float) -> Status | None:
        """As many searches as there are cases; why to stop, if there is a reason."""
        n, self.gain = len(self.gaps), 0.0
        order = self.random.permutation(n)
        for step in range(n):
            case = int(order[step])
            if self.n_sweeps > 0:
                ends = np.cumsum(self.gaps)
                drawn = np.searchsorted(ends, self.random.random() * ends[-1], side="right")
                case = min(int(drawn), n - 1)
            self._add(case, self.problem.search(case, self.w))
            self.gaps[case] = self._improve(case)
            share = float(self.gaps.sum()) / max(self.best.primal, np.finfo(float).tiny)
            done = self.n_sweeps + (step == n - 1)
            report = Progress(done, share, self.tol, time.perf_counter() - begun)
            if reason := limits.check(report):
                self.n_sweeps = done
                return reason
        self.n_sweeps += 1
        return None

    def _add(self, case: int, plane: Plane) -> None:
        """Put a plane on the list of a case, unless one that is as high everywhere is on it."""
        own, shares = self.planes[case], self.alpha[case]
        for other in own:
            same = np.array_equal(other.indices, plane.indices)
            same = same and np.array_equal(other.values, plane.values)
            if same and other.loss >= plane.loss:
                return
        if len(own) > _MOST_IDLE:
            kept = [p for p in range(len(own)) if p == 0 or shares[p] > 0.0]
            own[:], shares[:] = [own[p] for p in kept], [shares[p] for p in kept]
        own.append(plane)
        shares.append(0.0)

    def _improve(self, case: int) -> float:
        """Steps along the list of a case; the gap that it had before, of planes on it."""
        own, shares, C = self.planes[case], self.alpha[case], self.problem.C
        self.clock += 1.0
        gap = 0.0
        for step in range(STEPS + 1):
            heights = [plane.height(self.w) for plane in own]
            best = int(np.argmax(heights))
            low = min((p for p in range(len(own)) if shares[p] > 0.0), key=lambda p: heights[p])
            rise = heights[best] - heights[low]
            if step == 0:
                mixed = sum(h * share for h, share in zip(heights, shares, strict=True))
                gap = max(0.0, C * heights[best] - mixed)
            if step == STEPS or not rise > 0.0:
                break
            indices, change = self._subtract(own[best], own[low])
            bend = float(change @ change)
            share = shares[low]
            if share * bend > rise:
                share = rise / bend
                shares[low] -= share
            else:
                shares[low] = 0.0
            shares[best] += share
            self.w[indices] += share * change
            self.drift[indices] += share * self.weight * change
            self.gain += share * rise - 0.5 * share * share * bend
        self.weight += self.clock
        return gap

    def _subtract(self, one: Plane, other: Plane) -> tuple[Array, Array]:
        """ψ of one less that of another."""
        indices = np.union1d(one.indices, other.indices)
        self.scratch[one.indices] = one.values
        self.scratch[other.indices] -= other.values
        change = self.scratch[indices].copy()
        self.scratch[indices] = 0.0
        return indices, change

    def _judge(self) -> None:
        """An exact pass at the iterate, and one at the average; the best of both is kept."""
        average = self.w - self.drift / self.weight if self.weight else None
        judgement, self.gaps, found = self.problem.judge(self.planes, self.alpha, self.w)
        for case, plane in enumerate(found):
            self._add(case, plane)
        dual = max(self.best.dual, judgement.dual)
        if judgement.primal < self.best.primal:
            self.best, self.best_w = judgement, self.w.copy()
        if average is not None:
            primal = self.problem.evaluate(average)
            if primal < self.best.primal:
                self.best, self.best_w = replace(judgement, primal=primal), average
        self.best = replace(self.best, kkt_gap=judgement.kkt_gap, dual=dual)
        self.drift[:] = 0.0
        self.clock = self.weight = 0.0
