"""The duality gap of hyperplanes along a chain in extended precision."""

import numpy as np

from tests.naive.extended import REAL


def duality_gap(problem, links, theta, a):
    """Primal less dual objective of a `CoupledProblem` over a chain without an anchor, from its
    data alone; the multipliers of each component must sum to zero. Returns both objectives."""
    X, s, p, u = (
        np.asarray(part).astype(REAL) for part in (problem.X, problem.s, problem.p, problem.u)
    )
    theta, a, links = theta.astype(REAL), a.astype(REAL), np.asarray(links).astype(REAL)
    n_scale, weight = REAL(problem.n_scale), REAL(problem.coupling) / REAL(problem.n_scale) * links
    steps = np.diff(theta, axis=0)
    penalty = (theta[:, :-1] ** 2).sum() / n_scale + (weight[:, None] * steps**2).sum()
    outputs = (X * theta[:, :-1]).sum(axis=1) + theta[:, -1]
    primal = penalty / 2 + (u * np.maximum(0, -(s * outputs + p))).sum()
    z = (s * a).sum(axis=0)
    square = REAL(0)
    for k in range(X.shape[1]):
        square += (z * X[:, k]) @ solve_chain(1 / n_scale, weight, z * X[:, k])
    flow = np.cumsum(z)[:-1]
    linked = weight > 0
    square += (flow[linked] ** 2 / weight[linked]).sum()
    return primal, -square / 2 - (a * p).sum()


def solve_chain(ridge, weight, r):
    """(ridge I + L)⁻¹ r by elimination along the chain, without differences: e_i is what holds node
    i, its own ridge and that of the nodes before it, seen through the link."""
    n = len(r)
    e, x = np.full(n, ridge, dtype=REAL), r.copy()
    for i in range(1, n):
        share = weight[i - 1] / (weight[i - 1] + e[i - 1])
        e[i] += share * e[i - 1]
        x[i] += share * x[i - 1]
    x[-1] /= e[-1]
    for i in range(n - 2, -1, -1):
        x[i] = (x[i] + weight[i] * x[i + 1]) / (e[i] + weight[i])
    return x


def kernel_sums(K, links, coupling, n_scale, z):
    """K z of the coupled kernel (see `lindero.kernels.coupled`), up to a constant for each part of
    the chain, from the base kernel K of samples in the order of the chain."""
    n, links = len(z), np.asarray(links).astype(REAL)
    weight = REAL(coupling) * links
    inverse = np.stack([solve_chain(REAL(1), weight, row) for row in np.eye(n, dtype=REAL)])
    flow = np.cumsum(z.astype(REAL))[:-1]
    apart = np.where(weight > 0, REAL(n_scale) / np.where(weight > 0, weight, 1), REAL(0))
    offsets = np.append(REAL(0), np.cumsum(-flow * apart))
    return REAL(n_scale) * (inverse * K) @ z.astype(REAL) + offsets
