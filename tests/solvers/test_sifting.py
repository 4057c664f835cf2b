"""Rows that are decided early, beside interior points on all of them."""

import numpy as np
import pytest
import scipy.sparse as sp

from lindero.kernels.operator import KernelFunction, ProductKernel
from lindero.kernels.products import DenseProducts, SparseProducts
from lindero.problems.dual_qp import DualQP
from lindero.problems.tube import Tube
from lindero.runtime.threads import TileThreads
from lindero.solvers.choose import LinearSolver
from lindero.solvers.interior_point import InteriorPointSolver
from lindero.solvers.sifting import SiftingSolver, _Rows, _Sieve
from lindero.solvers.solution import Limits, Status

LINEAR = KernelFunction("linear")


def kernel_of(X):
    if sp.issparse(X):
        return ProductKernel(SparseProducts(X, np.float64), LINEAR)
    return ProductKernel(DenseProducts(X, np.float64), LINEAR)


def hinge(X, y, C=1.0):
    n = len(y)
    u = np.broadcast_to(np.asarray(C, dtype=float), n).copy()
    return DualQP(kernel_of(X), p=-np.ones(n), s=y, u=u)


def noisy(n=6000, d=8, seed=0, noise=0.5, positives=0.0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d))
    values = X @ random.standard_normal(d) / np.sqrt(d) + noise * random.standard_normal(n)
    return X, np.where(values > positives, 1.0, -1.0)


def tube(C=1.0, shift=0.0):
    X, _ = noisy()
    y = X[:, 0] - X[:, 1] + 0.3 * np.random.default_rng(1).standard_normal(len(X)) + shift
    formulation = Tube(C, 0.1)
    return formulation.state(kernel_of(X), y, formulation.bounds(np.ones(len(y))))


def doubled():
    X, y = noisy(3000)
    return hinge(np.vstack([X, X]), np.concatenate([y, -y]))


def mostly_the_same():
    """Few entries a row, many rows equal, one class rare: steps go too far again and again."""
    random = np.random.default_rng(5)
    X = (random.random((8000, 40)) < 0.05 * random.random(40) ** 2).astype(float)
    values = X @ random.standard_normal(40) + 0.3 * random.standard_normal(8000)
    return hinge(sp.csr_array(X), np.where(values > np.quantile(values, 0.97), 1.0, -1.0), 10.0)


def scaled(factors):
    X, y = noisy()
    return hinge(X * factors, y)


PROBLEMS = {
    "hinge": lambda: hinge(*noisy()),
    "small C": lambda: hinge(*noisy(), C=1e-4),
    "large C": lambda: hinge(*noisy(), C=1e4),
    "separable": lambda: hinge(*noisy(noise=0.0), C=100.0),
    "few of one class": lambda: hinge(*noisy(positives=2.2)),
    "weights": lambda: hinge(*noisy(), C=np.random.default_rng(2).exponential(size=6000) ** 3),
    "each row with both labels": doubled,
    "a row six thousand times": lambda: hinge(np.ones((6000, 2)), noisy()[1]),
    "columns of different size": lambda: scaled(10.0 ** np.array([-4, -2, 0, 0, 0, 1, 3, 4])),
    "single precision": lambda: hinge(noisy()[0].astype(np.float32), noisy()[1]),
    "sparse": lambda: hinge(sp.csr_array(np.where(noisy()[0] > 1, noisy()[0], 0)), noisy()[1]),
    "sparse, most rows the same": mostly_the_same,
    "tube": tube,
    "tube, large C": lambda: tube(C=1e3),
    "tube, far targets": lambda: tube(shift=1e6),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_optimum_is_that_of_interior_points(name):
    problem = PROBLEMS[name]()
    found = SiftingSolver(1e-5).solve(problem)
    whole = InteriorPointSolver(1e-5).solve(problem)
    assert found.status is Status.OPTIMAL
    ours, theirs = problem.judge(found.a), problem.judge(whole.a)
    assert ours.kkt_gap <= 1.1e-5
    assert ours.dual == pytest.approx(theirs.dual, rel=1e-5, abs=1e-8)
    assert ours.primal == pytest.approx(theirs.primal, rel=1e-5, abs=1e-8)
    rounding = 2.0 * float(found.a.sum()) * problem.kernel.error()
    np.testing.assert_allclose(found.f, problem.kernel_sums(found.a), atol=1e-9 + rounding)


def test_most_rows_are_decided_without_interior_points(monkeypatch):
    sizes = []
    solve = InteriorPointSolver.solve

    def watched(self, problem, *given):
        sizes.append(problem.kernel.n_samples)
        return solve(self, problem, *given)

    monkeypatch.setattr(InteriorPointSolver, "solve", watched)
    monkeypatch.setattr("lindero.solvers.sifting._KEPT_FOR_LOOKS", 0)
    found = SiftingSolver(1e-5).solve(hinge(*noisy()))
    assert found.status is Status.OPTIMAL
    assert max(sizes, default=0) < 600


def test_rows_that_were_decided_wrongly_are_kept_in_the_end(monkeypatch):
    monkeypatch.setattr("lindero.solvers.sifting._DECIDED", 0.0)
    monkeypatch.setattr("lindero.solvers.sifting._KEPT_FOR_LOOKS", 0)
    problem = hinge(*noisy())
    found = SiftingSolver(1e-6).solve(problem)
    assert found.status is Status.OPTIMAL
    assert problem.judge(found.a).kkt_gap <= 1.1e-6


def test_sums_are_those_written_out():
    X, y = noisy(900, 4)
    u = np.random.default_rng(0).uniform(0.5, 2.0, (1, 900))
    theta, mu = np.array([0.3, -0.2, 0.5, 0.1, 0.2]), 0.7
    with TileThreads(2) as threads:
        rows = _Rows(DenseProducts(X, np.float64), (y[None], -np.ones((1, 900)), u), threads)
        found = rows.look(theta, mu)
        f, r = rows.reach(theta), rows.r[0]
        weights = rows.weigh(u)
    ones = np.column_stack([X, np.ones(900)])
    expected = y * (ones @ theta) - 1.0
    np.testing.assert_allclose(r, expected)
    np.testing.assert_allclose(f, X @ theta[:-1])
    np.testing.assert_allclose(weights, (y * u[0]) @ ones)
    share = np.clip(0.5 - expected / (2 * mu), 0, 1)
    sigma = np.where(np.abs(expected) < mu, u[0] / (2 * mu), 0.0)
    np.testing.assert_allclose(found.gradient, (y * u[0] * share) @ ones)
    lower = np.tril_indices(5)
    expected = (ones.T @ (ones * sigma[:, None]))[lower]  # of which single precision will do
    np.testing.assert_allclose(found.matrix[lower], expected, rtol=1e-6, atol=1e-3)
    assert found.weight == pytest.approx(sigma.sum())


def test_threads_do_not_change_a_bit():
    problem = hinge(*noisy(9000, 40))
    one, two = (SiftingSolver(1e-4, n_threads=k).solve(problem) for k in (1, 2))
    assert np.array_equal(one.a, two.a)
    assert one.bias == two.bias


def test_it_goes_on_from_an_earlier_solution():
    problem = hinge(*noisy())
    first = SiftingSolver(1e-4).solve(problem)
    again = SiftingSolver(1e-4).solve(problem, first)
    assert again.n_iter == 0
    assert np.array_equal(again.a, first.a)
    wider = hinge(*noisy(), C=2.0)
    cold, warm = SiftingSolver(1e-4).solve(wider), SiftingSolver(1e-4).solve(wider, first)
    assert warm.status is cold.status is Status.OPTIMAL
    assert wider.judge(warm.a).dual == pytest.approx(wider.judge(cold.a).dual, rel=1e-6)


@pytest.mark.parametrize("most", [0, 1, 5, 20, 40])
def test_a_limit_leaves_the_best_point_so_far(most):
    problem = hinge(*noisy(20_000, 8))
    found = SiftingSolver(1e-9).solve(problem, None, Limits(max_iter=most))
    judgement = problem.judge(found.a)
    assert found.n_iter <= most + 1
    assert judgement.infeasibility <= 1e-9
    assert found.status is Status.ITERATION_LIMIT or judgement.kkt_gap <= 1.1e-9


@pytest.mark.parametrize("scale", [1e-140, 1e-30, 1e-8, 1e8, 1e30, 1e140])
@pytest.mark.parametrize("C", [1e-8, 1.0, 1e12])
def test_extreme_numbers_end_with_an_honest_status(scale, C):
    X, y = noisy(3000, 3)
    problem = hinge(X * scale, y, C)
    with np.errstate(all="ignore"):
        found = SiftingSolver(1e-3).solve(problem)
        judgement = problem.judge(found.a)
    assert np.isfinite(found.a).all()
    assert found.status is not Status.OPTIMAL or judgement.kkt_gap <= 2e-3


def test_the_linear_solver_takes_it_for_many_rows_only(monkeypatch):
    taken = []
    solve = SiftingSolver._solve

    def watched(self, problem, *given):
        taken.append(problem.kernel.n_samples)
        return solve(self, problem, *given)

    monkeypatch.setattr(SiftingSolver, "_solve", watched)
    for n, d in ((4000, 3), (6000, 3), (6000, 400)):
        LinearSolver().solve(hinge(*noisy(n, d)))
    assert taken == [6000]


def test_a_step_that_goes_too_far_ends_where_its_slope_vanishes(monkeypatch):
    find_length, slopes = _Sieve._find_length, []

    def judged(sieve, rows, move, gone, decrement):
        length = find_length(sieve, rows, move, gone, decrement)
        theta = sieve.theta + (length - gone) * move
        r = rows.r + (length - gone) * rows.along(move)
        a = rows.u * np.clip(0.5 - r / (2.0 * sieve.mu), 0.0, 1.0)
        slope = float((sieve.penalty * theta - rows.weigh(a)) @ move) / decrement
        slopes.append(abs(slope) if length < max(gone, 1.0) else max(0.0, slope - 0.5))
        return length

    monkeypatch.setattr(_Sieve, "_find_length", judged)
    solution = SiftingSolver(tol=1e-3, n_threads=1).solve(mostly_the_same())
    assert solution.status is Status.OPTIMAL
    assert len(slopes) > 5
    assert max(slopes) < 0.06
