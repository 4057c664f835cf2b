"""Linear machines over rows that are only seen in passes: one map and reduce an iteration.

A pass gives all parts of the rows a few numbers and gets back sums: a matrix of features × features
and two vectors, never the rows. Interior points would take three passes an iteration and keep four
numbers for each row. Here a row has no state: all it needs is θ = (w, b) and a width μ.

**Far from the optimum** the hinge u max(0, −r) of each variable, r = s x̃·θ + p, is rounded off
where |r| < μ, which is the dual problem with μ Σ a²/u added but for constants:

    a_i = u_i · clip(½ − r_i / 2μ, 0, 1)      Hθ = Σ a_i s_i x̃_i      σ_i = u_i/2μ where |r_i| < μ

Newton's step solves (H + Σ σ_i x̃_i x̃_iᵀ) Δ = Σ a_i s_i x̃_i − Hθ. With many rows within μ the sums
are as smooth as their density, and a step or two are enough. A step that goes too far (the slope
along it has turned by more than half of what it was) is shortened; then μ shrinks. The steps begin
at machines of two halves of a small sample, whose difference says how wide μ has to be.

**Near it** few rows are undecided. All r are known to about ρ = (ΔᵀGΔ / Σσ)^½, the length of the
next step in the rows that count, so that rows with |r| well above ρ are on the side where they
seem to be. The nearest rows are fetched, a bounded number; all others are decided, a = 0 or a = u.
They enter the problem of the fetched rows as constants: with W = Σ z_i x_i and Z = Σ z_i over them,

    min ½ ‖Σ z'_i x_i + W‖² + Σ q_i z'_i      s.t.  Σ z' = −Z

which interior points solve, W being a pull on w. One more pass judges all rows. Those that were
decided wrongly are fetched too, and so on: the optimum of the whole, not of an approximation. If
too many were wrong, steps are taken from there, and more rows are fetched than before.

Few rows (`most_fetched`) are all fetched at once: the solvers of whole problems do the rest.

Steps, fetched rows and the judging pass are one file: each needs the sums of the one before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lindero.errors import SolverError
from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.problems.dual_qp import DualQP, Judgement
from lindero.problems.formulation import Formulation
from lindero.problems.partial_judgement import PartialJudgement, linear_products
from lindero.runtime.arrays import Array
from lindero.solvers.interior_point import (
    InteriorPointSolver,
    scaled_cholesky,
    scaled_solve,
)
from lindero.solvers.small import PolishedInteriorPointSolver
from lindero.solvers.solution import Limits, Progress, Solver, Status

LINEAR = KernelFunction("linear")

#: Rows whose sums are taken at once: their numbers should stay in a core's own cache.
_BLOCK_NUMBERS = 2**17

#: Numbers, and rows, that are fetched at first; no fewer rows than this many times the features.
_FETCHED_NUMBERS = 2**22
_FETCHED_ROWS = 20_000
_ROWS_A_FEATURE = 10

#: Rows of the sample that steps begin with, for each feature, and at least and at most.
_SAMPLED_A_FEATURE, _LEAST_SAMPLED, _MOST_SAMPLED = 200, 2_000, 20_000

#: Rows are decided where |r| is above this many times what it is known to.
_DECIDED = 4.0

#: Steps that have come so near allow a smaller μ, which shrinks by this factor.
_NEAR, _SHRINK = 0.5, 0.2

#: Steps between two fetches at the most.
_MOST_STEPS = 40

#: Shares of `tol` that the problem of the fetched rows is solved to, and that decided rows may be
#: wrong by.
_INNER, _OUTER = 0.25, 0.45

#: Bins of |r|, powers of √2 from 2^−40 on.
_LEAST_POWER, _N_BINS = -40, 161
_ENDS = 0.75 * 2.0**_LEAST_POWER, 0.75 * 2.0 ** (_LEAST_POWER + _N_BINS // 2)


def choose_fetched(n_features: int) -> int:
    """How many rows are fetched at first."""
    return max(
        min(_FETCHED_ROWS, _FETCHED_NUMBERS // (n_features + 1)), _ROWS_A_FEATURE * n_features
    )


def choose_sampled(n_features: int) -> int:
    """How many rows the sample has that steps begin with."""
    return min(max(_SAMPLED_A_FEATURE * n_features, _LEAST_SAMPLED), _MOST_SAMPLED)


# -- what parts of the rows are asked, and say ----------------------------------------------------


@dataclass(frozen=True)
class PartRows:
    """The rows of one problem in one part: their numbers there, targets and upper bounds. X may be
    made where it is looked at, by slices."""

    part: int
    numbers: Array
    X: Any
    targets: Any
    bounds: Array
    formulation: Formulation
    shift: Array | None

    def state(self) -> DualQP:
        """The problem of these rows alone."""
        kernel = kernel_operator(self.X, LINEAR, shift=self.shift)
        return self.formulation.state(kernel, self.targets, self.bounds)

    def take(self, rows: Array | slice) -> PartRows:
        """Some of them."""
        return replace(
            self,
            numbers=self.numbers[rows],
            X=self.X[rows],
            targets=self.targets[rows],
            bounds=self.bounds[rows],
        )

    def blocks(self) -> Generator[PartRows, None, None]:
        """The same rows, a block at a time."""
        height = max(256, _BLOCK_NUMBERS // max(1, self.X.shape[1]))
        for start in range(0, len(self.numbers), height):
            yield self.take(slice(start, start + height))


def find_reach(problem: DualQP, theta: Array) -> tuple[Array, Array]:
    """f = X w of each sample, and r = s (f + b) + p of each variable."""
    products = linear_products(problem)
    f = np.empty(products.n_samples)
    products.times(theta[:-1], 0, len(f), out=f)
    return f, problem.s * (problem.scores(f) + theta[-1])


def _nearest(problem: DualQP, r: Array) -> Array:
    """The least |r| of each sample's variables."""
    distance = np.abs(r)
    if problem.sample_of is None:
        return np.asarray(distance)
    return np.asarray(distance.reshape(-1, problem.kernel.n_samples).min(axis=0))


def _count_near(distance: Array) -> Array:
    """How many distances are in which bin. Squares of bins' ends are powers of 2, so that the bin
    is in the exponent of the square."""
    squares = np.square(np.clip(distance, *_ENDS))
    return np.bincount(np.frexp(squares)[1] - 2 * _LEAST_POWER, minlength=_N_BINS)


@dataclass(frozen=True)
class Slope:
    """Gradient and curvature of the rounded problem without its penalty, Σσ, and how many samples
    have their |r| in which bin."""

    gradient: Array
    matrix: Array
    weight: float
    near: Array

    def merge(self, other: Slope) -> Slope:
        return Slope(
            self.gradient + other.gradient,
            self.matrix + other.matrix,
            self.weight + other.weight,
            self.near + other.near,
        )


@dataclass(frozen=True)
class AskSlope:
    """Sums for a step from θ, with width μ."""

    theta: Array
    mu: float

    def answer(self, rows: PartRows) -> Slope:
        size = len(self.theta)
        gradient, matrix = np.zeros(size), np.zeros((size, size))
        weight, near = 0.0, np.zeros(_N_BINS, dtype=np.int64)
        part = np.empty(size - 1)
        for block in rows.blocks():
            problem = block.state()
            products = linear_products(problem)
            _, r = find_reach(problem, self.theta)
            share = np.clip(0.5 - r / (2.0 * self.mu), 0.0, 1.0)
            z = problem.at_samples(problem.s * problem.u * share)
            products.transposed_times(z, 0, len(z), out=part)
            gradient[:-1] += part
            gradient[-1] += z.sum()
            within = np.abs(r) < self.mu
            sigma = problem.at_samples(np.where(within, problem.u / (2.0 * self.mu), 0.0))
            chosen = np.flatnonzero(sigma)
            if 2 * len(chosen) < len(sigma):  # far rows are most, and add nothing
                products, sigma = products.subset(chosen), sigma[chosen]
            products.add_weighted_gram(sigma, 0, len(sigma), out=matrix)
            weight += float(sigma.sum())
            near += _count_near(_nearest(problem, r))
        return Slope(gradient, matrix, weight, near)


@dataclass(frozen=True)
class Fetched:
    """Rows that were fetched: the part that each is from, whether each of its variables seemed to
    be at its upper bound, and how near or how wrong it was (least first). `fixed` is Σ z_i x̃_i over
    the rows that are decided. Merged ones have no more than twice `most` rows, unless it is 0."""

    parts: Array
    rows: PartRows
    full: Array
    order: Array
    fixed: Array
    most: int = 0

    @classmethod
    def of(cls, rows: PartRows, full: Array, order: Array, fixed: Array, most: int = 0) -> Fetched:
        return cls(np.full(len(rows.numbers), rows.part), rows, full, order, fixed, most)

    def merge(self, other: Fetched) -> Fetched:
        """Both; rows that are in one of them are not among the decided ones of the other."""
        one, two = self.rows, other.rows
        joined = replace(
            one,
            part=-1,
            numbers=np.concatenate([one.numbers, two.numbers]),
            X=np.concatenate([one.X, two.X]),
            targets=np.concatenate([one.targets, two.targets]),
            bounds=np.concatenate([one.bounds, two.bounds]),
        )
        merged = Fetched(
            np.concatenate([self.parts, other.parts]),
            joined,
            np.concatenate([self.full, other.full], axis=1),
            np.concatenate([self.order, other.order]),
            self.fixed + other.fixed,
            self.most,
        )
        return merged.cut(self.most) if 0 < 2 * self.most < len(merged.parts) else merged

    def empty(self) -> Fetched:
        """Without any row."""
        none = slice(0, 0)
        rows, full = self.rows.take(none), self.full[:, none]
        return replace(self, parts=self.parts[none], rows=rows, full=full, order=self.order[none])

    def cut(self, most: int) -> Fetched:
        """The first `most` of the rows; the others are decided."""
        if len(self.parts) <= most:
            return self
        order = np.argsort(self.order, kind="stable")
        rest, kept = order[most:], order[:most]
        fixed = self.fixed + _weigh_decided(self.rows.take(rest), self.full[:, rest])
        return replace(
            self,
            parts=self.parts[kept],
            rows=self.rows.take(kept),
            full=self.full[:, kept],
            order=self.order[kept],
            fixed=fixed,
        )

    def add(self, more: Fetched) -> Fetched:
        """With rows that were among the decided ones."""
        fixed = self.fixed - _weigh_decided(more.rows, more.full)
        return replace(replace(self, most=0).merge(more), fixed=fixed)


def _weigh_decided(rows: PartRows, full: Array) -> Array:
    """Σ z_i x̃_i over rows with variables at their bounds."""
    problem = rows.state()
    a = np.where(full.ravel(), problem.u, 0.0)
    return weigh(problem, a, float((problem.s * a).sum()))


@dataclass(frozen=True)
class AskNear:
    """The rows with |r| at θ no more than `width`, the nearest `most` of them at the most, all
    others being decided."""

    theta: Array
    width: float
    most: int

    def answer(self, rows: PartRows) -> Fetched:
        total = None
        for block in rows.blocks():
            problem = block.state()
            _, r = find_reach(problem, self.theta)
            distance = _nearest(problem, r)
            near = distance <= self.width
            full = (r <= 0).reshape(-1, len(near))
            a = np.where(full & ~near, problem.u.reshape(-1, len(near)), 0.0).ravel()
            fixed = weigh(problem, a, float((problem.s * a).sum()))
            rows_near = np.flatnonzero(near)
            found = block.take(rows_near), full[:, rows_near], distance[rows_near]
            one = Fetched.of(*found, fixed, self.most)
            total = one if total is None else total.merge(one)
        if total is None:
            full = np.empty((rows.formulation.per_sample, 0), dtype=bool)
            none, fixed = rows.take(slice(0, 0)), np.zeros(len(self.theta))
            return Fetched.of(none, full, np.empty(0), fixed, self.most)
        return total.cut(self.most)


@dataclass(frozen=True)
class Judged:
    """What the decided rows say of a point; how many of them were decided wrongly, by how much at
    most, and these, unless there are more than `most`."""

    judgement: PartialJudgement
    n_wrong: int
    worst: float
    wrong: Fetched
    most: int

    def merge(self, other: Judged) -> Judged:
        n_wrong = self.n_wrong + other.n_wrong
        wrong = self.wrong.merge(other.wrong) if n_wrong <= self.most else self.wrong.empty()
        return Judged(
            self.judgement.merge(other.judgement),
            n_wrong,
            max(self.worst, other.worst),
            wrong,
            self.most,
        )


@dataclass(frozen=True)
class AskJudgement:
    """A judgement of θ by all rows but those fetched (`parts` and `places`): they were decided at
    `decided_at`, and those that are wrong by more than `tolerance` are fetched, if they are no more
    than `most`."""

    theta: Array
    decided_at: Array
    parts: Array
    places: Array
    tolerance: float
    most: int

    def answer(self, rows: PartRows) -> Judged:
        known, total = np.zeros(len(rows.numbers), dtype=bool), None
        known[np.searchsorted(rows.numbers, self.places[self.parts == rows.part])] = True
        start = 0
        for block in rows.blocks():
            own = known[start : start + len(block.numbers)]
            start += len(block.numbers)
            one = self._judge(block, own)
            total = one if total is None else total.merge(one)
        if total is None:
            full = np.empty((rows.formulation.per_sample, 0), dtype=bool)
            fixed = np.zeros(len(self.theta))
            none = Fetched.of(rows.take(slice(0, 0)), full, np.empty(0), fixed)
            nothing = PartialJudgement.of_nothing(len(fixed) - 1)
            return Judged(nothing, 0, 0.0, none, self.most)
        return total

    def _judge(self, block: PartRows, fetched: Array) -> Judged:
        """By the rows of a block but those fetched, which get the bound 0: they add nothing then,
        and no numbers are copied."""
        if fetched.any():
            block = replace(block, bounds=np.where(fetched, 0.0, block.bounds))
        problem = block.state()
        _, before = find_reach(problem, self.decided_at)
        f, r = find_reach(problem, self.theta)
        full = before <= 0
        a = np.where(full, problem.u, 0.0)
        judgement = PartialJudgement.of(problem, a, f, float(self.theta[-1]))
        off = np.where(full, r, -r).reshape(-1, len(f)).max(axis=0)
        off[fetched] = 0.0
        wrong = np.flatnonzero(off > self.tolerance)
        n_wrong = len(wrong)
        if n_wrong > self.most:
            wrong = wrong[:0]
        fixed = np.zeros(len(self.theta))
        found = Fetched.of(
            block.take(wrong), full.reshape(-1, len(f))[:, wrong], -off[wrong], fixed
        )
        return Judged(judgement, n_wrong, float(off.max(initial=0.0)), found, self.most)


Question = AskSlope | AskNear | AskJudgement
Answer = Slope | Fetched | Judged


# -- the solver -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class DualWeights:
    """The signed dual variables z of all rows: those fetched have their own (`parts`, `places` and
    `z`), and all others are at the bound where they were at θ = `decided_at`."""

    decided_at: Array
    parts: Array
    places: Array
    z: Array

    def of(self, rows: PartRows) -> Array:
        """z of some rows."""
        problem = rows.state()
        _, r = find_reach(problem, self.decided_at)
        z = problem.at_samples(problem.s * np.where(r <= 0, problem.u, 0.0))
        here = np.flatnonzero(self.parts == rows.part)
        own = here[np.isin(self.places[here], rows.numbers)]
        z[np.searchsorted(rows.numbers, self.places[own])] = self.z[own]
        return np.asarray(z)


@dataclass(frozen=True)
class PassSolution:
    """The machine θ = (w, b) that passes have led to, around the origin of the rows, with what all
    rows say of it and how many passes it took, and its dual variables where they are bounded."""

    theta: Array
    judgement: Judgement
    status: Status
    n_passes: int
    seconds: float
    dual: DualWeights | None = None


@dataclass
class PassSolver:
    """Solves one linear problem over `n_samples` rows to a KKT gap of `tol`. `solve` is a
    generator: it yields questions, and is sent the merged answers of all parts."""

    formulation: Formulation
    n_samples: int
    n_features: int
    tol: float
    most_fetched: int
    limits: Limits
    number: int = 0
    n_threads: int | None = None

    def solve(self, sample: PartRows | None) -> Generator[Question, Any, PassSolution]:
        """Questions, and in the end the solution. The sample has bounds that stand for all rows."""
        self._begun, self._n_passes, self._gap = time.perf_counter(), 0, np.inf
        theta, mu = np.zeros(self.n_features + 1), 1.0
        most, least_steps, stopped = self.most_fetched, 0, None
        if sample is not None and self.n_samples > most:
            theta, mu = self._solve_sample(sample, theta, mu)
        while True:
            width = np.inf
            if self.n_samples > most and stopped is None:
                theta, mu, width, stopped = yield from self._step(theta, mu, most, least_steps)
            fetched = (yield from self._ask(AskNear(theta, width, most))).cut(most)
            stopped = stopped or self._check()
            found = yield from self._settle(theta, fetched, most, stopped)
            if isinstance(found, PassSolution):
                return found
            # Too many rows were decided wrongly: go on from where that has led.
            theta, mu = found if found is not None else (theta, mu)
            most, least_steps = 2 * most, 2

    def _ask(self, question: Question) -> Generator[Question, Any, Any]:
        self._n_passes += 1
        return (yield question)

    def _check(self) -> Status | None:
        seconds = time.perf_counter() - self._begun
        gap = max(self._gap, 2.0 * self.tol)
        return self.limits.check(Progress(self._n_passes, gap, self.tol, seconds, self.number))

    def _solve_sample(self, sample: PartRows, theta: Array, mu: float) -> tuple[Array, float]:
        """Where steps begin, and how wide μ is: from two halves of a sample."""
        machines = []
        for half in (sample.take(slice(0, None, 2)), sample.take(slice(1, None, 2))):
            problem = replace(half, bounds=2.0 * half.bounds).state()
            if problem.sample_of is None and abs(problem.s.sum()) == len(problem.s):
                return theta, mu  # one class only
            inner = PolishedInteriorPointSolver(max(self.tol, 1e-2), n_threads=self.n_threads)
            solution = inner.solve(problem, None, self._quiet())
            machines.append(weigh(problem, solution.a, solution.bias))
        apart = 0.5 * (machines[0] - machines[1])
        f, _ = find_reach(sample.state(), apart)
        spread = float(np.sqrt(np.mean((f + apart[-1]) ** 2)))
        if not np.isfinite(spread):
            return theta, mu
        return 0.5 * (machines[0] + machines[1]), max(self.tol, spread)

    def _quiet(self) -> Limits:
        """The limits of time, without reports of solvers of parts."""
        return Limits(time_limit=self.limits.time_limit)

    def _step(
        self, theta: Array, mu: float, most: int, least_steps: int
    ) -> Generator[Question, Any, tuple[Array, float, float, Status | None]]:
        """Steps until few enough rows are undecided: θ, μ, the width that has the nearest rows,
        and why the steps were stopped if they were."""
        penalty = np.append(np.ones(self.n_features), 0.0)
        move, decrement, length = np.zeros_like(theta), 0.0, 0.0
        for step in range(_MOST_STEPS):
            sums = yield from self._ask(AskSlope(theta, mu))
            gradient = penalty * theta - sums.gradient
            width, above = _find_width(sums.near, most)
            stopped = self._check()
            if stopped is not None:
                return theta, mu, above, stopped
            turned = float(gradient @ move)
            if length > 0.0 and turned > 0.5 * decrement:
                # Too far: back to where the slope should vanish.
                shorter = length * max(0.1, decrement / (decrement + turned))
                theta = theta - (length - shorter) * move
                length = shorter
                continue
            try:
                factor = scaled_cholesky(sums.matrix, penalty)
            except np.linalg.LinAlgError:  # no row is within μ
                mu, length = 4.0 * mu, 0.0
                continue
            move = -scaled_solve(factor, gradient)
            decrement = max(0.0, -float(gradient @ move))
            known = float(np.sqrt(decrement / max(sums.weight, 1e-300)))
            self._gap = known
            if step >= least_steps and width >= _DECIDED * known:
                return theta, mu, above, None
            length = 1.0
            theta = theta + move
            if known <= _NEAR * mu:
                smaller = max(_SHRINK * mu, min(mu, width))
                if smaller == mu and known <= 0.05 * mu:
                    return theta - move, mu, above, None
                if smaller < mu:
                    mu, length = smaller, 0.0
        return theta, mu, above, None

    def _settle(
        self, decided_at: Array, fetched: Fetched, most: int, stopped: Status | None
    ) -> Generator[Question, Any, PassSolution | tuple[Array, float] | None]:
        """Solve for the fetched rows, judge all, fetch what was decided wrongly, and so on. Where
        that will not do: θ and μ to go on from, or None where the fetched rows have no solution."""
        while True:
            problem = replace(fetched.rows.state(), delta=-float(fetched.fixed[-1]))
            if not has_room(problem):
                return None
            inner = self._make_inner(_INNER * self.tol, fetched.fixed[:-1])
            best = inner.solve(problem, None, self._quiet())
            theta = weigh(problem, best.a, best.bias) + np.append(fetched.fixed[:-1], 0.0)
            question = AskJudgement(
                theta, decided_at, fetched.parts, fetched.rows.numbers, _OUTER * self.tol, most
            )
            judged = yield from self._ask(question)
            f, _ = find_reach(problem, theta)
            own = PartialJudgement.of(problem, best.a, f, float(theta[-1]))
            judgement = own.merge(judged.judgement).finish(theta[:-1])
            self._gap = judgement.kkt_gap
            status = stopped or self._check()
            done = judgement.kkt_gap <= self.tol
            if done or status is not None or judged.n_wrong == 0:
                found = Status.OPTIMAL if done else status or Status.PRECISION
                found = found.certify(judgement, self.tol)
                seconds = time.perf_counter() - self._begun
                z = problem.at_samples(problem.s * best.a)
                dual = DualWeights(decided_at, fetched.parts, fetched.rows.numbers, z)
                return PassSolution(theta, judgement, found, self._n_passes, seconds, dual)
            if judged.n_wrong > most:
                return theta, max(self.tol, min(judged.worst, 1.0))
            fetched = fetched.add(judged.wrong)

    def _make_inner(self, tol: float, pull: Array) -> Solver:
        """A solver of the fetched rows."""
        if pull.any():
            return InteriorPointSolver(tol, n_threads=self.n_threads, pull=pull)
        return PolishedInteriorPointSolver(tol, n_threads=self.n_threads)


def _find_width(near: Array, most: int) -> tuple[float, float]:
    """The widths around the one within which `most` samples are."""
    enough = np.cumsum(near) > most
    if not enough.any():
        return float("inf"), float("inf")
    first = int(np.argmax(enough))
    above = float("inf") if first == _N_BINS - 1 else 2.0 ** (_LEAST_POWER + 0.5 * first)
    return (0.0 if first == 0 else 2.0 ** (_LEAST_POWER + 0.5 * (first - 1))), above


def weigh(problem: DualQP, a: Array, bias: float) -> Array:
    """θ of dual variables and a bias."""
    products = linear_products(problem)
    w = np.zeros(products.n_features)
    z = problem.at_samples(problem.s * a)
    products.transposed_times(z, 0, len(z), out=w)
    return np.append(w, bias)


def has_room(problem: DualQP) -> bool:
    """Whether the sum that is asked for lies strictly within what variables can sum to."""
    lower, upper = float(problem.lower.sum()), float(problem.upper.sum())
    room = 1e-9 * (upper - lower)
    return lower + room < float(problem.delta) < upper - room


def answer_all(questions: list[tuple[int, Any]], take: Callable[[int], PartRows]) -> dict[int, Any]:
    """What one part says to the questions of several problems, by the number of each, whose rows
    are taken one problem after the other."""
    return {number: question.answer(take(number)) for number, question in questions}


def merge_answers(one: dict[int, Any], other: dict[int, Any]) -> dict[int, Any]:
    """The answers of both parts together."""
    if one.keys() != other.keys():
        raise SolverError("Parts of the rows were asked different questions.")
    return {number: answer.merge(other[number]) for number, answer in one.items()}
