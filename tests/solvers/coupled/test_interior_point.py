"""What coupled machines must do: known limits, windows, warm starts, stopping early."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import lindero.solvers.coupled.interior_point as interior
from lindero.graphs.graph import Chain, Graph
from lindero.problems.coupled import Anchor
from lindero.solvers.coupled.interior_point import CoupledInteriorPointSolver
from lindero.solvers.solution import Limits, Status
from lindero.svm import SVC, SVR
from tests.coupled_bank import coupled_margin, coupled_tube, neighbours, turning, unit_chain
from tests.naive import coupled as naive


def outputs(problem, solution):
    return np.einsum("ij,ij->i", problem.X, solution.theta[:, :-1]) + solution.theta[:, -1]


def solved(problem, tol=1e-8, **how):
    solution = CoupledInteriorPointSolver(tol=tol).solve(problem, **how)
    assert solution.status is Status.OPTIMAL
    return solution


@pytest.mark.parametrize("coupling", 10.0 ** np.arange(-3, 11))
@pytest.mark.parametrize("n", [2, 5, 500, 3000])
def test_no_coupling_is_too_weak_or_too_strong(n, coupling):
    X, y = turning(n, noise=0.4)
    for C in (1e-3, 1.0, 1e4):
        problem = coupled_margin(X, y, np.full(n, C), coupling, unit_chain(n))
        solution = solved(problem)
        assert problem.relative_gap(solution.judgement) <= 1e-8
        assert solution.n_iter < 50


@pytest.mark.parametrize("graph", ["chain", "neighbours"])
def test_strong_coupling_is_one_machine_for_all(graph):
    X, y = turning(80, noise=1.0, turn=0.5)
    nodes = unit_chain(80) if graph == "chain" else neighbours(X, 8)
    assert nodes.components.max() == 0
    weights = np.linspace(0.5, 2.0, 80)
    problem = coupled_margin(X, y, 0.7 * weights, 1e10, nodes)
    solution = solved(problem, 1e-10)
    plain = SVC(kernel="linear", C=0.7, tol=1e-9).fit(X, y, sample_weight=weights)
    assert_allclose(solution.theta[:, :-1], np.tile(plain.coef_, (80, 1)), atol=1e-5)
    assert_allclose(outputs(problem, solution), plain.decision_function(X), atol=1e-5)


def test_strong_coupling_is_one_regression_for_all():
    X, y = turning(60, noise=1.0)
    t = 3.0 + X @ [1.0, -2.0] + 0.3 * y
    problem = coupled_tube(X, t, np.full(60, 2.0), 0.2, 1e10, unit_chain(60))
    plain = SVR(kernel="linear", C=2.0, epsilon=0.2, tol=1e-9).fit(X, t)
    assert_allclose(outputs(problem, solved(problem, 1e-10)), plain.predict(X), atol=1e-4)


@pytest.mark.parametrize("graph", ["chain", "neighbours"])
def test_weak_coupling_leaves_no_sample_on_the_wrong_side(graph):
    X, _ = turning(100, noise=0.5)
    y = np.where(np.random.default_rng(0).random(100) < 0.5, 1.0, -1.0)
    nodes = unit_chain(100) if graph == "chain" else neighbours(X)
    problem = coupled_margin(X, y, np.ones(100), 1e-3, nodes)
    assert (y * outputs(problem, solved(problem)) > 0.99).all()


def test_published_training_errors_of_the_turning_line():
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, -1.0], 250)
    rng.shuffle(y)
    X = rng.normal(0, 0.1, (500, 2)) + y[:, None] * [0.0, 1.0]
    angle = np.arange(1, 501) * np.pi / 500
    c, s = np.cos(angle), np.sin(angle)
    X = np.column_stack([c * X[:, 0] - s * X[:, 1], s * X[:, 0] + c * X[:, 1]])
    errors = []
    for coupling in (10.0, 1e3, 1e6, 1e8):
        problem = coupled_margin(X, y, np.ones(500), coupling, unit_chain(500))
        errors.append(np.mean(y * outputs(problem, solved(problem)) <= 0))
    assert errors[:3] == [0.0, 0.0, 0.0]
    assert 0.01 < errors[3] < 0.04  # published: 2.6 %


def test_components_of_one_class_have_no_slope_and_their_label_as_offset():
    X, _ = turning(9, noise=1.0)
    y = np.array([1.0, 1.0, 1.0, -1.0, 1.0, -1.0, -1.0, -1.0, -1.0])
    links = np.array([1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0])
    for graph in (Chain(links), Graph(naive.weights_of(Chain(links)))):
        solution = solved(coupled_margin(X, y, np.ones(9), 10.0, graph))
        for nodes, label in ((slice(0, 3), 1.0), (slice(6, 9), -1.0)):
            assert_array_equal(solution.theta[:, :-1][nodes], 0.0)
            assert_array_equal(solution.theta[:, -1][nodes], label)
            assert_array_equal(solution.a[:, nodes], 0.0)
        assert solution.theta[:, :-1][3:6].any()


def test_a_problem_that_offsets_alone_settle_takes_no_step():
    solution = solved(coupled_margin(np.ones((3, 1)), -np.ones(3), np.ones(3), 1.0, unit_chain(3)))
    assert solution.n_iter == 0
    assert solution.judgement.primal == 0.0
    assert_array_equal(solution.theta, [[0.0, -1.0]] * 3)


def test_nodes_without_weight_pass_their_neighbours_on():
    X, y = turning(40, noise=0.3)
    bounds = np.ones(40)
    bounds[10:20] = 0.0
    problem = coupled_margin(X, y, bounds, 100.0, unit_chain(40))
    solution = solved(problem, 1e-10)
    assert_array_equal(solution.a[0, 10:20], 0.0)
    # Flipping their labels changes nothing.
    y[10:20] *= -1
    other = solved(coupled_margin(X, y, bounds, 100.0, unit_chain(40)), 1e-10)
    assert_allclose(other.theta, solution.theta, atol=1e-12)


def test_twice_the_weight_is_the_sample_twice():
    # Two nodes that are held together are one node with both samples.
    X, y = turning(12, noise=0.5)
    once = coupled_margin(X, y, np.full(12, 2.0), 50.0, unit_chain(12))
    links = np.ones(23)
    links[::2] = 1e9
    # Twice the nodes halve the penalty of each, and of links: only these are not doubled too.
    twice = coupled_margin(
        np.repeat(X, 2, axis=0), np.repeat(y, 2), np.ones(24), 100.0, Chain(links)
    )
    one, two = solved(once, 1e-10), solved(twice, 1e-10)
    assert_allclose(two.theta[::2], one.theta, atol=1e-4)


@pytest.mark.parametrize("sides", [1, 2])
def test_a_window_behind_the_optimal_predecessor_is_part_of_the_whole(sides):
    X, y = turning(200, noise=0.4)
    links = 1.0 / np.random.default_rng(1).uniform(0.5, 2.0, 199)

    def state(part, links, **window):
        if sides == 1:
            return coupled_margin(X[part], y[part], np.ones(len(X[part])), 1e5, links, **window)
        t = X[part].sum(axis=1)
        return coupled_tube(X[part], t, np.ones(len(t)), 0.1, 1e5, links, **window)

    whole = solved(state(slice(0, 200), Chain(links)), 1e-11)
    anchor = Anchor(whole.theta[149], links[149])
    window = state(slice(150, 200), Chain(links[150:]), n_scale=200, anchor=anchor)
    part = solved(window, 1e-11)
    # The objective is flat: errors of hyperplanes are roots of errors of the objective.
    assert_allclose(part.theta, whole.theta[150:], atol=1e-4)
    assert window.objective(part.theta) == pytest.approx(
        window.objective(whole.theta[150:]), rel=1e-8
    )


def test_an_anchor_alone_is_followed():
    theta = np.array([1.0, -2.0, 0.5])
    anchor = Anchor(theta, 3.0)
    problem = coupled_margin(
        np.ones((4, 2)), np.ones(4), np.zeros(4), 1e6, unit_chain(4), anchor=anchor
    )
    assert_allclose(solved(problem).theta, np.tile(theta, (4, 1)), atol=1e-4)


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(interior, "_THREADS_FROM", 0)
    monkeypatch.setattr("lindero.solvers.coupled.chain._RANGE", 64)
    X, y = turning(300, noise=0.4)
    for graph in (unit_chain(300), neighbours(X)):
        problem = coupled_margin(X, y, np.ones(300), 1e4, graph)
        one, two = (
            CoupledInteriorPointSolver(tol=1e-8, n_threads=k).solve(problem) for k in (1, 2)
        )
        assert_array_equal(one.theta, two.theta)
        assert_array_equal(one.a, two.a)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_targets_of_any_size_are_met(scale):
    X, y = turning(60, noise=1.0)
    t = scale * (X.sum(axis=1) + 0.1 * y)
    problem = coupled_tube(X, t, np.ones(60), 0.05 * scale, 1e3, unit_chain(60))
    reference = coupled_tube(X, t / scale, np.full(60, 1.0 / scale), 0.05, 1e3, unit_chain(60))
    one, other = solved(problem, 1e-10), solved(reference, 1e-10)
    assert one.judgement.primal == pytest.approx(scale**2 * other.judgement.primal, rel=1e-8)


def test_limits_stop_with_a_judged_point():
    X, y = turning(200, noise=0.4)
    problem = coupled_margin(X, y, np.ones(200), 1e5, unit_chain(200))
    reports = []
    solver = CoupledInteriorPointSolver(tol=1e-8)
    stopped = solver.solve(problem, limits=Limits(max_iter=4, callback=reports.append))
    assert stopped.status is Status.ITERATION_LIMIT
    assert stopped.n_iter == 4
    assert [report.n_iter for report in reports] == [0, 1, 2, 3, 4]
    assert all(report.gap > report.tol for report in reports)
    assert problem.relative_gap(stopped.judgement) > 1e-8
    judged = problem.judge(stopped.theta, stopped.a)
    assert stopped.judgement.duality_gap == pytest.approx(judged.duality_gap)
    asked = solver.solve(problem, limits=Limits(callback=lambda report: report.n_iter == 2))
    assert (asked.status, asked.n_iter) == (Status.CALLBACK, 2)


def test_an_interruption_leaves_a_judged_point():
    X, y = turning(100, noise=0.4)
    problem = coupled_margin(X, y, np.ones(100), 1e5, unit_chain(100))

    def interrupt(report):
        if report.n_iter == 3:
            raise KeyboardInterrupt

    limits = Limits(callback=interrupt)
    solution = CoupledInteriorPointSolver().solve(problem, limits=limits)
    assert solution.status is Status.INTERRUPTED
    assert limits.interrupted
    assert np.isfinite(solution.judgement.duality_gap)


def test_rounding_is_admitted_where_tol_asks_for_more_than_there_is():
    X, y = turning(50, noise=0.4)
    problem = coupled_margin(X, y, np.ones(50), 1e3, unit_chain(50))
    solution = CoupledInteriorPointSolver(tol=1e-20).solve(problem)
    assert solution.status in (Status.PRECISION, Status.OPTIMAL)
    assert problem.relative_gap(solution.judgement) <= 1e-12
    assert solution.n_iter < 100
