"""The optimum kept while its problem changes: loops against their twins, motions against solutions
from scratch."""

import json
import os
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lindero.errors import SolverError
from lindero.kernels.growing import GrowingKernel
from lindero.kernels.operator import KernelFunction
from lindero.solvers.active_set import ActiveSet, UnboundedError
from lindero.solvers.active_set.engine import violations
from lindero.solvers.active_set.motion import first_to_leave_bound, first_to_meet_bound
from lindero.solvers.active_set.point import AT_BOUND, AT_ZERO, FREE
from lindero.solvers.choose import GeneralSolver
from lindero.solvers.small import SmallSolver
from lindero.solvers.solution import Limits
from tests.naive import active_set as naive

LINEAR, RBF = KernelFunction("linear"), KernelFunction("rbf", 0.7)
SQUARE = KernelFunction("poly", 1.0, 2, 1.0)

seeds = st.integers(0, 10**6)
few = settings(derandomize=True, deadline=None, max_examples=150)


# -- loops against twins --------------------------------------------------------------------------


def random_variables(seed, n=12, per=1):
    """Values out of few, so that several things happen at once."""
    random = np.random.default_rng(seed)
    pick = lambda values, size: random.choice(values, size=size)  # noqa: E731
    values = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    return {
        "state": pick(np.array([AT_ZERO, FREE, AT_BOUND], dtype=np.int8), n * per),
        "s": pick(np.array([-1.0, 1.0]), n * per),
        "p": pick(values, n * per),
        "u": pick(np.array([0.0, 1.0, 2.0, np.inf]), n * per),
        "u_rate": pick(np.array([0.0, 0.0, -0.5, 1.0]), n * per),
        "p_rate": pick(values, n * per),
        "f": pick(values, n),
        "f_rate": pick(values, n),
        "a": pick(np.array([0.0, 0.25, 0.5, 1.0]), n * per),
        "a_rate": pick(values, n * per),
    }


@given(seed=seeds, per=st.sampled_from([1, 2]), banned=st.integers(-1, 11))
@few
def test_the_first_to_leave_its_bound_is_that_of_the_twin(seed, per, banned):
    v = random_variables(seed, per=per)
    b, b_rate, least, share = 0.25, -0.5, 1e-9, 0.1
    root = np.random.default_rng(seed).uniform(0.0, 2.0, 12)
    step, found = first_to_leave_bound(
        12 * per, per, v["state"], v["s"], v["p"], v["u"], v["u_rate"], v["p_rate"],
        v["f"], v["f_rate"], b, b_rate, root, least, share, banned,
    )  # fmt: skip
    residual = v["s"] * (np.repeat(v["f"], per) + b) + v["p"]
    rate = v["s"] * (np.repeat(v["f_rate"], per) + b_rate) + v["p_rate"]
    takes_part = (v["u"] != 0.0) | (v["u_rate"] != 0.0)
    if banned >= 0:
        takes_part[banned] = False
    expected = naive.first_to_leave_bound(
        residual, rate, v["state"], takes_part, least + share * np.repeat(root, per)
    )
    assert (step, found) == expected


@given(seed=seeds, n_free=st.integers(0, 12))
@few
def test_the_first_to_meet_a_bound_is_that_of_the_twin(seed, n_free):
    v = random_variables(seed)
    free = np.random.default_rng(seed).permutation(12)[:n_free]
    a, u = np.minimum(v["a"], v["u"]), v["u"]
    found = first_to_meet_bound(free, a, u, v["a_rate"][:n_free], v["u_rate"], 1e-9)
    twin = naive.first_to_meet_bound(
        a[free], u[free], v["a_rate"][:n_free], v["u_rate"][free], 1e-9
    )
    assert found[0] == twin[0]
    if twin[1] >= 0 and found[1:] != twin[1:]:  # of two that are equal in all, either
        k, side = found[1], found[2]
        rate = v["a_rate"][k]
        step = a[free[k]] / -rate if side == AT_ZERO else None
        if side == AT_BOUND:
            step = (u[free[k]] - a[free[k]]) / (rate - v["u_rate"][free[k]])
        assert step == twin[0]


@given(seed=seeds, per=st.sampled_from([1, 2]))
@few
def test_violations_are_those_of_the_twin(seed, per):
    v = random_variables(seed, per=per)
    out = np.full(12 * per, np.nan)
    root = np.random.default_rng(seed).uniform(0.0, 2.0, 12)
    arrays = (v["state"], v["s"], v["p"], v["u"], v["f"])
    largest = violations(12 * per, per, *arrays, 0.25, root, 3.0, 0.5, out)
    residual = v["s"] * (np.repeat(v["f"], per) + 0.25) + v["p"]
    np.testing.assert_array_equal(out, naive.violations(residual, v["state"], v["u"]))
    sizes = np.maximum(np.maximum(0.5, np.abs(v["p"])), 3.0 * np.repeat(root, per))
    assert largest == pytest.approx((np.abs(out) / sizes).max(), rel=1e-15)


# -- motions against solutions from scratch -------------------------------------------------------


def clouds(n, seed=0, n_features=2):
    random = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = random.normal(size=(n, n_features))
    X[:, 0] += y
    return X, y


def grown(X, y, C, function=RBF, p=-1.0):
    """An active set that has learned the rows one after another."""
    active = ActiveSet(GrowingKernel(function, X.shape[1], None, 10))
    for i in range(len(y)):
        new = active.point.append(X[i : i + 1], y[i : i + 1], np.array([p]))
        active.set_bounds(new, np.array([C]))
    return active


def tube(X, y, C, epsilon, function=RBF):
    active = ActiveSet(GrowingKernel(function, X.shape[1], None, 10), per_sample=2)
    for i in range(len(y)):
        p = np.array([epsilon - y[i], epsilon + y[i]])
        new = active.point.append(X[i : i + 1], np.array([1.0, -1.0]), p)
        active.set_bounds(new, np.full(2, C))
    return active


def one_class(X, nu, function=RBF):
    active = ActiveSet(GrowingKernel(function, X.shape[1], None, 10))
    for i in range(len(X)):
        new = active.point.append(X[i : i + 1], np.ones(1), np.zeros(1))
        active.set_bounds(new, np.ones(1), nu * (i + 1))
    return active


def part(active):
    """The problem over variables that take part, and their coefficients."""
    whole, held = active.point.problem(), np.flatnonzero(active.point.u > 0)
    samples = np.unique(held // active.point.per_sample)
    of_samples = None
    if whole.sample_of is not None:
        of_samples = np.searchsorted(samples, whole.sample_of[held])
    problem = replace(
        whole,
        kernel=whole.kernel.subset(samples),
        p=whole.p[held],
        s=whole.s[held],
        u=whole.u[held],
        sample_of=of_samples,
    )
    return problem, active.point.a[held]


def assert_optimal(active):
    problem, a = part(active)
    judgement = problem.judge(a)
    scale = max(1.0, np.abs(active.point.f).max(), np.abs(active.point.p).max())
    assert judgement.kkt_gap <= 1e-10 * scale
    assert judgement.infeasibility <= 1e-10 * max(1.0, a.max(initial=0.0))
    reference = problem.judge(SmallSolver(1e-9).solve(problem).a).dual
    assert judgement.dual == pytest.approx(reference, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(active.point.f, active.point.exact_f(), atol=1e-9 * scale)


@pytest.mark.parametrize("function", [LINEAR, RBF, SQUARE], ids=lambda f: f.name)
@pytest.mark.parametrize("C", [0.05, 1.0, 1e3])
def test_samples_one_after_another_give_the_solution_of_all(function, C):
    active = grown(*clouds(40), C, function)
    assert active.point.a.any()
    assert_optimal(active)


def test_xor_has_the_coefficients_of_the_worked_case():
    X = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    active = grown(X, np.array([1.0, -1, -1, 1]), np.inf, SQUARE)
    np.testing.assert_allclose(active.point.a, 1 / 8, atol=1e-12)
    np.testing.assert_allclose(active.point.f + active.point.bias, [1, -1, -1, 1], atol=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_a_tube_is_followed_as_well(epsilon):
    X, _ = clouds(30)
    active = tube(X, np.sin(X[:, 0]), 10.0, epsilon)
    assert_optimal(active)
    active.withdraw(np.array([8, 9, 20, 21]))
    assert_optimal(active)
    assert not active.point.a[[8, 9, 20, 21]].any()


@pytest.mark.parametrize("nu", [0.05, 0.5, 1.0])
def test_the_sum_moves_with_the_bounds(nu):
    X, _ = clouds(30)
    active = one_class(X, nu)
    assert_optimal(active)
    active.withdraw(np.arange(10), nu * 20)
    assert active.point.a.sum() == pytest.approx(nu * 20)
    assert_optimal(active)


def test_more_free_variables_than_the_kernel_has_dimensions_are_exchanged():
    """All rows on one line, repeated: K has rank one."""
    X = np.repeat(np.linspace(-1, 1, 9), 4)[:, None]
    y = np.where(np.arange(36) % 3, 1.0, -1.0)
    active = grown(X, y, 2.0, LINEAR)
    assert len(active.point.free) <= 2
    assert_optimal(active)
    for i in range(0, 30, 2):
        active.withdraw(np.array([i]))
        assert_optimal(active)


def test_bounds_move_up_and_down():
    active = grown(*clouds(30), 1.0)
    for C in (5.0, 0.01, 1e4, np.inf, 0.3):
        active.set_bounds(np.arange(30), np.full(30, C))
        assert_optimal(active) if np.isfinite(C) else None
        assert (active.point.u == C).all()


def test_every_change_of_the_active_set_is_reported_on_the_way():
    active = grown(*clouds(30), 0.1)
    seen = []
    active.scale_bounds(np.arange(30), np.full(30, 10.0), seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert len(seen) > 5
    assert_optimal(active)


def test_a_hard_margin_that_cannot_be_is_noticed():
    X = np.array([[0.0], [2.0], [1.0], [1.0]])
    active = grown(X[:3], np.array([-1.0, 1, 1]), np.inf, LINEAR)
    new = active.point.append(X[3:], np.array([-1.0]), np.array([-1.0]))
    with pytest.raises(UnboundedError):
        active.set_bounds(new, np.array([np.inf]))


def test_a_sum_that_cannot_be_met_is_refused():
    active = one_class(clouds(10)[0], 0.5)
    with pytest.raises(SolverError, match="No feasible point"):
        active.set_bounds(np.arange(10), np.full(10, 0.1), 5.0)


# -- going back, closing gaps, from scratch -------------------------------------------------------


@pytest.mark.parametrize("with_factor", [False, True])
def test_what_was_tried_out_leaves_no_trace(with_factor):
    X, y = clouds(40)
    active = grown(X[:30], y[:30], 10.0)
    names = ("a", "u", "f", "bias", "free")
    before = [np.array(getattr(active.point, name)) for name in names]
    with active.try_out(often=with_factor) as go_back:
        for _ in range(2):
            new = active.point.append(X[30:], y[30:], np.full(10, -1.0))
            active.set_bounds(new, np.full(10, 10.0))
            active.withdraw(np.arange(5))
            go_back()
            for name, value in zip(names, before, strict=True):
                np.testing.assert_array_equal(getattr(active.point, name), value)
    new = active.point.append(X[30:], y[30:], np.full(10, -1.0))
    active.set_bounds(new, np.full(10, 10.0))
    assert_optimal(active)
    np.testing.assert_allclose(active.point.f, grown(X, y, 10.0).point.f, atol=1e-9)


@pytest.mark.parametrize("make", [lambda X, y: grown(X, y, 5.0), lambda X, y: tube(X, y, 5.0, 0.1)])
def test_gaps_are_closed_without_changing_anything_else(make):
    X, y = clouds(40)
    active = make(X, y)
    per = active.point.per_sample
    gone = np.array([0, 7, 8, 30, 39])
    active.withdraw((gone[:, None] * per + np.arange(per)).ravel())
    kept = np.ones(40, dtype=bool)
    kept[gone] = False
    f, a = active.point.f[kept].copy(), active.point.a[np.repeat(kept, per)].copy()
    active.point.close_gaps(kept)
    np.testing.assert_array_equal(active.point.f, f)
    np.testing.assert_array_equal(active.point.a, a)
    assert_optimal(active)
    active.withdraw(np.arange(2 * per))
    assert_optimal(active)


@pytest.mark.parametrize("solver", [SmallSolver(1e-6), GeneralSolver(1e-3)], ids=["fine", "rough"])
def test_a_solution_from_scratch_is_made_exact(solver):
    X, y = clouds(60)
    active = ActiveSet(GrowingKernel(RBF, 2, None, 10))
    active.point.append(X, y, np.full(60, -1.0))
    active.point.u[:50] = 7.0  # the last ten take no part
    active.solve_from(np.zeros(60), solver, Limits())
    assert_optimal(active)
    np.testing.assert_allclose(active.point.f[:50], grown(X[:50], y[:50], 7.0).point.f, atol=1e-9)
    assert not active.point.a[50:].any()


def test_rounding_of_very_many_steps_is_noticed_and_removed():
    X, y = clouds(30)
    active = grown(X, y, 1e3)
    active.point.f[:] += 1e-6 * np.sin(np.arange(30))
    active.refresh()  # nothing tells of it yet
    assert np.abs(active.point.f - active.point.exact_f()).max() > 1e-7
    active.point.blur = 1.0
    active.refresh()
    assert active.point.blur == 0.0
    assert_optimal(active)


# -- copies ---------------------------------------------------------------------------------------


def through_state(active):
    """A copy of what is saved, parts included."""
    state = active.state()
    kernel = state["kernel"].state()
    rows = kernel["rows"]
    kernel["rows"] = type(rows).from_state(rows.state())
    return ActiveSet.from_state({**state, "kernel": GrowingKernel.from_state(kernel)})


@pytest.mark.parametrize("copied", [through_state, deepcopy], ids=["state", "deepcopy"])
@pytest.mark.parametrize("make", [lambda X, y: grown(X, y, 5.0), lambda X, y: tube(X, y, 5.0, 0.1)])
def test_a_copy_goes_its_own_way_from_the_same_point(make, copied):
    X, y = clouds(60)
    active = make(X[:40], y[:40])
    other = copied(active)
    before = active.point.a.copy()
    n_new = 20 * active.point.per_sample
    for each in (active, other):
        np.testing.assert_array_equal(each.point.a, before)
        new = each.point.append(X[40:], np.resize([1.0, -1.0], n_new), np.full(n_new, -1.0))
        each.set_bounds(new, np.full(n_new, 5.0))
        each.withdraw(np.arange(4))
        assert_optimal(each)
    np.testing.assert_allclose(other.point.f, active.point.f, atol=1e-9)
    if copied is through_state:
        assert other.point.a.tobytes() == active.point.a.tobytes()


# -- without compilation --------------------------------------------------------------------------

PROGRAM = """
import json
import numba
from tests.solvers.active_set.test_engine import small_results
print(json.dumps({"compiled": not numba.config.DISABLE_JIT, "results": small_results()}))
"""


def small_results():
    X, y = clouds(14)
    machines = {
        "margin": grown(X, y, 3.0),
        "line": grown(np.round(X[:, :1]), y, 3.0, LINEAR),
        "tube": tube(X[:8], X[:8, 0] ** 2, 3.0, 0.1),
        "one class": one_class(X, 0.3),
    }
    machines["margin"].withdraw(np.array([2, 5]))
    points = {name: active.point for name, active in machines.items()}
    return {name: [*point.f.tolist(), point.bias] for name, point in points.items()}


def test_plain_python_follows_the_same_path():
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=Path(__file__).parents[3],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["compiled"] is False
    for name, values in small_results().items():
        np.testing.assert_allclose(told["results"][name], values, atol=1e-9)
