"""The solver of a path against plain decomposition, where it takes the active set and where not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lindero.kernels.operator import KernelFunction, PrecomputedKernel, kernel_operator
from lindero.kernels.special import MatrixKernel
from lindero.problems.margin import Margin
from lindero.problems.tube import Tube
from lindero.solvers import wrappers
from lindero.solvers.choose import GeneralSolver
from lindero.solvers.solution import Limits, Status
from lindero.solvers.wrappers import PathSolver, on_active_set
from tests.svm.clouds import slow_problem, two_clouds


def matrix_of(X, gamma):
    kernel = kernel_operator(X, KernelFunction("rbf", gamma=gamma))
    everything = kernel.probe(np.arange(len(X)))
    return kernel.cross(everything, everything)


def classes(kernel, y, C):
    return Margin(C).state(kernel, np.where(y > 0, 1.0, -1.0), np.full(len(y), C))


def tube(kernel, y, C):
    return Tube(C, 0.1).state(kernel, y.astype(float), np.full(len(y), C))


@pytest.mark.parametrize("state", [classes, tube])
@pytest.mark.parametrize("C", [0.1, 10.0, 1e3])
@pytest.mark.parametrize("gamma", [0.02, 0.5])
def test_solutions_are_those_of_decomposition(state, C, gamma):
    X, y = two_clouds(n_samples=500, apart=1.0)
    K = matrix_of(X, gamma)
    problem = state(MatrixKernel(K), y, C)
    ours = PathSolver(1e-6).solve(problem)
    plain = GeneralSolver(1e-6, n_threads=1).solve(problem)
    twin = state(PrecomputedKernel(K, np.float64), y, C)
    assert ours.status is Status.OPTIMAL
    judged, reference = twin.judge(ours.a, bias=ours.bias), twin.judge(plain.a)
    assert judged.kkt_gap <= 1e-6 + 1e-12 * C * len(y)
    assert judged.infeasibility <= 1e-9 * C * len(y)
    assert_allclose(judged.dual, reference.dual, rtol=1e-7)
    assert_allclose(ours.f, twin.kernel_sums(ours.a), atol=1e-9 * C * len(y))


@pytest.mark.parametrize("state", [classes, tube])
def test_the_active_set_makes_a_rough_guess_exact(state):
    X, y = two_clouds(n_samples=500, apart=1.0)
    problem = state(MatrixKernel(matrix_of(X, 0.1)), y, 100.0)
    rough = GeneralSolver(0.02, n_threads=1).solve(problem)
    assert problem.judge(rough.a).kkt_gap > 1e-3
    exact = on_active_set(problem, rough, 1e-3)
    assert exact.status is Status.OPTIMAL
    assert problem.judge(exact.a).kkt_gap < 1e-8


def test_hard_problems_take_less_than_half_the_steps_of_decomposition():
    X, y = slow_problem(n_samples=700)
    problem = classes(MatrixKernel(matrix_of(X, 0.1)), y, 1e3)
    ours = PathSolver(1e-6).solve(problem)
    plain = GeneralSolver(1e-6, n_threads=1).solve(problem)
    assert ours.n_iter < 0.5 * plain.n_iter
    assert problem.judge(ours.a).kkt_gap < 1e-8


def test_a_singular_system_is_left_to_decomposition(monkeypatch):
    X, y = two_clouds(n_samples=300, apart=1.0)
    X, y = np.vstack([X, X]), np.concatenate([y, y])
    problem = classes(MatrixKernel(matrix_of(X, 0.1)), y, 10.0)
    plain = GeneralSolver(1e-3, n_threads=1).solve(problem)
    assert on_active_set(problem, plain, 1e-9) is None
    monkeypatch.setattr(wrappers, "_FIRST_STEPS", 200)
    monkeypatch.setattr(wrappers, "_CUBES_PER_STEP", 1e12)
    ours = PathSolver(1e-3).solve(problem)
    assert ours.status is Status.OPTIMAL
    assert problem.judge(ours.a).kkt_gap <= 1e-3


def test_steps_are_limited_in_all_not_in_each_stretch():
    X, y = slow_problem(n_samples=700)
    problem = classes(MatrixKernel(matrix_of(X, 0.1)), y, 1e3)
    solution = PathSolver(1e-9).solve(problem, limits=Limits(max_iter=5_000))
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.n_iter == 5_000


def test_an_interruption_is_noticed():
    X, y = slow_problem(n_samples=700)
    problem = classes(MatrixKernel(matrix_of(X, 0.1)), y, 1e3)
    limits = Limits()
    limits.interrupt()
    assert PathSolver(1e-9).solve(problem, limits=limits).status is Status.INTERRUPTED


def test_a_matrix_kernel_gives_what_a_precomputed_one_gives():
    X, _ = two_clouds(n_samples=50)
    K = matrix_of(X, 0.1)
    ours, twin = MatrixKernel(K), PrecomputedKernel(K, np.float64)
    rows, others = np.array([4, 40, 7, 7]), np.array([1, 49])
    assert_array_equal(ours.diagonal(), twin.diagonal())
    assert ours.rounding() == twin.rounding()
    for dtype in (np.float64, np.float32):
        a, b = ours.astype(dtype), twin.astype(dtype)
        assert a.dtype == b.dtype
        assert_array_equal(
            a.cross(a.probe(rows), a.probe(others)), b.cross(b.probe(rows), b.probe(others))
        )
        one, other = np.empty((4, 20), dtype), np.empty((4, 20), dtype)
        a.block(a.probe(rows), 10, 30, one)
        b.block(b.probe(rows), 10, 30, other)
        assert_array_equal(one, other)
        across, down = np.empty((20, 4), dtype), np.empty((20, 4), dtype)
        a.columns(a.probe(rows), 10, 30, across)
        b.columns(b.probe(rows), 10, 30, down)
        assert_array_equal(across, down)
        assert_array_equal(a.matrix(rows, 8), b.matrix(rows, 8))
        assert_array_equal(a.subset(rows).matrix(np.arange(4), 4), b.matrix(rows, 4))
    assert_allclose(ours.times(np.arange(50.0)), K @ np.arange(50.0))
