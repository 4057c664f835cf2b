"""One straight motion of what is given, and the optimum following it from change to change.

The mathematics is at the top of `solvers.active_set.engine`. A motion goes on in two ways:

* In compiled code, over the variables that are likely to take part. Most are so far from the margin
  that no single update moves them there. They are left out: their f is brought up to date once, at
  the end, by the changes of z. What is left are the free variables, whose r is 0 throughout, and
  some near ones, for which a block K(free, near) is kept. Nothing is lost by that. The conditions
  at the end decide, not the way there: where one that was left out is found to be violated, its r
  is corrected as rounding is (`ActiveSet.settle`), by one more motion. Variables at moving bounds
  are always looked at: a motion that went past where one of them is met would take a long way back.
* Step by step over all variables, for what needs more than arrays at hand: columns that are not
  kept, directions of zero curvature, an empty set of free variables.

Both are in this one file, longer than others: they are the same mathematics, and change together.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from lindero.errors import SolverError
from lindero.kernels.blocks import kernel_product
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, FAST, compiled
from lindero.runtime.threads import TileThreads
from lindero.solvers.active_set.factor import SPARE, append_column, backward, forward, remove_column
from lindero.solvers.active_set.point import AT_BOUND, AT_ZERO, FREE, Neighbourhood, Point

#: Share of its diagonal entry below which a row depends on others.
_DEPENDENT = 1e-13

#: The same below zero: no kernel matrix has such directions.
_NEGATIVE = -1e-9

#: Share of the terms summed below which a rate is rounding.
_ROUNDING = 1e-14

#: Steps of length zero in a row that are taken for going round in circles.
_MOST_STANDSTILLS = 2_000

#: Steps of a motion, many times what is ever needed.
_FEWEST_STEPS, _STEPS_PER_VARIABLE = 1_000, 20

#: Share of a motion that may be lost to rounding at its end, where the last variable that could
#: move meets its bound.
_LAST_BIT = 1e-9

#: Variables that a motion looks at first.
_FEWEST_NEAR, _SHARE_NEAR = 512, 16

#: Violations beyond this are not rounding: such variables are left to `ActiveSet.settle`.
VIOLATED = 1e-9

#: Variables at moving bounds whose columns are fetched one by one.
_FEW_DRIVERS = 4

#: Why a compiled run ended.
_ARRIVED, _NO_ROOM, _TO_JOIN, _NO_FREE, _CIRCLES = 0, 1, 2, 3, 4

INDEFINITE = "The kernel is not positive semi-definite on these samples."
LOST = "Rounding in double precision hides the path to the optimum."
NOT_FEASIBLE = "No feasible point: sᵀa = δ cannot be met within 0 ≤ a ≤ u."

_NONE = np.empty(0, dtype=np.int64)


class BreakdownError(SolverError):
    """The path cannot be followed (rounding, or a kernel that is none): solve from scratch."""


#: What ends a motion: compiled code divides by zero where a factor has lost all its digits.
BREAKDOWNS = (BreakdownError, ZeroDivisionError)


class UnboundedError(SolverError):
    """A bound rose without end: the problem with infinite bounds has no solution."""


class Motion:
    """Rates of everything that is given, and what variables at moving bounds do to f.

    Bounds of the variables `moving` go at the rates `point.u_rate`, p and the sum at theirs.
    """

    def __init__(
        self,
        point: Point,
        moving: Array = _NONE,
        p_rate: Array | None = None,
        delta_rate: float = 0.0,
    ) -> None:
        self.point = point
        self.moving = moving
        self.p_rate = p_rate
        self.delta_rate = delta_rate
        self.pace = max(abs(delta_rate), float(np.abs(point.u_rate[moving]).max(initial=0.0)))
        self.sums = max(self.pace, abs(point.delta))  # what the rates of sums are differences of
        self.drive = np.zeros(len(point.f))
        self.n_drivers = 0
        self.drive_total = 0.0
        self.standstills = 0
        self.joined = self.banned = -1

    # -- from change to change ----------------------------------------------------------------

    def follow(self, t_end: float, at_change: Callable[[float], None] | None = None) -> None:
        """Go on until t = `t_end`; for an infinite end, until the first of `moving` has left its
        bound. `at_change` is called with t after each step."""
        point = self.point
        point.known_support = None
        self._drive(self.moving[point.sides[self.moving] == AT_BOUND])
        t = 0.0
        last = point.steps + _FEWEST_STEPS + _STEPS_PER_VARIABLE * point.n_variables
        compiled = self.p_rate is None and at_change is None and np.isfinite(t_end)
        if not compiled:
            point.around = None
        while t < t_end:
            if point.steps > last:
                raise BreakdownError(LOST)
            if np.isinf(t_end) and point.sides[self.moving[0]] != AT_BOUND:
                return
            if compiled and len(point.free) and point.kernel.fetch(point.free // point.per_sample):
                t += self._run(t_end - t, last)
                if t >= t_end:
                    return
                if len(point.free):
                    continue
            total = self.delta_rate - self.drive_total
            if abs(total) <= _ROUNDING * self.sums:
                total = 0.0
            if len(point.free) == 0 and total != 0.0:
                if not self._move_bias(-np.sign(total)):
                    if t_end - t > _LAST_BIT:
                        raise BreakdownError(NOT_FEASIBLE)
                    return
                last -= 1  # it is no step, but no endless matter either
                continue
            t += self._step(total, t_end - t)
            if at_change is not None:
                at_change(min(t, t_end))
            if self.standstills > 2 and t_end - t <= _LAST_BIT:
                return

    def _drive(self, drivers: Array) -> None:
        """What variables at moving bounds do to f."""
        point = self.point
        weights = point.s[drivers] * point.u_rate[drivers]
        samples = drivers // point.per_sample
        self.n_drivers, self.drive_total = len(drivers), float(weights.sum())
        if len(drivers) <= _FEW_DRIVERS:
            for sample, weight in zip(samples, weights, strict=True):
                self.drive += weight * point.kernel.column(int(sample))
            return
        z = np.bincount(samples, weights=weights, minlength=point.n_samples)
        with TileThreads() as threads:
            self.drive[:] = kernel_product(point.kernel.operator, z, threads)

    def _push(self, variable: int, sign: float) -> None:
        """A variable comes to (or leaves) a bound that may be moving."""
        point = self.point
        rate = sign * float(point.s[variable] * point.u_rate[variable])
        if rate != 0.0:
            column = point.kernel.column(variable // point.per_sample)
            self.drive += rate * column
            self.drive_total += rate
            self.n_drivers += 1 if sign > 0 else -1
            if self.n_drivers == 0:
                self.drive[:] = 0.0
                self.drive_total = 0.0

    def _move_bias(self, direction: float) -> bool:
        """No variable is free, and the sum must move: b goes to where one can leave its bound.
        Whether there is such a variable."""
        point = self.point
        still = np.zeros(len(point.f))
        step, found = first_to_leave_bound(
            point.n_variables, point.per_sample, point.sides, point.s, point.p, point.u,
            point.u_rate, point.no_rate, point.f, still, point.bias, direction, point.root,
            0.0, 0.0, -1,
        )  # fmt: skip
        if found < 0 or not step < np.inf:
            return False
        point.bias += direction * step
        self.join(int(found))
        return True

    # -- variables that change sides ----------------------------------------------------------

    def drop(self, k: int, side: int) -> None:
        """The free variable in place k meets a bound."""
        point = self.point
        point.changes += 1
        variable = int(point.free[k])
        point.sides[variable] = side
        point.a[variable] = point.u[variable] if side == AT_BOUND else 0.0
        point.free = np.delete(point.free, k)
        point.factor.remove(k)
        if side == AT_BOUND:
            self._push(variable, 1.0)

    def join(self, variable: int) -> None:
        """A variable whose r is 0 becomes free, or goes through to its other bound."""
        point = self.point
        point.changes += 1
        sample = variable // point.per_sample
        if len(point.free) == 0:
            point.factor.size = 0
            # Its size alone: nothing of the sample may stay in the factor when that is forgotten.
            square = float(point.root[sample]) ** 2
            point.constant = math.ldexp(1.0, math.frexp(square)[1] - 1) if square else 1.0
        while True:
            column = point.kernel.column(sample)
            among = column[point.free // point.per_sample] + point.constant
            diagonal = float(column[sample]) + point.constant
            distance = point.factor.append(among, diagonal, _DEPENDENT * diagonal)
            if distance > _DEPENDENT * diagonal:
                break
            if distance < _NEGATIVE * diagonal:
                raise BreakdownError(INDEFINITE)
            if self._exchange(variable, column, among):
                return
        if point.sides[variable] == AT_BOUND:
            self._push(variable, -1.0)
        point.sides[variable] = FREE
        point.free = np.append(point.free, variable)

    def _exchange(self, variable: int, column: Array, among: Array) -> bool:
        """Go along the direction of zero curvature; whether the variable went through to its
        other bound. If not, a free one has left."""
        point, free = self.point, self.point.free
        inwards = -float(point.sides[variable])
        z_change = point.s[variable] * inwards
        z_changes = -z_change * point.factor.solve(among)
        a_changes = point.s[free] * z_changes
        room = float(point.a[variable])
        if inwards > 0.0:
            room = float(point.u[variable]) - room
        least = _ROUNDING * max(1.0, float(np.abs(a_changes).max(initial=0.0)))
        step, meeting, side = first_to_meet_bound(
            free, point.a, point.u, a_changes, point.no_rate, least
        )
        through = room <= step
        length = min(step, room)
        if np.isinf(length):
            raise UnboundedError
        if not (length >= 0.0 and abs(float(z_changes.sum())) < np.inf):
            raise BreakdownError(LOST)
        point.a[free] += length * a_changes
        point.a[variable] += length * inwards
        point.f += length * z_change * column
        samples = free // point.per_sample
        point.kernel.add_columns(samples, length * z_changes, point.f)
        size = float(np.abs(z_changes) @ point.root[samples]) + float(
            point.root[variable // point.per_sample]
        )
        point.blur += np.finfo(np.float64).eps * length * size
        if not through:
            self.drop(int(meeting), int(side))
            return False
        if point.sides[variable] == AT_BOUND:
            self._push(variable, -1.0)
            point.sides[variable], point.a[variable] = AT_ZERO, 0.0
        else:
            point.sides[variable], point.a[variable] = AT_BOUND, point.u[variable]
            self._push(variable, 1.0)
        return True

    # -- step by step, over all variables -----------------------------------------------------

    def _step(self, total: float, most: float) -> float:
        """To the next change of the active set; returns how far that was."""
        point, free = self.point, self.point.free
        p_rate = point.no_rate if self.p_rate is None else self.p_rate
        f_rate, z_rate, bias_rate = self.drive, np.zeros(len(free)), 0.0
        step, leaving, size = np.inf, -1, 0.0
        if self.n_drivers or self.p_rate is not None or total != 0.0:
            point.steps += 1
            samples = free // point.per_sample
            z_rate, bias_rate = self.find_rates(p_rate, samples, total)
            f_rate = self.drive.copy()
            point.kernel.add_columns(samples, z_rate, f_rate)
            drivers = self.moving[point.sides[self.moving] == AT_BOUND]
            # Rounding of the linear system, the constant in it included, is felt everywhere.
            involved = np.concatenate([samples, drivers // point.per_sample])
            lengths = np.hypot(point.root[involved], np.sqrt(point.constant))
            size = float(np.abs(np.concatenate([z_rate, point.u_rate[drivers]])) @ lengths)
            fixed = abs(bias_rate) + float(lengths.max(initial=0.0)) * size
            fixed += 0.0 if self.p_rate is None else float(np.abs(p_rate).max(initial=0.0))
            least = (10 + len(free)) * _ROUNDING
            step, leaving = first_to_leave_bound(
                point.n_variables, point.per_sample, point.sides, point.s, point.p, point.u,
                point.u_rate, p_rate, point.f, f_rate, point.bias, bias_rate, point.root,
                least * fixed, least * size, self.banned,
            )  # fmt: skip
        a_rate = point.s[free] * z_rate
        least = _ROUNDING * max(self.pace, float(np.abs(a_rate).max(initial=0.0)))
        short, meeting, side = first_to_meet_bound(
            free, point.a, point.u, a_rate, point.u_rate, least
        )
        length = float(min(step, short, most))
        if np.isinf(length):
            raise UnboundedError
        if not (length >= 0.0 and abs(bias_rate) < np.inf and size < np.inf):
            raise BreakdownError(LOST)
        if length > 0.0:
            self.standstills, self.banned = 0, -1
        else:
            self.standstills += 1
        if self.standstills > _MOST_STANDSTILLS:
            raise BreakdownError(LOST)
        point.a[free] += length * a_rate
        point.f += length * f_rate
        if self.p_rate is not None:
            point.p += length * p_rate
        point.bias += length * bias_rate
        moving = self.moving
        point.u[moving] += length * point.u_rate[moving]
        on_bound = moving[point.sides[moving] == AT_BOUND]
        point.a[on_bound] = point.u[on_bound]
        point.blur += np.finfo(np.float64).eps * length * size
        if length >= most:
            return length
        if short <= step:
            if length == 0.0 and meeting == len(free) - 1 and self.joined == free[-1]:
                # Back to where it came from at once: its r moved by rounding only.
                self.banned = self.joined
            self.drop(int(meeting), int(side))
        else:
            self.joined = int(leaving)
            self.join(int(leaving))
        return length

    def find_rates(self, p_rate: Array, samples: Array, total: float) -> tuple[Array, float]:
        """ż of the free variables, and ḃ."""
        point, free = self.point, self.point.free
        if len(free) == 0:
            return np.empty(0), 0.0
        right = -self.drive[samples] - point.s[free] * p_rate[free]
        z_rate = point.factor.solve(right)
        of_ones = point.factor.solve(np.ones(len(free)))
        shift = (z_rate.sum() - total) / of_ones.sum()
        return z_rate - shift * of_ones, float(shift + point.constant * total)

    # -- in compiled code, over the near variables --------------------------------------------

    def _left_out(self, around: Neighbourhood) -> list[int]:
        """Variables at moving bounds that are not among the near ones, where they are few."""
        if len(self.moving) > _FEW_DRIVERS:
            return []
        near, sides = around.near[: around.n_near], self.point.sides
        return [i for i in self.moving.tolist() if sides[i] != FREE and not (near == i).any()]

    def _run(self, t_end: float, last: int) -> float:
        """As far as compiled code over the near variables goes; returns how far that was."""
        point, kernel = self.point, self.point.kernel
        n, per, m = point.n_variables, point.per_sample, len(point.free)
        around = point.around or look_around(point, max(_FEWEST_NEAR, n // _SHARE_NEAR))
        point.around = None
        free = np.concatenate([point.free, np.zeros(SPARE, dtype=np.int64)])
        rows, places = np.arange(len(free)), np.full(len(free), -1)
        n_near, next_row, f_near = around.n_near, m, around.f.copy()
        factor = point.factor
        if len(factor.R) < m + SPARE:
            factor.make_room(m)
        # A new sample on its margin may be farther from it, by rounding, than hundreds of others.
        for variable in self._left_out(around):
            around.near[n_near], f_near[n_near] = variable, point.f[variable // per]
            values, slot_of = kernel.columns
            around.block[:m, n_near] = values[slot_of[free[:m] // per], variable // per]
            n_near += 1
        a, t, n_repeated = point.a.copy(), 0.0, 0
        while True:
            values, slot_of = kernel.columns
            # Unless it comes back, all of the factor may be written to.
            begun, touched, factor.touched = m, factor.touched, len(factor.R)
            why, variable, m, n_near, next_row, bias, gone, *rest = run(
                per, point.sides, point.s, point.p, point.u, point.u_rate, point.a, self.moving,
                free, m, factor.R, point.constant, point.root, values, slot_of,
                around.near, n_near, f_near, around.block, rows, places, next_row,
                self.drive, self.drive_total, self.n_drivers,
                self.delta_rate, self.pace, self.sums, point.bias, t_end - t,
                last - point.steps, _MOST_STANDSTILLS, _ROUNDING, _DEPENDENT, _LAST_BIT,
            )  # fmt: skip
            self.drive_total, self.n_drivers, steps, changes, blur = rest
            factor.touched = max(touched, begun + changes + 1)
            point.bias = float(bias)
            point.steps += steps
            point.changes += changes
            point.blur += np.finfo(np.float64).eps * blur
            t += float(gone)
            missing = why == _TO_JOIN and slot_of[variable // per] < 0
            if not (missing and m and kernel.fetch(np.append(free[:m], variable) // per)):
                break
            n_repeated += 1  # the next run comes to the same variable, in a step of length zero
        point.steps -= n_repeated
        point.free, factor.size = free[:m].copy(), m
        z_changes = point.sum_by_sample(point.s * (point.a - a))
        changed = np.flatnonzero(z_changes)
        kernel.add_columns(changed, z_changes[changed], point.f)
        if why == _CIRCLES:
            raise BreakdownError(LOST)
        if why == _TO_JOIN:
            self.join(int(variable))
        return t


def look_around(point: Point, count: int) -> Neighbourhood:
    """The `count` variables at zero or bound whose r are nearest to 0, or a few more."""
    n, per, m = point.n_variables, point.per_sample, len(point.free)
    away = np.empty(n)
    distances(
        n, per, point.sides, point.s, point.p, point.u, point.u_rate, point.f, point.bias,
        VIOLATED, away,
    )  # fmt: skip
    most = np.inf if count >= n else float(np.partition(away, count)[count])
    near = np.flatnonzero((away <= most) & (away < np.inf))
    samples = near // per
    values, slot_of = point.kernel.columns
    block = np.empty((m + SPARE, len(near) + SPARE))
    gather_block(values, slot_of[point.free // per], m, samples, block)
    return Neighbourhood(
        near=np.concatenate([near, np.zeros(SPARE, dtype=np.int64)]),
        n_near=len(near),
        f=np.concatenate([point.f[samples], np.zeros(SPARE)]),
        block=block,
    )


# -- compiled: what ends a step over all variables ------------------------------------------------
#
# For variable i of sample i // per, the derivative of the Lagrangian is r_i = s_i (f_i + b) + p_i.
# A variable at zero needs r ≥ 0, one at its bound r ≤ 0, a free one r = 0. Variables of bound zero
# that does not move play no part.


@compiled(EXACT)
def first_to_leave_bound(  # type: ignore[no-untyped-def]
    n, per, state, s, p, u, u_rate, p_rate, f, f_rate, b, b_rate, root, least, least_share, banned
):
    """Step and index of the first variable at zero or bound whose r reaches 0; −1 if none does.

    Rates below least + least_share √K_ii are rounding; `banned` is left out. Of several at once,
    the one of the largest rate.
    """
    nearest, found, steepest = np.inf, -1, 0.0
    for i in range(n):
        at = state[i]
        if at == FREE or i == banned or (u[i] == 0.0 and u_rate[i] == 0.0):
            continue
        j = i // per
        # Outwards: how fast the distance |r| to a violation shrinks.
        rate = at * (s[i] * (f_rate[j] + b_rate) + p_rate[i])
        if rate <= least + least_share * root[j]:
            continue
        room = -at * (s[i] * (f[j] + b) + p[i])
        step = max(room, 0.0) / rate
        if step < nearest or (step == nearest and rate > steepest):
            nearest, found, steepest = step, i, rate
    return nearest, found


@compiled(EXACT)
def first_to_meet_bound(free, a, u, a_rate, u_rate, least_rate):  # type: ignore[no-untyped-def]
    """Step, place and side of the first free variable that meets 0 or its bound; −1 if none."""
    nearest, found, side, steepest = np.inf, -1, AT_ZERO, 0.0
    for k in range(free.size):
        i = free[k]
        rate = a_rate[k]
        if -rate > least_rate:
            step = max(a[i], 0.0) / -rate
            if step < nearest or (step == nearest and -rate > steepest):
                nearest, found, side, steepest = step, k, AT_ZERO, -rate
        closing = rate - u_rate[i]
        if closing > least_rate and u[i] < np.inf:
            step = max(u[i] - a[i], 0.0) / closing
            if step < nearest or (step == nearest and closing > steepest):
                nearest, found, side, steepest = step, k, AT_BOUND, closing
    return nearest, found, side


# -- compiled: the motion over the near variables -------------------------------------------------


@compiled(EXACT)
def distances(n, per, state, s, p, u, u_rate, f, b, least, out):  # type: ignore[no-untyped-def]
    """out_i = |r_i| of variables at zero or bound that take part and are not violated already,
    +∞ of all others."""
    for i in range(n):
        out[i] = np.inf
        if state[i] != FREE and (u[i] > 0.0 or u_rate[i] != 0.0):
            r = s[i] * (f[i // per] + b) + p[i]
            if state[i] * r <= least:
                out[i] = abs(r)


@compiled(FAST)
def gather_block(values, slots, m, samples, block):  # type: ignore[no-untyped-def]
    """block[k, j] = values[slots_k, samples_j]."""
    for k in range(m):
        column, row = values[slots[k]], block[k]
        for j in range(samples.size):
            row[j] = column[samples[j]]


@compiled(FAST)
def add_rows(block, rows, weights, m, n_near, out):  # type: ignore[no-untyped-def]
    """out += Σ_k weights_k block[rows_k], four rows at a time."""
    k = 0
    while k + 4 <= m:
        a, b, c, d = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        p, q = block[rows[k]], block[rows[k + 1]]
        s, t = block[rows[k + 2]], block[rows[k + 3]]
        for j in range(n_near):
            out[j] += a * p[j] + b * q[j] + c * s[j] + d * t[j]
        k += 4
    while k < m:
        a, p = weights[k], block[rows[k]]
        for j in range(n_near):
            out[j] += a * p[j]
        k += 1


@compiled(FAST)
def rates(R, m, solved, total, constant, z_rate, free, per, root):  # type: ignore[no-untyped-def]
    """ż of the free variables in `z_rate`, from R⁻ᵀ of the right side and of ones in the rows of
    `solved`; returns ḃ and Σ|ż| (K + constant)^½."""
    right, ones = solved[0], solved[1]
    summed, of_ones = 0.0, 0.0
    for k in range(m):
        summed += right[k] * ones[k]
        of_ones += ones[k] * ones[k]
    shift = (summed - total) / of_ones
    for k in range(m):
        z_rate[k] = right[k] - shift * ones[k]
    backward(R, m, z_rate)
    sizes = 0.0
    for k in range(m):
        sizes += abs(z_rate[k]) * np.hypot(root[free[k] // per], np.sqrt(constant))
    return shift + constant * total, sizes


@compiled(FAST)
def push(drive, column, rate):  # type: ignore[no-untyped-def]
    """drive += rate · column."""
    for i in range(drive.size):
        drive[i] += rate * column[i]


@compiled(EXACT)
def first_near_to_leave(  # type: ignore[no-untyped-def]
    near, n_near, per, state, s, p, f_near, rate_near, b, b_rate, root, least, share, banned
):
    """Step and place of the first near variable whose r reaches 0; −1 if none does."""
    nearest, found, steepest = np.inf, -1, 0.0
    for j in range(n_near):
        i = near[j]
        at = state[i]
        rate = at * s[i] * (rate_near[j] + b_rate)
        if rate <= least + share * root[i // per] or i == banned:
            continue
        step = max(-at * (s[i] * (f_near[j] + b) + p[i]), 0.0) / rate
        if step < nearest or (step == nearest and rate > steepest):
            nearest, found, steepest = step, j, rate
    return nearest, found


@compiled(EXACT)
def run(  # type: ignore[no-untyped-def]
    per, state, s, p, u, u_rate, a, moving, free, m, R, constant, root, values, slot_of,
    near, n_near, f_near, block, rows, places, next_row, drive, drive_total, n_drivers,
    delta_rate, pace, sums, b, t_end,
    most_steps, most_standstills, rounding, dependent, last_bit,
):  # fmt: skip
    """Move until t = t_end, or until something is needed that is not at hand.

    `block` is written to beyond the free and near variables it came with only, so that it can serve
    again for the same point; `rows` and `places` say where in it and in `near` the free ones are.
    Returns why the run ended, a variable to join, and all that has changed and is not an array.
    """
    room = free.size
    slots = np.empty(room, dtype=np.int64)
    for k in range(m):
        slots[k] = slot_of[free[k] // per]
    z_rate, a_rate, among = np.empty(room), np.empty(room), np.empty(room)
    rate_near = np.empty(near.size)
    # R⁻ᵀ of the right side and of ones: what follows from both needs one substitution a step.
    solved = np.ones((2, room))
    forward(R, m, solved[1])
    fresh = False
    t, blur = 0.0, 0.0
    steps, changes, standstills, joined, banned = 0, 0, 0, -1, -1
    why, variable = _CIRCLES, -1
    while steps <= most_steps and standstills <= most_standstills:
        total = delta_rate - drive_total
        if abs(total) <= rounding * sums:
            total = 0.0
        if m == 0 and total != 0.0:
            why = _NO_FREE
            break
        step, leaving, size, b_rate = np.inf, -1, 0.0, 0.0
        for k in range(m):
            z_rate[k] = 0.0
        if n_drivers > 0 or total != 0.0:
            steps += 1
            if m > 0:
                if not fresh:
                    for k in range(m):
                        solved[0, k] = -drive[free[k] // per]
                    forward(R, m, solved[0])
                    fresh = True
                b_rate, size = rates(R, m, solved, total, constant, z_rate, free, per, root)
            for j in range(n_near):
                rate_near[j] = drive[near[j] // per]
            add_rows(block, rows, z_rate, m, n_near, rate_near)
            # Rounding of the linear system, the constant in it included, is felt everywhere.
            largest = 0.0
            for k in range(m):
                largest = max(largest, root[free[k] // per])
            for i in moving:
                if state[i] == AT_BOUND:
                    size += abs(u_rate[i]) * np.hypot(root[i // per], np.sqrt(constant))
                    largest = max(largest, root[i // per])
            largest = np.hypot(largest, np.sqrt(constant))
            least = (10 + m) * rounding
            step, leaving = first_near_to_leave(
                near, n_near, per, state, s, p, f_near, rate_near, b, b_rate, root,
                least * (abs(b_rate) + largest * size), least * size, banned,
            )  # fmt: skip
        fastest = 0.0
        for k in range(m):
            a_rate[k] = s[free[k]] * z_rate[k]
            fastest = max(fastest, abs(a_rate[k]))
        least = rounding * max(pace, fastest)
        short, meeting, side = first_to_meet_bound(free[:m], a, u, a_rate, u_rate, least)
        length = min(step, short, t_end - t)
        arrived = length >= t_end - t
        # Numbers that are none lead nowhere, least of all to a place in an array.
        if not (length >= 0.0 and abs(b_rate) < np.inf and size < np.inf):
            break
        if not arrived and (meeting if short <= step else leaving) < 0:
            break

        for k in range(m):
            a[free[k]] += length * a_rate[k]
        if size > 0.0:
            for j in range(n_near):
                f_near[j] += length * rate_near[j]
        b += length * b_rate
        for i in moving:
            u[i] += length * u_rate[i]
            if state[i] == AT_BOUND:
                a[i] = u[i]
        blur += length * size
        t += length
        if arrived:
            t = t_end
            why = _ARRIVED
            break
        if length > 0.0:
            standstills, banned = 0, -1
        else:
            standstills += 1
        if standstills > 2 and t_end - t <= last_bit:
            why = _ARRIVED
            break

        if short <= step:
            variable = free[meeting]
            if length == 0.0 and meeting == m - 1 and joined == variable:
                banned = joined
            changes += 1
            state[variable] = side
            a[variable] = u[variable] if side == AT_BOUND else 0.0
            if side == AT_BOUND and u_rate[variable] != 0.0:
                rate = s[variable] * u_rate[variable]
                push(drive, values[slots[meeting]], rate)
                drive_total += rate
                n_drivers += 1
                fresh = False
            remove_column(R, m, meeting, solved)
            place = places[meeting]
            m -= 1
            for k in range(meeting, m):
                free[k], slots[k] = free[k + 1], slots[k + 1]
                rows[k], places[k] = rows[k + 1], places[k + 1]
            if place < 0:
                if n_near == near.size:
                    why = _NO_ROOM
                    break
                place = n_near
                n_near += 1
                near[place] = variable
                for k in range(m):
                    block[rows[k], place] = values[slots[k], variable // per]
            f_near[place] = -s[variable] * p[variable] - b
            continue

        variable = near[leaving]
        slot = slot_of[variable // per]
        if slot < 0 or m == room or next_row == block.shape[0] or m == 0:
            why = _TO_JOIN
            break
        column = values[slot]
        for k in range(m):
            among[k] = column[free[k] // per] + constant
        diagonal = column[variable // per] + constant
        distance = append_column(R, m, among, diagonal)
        if distance <= dependent * diagonal:
            why = _TO_JOIN
            break
        joined = variable
        changes += 1
        R[m, m] = np.sqrt(distance)
        if state[variable] == AT_BOUND and u_rate[variable] != 0.0:
            rate = s[variable] * u_rate[variable]
            push(drive, column, -rate)
            drive_total -= rate
            n_drivers -= 1
            fresh = False
            if n_drivers == 0:
                drive[:] = 0.0
                drive_total = 0.0
        right, one = -drive[variable // per], 1.0
        for k in range(m):
            right -= R[k, m] * solved[0, k]
            one -= R[k, m] * solved[1, k]
        solved[0, m], solved[1, m] = right / R[m, m], one / R[m, m]
        state[variable] = FREE
        free[m], slots[m], rows[m], places[m] = variable, slot, next_row, leaving
        for j in range(n_near):
            block[next_row, j] = column[near[j] // per]
        next_row += 1
        m += 1
    return why, variable, m, n_near, next_row, b, t, drive_total, n_drivers, steps, changes, blur
