"""The Newton system of hyperplanes along a chain: block tridiagonal, O(n d³) time, O(n d²) memory.

The chain is eliminated from both ends towards the middle. Node i adds E_i = diag(ridge) +
σ_i x̃_i x̃_iᵀ (and the ground, at node 0), a link of weight c adds c‖θ_i − θ_{i+1}‖². With T_i all
that nodes up to i know of θ_i, and S_i = T_i + cI,

    T_{i+1} = E_{i+1} + c T_i S_i⁻¹         since  (T⁻¹ + I/c)⁻¹ = cTS⁻¹ = cI − c²S⁻¹ = T − TS⁻¹T

is elimination without cancellation: the second form where c is small beside T, the third where it
is large, so that T is right to rounding of the lesser of the two. (Plain elimination subtracts
numbers of size c to find what is of size T, and couplings of 1e10 leave it nothing.)

Both halves of the chain are independent until they meet, so each may have a thread, and the order
of operations is the same with one. Of each S the inverse of its triangular factor is kept, packed
by rows: W with WᵀW = S⁻¹. What a node needs is copied into small arrays of the half's own: rows of
shared arrays carry a count of who uses them, over which two threads would wait for each other.
Other passes are split into fixed ranges of nodes: results do not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np

from lindero.graphs.graph import Chain
from lindero.graphs.multigrid import apply_inverse, invert_factor
from lindero.problems.coupled import CoupledProblem
from lindero.runtime.arrays import Array
from lindero.runtime.compilation import EXACT, FAST, compiled
from lindero.runtime.threads import TileThreads

#: Nodes in one piece of work.
_RANGE = 2**15


def split_nodes(n_nodes: int) -> list[tuple[int, int]]:
    """Fixed ranges of nodes, so that sums do not depend on the number of threads."""
    return [(start, min(start + _RANGE, n_nodes)) for start in range(0, n_nodes, _RANGE)]


class ChainSystem:
    """H + Σ σ_i x̃_i x̃_iᵀ for a chain; see `interior_point.CoupledSystem`."""

    def __init__(self, problem: CoupledProblem, threads: TileThreads) -> None:
        assert isinstance(problem.graph, Chain)
        self.threads = threads
        self._X = problem.X
        self._links = problem.link_scale * problem.graph.links
        self._ridge = problem.ridge
        self._ground = problem.ground
        self._origin = problem.origin
        n, p = problem.n_nodes, problem.n_parameters
        self._ranges = split_nodes(n)
        self._W = np.empty((n, p * (p + 1) // 2))
        self._known = np.empty((2, p, p))
        middle = n // 2
        self._middle = middle
        self._inwards = [(0, 0, middle, 1), (1, n - 1, middle, -1)]
        self._outwards = [(middle - 1, -1, -1), (middle + 1, n, 1)]

    def residual(self, theta: Array, z: Array) -> Array:
        """Σ z_i x̃_i less the gradient of the penalty."""
        out = np.empty_like(theta)

        def work(bounds: tuple[int, int]) -> None:
            find_chain_residual(
                self._X, self._links, self._ridge, self._ground, self._origin,
                theta, z, *bounds, out,
            )  # fmt: skip

        self.threads.map(work, self._ranges)
        return out

    def factor(self, sigma: Array) -> None:
        sound = [True, True]

        def work(half: tuple[int, int, int, int]) -> None:
            side, start, stop, step = half
            sound[side] = eliminate_half(
                self._X, sigma, self._ridge, self._links, self._ground,
                start, stop, step, self._W, self._known[side],
            )  # fmt: skip

        self.threads.map(work, self._inwards)
        left, right = self._known
        if not all(sound) or not eliminate_middle(
            self._X, sigma, self._ridge, self._ground, self._middle, left, right, self._W
        ):
            raise np.linalg.LinAlgError("The Newton system is not positive definite.")

    def sharpen(self) -> bool:
        return False

    def solve(self, r: Array) -> Array:
        x = np.empty_like(r)
        W, links = self._W, self._links
        self.threads.map(lambda half: sweep_in(W, links, r, *half[1:], x), self._inwards)
        solve_middle(W, links, r, self._middle, x)
        self.threads.map(lambda half: sweep_out(W, links, *half, x), self._outwards)
        return x


@compiled(EXACT)
def find_chain_residual(X, links, ridge, ground, origin, theta, z, start, stop, out):  # type: ignore[no-untyped-def]
    """z_i x̃_i − (Hθ)_i for nodes start..stop. The flow over a link is computed alike from both of
    its ends, so that flows cancel exactly in sums over nodes."""
    n, p = theta.shape
    for i in range(start, stop):
        for k in range(p):
            pull = z[i] * X[i, k] if k < p - 1 else z[i]
            total = pull - ridge[k] * theta[i, k]
            if i > 0:
                total -= links[i - 1] * (theta[i, k] - theta[i - 1, k])
            else:
                total -= ground * (theta[0, k] - origin[k])
            if i < n - 1:
                total += links[i] * (theta[i + 1, k] - theta[i, k])
            out[i, k] = total


# -- elimination, compiled ------------------------------------------------------------------------


@compiled(FAST)
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


@compiled(FAST)
def add_node(x, sigma, ridge, T):  # type: ignore[no-untyped-def]
    """T += diag(ridge) + σ x̃ x̃ᵀ, in the upper triangle."""
    p = x.size
    for k in range(p):
        row, factor = T[k], sigma * x[k]
        for q in range(k, p):
            row[q] += factor * x[q]
        row[k] += ridge[k]


@compiled(EXACT)
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
        if not invert_factor(S, c, w):
            return False
        pass_link(T, w, c, Y, before)
        for q in range(w.size):
            W[i, q] = w[q]
        i += step
    known[:, :] = before
    return True


@compiled(EXACT)
def eliminate_middle(X, sigma, ridge, ground, i, left, right, W):  # type: ignore[no-untyped-def]
    """The node where the halves meet."""
    T = left + right
    add_node(np.append(X[i], 1.0), sigma[i], ridge, T)
    if i == 0:
        for k in range(T.shape[0]):
            T[k, k] += ground
    return invert_factor(T, 0.0, W[i])


@compiled(EXACT)
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


@compiled(EXACT)
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


@compiled(EXACT)
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
