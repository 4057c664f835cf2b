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

Compiled as a whole: for some dozen variables a library call would take longer than the work.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: Cuts before the point reached is taken as it is.
MOST_CUTS = 50

#: Pivots below this share of the largest are taken as zero.
SINGULAR = 1e-12


@njit(cache=True, nogil=True, fastmath=True, boundscheck=False, error_model="numpy")
def solve_on_face(K, z, v, lower, upper):  # type: ignore[no-untyped-def]
    """Move z, in place, to the optimum of its face or of a smaller one met on the way.

    K may have padded columns; v = K z + q is only read where z starts, and updated on the way.
    """
    n = z.size
    for _ in range(MOST_CUTS):
        free = inside(z, lower, upper)
        if free.size < 2:
            return
        step = face_step(K, free, v)
        length = 1.0
        for t in range(free.size):
            i = free[t]
            if step[t] > 0 and z[i] + step[t] >= upper[i]:
                length = min(length, (upper[i] - z[i]) / step[t])
            elif step[t] < 0 and z[i] + step[t] <= lower[i]:
                length = min(length, (lower[i] - z[i]) / step[t])
        for t in range(free.size):
            i = free[t]
            moved = z[i] + length * step[t]
            if length < 1.0:
                # on the bound exactly, for those that the cut was made for
                close = 1e-14 * abs(step[t])
                if step[t] > 0 and moved >= upper[i] - close:
                    moved = upper[i]
                elif step[t] < 0 and moved <= lower[i] + close:
                    moved = lower[i]
            change = moved - z[i]
            z[i] = moved
            row = K[i]
            for j in range(n):
                v[j] += change * row[j]
        if length == 1.0:
            return


@njit(cache=True, nogil=True, boundscheck=False)
def inside(z, lower, upper):  # type: ignore[no-untyped-def]
    """Positions of the free variables. (Plain loops compile in a fraction of the time of NumPy's
    functions, and the time to the first fit is a feature.)"""
    found = np.empty(z.size, np.int64)
    count = 0
    for i in range(z.size):
        if lower[i] < z[i] < upper[i]:
            found[count] = i
            count += 1
    return found[:count]


@njit(cache=True, nogil=True, fastmath=True, boundscheck=False, error_model="numpy")
def face_step(K, free, v):  # type: ignore[no-untyped-def]
    """Δz of the system above, zero where the matrix has no rank left for it."""
    m = free.size
    step = np.zeros(m)
    largest = 0.0
    middle = 0.0
    for t in range(m):
        largest = max(largest, K[free[t], free[t]])
        middle += v[free[t]] / m
    if largest <= 0.0:
        return step  # not a positive semi-definite kernel
    U = np.empty((m, m))
    for s in range(m):
        for t in range(m):
            U[s, t] = K[free[s], free[t]] + largest
    order, rank = pivoted_cholesky(U, SINGULAR * 2 * largest)
    right = np.empty(rank)
    ones = np.ones(rank)
    for s in range(rank):
        right[s] = middle - v[free[order[s]]]
    triangular_solve(U, right)
    triangular_solve(U, ones)
    above, below = 0.0, 0.0
    for s in range(rank):
        above += right[s]
        below += ones[s]
    shift = above / below
    for s in range(rank):
        step[order[s]] = right[s] - shift * ones[s]
    return step


@njit(cache=True, nogil=True, fastmath=True, boundscheck=False, error_model="numpy")
def pivoted_cholesky(U, least_pivot):  # type: ignore[no-untyped-def]
    """Overwrite the upper triangle of a matrix A with U, UᵀU = A[order][:, order], up to its rank.

    Returns the order and the rank: the number of pivots above `least_pivot`.
    """
    m = U.shape[0]
    order = np.arange(m)
    for k in range(m):
        p = k
        for t in range(k + 1, m):
            if U[t, t] > U[p, p]:
                p = t
        if U[p, p] <= least_pivot:
            return order, k
        if p != k:
            order[k], order[p] = order[p], order[k]
            U[k, k], U[p, p] = U[p, p], U[k, k]
            for t in range(k):
                U[t, k], U[t, p] = U[t, p], U[t, k]
            for t in range(k + 1, p):
                U[k, t], U[t, p] = U[t, p], U[k, t]
            for t in range(p + 1, m):
                U[k, t], U[p, t] = U[p, t], U[k, t]
        root = np.sqrt(U[k, k])
        U[k, k] = root
        for t in range(k + 1, m):
            U[k, t] /= root
        for t in range(k + 1, m):
            factor = U[k, t]
            above = U[k, t:]
            row = U[t, t:]
            for j in range(row.size):
                row[j] -= factor * above[j]
    return order, m


@njit(cache=True, nogil=True, fastmath=True, boundscheck=False, error_model="numpy")
def triangular_solve(U, b):  # type: ignore[no-untyped-def]
    """b ← (UᵀU)⁻¹ b, with the leading part of U that has the size of b."""
    m = b.size
    for k in range(m):
        b[k] /= U[k, k]
        value = b[k]
        row = U[k, k + 1 : m]
        rest = b[k + 1 :]
        for j in range(rest.size):
            rest[j] -= value * row[j]
    for k in range(m - 1, -1, -1):
        row = U[k, k + 1 : m]
        rest = b[k + 1 :]
        total = 0.0
        for j in range(rest.size):
            total += row[j] * rest[j]
        b[k] = (b[k] - total) / U[k, k]
