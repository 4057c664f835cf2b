"""Twins of the coupled problem: dense matrices, a loop over links, and a general solver of QPs."""

import numpy as np
import osqp
import scipy.sparse as sp

from lindero.graphs.graph import Chain


def weights_of(graph):
    """The whole matrix of a graph's weights."""
    if isinstance(graph, Chain):
        return np.diag(graph.links, 1) + np.diag(graph.links, -1)
    return graph.weights.toarray()


def laplacian(weights):
    return np.diag(weights.sum(axis=1)) - weights


def objective(problem, theta):
    """The primal objective, term by term as the paper writes it."""
    n, weights, total = problem.n_nodes, weights_of(problem.graph), 0.0
    for i in range(n):
        total += theta[i, :-1] @ theta[i, :-1] / (2 * problem.n_scale)
        for j in range(n):
            step = theta[i] - theta[j]
            total += problem.coupling / (4 * problem.n_scale) * weights[i, j] * (step @ step)
    if problem.anchor is not None:
        step = theta[0] - problem.anchor.theta
        total += problem.coupling / (2 * problem.n_scale) * problem.anchor.weight * (step @ step)
    for s, p, u in zip(problem.s, problem.p, problem.u, strict=True):
        for i in range(n):
            reach = s[i] * (problem.X[i] @ theta[i, :-1] + theta[i, -1])
            total += u[i] * max(0.0, -p[i] - reach)
    return total


def hessian(problem):
    """H over all parameters, node by node."""
    n, p = problem.n_nodes, problem.n_parameters
    own = np.diag([1.0] * (p - 1) + [0.0])
    H = np.kron(np.eye(n), own) + problem.coupling * np.kron(
        laplacian(weights_of(problem.graph)), np.eye(p)
    )
    if problem.anchor is not None:
        H[:p, :p] += problem.coupling * problem.anchor.weight * np.eye(p)
    return H / problem.n_scale


def rows_of(problem):
    """The matrix that takes all parameters to s x̃·θ of each row."""
    n, p = problem.n_nodes, problem.n_parameters
    extended = np.column_stack([problem.X, np.ones(n)])
    A = np.zeros((len(problem.s), n, n, p))
    for side, s in enumerate(problem.s):
        A[side, np.arange(n), np.arange(n)] = s[:, None] * extended
    return A.reshape(-1, n * p)


def general_solution(problem):
    """Hyperplanes by a solver that knows nothing of graphs."""
    n, p = problem.n_nodes, problem.n_parameters
    A, H = rows_of(problem), hessian(problem)
    m = len(A)
    pull = np.zeros(n * p)
    if problem.anchor is not None:
        ground = problem.coupling / problem.n_scale * problem.anchor.weight
        pull[:p] = ground * problem.anchor.theta
    P = sp.block_diag([sp.csc_matrix(H), sp.csc_matrix((m, m))], format="csc")
    constraints = sp.bmat([[A, sp.eye(m)], [None, sp.eye(m)]], format="csc")
    solver = osqp.OSQP()
    solver.setup(
        sp.triu(P, format="csc"), np.append(-pull, problem.u.ravel()), constraints,
        np.append(-problem.p.ravel(), np.zeros(m)), np.full(2 * m, np.inf),
        eps_abs=1e-10, eps_rel=1e-10, max_iter=50_000, polishing=True, scaling=20, verbose=False,
    )  # fmt: skip
    found = solver.solve(raise_error=False)
    return found.x[: n * p].reshape(n, p)


def coupled_kernel(K, weights, coupling, n_scale=None):
    """K_ij = (M⁻¹)_ij k_ij + (n/C₂)(L⁺)_ij with both inverses formed."""
    n = len(K)
    n_scale = n if n_scale is None else n_scale
    L = laplacian(weights)
    M = (np.eye(n) + coupling * L) / n_scale
    return np.linalg.inv(M) * K + n_scale / coupling * np.linalg.pinv(L, hermitian=True)
