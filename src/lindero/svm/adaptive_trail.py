"""How the end of a path is followed as samples come, machine by machine.

`solvers.chain_follower` goes back from the last hyperplane as far as it matters. Where that is
beyond its window, the window is made twice as long and it begins again; where it is lost, the
interior-point method solves for a stretch at the end, with the hyperplane before it held
(`problems.coupled.Anchor`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lindero.runtime.arrays import Array
from lindero.solvers.chain_follower import SPACING, ChainFollower, Outcome
from lindero.solvers.coupled_interior_point import CoupledInteriorPointSolver
from lindero.solvers.solution import Limits, Status
from lindero.svm.adaptive_path import AdaptivePath

#: The share of `lag_tol` that is left to movements not made. Rows of older nodes whose state they
#: would change have the rest.
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


@dataclass
class Trail:
    """One follower for each machine, none before the first new sample; `depths` is how far back
    from the end the last samples reached, `touched` the first node that the very last ones did.
    `n_scaled` is the number of samples at which the scale was last brought up to date."""

    n_scaled: int
    touched: int = 0
    followers: list[ChainFollower] = field(default_factory=list)
    depths: list[float] = field(default_factory=list)


class Undo:
    """Hyperplanes and multipliers as they were before a step, and before all steps of a call."""

    def __init__(self, path: AdaptivePath, n_steps: int) -> None:
        self._path = path
        self._n_nodes, self._in_order = path.n_nodes, path.in_order
        self._kept: list[tuple[int, slice, Array, Array]] = []
        # One step keeps what it changes; several would keep the same again and again.
        self._whole = (path.theta.copy(), path.a.copy()) if n_steps > 1 else None

    def keep(self, number: int, start: int) -> None:
        """Remember those of a machine from node `start` on, before they are changed."""
        nodes = slice(start, self._path.n_nodes)
        theta, a = self._path.theta[number, nodes], self._path.a[number, :, nodes]
        self._kept.append((number, nodes, theta.copy(), a.copy()))

    def last(self) -> None:
        """Put back what was kept last."""
        number, nodes, theta, a = self._kept.pop()
        self._path.theta[number, nodes], self._path.a[number, :, nodes] = theta, a

    def next_step(self) -> None:
        """The step is done: it stays, unless the whole call fails."""
        if self._whole is not None:
            self._kept.clear()

    def everything(self) -> None:
        """Put back all, and drop the samples that have come."""
        while self._kept:
            self.last()
        self._path.n_nodes, self._path.in_order = self._n_nodes, self._in_order
        if self._whole is not None:
            self._path.theta[:], self._path.a[:] = self._whole


def solved(machine: Any, number: int, start: int, limits: Limits, undo: Undo) -> Status:
    """Solve for a machine from node `start` on, the one before it held."""
    problem = machine._problem(number, start)
    # A gap of tol leaves hyperplanes √tol from where they belong.
    tol = min(machine.tol, _GAP * machine.lag_tol**2)
    solution = CoupledInteriorPointSolver(tol).solve(problem, limits, number)
    if limits.interrupted:
        raise KeyboardInterrupt("Learning was interrupted. Nothing was changed.")
    undo.keep(number, start)
    path = machine._path
    path.theta[number, start:], path.a[number, :, start:] = solution.theta, solution.a
    machine._trail.touched = min(machine._trail.touched, start)
    status: Status = solution.status
    return status


def resume(machine: Any, number: int, start: int, length: int) -> None:
    """Let a follower begin again from multipliers as they are: what it knows before node `start`
    stays, and its window has so many of the last nodes, or somewhat more."""
    follower = machine._trail.followers[number]
    start = follower.place_for(start)
    problem = machine._problem(number, start, held=False)
    follower.restart(problem, machine._path.a[number, :, start:], start, length)


def followed(
    machine: Any, number: int, known: int, earliest: int, limits: Limits, undo: Undo
) -> Status:
    """Settle a machine after samples have come: `known` nodes were there before. Nodes before
    `earliest` are not touched."""
    trail, path = machine._trail, machine._path
    follower, depth = trail.followers[number], trail.depths[number]
    tol = _SHARE * machine.lag_tol
    while True:
        start = follower.start
        problem = machine._problem(number, start, held=False)
        undo.keep(number, start)
        theta, a = path.theta[number, start:], path.a[number, :, start:]
        least = max(0, earliest - start)
        outcome, reached = follower.follow(problem, theta, a, known - start, least, tol)
        if outcome is Outcome.SETTLED or (outcome is Outcome.TOO_SHORT and start <= earliest):
            break
        undo.last()
        if outcome is Outcome.LOST:
            stretch = max(_STRETCH, int(_STRETCH_DEPTHS * depth))
            start = max(earliest, path.n_nodes - stretch, 0)
            status = solved(machine, number, start, limits, undo)
            resume(machine, number, start, int(depth))
            return status
        longer = 2 * (path.n_nodes - start)
        resume(machine, number, max(0, path.n_nodes - longer), longer)
    trail.touched = min(trail.touched, start + reached)
    depth = max(_FADING * depth, float(path.n_nodes - start - reached))
    trail.depths[number] = depth
    if path.n_nodes - start > _LONG * (depth + SPACING):
        follower.shorten(path.n_nodes, int(depth) + SPACING)
    return Status.OPTIMAL
