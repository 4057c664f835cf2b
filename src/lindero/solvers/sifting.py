"""Linear machines over very many rows: most are decided early, and the rest is a small problem.

Interior points take some 15 to 45 steps over all rows, each n·d². But of many rows all but a few
are far from where their loss has its kink, and once that is known they are constants. r = s x̃·θ + p
says how far a variable is from its kink, with θ = (w, b).

**Steps.** The hinge u max(0, −r) is rounded off where |r| < μ:

    a_i = u_i · clip(½ − r_i / 2μ, 0, 1)      Hθ = Σ a_i s_i x̃_i      σ_i = u_i/2μ where |r_i| < μ

and Newton's step solves (H + Σ σ_i x̃_i x̃_iᵀ) Δ = Σ a_i s_i x̃_i − Hθ. Its matrix has only the rows
within μ. A step that goes too far (the slope along it has turned by more than half of what it was)
is shortened to where the slope vanishes, which takes X Δ and no matrix, and so are those after it.
When steps have come near, μ shrinks. A sample of the rows, whose bounds stand for all, takes the
first steps, from zero and a μ of the size of r itself; a larger one goes on from there, and all
rows take the last ones. A sample of m rows knows r to some (d/m)^½, and is not asked for more.

**Sifting.** ρ = (ΔᵀGΔ / Σσ)^½ is the length of the next step in the rows that count. Rows with |r|
well above ρ are on the side where they seem to be. The nearest rows are kept, and all others are
decided, a = 0 or a = u. They enter the problem of those kept as constants: with W = Σ z_i x_i and
Z = Σ z_i over the decided ones,

    min ½ ‖Σ z'_i x_i + W‖² + Σ q_i z'_i      s.t.  Σ z' = −Z

which guesses of the rows at their kinks solve (`solvers.kept_rows`), or else interior points, from
a point as round at its kinks as the last steps were. Then all rows are looked at once more. Those
that were decided wrongly are added to the ones kept, and so on. If they are too many, steps go on
from there, and more rows are kept than before. What is found is the optimum of all rows, and their
problem judges it.

Where that leads nowhere (bounds so large that rounding hides a step, all rows at their kinks),
interior points start on all rows.

The steps are those of `solvers.passes`, whose rows cannot be looked at one by one. Steps and
sifting are one file: each goes on from where the other leaves θ, μ and r.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from lindero.kernels.operator import ProductKernel
from lindero.kernels.products import DenseProducts, SparseProducts
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads
from lindero.solvers.interior_point import (
    GatheredGram,
    InteriorPointSolver,
    scaled_cholesky,
    scaled_solve,
)
from lindero.solvers.kept_rows import Guess, RowsToSettle
from lindero.solvers.passes import has_room
from lindero.solvers.solution import Limits, Progress, Solution, Solver, Start, Status

#: Fewer rows are not sifted.
_FEWEST = 100

#: Rows of the first sample, for each feature and at least; each later one is larger by a factor.
#: Where rows have many features, a part of the first sample takes the first steps.
_SAMPLED_A_FEATURE, _LEAST_SAMPLED, _GROWTH = 10, 2_000, 8
_PART_OF_FIRST, _LEAST_PART = 4, 1_000

#: Samples are taken where there are this many times as many rows.
_WORTH_SAMPLING = 4

#: Rows that are kept at first: no fewer than this many times the features, and else so many that
#: interior points on them cost what two looks at all rows do, up to the second number.
_KEPT_A_FEATURE, _MOST_KEPT, _KEPT_FOR_LOOKS = 6, 20_000, 6

#: Of sparse rows, one of so many is kept at the most.
_KEPT_OF_SPARSE = 10

#: Rows are decided where |r| is above this many times what it is known to.
_DECIDED = 4.0

#: Steps that have come so near allow a smaller μ, which shrinks by this factor.
_NEAR, _SHRINK = 0.5, 0.2

#: Points at which a step that went too far is tried again, at the most, and the share of its first
#: slope at which it ends.
_TRIALS, _LEVEL = 20, 0.05

#: What rounding does to r. At the kink that is u/2μ times as much in a, and ‖x‖² times that in r
#: again: with bounds so large that it matters beside tol, rows are not settled by guesses.
_ROUNDED = 1e-15

#: Roundness of the first interior point, as a share of μ.
_ROUNDNESS = 0.25

#: Steps on one set of rows, and rounds of sifting, at the most.
_MOST_STEPS, _MOST_ROUNDS = 40, 20

#: Shares of `tol` that the problem of the kept rows is solved to, by interior points and as the
#: last μ of steps, and that decided rows may be wrong by.
_INNER, _LAST_WIDTH, _OUTER = 0.25, 0.1, 0.45

#: Numbers in a block of rows: it should stay in a core's own cache while it is used.
_BLOCK_NUMBERS = 2**17

#: The first μ of guesses, as a share of the last one of steps.
_SETTLED = 0.3

#: Interior points on rows of no more numbers than this wait longer for a thread than it works.
_ONE_THREAD_NUMBERS = 2**17

#: Sums over fixed shares of the blocks: the result does not depend on the number of threads.
_PARTIAL_SUMS = 4


@dataclass(frozen=True)
class SiftingSolver(Solver):
    """Solves a linear `DualQP` with δ = 0 and finite positive u to a KKT gap of `tol`. Others, and
    those of few rows, are left to interior points."""

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        begun = time.perf_counter()
        whole = InteriorPointSolver(self.tol, n_threads=self.n_threads)
        if not _suits(problem):
            return whole.solve(problem, start, limits, number)
        with TileThreads(self.n_threads) as threads:
            watch = _Watch(limits, self.tol, number, begun)
            sieve = _Sieve(problem, threads, self.n_threads, watch)
            status = sieve.run(start)
        if status is None:
            found = whole.solve(problem, start, limits.deduct(sieve.n_iter), number)
            found = sieve.choose_better(found)
            seconds = time.perf_counter() - begun
            return replace(found, n_iter=found.n_iter + sieve.n_iter, seconds=seconds)
        a, f = sieve.best_a, sieve.best_f
        seconds = time.perf_counter() - begun
        return Solution(a, f, problem.bias(a, f), status, sieve.n_iter, seconds)


def _suits(problem: DualQP) -> bool:
    """Whether there are enough rows to choose from, and each has one variable, or one of each side,
    side after side."""
    kernel = problem.kernel
    if not (isinstance(kernel, ProductKernel) and kernel.function.name == "linear"):
        return False
    n = kernel.n_samples
    if n < _FEWEST or problem.group_sizes is not None or not problem.has_interior:
        return False
    n_sides, rest = divmod(problem.n_variables, n)
    return rest == 0 and (
        problem.sample_of is None
        or np.array_equal(problem.sample_of, np.tile(np.arange(n), n_sides))
    )


@dataclass
class _Look:
    """What rows say of θ: the slope of the rounded losses, their curvature and Σσ."""

    gradient: Array
    matrix: Array
    weight: float


class _Rows:
    """Rows of a problem, with s, p and u of shape (sides, rows)."""

    def __init__(
        self,
        products: DenseProducts | SparseProducts,
        terms: tuple[Array, Array, Array],
        threads: TileThreads,
    ) -> None:
        self.products, self.threads = products, threads
        self.s, self.p, self.u = terms
        self.n_samples, self.n_features = products.n_samples, products.n_features
        self.r = np.zeros(self.s.shape)
        self.numbers_a_row = products.numbers_a_row
        self._longest = 1.0 + float(products.squares.max(initial=0.0))
        height = max(256, _BLOCK_NUMBERS // products.numbers_a_row)
        self._blocks = [
            (start, min(start + height, self.n_samples))
            for start in range(0, self.n_samples, height)
        ]

    def take(self, rows: Array, factor: float) -> _Rows:
        """Some of them, whose bounds stand for more."""
        terms = (self.s[:, rows], self.p[:, rows], factor * self.u[:, rows])
        return _Rows(self.products.subset(rows), terms, self.threads)

    def look(self, theta: Array, mu: float) -> _Look:
        """Sums for a step from θ; `r` is what it is there."""
        size = self.n_features + 1
        gradients, matrices = np.zeros((_PARTIAL_SUMS, size)), np.zeros((_PARTIAL_SUMS, size, size))
        weights = np.zeros(_PARTIAL_SUMS)

        def work(k: int) -> None:
            gram = GatheredGram(matrices[k], self._longest)
            for start, stop in self._blocks[k::_PARTIAL_SUMS]:
                n, first = stop - start, start
                part = self.products
                if isinstance(part, DenseProducts):  # converted once for all that is asked
                    part, first = part.part(start, stop), 0
                f = np.empty(n)
                part.times(theta[:-1], first, first + n, out=f)
                r = self._put_reach(f, theta[-1], start, stop)
                s, u = self.s[:, start:stop], self.u[:, start:stop]
                z = (s * u * np.clip(0.5 - r / (2.0 * mu), 0.0, 1.0)).sum(axis=0)
                sums = np.empty(size - 1)
                part.transposed_times(z, first, first + n, out=sums)
                gradients[k, :-1] += sums
                gradients[k, -1] += z.sum()
                sigma = np.where(np.abs(r) < mu, u / (2.0 * mu), 0.0).sum(axis=0)
                weights[k] += sigma.sum()
                chosen = np.flatnonzero(sigma)
                if isinstance(part, DenseProducts):  # far rows add nothing
                    gram.add(part.source[chosen], sigma[chosen], n / self.n_samples)
                elif len(chosen):
                    part.add_weighted_gram(sigma, first, first + n, out=matrices[k])
            gram.flush()

        self.threads.map(work, range(_PARTIAL_SUMS))
        return _Look(gradients.sum(axis=0), matrices.sum(axis=0), float(weights.sum()))

    def reach(self, theta: Array) -> Array:
        """X w of each sample; `r` is what it is at θ."""
        f = np.empty(self.n_samples)

        def work(block: tuple[int, int]) -> None:
            start, stop = block
            self.products.times(theta[:-1], start, stop, out=f[start:stop])
            self._put_reach(f[start:stop], theta[-1], start, stop)

        self.threads.map(work, self._blocks)
        return f

    def along(self, move: Array) -> Array:
        """What a step of θ adds to r."""
        f = np.empty(self.n_samples)

        def work(block: tuple[int, int]) -> None:
            start, stop = block
            self.products.times(move[:-1], start, stop, out=f[start:stop])

        self.threads.map(work, self._blocks)
        return np.asarray(self.s * (f + move[-1]))

    def _put_reach(self, f: Array, bias: float, start: int, stop: int) -> Array:
        """r of these rows, where X w is f."""
        r = self.r[:, start:stop]
        np.multiply(self.s[:, start:stop], f + bias, out=r)
        r += self.p[:, start:stop]
        return r

    def weigh(self, a: Array) -> Array:
        """Σ z_i x̃_i."""
        z = (self.s * a).sum(axis=0)
        parts = np.empty((len(self._blocks), self.n_features))

        def work(k: int) -> None:
            start, stop = self._blocks[k]
            self.products.transposed_times(z[start:stop], start, stop, out=parts[k])

        self.threads.map(work, range(len(self._blocks)))
        return np.append(parts.sum(axis=0), z.sum())


@dataclass(frozen=True)
class _Watch:
    """Limits, and what progress is reported with."""

    limits: Limits
    tol: float
    number: int
    begun: float

    def check(self, n_iter: int, gap: float) -> Status | None:
        """Report this gap; why to stop, if there is a reason."""
        seconds = time.perf_counter() - self.begun
        return self.limits.check(Progress(n_iter, gap, self.tol, seconds, self.number))

    def quiet(self, n_iter: int) -> Limits:
        """What is left of the limits, without reports of steps on few rows."""
        left = self.limits.deduct(n_iter)
        left.callback = None
        return left


class _Sieve:
    """θ and the width μ on the way, and the best judged point."""

    def __init__(
        self, problem: DualQP, threads: TileThreads, n_threads: int | None, watch: _Watch
    ) -> None:
        self.problem, self.n_threads, self.watch, self.tol = problem, n_threads, watch, watch.tol
        n = problem.kernel.n_samples
        s, p, u = (values.reshape(-1, n) for values in (problem.s, problem.p, problem.u))
        products = problem.kernel.astype(np.float64).products  # type: ignore[attr-defined]
        self.rows = _Rows(products, (s, p, u), threads)
        self.n_iter = 0
        self.penalty = np.append(np.ones(products.n_features), 0.0)
        self.theta, self.mu = np.zeros(products.n_features + 1), 1.0
        self.best_a, self.best_f = np.zeros(problem.n_variables), np.zeros(n)
        self.best_gap, self.gap, self.bias = np.inf, np.inf, 0.0

    def run(self, start: Start) -> Status | None:
        """Until the judged point is within tol, or a limit is reached; None if it leads nowhere."""
        try:
            status = self._run(start)
        except KeyboardInterrupt:
            self.watch.limits.interrupt()
            status = Status.INTERRUPTED
        except (np.linalg.LinAlgError, FloatingPointError):
            return None
        if status not in (None, Status.OPTIMAL):
            self._conclude()
        return status

    def _check(self) -> Status | None:
        gap = min(self.best_gap, max(self.gap, 2.0 * self.tol))
        return self.watch.check(self.n_iter, gap)

    def _run(self, start: Start) -> Status | None:
        rows = self.rows
        if start is not None:
            a = self.problem.start(start.a)
            self._consider(a.reshape(rows.s.shape), rows.weigh(a.reshape(rows.s.shape)))
            if self.best_gap <= self.tol:
                return Status.OPTIMAL
        begun = start is not None and bool(self.best_a.any())
        if begun:
            bias = float(self.problem.bias(self.best_a, self.best_f))
            self.theta = np.append(rows.weigh(self.best_a.reshape(rows.s.shape))[:-1], bias)
            self.mu = max(self.tol, min(1.0, self.best_gap))
        else:
            reason = self._take_samples()
            if reason is not None:
                return reason
        kept = choose_kept(rows.n_samples, rows.n_features, rows.numbers_a_row)
        for least_steps in (0, 2, 2, 2):
            reason = self._step(rows, kept, 0.0, least_steps)
            if reason is not None:
                return reason
            found = self._sift(kept)
            if found is not None:
                return found if found is not Status.STALLED else None
            kept = min(2 * kept, rows.n_samples // 2)
        return None

    def _take_samples(self) -> Status | None:
        """Steps on samples, each larger than the one before."""
        rows, d = self.rows, self.rows.n_features
        random = np.random.default_rng(0)
        self.mu = max(self.tol, 2.0 * float(np.abs(rows.p).max()))
        m = max(_LEAST_SAMPLED, _SAMPLED_A_FEATURE * d)
        if _WORTH_SAMPLING * m > rows.n_samples:
            return None
        part = m // _PART_OF_FIRST
        if part >= _LEAST_PART:
            # All rows are within the first μ: few are enough for a step that is far from the end.
            reason = self._step(self._draw(part, random), 0, np.inf, 0)
            if reason is not None:
                return reason
            self.mu *= _SHRINK
        while _WORTH_SAMPLING * m <= rows.n_samples:
            sample = self._draw(m, random)
            if not (sample.s != sample.s[0, 0]).any():
                return None  # one class only
            reason = self._step(sample, 0, float(np.sqrt(d / m)), 0)
            if reason is not None:
                return reason
            m *= _GROWTH
        return None

    def _draw(self, m: int, random: np.random.Generator) -> _Rows:
        """Some of the rows, whose bounds stand for all."""
        chosen = np.sort(random.choice(self.rows.n_samples, m, replace=False))
        return self.rows.take(chosen, self.rows.n_samples / m)

    def _step(self, rows: _Rows, kept: int, known_to: float, least_steps: int) -> Status | None:
        """Steps on these rows until no more than `kept` are undecided, or r is known well enough
        for what they are a sample of. θ and `rows.r` are those of the last look."""
        move, decrement, length, careful = np.zeros_like(self.theta), 0.0, 0.0, False
        unit = float((rows.s * rows.p).std()) or 1.0
        for step in range(_MOST_STEPS):
            sums = rows.look(self.theta, self.mu)
            gradient = self.penalty * self.theta - sums.gradient
            reason = self._check()
            if reason is not None:
                return reason
            self.n_iter += 1
            turned = float(gradient @ move)
            if length > 0.0 and turned > 0.5 * decrement:
                # Too far: back to where the slope vanishes. Later steps find that place at once.
                shorter = self._find_length(rows, move, length, decrement)
                self.theta = self.theta - (length - shorter) * move
                length, careful = 0.0, True
                continue
            if not sums.weight > 0.0:  # no row is within μ
                self.mu, length = 4.0 * self.mu, 0.0
                continue
            factor = scaled_cholesky(sums.matrix, self.penalty)
            move = -scaled_solve(factor, gradient)
            decrement = max(0.0, -float(gradient @ move))
            known = float(np.sqrt(decrement / sums.weight))
            if not np.isfinite(known):
                raise FloatingPointError("A step is not finite.")
            self.gap = known
            if kept:
                width = _find_width(rows.r, kept)
                if step >= least_steps and width >= _DECIDED * known:
                    return None
            elif known <= _NEAR * self.mu and self.mu <= unit * known_to:
                self.theta = self.theta + move
                return None
            else:
                width = 0.0
            if careful:
                length = 0.0
                self.theta = self.theta + self._find_length(rows, move, 0.0, decrement) * move
            else:
                length = 1.0
                self.theta = self.theta + move
            if known <= _NEAR * self.mu:
                least = 0.5 * unit * known_to
                smaller = max(_SHRINK * self.mu, min(self.mu, width), least)
                if smaller < self.mu:
                    self.mu, length = smaller, 0.0
        return None

    def _find_length(self, rows: _Rows, move: Array, gone: float, decrement: float) -> float:
        """How far to go along a step, of which `gone` has been gone already: all of it, or to where
        the slope vanishes, which is −`decrement` at first. A look at rows is a line there, and has
        no matrix."""
        along = rows.along(move)
        r, u, mu = rows.r - gone * along, rows.u, self.mu
        flat = float(move @ (self.penalty * (self.theta - gone * move)))
        bend = float(move @ (self.penalty * move))
        t = high = 1.0 if gone == 0.0 else gone
        low, slope_low, slope_high = 0.0, -decrement, 0.0
        for trial in range(_TRIALS):
            a = u * np.clip(0.5 - (r + t * along) / (2.0 * mu), 0.0, 1.0)
            slope = flat + t * bend - float(np.vdot(a, along))
            if abs(slope) <= _LEVEL * decrement or (trial == 0 and slope <= 0.5 * decrement):
                break
            # Of an end that stays, the slope counts half: both ends are to move.
            if slope < 0.0:
                low, slope_low, slope_high = t, slope, 0.5 * slope_high
            else:
                high, slope_high = t, slope
                slope_low *= 0.5 if trial else 1.0
            share = slope_low / (slope_low - slope_high)
            t = low + min(0.95, max(0.05, share)) * (high - low)
        return t

    def _sift(self, kept: int) -> Status | None:
        """Solve for the nearest rows, look at all, keep what was decided wrongly, and so on. None
        where steps should go on from θ, STALLED where they would be of no use."""
        rows = self.rows
        distance = np.abs(rows.r).min(axis=0)
        near = np.zeros(rows.n_samples, dtype=bool)
        near[np.argpartition(distance, kept)[:kept]] = True
        full = rows.r <= 0
        a = np.where(full & ~near, rows.u, 0.0)
        fixed = rows.weigh(a)
        width = _SETTLED * self.mu
        guess = Guess.at(rows.r, width)
        by_guess = isinstance(rows.products, DenseProducts)
        for _ in range(_MOST_ROUNDS):
            chosen = np.flatnonzero(near)
            part = self._state(chosen, -float(fixed[-1]))
            if not has_room(part):
                return None
            own = self._settle(part, chosen, fixed, width, guess) if by_guess else None
            if own is None:
                by_guess = False
                own = self._solve_inside(part, chosen, fixed)
            a[:, chosen], bias = own
            weights = fixed + rows.take(chosen, 1.0).weigh(a[:, chosen])
            self._consider(a, weights)
            self.theta = np.append(weights[:-1], bias)
            if self.best_gap <= self.tol:
                return Status.OPTIMAL
            reason = self._check()
            if reason is not None:
                return reason
            r = rows.r + rows.s * (bias - self.bias)
            off = np.where(full, r, -r).max(axis=0)
            wrong = np.flatnonzero((off > _OUTER * self.tol) & ~near)
            if len(wrong) == 0:
                if not by_guess:
                    return Status.STALLED
                by_guess = False
                continue
            self.mu = max(self.tol, min(float(off[wrong].max()), self.mu))
            if len(wrong) > kept:
                return None
            fixed = fixed - rows.take(wrong, 1.0).weigh(a[:, wrong])
            near[wrong] = True
            guess.inside[:, wrong], width = True, 0.0
        return Status.STALLED

    def _settle(
        self, part: DualQP, chosen: Array, fixed: Array, width: float, guess: Guess
    ) -> tuple[Array, float] | None:
        """Dual variables of the kept rows and their bias, by steps from a guess that held with a μ
        of this width, and is revised; None where these do not get there."""
        rows, goal = self.rows, _LAST_WIDTH * self.tol
        s, p, u = (values[:, chosen] for values in (rows.s, rows.p, rows.u))
        table = np.ones((len(chosen), rows.n_features + 1))
        rows.products.subset(chosen).fill_rows(table[:, :-1])
        kept = RowsToSettle(table, s, p, u, fixed, self.penalty)
        if _ROUNDED * float(u.max()) * kept.longest > goal * self.tol:
            return None
        own = Guess(guess.inside[:, chosen], guess.full[:, chosen])
        limits = self.watch.quiet(self.n_iter)
        theta = kept.settle(self.theta, max(width, goal), goal, own, limits)
        self.n_iter += kept.n_iter
        if theta is None:
            return None
        guess.inside[:, chosen], guess.full[:, chosen] = own.inside, own.full
        a = np.where(own.inside, kept.bounded(kept.reach(theta), goal), np.where(own.full, u, 0.0))
        feasible = part.nearest_feasible(a.ravel())
        return None if feasible is None else (feasible.reshape(s.shape), float(theta[-1]))

    def _solve_inside(self, part: DualQP, chosen: Array, fixed: Array) -> tuple[Array, float]:
        """The same by interior points."""
        few = len(chosen) * self.rows.numbers_a_row <= _ONE_THREAD_NUMBERS
        n_threads = 1 if few else self.n_threads
        inner = InteriorPointSolver(_INNER * self.tol, n_threads=n_threads, pull=fixed[:-1])
        found = inner.solve(part, self._start(part, chosen), self.watch.quiet(self.n_iter))
        self.n_iter += found.n_iter
        return found.a.reshape(-1, len(chosen)), float(found.bias)

    def _start(self, part: DualQP, chosen: Array) -> Solution:
        """Where interior points begin on these rows: with a t = (u − a) ξ = ν, t − ξ = r, and ν
        such that this is as round at the kink as the steps' last losses were."""
        u, r = part.u, self.rows.r[:, chosen].ravel()
        width = _ROUNDNESS * self.mu * float(u.mean()) / u
        root = np.hypot(0.5 * r, width)
        t, xi = 0.5 * r + width + root, -0.5 * r + width + root
        share = xi / (t + xi)
        f = np.zeros(len(chosen))
        interior = (self.theta, share, np.stack([t, xi]))
        return Solution(share * u, f, 0.0, Status.STALLED, 0, 0.0, interior)

    def _state(self, chosen: Array, delta: float) -> DualQP:
        """The problem of some rows."""
        rows, n = self.rows, len(chosen)
        n_sides = len(rows.s)
        return DualQP(
            self.problem.kernel.subset(chosen),
            p=rows.p[:, chosen].ravel(),
            s=rows.s[:, chosen].ravel(),
            u=rows.u[:, chosen].ravel(),
            delta=delta,
            sample_of=None if n_sides == 1 else np.tile(np.arange(n), n_sides),
        )

    def choose_better(self, found: Solution) -> Solution:
        """What another solver found, or the best judged point where that is no better."""
        problem = self.problem
        if found.status is Status.OPTIMAL or not np.isfinite(self.best_gap):
            return found
        if problem.judge(found.a, found.f, found.bias).kkt_gap <= self.best_gap:
            return found
        a, f = self.best_a, self.best_f
        return replace(found, a=a, f=f, bias=problem.bias(a, f), interior=None)

    def _conclude(self) -> None:
        """A point for where θ is, which a limit has left there."""
        rows = self.rows
        rows.reach(self.theta)
        share = np.clip(0.5 - rows.r / (2.0 * self.mu), 0.0, 1.0)
        a = self.problem.nearest_feasible((rows.u * share).ravel())
        if a is not None:
            a = a.reshape(rows.s.shape)
            self._consider(a, rows.weigh(a))

    def _consider(self, a: Array, weights: Array) -> None:
        """Keep this feasible point, whose Σ z x̃ these are, if its KKT gap is the best so far;
        `rows.r` is left at it, with the bias that the problem gives it."""
        problem = self.problem
        theta = np.append(weights[:-1], 0.0)
        f = self.rows.reach(theta)
        a = problem.snap(a.ravel())
        self.bias = float(problem.bias(a, f))
        self.rows.r += self.rows.s * self.bias
        gap = problem.judge(a, f, self.bias).kkt_gap
        if gap < self.best_gap or not np.isfinite(self.best_gap):
            self.best_a, self.best_f, self.best_gap = a, f, gap


def choose_kept(n_samples: int, n_features: int, numbers_a_row: float | None = None) -> int:
    """How many rows are kept at first. Sparse ones may be so many that the matrix of interior
    points takes what its factors do."""
    affordable = _KEPT_FOR_LOOKS * n_samples // max(1, n_features)
    kept = max(_KEPT_A_FEATURE * n_features, min(_MOST_KEPT, affordable))
    if numbers_a_row is not None and numbers_a_row < n_features:
        free = int(n_features**3 / (3.0 * max(1.0, numbers_a_row) ** 2))
        kept = max(kept, min(free, _MOST_KEPT, n_samples // _KEPT_OF_SPARSE))
    return min(kept, n_samples // 2)


def _find_width(r: Array, kept: int) -> float:
    """The largest |r| of the nearest rows."""
    distance = np.abs(r).min(axis=0)
    return float(np.partition(distance, kept)[kept])
