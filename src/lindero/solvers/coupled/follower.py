"""The end of a chain as it grows: states of rows guessed, then corrected, as far as it matters.

Each row of a coupled problem (`problems.coupled`) has one of three states at the optimum:

    idle   a = 0, r ≥ 0        free   0 ≤ a ≤ u, r = 0        full   a = u, r ≤ 0

With states given the optimum is that of a quadratic function along a chain. All that nodes before
node i know of θ_i is then a matrix M and a vector m, ½θᵀMθ − mᵀθ. The node adds its ridge and the
pull z of its full rows, T = M + diag(ridge), t = m + z x̃, and a link of weight c, S = T + cI:

    θ_i = rest + c S⁻¹θ_{i+1}                 rest = S⁻¹t
    M' = cTS⁻¹     m' = c·rest                what the next node is told

A free row fixes x̃·θ_i = b. With v = S⁻¹x̃, γ = x̃·v and β = b − x̃·S⁻¹t,

    θ_i = rest + c (S⁻¹ − vvᵀ/γ) θ_{i+1}      rest = S⁻¹t + vβ/γ
    M' = cTS⁻¹ + c²vvᵀ/γ                      multiplier (β − c v·θ_{i+1}) / γ

which is the limit of a stiff spring, without one. The factor c(S⁻¹ − …) is at most 1: nothing that
happens later moves a node by more than it moves the next one.

The last node has c = 0, and T may then know nothing of the offset. κx̃x̃ᵀ added to T where a row is
free changes nothing, since x̃·θ is fixed; with no free row in the whole chain the offset stays
where it was, if nothing pulls at it.

New nodes are eliminated going on, then hyperplanes are found coming back, from the last one, each
from the one after it, until one would move by too little to matter: it and all before stay.

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
from typing import Any

import numpy as np

from lindero.graphs.graph import Chain
from lindero.graphs.multigrid import apply_inverse, invert_factor
from lindero.problems.coupled import CoupledProblem
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, compiled
from lindero.solvers.coupled.chain import pass_link

#: States of rows.
IDLE, FREE, FULL = 0, 1, 2

#: Nodes from one mark to the next: windows begin at marks.
SPACING = 64

#: What `eliminate` finds at each node.
_ARRAYS = ("M", "m", "W", "rest", "v", "scalars")

#: Nodes that are eliminated at once where only what the marks are told is kept.
_PIECE = 16 * SPACING

#: Residuals below this share of the usual margin are zero, and so are multipliers beyond their
#: bounds by this share; and the share of a row's own margin that is rounding.
_MET = 1e-9
_ROUNDING = 1e-13

#: A pull at the offset below this share of the bounds is rounding.
_NO_PULL = 1e-12

#: Nodes over which it is seen how much of a movement is handed on.
_SEEN = 8

#: Changes of state after which to give up, and as many more for each new node.
_MOST_CHANGES = 100


class FollowStatus(Enum):
    """How following ended: at the optimum, at the start of the window, or nowhere."""

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

    @staticmethod
    def shapes(n_parameters: int) -> dict[str, tuple[int, ...]]:
        """What is kept of each node of the window, by its name, and of what shape."""
        size = n_parameters
        shapes = (size, size), (size,), (size * (size + 1) // 2,), (size,), (size,), (2,)
        return dict(zip(_ARRAYS, shapes, strict=True))

    @property
    def n_parameters(self) -> int:
        return self._size

    @property
    def n_sides(self) -> int:
        return len(self._state)

    # -- what is saved ----------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All that is known, without the zeros at the ends of arrays, which are room."""
        parts = dict(zip(_ARRAYS, self._arrays, strict=True))
        room = max(1, _count_used(self._state.T), *(_count_used(part) for part in parts.values()))
        n_marks = max(self.start // SPACING + 1, _count_used(self._marks))
        return {
            "start": self.start,
            "sound": self.sound,
            "size": self._size,
            "marks": self._marks[:n_marks],
            "state": np.ascontiguousarray(self._state[:, :room]),
            **{name: part[:room] for name, part in parts.items()},
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ChainFollower:
        """The follower that goes on exactly as the one of that `state` would have."""
        follower = cls.__new__(cls)
        follower.start, follower.sound = state["start"], state["sound"]
        follower._size, follower._marks = state["size"], state["marks"]
        follower._state = state["state"]
        follower._arrays = tuple(state[name] for name in _ARRAYS)
        return follower

    # -- windows ----------------------------------------------------------------------------------

    def _make_room(self, n_nodes: int) -> None:
        """Room for so many nodes in the window."""
        room = self._state.shape[1]
        if n_nodes <= room:
            return
        shapes = self.shapes(self._size).values()
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
        mark = self._marks[start // SPACING]
        self._arrays[0][0], self._arrays[1][0] = mark[:, :-1], mark[:, -1]
        done = 0
        while n - done > max(length, SPACING) + _PIECE:
            self.sound = self._eliminate(problem, shown, done, done + _PIECE)
            if not self.sound:
                return
            self._begin_at(_PIECE)
            done += _PIECE
        self.sound = self._eliminate(problem, shown, done, n)

    def _eliminate(self, problem: CoupledProblem, shown: Array, start: int, stop: int) -> bool:
        """Whether nodes start..stop−1 of the problem, the first of the window, were eliminated."""
        count, last = stop - start, stop == problem.n_nodes
        self._make_room(count + 1)
        self._state[:, :count] = shown[:, start:stop]
        part = slice(start, stop if last else stop + 1)
        X, s, p, u = problem.X[part], problem.s[:, part], problem.p[:, part], problem.u[:, part]
        rows = (X, *(np.ascontiguousarray(values) for values in (s, p, u)))
        links = _scale_links(problem)[start:]
        return bool(
            eliminate(0, count, *rows, links, problem.ridge, 0.0, self._state, *self._arrays)
        )

    def _begin_at(self, place: int) -> None:
        """Drop nodes of the window before `place`, a mark, but keep what marks are told."""
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
    ) -> tuple[FollowStatus, int]:
        """Settle the window after nodes have come to its `known` ones: θ and a in place, none
        before node `first`. `tol` is the movement tolerated, beside the largest hyperplane passed.
        Returns how it ended and the first node touched, in the window. `restart` is the next call
        if it is not SETTLED."""
        if not self.sound:
            return FollowStatus.LOST, 0
        n = problem.n_nodes
        self._make_room(n)
        self._state[:, known:n] = IDLE
        usual = problem.typical if len(problem.s) > 1 else float(np.abs(problem.p).max())
        code, reached = settle(
            known, first, tol, _MET * usual, problem.X, problem.s, problem.p, problem.u,
            _scale_links(problem), problem.ridge, theta, a, self._state, *self._arrays,
        )  # fmt: skip
        return FollowStatus(code), reached


def _count_used(array: Array) -> int:
    """How many items an array has without the zeros at its end."""
    return int(np.flatnonzero(array.reshape(len(array), -1).any(axis=1)).max(initial=-1)) + 1


def _scale_links(problem: CoupledProblem) -> Array:
    assert isinstance(problem.graph, Chain)
    links: Array = problem.link_scale * problem.graph.links
    return links


@compiled(EXACT)
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
        share, side, at = find_contradiction(last, X, s, p, u, theta, a, state, goal, goal_a, met)
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


@compiled(EXACT)
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
            little = tol * np.sqrt(largest) * find_fading(moved, moved_before)
            if moved <= little and pulled <= tol * bound * find_fading(pulled, pulled_before):
                return i + 1, True
        for side in range(sides):
            if state[side, i] == FREE:
                goal_a[side, i] = s[side, i] * mu
            else:
                goal_a[side, i] = u[side, i] if state[side, i] == FULL else 0.0
    return least, False


@compiled(EXACT)
def find_fading(now, before):  # type: ignore[no-untyped-def]
    """1 − ρ, of what was `before` so many nodes later."""
    return 1.0 - (now / before) ** (1.0 / _SEEN) if now < before else 0.0


@compiled(EXACT)
def find_contradiction(last, X, s, p, u, theta, a, state, goal, goal_a, met):  # type: ignore[no-untyped-def]
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


@compiled(EXACT)
def move(last, share, u, theta, a, goal, goal_a):  # type: ignore[no-untyped-def]
    """Go a share of the way to the goal."""
    n, size = theta.shape
    for i in range(last, n):
        for k in range(size):
            theta[i, k] += share * (goal[i, k] - theta[i, k])
        for side in range(len(a)):
            value = a[side, i] + share * (goal_a[side, i] - a[side, i])
            a[side, i] = min(max(value, 0.0), u[side, i])


# -- one node: eliminated going on, found coming back ---------------------------------------------


@compiled(EXACT)
def eliminate(first, stop, X, s, p, u, links, ridge, offset, state, M, m, W, rest, v, scalars):  # type: ignore[no-untyped-def]
    """Eliminate nodes first..stop−1. M[i] and m[i] are what node i is told, in the upper triangle;
    `scalars[i]` are γ (0 without a free row) and β. `offset` is that of the last node if nothing is
    known of it. False where the states leave the optimum open, or there is a NaN."""
    (sides, n), size = s.shape, ridge.size
    T, S, Y = np.empty((size, size)), np.empty((size, size)), np.empty((size, size))
    x, t, half, y = np.ones(size), np.empty(size), np.empty(size), np.empty(size)
    for i in range(first, stop):
        for k in range(size - 1):
            x[k] = X[i, k]
        z, free, b = 0.0, False, 0.0
        for side in range(sides):
            if state[side, i] == FULL:
                z += s[side, i] * u[side, i]
            elif state[side, i] == FREE:
                free, b = True, -s[side, i] * p[side, i]
        T[:, :] = M[i]
        for k in range(size):
            T[k, k] += ridge[k]
            t[k] = m[i, k] + z * x[k]
        c = links[i] if i < n - 1 else 0.0
        if i == n - 1:
            if free:
                stiffen(T, t, x, b)
            elif T[size - 1, size - 1] == 0.0:
                if abs(t[size - 1]) > _NO_PULL * u.max():
                    return False
                T[size - 1, size - 1] = 1.0
                t[size - 1] = offset
        S[:, :] = T
        for k in range(size):
            S[k, k] += c
        if not invert_factor(S, c, W[i]):
            return False
        apply_inverse(W[i], t, half, rest[i])
        scalars[i, 0] = 0.0
        if free:
            apply_inverse(W[i], x, half, y)
            gamma, beta = 0.0, b
            for k in range(size):
                gamma += x[k] * y[k]
                beta -= x[k] * rest[i, k]
            if not gamma > 0.0:
                return False
            for k in range(size):
                v[i, k] = y[k]
                rest[i, k] += y[k] * beta / gamma
            scalars[i, 0], scalars[i, 1] = gamma, beta
        if i < n - 1:
            pass_link(T, W[i], c, Y, M[i + 1])
            if T[size - 1, size - 1] == 0.0:
                # Nothing is known of the offset, and rounding shall not know it.
                M[i + 1, :, size - 1] = 0.0
            if free:
                for k in range(size):
                    factor, row = c * c * v[i, k] / scalars[i, 0], M[i + 1, k]
                    for q in range(k, size):
                        row[q] += factor * v[i, q]
            for k in range(size):
                m[i + 1, k] = c * rest[i, k]
    return True


@compiled(EXACT)
def stiffen(T, t, x, b):  # type: ignore[no-untyped-def]
    """T += κx̃x̃ᵀ and t += κb x̃, with κ of the size that T has."""
    size = x.size
    trace, square = 0.0, 0.0
    for k in range(size):
        trace += T[k, k]
        square += x[k] * x[k]
    kappa = (trace / size if trace > 0.0 else 1.0) / square
    for k in range(size):
        row, factor = T[k], kappa * x[k]
        for q in range(k, size):
            row[q] += factor * x[q]
        t[k] += factor * b


@compiled(EXACT)
def step_back(W, rest, v, gamma, beta, c, after, half, out):  # type: ignore[no-untyped-def]
    """θ of a node from that of the next, `after`, into `out`; the multiplier of its free row."""
    size = rest.size
    if c == 0.0:
        for k in range(size):
            out[k] = rest[k]
        return beta / gamma if gamma > 0.0 else 0.0
    apply_inverse(W, after, half, out)
    along = 0.0
    if gamma > 0.0:
        for k in range(size):
            along += v[k] * after[k]
        for k in range(size):
            out[k] -= v[k] * along / gamma
    for k in range(size):
        out[k] = rest[k] + c * out[k]
    return (beta - c * along) / gamma if gamma > 0.0 else 0.0
