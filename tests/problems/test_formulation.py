"""Every formulation, there and back: data, problem, solution, function, and the solution again."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lindero.kernels.operator import kernel_operator
from lindero.problems.class_margin import ClassMargin
from lindero.problems.formulation import Formulation
from lindero.problems.margin import CostMargin, Margin, NuMargin, margin_terms
from lindero.problems.novelty import Novelty, novelty_terms
from lindero.problems.sparse_margin import SparseMargin
from lindero.problems.squared import SquaredMargin, SquaredTube
from lindero.problems.through_origin import (
    OriginMargin,
    OriginTube,
    SquaredOriginMargin,
    SquaredOriginTube,
)
from lindero.problems.tube import NuTube, Tube, tube_terms
from lindero.solvers.choose import GeneralSolver
from tests.problem_bank import curve, rbf, two_clouds

TOL = 1e-8

FORMULATIONS = [
    Margin(2.0),
    Margin(np.inf),
    CostMargin(2.0, np.array([0.25, 1.0])),
    NuMargin(0.3),
    Tube(2.0, 0.1),
    NuTube(2.0, 0.4),
    NuTube(1e4, 0.9),
    Novelty(0.2),
    SquaredMargin(2.0),
    SquaredTube(2.0, 0.1),
]


def names(formulation):
    return repr(formulation)


def solved(formulation, n=60):
    """The problem, its kernel matrix and a solution; targets as the formulation wants them."""
    if isinstance(formulation, (Tube, NuTube, SquaredTube)):
        X, targets = curve(n)
    else:
        X, targets = two_clouds(n, distance=2.0)
    kernel = kernel_operator(X, rbf(1.0))
    weights = np.linspace(0.5, 1.5, n)
    problem = formulation.state(kernel, targets, formulation.bounds(weights))
    solution = GeneralSolver(TOL).solve(problem)
    matrix = kernel.cross(kernel.probe(np.arange(n)), kernel.probe(np.arange(n)))
    return problem, matrix, targets, solution


#: Those whose solutions are no points of a `DualQP` with sums: tests of their solvers have them.
ELSEWHERE = {
    ClassMargin,
    SparseMargin,
    OriginMargin,
    OriginTube,
    SquaredOriginMargin,
    SquaredOriginTube,
}


def concrete_classes(kind):
    below = set().union(*map(concrete_classes, kind.__subclasses__()))
    return below if inspect.isabstract(kind) else {kind} | below


def test_there_is_a_case_of_each_formulation():
    assert {type(case) for case in FORMULATIONS} == concrete_classes(Formulation) - ELSEWHERE


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=names)
def test_what_is_restored_solves_the_problem(formulation):
    problem, _, _, solution = solved(formulation)
    function = formulation.recover(problem, solution, TOL)
    a, bias = formulation.restore(problem, function)
    judgement = problem.judge(a, bias=bias)
    assert judgement.kkt_gap <= 10 * TOL
    assert judgement.infeasibility <= 1e-8 * max(1.0, a.max())
    before = problem.judge(solution.a)
    assert judgement.dual == pytest.approx(before.dual, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=names)
def test_the_function_has_a_coefficient_for_each_sample(formulation):
    problem, _, _, solution = solved(formulation)
    function = formulation.recover(problem, solution, TOL)
    assert function.coefficients.shape == (problem.kernel.n_samples,)
    assert np.isfinite(function.intercept)
    assert problem.n_variables == formulation.per_sample * problem.kernel.n_samples


@pytest.mark.parametrize(
    "formulation", [Margin(2.0), CostMargin(2.0, np.array([0.25, 1.0])), NuMargin(0.3)], ids=names
)
def test_free_samples_lie_on_their_margin(formulation):
    problem, matrix, signs, solution = solved(formulation)
    function = formulation.recover(problem, solution, TOL)
    values = matrix @ function.coefficients + function.intercept
    free = (solution.a > 0) & (solution.a < problem.u)
    asked = getattr(formulation, "margins", np.ones(2))[(signs > 0).astype(int)]
    assert free.sum() > 3
    assert_allclose((signs * values)[free], asked[free], atol=1e-6)


def test_free_samples_lie_on_the_edge_of_the_tube_that_was_found():
    formulation = NuTube(2.0, 0.4)
    problem, matrix, y, solution = solved(formulation)
    function = formulation.recover(problem, solution, TOL)
    errors = np.abs(matrix @ function.coefficients + function.intercept - y)
    free = ((solution.a > 0) & (solution.a < problem.u)).reshape(2, -1).any(axis=0)
    assert free.sum() > 3
    assert function.width > 0
    assert_allclose(errors[free], function.width, atol=1e-6)


def test_a_nu_machine_is_the_one_that_the_reciprocal_of_its_margin_gives():
    formulation = NuMargin(0.3)
    problem, _, signs, solution = solved(formulation)
    function = formulation.recover(problem, solution, TOL)
    penalty = Margin(1 / function.width)
    same = penalty.state(problem.kernel, signs, problem.u / function.width)
    other = penalty.recover(same, GeneralSolver(TOL).solve(same), TOL)
    assert_allclose(function.coefficients, other.coefficients, atol=1e-5)
    assert function.intercept == pytest.approx(other.intercept, abs=1e-5)


def test_no_sample_below_its_bound_lies_outside_the_region():
    formulation = Novelty(0.8)
    problem, matrix, _, solution = solved(formulation)
    function = formulation.recover(problem, solution, TOL)
    values = matrix @ function.coefficients + function.intercept
    assert (values[solution.a < problem.u] >= 0).all()
    assert (values < 0).any()


# -- the terms of single samples, which machines that learn one after another use -----------------


def test_the_terms_of_a_margin_are_those_of_its_problem():
    signs, bounds, margins = np.array([1.0, -1.0, -1.0]), np.arange(1.0, 4.0), np.array([0.5, 1.0])
    s, p, u = margin_terms(signs, bounds, margins)
    assert_array_equal(s, signs)
    assert_array_equal(p, [-1.0, -0.5, -0.5])
    assert_array_equal(u, bounds)
    assert_array_equal(margin_terms(signs, bounds)[1], [-1.0, -1.0, -1.0])


def test_the_terms_of_a_tube_are_those_of_its_problem_and_pair_up_by_sample():
    y, bounds = np.array([1.0, -2.0]), np.array([3.0, 4.0])
    terms = tube_terms(y, bounds, 0.5)
    kernel = kernel_operator(np.eye(2), rbf(1.0))
    problem = Tube(1.0, 0.5).state(kernel, y, bounds)
    for values, stated in zip(terms, (problem.s, problem.p, problem.u), strict=True):
        assert_array_equal(values.ravel(), stated)
    s, p, u = (values.T.ravel() for values in terms)
    assert_array_equal(s, [1, -1, 1, -1])
    assert_array_equal(p, [-0.5, 1.5, 2.5, -1.5])
    assert_array_equal(u, [3, 3, 4, 4])


def test_the_terms_of_a_region_are_those_of_its_problem():
    bounds = np.array([1.0, 2.0])
    s, p, u = novelty_terms(bounds)
    assert_array_equal(s, [1, 1])
    assert_array_equal(p, [0, 0])
    assert_array_equal(u, bounds)


# -- bounds ---------------------------------------------------------------------------------------


def test_rows_of_no_weight_have_no_room_even_under_a_hard_margin():
    assert_array_equal(Margin(np.inf).bounds(np.array([0.0, 2.0])), [0.0, np.inf])


def test_nu_machines_do_not_depend_on_the_scale_of_weights():
    weights = np.array([0.0, 1.0, 3.0])
    assert_allclose(NuMargin(0.5).bounds(weights), NuMargin(0.5).bounds(1e-9 * weights))


def test_a_penalty_that_overflows_is_refused():
    with pytest.raises(ValueError, match="overflows"):
        Margin(1e308).bounds(np.full(10, 1.0))
