"""Newton's method with torch on the CPU, against the decomposition of the host."""

import numpy as np
import pytest

from lindero.kernels.operator import KernelFunction, kernel_operator
from lindero.problems.dual_qp import DualQP
from lindero.solvers.solution import Status
from lindero.solvers.working_set import WorkingSetSolver

torch = pytest.importorskip("torch", reason="torch is not installed")

from lindero.devices.kernel import DeviceKernel  # noqa: E402
from lindero.devices.preconditioner import measure_bulk  # noqa: E402
from lindero.devices.solver import LEAST_BULK, DeviceSolver  # noqa: E402

TOL = 1e-3

#: Rows of so many features have a bulk with this γ: near no other, and far from none.
N, D = 600, 20
FUNCTION = KernelFunction("rbf", gamma=1.0 / D)
_random = np.random.default_rng(0)
X = _random.standard_normal((N, D))
SIGNS = np.where(X[:, 0] * X[:, 1] + 0.5 * X[:, 2] > 0, 1.0, -1.0)
HEIGHTS = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.2 * _random.standard_normal(N)
BOUNDS = _random.uniform(0.2, 3.0, N)


class Newton(DeviceSolver):
    method = "newton"


def classes(kernel):
    return DualQP(kernel=kernel, p=-np.ones(N), s=SIGNS, u=np.full(N, 10.0))


def weights(kernel):
    return DualQP(kernel=kernel, p=-np.where(SIGNS > 0, 1.0, 0.4), s=SIGNS, u=BOUNDS)


def one_class(kernel):
    return DualQP(kernel=kernel, p=np.zeros(N), s=np.ones(N), u=np.ones(N), delta=0.3 * N)


def regression(kernel):
    return DualQP(
        kernel=kernel,
        p=np.concatenate([0.1 - HEIGHTS, 0.1 + HEIGHTS]),
        s=np.repeat([1.0, -1.0], N),
        u=np.full(2 * N, 2.0),
        sample_of=np.concatenate([np.arange(N)] * 2),
    )


@pytest.mark.parametrize("state", [classes, weights, one_class, regression])
def test_newtons_method_ends_where_decomposition_does(state):
    host = state(kernel_operator(X, FUNCTION))
    kernel = DeviceKernel(torch.from_numpy(X), FUNCTION)
    assert measure_bulk(kernel) >= LEAST_BULK
    found = Newton(tol=TOL).solve(state(kernel))
    reference = host.judge(WorkingSetSolver(tol=TOL).solve(host).a)
    judgement = host.judge(found.a)  # from scratch, by the CPU
    assert found.status is Status.OPTIMAL
    assert "outer" not in found.statistics  # decomposition did not have to go on with it
    assert judgement.kkt_gap <= TOL
    assert judgement.infeasibility <= 1e-9
    assert judgement.dual == pytest.approx(reference.dual, rel=1e-4)


def test_rows_are_split_in_halves_that_give_the_exponent():
    kernel = DeviceKernel(torch.from_numpy(X[:50]), FUNCTION)
    index, v = torch.arange(50), torch.from_numpy(BOUNDS[:50])
    exact = kernel.precise_product(None, index, v)
    fine = kernel.fused(kernel.take(index), kernel.take(index), v, exact=True)
    rough = kernel.take(index, rough=True)
    assert float((fine - exact).abs().max()) < 1e-4
    assert float((kernel.fused(rough, rough, v, exact=False) - exact).abs().max()) < 0.1
