"""Stopping early: by steps, by the clock, by the user; and going on from there."""

import time
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

from lindero.errors import SolverError
from lindero.solvers import solution as solution_module
from lindero.solvers.choose import GeneralSolver, LinearSolver
from lindero.solvers.interior_point import InteriorPointSolver
from lindero.solvers.sifting import SiftingSolver
from lindero.solvers.solution import Limits, Progress, Status
from tests.naive import dual_qp as naive
from tests.problem_bank import BANK, LINEAR_KERNEL, margin, one_class, rbf, two_clouds

#: Problems that need several reports, for each way of solving.
LONG = {
    "float64 rows": (lambda: margin(*two_clouds(800), rbf(0.3)), GeneralSolver),
    "float32 rows": (BANK["large"].make, GeneralSolver),
    "tube": (BANK["large tube"].make, GeneralSolver),
    "interior points": (lambda: margin(*two_clouds(500), LINEAR_KERNEL), InteriorPointSolver),
    "sifting": (lambda: margin(*two_clouds(800), LINEAR_KERNEL), SiftingSolver),
    "linear": (lambda: margin(*two_clouds(500), LINEAR_KERNEL), LinearSolver),
}
#: With those solved in one go, which never look at the clock or at the callback.
ALL = {"one block": (lambda: margin(*two_clouds(300), rbf(0.5), C=100.0), GeneralSolver), **LONG}
TOL = 1e-3


def solve(kind, start=None, **limits):
    make, solver = ALL[kind]
    problem, limits = make(), Limits(**limits)
    return problem, solver(tol=TOL).solve(problem, start, limits), limits


def assert_consistent(problem, solution):
    """Feasible, with the f and bias of these coefficients (float32 rows: to their rounding)."""
    judgement = problem.judge(solution.a)
    assert judgement.infeasibility <= 1e-12 * (1 + solution.a.sum())
    np.testing.assert_allclose(solution.f, problem.kernel_sums(solution.a), atol=TOL)
    assert solution.bias == pytest.approx(problem.bias(solution.a, solution.f), abs=1e-12)


class Stopper:
    """A callback that does something at its `at`-th report."""

    def __init__(self, at, action):
        self.reports = []
        self.at, self.action = at, action

    def __call__(self, report):
        self.reports.append(report)
        return self.action() if len(self.reports) == self.at else None


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("max_iter", [0, 1, 3])
def test_max_iter_is_never_passed(kind, max_iter):
    problem, solution, _ = solve(kind, max_iter=max_iter)
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.n_iter <= max_iter
    assert_consistent(problem, solution)


@pytest.mark.parametrize("kind", LONG)
def test_time_limit_stops_at_the_first_look_at_the_clock_after_it(kind, monkeypatch):
    # Each look at the clock finds it a day later, which no real second can disturb.
    days = count(1)
    clock = SimpleNamespace(perf_counter=lambda: time.perf_counter() + 86_400.0 * next(days))
    monkeypatch.setattr(solution_module, "time", clock)
    problem, solution, _ = solve(kind, time_limit=0.5 * 86_400.0)
    assert solution.status is Status.TIME_LIMIT
    assert_consistent(problem, solution)


@pytest.mark.parametrize("kind", LONG)
@pytest.mark.parametrize("at", [1, 2])
def test_a_callback_that_returns_true_is_not_called_again(kind, at):
    callback = Stopper(at, lambda: True)
    problem, solution, _ = solve(kind, callback=callback)
    assert solution.status is Status.CALLBACK
    assert len(callback.reports) == at
    assert_consistent(problem, solution)


@pytest.mark.parametrize("kind", LONG)
@pytest.mark.parametrize("at", [1, 2])
def test_an_interruption_leaves_a_consistent_pair(kind, at):
    problem, solution, limits = solve(kind, callback=Stopper(at, interrupt))
    assert solution.status is Status.INTERRUPTED
    assert limits.interrupted
    assert_consistent(problem, solution)


@pytest.mark.parametrize("kind", ALL)
def test_going_on_from_where_it_stopped_reaches_the_same_optimum(kind):
    problem, stopped, _ = solve(kind, callback=Stopper(2, lambda: True))
    _, resumed, _ = solve(kind, start=stopped)
    _, whole, _ = solve(kind)
    assert resumed.status is Status.OPTIMAL
    assert problem.judge(resumed.a).kkt_gap <= TOL
    size = TOL * problem.u.sum()  # the duality gap that tol allows
    assert naive.objective(problem, resumed.a) == pytest.approx(
        naive.objective(problem, whole.a), abs=size
    )


@pytest.mark.parametrize("kind", ALL)
def test_starting_at_the_solution_costs_next_to_nothing(kind):
    _, whole, _ = solve(kind)
    _, again, _ = solve(kind, start=whole)
    assert again.status is Status.OPTIMAL
    assert again.n_iter <= 0.5 * whole.n_iter


def test_a_start_for_other_bounds_is_made_feasible_first():
    X, y = two_clouds(200)
    wide = GeneralSolver().solve(margin(X, y, rbf(0.5), C=10.0))
    narrow = margin(X, y, rbf(0.5), C=0.1)
    solution = GeneralSolver().solve(narrow, wide)
    assert solution.status is Status.OPTIMAL
    assert narrow.judge(solution.a).kkt_gap <= TOL


@pytest.mark.parametrize("kind", LONG)
def test_reports_count_up_and_carry_the_number_of_the_problem(kind):
    reports = []
    make, solver = LONG[kind]
    limits = Limits(callback=lambda report: reports.append(report), n_problems=7)
    solver(tol=TOL).solve(make(), None, limits, number=3)
    steps = [report.n_iter for report in reports]
    assert len(reports) > 1
    assert steps == sorted(steps)
    assert {(r.problem, r.n_problems, r.tol <= TOL) for r in reports} == {(3, 7, True)}
    assert all(report.gap >= 0 and report.seconds >= 0 for report in reports)


def test_limits_say_the_first_reason_and_keep_to_it():
    report = Progress(n_iter=5, gap=1.0, tol=TOL, seconds=0.0)
    assert Limits().check(report) is None
    assert Limits(max_iter=6).check(report) is None
    assert Limits(max_iter=5).check(report) is Status.ITERATION_LIMIT
    limits = Limits()
    limits.interrupt()
    assert limits.check(report) is Status.INTERRUPTED
    assert Limits(max_iter=7).steps_left(5, 100) == 2
    assert Limits(max_iter=3).steps_left(5, 100) == 0
    assert Limits().steps_left(5, 100) == 100


@pytest.mark.parametrize("n", [50, 500])
def test_a_problem_without_a_feasible_point_is_refused(n):
    with pytest.raises(SolverError, match="feasible"):
        GeneralSolver().solve(one_class(two_clouds(n)[0], rbf(1.0), share=1.5))
