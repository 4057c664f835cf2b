"""Dual coordinate descent on linear machines of many features: rows are visited, w is kept.

A linear `DualQP` with δ = 0 has one variable z_i for each sample (two of a regression are the two
sides of one), and w = Σ z_i x_i. With lower ≤ z ≤ upper, slopes q⁺ ≥ q⁻ of z above and below zero
and ridges d ≥ 0 (squared losses have them) it reads

    min_z  ½‖w‖² + ½ Σ d_i z_i² + Σ (q⁺_i max(0, z_i) + q⁻_i min(0, z_i))     s.t.  Σz = 0

(or without that sum, where there is no bias: β = σ = 0 then.)

The method of multipliers keeps the sum by a bias β and a proximal term σ:

    min_z  … + β Σz + ½ σ (Σz)²,      then   β ← β + σ Σz,      b = β + σ Σz on the way

With g = w·x_i + b + d_i z_i the best single step goes to where g + q + h (z' − z) = 0, h = ‖x_i‖² +
σ + d_i, or to the kink at zero, or to a bound. It costs one pass over the entries of x_i, and one
more where z_i moves. After the first epochs steps go beyond that point by a share of their length
(over-relaxation, under which the objective still falls), but over no kink or bound. β moves as soon
as what the sum is off (σ |Σz|, in units of g) is what holds the others up: then it, too, converges
with them. σ ties all rows to each other, as what they have in common does: it begins at about
‖x̄‖², and grows where the sum is slow.

Rows that have been at a bound (or at the kink) by more than the worst violation of the epoch before
are left out until the others are done. Rows far within the goal do not move, and the next epoch
passes them over: they are looked at every other time, as are rows whose violation is small beside
the worst, which is that of a few and takes most of the epochs. Each epoch visits the others in a
random order of its own, from a fixed seed, and asks for the next row's entries before it works on
the current one.

With bounds that are short beside 1/‖x‖² rows go to theirs at once, so that is where a problem of
even sides begins. If (nearly) all rows are at an end, no free row says what b is, and a sum that is
off by one row would move β slowly through all of its range: rows that are the first to leave their
ends, by the outputs there, go to the other end until the sum is zero, and b is theirs.

On free variables F the problem is a linear system, and where many are free, coordinates are slow
to solve it. So now and then conjugate gradients do, on

    (X_F X_Fᵀ + D_F + σ 1 1ᵀ) p = −g_F

The step to clip(z + p), or to the first bound on the way to z + p if that gains more, is then taken
as far as the objective falls; it is a convex problem, so all of that line is feasible. Both parts
see rows as they are given, in float32 or float64, without a copy; w and all sums are in float64.
(Only where many problems have the same sparse rows these are packed, see `kernels.packed_rows`.
What a row has alone is then a ridge, a part of d_i in all of this.)

All of it is one file, since each part goes on from where the others leave z, w and b. In the end
Σz = 0 is repaired, f = X w is computed (and w anew, where its rounding could matter or
many rows have moved), and the problem judges that point.
A point that it does not accept is where the next round begins, with a smaller goal.

C.-J. Hsieh et al., "A dual coordinate descent method for large-scale linear SVM", ICML 2008;
J. J. Moré and G. Toraldo, "On the solution of large quadratic programming problems with bound
constraints", SIAM Journal on Optimization 1(1), 1991.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lindero.errors import SolverError
from lindero.kernels.operator import KernelOperator, ProductKernel
from lindero.kernels.packed_rows import PackedRows
from lindero.kernels.products import SparseProducts
from lindero.kernels.special import RidgedKernel
from lindero.problems.dual_qp import ROUNDING, DualQP
from lindero.runtime.arrays import Array
from lindero.solvers.row_loops import SOME, add_rows, descend, put_products, put_squares
from lindero.solvers.solution import Limits, Progress, Solution, Solver, Start, Status

#: Entries of rows visited between two looks at the clock.
_ENTRIES_AT_ONCE = 20_000_000

#: Epochs before the first conjugate gradients, and between them.
_FIRST_EPOCHS, _EPOCHS_BETWEEN = 25, 8

#: Steps of conjugate gradients, and the share of the squared residual at which they end.
_CG_STEPS, _CG_SHARE = 15, 1e-2

#: Epochs after which a problem is left to others.
_MOST_EPOCHS = 3_000

#: Share of `tol` at which rows are first done.
_FIRST_GOAL = 0.5

#: w is summed anew for a point to be judged, unless one row of so many at the most has moved since
#: the epochs, and so few epochs have rounded it: then `tol` is this share of f at the least.
_FEW_MOVED, _MOST_EPOCHS_SUMMED, _DRIFT = 8, 100, 1e-9

#: Rounds without half the gap after which rounding is what is left of it.
_IDLE_ROUNDS = 6

#: The first proximal term: so many times the estimate of ‖x̄‖² from so many rows, but no less and no
#: more than these shares of the mean of ‖x‖².
_PROXIMAL_SHARE, _SAMPLED_ROWS, _LEAST_SHARE, _MOST_SHARE = 1.0, 500, 0.03, 1.0

#: How much larger it becomes after a point that is not accepted, up to the mean of ‖x‖²; and how
#: many times that it may have in the end.
_RAISE, _MOST_PROXIMAL = 4.0, 1e8

#: Bounds are short where a row at its own is within this share of a margin from where it was, sides
#: are even where one is this share of the other, and rows are at ends where one of so many is free.
_SHORT_REACH, _EVEN, _FEW_FREE = 0.5, 0.9, 20

#: What descent keeps of a row, in the columns of one array, which is one cache line.
_LOWER, _UPPER, _BELOW, _ABOVE, _RIDGE, _SQUARE, _Z, _WIDTH = 0, 1, 2, 3, 4, 5, 6, 8

#: Where it stands between calls: numbers and counts.
_BIAS, _SUM, _PROXIMAL, _WORST, _LEFT_OUT, _LAST_SUM, _USUAL = range(7)
_ACTIVE, _RANDOM, _EPOCHS = range(3)


@dataclass(frozen=True)
class LinearDescentSolver(Solver):
    """Solves a linear `DualQP` with δ = 0, of at most one variable of each sign a sample; after
    `most_epochs` it is left to others."""

    most_epochs: int = _MOST_EPOCHS

    def _solve(self, problem: DualQP, start: Start, limits: Limits, number: int) -> Solution:
        begun = time.perf_counter()
        descent = _CoordinateDescent(problem, self.tol, start, self.most_epochs)
        status = descent.run(limits, number, begun)
        a, f, w = descent.best_a, descent.best_f, descent.best_weights
        seconds = time.perf_counter() - begun
        statistics = {"conjugate_gradients": descent.n_faces}
        return Solution(
            a, f, problem.bias(a, f), status, descent.n_epochs, seconds,
            statistics=statistics, weights=w,
        )  # fmt: skip


@dataclass(frozen=True)
class LinearRows:
    """Rows as loops read them: entry k of row i is data[starts_i + k], its column indices[starts_i
    + k], or k itself where there are no indices. `squares` are the ‖x_i‖². Of packed rows (see
    `kernels.packed_rows`) they are those of S, without what is `packed.own`."""

    data: Array
    indices: Array
    starts: Array
    stops: Array
    n_features: int
    squares: Array
    packed: PackedRows | None = None

    @classmethod
    def of(cls, kernel: KernelOperator) -> Self:
        if isinstance(kernel, RidgedKernel):
            kernel = kernel.base
        if not (isinstance(kernel, ProductKernel) and kernel.function.name == "linear"):
            raise SolverError("Coordinate descent needs a linear kernel over features.")
        products = kernel.products
        width = products.n_features
        data: Any = products.source
        packed = products.packed if isinstance(products, SparseProducts) else None
        if packed is not None and len(packed.data):
            starts, stops = packed.pointers[:-1], packed.pointers[1:]
            read = packed.data, packed.indices, starts, stops
            return cls(*read, len(packed.columns), packed.squares, packed)
        if isinstance(products, SparseProducts):
            pointers = data.indptr.astype(np.int64, copy=False)
            # The loops take rows without indices for dense ones.
            indices: Array = data.indices if len(data.indices) else np.zeros(1, dtype=np.int32)
            data = data.data if len(data.indices) else np.zeros(1)
            indices = indices.astype(np.int32, copy=False)
            starts, stops = pointers[:-1], pointers[1:]
        else:
            rows = np.arange(products.n_samples) if products.rows is None else products.rows
            if products.shift is not None:  # far from their origin, rows are all but the same
                data, rows = products.tile(0, products.n_samples), np.arange(products.n_samples)
            data, indices = np.ascontiguousarray(data).ravel(), np.empty(0, dtype=np.int32)
            starts = rows.astype(np.int64) * width
            stops = starts + width
        if data.dtype not in (np.float32, np.float64):
            data = data.astype(np.float64)
        if products.dtype == np.float64:
            squares = products.squares  # which the kernel knows already
        else:
            squares = np.empty(len(starts))
            put_squares(data, starts, stops, squares)
        return cls(data, indices, starts, stops, width, squares)

    def times(self, w: Array, rows: Array) -> Array:
        """x_i·w of these rows."""
        out = np.empty(len(rows))
        put_products(self.data, self.indices, self.starts, self.stops, rows, w, out)
        return out

    def sum(self, c: Array, rows: Array, out: Array) -> Array:
        """out = Σ c_i x_i over these rows, into memory that is at hand: fresh pages cost as much as
        the sum."""
        out[:] = 0.0
        self.add(c, rows, out)
        return out

    def add(self, c: Array, rows: Array, out: Array) -> None:
        """out += Σ c_i x_i over these rows."""
        add_rows(self.data, self.indices, self.starts, self.stops, rows, c, out)


class _CoordinateDescent:
    """The iterate, and the best judged point found on the way."""

    def __init__(
        self, problem: DualQP, tol: float, start: Start, most_epochs: int = _MOST_EPOCHS
    ) -> None:
        if problem.group_sizes is not None or not problem.starts_at_zero:
            raise SolverError("Coordinate descent needs delta = 0.")
        self.problem, self.tol, self.most_epochs = problem, tol, most_epochs
        self.rows = LinearRows.of(problem.kernel)
        n = problem.kernel.n_samples
        self.all = np.arange(n, dtype=np.int32)
        self.ridge = np.zeros(n)
        if isinstance(problem.kernel, RidgedKernel):
            self.ridge = problem.kernel.ridge
        own = self.rows.packed.own if self.rows.packed is not None else 0.0
        self.ridge = self.ridge + own  # the columns that a row has alone are no more than that
        self.P = self._state_rows()
        self.w, self.spare = np.zeros(self.rows.n_features), np.zeros(self.rows.n_features)
        self.order = self.all.copy()
        mean_square = float(self.rows.squares.mean() + np.mean(own))
        self.mean_square = (mean_square or 1.0) if problem.has_bias else 0.0
        proximal = self._find_proximal() if problem.has_bias else 0.0
        self.numbers = np.array([0.0, 0.0, proximal, np.inf, np.inf, np.inf, self.mean_square])
        self.counts = np.array([n, 1, 0], dtype=np.int64)
        self.most_proximal = _MOST_PROXIMAL * self.mean_square
        self.n_faces = self.summed = 0
        self.best_a = problem.start(start.a if start is not None else None)
        self.best_f, self.best_gap = np.zeros(n), np.inf
        self.best_w: Array | None = None
        if start is None or not self.best_a.any():
            self.numbers[_BIAS] = best_bias(problem, self.best_f) if problem.has_bias else 0.0
            self._begin_at_bounds()
        elif len(start.f) == 0:  # where another problem ended: to be judged when it has moved
            z = problem.at_samples(problem.s * self.best_a)
            self.P[:, _Z] = z
            self.rows.sum(z, self.all, self.w)
            self.numbers[_BIAS], self.numbers[_SUM] = float(start.bias), float(z.sum())
            if problem.sample_of is None and problem.has_bias and self._is_at_ends(z):
                self._balance_ends()
        else:
            self._judge(self.best_a)
            self.numbers[_BIAS] = problem.bias(self.best_a, self.best_f)

    def _begin_at_bounds(self) -> None:
        """Where the first epoch would end, if bounds are short and sides are even: all rows at
        theirs."""
        problem = self.problem
        longest = self.mean_square + self.numbers[_PROXIMAL] + float(self.ridge.max(initial=0.0))
        if problem.sample_of is not None or not problem.has_bias or not (problem.p < 0.0).all():
            return
        if not float(problem.u.max(initial=0.0)) * longest <= _SHORT_REACH:
            return
        z = problem.s * problem.u
        sides = float(z.sum(where=z > 0.0)), -float(z.sum(where=z < 0.0))
        if not min(sides) >= _EVEN * max(sides):
            return
        self.P[:, _Z] = z
        self.rows.sum(z, self.all, self.w)
        self._balance_ends()

    def _is_at_ends(self, z: Array) -> bool:
        """Whether hardly a row is free."""
        free = (z != 0.0) & (z > self.P[:, _LOWER]) & (z < self.P[:, _UPPER])
        return _FEW_FREE * int(np.count_nonzero(free)) <= len(z)

    def _balance_ends(self) -> None:
        """Have Σz = 0 where (nearly) all rows are at ends, so that a sum that is off by one of them
        says nothing of β: those that are the first to leave theirs go to the other one."""
        P, problem = self.P, self.problem
        z = P[:, _Z].copy()
        f = self.rows.times(self.w, self.all) + self.ridge * z
        total = float(z.sum())
        if abs(total) > ROUNDING * float(np.abs(z).sum()):
            v = problem.scores(f)
            room = z - P[:, _LOWER] if total > 0.0 else P[:, _UPPER] - z
            order = np.argsort(-v if total > 0.0 else v, kind="stable")
            before = np.cumsum(room[order]) - room[order]
            moves = np.zeros(len(z))
            moves[order] = np.clip(abs(total) - before, 0.0, room[order])
            moves *= -np.sign(total)
            moved = self.all[moves != 0.0]
            P[:, _Z] = z = z + moves
            self.rows.add(moves[moved], moved, self.w)
            f = self.rows.times(self.w, self.all) + self.ridge * z
        a = problem.snap(problem.s * z)
        self._judge_at(a, f)
        self.numbers[_SUM], self.numbers[_BIAS] = float(z.sum()), problem.bias(a, f)

    @property
    def n_epochs(self) -> int:
        return int(self.counts[_EPOCHS])

    @property
    def best_weights(self) -> Array | None:
        """Those of the best point, for all columns."""
        packed, problem = self.rows.packed, self.problem
        if packed is None or self.best_w is None:
            return self.best_w
        z = problem.at_samples(problem.s * self.best_a)
        return packed.spread(self.best_w, z)

    def _state_rows(self) -> Array:
        """The terms of each sample, from those of its one or two variables."""
        problem, n = self.problem, self.problem.kernel.n_samples
        P = _aligned_rows(n)
        P[:, _RIDGE], P[:, _SQUARE] = self.ridge, self.rows.squares
        if problem.sample_of is None:
            sides = problem.s > 0
            P[:, _LOWER], P[:, _UPPER] = problem.lower, problem.upper
            P[:, _BELOW] = np.where(sides, -np.inf, problem.q)
            P[:, _ABOVE] = np.where(sides, problem.q, np.inf)
            return P
        P[:, _BELOW], P[:, _ABOVE] = -np.inf, np.inf
        for positive in (True, False):
            chosen = np.flatnonzero((problem.s > 0) == positive)
            owners = problem.sample_of[chosen]
            if len(owners) and np.bincount(owners).max() > 1:
                raise SolverError("Coordinate descent takes one variable of each sign a sample.")
            if positive:
                P[owners, _UPPER], P[owners, _ABOVE] = problem.u[chosen], problem.q[chosen]
            else:
                P[owners, _LOWER], P[owners, _BELOW] = -problem.u[chosen], problem.q[chosen]
        if (P[:, _ABOVE] < P[:, _BELOW]).any():
            raise SolverError("Coordinate descent needs p of a sample's variables to sum to ≥ 0.")
        return P

    def _find_proximal(self) -> float:
        """The first σ, about what rows have in common."""
        mean = self.mean_square
        chosen = self.all[:: max(1, len(self.all) // _SAMPLED_ROWS)]
        m = len(chosen)
        common = self.rows.sum(np.ones(m), chosen, self.spare)
        with np.errstate(over="ignore", invalid="ignore"):
            alone = float(self.rows.squares[chosen].sum())
            shared = (float(common @ common) - alone) / max(1, m * (m - 1))
            share = _PROXIMAL_SHARE * shared / mean
        return mean * (min(_MOST_SHARE, max(_LEAST_SHARE, share)) if np.isfinite(share) else 1.0)

    def _raise_proximal(self) -> None:
        """A larger σ, up to the mean of ‖x‖²: a point was good but for its sum, which a small one
        had not brought near enough to zero."""
        numbers = self.numbers
        larger = max(numbers[_PROXIMAL], min(_RAISE * numbers[_PROXIMAL], numbers[_USUAL]))
        numbers[_BIAS] += (larger - numbers[_PROXIMAL]) * numbers[_SUM]
        numbers[_PROXIMAL] = larger

    def _coefficients(self) -> Array:
        """The variables of the problem."""
        z, sample_of = self.P[:, _Z], self.problem.sample_of
        return np.asarray(
            np.maximum(0.0, self.problem.s * (z if sample_of is None else z[sample_of]))
        )

    def run(self, limits: Limits, number: int, begun: float) -> Status:
        """Epochs and faces until the judged gap is within tol, or a limit is reached."""
        if self.best_gap <= self.tol:
            return Status.OPTIMAL
        goal, idle, until_face = _FIRST_GOAL * self.tol, 0, _FIRST_EPOCHS
        entries = float((self.rows.stops - self.rows.starts).sum()) or 1.0
        at_once = max(1, int(_ENTRIES_AT_ONCE / entries))
        try:
            while True:
                seconds = time.perf_counter() - begun
                # The worst violation is infinite until rows have been seen.
                gap = min(self.best_gap, max(2 * self.tol, 2.0 * self.numbers[_WORST]))
                reason = limits.check(Progress(self.n_epochs, gap, self.tol, seconds, number))
                if reason is not None or self.n_epochs >= self.most_epochs:
                    self._finish()
                    found = Status.OPTIMAL if self.best_gap <= self.tol else reason
                    return found or Status.STALLED
                n_epochs = limits.steps_left(self.n_epochs, min(at_once, until_face))
                before = self.n_epochs
                done = self._descend(goal, n_epochs)
                until_face -= self.n_epochs - before
                if done:
                    before_gap = self.best_gap
                    gap = self._finish()
                    if self.best_gap <= self.tol:
                        return Status.OPTIMAL
                    self._raise_proximal()
                    if done == SOME:
                        continue
                    idle = 0 if self.best_gap <= 0.5 * before_gap else idle + 1
                    if idle == _IDLE_ROUNDS:
                        return Status.PRECISION
                    goal *= max(0.1, min(0.5, 0.5 * self.tol / gap))
                elif until_face <= 0:
                    until_face = _EPOCHS_BETWEEN
                    self._solve_face()
        except KeyboardInterrupt:
            limits.interrupt()
            self._finish()
            return Status.INTERRUPTED

    def _descend(self, goal: float, n_epochs: int) -> int:
        rows = self.rows
        return int(
            descend(
                rows.data, rows.indices, rows.starts, rows.stops, self.P, self.w, self.order,
                self.numbers, self.counts, goal, self.most_proximal, n_epochs,
            )
        )  # fmt: skip

    def _finish(self) -> float:
        """Repair the sum, and have the problem judge that point, which is the next one to go on
        from; its gap."""
        a = self.problem.nearest_feasible(self._fill_room(self._coefficients()))
        assert a is not None  # zero is feasible
        return self._judge(self.problem.snap(a))

    def _fill_room(self, a: Array) -> Array:
        """`a` with all free variables at their bounds where, but for rounding of the sum, these are
        what it asks for: moving all others a little instead would set thousands free."""
        problem = self.problem
        if not problem.has_bias:
            return a
        excess = float(problem.s @ a)
        falls = problem.s * excess > 0
        inside = (a > 0.0) & (a < problem.u)
        room = np.where(falls, a, problem.u - a)[inside]
        short = abs(excess) - float(room.sum())
        if 0.0 < short <= ROUNDING * float(a.sum()):
            a[inside] = np.where(falls, 0.0, problem.u)[inside]
        return a

    def _judge(self, a: Array) -> float:
        problem = self.problem
        z = problem.at_samples(problem.s * a)
        moves = z - self.P[:, _Z]
        self.P[:, _Z] = z
        f = self._follow(moves, z) + self.ridge * z
        off = float(z.sum()) - self.numbers[_SUM]
        self.numbers[_BIAS] += self.numbers[_PROXIMAL] * off
        self.numbers[_SUM] += off
        return self._judge_at(a, f)

    def _judge_at(self, a: Array, f: Array) -> float:
        """The same where w and f = K z are known."""
        gap = self.problem.judge(a, f).kkt_gap
        if gap < self.best_gap or not np.isfinite(self.best_gap):
            self.best_a, self.best_f, self.best_gap = a, f, gap
            # This ends the fit, and w stays as it is; of other points w is summed if it is wanted.
            self.best_w = self.w if gap <= self.tol else None
        return gap

    def _follow(self, moves: Array, z: Array) -> Array:
        """X w after these moves to z."""
        rows, moved = self.rows, self.all[moves != 0.0]
        few = _FEW_MOVED * len(moved) <= len(z)
        if few and self.n_epochs <= self.summed + _MOST_EPOCHS_SUMMED:
            rows.add(moves[moved], moved, self.w)
            f = rows.times(self.w, self.all)
            if self.tol > _DRIFT * float(np.abs(f).max()):
                return f
        rows.sum(z, self.all, self.w)
        self.summed = self.n_epochs
        return rows.times(self.w, self.all)

    def _solve_face(self) -> None:
        """A step towards the optimum over the free variables, with all others as they are."""
        P, rows, proximal = self.P, self.rows, self.numbers[_PROXIMAL]
        z = P[:, _Z]
        inside = (z > P[:, _LOWER]) & (z < P[:, _UPPER])
        inside &= (z != 0.0) | (P[:, _ABOVE] == P[:, _BELOW])
        free = self.all[inside]
        if len(free) < 2:
            return
        self.n_faces += 1
        z, ridge = z[free], self.ridge[free]
        slopes = np.where(z > 0, P[free, _ABOVE], P[free, _BELOW])
        g = rows.times(self.w, free) + self.numbers[_BIAS] + ridge * z + slopes

        def curve(p: Array) -> Array:
            """What a move by p adds to g."""
            w = rows.sum(p, free, self.spare)
            added: Array = rows.times(w, free) + ridge * p + proximal * float(p.sum())
            return added

        target = z + conjugate_gradients(curve, -g)
        kink = P[free, _ABOVE] != P[free, _BELOW]
        least = np.where(kink & (z > 0), 0.0, P[free, _LOWER])
        most = np.where(kink & (z < 0), 0.0, P[free, _UPPER])
        moves = [np.clip(target, least, most) - z]
        if not np.array_equal(z + moves[0], target):
            # Many at once may spoil what the system had balanced: perhaps only to the first bound.
            moves.append(move_to_first_bound(z, target, least, most))
        best = 0.0
        for move in moves:
            downhill, bend = -float(g @ move), float(move @ curve(move))
            share = min(1.0, downhill / bend) if bend > 0.0 else 1.0
            gain = share * downhill - 0.5 * share * share * bend
            if gain > best:
                best, chosen = gain, share * move
        if best == 0.0:
            return
        P[free, _Z] = np.clip(z + chosen, least, most)
        self.w += rows.sum(chosen, free, self.spare)
        moved = float(chosen.sum())
        self.numbers[_SUM] += moved
        self.numbers[_BIAS] += proximal * moved
        self.numbers[_LEFT_OUT] = np.inf


def _aligned_rows(n: int) -> Array:
    """Zeros for n rows, each of which is one cache line."""
    room = np.zeros((n + 1) * _WIDTH)
    first = (-room.ctypes.data // room.itemsize) % _WIDTH
    return np.asarray(room[first : first + n * _WIDTH].reshape(n, _WIDTH))


def best_bias(problem: DualQP, f: Array) -> float:
    """The bias of least loss for f = K z: a weighted median of the −q_i − f_i. Squared losses have
    no bound; there the rows count by what a unit of error costs."""
    weights = np.where(np.isinf(problem.u), 1.0, problem.u)
    bends = -problem.scores(f)
    falls, slack = float(weights[problem.s > 0].sum()), 1e-12 * float(weights.sum())
    ends = float(bends.min()), float(bends.max())
    is_first = bends == ends[0]
    if (is_first | (bends == ends[1])).all():  # where fits begin, without sorting
        slope = float(weights[is_first].sum()) - falls
        return 0.5 * (ends[int(slope < -slack)] + ends[int(slope <= slack)])
    order = np.argsort(bends, kind="stable")
    slopes = np.cumsum(weights[order]) - falls
    first = min(int(np.searchsorted(slopes, -slack)), len(order) - 1)
    last = min(int(np.searchsorted(slopes, slack, side="right")), len(order) - 1)
    return 0.5 * float(bends[order[first]] + bends[order[last]])


def move_to_first_bound(z: Array, target: Array, least: Array, most: Array) -> Array:
    """As far from z towards the target as all stay within their bounds; the first is put there."""
    move = target - z
    room = np.where(move > 0.0, most - z, z - least)
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = np.where(move == 0.0, np.inf, room / np.abs(move))
    first = int(np.argmin(lengths))
    move = min(1.0, float(lengths[first])) * move
    move[first] = (most if target[first] > z[first] else least)[first] - z[first]
    return np.asarray(move)


def conjugate_gradients(times: Any, r: Array) -> Array:
    """Some steps towards the solution of A p = r."""
    p, residual, direction = np.zeros_like(r), r.copy(), r.copy()
    size = first = float(r @ r)
    for _ in range(_CG_STEPS):
        image = times(direction)
        bend = float(direction @ image)
        if not bend > 0.0:
            break
        p += (size / bend) * direction
        residual -= (size / bend) * image
        before, size = size, float(residual @ residual)
        if size <= _CG_SHARE * first:
            break
        direction = residual + (size / before) * direction
    return p
