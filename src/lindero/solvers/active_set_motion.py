"""One straight motion of the given data, and the optimum following it from change to change.

The mathematics is at the top of `solvers.active_set`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lindero.kernels.blocks import kernel_product
from lindero.runtime.arrays import Array
from lindero.runtime.threads import TileThreads
from lindero.solvers.active_set_changes import (
    DEPENDENT,
    LOST,
    ROUNDING,
    BreakdownError,
    ChangingSet,
    Motion,
    UnboundedError,
)
from lindero.solvers.active_set_steps import (
    AT_BOUND,
    first_to_leave_bound,
    first_to_meet_bound,
)
from lindero.solvers.active_set_variables import Neighbourhood
from lindero.solvers.near_motion import (
    CIRCLES,
    TO_JOIN,
    distances,
    gather_block,
    run,
)

#: Steps of length zero in a row that are taken for going round in circles.
_MOST_STANDSTILLS = 2_000

#: Steps of a motion, many times what is ever needed.
_FEWEST_STEPS, _STEPS_PER_VARIABLE = 1_000, 20

#: Share of a motion that may be lost to rounding at its end, where the last variable that could
#: move meets its bound.
_LAST_BIT = 1e-9

#: Variables that a motion looks at first, and room for those that come to the margin or leave it.
_FEWEST_NEAR, _SHARE_NEAR, _SPARE = 512, 16, 64

#: Violations beyond this are not rounding: such variables are left to `ActiveSet.settle`.
_VIOLATED = 1e-9

NOT_FEASIBLE = "No feasible point: sᵀa = δ cannot be met within 0 ≤ a ≤ u."

#: Variables at moving bounds whose columns are fetched one by one.
_FEW_DRIVERS = 4


class MovingPoint(ChangingSet):
    """A point that stays optimal while what is given moves."""

    def follow(
        self,
        moving: Array,
        p_rate: Array | None,
        delta_rate: float,
        t_end: float,
        at_change: Callable[[float], None] | None = None,
    ) -> None:
        """Let the bounds of variables `moving` go at the rates `_u_rate`, p and the sum at theirs,
        until t = `t_end`; for an infinite end, until the first of `moving` has left its bound.

        `at_change` is called with t after each step.
        """
        self._known_support = None
        pace = max(abs(delta_rate), float(np.abs(self._u_rate[moving]).max(initial=0.0)))
        sums = max(pace, abs(self.delta))  # what the rates of sums are differences of
        motion = Motion(moving, p_rate, delta_rate, np.zeros(len(self._f)), pace, sums)
        drivers = moving[self._state[moving] == AT_BOUND]
        self._drive(motion, drivers)
        t = 0.0
        last = self.steps + _FEWEST_STEPS + _STEPS_PER_VARIABLE * self.n_variables
        compiled = p_rate is None and at_change is None and np.isfinite(t_end)
        if not compiled:
            self.around = None
        while t < t_end:
            if self.steps > last:
                raise BreakdownError(LOST)
            if np.isinf(t_end) and self._state[moving[0]] != AT_BOUND:
                return
            if compiled and len(self._free) and self.kernel.kept(self._free // self.per_sample):
                t += self._run(motion, t_end - t, last)
                if t >= t_end:
                    return
                if len(self._free):
                    continue
            total = delta_rate - motion.drive_total
            if abs(total) <= ROUNDING * motion.sums:
                total = 0.0
            if len(self._free) == 0 and total != 0.0:
                if not self._move_bias(motion, -np.sign(total)):
                    if t_end - t > _LAST_BIT:
                        raise BreakdownError(NOT_FEASIBLE)
                    return
                last -= 1  # it is no step, but no endless matter either
                continue
            t += self._step(motion, total, t_end - t)
            if at_change is not None:
                at_change(min(t, t_end))
            if motion.standstills > 2 and t_end - t <= _LAST_BIT:
                return

    def _run(self, motion: Motion, t_end: float, last: int) -> float:
        """As far as compiled code over the near variables goes; returns how far that was."""
        n, per, m = self.n_variables, self.per_sample, len(self._free)
        around = self.around or self.look_around(max(_FEWEST_NEAR, n // _SHARE_NEAR))
        self.around = None
        free = np.concatenate([self._free, np.zeros(_SPARE, dtype=np.int64)])
        rows, places = np.arange(len(free)), np.full(len(free), -1)
        n_near, next_row, f_near = around.n_near, m, around.f.copy()
        self._factor.make_room(m + _SPARE)
        a, t = self._a[:n].copy(), 0.0
        while True:
            values, slot_of = self.kernel.columns
            why, variable, m, n_near, next_row, bias, gone, *rest = run(
                per, self._state, self._s, self._p, self._u, self._u_rate, self._a, motion.moving,
                free, m, self._factor.R, self._constant, self._root, values, slot_of,
                around.near, n_near, f_near, around.block, rows, places, next_row,
                motion.drive[: self.n_samples], motion.drive_total, motion.n_drivers,
                motion.delta_rate, motion.pace, motion.sums, self.bias, t_end - t,
                last - self.steps, _MOST_STANDSTILLS, ROUNDING, DEPENDENT, _LAST_BIT,
            )  # fmt: skip
            motion.drive_total, motion.n_drivers, steps, changes, blur = rest
            self.bias = float(bias)
            self.steps += steps
            self.changes += changes
            self.blur += np.finfo(np.float64).eps * blur
            t += float(gone)
            missing = why == TO_JOIN and slot_of[variable // per] < 0
            if not (missing and m and self._fetch(free[:m], int(variable))):
                break
        self._free, self._factor.size = free[:m].copy(), m
        self._follow_f(self._s[:n] * (self._a[:n] - a))
        if why == CIRCLES:
            raise BreakdownError(LOST)
        if why == TO_JOIN:
            self.join(int(variable), motion)
        return t

    def _fetch(self, free: Array, variable: int) -> bool:
        """Keep the column of a variable beside those of the free ones; whether there was room."""
        samples = np.append(free, variable) // self.per_sample
        return self.kernel.kept(samples)

    def free_root(self) -> float:
        """The least √K_ii of a free variable: b is known as well as its value is."""
        if len(self._free) == 0:
            return 0.0
        return float(self._root[self._free // self.per_sample].min())

    def look_around(self, count: int) -> Neighbourhood:
        """The `count` variables at zero or bound whose r are nearest to 0, or a few more."""
        n, per, m = self.n_variables, self.per_sample, len(self._free)
        away = np.empty(n)
        distances(
            n, per, self._state, self._s, self._p, self._u, self._u_rate, self._f, self.bias,
            _VIOLATED, away,
        )  # fmt: skip
        most = np.inf if count >= n else float(np.partition(away, count)[count])
        near = np.flatnonzero((away <= most) & (away < np.inf))
        samples = near // per
        values, slot_of = self.kernel.columns
        block = np.empty((m + _SPARE, len(near) + _SPARE))
        gather_block(values, slot_of[self._free // per], m, samples, block)
        return Neighbourhood(
            near=np.concatenate([near, np.zeros(_SPARE, dtype=np.int64)]),
            n_near=len(near),
            f=np.concatenate([self._f[samples], np.zeros(_SPARE)]),
            block=block,
        )

    def _follow_f(self, z_changes: Array) -> None:
        """Bring f up to date."""
        if self.per_sample > 1:
            z_changes = z_changes.reshape(-1, self.per_sample).sum(axis=1)
        changed = np.flatnonzero(z_changes)
        self.kernel.add_columns(changed, z_changes[changed], self._f)

    def _drive(self, motion: Motion, drivers: Array) -> None:
        weights = self._s[drivers] * self._u_rate[drivers]
        samples = drivers // self.per_sample
        motion.n_drivers, motion.drive_total = len(drivers), float(weights.sum())
        if len(drivers) <= _FEW_DRIVERS:
            for sample, weight in zip(samples, weights, strict=True):
                motion.drive[: self.n_samples] += weight * self.kernel.column(int(sample))
            return
        z = np.bincount(samples, weights=weights, minlength=self.n_samples)
        with TileThreads() as threads:
            motion.drive[: self.n_samples] = kernel_product(self.kernel.operator, z, threads)

    def _move_bias(self, motion: Motion, direction: float) -> bool:
        """No variable is free, and the sum must move: b goes to where one can leave its bound.
        Whether there is such a variable."""
        still = np.zeros(len(self._f))
        step, found = first_to_leave_bound(
            self.n_variables, self.per_sample, self._state, self._s, self._p, self._u,
            self._u_rate, self._no_rate, self._f, still, self.bias, direction, self._root,
            0.0, 0.0, -1,
        )  # fmt: skip
        if found < 0:
            return False
        self.bias += direction * step
        self.join(int(found), motion)
        return True

    def _step(self, motion: Motion, total: float, most: float) -> float:
        """To the next change of the active set; returns how far that was."""
        free, n = self._free, self.n_samples
        p_rate = self._no_rate if motion.p_rate is None else motion.p_rate
        f_rate, z_rate, bias_rate = motion.drive, np.zeros(len(free)), 0.0
        step, leaving, size = np.inf, -1, 0.0
        if motion.n_drivers or motion.p_rate is not None or total != 0.0:
            self.steps += 1
            samples = free // self.per_sample
            z_rate, bias_rate = self._rates(motion, p_rate, samples, total)
            f_rate = motion.drive.copy()
            self.kernel.add_columns(samples, z_rate, f_rate)
            root = self._root
            drivers = motion.moving[self._state[motion.moving] == AT_BOUND]
            # Rounding of the linear system, the constant in it included, is felt everywhere.
            involved = np.concatenate([samples, drivers // self.per_sample])
            lengths = np.hypot(root[involved], np.sqrt(self._constant))
            size = float(np.abs(np.concatenate([z_rate, self._u_rate[drivers]])) @ lengths)
            fixed = abs(bias_rate) + float(lengths.max(initial=0.0)) * size
            fixed += 0.0 if motion.p_rate is None else float(np.abs(p_rate).max(initial=0.0))
            least = (10 + len(free)) * ROUNDING
            step, leaving = first_to_leave_bound(
                self.n_variables, self.per_sample, self._state, self._s, self._p, self._u,
                self._u_rate, p_rate, self._f, f_rate, self.bias, bias_rate, root,
                least * fixed, least * size, motion.banned,
            )  # fmt: skip
        a_rate = self._s[free] * z_rate
        least = ROUNDING * max(motion.pace, float(np.abs(a_rate).max(initial=0.0)))
        short, meeting, side = first_to_meet_bound(
            free, self._a, self._u, a_rate, self._u_rate, least
        )
        length = float(min(step, short, most))
        if np.isinf(length):
            raise UnboundedError
        if length > 0.0:
            motion.standstills, motion.banned = 0, -1
        else:
            motion.standstills += 1
        if motion.standstills > _MOST_STANDSTILLS:
            raise BreakdownError(LOST)
        self._a[free] += length * a_rate
        self._f[:n] += length * f_rate[:n]
        if motion.p_rate is not None:
            used = slice(0, self.n_variables)
            self._p[used] += length * p_rate[used]
        self.bias += length * bias_rate
        moving = motion.moving
        self._u[moving] += length * self._u_rate[moving]
        on_bound = moving[self._state[moving] == AT_BOUND]
        self._a[on_bound] = self._u[on_bound]
        self.blur += np.finfo(np.float64).eps * length * size
        if length >= most:
            return length
        if short <= step:
            if length == 0.0 and meeting == len(free) - 1 and motion.joined == free[-1]:
                # Back to where it came from at once: its r moved by rounding only.
                motion.banned = motion.joined
            self.drop(int(meeting), int(side), motion)
        else:
            motion.joined = int(leaving)
            self.join(int(leaving), motion)
        return length

    def _rates(
        self, motion: Motion, p_rate: Array, samples: Array, total: float
    ) -> tuple[Array, float]:
        """ż of the free variables, and ḃ."""
        free = self._free
        if len(free) == 0:
            return np.empty(0), 0.0
        right = -motion.drive[samples] - self._s[free] * p_rate[free]
        z_rate = self._factor.solve(right)
        of_ones = self._factor.solve(np.ones(len(free)))
        shift = (z_rate.sum() - total) / of_ones.sum()
        return z_rate - shift * of_ones, float(shift + self._constant * total)
