"""Elimination of a chain of blocks from both ends towards the middle, compiled.

Node i adds E_i = diag(ridge) + σ_i x̃_i x̃_iᵀ (and the ground, at node 0), a link of weight c adds
c‖θ_i − θ_{i+1}‖². With T_i all that nodes up to i know of θ_i, and S_i = T_i + cI,

    T_{i+1} = E_{i+1} + c T_i S_i⁻¹         since  (T⁻¹ + I/c)⁻¹ = cTS⁻¹ = cI − c²S⁻¹ = T − TS⁻¹T

is elimination without cancellation: the second form where c is small beside T, the third where it
is large, so that T is right to rounding of the lesser of the two. (Plain elimination subtracts
numbers of size c to find what is of size T, and couplings of 1e10 leave it nothing.)

Both halves of the chain are independent until they meet, so each may have a thread, and the order
of operations is the same with one. Of each S the inverse of its triangular factor is kept, packed
by rows: W with WᵀW = S⁻¹. What a node needs is copied into small arrays of the half's own: rows of
shared arrays carry a count of who uses them, over which two threads would wait for each other.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lindero.problems.block_factors import apply_inverse, inverse_factor
from lindero.runtime.compilation import EXACT, FAST


@njit(cache=True, nogil=True, fastmath=FAST, boundscheck=False)
def pass_link(T, W, c, Y, out):  # type: ignore[no-untyped-def]
    """out = cT(T + cI)⁻¹ in its upper triangle, from T and the packed W of T + cI."""
    p = T.shape[0]
    weight = 0.0
    for k in range(p):
        weight = max(weight, T[k, k])
    out[:, :] = 0.0
    if c <= weight:
        for k in range(p):
            at = k * (k + 1) // 2
            for i in range(k + 1):
                factor, row = -c * c * W[at + i], out[i]
                for q in range(i, k + 1):
                    row[q] += factor * W[at + q]
            out[k, k] += c
        return
    for i in range(p):
        for q in range(i):
            T[i, q] = T[q, i]
    for k in range(p):
        at, row = k * (k + 1) // 2, Y[k]
        row[:] = 0.0
        for j in range(k + 1):
            factor, known = W[at + j], T[j]
            for q in range(p):
                row[q] += factor * known[q]
    for i in range(p):
        row, known = out[i], T[i]
        for q in range(i, p):
            row[q] = known[q]
        for k in range(p):
            factor, other = Y[k, i], Y[k]
            for q in range(i, p):
                row[q] -= factor * other[q]


@njit(cache=True, nogil=True, fastmath=FAST, boundscheck=False)
def add_node(x, sigma, ridge, T):  # type: ignore[no-untyped-def]
    """T += diag(ridge) + σ x̃ x̃ᵀ, in the upper triangle."""
    p = x.size
    for k in range(p):
        row, factor = T[k], sigma * x[k]
        for q in range(k, p):
            row[q] += factor * x[q]
        row[k] += ridge[k]


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def eliminate_half(X, sigma, ridge, links, ground, start, stop, step, W, known):  # type: ignore[no-untyped-def]
    """Eliminate nodes start, start + step, ... before `stop`; `known` receives what they say of
    the node at `stop`. False where there is a NaN."""
    p = X.shape[1] + 1
    T, S, Y = np.empty((p, p)), np.empty((p, p)), np.empty((p, p))
    w, x, before, own = np.empty(W.shape[1]), np.ones(p), np.zeros((p, p)), ridge.copy()
    i = start
    while i != stop:
        c = links[i] if step > 0 else links[i - 1]
        for k in range(p - 1):
            x[k] = X[i, k]
        T[:, :] = before
        add_node(x, sigma[i], own, T)
        if i == 0:
            for k in range(p):
                T[k, k] += ground
        S[:, :] = T
        for k in range(p):
            S[k, k] += c
        if not inverse_factor(S, c, w):
            return False
        pass_link(T, w, c, Y, before)
        for q in range(w.size):
            W[i, q] = w[q]
        i += step
    known[:, :] = before
    return True


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def eliminate_middle(X, sigma, ridge, ground, i, left, right, W):  # type: ignore[no-untyped-def]
    """The node where the halves meet."""
    T = left + right
    add_node(np.append(X[i], 1.0), sigma[i], ridge, T)
    if i == 0:
        for k in range(T.shape[0]):
            T[k, k] += ground
    return inverse_factor(T, 0.0, W[i])


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def sweep_in(W, links, r, start, stop, step, x):  # type: ignore[no-untyped-def]
    """x_i = S_i⁻¹(r_i + c x_{i−step}) along one half, towards the middle."""
    p = r.shape[1]
    z, half, w, own = np.empty(p), np.empty(p), np.empty(W.shape[1]), np.zeros(p)
    i = start
    while i != stop:
        c = 0.0
        if i != start:
            c = links[i - 1] if step > 0 else links[i]
        for k in range(p):
            z[k] = r[i, k] + c * own[k]
        for q in range(w.size):
            w[q] = W[i, q]
        apply_inverse(w, z, half, own)
        for k in range(p):
            x[i, k] = own[k]
        i += step


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def solve_middle(W, links, r, i, x):  # type: ignore[no-untyped-def]
    """The middle node, from both of its neighbours."""
    n, p = r.shape
    z, half = r[i].copy(), np.empty(p)
    for k in range(p):
        if i > 0:
            z[k] += links[i - 1] * x[i - 1, k]
        if i < n - 1:
            z[k] += links[i] * x[i + 1, k]
    apply_inverse(W[i], z, half, x[i])


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def sweep_out(W, links, start, stop, step, x):  # type: ignore[no-untyped-def]
    """x_i += c S_i⁻¹ x_{i−step} from the middle back to an end, of which `stop` is one beyond."""
    p = x.shape[1]
    more, half, w, last = np.empty(p), np.empty(p), np.empty(W.shape[1]), np.empty(p)
    for k in range(p):
        last[k] = x[start - step, k]
    i = start
    while i != stop:
        c = links[i - 1] if step > 0 else links[i]
        for q in range(w.size):
            w[q] = W[i, q]
        apply_inverse(w, last, half, more)
        for k in range(p):
            last[k] = x[i, k] + c * more[k]
            x[i, k] = last[k]
        i += step
