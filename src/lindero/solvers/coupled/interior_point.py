"""Mehrotra's predictor–corrector method for hyperplanes on a graph.

The method is that of `solvers.interior_point`, on the primal problem of `problems.coupled`. With
slacks t of the rows, multipliers a, and β = u − a of ξ ≥ 0, Newton's equations come down to

    (H + Σ σ_i x̃_i x̃_iᵀ) Δθ = Σ s (a + σ r) x̃ − Hθ,      σ = 1/(ξ/β + t/a) summed over a node's rows

one block of d + 1 unknowns for each node, linked as the graph is: a `CoupledSystem` solves it. Each
iteration does so twice, straight for the optimum and then with the second-order terms of what that
would have done; ten to thirty iterations reach any precision, whatever the coupling.

The stopping rule is the duality gap beside the objective, found by the problem from (θ, a) alone.
Multipliers are strictly inside their box on the way; in the end those that are far nearer to a
bound than their slack is to zero, each beside its scale, are put on it, if that does no harm.

Components that an offset alone satisfies (`CoupledProblem.settled`) are not passed to the method:
their optimum is a ray, and has no middle.

A row has the multiplier a, β = u − a, and the slacks t, ξ ≥ 0 with s x̃·θ + p + ξ − t = 0 in the
end. In terms of f = x̃·θ and of the change df that the Newton system answers with, a move towards
a t = κ, β ξ = λ is

    da = σ (−p − s f − λ/β + κ/a − s df),    dt = κ/a − t − (t/a) da,    dξ = λ/β − ξ + (ξ/β) da

with σ = 1/(ξ/β + t/a). The predictor has κ = λ = 0; nothing of it is kept, since it is cheap to
find again. The corrector has κ = target − da dt and λ = target − dβ dξ of the predictor.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lindero.graphs.graph import Chain
from lindero.problems.coupled import CoupledProblem, compute_outputs
from lindero.problems.dual_qp import Judgement
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, compiled
from lindero.runtime.threads import TileThreads
from lindero.solvers.coupled.chain import ChainSystem, split_nodes
from lindero.solvers.coupled.graph import GraphSystem
from lindero.solvers.solution import Limits, Progress, Status

#: Problems of fewer parameters than this are solved before threads have started.
_THREADS_FROM = 2**14

#: Multipliers nearer to a bound than this share of their slack belong there: the first that does.
_DECIDED = (1e-2, 1e-4, 1e-6, 0.0)

#: Steps shorter than this lead nowhere.
_LEAST_LENGTH = 1e-10

#: How much of the way to the boundary of the positive orthant a step may go.
_TO_BOUNDARY = 0.995

#: An objective so many times the least one seen is that of a point which rounding has thrown off.
_ASTRAY = 1e4

#: Steps after which the path is taken to lead nowhere.
_MOST_STEPS = 500

#: Judged points without improvement after which rounding is taken to be the reason.
_MOST_FAILURES = 4


@dataclass(frozen=True)
class CoupledSolution:
    """Hyperplanes θ = (w, b) of the nodes, and multipliers a that prove how good they are."""

    theta: Array
    a: Array
    judgement: Judgement
    status: Status
    n_iter: int
    seconds: float


@dataclass(frozen=True)
class CoupledInteriorPointSolver:
    """Solves a `CoupledProblem` to a duality gap of `tol` times the objective."""

    tol: float = 1e-6
    n_threads: int | None = None

    def solve(
        self, problem: CoupledProblem, limits: Limits | None = None, number: int = 0
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
            part = problem if len(nodes) == problem.n_nodes else problem.subset(nodes)
            size = part.n_nodes * part.n_parameters
            with TileThreads(1 if size < _THREADS_FROM else self.n_threads) as threads:
                path = _HyperplanePath(part, threads, self.tol)
                status = path.run(limits or Limits(), number, begun)
                n_iter = path.n_iter
                if not np.isfinite(path.best.duality_gap):
                    status = path.judge_start(status)
            theta[nodes], a[:, nodes] = path.best_theta, path.best_a
        judgement = path.best if len(nodes) == problem.n_nodes else problem.judge(theta, a)
        return CoupledSolution(theta, a, judgement, status, n_iter, time.perf_counter() - begun)


class _HyperplanePath:
    """The interior iterate, θ and its rows, and the best point judged so far."""

    def __init__(self, problem: CoupledProblem, threads: TileThreads, tol: float) -> None:
        self.problem = problem
        chain = isinstance(problem.graph, Chain)
        self.system: CoupledSystem = (
            ChainSystem(problem, threads) if chain else GraphSystem(problem)
        )
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
                f = compute_outputs(problem.X, self.theta)
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
                reason = limits.check(Progress(self.n_iter, left, self.tol, seconds, number))
                if reason is not None:
                    self._conclude()
                    return reason
                try:
                    length = self._step(f, products / rows.n_products)
                except ZeroDivisionError:  # what is inside its bounds was rounded to one of them
                    break
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

    def judge_start(self, status: Status) -> Status:
        """Judge the first point where no other was worth anything; the status it leaves."""
        with np.errstate(over="ignore", invalid="ignore"):
            self.best = self.problem.judge(self.best_theta, self.best_a)
            return Status.OPTIMAL if self._done and status is Status.PRECISION else status

    def _on_the_way(self, merit: float) -> bool:
        """Whether objective and gap show no iterate that rounding threw off; the best is kept."""
        if merit < self._least_merit:
            self._least_merit = merit
            self._nearest = self.theta, tuple(part.copy() for part in self.rows.state)
        return bool(merit <= _ASTRAY * self._least_merit)

    def _step(self, f: Array, mu: float) -> float:
        """Predictor, corrector, move; the length of the move."""
        X, system, rows = self.problem.X, self.system, self.rows
        system.factor(rows.weights)
        change = system.solve(system.residual(self.theta, rows.pull))
        rows.correct(f, compute_outputs(X, change), mu)
        change = system.solve(system.residual(self.theta, rows.pull))
        length = rows.move(compute_outputs(X, change))
        if np.isfinite(length):
            change *= length
            self.theta = self.theta + change
        return length

    @property
    def _done(self) -> bool:
        return self.problem.relative_gap(self.best) <= self.tol

    def _conclude(self) -> bool:
        """Judge the iterate, with multipliers put on bounds. Whether the best is within tol."""
        before = self.best.duality_gap
        for share in _DECIDED:
            if self._consider(self.rows.put_on_bounds(share)):
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


# -- the Newton system ----------------------------------------------------------------------------


class CoupledSystem(Protocol):
    """H + Σ σ_i x̃_i x̃_iᵀ over all hyperplanes, kept as (nodes, parameters).

    residual(θ, z)    Σ z_i x̃_i less the gradient of the penalty at θ
    factor(σ)         prepare the matrix; LinAlgError where rounding has spoiled it
    solve(r)          apply the inverse of what was prepared
    sharpen()         solve more exactly from now on; False where that cannot be
    """

    def residual(self, theta: Array, z: Array) -> Array: ...
    def factor(self, sigma: Array) -> None: ...
    def solve(self, r: Array) -> Array: ...
    def sharpen(self) -> bool: ...


# -- rows: multipliers and slacks -----------------------------------------------------------------


class InteriorRows:
    """Multipliers and slacks strictly inside their bounds: `state` is (a, β, t, ξ). The Newton
    system is prepared with `weights` (σ) and solved for `pull` (Σ s (a + σ r)), sums over nodes."""

    def __init__(self, problem: CoupledProblem, threads: TileThreads) -> None:
        self._threads = threads
        self._ranges = split_nodes(problem.n_nodes)
        self._rows = (problem.s, problem.p, problem.u)
        u = problem.u
        self.size = float(np.abs(problem.p[u > 0]).max(initial=0.0)) or 1.0
        self.n_products = 2 * int(np.count_nonzero(u))
        slack = np.full_like(u, self.size)
        self.state: tuple[Array, ...] = (0.5 * u, 0.5 * u, slack, slack.copy())
        self.weights, self.pull = np.empty(problem.n_nodes), np.empty(problem.n_nodes)
        self._sigma = np.zeros_like(u)
        self._moves = tuple(np.zeros_like(u) for _ in range(3))

    def _map(self, work: Callable[[int, int], Any]) -> Array:
        """`work` on every range of nodes; what it returns, one row for each."""
        if len(self._ranges) == 1:
            return np.array([work(*self._ranges[0])])
        parts: list[Any] = [None] * len(self._ranges)

        def run(item: tuple[int, tuple[int, int]]) -> None:
            k, bounds = item
            parts[k] = work(*bounds)

        self._threads.map(run, enumerate(self._ranges))
        return np.array(parts)

    def look(self, f: Array) -> tuple[float, float, float]:
        """Prepare the predictor; Σ a t + β ξ, Σ losses, and Σ a r + losses, the duality gap if θ
        were the one that belongs to a. Not finite where a bound has been met."""
        rows, state = self._rows, self.state
        try:
            products, losses, gap = self._map(
                lambda i, j: look(rows, state, f, i, j, self._sigma, self.weights, self.pull)
            ).sum(axis=0)
        except ZeroDivisionError:
            return np.nan, np.nan, np.nan
        return float(products), float(losses), float(gap)

    def correct(self, f: Array, df: Array, mu: float) -> None:
        """Prepare the corrector, from where the predictor's df would lead."""
        rows, state, sigma, moves = self._rows, self.state, self._sigma, self._moves
        found = self._map(lambda i, j: predict(rows, state, f, df, i, j, sigma))
        length = _find_length(found[:, 0].max())
        share = 1.0 - length + length**2 * found[:, 1].sum() / (mu * self.n_products)
        target = mu * min(1.0, max(share, 0.0)) ** 3
        self._map(lambda i, j: correct(rows, state, f, df, target, i, j, sigma, moves, self.pull))

    def move(self, df: Array) -> float:
        """Go as far as the corrector's df allows: the share of the way."""
        rows, state, sigma, moves = self._rows, self.state, self._sigma, self._moves
        found = self._map(lambda i, j: conclude(rows, state, df, i, j, sigma, moves))
        length = _find_length(found.max())
        if np.isfinite(length):
            self._map(lambda i, j: advance(state, moves, length, i, j))
        return length

    def put_on_bounds(self, share: float) -> Array:
        """Multipliers, put on a bound that is nearer than `share` of their scaled slack."""
        a, b, t, x = self.state
        u = self._rows[2]
        low = a * self.size < share * t * np.minimum(u, a.max())
        high = b * self.size < share * x * u
        return np.where(low, 0.0, np.where(high, u, a))


def _find_length(steepest: Any) -> float:
    if np.isnan(steepest):
        return np.nan
    return float(min(1.0, _TO_BOUNDARY / steepest)) if steepest > 0.0 else 1.0


# -- passes over the rows, compiled ---------------------------------------------------------------


@compiled(EXACT, error_model="numpy")
def look(rows, state, f, start, stop, sigma, weights, pull):  # type: ignore[no-untyped-def]
    """σ of rows and its sum over nodes, what the predictor pulls nodes with, and Σ a t + β ξ,
    Σ losses, Σ a r + losses. The last three are not finite where the iterate has met a bound."""
    s, p, u = rows
    a, b, t, x = state
    products, losses, gap = 0.0, 0.0, 0.0
    for i in range(start, stop):
        weights[i] = 0.0
        pull[i] = 0.0
    for side in range(s.shape[0]):
        for i in range(start, stop):
            if u[side, i] == 0.0:
                continue
            products += a[side, i] * t[side, i] + b[side, i] * x[side, i]
            own = 1.0 / (x[side, i] / b[side, i] + t[side, i] / a[side, i])
            residual = p[side, i] + s[side, i] * f[i]
            loss = u[side, i] * max(0.0, -residual)
            losses += loss
            gap += a[side, i] * residual + loss
            sigma[side, i] = own
            weights[i] += own
            pull[i] += s[side, i] * (a[side, i] - own * residual)
            if not own < np.inf:
                return np.nan, np.nan, np.nan
    return products, losses, gap


@compiled(EXACT, error_model="numpy")
def predict(rows, state, f, df, start, stop, sigma):  # type: ignore[no-untyped-def]
    """The predictor's steepest approach to a bound, and Σ da dt + dβ dξ."""
    s, p, u = rows
    a, b, t, x = state
    steepest, cross = 0.0, 0.0
    for side in range(s.shape[0]):
        for i in range(start, stop):
            if u[side, i] == 0.0:
                continue
            da = -sigma[side, i] * (p[side, i] + s[side, i] * (f[i] + df[i]))
            up, down = da / a[side, i], da / b[side, i]
            # −dt/t = 1 + da/a and −dξ/ξ = 1 − da/β.
            steepest = max(steepest, -up, down, 1.0 + up, 1.0 - down)
            cross += da * (x[side, i] * (1.0 - down) - t[side, i] * (1.0 + up))
    return steepest, cross


@compiled(EXACT, error_model="numpy")
def correct(rows, state, f, df, target, start, stop, sigma, moves, pull):  # type: ignore[no-untyped-def]
    """What the corrector pulls nodes with; `moves` receives −p − s f − λ/β + κ/a, κ/a and λ/β."""
    s, p, u = rows
    a, b, t, x = state
    da_, dt_, dx_ = moves
    for i in range(start, stop):
        pull[i] = 0.0
    for side in range(s.shape[0]):
        for i in range(start, stop):
            if u[side, i] == 0.0:
                continue
            da = -sigma[side, i] * (p[side, i] + s[side, i] * (f[i] + df[i]))
            dt = -t[side, i] * (1.0 + da / a[side, i])
            dx = -x[side, i] * (1.0 - da / b[side, i])
            towards_t = (target - da * dt) / a[side, i]
            towards_x = (target + da * dx) / b[side, i]
            r = towards_t - towards_x - p[side, i] - s[side, i] * f[i]
            da_[side, i] = r
            dt_[side, i] = towards_t
            dx_[side, i] = towards_x
            pull[i] += s[side, i] * (a[side, i] + sigma[side, i] * r)


@compiled(EXACT, error_model="numpy")
def conclude(rows, state, df, start, stop, sigma, moves):  # type: ignore[no-untyped-def]
    """The corrector's moves, in place of what `correct` left, and their steepest approach."""
    s, _, u = rows
    a, b, t, x = state
    da_, dt_, dx_ = moves
    steepest = 0.0
    for side in range(s.shape[0]):
        for i in range(start, stop):
            if u[side, i] == 0.0:
                continue
            da = sigma[side, i] * (da_[side, i] - s[side, i] * df[i])
            dt = dt_[side, i] - t[side, i] * (1.0 + da / a[side, i])
            dx = dx_[side, i] - x[side, i] * (1.0 - da / b[side, i])
            da_[side, i], dt_[side, i], dx_[side, i] = da, dt, dx
            steepest = max(
                steepest, -da / a[side, i], da / b[side, i], -dt / t[side, i], -dx / x[side, i]
            )
    return steepest


@compiled(EXACT, error_model="numpy")
def advance(state, moves, length, start, stop):  # type: ignore[no-untyped-def]
    """Go `length` of the way."""
    a, b, t, x = state
    da, dt, dx = moves
    for side in range(a.shape[0]):
        for i in range(start, stop):
            a[side, i] += length * da[side, i]
            b[side, i] -= length * da[side, i]
            t[side, i] += length * dt[side, i]
            x[side, i] += length * dx[side, i]
