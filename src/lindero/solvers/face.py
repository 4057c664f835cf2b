"""The optimum of a face of the box, by one linear system: what makes small problems exact.

Once the right variables are at their bounds, the free ones F solve a linear system: with the bound
ones fixed, v_F + b = 0 and Σz = δ read

    [K_FF  1] [Δz]     [v_F + b]
    [1ᵀ    0] [Δb] = − [   0   ]

The step is exact on the face of the box that F spans, so the objective falls along all of it. Where
it would leave the box it is cut there, the variable met is put on its bound, and a smaller system
is solved. Alternating this with some SMO steps, which choose the face, needs far fewer of either.

K_FF may be singular: repeated rows, more free samples than dimensions. Then either the right side
lies in its range, and the least-norm step serves (Δz is open, the model is not); or it does not,
and its part outside is a direction without curvature along which the objective falls until a bound
is met. No ridge is needed.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from lindero.kernels.functions import Array

#: Cuts before the point reached is taken as it is.
MOST_CUTS = 50

#: Squared pivots below this share of the largest are taken as zero.
_SINGULAR = 1e-11


def solve_on_face(K: Array, z: Array, v: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """z moved to the optimum of its face, or of a smaller one met on the way, with v = K z + q."""
    for _ in range(MOST_CUTS):
        free = np.flatnonzero((z > lower) & (z < upper))
        if len(free) < 2:
            break
        step, bounded = _face_step(K[free[:, None], free], v[free])
        if not step.any():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step > 0, upper[free] - z[free], lower[free] - z[free]) / step
        room[step == 0] = np.inf
        nearest = float(room.min())
        length = min(1.0, nearest) if bounded else nearest
        if not np.isfinite(length):
            break
        moved = z[free] + length * step
        met = room <= length
        moved[met] = np.where(step[met] > 0, upper[free[met]], lower[free[met]])
        v = v + K[:, free] @ (moved - z[free])
        z = z.copy()
        z[free] = moved
        if not met.any():
            break
    return z, v


def _face_step(K: Array, v: Array) -> tuple[Array, bool]:
    """The step on the face, and whether it ends there (else only a bound ends it)."""
    n = len(v)
    right = v.mean() - v
    factor, failed = lapack.dpotrf(K, lower=1)
    pivots = np.diagonal(factor)
    if not failed and pivots.min() ** 2 > _SINGULAR * pivots.max() ** 2:
        both, _ = lapack.dpotrs(factor, np.column_stack([right, np.ones(n)]), lower=1)
        step: Array = both[:, 0] - (both[:, 0].sum() / both[:, 1].sum()) * both[:, 1]
        return step, True
    system = np.ones((n + 1, n + 1))
    system[:n, :n] = K
    system[n, n] = 0.0
    bordered = np.append(right, 0.0)
    solution = scipy.linalg.lstsq(system, bordered, cond=_SINGULAR, lapack_driver="gelsy")[0]
    outside = (bordered - system @ solution)[:n]
    outside -= outside.mean()
    if np.linalg.norm(outside) > 1e-9 * np.linalg.norm(right):
        return outside, False
    step = solution[:n] - solution[:n].mean()
    return step, True
