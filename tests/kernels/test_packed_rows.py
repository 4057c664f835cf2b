"""Rows packed for many passes: what they hold, and that a path over them is that of plain ones."""

import numpy as np
import pytest
import scipy.sparse as sp

from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.kernels.packed_rows import PackedRows
from lindero.problems.margin import Margin
from lindero.problems.squared import SquaredTube
from lindero.solvers.linear_descent import LinearDescentSolver
from lindero.solvers.solution import Status
from lindero.svm import LinearSVC, LinearSVCCV
from tests.naive import packed_rows as naive
from tests.problem_bank import LINEAR_KERNEL, sparse_clouds


def table(seed, dtype=np.float64):
    """Rows of few entries each, some of them empty, most columns of one row alone or of none."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 30)), int(rng.integers(1, 200))
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < rng.choice([0.0, 0.03, 0.3]))
    X[rng.random(n) < 0.2] = 0.0
    return X.astype(dtype)


def packed(X):
    held = sp.csr_array(X)
    return PackedRows.of(held.data, held.indices, held.indptr.astype(np.int64), held.shape[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(20))
def test_they_are_those_of_their_twin(seed, dtype):
    X = table(seed, dtype)
    found = packed(X)
    S, columns, own = naive.pack(X.astype(np.float64))
    shape = (len(X), len(columns))
    read = sp.csr_array((found.data, found.indices, found.pointers), shape=shape).toarray()
    assert found.data.dtype == dtype
    assert found.columns.tolist() == columns
    np.testing.assert_array_equal(read, S)
    np.testing.assert_allclose(found.own, own, rtol=1e-12)
    np.testing.assert_allclose(found.squares, (S**2).sum(axis=1), rtol=1e-12)
    exact = X.astype(np.float64)
    np.testing.assert_allclose(S @ S.T + np.diag(own), exact @ exact.T, atol=1e-12)
    z = np.random.default_rng(seed).standard_normal(len(X))
    np.testing.assert_allclose(found.spread(S.T @ z, z), exact.T @ z, atol=1e-12)


@pytest.mark.parametrize("formulation", [Margin(1.0), SquaredTube(1.0, 0.1)])
def test_what_is_solved_over_them_is_what_plain_rows_give(formulation):
    X, y = sparse_clouds(600, 4000)
    bounds = formulation.bounds(np.ones(len(y)))
    plain = kernel_operator(X, LINEAR_KERNEL)
    ends = []
    for kernel in (plain, plain.pack()):
        problem = formulation.state(kernel, y, bounds)
        solution = LinearDescentSolver(tol=1e-8).solve(problem)
        assert solution.status is Status.OPTIMAL
        assert problem.judge(solution.a, bias=solution.bias).kkt_gap <= 1e-8  # f anew
        z = problem.at_samples(problem.s * solution.a)
        np.testing.assert_allclose(solution.weights, X.T @ z, atol=1e-9)
        ends.append(problem.judge(solution.a, bias=solution.bias).dual)
    assert ends[0] == pytest.approx(ends[1], rel=1e-9)


def test_only_sparse_rows_of_the_linear_kernel_are_packed():
    X, _ = sparse_clouds(50, 300)
    assert kernel_operator(X, KernelFunction("rbf")).pack().products.packed is None
    dense = kernel_operator(X.toarray(), LINEAR_KERNEL)
    assert dense.pack() is dense


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_path_ends_where_single_fits_do(loss):
    X, y = sparse_clouds(1500, 5000)
    Cs, cut = [0.03, 0.3, 3.0, 300.0], np.arange(1500) < 1200
    split = [(np.flatnonzero(cut), np.flatnonzero(~cut))]
    search = LinearSVCCV(Cs=Cs, cv=split, loss=loss, tol=1e-7, refit=False).fit(X, y)
    alone = [
        LinearSVC(C=C, loss=loss, tol=1e-7).fit(X[cut], y[cut]).score(X[~cut], y[~cut]) for C in Cs
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], alone, atol=1e-12)
