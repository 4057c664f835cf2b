"""Few weights, one margin between all classes, no intercept: the optima of other solvers, and loops
that do what their twins do."""

import numpy as np
import osqp
import pytest
import scipy.sparse as sp
import sklearn.svm

from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.problems.class_margin import ClassProblem, balance_flows, find_surplus
from lindero.problems.sparse_margin import SparseMargin, find_least_cost
from lindero.problems.through_origin import (
    OriginMargin,
    OriginTube,
    SquaredOriginMargin,
    SquaredOriginTube,
)
from lindero.solvers.class_descent import ClassDescentSolver
from lindero.solvers.class_loops import solve_row
from lindero.solvers.column_loops import best_intercept, best_step, descend_matrix
from lindero.solvers.solution import Status
from lindero.solvers.sparse_weights import SparseWeightsSolver
from lindero.solvers.through_origin import OriginSolver
from lindero.svm import LinearSVC
from lindero.svm.crammer_singer import make_sparse_if_few
from tests.naive import class_loops as naive_classes
from tests.naive import column_loops as naive_columns

LINEAR = KernelFunction("linear")
N_PROBLEMS = 100  # of each variant, with and without an intercept


def table(rng, n_classes=2):
    """Rows, sparse or dense, with empty rows and columns and repeated rows; classes, and prices."""
    n, d = int(rng.integers(8, 22)), int(rng.integers(2, 9))
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6)
    X[rng.random(n) < 0.2] = X[0]
    X[rng.random(n) < 0.1] = 0.0
    X[:, 0] = 0.0
    codes = rng.integers(0, n_classes, n)
    codes[:n_classes] = np.arange(n_classes)
    c = 10.0 ** rng.uniform(-1.5, 1) * 10.0 ** rng.uniform(-1, 1, n)
    return X, (sp.csr_array(X) if rng.random() < 0.5 else X), codes, c


def solve_qp(P, q, rows, least):
    """The least of ½ xᵀPx + qᵀx over rows x ≥ least, or None."""
    solver = osqp.OSQP()
    solver.setup(
        sp.csc_matrix(P), q, sp.csc_matrix(rows), least, np.full(len(least), np.inf),
        eps_abs=1e-9, eps_rel=1e-9, max_iter=200_000, polishing=True, verbose=False,
    )  # fmt: skip
    found = solver.solve(raise_error=False)
    return found.info.obj_val if found.info.status == "solved" else None


def few_weights_qp(X, s, c, has_intercept):
    """Over (w₊, w₋, b, ξ)."""
    n, d = X.shape
    P = np.diag(np.concatenate([np.zeros(2 * d + 1), 2.0 * c]))
    q = np.concatenate([np.ones(2 * d), [0.0], np.zeros(n)])
    margins = np.hstack([s[:, None] * X, -s[:, None] * X, s[:, None] * has_intercept, np.eye(n)])
    signs = np.eye(2 * d, 2 * d + 1 + n)
    return solve_qp(P, q, np.vstack([margins, signs]), np.append(np.ones(n), np.zeros(2 * d)))


def all_classes_qp(X, codes, c, n_classes, has_intercept):
    """Over the weights of each class, the intercepts, and ξ."""
    n, d = X.shape
    n_weights = n_classes * d
    P = np.diag(np.concatenate([np.ones(n_weights), np.zeros(n_classes + n)]))
    q = np.concatenate([np.zeros(n_weights + n_classes), c])
    rows, least = [], []
    for i in range(n):
        for m in range(n_classes):
            row = np.zeros(len(q))
            if m != codes[i]:
                row[codes[i] * d : (codes[i] + 1) * d] += X[i]
                row[m * d : (m + 1) * d] -= X[i]
                row[n_weights + codes[i]] += has_intercept
                row[n_weights + m] -= has_intercept
            row[n_weights + n_classes + i] = 1.0
            rows.append(row)
            least.append(0.0 if m == codes[i] else 1.0)
    return solve_qp(P, q, np.array(rows), np.array(least))


@pytest.mark.parametrize("has_intercept", [True, False])
def test_few_weights_are_those_of_a_general_solver(has_intercept):
    rng, solved = np.random.default_rng(1), 0
    for number in range(N_PROBLEMS // 2):
        X, given, codes, c = table(rng)
        s = np.where(codes == 1, 1.0, -1.0)
        problem = SparseMargin(1.0, has_intercept).state(kernel_operator(given, LINEAR), s, c)
        found = SparseWeightsSolver(1e-8).solve(problem)
        assert found.status is Status.OPTIMAL, number
        judgement = problem.judge(found.f, found.bias, found.a)
        assert judgement.infeasibility <= 1e-9 * (1.0 + found.a.max())
        assert judgement.dual <= judgement.primal * (1.0 + 1e-12)
        expected = few_weights_qp(X, s, c, has_intercept)
        if expected is not None:
            solved += 1
            assert judgement.primal == pytest.approx(expected, rel=1e-6), number
    assert solved >= 0.45 * N_PROBLEMS


@pytest.mark.parametrize("has_intercept", [True, False])
def test_all_classes_are_those_of_a_general_solver(has_intercept):
    rng, solved = np.random.default_rng(2), 0
    for number in range(N_PROBLEMS // 2):
        n_classes = int(rng.integers(3, 6))
        X, given, codes, c = table(rng, n_classes)
        problem = ClassProblem(given, codes, c, n_classes, has_intercept)
        found = ClassDescentSolver(1e-8).solve(problem)
        assert found.status is Status.OPTIMAL, number
        judgement = problem.judge(found.A, found.b)
        assert judgement.kkt_gap <= 1e-8
        gap = naive_classes.find_gap(X, codes, c, found.A, found.b)
        assert gap == pytest.approx(judgement.kkt_gap, abs=1e-9)
        assert judgement.infeasibility <= 1e-9 * (1.0 + c.max())
        expected = all_classes_qp(X, codes, c, n_classes, has_intercept)
        if expected is not None:
            solved += 1
            assert judgement.primal == pytest.approx(expected, rel=1e-6), number
            assert judgement.dual == pytest.approx(expected, rel=1e-6), number
    assert solved >= 0.45 * N_PROBLEMS


@pytest.mark.parametrize("C", [0.01, 0.1, 1.0])
def test_all_classes_of_letters_are_those_of_a_general_solver(real_data, C):
    letters = np.loadtxt(real_data("letter.csv.gz"), delimiter=",", skiprows=1, dtype=str)[:60]
    X, y = letters[:, :-1].astype(float), np.unique(letters[:, -1], return_inverse=True)[1]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = all_classes_qp(X, y, np.full(60, C), y.max() + 1, False)
    assert expected is not None
    model = LinearSVC(multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-8).fit(X, y)
    assert model.certificate_.primal == pytest.approx(expected, rel=1e-6)


def test_dense_rows_with_few_entries_are_listed():
    rng = np.random.default_rng(3)
    for dtype in (np.float64, np.float32, np.uint8):
        X = (rng.random((50, 30)) < 0.2) * rng.integers(1, 9, (50, 30)).astype(dtype)
        X = np.asfortranarray(X.astype(dtype)) if dtype is np.float32 else X.astype(dtype)
        listed, known = make_sparse_if_few(X), sp.csr_array(X)
        assert listed.dtype == dtype
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(listed, name), getattr(known, name))
    full = rng.standard_normal((5, 4))
    assert make_sparse_if_few(full) is full
    assert make_sparse_if_few(np.zeros((3, 0))).shape == (3, 0)


@pytest.mark.parametrize("formulation", [OriginMargin(1.0), SquaredOriginMargin(1.0)])
def test_margins_through_the_origin_are_those_of_liblinear(formulation):
    rng = np.random.default_rng(3)
    loss = "squared_hinge" if formulation.squared else "hinge"
    for number in range(N_PROBLEMS):
        _, given, codes, c = table(rng)
        s = np.where(codes == 1, 1.0, -1.0)
        problem = formulation.state(kernel_operator(given, LINEAR), s, c)
        found = OriginSolver(1e-8).solve(problem)
        judgement = problem.judge(found.a)
        assert judgement.kkt_gap <= 1e-8, number
        peer = sklearn.svm.LinearSVC(
            loss=loss, dual=True, fit_intercept=False, tol=1e-8, max_iter=5_000, random_state=0
        ).fit(given, codes, c)
        w = peer.coef_[0]
        errors = np.maximum(0.0, 1.0 - s * (given @ w))
        theirs = 0.5 * w @ w + (c * errors ** (2 if formulation.squared else 1)).sum()
        assert judgement.primal <= theirs * (1.0 + 1e-6), number
        assert judgement.dual == pytest.approx(judgement.primal, rel=1e-6), number


@pytest.mark.parametrize("formulation", [OriginTube(1.0, 0.1), SquaredOriginTube(1.0, 0.1)])
def test_tubes_through_the_origin_are_proved_by_their_gaps(formulation):
    rng = np.random.default_rng(4)
    for number in range(N_PROBLEMS):
        X, given, _, c = table(rng)
        y = X.sum(axis=1) + rng.standard_normal(len(X))
        problem = formulation.state(kernel_operator(given, LINEAR), y, c)
        judgement = problem.judge(OriginSolver(1e-9).solve(problem).a)
        assert judgement.kkt_gap <= 1e-9, number
        assert judgement.dual == pytest.approx(judgement.primal, rel=1e-6, abs=1e-6), number


def test_the_least_cost_is_where_the_first_weight_appears():
    rng = np.random.default_rng(5)
    for has_intercept in (True, False):
        X, given, codes, c = table(rng)
        s = np.where(codes == 1, 1.0, -1.0)
        least = find_least_cost(given, s, c, has_intercept)
        for factor, some in ((0.999, False), (1.01, True)):
            margin = SparseMargin(1.0, has_intercept)
            problem = margin.state(kernel_operator(X, LINEAR), s, factor * least * c)
            assert SparseWeightsSolver(1e-10).solve(problem).f.any() == some


def test_steps_and_intercepts_are_the_least_of_their_functions():
    rng = np.random.default_rng(6)
    for _ in range(200):
        v = rng.choice([0.0, rng.standard_normal()])
        terms = (v, rng.standard_normal(), rng.uniform(0.1, 2.0), rng.uniform(0.0, 2.0))
        assert best_step(*terms) == pytest.approx(naive_columns.best_step(*terms), abs=1e-12)
    X, s, c = (
        rng.standard_normal((30, 3)),
        np.sign(rng.standard_normal(30)),
        rng.uniform(0.1, 2, 30),
    )
    v = rng.standard_normal(3)
    move = best_intercept(s, c, 1.0 - s * (X @ v))
    assert move == pytest.approx(naive_columns.best_intercept(X, s, c, v), abs=1e-6)
    matrix = X.T @ X
    slope, penalties, begun = rng.standard_normal(3), np.full(3, 0.5), v.copy()
    expected = naive_columns.descend_matrix(matrix, slope, penalties, begun, 5)
    descend_matrix(matrix, slope.copy(), penalties, v, 0.0, 5)
    assert v == pytest.approx(expected, abs=1e-10)


def test_the_coefficients_of_a_row_are_those_of_its_level():
    rng = np.random.default_rng(7)
    for _ in range(200):
        n_classes = int(rng.integers(3, 8))
        bound, own = rng.uniform(0.1, 2.0), int(rng.integers(n_classes))
        alpha = -rng.uniform(0, 1, n_classes) * (rng.random(n_classes) < 0.4)
        alpha[own] = 0.0
        alpha *= min(1.0, bound / max(-alpha.sum(), 1e-9))
        alpha[own] = -alpha.sum()
        values, curvature = rng.standard_normal(n_classes), rng.uniform(0.1, 3.0)
        work = np.empty(n_classes)
        solve_row(values, alpha, np.arange(n_classes), n_classes, own, bound, curvature, work)
        expected = naive_classes.solve_row(values, alpha, own, bound, curvature)
        assert work == pytest.approx(expected, abs=1e-9)


def test_flows_between_classes_are_balanced_within_bounds():
    rng = np.random.default_rng(8)
    for _ in range(50):
        n, n_classes = 40, int(rng.integers(3, 7))
        codes, c = rng.integers(0, n_classes, n), rng.uniform(0.1, 3.0, n)
        A = -rng.uniform(0, 1, (n, n_classes)) * (rng.random((n, n_classes)) < 0.4)
        A[np.arange(n), codes] = 0.0
        A *= np.minimum(1.0, c / np.maximum(-A.sum(axis=1), 1e-9))[:, None]
        even = balance_flows(A, codes, c)
        assert np.abs(find_surplus(even, codes)).max() <= 1e-8
        assert (even <= 0.0).all()
        assert (-even.sum(axis=1) <= c * (1.0 + 1e-9)).all()
        assert not even[A == 0.0].any()


@pytest.mark.parametrize("size", [1e-100, 1e-30, 1e30, 1e100])
def test_numbers_of_any_size_end_in_numbers(size):
    rng = np.random.default_rng(9)
    X, _, codes, c = table(rng, 3)
    X *= size
    found = ClassDescentSolver(1e-3).solve(ClassProblem(X, codes, c, 3, True))
    assert np.isfinite(found.A).all()
    s = np.where(codes == 1, 1.0, -1.0)
    problem = SparseMargin(1.0).state(kernel_operator(X, LINEAR), s, c)
    few = SparseWeightsSolver(1e-3).solve(problem)
    assert np.isfinite(few.f).all()
    origin = OriginSolver(1e-3).solve(OriginMargin(1.0).state(kernel_operator(X, LINEAR), s, c))
    assert np.isfinite(origin.a).all()
