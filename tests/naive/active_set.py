"""Twins of the active set's loops in plain NumPy, and a judge of optimal points in extended
precision that knows neither solver nor kernel operator."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

AT_ZERO, FREE, AT_BOUND = -1, 0, 1


# -- what ends a step -----------------------------------------------------------------------------


def first_to_leave_bound(residual, residual_rate, state, takes_part, least_rate):
    """Step and index of the first variable not free whose r reaches 0."""
    outwards = state * residual_rate
    moves = takes_part & (state != FREE) & (outwards > least_rate)
    if not moves.any():
        return np.inf, -1
    steps = np.full(len(state), np.inf)
    steps[moves] = np.maximum(-state * residual, 0.0)[moves] / outwards[moves]
    first = np.flatnonzero(steps == steps.min())
    return steps.min(), first[np.argmax(outwards[first])]


def first_to_meet_bound(a, u, a_rate, u_rate, least_rate):
    """Step, index and side of the first variable that meets 0 or its bound."""
    with np.errstate(divide="ignore", invalid="ignore"):
        down = np.where(-a_rate > least_rate, np.maximum(a, 0.0) / -a_rate, np.inf)
        closing = a_rate - u_rate
        up = np.where(
            (closing > least_rate) & np.isfinite(u), np.maximum(u - a, 0.0) / closing, np.inf
        )
    steps = np.concatenate([down, up])
    if len(steps) == 0 or np.isinf(steps.min()):
        return np.inf, -1, AT_ZERO
    speeds = np.concatenate([-a_rate, closing])
    first = np.flatnonzero(steps == steps.min())
    found = first[np.argmax(speeds[first])]
    return steps[found], found % len(a), AT_ZERO if found < len(a) else AT_BOUND


def violations(residual, state, u):
    """What must be taken from r for the conditions to hold."""
    wrong = (state == FREE) | ((u > 0.0) & (state * residual > 0.0))
    return np.where(wrong, residual, 0.0)


# -- judging a point ------------------------------------------------------------------------------


def balanced(a, s, u, delta):
    """`a` put into the box and moved until Σ s a = δ to extended precision."""
    a = np.clip(a.astype(np.longdouble), 0, u)
    excess = (s * a).sum() - delta
    falls = s * excess > 0
    inside = (a > 0) & (a < u)
    for movable in (inside, np.ones(len(a), dtype=bool)):
        room = np.where(falls, a, np.minimum(u - a, np.maximum(a, abs(excess)))) * movable
        if excess != 0 and room.sum() >= abs(excess):
            return a + np.where(falls, -1, 1) * room * (abs(excess) / room.sum())
    return a


def judged(K, s, p, u, delta, a):
    """KKT gap, bounds of the optimum and infeasibility. K is over variables, of longdouble."""
    z = s * a.astype(np.longdouble)
    v = K @ z + s * p
    rises, falls = np.where(s > 0, a < u, a > 0), np.where(s > 0, a > 0, a < u)
    least, most = v[rises].min(initial=np.inf), v[falls].max(initial=-np.inf)
    free = (a > 0) & (a < u)
    if free.any():
        bias = -v[free].mean()
    else:
        ends = [end for end in (least, most) if np.isfinite(end)]
        bias = -np.mean(ends) if ends else np.longdouble(0)
    slack = np.maximum(-s * (v + bias), 0)
    finite = np.isfinite(u)
    losses = (u[finite] * slack[finite]).sum()
    outside = max((-a).max(initial=0), (a - u).max(initial=0), abs(z.sum() - delta))
    fair = s * balanced(a, s, u, delta)
    return SimpleNamespace(
        kkt_gap=float(max(most - least, 0)),
        primal=float((z @ (K @ z)) / 2 + bias * delta + losses),
        dual=float(-(fair @ (K @ fair)) / 2 - (s * p) @ fair),
        infeasibility=float(outside),
        unmet=float(slack[~finite].max(initial=0)),
    )
