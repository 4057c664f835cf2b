"""Linear machines over rows that are only seen in passes."""

import numpy as np
import pytest

from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.problems.margin import CostMargin, Margin
from lindero.problems.partial_judgement import PartialJudgement
from lindero.problems.squared import SquaredMargin, SquaredTube
from lindero.problems.tube import Tube
from lindero.solvers.choose import LinearSolver
from lindero.solvers.interior_point import InteriorPointSolver
from lindero.solvers.passes import AskJudgement, AskNear, AskSlope, PartRows, PassSolver
from lindero.solvers.solution import Limits, Status
from lindero.solvers.squared_newton import SquaredNewtonSolver
from lindero.solvers.squared_passes import AskErrors, SquaredPassSolver
from tests.naive import passes as naive
from tests.scale.tables import clouds

LINEAR = KernelFunction("linear")


def part(X, targets, bounds, formulation, number=0):
    return PartRows(number, np.arange(len(X)), X, targets, bounds, formulation, None)


def solve(X, targets, bounds, formulation, ends, tol=1e-7, most=150, sample=True, limits=None):
    """The solution over parts that end at some rows."""
    starts = [0, *ends]
    parts = [
        part(X[a:b], targets[a:b], bounds[a:b], formulation, number)
        for number, (a, b) in enumerate(zip(starts, [*ends, len(X)], strict=True))
    ]
    step = max(1, len(X) // 200)
    few = part(X[::step], targets[::step], bounds[::step] * step, formulation, -1)
    limits = limits or Limits()
    if formulation.squared:
        solver = SquaredPassSolver(formulation, X.shape[1], tol, limits, n_threads=1)
    else:
        solver = PassSolver(formulation, len(X), X.shape[1], tol, most, limits, n_threads=1)
    solving, answer = solver.solve(few if sample else None), None
    try:
        while True:
            question = solving.send(answer)
            answers = [question.answer(rows) for rows in parts]
            answer = answers[0]
            for other in answers[1:]:
                answer = answer.merge(other)
    except StopIteration as end:
        return end.value


def targets_of(kind, X, y):
    if kind == "tube":
        return X.sum(axis=1) + y, Tube(1.0, 0.3)
    if kind == "squared tube":
        return X.sum(axis=1) + y, SquaredTube(1.0, 0.3)
    if kind == "squared margin":
        return y.astype(float), SquaredMargin(1.0)
    if kind == "costs":
        return y.astype(float), CostMargin(1.0, np.array([0.25, 1.0]))
    return y.astype(float), Margin(1.0)


@pytest.mark.parametrize("kind", ["margin", "costs", "tube"])
@pytest.mark.parametrize("ends", [[], [10, 10, 900], list(range(70, 1500, 70))])
def test_the_optimum_is_that_of_the_whole_in_memory(kind, ends):
    X, y = clouds(1500)
    targets, formulation = targets_of(kind, X, y)
    bounds = np.random.default_rng(1).uniform(0.2, 2.0, len(X))
    problem = formulation.state(kernel_operator(X, LINEAR), targets, bounds)
    whole = LinearSolver(tol=1e-7).solve(problem)
    expected = problem.judge(whole.a)
    found = solve(X, targets, bounds, formulation, ends)
    assert found.status is Status.OPTIMAL
    assert found.judgement.kkt_gap <= 1e-7
    assert found.judgement.primal == pytest.approx(expected.primal, rel=1e-8)
    assert found.judgement.dual == pytest.approx(expected.primal, rel=1e-8)
    assert found.judgement.infeasibility <= 1e-9 * bounds.sum()
    assert found.n_passes < 40


@pytest.mark.parametrize("sample", [True, False])
@pytest.mark.parametrize(("apart", "C"), [(4.0, 1.0), (4.0, 1e3), (0.1, 1e-6), (1.0, 1e3), (0, 1)])
def test_hard_and_easy_data_reach_the_certificate(apart, C, sample):
    X, y = clouds(1200, d=4, apart=apart)
    bounds = np.full(len(X), C)
    found = solve(X, y.astype(float), bounds, Margin(C), [300, 301], 1e-5, 100, sample)
    assert found.judgement.kkt_gap <= 1e-5
    problem = Margin(C).state(kernel_operator(X, LINEAR), y.astype(float), bounds)
    whole = problem.judge(LinearSolver(tol=1e-6).solve(problem).a)
    assert found.judgement.primal >= whole.dual - 1e-9 * abs(whole.dual)
    assert found.judgement.dual <= whole.primal + 1e-9 * abs(whole.primal)


def test_one_row_is_almost_alone_in_its_class():
    X, y = clouds(800)
    y = np.where(np.arange(800) == 17, 1.0, -1.0)
    found = solve(X, y, np.ones(800), Margin(1.0), [100], 1e-6, 60)
    assert found.judgement.kkt_gap <= 1e-6


def test_sums_are_those_of_the_formulas():
    X, y = clouds(60)
    problem = Margin(1.0).state(kernel_operator(X, LINEAR), y.astype(float), np.full(60, 0.7))
    theta = np.random.default_rng(0).normal(size=6)
    rows = part(X, y.astype(float), np.full(60, 0.7), Margin(1.0))
    found = AskSlope(theta, 0.8).answer(rows)
    expected = naive.rounded_sums(X, problem.s, problem.p, problem.u, theta, 0.8)
    np.testing.assert_allclose(found.gradient, expected[0], rtol=1e-12)
    np.testing.assert_allclose(np.tril(found.matrix), np.tril(expected[1]), rtol=1e-12)
    assert found.weight == pytest.approx(expected[2])
    assert found.near.sum() == 60


@pytest.mark.parametrize("kind", ["margin", "tube"])
def test_rows_near_and_rows_fetched_are_set_aside(kind):
    """By sums over the other rows alone; bins of distances are those that logarithms give."""
    X, y = clouds(400)
    targets, formulation = targets_of(kind, X, y)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    rows = part(X, targets, weights, formulation)
    theta = np.random.default_rng(0).normal(size=X.shape[1] + 1)
    v = X @ theta[:-1] + theta[-1]
    errors = v - targets
    if kind == "margin":
        r = (targets * v - 1.0)[None]
        sides = targets[None]
    else:
        r = np.stack([0.3 + errors, 0.3 - errors])
        sides = np.array([[1.0], [-1.0]])
    distance = np.abs(r).min(axis=0)
    ends = 2.0 ** (-40 + 0.5 * np.arange(161))
    bins = np.searchsorted(ends, distance)
    assert np.array_equal(AskSlope(theta, 0.5).answer(rows).near, np.bincount(bins, minlength=161))

    width = float(np.quantile(distance, 0.2))
    fetched = AskNear(theta, width, 1000).answer(rows)
    near = np.flatnonzero(distance <= width)
    assert np.array_equal(np.sort(fetched.rows.numbers), near)
    far = np.setdiff1d(np.arange(len(X)), near)
    z = ((sides * weights * (r <= 0)).sum(axis=0))[far]
    np.testing.assert_allclose(fetched.fixed, np.append(z @ X[far], z.sum()), atol=1e-9)

    question = AskJudgement(theta, theta, np.zeros(len(near), dtype=int), near, 0.0, 1000)
    judged = question.answer(rows)
    alone = AskJudgement(theta, theta, np.empty(0, int), np.empty(0, int), 0.0, 1000)
    others = alone.answer(rows.take(far))
    for name in ("least", "most", "losses", "linear", "balance", "size", "weights"):
        found, wanted = getattr(judged.judgement, name), getattr(others.judgement, name)
        np.testing.assert_allclose(found, wanted, atol=1e-9)
    assert judged.n_wrong == others.n_wrong == 0
    moved = AskJudgement(-theta, theta, np.zeros(len(near), dtype=int), near, 0.0, 1000)
    assert np.intersect1d(moved.answer(rows).wrong.rows.numbers, near).size == 0


def test_a_judgement_of_parts_is_that_of_the_whole():
    X, y = clouds(400)
    problem = Margin(1.0).state(kernel_operator(X, LINEAR), y.astype(float), np.ones(400))
    a = LinearSolver(tol=1e-3).solve(problem).a
    w = (problem.s * a) @ X
    bias = problem.bias(a, X @ w)
    whole = problem.judge(a, X @ w, bias)
    total = PartialJudgement.of_nothing(5)
    for rows in (slice(0, 0), slice(0, 130), slice(130, 400)):
        some = Margin(1.0).state(
            kernel_operator(X[rows], LINEAR), y[rows].astype(float), np.ones(len(X[rows]))
        )
        total = total.merge(PartialJudgement.of(some, a[rows], X[rows] @ w, bias))
    judged = total.finish(w)
    assert judged.kkt_gap == pytest.approx(whole.kkt_gap, abs=1e-12)
    assert judged.primal == pytest.approx(whole.primal, rel=1e-12)
    assert judged.dual == pytest.approx(whole.dual, rel=1e-12)
    assert judged.infeasibility == pytest.approx(whole.infeasibility, abs=1e-12)


def test_limits_stop_it_with_a_certificate_of_what_there_is():
    X, y = clouds(1500)
    found = solve(X, y.astype(float), np.ones(1500), Margin(1.0), [700], limits=Limits(max_iter=1))
    assert found.status is Status.ITERATION_LIMIT
    assert found.n_passes <= 4
    assert found.judgement.primal >= found.judgement.dual


def test_interior_points_take_a_pull_and_another_sum():
    """Some rows at their bounds are taken out of a problem, which then has the same optimum."""
    X, y = clouds(600)
    y = y.astype(float)
    problem = Margin(1.0).state(kernel_operator(X, LINEAR), y, np.ones(600))
    whole = LinearSolver(tol=1e-9).solve(problem)
    out = whole.a >= 1.0
    out[np.flatnonzero(out)[::2]] = False
    z = problem.s * whole.a
    rest = Margin(1.0).state(kernel_operator(X[~out], LINEAR), y[~out], np.ones((~out).sum()))
    object.__setattr__(rest, "delta", -float(z[out].sum()))
    object.__setattr__(rest, "starts_at_zero", False)
    solution = InteriorPointSolver(1e-8, pull=z[out] @ X[out]).solve(rest)
    assert solution.status is Status.OPTIMAL
    w = (rest.s * solution.a) @ X[~out] + z[out] @ X[out]
    np.testing.assert_allclose(w, z @ X, atol=1e-6)
    np.testing.assert_allclose(solution.f, X[~out] @ w, atol=1e-9)


@pytest.mark.parametrize("kind", ["squared margin", "squared tube"])
@pytest.mark.parametrize("C", [1e-8, 1.0, 1e4])
@pytest.mark.parametrize("sample", [True, False])
def test_squared_losses_end_where_newtons_method_does_in_memory(kind, C, sample):
    X, y = clouds(900, d=4)
    targets, formulation = targets_of(kind, X, y)
    bounds = formulation.bounds(C * np.random.default_rng(1).uniform(0.2, 2.0, len(X)))
    problem = formulation.state(kernel_operator(X, LINEAR), targets, bounds)
    whole = SquaredNewtonSolver(tol=1e-7).solve(problem)
    expected = problem.judge(whole.a)
    found = solve(X, targets, bounds, formulation, [10, 10, 500], sample=sample)
    assert found.status is Status.OPTIMAL
    assert found.judgement.primal == pytest.approx(expected.primal, rel=1e-8)
    assert found.judgement.dual == pytest.approx(expected.primal, rel=1e-8)
    assert found.n_passes < 40


@pytest.mark.parametrize("kind", ["squared margin", "squared tube"])
def test_squared_sums_and_judgements_are_those_of_the_formulas(kind):
    X, y = clouds(70)
    targets, formulation = targets_of(kind, X, y)
    bounds, theta = np.full(70, 1.5), np.array([0.3, -0.2, 0.1, 0.5, 0.0, -0.4])
    rows = part(X, targets, bounds, formulation)
    problem, sums = rows.state(), AskErrors(theta).answer(rows)
    at = np.arange(70) if problem.sample_of is None else problem.sample_of
    ridge = problem.kernel.ridge[at]
    losses, gradient, matrix = naive.squared_sums(X[at], problem.s, problem.p, ridge, theta)
    assert sums.losses == pytest.approx(losses)
    np.testing.assert_allclose(sums.gradient, gradient)
    np.testing.assert_allclose(np.tril(sums.matrix), np.tril(matrix))
    a = np.where(problem.s > 0, 0.5, 0.0)
    f = X @ (X.T @ problem.at_samples(problem.s * a))
    whole = problem.judge(a, f + problem.kernel.ridge * problem.at_samples(problem.s * a), 0.3)
    w = X.T @ problem.at_samples(problem.s * a)
    found = PartialJudgement.of(problem, a, f, 0.3).finish(w)
    for name in ("kkt_gap", "primal", "dual"):
        assert getattr(found, name) == pytest.approx(getattr(whole, name), rel=1e-10)
