"""The end of a chain as it grows: states of rows guessed, then corrected, as far as it matters.

See `chain_steps` for what is known of a chain whose rows are in given states. New nodes are
eliminated, then hyperplanes are found from the last one back, each from the one after it, until one
would move by too little to matter: it and all before stay where they are.

How little is that? A node left behind by δ misleads those before it, which it should have moved,
by δρ, δρ², … with ρ < 1 the share of its movement that a node hands on. If every sample leaves δ at
another node, what adds up is δ/(1 − ρ) at the most. So a movement is too small to matter if it is
below (1 − ρ) of what is tolerated, with ρ as seen over the last `_SEEN` nodes.

Strong links hand on forces without moving: a free row far back may have to bear more, up to its
bound, while hyperplanes stay where they are. So the same is asked of the force by which a link
pulls more than before, beside the largest bound.

Where those are with which all states are right is the optimum. Otherwise everything moves towards
them, all rows in step, until the first row would contradict its state: it takes the one that it
asks for, elimination is repeated from it on, and so forth. On that way every point is the optimum
of a problem with other forces at the nodes and other margins, which differ from the true ones in
the same proportion everywhere, and that difference shrinks: the method of `active_set`, for chains.

Factors are kept for a window of the last nodes; of older ones only what every `SPACING`th is told
by those before it, so that the window can be made longer. Rows before the window keep their states.
"""

from __future__ import annotations

from enum import Enum

import numpy as np
from numba import njit

from lindero.problems.coupled import CoupledProblem
from lindero.problems.node_graphs import Chain
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT
from lindero.solvers.chain_steps import FREE, FULL, IDLE, eliminate, step_back

#: Nodes from one mark to the next: windows begin at marks.
SPACING = 64

#: Nodes that are eliminated at once where only what the marks are told is kept.
_PIECE = 16 * SPACING

#: Residuals below this share of the usual margin are zero, and so are multipliers beyond their
#: bounds by this share; and the share of a row's own margin that is rounding.
_MET = 1e-9
_ROUNDING = 1e-13

#: Nodes over which it is seen how much of a movement is handed on.
_SEEN = 8

#: Changes of state after which to give up, and as many more for each new node.
_MOST_CHANGES = 100


class Outcome(Enum):
    """How following ended: at the optimum, at the start of the window with all of it moving, or
    nowhere."""

    SETTLED = 0
    TOO_SHORT = 1
    LOST = 2


class ChainFollower:
    """What the nodes of a growing chain are told by those before them. Nodes are counted from the
    beginning of the chain; the window is those from `start` on, and problems, hyperplanes and
    multipliers given are of these."""

    def __init__(self, n_parameters: int, n_sides: int) -> None:
        self.start = 0
        self.sound = False
        self._size = n_parameters
        self._marks = np.zeros((1, n_parameters, n_parameters + 1))
        self._state = np.zeros((n_sides, 0), dtype=np.int8)
        self._arrays: tuple[Array, ...] = ()
        self._make_room(SPACING)

    def _make_room(self, n_nodes: int) -> None:
        """Room for so many nodes in the window."""
        size, room = self._size, self._state.shape[1]
        if n_nodes <= room:
            return
        shapes = (size, size), (size,), (size * (size + 1) // 2,), (size,), (size,), (2,)
        longer = tuple(np.zeros((2 * n_nodes, *shape)) for shape in shapes)
        for array, old in zip(longer, self._arrays, strict=False):
            array[:room] = old
        state = np.zeros((len(self._state), 2 * n_nodes), dtype=np.int8)
        state[:, :room] = self._state
        self._arrays, self._state = longer, state

    def place_for(self, node: int) -> int:
        """The last node that a window with `node` can begin with."""
        node = min(node, self.start)
        return node - node % SPACING

    def restart(self, problem: CoupledProblem, a: Array, start: int, length: int) -> None:
        """Eliminate the nodes of `problem`, those from `start` on (see `place_for`), by the states
        that their multipliers show; the window is then about so many last ones. Where the states
        leave the optimum open, it will be lost until the next restart."""
        n = problem.n_nodes
        shown = np.where(a <= 0.0, IDLE, np.where(a >= problem.u, FULL, FREE)).astype(np.int8)
        # Of two free rows of a node, which say the same, one is enough.
        shown[1:][(shown[1:] == FREE) & (shown[0] == FREE)] = IDLE
        self.start = start
        self._set_told(self._marks[start // SPACING])
        done = 0
        while n - done > max(length, SPACING) + _PIECE:
            self.sound = self._passed(problem, shown, done, done + _PIECE)
            if not self.sound:
                return
            self._begin_at(_PIECE)
            done += _PIECE
        self.sound = self._passed(problem, shown, done, n)

    def _passed(self, problem: CoupledProblem, shown: Array, start: int, stop: int) -> bool:
        """Whether nodes start..stop−1 of the problem, the first of the window, were eliminated."""
        count, last = stop - start, stop == problem.n_nodes
        self._make_room(count + 1)
        self._state[:, :count] = shown[:, start:stop]
        part = slice(start, stop if last else stop + 1)
        X, s, p, u = problem.X[part], problem.s[:, part], problem.p[:, part], problem.u[:, part]
        rows = (X, *(np.ascontiguousarray(values) for values in (s, p, u)))
        links = _links(problem)[start:]
        return bool(
            eliminate(0, count, *rows, links, problem.ridge, 0.0, self._state, *self._arrays)
        )

    def _set_told(self, mark: Array) -> None:
        self._arrays[0][0], self._arrays[1][0] = mark[:, :-1], mark[:, -1]

    def _begin_at(self, place: int) -> None:
        """Drop the first nodes of the window, keeping what the marks among them are told and what
        the one at `place`, a mark, is."""
        M, m = self._arrays[:2]
        first = self.start // SPACING
        needed = first + place // SPACING + 1
        if needed > len(self._marks):
            marks = np.zeros((2 * needed, *self._marks.shape[1:]))
            marks[: len(self._marks)] = self._marks
            self._marks = marks
        for at in range(0, place + 1, SPACING):
            mark = self._marks[first + at // SPACING]
            mark[:, :-1], mark[:, -1] = M[at], m[at]
        for array in self._arrays:
            array[: len(array) - place] = array[place:]
        self._state[:, : self._state.shape[1] - place] = self._state[:, place:]
        self.start += place

    def shorten(self, n_nodes: int, length: int) -> None:
        """Of a chain of so many nodes, let the window be about so many of the last."""
        place = n_nodes - self.start - length
        place -= place % SPACING
        if place > 0:
            self._begin_at(place)

    def follow(
        self, problem: CoupledProblem, theta: Array, a: Array, known: int, first: int, tol: float
    ) -> tuple[Outcome, int]:
        """Settle the window after nodes have come to its end: θ and a in place, `known` nodes of
        them being right but for that. Nodes before `first` are not touched. `tol` is what a
        movement is tolerated as, beside the largest hyperplane passed. Returns how it ended, and
        the first node that was touched; places are in the window. If it is not SETTLED, the next
        call is `restart`."""
        if not self.sound:
            return Outcome.LOST, 0
        n = problem.n_nodes
        self._make_room(n)
        self._state[:, known:n] = IDLE
        usual = problem.typical if len(problem.s) > 1 else float(np.abs(problem.p).max())
        code, reached = settle(
            known, first, tol, _MET * usual, problem.X, problem.s, problem.p, problem.u,
            _links(problem), problem.ridge, theta, a, self._state, *self._arrays,
        )  # fmt: skip
        return Outcome(code), reached


def _links(problem: CoupledProblem) -> Array:
    assert isinstance(problem.graph, Chain)
    links: Array = problem.link_scale * problem.graph.links
    return links


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def settle(  # type: ignore[no-untyped-def]
    known, least, tol, met, X, s, p, u, links, ridge, theta, a, state, M, m, W, rest, v, scalars
):
    """Change after change until all states are right; see `ChainFollower.follow`."""
    n, size = s.shape[1], ridge.size
    goal, goal_a = np.empty_like(theta), np.empty(s.shape)
    first, must, touched = known - 1, known - 1, n
    offset = theta[known - 1, size - 1]
    for _ in range(_MOST_CHANGES * (1 + n - known)):
        if not eliminate(
            first, n, X, s, p, u, links, ridge, offset, state, M, m, W, rest, v, scalars
        ):
            return 2, touched
        must = min(must, first)
        last, complete = sweep_back(
            must, least, tol, X, s, u, links, theta, a, state, W, rest, v, scalars, goal, goal_a
        )
        if last < 0:
            return 2, touched
        share, side, at = first_contradiction(last, X, s, p, u, theta, a, state, goal, goal_a, met)
        touched = min(touched, last)
        move(last, share, u, theta, a, goal, goal_a)
        if at < 0:
            return (0 if complete or least > 0 else 1), touched
        if state[side, at] != FREE:
            state[side, at] = FREE
        else:
            state[side, at] = IDLE if goal_a[side, at] < 0.0 else FULL
            a[side, at] = 0.0 if goal_a[side, at] < 0.0 else u[side, at]
        first = at
    return 2, touched


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def sweep_back(  # type: ignore[no-untyped-def]
    must, least, tol, X, s, u, links, theta, a, state, W, rest, v, scalars, goal, goal_a
):
    """Where hyperplanes and multipliers belong by their states, from the last node back: the first
    node found, and whether those before it move too little to matter. −1 where there is a NaN."""
    (sides, n), size = s.shape, theta.shape[1]
    half, steps, pulls = np.empty(size), np.zeros(_SEEN), np.zeros(_SEEN)
    largest, bound = 0.0, 0.0
    for i in range(n - 1, least - 1, -1):
        c = links[i] if i < n - 1 else 0.0
        mu = step_back(
            W[i], rest[i], v[i], scalars[i, 0], scalars[i, 1], c, goal[min(i + 1, n - 1)], half,
            goal[i],
        )  # fmt: skip
        moved, pulled, square, after = 0.0, 0.0, 0.0, min(i + 1, n - 1)
        for k in range(size):
            step = goal[i, k] - theta[i, k]
            moved += step * step
            pulled += (goal[after, k] - theta[after, k] - step) ** 2
            square += goal[i, k] * goal[i, k]
        if not square < np.inf:
            return -1, False
        largest, moved, pulled = max(largest, square), np.sqrt(moved), c * np.sqrt(pulled)
        for side in range(sides):
            bound = max(bound, u[side, i])
        moved_before, steps[i % _SEEN] = steps[i % _SEEN], moved
        pulled_before, pulls[i % _SEEN] = pulls[i % _SEEN], pulled
        if i < must and i + _SEEN < n:
            little = tol * np.sqrt(largest) * fading(moved, moved_before)
            if moved <= little and pulled <= tol * bound * fading(pulled, pulled_before):
                return i + 1, True
        for side in range(sides):
            if state[side, i] == FREE:
                goal_a[side, i] = s[side, i] * mu
            else:
                goal_a[side, i] = u[side, i] if state[side, i] == FULL else 0.0
    return least, False


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def fading(now, before):  # type: ignore[no-untyped-def]
    """1 − ρ, of what was `before` so many nodes later."""
    return 1.0 - (now / before) ** (1.0 / _SEEN) if now < before else 0.0


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def first_contradiction(last, X, s, p, u, theta, a, state, goal, goal_a, met):  # type: ignore[no-untyped-def]
    """On the way to the goal: the share of it until a row contradicts its state, and which."""
    (sides, n), d = s.shape, X.shape[1]
    share, at_side, at = 1.0, -1, -1
    for i in range(last, n):
        before, after = theta[i, d], goal[i, d]
        for k in range(d):
            before += X[i, k] * theta[i, k]
            after += X[i, k] * goal[i, k]
        free = False
        for side in range(sides):
            free = free or state[side, i] == FREE
        for side in range(sides):
            bound = u[side, i]
            if bound <= 0.0:
                continue
            if state[side, i] == FREE:
                now, then = a[side, i], goal_a[side, i]
                if then < 0.0:
                    now, wrong = max(now, 0.0), -then - _MET * bound
                else:
                    now, then = max(bound - now, 0.0), bound - then
                    wrong = -then - _MET * bound
            else:
                sign = s[side, i] if state[side, i] == IDLE else -s[side, i]
                shift = p[side, i] if state[side, i] == IDLE else -p[side, i]
                now, then = max(sign * before + shift, 0.0), sign * after + shift
                wrong = -1.0 if free else -then - met - _ROUNDING * abs(p[side, i])
            if wrong > 0.0 and now < share * (now - then):
                share, at_side, at = now / (now - then), side, i
    return share, at_side, at


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def move(last, share, u, theta, a, goal, goal_a):  # type: ignore[no-untyped-def]
    """Go a share of the way to the goal."""
    n, size = theta.shape
    for i in range(last, n):
        for k in range(size):
            theta[i, k] += share * (goal[i, k] - theta[i, k])
        for side in range(len(a)):
            value = a[side, i] + share * (goal_a[side, i] - a[side, i])
            a[side, i] = min(max(value, 0.0), u[side, i])
