"""The judge, against the same definitions over a whole matrix."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.problems.dual_qp import DualQP
from lindero.problems.margin import Margin
from tests.naive import dual_qp as naive
from tests.problem_bank import BANK, LINEAR_KERNEL, SMALL, margin, two_clouds

FINITE = [name for name in SMALL if not name.startswith("hard")]


def points(problem, seed=0):
    """Points of the box: its corner, the middle, a random one with many variables at bounds."""
    rng = np.random.default_rng(seed)
    shares = np.clip(rng.uniform(-1, 2, problem.n_variables), 0, 1)
    return [0 * problem.u, 0.5 * problem.u, shares * problem.u]


@pytest.mark.parametrize("which", range(3), ids=["zero", "middle", "random"])
@pytest.mark.parametrize("name", FINITE)
def test_judgement_is_that_of_the_definitions(name, which):
    problem = BANK[name].make()
    a = points(problem)[which]
    ours, twin = problem.judge(a), naive.judge(problem, a)
    scale = 1.0 + abs(twin.primal) + abs(twin.dual) + np.abs(twin.bias).max()
    for value in ("kkt_gap", "primal", "dual", "infeasibility"):
        np.testing.assert_allclose(
            getattr(ours, value), getattr(twin, value), rtol=1e-9, atol=1e-10 * scale, err_msg=value
        )
    assert ours.dual == pytest.approx(-naive.objective(problem, a), rel=1e-9, abs=1e-10 * scale)
    assert ours.duality_gap == ours.primal - ours.dual


@pytest.mark.parametrize("bias", [-2.0, 0.0, 0.7])
def test_a_given_bias_is_the_one_that_is_judged(bias):
    problem = BANK["one class"].make()
    a = points(problem)[2]
    expected = naive.judge(problem, a, bias).primal
    assert problem.judge(a, bias=bias).primal == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", FINITE)
def test_primal_is_never_below_dual_at_a_feasible_point(name):
    problem = BANK[name].make()
    a = problem.nearest_feasible(points(problem)[2])
    judgement = problem.judge(a)
    assert judgement.infeasibility <= 1e-12 * (1.0 + problem.u.sum())
    # The sigmoid kernel is not positive, and weak duality is lost with it; here it nearly is.
    assert judgement.duality_gap >= -1e-10 * (1.0 + abs(judgement.dual))


def test_infeasibility_is_the_largest_violation_of_box_or_sum():
    problem = margin(*two_clouds(4), LINEAR_KERNEL)
    assert problem.judge(np.array([-0.25, 0.0, 0.0, -0.25])).infeasibility == 0.25
    assert problem.judge(np.array([1.5, 0.0, 1.5, 0.0])).infeasibility == 0.5
    assert problem.judge(np.array([1.0, 1.0, 0.25, 0.0])).infeasibility == 1.75


def test_scores_sums_and_bias_belong_to_variables_of_their_sample():
    problem = BANK["tube"].make()
    a = points(problem)[2]
    K = naive.dense_kernel(problem)
    f = problem.kernel_sums(a)
    np.testing.assert_allclose(problem.scores(f), K @ (problem.s * a) + problem.q, atol=1e-10)
    free = (a > 0) & (a < problem.u)
    assert problem.bias(a, f) == pytest.approx(-problem.scores(f)[free].mean())


def test_bias_without_free_variables_is_the_middle_of_what_is_open():
    problem = margin(np.array([[0.0], [4.0]]), np.array([-1.0, 1.0]), LINEAR_KERNEL, C=0.01)
    a = problem.u.copy()
    # f = 0.04 x, so the negative sample asks for b >= −1 and the positive one for b <= 0.84.
    assert problem.bias(a, problem.kernel_sums(a)) == pytest.approx(-0.08)


class TestInfiniteBounds:
    X, y = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])

    def problem(self):
        kernel = kernel_operator(self.X, LINEAR_KERNEL)
        return Margin(np.inf).state(kernel, self.y, np.full(2, np.inf))

    def test_the_optimum_has_no_gap_at_all(self):
        judgement = self.problem().judge(np.array([0.5, 0.5]))
        assert judgement.kkt_gap == 0
        assert judgement.primal == judgement.dual == 0.5

    def test_a_model_that_falls_short_is_scaled_up_until_it_meets_all(self):
        # w = 1/2 must double, to w = 1: the primal is that of the optimum.
        judgement = self.problem().judge(np.array([0.25, 0.25]))
        assert judgement.primal == pytest.approx(0.5)
        assert judgement.dual == pytest.approx(0.375)
        assert judgement.kkt_gap == pytest.approx(1.0)

    def test_a_sample_on_the_wrong_side_costs_everything(self):
        judgement = self.problem().judge(np.zeros(2))
        assert judgement.primal == np.inf
        assert judgement.dual == 0


def box_problem(s, u, delta):
    n = len(s)
    kernel = kernel_operator(np.eye(n), KernelFunction("linear"))
    return DualQP(kernel, -np.ones(n), np.array(s, dtype=float), np.array(u), delta=delta)


BOUNDS = st.one_of(st.floats(0, 1e6), st.just(np.inf), st.floats(1e-6, 1e-3))
SIDES = st.tuples(st.sampled_from([-1.0, 1.0]), BOUNDS, st.floats(-1e6, 2e6))


@given(sides=st.lists(SIDES, min_size=1, max_size=12), share=st.floats(0.001, 0.999))
@settings(derandomize=True, deadline=None, max_examples=400)
def test_nearest_feasible_is_feasible_wherever_a_feasible_point_exists(sides, share):
    s, u, a = (np.array(column) for column in zip(*sides, strict=True))
    reachable = np.minimum(u, 1e6)
    most, least = reachable[s > 0].sum(), -reachable[s < 0].sum()
    problem = box_problem(s, u, delta=least + share * (most - least))
    feasible = problem.nearest_feasible(a)
    assert feasible is not None
    assert (feasible >= 0).all()
    assert (feasible <= u).all()
    size = 1.0 + np.abs(a).sum() + reachable.sum()
    assert abs(s @ feasible - problem.delta) <= 1e-13 * size


@pytest.mark.parametrize("sign", [1.0, -1.0])
@given(bounds=st.lists(st.floats(0.1, 1e3), min_size=1, max_size=12))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_nearest_feasible_finds_the_only_point_when_every_variable_must_be_at_its_bound(
    sign, bounds
):
    # One-class and ν problems at the end of their range; sums in another order round otherwise.
    u = np.array(bounds)
    problem = box_problem(np.full(len(u), sign), u, delta=sign * sum(bounds))
    feasible = problem.nearest_feasible(np.zeros(len(u)))
    assert feasible is not None
    np.testing.assert_allclose(feasible, u, rtol=1e-12)


@given(sides=st.lists(SIDES, min_size=1, max_size=12), excess=st.floats(1e-3, 1e6))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_nearest_feasible_says_so_where_the_sum_cannot_be_met(sides, excess):
    s, u, a = (np.array(column) for column in zip(*sides, strict=True))
    u = np.minimum(u, 1e6)
    assert box_problem(s, u, delta=u[s > 0].sum() + excess).nearest_feasible(a) is None
    assert box_problem(s, u, delta=-u[s < 0].sum() - excess).nearest_feasible(a) is None


@given(shares=st.lists(st.floats(0, 1), min_size=1, max_size=12), C=st.floats(1e-6, 1e6))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_nearest_feasible_leaves_a_feasible_point_where_it_is(shares, C):
    a = C * np.array([*shares, *shares])
    problem = box_problem(np.repeat([1.0, -1.0], len(shares)), np.full(len(a), C), delta=0.0)
    np.testing.assert_allclose(problem.nearest_feasible(a), a, rtol=1e-12, atol=1e-14 * C)


def test_nearest_feasible_moves_free_variables_before_those_at_bounds():
    problem = box_problem([1, 1, -1], [1.0, 1.0, 1.0], delta=0.0)
    feasible = problem.nearest_feasible(np.array([1.0, 0.5, 1.0]))
    np.testing.assert_allclose(feasible, [1.0, 0.0, 1.0])


def test_judgement_does_not_depend_on_the_precision_the_solver_used():
    problem = BANK["gaussian"].make()
    single = replace(problem, kernel=problem.kernel.astype(np.float32))
    a = points(problem)[2]
    assert single.judge(a) == problem.judge(a)
