"""Coordinate descent on linear machines: the right optimum, its loops, and what it refuses."""

import numpy as np
import pytest
import scipy.sparse as sp

from lindero.errors import SolverError
from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.kernels.special import RidgedKernel
from lindero.problems.margin import CostMargin, Margin
from lindero.problems.novelty import Novelty
from lindero.problems.squared import SquaredMargin, SquaredTube
from lindero.problems.tube import Tube
from lindero.solvers.linear_descent import LinearDescentSolver, LinearRows, best_bias
from lindero.solvers.row_loops import (
    BEYOND,
    PLAIN_EPOCHS,
    best_coordinate,
    descend,
    shuffle_rows,
)
from lindero.solvers.solution import Limits, Status
from lindero.solvers.squared_newton import SquaredNewtonSolver
from tests.naive import dual_qp as naive_qp
from tests.naive import linear_descent as naive
from tests.problem_bank import LINEAR_KERNEL, margin, sparse_clouds, two_clouds
from tests.solvers.test_against_qp_oracle import oracle

N_PROBLEMS = 20


def rows(rng):
    """Sparse or dense rows, in single or double precision, with empty rows and columns and
    repeated rows; and weights from 0.1 to 10."""
    n, n_features = int(rng.integers(6, 25)), int(rng.integers(2, 30))
    X = rng.standard_normal((n, n_features)) * (rng.random((n, n_features)) < 0.4)
    X[rng.random(n) < 0.2] = X[0]
    X[rng.random(n) < 0.1] = 0.0
    X[:, 0] = 0.0
    X = X.astype(rng.choice([np.float32, np.float64]))
    return sp.csr_array(X) if rng.random() < 0.6 else X, 10.0 ** rng.uniform(-1, 1, n)


def signs(rng, n):
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return y


def hinge(rng):
    X, weights = rows(rng)
    bounds = 10.0 ** rng.uniform(-2, 1) * weights
    return Margin(1.0).state(kernel_operator(X, LINEAR_KERNEL), signs(rng, X.shape[0]), bounds)


def costs(rng):
    X, weights = rows(rng)
    margins, bounds = np.array([rng.uniform(0.1, 1.0), 1.0]), 10.0 ** rng.uniform(-2, 1) * weights
    kernel = kernel_operator(X, LINEAR_KERNEL)
    return CostMargin(1.0, margins).state(kernel, signs(rng, X.shape[0]), bounds)


def squared_hinge(rng):
    X, weights = rows(rng)
    bounds, kernel = 10.0 ** rng.uniform(-2, 1) * weights, kernel_operator(X, LINEAR_KERNEL)
    return SquaredMargin(1.0).state(kernel, signs(rng, X.shape[0]), bounds)


def tube(rng):
    X, weights = rows(rng)
    y, bounds = rng.standard_normal(X.shape[0]) + 3.0, 10.0 ** rng.uniform(-2, 1) * weights
    kernel = kernel_operator(X, LINEAR_KERNEL)
    return Tube(1.0, rng.choice([0.0, 0.1])).state(kernel, y, bounds)


def squared_tube(rng):
    X, weights = rows(rng)
    y, bounds = rng.standard_normal(X.shape[0]) + 3.0, 10.0 ** rng.uniform(-2, 1) * weights
    kernel = kernel_operator(X, LINEAR_KERNEL)
    return SquaredTube(1.0, rng.choice([0.0, 0.1])).state(kernel, y, bounds)


FORMULATIONS = [hinge, costs, squared_hinge, tube, squared_tube]
SOLVERS = [(LinearDescentSolver, formulation) for formulation in FORMULATIONS]
SOLVERS += [(SquaredNewtonSolver, squared_hinge), (SquaredNewtonSolver, squared_tube)]


@pytest.mark.parametrize(("solver", "formulation"), SOLVERS)
def test_the_objective_is_that_of_a_general_solver(solver, formulation):
    rng = np.random.default_rng(FORMULATIONS.index(formulation))
    solved = 0
    for number in range(N_PROBLEMS):
        problem = formulation(rng)
        K = naive_qp.dense_kernel(problem)
        solution = solver(tol=1e-7).solve(problem)
        assert solution.status is Status.OPTIMAL, number
        judgement = problem.judge(solution.a, bias=solution.bias)
        assert judgement.kkt_gap <= 1e-7, number
        assert judgement.infeasibility <= 1e-10 * (1.0 + solution.a.sum())
        size = 1.0 + abs(judgement.dual)
        assert -1e-9 * size <= judgement.duality_gap <= 1e-4 * size
        expected, status = oracle(problem, K)
        if status == "solved":
            solved += 1
            ours = naive_qp.objective(problem, solution.a, K)
            assert ours == pytest.approx(expected, rel=1e-5, abs=1e-6), number
    assert solved >= 0.9 * N_PROBLEMS


def test_the_primal_of_squared_losses_is_what_it_says():
    X, y = two_clouds(30)
    kernel, C = kernel_operator(X, LINEAR_KERNEL), np.linspace(0.1, 2.0, 30)
    problem = SquaredMargin(1.0).state(kernel, y, C)
    solution = SquaredNewtonSolver(tol=1e-9).solve(problem)
    w = X.T @ (y * solution.a)
    errors = np.maximum(0.0, 1.0 - y * (X @ w + solution.bias))
    expected = 0.5 * w @ w + C @ errors**2
    judgement = problem.judge(solution.a, bias=solution.bias)
    assert judgement.primal == pytest.approx(expected, rel=1e-12)
    assert judgement.dual == pytest.approx(expected, rel=1e-7)


# -- loops and their twins ------------------------------------------------------------------------


def test_a_shuffle_is_that_of_its_twin():
    one, two = np.arange(50, dtype=np.int32), list(range(50))
    assert shuffle_rows(one, 40, 7) == naive.shuffle_rows(two, 40, 7)
    assert one.tolist() == two
    assert sorted(two[:40]) == list(range(40))


@pytest.mark.parametrize("seed", range(20))
def test_a_step_is_that_of_its_twin(seed):
    rng = np.random.default_rng(seed)
    z, g, middle, width = rng.standard_normal(4)
    curvature, bounds = rng.uniform(0.1, 3.0), (-rng.uniform(0, 2), rng.uniform(0, 2))
    args = (z, g, curvature, *bounds, middle - abs(width), middle + abs(width))
    z = float(np.clip(z, *bounds))
    assert best_coordinate(*args) == pytest.approx(naive.best_coordinate(*args), abs=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("epochs_before", "beyond"), [(0, 0.0), (PLAIN_EPOCHS, BEYOND)])
def test_epochs_are_those_of_their_twin(make, dtype, epochs_before, beyond):
    rng = np.random.default_rng(3)
    X = (rng.standard_normal((40, 12)) * (rng.random((40, 12)) < 0.5)).astype(dtype)
    read = LinearRows.of(kernel_operator(make(X), LINEAR_KERNEL))
    assert np.shares_memory(read.data, X) == (make is np.asarray)
    P = np.zeros((40, 8))
    P[:, 0], P[:, 1], P[:, 4] = -rng.uniform(0, 1, 40), rng.uniform(0, 1, 40), 0.1
    P[:, 2] = rng.standard_normal(40)
    P[:, 3], P[:, 5] = P[:, 2] + 0.2, read.squares
    z, terms, w = np.zeros(40), P[:, :5].copy(), np.zeros(12)
    order, numbers = np.arange(40, dtype=np.int32), np.array([0.3, 0, 2, np.inf, np.inf, np.inf, 2])
    counts = np.array([40, 1, epochs_before])
    descend(
        read.data, read.indices, read.starts, read.stops, P, w, order, numbers, counts,
        0.0, 2.0, 1,
    )  # fmt: skip
    shuffled = list(range(40))
    naive.shuffle_rows(shuffled, 40, 1)
    X = X.astype(np.float64)
    worst, bias = naive.epoch(X, z, terms, shuffled, 0.3, 2.0, beyond)
    np.testing.assert_allclose(P[:, 6], z, atol=1e-10)
    np.testing.assert_allclose(w, X.T @ z, atol=1e-10)
    assert numbers[3] == pytest.approx(worst)
    assert numbers[1] == pytest.approx(z.sum())
    # Where the sum was what held others up, the bias has moved once more.
    assert numbers[0] in (pytest.approx(bias), pytest.approx(bias + 2.0 * z.sum()))


def test_the_first_bias_is_that_of_least_loss():
    rng = np.random.default_rng(0)
    for _ in range(20):
        problem, f = hinge(rng), rng.standard_normal(int(rng.integers(1, 3)))
        f = np.resize(f, problem.kernel.n_samples)  # of two values, or of one as where fits begin

        def loss(b, problem=problem, f=f):
            residuals = problem.s * (f + b) + problem.p
            return float(problem.u @ np.maximum(0.0, -residuals))

        known = min(loss(b) for b in -problem.q - f)
        assert loss(best_bias(problem, f)) == pytest.approx(known, abs=1e-9)


def test_a_row_of_a_ridged_kernel_is_that_of_its_matrix():
    X, _ = two_clouds(30)
    ridge = np.linspace(1.0, 2.0, 30)
    kernel = RidgedKernel(kernel_operator(X, LINEAR_KERNEL), ridge)
    whole, some = X @ X.T + np.diag(ridge), np.array([3, 17, 5])
    np.testing.assert_allclose(kernel.diagonal(), whole.diagonal())
    out = np.empty((3, 20))
    kernel.block(kernel.probe(some), 4, 24, out)
    np.testing.assert_allclose(out, whole[some, 4:24])
    np.testing.assert_allclose(kernel.matrix(some, 3), whole[np.ix_(some, some)])
    np.testing.assert_allclose(kernel.subset(some).matrix(np.arange(3), 3), kernel.matrix(some, 3))
    np.testing.assert_allclose(kernel.times(ridge), whole @ ridge)
    new = kernel.cross(kernel.probe_of(X[:2]), kernel.probe(some))
    np.testing.assert_allclose(new, X[:2] @ X[some].T)


# -- a solver among others ------------------------------------------------------------------------


def text(n=1500, n_features=3000, C=1.0):
    return margin(*sparse_clouds(n, n_features), LINEAR_KERNEL, C)


def test_it_goes_on_from_a_solution_and_takes_no_step_from_an_optimal_one():
    solver, problem = LinearDescentSolver(tol=1e-4), text()
    first = solver.solve(problem)
    assert first.status is Status.OPTIMAL
    assert solver.solve(problem, first).n_iter == 0
    again = LinearDescentSolver(tol=1e-5).solve(problem, first)
    assert again.status is Status.OPTIMAL
    assert again.n_iter < LinearDescentSolver(tol=1e-5).solve(problem).n_iter


def test_faces_are_solved_by_conjugate_gradients_where_many_are_free():
    solution = LinearDescentSolver(tol=1e-6).solve(text(C=100.0))
    assert solution.status is Status.OPTIMAL
    assert solution.statistics["conjugate_gradients"] > 0


def test_solutions_are_the_same_each_time():
    one, two = (LinearDescentSolver(tol=1e-5, n_threads=k).solve(text(300)) for k in (1, 2))
    assert one.a.tobytes() == two.a.tobytes()


def test_it_stops_at_limits_with_its_best_point():
    problem = text()
    stopped = LinearDescentSolver(tol=1e-9).solve(problem, limits=Limits(max_iter=3))
    assert stopped.status is Status.ITERATION_LIMIT
    assert stopped.n_iter == 3
    assert problem.judge(stopped.a).infeasibility <= 1e-12 * stopped.a.sum()
    asked = []

    def stop(progress):
        asked.append(progress)
        return len(asked) == 2

    stopped = LinearDescentSolver(tol=1e-9).solve(problem, limits=Limits(callback=stop))
    assert stopped.status is Status.CALLBACK


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e20, 1e140])
def test_rows_of_any_size_are_solved_in_units_of_their_own(scale):
    X, y = sparse_clouds(60, 100)
    plain = LinearDescentSolver(tol=1e-6).solve(margin(X, y, LINEAR_KERNEL))
    scaled = margin(X * scale, y, LINEAR_KERNEL, C=min(scale**-2, 1e250))
    solution = LinearDescentSolver(tol=1e-6).solve(scaled)
    if scale < 1e-130:
        assert solution.status is Status.OPTIMAL
        return
    np.testing.assert_allclose(solution.a * scale**2, plain.a, atol=1e-4)


def test_a_class_that_is_one_row_larger_does_not_set_all_rows_free():
    X, y = sparse_clouds(3001, 2000)
    y = np.where(np.argsort(np.argsort(y, kind="stable")) < 1500, -1.0, 1.0)
    problem = margin(X, y, LINEAR_KERNEL, C=1e-6)
    solution = LinearDescentSolver(tol=1e-4).solve(problem)
    assert solution.status is Status.OPTIMAL
    assert ((solution.a > 0.0) & (solution.a < 1e-6)).sum() < 300
    assert solution.n_iter < 50


def short_bounds(n_positive, n=600, C=1e-3, seed=0):
    """Rows of length one, so that their bounds are short, with so many positive ones."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < n_positive, 1.0, -1.0)
    X = rng.standard_normal((n, 40)) * (rng.random((n, 40)) < 0.3) + 0.1 * y[:, None]
    X /= np.sqrt((X**2).sum(axis=1))[:, None]
    return Margin(C).state(kernel_operator(sp.csr_array(X), LINEAR_KERNEL), y, np.full(n, C))


def test_short_bounds_are_where_a_problem_of_even_sides_begins_and_ends():
    problem = short_bounds(300)
    solution = LinearDescentSolver(tol=1e-6).solve(problem)
    assert (solution.status, solution.n_iter) == (Status.OPTIMAL, 0)
    assert (solution.a == problem.u).all()


@pytest.mark.parametrize("C", [1e-3, 0.05, 0.3])
@pytest.mark.parametrize("n_positive", [299, 285, 100])
def test_sides_that_are_not_even_end_at_the_same_optimum(n_positive, C):
    problem = short_bounds(n_positive, C=C)
    solution = LinearDescentSolver(tol=1e-8).solve(problem)
    assert solution.status is Status.OPTIMAL
    judgement = problem.judge(solution.a, bias=solution.bias)
    assert judgement.kkt_gap <= 1e-8
    assert judgement.infeasibility <= 1e-12
    assert abs(judgement.duality_gap) <= 1e-6 * judgement.primal


def test_one_row_more_on_a_side_takes_few_epochs():
    """No row is free, so no row says what b is."""
    solution = LinearDescentSolver(tol=1e-2).solve(short_bounds(299))
    assert solution.n_iter <= 2


def test_a_table_without_entries_has_a_bias_alone():
    problem = margin(sp.csr_array((5, 7)), np.array([1.0, 1, 1, -1, -1]), LINEAR_KERNEL)
    solution = LinearDescentSolver().solve(problem)
    assert solution.status is Status.OPTIMAL
    assert solution.bias == pytest.approx(1.0)


def test_problems_of_other_kinds_are_refused():
    X, y = two_clouds(20)
    with pytest.raises(SolverError, match="linear kernel"):
        LinearDescentSolver().solve(margin(X, y, KernelFunction("rbf")))
    novelty = Novelty(0.5).state(kernel_operator(X, LINEAR_KERNEL), None, np.ones(20))
    with pytest.raises(SolverError, match="delta = 0"):
        LinearDescentSolver().solve(novelty)
    with pytest.raises(SolverError, match="ridges"):
        SquaredNewtonSolver().solve(margin(X, y, LINEAR_KERNEL))
