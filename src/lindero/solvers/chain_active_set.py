"""Hyperplanes along a chain of which all but the end is known: states guessed, then corrected.

Each row of a coupled problem (`problems.coupled`) has one of three states at the optimum:

    idle   a = 0, r ≥ 0        free   0 ≤ a ≤ u, r = 0        full   a = u, r ≤ 0

If they were known, the optimum would be the solution of one linear system. After a sample has been
appended they are known, nearly: so that system is solved, rows that contradict their state take the
one that they ask for, and so on until none does. r = 0 of the free rows is held by multipliers,

    (H + Σ_free σ x̃ x̃ᵀ) Δθ = Σ s ā x̃ − Hθ,      ā(θ) = a − σr (free), 0 (idle), u (full)

then a = ā(θ + Δθ), with σ a million times as stiff as the chain, so that a step or two leave
nothing of r.

Rows that change their state are most often near the end, so that elimination from the front, as in
`chain_elimination`, need not begin anew but where the first of them is.

That need not end: states may go round in circles, and without a free row or an anchor the offsets
are not fixed. The caller is then told so, and has `CoupledInteriorPointSolver`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lindero.kernels.compilation import EXACT
from lindero.kernels.functions import Array
from lindero.problems.block_factors import inverse_factor
from lindero.problems.coupled import CoupledProblem
from lindero.problems.node_graphs import Chain
from lindero.solvers.chain_elimination import (
    add_node,
    pass_link,
    solve_middle,
    sweep_in,
    sweep_out,
)
from lindero.solvers.chain_system import chain_residual

#: How much stiffer a free row is held than the chain could hold it.
_STIFF = 1e6

#: Residuals below this share of the margins are zero.
_MET = 1e-9

#: Passes after which the states are taken to go round in circles.
MOST_PASSES = 25

#: From this pass on only the row that contradicts its state most changes it.
_CAREFUL_FROM = 6

_IDLE, _FREE, _FULL = 0, 1, 2


def follow_chain(problem: CoupledProblem, theta: Array, a: Array) -> tuple[Array, Array] | None:
    """The optimum, from hyperplanes and multipliers of nearly the right states; None where the
    states do not settle."""
    assert isinstance(problem.graph, Chain)
    theta, a = np.array(theta, order="C"), np.clip(a, 0.0, problem.u)
    done = settle(
        problem.X, problem.s, problem.p, problem.u, problem.link_scale * problem.graph.links,
        problem.ridge, problem.ground, problem.origin, theta, a,
    )  # fmt: skip
    return (theta, a) if done else None


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def settle(X, s, p, u, links, ridge, ground, origin, theta, a):  # type: ignore[no-untyped-def]
    """Pass after pass until all states are right: θ and a in place, and whether it came to that."""
    sides, n = s.shape
    size = X.shape[1] + 1
    stiffness, state = np.empty(n), np.empty((sides, n), np.int8)
    largest = 0.0
    for i in range(n):
        stiff = ridge[0] if size > 1 else 0.0
        stiff += links[i - 1] if i > 0 else ground
        if i < n - 1:
            stiff += links[i]
        square = 1.0
        for k in range(size - 1):
            square += X[i, k] * X[i, k]
        stiffness[i] = _STIFF * stiff / square
        for side in range(sides):
            if u[side, i] > 0.0:
                largest = max(largest, abs(p[side, i]))
            full = a[side, i] >= u[side, i]
            state[side, i] = _IDLE if a[side, i] <= 0.0 else (_FULL if full else _FREE)
    met = _MET * largest
    f, sigma, pull = np.empty(n), np.full(n, np.nan), np.empty(n)
    W, known = np.empty((n, size * (size + 1) // 2)), np.zeros((n, size, size))
    r, change = np.empty_like(theta), np.empty_like(theta)
    reach(X, theta, f)
    revise(s, p, u, f, met, state, a, False)
    for number in range(MOST_PASSES):
        n_free, first = prepare(s, p, u, f, stiffness, state, a, sigma, pull)
        if n_free == 0 and ground == 0.0:
            return False
        if not eliminate(X, sigma, ridge, links, ground, first, known, W):
            return False
        chain_residual(X, links, ridge, ground, origin, theta, pull, 0, n, r)
        sweep_in(W, links, r, 0, n - 1, 1, change)
        solve_middle(W, links, r, n - 1, change)
        if n > 1:
            sweep_out(W, links, n - 2, -1, -1, change)
        for i in range(n):
            for k in range(size):
                theta[i, k] += change[i, k]
        reach(X, theta, f)
        worst = multipliers(s, p, f, stiffness, state, a)
        if not np.isfinite(worst):
            return False
        if not revise(s, p, u, f, met, state, a, number >= _CAREFUL_FROM) and worst <= met:
            return True
    return False


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def reach(X, theta, f):  # type: ignore[no-untyped-def]
    """f = x̃·θ at every node."""
    n, d = X.shape
    for i in range(n):
        total = theta[i, d]
        for k in range(d):
            total += X[i, k] * theta[i, k]
        f[i] = total


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def prepare(s, p, u, f, stiffness, state, a, sigma, pull):  # type: ignore[no-untyped-def]
    """σ and Σ s ā of each node; the number of free rows, and the first node whose σ is new."""
    sides, n = s.shape
    n_free, first = 0, n
    for i in range(n):
        before = sigma[i]
        sigma[i], pull[i] = 0.0, 0.0
        for side in range(sides):
            if state[side, i] == _FREE:
                n_free += 1
                sigma[i] += stiffness[i]
                residual = s[side, i] * f[i] + p[side, i]
                pull[i] += s[side, i] * (a[side, i] - stiffness[i] * residual)
            elif state[side, i] == _FULL:
                pull[i] += s[side, i] * u[side, i]
        if first == n and sigma[i] != before:
            first = i
    return n_free, first


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def eliminate(X, sigma, ridge, links, ground, first, known, W):  # type: ignore[no-untyped-def]
    """Eliminate the nodes from `first` on, those before being eliminated already: `known[i]` is
    what they say of node i. See `chain_elimination`. False where there is a NaN."""
    n, size = X.shape[0], X.shape[1] + 1
    T, S, Y = np.empty((size, size)), np.empty((size, size)), np.empty((size, size))
    x, own = np.ones(size), ridge.copy()
    for i in range(first, n):
        for k in range(size - 1):
            x[k] = X[i, k]
        T[:, :] = known[i]
        add_node(x, sigma[i], own, T)
        if i == 0:
            for k in range(size):
                T[k, k] += ground
        c = links[i] if i < n - 1 else 0.0
        S[:, :] = T
        for k in range(size):
            S[k, k] += c
        if not inverse_factor(S, c, W[i]):
            return False
        if i < n - 1:
            pass_link(T, W[i], c, Y, known[i + 1])
    return True


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def multipliers(s, p, f, stiffness, state, a):  # type: ignore[no-untyped-def]
    """a of the free rows where θ is now; the largest residual that they have."""
    sides, n = s.shape
    worst = 0.0
    for side in range(sides):
        for i in range(n):
            if state[side, i] == _FREE:
                residual = s[side, i] * f[i] + p[side, i]
                a[side, i] -= stiffness[i] * residual
                if not abs(residual) <= worst:  # NaN too
                    worst = abs(residual)
    return worst


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def revise(s, p, u, f, met, state, a, one_only):  # type: ignore[no-untyped-def]
    """Rows that contradict their state change it, or only the worst of them; whether any did."""
    sides, n = s.shape
    changed, most = False, 0.0
    at_side, at = -1, -1
    for side in range(sides):
        for i in range(n):
            if u[side, i] <= 0.0:
                state[side, i] = _IDLE
                a[side, i] = 0.0
                continue
            residual = s[side, i] * f[i] + p[side, i]
            if state[side, i] == _FREE:
                wrong = max(-a[side, i], a[side, i] - u[side, i]) / u[side, i]
            elif state[side, i] == _IDLE:
                wrong = -residual - met
            else:
                wrong = residual - met
            if wrong <= 0.0:
                continue
            changed = True
            if one_only:
                if wrong > most:
                    most, at_side, at = wrong, side, i
            else:
                turn(u, state, a, side, i)
    if one_only and changed:
        turn(u, state, a, at_side, at)
    return changed


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def turn(u, state, a, side, i):  # type: ignore[no-untyped-def]
    """The state that a row asks for: a free one goes to the bound it is beyond, others get free."""
    if state[side, i] != _FREE:
        state[side, i] = _FREE
    elif a[side, i] < 0.0:
        state[side, i] = _IDLE
        a[side, i] = 0.0
    else:
        state[side, i] = _FULL
        a[side, i] = u[side, i]
