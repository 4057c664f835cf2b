"""Passes over the nodes and links of one level of a graph, compiled; see `graph_levels`."""

from __future__ import annotations

import numpy as np
from numba import njit

from lindero.problems.block_factors import apply_inverse, inverse_factor
from lindero.runtime.compilation import EXACT, FAST


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def groups_of_nodes(starts, neighbours, weights, strong):  # type: ignore[no-untyped-def]
    """The group of each node and their number. A node none of whose strong neighbours has a group
    yet makes one with all of them; the others join that of their strongest neighbour."""
    n = starts.size - 1
    group_of = np.full(n, -1, dtype=np.int64)
    count = 0
    for i in range(n):
        if group_of[i] >= 0:
            continue
        strongest = 0.0
        for e in range(starts[i], starts[i + 1]):
            strongest = max(strongest, weights[e])
        alone = True
        for e in range(starts[i], starts[i + 1]):
            if weights[e] >= strong * strongest and group_of[neighbours[e]] >= 0:
                alone = False
                break
        if alone:
            group_of[i] = count
            for e in range(starts[i], starts[i + 1]):
                if weights[e] >= strong * strongest:
                    group_of[neighbours[e]] = count
            count += 1
    late = np.full(n, -1, dtype=np.int64)
    for i in range(n):
        if group_of[i] < 0:
            strongest = 0.0
            for e in range(starts[i], starts[i + 1]):
                if group_of[neighbours[e]] >= 0 and weights[e] > strongest:
                    strongest = weights[e]
                    late[i] = group_of[neighbours[e]]
    for i in range(n):
        if group_of[i] < 0:
            group_of[i] = late[i]
    return group_of, count


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def summed(values, group_of, n_groups):  # type: ignore[no-untyped-def]
    """Rows of `values` added up over groups."""
    out = np.zeros((n_groups, values.shape[1]))
    for i in range(values.shape[0]):
        source, target = values[i], out[group_of[i]]
        for k in range(source.size):
            target[k] += source[k]
    return out


@njit(cache=True, nogil=True, fastmath=EXACT, boundscheck=False)
def inverse_factors(blocks, degrees, p, inverses):  # type: ignore[no-untyped-def]
    """Packed inverse factors of E_i + degree_i I, for all nodes. False where there is a NaN."""
    S = np.empty((p, p))
    for i in range(degrees.size):
        at = 0
        for k in range(p):
            for q in range(k + 1):
                S[q, k] = blocks[i, at]
                at += 1
            S[k, k] += degrees[i]
        if not inverse_factor(S, degrees[i], inverses[i]):
            return False
    return True


@njit(cache=True, nogil=True, fastmath=FAST, boundscheck=False)
def sweep_first(starts, neighbours, weights, inverses, r, x, rest):  # type: ignore[no-untyped-def]
    """Solve for each node in turn, from x = 0, and the residual of that: what a node had not seen
    of those after it."""
    n, p = r.shape
    z, half = np.empty(p), np.empty(p)
    for i in range(n):
        z[:] = r[i]
        for e in range(starts[i], starts[i + 1]):
            j = neighbours[e]
            if j >= i:
                break
            weight, other = weights[e], x[j]
            for k in range(p):
                z[k] += weight * other[k]
        apply_inverse(inverses[i], z, half, x[i])
        rest[i] = 0.0
        own = x[i]
        for e in range(starts[i], starts[i + 1]):
            j = neighbours[e]
            if j >= i:
                break
            weight, other = weights[e], rest[j]
            for k in range(p):
                other[k] += weight * own[k]


@njit(cache=True, nogil=True, fastmath=FAST, boundscheck=False)
def sweep_back(starts, neighbours, weights, inverses, r, x):  # type: ignore[no-untyped-def]
    """Solve for each node in turn, the last first."""
    n, p = r.shape
    z, half = np.empty(p), np.empty(p)
    for i in range(n - 1, -1, -1):
        z[:] = r[i]
        for e in range(starts[i], starts[i + 1]):
            weight, other = weights[e], x[neighbours[e]]
            for k in range(p):
                z[k] += weight * other[k]
        apply_inverse(inverses[i], z, half, x[i])


@njit(cache=True, nogil=True, fastmath=FAST, boundscheck=False)
def product(starts, neighbours, weights, blocks, x, out):  # type: ignore[no-untyped-def]
    """out = A x, blocks and links."""
    n, p = x.shape
    for i in range(n):
        target, own, block = out[i], x[i], blocks[i]
        target[:] = 0.0
        at = 0
        for k in range(p):
            total, value = 0.0, own[k]
            for q in range(k):
                total += block[at + q] * own[q]
                target[q] += block[at + q] * value
            target[k] += total + block[at + k] * value
            at += k + 1
        for e in range(starts[i], starts[i + 1]):
            weight, other = weights[e], x[neighbours[e]]
            for k in range(p):
                target[k] += weight * (own[k] - other[k])
