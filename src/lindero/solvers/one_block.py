"""Small problems: the whole kernel matrix at hand, and a solution exact to rounding.

    repeat   some SMO steps, which settle who is at which bound
             the optimum of that face by one linear system, kept if the objective falls

SMO alone creeps where the problem is badly conditioned; the linear system does not mind. Together
a few rounds end at a KKT gap of rounding size, so `tol` only says when a failure to get there is
worth a word. Everything is float64, and v = K z + q is recomputed each round: no error accumulates.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from lindero.kernels.blocks import kernel_among
from lindero.kernels.functions import Array
from lindero.kernels.threads import TileThreads
from lindero.problems.dual_qp import DualQP
from lindero.solvers.face import solve_on_face
from lindero.solvers.limits import Limits
from lindero.solvers.smo import LANES, heights, smo_block
from lindero.solvers.solution import Progress, Solution, Status

#: Rounds after the gap is within tol, in which it must keep falling to go on.
_POLISHING_ROUNDS = 10


@dataclass(frozen=True)
class OneBlockSolver:
    """Solves a `DualQP` of some hundred variables; `one_round` gives up if one is not enough."""

    tol: float = 1e-3
    one_round: bool = False

    def solve(
        self,
        problem: DualQP,
        start: Solution | None = None,
        limits: Limits | None = None,
        number: int = 0,
    ) -> Solution:
        """The solution, from the feasible point nearest to `start` (zeros without one)."""
        begun = time.perf_counter()
        with TileThreads(1) as threads:
            block = _Block(problem, problem.start(start.a if start else None), threads)
            status = self._run(block, limits or Limits(), number, begun)
        a = problem.s * block.best_z
        return Solution(
            a=a,
            f=block.sums_at_samples(),
            bias=problem.bias(a, block.sums_at_samples()),
            status=status,
            n_iter=block.n_iter,
            seconds=time.perf_counter() - begun,
            statistics={"rounds": block.rounds},
        )

    def _run(self, block: _Block, limits: Limits, number: int, begun: float) -> Status:
        polishing = 0
        try:
            while True:
                progressed = block.measure()
                if block.gap <= self.tol:
                    polishing += 1
                    if not progressed or polishing > _POLISHING_ROUNDS:
                        return Status.OPTIMAL
                if block.gap <= block.rounding():
                    return Status.OPTIMAL if block.gap <= self.tol else Status.PRECISION
                seconds = time.perf_counter() - begun
                reason = limits.reached(
                    Progress(block.n_iter, block.best_gap, self.tol, seconds, number)
                )
                if reason is not None:
                    return reason
                if self.one_round and block.rounds and block.best_gap > self.tol:
                    return Status.ITERATION_LIMIT
                if not block.improve(limits):
                    return Status.OPTIMAL if block.best_gap <= self.tol else Status.PRECISION
        except KeyboardInterrupt:
            limits.interrupt()
            return Status.INTERRUPTED


class _Block:
    """The iterate, with v = K z + q, and the point of least gap met so far."""

    def __init__(self, problem: DualQP, start: Array, threads: TileThreads) -> None:
        self.problem = problem
        samples = problem.sample_of
        rows = np.arange(problem.n_variables) if samples is None else samples
        kernel = problem.kernel.astype(np.float64)
        self._padded = kernel_among(kernel, rows, None, threads, LANES)
        self.K = self._padded[:, : problem.n_variables]
        self.diagonal = self.K.diagonal().copy()
        self._largest = float(np.max(np.abs(self.diagonal), initial=0.0))
        self.z = problem.s * start
        self.v = self._scores(self.z)
        self.n_iter = self.rounds = 0
        self.best_z, self.best_v, self.best_gap = self.z, self.v, np.inf

    def _scores(self, z: Array) -> Array:
        return self.K @ z + self.problem.q

    def sums_at_samples(self) -> Array:
        """f = K z of the best point, at each sample."""
        sums = self.best_v - self.problem.q
        if self.problem.sample_of is None:
            return sums
        f = np.empty(self.problem.kernel.n_samples)
        f[self.problem.sample_of] = sums
        return f

    def measure(self) -> bool:
        """Set `gap`; whether it is below half of the least so far."""
        n = len(self.z)
        self._least, self._most = heights(
            self.v, self.z, self.problem.lower, self.problem.upper, np.empty(n), np.empty(n)
        )
        self.gap = max(0.0, self._most - self._least)
        progressed = bool(self.gap < 0.5 * self.best_gap)
        if self.gap < self.best_gap:
            self.best_z, self.best_v, self.best_gap = self.z, self.v, self.gap
        return progressed

    def rounding(self) -> float:
        """The gap below which v is noise."""
        return 1e-15 * (1.0 + self._largest * float(np.abs(self.z).sum()))

    def improve(self, limits: Limits) -> bool:
        """A burst of SMO steps and one face; False if nothing moved."""
        problem = self.problem
        n_free = int(np.count_nonzero((self.z > problem.lower) & (self.z < problem.upper)))
        # About as long as the linear system that follows.
        burst = max(100, 2 * len(self.z), n_free**2 // 8)
        z = self.z.copy()
        scores = self.v - 0.5 * (self._least + self._most)
        self.n_iter += smo_block(
            self._padded,
            self.diagonal,
            z,
            problem.lower,
            problem.upper,
            scores,
            0.0,
            0.0,
            max(1e-14 * self._largest, np.finfo(np.float64).tiny),
            limits.steps_left(self.n_iter, burst),
        )
        v = self._scores(z)
        face_z, face_v = solve_on_face(self.K, z, v, problem.lower, problem.upper)
        face_v = self._scores(face_z)
        if self._objective(face_z, face_v) <= self._objective(z, v):
            z, v = face_z, face_v
        moved = not np.array_equal(z, self.z)
        self.z, self.v = z, v
        self.rounds += 1
        return moved

    def _objective(self, z: Array, v: Array) -> float:
        return 0.5 * float(z @ (v + self.problem.q))
