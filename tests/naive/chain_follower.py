"""Twins of following a chain: one dense system for rows in given states, and all states tried.

Unknowns are the first hyperplane and the steps to the next ones, each times the root of its link,
so that a strong chain is no harder for the dense system than a weak one.
"""

from itertools import product

import numpy as np

from lindero.solvers.coupled.follower import FREE, FULL, IDLE

#: Share of the largest multiplier, and of the margins, that is rounding.
_ROUNDING = 1e-9


def from_steps(problem):
    """The matrix that takes the unknowns to all hyperplanes."""
    n, size = problem.n_nodes, problem.n_parameters
    places = np.zeros((n, n))
    places[:, 0] = 1.0
    for node, link in enumerate(problem.link_scale * problem.graph.links):
        places[node + 1 :, node + 1] = 1.0 / np.sqrt(link)
    return np.kron(places, np.eye(size))


def rows_of(problem):
    """The matrix that takes all parameters to s x̃·θ of each row: (sides, n, n·size)."""
    n, size = problem.n_nodes, problem.n_parameters
    rows = np.zeros((len(problem.s), n, n, size))
    for side, s in enumerate(problem.s):
        for i in range(n):
            rows[side, i, i] = s[i] * np.append(problem.X[i], 1.0)
    return rows.reshape(len(problem.s), n, n * size)


def optimum_for(problem, state, offset=0.0):
    """Hyperplanes and multipliers for rows in given states. Where no row is free the last offset is
    as given, if nothing pulls at it; None if something does."""
    n, size = problem.n_nodes, problem.n_parameters
    B, rows = from_steps(problem), rows_of(problem)
    H = B.T @ np.diag(np.tile(problem.ridge, n)) @ B
    H += np.diag([0.0] * size + [1.0] * (n - 1) * size)
    full, free = state == FULL, state == FREE
    pull = np.einsum("ij,ijk->k", np.where(full, problem.u, 0.0), rows)
    A, b = rows[free], -problem.p[free]
    if not free.any():
        if abs(np.vdot(problem.s, np.where(full, problem.u, 0.0))) > 1e-9 * problem.u.max():
            return None
        A, b = np.zeros((1, n * size)), np.array([offset])
        A[0, -1] = 1.0
    AB, m = A @ B, len(A)
    K = np.block([[H, -AB.T], [AB, np.zeros((m, m))]])
    found = np.linalg.solve(K, np.append(B.T @ pull, b))
    a = np.where(full, problem.u, 0.0)
    a[free] = found[n * size :] if free.any() else 0.0
    return (B @ found[: n * size]).reshape(n, size), a


def is_right(problem, theta, a, state):
    """Whether no row contradicts its state."""
    r, zero = problem.residuals(theta), _ROUNDING * max(1.0, np.abs(problem.p).max())
    least = _ROUNDING * max(problem.u.max(), np.abs(a).max())
    inside = (a >= -least) & (a <= problem.u + least)
    right = np.where(state == IDLE, r >= -zero, np.where(state == FULL, r <= zero, inside))
    return bool(right[problem.u > 0.0].all())


def optimum_by_trying(problem):
    """Hyperplanes and multipliers of the first states that no row contradicts."""
    n, sides = problem.n_nodes, len(problem.s)
    ways = [way for way in product((IDLE, FREE, FULL), repeat=sides) if sum(map(bool, way)) <= 1]
    for chosen in product(ways, repeat=n):
        state = np.array(chosen).T
        if (state[problem.u == 0.0] != IDLE).any():
            continue
        found = optimum_for(problem, state)
        if found is not None and is_right(problem, *found, state):
            return found
    raise AssertionError("No states are right: the rows may say the same twice.")
