"""The optimum kept while the problem changes: one sample more, one less, another bound.

For the dual problem of `problems.dual_qp`, with r_i = s_i (f_i + b) + p_i and f = K z, z = s∗a,
each variable is at zero (r ≥ 0), at its bound (r ≤ 0) or free (r = 0). Let bounds u, the linear
term p and the sum δ move along a straight line, t from 0 to 1. Variables at their bounds move with
them, and the free ones F so that all conditions go on to hold:

    K_FF ż_F + ḃ = − K_FB ż_B − s∗ṗ_F          Σż_F = δ̇ − Σż_B

until a free variable meets a bound, or r of one at a bound reaches 0. Then it changes sides and the
motion goes on: finitely many straight pieces, each exact. Everything is such a motion:

    a new sample        its bound rises from zero             (nothing moves if its r ≥ 0)
    a forgotten one     its bound falls to zero
    another cost        its bound moves; the whole path in C: all bounds move
    ν-machines          δ moves with the bound
    rounding            p is changed by what the conditions miss, so that they hold, and moves back

K_FF + κ 1 1ᵀ has the same solutions up to ḃ, since Σż_F is known, and is positive definite exactly
if they are unique. Its Cholesky factor gains and loses rows as F does (`factor`).

Degenerate cases, without a ridge:

* F is empty and the sum must move: only b can, until a variable can leave its bound.
* The row of a variable about to be free depends on those of F (more free ones than the kernel has
  dimensions, equal samples). Then a direction of zero curvature leads from it into F, along which z
  moves and no r does: until the first of F meets a bound and leaves, or the variable has gone
  through to its other bound.
* Bounds of infinity (hard margins) rise without end; if nothing stops them there is no solution.

Motions and what removes their rounding change one state by turns, and stand in one file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np

from lindero.kernels.growing import GrowingKernel
from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, compiled
from lindero.runtime.threads import single_threaded_blas
from lindero.solvers.active_set.motion import (
    BREAKDOWNS,
    INDEFINITE,
    LOST,
    VIOLATED,
    BreakdownError,
    Motion,
    look_around,
)
from lindero.solvers.active_set.point import AT_BOUND, AT_ZERO, FREE, Point, SavedPoint
from lindero.solvers.solution import Limits, Solution, Solver, Status

#: Violations of the conditions that are left alone, as a share of the terms summed.
_ACCEPTED = 2e-14

#: The same for the condition of a new variable, whose bound may be large.
_MET = 4e-15

#: The same for what cannot be removed: more than this, and the path is lost.
_BEARABLE = 1e-9

#: Violations up to this, of rounding or of a solver, are refined at first, and how often.
_REFINABLE, _MOST_REFINEMENTS = 1e-6, 3

#: Share of the largest coefficient below which one is nothing.
_DUST = 1e-14

#: Share of f that steps may have added by rounding before it is computed again.
_MOST_BLUR = 1e-10

#: What a value may be off by without being put right at once.
_ROUNDING = 1e-14

#: Coefficients up to this many are moved at once with their columns.
_FEW_CHANGES = 64

#: Share of its bound by which a solver may miss it (interior points end inside).
_CORNER = 1e-5


class ActiveSet:
    """The optimal point of a `DualQP` with `per_sample` variables for each sample of `kernel`.

    What it holds is in `point`, to be looked at; these methods change it.
    """

    def __init__(self, kernel: GrowingKernel, per_sample: int = 1, delta: float = 0.0) -> None:
        self.point = Point(kernel, per_sample, delta)
        self.remember()

    def state(self) -> dict[str, Any]:
        """What is saved of the optimum."""
        return self.point.state()

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The optimum as it was saved."""
        active_set = cls.__new__(cls)
        active_set.point = Point.from_state(state)
        active_set.remember()
        return active_set

    def worst_violation(self) -> float:
        """The largest violation of a condition, beside the size of the terms it is a sum of."""
        return self._find_violations(np.empty(self.point.n_variables))

    # -- going back ---------------------------------------------------------------------------

    def remember(self) -> None:
        """Be ready to undo what follows, up to the next call. New samples alone are undone without
        a copy of the others."""
        self._first_new = self.point.n_samples
        self._before: SavedPoint | None = None
        self._origin_before: tuple[Array, Array] | None = None

    def _begin_change(self) -> None:
        """Variables of samples held before are about to change."""
        if self._before is None:
            self._before = self.point.save(with_factor=False)

    def undo(self) -> None:
        """As at the last `remember`."""
        if self._origin_before is not None:
            self.point.move_origin(*self._origin_before)
        if self._before is not None:
            self.point.restore(self._before)
        self.point.truncate(self._first_new)
        self.point.u_rate[:] = 0.0
        self._before = self._origin_before = self.point.around = None

    @contextmanager
    def try_out(self, often: bool) -> Iterator[Callable[[], None]]:
        """Try changes, and come back to this point at the end; what is yielded does so at once.
        With `often` there is more to keep, and less to do each time."""
        here = self.point.save(with_factor=often)
        try:
            with single_threaded_blas:
                yield lambda: self.point.restore(here)
        finally:
            self.point.restore(here)
            self.point.around = None

    def look_around(self, count: int) -> None:
        """Get ready for many changes from this very point: find the variables that may come to the
        margin, some `count` of them, and their columns, once for all."""
        point, kernel, per = self.point, self.point.kernel, self.point.per_sample
        if len(point.free) and kernel.fetch(point.free // per):
            around = look_around(point, count)
            near = np.concatenate([around.near[: around.n_near], point.free])
            kernel.fetch(np.unique(near // per))
            point.around = around

    # -- motions ------------------------------------------------------------------------------

    def set_bounds(self, variables: Array, bounds: Array, delta: float | None = None) -> None:
        """Move the bounds of some variables, and the sum, to other values."""
        if self._move_bounds(variables, bounds, delta):
            self.settle()

    def scale_bounds(
        self, variables: Array, bounds: Array, at_change: Callable[[float], None]
    ) -> None:
        """Move bounds, all finite and positive, evenly to others; `at_change` is called with the
        share of the way after each change of the active set."""
        point = self.point
        if point.lost:
            raise BreakdownError(INDEFINITE)
        point.u_rate[variables] = bounds - point.u[variables]
        try:
            Motion(point, variables).follow(1.0, at_change)
        finally:
            point.u_rate[variables] = 0.0
        self._arrive(variables, bounds)
        self.settle()

    def withdraw(self, variables: Array, delta: float | None = None) -> None:
        """Move bounds to zero and leave the variables there, at zero."""
        point = self.point
        self._begin_change()
        self._move_bounds(variables, np.zeros(len(variables)), delta)
        if np.count_nonzero(point.sides[variables] == FREE):
            self._drop(np.isin(point.free, variables), AT_ZERO)
        point.a[variables] = 0.0
        point.sides[variables] = AT_ZERO
        point.known_support = None
        self.settle()

    def _move_bounds(self, variables: Array, bounds: Array, delta: float | None) -> bool:
        """Whether anything had to move."""
        point = self.point
        if point.lost:
            raise BreakdownError(INDEFINITE)
        if len(variables) and variables[0] < self._first_new * point.per_sample:
            self._begin_change()
        new = variables[point.u[variables] == 0.0]
        violating = self._residuals(new) < -_MET * self._sizes(new)
        point.sides[new[violating]] = AT_BOUND
        sides = point.sides[variables]
        rising = (sides == AT_BOUND) & np.isinf(bounds) & (point.u[variables] < np.inf)
        at_once = (sides == AT_ZERO) | (np.isinf(bounds) & ~rising)
        point.u[variables[at_once]] = bounds[at_once]
        rest = ~(at_once | rising)
        moving, targets = variables[rest], bounds[rest]
        # From infinity: the bound is not felt anywhere above a.
        endless = np.isinf(point.u[moving])
        felt = np.maximum(point.a[moving], targets)
        point.u[moving[endless]] = felt[endless]
        point.u_rate[moving] = targets - point.u[moving]
        target = point.delta if delta is None else delta
        rate = target - point.delta
        if not (len(moving) or rate != 0.0 or rising.any()):
            return False
        self._begin_change()
        try:
            if len(moving) or rate != 0.0:
                Motion(point, moving, None, rate).follow(1.0)
        finally:
            point.u_rate[moving] = 0.0
        self._arrive(moving, targets)
        point.delta = target
        for variable in variables[rising]:
            self._rise(int(variable))
        return True

    def _arrive(self, moving: Array, bounds: Array) -> None:
        """Put bounds, and what is at them, exactly where they were to go."""
        point = self.point
        point.u[moving] = bounds
        on_bound = moving[point.sides[moving] == AT_BOUND]
        if len(on_bound) == 0:
            return
        changes = point.s[on_bound] * (point.u[on_bound] - point.a[on_bound])
        point.a[on_bound] = point.u[on_bound]
        if not np.count_nonzero(changes):
            return
        samples = on_bound // point.per_sample
        blur = float(np.abs(changes) @ point.root[samples])
        if blur * float(point.root.max()) <= _ROUNDING or len(changes) > _FEW_CHANGES:
            point.blur += blur  # left to `refresh`, should it matter
        else:
            point.kernel.add_columns(samples, changes, point.f)

    def _rise(self, variable: int) -> None:
        """Raise a bound until nothing holds the variable at it any more, then to infinity."""
        point, only = self.point, np.array([variable])
        met = self._residuals(only)[0] >= -_MET * self._sizes(only)[0]
        if point.u[variable] == 0.0 and met:
            # Others that rose before have met its condition.
            point.sides[variable], point.u[variable] = AT_ZERO, np.inf
            return
        point.u_rate[variable] = 1.0
        try:
            Motion(point, only).follow(np.inf)
        finally:
            point.u_rate[variable] = 0.0
        point.u[variable] = np.inf

    # -- rounding -----------------------------------------------------------------------------

    def settle(self) -> None:
        """Remove what rounding has left of violations, and of coefficients that should be zero."""
        self._sweep()
        point = self.point
        missed = np.empty(point.n_variables)
        for _ in range(_MOST_REFINEMENTS):
            largest = self._find_violations(missed)
            if not _ACCEPTED < largest <= _REFINABLE or not self._refine(missed):
                break
        for _ in range(4):
            largest = self._find_violations(missed)
            excess = float((point.s * point.a).sum()) - point.delta
            if not (largest < np.inf and abs(excess) < np.inf):
                raise BreakdownError(LOST)
            if largest <= _ACCEPTED and abs(excess) <= _ACCEPTED * self._largest_coefficient:
                return
            p, steps = point.p.copy(), point.steps
            point.p -= missed
            point.delta += excess
            try:
                Motion(point, p_rate=missed, delta_rate=-excess).follow(1.0)
            finally:
                point.p[:] = p
                point.delta -= excess
                if largest <= VIOLATED:  # else it went on with variables that were left out
                    point.corrections += point.steps - steps
                    point.steps = steps
        excess = float((point.s * point.a).sum()) - point.delta
        met = abs(excess) <= _BEARABLE * self._largest_coefficient
        if not (met and self._find_violations(missed) <= _BEARABLE):
            raise BreakdownError(LOST)

    def _refine(self, missed: Array) -> bool:
        """Solve once more for what the free variables miss, and move by that, without stopping
        where others reach their margin: these would be within rounding of it still. Whether no
        free variable would meet a bound."""
        point, free = self.point, self.point.free
        if len(free) == 0:
            return False
        excess = float((point.s * point.a).sum()) - point.delta
        samples = free // point.per_sample
        z_change, bias_change = Motion(point).find_rates(missed, samples, -excess)
        a = point.a[free] + point.s[free] * z_change
        if not ((a > 0.0) & (a < point.u[free])).all() or not abs(bias_change) < np.inf:
            return False
        point.a[free] = a
        point.kernel.add_columns(samples, z_change, point.f)
        point.bias += bias_change
        point.known_support = None
        point.corrections += 1
        return True

    def refresh(self) -> None:
        """Compute f from scratch where the sum of many steps may have blurred it."""
        point = self.point
        for _ in range(4):
            root = float(point.root.max(initial=0.0))
            if point.blur * root <= _MOST_BLUR * max(1.0, root * self._length):
                return
            self._begin_change()
            point.f[:] = point.exact_f()
            point.blur = 0.0
            self.settle()
        # Settling blurs as much again.
        raise BreakdownError(LOST)

    def _sweep(self) -> None:
        """Put free variables within rounding of a bound on it."""
        point, dust = self.point, _DUST * self._largest_coefficient
        a = point.a[point.free]
        self._drop((a < dust) & (a != 0.0), AT_ZERO)
        a, u = point.a[point.free], point.u[point.free]
        self._drop((u - a < dust) & (a != u), AT_BOUND)

    def _drop(self, leaving: Array, side: int) -> None:
        """Some of the free variables are at a bound from now on, none of which moves; f follows
        what they move by to get there."""
        places = np.flatnonzero(leaving)
        if len(places) == 0:
            return
        point = self.point
        variables = point.free[places]
        before = point.a[variables]
        still = Motion(point)
        for k in places[::-1]:
            still.drop(int(k), side)
        changes = point.s[variables] * (point.a[variables] - before)
        if changes.any():
            point.kernel.add_columns(variables // point.per_sample, changes, point.f)
        point.known_support = None

    def _find_violations(self, out: Array) -> float:
        point, n = self.point, self.point.n_variables
        arrays = (point.sides, point.s, point.p, point.u, point.f)
        length = self._length
        least = self._least_size(length)
        return float(
            violations(n, point.per_sample, *arrays, point.bias, point.root, length, least, out)
        )

    @property
    def _length(self) -> float:
        """(Σ a_j² K_jj)^½: what w would measure if samples were orthogonal, and what the rounding
        of a value Σ a_j K_ij is a share of, times √K_ii."""
        point = self.point
        root = point.root
        weighted = point.a * (root if point.per_sample == 1 else np.repeat(root, point.per_sample))
        return float(np.sqrt(weighted @ weighted))

    def _least_size(self, length: float) -> float:
        """What b is a sum of, by the free variable that tells most of it; and 1, the margin, where
        there is one: with a sum to meet, there is none."""
        point = self.point
        least = 1.0 if point.delta == 0.0 else 0.0
        if len(point.free) == 0:
            return least or float(point.root.max(initial=0.0)) * length
        return max(least, float(point.root[point.free // point.per_sample].min()) * length)

    @property
    def _largest_coefficient(self) -> float:
        """What coefficients are compared with: bounds may be larger by any factor."""
        return float(self.point.a.max(initial=0.0))

    def _sizes(self, variables: Array) -> Array:
        """The size of the terms that r of some variables is a sum of."""
        point, length = self.point, self._length
        values = point.root[variables // point.per_sample] * length
        least = self._least_size(length)
        sizes: Array = np.maximum(np.maximum(least, np.abs(point.p[variables])), values)
        return sizes

    def _residuals(self, variables: Array) -> Array:
        point = self.point
        f = point.f[variables // point.per_sample]
        r: Array = point.s[variables] * (f + point.bias) + point.p[variables]
        return r

    # -- from scratch -------------------------------------------------------------------------

    def place_bounds(self, variables: Array, bounds: Array | float) -> None:
        """Other bounds, without a motion: `solve_from` is to follow."""
        self._begin_change()
        self.point.u[variables] = bounds

    def place_sum(self, delta: float) -> None:
        """The same for the sum."""
        self._begin_change()
        self.point.delta = delta

    def solve_from(self, a: Array, solver: Solver, limits: Limits | None = None) -> None:
        """Become the optimum for the bounds and the sum as they are, found by `solver` from near
        `a`; its tolerance does not matter much, since what it leaves is settled here."""
        point = self.point
        taking_part = np.flatnonzero(point.u > 0.0)
        point.a[:] = 0.0
        if len(taking_part):
            problem = self.restrict(taking_part)
            start = Solution(a[taking_part], np.empty(0), 0.0, Status.OPTIMAL, 0, 0.0)
            solution = solver.solve(problem, start, limits)
            point.a[taking_part] = move_to_corner(problem, solution.a)
        try:
            self._rebuild()
        except BREAKDOWNS as error:
            # The point of the solver is all there is, and no path leads on from it.
            if len(taking_part):
                point.a[taking_part] = solution.a
            self._set_sides()
            point.lost = True
            proper = point.kernel.function.name in ("linear", "poly", "rbf")
            point.indefinite = str(error) == INDEFINITE and not proper

    def move_origin(self, shift: Array, wiped: Array) -> None:
        """Take rows relative to another origin, but those of slots that were wiped: `solve_from`
        is to follow, unless only differences of rows count."""
        self._begin_change()
        assert self.point.kernel.shift is not None
        self._origin_before = (self.point.kernel.shift, wiped)
        self.point.move_origin(shift, wiped)

    def restate(self, variables: Array, s: Array, p: Array) -> None:
        """Other signs and linear terms for variables that are at zero, of bound zero."""
        self._begin_change()
        self.point.s[variables], self.point.p[variables] = s, p

    def restate_all(self, s: Array, p: Array, u: Array) -> None:
        """Other signs, linear terms and bounds for all variables, while all are at zero."""
        point = self.point
        assert not point.a.any()
        self._begin_change()
        point.s[:], point.p[:], point.u[:] = s, p, u
        self._rebuild()

    def restrict(self, variables: Array) -> DualQP:
        """The problem over some variables, those of whole samples."""
        whole = self.point.problem()
        if len(variables) == whole.n_variables:
            return whole
        samples = np.unique(variables // self.point.per_sample)
        return replace(
            whole,
            kernel=whole.kernel.subset(samples),
            p=whole.p[variables],
            s=whole.s[variables],
            u=whole.u[variables],
            sample_of=None
            if whole.sample_of is None
            else np.searchsorted(samples, whole.sample_of[variables]),
        )

    def _rebuild(self) -> None:
        """The active set of a point, and its factor; then the optimum nearby."""
        point, steps = self.point, self.point.steps
        point.lost = point.indefinite = False
        inside = self._set_sides()
        still = Motion(point)
        for variable in np.flatnonzero(inside):
            still.join(int(variable))
        try:
            self.settle()
            self.refresh()
        finally:  # all of it removes what the solver has left
            point.corrections += point.steps - steps
            point.steps = steps

    def _set_sides(self) -> Array:
        """f, bias and sides of the variables for the coefficients as they are, none of them free;
        which of them are inside."""
        point = self.point
        point.known_support = None
        point.f[:] = point.exact_f()
        point.blur = 0.0
        point.bias = float(point.problem().bias(point.a, point.f))
        point.free = np.empty(0, dtype=np.int64)
        inside: Array = (point.a > 0.0) & (point.a < point.u)
        point.sides[:] = np.where((point.a > 0.0) & ~inside, AT_BOUND, AT_ZERO)
        return inside


def move_to_corner(problem: DualQP, a: Array) -> Array:
    """A point near `a` with no more variables inside than needed: those close to a bound are put
    there, and the others make up for it."""
    bounds = np.minimum(problem.u, a.max(initial=0.0))
    near = np.where(a <= _CORNER * bounds, 0.0, a)
    near = np.where(near >= (1.0 - _CORNER) * problem.u, problem.u, near)
    feasible = problem.nearest_feasible(near)
    return a if feasible is None else feasible


@compiled(EXACT)
def violations(  # type: ignore[no-untyped-def]
    n, per, state, s, p, u, f, b, root, length, least_size, out
):
    """out_i = what must be taken from r_i for the conditions to hold; returns the largest, beside
    the size of the terms that r_i is a sum of: `least_size`, p_i, and √K_ii times the `length` of
    w. Infinite where something is no number."""
    largest = 0.0
    for i in range(n):
        out[i] = 0.0
        if state[i] != FREE and u[i] == 0.0:
            continue
        r = s[i] * (f[i // per] + b) + p[i]
        if state[i] == FREE or state[i] * r > 0.0:
            out[i] = r
            size = max(least_size, abs(p[i]), root[i // per] * length, 1e-300)
            if not (abs(r) < np.inf and size < np.inf):
                return np.inf
            largest = max(largest, abs(r) / size)
    return largest
