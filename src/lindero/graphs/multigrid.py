"""Multigrid: coarser and coarser versions of a graph, on which smooth errors are removed.

Blocks E_i at nodes and links of weight c make up A,  θᵀAθ = Σ θ_iᵀE_iθ_i + Σ c‖θ_i − θ_j‖². Where
neighbours hold together, an error that all of them share is hardly seen by one of them alone.
So nodes are gathered into groups that move as one: their blocks add up, links between groups add
up, links within vanish, and the result is a matrix of the same kind over fewer nodes. A cycle is

    sweep over the nodes, solving for each in turn       removes what neighbours disagree about
    solve for a common move of each group, likewise      removes what they share
    sweep over the nodes in reverse order                makes the whole symmetric

which is a preconditioner for conjugate gradients. Groups depend on the graph only; for each new set
of blocks there is but a sum over groups and a small factorisation at each node.

Of a block S the inverse of its triangular factor is kept, W with WᵀW = S⁻¹, packed by rows: applied
twice it is as good as solving with the factor, and needs no divisions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, FAST, compiled

#: Unknowns of a level that is solved outright.
_OUTRIGHT = 600

#: A level that has more than this share of the nodes of the one before is not worth having.
_WORTH = 0.8

#: Finest levels whose groups are corrected twice in a cycle.
_TWICE = 3

#: Links weaker than this share of a node's strongest do not bring it into a group.
_STRONG = 0.1

#: Added to a matrix of unit diagonal, this is rounding, and keeps it positive definite.
UNIT_ROUNDING = 1e-14


@dataclass(frozen=True)
class _Links:
    """Links of one level by node, and the group of each node in the next level (None: the last)."""

    starts: Array
    neighbours: Array
    weights: Array
    degrees: Array
    group_of: Array | None

    @property
    def n_nodes(self) -> int:
        return len(self.degrees)


class GraphLevels:
    """The levels of a graph with links of given weights and blocks of `n_parameters`."""

    def __init__(self, weights: sp.csr_array, n_parameters: int) -> None:
        self.n_parameters = n_parameters
        self.links: list[_Links] = []
        while True:
            weights.sort_indices()
            n = weights.shape[0]
            degrees = np.asarray(weights.sum(axis=1)).ravel()
            parts = weights.indptr, weights.indices, weights.data, degrees
            group_of, n_groups = group_nodes(*parts[:3], _STRONG)
            small = n * n_parameters <= _OUTRIGHT
            if small or n_groups > _WORTH * n:
                self.links.append(_Links(*parts, None))
                return
            self.links.append(_Links(*parts, group_of))
            shape = n, n_groups
            gather = sp.csr_array((np.ones(n), group_of, np.arange(n + 1)), shape=shape)
            weights = sp.csr_array(gather.T @ weights @ gather)
            weights.setdiag(0.0)
            weights.eliminate_zeros()

    def factor(self, blocks: Array) -> None:
        """Prepare cycles for blocks E_i (nodes, p(p+1)/2), packed by rows of the lower triangle."""
        self._blocks, self._inverses = [blocks], []
        for links in self.links:
            inverses = np.empty_like(blocks)
            if not invert_factors(blocks, links.degrees, self.n_parameters, inverses):
                raise np.linalg.LinAlgError("The Newton system is not positive definite.")
            self._inverses.append(inverses)
            if links.group_of is not None:
                n_groups = int(links.group_of.max()) + 1
                blocks = sum_groups(blocks, links.group_of, n_groups)
                self._blocks.append(blocks)
        last = self.links[-1]
        self._outright = None
        if last.n_nodes * self.n_parameters <= _OUTRIGHT:
            matrix = self._dense(last, blocks)
            self._scaling = 1.0 / np.sqrt(matrix.diagonal())
            matrix *= self._scaling[:, None] * self._scaling
            matrix.flat[:: len(matrix) + 1] += UNIT_ROUNDING
            self._outright = cho_factor(matrix, lower=True)

    def _dense(self, links: _Links, blocks: Array) -> Array:
        p, n = self.n_parameters, links.n_nodes
        weights = sp.csr_array((links.weights, links.neighbours, links.starts), shape=(n, n))
        matrix = np.kron(np.diag(links.degrees) - weights.toarray(), np.eye(p))
        lower = np.zeros((n, p, p))
        lower[:, *np.tril_indices(p)] = blocks
        own = lower + np.tril(lower, -1).transpose(0, 2, 1)
        for i in range(n):
            matrix[i * p : (i + 1) * p, i * p : (i + 1) * p] += own[i]
        return matrix

    def times(self, x: Array, level: int = 0) -> Array:
        """A x."""
        links, out = self.links[level], np.empty_like(x)
        multiply(links.starts, links.neighbours, links.weights, self._blocks[level], x, out)
        return out

    def cycle(self, r: Array, level: int = 0) -> Array:
        """An approximate solution of A x = r."""
        if level == len(self.links) - 1 and self._outright is not None:
            x: Array = self._scaling * cho_solve(self._outright, self._scaling * r.ravel())
            return x.reshape(r.shape)
        links, inverses = self.links[level], self._inverses[level]
        parts = links.starts, links.neighbours, links.weights, inverses
        x, rest = np.empty_like(r), np.empty_like(r)
        sweep_first(*parts, r, x, rest)
        if links.group_of is not None:
            shared = sum_groups(rest, links.group_of, self.links[level + 1].n_nodes)
            common = self.cycle(shared, level + 1)
            if level < _TWICE and level + 2 < len(self.links):
                shared -= self.times(common, level + 1)
                common += self.cycle(shared, level + 1)
            x += common[links.group_of]
        sweep_back(*parts, r, x)
        return x


def conjugate_gradients(
    times: Callable[[Array], Array],
    levels: GraphLevels,
    r: Array,
    near: Array | None,
    share: float,
    most_steps: int,
) -> Array | None:
    """The solution of A x = r from `near` on, A given by its products, to an error of `share` in
    the norm xᵀAx; None where that takes more than `most_steps`."""
    x = np.zeros_like(r) if near is None else near.copy()
    rest = r - times(x) if x.any() else r.copy()
    z = levels.cycle(rest)
    direction = z.copy()
    size = float(np.vdot(rest, z))
    for _ in range(most_steps):
        # At the solution xᵀr is xᵀAx, and restᵀz is about the square of the error.
        if size <= share**2 * abs(float(np.vdot(x, r))) or not rest.any():
            return x
        along = times(direction)
        curvature = float(np.vdot(direction, along))
        if not (size > 0.0 and curvature > 0.0):
            return None
        length = size / curvature
        x += length * direction
        rest -= length * along
        z = levels.cycle(rest)
        before, size = size, float(np.vdot(rest, z))
        direction *= size / before
        direction += z
    return None


# -- one level: groups, sweeps and products, compiled ---------------------------------------------


@compiled(EXACT)
def group_nodes(starts, neighbours, weights, strong):  # type: ignore[no-untyped-def]
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


@compiled(EXACT)
def sum_groups(values, group_of, n_groups):  # type: ignore[no-untyped-def]
    """Rows of `values` added up over groups."""
    out = np.zeros((n_groups, values.shape[1]))
    for i in range(values.shape[0]):
        source, target = values[i], out[group_of[i]]
        for k in range(source.size):
            target[k] += source[k]
    return out


@compiled(EXACT)
def invert_factors(blocks, degrees, p, inverses):  # type: ignore[no-untyped-def]
    """Packed inverse factors of E_i + degree_i I, for all nodes. False where there is a NaN."""
    S = np.empty((p, p))
    for i in range(degrees.size):
        at = 0
        for k in range(p):
            for q in range(k + 1):
                S[q, k] = blocks[i, at]
                at += 1
            S[k, k] += degrees[i]
        if not invert_factor(S, degrees[i], inverses[i]):
            return False
    return True


@compiled(FAST)
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


@compiled(FAST)
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


@compiled(FAST)
def multiply(starts, neighbours, weights, blocks, x, out):  # type: ignore[no-untyped-def]
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


# -- factors of the blocks at nodes, compiled -----------------------------------------------------


#: Share of a diagonal entry below which a pivot is rounding.
_LOST = 1e-16


@compiled(FAST)
def invert_factor(S, least, W):  # type: ignore[no-untyped-def]
    """Packed W with WᵀW = S⁻¹, from the upper triangle of S, which is overwritten. `least` is known
    to be below all eigenvalues of S, and so below all pivots: those that rounding has lost are put
    there. False where there is a NaN."""
    p = S.shape[0]
    for k in range(p):
        row = S[k]
        floor = max(least, _LOST * row[k])
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


@compiled(FAST)
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
