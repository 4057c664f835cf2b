"""The optimum of a face of the box, by one linear system: what makes small problems exact.

Once the right variables are at their bounds, the free ones F solve a linear system: with the bound
ones fixed, v_F + b = 0 and Σz = δ read

    [K_FF  1] [Δz]     [v_F + b]
    [1ᵀ    0] [Δb] = − [   0   ]

The step is exact on the face of the box that F spans, so the objective falls along all of it. Where
it would leave the box it is cut there, the variable met is put on its bound, and a smaller system
is solved. Alternating this with some SMO steps, which choose the face, needs far fewer of either.

Since Σ Δz = 0, a constant added to K_FF changes nothing, and makes it positive definite unless rows
repeat or F has more samples than the kernel has dimensions. Then only as many variables move as the
matrix has rank, chosen by pivoting; the others stay where they are. No ridge is needed.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from lindero.kernels.functions import Array

#: Cuts before the point reached is taken as it is.
MOST_CUTS = 50

#: Pivots below this share of the largest are taken as zero.
_SINGULAR = 1e-12


def solve_on_face(K: Array, z: Array, v: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """z moved to the optimum of its face, or of a smaller one met on the way, with v = K z + q."""
    for _ in range(MOST_CUTS):
        free = np.flatnonzero((z > lower) & (z < upper))
        if len(free) < 2:
            break
        step = _face_step(K[free[:, None], free], v[free])
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step > 0, upper[free] - z[free], lower[free] - z[free]) / step
        room[step == 0] = np.inf
        length = min(1.0, float(room.min()))
        moved = z[free] + length * step
        met = room <= length
        moved[met] = np.where(step[met] > 0, upper[free[met]], lower[free[met]])
        v = v + K[:, free] @ (moved - z[free])
        z = z.copy()
        z[free] = moved
        if not met.any():
            break
    return z, v


def _face_step(K: Array, v: Array) -> Array:
    """Δz of the system above, zero where the matrix has no rank left for it."""
    step = np.zeros(len(v))
    largest = float(K.diagonal().max())
    if largest <= 0:
        return step  # not a positive semi-definite kernel
    factor, order, rank, _ = lapack.dpstrf(K + largest, tol=_SINGULAR * 2 * largest, lower=1)
    moving = order[:rank] - 1
    right = np.ones((rank, 2))
    right[:, 0] = v.mean() - v[moving]
    solved, _ = lapack.dpotrs(factor[:rank, :rank], right, lower=1)
    step[moving] = solved[:, 0] - (solved[:, 0].sum() / solved[:, 1].sum()) * solved[:, 1]
    return step
