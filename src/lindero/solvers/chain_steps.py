"""Single nodes of a chain whose rows are in known states: eliminated going on, found coming back.

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
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lindero.problems.block_factors import apply_inverse, inverse_factor
from lindero.runtime.compilation import EXACT
from lindero.solvers.chain_elimination import pass_link

IDLE, FREE, FULL = 0, 1, 2

#: A pull at the offset below this share of the bounds is rounding.
_NO_PULL = 1e-12


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def eliminate(first, stop, X, s, p, u, links, ridge, offset, state, M, m, W, rest, v, scalars):  # type: ignore[no-untyped-def]
    """Eliminate nodes first..stop−1. M[i] and m[i] are what node i is told, in the upper triangle;
    `scalars[i]` are γ (0 without a free row) and β. `offset` is where the last node of the chain is
    put if nothing is known of its offset. False where the states leave the optimum open, or there
    is a NaN."""
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
        if not inverse_factor(S, c, W[i]):
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


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
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


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
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
