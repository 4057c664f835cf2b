"""Hard margins: found where they exist, refused by name where they do not."""

import pickle

import numpy as np
import pytest

from lindero.errors import NotSeparableError
from lindero.kernels.operator import KernelFunction
from lindero.solvers.solution import Status
from lindero.solvers.wrappers import HardMarginSolver, not_separable_message
from tests.problem_bank import LINEAR_KERNEL, XOR_KERNEL, margin, rbf, two_clouds

QUADRATIC = KernelFunction("poly", gamma=1.0, degree=2, coef0=1.0)


def circle(n, noise=0.0, seed=0):
    """Inside or outside a circle, with a gap between: separable by a quadratic kernel."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    angle, radius = rng.uniform(0, 2 * np.pi, n), 1.5 + 0.5 * y + noise * rng.standard_normal(n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


SEPARABLE = {
    "linear": (*two_clouds(80, distance=8.0), LINEAR_KERNEL),
    "linear with a narrow gap": (
        np.array([[0.0], [1.0], [1.001], [2.0]]),
        np.array([-1.0, -1, 1, 1]),
        LINEAR_KERNEL,
    ),
    "low rank": (*circle(100), QUADRATIC),
    "full rank": (*two_clouds(80), rbf(2.0)),
    "repeated rows of one label": (
        np.repeat(circle(20)[0], 2, axis=0),
        np.repeat(circle(20)[1], 2),
        rbf(1.0),
    ),
    "a kernel matrix": (
        two_clouds(40, distance=8.0)[0] @ two_clouds(40, distance=8.0)[0].T,
        two_clouds(40)[1],
        KernelFunction("precomputed"),
    ),
}

NOT_SEPARABLE = {
    "linear": (*two_clouds(80), LINEAR_KERNEL),
    "exclusive or": (
        np.array([[-1.0, -1], [-1, 1], [1, -1], [1, 1]]),
        np.array([1.0, -1, -1, 1]),
        LINEAR_KERNEL,
    ),
    "low rank": (*circle(100, noise=1.0), QUADRATIC),
    "repeated rows of both labels": (
        np.vstack([circle(30)[0]] * 2),
        np.concatenate([circle(30)[1], -circle(30)[1]]),
        rbf(1.0),
    ),
    "one repeated row of both labels": (
        np.vstack([circle(30)[0], circle(30)[0][:1]]),
        np.append(circle(30)[1], -1.0),
        rbf(1.0),
    ),
}


@pytest.mark.parametrize("kind", SEPARABLE)
def test_separable_data_get_the_margin_and_its_certificate(kind):
    problem = margin(*SEPARABLE[kind], np.inf)
    solution = HardMarginSolver(tol=1e-6).solve(problem)
    assert solution.status is Status.OPTIMAL
    judgement = problem.judge(solution.a)
    # The narrow gap makes coefficients of some 1e6: rounding there is beyond 1e-6.
    assert judgement.kkt_gap <= 1e-6 * max(1.0, 1e-6 * solution.a.max())
    assert judgement.duality_gap <= 1e-5 * judgement.dual
    reach = problem.s * (problem.kernel_sums(solution.a) + solution.bias)
    assert reach.min() >= 1 - 1e-5


def test_the_narrow_gap_is_as_wide_as_it_is():
    problem = margin(*SEPARABLE["linear with a narrow gap"], np.inf)
    solution = HardMarginSolver(tol=1e-6).solve(problem)
    squared_norm = (problem.s * solution.a) @ problem.kernel_sums(solution.a)
    assert 1 / np.sqrt(squared_norm) == pytest.approx(0.0005, rel=1e-6)


@pytest.mark.parametrize("scale", [1e-5, 1e-2, 1e2, 1e5])
def test_separability_does_not_depend_on_the_scale_of_the_data(scale):
    X, y, kernel = SEPARABLE["linear"]
    problem = margin(X * scale, y, kernel, np.inf)
    solution = HardMarginSolver().solve(problem)
    unit = HardMarginSolver().solve(margin(X, y, kernel, np.inf))
    assert problem.judge(solution.a).dual * scale**2 == pytest.approx(unit.a.sum() / 2, rel=2e-3)
    X, y, kernel = NOT_SEPARABLE["linear"]
    with pytest.raises(NotSeparableError):
        HardMarginSolver().solve(margin(X * scale, y, kernel, np.inf))


@pytest.mark.parametrize("kind", NOT_SEPARABLE)
def test_other_data_are_refused_and_rows_are_named(kind):
    problem = margin(*NOT_SEPARABLE[kind], np.inf)
    with pytest.raises(NotSeparableError) as caught:
        HardMarginSolver().solve(problem)
    assert caught.value.samples
    assert set(caught.value.samples) <= set(range(problem.n_variables))
    assert str(caught.value.samples[0]) in str(caught.value)


# Not the exclusive or: its best boundary has w = 0, and all four rows are on it.
@pytest.mark.parametrize("kind", sorted(set(NOT_SEPARABLE) - {"exclusive or"}))
def test_named_rows_are_those_without_which_the_rest_is_separable(kind):
    # Rows not named are on their side of one boundary, so that this boundary separates them.
    X, y, kernel = NOT_SEPARABLE[kind]
    with pytest.raises(NotSeparableError) as caught:
        HardMarginSolver().solve(margin(X, y, kernel, np.inf))
    rest = np.setdiff1d(np.arange(len(y)), caught.value.samples)
    assert set(y[rest]) == {-1.0, 1.0}
    solution = HardMarginSolver().solve(margin(X[rest], y[rest], kernel, np.inf))
    assert solution.status is Status.OPTIMAL


def test_the_one_repeated_row_is_among_the_named():
    with pytest.raises(NotSeparableError) as caught:
        HardMarginSolver().solve(margin(*NOT_SEPARABLE["one repeated row of both labels"], np.inf))
    assert set(caught.value.samples) <= {0, 30}


def test_the_message_counts_all_rows_and_lists_the_first():
    message = not_separable_message(np.arange(25))
    assert "25 rows" in message
    assert "and 15 more" in message


def test_the_error_survives_a_trip_between_processes():
    error = pickle.loads(pickle.dumps(NotSeparableError("no", [3, 5])))
    assert error.samples == (3, 5)
    assert str(error) == "no"


def test_exclusive_or_is_separable_by_the_quadratic_kernel_only():
    X, y, _ = NOT_SEPARABLE["exclusive or"]
    solution = HardMarginSolver().solve(margin(X, y, XOR_KERNEL, np.inf))
    np.testing.assert_allclose(solution.a, 1 / 8, atol=1e-8)
