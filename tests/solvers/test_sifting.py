"""Passes over rows in memory: the optimum of interior points, whatever the number of threads."""

import numpy as np
import pytest
import scipy.sparse as sp

from lindero.errors import SolverError
from lindero.kernels.operator import kernel_operator, origin
from lindero.problems.margin import CostMargin, Margin
from lindero.problems.tube import Tube
from lindero.solvers import sifting
from lindero.solvers.choose import LinearSolver
from lindero.solvers.interior_point import InteriorPointSolver
from lindero.solvers.sifting import SiftingSolver, suits_sifting
from lindero.solvers.solution import Limits, Status
from tests.problem_bank import LINEAR_KERNEL

N_ROWS, N_FEATURES = 3000, 5


@pytest.fixture(autouse=True)
def few_rows_are_fetched(monkeypatch):
    monkeypatch.setattr(sifting, "choose_fetched", lambda width: 200)
    monkeypatch.setattr(sifting, "choose_sampled", lambda width: 300)


def state(formulation, far=0.0, dtype=np.float64, n=N_ROWS):
    rng = np.random.default_rng(1)
    X = (rng.standard_normal((n, N_FEATURES)) + far).astype(dtype)
    scores = (X - far)[:, 0] + 0.5 * rng.standard_normal(n)
    weights = 10.0 ** rng.uniform(-1, 1, n)
    targets = scores if isinstance(formulation, Tube) else np.where(scores > 0.2, 1.0, -1.0)
    kernel = kernel_operator(X, LINEAR_KERNEL, shift=origin(X, LINEAR_KERNEL))
    return formulation.state(kernel, targets, formulation.bounds(weights))


FORMULATIONS = [Margin(1.0), Margin(1e-3), CostMargin(1.0, np.array([0.3, 1.0])), Tube(1.0, 0.1)]


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize(("far", "dtype"), [(0.0, np.float64), (9.0, np.float32)])
def test_the_optimum_is_that_of_interior_points(formulation, far, dtype):
    problem = state(formulation, far, dtype)
    assert suits_sifting(problem)
    found = SiftingSolver(tol=1e-4).solve(problem)
    known = InteriorPointSolver(tol=1e-6).solve(problem)
    assert found.status is Status.OPTIMAL
    judgement = problem.judge(found.a, bias=found.bias)
    assert judgement.kkt_gap <= 1.01e-4
    assert judgement.infeasibility <= 1e-10 * (1.0 + found.a.sum())
    best = problem.judge(known.a).primal
    assert judgement.primal == pytest.approx(best, rel=1e-5)
    np.testing.assert_allclose(
        found.weights, problem.kernel.products.tile(0, N_ROWS).T
        @ problem.at_samples(problem.s * found.a), atol=1e-8,
    )  # fmt: skip


def test_threads_change_nothing():
    one, two = (SiftingSolver(1e-5, n_threads=k).solve(state(Margin(1.0))) for k in (1, 2))
    assert one.a.tobytes() == two.a.tobytes()


def test_a_solution_is_found_again_without_a_pass():
    problem = state(Margin(1.0))
    first = LinearSolver(1e-4).solve(problem)
    assert first.n_iter > 0
    assert LinearSolver(1e-4).solve(problem, first).n_iter == 0


def test_limits_stop_it_with_a_feasible_point():
    problem = state(Margin(1.0))
    stopped = SiftingSolver(1e-9).solve(problem, limits=Limits(max_iter=1))
    assert stopped.status is Status.ITERATION_LIMIT
    assert problem.judge(stopped.a).infeasibility <= 1e-9 * stopped.a.sum()

    def interrupt(progress):
        raise KeyboardInterrupt

    limits = Limits(callback=interrupt)
    stopped = SiftingSolver(1e-4).solve(problem, limits=limits)
    assert stopped.status is Status.INTERRUPTED
    assert limits.interrupted


def test_few_rows_and_sparse_ones_are_left_to_others():
    assert not suits_sifting(state(Margin(1.0), n=900))
    problem = Margin(1.0).state(
        kernel_operator(sp.csr_array(np.eye(2000, 3)), LINEAR_KERNEL), np.ones(2000), np.ones(2000)
    )
    assert not suits_sifting(problem)
    with pytest.raises(SolverError, match="dense rows"):
        SiftingSolver().solve(problem)
