"""Passes over the links of a graph whose nodes carry vectors θ_i, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from lindero.runtime.compilation import EXACT, FAST


@njit(cache=True, nogil=True, fastmath=FAST, boundscheck=False)
def chain_energy(links, theta):  # type: ignore[no-untyped-def]
    """Σ links_i ‖θ_{i+1} − θ_i‖²."""
    total = 0.0
    for i in range(links.size):
        square = 0.0
        for k in range(theta.shape[1]):
            square += (theta[i + 1, k] - theta[i, k]) ** 2
        total += links[i] * square
    return total


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def eliminate_chain(r, ridge, links, ground, x):  # type: ignore[no-untyped-def]
    """(ridge I + L + ground e₀e₀ᵀ) x = r along one column, a zero where a component floats."""
    n = r.size
    weight = np.empty(n)
    behind = ground
    for i in range(n):
        own = ridge + behind
        after = links[i] if i < n - 1 else 0.0
        weight[i] = own + after
        behind = own * (after / weight[i]) if after > 0.0 else 0.0
        x[i] = r[i] + (links[i - 1] * x[i - 1] if i > 0 else 0.0)
        x[i] = x[i] / weight[i] if weight[i] > 0.0 else 0.0
    for i in range(n - 2, -1, -1):
        if links[i] > 0.0:
            x[i] += links[i] / weight[i] * x[i + 1]


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def graph_laplacian(starts, neighbours, weights, theta, out):  # type: ignore[no-untyped-def]
    """out_i = Σ_j weight_ij (θ_i − θ_j)."""
    for i in range(theta.shape[0]):
        target, own = out[i], theta[i]
        target[:] = 0.0
        for e in range(starts[i], starts[i + 1]):
            weight, other = weights[e], theta[neighbours[e]]
            for k in range(target.size):
                target[k] += weight * (own[k] - other[k])


@njit(cache=True, nogil=True, fastmath=FAST, boundscheck=False)
def graph_energy(starts, neighbours, weights, theta):  # type: ignore[no-untyped-def]
    """Σ weight_ij ‖θ_i − θ_j‖² over the links, each counted once."""
    total = 0.0
    for i in range(theta.shape[0]):
        for e in range(starts[i], starts[i + 1]):
            j = neighbours[e]
            if j < i:
                square = 0.0
                for k in range(theta.shape[1]):
                    square += (theta[i, k] - theta[j, k]) ** 2
                total += weights[e] * square
    return total
