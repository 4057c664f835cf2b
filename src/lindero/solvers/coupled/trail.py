"""How the end of a path is followed as samples come, machine by machine.

`ChainFollower` goes back from the last hyperplane as far as it matters. Where that is beyond its
window, the window is made twice as long and it begins again; where it is lost, the interior-point
method solves for a stretch at the end, with the hyperplane before it held
(`problems.coupled.Anchor`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from lindero.problems.coupled import CoupledProblem
from lindero.runtime.arrays import Array
from lindero.solvers.coupled.follower import SPACING, ChainFollower, FollowStatus
from lindero.solvers.coupled.interior_point import CoupledInteriorPointSolver
from lindero.solvers.solution import Limits, Status

#: The share of `lag_tol` left to movements not made; rows that would change state have the rest.
_SHARE = 0.1

#: The share of `lag_tol`² that is a small gap.
_GAP = 0.01

#: What the depth that samples reached counts for when the next one has come.
_FADING = 0.99

#: A window longer than this many times what is needed is made shorter.
_LONG = 2.0

#: The stretch that is solved for where the follower is lost, in nodes and in depths.
_STRETCH = 512
_STRETCH_DEPTHS = 4


class GrowingPath(Protocol):
    """What is followed: hyperplanes `theta` (machines, nodes, parameters) and multipliers `a`
    (machines, sides, nodes), and the problem of a machine over the nodes from `start` on: with the
    hyperplane before them `held`, or without what is before."""

    @property
    def n_nodes(self) -> int: ...
    @property
    def theta(self) -> Array: ...
    @property
    def a(self) -> Array: ...
    def state_problem(self, machine: int, start: int = 0, held: bool = True) -> CoupledProblem: ...


@dataclass
class Trail:
    """One follower for each machine, none before the first new sample; `depths` is how far back
    from the end the last samples reached, `touched` the first node that the very last ones did.
    `n_scaled` is the number of samples at which the scale was last brought up to date."""

    n_scaled: int
    touched: int = 0
    followers: list[ChainFollower] = field(default_factory=list)
    depths: list[float] = field(default_factory=list)


class Extension:
    """One call that makes a path longer, in steps. What a step finds is kept aside until its
    `end`."""

    def __init__(
        self, path: GrowingPath, trail: Trail, limits: Limits, tol: float, lag_tol: float
    ) -> None:
        self._path, self._trail, self._limits = path, trail, limits
        # A gap of tol leaves hyperplanes √tol from where they belong.
        self._tol = min(tol, _GAP * (lag_tol * lag_tol))
        self._little = _SHARE * lag_tol
        self._found: dict[int, tuple[int, Array, Array]] = {}

    def end(self) -> dict[int, tuple[int, Array, Array]]:
        """What the step has found: of each machine the first node, and hyperplanes and multipliers
        from it on. It is to be written to the path before the next step."""
        found, self._found = self._found, {}
        return found

    # -- following --------------------------------------------------------------------------------

    def take_up(self) -> None:
        """Make followers for a path that has none."""
        trail, path = self._trail, self._path
        if not trail.followers:
            machines = range(len(path.theta))
            size, sides = path.theta.shape[2], path.a.shape[1]
            trail.followers = [ChainFollower(size, sides) for _ in machines]
            trail.depths = [float(SPACING) for _ in machines]
            for machine in machines:
                self._resume(machine, 0, SPACING)

    def solve(self, machine: int, start: int) -> Status:
        """Solve for a machine from node `start` on, and let its follower begin again."""
        problem = self._path.state_problem(machine, start)
        solution = CoupledInteriorPointSolver(self._tol).solve(problem, self._limits, machine)
        if self._limits.interrupted:
            raise KeyboardInterrupt("Learning was interrupted. Nothing was changed.")
        self._found[machine] = start, solution.theta, solution.a
        trail = self._trail
        trail.touched = min(trail.touched, start)
        self._resume(machine, start, int(trail.depths[machine]))
        return solution.status

    def _resume(self, machine: int, start: int, length: int) -> None:
        """Let a follower begin again from multipliers as they are: what it knows before node
        `start` stays, and its window has so many of the last nodes, or somewhat more."""
        follower = self._trail.followers[machine]
        start = follower.place_for(start)
        problem = self._path.state_problem(machine, start, held=False)
        a = self._path.a[machine, :, start:]
        if machine in self._found:
            first, _, found = self._found[machine]
            a = np.concatenate([a[:, : first - start], found], axis=1)
        follower.restart(problem, a, start, length)

    def follow(self, machine: int, known: int, earliest: int) -> Status:
        """Settle a machine after samples came to `known` nodes; none before `earliest` moves."""
        trail, path = self._trail, self._path
        follower, depth = trail.followers[machine], trail.depths[machine]
        while True:
            start = follower.start
            problem = path.state_problem(machine, start, held=False)
            theta, a = path.theta[machine, start:].copy(), path.a[machine, :, start:].copy()
            least = max(0, earliest - start)
            status, reached = follower.follow(problem, theta, a, known - start, least, self._little)
            too_short = status is FollowStatus.TOO_SHORT
            if status is FollowStatus.SETTLED or (too_short and start <= earliest):
                break
            if not too_short:
                stretch = max(_STRETCH, int(_STRETCH_DEPTHS * depth))
                return self.solve(machine, max(earliest, path.n_nodes - stretch, 0))
            longer = 2 * (path.n_nodes - start)
            self._resume(machine, max(0, path.n_nodes - longer), longer)
        self._found[machine] = start, theta, a
        trail.touched = min(trail.touched, start + reached)
        depth = max(_FADING * depth, float(path.n_nodes - start - reached))
        trail.depths[machine] = depth
        if path.n_nodes - start > _LONG * (depth + SPACING):
            follower.shorten(path.n_nodes, int(depth) + SPACING)
        return Status.OPTIMAL
