"""From nearly optimal to exactly optimal, for problems small enough to factor.

Once the right variables are at their bounds, the free ones F solve a linear system: with the bound
ones fixed, v_F + b = 0 and Σz = δ read

    [K_FF  1] [Δz]     [v_F + b]
    [1ᵀ    0] [Δb] = − [   0   ]

The step is exact on the face of the box that F spans, so the objective falls along all of it.
Where it would leave the box it is cut there, the variable met is put on its bound, and a smaller
system is solved. Should a variable at a bound then violate its condition, a few SMO steps free it.

Singular K_FF (repeated rows, more free samples than dimensions) leaves Δz open but not the model:
the least-norm solution is taken, and no ridge is needed.
"""

from __future__ import annotations

import warnings

import numpy as np
import scipy.linalg

from lindero.kernels.functions import Array

#: Rounds of cutting and solving before the point reached is taken as it is.
MOST_ROUNDS = 30


def solve_on_face(K: Array, z: Array, v: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """z moved to the optimum of its face (or of a smaller one met on the way), with v = K z + q."""
    for _ in range(MOST_ROUNDS):
        free = np.flatnonzero((z > lower) & (z < upper))
        if len(free) == 0:
            break
        step = _face_step(K[np.ix_(free, free)], v[free])
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step > 0, (upper - z)[free], (lower - z)[free]) / step
        room[step == 0] = np.inf
        length = min(1.0, float(room.min()))
        moved = z.copy()
        moved[free] += length * step
        if length < 1.0:
            met = free[room <= length]
            moved[met] = np.where(step[room <= length] > 0, upper[met], lower[met])
        v = v + K[:, free] @ (moved - z)[free]
        z = moved
        if length == 1.0:
            break
    return z, v


def _face_step(K: Array, v: Array) -> Array:
    n = len(v)
    system = np.ones((n + 1, n + 1))
    system[:n, :n] = K
    system[n, n] = 0.0
    middle = v.mean()
    right = np.append(middle - v, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", scipy.linalg.LinAlgWarning)
        try:
            solution = scipy.linalg.solve(system, right, assume_a="sym", check_finite=False)
        except (scipy.linalg.LinAlgError, scipy.linalg.LinAlgWarning):
            solution = scipy.linalg.lstsq(system, right, lapack_driver="gelsy")[0]
    step: Array = solution[:n]
    step -= step.mean()
    return step
