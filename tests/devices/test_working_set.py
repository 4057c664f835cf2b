"""Decomposition on a device: in plain torch, and by the loops for the card in an interpreter."""

import time
from dataclasses import replace

import numpy as np
import pytest

from lindero.kernels.operator import KernelFunction
from lindero.solvers.solution import Limits
from lindero.solvers.working_set import WorkingSetSolver
from tests.devices.problems import PROBLEMS, TOL, make_problem

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def interpreted(in_interpreter):
    """What the loops made of each problem."""
    return in_interpreter["interpreted"]


def solve_plainly(name):
    """The same in plain torch: a, f = K z and the status."""
    from lindero.devices.kernel import DeviceKernel
    from lindero.devices.problem import DeviceProblem
    from lindero.devices.working_set import DeviceDescent, PlainStep

    host = make_problem(name)
    function = KernelFunction("rbf", gamma=PROBLEMS[name].gamma)
    kernel = DeviceKernel(torch.from_numpy(PROBLEMS[name].rows), function)
    problem = DeviceProblem(replace(host, kernel=kernel), kernel)
    descent = DeviceDescent(problem, TOL, problem.signed(host.start(None)))
    assert isinstance(descent.step, PlainStep)
    status = descent.run(Limits(), 0, time.perf_counter())
    assert status is not None
    return host.s * descent.z.numpy(), descent.f.numpy(), status.name


def check_solution(host, a, f, status):
    """Optimal for the judge, f what it should be, and the objective that of the host's solver."""
    reference = WorkingSetSolver(tol=TOL).solve(host)
    assert status == "OPTIMAL"
    np.testing.assert_allclose(f, host.kernel_sums(a), atol=0.1 * TOL)
    feasible = host.nearest_feasible(host.snap(a))
    judgement, best = host.judge(feasible), host.judge(reference.a)
    assert judgement.kkt_gap <= 1.02 * TOL
    assert judgement.infeasibility <= 1e-9
    assert judgement.dual == pytest.approx(best.dual, abs=TOL * len(host.p) / 10)


@pytest.mark.parametrize("name", PROBLEMS)
def test_plain_torch_finds_the_solution_of_the_host(name):
    check_solution(make_problem(name), *solve_plainly(name))


@pytest.mark.parametrize("name", PROBLEMS)
def test_loops_find_the_solution_of_the_host(interpreted, name):
    found = interpreted[name]
    a, f = np.array(found["a"]), np.array(found["f"])
    check_solution(make_problem(name), a, f, found["status"])


@pytest.mark.parametrize("name", PROBLEMS)
def test_each_step_keeps_sums_and_box_and_chooses_nothing_twice(interpreted, name):
    found = interpreted[name]
    assert found["wrong"] == []
    assert found["off"] <= 1e-5
    assert found["gaps"][-1] <= TOL < found["gaps"][0]


@pytest.mark.parametrize("n_features", ["5", "150"])
def test_split_rows_give_kernel_values_to_single_precision(interpreted, n_features):
    block, diagonal, product, rough = interpreted["blocks"][n_features]
    assert block <= 5e-6
    assert diagonal == 0.0
    assert product <= 5e-5
    assert rough <= 0.02
