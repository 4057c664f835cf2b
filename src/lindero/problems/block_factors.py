"""Factors of the small blocks at nodes, compiled.

Of a block S the inverse of its triangular factor is kept, W with WᵀW = S⁻¹, packed by rows: applied
twice it is as good as solving with the factor, and needs no divisions.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lindero.runtime.compilation import FAST

#: Share of a diagonal entry below which a pivot is rounding.
ROUNDING = 1e-16


@njit(cache=True, nogil=True, fastmath=FAST, boundscheck=False)
def inverse_factor(S, least, W):  # type: ignore[no-untyped-def]
    """Packed W with WᵀW = S⁻¹, from the upper triangle of S, which is overwritten. `least` is known
    to be below all eigenvalues of S, and so below all pivots: those that rounding has lost are put
    there. False where there is a NaN."""
    p = S.shape[0]
    for k in range(p):
        row = S[k]
        floor = max(least, ROUNDING * row[k])
        for j in range(k):
            factor, above = S[j, k], S[j]
            for q in range(k, p):
                row[q] -= factor * above[q]
        if np.isnan(row[k]) or not floor > 0.0:
            return False
        row[k] = max(row[k], floor)
        scale = 1.0 / np.sqrt(row[k])
        for q in range(k, p):
            row[q] *= scale
        # Row k of the inverse of the lower factor, whose column k this row is.
        at = k * (k + 1) // 2
        for q in range(k):
            W[at + q] = 0.0
        W[at + k] = scale
        for j in range(k):
            factor, start = -S[j, k] * scale, j * (j + 1) // 2
            for q in range(j + 1):
                W[at + q] += factor * W[start + q]
    return True


@njit(cache=True, nogil=True, fastmath=FAST, boundscheck=False)
def apply_inverse(W, z, half, x):  # type: ignore[no-untyped-def]
    """x = WᵀW z."""
    p = z.size
    x[:] = 0.0
    for k in range(p):
        at = k * (k + 1) // 2
        total = 0.0
        for q in range(k + 1):
            total += W[at + q] * z[q]
        half[k] = total
    for k in range(p):
        at = k * (k + 1) // 2
        value = half[k]
        for q in range(k + 1):
            x[q] += value * W[at + q]
