"""How the end of a path is followed as samples come, machine by machine.

`ChainFollower` goes back from the last hyperplane as far as it matters. Where that is beyond its
window, the window is made twice as long and it begins again; where it is lost, the interior-point
method solves for a stretch at the end, with the hyperplane before it held
(`problems.coupled.Anchor`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

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
    """One call that makes a path longer, in `n_steps` steps, and what to put back if it fails."""

    def __init__(
        self,
        path: GrowingPath,
        trail: Trail,
        limits: Limits,
        tol: float,
        lag_tol: float,
        n_steps: int,
    ) -> None:
        self._path, self._trail, self._limits = path, trail, limits
        # A gap of tol leaves hyperplanes √tol from where they belong.
        self._tol = min(tol, _GAP * (lag_tol * lag_tol))
        self._little = _SHARE * lag_tol
        self._n_nodes = path.n_nodes
        self._before = Trail(trail.n_scaled, trail.touched)
        self._kept: list[tuple[int, slice, Array, Array]] = []
        # One step keeps what it changes; several would keep the same again and again.
        self._whole = (path.theta.copy(), path.a.copy()) if n_steps > 1 else None

    # -- undoing ----------------------------------------------------------------------------------

    def _keep(self, machine: int, start: int) -> None:
        """Remember those of a machine from node `start` on, before they are changed."""
        nodes = slice(start, self._path.n_nodes)
        theta, a = self._path.theta[machine, nodes], self._path.a[machine, :, nodes]
        self._kept.append((machine, nodes, theta.copy(), a.copy()))

    def _put_back(self) -> None:
        """Put back what was kept last."""
        machine, nodes, theta, a = self._kept.pop()
        self._path.theta[machine, nodes], self._path.a[machine, :, nodes] = theta, a

    def end_step(self) -> None:
        """The step is done: it stays, unless the whole call fails."""
        if self._whole is not None:
            self._kept.clear()

    def undo(self) -> None:
        """Put everything back. Followers are made anew from the multipliers."""
        while self._kept:
            self._put_back()
        if self._whole is not None:
            known = slice(self._n_nodes)
            self._path.theta[:, known], self._path.a[:, :, known] = self._whole
        vars(self._trail).update(vars(self._before))

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
        self._keep(machine, start)
        path, trail = self._path, self._trail
        path.theta[machine, start:], path.a[machine, :, start:] = solution.theta, solution.a
        trail.touched = min(trail.touched, start)
        self._resume(machine, start, int(trail.depths[machine]))
        return solution.status

    def _resume(self, machine: int, start: int, length: int) -> None:
        """Let a follower begin again from multipliers as they are: what it knows before node
        `start` stays, and its window has so many of the last nodes, or somewhat more."""
        follower = self._trail.followers[machine]
        start = follower.place_for(start)
        problem = self._path.state_problem(machine, start, held=False)
        follower.restart(problem, self._path.a[machine, :, start:], start, length)

    def follow(self, machine: int, known: int, earliest: int) -> Status:
        """Settle a machine after samples came to `known` nodes; none before `earliest` moves."""
        trail, path = self._trail, self._path
        follower, depth = trail.followers[machine], trail.depths[machine]
        while True:
            start = follower.start
            problem = path.state_problem(machine, start, held=False)
            self._keep(machine, start)
            theta, a = path.theta[machine, start:], path.a[machine, :, start:]
            least = max(0, earliest - start)
            status, reached = follower.follow(problem, theta, a, known - start, least, self._little)
            too_short = status is FollowStatus.TOO_SHORT
            if status is FollowStatus.SETTLED or (too_short and start <= earliest):
                break
            self._put_back()
            if not too_short:
                stretch = max(_STRETCH, int(_STRETCH_DEPTHS * depth))
                return self.solve(machine, max(earliest, path.n_nodes - stretch, 0))
            longer = 2 * (path.n_nodes - start)
            self._resume(machine, max(0, path.n_nodes - longer), longer)
        trail.touched = min(trail.touched, start + reached)
        depth = max(_FADING * depth, float(path.n_nodes - start - reached))
        trail.depths[machine] = depth
        if path.n_nodes - start > _LONG * (depth + SPACING):
            follower.shorten(path.n_nodes, int(depth) + SPACING)
        return Status.OPTIMAL
