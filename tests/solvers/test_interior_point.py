"""Interior points, decomposition and the solver that chooses between them, on linear kernels."""

import numpy as np
import pytest
import scipy.sparse as sp

from lindero.errors import SolverError
from lindero.kernels.products import DenseProducts, SparseProducts
from lindero.runtime.threads import TileThreads
from lindero.solvers.choose import GeneralSolver, LinearSolver
from lindero.solvers.interior_point import DenseNewtonSystem, InteriorPointSolver, SmallNewtonSystem
from lindero.solvers.solution import Status
from tests.naive import dual_qp as naive
from tests.naive import newton_systems as naive_systems
from tests.problem_bank import (
    BANK,
    LINEAR_KERNEL,
    curve,
    margin,
    rbf,
    sparse_clouds,
    tube,
    two_clouds,
)


def badly_scaled(C=1.0, n=300):
    X, y = two_clouds(n, n_features=6, seed=1)
    return margin(X * 10.0 ** np.array([-4, -2, 0, 1, 3, 4]), y, LINEAR_KERNEL, C)


def sparse(C=1.0, n=400):
    X, y = sparse_clouds(n, 40)
    flipped = np.random.default_rng(1).random(n) < 0.1
    return margin(X, np.where(flipped, -y, y), LINEAR_KERNEL, C)


def imbalanced(C=1.0, n=900):
    return margin(*two_clouds(n, seed=2, positives=0.01), LINEAR_KERNEL, C)


HARD_ONES = {"badly scaled": badly_scaled, "sparse": sparse, "imbalanced": imbalanced}


# Badly scaled data are left out at the largest C: f is a sum of terms of 1e13 there, and no gap
# of 1e-6 can be told from rounding.
REACHABLE = [
    *((kind, C) for kind in HARD_ONES for C in (1e-4, 1.0)),
    ("sparse", 1e4),
    ("imbalanced", 1e4),
]


@pytest.mark.parametrize(("kind", "C"), REACHABLE)
@pytest.mark.parametrize("solver", [InteriorPointSolver, LinearSolver])
def test_interior_points_reach_the_certificate_whatever_the_data(kind, solver, C):
    problem = HARD_ONES[kind](C)
    solution = solver(tol=1e-6).solve(problem)
    assert solution.status is Status.OPTIMAL
    judgement = problem.judge(solution.a)
    assert judgement.kkt_gap <= 1e-6
    assert judgement.infeasibility <= 1e-12 * (1 + solution.a.sum())


AGREEING = {
    "overlapping": lambda: margin(*two_clouds(300), LINEAR_KERNEL),
    "medium": lambda: margin(*two_clouds(600), LINEAR_KERNEL, 0.1),
    "sparse": lambda: sparse(n=300),
    "imbalanced": lambda: imbalanced(0.1),
    "tube": lambda: tube(*curve(150), LINEAR_KERNEL, 1.0, 0.1),
    "weighted": BANK["bounds from 1e-3 to 1e3"].make,
}


@pytest.mark.parametrize("solver", [InteriorPointSolver, LinearSolver])
@pytest.mark.parametrize("kind", AGREEING)
def test_the_methods_agree_on_the_objective_at_a_tight_tolerance(kind, solver):
    problem = AGREEING[kind]()
    other = solver(tol=1e-8).solve(problem)
    decomposition = GeneralSolver(tol=1e-8).solve(problem)
    ours, theirs = naive.objective(problem, other.a), naive.objective(problem, decomposition.a)
    assert abs(ours) > 1e-3
    assert ours == pytest.approx(theirs, rel=1e-6)


def test_steps_of_interior_points_do_not_grow_with_the_bound():
    X, y = two_clouds(500, seed=3)
    steps = [InteriorPointSolver().solve(margin(X, y, LINEAR_KERNEL, C)).n_iter for C in (1, 1e6)]
    assert max(steps) <= 60


def test_steps_taken_by_both_methods_are_counted():
    problem = badly_scaled(1e4)
    assert LinearSolver().solve(problem).n_iter > InteriorPointSolver().solve(problem).n_iter


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (BANK["gaussian"].make, "linear kernel"),
        (BANK["precomputed"].make, "linear kernel"),
        (BANK["hard linear"].make, "finite"),
        (lambda: margin(*two_clouds(4), LINEAR_KERNEL, C=0.0), "positive"),
    ],
    ids=["gaussian", "precomputed", "infinite bounds", "zero bounds"],
)
def test_interior_points_refuse_what_they_cannot_take(problem, message):
    with pytest.raises(SolverError, match=message):
        InteriorPointSolver().solve(problem())


class TestNewtonSystems:
    X = np.random.default_rng(4).standard_normal((700, 4))
    weights = np.random.default_rng(5).uniform(0.1, 2, 700)
    r = np.arange(5.0)

    def systems(self, threads):
        products = [
            DenseProducts(self.X, np.float64),
            SparseProducts(sp.csr_array(self.X), np.float64),
        ]
        return [DenseNewtonSystem(p, threads) for p in products] + [
            SmallNewtonSystem(p) for p in products
        ]

    @pytest.mark.parametrize("which", range(4))
    @pytest.mark.parametrize("n_threads", [1, 3])
    def test_maps_and_solutions_are_those_of_matrices_written_out(self, which, n_threads):
        twin = naive_systems.DenseNewtonSystem(self.X)
        with TileThreads(n_threads) as threads:
            system = self.systems(threads)[which]
            np.testing.assert_allclose(system.forward(self.r), twin.forward(self.r), atol=1e-12)
            np.testing.assert_allclose(
                system.adjoint(self.weights), twin.adjoint(self.weights), atol=1e-11
            )
            np.testing.assert_allclose(system.penalty(self.r), twin.H @ self.r)
            system.factor(self.weights)
            np.testing.assert_allclose(
                system.solve(self.r), twin.solve(self.weights, self.r), rtol=1e-10
            )

    def test_a_matrix_made_singular_by_rounding_is_still_solved(self):
        X = np.full((10, 2), 1e9)
        system = SmallNewtonSystem(DenseProducts(X, np.float64))
        system.factor(np.ones(10))
        assert np.isfinite(system.solve(np.ones(3))).all()


def test_a_gaussian_kernel_is_no_business_of_the_linear_solver_when_large():
    with pytest.raises(SolverError, match="linear kernel"):
        LinearSolver().solve(margin(*two_clouds(500), rbf(1.0)))
