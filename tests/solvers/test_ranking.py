"""Newton steps and decomposition for ranking: against an independent solver, and each other."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from numpy.testing import assert_allclose

from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.problems.ranking import LinearRanking, Queries
from lindero.runtime.threads import TileThreads
from lindero.solvers import ranking
from lindero.solvers.ranking import (
    RankingDescentSolver,
    RankingNewtonSolver,
    RankingPairsSolver,
    direct_step,
    exact_factor,
    flat_point,
    hessian,
    iterative_step,
)
from lindero.solvers.solution import Limits, Status
from tests.naive import ranking as naive

LINEAR = KernelFunction("linear")


def random_problem(seed):
    """A few queries of 2 to 12 documents, two to five grades, C from 0.01 to 100."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 13, rng.integers(1, 5))
    n, d = sizes.sum(), rng.integers(1, 8)
    X = rng.standard_normal((n, d)) * 10 ** rng.uniform(-0.5, 0.5)
    y = rng.integers(0, rng.integers(2, 6), n)
    y[0], y[1] = 0, 1  # at least one pair
    return X, y, np.append(0, np.cumsum(sizes)), 10 ** rng.uniform(-2, 2)


def oracle(X, y, starts, C):
    """The weights by SciPy's sequential quadratic programming, over explicit pairs with slacks."""
    D = naive.differences(X, y, starts)
    m, d = D.shape
    A = np.hstack([D, np.eye(m)])
    result = scipy.optimize.minimize(
        lambda z: 0.5 * z[:d] @ z[:d] / C + z[d:].sum(),
        np.append(np.zeros(d), np.ones(m)),
        jac=lambda z: np.append(z[:d] / C, np.ones(m)),
        method="SLSQP",
        bounds=[(None, None)] * d + [(0, None)] * m,
        constraints={"type": "ineq", "fun": lambda z: A @ z - 1, "jac": lambda z: A},
        options={"maxiter": 2000, "ftol": 1e-15},
    )
    return result.x[:d]


@pytest.mark.parametrize("seed", range(60))
def test_the_objective_is_that_of_an_independent_solver(seed):
    X, y, starts, C = random_problem(seed)
    reference = naive.primal(oracle(X, y, starts, C), X, y, starts, C)
    solution = RankingNewtonSolver(1e-8).solve(X, Queries.of(y, starts), C)
    ours = naive.primal(solution.w, X, y, starts, C)
    assert solution.status is Status.OPTIMAL
    assert ours == pytest.approx(reference, rel=1e-6)
    assert solution.judgement.primal == pytest.approx(ours, rel=1e-12)
    # the dual objective is a bound for whatever anyone finds
    assert solution.judgement.dual <= reference * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_decomposition_over_pairs_and_newton_steps_agree(seed):
    X, y, starts, C = random_problem(100 + seed)
    queries = Queries.of(y, starts)
    newton = RankingNewtonSolver(1e-8).solve(X, queries, C)
    pairs = RankingPairsSolver(1e-8).solve(kernel_operator(X, LINEAR), queries, C)
    assert pairs.status is Status.OPTIMAL
    assert pairs.judgement.primal == pytest.approx(newton.judgement.primal, rel=1e-6)
    assert pairs.judgement.dual == pytest.approx(newton.judgement.dual, rel=1e-6)
    ours = naive.primal(X.T @ pairs.c, X, y, starts, C)
    assert ours == pytest.approx(newton.judgement.primal, rel=1e-6)


def test_many_pairs_in_single_precision_and_newton_steps_agree():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((300, 4))
    y = np.round(X @ [1.0, -1.0, 0.5, 0.0] + rng.standard_normal(300)).astype(int)
    queries = Queries.of(y, np.arange(0, 301, 30))
    newton = RankingNewtonSolver(1e-8).solve(X, queries, 0.05)
    pairs = RankingPairsSolver(1e-7).solve(kernel_operator(X, LINEAR), queries, 0.05)
    assert queries.n_pairs > 2000
    assert pairs.status is Status.OPTIMAL
    assert pairs.judgement.primal == pytest.approx(newton.judgement.primal, rel=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_where_patience_ends_newton_steps_over_documents_give_the_same_machine(kernel):
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((60, 3)), rng.integers(0, 4, 60)
    queries = Queries.of(y, np.arange(0, 61, 4))  # few pairs, which are the variables then
    operator = kernel_operator(X, KernelFunction(kernel, gamma=0.3, degree=2, coef0=1.0))
    patient = RankingPairsSolver(1e-7).solve(operator, queries, 0.5)
    impatient = RankingPairsSolver(1e-7, patience=0).solve(operator, queries, 0.5)
    assert patient.status is impatient.status is Status.OPTIMAL
    assert impatient.n_iter < patient.n_iter
    assert impatient.judgement.primal == pytest.approx(patient.judgement.primal, rel=2e-7)
    K = operator.matrix(np.arange(60), 60)
    assert_allclose(K @ impatient.c, K @ patient.c, atol=2e-3)


@pytest.mark.parametrize("C", [0.5, 100.0])
def test_many_pairs_are_solved_over_documents_and_their_multipliers_are_the_model(C):
    """At C = 100 the weights are near the optimum long before the multipliers are."""
    rng = np.random.default_rng(8)
    X = rng.standard_normal((350, 5))
    y = X[:, 0] + rng.standard_normal(350)
    queries = Queries.of(y, np.array([0, 350]))
    operator = kernel_operator(X, KernelFunction("rbf", gamma=0.2))
    found = RankingPairsSolver(1e-4).solve(operator, queries, C)
    assert found.status is Status.OPTIMAL
    assert found.n_iter < 500  # steps over 61 075 pairs would be a million
    K = operator.matrix(np.arange(350), 350)
    f = (K @ found.c)[np.argsort(-y)]
    hinge = np.triu(np.maximum(0.0, 1.0 - (f[:, None] - f[None, :])), 1).sum()
    primal = 0.5 * found.c @ K @ found.c + C * hinge
    assert primal == pytest.approx(found.judgement.primal, rel=1e-6)
    assert found.judgement.duality_gap <= 1e-4 * primal


def test_a_kernel_that_is_not_positive_semi_definite_has_no_factor():
    K = np.diag([1.0, 1.0, -1.0, 1.0])
    kernel = kernel_operator(K, KernelFunction("precomputed"))
    assert exact_factor(kernel) is None
    factor = exact_factor(kernel_operator(np.abs(K), KernelFunction("precomputed")))
    assert_allclose(factor @ factor.T, np.eye(4))


# -- Newton systems -------------------------------------------------------------------------------


def newton_problem(n_levels=4, kind="dense"):
    rng = np.random.default_rng(7)
    X, y = rng.standard_normal((80, 5)), rng.integers(0, n_levels, 80)
    table = sp.csr_array(X) if kind == "sparse" else X
    return X, table, y, np.array([0, 30, 80]), rng.standard_normal(5)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_hessian_is_the_derivative_of_the_gradient(kind):
    X, table, y, starts, w = newton_problem(kind=kind)
    with TileThreads(1) as threads:
        problem = LinearRanking(table, Queries.of(y, starts), 0.3, threads)
        t = problem.scores(w)
        H = hessian(problem, t, problem.sort(t), 0.5)
        A = naive.laplacian(t, y, starts, 0.5)
        assert_allclose(H, np.eye(5) + 0.3 / 0.5 * X.T @ A @ X, atol=1e-10)
        numeric = np.empty((5, 5))
        for k in range(5):
            step = 1e-7 * np.eye(5)[k]
            above, below = (problem.point(w + s, problem.scores(w + s), 0.5) for s in (step, -step))
            numeric[:, k] = ((w + step - above.v) - (w - step - below.v)) / 2e-7
    assert_allclose(H, numeric, rtol=1e-5, atol=1e-5)


def test_many_levels_take_the_features_a_few_at_a_time():
    rng = np.random.default_rng(8)
    X, y, w = rng.standard_normal((400, 20)), rng.permutation(400), rng.standard_normal(20) / 4
    with TileThreads(1) as threads:
        problem = LinearRanking(X, Queries.of(y, np.array([0, 400])), 1.0, threads)
        t = problem.scores(w)
        H = hessian(problem, t, problem.sort(t), 0.5)
    A = naive.laplacian(t, y, np.array([0, 400]), 0.5)
    assert_allclose(H, np.eye(20) + 2 * X.T @ A @ X, rtol=1e-9)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_conjugate_gradients_find_the_direct_step(kind):
    _, table, y, starts, w = newton_problem(kind=kind)
    with TileThreads(1) as threads:
        problem = LinearRanking(table, Queries.of(y, starts), 0.3, threads)
        point = problem.point(w, problem.scores(w), 0.5)
        arguments = (problem, point, problem.sort(point.t), point.w - point.v)
        exact, near = direct_step(*arguments), iterative_step(*arguments)
    assert np.linalg.norm(near - exact) < 0.1 * np.linalg.norm(exact)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_many_features_are_solved_by_conjugate_gradients_to_the_same_optimum(kind):
    rng = np.random.default_rng(9)
    X = rng.standard_normal((90, 400)) * (rng.random((90, 400)) < 0.1)
    y = rng.integers(0, 3, 90)
    queries = Queries.of(y, np.array([0, 40, 90]))
    table = sp.csr_array(X) if kind == "sparse" else X
    near = RankingNewtonSolver(1e-6).solve(table, queries, 0.05)
    direct = RankingNewtonSolver(1e-6, most_direct=400).solve(table, queries, 0.05)
    assert near.status is direct.status is Status.OPTIMAL
    assert near.judgement.primal == pytest.approx(direct.judgement.primal, rel=2e-6)


# -- the search along a line ----------------------------------------------------------------------


@pytest.mark.parametrize("root", [1e-6, 0.01, 0.4, 1.0, 1.7, 30.0])
@pytest.mark.parametrize("power", [1, 3])
def test_the_search_ends_where_the_slope_is_small_and_not_far_beyond(root, power):
    def slope_at(s):
        return np.sign(s - root) * abs(s / root - 1) ** power

    s = flat_point(slope_at, -1.0)
    assert -0.5 <= slope_at(s) <= 0.1
    assert s > 0


def test_the_search_finds_a_kink():
    s = flat_point(lambda s: -1.0 if s < 0.3 else 5.0, -1.0)
    assert 0.0 < s <= 0.3


# -- stopping -------------------------------------------------------------------------------------


def test_the_solver_stops_when_told_with_the_best_weights_so_far():
    X, y, starts, _ = random_problem(3)
    queries = Queries.of(y, starts)
    nothing = RankingNewtonSolver().solve(X, queries, 1.0, limits=Limits(max_iter=0))
    some = RankingNewtonSolver(1e-9).solve(X, queries, 1.0, limits=Limits(max_iter=3))
    assert nothing.status is some.status is Status.ITERATION_LIMIT
    assert nothing.judgement.primal == queries.n_pairs
    assert some.n_iter == 3
    assert some.judgement.primal < nothing.judgement.primal
    assert some.judgement.primal == pytest.approx(naive.primal(some.w, X, y, starts, 1.0))
    stopped = RankingNewtonSolver(1e-9).solve(
        X, queries, 1.0, limits=Limits(callback=lambda report: report.n_iter >= 2)
    )
    assert stopped.status is Status.CALLBACK


def test_the_number_of_threads_changes_nothing():
    rng = np.random.default_rng(10)
    X = rng.standard_normal((6000, 4))
    y = rng.integers(0, 4, 6000)
    queries = Queries.of(y, np.arange(0, 6001, 20))
    one, two = (RankingNewtonSolver(n_threads=n).solve(X, queries, 1.0) for n in (1, 2))
    np.testing.assert_array_equal(one.w, two.w)


def test_values_beyond_floating_point_end_in_words_and_not_in_nonsense():
    X = np.array([[1e200], [-1e200], [3e200]])
    queries = Queries.of(np.array([0, 1, 2]), np.array([0, 3]))
    solution = RankingNewtonSolver().solve(X, queries, 1.0)
    assert solution.status is Status.PRECISION
    assert np.isfinite(solution.w).all()


def test_a_limit_met_once_the_gap_is_within_tol_does_not_make_the_solution_worse_than_it_is():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 5)), rng.integers(0, 4, 300)
    queries = Queries.of(y, np.arange(0, 301, 30))
    reports = []
    RankingNewtonSolver(1e-6).solve(X, queries, 1.0, limits=Limits(callback=reports.append))
    within = next(report for report in reports if report.gap <= 1e-6)
    stopped = RankingNewtonSolver(1e-6).solve(
        X, queries, 1.0, limits=Limits(max_iter=within.n_iter)
    )
    assert stopped.n_iter == within.n_iter
    assert stopped.status is Status.OPTIMAL


def test_many_pairs_one_by_one_warn_beforehand(monkeypatch, recwarn):
    """Where no factor of the kernel exists, and time is not limited."""
    X, y, starts, C = random_problem(3)
    indefinite = kernel_operator(X, KernelFunction("sigmoid", gamma=1.0, coef0=-1.0))
    assert exact_factor(indefinite) is None
    queries = Queries.of(y, starts)
    solver = RankingPairsSolver(patience=0)
    solver.solve(indefinite, queries, C)
    monkeypatch.setattr(ranking, "_SLOW_PAIRS", queries.n_pairs)
    solver.solve(indefinite, queries, C, Limits(time_limit=100.0))
    solver.solve(kernel_operator(X, LINEAR), queries, C)
    assert not recwarn
    with pytest.warns(UserWarning, match=f"{queries.n_pairs} pairs .* time_limit end it"):
        solver.solve(indefinite, queries, C)


def test_pairs_one_by_one_end_without_a_limit_of_the_user(monkeypatch):
    """A kernel that is none has no other way; the steps at the latest are said beforehand."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    queries = Queries.of(rng.normal(size=60), np.array([0, 60]))
    kernel = kernel_operator(X, KernelFunction("sigmoid", gamma=1.0))
    monkeypatch.setattr(ranking, "_MOST_WORK", 20 * queries.n_pairs)
    monkeypatch.setattr(ranking, "_STEPS_EACH", 0)
    monkeypatch.setattr(ranking, "_SLOW_PAIRS", 1000)
    solver = RankingPairsSolver(1e-4)
    with pytest.warns(UserWarning, match=r"take minutes\. It ends after 20 steps at the latest"):
        solution = solver.solve(kernel, queries, 1.0)
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.n_iter == 20
    longer = solver.solve(kernel, queries, 1.0, Limits(max_iter=100))
    assert longer.n_iter > 20


# -- differences of pairs, listed ------------------------------------------------------------------


def draw_rows(rng, n, d=1500):
    """Sparse rows of some thirty entries each."""
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.02)
    return sp.csr_array(X)


@pytest.mark.parametrize("scale", [1.0, 1e20])
@pytest.mark.parametrize("seed", range(3))
def test_wide_sparse_rows_are_ranked_as_newton_ranks_them(seed, scale):
    rng = np.random.default_rng(seed)
    X, y = draw_rows(rng, 120), rng.integers(0, 4, 120)
    X.data *= scale
    queries = Queries.of(y, np.array([0, 40, 41, 120]))
    C = 10.0 ** rng.uniform(-1, 1) / scale**2
    found = RankingDescentSolver(tol=1e-7).solve(X, queries, C)
    known = RankingNewtonSolver(tol=1e-7).solve(X, queries, C)
    assert found.status is Status.OPTIMAL
    assert found.judgement.primal == pytest.approx(known.judgement.primal, rel=2e-7)
    assert found.judgement.dual <= known.judgement.primal * (1 + 1e-12)
    np.testing.assert_allclose(found.w, X.T @ found.c, atol=1e-9 * np.abs(found.w).max())
    t = X @ found.w
    left, right = queries.pairs()
    losses = np.maximum(0.0, 1.0 - (t[left] - t[right]))
    primal = 0.5 * found.w @ found.w + C * losses.sum()
    assert found.judgement.primal == pytest.approx(primal, rel=1e-9)


def test_limits_and_what_is_not_listed(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = draw_rows(rng, 90), rng.integers(0, 3, 90)
    queries = Queries.of(y, np.array([0, 90]))
    short = RankingDescentSolver(tol=1e-6).solve(X, queries, 1.0, limits=Limits(max_iter=2))
    assert short.status is Status.ITERATION_LIMIT
    assert short.n_iter == 2
    known = RankingNewtonSolver(tol=1e-6).solve(X, queries, 1.0)
    monkeypatch.setattr(ranking, "_MOST_LISTED_ENTRIES", 10)
    same = RankingDescentSolver(tol=1e-6).solve(X, queries, 1.0)
    np.testing.assert_array_equal(same.w, known.w)
