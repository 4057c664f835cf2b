"""Every formulation on two hundred random small problems, against a general solver of QPs."""

import numpy as np
import osqp
import pytest
import scipy.sparse as sp

from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.problems.margin import Margin, NuMargin, largest_nu
from lindero.problems.novelty import Novelty
from lindero.problems.tube import NuTube, Tube
from lindero.solvers.choose import GeneralSolver
from lindero.solvers.solution import Status
from tests.naive.dual_qp import dense_kernel, objective

N_PROBLEMS = 200


def data(rng):
    """Rows with repetitions and constant columns, a kernel over them, and weights."""
    n, n_features = int(rng.integers(4, 25)), int(rng.integers(1, 5))
    X = np.round(rng.standard_normal((n, n_features)), int(rng.choice([0, 15])))
    X[rng.random(n) < 0.2] = X[0]
    name = str(rng.choice(["linear", "poly", "rbf"]))
    function = KernelFunction(name, gamma=10.0 ** rng.uniform(-1.5, 0.5), degree=2, coef0=1.0)
    weights = 10.0 ** (rng.choice([0.0, 1.0]) * rng.uniform(-1, 1, n))
    return kernel_operator(X, function), X, weights


def signs(rng, n):
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return -np.sort(-y)


def targets(rng, X):
    return X.sum(axis=1) + rng.standard_normal(len(X))


def soft_margin(rng):
    kernel, X, weights = data(rng)
    return Margin(1.0).state(kernel, signs(rng, len(X)), 10.0 ** rng.uniform(-2, 2) * weights)


def nu_margin(rng):
    kernel, X, weights = data(rng)
    y = signs(rng, len(X))
    share = rng.choice([0.05, 0.5, 0.95, 1.0])
    return NuMargin(share * largest_nu(y, weights)).state(kernel, y, weights)


def tube(rng):
    kernel, X, weights = data(rng)
    epsilon = rng.choice([0.0, 0.1, 1.0])
    y, bounds = targets(rng, X), 10.0 ** rng.uniform(-2, 2) * weights
    return Tube(1.0, epsilon).state(kernel, y, bounds)


def nu_tube(rng):
    kernel, X, weights = data(rng)
    nu = rng.choice([0.05, 0.5, 1.0])
    y, bounds = targets(rng, X), 10.0 ** rng.uniform(-2, 1) * weights
    return NuTube(1.0, nu).state(kernel, y, bounds)


def novelty(rng):
    kernel, _, weights = data(rng)
    return Novelty(rng.choice([0.01, 0.3, 0.9, 1.0])).state(kernel, None, weights)


FORMULATIONS = [soft_margin, nu_margin, tube, nu_tube, novelty]


def oracle(problem, K):
    """The least objective, by a solver that knows nothing of kernels."""
    n = problem.n_variables
    Q = problem.s[:, None] * K * problem.s
    sums = np.zeros((problem.n_groups, n))
    for row, (members, _) in zip(sums, problem.groups, strict=True):
        row[members] = problem.s[members]
    deltas = [delta for _, delta in problem.groups]
    solver = osqp.OSQP()
    solver.setup(
        sp.csc_matrix(Q), problem.p, sp.csc_matrix(np.vstack([np.eye(n), sums])),
        np.append(np.zeros(n), deltas), np.append(problem.u, deltas),
        eps_abs=1e-9, eps_rel=1e-9, max_iter=1_000_000, polishing=True, verbose=False,
    )  # fmt: skip
    found = solver.solve(raise_error=False)
    return found.info.obj_val, found.info.status


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_objective_is_that_of_a_general_solver(formulation):
    rng = np.random.default_rng(FORMULATIONS.index(formulation))
    solved = 0
    for number in range(N_PROBLEMS):
        problem = formulation(rng)
        K = dense_kernel(problem)
        solution = GeneralSolver(tol=1e-8).solve(problem)
        assert solution.status is Status.OPTIMAL, number
        assert problem.judge(solution.a).infeasibility <= 1e-10 * (1 + problem.u.max())
        expected, status = oracle(problem, K)
        if status == "solved":
            solved += 1
            ours = objective(problem, solution.a, K)
            assert ours == pytest.approx(expected, rel=1e-6, abs=1e-6), number
    assert solved >= 0.97 * N_PROBLEMS
