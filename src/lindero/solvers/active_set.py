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
if they are unique. Its Cholesky factor gains and loses rows as F does (`growing_factor`).

Degenerate cases, without a ridge:

* F is empty and the sum must move: only b can, until a variable can leave its bound.
* The row of a variable about to be free depends on those of F (more free ones than the kernel has
  dimensions, equal samples). Then a direction of zero curvature leads from it into F, along which z
  moves and no r does: until the first of F meets a bound and leaves, or the variable has gone
  through to its other bound.
* Bounds of infinity (hard margins) rise without end; if nothing stops them there is no solution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from lindero.problems.dual_qp import DualQP
from lindero.runtime.arrays import Array
from lindero.runtime.threads import single_threaded_blas
from lindero.solvers.active_set_changes import INDEFINITE, LOST, BreakdownError, Motion
from lindero.solvers.active_set_motion import MovingPoint
from lindero.solvers.active_set_steps import AT_BOUND, AT_ZERO, violations
from lindero.solvers.solution import Limits, Solution, Solver, Status

#: Violations of the conditions that are left alone, as a share of the terms summed.
_ACCEPTED = 2e-14

#: The same for the condition of a new variable, whose bound may be large.
_MET = 4e-15

#: The same for what cannot be removed: more than this, and the path is lost.
_BEARABLE = 1e-9

#: Share of the largest bound below which a coefficient is nothing.
_DUST = 1e-14

#: Share of f that steps may have added by rounding before it is computed again.
_MOST_BLUR = 1e-10

#: Share of its bound by which a solver may miss it (interior points end inside).
_CORNER = 1e-5


class ActiveSet(MovingPoint):
    """The optimal point of a `DualQP` with `per_sample` variables for each sample of `kernel`."""

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
        if self.lost:
            raise BreakdownError(INDEFINITE)
        self._u_rate[variables] = bounds - self._u[variables]
        try:
            self.follow(variables, None, 0.0, 1.0, at_change)
        finally:
            self._u_rate[variables] = 0.0
        self._arrive(variables, bounds)
        self.settle()

    def withdraw(self, variables: Array, delta: float | None = None) -> None:
        """Move bounds to zero and leave the variables there, at zero."""
        self.begin_change()
        self._move_bounds(variables, np.zeros(len(variables)), delta)
        for k in np.flatnonzero(np.isin(self._free, variables))[::-1]:
            self.drop(int(k), AT_ZERO)
        self._a[variables] = 0.0
        self._state[variables] = AT_ZERO
        self._known_support = None
        self.settle()

    def _move_bounds(self, variables: Array, bounds: Array, delta: float | None) -> bool:
        """Whether anything had to move."""
        if self.lost:
            raise BreakdownError(INDEFINITE)
        if len(variables) and variables[0] < self._first_new * self.per_sample:
            self.begin_change()
        new = variables[self._u[variables] == 0.0]
        violating = self._residuals(new) < -_MET * self._sizes(new)
        self._state[new[violating]] = AT_BOUND
        state = self._state[variables]
        rising = (state == AT_BOUND) & np.isinf(bounds) & (self._u[variables] < np.inf)
        at_once = (state == AT_ZERO) | (np.isinf(bounds) & ~rising)
        self._u[variables[at_once]] = bounds[at_once]
        rest = ~(at_once | rising)
        moving, targets = variables[rest], bounds[rest]
        # From infinity: the bound is not felt anywhere above a.
        endless = np.isinf(self._u[moving])
        felt = np.maximum(self._a[moving], targets)
        self._u[moving[endless]] = felt[endless]
        self._u_rate[moving] = targets - self._u[moving]
        target = self.delta if delta is None else delta
        rate = target - self.delta
        if not (len(moving) or rate != 0.0 or rising.any()):
            return False
        self.begin_change()
        try:
            if len(moving) or rate != 0.0:
                with single_threaded_blas:
                    self.follow(moving, None, rate, 1.0)
        finally:
            self._u_rate[moving] = 0.0
        self._arrive(moving, targets)
        self.delta = target
        for variable in variables[rising]:
            self._rise(int(variable))
        return True

    def _arrive(self, moving: Array, bounds: Array) -> None:
        """Put bounds, and what is at them, exactly where they were to go."""
        self._u[moving] = bounds
        on_bound = moving[self._state[moving] == AT_BOUND]
        self._a[on_bound] = self._u[on_bound]

    def settle(self) -> None:
        """Remove what rounding has left of violations, and of coefficients that should be zero."""
        self._sweep()
        n = self.n_variables
        missed = np.empty(n)
        for _ in range(4):
            largest = self._violations(missed)
            excess = float((self.s * self.a).sum()) - self.delta
            if largest <= _ACCEPTED and abs(excess) <= _ACCEPTED * self._largest_coefficient:
                return
            p = self.p.copy()
            rate = np.zeros(len(self._a))
            rate[:n] = missed
            self._p[:n] -= missed
            self.delta += excess
            try:
                self.follow(np.empty(0, dtype=np.int64), rate, -excess, 1.0)
            finally:
                self._p[:n] = p
                self.delta -= excess
        if self._violations(missed) > _BEARABLE:
            raise BreakdownError(LOST)

    def refresh(self) -> None:
        """Compute f from scratch where the sum of many steps may have blurred it."""
        root = float(self._root[: self.n_samples].max(initial=0.0))
        if self.blur * root > _MOST_BLUR * max(1.0, root * self._length):
            self.begin_change()
            self._f[: self.n_samples] = self.exact_f()
            self.blur = 0.0
            self.settle()

    # -- from scratch -------------------------------------------------------------------------

    def solve_from(self, a: Array, solver: Solver, limits: Limits | None = None) -> Status:
        """Become the optimum for the bounds and the sum as they are, found by `solver` from near
        `a`; its tolerance does not matter much, since what it leaves is settled here."""
        taking_part = np.flatnonzero(self.u > 0.0)
        self._a[: self.n_variables] = 0.0
        status = Status.OPTIMAL
        if len(taking_part):
            problem = self._part(taking_part)
            start = Solution(a[taking_part], np.empty(0), 0.0, Status.OPTIMAL, 0, 0.0)
            solution = solver.solve(problem, start, limits)
            self._a[taking_part] = cornered(problem, solution.a)
            status = solution.status
        try:
            self._rebuild()
        except BreakdownError as error:
            # The point of the solver is all there is, and no path leads on from it.
            if len(taking_part):
                self._a[taking_part] = solution.a
            self._set_sides()
            self.lost = True
            proper = self.kernel.function.name in ("linear", "poly", "rbf")
            self.indefinite = str(error) == INDEFINITE and not proper
        return status

    def restate(self, s: Array, p: Array, u: Array) -> None:
        """Other signs, linear terms and bounds for all variables, while all are at zero."""
        assert not self.a.any()
        n = self.n_variables
        self.begin_change()
        self._s[:n], self._p[:n], self._u[:n] = s, p, u
        self._rebuild()

    def _part(self, variables: Array) -> DualQP:
        """The problem over some variables, those of whole samples."""
        whole = self.problem()
        if len(variables) == self.n_variables:
            return whole
        samples = np.unique(variables // self.per_sample)
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
        self.lost = self.indefinite = False
        inside = self._set_sides()
        still = Motion(self._free, None, 0.0, np.zeros(len(self._f)), 0.0, 0.0)
        for variable in np.flatnonzero(inside):
            self.join(int(variable), still)
        self.settle()

    def _set_sides(self) -> Array:
        """f, bias and sides of the variables for the coefficients as they are, none of them free;
        which of them are inside."""
        n = self.n_variables
        self._known_support = None
        self._f[: self.n_samples] = self.exact_f()
        self.blur = 0.0
        self.bias = float(self.problem().bias(self.a, self.f))
        self._free = np.empty(0, dtype=np.int64)
        inside: Array = (self.a > 0.0) & (self.a < self.u)
        self._state[:n] = np.where((self.a > 0.0) & ~inside, AT_BOUND, AT_ZERO)
        return inside

    # -- details ------------------------------------------------------------------------------

    def _sweep(self) -> None:
        """Put free variables within rounding of a bound on it."""
        dust = _DUST * self._largest_coefficient
        a = self._a[self._free]
        for k in np.flatnonzero((a < dust) & (a != 0.0))[::-1]:
            self.drop(int(k), AT_ZERO)
            self._known_support = None
        a, u = self._a[self._free], self._u[self._free]
        for k in np.flatnonzero((u - a < dust) & (a != u))[::-1]:
            self.drop(int(k), AT_BOUND)
            self._known_support = None

    def _violations(self, out: Array) -> float:
        n, per = self.n_variables, self.per_sample
        arrays = (self._state, self._s, self._p, self._u, self._f)
        length = self._length
        least = self._least_size(length)
        return float(violations(n, per, *arrays, self.bias, self._root, length, least, out))

    def _least_size(self, length: float) -> float:
        """What b is a sum of, by the free variable that tells most of it; and 1."""
        return max(1.0, self.free_root() * length)

    def worst_violation(self) -> float:
        """The largest violation of a condition, beside the size of the terms it is a sum of."""
        return self._violations(np.empty(self.n_variables))

    @property
    def _length(self) -> float:
        """(Σ a_j² K_jj)^½: what w would measure if samples were orthogonal, and what the rounding
        of a value Σ a_j K_ij is a share of, times √K_ii."""
        root = self._root[: self.n_samples]
        weighted = self.a * (root if self.per_sample == 1 else np.repeat(root, self.per_sample))
        return float(np.sqrt(weighted @ weighted))

    @property
    def _largest_coefficient(self) -> float:
        """The largest bound that is finite; if none is, the largest coefficient."""
        bounds = self.u[np.isfinite(self.u)]
        return float(max(bounds.max(initial=0.0), self.a.max(initial=0.0)))

    def _sizes(self, variables: Array) -> Array:
        """The size of the terms that r of some variables is a sum of."""
        length = self._length
        values = self._root[variables // self.per_sample] * length
        least = self._least_size(length)
        sizes: Array = np.maximum(np.maximum(least, np.abs(self._p[variables])), values)
        return sizes

    def _residuals(self, variables: Array) -> Array:
        f = self._f[variables // self.per_sample]
        r: Array = self._s[variables] * (f + self.bias) + self._p[variables]
        return r

    def _rise(self, variable: int) -> None:
        """Raise a bound until nothing holds the variable at it any more, then to infinity."""
        only = np.array([variable])
        met = self._residuals(only)[0] >= -_MET * self._sizes(only)[0]
        if self._u[variable] == 0.0 and met:
            # Others that rose before have met its condition.
            self._state[variable], self._u[variable] = AT_ZERO, np.inf
            return
        self._u_rate[variable] = 1.0
        try:
            self.follow(np.array([variable]), None, 0.0, np.inf)
        finally:
            self._u_rate[variable] = 0.0
        self._u[variable] = np.inf


def cornered(problem: DualQP, a: Array) -> Array:
    """A point near `a` with no more variables inside than needed: those close to a bound are put
    there, and the others make up for it."""
    bounds = np.where(np.isinf(problem.u), a.max(initial=0.0), problem.u)
    near = np.where(a <= _CORNER * bounds, 0.0, a)
    near = np.where(near >= (1.0 - _CORNER) * problem.u, problem.u, near)
    feasible = problem.nearest_feasible(near)
    return a if feasible is None else feasible
