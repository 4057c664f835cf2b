"""Linear machines with squared losses over rows that are only seen in passes: Newton's method.

With θ = (w, b), prices c and r = s x̃·θ + p the problem is

    min_θ  F(θ) = ½ θᵀHθ + Σ c max(0, −r)²

which is smooth: a pass gets F, its gradient Hθ − Σ a s x̃ with a = 2c max(0, −r), and its curvature
H + Σ_{r < 0} 2c x̃ x̃ᵀ from the sums of all parts. F is quadratic wherever no r changes its sign, so
that steps are exact once the rows with errors are known. The first point is the machine of a sample
(`solvers.squared_newton`), so that a few steps are enough. A step after which F has not fallen by a
share of what its slope has promised is halved, from the pass that has found that out.

At the optimum Σ a s x̃ = Hθ: the a of the last pass make the weights w' = Σ a s x, and one more pass
judges them: all v = X w' + d z + q, d = 1/2c, both objectives, and Σ z = 0 (see
`problems.squared`).
"""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lindero.problems.formulation import Formulation
from lindero.problems.partial_judgement import PartialJudgement, linear_products
from lindero.runtime.arrays import Array
from lindero.solvers.interior_point import scaled_cholesky, scaled_solve
from lindero.solvers.passes import PartRows, PassSolution, find_reach, weigh
from lindero.solvers.solution import Limits, Progress, Status
from lindero.solvers.squared_newton import SquaredNewtonSolver

#: Share of what the slope promises that a step must gain, and halvings until it is nothing.
_LEAST_GAIN, _MOST_HALVINGS = 1e-4, 40

#: A slope that promises less than this share of the objective is within its rounding; and passes
#: there in which the gap has not become half as large.
_BLURRED, _MOST_STALE = 1e-10, 3

#: Passes after which the method is stuck.
_MOST_PASSES = 200

#: Share of `tol` that weights may be apart from those that the multipliers make.
_APART = 0.05

#: Share of Σ a that Σ z may miss zero by.
_BALANCED = 1e-10


@dataclass(frozen=True)
class ErrorSums:
    """What squared errors of some rows add to F, its gradient and its curvature; Σ a, and the
    largest norm of a row."""

    losses: float
    gradient: Array
    matrix: Array
    size: float
    largest_norm: float

    def merge(self, other: ErrorSums) -> ErrorSums:
        return ErrorSums(
            self.losses + other.losses,
            self.gradient + other.gradient,
            self.matrix + other.matrix,
            self.size + other.size,
            max(self.largest_norm, other.largest_norm),
        )


@dataclass(frozen=True)
class AskErrors:
    """Sums for a step from θ."""

    theta: Array

    def answer(self, rows: PartRows) -> ErrorSums:
        size = len(self.theta)
        sums = ErrorSums(0.0, np.zeros(size), np.zeros((size, size)), 0.0, 0.0)
        for block in rows.blocks():
            problem = block.state()
            products = linear_products(problem)
            _, r = find_reach(problem, self.theta)
            errors, prices = np.maximum(0.0, -r), 1.0 / _at_variables(problem)
            z = problem.at_samples(problem.s * (errors * prices))
            sums.gradient[:-1] += weigh(problem, errors * prices, 0.0)[:-1]
            sums.gradient[-1] += z.sum()
            sigma = problem.at_samples(np.where(errors > 0.0, prices, 0.0))
            chosen, among = np.flatnonzero(sigma), products
            if 2 * len(chosen) < len(sigma):  # rows without errors add nothing
                among, sigma = products.subset(chosen), sigma[chosen]
            among.add_weighted_gram(sigma, 0, len(sigma), out=sums.matrix)
            norm = float(np.sqrt(products.squares.max(initial=0.0)))
            sums = replace(
                sums,
                losses=sums.losses + 0.5 * float(errors * errors @ prices),
                size=sums.size + float(errors @ prices),
                largest_norm=max(sums.largest_norm, norm),
            )
        return sums


@dataclass(frozen=True)
class AskSquaredJudgement:
    """A judgement of the multipliers that θ gives rows, whose weights are `weights`."""

    theta: Array
    weights: Array

    def answer(self, rows: PartRows) -> PartialJudgement:
        total = PartialJudgement.of_nothing(len(self.weights))
        judged = np.append(self.weights, self.theta[-1])
        for block in rows.blocks():
            problem = block.state()
            _, r = find_reach(problem, self.theta)
            a = np.maximum(0.0, -r) / _at_variables(problem)
            f, _ = find_reach(problem, judged)
            total = total.merge(PartialJudgement.of(problem, a, f, float(self.theta[-1])))
        return total


def _at_variables(problem: Any) -> Array:
    """The ridge of each variable."""
    ridge: Array = problem.kernel.ridge
    return ridge if problem.sample_of is None else ridge[problem.sample_of]


@dataclass
class SquaredPassSolver:
    """Solves one problem with squared losses to a KKT gap of `tol`. `solve` is a generator: it
    yields questions, and is sent the merged answers of all parts."""

    formulation: Formulation
    n_features: int
    tol: float
    limits: Limits
    number: int = 0
    n_threads: int | None = None

    def solve(self, sample: PartRows | None) -> Generator[Any, Any, PassSolution]:
        """Questions, and in the end the solution. The sample has prices that stand for all rows."""
        begun, n_passes, gap = time.perf_counter(), 0, np.inf
        penalty = np.append(np.ones(self.n_features), 0.0)
        theta = self._solve_sample(sample)
        before, move, slope, length, halvings = np.inf, np.zeros_like(theta), 0.0, 0.0, 0
        status, stale = Status.PRECISION, 0
        best: tuple[float, Array, Any] = (np.inf, theta, None)
        while n_passes < _MOST_PASSES:
            sums: ErrorSums = yield AskErrors(theta)
            n_passes += 1
            objective = 0.5 * float(theta @ (penalty * theta)) + sums.losses
            stopped = self._check(n_passes, gap, begun)
            if stopped is not None:
                status = stopped
                break
            # Within rounding of the optimum the objective cannot tell, and a full step is the best.
            blurred = abs(slope) <= _BLURRED * abs(before)
            if not (blurred or objective <= before + _LEAST_GAIN * length * slope):
                halvings += 1
                if halvings > _MOST_HALVINGS:
                    break
                length *= 0.5
                theta = theta - length * move
                continue
            gradient = penalty * theta - sums.gradient
            gap = 2.0 * sums.largest_norm * float(np.linalg.norm(gradient[:-1]))
            stale = 0 if gap < 0.5 * best[0] else stale + 1
            if gap < best[0]:
                best = gap, theta, sums
            if gap <= _APART * self.tol and abs(gradient[-1]) <= _BALANCED * sums.size:
                status = Status.OPTIMAL
                break
            if blurred and stale >= _MOST_STALE:
                break
            if sums.size == 0.0:  # no row has an error: w = 0 is as good, for any bias
                theta, before, length = np.append(np.zeros(self.n_features), theta[-1]), np.inf, 0.0
                if not gradient[:-1].any():
                    break
                continue
            try:
                factor = scaled_cholesky(sums.matrix, penalty)
            except np.linalg.LinAlgError:
                break
            move = -scaled_solve(factor, gradient)
            before, slope, length, halvings = objective, float(gradient @ move), 1.0, 0
            theta = theta + move
        if best[0] < gap:
            _, theta, sums = best
        weights = sums.gradient[:-1]
        found: PartialJudgement = yield AskSquaredJudgement(theta, weights)
        judgement = found.finish(weights)
        if judgement.kkt_gap <= self.tol and status is Status.PRECISION:
            status = Status.OPTIMAL
        status = status.certify(judgement, self.tol)
        if status is Status.OPTIMAL and judgement.infeasibility > 1e-6 * max(1.0, sums.size):
            status = Status.PRECISION
        theta = np.append(weights, theta[-1])
        seconds = time.perf_counter() - begun
        return PassSolution(theta, judgement, status, n_passes + 1, seconds)

    def _check(self, n_passes: int, gap: float, begun: float) -> Status | None:
        seconds = time.perf_counter() - begun
        gap = max(gap, 2.0 * self.tol)
        return self.limits.check(Progress(n_passes, gap, self.tol, seconds, self.number))

    def _solve_sample(self, sample: PartRows | None) -> Array:
        """Where steps begin."""
        zero = np.zeros(self.n_features + 1)
        if sample is None or not len(sample.numbers):
            return zero
        problem = sample.state()
        if problem.sample_of is None and abs(problem.s.sum()) == len(problem.s):
            return zero  # one class only
        inner = SquaredNewtonSolver(max(self.tol, 1e-3), n_threads=self.n_threads)
        solution = inner.solve(problem, None, Limits(time_limit=self.limits.time_limit))
        theta = weigh(problem, solution.a, float(solution.bias))
        return theta if np.isfinite(theta).all() else zero
