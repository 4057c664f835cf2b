"""Variables that become free, leave, or change places: the changes of an active set.

The mathematics is at the top of `solvers.active_set`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lindero.errors import SolverError
from lindero.runtime.arrays import Array
from lindero.solvers.active_set_steps import AT_BOUND, AT_ZERO, FREE, first_to_meet_bound
from lindero.solvers.active_set_variables import HeldVariables

#: Share of its diagonal entry below which a row depends on others.
DEPENDENT = 1e-13

#: The same below zero: no kernel matrix has such directions.
_INDEFINITE = -1e-9

#: Share of the terms summed below which a rate is rounding.
ROUNDING = 1e-14

INDEFINITE = "The kernel is not positive semi-definite on these samples."
LOST = "Rounding in double precision hides the path to the optimum."


class BreakdownError(SolverError):
    """The path cannot be followed (rounding, or a kernel that is none): solve from scratch."""


class UnboundedError(SolverError):
    """A bound rose without end: the problem with infinite bounds has no solution."""


@dataclass
class Motion:
    """Rates of everything that is given, and what variables at moving bounds do to f."""

    moving: Array
    p_rate: Array | None
    delta_rate: float
    drive: Array
    pace: float
    sums: float
    n_drivers: int = 0
    drive_total: float = 0.0
    standstills: int = 0
    joined: int = -1
    banned: int = -1


class ChangingSet(HeldVariables):
    """A point whose variables change sides."""

    def drop(self, k: int, side: int, motion: Motion | None = None) -> None:
        """The free variable in place k meets a bound."""
        self.changes += 1
        variable = int(self._free[k])
        self._state[variable] = side
        self._a[variable] = self._u[variable] if side == AT_BOUND else 0.0
        self._free = np.delete(self._free, k)
        self._factor.remove(k)
        if motion is not None and side == AT_BOUND:
            self._push(motion, variable, 1.0)

    def join(self, variable: int, motion: Motion) -> None:
        """A variable whose r is 0 becomes free, or goes through to its other bound."""
        self.changes += 1
        if len(self._free) == 0:
            self._factor.size = 0
            self._constant = float(self._root[variable // self.per_sample]) ** 2 or 1.0
        sample = variable // self.per_sample
        while True:
            column = self.kernel.column(sample)
            among = column[self._free // self.per_sample] + self._constant
            diagonal = float(column[sample]) + self._constant
            distance = self._factor.append(among, diagonal, DEPENDENT * diagonal)
            if distance > DEPENDENT * diagonal:
                break
            if distance < _INDEFINITE * diagonal:
                raise BreakdownError(INDEFINITE)
            if self._exchange(variable, column, among, motion):
                return
        if self._state[variable] == AT_BOUND:
            self._push(motion, variable, -1.0)
        self._state[variable] = FREE
        self._free = np.append(self._free, variable)

    def _exchange(self, variable: int, column: Array, among: Array, motion: Motion) -> bool:
        """Go along the direction of zero curvature; whether the variable went through to its
        other bound. If not, a free one has left."""
        free = self._free
        inwards = -float(self._state[variable])
        z_change = self._s[variable] * inwards
        z_changes = -z_change * self._factor.solve(among)
        a_changes = self._s[free] * z_changes
        room = float(self._a[variable])
        if inwards > 0.0:
            room = float(self._u[variable]) - room
        least = ROUNDING * max(1.0, float(np.abs(a_changes).max(initial=0.0)))
        step, meeting, side = first_to_meet_bound(
            free, self._a, self._u, a_changes, self._no_rate, least
        )
        through = room <= step
        length = min(step, room)
        if np.isinf(length):
            raise UnboundedError
        self._a[free] += length * a_changes
        self._a[variable] += length * inwards
        self._f[: self.n_samples] += length * z_change * column
        self.kernel.add_columns(free // self.per_sample, length * z_changes, self._f)
        if not through:
            self.drop(int(meeting), int(side), motion)
            return False
        if self._state[variable] == AT_BOUND:
            self._push(motion, variable, -1.0)
            self._state[variable], self._a[variable] = AT_ZERO, 0.0
        else:
            self._state[variable], self._a[variable] = AT_BOUND, self._u[variable]
            self._push(motion, variable, 1.0)
        return True

    def _push(self, motion: Motion, variable: int, sign: float) -> None:
        """A variable comes to (or leaves) a bound that may be moving."""
        rate = sign * float(self._s[variable] * self._u_rate[variable])
        if rate != 0.0:
            column = self.kernel.column(variable // self.per_sample)
            motion.drive[: self.n_samples] += rate * column
            motion.drive_total += rate
            motion.n_drivers += 1 if sign > 0 else -1
            if motion.n_drivers == 0:
                motion.drive[:] = 0.0
                motion.drive_total = 0.0
