"""Mehrotra's predictor–corrector method for hyperplanes on a graph.

The method is that of `solvers.interior_point`, on the primal problem of `problems.coupled`. With
slacks t of the rows, multipliers a, and β = u − a of ξ ≥ 0, Newton's equations come down to

    (H + Σ σ_i x̃_i x̃_iᵀ) Δθ = Σ s (a + σ r) x̃ − Hθ,      σ = 1/(ξ/β + t/a) summed over a node's rows

one block of d + 1 unknowns for each node, linked as the graph is: `coupled_systems` solve it. Each
iteration does so twice, straight for the optimum and then with the second-order terms of what that
would have done; ten to thirty iterations reach any precision, whatever the coupling.

The stopping rule is the duality gap beside the objective, found by the problem from (θ, a) alone.
Multipliers are strictly inside their box on the way; in the end those that are far nearer to a
bound than their slack is to zero, each beside its scale, are put on it, if that does no harm.

Components that an offset alone satisfies (`CoupledProblem.settled`) are not passed to the method:
their optimum is a ray, and has no middle.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from lindero.problems.coupled import CoupledProblem
from lindero.problems.dual_qp import Judgement
from lindero.problems.node_rows import outputs
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads
from lindero.solvers.coupled_rows import InteriorRows
from lindero.solvers.coupled_systems import CoupledSystem, coupled_system
from lindero.solvers.solution import Limits, Progress, Status

#: Problems of fewer parameters than this are solved before threads have started.
_THREADS_FROM = 2**14

#: A multiplier whose distance from a bound is below this share of its row's slack belongs there:
#: the first of these with which the point will do.
_DECIDED = (1e-2, 1e-4, 1e-6, 0.0)

#: Steps shorter than this lead nowhere.
_LEAST_LENGTH = 1e-10

#: An objective so many times the least one seen is that of a point which rounding has thrown off.
_ASTRAY = 1e4

#: Steps after which the path is taken to lead nowhere.
_MOST_STEPS = 500

#: Judged points without improvement after which rounding is taken to be the reason.
_MOST_FAILURES = 4


@dataclass(frozen=True)
class CoupledSolution:
    """Hyperplanes θ = (w, b), one row for each node, and the multipliers a (sides, nodes) that
    prove how good they are."""

    theta: Array
    a: Array
    judgement: Judgement
    relative_gap: float
    status: Status
    n_iter: int
    seconds: float


@dataclass(frozen=True)
class CoupledInteriorPointSolver:
    """Solves a `CoupledProblem` to a duality gap of `tol` times the objective."""

    tol: float = 1e-6
    n_threads: int | None = None

    def solve(
        self,
        problem: CoupledProblem,
        limits: Limits | None = None,
        number: int = 0,
    ) -> CoupledSolution:
        """The solution; `number` is that of the problem, for progress."""
        begun = time.perf_counter()
        theta, a = np.zeros((problem.n_nodes, problem.n_parameters)), np.zeros(problem.u.shape)
        status, n_iter = Status.OPTIMAL, 0
        of, settled = problem.graph.components, problem.settled
        if settled.any():
            theta[:, -1] = np.where(settled, problem.settled_offsets(), 0.0)[of]
        nodes = np.flatnonzero(~settled[of])
        if len(nodes):
            whole = len(nodes) == problem.n_nodes
            part = problem if whole else problem.subset(nodes)
            size = part.n_nodes * part.n_parameters
            with TileThreads(1 if size < _THREADS_FROM else self.n_threads) as threads:
                system, limits = coupled_system(part, threads), limits or Limits()
                path = _CentralPath(part, system, threads, self.tol)
                status = path.run(limits, number, begun)
                n_iter = path.n_iter
            theta[nodes], a[:, nodes] = path.best_theta, path.best_a
        judgement = path.best if len(nodes) == problem.n_nodes else problem.judge(theta, a)
        return CoupledSolution(
            theta=theta,
            a=a,
            judgement=judgement,
            relative_gap=problem.relative_gap(judgement),
            status=status,
            n_iter=n_iter,
            seconds=time.perf_counter() - begun,
        )


class _CentralPath:
    """The interior iterate, θ and its rows, and the best point judged so far."""

    def __init__(
        self,
        problem: CoupledProblem,
        system: CoupledSystem,
        threads: TileThreads,
        tol: float,
    ) -> None:
        self.problem = problem
        self.system = system
        self.tol = tol
        self.n_iter = 0
        self.rows = InteriorRows(problem, threads)
        self.theta = np.tile(problem.origin, (problem.n_nodes, 1))
        self.best_theta, self.best_a = self.theta, np.zeros_like(problem.u)
        self.best = Judgement(np.inf, np.inf, -np.inf, 0.0)
        self._failures = 0
        self._least_merit = np.inf
        self._nearest = self.theta, self.rows.state

    def run(self, limits: Limits, number: int, begun: float) -> Status:
        """Follow the path until a judged point is within tol, or a limit is reached."""
        problem, rows = self.problem, self.rows
        if rows.n_products == 0:  # an anchor, and nothing else that weighs
            self.theta = problem.hyperplanes(self.best_a)
            return Status.OPTIMAL if self._consider(self.best_a) else Status.PRECISION
        try:
            while not self._done:
                f = outputs(problem.X, self.theta)
                products, losses, gap = rows.look(f)
                primal = problem.penalty(self.theta) + losses
                if not self._on_the_way(primal + max(gap, products)):
                    break
                guess = Judgement(np.inf, primal, primal - max(gap, products), 0.0)
                left = problem.relative_gap(guess)
                if left <= self.tol and self._conclude():
                    break
                if self._failures > _MOST_FAILURES or self.n_iter >= _MOST_STEPS:
                    break
                seconds = time.perf_counter() - begun
                left = max(2 * self.tol, left)
                reason = limits.reached(Progress(self.n_iter, left, self.tol, seconds, number))
                if reason is not None:
                    self._conclude()
                    return reason
                length = self._step(f, products / rows.n_products)
                self.n_iter += 1
                if not length > _LEAST_LENGTH:
                    break
        except KeyboardInterrupt:
            limits.interrupt()
            self._conclude()
            return Status.INTERRUPTED
        except np.linalg.LinAlgError:
            pass  # rounding has made the system useless: the path ends here
        if self._done or self._conclude():
            return Status.OPTIMAL
        self.theta, rows.state = self._nearest
        return Status.OPTIMAL if self._conclude() else Status.PRECISION

    def _on_the_way(self, merit: float) -> bool:
        """Whether rounding has not thrown the iterate far off, by its objective and gap together;
        the best one is kept."""
        if merit < self._least_merit:
            self._least_merit = merit
            self._nearest = self.theta, tuple(part.copy() for part in self.rows.state)
        return bool(merit <= _ASTRAY * self._least_merit)

    def _step(self, f: Array, mu: float) -> float:
        """Predictor, corrector, move; the length of the move."""
        X, system, rows = self.problem.X, self.system, self.rows
        system.factor(rows.weights)
        change = system.solve(system.residual(self.theta, rows.pull))
        rows.correct(f, outputs(X, change), mu)
        change = system.solve(system.residual(self.theta, rows.pull))
        length = rows.move(outputs(X, change))
        if np.isfinite(length):
            change *= length
            self.theta = self.theta + change
        return length

    @property
    def _done(self) -> bool:
        return self.problem.relative_gap(self.best) <= self.tol

    def _conclude(self) -> bool:
        """Judge the iterate, with as many multipliers on their bounds as it can bear. Whether the
        best so far is within tol."""
        before = self.best.duality_gap
        for share in _DECIDED:
            if self._consider(self.rows.settled(share)):
                return True
        if not self.system.sharpen():
            self._failures += not self.best.duality_gap < 0.5 * before
        return False

    def _consider(self, near: Array) -> bool:
        """Keep θ and the feasible multipliers near those given, if they are the best so far."""
        a = self.problem.nearest_feasible(near)
        judgement = self.problem.judge(self.theta, a)
        if judgement.duality_gap < self.best.duality_gap:
            self.best, self.best_theta, self.best_a = judgement, self.theta, a
        return self._done
