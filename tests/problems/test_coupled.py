"""The coupled problem and its judge, against dense matrices."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from lindero.errors import SolverError
from lindero.graphs.graph import Chain, Graph
from lindero.problems.coupled import Anchor
from tests.coupled_bank import (
    GRAPHS,
    coupled_margin,
    coupled_tube,
    random_problem,
    turning,
    unit_chain,
)
from tests.naive import coupled as naive


@pytest.fixture(params=GRAPHS, ids=lambda make: make.__name__)
def problems(request):
    rng = np.random.default_rng(GRAPHS.index(request.param))
    return [random_problem(rng, request.param, 4.0) for _ in range(10)], rng


def feasible(problem, rng):
    return problem.nearest_feasible(problem.u * rng.random(problem.u.shape))


def test_the_objective_is_that_of_the_twin(problems):
    for problem in problems[0]:
        theta = problems[1].standard_normal((problem.n_nodes, problem.n_parameters))
        assert problem.objective(theta) == pytest.approx(naive.objective(problem, theta), rel=1e-12)


def test_products_with_the_laplacian_and_energies_are_those_of_its_matrix(problems):
    for problem in problems[0]:
        theta = problems[1].standard_normal((problem.n_nodes, 3))
        L = naive.laplacian(naive.weights_of(problem.graph))
        if isinstance(problem.graph, Graph):
            product = problem.graph.laplacian(theta)
            assert_allclose(product, L @ theta, atol=1e-10 * np.abs(L).max())
        expected = np.trace(theta.T @ L @ theta)
        assert problem.graph.energy(theta) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_multipliers_put_into_their_box_sum_to_zero_where_a_component_floats(problems):
    for problem in problems[0]:
        a = feasible(problem, problems[1])
        assert (a >= 0).all()
        assert (a <= problem.u).all()
        sums = np.bincount(problem.graph.components, problem.at_nodes(a))
        anchored = problem.anchor is not None
        floating = np.arange(len(sums)) != (problem.graph.components[0] if anchored else -1)
        assert np.abs(sums[floating]).max(initial=0.0) <= 1e-9 * (1 + problem.u.max())


def test_hyperplanes_of_multipliers_solve_the_linear_system(problems):
    for problem in problems[0]:
        a = feasible(problem, problems[1])
        theta = problem.hyperplanes(a)
        pull = naive.rows_of(problem).T @ a.ravel()
        if problem.anchor is not None:
            ground = problem.coupling / problem.n_scale * problem.anchor.weight
            pull[: problem.n_parameters] += ground * problem.anchor.theta
        H = naive.hessian(problem)
        off = H @ theta.ravel() - pull
        scale = np.abs(H).max() * np.abs(theta).max() + np.abs(pull).max()
        assert np.abs(off).max() <= 1e-10 * scale


def test_the_dual_objective_is_the_least_of_the_lagrangian(problems):
    for problem in problems[0]:
        a = feasible(problem, problems[1])
        theta = problem.hyperplanes(a)
        judgement = problem.judge(theta, a)

        def lagrangian(theta, problem=problem, a=a):
            return (
                naive.objective(problem, theta)
                + np.vdot(a, -problem.residuals(theta))
                - np.vdot(problem.u, np.maximum(0.0, -problem.residuals(theta)))
            )

        scale = 1e-9 * (1 + abs(judgement.dual) + abs(judgement.primal))
        assert judgement.dual == pytest.approx(lagrangian(theta), abs=scale)
        for _ in range(3):
            other = theta + problems[1].standard_normal(theta.shape)
            assert lagrangian(other) >= judgement.dual - scale


def test_no_dual_objective_is_above_a_primal_one(problems):
    for problem in problems[0]:
        a = feasible(problem, problems[1])
        for size in (0.0, 0.1, 10.0):
            theta = size * problems[1].standard_normal((problem.n_nodes, problem.n_parameters))
            judgement = problem.judge(theta, a)
            assert judgement.primal >= judgement.dual - 1e-9 * (1 + abs(judgement.dual))
            assert judgement.infeasibility <= 1e-9 * (1 + problem.u.max())


def test_the_judge_sees_multipliers_outside_of_their_box_or_out_of_balance():
    X, y = turning(10)
    problem = coupled_margin(X, y, np.ones(10), 10.0, unit_chain(10))
    theta, a = np.zeros((10, 3)), np.zeros((1, 10))
    a[0, 3] = 1.5
    assert problem.judge(theta, a).infeasibility == pytest.approx(1.5)
    a[0, 3] = -0.2
    assert problem.judge(theta, a).infeasibility == pytest.approx(0.2)


def test_the_kkt_gap_is_the_worst_residual_that_its_multiplier_denies():
    problem = coupled_margin(
        np.zeros((2, 1)), np.array([1.0, -1.0]), np.ones(2), 1.0, unit_chain(2)
    )
    theta = np.array([[0.0, 0.25], [0.0, -2.5]])  # y f − 1 = −0.75 and 1.5
    assert problem.judge(theta, np.array([[1.0, 1.0]])).kkt_gap == 1.5
    assert problem.judge(theta, np.array([[0.5, 0.0]])).kkt_gap == 0.75
    assert problem.judge(theta, np.array([[1.0, 0.0]])).kkt_gap == 0.0


def test_components_of_one_class_are_settled_by_an_offset():
    y = np.array([1.0, 1.0, -1.0, 1.0, -1.0, -1.0])
    problem = coupled_margin(
        np.ones((6, 1)), y, np.ones(6), 1.0, Chain(np.array([1.0, 0, 1, 0, 1]))
    )
    assert_array_equal(problem.settled, [True, False, True])
    assert_array_equal(problem.settled_offsets(), [1.0, 0.0, -1.0])


def test_components_without_weight_are_settled_and_an_anchored_one_is_not():
    y, links = np.array([1.0, -1.0, 1.0, -1.0]), np.array([1.0, 0.0, 1.0])
    bounds = np.array([1.0, 1.0, 0.0, 0.0])
    problem = coupled_margin(np.ones((4, 1)), y, bounds, 1.0, Chain(links))
    assert_array_equal(problem.settled, [False, True])
    assert_array_equal(problem.settled_offsets(), [0.0, 0.0])
    anchored = coupled_margin(
        np.ones((4, 1)), np.ones(4), np.ones(4), 1.0, Chain(links), anchor=Anchor(np.zeros(2))
    )
    assert_array_equal(anchored.settled, [False, True])


def test_a_subset_of_components_is_the_same_problem_on_them():
    rng = np.random.default_rng(1)
    X, t = rng.standard_normal((7, 2)), rng.standard_normal(7)
    links = np.array([1.0, 2.0, 0.0, 3.0, 0.0, 1.0])
    whole = coupled_tube(X, t, np.ones(7), 0.1, 4.0, Chain(links))
    theta = rng.standard_normal((7, 3))
    parts = [np.array([0, 1, 2, 5, 6]), np.array([3, 4])]
    values = [whole.subset(nodes).objective(theta[nodes]) for nodes in parts]
    assert sum(values) == pytest.approx(whole.objective(theta))
    graph = Graph(sp.diags_array([links, links], offsets=[1, -1]))
    other = coupled_tube(X, t, np.ones(7), 0.1, 4.0, graph)
    assert other.subset(parts[0]).objective(theta[parts[0]]) == pytest.approx(values[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coupling": 0.0}, "coupling must be positive"),
        ({"coupling": np.inf}, "coupling must be positive"),
        ({"bounds": np.array([1.0, -1.0, 1.0])}, "not negative"),
        ({"bounds": np.array([1.0, np.inf, 1.0])}, "finite"),
        ({"bounds": np.ones(2)}, "2 bounds"),
        ({"graph": unit_chain(4)}, "4 nodes"),
        ({"anchor": Anchor(np.zeros(2))}, "anchor needs 3"),
        ({"anchor": Anchor(np.zeros(3), -1.0)}, "weight of an anchor"),
    ],
)
def test_what_cannot_be_stated_is_refused(change, message):
    stated = {
        "X": np.ones((3, 2)),
        "signs": np.array([1.0, -1.0, 1.0]),
        "bounds": np.ones(3),
        "coupling": 1.0,
        "graph": unit_chain(3),
    }
    with pytest.raises(SolverError, match=message):
        coupled_margin(**{**stated, **change})
